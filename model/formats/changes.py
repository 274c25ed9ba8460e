"""Files of changes over time (docs/changes.md): read against an instance, and written.

changes = load_changes("changes.yaml", instance)
text = dump_changes(changes, instance)      # loads_changes(text, instance) == changes
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from .. import changes as c
from ..cluster import BUILTIN_AMOUNTS
from ..errors import InputError, Problem, nearest
from ..input_limits import counting, limits
from ..instance import Instance
from ..job import Job
from . import changes_document as d
from .bsub import read_bsub
from .encode import allocation_text, plain_job
from .finding import Finding, Location, problems
from .hostlimits import LimitScale
from .jobs import JobBuilder
from .known import unknown_host
from .names import expand_range
from .sniff import refuse_other
from .source_text import file_content, plain_data, with_script
from .units import Clock, size_text

#: Keys of host changes and the status that they bring.
STATUS_OF = {"down": c.DOWN, "up": c.UP, "close": c.CLOSED, "open": c.OPEN, "ok": c.OK}
_KEY_OF = {status: key for key, status in STATUS_OF.items()}


def load_changes(path: str | Path, instance: Instance) -> tuple[c.Change, ...]:
    """The changes of a file, YAML or JSON, in the order of time.

    Raises InputError with everything that is wrong: form, unknown hosts, jobs and queues, jobs that
    bsub would refuse, what happens to a job before it is submitted.
    """
    data, kind = file_content(Path(path))
    try:
        return loads_changes(data, instance, str(path), format=kind)
    except InputError:
        refuse_other(path, "changes")
        raise


def loads_changes(
    text: str | bytes, instance: Instance, source: str = "", *, format: str | None = None
) -> tuple[c.Change, ...]:
    """The same of a text; format: "yaml", "json" or None for "look at it"."""
    from .positions import compose, lines

    data, content = plain_data(text, source, format)
    changes, found = _interpret(_with_scripts(data, Path(source).parent), instance)
    if found:
        places = lines(compose(content), [finding.place for finding in found])
        raise InputError(problems(found, source, places))
    return changes


def _with_scripts(data: Any, folder: Path) -> Any:
    items = data.get("changes") if isinstance(data, dict) else None
    if not isinstance(items, list):
        return data
    for item in items:
        if isinstance(item, dict) and isinstance(item.get("submit"), dict):
            item["submit"] = with_script(item["submit"], folder)
    return data


def _interpret(data: Any, instance: Instance) -> tuple[tuple[c.Change, ...], list[Finding]]:
    from .raw import strange_values

    entries, found = _entries(data)
    found += strange_values(data)
    reader = _ChangeReader(instance)
    for place, entry in entries:
        reader.read(place, entry)
    found += reader.finish()
    return tuple(sorted(reader.changes, key=lambda change: change.time)), found


def _entries(data: Any) -> tuple[list[tuple[Location, d.ChangeEntry]], list[Finding]]:
    """The entries whose form is right, and what is wrong with the others."""
    from pydantic import ValidationError

    from .messages import explain

    if isinstance(data, dict) and isinstance(items := data.get("changes"), list):
        if len(items) > limits().jobs:
            raise InputError([Problem(f"has more than {limits().jobs:,} changes (--max-jobs)")])
    else:
        items = []
    context = {"base": 1024, "unit": 1.0}
    try:
        with counting():
            document = d.ChangesDocument.model_validate(data, context=context)
    except ValidationError as error:
        found = explain(error, d.ChangesDocument)
    else:
        return [(("changes", i), entry) for i, entry in enumerate(document.changes)], []
    right: list[tuple[Location, d.ChangeEntry]] = []
    broken = {finding.place[:2] for finding in found}
    for index, item in enumerate(items):
        if ("changes", index) not in broken:
            entry = d.ChangeEntry.model_validate(item, context=context)
            right.append((("changes", index), entry))
    return right, found


def _of_array(given: dict[str, Any]) -> dict[str, Any]:
    """What -J of bmod says of an array, ``a%5`` or ``a[1-9]%5``: how many may run, %0 for any."""
    spec, (name, mark, limit) = given.get("array"), given.get("name", "").rpartition("%")
    if spec is not None:
        return {"array_limit": spec.limit}
    if not mark or not (limit.isascii() and limit.isdigit() and len(limit) < 10):
        return {}
    return {"name": name, "array_limit": int(limit) or None}


class _ChangeReader:
    """Turns entries into changes; what is wrong is kept with its place."""

    def __init__(self, instance: Instance) -> None:
        self.changes: list[c.Change] = []
        self._instance = instance
        self._origin = None if instance.origin is None else datetime.fromisoformat(instance.origin)
        self._found: list[Finding] = []
        self._entries: list[tuple[int, Location, d.ChangeEntry]] = []
        running = (item.job for item in instance.running)
        jobs = (*running, *instance.pending, *instance.future)
        self._jobs = {job.id: job for job in jobs}
        self._scale = LimitScale(instance.cluster, instance.queues)
        self._first_host = {item.job.id: list(item.allocation)[:1] for item in instance.running}
        #: Jobs as they are submitted or changed, and the key of the entry that says so.
        self._asked: list[tuple[Job, Location]] = []

    def read(self, place: Location, entry: d.ChangeEntry) -> None:
        """Take an entry; what it means is found at the end, in the order of time."""
        clock = Clock(self._origin, self._instance.now)
        try:
            at = clock.seconds(entry.at)
        except ValueError as error:
            self._say((*place, "at"), str(error))
            return
        if at < self._instance.now:
            now = self._instance.now
            self._say((*place, "at"), f"second {at} lies before the instance's now, second {now}")
            at = now
        self._entries.append((at, place, entry))

    def finish(self) -> list[Finding]:
        """Everything that is wrong."""
        self._submissions()
        for at, place, entry in sorted(self._entries, key=lambda item: item[0]):
            where = (*place, entry.action)
            if entry.action in STATUS_OF:
                for host in self._hosts(where, getattr(entry, entry.action)):
                    self.changes.append(c.HostStatus(at, host, STATUS_OF[entry.action]))
            elif entry.load is not None:
                self._load(at, where, entry.load)
            elif entry.submit is None:
                self._job_change(at, where, entry)
        self._found += self._refusals()
        return self._found

    def _say(self, place: Location, message: str) -> None:
        self._found.append(Finding(place, message))

    # --- hosts ----------------------------------------------------------------------------------

    def _hosts(self, place: Location, words: Iterable[str]) -> list[str]:
        names: list[str] = []
        cluster = self._instance.cluster
        for word in words:
            try:
                expanded = expand_range(word)
            except ValueError as error:
                self._say(place, str(error))
                continue
            for name in expanded:
                hosts = cluster.expand(name)
                if hosts is None:
                    self._say(place, unknown_host(cluster, name))
                names += hosts or ()
        return list(dict.fromkeys(names))

    def _load(self, at: int, place: Location, entry: d.LoadEntry) -> None:
        values = dict(entry.values)
        for name in BUILTIN_AMOUNTS:
            size = getattr(entry, name)
            if size is not None and name in values:
                self._say((*place, name), f"{name} stands in values already")
            if size is not None:
                values[name] = size
        if not values:
            self._say(place, "reports nothing: give values: {r1m: 2.5} or mem: 4G")
        for host in self._hosts((*place, "host"), entry.host):
            self.changes.append(c.LoadReport(at, host, values))

    # --- jobs -----------------------------------------------------------------------------------

    def _submissions(self) -> None:
        """New jobs come first: what else happens to them may stand anywhere in the file."""
        instance = self._instance
        findings: list[Finding] = []
        clock = Clock(self._origin, instance.now)
        builder = JobBuilder(
            instance.queues, instance.applications, instance.params, clock, findings
        )
        for at, place, entry in self._entries:
            if entry.submit is None:
                continue
            where = (*place, "submit")
            if "submit" in entry.submit.model_fields_set:
                self._say((*where, "submit"), "the entry's `at` says when: leave it out")
            jobs = builder.waiting("", [entry.submit])
            alone = replace(instance, running=(), pending=(), future=jobs)
            jobs = tuple(builder.counted(alone).future)
            self._found += [replace(f, place=(*where, *f.place[2:])) for f in findings]
            findings.clear()
            if known := next((job.id for job in jobs if job.id in self._jobs), None):
                self._say((*where, "id"), f"there is a job {known} already")
                continue
            for number, job in enumerate(jobs):
                settled = self._in_wall_clock(replace(job, submit=at), where)
                self._jobs[job.id] = settled
                if not number:  # the other elements of an array ask for the same
                    self._asked.append((settled, where))
                self.changes.append(c.NewJob(settled))

    def _job_change(self, at: int, place: Location, entry: d.ChangeEntry) -> None:
        """A change of a job, or of each element of an array."""
        what = getattr(entry, entry.action)
        name = what if isinstance(what, str) else what.job
        if name in self._jobs:
            self._change_of(at, place, entry, name)
            return
        found = [job.id for job in self._jobs.values() if job.array_id == name]
        for id in found or [name]:
            self._change_of(at, place, entry, id)

    def _change_of(self, at: int, place: Location, entry: d.ChangeEntry, name: str) -> None:
        what = getattr(entry, entry.action)
        key = place if isinstance(what, str) else (*place, "job")
        job = self._jobs.get(name)
        if job is None:
            self._say(key, f"unknown job {name!r}{nearest(name, self._jobs)}")
        elif job.submit > at:
            self._say(key, f"job {name} is submitted later, at second {job.submit}")
        match entry.action:
            case "end":
                self.changes.append(c.EarlyEnd(at, name))
            case "bkill":
                self.changes.append(c.Kill(at, name))
            case "btop" | "bbot":
                to: Any = "top" if entry.action == "btop" else "bottom"
                self.changes.append(c.Moved(at, name, to))
            case "resize" | "release":
                self._size(at, place, what.model_copy(update={"job": name}))
            case "bswitch":
                self.changes.append(c.QueueSwitch(at, name, what.queue))
                self._now_is(job, place, {"queue": what.queue})
            case "bmod":
                given = self._modified(at, place, what)
                if job is not None:
                    changed = self._in_wall_clock(replace(job, **given), place)
                    given = {field: getattr(changed, field) for field in given}
                self.changes.append(c.Modification(at, name, given))
                self._now_is(job, place, given)

    def _size(self, at: int, place: Location, entry: d.ResizeEntry | d.ReleaseEntry) -> None:
        known = self._instance.cluster.host_index()
        key = "allocation" if isinstance(entry, d.ResizeEntry) else "slots"
        hosts: dict[str, int] = getattr(entry, key)
        for host in hosts:
            if host not in known:
                self._say((*place, key), f"unknown host {host!r}{nearest(host, known)}")
        kind = c.Resize if isinstance(entry, d.ResizeEntry) else c.Release
        self.changes.append(kind(at, entry.job, hosts))

    def _modified(self, at: int, place: Location, entry: d.ModifyEntry) -> dict[str, Any]:
        """The fields of a job that bmod gives anew."""
        clock = Clock(self._origin, at)
        given: dict[str, Any] = {}
        wrong: Sequence[Problem] = ()
        if entry.bsub is not None:
            given, wrong = read_bsub(entry.bsub, clock)
            for problem in wrong:
                self._say((*place, "bsub"), problem.message)
            given |= _of_array(given)
            given.pop("array", None)
        for name in sorted(entry.model_fields_set - {"job", "bsub"}):
            value = getattr(entry, name)
            if name in given:
                self._say((*place, name), f"{name} stands in the bsub line already")
            elif name == "slots" and value is not None:
                given["slots"], given["max_slots"] = value
            elif name in ("begin", "deadline") and value is not None:
                try:
                    given[name] = clock.seconds(value)
                except ValueError as error:
                    self._say((*place, name), str(error))
            elif value is not None:
                given[name] = value
        if not given and not wrong:
            self._say(place, "changes nothing: give bsub: '-n 4' or fields such as slots: 4")
        return given

    def _in_wall_clock(self, job: Job, place: Location) -> Job:
        """The job, its limits on a host settled; a running job counts by its first host."""
        settled, wrong = self._scale.settled(
            job, lambda: self._first_host.get(job.id) or self._scale.hosts_of(job)
        )
        for name, message in wrong:
            self._say((*place, name), message)
        return settled

    def _now_is(self, job: Job | None, place: Location, given: dict[str, Any]) -> None:
        if job is not None:
            self._jobs[job.id] = replace(job, **given)
            self._asked.append((self._jobs[job.id], place))

    def _refusals(self) -> list[Finding]:
        """Why bsub would refuse a job as it is after a change."""
        from .rules import check

        # Each under a name of its own: a job may be changed several times.
        jobs = tuple(replace(job, id=f"job{n}") for n, (job, _) in enumerate(self._asked))
        alone = replace(self._instance, running=(), pending=(), future=jobs)
        found: dict[tuple[str, str], Finding] = {}
        for finding in check(alone) if jobs else ():
            match finding.place:
                case ("future", int(index), *rest) if not finding.warning:
                    job, place = self._asked[index]
                    message = finding.message.replace(f"job{index}", f"job {job.id}")
                    told = replace(finding, place=(*place, *rest), message=message)
                    # What a later change of the same job leaves wrong is said once.
                    found.setdefault((job.id, message), told)
        return list(found.values())


# --- writing ----------------------------------------------------------------------------------


def dump_changes(changes: Sequence[c.Change], instance: Instance) -> str:
    """Changes as YAML; the instance is the one that they are read against."""
    import yaml

    entries = [_entry(change, instance) for change in changes]
    document = {"format": d.FORMAT, "changes": entries}
    text: str = yaml.safe_dump(
        document, sort_keys=False, width=100, default_flow_style=None, allow_unicode=True
    )
    return text


def _entry(change: c.Change, instance: Instance) -> dict[str, Any]:
    return {"at": change.time, **_WRITERS[type(change)](change, instance)}


def _load_entry(change: c.LoadReport, _: Instance) -> dict[str, Any]:
    sizes = {n: size_text(v) for n, v in change.values.items() if n in BUILTIN_AMOUNTS}
    values = {n: v for n, v in change.values.items() if n not in BUILTIN_AMOUNTS}
    return {"load": {"host": change.host, **({"values": values} if values else {}), **sizes}}


def _new_job(change: c.NewJob, instance: Instance) -> dict[str, Any]:
    entry = plain_job(change.job, instance.params)
    entry.pop("submit", None)
    return {"submit": entry}


def _modify_entry(change: c.Modification, instance: Instance) -> dict[str, Any]:
    """Fields as an instance file writes them, those alone that are given."""
    usual = Job(change.job)
    whole = plain_job(replace(usual, **change.fields), instance.params)
    entry: dict[str, Any] = {"job": change.job}
    for name in change.fields:
        if name != "max_slots":
            entry[name] = whole.get(name, _plain(change.fields[name]))
    return {"bmod": entry}


def _plain(value: Any) -> Any:
    """A value that an instance file would leave out, as the usual one."""
    return list(value) if isinstance(value, tuple) else value


_WRITERS: dict[type[Any], Callable[[Any, Instance], dict[str, Any]]] = {
    c.HostStatus: lambda change, _: {_KEY_OF[change.status]: change.host},
    c.LoadReport: _load_entry,
    c.Resize: lambda change, _: {
        "resize": {"job": change.job, "allocation": allocation_text(change.allocation)}
    },
    c.Release: lambda change, _: {
        "release": {"job": change.job, "slots": allocation_text(change.slots)}
    },
    c.EarlyEnd: lambda change, _: {"end": change.job},
    c.Kill: lambda change, _: {"bkill": change.job},
    c.Moved: lambda change, _: {"btop" if change.to == "top" else "bbot": change.job},
    c.QueueSwitch: lambda change, _: {"bswitch": {"job": change.job, "queue": change.queue}},
    c.NewJob: _new_job,
    c.Modification: _modify_entry,
}
