"""One CP-SAT model of a whole planning problem: optional intervals on every host.

The model is exact. It is used for few jobs, on any number of hosts (:data:`WORTH`); larger problems
go to the order search and its bounds. Phases of memory become a chain of intervals after the start.
Each host resource and each pool becomes a cumulative constraint, with fixed blocks for running
jobs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from ortools.sat.python import cp_model

from ..availability.demand import Demand
from ..availability.resources import FloatArray, Per, Use
from ..budget import Budget
from ..placement.earliest import Start, counts_once
from ..precedence import After, Event, Known, Several
from ..problem import PlanningProblem
from .backends import ModelSizeLimit, PairWeight, run
from .costs import Costs, UnitCost, coarser
from .joint_placement import TermShape, amounts_of, down, scale_of, up

#: Size of a model that one second suffices for: pairs of job and host, multiplied by the number of
#: jobs. Measured: 5 jobs on 1,000 hosts are solved in seconds, 10 jobs on 100 hosts not in ten.
WORTH = 1000
#: Bytes of one pair of job and host.
MEMORY = 30_000
#: The objective of any plan is kept below this, so that it fits into 64 bits.
MAX_TOTAL = 1 << 60
#: Blocks of one cumulative constraint: intervals and their demands.
Blocks = tuple[list[cp_model.IntervalVar], list[cp_model.LinearExprT]]


@dataclass(slots=True)
class _JobModel:
    demand: Demand
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
    ) -> None:
        """Build the model.

        alone: earliest start of each job given running jobs only. horizon: latest allowed start.
        total: cost of a known plan, in the units of the costs; worse plans are excluded. check:
        called before each job; an exception from it ends the building.

        The attribute `faithful` tells whether the objective keeps nine digits of every weight.
        """
        self.problem = problem
        self._scale = scale_of(amounts_of(demands))
        least = {demand.job.id: alone[demand.job.id] for demand in demands}
        self.costs = costs.within(least, total).beyond(least)
        self.horizon = horizon
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
            self.jobs.append(self._add_job(demand, alone[demand.job.id]))
        self._add_order()
        self._add_cumulatives()
        self._fixed = 0
        self._bits = 0
        self.faithful = self._add_objective()

    @staticmethod
    def fits(demands: list[Demand], budget: Budget) -> bool:
        """Return whether the model can represent these jobs and is small enough for the budget."""
        if not demands:
            return False
        weight = PairWeight(memory=MEMORY, a_second=WORTH / len(demands), share=1.0)
        pairs = sum(int(t.candidates.size) * len(t.alternatives) for d in demands for t in d.terms)
        known = all(d.duration is not None and d.calendar is None for d in demands)
        known = known and all(d.latest is None and d.killed is None for d in demands)
        known = known and not any(counts_once(demand) for demand in demands)
        return known and pairs <= ModelSizeLimit(budget, weight).max_pairs()

    def solve(self, budget: Budget, hint: Mapping[str, Start], *, seconds: float) -> ModelAnswer:
        """Solve the model within the budget, with a known plan as a hint."""
        self._hint(hint)
        status, solver = run(self.model, budget, seconds=seconds, effort=budget.effort_left())
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
        start = self.model.new_int_var(alone, self._last[demand.job.id], f"start {demand.job.id}")
        job = _JobModel(demand, start, [])
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
                    self._use_hosts(demand, start, shape, use)
                for use in shape.term.alternatives[number].pool_uses:
                    self._use_pool(demand, start, shape, use)
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
            case Known(None):
                self.model.add_bool_or([literal.negated() for literal in when])
            case Known(time):
                self.model.add(start >= time).only_enforce_if(*when)
            case After(other, _, lag) if other in starts:
                self.model.add(start >= starts[other] + lag).only_enforce_if(*when)
            case After():
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
        self, demand: Demand, start: cp_model.IntVar, use: Use
    ) -> list[tuple[cp_model.IntervalVar, int]]:
        """Return the intervals after the start with constant use, each with its scaled amount."""
        assert demand.duration is not None
        drops = [drop for drop in use.reservation.drops() if drop < demand.duration]
        pieces = []
        for begin, end in pairwise([0, *drops, demand.duration]):
            amount = up(use.reservation.planned_at(begin), self._scale)
            if amount > 0:
                interval = self.model.new_fixed_size_interval_var(start + begin, end - begin, "")
                pieces.append((interval, amount))
        return pieces

    def _use_hosts(
        self, demand: Demand, start: cp_model.IntVar, shape: TermShape, use: Use
    ) -> None:
        table = self.problem.resolver.table
        capacity = table.host_resources[use.index].capacity
        pieces = self._pieces(demand, start, use)
        unit = shape.term.unit
        if use.index in table.slot_indices and unit is not None and unit.excl:
            for host, number in enumerate(unit.unit_of):
                if int(number) in shape.unit:
                    whole = int(capacity[host]) * self._scale * shape.unit[int(number)]
                    self._put((use.index, host), pieces[0][0], whole)
            return
        for host, used in shape.used.items():
            for interval, amount in pieces:
                held: cp_model.LinearExprT = amount * used
                if use.per is Per.SLOT:
                    held = amount * shape.slot_variable(host)
                elif use.per is Per.WHOLE:
                    held = int(capacity[host]) * self._scale * used
                elif use.per is Per.JOB:
                    if host not in shape.first:
                        continue
                    held = amount * shape.first[host]
                self._put((use.index, host), interval, held)

    def _put(
        self, key: tuple[int, int], interval: cp_model.IntervalVar, held: cp_model.LinearExprT
    ) -> None:
        intervals, amounts = self._hosts[key]
        intervals.append(interval)
        amounts.append(held)

    def _use_pool(self, demand: Demand, start: cp_model.IntVar, shape: TermShape, use: Use) -> None:
        mask = self.problem.resolver.table.pools[use.index].mask
        inside = [host for host in shape.used if mask[host]]
        if not inside:
            return
        count = self.model.new_int_var(0, shape.term.largest if use.per is not Per.JOB else 1, "")
        if use.per is Per.SLOT:
            self.model.add(count == sum(shape.slots[host] for host in inside))
        elif use.per is Per.HOST:
            self.model.add(count == sum(shape.used[host] for host in inside))
        else:
            self.model.add_max_equality(count, [shape.used[host] for host in inside])
        intervals, amounts = self._pools[use.index]
        for interval, amount in self._pieces(demand, start, use):
            intervals.append(interval)
            amounts.append(amount * count)

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
        steps = [0, *(np.flatnonzero(np.diff(left)) + 1).tolist()]
        for begin, until, step in zip(
            [times[step] for step in steps],
            [*(times[step] for step in steps[1:]), end],
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
        last = self._last[job.demand.job.id]
        late = self.model.new_int_var(0, max(0, last - due), "")
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
