"""Starts and placements as variables of one CP-SAT model: optional intervals on every host.

Exact, and worth running up to about a thousand (job, host) pairs; larger instances are left to the
order search and its bounds. Memory phases become a chain of intervals behind the start, everything
that is shared a cumulative with the running jobs as fixed blocks.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from ortools.sat.python import cp_model

from ..availability.demand import Demand
from ..availability.resources import SLOTS
from ..availability.room import SLACK
from ..availability.uses import Per, Use
from ..placement.compound_limits import counts_once
from ..placement.earliest import Start
from ..problem import PlanningProblem
from .budget import Budget
from .cpsat import run
from .joint_placement import SCALE
from .objectives import SLOWDOWN_THRESHOLD, Objective
from .shape import TermShape

#: Above this many (job, host) pairs the model is not built.
MOST_PAIRS = 1200
#: Objective coefficients are scaled to integers by this where no common unit is small enough.
ROUNDED = 10**6
#: The largest common unit of run times (slowdown).
MOST_UNITS = 10**9
#: Blocks of one cumulative: intervals and what they hold.
Blocks = tuple[list[cp_model.IntervalVar], list[cp_model.LinearExprT]]


@dataclass(slots=True)
class _JobModel:
    demand: Demand
    start: cp_model.IntVar
    choices: list[tuple[int, cp_model.IntVar, list[TermShape]]]


class IntervalModel:
    """The whole planning problem of `demands`, all of which have a known duration."""

    def __init__(
        self,
        problem: PlanningProblem,
        demands: list[Demand],
        objective: Objective,
        alone: Mapping[str, int],
        horizon: int,
    ) -> None:
        """horizon: no start lies after it; alone: earliest start of each job by itself."""
        self.problem = problem
        self.objective = objective
        self.horizon = horizon
        self.model = cp_model.CpModel()
        self._hosts: dict[tuple[int, int], Blocks] = defaultdict(lambda: ([], []))
        self._pools: dict[int, Blocks] = defaultdict(lambda: ([], []))
        self.jobs = [self._add_job(demand, alone[demand.job.id]) for demand in demands]
        self._add_cumulatives()
        unit = _common_unit(demands, objective.name)
        self.exact = unit is not None
        self.unit = unit or ROUNDED
        self.scale = self._add_objective()

    @staticmethod
    def fits(demands: list[Demand], hosts: int) -> bool:
        """Whether the model is small enough, and able, to be built for these jobs."""
        pairs = sum(int(t.candidates.size) * len(t.alternatives) for d in demands for t in d.terms)
        known = all(d.duration is not None and d.calendar is None for d in demands)
        known = known and not any(counts_once(demand) for demand in demands)
        return known and pairs <= MOST_PAIRS and hosts * len(demands) <= 4 * MOST_PAIRS

    def solve(
        self, budget: Budget, hint: Mapping[str, Start], *, seconds: float
    ) -> tuple[str, dict[str, Start], float]:
        """Status, starts (empty if none was found) and a lower bound of the objective."""
        self._hint(hint)
        status, solver = run(self.model, budget, seconds=seconds, effort=budget.effort_left())
        if status == "INFEASIBLE":
            raise AssertionError("a problem with a known plan cannot be infeasible")
        bound = solver.best_objective_bound / self.scale
        if status == "UNKNOWN":
            return status, {}, bound
        found: dict[str, Start] = {}
        for job in self.jobs:
            number, _, shapes = next(c for c in job.choices if solver.boolean_value(c[1]))
            terms = tuple(shape.allocation(solver) for shape in shapes)
            found[job.demand.job.id] = Start(solver.value(job.start), terms, number)
        return status, found, bound

    # --- jobs ---------------------------------------------------------------------------------

    def _add_job(self, demand: Demand, alone: int) -> _JobModel:
        start = self.model.new_int_var(alone, self.horizon, f"start {demand.job.id}")
        job = _JobModel(demand, start, [])
        empty = self.problem.empty
        for number, alternative in enumerate(demand.terms[0].alternatives):
            if alternative.missing:
                continue
            chosen = self.model.new_bool_var("")
            shapes = []
            for term in demand.terms:
                room = empty.room(demand, term, term.alternatives[number], demand.earliest)
                candidates = [int(host) for host in term.candidates if room.caps[host] > 0]
                shapes.append(
                    TermShape.build(self.model, term, room.caps, candidates, chosen, room.first)
                )
            job.choices.append((number, chosen, shapes))
            for shape in shapes:
                for use in shape.term.alternatives[number].host_uses:
                    self._use_hosts(demand, start, shape, use)
                for use in shape.term.alternatives[number].pool_uses:
                    self._use_pool(demand, start, shape, use)
        self.model.add_exactly_one([chosen for _, chosen, _ in job.choices])
        return job

    def _pieces(
        self, demand: Demand, start: cp_model.IntVar, use: Use
    ) -> list[tuple[cp_model.IntervalVar, int]]:
        """Intervals behind the start on which the use is constant, with the scaled amount."""
        assert demand.duration is not None
        drops = [drop for drop in use.reservation.drops() if drop < demand.duration]
        pieces = []
        for begin, end in pairwise([0, *drops, demand.duration]):
            amount = int(np.ceil(use.reservation.planned_at(begin) * SCALE - SLACK))
            if amount > 0:
                interval = self.model.new_fixed_size_interval_var(start + begin, end - begin, "")
                pieces.append((interval, amount))
        return pieces

    def _use_hosts(
        self, demand: Demand, start: cp_model.IntVar, shape: TermShape, use: Use
    ) -> None:
        capacity = self.problem.resolver.table.host_resources[use.index].capacity
        pieces = self._pieces(demand, start, use)
        unit = shape.term.unit
        if use.index == SLOTS and unit is not None and unit.excl:
            for host, number in enumerate(unit.unit_of):
                if int(number) in shape.unit:
                    whole = int(capacity[host]) * SCALE * shape.unit[int(number)]
                    self._put((use.index, host), pieces[0][0], whole)
            return
        for host, used in shape.used.items():
            for interval, amount in pieces:
                held: cp_model.LinearExprT = amount * used
                if use.per is Per.SLOT:
                    held = amount * shape.slot_variable(host)
                elif use.per is Per.WHOLE:
                    held = int(capacity[host]) * SCALE * used
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
        count = self.model.new_int_var(0, shape.term.slots if use.per is not Per.JOB else 1, "")
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

    # --- shared capacities ----------------------------------------------------------------------

    def _add_cumulatives(self) -> None:
        base = self.problem.base
        times = base.changes()
        table = self.problem.resolver.table
        free = {index: [base.free(index, t) for t in times] for index, _ in self._hosts}
        for (index, host), blocks in self._hosts.items():
            levels = [float(level[host]) for level in free[index]]
            self._cumulative(
                blocks, times, levels, float(table.host_resources[index].capacity[host])
            )
        for index, blocks in self._pools.items():
            levels = [base.free_in_pool(index, t) for t in times]
            self._cumulative(blocks, times, levels, table.pools[index].capacity)

    def _cumulative(
        self, blocks: Blocks, times: list[int], levels: list[float], capacity: float
    ) -> None:
        """One cumulative: planned blocks, and fixed ones where running jobs leave less."""
        if not np.isfinite(capacity):
            return
        intervals, amounts = list(blocks[0]), list(blocks[1])
        limit = _down(capacity)
        end = self.horizon + max(job.demand.duration or 0 for job in self.jobs) + 1
        for (begin, until), level in zip(pairwise([*times, end]), levels, strict=True):
            taken = limit - min(limit, max(0, _down(level)))
            if taken > 0 and until > begin:
                intervals.append(self.model.new_fixed_size_interval_var(begin, until - begin, ""))
                amounts.append(taken)
        self.model.add_cumulative(intervals, amounts, limit)

    # --- objective ------------------------------------------------------------------------------

    def _add_objective(self) -> float:
        """Minimise the objective; returns the factor between the model's value and its unit."""
        now = self.objective.now
        if self.objective.name == "makespan":
            last = self.model.new_int_var(0, self.horizon + 10**9, "makespan")
            for job in self.jobs:
                self.model.add(last >= job.start + (job.demand.duration or 0) - now)
            self.model.minimize(last)
            return 1.0
        parts = [self._cost(job) for job in self.jobs]
        self.model.minimize(sum(parts))
        count = len(self.jobs) if self.objective.name == "slowdown" else 1
        return float(self.unit * count)

    def _cost(self, job: _JobModel) -> cp_model.LinearExprT:
        """A job's cost in units; never more than the true one, so that the bound stays valid."""
        demand, name, now = job.demand, self.objective.name, self.objective.now
        duration = demand.duration or 0
        if name == "total-start":
            return self.unit * (job.start - now)
        weight = int(demand.job.weight * self.unit + SLACK)
        if name == "weighted":
            return weight * (job.start - now)
        if name == "slowdown":
            rate = self.unit // max(duration, SLOWDOWN_THRESHOLD)
            most = self.unit + max(0, rate * (self.horizon + duration - demand.job.submit))
            cost = self.model.new_int_var(self.unit, most, "")
            self.model.add(cost >= rate * (job.start - demand.job.submit + duration))
            return cost
        if demand.job.deadline is None:
            return 0
        late = self.model.new_int_var(0, self.horizon + duration, "")
        self.model.add(late >= job.start + duration - demand.job.deadline)
        return weight * late

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


def _common_unit(demands: Sequence[Demand], name: str) -> int | None:
    """How many units make one of the objective so that all coefficients are whole, None if more
    than the limits: coefficients are then rounded down and an optimum of the model proves nothing
    beyond its bound."""
    if name in ("makespan", "total-start"):
        return 1
    if name == "slowdown":
        unit = math.lcm(*(max(d.duration or 0, SLOWDOWN_THRESHOLD) for d in demands))
        return unit if unit <= MOST_UNITS else None
    weights = [demand.job.weight for demand in demands]
    near = [Fraction(weight).limit_denominator(ROUNDED) for weight in weights]
    unit = math.lcm(*(fraction.denominator for fraction in near))
    close = all(abs(float(f) - w) <= 1e-12 * max(1, w) for f, w in zip(near, weights, strict=True))
    return unit if close and unit <= ROUNDED else None


def _down(amount: float) -> int:
    return int(np.floor((amount + SLACK) * SCALE))
