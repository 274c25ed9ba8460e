"""A configuration directory of LSF as an instance document, with the report of the import.

    site = site_document("conf", cluster="blue")
    instance, warnings = site.instance()

Other readers may add what runs and waits: ``site.instance({"running": […], "pending": […]})``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from ...confined import check_inside, is_inside
from ...errors import InputError, Problem, bounded, nearest, unreadable
from ...gpu_request import GPU_NAMES
from ...instance import Instance
from ..document import Finding
from ..reading import KINDS, file_bytes, kind_of, lava_family, no_file, odd_kind
from ..units import parse_instant, parse_stamp
from . import cluster, guarantees, hosts, params, queues, shared
from . import cluster as clusters
from .draft import CONF, Concerned, Draft, LsfEntry, LsfSection, Notes, entries, read_sections
from .lines import Circumstances, LineReader, Place, Problems, described
from .queues import RunLimits, read_applications
from .shared import HostFacts, HostNames, Shared, read_lshosts, read_shared

#: The sections of each file; lsf.conf has none.
SECTIONS: dict[str, tuple[str, ...]] = {
    "lsf.shared": shared.SECTIONS,
    "lsf.cluster": cluster.SECTIONS,
    "lsb.params": params.PARAM_SECTIONS,
    "lsb.hosts": hosts.SECTIONS,
    "lsb.queues": queues.QUEUE_SECTIONS,
    "lsb.users": queues.USER_SECTIONS,
    "lsb.serviceclasses": guarantees.CLASS_SECTIONS,
    "lsb.resources": queues.RESOURCE_SECTIONS,
    "lsb.applications": queues.APPLICATION_SECTIONS,
    "lsb.modules": params.MODULE_SECTIONS,
}
#: Files that few sites have; a missing one is not reported.
_RARE = frozenset({"lsb.serviceclasses"})
_CONFIGURATION = "configuration"
#: Names that editors and administrators give to old copies.
_COPIES = (".bak", ".old", ".orig", ".save", ".tmp", "~", ".rpmnew", ".rpmsave")


def _text(path: Path) -> str:
    """Return the whole file with comments, "" if it is unreadable (reported elsewhere)."""
    try:
        return file_bytes(path).decode("utf-8", errors="replace")
    except InputError:
        return ""


class ConfigFiles:
    """Finds and reads the files of one cluster.

    Batch files stand in the directory itself, or as LSF installs them in
    ``lsbatch/CLUSTER/configdir`` below it.
    """

    def __init__(self, root: Path, cluster: str, reader: LineReader, notes: Notes) -> None:
        self._root = root
        self._reader = reader
        self._notes = notes
        batch = root / "lsbatch" / cluster
        self._folders = [root, batch / "configdir", batch] if cluster else [root]
        self._cluster = cluster

    def path(self, name: str) -> Path | None:
        """Return the path of a file, None if it does not exist."""
        full = f"{name}.{self._cluster}" if name == "lsf.cluster" else name
        choices = (folder / full for folder in self._folders)
        return next((choice for choice in choices if _is_there(choice)), None)

    def family(self) -> str:
        """Return "OpenLava" or "volclava" if the files name one of them, else ""."""
        paths = [path for name in ("lsf.conf", *SECTIONS) if (path := self.path(name)) is not None]
        return lava_family("\n".join([self._cluster, *map(_text, paths)]))

    def odd(self) -> list[Problem]:
        """Return errors for entries of the directory that are no regular files."""
        names = ("lsf.conf", *SECTIONS, LSHOSTS)
        full = [f"{name}.{self._cluster}" if name == "lsf.cluster" else name for name in names]
        paths = [folder / name for folder in self._folders for name in full]
        if not self._cluster:
            copies = self._root.glob("lsf.cluster.*")
            paths += [path for path in copies if not path.name.endswith(_COPIES)]
        return _odd(path for path in paths if is_inside(path))

    def display(self, name: str) -> str:
        """Return the name of a file in messages, even if it is missing."""
        path = self.path(name)
        full = f"{name}.{self._cluster or 'NAME'}" if name == "lsf.cluster" else name
        return self._reader.name(self._root / full if path is None else path)

    def sections(self, name: str) -> list[LsfSection] | None:
        """Return the sections of a file, None if it is missing or no file."""
        path = self.path(name)
        if path is None:
            return None
        if not self._right_kind(path, _CONFIGURATION):
            return None
        problems, shown = self._reader.problems, self._reader.name(path)
        found = read_sections(self._reader.lines(path), SECTIONS[name], problems, shown)
        return [section for section in found if self._belongs(name, section)]

    def conf(self) -> LsfEntry:
        """Return the settings of lsf.conf, empty if the file is missing."""
        path = self.path("lsf.conf")
        if path is None or not self._right_kind(path, "lsf.conf"):
            return LsfEntry(CONF, Place(self.display("lsf.conf"), 1), {}, {})
        section = LsfSection(
            CONF, Place(self._reader.name(path), 1), tuple(self._reader.lines(path))
        )
        return entries(section, self._reader.problems, table=False)[0]

    def _right_kind(self, path: Path, wanted: str) -> bool:
        """Return whether the first lines fit the file; otherwise add a problem with its kind."""
        kind = kind_of(path)
        if kind in ("", wanted):
            return True
        name = self._reader.name(path)
        self._reader.problems.found.append(Problem(f"is {KINDS[kind].text}, not {path.name}", name))
        return False

    def _belongs(self, name: str, section: LsfSection) -> bool:
        if section.name in SECTIONS[name]:
            return True
        home = next((file for file, own in SECTIONS.items() if section.name in own), "")
        hint = nearest(section.name, SECTIONS[name])
        if home or hint:
            where = f": it belongs in {home}" if home else hint
            self._reader.problems.add(section.place, f"{name} has no section {section.name}{where}")
            return False
        return True


def cluster_names(root: Path) -> Sequence[str]:
    """Return the names of all clusters with a file ``lsf.cluster.NAME`` in a directory."""
    return sorted(
        path.name.removeprefix("lsf.cluster.")
        for path in root.glob("lsf.cluster.*")
        if _is_there(path) and not path.name.endswith(_COPIES)
    )


def _odd(paths: Iterable[Path]) -> list[Problem]:
    return [problem for path in paths if odd_kind(path) for problem in no_file(path).problems]


def _is_there(path: Path) -> bool:
    """Return whether a file exists, or a link out of the folder of --confine, which is refused
    later.
    """
    return not is_inside(path) or path.is_file()


#: Output of ``lshosts -w`` under this name in the directory is read without being asked for.
LSHOSTS = "lshosts"


@dataclass(frozen=True, slots=True)
class Site:
    """An imported configuration."""

    #: Name of the cluster.
    name: str
    #: Configuration directory, as messages name it.
    source: str
    #: Document in the form of an instance file, without jobs.
    document: dict[str, Any]
    #: The report, a sentence each.
    notes: tuple[str, ...]
    #: Problems of unreadable parts; :meth:`instance` raises them with all other problems.
    problems: tuple[Problem, ...]
    #: Document read from the configuration, with the place of each value.
    draft: Draft

    def instance(
        self, additions: Mapping[str, Any] | None = None
    ) -> tuple[Instance, tuple[Problem, ...]]:
        """Return the instance of the document with `additions`, and warnings.

        Raises InputError with everything that is wrong, each with its file and line.
        """
        instance, found = self.examine({**self.document, **(additions or {})})
        if instance is None:
            fatal = [finding for finding in found if not finding.warning]
            raise InputError(_in_order([*self.problems, *self.located(fatal)]))
        return instance, self.located(found)

    def examine(self, document: Mapping[str, Any]) -> tuple[Instance | None, list[Finding]]:
        """Return the instance of a document made from this one, None if it or the files are
        invalid.
        """
        from ..build import examine

        instance, found = examine(document)
        if not self.problems:
            return instance, found
        # Unreadable parts may have defined names that other parts use.
        return None, [
            finding
            for finding in found
            if not finding.rests_on_others and finding.place != ("hosts",)
        ]

    def located(self, findings: list[Finding]) -> tuple[Problem, ...]:
        """Return findings about the document, located in its source files."""
        return self.draft.located(findings, self.source)


def _in_order(problems: list[Problem]) -> list[Problem]:
    return sorted(dict.fromkeys(problems), key=lambda p: (p.source, p.line or 0))


@bounded("the configuration")
def site_document(
    confdir: str | Path,
    *,
    cluster: str = "",
    at: datetime | None = None,
    present: datetime | None = None,
    user: str = "",
    lshosts: str | Path | None = None,
    ncpus: Mapping[str, int] | None = None,
    rusage: str = "",
) -> Site:
    """Read a configuration directory.

    cluster: which one, where the directory has several. at: the document's `now`. at (or else
    present), user: what ``#if time(…)`` and ``user(…)`` are asked for. lshosts: a file with the
    output of ``lshosts -w``; by default ``lshosts.CLUSTER`` or ``lshosts`` in the directory.
    ncpus: processors by host, "" for all others, where no file says them. rusage: "slot" or "host",
    what rusage[mem] counts for where the files do not say it, "" for what the scheduler's family
    does.

    Raises InputError if there is no such directory or cluster; what is wrong inside the files
    stands in `Site.problems`.
    """
    root = Path(confdir)
    name = _cluster(root, cluster)
    problems, notes, draft = Problems(), Notes(str(root)), Draft()
    reader = LineReader(root, Circumstances(at or present, user, name), problems)
    notes.decisions = reader.decisions
    files = ConfigFiles(root, name, reader, notes)
    problems.found += (odd := files.odd())
    if name:
        draft.document["name"] = name
    if at is not None:
        draft.document["now"] = at.isoformat(timespec="seconds")
    facts = _facts(root, name, lshosts, reader, notes)
    counted = dict(ncpus or {})
    if facts is None:
        counted.setdefault("", 1)  # there is a problem already: not one more for each host
    _read(files, facts or {}, counted, draft, notes, problems)
    params.put_family(files.family(), rusage, draft, notes)
    found = {Path(problem.source).name for problem in odd}
    files_there = (file for file in SECTIONS if file not in found | _RARE)
    missing = [file for file in files_there if files.path(file) is None]
    if missing:
        notes.remark(f"not there: {', '.join(missing)}")
    if reader.decisions:
        asked = described(reader.circumstances)
        notes.remark(f"conditions (#if) were evaluated {asked or 'without time, user and cluster'}")
    notes.settle(params.settled_scopes(draft.document))
    if omissions := notes.omissions():
        draft.document["omissions"] = omissions
    wrong = tuple(_in_order(problems.found))
    return Site(name, str(root), draft.document, notes.lines(), wrong, draft)


def _cluster(root: Path, wanted: str) -> str:
    """Return the name of the cluster to read, "" if the directory names none."""
    check_inside(root)
    try:
        os.listdir(root)
    except NotADirectoryError as error:
        if not root.is_file():
            raise unreadable(root, error) from None
        remedy = "give the directory that contains lsf.conf, lsb.queues and similar files"
        raise InputError([Problem(f"is a file, not a directory: {remedy}", str(root))]) from None
    except (OSError, ValueError) as error:
        raise unreadable(root, error) from None
    names = cluster_names(root)
    if wanted:
        if wanted not in names and names:
            hint = nearest(wanted, names) or f": use one of {', '.join(names)}"
            raise InputError([Problem(f"has no lsf.cluster.{wanted}{hint}", str(root))])
        return wanted
    if len(names) > 1:
        message = f"has several clusters ({', '.join(names)}): select one with --cluster"
        raise InputError([Problem(message, str(root))])
    if not names and not any((root / name).is_file() for name in ("lsf.conf", *SECTIONS)):
        known = [root / name for name in ("lsf.conf", *SECTIONS)]
        if odd := _odd(path for path in (*known, *root.glob("lsf.cluster.*")) if is_inside(path)):
            raise InputError(odd)
        message = f"has no LSF configuration: none of lsf.conf, lsf.cluster.NAME, {_some()}"
        raise InputError([Problem(message, str(root))])
    return names[0] if names else ""


def _some() -> str:
    return ", ".join(name for name in SECTIONS if name.startswith("lsb.") and name not in _RARE)


def _facts(
    root: Path, cluster: str, given: str | Path | None, reader: LineReader, notes: Notes
) -> dict[str, HostFacts] | None:
    choices = [root / f"{LSHOSTS}.{cluster}", root / LSHOSTS] if given is None else [Path(given)]
    path = next((choice for choice in choices if given is not None or choice.is_file()), None)
    if path is None:
        return {}
    before = len(reader.problems.found)
    lines = reader.lines(path)
    if len(reader.problems.found) > before:
        return None

    def unread(place: Place, host: str, what: str) -> None:
        where = f"{notes.at(place)} of {host}"
        notes.may_differ("lshosts", f"{what}: not known", where, Concerned({"hosts": (host,)}))

    return read_lshosts(lines, reader.problems, reader.name(path), unread)


def _read(
    files: ConfigFiles,
    facts: dict[str, HostFacts],
    ncpus: dict[str, int],
    draft: Draft,
    notes: Notes,
    problems: Problems,
) -> None:
    """Read all files into the draft: parameters, machines, people, then objects that refer to
    them.
    """
    params.put_conf(files.conf(), draft, notes, problems)
    parameters = params.parameters(files.sections("lsb.params") or (), notes, problems)
    params.put_params(parameters, draft, notes)
    shared = read_shared(files.sections("lsf.shared") or (), draft, notes, problems)
    machines, names = _machines(files, facts, ncpus, shared, draft, notes, problems)
    queues.read_users(files.sections("lsb.users") or (), draft, notes, problems)
    limits = RunLimits(machines, shared.factors, parameters, notes)
    found = queues.read_queues(
        files.sections("lsb.queues") or (), names, limits, shared, draft, notes, problems
    )
    params.put_history(found, draft, notes)
    classes = files.sections("lsb.serviceclasses") or ()
    guarantees.read_service_classes(classes, draft, notes, problems)
    queues.read_resources(files.sections("lsb.resources") or (), shared, draft, notes, problems)
    profiles = files.sections("lsb.applications") or ()
    read_applications(profiles, limits, shared, draft, notes, problems)
    plugins = files.sections("lsb.modules")
    if plugins is not None:
        params.read_modules(plugins, draft, problems, files.display("lsb.modules"))
        params.note_missing(draft, notes)


def _machines(
    files: ConfigFiles,
    facts: dict[str, HostFacts],
    ncpus: dict[str, int],
    shared: Shared,
    draft: Draft,
    notes: Notes,
    problems: Problems,
) -> tuple[dict[str, clusters.Machine], HostNames]:
    """Return the hosts with all properties, and an index of their names."""
    sections = files.sections("lsf.cluster") or []
    machines = clusters.read_hosts(sections, facts, shared, notes, problems)
    batch = files.sections("lsb.hosts") or []
    rows = hosts.read_host_rows(batch, machines, shared, notes, problems)
    names = HostNames(machines)
    clusters.read_resource_map(sections, machines, names, shared, draft, notes, problems)
    shared.gpus = any(GPU_NAMES & machine.amounts.keys() for machine in machines.values())
    hosts.put_hosts(machines, rows, shared, ncpus, draft, notes, problems)
    if not machines:
        path = files.display("lsf.cluster")
        message = "there are no hosts: give lsf.cluster.NAME, or the output of lshosts -w"
        problems.found.append(Problem(message, path))
    names = HostNames(machines)
    hosts.read_groups(batch, names, draft, notes, problems)
    return machines, names


@dataclass(frozen=True, slots=True)
class Overlay:
    """The document with what the configuration adds, and the way back to the files.

    A mapping (``params``, ``host_groups``) of the document joins the configuration's, key by key;
    a list (``queues``) replaces the configuration's, but for omissions, which are added.
    """

    #: Configuration that the instance file extends.
    site: Site
    #: Instance file as parsed from YAML or JSON.
    given: dict[str, Any]
    #: Configuration and instance file merged into one document.
    data: dict[str, Any]

    def located(
        self, findings: list[Finding], own: Callable[[list[Finding]], tuple[Problem, ...]]
    ) -> tuple[Problem, ...]:
        """Return findings located in the configuration's files, or by `own` in the instance
        file.
        """
        there = [finding for finding in findings if self._inherited(finding)]
        here = [finding for finding in findings if not self._inherited(finding)]
        return (*self.site.located(there), *(own(here) if here else ()))

    def _inherited(self, finding: Finding) -> bool:
        section, *rest = (*finding.place, "")
        if section not in self.site.document:
            return False
        given = self.given.get(str(section))
        return given is None or (isinstance(given, dict) and rest[0] not in given)


def overlay(data: dict[str, Any], source: str) -> Overlay:
    """Read the directory that `data` names, from the folder of its own file.

    Raises InputError if there is no such directory or cluster, ValueError if the key is wrong.
    """
    from pydantic import ValidationError

    from ..document import ConfigEntry, explain

    given = {key: value for key, value in data.items() if key != "config"}
    wanted = data["config"]
    try:
        entry = ConfigEntry.model_validate(
            {"directory": wanted} if isinstance(wanted, str) else wanted
        )
    except ValidationError as error:
        found = explain(error)[0]
        key = f"{found.place[0]}: " if found.place else ""
        raise ValueError(key + found.message) from None
    folder = Path(source).parent if source and not source.startswith("<") else Path()
    site = site_document(
        folder / entry.directory,
        cluster=entry.cluster,
        present=_moment(given),
        user=entry.user,
        lshosts=None if entry.lshosts is None else folder / entry.lshosts,
        ncpus={} if entry.ncpus is None else {"": entry.ncpus},
    )
    merged = {**site.document, **given}
    if isinstance(given.get("omissions"), list):
        merged["omissions"] = [*given["omissions"], *site.document.get("omissions", [])]
    for section, value in site.document.items():
        if isinstance(value, dict) and isinstance(given.get(section), dict):
            merged[section] = {**value, **given[section]}
    return Overlay(site, given, merged)


def _moment(data: dict[str, Any]) -> datetime | None:
    """Return the document's own time for ``#if time(…)``, None if it has none."""
    try:
        now = parse_instant(data.get("now", 0))
        if isinstance(now, datetime):
            return now
        origin = data.get("origin")
        return None if origin is None else parse_stamp(origin) + timedelta(seconds=now)
    except (ValueError, OverflowError):
        return None  # the reader of the document reports errors
