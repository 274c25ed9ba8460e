"""A configuration directory of LSF as an instance document, with the report of the import.

    site = site_document("conf", cluster="blue")
    instance, warnings = site.instance()

Other readers may add what runs and waits: ``site.instance({"running": […], "pending": […]})``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from ...confined import check_inside
from ...errors import InputError, Problem, nearest, unreadable
from ...gpu_request import GPU_NAMES
from ...instance import Instance
from ..finding import Finding
from . import cluster as clusters
from . import hosts, modules, params, queues, resources, users
from .applications import read_applications
from .conditions import described
from .draft import Draft
from .files import SECTIONS, ConfigFiles, cluster_names
from .hostnames import HostNames
from .lines import LineReader
from .lshosts import HostFacts, read_lshosts
from .notes import Notes
from .runlimits import RunLimits
from .shared import Shared, read_shared
from .source import Circumstances, Problems

#: Output of ``lshosts -w`` under this name in the directory is read without being asked for.
LSHOSTS = "lshosts"


@dataclass(frozen=True, slots=True)
class Site:
    """An imported configuration.

    document: as an instance file has it, without jobs. notes: the report, a sentence each.
    problems: what could not be read; :meth:`instance` raises them with all others.
    """

    name: str
    source: str
    document: dict[str, Any]
    notes: tuple[str, ...]
    problems: tuple[Problem, ...]
    draft: Draft

    def instance(
        self, additions: Mapping[str, Any] | None = None
    ) -> tuple[Instance, tuple[Problem, ...]]:
        """The instance with `additions` to the document, and warnings.

        Raises InputError with everything that is wrong, each with its file and line.
        """
        instance, found = self.examine({**self.document, **(additions or {})})
        if instance is None:
            fatal = [finding for finding in found if not finding.warning]
            raise InputError(_in_order([*self.problems, *self.located(fatal)]))
        return instance, self.located(found)

    def examine(self, document: Mapping[str, Any]) -> tuple[Instance | None, list[Finding]]:
        """The instance of a document made from this one, None if it or the files are wrong."""
        from ..examine import examine

        instance, found = examine(document)
        if not self.problems:
            return instance, found
        # What could not be read may have defined what others miss.
        return None, [
            finding
            for finding in found
            if not finding.rests_on_others and finding.place != ("hosts",)
        ]

    def located(self, findings: list[Finding]) -> tuple[Problem, ...]:
        """Findings about the document, placed in the files they come from."""
        return self.draft.located(findings, self.source)


def _in_order(problems: list[Problem]) -> list[Problem]:
    return sorted(dict.fromkeys(problems), key=lambda p: (p.source, p.line or 0))


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
    if name:
        draft.document["name"] = name
    if at is not None:
        draft.document["now"] = at.isoformat(timespec="seconds")
    facts = _facts(root, name, lshosts, reader)
    counted = dict(ncpus or {})
    if facts is None:
        counted.setdefault("", 1)  # there is a problem already: not one more for each host
    _read(files, facts or {}, counted, draft, notes, problems)
    params.put_rusage(files.family(), rusage, draft, notes)
    missing = [file for file in SECTIONS if files.path(file) is None]
    if missing:
        notes.remark(f"not there: {', '.join(missing)}")
    if reader.decisions:
        asked = described(reader.circumstances)
        notes.remark(f"conditions (#if) were asked {asked or 'without time, user and cluster'}")
    if omissions := notes.omissions():
        draft.document["omissions"] = omissions
    found = tuple(_in_order(problems.found))
    return Site(name, str(root), draft.document, notes.lines(), found, draft)


def _cluster(root: Path, wanted: str) -> str:
    """The name of the cluster to read, "" where the directory knows no name."""
    check_inside(root)
    try:
        os.listdir(root)
    except NotADirectoryError as error:
        if not root.is_file():
            raise unreadable(root, error) from None
        remedy = ": give the directory that holds lsf.conf, lsb.queues and the like"
        raise InputError([Problem(f"is no directory{remedy}", str(root))]) from None
    except (OSError, ValueError) as error:
        raise unreadable(root, error) from None
    names = cluster_names(root)
    if wanted:
        if wanted not in names and names:
            hint = nearest(wanted, names)
            raise InputError([Problem(f"has no lsf.cluster.{wanted}{hint}", str(root))])
        return wanted
    if len(names) > 1:
        message = f"has several clusters: {', '.join(names)}: choose one with --cluster"
        raise InputError([Problem(message, str(root))])
    if not names and not any((root / name).is_file() for name in ("lsf.conf", *SECTIONS)):
        message = f"holds no LSF configuration: none of lsf.conf, lsf.cluster.NAME, {_some()}"
        raise InputError([Problem(message, str(root))])
    return names[0] if names else ""


def _some() -> str:
    return ", ".join(name for name in SECTIONS if name.startswith("lsb."))


def _facts(
    root: Path, cluster: str, given: str | Path | None, reader: LineReader
) -> dict[str, HostFacts] | None:
    choices = [root / f"{LSHOSTS}.{cluster}", root / LSHOSTS] if given is None else [Path(given)]
    path = next((choice for choice in choices if given is not None or choice.is_file()), None)
    if path is None:
        return {}
    before = len(reader.problems.found)
    lines = reader.lines(path)
    if len(reader.problems.found) > before:
        return None
    return read_lshosts(lines, reader.problems, reader.name(path))


def _read(
    files: ConfigFiles,
    facts: dict[str, HostFacts],
    ncpus: dict[str, int],
    draft: Draft,
    notes: Notes,
    problems: Problems,
) -> None:
    """All files into the draft: parameters, machines, people, then what refers to them."""
    conf = files.conf()
    params.put_conf(conf, draft, notes, problems)
    parameters = params.parameters(files.sections("lsb.params") or (), notes, problems)
    params.put_params(parameters, draft, notes)
    shared = read_shared(files.sections("lsf.shared") or (), draft, notes, problems)
    machines, names = _machines(files, facts, ncpus, shared, draft, notes, problems)
    users.read_users(files.sections("lsb.users") or (), draft, notes, problems)
    limits = RunLimits(machines, shared.factors, parameters, notes)
    found = queues.read_queues(
        files.sections("lsb.queues") or (), names, limits, shared, draft, notes, problems
    )
    params.put_history(found, draft, notes)
    resources.read_resources(files.sections("lsb.resources") or (), draft, notes, problems)
    profiles = files.sections("lsb.applications") or ()
    read_applications(profiles, limits, shared, draft, notes, problems)
    plugins = files.sections("lsb.modules")
    if plugins is not None:
        modules.read_modules(plugins, draft, problems, files.display("lsb.modules"))
        modules.note_missing(draft, notes)


def _machines(
    files: ConfigFiles,
    facts: dict[str, HostFacts],
    ncpus: dict[str, int],
    shared: Shared,
    draft: Draft,
    notes: Notes,
    problems: Problems,
) -> tuple[dict[str, clusters.Machine], HostNames]:
    """The hosts with everything about them, and their names for what refers to them."""
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
        message = "there are no hosts: lsf.cluster.NAME lists them, and lshosts -w prints them"
        problems.found.append(Problem(message, path))
    names = HostNames(machines)
    hosts.read_groups(batch, names, draft, notes, problems)
    return machines, names
