"""The state of one job in a simulation, and the transitions between states.

The jobs of a simulation: future jobs as the input has them, current jobs, and finished jobs. Only a
pending or running job is an object. A future job becomes one at its submission or when it is
requested, and a finished job is a row of columns.
"""

from __future__ import annotations

from array import array
from base64 import b64decode, b64encode
from collections.abc import (
    Callable,
    Container,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
    Sequence,
)
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import IntEnum
from operator import attrgetter
from typing import Any

import numpy as np

from ...model.compact import IntTable, NamePlaces, OnDemand
from ...model.duration import bounds_of_deadline, ended_by_deadline, expected_run_time
from ...model.errors import InputError
from ...model.instance import Instance
from ...model.job import Job
from ...model.pending import sentence
from ...model.reserved_periods import ReservedPeriods, reserved_periods
from ...model.resreq import HostTable
from ...model.resreq.syntax import may_have_alternatives, openings
from ..availability.demand import Demand, TermDemand
from ..availability.profile import Profile
from ..availability.resources import (
    Allocation,
    BoolArray,
    FloatArray,
    IntArray,
    ResourceTable,
    Use,
    combined,
)
from ..fairshare.waiting_jobs import UNLIMITED, JobKind
from ..pending_reasons import BEGIN_TIME, NOWHERE
from ..placement.earliest import can_start, least_slots
from ..placement.single import first_part
from ..problem import RunningJobLoader
from ..resolve import Resolver, any_with_alternatives
from ..rules.omitted import on_loans


@dataclass(slots=True, eq=False)
class Shape:
    """The data that equal jobs share."""

    number: int
    job: Job
    #: Demand at dispatch (with pref as requested).
    demand: Demand
    #: Demand in a search for a reservation (TBR-13).
    reserving: Demand
    #: Reason why no job of the shape can ever start, "" if one can.
    infeasibility: str
    #: Whether the candidate hosts depend on the running jobs.
    dynamic: bool
    #: Free slots needed everywhere that a job of the shape starts.
    min_free_slots: int = 0


class ShapeTable:
    """The table of shapes; it resolves jobs on an `instance` whose hosts are all taken to be up.

    margin: seconds that a plan keeps free behind pending jobs.
    """

    def __init__(self, instance: Instance, *, margin: int = 0) -> None:
        # The function reads only data shared by equal jobs; -t is not among them.
        self.resolver = Resolver.of(instance, reserving=False, margin=margin, due_dates=True)
        #: Bulk loader of the running jobs; what equal jobs use stays known.
        self.loader = RunningJobLoader(self.resolver)
        self._shapes: dict[Hashable, Shape] = {}
        self._numbers: dict[Hashable, int] = {}
        self._backfill = {queue.name for queue in instance.queues if queue.backfill}
        self._least: IntArray = np.zeros(0, dtype=np.int64)
        #: Whether some job so far may have alternatives in braces.
        running = (item.job for item in instance.running)
        self.has_alternatives = any_with_alternatives(instance, running)
        #: Loads change while the simulation runs, so any order of hosts may change.
        self.follow_load = False
        #: Whether the candidate hosts of some shape depend on the running jobs.
        self.any_dynamic = False
        self._fitting: dict[tuple[object, ...], bool] = {}
        self._kept: list[Demand] = []
        self._masks: dict[bytes, int] = {}
        self._cycle: dict[int, Demand] = {}
        self._hosts: HostTable | None = None
        self._values: Callable[[], dict[str, FloatArray]] | None = None

    @property
    def instance(self) -> Instance:
        """Return the instance on which jobs are resolved now."""
        return self.resolver.instance

    @property
    def margin(self) -> int:
        """Return the seconds that a plan keeps free after pending jobs."""
        return self.resolver.margin

    def serves(self, instance: Instance, margin: int) -> bool:
        """Return whether a new table of this instance would have the same contents."""
        return margin == self.margin and instance == self.resolver.table.instance

    def submitted(self, job: Job) -> None:
        """Take notice of a job that becomes pending."""
        self.has_alternatives |= may_have_alternatives(job.res_req)

    def alternatives(self, job: Job) -> tuple[tuple[int, Job], ...]:
        """Return each alternative in braces: the instant from which it is open, and the job with
        it; () if the job has none or has chosen one (REQ-21).
        """
        if not self.has_alternatives or job.requirement_alternative is not None:
            return ()
        with suppress(InputError):
            requirement = self.resolver.requirement(job)
            if requirement.later:
                return tuple(
                    (job.submit + seconds, replace(job, requirement_alternative=number))
                    for number, seconds in enumerate(openings(requirement))
                )
        return ()

    def waiting_shape(self, job: Job) -> Shape:
        """Return the shape by which a job reserves: of its first alternative that ever fits."""
        choices = [self.shape(item) for _, item in self.alternatives(job)]
        found = next((shape for shape in choices if not shape.infeasibility), None)
        return self.shape(job) if found is None else found

    def shape(self, job: Job) -> Shape:
        """Return the shape of a job."""
        key = self.resolver.asked(job)
        found = self._shapes.get(key)
        if found is None:
            number = self._numbers.setdefault(key, len(self._numbers))
            found = self._shapes[key] = self._new(job, number)
        return found

    def kind(self, job: Job, limit: int | None) -> JobKind:
        """Return the kind of a job with a run limit: the number of its existing or future shape."""
        number = self._numbers.setdefault(self.resolver.asked(job), len(self._numbers))
        return JobKind(number, self.backfill_limit(job, limit))

    def least_slots(self) -> IntArray:
        """Return :attr:`Shape.min_free_slots` by shape number, 0 if not computed yet."""
        if len(self._least) < self.kinds:
            self._least = np.pad(self._least, (0, 2 * self.kinds - len(self._least)))
        return self._least

    @property
    def kinds(self) -> int:
        """Return the number of shape numbers assigned so far."""
        return len(self._numbers)

    def backfill_limit(self, job: Job, limit: int | None) -> int:
        """Return the run time that backfill takes into account, in seconds (TBR-18).

        UNLIMITED for a job that cannot backfill: only jobs of BACKFILL queues with a run limit can.
        """
        return UNLIMITED if limit is None or job.queue not in self._backfill else limit

    def shapes(self) -> list[Shape]:
        """Return all shapes so far, in the order of their first use."""
        return list(self._shapes.values())

    def _new(self, job: Job, number: int) -> Shape:
        # The begin time belongs to one job, and it decides whether the job's advance reservation
        # has expired.
        demand = self._timeless(self.resolver.demand(replace(job, begin=None)))
        never = demand.impossible
        if not never and not self._ever_fits(on_loans(self.resolver, demand)):
            never = NOWHERE
        reserving = replace(demand, terms=tuple(_by_configuration(term) for term in demand.terms))
        dynamic = not never and self.resolver.depends_on_load(job)
        self.any_dynamic = self.any_dynamic or dynamic
        least = least_slots(demand) if demand.terms and not never else 0
        if self.alternatives(job) or job.requirement_alternative is not None:
            least = 0  # Other alternatives may need fewer slots.
        self.least_slots()[number] = least
        return Shape(number, job, demand, reserving, never, dynamic, least)

    def _timeless(self, demand: Demand) -> Demand:
        """Return a demand without its job's own earliest start and duration."""
        return replace(demand, duration=None, earliest=self.instance.now)

    def _ever_fits(self, demand: Demand) -> bool:
        """Return whether the job fits on the empty cluster; for a compound requirement, each term
        alone.

        Terms placed one after another may fit with other jobs although they do not fit on the empty
        cluster.
        """
        return all(self._fits_alone(demand, term) for term in demand.terms)

    def _fits_alone(self, demand: Demand, term: TermDemand) -> bool:
        """Whether a term fits on the empty cluster; the result is cached for equal terms."""
        key = _wants(term, demand, self.resolver.table, self._masks)
        if key not in self._fitting:
            one = replace(demand, terms=(term,), calendar=None)
            self._kept.append(one)  # so that no other object gets the identities in the key
            first = first_part(term)
            parts = [one] if first is None else [replace(one, terms=(first,)), one]
            self._fitting[key] = any(
                can_start(self.empty(), part, self.instance.now) for part in parts
            )
        return self._fitting[key]

    def empty(self) -> Profile:
        """Return the profile of the cluster without running jobs."""
        return Profile(self.resolver.table, self.instance.now)

    def reserved(self, job: Job) -> ReservedPeriods | None:
        """Return when a job with -U becomes eligible and when it is killed; None without a known
        reservation.
        """
        return reserved_periods(self.instance, job.reservation) if job.reservation else None

    def spans(self, job: Job) -> tuple[int | None, int | None]:
        """Return the expected run time of a job in seconds (TBR-03), and those after which it is
        killed: -W, or RUNLIMIT of queue or application (LOP-02).
        """
        return self.resolver.spans(job)

    def begin_cycle(self, values: Callable[[], dict[str, FloatArray]]) -> None:
        """Begin a new cycle; values(): function that returns the available amounts of the hosts by
        resource, each [H].
        """
        self._cycle.clear()
        self._hosts = None
        self._values = values

    def now(self, shape: Shape) -> Demand:
        """Return the demand with the candidate hosts of this cycle, in their order."""
        if not (shape.dynamic or self.follow_load) or self._values is None:
            return shape.demand
        if self._hosts is None:
            self._hosts = HostTable(
                self.instance.cluster,
                by_slot=self.instance.params.parallel_sched_by_slot,
                values=self._values(),
            )
        found = self._cycle.get(shape.number)
        if found is None:
            resolver = Resolver(
                self.instance, self.resolver.table, self._hosts, False, due_dates=True
            )
            found = self._timeless(resolver.demand(shape.job))
            self._cycle[shape.number] = found
        return found

    def reserving(self, shape: Shape, job: Job, now: int) -> Demand:
        """Return the demand of one job for a reservation, with its own duration and earliest
        start.
        """
        runs, _ = self.spans(job)
        latest, killed = bounds_of_deadline(self.instance, job, runs)
        earliest, reserved = max(now, job.begin or now), self.reserved(job)
        if reserved is not None:
            earliest = reserved.next_start(earliest) or earliest
        return replace(
            shape.reserving,
            job=job,
            duration=None if runs is None else runs + self.margin,
            earliest=earliest,
            latest=latest,
            killed=killed,
            margin=self.margin,
        )


def _wants(
    term: TermDemand, demand: Demand, table: ResourceTable, masks: dict[bytes, int]
) -> tuple[object, ...]:
    """Return the facts that decide whether a term fits on an empty cluster, with pools by
    content.

    masks: a number for each mask of hosts so far; others join.
    """

    def content(mask: BoolArray) -> int:
        return masks.setdefault(mask.tobytes(), len(masks))

    def pool(use: Use) -> tuple[object, ...]:
        found = table.pools[use.index]
        return use.per, use.reservation.initial, found.capacity, content(found.mask)

    return (
        *(term.slots, term.max_slots, term.block, term.one_host, len(term.same)),
        *map(id, (demand.calendar, *demand.floors)),
        *map(id, (term.candidates, term.ptile, term.unit, term.first_hosts, *term.same)),
        tuple(
            (
                item.missing,
                None if item.hosts is None else content(item.hosts),
                tuple((use.index, use.per, use.reservation.initial) for use in item.host_uses),
                tuple(map(pool, item.pool_uses)),
            )
            for item in term.alternatives
        ),
    )


def _by_configuration(term: TermDemand) -> TermDemand:
    if term.unit is None or term.unit.pref == "config":
        return term
    return replace(term, unit=replace(term.unit, pref="config"))


class Event(IntEnum):
    """The kinds of events; at one instant, the lower kind comes first."""

    END = 0
    CHANGE = 1
    SUBMIT = 2
    OVERDUE = 3
    COMMAND = 4
    ABORT = 5


#: State of a job.
FUTURE, PENDING, RUNNING, SUSPENDED, PREEMPTED, DONE, KILLED = (
    "future",
    "pending",
    "running",
    "suspended",
    "preempted",
    "done",
    "killed",
)


@dataclass(slots=True)
class ReservationTimer:
    """Time for which a pending job has had a reservation; MAX_RESERVE_TIME of its queue
    limits it.
    """

    #: Names of the hosts of the last reservation, in order.
    hosts: tuple[int, ...] = ()
    #: Start of the reservation (seconds).
    since: int | None = None
    #: Instant (seconds) before which the job may not reserve again, after its reservation expired.
    blocked_until: int | None = None

    def __bool__(self) -> bool:
        """Whether the timer has any content."""
        return bool(self.hosts) or self.since is not None or self.blocked_until is not None

    def clear(self) -> None:
        """Clear the timer of a job that no longer waits or waits for another reason."""
        self.hosts, self.since, self.blocked_until = (), None, None

    def next_change(self, length: int) -> int | None:
        """Return when the reservation expires after `length` seconds, or when its pause ends; None
        if never.
        """
        if self.blocked_until is not None:
            return self.blocked_until
        return None if self.since is None else self.since + length

    def can_reserve(self, now: int, length: int, rest: int) -> bool:
        """Whether the job may reserve slots: for `length` seconds, then not for `rest` seconds
        (MEM-04).
        """
        if self.blocked_until is not None:
            if now < self.blocked_until:
                return False
            self.blocked_until = self.since = None
        if self.since is not None and now >= self.since + length:
            self.blocked_until, self.since, self.hosts = now + rest, None, ()
            return False
        return True


@dataclass(slots=True, eq=False)
class JobState:
    """The state of one job; times in seconds, None for "not yet" or "unknown"."""

    job: Job
    #: Position of the job in the input, which also breaks ties.
    number: int
    #: State of the job, such as PENDING.
    status: str = FUTURE
    #: Shape of the job; None until the job is submitted.
    shape: Shape | None = None
    #: Expected run time in seconds.
    duration: int | None = None
    #: Real run time in seconds, None if the job never ends by itself.
    real_run_time: int | None = None
    #: Run limit in seconds, after which the job is killed.
    limit: int | None = None
    #: Start of the current run in seconds, None if it has not started.
    start: int | None = None
    #: Real end of the job (seconds).
    end: int | None = None
    #: When its dependencies were satisfied (seconds, think time included); None if they were not.
    released: int | None = None
    #: Start of the current running period, in seconds.
    since: int = 0
    #: Seconds of run time before `since`, the start of the present running period.
    elapsed: int = 0
    #: Instant (seconds) since when the job uses its present slots on its present hosts.
    allocated_at: int = 0
    #: Earlier allocations with their start and end (seconds).
    past_allocations: list[tuple[int, int, Allocation]] = field(default_factory=list)
    #: One allocation per term of the requirement.
    terms: tuple[Allocation, ...] = ()
    #: Index of the rusage alternative in use.
    alternative: int = 0
    #: Whether the job started by backfill.
    backfilled: bool = False
    #: Backfilled slots by host, which other jobs have reserved.
    backfilled_slots: Allocation = field(default_factory=dict)
    #: The first estimate of the start.
    estimate: int | None = None
    #: Instant of the first estimate (seconds).
    estimated_at: int | None = None
    #: Reservation method of the first estimate.
    estimate_by: str = ""
    #: The last estimate of the start.
    last_estimate: int | None = None
    #: Reason why the job did not start at its first dispatch attempt.
    reason: str = ""
    current_reason: str = ""
    #: Hosts of the last reservation, and how long it lasted.
    holding: ReservationTimer = field(default_factory=ReservationTimer)
    suspended_by: str = ""
    #: Number of suspensions so far.
    suspensions: int = 0
    #: Number of requeues so far.
    requeues: int = 0
    #: Number of jobs that became pending before this job.
    arrival: int = 0
    #: Periods of the job's advance reservation (-U), None if it has none.
    reserved: ReservedPeriods | None = None

    @property
    def allocation(self) -> Allocation:
        """Return the slots by host index, all terms together."""
        return combined(self.terms)

    @property
    def slots(self) -> int:
        """Return the number of slots that the job uses."""
        return sum(sum(term.values()) for term in self.terms)

    @property
    def waits_since(self) -> int:
        """Return the instant from which the wait counts: the submission, or the satisfied
        dependency.
        """
        return self.job.submit if self.released is None else self.released

    def initial_reason(self, now: int) -> str:
        """Return the first pending reason; the begin time if no cycle has examined the job.

        now: time of the instance in seconds.
        """
        job = self.job
        held_back = job.begin is not None and job.begin > max(job.submit, now)
        return self.reason or (sentence(BEGIN_TIME) if held_back else "")

    def close_allocation(self, now: int) -> None:
        """Close the present allocation of the job, because its slots change."""
        self.past_allocations.append((self.allocated_at, now, self.allocation))
        self.allocated_at = now

    def requeue(self) -> None:
        """Requeue the job after the loss of a host; it will run from its beginning."""
        self.requeues += 1
        self.start, self.elapsed, self.terms, self.backfilled_slots = None, 0, (), {}
        self.status = PENDING

    def real_end(self) -> int | None:
        """Return when the job ends if nothing else happens; None if never."""
        span, limit = self.real_run_time, self.limit
        if span is None or (limit is not None and limit < span):
            span = limit
        return self._stopped_by_clock(None if span is None else self.since + span - self.elapsed)

    def _stopped_by_clock(self, finish: int | None) -> int | None:
        """Return when a running job ends: at `finish` (None: unknown), or earlier at a time
        limit.
        """
        killed = self.killed_at(self.since if self.start is None else self.start)
        return finish if killed is None else killed if finish is None else min(finish, killed)

    def killed_at(self, start: int) -> int | None:
        """Return when -t or the end of an advance reservation kills a run from `start`; None if
        never.
        """
        if self.reserved is None:
            return self.job.deadline
        return ended_by_deadline(self.job, self.reserved.ends_run(start))

    def expected_end(self, now: int) -> int | None:
        """Return the expected end; the next second for a job beyond its limit."""
        span = expected_run_time(self.duration, self.limit, now - self.since + self.elapsed)
        end = None if span is None else self.since + span - self.elapsed
        end = self._stopped_by_clock(end)
        return None if end is None else max(end, now + 1)

    def duration_from(self, start: int, margin: int = 0) -> int | None:
        """Return the expected run time in seconds from a start at this second; a time window may
        end it earlier.

        margin: what the duration has of it.
        """
        killed = self.killed_at(start)
        if killed is None:
            return self.duration
        left = max(1, killed - start) + margin
        return left if self.duration is None else min(left, self.duration)

    def cut_short_at(self, time: int) -> bool:
        """Whether a job that ends at this instant is killed by its run limit or a time window."""
        by_limit = self.limit is not None and (
            self.real_run_time is None or self.real_run_time > self.limit
        )
        killed = None if self.start is None else self.killed_at(self.start)
        if by_limit or killed is None or time < killed:
            return by_limit
        done = (
            self.real_run_time is not None
            and self.since + self.real_run_time - self.elapsed <= time
        )
        return self.status != RUNNING or not done


_TIMES = ("start", "end", "duration", "estimate", "estimated_at", "released")
_KIND = ("status", "alternative", "backfilled", "estimate_by")
_times_of, _kind_of = attrgetter(*_TIMES), attrgetter(*_KIND)
#: Fields that only suspended, resized, requeued or term-by-term allocated jobs have.
_ODD = ("allocated_at", "since", "elapsed", "suspended_by", "suspensions", "requeues")
#: Value in a checkpoint that denotes a missing time.
_NONE = -(1 << 63)
#: Columns of a row (number, times, codes of kind and reason, last piece) and of a piece (host,
#: slots) in a checkpoint, and the type letters of the columns.
_ROW, _PIECE = ("i", *("q" for _ in _TIMES), "i", "i", "I"), ("i", "i")
_BYTES = {"i": "<i4", "I": "<u4", "q": "<i8"}
#: Maximum number of slots on one host that a column can store.
_MOST = (1 << 31) - 1


class EndedJobs:
    """The finished jobs as rows in the order of their ends; a row becomes a state on request.

    What mattered only while a job waited or ran - its shape, work, limit, parts and what it held -
    is gone.
    """

    def __init__(self) -> None:
        self._rows, self._pieces = IntTable(), IntTable()
        self._kinds, self._reasons = _Coded(), _Coded()
        self._odd: dict[int, list[Any]] = {}

    def __len__(self) -> int:
        """Return the number of finished jobs."""
        return len(self._rows)

    def numbers(self) -> Iterator[int]:
        """Return the numbers of the jobs, row by row."""
        return (row[0] or 0 for row in self._rows)

    def add(self, state: JobState) -> int:
        """Add a finished job and return its row."""
        row = len(self)
        if _is_plain(state):
            for term in state.terms:
                self._pieces.extend(term.items())
        else:
            terms = [list(term.items()) for term in state.terms]
            stretches = [[begin, end, list(w.items())] for begin, end, w in state.past_allocations]
            self._odd[row] = [[getattr(state, name) for name in _ODD], terms, stretches]
        kind = self._kinds.code(_kind_of(state))
        reason = self._reasons.code(state.reason)
        self._rows.append(state.number, *_times_of(state), kind, reason, len(self._pieces))
        return row

    def state(self, row: int, job: Job) -> JobState:
        """Return the final state of the job in a row."""
        number, *times, kind, reason, after = self._rows[row]
        state = JobState(job, number or 0)
        for name, time in zip(_TIMES, times, strict=True):
            setattr(state, name, time)
        for name, value in zip(_KIND, self._kinds.values[kind or 0], strict=True):
            setattr(state, name, value)
        state.reason = self._reasons.values[reason or 0]
        odd = self._odd.get(row)
        if odd is not None:
            for name, value in zip(_ODD, odd[0], strict=True):
                setattr(state, name, value)
            state.terms = tuple(map(_allocation, odd[1]))
            state.past_allocations = [
                (begin, end, _allocation(where)) for begin, end, where in odd[2]
            ]
        elif state.start is not None:
            state.allocated_at = state.since = state.start
            first = self._rows[row - 1][-1] if row else 0
            pieces = (self._pieces[place] for place in range(first or 0, after or 0))
            state.terms = ({host or 0: slots or 0 for host, slots in pieces},)
        return state

    def to_state(self) -> dict[str, Any]:
        """Return plain data; columns are Base64 of their little-endian bytes."""
        tables = ((self._rows, _ROW), (self._pieces, _PIECE))
        return {
            "columns": [
                [kind, _packed(table.column(number, _NONE), kind)]
                for table, kinds in tables
                for number, kind in enumerate(kinds)
            ],
            "kinds": self._kinds.values,
            "reasons": self._reasons.values,
            "odd": [[row, odd] for row, odd in self._odd.items()],
        }

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Restore the state that :meth:`to_state` returned."""
        kinds = [kind for kind, _ in saved["columns"]]
        assert kinds == [*_ROW, *_PIECE]
        columns = [_unpacked(text, kind) for kind, text in saved["columns"]]
        for table, own in (
            (self._rows, columns[: len(_ROW)]),
            (self._pieces, columns[len(_ROW) :]),
        ):
            for row in zip(*(map(int, column) for column in own), strict=True):
                table.append(*(None if value == _NONE else value for value in row))
        self._kinds.take_over([tuple(kind) for kind in saved["kinds"]])
        self._reasons.take_over(saved["reasons"])
        self._odd = dict(saved["odd"])


class _Coded:
    """A table of the few distinct values that many rows share."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._code: dict[Hashable, int] = {}

    def code(self, value: Hashable) -> int:
        """Return the code of a value, its position in `values`."""
        code = self._code.setdefault(value, len(self.values))
        if code == len(self.values):
            self.values.append(value)
        return code

    def take_over(self, values: list[Any]) -> None:
        self.values = values
        self._code = {value: code for code, value in enumerate(values)}


def _is_plain(state: JobState) -> bool:
    """Whether the job never started, or ran once without interruption on one allocation."""
    if state.past_allocations or state.suspensions or state.requeues or state.suspended_by:
        return False
    if state.start is None:
        return not state.terms and state.allocated_at == state.since == 0
    if any(slots > _MOST for term in state.terms for slots in term.values()):
        return False
    return (
        len(state.terms) == 1
        and bool(state.terms[0])
        and state.start == state.allocated_at == state.since
    )


def _allocation(pairs: list[list[int]]) -> Allocation:
    return {int(host): int(slots) for host, slots in pairs}


def _packed(column: IntArray, kind: str) -> str:
    return b64encode(column.astype(_BYTES[kind]).tobytes()).decode()


def _unpacked(text: str, kind: str) -> IntArray:
    return np.frombuffer(b64decode(text), dtype=_BYTES[kind])


#: Row number of a job that is not finished.
_NO_ROW = -1


class JobStates(OnDemand[JobState]):
    """The states of all jobs by job number."""

    def __init__(self, given: Sequence[Job]) -> None:
        #: The input jobs in their order.
        self.given = given
        #: States kept by job number: of pending and running jobs, and of future jobs that a caller
        #: requested by number or id and may have changed.
        self.here: dict[int, JobState] = {}
        #: Jobs that were modified since the input, by number.
        self.modified: dict[int, Job] = {}
        self.ended = EndedJobs()
        self._row = array("i", [_NO_ROW]) * len(given)
        self._by_id: dict[str, JobState] = {}
        self._entered: Container[int] = ()
        self._bring_up: Callable[[JobState], JobState] | None = None
        self._places: NamePlaces | None = None

    def __len__(self) -> int:
        return len(self._row)

    def add(self, job: Job) -> JobState:
        """Append a job that is not in the input."""
        number = len(self)
        self._row.append(_NO_ROW)
        self.modified[number] = job
        return self.activate(number)

    def job(self, number: int) -> Job:
        """Return the job in its present form."""
        found = self.modified.get(number)
        return self.given[number] if found is None else found

    def item(self, place: int) -> JobState:
        """Return a state to read; changes to the state of an inactive job are lost."""
        found = self.here.get(place)
        if found is not None:
            return found
        row = self._row[place]
        job = self.job(place)
        if row != _NO_ROW:
            return self.ended.state(row, job)
        found = JobState(job, place)
        if self._bring_up is not None and place in self._entered:
            return self._bring_up(found)
        return found

    def entered(self, numbers: Container[int], bring_up: Callable[[JobState], JobState]) -> None:
        """Add running jobs that have no state object yet; bring_up: function that makes their
        states.
        """
        self._entered, self._bring_up = numbers, bring_up

    def activate(self, number: int) -> JobState:
        """Return the state of a job and keep it as the valid one unless the job is finished."""
        found = self.here.get(number)
        if found is None:
            found = self.item(number)
            if self._row[number] == _NO_ROW:
                self.here[number] = self._by_id[found.job.id] = found
        return found

    def modify(self, state: JobState, job: Job) -> None:
        """Replace a job by its modified form."""
        if job is not state.job:
            state.job = self.modified[state.number] = job

    def close(self, state: JobState) -> None:
        """Record the final state of a finished job."""
        self._row[state.number] = self.ended.add(state)
        del self.here[state.number]
        del self._by_id[state.job.id]

    def find(self, name: str) -> JobState | None:
        """Return the state of a job by its id, kept as by :meth:`activate`, or None if the id is
        unknown.
        """
        found = self._by_id.get(name)
        if found is None:
            if self._places is None:
                names = (job.id for job in self.given)
                self._places = NamePlaces(names, lambda number: self.given[number].id)
            number = self._places.first(name)
            found = None if number is None else self.activate(number)
        return found

    def get(self, name: str) -> JobState:
        """Return the state of a known job; raise KeyError for an unknown one."""
        found = self._by_id.get(name) or self.find(name)
        if found is None:
            raise KeyError(name)
        return found

    def survey(self, look: Callable[[Job], int]) -> IntArray:
        """Return the result of `look` for each job given, [n]; raise InputError if two jobs have
        one id.
        """
        found = array("q")

        def names() -> Iterator[str]:
            for job in self.given:
                found.append(look(job))
                yield job.id

        self._places = NamePlaces(names(), lambda number: self.given[number].id)
        if (name := self._places.twice()) is not None:
            raise InputError(f"job {name} is given twice: give each job an id of its own")
        return np.frombuffer(found, dtype=np.int64) if found else np.zeros(0, dtype=np.int64)

    def ended_so_far(self) -> JobStates:
        """Return the finished jobs known now; jobs that finish later do not change the result."""
        twin = JobStates(self.given)
        twin.modified, twin.ended, twin._row = dict(self.modified), self.ended, self._row[:]
        return twin

    def to_state(self) -> dict[str, Any]:
        """Return the finished jobs, as plain data."""
        return self.ended.to_state()

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Restore the state that :meth:`to_state` returned, before any job is added."""
        self.ended.load_state(saved)
        for row, number in enumerate(self.ended.numbers()):
            self._row[number] = row


class RunningStates(MutableMapping[int, JobState]):
    """The states of running jobs by number, in the order in which the jobs were added, as in a
    dictionary.
    """

    __slots__ = ("_found", "_make")

    def __init__(self, numbers: Iterable[int], make: Callable[[int], JobState]) -> None:
        """Initialise the table. make: creates the state of a job number; each state is kept."""
        self._found: dict[int, JobState | None] = dict.fromkeys(numbers)
        self._make = make

    def __getitem__(self, number: int) -> JobState:
        found = self._found[number]
        if found is None:
            found = self._found[number] = self._make(number)
        return found

    def __setitem__(self, number: int, state: JobState) -> None:
        self._found[number] = state

    def __delitem__(self, number: int) -> None:
        del self._found[number]

    def __contains__(self, number: object) -> bool:
        return number in self._found

    def __iter__(self) -> Iterator[int]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)
