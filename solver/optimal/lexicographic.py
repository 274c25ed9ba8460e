"""The lexicographic optimum: starts minimised in priority order, all allocations chosen jointly.

Jobs are settled one by one. The start of a job is no earlier than its start given running jobs
only, and no later than its start given the allocations chosen so far. For an instant between the
two, :class:`JointProbe` decides whether all settled jobs, with their starts kept, and this job fit
together. The first feasible instant is the optimum; every earlier instant is refuted. In a range of
instants in which the window of the job covers the same other starts, feasibility is monotone, so
the range is bisected.

The search starts from the time-based plan and keeps it until a better plan is found, so the result
is never lexicographically later.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from ...model.plan import Plan, PlannedJob, Unplaced
from ...model.progress import Progress
from ..availability.demand import Demand, with_eligible_time
from ..availability.profile import SLACK, Profile
from ..availability.resources import SLOTS, Per
from ..availability.usage import FOREVER
from ..budget import Budget, OutOfTime
from ..pending_reasons import JobByJob, reason_unplaced
from ..placement.earliest import (
    Start,
    allocate_start,
    earliest_start,
    is_constant,
    start_at,
)
from ..placement.holding import with_fewest_units
from ..problem import PlanningProblem
from .backends import ModelSizeLimit
from .refutation import (
    Asked,
    Blocks,
    NoGoods,
    blocks_of,
    is_overfull,
)

if TYPE_CHECKING:
    from .joint_placement import JointPlacement


#: Lower limit of one model: wall seconds, or units of deterministic time. A model may take more if
#: the share of the remaining time that its question has is larger.
MIN_LIMIT = 0.5
#: Share of the pairs of job and host in one model that the starts of one job may take.
OPTIONS_SHARE = 0.25
#: Largest share of the remaining time for one question.
MAX_SHARE = 0.9
#: Blocks are counted by host classes if that needs this many times fewer variables than pairs of
#: job and host.
FEWER = 4
#: What decides an instant, the strongest last.
FIRST_FIT, COUNTS, OVER_RACKS, OVER_HOSTS = range(4)
DECIDERS = ("first fit", "counts", "CP-SAT over racks", "CP-SAT over hosts")
#: Status (FEASIBLE, INFEASIBLE or UNKNOWN) and, if feasible, the start of each job by id.
Answer: TypeAlias = tuple[str, dict[str, Start]]


class Placed(Protocol):
    """A job whose start is fixed; its allocation may still change."""

    @property
    def demand(self) -> Demand:
        """Return the job."""

    @property
    def start(self) -> Start:
        """Start of the job, on the hosts of the best allocation found so far."""


@dataclass(slots=True)
class JointProbe:
    """Decides whether settled jobs and one more job fit together, given a base profile.

    The starts of settled jobs are kept; their allocations may change. Cheap counts and earlier
    refutations (:mod:`.refutation`) are tried first, then one CP-SAT model
    (:mod:`.joint_placement`). Blocks, sizes and the model of the settled jobs are cached between
    calls.
    """

    base: Profile
    budget: Budget
    #: All jobs that may be probed.
    pending: Sequence[Demand] = ()
    capacity: ModelSizeLimit = field(init=False)
    no_goods: NoGoods = field(init=False)
    #: Strongest of the deciders that were asked about the present job.
    decider: int = FIRST_FIT
    _blocks: dict[tuple[str, int], tuple[Blocks, ...]] = field(default_factory=dict)
    _pairs: dict[tuple[str, int], int] = field(default_factory=dict)
    _slots: dict[int, float] = field(default_factory=dict)
    _once: dict[int, dict[int, float]] = field(default_factory=dict)
    #: When this question must be answered: seconds, or units of deterministic time spent.
    _until: float = 0.0
    _model: tuple[tuple[str, ...], JointPlacement] | None = None

    def __post_init__(self) -> None:
        self.capacity = ModelSizeLimit(self.budget)
        self.no_goods = NoGoods(self.base, self.pending)

    def ask(
        self, settled: Sequence[Placed], demand: Demand, times: Sequence[int], *, share: float
    ) -> tuple[Answer, list[int]]:
        """Return the first of these times (seconds, ascending) at which a job can start, with
        settled jobs at their starts, and the times before it that are undecided.

        share: share of the remaining time that the models of this question may take.
        """
        self._until = self.budget.spent() + min(share, MAX_SHARE) * self.budget.rest()
        self.decider = max(self.decider, COUNTS)
        # With JOB_ACCEPT_INTERVAL, a start affects hosts beyond the end of the job.
        alone = demand.interval is None
        options: list[tuple[Demand, int]] = []
        chain: dict[str, Placed] = {}
        for time in times:
            begun = demand.begun_at(time)
            beside_base = start_at(self.base, begun, time)
            if beside_base is None or self._too_full(settled, begun, time):
                continue
            if self._pool_too_full(settled, begun, time):
                continue
            group = _overlapping(settled, begun, time) if alone else list(settled)
            if not group and not options:
                return ("FEASIBLE", {demand.job.id: beside_base}), []
            if alone and self.no_goods.refute(_starts(group), begun, time):
                continue
            asked = self._with_blocks(group, begun, time)
            if self._counts_refute(asked):
                continue
            # Counts of blocks of one size decide both ways, at any number of hosts.
            if len({block.size for _, _, several in asked for block in several}) == 1:
                status, known = self._by_counts(asked)
                if status == "INFEASIBLE":
                    continue
                if known is not None and not options:
                    return (status, known), []
            options.append((begun, time))
            chain |= {item.demand.job.id: item for item in group}
        group = [item for item in settled if item.demand.job.id in chain]
        return self._by_models(group, options, alone)

    def _by_models(
        self,
        group: Sequence[Placed],
        options: list[tuple[Demand, int]],
        alone: bool,
    ) -> tuple[Answer, list[int]]:
        """Decide by models: given only the jobs that run at the same time, which refutes as
        well; then, at the first start that is left, with the others on their hosts or free.
        """
        undecided: list[int] = []
        most = len(options)
        while options:
            some = self._as_many_as_fit(options)[:most]
            far = [item for item in group if alone and not _meets(item, some)]
            near = [item for item in group if item not in far]
            status, placed = self._by_model(near, [], some)
            if status == "UNKNOWN" and (len(some) == 1 or self.budget.spent() >= self._until):
                undecided += [time for _, time in options]
                break
            if status == "UNKNOWN":
                most = len(some) // 2
                continue
            options = options[len(some) :]
            if status == "INFEASIBLE":
                continue
            begun = placed[some[0][0].job.id].time
            if status == "FEASIBLE":
                undecided += [time for _, time in some if time < begun]
            if not far:
                return ("FEASIBLE", placed), undecided
            (first,) = [option for option in some if option[1] == begun]
            status, placed = self._by_model(near, far, [first])
            if status != "FEASIBLE":
                status, placed = self._by_model(group, [], [first])
            if status == "FEASIBLE":
                return (status, placed), undecided
            if status == "UNKNOWN":
                undecided.append(begun)
            options = [*(option for option in some if option[1] > begun), *options]
        return ("UNKNOWN" if undecided else "INFEASIBLE", {}), undecided

    def _too_full(self, settled: Sequence[Placed], demand: Demand, time: int) -> bool:
        """Return whether all jobs together request more slots than are free at an instant of the
        window.
        """
        starts = np.array([time, *(item.start.time for item in settled)])
        jobs = [demand, *(item.demand for item in settled)]
        ends = starts + [FOREVER if job.duration is None else job.duration for job in jobs]
        slots = np.array([job.slots for job in jobs])
        for point in np.unique(starts[(starts >= time) & (starts < ends[0])]).tolist():
            asked = int(slots[(starts <= point) & (point < ends)].sum())
            if asked > self._free_slots(point):
                return True
        return False

    def _pool_too_full(self, settled: Sequence[Placed], demand: Demand, time: int) -> bool:
        """Return whether a pool of all hosts is exceeded, such as the limit on the elements of an
        array.

        An amount that a job takes once from such a pool does not depend on its allocation.
        """
        for index, amount in self._taken_once(demand).items():
            if not self.base.table.pools[index].mask.all():
                continue
            taken = [(item, self._taken_once(item.demand).get(index, 0.0)) for item in settled]
            users = [(item, part) for item, part in taken if part]
            for point in {time, *(item.start.time for item, _ in users)}:
                if not _covers(time, demand.duration, point):
                    continue
                used = sum(part for item, part in users if _runs_at(item, point))
                if used + amount > self.base.free_in_pool(index, point) + SLACK:
                    return True
        return False

    def _taken_once(self, demand: Demand) -> dict[int, float]:
        kind = id(demand.terms)  # Kept alive by the jobs that are probed.
        if kind not in self._once:
            self._once[kind] = _taken_once(demand)
        return self._once[kind]

    def _free_slots(self, point: int) -> float:
        if point not in self._slots:
            self._slots[point] = float(self.base.free(SLOTS, point).clip(0).sum())
        return self._slots[point]

    def _with_blocks(self, group: Sequence[Placed], demand: Demand, time: int) -> list[Asked]:
        """Return the new job and the settled jobs with their blocks; blocks of settled jobs are
        cached.
        """
        for item in group:
            key = item.demand.job.id, item.start.time
            if key not in self._blocks:
                self._blocks[key] = blocks_of(self.base, item.demand, item.start.time)
        settled = ((item.demand, item.start.time) for item in group)
        return [
            (demand, time, blocks_of(self.base, demand, time)),
            *((job, at, self._blocks[job.job.id, at]) for job, at in settled),
        ]

    def _counts_refute(self, asked: Sequence[Asked]) -> bool:
        demand, time, _ = asked[0]
        starts = {at for _, at, _ in asked} | set(self.base.later_starts)
        inside = sorted(at for at in starts if _covers(time, demand.duration, at))
        return is_overfull(self.base, asked, inside)

    def _by_counts(self, asked: Sequence[Asked]) -> tuple[str, dict[str, Start] | None]:
        """Decide by counts of blocks per host class, if that needs far fewer variables."""
        if any(len(job.terms) != 1 for job, _, _ in asked):
            return "UNKNOWN", None
        from .refutation import ClassCounts

        pairs = sum(self._pairs_of(job, at) for job, at, _ in asked)
        if FEWER * ClassCounts.size(self.base.hosts, asked) > pairs:
            return "UNKNOWN", None
        self.decider = max(self.decider, OVER_RACKS)
        counts = ClassCounts(self.base, asked)
        status, found = counts.solve(self.budget, **self._limits())
        if status == "INFEASIBLE":
            return status, {}
        whole = status == "FEASIBLE" and all(blocks for _, _, blocks in asked)
        whole = whole and all(job.interval is None for job, _, _ in asked)
        return "FEASIBLE", counts.placed(found) if whole else None

    def _as_many_as_fit(self, options: list[tuple[Demand, int]]) -> list[tuple[Demand, int]]:
        """Return the first options, as many as one model may have, at least one."""
        most = OPTIONS_SHARE * self.capacity.max_pairs()
        pairs = accumulate(self._pairs_of(*option) for option in options)
        return options[: max(1, sum(number <= most for number in pairs))]

    def _by_model(
        self,
        group: Sequence[Placed],
        still: Sequence[Placed],
        options: Sequence[tuple[Demand, int]],
    ) -> Answer:
        """Decide by counts or by one model, in which the jobs of `still` stay on their hosts."""
        if len(options) == 1 and not still:
            status, known = self._by_counts(self._with_blocks(group, *options[0]))
            if known is not None:
                return status, known
        free, fixed = self._split_by_size(group, options)
        fixed += still
        self.decider = OVER_HOSTS
        begun = clock.monotonic()
        try:
            model = self._model_of(free, fixed).beside(options)
        except OutOfTime:
            return "UNKNOWN", {}
        pairs = sum(self._pairs_of(item.demand, item.start.time) for item in free)
        self.capacity.took(pairs, clock.monotonic() - begun)
        hint = {item.demand.job.id: item.start for item in free}
        status, placed = model.solve(self.budget, hint=hint, **self._limits())
        if not fixed and status in ("OPTIMAL", "INFEASIBLE"):
            for demand, time in options:
                if placed and time == placed[demand.job.id].time:
                    break
                self.no_goods.note(_starts(group), demand, time)
        if fixed:
            status = "FEASIBLE" if placed else "UNKNOWN"
        return status, placed

    def _limits(self) -> dict[str, float]:
        """Return the limit of one model: half of what is left for this question."""
        left = max(MIN_LIMIT, (self._until - self.budget.spent()) / 2)
        return {"seconds": left, "effort": left}

    def _model_of(self, free: Sequence[Placed], fixed: Sequence[Placed]) -> JointPlacement:
        """Return the model of the settled jobs; it is cached for the next probed instant."""
        from .joint_placement import JointPlacement

        key = tuple(item.demand.job.id for item in free)
        if self._model is not None and self._model[0] == key and not fixed:
            return self._model[1]
        base = self.base
        if fixed:
            base = base.copy()
            for item in fixed:
                allocate_start(base, item.demand, item.start)
        asked = [(item.demand, item.start.time) for item in free]
        model = JointPlacement(base, asked, check=self.budget.check_search)
        self._model = None if fixed else (key, model)
        return model

    def _split_by_size(
        self, group: Sequence[Placed], options: Sequence[tuple[Demand, int]]
    ) -> tuple[list[Placed], list[Placed]]:
        """Return the jobs whose allocations are variable in the model, and the jobs that stay
        fixed.

        All are variable if the model stays small enough. Otherwise only the jobs settled last are,
        because they had the least choice; an infeasible model then refutes nothing.
        """
        left = self.capacity.max_pairs() - sum(self._pairs_of(*option) for option in options)
        free: list[Placed] = []
        fixed: list[Placed] = []
        for item in reversed(group):
            left -= self._pairs_of(item.demand, item.start.time)
            (free if left >= 0 else fixed).append(item)
        return free, fixed

    def _pairs_of(self, demand: Demand, time: int) -> int:
        """Return the number of pairs of job and host in the model: hosts with capacity for each
        term.
        """
        key = demand.job.id, time
        if key not in self._pairs:
            self._pairs[key] = sum(
                int((self.base.capacity(demand, term, alternative, time).caps > 0).sum())
                for term in demand.terms
                for alternative in term.alternatives
                if not alternative.missing
            )
        return self._pairs[key]


def _taken_once(demand: Demand) -> dict[int, float]:
    """Return amounts that a job takes of pools for its whole life in any placement, by pool
    index.
    """
    if len(demand.terms) != 1 or len(demand.terms[0].alternatives) != 1:
        return {}
    return {
        use.index: use.reservation.initial
        for use in demand.terms[0].alternatives[0].pool_uses
        if use.per is Per.JOB and not use.reservation.drops()
    }


def _starts(placed: Sequence[Placed]) -> list[tuple[str, int]]:
    return [(item.demand.job.id, item.start.time) for item in placed]


def _overlapping(settled: Sequence[Placed], demand: Demand, time: int) -> list[Placed]:
    """Return the settled jobs linked to a job by a chain of overlapping windows, in their order."""
    reached: list[tuple[int, int]] = [(time, _end(time, demand.duration))]
    waiting = dict(enumerate(settled))
    group: list[int] = []
    grown = True
    while grown:
        grown = False
        for number, item in list(waiting.items()):
            start, end = item.start.time, _end(item.start.time, item.demand.duration)
            if any(start < b and a < end for a, b in reached):
                reached.append((start, end))
                group.append(number)
                del waiting[number]
                grown = True
    return [settled[number] for number in sorted(group)]


def _meets(item: Placed, options: Sequence[tuple[Demand, int]]) -> bool:
    """Return whether a settled job runs at the same time as a job with one of these starts."""
    begin, end = item.start.time, _end(item.start.time, item.demand.duration)
    return any(begin < _end(time, job.duration) and time < end for job, time in options)


def _runs_at(item: Placed, time: int) -> bool:
    return _covers(item.start.time, item.demand.duration, time)


def _end(start: int, duration: int | None) -> int:
    return FOREVER if duration is None else start + duration


def _covers(start: int, duration: int | None, point: int) -> bool:
    return start <= point < _end(start, duration)


#: Remaining time that one job may take, in shares of what is left for each job: at first, and in
#: each later pass over the jobs with undecided instants.
SHARES = (2.0, 2.0, 10.0)


@dataclass(slots=True)
class _UndecidedInstants:
    """Instants that were left undecided; refuting the last one refutes all."""

    times: list[int]
    why: str


@dataclass(slots=True)
class _FixedJob:
    """A settled job: its start is fixed, its allocation may change."""

    #: The job, with its duration from this start.
    demand: Demand
    start: Start
    #: The job as requested, before the start fixed its duration.
    asked: Demand
    #: What the search had spent when it came to this job: seconds, or units of deterministic time.
    spent: float
    #: Strongest of the deciders that were asked about its start.
    decider: int
    #: Ranges of earlier instants that are not refuted.
    open: list[_UndecidedInstants] = field(default_factory=list)

    @property
    def bound(self) -> int:
        """Return the first instant that is not refuted (seconds)."""
        return min((part.times[0] for part in self.open), default=self.start.time)

    @property
    def why(self) -> str:
        """Return the reason why an earlier start is undecided, "" if none is."""
        return min(self.open, key=lambda part: part.times[0]).why if self.open else ""


@dataclass(slots=True)
class _StartSearch:
    """State of the search for the start of one job."""

    #: Instants before the first feasible one that are not refuted.
    open: list[_UndecidedInstants] = field(default_factory=list)
    #: Earliest feasible instant found so far (seconds), with the allocations of all jobs at it.
    found: int | None = None
    placed: dict[str, Start] = field(default_factory=dict)

    def leave_open(self, times: list[int], why: str) -> None:
        """Record instants that are neither refuted nor feasible."""
        self.open.append(_UndecidedInstants(times, why))

    def before(self) -> list[_UndecidedInstants]:
        """Return the undecided instants before the earliest feasible one."""
        if self.found is None:
            return self.open
        parts = [
            _UndecidedInstants([time for time in part.times if time < self.found], part.why)
            for part in self.open
        ]
        return [part for part in parts if part.times]


@dataclass(slots=True)
class _Search:
    """State of the search for one plan."""

    problem: PlanningProblem
    budget: Budget
    warm: dict[str, Start]
    settled: list[_FixedJob] = field(default_factory=list)
    unplaced: list[Demand] = field(default_factory=list)
    #: Reason by job id, for jobs without a start that are not proved infeasible.
    given_up: dict[str, str] = field(default_factory=dict)
    same_as_warm: bool = True
    probe: JointProbe = field(init=False)
    _profile: Profile | None = None
    #: Share of the remaining time that one model may take.
    share: float = 0.0
    #: What was spent when the search came to the job that it settles, and when it had settled all.
    _begun: float = 0.0
    _all_settled: float = 0.0
    _equals: dict[Hashable, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.probe = JointProbe(self.problem.base, self.budget, self.problem.demands)

    def settle_all(self, demands: Sequence[Demand], told: Callable[[], None]) -> None:
        """Settle the jobs in this order; jobs without a start go to `unplaced`.

        told: called after each job that is settled.
        """
        for number, demand in enumerate(demands):
            self.share = SHARES[0] / (len(demands) - number)
            self._begun = self.budget.spent()
            if demand.after is not None:
                starts = {item.demand.job.id: item.start.time for item in self.settled}
                demand = with_eligible_time(demand, starts)
            if self._settle(demand):
                told()
            else:
                self.unplaced.append(demand)
        self._all_settled = self.budget.spent()

    def _settle(self, demand: Demand) -> bool:
        """Settle the next job; return False if it cannot be placed."""
        self.probe.decider = FIRST_FIT
        equal = self._equal_before(demand)
        if equal is not None:
            first, self.probe.decider = equal.start.time, equal.decider
        else:
            alone = earliest_start(self.problem.base, demand)
            if alone is None:
                return False
            first = alone.time
        incumbent = self._incumbent(demand, first)
        last = FOREVER if incumbent is None else incumbent.time
        looked = _StartSearch([] if equal is None else list(equal.open))
        if first < last and self.budget.exhausted():
            looked.leave_open([first], "the search limit")
        elif first < last and not self._nothing_can_move():
            self._look_over(demand, self._stretches(demand, first, last), looked)
        if looked.found is not None:
            self._take(demand, looked)
            return True
        if incumbent is None:
            if looked.open:
                self.given_up[demand.job.id] = f"{looked.open[0].why} was reached"
            return False
        allocate_start(self.profile(), demand, incumbent)
        begun = demand.begun_at(incumbent.time)
        by = self.probe.decider
        self.settled.append(_FixedJob(begun, incumbent, demand, self._begun, by, looked.open))
        if self.warm.get(demand.job.id) != incumbent:
            self.same_as_warm = False
        return True

    def _equal_before(self, demand: Demand) -> _FixedJob | None:
        """Return the last settled job with equal demands, None if there is none.

        The two jobs could exchange their starts, so instants refuted or undecided for that job are
        refuted or undecided for this one.
        """
        number = self._equals.get(demand.kind)
        self._equals[demand.kind] = len(self.settled)
        if number is None or number >= len(self.settled) or demand.interval is not None:
            return None
        found = self.settled[number]
        return found if found.asked.kind == demand.kind else None

    def _as_refuted_since(self, number: int, item: _FixedJob) -> None:
        """Update the open instants of a job by refutations for an equal job settled before it."""
        if not item.open:
            return
        equal = next(
            (other for other in self.settled[:number][::-1] if other.asked.kind == item.asked.kind),
            None,
        )
        if equal is not None:
            own = [part for part in item.open if part.times[-1] >= equal.start.time]
            item.open = [*equal.open, *own]

    def _nothing_can_move(self) -> bool:
        """Return whether settled jobs leave the same resources free in every allocation.

        Then the first feasible start given the settled jobs is the optimum of the next job.
        """
        intervals = {demand.interval for demand in self.problem.demands}
        return len(intervals) <= 1 and all(has_one_place(item.demand) for item in self.settled)

    def _look_over(
        self, demand: Demand, stretches: Sequence[list[int]], looked: _StartSearch
    ) -> None:
        """Find the first feasible instant of these ranges.

        In a range, feasibility is monotone: the window covers the same other starts, and free
        resources at its own start only grow. So a refuted instant refutes all earlier ones.
        """
        if self.budget.exhausted():
            for times in stretches:
                looked.leave_open(times, "the search limit")
            return
        last = {times[-1]: times for times in stretches}
        (status, placed), undecided = self.probe.ask(
            self.settled, demand, list(last), share=self.share
        )
        for time in undecided:
            looked.leave_open(last[time], "the limit of one step of the search")
        if status != "FEASIBLE":
            return
        looked.found, looked.placed = placed[demand.job.id].time, placed
        within = last[looked.found][:-1]
        if within:
            half = len(within) // 2
            parts = [part for part in (within[:half], within[half:]) if part]
            self._look_over(demand, parts, looked)

    def _take(self, demand: Demand, looked: _StartSearch) -> None:
        """Settle the job at the instant found, with the allocations of all jobs found at it."""
        for item in self.settled:
            item.start = looked.placed.get(item.demand.job.id, item.start)
        start = looked.placed[demand.job.id]
        begun = demand.begun_at(start.time)
        by = self.probe.decider
        self.settled.append(_FixedJob(begun, start, demand, self._begun, by, looked.before()))
        self.same_as_warm = False
        self._profile = None

    def ask_again(self, share: float, told: Callable[[], None]) -> None:
        """Examine undecided instants with a larger share of the time, in the order of the jobs.

        If a job then starts earlier, all jobs after it are settled again; a job after which that
        took longer than the time that is left is not asked.
        """
        number = 0
        while number < len(self.settled) and not self.budget.exhausted():
            item = self.settled[number]
            self._as_refuted_since(number, item)
            if item.open and self._all_settled - item.spent <= self.budget.rest():
                self.share = share / sum(bool(other.open) for other in self.settled[number:])
                self._decide(number, item, told)
            number += 1

    def _decide(self, number: int, item: _FixedJob, told: Callable[[], None]) -> None:
        looked = _StartSearch()
        whole, self.settled = self.settled, self.settled[:number]
        self.probe.decider = item.decider
        self._look_over(item.asked, [part.times for part in item.open], looked)
        if looked.found is None:
            self.settled, item.open, item.decider = whole, looked.open, self.probe.decider
            return
        self._take(item.asked, looked)
        # The jobs after this one in dispatch order.
        order = [other.job.id for other in self.problem.demands]
        behind = self.problem.demands[order.index(item.demand.job.id) + 1 :]
        again = {demand.job.id for demand in behind}
        self.unplaced = [demand for demand in self.unplaced if demand.job.id not in again]
        self.given_up = {job: why for job, why in self.given_up.items() if job not in again}
        self.settle_all(behind, told)

    def _incumbent(self, demand: Demand, first: int) -> Start | None:
        """Return a feasible start given the settled jobs; the start of the warm plan while it is
        valid.

        first: earliest allowed start in seconds. Returns None if the job cannot be placed.
        """
        warm = self.warm.get(demand.job.id)
        sure = warm is not None and (warm.time <= first or self.budget.exhausted())
        if self.same_as_warm and sure:
            return warm
        found = earliest_start(self.profile(), demand, not_before=first)
        if self.same_as_warm and warm is not None and (found is None or warm.time <= found.time):
            return warm
        return found

    def profile(self) -> Profile:
        """Return the profile of running and settled jobs; cached until settled jobs move."""
        if self._profile is None:
            self._profile = self.problem.base.copy()
            for item in self.settled:
                allocate_start(self._profile, item.demand, item.start)
        return self._profile

    def _stretches(self, demand: Demand, first: int, last: int) -> list[list[int]]:
        """Return the instants from `first` to before `last`, in ranges in which feasibility is
        monotone.
        """
        profile = self.profile()
        times = {*profile.candidate_times(demand.earliest), *self._other_drops()}
        opened = profile.with_openings(demand, sorted(t for t in times if t >= demand.earliest))
        last = last if demand.latest is None else min(last, demand.latest + 1)
        instants = [time for time in opened if first <= time < last]
        if not instants or demand.calendar is not None or demand.interval is not None:
            return [[time] for time in instants]
        edges = profile.stretches(instants, demand.duration, one_by_one=not is_constant(demand))
        return [instants[begin:end] for begin, end in edges]

    def _other_drops(self) -> set[int]:
        """Return the instants at which settled jobs would release amounts under other
        alternatives.
        """
        return {
            item.start.time + drop
            for item in self.settled
            for term in item.demand.terms
            if len(term.alternatives) > 1
            for alternative in term.alternatives
            for use in (*alternative.host_uses, *alternative.pool_uses)
            for drop in use.reservation.drops()
            if 0 <= drop < _length(item.demand)
        }


def plan_lexicographic(
    problem: PlanningProblem,
    warm: Plan,
    budget: Budget,
    *,
    on_progress: Callable[[Progress], None] | None = None,
) -> Plan:
    """Return the lexicographic optimum, or the best plan found within the budget.

    warm: the time-based plan of the same problem. Jobs that the budget does not reach keep its
    starts, marked with the reason.
    """
    search = _Search(problem, budget, warm_starts(problem, warm))

    def told() -> None:
        if on_progress is not None:
            on_progress(_progress(problem, search))

    search.settle_all(problem.demands, told)
    for share in SHARES[1:]:
        search.ask_again(share, told)
    reservations = _reservations(problem, search)
    now = problem.instance.now
    proved = all(item.proved for item in reservations) and not search.given_up
    return Plan(
        method="optimal",
        objective="lexicographic",
        status=("infeasible" if search.unplaced else "optimal") if proved else "feasible",
        now=now,
        reservations=tuple(reservations),
        unplaced=tuple(_unplaced(problem, search, demand) for demand in search.unplaced),
        value=float(sum(item.start.time - now for item in search.settled)),
        bound=float(sum(item.bound - now for item in search.settled)) if proved else None,
        notes=tuple(f"not proved: {why}" for why in dict.fromkeys(search.given_up.values())),
    )


def _progress(problem: PlanningProblem, search: _Search) -> Progress:
    now = problem.instance.now
    value = float(sum(item.start.time - now for item in search.settled))
    bound = float(sum(item.bound - now for item in search.settled))
    done = len(search.settled) + len(search.unplaced)
    return Progress(done, len(problem.demands), value, bound, search.budget.elapsed())


def _unplaced(problem: PlanningProblem, search: _Search, demand: Demand) -> Unplaced:
    reason = search.given_up.get(demand.job.id) or reason_unplaced(problem, demand)
    return Unplaced(demand.job.id, reason)


def _reservations(problem: PlanningProblem, search: _Search) -> list[PlannedJob]:
    profile = problem.base.copy()
    found: list[PlannedJob] = []
    if not search.same_as_warm:
        starts = {item.demand.job.id: item.start for item in search.settled}
        starts = with_fewest_units(profile, problem.demands, starts)
        for item in search.settled:
            item.start = starts[item.demand.job.id]
    reasons = JobByJob(problem)
    for item in search.settled:
        reason = reasons.waits_for(item.demand, item.start, profile)
        allocate_start(profile, item.demand, item.start)
        planned = problem.planned(
            item.demand,
            item.start,
            "optimal",
            bound=item.bound,
            waits_for=reason,
            decided_by=DECIDERS[item.decider],
        )
        if item.why:
            planned = replace(planned, fallback=f"not proved: {item.why} was reached")
        reasons.planned(planned, item.demand)
        found.append(planned)
    return found


def warm_starts(problem: PlanningProblem, warm: Plan) -> dict[str, Start]:
    """Return the starts in a plan by job id."""
    starts = ((item.job, problem.start_of(item)) for item in warm.reservations)
    return {job: start for job, start in starts if start is not None}


def has_one_place(demand: Demand) -> bool:
    """Return whether the job uses the same slots of the same host in every allocation."""
    if len(demand.terms) != 1:
        return False
    (term,) = demand.terms
    return (
        len(term.candidates) == 1 and len(term.alternatives) == 1 and term.max_slots <= term.slots
    )


def _length(demand: Demand) -> int:
    return FOREVER if demand.duration is None else demand.duration
