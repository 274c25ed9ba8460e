"""Plans, the results of every method, and their parts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from typing import Any, Literal, TypeAlias

from .display import (
    DAY,
    AsData,
    WrittenTimes,
    data_of,
    duration_text,
    iso_time,
    smallest_difference,
    with_stamps,
)
from .errors import UnknownNameError
from .escaping import html_table
from .job import ArraySpec, array_of, job_id, ranges_of
from .job_table import JobTable
from .objective import ObjectiveName
from .omissions import Omission

#: Function that formats an allocation (slots by host) as an integration prints it.
AllocationFormatter = Callable[[Mapping[str, int]], str]

_NUMBERED = re.compile(r"^(.*?)(\d+)$")


def allocation_text(allocation: Mapping[str, int]) -> str:
    """Return ``2*hostA 3*hostB`` in allocation order."""
    return " ".join(f"{slots}*{host}" for host, slots in allocation.items())


def lsf_allocation(allocation: Mapping[str, int]) -> str:
    """Return LSF's default form: ``alloc=2*hostA 3*hostB``."""
    return f"alloc={allocation_text(allocation)}"


def rms_allocation(allocation: Mapping[str, int]) -> str:
    """Return the form of RMS: ``rms_alloc=2*sierra[0,2-3]``, with equal neighbours joined."""
    groups: dict[tuple[int, str], list[int]] = {}
    plain: list[str] = []
    for host, slots in allocation.items():
        match = _NUMBERED.match(host)
        if match:
            groups.setdefault((slots, match.group(1)), []).append(int(match.group(2)))
        else:
            plain.append(f"{slots}*{host}")
    parts = []
    for (slots, name), numbers in groups.items():
        ranges = _ranges(sorted(numbers))
        single = len(numbers) == 1
        parts.append(f"{slots}*{name}{ranges}" if single else f"{slots}*{name}[{ranges}]")
    return "rms_alloc=" + " ".join([*parts, *plain])


#: Formatters by name; a library user may pass any function of the same type instead.
FORMATTERS: Mapping[str, AllocationFormatter] = {"lsf": lsf_allocation, "rms": rms_allocation}


def _ranges(numbers: list[int]) -> str:
    """Return ``0,2-3`` for 0, 2, 3."""
    parts = []
    for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        members = [number for _, number in run]
        parts.append(str(members[0]) if len(members) == 1 else f"{members[0]}-{members[-1]}")
    return ",".join(parts)


#: Maximum number of jobs in the text of a conditional proof.
MAX_CONDITIONS = 3
#: Maximum margin in seconds: one year.
MAX_MARGIN = 366 * DAY
#: Names of methods for users.
Method: TypeAlias = Literal["greedy", "time-based", "optimal", "milp", "slurm"]
#: Claim of a plan about itself; see :class:`Plan`.
Status: TypeAlias = Literal["optimal", "feasible", "heuristic", "infeasible"]
#: Text in place of a start. "no place": infeasible; "no place found": none found by an incomplete
#: search; "no date": the method gives at most an estimate; "not examined": not searched.
MissingStart: TypeAlias = Literal["no place", "no place found", "no date", "not examined"]
#: The `fallback` of a job whose start is not proved; notes and omissions of the plan say why.
NOT_PROVED = "not proved"
#: The `fallback` of a job that was not examined.
NOT_EXAMINED = "not examined: the limit was reached first"


#: Fields of a planned job that are instants; a record also has their ISO stamps.
PLANNED_TIMES = ("start", "finish", "bound", "estimate")


@dataclass(frozen=True, slots=True)
class PlannedJob:
    """Planned start of one pending job; times in seconds from the instance's origin."""

    #: Id of the job.
    job: str
    #: None if only an estimate exists (greedy reserves no future allocation).
    start: int | None
    #: Planned end, None if unknown.
    finish: int | None = None
    #: Slots by host, in allocation order.
    allocation: Mapping[str, int] = field(default_factory=dict)
    #: Name of the method that found the start.
    method: str = ""
    #: Lower bound of the start, given the starts of all jobs before it.
    bound: int | None = None
    #: Whether the start equals the bound.
    proved: bool = False
    #: The binding constraint, as a sentence.
    waits_for: str = ""
    #: Why a weaker method gave the answer, "" if it did not.
    fallback: str = ""
    #: Earliest start by greedy reservation.
    estimate: int | None = None
    #: Slots reserved now by greedy reservation, by host.
    reserved: Mapping[str, int] = field(default_factory=dict)
    #: Index of the rusage alternative.
    alternative: int = 0
    #: Queue that would need BACKFILL for the simulated scheduler to give this start, "" if none.
    needs_backfill: str = ""
    #: Slots by host of each term of a compound requirement, () if it is simple.
    terms: tuple[Mapping[str, int], ...] = ()
    #: A sentence if the start depends on a run limit that fits exactly before a reservation, else
    #: "".
    exact_fit: str = ""
    #: Jobs that must start where planned for the start to be proved, because an omitted rule may
    #: move them and the start depends on their allocations. () if the proof has no condition.
    proved_if: tuple[str, ...] = ()
    #: Index of the alternative in braces of its requirement, ``{…} || {…}@delay``.
    requirement_alternative: int = 0
    #: Model that decided the start or its bound, the strongest of those asked; "" if the method has
    #: one only.
    decided_by: str = ""

    def to_dict(self, origin: str | None = None) -> dict[str, Any]:
        """Return plain data, times in seconds from the instance's origin; with ISO stamps if it
        has one.
        """
        record: dict[str, Any] = {
            "job": self.job,
            "start": self.start,
            "finish": self.finish,
            "allocation": dict(self.allocation),
            "method": self.method,
            "bound": self.bound,
            "proved": self.proved,
            "waits_for": self.waits_for,
        }
        if self.proved_if:
            record["proved_if"] = list(self.proved_if)
        if self.start is None:
            record["estimate"] = self.estimate
        if self.start is None or self.reserved:
            record["reserved"] = dict(self.reserved)
        optional = ("fallback", "alternative", "requirement_alternative", "needs_backfill")
        for name in (*optional, "decided_by"):
            if value := getattr(self, name):
                record[name] = value
        if self.terms:
            record["terms"] = [dict(term) for term in self.terms]
        if self.exact_fit:
            record["exact_fit"] = self.exact_fit
        return with_stamps(record, origin, PLANNED_TIMES)

    def unproved(self) -> PlannedJob:
        """Return a copy without bound and proof."""
        if self.bound is None and not self.proved and not self.proved_if:
            return self
        return replace(self, bound=None, proved=False, proved_if=())


def proof_text(proved: bool, proved_if: Sequence[str]) -> str:
    """Return ``proved`` or ``proved if 100 starts where planned``; "" if nothing is proved."""
    if proved:
        return "proved"
    if not proved_if:
        return ""
    more = len(proved_if) - MAX_CONDITIONS
    shown = list(proved_if[:MAX_CONDITIONS])
    if more > 0:
        shown.append(f"{more} more")
    names = " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))
    return f"proved if {names} {'start' if len(proved_if) > 1 else 'starts'} where planned"


def yes_or_no(proved: bool, proved_if: Sequence[str]) -> str:
    """Return the cell of the column "proved": ``yes``, ``no`` or ``if 100 starts where
    planned``.
    """
    if proved:
        return "yes"
    return proof_text(proved, proved_if).removeprefix("proved ") or "no"


@dataclass(frozen=True, slots=True)
class PlannedArray(PlannedJob):
    """The planned elements of a job array, with their common values.

    As one job it starts with its first element and finishes with its last, None if an end is
    unknown. It is proved if each element is, under the conditions of all; allocation, bound and
    waits_for are those of the element that starts first.
    """

    #: Elements in order of index.
    elements: tuple[PlannedJob, ...] = ()

    def starts(self, origin: str | None) -> dict[str, Any]:
        """Return the starts of the first, middle and last element; with an origin, ISO stamps."""
        names = "first=first.start middle=middle.start last=last.start"
        return with_stamps(data_of(self, names), origin, ("first", "middle", "last"))

    @classmethod
    def of(cls, array: str, elements: Sequence[PlannedJob]) -> PlannedArray:
        """Return the array of one or more elements."""
        ends = [item.finish for item in elements]
        known = [end for end in ends if end is not None]
        whole = cls(array, None, elements=tuple(elements))
        first = whole.first
        each = all(item.proved or item.proved_if for item in elements)
        jobs = dict.fromkeys(job for item in elements for job in item.proved_if)
        return replace(
            whole,
            start=first.start,
            finish=max(known) if len(known) == len(ends) else None,
            allocation=first.allocation,
            method=first.method,
            bound=first.bound,
            proved=all(item.proved for item in elements),
            proved_if=tuple(jobs) if each else (),
            waits_for=first.waits_for,
            estimate=first.estimate,
        )

    @property
    def by_start(self) -> list[PlannedJob]:
        """Return the elements in order of start; those without a start last."""
        return sorted(self.elements, key=lambda e: (e.start is None, e.start or 0))

    @property
    def first(self) -> PlannedJob:
        """Return the element that starts first."""
        return self.by_start[0]

    @property
    def middle(self) -> PlannedJob:
        """Return the median element by start."""
        return self.by_start[(len(self.elements) - 1) // 2]

    @property
    def last(self) -> PlannedJob:
        """Return the element that starts last."""
        return self.by_start[-1]


@dataclass(frozen=True, slots=True)
class Unplaced:
    """A job that no plan can start, with the reason."""

    #: Id of the job.
    job: str
    #: Why it cannot start, as a sentence.
    reason: str


def missing_start(found: PlannedJob | Unplaced | None, *, finished: bool) -> MissingStart:
    """Return the text for a missing start; finished: whether everything was examined."""
    if isinstance(found, PlannedJob) and found.fallback != NOT_EXAMINED:
        return "no date"
    if not isinstance(found, Unplaced):
        return "not examined"
    return "no place" if finished else "no place found"


@dataclass(frozen=True, slots=True)
class PlanChange(AsData):
    """Difference between two successive plans for one pending job, with the event that caused
    it.
    """

    #: Id of the job.
    job: str
    #: Start of the earlier plan, None if it had none.
    was: int | None
    #: Start of the new plan, None if it has none.
    start: int | None
    #: Slots by host of the earlier plan.
    was_on: Mapping[str, int]
    #: Slots by host of the new plan.
    on: Mapping[str, int]
    #: The event, in words.
    because: str

    @property
    def moved(self) -> int | None:
        """Return the seconds by which the start is later (negative: earlier); None if a start is
        missing.
        """
        return None if self.was is None or self.start is None else self.start - self.was

    def __str__(self) -> str:
        if self.moved is None:
            what = "no longer has a start" if self.start is None else f"starts at {self.start}"
        elif self.moved:
            word = "later" if self.moved > 0 else "earlier"
            what = f"starts {duration_text(abs(self.moved))} {word}"
        else:
            what = f"moves to {allocation_text(self.on)}"
        return f"job {self.job} {what}: {self.because}"

    DATA = "job was start moved was_on on because"


class _Indexed:
    """Base class with a slot for an index that is not a field, so that it is neither compared nor
    written.
    """

    __slots__ = ("by_job",)
    by_job: dict[str, PlannedJob]


@dataclass(frozen=True, slots=True, repr=False)
class Plan(_Indexed, JobTable[PlannedJob]):
    """A plan of any method for the pending jobs of an instance."""

    #: Method that made the plan.
    method: Method
    #: Name of the objective.
    objective: ObjectiveName
    #: "optimal", "feasible" (a time limit or Ctrl-C ended the search), "heuristic" (greedy, time-
    #: based: no claim), "infeasible" (some job cannot be placed at all).
    status: Status
    #: Current time in seconds from the origin.
    now: int
    #: Planned jobs, in dispatch order.
    reservations: tuple[PlannedJob, ...]
    #: Jobs that cannot start.
    unplaced: tuple[Unplaced, ...] = ()
    #: Value of the objective in its own unit; times count from now.
    value: float | None = None
    #: Lower bound of the objective, None if nothing is proved.
    bound: float | None = None
    #: Notes for the user, among them the omitted rules.
    notes: tuple[str, ...] = ()
    #: Whether the plan is unproved because the weights have more digits than the models; a longer
    #: limit does not help.
    rounded: bool = False
    #: ISO date of second 0, None if it has none.
    origin: str | None = None
    #: Omissions with the jobs that each touches; nothing that one touches is proved.
    omissions: tuple[Omission, ...] = ()
    #: Whether a limit or Ctrl-C came before every job was examined; notes and the fallbacks of the
    #: jobs give the details.
    cut: bool = False
    #: Seconds that the plan keeps free after the end of every pending job.
    margin: int = 0
    #: Number of pending jobs that are not planned, because only the first of the order were
    #: requested.
    behind: int = 0
    #: Jobs that are suspended for jobs of the plan, each with the second at which it releases its
    #: slots.
    suspended: Mapping[str, int] = field(default_factory=dict)
    #: Differences from the planner's previous plan.
    changes: tuple[PlanChange, ...] = ()
    #: Whether the validator rejects the plan (a fault of Slotwise; a note has the reason).
    refused: bool = False

    def __getitem__(self, job: str | int) -> PlannedJob:
        """Return the planned start of a job; raises UnknownNameError (a KeyError) if it has none.

        The id of an array gives a :class:`PlannedArray`: its elements and when they start.
        """
        job = job_id(job)
        found = self.get(job) or self.array(job)
        if found is not None:
            return found
        known = [reservation.job for reservation in self.reservations]
        reason = next((item.reason for item in self.unplaced if item.job == job), None)
        if reason is not None:
            raise UnknownNameError(f"job {job!r} has no start in this plan: {reason}")
        raise UnknownNameError.among("job", job, known)

    def array(self, array: str) -> PlannedArray | None:
        """Return the planned elements of an array; None if it has none."""
        found = [item for item in self.reservations if array_of(item.job) == array]
        if not found:
            return None
        return PlannedArray.of(array, sorted(found, key=lambda item: (len(item.job), item.job)))

    def get(self, job: str | int) -> PlannedJob | None:
        """Return the planned start of a job, or None."""
        return self._index().get(job_id(job))

    def _index(self) -> dict[str, PlannedJob]:
        """Return the planned starts by job, built on first use."""
        try:
            return self.by_job
        except AttributeError:
            known = {item.job: item for item in reversed(self.reservations)}
            object.__setattr__(self, "by_job", known)
            return known

    def __iter__(self) -> Iterator[PlannedJob]:
        return iter(self.reservations)

    def __len__(self) -> int:
        """Return the number of planned jobs."""
        return len(self.reservations)

    def _about(self) -> str:
        return f"{self.method}, {self.objective}: {self.status}, {len(self)} jobs"

    @property
    def left_out(self) -> tuple[str, ...]:
        """Return the omissions in words."""
        return tuple(item.name for item in self.omissions)

    @property
    def finished(self) -> bool:
        """Return whether a job without a start has none at all, because nothing ended the work
        early.
        """
        return not self.cut and self.status != "feasible"

    @property
    def may_improve(self) -> bool:
        """Return whether a longer search may find or prove more."""
        ended = self.status == "feasible" and not self.left_out and not self.rounded
        return self.cut or ended

    def missing_starts(self) -> dict[str, MissingStart]:
        """Return the text for the missing start of each job without one."""
        words = {
            item.job: missing_start(item, finished=True) for item in self if item.start is None
        }
        return words | {
            item.job: missing_start(item, finished=self.finished) for item in self.unplaced
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: times in seconds from the instance's origin, None if unknown.

        Value and bound count from now. If the origin is a date, ISO stamps are added to times.
        """
        return {
            **data_of(self, "now origin method objective status value bound"),
            **data_of(self, "reservations", self.origin),
            "unplaced": [{"job": item.job, "reason": item.reason} for item in self.unplaced],
            **data_of(self, "rounded?"),
            **data_of(self, "cut?"),
            **data_of(self, "margin? behind? suspended? refused? changes? notes omissions"),
        }

    def columns(self) -> list[str]:
        """Return the keys of a record in order, of all rows together."""
        optional = (
            *("estimate", "reserved", "fallback", "alternative", "needs_backfill", "terms"),
            *("exact_fit", "proved_if", "requirement_alternative", "decided_by"),
        )
        usual = PlannedJob("", None).to_dict(self.origin)
        rows = self.to_records()
        keys = [key for key in usual if key not in optional]
        keys += [key for key in optional if any(key in row for row in rows)]
        stamps = [key for row in rows for key in row if key.endswith("_time")]
        return list(dict.fromkeys((*keys, *stamps)))

    def _repr_html_(self) -> str:
        """Return the HTML of the plan in a notebook."""
        head = ("job", "start", "finish", "allocation", "proved", "waits for")
        rows: list[tuple[object, ...]] = []
        for item in self.reservations:
            start = self._time_text(item.start if item.start is not None else item.estimate)
            if item.start is None and start is not None:
                start = f"no sooner than {start}"
            where = allocation_text(item.allocation or item.reserved)
            proved = yes_or_no(item.proved, item.proved_if)
            end = self._time_text(item.finish)
            is_own = item.fallback not in ("", NOT_PROVED)
            waits = item.fallback if is_own else item.waits_for
            why = "; ".join(filter(None, (waits, item.exact_fit)))
            rows.append((item.job, start, end, where, proved, why))
        rows += [(item.job, "none", None, "", "", item.reason) for item in self.unplaced]
        return html_table(f"{self.method}, {self.objective}: {self.status}", head, rows)

    def _time_text(self, time: int | None) -> str | None:
        """Return the ISO stamp of a time, or the time from now if the origin is not a date."""
        if time is None:
            return None
        return iso_time(self.origin, time) or f"in {duration_text(time - self.now)}"


#: Maximum number of different starts that are listed one by one.
_FEW = 4


def array_name(array: str, ids: Sequence[str]) -> str:
    """Return ``101[1-9:2,15]`` for elements of an array."""
    indices = [int(id.rpartition("[")[2][:-1]) for id in ids]
    return f"{array}{ArraySpec(ranges_of(indices))}"


def starts_text(clock: WrittenTimes, found: PlannedArray, of: int | None = None) -> str:
    """Return ``first now, middle +4h, last +9h``; ``all now``, or ``36 now`` if some have no start.

    of: number of elements with those that have no start; None: all have one.
    """
    chosen = (found.first, found.middle, found.last)
    if chosen[0].start == chosen[2].start:
        whole = of is None or of == len(found.elements)
        return f"{'all' if whole else len(found.elements)} {clock.text(chosen[0].start)}"
    beside = smallest_difference(item.start for item in chosen)
    names = ("first", "middle", "last")
    return ", ".join(
        f"{name} {_start(clock, item, beside)}" for name, item in zip(names, chosen, strict=True)
    )


def _start(clock: WrittenTimes, item: PlannedJob, beside: int) -> str:
    return "without a start" if item.start is None else clock.text(item.start, beside)


def profile_text(clock: WrittenTimes, found: PlannedArray) -> str:
    """Return the distribution of the starts between first and last: ``10 every 1h``; "" if all
    are equal.
    """
    starts = sorted(item.start for item in found.elements if item.start is not None)
    counts = Counter(starts)
    times = sorted(counts)
    if len(times) < 2:
        return ""
    if len(times) <= _FEW:
        beside = smallest_difference(times)
        return ", ".join(f"{counts[at]} {clock.text(at, beside)}" for at in times)
    gaps = {later - earlier for earlier, later in pairwise(times)}
    sizes = {counts[at] for at in times[:-1]}
    if len(gaps) == 1 and len(sizes) == 1 and counts[times[-1]] <= counts[times[0]]:
        return f"{counts[times[0]]} every {duration_text(*gaps)}"
    quarters = [starts[(len(starts) * part + 3) // 4 - 1] for part in (1, 2, 3)]
    names = ("a quarter", "half", "three quarters")
    beside = smallest_difference(quarters)
    return ", ".join(
        f"{name} by {clock.text(at, beside)}" for name, at in zip(names, quarters, strict=True)
    )
