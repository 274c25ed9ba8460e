"""Placing several jobs at once with their starts fixed: pure Booleans and counts, no time variable.

With every start fixed, the question whether all jobs can be placed beside each other and beside
what runs is one CP-SAT model without intervals (`shared capacity at checkpoints`): usage peaks only
at starts, so each host resource needs one inequality per start of a job in the group.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from ortools.sat.python import cp_model

from ..availability.demand import Availability, Demand, TermDemand
from ..availability.resources import SLOTS
from ..availability.uses import Per
from ..budget import Budget
from ..placement.earliest import Start
from .cpsat import run
from .shape import TermShape
from .whole_amounts import down, scale_of, up

Literal = cp_model.IntVar
#: Variable, weight, largest value of the variable.
Terms = list[tuple[cp_model.IntVar, float, int]]


@dataclass(slots=True)
class _Choice:
    """One rusage alternative of one job, present if `chosen`."""

    demand: Demand
    time: int
    number: int
    chosen: Literal
    terms: list[TermShape]


class JointPlacement:
    """The model for one set of jobs with fixed starts."""

    def __init__(
        self,
        base: Availability,
        starts: Sequence[tuple[Demand, int]],
        *,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """check: called for each job; what it raises ends the building."""
        self.base = base
        self.starts = list(starts)
        self.model = cp_model.CpModel()
        self.choices: list[list[_Choice]] = []
        self.hopeless = False
        for demand, time in self.starts:
            check()
            self.choices.append(self._add_job(demand, time))
        if not self.hopeless:
            self._add_capacities()

    def solve(
        self,
        budget: Budget,
        *,
        seconds: float,
        effort: float,
        hint: Mapping[str, Start] | None = None,
    ) -> tuple[str, dict[str, Start]]:
        """Status (FEASIBLE, INFEASIBLE or UNKNOWN) and, when feasible, a start for every job."""
        if self.hopeless:
            return "INFEASIBLE", {}
        self._hint(hint or {})
        status, solver = run(self.model, budget, seconds=seconds, effort=effort, feasibility=True)
        if status not in ("OPTIMAL", "FEASIBLE"):
            return status, {}
        found: dict[str, Start] = {}
        for choices in self.choices:
            choice = next(item for item in choices if solver.boolean_value(item.chosen))
            terms = tuple(shape.allocation(solver) for shape in choice.terms)
            found[choice.demand.job.id] = Start(choice.time, terms, choice.number)
        return "FEASIBLE", found

    # --- one job ------------------------------------------------------------------------------

    def _add_job(self, demand: Demand, time: int) -> list[_Choice]:
        numbers = [
            number
            for number in range(len(demand.terms[0].alternatives) if demand.terms else 0)
            if all(
                number < len(term.alternatives) and not term.alternatives[number].missing
                for term in demand.terms
            )
        ]
        choices = []
        for number in numbers:
            chosen = self.model.new_bool_var(f"{demand.job.id}#{number}")
            terms = [self._add_term(demand, term, time, number, chosen) for term in demand.terms]
            choices.append(_Choice(demand, time, number, chosen, terms))
            if demand.exclusive and len(terms) > 1:
                self._share_hosts(terms)
        if not choices:
            self.hopeless = True
        else:
            self.model.add_exactly_one([choice.chosen for choice in choices])
        return choices

    def _share_hosts(self, terms: list[TermShape]) -> None:
        """The terms of an exclusive job share the slots of its hosts."""
        for host, capacity in enumerate(self.base.table.host_resources[SLOTS].capacity):
            parts = [shape.slots[host] for shape in terms if host in shape.used]
            if len(parts) > 1:
                self.model.add(sum(parts) <= int(capacity))

    def _add_term(
        self, demand: Demand, term: TermDemand, time: int, number: int, chosen: Literal
    ) -> TermShape:
        room = self.base.room(demand, term, term.alternatives[number], time)
        candidates = [int(host) for host in term.candidates if room.caps[host] > 0]
        if room.idle is not None and term.unit is not None:
            busy = {int(unit) for unit in np.unique(term.unit.unit_of[~room.idle])}
            candidates = [h for h in candidates if int(term.unit.unit_of[h]) not in busy]
        return TermShape.build(self.model, term, room.caps, candidates, chosen, room.first)

    # --- capacities shared by the jobs ----------------------------------------------------------

    def _add_capacities(self) -> None:
        everything = [choice for choices in self.choices for choice in choices]
        for point in sorted({*(time for _, time in self.starts), *self.base.later_starts}):
            active = [choice for choice in everything if _runs_at(choice, point)]
            alone = len({choice.demand.job.id for choice in active}) < 2 and not any(
                len(choice.terms) > 1 for choice in active
            )
            hosts: dict[int, dict[int, Terms]] = defaultdict(lambda: defaultdict(list))
            pools: dict[int, Terms] = defaultdict(list)
            for choice in active:
                for shape in choice.terms:
                    if not alone:  # one job by itself keeps to the room it was given
                        self._host_terms(choice, shape, point, hosts)
                    self._pool_terms(choice, shape, point, pools)
                self._terms_once(choice, hosts, pools)
            for index, by_host in hosts.items():
                free = self.base.free(index, point)
                for host, terms in by_host.items():
                    self._at_most(terms, float(free[host]))
            for index, terms in pools.items():
                self._at_most(terms, self.base.free_in_pool(index, point))

    def _at_most(self, terms: Terms, free: float) -> None:
        if not np.isfinite(free):
            return
        scale = scale_of(weight for _, weight, _ in terms)
        limit = down(free, scale)
        weights = [up(weight, scale) for _, weight, _ in terms]
        most = sum(w * largest for w, (_, _, largest) in zip(weights, terms, strict=True))
        if most > limit:
            variables = [variable for variable, _, _ in terms]
            self.model.add(cp_model.LinearExpr.weighted_sum(variables, weights) <= limit)

    def _host_terms(
        self,
        choice: _Choice,
        shape: TermShape,
        point: int,
        hosts: dict[int, dict[int, Terms]],
    ) -> None:
        excl = shape.term.unit is not None and shape.term.unit.excl
        for use in shape.term.alternatives[choice.number].host_uses:
            held = use.reservation.planned_at(point - choice.time)
            if held == 0 or (use.once and len(choice.terms) > 1):
                continue
            by_host = hosts[use.index]
            if use.index == SLOTS and excl:
                self._block_units(shape, by_host)
                continue
            for host, used in shape.used.items():
                if use.per is Per.SLOT:
                    by_host[host] += _slot_terms(shape, host, held)
                elif use.per is Per.WHOLE:
                    capacity = self.base.table.host_resources[use.index].capacity[host]
                    by_host[host].append((used, float(capacity), 1))
                elif use.per is Per.JOB:
                    if host in shape.first:
                        by_host[host].append((shape.first[host], held, 1))
                else:
                    by_host[host].append((used, held, 1))

    def _block_units(self, shape: TermShape, by_host: dict[int, Terms]) -> None:
        """cu[excl] takes every host of its units whole (PLC-11)."""
        unit = shape.term.unit
        assert unit is not None
        capacity = self.base.table.host_resources[SLOTS].capacity
        for host, number in enumerate(unit.unit_of):
            if int(number) in shape.unit:
                weight = float(capacity[host])
                by_host[host].append((shape.unit[int(number)], weight, 1))

    def _pool_terms(
        self,
        choice: _Choice,
        shape: TermShape,
        point: int,
        pools: dict[int, Terms],
    ) -> None:
        for use in shape.term.alternatives[choice.number].pool_uses:
            held = use.reservation.planned_at(point - choice.time)
            mask = self.base.table.pools[use.index].mask
            inside = [host for host in shape.used if mask[host]]
            if held == 0 or not inside or (use.once and len(choice.terms) > 1):
                continue
            if use.per is Per.SLOT:
                if len(inside) == len(shape.used) and shape.term.largest == shape.term.slots:
                    pools[use.index].append((choice.chosen, held * shape.term.slots, 1))
                else:
                    for host in inside:
                        pools[use.index] += _slot_terms(shape, host, held)
            elif use.per is Per.HOST:
                pools[use.index] += [(shape.used[host], held, 1) for host in inside]
            else:
                pools[use.index].append((self._any([shape.used[h] for h in inside]), held, 1))

    def _terms_once(
        self, choice: _Choice, hosts: dict[int, dict[int, Terms]], pools: dict[int, Terms]
    ) -> None:
        """What counts a job once although several of its terms use it."""
        if len(choice.terms) < 2:
            return
        on_hosts: dict[tuple[int, int], list[Literal]] = defaultdict(list)
        in_pools: dict[int, list[Literal]] = defaultdict(list)
        for shape in choice.terms:
            alternative = shape.term.alternatives[choice.number]
            for use in (use for use in alternative.host_uses if use.once):
                for host, used in shape.used.items():
                    on_hosts[use.index, host].append(used)
            for use in (use for use in alternative.pool_uses if use.once):
                mask = self.base.table.pools[use.index].mask
                in_pools[use.index] += [used for host, used in shape.used.items() if mask[host]]
        for (index, host), literals in on_hosts.items():
            # Job slots are here for an exclusive job, which has its hosts whole.
            capacity = self.base.table.host_resources[SLOTS].capacity[host]
            weight = float(capacity) if index == SLOTS else 1.0
            hosts[index][host].append((self._any(literals), weight, 1))
        for index, literals in in_pools.items():
            if literals:
                pools[index].append((self._any(literals), 1.0, 1))

    def _any(self, literals: list[Literal]) -> Literal:
        found = self.model.new_bool_var("")
        self.model.add_max_equality(found, literals)
        return found

    # --- hint ---------------------------------------------------------------------------------

    def _hint(self, known: Mapping[str, Start]) -> None:
        for choices in self.choices:
            for choice in choices:
                start = known.get(choice.demand.job.id)
                if start is None:
                    continue
                for shape, allocation in zip(choice.terms, start.terms, strict=True):
                    for host, used in shape.used.items():
                        self.model.add_hint(used, host in allocation)


def _runs_at(choice: _Choice, point: int) -> bool:
    duration = choice.demand.duration
    return choice.time <= point and (duration is None or point < choice.time + duration)


def _slot_terms(shape: TermShape, host: int, held: float) -> Terms:
    return [(shape.slot_variable(host), held, shape.most[host])]
