"""Conversion of a well-formed document and its jobs to an Instance, with all inconsistencies.

The jobs of a document by columns: what many jobs have in common is read once. A file of hundreds of
thousands of jobs knows few users, queues, limits and requirements. Values are read by the types of
:mod:`.document`; jobs that need more than that (a bsub line, a stamp, anything wrong) are left to
the reader of entries, which says what is wrong with each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import cache
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from ..cluster import BUILTIN_AMOUNTS
from ..compact import objects_of
from ..configuration import (
    CONSUMERS,
    Limit,
    Params,
    Queue,
    ReservationUsage,
    usual_queue,
)
from ..errors import InputError
from ..facts import known_fields
from ..input_limits import counting, limits, too_many
from ..instance import Instance
from ..job import Application, ArraySpec, Job, RunningJob, elements, too_large, too_many_elements
from ..resreq import slots_without_n
from . import document as d
from .document import Finding, Location
from .fields import Percent, given, is_simple_id, key_reader
from .hosts import HostBuilder
from .rules import in_wall_clock, rule_findings
from .units import Clock


class NotGiven:
    """Marker in a column for a job that does not give the key."""


NOT_GIVEN: Final = NotGiven()
#: Sections of jobs, each with the class of its entries.
_SECTIONS: dict[str, type[d.JobEntry]] = {
    "running": d.RunningEntry,
    "pending": d.JobEntry,
    "future": d.JobEntry,
}
#: Keys of instants.
INSTANTS = ("submit", "begin", "deadline", "start", "finish")
#: Values that stand for names, which are counted each time (``--max-names``).
_COUNTED = ("hosts", "allocation")
#: Types whose equal values are identical, unless two values of the second kind are compared.
_TEXTS = frozenset({str, type(None), NotGiven})
_NUMBERS = frozenset({int, float, bool})
#: Types of instants that need no clock.
_SECONDS = frozenset({int, type(None), NotGiven})


@dataclass(frozen=True, slots=True)
class EntryColumns:
    """Values of jobs by key: one value for each job, NOT_GIVEN if the job has none.

    Keys and values are those of :class:`.document.JobEntry`, instants in seconds.
    """

    #: Number of entries.
    count: int
    #: Values of each key, one per entry.
    values: Mapping[str, Sequence[Any]]

    @classmethod
    def of_rows(cls, rows: Sequence[Mapping[str, Any]]) -> EntryColumns:
        """Return columns made from job entries."""
        keys = dict.fromkeys(chain.from_iterable(rows))
        return cls(len(rows), {key: [row.get(key, NOT_GIVEN) for row in rows] for key in keys})

    def column(self, key: str, default: Any = None) -> Sequence[Any]:
        """Return one value for each job, with the default for jobs without a value."""
        found = self.values.get(key)
        if found is None:
            return [default] * self.count
        return [default if value is NOT_GIVEN else value for value in found]

    def each(self, key: str, default: Any) -> Iterable[Any]:
        """Return the values of :meth:`column` to be read once, without a list of defaults."""
        return self.column(key, default) if key in self.values else repeat(default, self.count)


def take_columns(data: Any) -> tuple[Any, dict[str, EntryColumns]]:
    """Return the document without job sections that can be read by columns, and their columns."""
    if type(data) is not dict:
        return data, {}
    found = {
        section: columns
        for section, entry in _SECTIONS.items()
        if (columns := _columns(data.get(section), entry)) is not None
    }
    return {key: value for key, value in data.items() if key not in found}, found


def _columns(rows: Any, entry: type[d.JobEntry]) -> EntryColumns | None:
    """Return the columns of a section, None if an entry must be read separately."""
    if type(rows) is not list or set(map(type, rows)) != {dict}:
        return None
    keys = dict.fromkeys(chain.from_iterable(rows))
    fields = entry.model_fields
    needed = [name for name, info in fields.items() if info.is_required()]
    if (
        keys.keys() & {"bsub", "script"}
        or ("array" in keys and entry is d.RunningEntry)
        or not keys.keys() <= fields.keys()
        or not keys.keys() >= set(needed)
    ):
        return None
    values: dict[str, Sequence[Any]] = {}
    for key in keys:
        given = list(map(dict.get, rows, repeat(key), repeat(NOT_GIVEN)))
        if key in needed and NotGiven in set(map(type, given)):
            return None
        try:
            values[key] = _read(given, _reader(entry, key), key not in _COUNTED)
        except ValidationError:
            return None
        if key in INSTANTS and not set(map(type, values[key])) <= _SECONDS:
            return None
    return EntryColumns(len(rows), values)


@cache
def _reader(entry: type[d.JobEntry], key: str) -> Callable[[Any], list[Any]]:
    """Return the reader for the values of one key of many entries."""
    whole = key_reader(entry, key, many=True)
    if key == "id":
        return lambda ids: ids if all(map(is_simple_id, ids)) else whole(ids)
    return whole


def _read(given: Sequence[Any], read: Callable[[Any], list[Any]], shared: bool) -> Sequence[Any]:
    """Return the values that are read; shared: each different value is read once."""
    kinds = set(map(type, given))
    if shared and kinds <= _TEXTS | _NUMBERS and len(kinds & _NUMBERS) < 2:
        values = [value for value in dict.fromkeys(given) if value is not NOT_GIVEN]
        known = dict(zip(values, read(values), strict=True))
        known[NOT_GIVEN] = NOT_GIVEN
        return list(map(known.__getitem__, given))
    if NotGiven not in kinds:
        return read(given)
    found = iter(read([value for value in given if value is not NOT_GIVEN]))
    return [value if value is NOT_GIVEN else next(found) for value in given]


def _two_limits(spec: ArraySpec, limit: int | None) -> str:
    """Return what is wrong if an array has two different limits on running elements, else ""."""
    if None in (limit, spec.limit) or limit == spec.limit:
        return ""
    return (
        f"its limit is {spec.limit} (%{spec.limit}), but array_limit is {limit}: give one of them"
    )


class JobBuilder:
    """Builder of jobs; errors are added to `findings` with their place in the document."""

    def __init__(
        self,
        queues: Sequence[Queue],
        applications: Sequence[Application],
        params: Params,
        clock: Clock,
        findings: list[Finding],
    ) -> None:
        self._queues = {queue.name: queue for queue in queues}
        self._applications = {profile.name: profile for profile in applications}
        self._params = params
        self._clock = clock
        self._findings = findings
        self._without_n: set[str] = set()
        #: Index of the entry of each job, by section with arrays.
        self._entries: dict[str, list[int]] = {}
        #: Elements of the arrays of the sections so far.
        self._elements_read = 0

    def waiting(self, section: str, given: Sequence[d.JobEntry] | EntryColumns) -> tuple[Job, ...]:
        """Return the pending or future jobs, with arrays expanded to elements."""
        columns = self._columns(section, given)
        specs = columns.values.get("array")
        jobs = tuple(self._jobs(columns))
        return jobs if specs is None else self._elements(section, jobs, specs)

    def _elements(
        self, section: str, jobs: Sequence[Job], specs: Sequence[ArraySpec | Any]
    ) -> tuple[Job, ...]:
        """Return the jobs with arrays expanded; specs: array of each job, any other value for no
        array.
        """
        found: list[Job] = []
        entries: list[int] = []
        largest = self._params.max_job_array_size
        if too_many := self._too_many(section, specs, len(jobs)):
            self._findings.append(too_many)
            return tuple(jobs)
        for index, (job, spec) in enumerate(zip(jobs, specs, strict=True)):
            made: tuple[Job, ...] = (job,)
            if isinstance(spec, ArraySpec):
                wrong = ""
                if job.array_id is not None:
                    wrong = (
                        f"job {job.id} is one element: give the id of the array and its elements"
                    )
                elif spec.last > largest:
                    wrong = too_large(spec.last, largest)
                elif spec.ranges[0][0] < self._params.scheduler.first_index:
                    wrong = "indices must be 1 or more (0 or more with params: {family: Slurm})"
                else:
                    wrong = _two_limits(spec, job.array_limit)
                if wrong:
                    self._findings.append(Finding((section, index, "array"), wrong))
                else:
                    made = elements(job, spec)
            found += made
            entries += [index] * len(made)
        self._entries[section] = entries
        return tuple(found)

    def _too_many(
        self, section: str, specs: Sequence[ArraySpec | Any], jobs: int
    ) -> Finding | None:
        """Return the finding of the entry at which elements or jobs exceed the limit.

        Counted over all sections before any element is made.
        """
        for index, spec in enumerate(specs):
            if not isinstance(spec, ArraySpec):
                continue
            self._elements_read += len(spec)
            jobs += len(spec) - 1
            if self._elements_read > limits().elements:
                return Finding((section, index, "array"), too_many_elements())
            if jobs > limits().jobs:
                return Finding((section, index, "array"), too_many("jobs", "jobs"))
        return None

    def in_entries(self, instance: Instance, findings: Iterable[Finding]) -> list[Finding]:
        """Return findings placed at the entries of the jobs, once for each array."""
        if not self._entries:
            return list(findings)
        found: dict[tuple[Location, str], Finding] = {}
        for finding in findings:
            message = finding.message
            match finding.place:
                case (str(section), int(index), *_) if section in self._entries:
                    job = getattr(instance, section)[index]
                    place = (section, self._entries[section][index], *finding.place[2:])
                    finding = replace(finding, place=place)
                    message = message.replace(job.id, job.array_id or job.id)
            found.setdefault((finding.place, message), finding)
        return list(found.values())

    def running(self, given: Sequence[d.RunningEntry] | EntryColumns) -> tuple[RunningJob, ...]:
        """Return the running jobs; without -n a job requests its allocated slots."""
        columns = self._columns("running", given)
        allocations = columns.column("allocation")
        used = [sum(allocation.values()) for allocation in allocations]
        values: dict[str, Iterable[object]] = {
            "job": self._jobs(columns, used),
            "start": columns.column("start"),
            "allocation": allocations,
        }
        values |= {f.name: columns.each(f.name, f.default) for f in fields(RunningJob)[3:]}
        return tuple(objects_of(RunningJob, columns.count, values))

    def counted(self, instance: Instance) -> Instance:
        """Return the instance with slots from terms for pending jobs without -n (REQ-14)."""
        by_level = {q.name for q in instance.queues if "{" in q.res_req}
        profiles = {p.name for p in instance.applications if "{" in p.res_req}

        def slots_of(job: Job) -> Job:
            if (job.array_id or job.id) not in self._without_n:
                return job
            compound = any("{" in text for text in job.res_req)
            if not (compound or job.queue in by_level or job.application in profiles):
                return job
            with suppress(InputError, KeyError):  # errors are reported by the rules
                return replace(job, slots=slots_without_n(instance, job))
            return job

        return replace(
            instance,
            pending=tuple(map(slots_of, instance.pending)),
            future=tuple(map(slots_of, instance.future)),
        )

    def _instant(self, place: Location, key: str, instant: Any) -> int:
        if type(instant) is int:
            return instant
        try:
            return self._clock.seconds(instant)
        except ValueError as error:
            self._findings.append(Finding((*place, key), str(error)))
            return 0

    def _columns(self, section: str, given: Sequence[d.JobEntry] | EntryColumns) -> EntryColumns:
        if isinstance(given, EntryColumns):
            return given
        rows = [self._given((section, index), entry) for index, entry in enumerate(given)]
        return EntryColumns.of_rows(rows)

    def _given(self, place: Location, entry: d.JobEntry) -> dict[str, Any]:
        """Return the values of an entry, including the values of its bsub line."""
        said = {"bsub", "script"}
        row = {name: getattr(entry, name) for name in entry.model_fields_set - said}
        submitted = self._submitted(place, entry) if entry.model_fields_set & said else {}
        if place[0] == "running":
            submitted |= self._running_element(place, entry, submitted | row)
            row.pop("array", None)
        for key in INSTANTS:
            if row.get(key) is not None:
                row[key] = self._instant(place, key, row[key])
        if "slots" in submitted:
            submitted["slots"] = submitted["slots"], submitted.pop("max_slots")
        return row | submitted

    def _jobs(self, columns: EntryColumns, used: Sequence[int] | None = None) -> list[Job]:
        """Return the jobs; used: slots of running jobs without -n."""
        ids = columns.column("id")
        queues = [name or self._params.default_queue for name in columns.column("queue")]
        profiles = columns.column("application", "")
        asked = [slots or (None, None) for slots in columns.column("slots")]
        counts = [least for least, _ in asked]
        for index, count in enumerate(counts):
            if count is None:
                self._without_n.add(ids[index])
                counts[index] = (used[index] if used else 0) or default_slots(
                    self._queues.get(queues[index]), self._applications.get(profiles[index])
                )
        own: dict[str, Iterable[object]] = {
            "id": ids,
            "slots": counts,
            "max_slots": [most for _, most in asked],
            "queue": queues,
            "application": profiles,
            "priority": columns.column("priority", self._params.default_priority),
        }
        rest = (f for f in fields(Job) if f.name not in own)
        own |= {field.name: columns.each(field.name, field.default) for field in rest}
        return objects_of(Job, columns.count, own)

    def _running_element(
        self, place: Location, entry: d.JobEntry, row: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the field that a running element takes from its array's line: the limit on
        elements.
        """
        spec = row.pop("array", None)
        if spec is None:
            return {}
        if "[" not in entry.id:
            message = f"a running job is one element: give its id, such as {entry.id}[{spec.last}]"
            self._findings.append(Finding((*place, "array"), message))
        if wrong := _two_limits(spec, row.get("array_limit")):
            self._findings.append(Finding((*place, "array"), wrong))
        return {} if spec.limit is None else {"array_limit": spec.limit}

    def _submitted(self, place: Location, entry: d.JobEntry) -> dict[str, Any]:
        """Return the fields of the bsub line and its script; no field may also be in the entry."""
        from .bsub import bsub_line, several_queues

        text = None if entry.script is None else self._script(place, entry.script)
        name = entry.script or ""
        if entry.bsub is None and entry.script is not None and text is None:
            return {}
        if entry.bsub is None:
            read = bsub_line(text or "", self._clock)
        else:
            read = bsub_line(entry.bsub, self._clock, text)
        for problem in read.problems:
            of_script = text is not None and (problem.line or entry.bsub is None)
            at = f"{name}:{problem.line}: " if problem.line else f"{name}: " * bool(of_script)
            here = (*place, "script" if of_script else "bsub")
            self._findings.append(Finding(here, at + problem.message))
        if wrong := several_queues(read):
            self._findings.append(Finding((*place, "script" if text else "bsub"), wrong))
        said = (
            "script" if entry.bsub is None else "bsub line" if text is None else "bsub and script"
        )
        for key in sorted(entry.model_fields_set & set(read.fields)):
            self._findings.append(Finding((*place, key), f"{key} is already given in the {said}"))
        return read.fields

    def _script(self, place: Location, name: str) -> str | None:
        """Return the text of a job script, None if the file cannot be read."""
        from .reading import file_bytes

        try:
            return file_bytes(Path(name), name).decode()
        except InputError as error:
            wrong = error.problems[0].message
        except UnicodeDecodeError:
            wrong = "is not text in UTF-8"
        self._findings.append(Finding((*place, "script"), f"{name}: {wrong}"))
        return None


def default_slots(queue: Queue | None, application: Application | None) -> int:
    """Return the slots of a job without -n: PROCLIMIT of its application, else of its queue."""
    limit = (application and application.slots) or (queue and queue.slots)
    return 1 if not limit else limit[1] or limit[0]


T = TypeVar("T")


def build(
    document: d.Document, columns: Mapping[str, EntryColumns] | None = None
) -> tuple[Instance, list[Finding]]:
    """Return the instance and all findings; it is complete only if there are no errors.

    columns: jobs of sections that the document lacks.
    """
    apart = columns or {}
    findings: list[Finding] = []
    clock, origin = _clock(document)
    hosts = HostBuilder(document, findings)
    cluster = hosts.cluster()
    unit = cluster.default_unit_type or ""
    queues = tuple(_queue(item, unit) for item in document.queues) or Instance(cluster).queues
    made: dict[str, Any] = {
        d.ATTRIBUTES.get(section, section): _objects(
            kind, section, getattr(document, section), clock, findings
        )
        for section, kind in d.FACT_SECTIONS.items()
    }
    made["partitions"] = hosts.partitions(made["partitions"])
    params = _params(document.params, queues)
    if document.dialect is not None:
        if "dialect" in document.params.model_fields_set and params.dialect != document.dialect:
            findings.append(Finding(("dialect",), f"params has {params.dialect}: keep one of them"))
        params = replace(params, dialect=document.dialect)
    jobs = JobBuilder(queues, made["applications"], params, clock, findings)
    instance = Instance(
        cluster=cluster,
        queues=queues,
        running=jobs.running(apart.get("running", document.running)),
        pending=jobs.waiting("pending", apart.get("pending", document.pending)),
        future=jobs.waiting("future", apart.get("future", document.future)),
        limits=tuple(limit_of(entry, i, findings) for i, entry in enumerate(document.limits)),
        reservation_usage=_methods(document),
        params=params,
        now=clock.now,
        origin=origin,
        name=document.name,
        description=document.description,
        **made,
    )
    instance = jobs.counted(in_wall_clock(instance, later := []))
    later += [hosts.in_document(finding) for finding in rule_findings(instance)]
    findings += jobs.in_entries(instance, later)
    return instance, [_in_line(document, finding) for finding in findings]


def _methods(document: d.Document) -> tuple[ReservationUsage, ...]:
    """Return the units of rusage amounts; PER_TASK is PER_SLOT of LSF 10.1."""
    return tuple(
        ReservationUsage(name, "PER_SLOT" if method == "PER_TASK" else method)
        for name, method in document.reservation_usage.items()
    )


def _in_line(document: d.Document, finding: Finding) -> Finding:
    """Return a finding about a job's field, placed in the bsub line or script that gave it."""
    sections: dict[str, Sequence[d.JobEntry]] = {
        "running": document.running,
        "pending": document.pending,
        "future": document.future,
    }
    match finding.place:
        case (str(section), int(index), str(key)) if sections.get(section):
            entry = sections[section][index]
            for said in ("bsub", "script"):
                if getattr(entry, said) is not None and key not in entry.model_fields_set:
                    return replace(finding, place=(section, index, said))
    return finding


def _clock(document: d.Document) -> tuple[Clock, str | None]:
    now = document.now
    text = document.origin
    if text is None and isinstance(now, datetime):
        text = now.isoformat()
    origin = None if text is None else datetime.fromisoformat(text)
    clock = Clock(origin)
    return Clock(origin, clock.seconds(now)), text


def _params(entry: d.Section, queues: Sequence[Queue]) -> Params:
    params = Params(**given(Params, entry))
    if "default_queue" not in entry.model_fields_set and queues:
        return replace(params, default_queue=usual_queue([queue.name for queue in queues]))
    return params


def _queue(entry: d.Section, unit_type: str) -> Queue:
    """Return a queue. unit_type: the cluster's default type, "" if it has none."""
    queue = Queue(**given(Queue, entry))
    return replace(queue, exclusive=f"CU[{unit_type}]") if queue.exclusive == "CU[]" else queue


def limit_of(entry: d.LimitEntry, index: int, findings: list[Finding]) -> Limit:
    """Return a Limit section; errors are added to `findings`."""
    amounts = {
        name: value
        for name in ("slots", "jobs", *BUILTIN_AMOUNTS)
        if (value := getattr(entry, name)) is not None
    }
    of_hosts = {n: float(v) for n, v in amounts.items() if isinstance(v, Percent)}
    amounts = {name: value for name, value in amounts.items() if name not in of_hosts}
    for name, amount in (entry.resource or {}).items():
        if name in amounts or name in of_hosts:
            place: Location = ("limits", index, "RESOURCE")
            findings.append(
                Finding(place, f"limits {name} twice: {name.upper()} limits it already")
            )
        amounts[name] = amount
    scopes = {}
    for item in CONSUMERS:
        together, each = getattr(entry, item.field), getattr(entry, item.per_field)
        if together is not None and each is not None:
            key = item.per_field.upper()
            findings.append(
                Finding(("limits", index, key), f"give {item.field.upper()} or {key}, not both")
            )
        scopes[item.field] = together if each is None else each
    return Limit(entry.name, amounts, entry.slots_per_processor, percentages=of_hosts, **scopes)


def _objects(
    kind: type[T], section: str, entries: Sequence[d.Section], clock: Clock, findings: list[Finding]
) -> tuple[T, ...]:
    """Return objects whose fields have facts, instants in seconds; a missing stamp is now."""
    found = []
    for index, entry in enumerate(entries):
        values = given(kind, entry)
        for known in known_fields(kind).values():
            kind_of = known.fact.kind
            if kind_of == "stamp" or (kind_of == "instant" and known.name in values):
                place = (section, index, known.key)
                values[known.name] = _stamp(place, values.get(known.name), clock, findings)
        found.append(kind(**values))
    return tuple(found)


def _stamp(
    place: Location, given: int | datetime | None, clock: Clock, findings: list[Finding]
) -> int:
    """Return the stamp, or the instance's now if none is given."""
    if given is None:
        return clock.now
    try:
        return clock.seconds(given)
    except ValueError as error:
        findings.append(Finding(place, str(error)))
        return clock.now


#: Maximum number of form errors that are explained; each takes a kilobyte.
MAX_ERRORS = 20_000
#: Number of entries that are checked together if there are more.
_TOGETHER = 2_000


def examine(data: Any, *, printable: bool = False) -> tuple[Instance | None, list[Finding]]:
    """Return the instance of plain data, None if it has errors, and all findings.

    printable: it is known to hold no strange character.
    """
    from pydantic import ValidationError

    from .document import Document, explain, rest
    from .source_text import strange_values

    context = _context(data)
    strange = [] if printable else list(strange_values(data))
    with suppress(ValidationError), counting():
        others, columns = take_columns(data)
        instance, found = build(Document.model_validate(others, context=context), columns)
        return _judged(instance, _with_strange(strange, found))
    try:
        with counting():
            instance, found = build(Document.model_validate(data, context=context))
    except ValidationError as error:
        if error.error_count() > MAX_ERRORS:
            return None, _with_strange(strange, list(_first_errors(data, context, error)))
        with counting():
            found = explain(error)
        remainder = rest(data, error)
        with suppress(ValidationError):
            with counting():
                others = build(Document.model_validate(remainder.data, context=context))[1]
            if remainder.defining:
                others = [finding for finding in others if not finding.rests_on_others]
            if remainder.deciding:
                others = [finding for finding in others if not finding.undecided]
            others = [remainder.original(finding) for finding in others]
            # An error of a whole entry may only be due to the part that was removed.
            broken = {finding.place[:n] for finding in found for n in range(len(finding.place))}
            found += [finding for finding in others if finding.place not in broken]
        return None, _with_strange(strange, found)
    return _judged(instance, _with_strange(strange, found))


def _first_errors(data: Any, context: Any, error: ValidationError) -> Iterator[Finding]:
    """Yield the first of many errors of form, then the number of all errors."""
    from pydantic import ValidationError

    from .document import FORMAT, Document, explain

    stand_in = {"format": FORMAT, "hosts": [{"name": "a", "slots": 1}]}
    told = 0
    for place, part in _parts(data):
        try:
            with counting():
                Document.model_validate(stand_in | part, context=context)
        except ValidationError as partial:
            with counting():
                for finding in explain(partial):
                    told += 1
                    yield _later(finding, place)
        if told > limits().errors:
            break
    yield Finding((), f"has {error.error_count():,} wrong entries, keys and values in total")


def _parts(data: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield a document in parts, with the number of the first entry of each list."""
    given = data if isinstance(data, dict) else {}
    for key, value in given.items():
        if isinstance(value, list):
            for first in range(0, len(value), _TOGETHER):
                yield first, {key: value[first : first + _TOGETHER]}
        elif isinstance(value, dict):
            pairs = iter(value.items())
            while part := dict(islice(pairs, _TOGETHER)):
                yield 0, {key: part}
        else:
            yield 0, {key: value}


def _later(finding: Finding, first: int) -> Finding:
    """Return the finding of a part at its place in the whole document."""
    if len(finding.place) < 2 or not isinstance(finding.place[1], int):
        return finding
    return replace(finding, place=(finding.place[0], finding.place[1] + first, *finding.place[2:]))


def _judged(instance: Instance, found: list[Finding]) -> tuple[Instance | None, list[Finding]]:
    return None if any(not finding.warning for finding in found) else instance, found


def _with_strange(strange: list[Finding], found: list[Finding]) -> list[Finding]:
    """Return both lists of findings; a text with strange characters has no other findings."""
    places = {finding.place for finding in strange}
    return strange + [finding for finding in found if finding.place not in places]


def _context(data: Any) -> dict[str, float]:
    """Return the units of bare sizes: `base` M in a G, `unit` MB under LSF_UNIT_FOR_LIMITS."""
    given = data if isinstance(data, dict) else {}
    base = 1000 if given.get("size_base") == 1000 else 1024
    params = given.get("params")
    unit = params.get("LSF_UNIT_FOR_LIMITS") if isinstance(params, dict) else None
    powers = {"KB": -1, "MB": 0, "GB": 1, "TB": 2, "PB": 3}
    return {"base": base, "unit": float(base) ** powers.get(str(unit), 0)}
