"""One CP-SAT model of a whole planning problem: optional intervals on every host.

The model is exact. It is used for few jobs, on any number of hosts (:data:`WORTH`); larger problems
go to the order search and its bounds. Phases of memory become a chain of intervals after the start.
Each host resource and each pool becomes a cumulative constraint, with fixed blocks for running
jobs.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from ortools.sat.python import cp_model

from ..availability.demand import Demand
from ..availability.resources import FloatArray, Per, Use
from ..budget import Budget
from ..placement.earliest import Start, counts_once
from ..precedence import After, Event, Known, Several, afters_of, known_times
from ..problem import PlanningProblem
from .backends import ModelSizeLimit, PairWeight, run
from .costs import Costs, UnitCost, coarser
from .joint_placement import NOISE, TermShape, amounts_of, down, scale_of, up
from .pool_bounds import Pieces

#: Size of a model that one second suffices for: pairs of job and host, multiplied by the square of
#: the number of jobs. Measured: 12 jobs on 6 hosts are solved in a second, 5 jobs on 1,000 hosts in
#: ten; 28 jobs on 16 hosts are not.
WORTH = 10_000
#: Bytes of one pair of job and host.
MEMORY = 30_000
#: The objective of any plan is kept below this, so that it fits into 64 bits.
MAX_TOTAL = 1 << 60
#: Instants of the start of one job that are listed; more would take longer to list than they help.
MAX_INSTANTS = 20_000
#: Blocks of one cumulative constraint: intervals and their demands.
Blocks = tuple[list[cp_model.IntervalVar], list[cp_model.LinearExprT]]


@dataclass(frozen=True, slots=True)
class TimeGrid:
    """Instants as numbers: the n-th is a multiple of the unit plus one of the residues.

    If no job of a plan can start earlier, each one starts at a change of the base profile or some
    lengths of other jobs later, so that few instants suffice. With fewer residues, or with a unit
    that does not divide all lengths, a model that rounds everything down is a relaxation: jobs
    that run in the same step of it run together in the last second of that step.
    """

    #: Seconds after which the residues repeat.
    unit: int = 1
    #: Remainders of the instants by the unit, ascending.
    residues: tuple[int, ...] = (0,)

    @classmethod
    def of(cls, times: Iterable[int], lengths: Iterable[int]) -> TimeGrid:
        """Return the grid of changes and lengths (seconds); all seconds if that is no coarser."""
        times, lengths = sorted(set(times)), set(lengths)
        unit = math.gcd(*lengths)
        step = math.gcd(unit, *(time - times[0] for time in times))
        residues = tuple(sorted({time % unit for time in times})) if unit else ()
        if step and len(residues) == unit // step:
            return cls(step, (times[0] % step,))
        return cls(unit, residues) if len(residues) < unit else cls()

    def coarser(self, times: Sequence[int]) -> Iterator[TimeGrid]:
        """Yield grids with more and more of the residues, those first that bring these seconds
        nearest to the grid, and this grid at last.
        """
        own = [time % self.unit for time in times]
        kept: tuple[int, ...] = ()
        while len(kept) + 1 < len(self.residues):
            grids = [
                TimeGrid(self.unit, tuple(sorted({*kept, residue})))
                for residue in self.residues
                if residue not in kept
            ]
            lost = [sum(time - grid.time(grid.number(time)) for time in own) for grid in grids]
            kept = grids[lost.index(min(lost))].residues
            yield TimeGrid(self.unit, kept)
            if not min(lost):
                break
        yield self

    def number(self, time: int) -> int:
        """Return the number of the last instant up to a second."""
        whole, rest = divmod(time, self.unit)
        return whole * len(self.residues) + bisect_right(self.residues, rest) - 1

    def time(self, number: int) -> int:
        """Return the second of an instant."""
        whole, place = divmod(number, len(self.residues))
        return whole * self.unit + self.residues[place]

    def before(self, time: int) -> int:
        """Return the last instant up to a second, in seconds."""
        return self.time(self.number(time))

    def length(self, seconds: int) -> int:
        """Return the part of a time that the grid certainly covers, in seconds."""
        return seconds // self.unit * self.unit

    def instants(self, first: int, last: int) -> cp_model.Domain:
        """Return the instants between two seconds; all seconds if there are too many instants."""
        numbers = range(self.number(first), self.number(last) + 1)
        if self.unit == 1 or len(numbers) > MAX_INSTANTS:
            return cp_model.Domain(first, last)
        return cp_model.Domain.from_values([self.time(number) for number in numbers])


SECONDS = TimeGrid()


@dataclass(slots=True)
class _JobModel:
    demand: Demand
    #: Start in seconds.
    start: cp_model.IntVar
    choices: list[tuple[int, cp_model.IntVar, list[TermShape]]]


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """Result of one CP-SAT model."""

    #: CP-SAT's status name, such as OPTIMAL.
    status: str
    #: Start of each job by id; empty if no plan was found.
    starts: dict[str, Start]
    #: Lower bound on the total cost of any plan, in the units of the costs.
    bound: int


class IntervalModel:
    """CP-SAT model of the planning problem of `demands`; each demand must have a known duration."""

    def __init__(
        self,
        problem: PlanningProblem,
        demands: list[Demand],
        costs: Costs,
        alone: Mapping[str, int],
        horizon: int,
        total: int,
        check: Callable[[], None] = lambda: None,
        grid: TimeGrid = SECONDS,
        pools: Sequence[Pieces] = (),
    ) -> None:
        """Build the model.

        alone: earliest start of each job given running jobs only. horizon: latest allowed start.
        total: cost of a known plan, in the units of the costs; worse plans are excluded. check:
        called before each job; an exception from it ends the building. grid: of the starts. pools:
        that these jobs share, with their positions in `demands`.

        The attribute `faithful` tells whether the objective keeps nine digits of every weight.
        """
        self.problem = problem
        self._scale = scale_of(amounts_of(demands))
        least = {d.job.id: grid.before(alone[d.job.id]) for d in demands}
        self.costs = costs.within(least, total).beyond(least)
        self.horizon = horizon
        self._grid = grid
        latest = self.costs.latest(total)
        self._last = {
            job: horizon if last is None else min(horizon, last) for job, last in latest.items()
        }
        self.model = cp_model.CpModel()
        self._hosts: dict[tuple[int, int], Blocks] = defaultdict(lambda: ([], []))
        self._pools: dict[int, Blocks] = defaultdict(lambda: ([], []))
        self.jobs: list[_JobModel] = []
        for demand in demands:
            check()
            self.jobs.append(self._add_job(demand, least[demand.job.id]))
        self._add_order()
        self._add_cumulatives()
        self._add_pools(pools)
        self._order_equal_jobs()
        self._fixed = 0
        self._bits = 0
        self.faithful = self._add_objective()

    @staticmethod
    def fits(demands: list[Demand], budget: Budget) -> bool:
        """Return whether the model can represent these jobs and is small enough for the budget."""
        if not demands:
            return False
        weight = PairWeight(memory=MEMORY, a_second=WORTH / len(demands) ** 2, share=1.0)
        pairs = sum(int(t.candidates.size) * len(t.alternatives) for d in demands for t in d.terms)
        known = all(d.duration is not None and d.calendar is None for d in demands)
        known = known and all(d.latest is None and d.killed is None for d in demands)
        known = known and not any(counts_once(demand) for demand in demands)
        return known and pairs <= ModelSizeLimit(budget, weight).max_pairs()

    def solve(
        self, budget: Budget, hint: Mapping[str, Start], *, seconds: float, effort: float = math.inf
    ) -> ModelAnswer:
        """Solve the model within the budget and these limits, with a known plan as a hint."""
        self._hint(hint)
        status, solver = run(self.model, budget, seconds=seconds, effort=effort)
        if status == "INFEASIBLE":
            raise AssertionError("a problem with a known plan cannot be infeasible")
        # Read as an integer: the solver reports its bound as a float.
        reached = int(solver.response_proto.inner_objective_lower_bound)
        bound = (max(0, reached) << self._bits) + self._fixed
        if status == "UNKNOWN":
            return ModelAnswer(status, {}, bound)
        found: dict[str, Start] = {}
        for job in self.jobs:
            number, _, shapes = next(c for c in job.choices if solver.boolean_value(c[1]))
            terms = tuple(shape.allocation(solver) for shape in shapes)
            found[job.demand.job.id] = Start(solver.value(job.start), terms, number)
        return ModelAnswer(status, found, bound)

    def _add_job(self, demand: Demand, alone: int) -> _JobModel:
        domain = self._grid.instants(alone, self._last[demand.job.id])
        job = _JobModel(demand, self.model.new_int_var_from_domain(domain, ""), [])
        empty = self.problem.empty
        for number, alternative in enumerate(demand.terms[0].alternatives):
            if alternative.missing:
                continue
            chosen = self.model.new_bool_var("")
            shapes = []
            for term in demand.terms:
                capacity = empty.capacity(demand, term, term.alternatives[number], demand.earliest)
                candidates = [int(host) for host in term.candidates if capacity.caps[host] > 0]
                shapes.append(
                    TermShape.build(
                        self.model, term, capacity.caps, candidates, chosen, capacity.first
                    )
                )
            job.choices.append((number, chosen, shapes))
            for shape in shapes:
                for use in shape.term.alternatives[number].host_uses:
                    self._use_hosts(demand, job.start, shape, use)
                for use in shape.term.alternatives[number].pool_uses:
                    self._use_pool(demand, job.start, shape, use)
        self.model.add_exactly_one([chosen for _, chosen, _ in job.choices])
        return job

    def _add_order(self) -> None:
        """Add the constraint that no job starts before its dependency condition can hold."""
        starts = {job.demand.job.id: job.start for job in self.jobs}
        for job in self.jobs:
            if job.demand.after is not None:
                self._wait(job.start, job.demand.after, starts, [])

    def _wait(
        self,
        start: cp_model.IntVar,
        event: Event,
        starts: Mapping[str, cp_model.IntVar],
        when: Sequence[cp_model.IntVar],
    ) -> None:
        """Add the constraint that `start` waits for `event`, if all literals in `when` are true."""
        match event:
            case Known(int(time)):
                self.model.add(start >= self._grid.before(time)).only_enforce_if(*when)
            case After(other, _, lag) if other in starts:
                self.model.add(start >= starts[other] + self._grid.length(lag)).only_enforce_if(
                    *when
                )
            case After() | Known(None):
                self.model.add_bool_or([literal.negated() for literal in when])
            case Several(parts, count) if count >= len(parts):
                for part in parts:
                    self._wait(start, part, starts, when)
            case Several(parts, count):
                chosen = [self.model.new_bool_var("") for _ in parts]
                self.model.add(sum(chosen) >= count)
                for part, literal in zip(parts, chosen, strict=True):
                    self._wait(start, part, starts, [*when, literal])

    def _pieces(
        self, demand: Demand, start: cp_model.IntVar, use: Use, there: cp_model.IntVar
    ) -> list[tuple[cp_model.IntervalVar, int]]:
        """Return the intervals after the start with constant use, each with its scaled amount,
        present if `there`.
        """
        assert demand.duration is not None
        drops = [drop for drop in use.reservation.drops() if drop < demand.duration]
        pieces = []
        for begin, end in pairwise([0, *drops, demand.duration]):
            amount = up(use.reservation.planned_at(begin), self._scale)
            if amount > 0:
                offset, until = self._grid.length(begin), self._grid.length(end)
                interval = self.model.new_optional_fixed_size_interval_var(
                    start + offset, until - offset, there, ""
                )
                pieces.append((interval, amount))
        return pieces

    def _use_hosts(
        self, demand: Demand, start: cp_model.IntVar, shape: TermShape, use: Use
    ) -> None:
        table = self.problem.resolver.table
        capacity = table.host_resources[use.index].capacity
        unit = shape.term.unit
        if use.index in table.slot_indices and unit is not None and unit.excl:
            for host, number in enumerate(unit.unit_of.tolist()):
                if number in shape.unit:
                    whole = int(capacity[host]) * self._scale
                    for interval, _ in self._pieces(demand, start, use, shape.unit[number]):
                        _put(self._hosts[use.index, host], interval, whole)
            return
        held = shape.first if use.per is Per.JOB else shape.used
        for host, used in held.items():
            for interval, amount in self._pieces(demand, start, use, used):
                if use.per is Per.SLOT:
                    parts = shape.parts[host]
                    one = len(parts) == 1 and parts[0].most == 1
                    each = parts[0].weight if one else shape.slot_variable(host)
                    _put(self._hosts[use.index, host], interval, amount * each)
                else:
                    whole = int(capacity[host]) * self._scale if use.per is Per.WHOLE else amount
                    _put(self._hosts[use.index, host], interval, whole)

    def _use_pool(self, demand: Demand, start: cp_model.IntVar, shape: TermShape, use: Use) -> None:
        mask = self.problem.resolver.table.pools[use.index].mask
        inside = [host for host in shape.used if mask[host]]
        if not inside:
            return
        term = shape.term
        if len(inside) == len(shape.used) and use.per is Per.SLOT and term.largest == term.slots:
            count: cp_model.LinearExprT = term.slots
        elif use.per is Per.JOB and len(inside) == len(shape.used):
            count = 1
        else:
            count = self.model.new_int_var(0, term.largest if use.per is not Per.JOB else 1, "")
            if use.per is Per.SLOT:
                self.model.add(count == sum(shape.slots[host] for host in inside))
            elif use.per is Per.HOST:
                self.model.add(count == sum(shape.used[host] for host in inside))
            else:
                self.model.add_max_equality(count, [shape.used[host] for host in inside])
        blocks = self._pools[use.index]
        for interval, amount in self._pieces(demand, start, use, shape.chosen):
            _put(blocks, interval, amount * count)

    def _add_cumulatives(self) -> None:
        base = self.problem.base
        times = base.changes()
        table = self.problem.resolver.table
        used = {index for index, _ in self._hosts}
        free = {index: np.array([base.free(index, t) for t in times]) for index in sorted(used)}
        for (index, host), blocks in self._hosts.items():
            capacity = float(table.host_resources[index].capacity[host])
            self._cumulative(blocks, times, free[index][:, host], capacity)
        for index, blocks in self._pools.items():
            left = np.array([base.free_in_pool(index, t) for t in times])
            self._cumulative(blocks, times, left, table.pools[index].capacity)

    def _order_equal_jobs(self) -> None:
        """Order the starts of interchangeable jobs, for which no other job waits."""
        if any(job.demand.after is not None for job in self.jobs):
            return
        last: dict[Hashable, _JobModel] = {}
        for job in self.jobs:
            kind = job.demand.kind, self.costs.jobs[job.demand.job.id]
            if kind in last:
                self.model.add(last[kind].start <= job.start)
            last[kind] = job

    def _add_pools(self, pools: Sequence[Pieces]) -> None:
        """Add the pools as constraints that follow from those of hosts, and refute earlier."""
        times = self.problem.base.changes()
        whole = [
            self.model.new_fixed_size_interval_var(
                job.start, self._grid.length(job.demand.duration or 0), ""
            )
            for job in self.jobs
        ]
        for pool in pools:
            amounts = [int(round(amount * self._scale, NOISE)) for amount in pool.taken.values()]
            blocks: Blocks = ([whole[number] for number in pool.taken], [*amounts])
            self._cumulative(blocks, times, pool.there, float(pool.there.max()))

    def _cumulative(
        self, blocks: Blocks, times: Sequence[int], left: FloatArray, capacity: float
    ) -> None:
        """Add one cumulative constraint: planned blocks, and fixed blocks for running jobs.

        left: capacity that running jobs leave free from each of `times` on. Only changes of `left`
        become blocks, because few of the times concern one host.
        """
        if not np.isfinite(capacity):
            return
        intervals, amounts = list(blocks[0]), list(blocks[1])
        limit = down(capacity, self._scale)
        end = self.horizon + max(job.demand.duration or 0 for job in self.jobs) + 1
        before = self._grid.before
        steps = [0, *(np.flatnonzero(np.diff(left)) + 1).tolist()]
        for begin, until, step in zip(
            [before(times[step]) for step in steps],
            [*(before(times[step]) for step in steps[1:]), before(end) + self._grid.unit],
            steps,
            strict=True,
        ):
            taken = limit - min(limit, max(0, down(float(left[step]), self._scale)))
            if taken > 0 and until > begin:
                intervals.append(self.model.new_fixed_size_interval_var(begin, until - begin, ""))
                amounts.append(taken)
        self.model.add_cumulative(intervals, amounts, limit)

    def _add_objective(self) -> bool:
        """Add the objective in units that fit into 64 bits; return whether nine digits are kept."""
        costs = [self.costs.jobs[job.demand.job.id] for job in self.jobs]
        spans = [
            self._last[job.demand.job.id] - cost.due
            for job, cost in zip(self.jobs, costs, strict=True)
        ]
        if self.costs.largest:
            return self._minimise_largest(costs, spans)
        most = sum(cost.weight * max(0, span) for cost, span in zip(costs, spans, strict=True))
        short = coarser([cost.weight for cost in costs], most, MAX_TOTAL)
        self._bits = short.bits
        self._fixed = sum(cost.base for cost in costs)
        late = [self._late(job, cost.due) for job, cost in zip(self.jobs, costs, strict=True)]
        self.model.minimize(cp_model.LinearExpr.weighted_sum(late, list(short.numbers)))
        return short.faithful

    def _minimise_largest(self, costs: list[UnitCost], spans: list[int]) -> bool:
        pairs = list(zip(costs, spans, strict=True))
        most = max(cost.base + cost.weight * max(0, span) for cost, span in pairs)
        numbers = [number for cost in costs for number in (cost.weight, cost.base)]
        short = coarser(numbers, most, MAX_TOTAL)
        self._bits = short.bits
        largest = self.model.new_int_var(0, MAX_TOTAL, "largest")
        weights, bases = short.numbers[::2], short.numbers[1::2]
        for job, cost, weight, base in zip(self.jobs, costs, weights, bases, strict=True):
            self.model.add(largest >= weight * self._late(job, cost.due) + base)
        self.model.minimize(largest)
        return short.faithful

    def _late(self, job: _JobModel, due: int) -> cp_model.IntVar:
        """Return a variable for the seconds by which the job starts after `due`, 0 or more."""
        late = self.model.new_int_var(0, max(0, self._last[job.demand.job.id] - due), "")
        self.model.add(late >= job.start - due)
        return late

    def _hint(self, known: Mapping[str, Start]) -> None:
        for job in self.jobs:
            start = known.get(job.demand.job.id)
            if start is None:
                continue
            self.model.add_hint(job.start, start.time)
            for number, chosen, shapes in job.choices:
                taken = number == start.alternative
                self.model.add_hint(chosen, taken)
                for shape, allocation in zip(shapes, start.terms, strict=True):
                    for host, used in shape.used.items():
                        self.model.add_hint(used, taken and host in allocation)


def _put(blocks: Blocks, interval: cp_model.IntervalVar, held: cp_model.LinearExprT) -> None:
    blocks[0].append(interval)
    blocks[1].append(held)


def grid_of(
    problem: PlanningProblem, demands: Sequence[Demand], alone: Mapping[str, int]
) -> TimeGrid:
    """Return the grid of all starts that a best plan of `demands` may need."""
    events = [demand.after for demand in demands if demand.after is not None]
    lengths = {demand.duration or 0 for demand in demands}
    for demand in demands:
        for term in demand.terms:
            for alternative in term.alternatives:
                for use in (*alternative.host_uses, *alternative.pool_uses):
                    lengths.update(d for d in use.reservation.drops() if d < (demand.duration or 0))
    lengths.update(after.lag for event in events for after in afters_of(event))
    times = {*problem.base.changes(), *(alone[demand.job.id] for demand in demands)}
    return TimeGrid.of(times.union(*map(known_times, events)), lengths)
