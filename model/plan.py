"""What every method returns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from .display import (
    DAY,
    WrittenTimes,
    duration_text,
    html_table,
    iso_time,
    smallest_difference,
    with_stamps,
)
from .errors import UnknownNameError
from .job import ArraySpec, array_of, ranges_of
from .objective import ObjectiveName
from .omissions import Omission

if TYPE_CHECKING:
    from pandas import DataFrame


#: Turns an allocation (host to slots) into the string that an integration shows.
AllocationFormatter = Callable[[Mapping[str, int]], str]

_NUMBERED = re.compile(r"^(.*?)(\d+)$")


def allocation_text(allocation: Mapping[str, int]) -> str:
    """``2*hostA 3*hostB`` in allocation order."""
    return " ".join(f"{slots}*{host}" for host, slots in allocation.items())


def lsf_allocation(allocation: Mapping[str, int]) -> str:
    """LSF's default form: ``alloc=2*hostA 3*hostB``."""
    return f"alloc={allocation_text(allocation)}"


def rms_allocation(allocation: Mapping[str, int]) -> str:
    """The form of RMS: ``rms_alloc=2*sierra[0,2-3]``, nodes of one name and slot count together."""
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
    """``0,2-3`` for 0, 2, 3."""
    parts = []
    for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        members = [number for _, number in run]
        parts.append(str(members[0]) if len(members) == 1 else f"{members[0]}-{members[-1]}")
    return ",".join(parts)


#: Jobs that a conditional proof names in words.
MAX_CONDITIONS = 3
#: Seconds that a margin may be: a year.
MAX_MARGIN = 366 * DAY
#: Ways of planning, as users write them.
Method: TypeAlias = Literal["greedy", "time-based", "optimal", "milp", "slurm"]
#: What a plan claims of itself; see :class:`Plan`.
Status: TypeAlias = Literal["optimal", "feasible", "heuristic", "infeasible"]
#: What is said where a start is missing: a plan of all jobs has no place for this one; whoever
#: looked found none, but did not look to the end; the method gives it an estimate at most; the job
#: was not looked at.
MissingStart: TypeAlias = Literal["no place", "no place found", "no date", "not examined"]
#: The `fallback` of a job that was not looked at.
NOT_EXAMINED = "not examined: the limit was reached first"


@dataclass(frozen=True, slots=True)
class PlannedJob:
    """The reservation of one pending job; times in seconds from the instance's origin."""

    job: str
    #: None where only an estimate exists (greedy reserves no future place).
    start: int | None
    finish: int | None = None
    #: Host to slots in allocation order.
    allocation: Mapping[str, int] = field(default_factory=dict)
    method: str = ""
    #: No start before this is possible given the starts of the jobs before it.
    bound: int | None = None
    #: Start equals the bound.
    proved: bool = False
    #: The binding constraint, a sentence.
    waits_for: str = ""
    #: Why a lesser method answered, "" if none.
    fallback: str = ""
    #: Greedy's "no sooner than" time.
    estimate: int | None = None
    #: Slots held now for the job (greedy).
    reserved: Mapping[str, int] = field(default_factory=dict)
    #: Rusage alternative used.
    alternative: int = 0
    #: The queue that would have to have BACKFILL for the loop to give the job this start, "" for
    #: none.
    needs_backfill: str = ""
    #: Host to slots of each term of a compound requirement, () for others.
    terms: tuple[Mapping[str, int], ...] = ()
    #: A sentence where the start hangs on a limit that fills its gap to the second, "" where it
    #: does not.
    exact_fit: str = ""
    #: Jobs that must start where planned for the start to be proved: a rule that the plan leaves
    #: out may move them, and the start hangs on their places. () where `proved` needs no condition.
    proved_if: tuple[str, ...] = ()

    def to_dict(self, origin: str | None = None) -> dict[str, Any]:
        """Plain data, times in seconds from the instance's origin; ISO stamps where it has one."""
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
        if self.fallback:
            record["fallback"] = self.fallback
        if self.alternative:
            record["alternative"] = self.alternative
        if self.needs_backfill:
            record["needs_backfill"] = self.needs_backfill
        if self.terms:
            record["terms"] = [dict(term) for term in self.terms]
        if self.exact_fit:
            record["exact_fit"] = self.exact_fit
        return with_stamps(record, origin, ("start", "finish", "bound", "estimate"))

    def unproved(self) -> PlannedJob:
        """The same without bound and proof."""
        if self.bound is None and not self.proved and not self.proved_if:
            return self
        return replace(self, bound=None, proved=False, proved_if=())


def proof_text(proved: bool, proved_if: Sequence[str]) -> str:
    """``proved`` or ``proved if 100 starts where planned``; "" where nothing is."""
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
    """Under the heading "proved": ``yes``, ``no`` or ``if 100 starts where planned``."""
    if proved:
        return "yes"
    return proof_text(proved, proved_if).removeprefix("proved ") or "no"


@dataclass(frozen=True, slots=True)
class PlannedArray(PlannedJob):
    """The elements of a job array that have a reservation, and what they are together.

    As one job it starts with its first element and finishes with its last, None where an end is not
    known; it is proved where each is, on the conditions of all; allocation, bound and waits_for are
    those of the element that starts first.
    """

    #: In order of index.
    elements: tuple[PlannedJob, ...] = ()

    @classmethod
    def of(cls, array: str, elements: Sequence[PlannedJob]) -> PlannedArray:
        """elements: one or more."""
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
        """The elements as they start; those without a start last."""
        return sorted(self.elements, key=lambda e: (e.start is None, e.start or 0))

    @property
    def first(self) -> PlannedJob:
        """The element that starts first."""
        return self.by_start[0]

    @property
    def middle(self) -> PlannedJob:
        """The element before which half of the others start."""
        return self.by_start[(len(self.elements) - 1) // 2]

    @property
    def last(self) -> PlannedJob:
        """The element that starts last."""
        return self.by_start[-1]


@dataclass(frozen=True, slots=True)
class Unplaced:
    """A job that no plan can start, and why."""

    job: str
    reason: str


def missing_start(found: PlannedJob | Unplaced | None, *, finished: bool) -> MissingStart:
    """The word for the start of a job that has none; finished: whether all was looked at."""
    if isinstance(found, PlannedJob) and found.fallback != NOT_EXAMINED:
        return "no date"
    if not isinstance(found, Unplaced):
        return "not examined"
    return "no place" if finished else "no place found"


@dataclass(frozen=True, slots=True)
class PlanChange:
    """What a planner says otherwise of one pending job than before, and which event made it so."""

    job: str
    #: The start that was said before, None for none.
    was: int | None
    #: The start that is said now, None for none.
    start: int | None
    #: Hosts to slots of the start before.
    was_on: Mapping[str, int]
    #: Hosts to slots of the start that is said now.
    on: Mapping[str, int]
    #: The event, in words.
    because: str

    @property
    def moved(self) -> int | None:
        """Seconds later, negative for sooner; None where one of the starts is none."""
        return None if self.was is None or self.start is None else self.start - self.was

    def __str__(self) -> str:
        if self.moved is None:
            what = "has no start any more" if self.start is None else f"starts at {self.start}"
        elif self.moved:
            word = "later" if self.moved > 0 else "sooner"
            what = f"starts {duration_text(abs(self.moved))} {word}"
        else:
            what = f"goes to {allocation_text(self.on)}"
        return f"job {self.job} {what}: {self.because}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "job": self.job,
            "was": self.was,
            "start": self.start,
            "moved": self.moved,
            "was_on": dict(self.was_on),
            "on": dict(self.on),
            "because": self.because,
        }


class _Indexed:
    """A place for an index that is no field: it is neither compared nor written."""

    __slots__ = ("by_job",)
    by_job: dict[str, PlannedJob]


@dataclass(frozen=True, slots=True)
class Plan(_Indexed):
    """A plan of any method."""

    method: Method
    objective: ObjectiveName
    #: "optimal", "feasible" (a time limit or Ctrl-C ended the search), "heuristic" (greedy, time-
    #: based: no claim), "infeasible" (some job cannot be placed at all).
    status: Status
    #: Seconds from the origin, the ISO date of second 0 (None: it has none).
    now: int
    reservations: tuple[PlannedJob, ...]
    unplaced: tuple[Unplaced, ...] = ()
    #: Of the objective, in its own unit, times counted from now.
    value: float | None = None
    #: No plan has a smaller value, None where nothing is proved.
    bound: float | None = None
    #: What else is to be known, among it the rules that were not considered.
    notes: tuple[str, ...] = ()
    #: The plan could not be proved because the weights have more digits than the models hold; a
    #: longer limit does not help.
    rounded: bool = False
    origin: str | None = None
    #: What was not considered, each with the jobs that it touches; nothing that one touches is
    #: proved.
    omissions: tuple[Omission, ...] = ()
    #: A limit or Ctrl-C came before every job had been looked at as the method does; notes and the
    #: fallbacks of the jobs say how far it got.
    cut: bool = False
    #: Seconds that a plan keeps free behind the end of every pending job.
    margin: int = 0
    #: How many pending jobs are not planned, because only the first of the order were asked for.
    behind: int = 0
    #: Of a planner's plan, what it says otherwise than the last one that was asked for.
    changes: tuple[PlanChange, ...] = ()
    #: The judge objects to the plan, as a note says: a fault of Slotwise.
    refused: bool = False

    def __getitem__(self, job: str) -> PlannedJob:
        """The reservation of a job; UnknownNameError (a KeyError) where it has none.

        The id of an array gives a :class:`PlannedArray`: its elements and when they start.
        """
        found = self.get(job) or self.array(job)
        if found is not None:
            return found
        known = [reservation.job for reservation in self.reservations]
        reason = next((item.reason for item in self.unplaced if item.job == job), None)
        if reason is not None:
            raise UnknownNameError(f"job {job!r} has no start in this plan: {reason}")
        raise UnknownNameError.among("job", job, known)

    def array(self, array: str) -> PlannedArray | None:
        """The reservations of the elements of an array; None where it has none."""
        found = [item for item in self.reservations if array_of(item.job) == array]
        if not found:
            return None
        return PlannedArray.of(array, sorted(found, key=lambda item: (len(item.job), item.job)))

    def get(self, job: str) -> PlannedJob | None:
        """The reservation of a job, or None."""
        return self._index().get(job)

    def _index(self) -> dict[str, PlannedJob]:
        """The reservations by job, made when one is first asked for."""
        try:
            return self.by_job
        except AttributeError:
            known = {item.job: item for item in reversed(self.reservations)}
            object.__setattr__(self, "by_job", known)
            return known

    def __contains__(self, job: object) -> bool:
        return isinstance(job, str) and self.get(job) is not None

    def __iter__(self) -> Iterator[PlannedJob]:
        return iter(self.reservations)

    def __len__(self) -> int:
        """How many jobs have a reservation."""
        return len(self.reservations)

    def __bool__(self) -> bool:
        """A plan is one even where no job is pending."""
        return True

    @property
    def left_out(self) -> tuple[str, ...]:
        """What was not considered, in words."""
        return tuple(item.name for item in self.omissions)

    @property
    def finished(self) -> bool:
        """Whether a job that has no place here has none at all: nothing ended the work early."""
        return not self.cut and self.status != "feasible"

    @property
    def may_improve(self) -> bool:
        """Whether a longer search may find or prove more: nothing else keeps it from that."""
        ended = self.status == "feasible" and not self.left_out and not self.rounded
        return self.cut or ended

    def missing_starts(self) -> dict[str, MissingStart]:
        """The jobs without a start, each with the word for it."""
        words = {
            item.job: missing_start(item, finished=True) for item in self if item.start is None
        }
        return words | {
            item.job: missing_start(item, finished=self.finished) for item in self.unplaced
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON: times in seconds from the instance's origin, None for none.

        Value and bound count from now. Where the origin is a date, ISO stamps stand beside times.
        """
        record: dict[str, Any] = {
            "now": self.now,
            "origin": self.origin,
            "method": self.method,
            "objective": self.objective,
            "status": self.status,
            "value": self.value,
            "bound": self.bound,
            "reservations": [item.to_dict(self.origin) for item in self.reservations],
            "unplaced": [{"job": item.job, "reason": item.reason} for item in self.unplaced],
        }
        if self.rounded:
            record["rounded"] = True
        if self.cut:
            record["cut"] = True
        if self.margin:
            record["margin"] = self.margin
        if self.behind:
            record["behind"] = self.behind
        if self.refused:
            record["refused"] = True
        if self.changes:
            record["changes"] = [change.to_dict() for change in self.changes]
        record["notes"] = list(self.notes)
        record["omissions"] = [item.to_dict() for item in self.omissions]
        return record

    def to_frame(self) -> DataFrame:
        """A pandas data frame, one row a reservation (pandas comes with OR-tools)."""
        import pandas

        optional = (
            *("estimate", "reserved", "fallback", "alternative", "needs_backfill", "terms"),
            *("exact_fit", "proved_if"),
        )
        usual = PlannedJob("", None).to_dict(self.origin)
        rows = [item.to_dict(self.origin) for item in self.reservations]
        keys = [key for key in usual if key not in optional]
        keys += [key for key in optional if any(key in row for row in rows)]
        stamps = [key for row in rows for key in row if key.endswith("_time")]
        return pandas.DataFrame(rows, columns=list(dict.fromkeys((*keys, *stamps))))

    def _repr_html_(self) -> str:
        """The plan as a notebook shows it."""
        head = ("job", "start", "finish", "allocation", "proved", "waits for")
        rows: list[tuple[object, ...]] = []
        for item in self.reservations:
            begin = item.start if item.start is not None else item.estimate
            start = self._time_text(begin)
            if item.start is None and start is not None:
                start = f"no sooner than {start}"
            where = allocation_text(item.allocation or item.reserved)
            proved = yes_or_no(item.proved, item.proved_if)
            end = self._time_text(item.finish)
            why = "; ".join(filter(None, (item.fallback or item.waits_for, item.exact_fit)))
            rows.append((item.job, start, end, where, proved, why))
        rows += [(item.job, "none", None, "", "", item.reason) for item in self.unplaced]
        title = f"{self.method}, {self.objective}: {self.status}"
        return html_table(title, head, rows)

    def _time_text(self, time: int | None) -> str | None:
        """The stamp where the origin is a date, else how long from now."""
        if time is None:
            return None
        return iso_time(self.origin, time) or f"in {duration_text(time - self.now)}"


#: So many different starts are said one by one.
_FEW = 4


def array_name(array: str, ids: Sequence[str]) -> str:
    """``101[1-9:2,15]`` of elements."""
    indices = [int(id.rpartition("[")[2][:-1]) for id in ids]
    return f"{array}{ArraySpec(ranges_of(indices))}"


def starts_text(clock: WrittenTimes, found: PlannedArray, of: int | None = None) -> str:
    """``first now, middle +4h, last +9h``; ``all now``, or ``36 now`` where that is not all.

    of: elements of the array, with those that have no start; None: those found.
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
    """How the starts lie between the first and the last: ``10 every 1h``; "" where all are one."""
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
