"""The lexicographic optimum: starts minimised in priority order, all placements chosen jointly.

Job by job: its start can be no earlier than alone beside what runs (a bisection), and need be no
later than where it fits beside the placements chosen so far. For an instant between, one model
(:mod:`.joint_placement`) places *all* jobs so far anew with their starts kept; the first instant
that is feasible is the optimum, and every instant before it is refuted. As long as the job's window
reaches over the same starts, what is feasible stays so, so each such stretch of instants is
bisected. The search starts from the time-based plan and keeps it as long as nothing better is
found, so the result is never later than it lexicographically.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from ...model.plan import Plan, PlannedJob, Unplaced
from ...model.progress import Progress
from ..availability.demand import Demand
from ..availability.profile import FOREVER, Profile
from ..availability.resources import SLOTS
from ..budget import Budget, OutOfTime
from ..pending_reasons import reason_unplaced, what_it_waits_for
from ..placement.earliest import Start, earliest_start, hold_start, is_constant, start_at
from ..placement.fewest import with_fewest_units
from ..problem import PlanningProblem

#: Above this many (job, host) pairs a joint placement model frees only some of the jobs.
MOST_PAIRS = 24_000
#: Limits of one joint placement probe: wall seconds and deterministic units at least, or this
#: share of what is left.
PROBE_SECONDS = 3.0
PROBE_EFFORT = 3.0
PROBE_SHARE = 0.4


@dataclass(slots=True)
class _Settled:
    """A job whose start is fixed: bound says what was refuted before it."""

    demand: Demand
    start: Start
    bound: int
    why: str = ""


@dataclass(slots=True)
class _Looked:
    """What the search for one job's start has so far.

    bound: the first instant that is not refuted; why: what kept it from an answer. found: the
    earliest feasible instant seen, with the placements of all jobs there.
    """

    bound: int
    why: str = ""
    found: int | None = None
    placed: dict[str, Start] = field(default_factory=dict)

    def leave_open(self, time: int, why: str) -> None:
        """Note that `time` was neither refuted nor shown to be feasible."""
        if time < self.bound:
            self.bound, self.why = time, why


@dataclass(slots=True)
class _Search:
    """given_up: jobs left without a start though nothing proves that they have none, and why."""

    problem: PlanningProblem
    budget: Budget
    warm: dict[str, Start]
    settled: list[_Settled] = field(default_factory=list)
    given_up: dict[str, str] = field(default_factory=dict)
    same_as_warm: bool = True
    _profile: Profile | None = None

    def settle(self, demand: Demand) -> bool:
        """Fix the start of the next job; False if it cannot be placed."""
        alone = earliest_start(self.problem.base, demand)
        if alone is None:
            return False
        incumbent = self._incumbent(demand, alone)
        first, last = alone.time, FOREVER if incumbent is None else incumbent.time
        looked = _Looked(last)
        if first < last and self.budget.exhausted():
            looked.leave_open(first, "the limit of the search")
        elif first < last:
            for times in self._stretches(demand, first, last):
                self._look(demand, times, looked)
                if looked.found is not None:
                    break
        if looked.found is not None:
            self._take(demand, looked)
            return True
        if incumbent is None:
            if looked.why:
                self.given_up[demand.job.id] = f"{looked.why} was reached"
            return False
        hold_start(self.profile(), demand, incumbent)
        self.settled.append(_Settled(demand, incumbent, looked.bound, looked.why))
        self._leave_warm(demand, incumbent)
        return True

    def _look(self, demand: Demand, times: list[int], looked: _Looked) -> None:
        """Find the first feasible instant of a stretch, by bisection.

        Within a stretch whatever is feasible stays feasible: the window reaches over the same
        starts, and at its own start ever more is free. So a refuted instant refutes those before.
        """
        low, high = 0, len(times) - 1  # refuted: before low; feasible or not looked at: high
        middle = high
        while low <= high:
            if self.budget.exhausted():
                looked.leave_open(times[low], "the limit of the search")
                return
            status, placed = self._probe(demand, times[middle])
            if status == "FEASIBLE":
                looked.found, looked.placed = times[middle], placed
                high = middle - 1
            else:
                if status == "UNKNOWN":
                    looked.leave_open(times[low], "the limit of one step of the search")
                low = middle + 1
            middle = (low + high) // 2

    def _take(self, demand: Demand, looked: _Looked) -> None:
        """Settle the job at the instant found, with the placements of all jobs found there."""
        for item in self.settled:
            item.start = looked.placed.get(item.demand.job.id, item.start)
        bound, time = looked.bound, looked.found
        assert time is not None
        open_before = bound < time
        self.settled.append(
            _Settled(
                demand,
                looked.placed[demand.job.id],
                min(bound, time),
                looked.why if open_before else "",
            )
        )
        self.same_as_warm = False
        self._profile = None

    def _incumbent(self, demand: Demand, alone: Start) -> Start | None:
        """Where the job fits beside the placements chosen so far; the warm start if still valid."""
        warm = self.warm.get(demand.job.id)
        if self.same_as_warm and warm is not None and self.budget.exhausted():
            return warm
        found = earliest_start(self.profile(), demand, not_before=alone.time)
        if self.same_as_warm and warm is not None and (found is None or warm.time <= found.time):
            return warm
        return found

    def _leave_warm(self, demand: Demand, start: Start) -> None:
        warm = self.warm.get(demand.job.id)
        if warm != start:
            self.same_as_warm = False

    def profile(self) -> Profile:
        """What runs and what is settled; kept until a probe moves settled jobs."""
        if self._profile is None:
            self._profile = self.problem.base.copy()
            for item in self.settled:
                hold_start(self._profile, item.demand, item.start)
        return self._profile

    def _stretches(self, demand: Demand, first: int, last: int) -> list[list[int]]:
        """The instants from first up to last, in ranges within which the job only fits better."""
        profile = self.profile()
        times = {*profile.candidate_times(demand.earliest), *self._other_drops()}
        opened = profile.with_openings(demand, sorted(t for t in times if t >= demand.earliest))
        instants = [time for time in opened if first <= time < last]
        if not instants or demand.calendar is not None:
            return [[time] for time in instants]
        edges = profile.stretches(instants, demand.duration, one_by_one=not is_constant(demand))
        return [instants[begin:end] for begin, end in edges]

    def _other_drops(self) -> set[int]:
        """When settled jobs would give amounts back under the rusage alternatives not taken."""
        return {
            item.start.time + drop
            for item in self.settled
            for term in item.demand.terms
            if len(term.alternatives) > 1
            for alternative in term.alternatives
            for use in (*alternative.host_uses, *alternative.pool_uses)
            for drop in use.reservation.drops()
            if _covers(0, item.demand.duration, drop)
        }

    # --- one instant --------------------------------------------------------------------------

    def _probe(self, demand: Demand, time: int) -> tuple[str, dict[str, Start]]:
        """Try to place everything with `demand` at `time`: status, and the placements if any."""
        beside_base = start_at(self.problem.base, demand, time)
        if beside_base is None or self._too_full(demand, time):
            return "INFEASIBLE", {}
        group = self._overlapping(demand, time)
        if not group:
            return "FEASIBLE", {demand.job.id: beside_base}
        placed = self._by_order(demand, time, group) or self._by_model(demand, time, group)
        return (placed, {}) if isinstance(placed, str) else ("FEASIBLE", placed)

    def _too_full(self, demand: Demand, time: int) -> bool:
        """Whether the slots of all jobs so far exceed what is free at some checkpoint."""
        windows = [(item.start.time, item.demand) for item in self.settled] + [(time, demand)]
        for point in {start for start, _ in windows}:
            asked = sum(d.slots for start, d in windows if _covers(start, d.duration, point))
            if asked > self.problem.base.free(SLOTS, point).clip(0).sum():
                return True
        return False

    def _overlapping(self, demand: Demand, time: int) -> list[_Settled]:
        """Settled jobs whose windows are linked with that of `demand` by overlaps."""
        reached: list[tuple[int, int]] = [(time, _end(time, demand.duration))]
        group: list[_Settled] = []
        waiting = list(self.settled)
        grown = True
        while grown:
            grown = False
            for item in list(waiting):
                start, end = item.start.time, _end(item.start.time, item.demand.duration)
                if any(start < b and a < end for a, b in reached):
                    reached.append((start, end))
                    group.append(item)
                    waiting.remove(item)
                    grown = True
        return group

    def _by_order(
        self, demand: Demand, time: int, group: Sequence[_Settled]
    ) -> dict[str, Start] | None:
        """A quick try: place the new job first, then the others at their starts, hardest first."""
        asked = [(demand, time), *((item.demand, item.start.time) for item in group)]
        asked[1:] = sorted(asked[1:], key=lambda pair: -pair[0].slots)
        profile = self.problem.base.copy()
        placed: dict[str, Start] = {}
        for other, at in asked:
            start = start_at(profile, other, at)
            if start is None:
                return None
            hold_start(profile, other, start)
            placed[other.job.id] = start
        return placed

    def _by_model(
        self, demand: Demand, time: int, group: Sequence[_Settled]
    ) -> dict[str, Start] | str:
        from .joint_placement import JointPlacement

        free, fixed = self._split_by_size(demand, group)
        base = self.problem.base
        if fixed:
            base = base.copy()
            for item in fixed:
                hold_start(base, item.demand, item.start)
        asked = [(item.demand, item.start.time) for item in free] + [(demand, time)]
        try:
            model = JointPlacement(base, asked, check=self.budget.check_search)
        except OutOfTime:
            return "UNKNOWN"
        status, placed = model.solve(
            self.budget,
            seconds=max(PROBE_SECONDS, PROBE_SHARE * self.budget.left()),
            effort=max(PROBE_EFFORT, PROBE_SHARE * self.budget.effort_left()),
            hint={item.demand.job.id: item.start for item in free},
        )
        if status == "FEASIBLE":
            return placed
        return "UNKNOWN" if fixed else status

    def _split_by_size(
        self, demand: Demand, group: Sequence[_Settled]
    ) -> tuple[list[_Settled], list[_Settled]]:
        """Jobs whose placement is free in the model and jobs kept where they are.

        All are free as long as the model stays small; else the latest ones, whose placements were
        chosen with the least room, and a failure then refutes nothing.
        """
        left = MOST_PAIRS - _pairs(demand)
        free: list[_Settled] = []
        fixed: list[_Settled] = []
        for item in sorted(group, key=lambda item: self.settled.index(item), reverse=True):
            left -= _pairs(item.demand)
            (free if left >= 0 else fixed).append(item)
        return free, fixed


def plan_lexicographic(
    problem: PlanningProblem,
    warm: Plan,
    budget: Budget,
    *,
    on_progress: Callable[[Progress], None] | None = None,
) -> Plan:
    """The lexicographic optimum, or the best found within the budget.

    warm: the time-based plan of the same problem; its places are kept for the jobs that the budget
    no longer reaches, marked with the reason.
    """
    search = _Search(problem, budget, warm_starts(problem, warm))
    unplaced: list[Unplaced] = []
    for position, demand in enumerate(problem.demands):
        if not search.settle(demand):
            reason = search.given_up.get(demand.job.id) or reason_unplaced(problem, demand)
            unplaced.append(Unplaced(demand.job.id, reason))
        elif on_progress is not None:
            now = problem.instance.now
            value = float(sum(item.start.time - now for item in search.settled))
            bound = float(sum(item.bound - now for item in search.settled))
            total = len(problem.demands)
            on_progress(Progress(position + 1, total, value, bound, budget.elapsed()))
    reservations = _reservations(problem, search)
    now = problem.instance.now
    proved = all(item.proved for item in reservations) and not search.given_up
    return Plan(
        method="optimal",
        objective="lexicographic",
        status=("infeasible" if unplaced else "optimal") if proved else "feasible",
        now=now,
        reservations=tuple(reservations),
        unplaced=tuple(unplaced),
        value=float(sum(item.start.time - now for item in search.settled)),
        bound=float(sum(item.bound - now for item in search.settled)) if proved else None,
        notes=tuple(f"not proved: {why}" for why in dict.fromkeys(search.given_up.values())),
    )


def _reservations(problem: PlanningProblem, search: _Search) -> list[PlannedJob]:
    profile = problem.base.copy()
    found: list[PlannedJob] = []
    if not search.same_as_warm:
        starts = {item.demand.job.id: item.start for item in search.settled}
        starts = with_fewest_units(profile, problem.demands, starts)
        for item in search.settled:
            item.start = starts[item.demand.job.id]
    for item in search.settled:
        reason = what_it_waits_for(problem, item.demand, item.start, profile, found)
        hold_start(profile, item.demand, item.start)
        planned = problem.planned(
            item.demand, item.start, "optimal", bound=item.bound, waits_for=reason
        )
        if item.why:
            planned = _unproved(planned, item.why)
        found.append(planned)
    return found


def _unproved(planned: PlannedJob, why: str) -> PlannedJob:
    return replace(planned, fallback=f"not proved: {why} was reached")


def warm_starts(problem: PlanningProblem, warm: Plan) -> dict[str, Start]:
    """The starts that a plan records, by job."""
    starts = ((item.job, problem.start_of(item)) for item in warm.reservations)
    return {job: start for job, start in starts if start is not None}


def _pairs(demand: Demand) -> int:
    return sum(int(term.candidates.size) * len(term.alternatives) for term in demand.terms)


def _end(start: int, duration: int | None) -> int:
    return FOREVER if duration is None else start + duration


def _covers(start: int, duration: int | None, point: int) -> bool:
    return start <= point < _end(start, duration)
