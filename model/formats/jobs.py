"""The jobs of a document: running, pending and future ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cache
from itertools import chain, repeat
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from ..compact import objects_of
from ..configuration import Params, Queue
from ..errors import InputError
from ..input_limits import limits
from ..instance import Instance
from ..job import (
    Application,
    ArraySpec,
    Job,
    RunningJob,
    elements,
    too_large,
    too_many_elements,
)
from ..resreq import slots_without_n
from . import document as d
from .fields import is_simple_id, key_reader
from .finding import Finding, Location
from .units import Clock

# The jobs of a document by columns: what many jobs have in common is read once.
#
# A file of hundreds of thousands of jobs knows few users, queues, limits and requirements. Values
# are read by the types of :mod:`.document`; jobs that need more than that (a bsub line, a stamp,
# anything wrong) are left to the reader of entries, which says what is wrong with each.


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
    return f"its limit is {spec.limit} (%{spec.limit}), and array_limit is {limit}: give one"


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
                    wrong = f"job {job.id} is one element: give the array's id and its elements"
                elif spec.last > largest:
                    wrong = too_large(spec.last, largest)
                elif not spec.ranges[0][0] and not self._params.of_slurm:
                    wrong = "indices rise from 1 on (from 0 on with params: {family: Slurm})"
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
                return Finding(
                    (section, index, "array"), f"with it there are {too_many_elements()}"
                )
            if jobs > limits().jobs:
                wrong = f"has more than {limits().jobs:,} jobs (--max-jobs)"
                return Finding((section, index, "array"), wrong)
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
            message = f"what runs is one element: give its id, such as {entry.id}[{spec.last}]"
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
            self._findings.append(Finding((*place, key), f"{key} is given in the {said} already"))
        return read.fields

    def _script(self, place: Location, name: str) -> str | None:
        """Return the text of a job script, None if the file cannot be read."""
        from .reading import file_bytes

        try:
            return file_bytes(Path(name), name).decode()
        except InputError as error:
            wrong = error.problems[0].message
        except UnicodeDecodeError:
            wrong = "is no text in UTF-8"
        self._findings.append(Finding((*place, "script"), f"{name}: {wrong}"))
        return None


def default_slots(queue: Queue | None, application: Application | None) -> int:
    """Return the slots of a job without -n: PROCLIMIT of its application, else of its queue."""
    limit = (application and application.slots) or (queue and queue.slots)
    return 1 if not limit else limit[1] or limit[0]
