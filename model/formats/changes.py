"""Files of changes over time (docs/changes.md): read against an instance, and written.

changes = load_changes("changes.yaml", instance)
text = dump_changes(changes, instance)      # loads_changes(text, instance) == changes

Changes made in memory, held to the rules of files of changes. Each by itself: its class and what
its fields hold, asked of the types that read a file. Then the names in it, and every job as it is
submitted or changed, which must pass like a job of an instance (:mod:`.objects`). Paths lead from
the list to what is wrong: ``changes[3].job.slots``.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar, get_args

from pydantic import Field, create_model, model_validator

from .. import changes as c
from ..absolute_priority import StatedPriority
from ..cluster import BUILTIN_AMOUNTS, NamedHosts
from ..errors import InputError, Problem, nearest
from ..facts import known_fields
from ..input_limits import counting, limits, take_names, too_many
from ..instance import Instance
from ..job import Job
from . import fields as f
from .bsub import read_bsub
from .build import MAX_ERRORS, JobBuilder
from .document import Finding, JobEntry, Location, Section, problems
from .encode import plain_job
from .field_rules import class_rules
from .names import expand_range, unknown_host
from .objects import examine_objects
from .reading import refuse_other
from .rules import LimitScale
from .source_text import file_content, plain_data, with_script
from .units import Clock, size_text

FORMAT = "slotwise-changes/1"
#: Number of entries that are checked together if very many are wrong.
_TOGETHER = 2_000
#: Keys of an entry that name the change; each entry has exactly one of them.
ACTIONS = (
    *("down", "up", "close", "open", "ok", "load"),
    *("submit", "end", "resize", "release", "bkill", "bmod", "bswitch", "btop", "bbot"),
)


class LoadEntry(Section):
    """A load report of a host: load indices as numbers, mem, swp and tmp as sizes."""

    host: f.Words
    values: dict[f.Name, f.Number] = Field(default_factory=dict)
    mem: f.Size | None = None
    swp: f.Size | None = None
    tmp: f.Size | None = None


class ResizeEntry(Section):
    """The new allocation of a running job."""

    job: f.JobId
    allocation: f.Allocation


class ReleaseEntry(Section):
    """Slots that a running job releases."""

    job: f.JobId
    slots: f.Allocation


class SwitchEntry(Section):
    """A change of queue (bswitch)."""

    job: f.JobId
    queue: f.Name


class ModifyKeys(Section):
    """The keys of a bmod that are more than a field of a job."""

    job: f.JobId
    bsub: f.Text | None = None
    slots: f.Slots | None = None


#: Fields of a job that bmod does not change.
_UNCHANGED = frozenset(
    {"user", "run_time", "cpu_time", "submit", "has_fixed_priority", "weight", "from_host"}
    | {"queued_as", "requeued", "unheeded", "think_time", "requirement_alternative"}
)
#: What else than a value a key takes, if not null alone.
_NONE: dict[str, Any] = {"aps": Literal[""] | None}
if TYPE_CHECKING:
    ModifyEntry: TypeAlias = ModifyKeys
else:
    ModifyEntry = create_model(
        "ModifyEntry",
        __base__=ModifyKeys,
        __doc__="A bmod: a line of its options, or fields, or both without overlap.",
        __module__=__name__,
        **{
            name: (f.KINDS[known.fact.kind].reads | _NONE.get(name), None)
            for name, known in known_fields(Job).items()
            if name not in _UNCHANGED
        },
    )


class ChangeEntry(Section):
    """One change with its time."""

    at: f.Instant
    down: f.Words | None = None
    up: f.Words | None = None
    close: f.Words | None = None
    open: f.Words | None = None
    ok: f.Words | None = None
    load: LoadEntry | None = None
    submit: JobEntry | None = None
    end: f.JobId | None = None
    resize: ResizeEntry | None = None
    release: ReleaseEntry | None = None
    bkill: f.JobId | None = None
    bmod: ModifyEntry | None = None
    bswitch: SwitchEntry | None = None
    btop: f.JobId | None = None
    bbot: f.JobId | None = None

    @model_validator(mode="after")
    def _one_action(self) -> ChangeEntry:
        given = [key for key in ACTIONS if getattr(self, key) is not None]
        if len(given) != 1:
            said = f"has {' and '.join(given)}: split it into {len(given)} entries"
            wanted = said if given else f"has no action: give one of {', '.join(ACTIONS)}"
            raise ValueError(wanted)
        return self

    @property
    def action(self) -> str:
        """Return the key that names the change."""
        return next(key for key in ACTIONS if getattr(self, key) is not None)


class ChangesDocument(Section):
    """A file of changes."""

    format: Literal["slotwise-changes/1"]
    description: f.Text = ""
    changes: Annotated[list[ChangeEntry], Field(default_factory=list)]


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a file of changes."""
    found = ChangesDocument.model_json_schema(by_alias=True)
    found["$defs"]["ChangeEntry"]["oneOf"] = [{"required": [key]} for key in ACTIONS]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found}


#: Keys of host changes and the status that they bring.
STATUS_OF = {"down": c.DOWN, "up": c.UP, "close": c.CLOSED, "open": c.OPEN, "ok": c.OK}
_KEY_OF = {status: key for key, status in STATUS_OF.items()}


def load_changes(path: str | Path, instance: Instance) -> tuple[c.Change, ...]:
    """Return the changes of a YAML or JSON file in order of time.

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
    """Return the changes of a text in order of time; format: "yaml", "json", or None to detect
    it.
    """
    from .source_text import compose, lines

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
    from .source_text import strange_values

    entries, found = _entries(data)
    found += strange_values(data)
    with counting():
        reader = _ChangeReader(instance)
        for place, entry in entries:
            reader.read(place, entry)
        found += reader.finish()
    return tuple(sorted(reader.changes, key=lambda change: change.time)), found


def _entries(data: Any) -> tuple[list[tuple[Location, ChangeEntry]], list[Finding]]:
    """Return the well-formed entries, and the errors of all others."""
    from pydantic import ValidationError

    from .document import explain

    if isinstance(data, dict) and isinstance(items := data.get("changes"), list):
        if len(items) > limits().jobs:
            raise InputError([Problem(too_many("changes", "jobs"))])
    else:
        items = []
    context = {"base": 1024, "unit": 1.0}
    try:
        with counting():
            document = ChangesDocument.model_validate(data, context=context)
    except ValidationError as error:
        if error.error_count() > MAX_ERRORS and len(items) > _TOGETHER:
            total = f"has {error.error_count():,} wrong entries, keys and values in total"
            return [], [*_entries({**data, "changes": items[:_TOGETHER]})[1], Finding((), total)]
        found = explain(error, ChangesDocument)
    else:
        return [(("changes", i), entry) for i, entry in enumerate(document.changes)], []
    right: list[tuple[Location, ChangeEntry]] = []
    broken = {finding.place[:2] for finding in found}
    for index, item in enumerate(items):
        if ("changes", index) not in broken:
            entry = ChangeEntry.model_validate(item, context=context)
            right.append((("changes", index), entry))
    return right, found


def _of_array(given: dict[str, Any]) -> dict[str, Any]:
    """Return the limit in bmod's -J, ``a%5`` or ``a[1-9]%5``: running elements, %0 for any."""
    spec, (name, mark, limit) = given.get("array"), given.get("name", "").rpartition("%")
    if spec is not None:
        return {"array_limit": spec.limit}
    if not mark or not (limit.isascii() and limit.isdigit() and len(limit) < 10):
        return {}
    return {"name": name, "array_limit": int(limit) or None}


#: Options of bmod that set or remove an administrator's part of an absolute priority.
_APS = re.compile(r"""(?<!\S)-aps(?:(n)(?!\S)|\s+("[^"]*"|'[^']*'|\S+)|(?!\S))""")


class _ChangeReader:
    """Converter from entries to changes; errors are collected with their places."""

    def __init__(self, instance: Instance) -> None:
        self.changes: list[c.Change] = []
        self._instance = instance
        self._origin = None if instance.origin is None else datetime.fromisoformat(instance.origin)
        self._found: list[Finding] = []
        self._entries: list[tuple[int, Location, ChangeEntry]] = []
        self._jobs = {job.id: job for job in instance.jobs}
        self._hosts_known = NamedHosts(instance.cluster)
        self._scale = LimitScale(instance.cluster, instance.queues)
        self._first_host = {item.job.id: list(item.allocation)[:1] for item in instance.running}
        #: Submitted or changed jobs, each with the place of the entry and whether it is new.
        self._asked: list[tuple[Job, Location, bool]] = []

    def read(self, place: Location, entry: ChangeEntry) -> None:
        """Add an entry; it is interpreted at the end, in order of time."""
        clock = Clock(self._origin, self._instance.now)
        try:
            at = clock.seconds(entry.at)
        except ValueError as error:
            self._say((*place, "at"), str(error))
            return
        if at < self._instance.now:
            now = self._instance.now
            self._say((*place, "at"), f"second {at} is before the instance's now, second {now}")
            at = now
        self._entries.append((at, place, entry))

    def finish(self) -> list[Finding]:
        """Return all errors."""
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
        for place, path, message in _refusals(self._instance, self._asked):
            self._say((*place, *re.findall(r"\w+", path)), message)
        return self._found

    def _say(self, place: Location, message: str) -> None:
        self._found.append(Finding(place, message))

    def _hosts(self, place: Location, words: Iterable[str]) -> list[str]:
        names: list[str] = []
        for word in dict.fromkeys(words):
            try:
                expanded = expand_range(word)
            except ValueError as error:
                self._say(place, str(error))
                continue
            for name in expanded:
                hosts = self._hosts_known.expand(name)
                if hosts is None:
                    self._say(place, unknown_host(self._hosts_known, name))
                names += hosts or ()
        found = list(dict.fromkeys(names))
        try:
            take_names(len(found))
        except ValueError as error:
            self._say(place, str(error))
            return []
        return found

    def _load(self, at: int, place: Location, entry: LoadEntry) -> None:
        values = dict(entry.values)
        for name in BUILTIN_AMOUNTS:
            size = getattr(entry, name)
            if size is not None and name in values:
                self._say((*place, name), f"{name} is already given in values")
            if size is not None:
                values[name] = size
        if not values:
            self._say(place, "reports nothing: give values: {r1m: 2.5} or mem: 4G")
        for host in self._hosts((*place, "host"), entry.host):
            self.changes.append(c.LoadReport(at, host, values))

    def _submissions(self) -> None:
        """Convert new jobs first, because other entries may refer to them from any position."""
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
                self._say((*where, "submit"), "the entry has its time in `at`: remove this key")
            jobs = builder.waiting("", [entry.submit])
            alone = replace(instance, running=(), pending=(), future=jobs)
            jobs = tuple(builder.counted(alone).future)
            self._found += [replace(f, place=(*where, *f.place[2:])) for f in findings]
            findings.clear()
            if known := next((job.id for job in jobs if job.id in self._jobs), None):
                self._say(
                    (*where, "id"),
                    f"job {known} is already defined: give each job its own id",
                )
                continue
            for number, job in enumerate(jobs):
                settled = self._in_wall_clock(replace(job, submit=at), where)
                self._jobs[job.id] = settled
                if not number:  # other elements of an array have equal requests
                    self._asked.append((settled, where, True))
                self.changes.append(c.NewJob(settled))

    def _job_change(self, at: int, place: Location, entry: ChangeEntry) -> None:
        """Add the change of a job, or of each element of an array."""
        what = getattr(entry, entry.action)
        name = what if isinstance(what, str) else what.job
        if name in self._jobs:
            self._change_of(at, place, entry, name)
            return
        found = [job.id for job in self._jobs.values() if job.array_id == name]
        for id in found or [name]:
            self._change_of(at, place, entry, id)

    def _change_of(self, at: int, place: Location, entry: ChangeEntry, name: str) -> None:
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

    def _size(self, at: int, place: Location, entry: ResizeEntry | ReleaseEntry) -> None:
        known = self._instance.cluster.host_index()
        key = "allocation" if isinstance(entry, ResizeEntry) else "slots"
        hosts: dict[str, int] = getattr(entry, key)
        for host in hosts:
            if host not in known:
                self._say((*place, key), f"unknown host {host!r}{nearest(host, known)}")
        kind = c.Resize if isinstance(entry, ResizeEntry) else c.Release
        self.changes.append(kind(at, entry.job, hosts))

    def _modified(self, at: int, place: Location, entry: ModifyEntry) -> dict[str, Any]:
        """Return the fields of a job that bmod changes."""
        clock = Clock(self._origin, at)
        given: dict[str, Any] = {}
        wrong: Sequence[Problem] = ()
        if entry.bsub is not None:
            line, given = self._absolute(place, entry.bsub)
            read, wrong = read_bsub(line, clock) if line.strip() else ({}, ())
            given |= read
            for problem in wrong:
                self._say((*place, "bsub"), problem.message)
            given |= _of_array(given)
            given.pop("array", None)
        for name in sorted(entry.model_fields_set - {"job", "bsub"}):
            value = getattr(entry, name)
            if name in given:
                self._say((*place, name), f"{name} is already given in the bsub line")
            elif name == "slots" and value is not None:
                given["slots"], given["max_slots"] = value
            elif name in ("begin", "deadline") and value is not None:
                try:
                    given[name] = clock.seconds(value)
                except ValueError as error:
                    self._say((*place, name), str(error))
            elif value is not None:
                given[name] = value if value != "" or name != "aps" else None
        if not given and not wrong:
            self._say(place, "changes nothing: give bsub: '-n 4' or fields such as slots: 4")
        return given

    def _absolute(self, place: Location, line: str) -> tuple[str, dict[str, Any]]:
        """Return a bmod line without -aps and -apsn, which bsub lacks, and the values of these
        options.
        """
        given: dict[str, Any] = {}
        for match in _APS.finditer(line):
            if match[1]:
                given["aps"] = None
                continue
            try:
                given["aps"] = StatedPriority.parse((match[2] or "").strip("\"'"))
            except ValueError as error:
                self._say((*place, "bsub"), f"-aps: {error}")
        return _APS.sub("", line), given

    def _in_wall_clock(self, job: Job, place: Location) -> Job:
        """Return the job with limits in wall-clock time; a running job uses its first host's
        factor.
        """
        settled, wrong = self._scale.settled(
            job, lambda: self._first_host.get(job.id) or self._scale.hosts_of(job)
        )
        for name, message in wrong:
            self._say((*place, name), message)
        return settled

    def _now_is(self, job: Job | None, place: Location, given: dict[str, Any]) -> None:
        if job is not None:
            self._jobs[job.id] = replace(job, **given)
            self._asked.append((self._jobs[job.id], place, False))


#: A field of a job that may not be as it is.
_FUTURE = re.compile(r"future\[(\d+)\](.*)")
Key = TypeVar("Key")


def _refusals(
    instance: Instance, asked: Sequence[tuple[Any, Key, bool]]
) -> Iterator[tuple[Key, str, str]]:
    """Yield why jobs would be refused as they are after a change: key, path in the job, error.

    asked: jobs with a key of the change and whether they are new; all others get ids of their own,
    because a job may be changed several times. What later changes repeat is reported once.
    """
    taken = {job.id for job, _, _ in asked if isinstance(job, Job) and isinstance(job.id, str)}
    names = (name for n in count() if (name := f"job{n}") not in taken)
    jobs = [
        job if is_new else replace(job, id=job.id.replace(job.array_id or job.id, next(names), 1))
        for job, _, is_new in asked
    ]
    alone = replace(instance, running=(), pending=(), future=tuple(jobs))
    reported: set[tuple[str, str]] = set()
    for problem in examine_objects(alone)[0] if jobs else ():
        if (match := _FUTURE.fullmatch(problem.path)) is None:
            continue
        job, key, is_new = asked[int(match[1])]
        message, id = problem.message, str(getattr(job, "id", ""))
        if not is_new:
            own = re.escape(jobs[int(match[1])].id)
            message = re.sub(rf"(job )?{own}", f"job {id}", message)
        if is_new or (id, message) not in reported:
            yield key, match[2], message
        reported.add((id, message))


def dump_changes(changes: Sequence[c.Change], instance: Instance) -> str:
    """Return changes as YAML, to be read with this instance."""
    import yaml

    document = {"format": FORMAT, "changes": [_entry(change, instance) for change in changes]}
    text: str = yaml.safe_dump(
        document, sort_keys=False, width=100, default_flow_style=None, allow_unicode=True
    )
    return text


def _entry(change: c.Change, instance: Instance) -> dict[str, Any]:
    body: Any = f.plain(change)
    body.pop("time", None)
    key = _KEYS.get(type(change), "")
    match change:
        case c.HostStatus():
            key, body = _KEY_OF[change.status], change.host
        case c.Moved():
            key, body = "btop" if change.to == "top" else "bbot", change.job
        case c.EarlyEnd() | c.Kill():
            body = change.job
        case c.NewJob():
            body = plain_job(change.job, instance.params)
            body.pop("submit", None)
        case c.Modification():
            body = _modify_entry(change, instance)
        case c.LoadReport():
            values = body.pop("values")
            sizes = {
                name: size_text(values.pop(name)) for name in BUILTIN_AMOUNTS if name in values
            }
            body |= ({"values": values} if values else {}) | sizes
    return {"at": change.time, key: body}


def _modify_entry(change: c.Modification, instance: Instance) -> dict[str, Any]:
    """Return the changed fields as an instance file writes them."""
    whole = plain_job(replace(Job(change.job), **change.fields), instance.params)
    entry: dict[str, Any] = {"job": change.job}
    for name in change.fields:
        value = change.fields[name]
        if name != "max_slots":
            entry[name] = whole.get(name, list(value) if isinstance(value, tuple) else value)
    if "aps" in entry and entry["aps"] is None:
        entry["aps"] = ""
    return entry


#: Keys of changes that one key alone brings.
_KEYS: dict[type, str] = {
    c.LoadReport: "load",
    c.Resize: "resize",
    c.Release: "release",
    c.EarlyEnd: "end",
    c.Kill: "bkill",
    c.QueueSwitch: "bswitch",
    c.NewJob: "submit",
    c.Modification: "bmod",
}


def require_sound_changes(changes: object, instance: Instance) -> None:
    """Raise InputError with everything that is wrong with changes made for a sound instance."""
    if isinstance(changes, (str, bytes)) or not isinstance(changes, Sequence):
        kind = type(changes).__name__
        message = f"must be a list or a tuple of changes, not {kind}: load_changes reads a file"
        raise InputError([Problem(message, path="changes")])
    review = _Review(instance)
    review.all(changes)
    if review.found:
        review.found.sort(key=lambda item: item[0])  # errors of one change keep their order
        raise InputError(dict.fromkeys(problem for _, problem in review.found))


@dataclass(slots=True)
class _Review:
    """Checker of changes; found: number of the change and its error.

    asked: jobs as they are submitted or changed, with the number of the change.
    """

    instance: Instance
    found: list[tuple[int, Problem]] = field(default_factory=list)
    jobs: dict[str, Job] = field(default_factory=dict)
    hosts: frozenset[str] = frozenset()
    asked: list[tuple[Any, int]] = field(default_factory=list)

    def all(self, changes: Sequence[Any]) -> None:
        """Check each change alone, then new jobs, then all others in order of time."""
        instance = self.instance
        running = (item.job for item in instance.running)
        self.jobs = {job.id: job for job in (*running, *instance.pending, *instance.future)}
        self.hosts = frozenset(host.name for host in instance.cluster.hosts)
        right: list[tuple[int, Any]] = [
            item for item in enumerate(changes) if self._fields_right(*item)
        ]
        for number, change in right:
            if isinstance(change, c.NewJob):
                self._submitted(number, change)
        others = [(n, change) for n, change in right if not isinstance(change, c.NewJob)]
        for number, change in sorted(others, key=lambda item: item[1].time):
            if isinstance(change, (c.HostStatus, c.LoadReport)):
                self._known_hosts(number, "host", [change.host])
            else:
                self._of_job(number, change)
        asked = [(job, n, isinstance(changes[n], c.NewJob)) for job, n in self.asked]
        for n, path, message in _refusals(instance, asked):
            self._say(n, _place(changes[n], path), message)

    def _say(self, number: int, field_name: str, message: str) -> None:
        path = f"changes[{number}]" + (f".{field_name}" if field_name else "")
        self.found.append((number, Problem(message, path=path)))

    def _fields_right(self, number: int, change: Any) -> bool:
        """Return whether a change has a valid class and valid fields."""
        kinds = get_args(c.Change)
        if type(change) not in kinds:
            known = ", ".join(kind.__name__ for kind in kinds)
            self._say(number, "", f"must be one of {known}, not {reprlib.repr(change)}")
            return False
        if isinstance(change, c.NewJob):
            return True
        wrong = dict(class_rules(type(change)).wrong(change, set()).values())
        if "time" not in wrong:
            wrong |= self._too_early("time", change.time)
        for name, message in wrong.items():
            self._say(number, name, message)
        return not wrong

    def _too_early(self, name: str, at: int) -> dict[str, str]:
        now = self.instance.now
        early = f"second {at} is before the instance's now, second {now}"
        return {name: early} if at < now else {}

    def _known_hosts(self, number: int, name: str, hosts: Iterable[str]) -> None:
        for host in hosts:
            if host not in self.hosts:
                self._say(number, name, unknown_host(NamedHosts(self.instance.cluster), host))

    def _submitted(self, number: int, change: c.NewJob) -> None:
        job: Any = change.job  # any value that a program may have stored
        self.asked.append((job, number))
        if not isinstance(job, Job):
            return
        if type(job.submit) is int:
            for name, message in self._too_early("job.submit", job.submit).items():
                self._say(number, name, message)
        if isinstance(job.id, str):
            if job.id in self.jobs:
                self._say(number, "job.id", f"job {job.id} is already defined")
            else:
                self.jobs[job.id] = job

    def _of_job(self, number: int, change: Any) -> None:
        job = self.jobs.get(change.job)
        if job is None:
            hint = nearest(change.job, self.jobs)
            self._say(number, "job", f"unknown job {change.job!r}{hint}")
        elif type(job.submit) is int and job.submit > change.time:
            self._say(number, "job", f"job {job.id} is submitted later, at second {job.submit}")
        match change:
            case c.Resize():
                self._known_hosts(number, "allocation", change.allocation)
            case c.Release():
                self._known_hosts(number, "slots", change.slots)
            case c.QueueSwitch() if job is not None:
                self._now_is(replace(job, queue=change.queue), number)
            case c.Modification() if job is not None:
                self._now_is(replace(job, **change.fields), number)

    def _now_is(self, job: Job, number: int) -> None:
        self.jobs[job.id] = job
        self.asked.append((job, number))


def _place(change: c.Change, place: str) -> str:
    """Return the part of the change that gives a field of the job, such as ``.slots``."""
    match change:
        case c.NewJob():
            return f"job{place}"
        case c.Modification():
            name = re.match(r"\.(\w+)", place)
            return f"fields{place}" if name and name[1] in change.fields else "fields"
    return "queue"
