"""Placing several jobs at once with their starts fixed: pure Booleans and counts, no time variable.

With every start fixed, the question whether all jobs can be placed beside each other and beside
what runs is one CP-SAT model without intervals (`shared capacity at checkpoints`): usage peaks only
at starts, so each host resource needs one inequality per start of a job in the group.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from ortools.sat.python import cp_model

from ..demand import Allocation, Demand, Per, TermDemand, UnitDemand, Use
from ..earliest import Start
from ..profile import SLACK, Profile
from ..resources import SLOTS
from .budget import Budget
from .cpsat import run

#: Amounts (MB and such) are scaled to integers; demands are rounded up, capacities down.
SCALE = 1000

Literal = cp_model.IntVar
#: Variable, weight, largest value of the variable.
Terms = list[tuple[cp_model.IntVar, int, int]]


@dataclass(slots=True)
class _TermVariables:
    """Variables of one term under one alternative: slots and use of each host, use of each unit."""

    term: TermDemand
    slots: dict[int, cp_model.LinearExprT] = field(default_factory=dict)
    used: dict[int, Literal] = field(default_factory=dict)
    unit: dict[int, Literal] = field(default_factory=dict)
    most: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Choice:
    """One rusage alternative of one job, present if `chosen`."""

    demand: Demand
    time: int
    number: int
    chosen: Literal
    terms: list[_TermVariables]


class JointPlacement:
    """The model for one set of jobs with fixed starts."""

    def __init__(self, base: Profile, starts: Sequence[tuple[Demand, int]]) -> None:
        self.base = base
        self.starts = list(starts)
        self.model = cp_model.CpModel()
        self.choices: list[list[_Choice]] = []
        self.hopeless = False
        for demand, time in self.starts:
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
        status, solver = run(self.model, budget, seconds=seconds, effort=effort, presolve=False)
        if status not in ("OPTIMAL", "FEASIBLE"):
            return status, {}
        found: dict[str, Start] = {}
        for choices in self.choices:
            choice = next(item for item in choices if solver.boolean_value(item.chosen))
            terms = tuple(_allocation(variables, solver) for variables in choice.terms)
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
        if not choices:
            self.hopeless = True
        else:
            self.model.add_exactly_one([choice.chosen for choice in choices])
        return choices

    def _add_term(
        self, demand: Demand, term: TermDemand, time: int, number: int, chosen: Literal
    ) -> _TermVariables:
        room = self.base.room(demand, term, term.alternatives[number], time)
        variables = _TermVariables(term)
        candidates = [int(host) for host in term.candidates if room.caps[host] > 0]
        if room.idle is not None and term.unit is not None:
            busy = {int(unit) for unit in np.unique(term.unit.unit_of[~room.idle])}
            candidates = [h for h in candidates if int(term.unit.unit_of[h]) not in busy]
        for host in candidates:
            variables.used[host] = self.model.new_bool_var("")
            self.model.add_implication(variables.used[host], chosen)
        if term.one_host:
            self._one_host(variables, room.caps, chosen)
        elif term.ptile is not None:
            self._ptile(variables, room.caps, chosen)
        else:
            self._free_span(variables, room.caps, chosen)
        self._same(variables, chosen)
        self._units(variables, chosen)
        if term.first_hosts is not None:
            firsts = [v for host, v in variables.used.items() if term.first_hosts[host]]
            self.model.add_bool_or(firsts).only_enforce_if(chosen)
        return variables

    def _one_host(self, variables: _TermVariables, caps: np.ndarray, chosen: Literal) -> None:
        slots = variables.term.slots
        for host in [host for host in variables.used if caps[host] < slots]:
            self.model.add(variables.used.pop(host) == 0)
        for host, used in variables.used.items():
            variables.slots[host] = slots * used
            variables.most[host] = slots
        self.model.add(sum(variables.used.values()) == chosen)

    def _ptile(self, variables: _TermVariables, caps: np.ndarray, chosen: Literal) -> None:
        term = variables.term
        assert term.ptile is not None
        full: list[cp_model.LinearExprT] = []
        rests: list[Literal] = []
        for host, used in variables.used.items():
            tile = int(term.ptile[host])
            parts: list[Literal] = []
            expression: cp_model.LinearExprT = 0
            if caps[host] >= tile:
                whole = self.model.new_bool_var("")
                parts.append(whole)
                expression = tile * whole
            most_rest = min(tile - 1, int(caps[host]), term.slots)
            if most_rest > 0:
                rest = self.model.new_bool_var("")
                amount = self.model.new_int_var(0, most_rest, "")
                self.model.add(amount >= 1).only_enforce_if(rest)
                self.model.add(amount == 0).only_enforce_if(~rest)
                parts.append(rest)
                rests.append(rest)
                expression = expression + amount
            self.model.add(sum(parts) == used)
            variables.slots[host] = expression
            variables.most[host] = tile if caps[host] >= tile else most_rest
            full.append(expression)
        if rests:
            self.model.add_at_most_one(rests)
        self.model.add(sum(full) == term.slots * chosen)

    def _free_span(self, variables: _TermVariables, caps: np.ndarray, chosen: Literal) -> None:
        slots = variables.term.slots
        for host, used in variables.used.items():
            most = min(int(caps[host]), slots)
            amount = self.model.new_int_var(0, most, "")
            self.model.add(amount <= most * used)
            self.model.add(amount >= used)
            variables.slots[host] = amount
            variables.most[host] = most
        self.model.add(sum(variables.slots.values()) == slots * chosen)

    def _same(self, variables: _TermVariables, chosen: Literal) -> None:
        if not variables.term.same:
            return
        agrees: dict[tuple[int, int], Literal] = {}
        by_host: dict[int, list[Literal]] = defaultdict(list)
        for number, labels in enumerate(variables.term.same):
            for host in variables.used:
                label = int(labels[host])
                if label >= 0:
                    key = (number, label)
                    if key not in agrees:
                        agrees[key] = self.model.new_bool_var("")
                    by_host[host].append(agrees[key])
        self.model.add(sum(agrees.values()) == chosen)
        for host, used in variables.used.items():
            self.model.add(used <= sum(by_host[host]))

    # --- compute units ------------------------------------------------------------------------

    def _units(self, variables: _TermVariables, chosen: Literal) -> None:
        unit = variables.term.unit
        if unit is None:
            return
        members: dict[int, list[int]] = defaultdict(list)
        for host in variables.used:
            members[int(unit.unit_of[host])].append(host)
        for number, hosts in sorted(members.items()):
            literal = self.model.new_bool_var("")
            self.model.add_max_equality(literal, [variables.used[host] for host in hosts])
            variables.unit[number] = literal
        if unit.maxcus is not None:
            self.model.add(sum(variables.unit.values()) <= unit.maxcus)
        slots = {c: sum(variables.slots[h] for h in hosts) for c, hosts in members.items()}
        if unit.usablecuslots is not None:
            self._usable(variables, unit, slots)
        if unit.balance:
            self._balance(variables, members, slots, chosen)

    def _usable(
        self,
        variables: _TermVariables,
        unit: UnitDemand,
        slots: Mapping[int, cp_model.LinearExprT],
    ) -> None:
        exempt = {number: self.model.new_bool_var("") for number in variables.unit}
        self.model.add_at_most_one(exempt.values())
        least = unit.usablecuslots or 0
        for number, used in variables.unit.items():
            self.model.add(slots[number] >= least * used - least * exempt[number])

    def _balance(
        self,
        variables: _TermVariables,
        members: Mapping[int, list[int]],
        slots: Mapping[int, cp_model.LinearExprT],
        chosen: Literal,
    ) -> None:
        term = variables.term
        by_hosts = term.ptile is not None and int(term.ptile.max()) > 1
        low = self.model.new_int_var(0, term.slots, "")
        for number, used in variables.unit.items():
            amount = (
                sum(variables.used[host] for host in members[number]) if by_hosts else slots[number]
            )
            self.model.add(amount >= low).only_enforce_if(used)
            self.model.add(amount <= low + 1).only_enforce_if(used)
        self.model.add(low >= chosen)

    # --- capacities shared by the jobs ----------------------------------------------------------

    def _add_capacities(self) -> None:
        everything = [choice for choices in self.choices for choice in choices]
        for point in sorted({time for _, time in self.starts}):
            active = [choice for choice in everything if _runs_at(choice, point)]
            alone = len({choice.demand.job.id for choice in active}) < 2
            hosts: dict[int, dict[int, Terms]] = defaultdict(lambda: defaultdict(list))
            pools: dict[int, Terms] = defaultdict(list)
            for choice in active:
                for variables in choice.terms:
                    if not alone:  # one job by itself keeps to the room it was given
                        self._host_terms(choice, variables, point, hosts)
                    self._pool_terms(choice, variables, point, pools)
            for index, by_host in hosts.items():
                free = self.base.free(index, point)
                for host, terms in by_host.items():
                    self._at_most(terms, float(free[host]))
            for index, terms in pools.items():
                self._at_most(terms, self.base.free_in_pool(index, point))

    def _at_most(self, terms: Terms, free: float) -> None:
        limit = int(np.floor((free + SLACK) * SCALE)) if np.isfinite(free) else None
        if limit is None:
            return
        most = sum(weight * largest for _, weight, largest in terms)
        if most > limit:
            self.model.add(
                cp_model.LinearExpr.weighted_sum([v for v, _, _ in terms], [w for _, w, _ in terms])
                <= limit
            )

    def _host_terms(
        self,
        choice: _Choice,
        variables: _TermVariables,
        point: int,
        hosts: dict[int, dict[int, Terms]],
    ) -> None:
        excl = variables.term.unit is not None and variables.term.unit.excl
        for use in variables.term.alternatives[choice.number].host_uses:
            held = _scaled(use, point - choice.time)
            if held == 0:
                continue
            by_host = hosts[use.index]
            if use.index == SLOTS and excl:
                self._block_units(variables, by_host)
                continue
            for host, used in variables.used.items():
                if use.per is Per.SLOT:
                    by_host[host] += self._slot_terms(variables, host, held)
                elif use.per is Per.WHOLE:
                    capacity = self.base.table.host_resources[use.index].capacity[host]
                    by_host[host].append((used, int(capacity) * SCALE, 1))
                else:
                    by_host[host].append((used, held, 1))

    def _slot_terms(self, variables: _TermVariables, host: int, held: int) -> Terms:
        return [(self._slot_variable(variables, host), held, variables.most[host])]

    def _slot_variable(self, variables: _TermVariables, host: int) -> cp_model.IntVar:
        """The slots of a host as one variable (made on first need)."""
        expression = variables.slots[host]
        if isinstance(expression, cp_model.IntVar):
            return expression
        variable = self.model.new_int_var(0, variables.most[host], "")
        self.model.add(variable == expression)
        variables.slots[host] = variable
        return variable

    def _block_units(self, variables: _TermVariables, by_host: dict[int, Terms]) -> None:
        """cu[excl] takes every host of its units whole (PLC-11)."""
        unit = variables.term.unit
        assert unit is not None
        capacity = self.base.table.host_resources[SLOTS].capacity
        for host, number in enumerate(unit.unit_of):
            if int(number) in variables.unit:
                weight = int(capacity[host]) * SCALE
                by_host[host].append((variables.unit[int(number)], weight, 1))

    def _pool_terms(
        self,
        choice: _Choice,
        variables: _TermVariables,
        point: int,
        pools: dict[int, Terms],
    ) -> None:
        for use in variables.term.alternatives[choice.number].pool_uses:
            held = _scaled(use, point - choice.time)
            mask = self.base.table.pools[use.index].mask
            inside = [host for host in variables.used if mask[host]]
            if held == 0 or not inside:
                continue
            if use.per is Per.SLOT:
                if len(inside) == len(variables.used):
                    pools[use.index].append((choice.chosen, held * variables.term.slots, 1))
                else:
                    for host in inside:
                        pools[use.index] += self._slot_terms(variables, host, held)
            elif use.per is Per.HOST:
                pools[use.index] += [(variables.used[host], held, 1) for host in inside]
            else:
                touched = self.model.new_bool_var("")
                self.model.add_max_equality(touched, [variables.used[h] for h in inside])
                pools[use.index].append((touched, held, 1))

    # --- hint ---------------------------------------------------------------------------------

    def _hint(self, known: Mapping[str, Start]) -> None:
        for choices in self.choices:
            for choice in choices:
                start = known.get(choice.demand.job.id)
                if start is None:
                    continue
                for variables, allocation in zip(choice.terms, start.terms, strict=True):
                    for host, used in variables.used.items():
                        self.model.add_hint(used, host in allocation)


def _scaled(use: Use, elapsed: int) -> int:
    return int(np.ceil(use.reservation.planned_at(elapsed) * SCALE - SLACK))


def _runs_at(choice: _Choice, point: int) -> bool:
    duration = choice.demand.duration
    return choice.time <= point and (duration is None or point < choice.time + duration)


def _allocation(variables: _TermVariables, solver: cp_model.CpSolver) -> Allocation:
    """Slots by host in the order hosts are tried, units kept together, first host first."""
    term = variables.term
    rank = {int(host): position for position, host in enumerate(term.candidates)}
    hosts = [host for host, used in variables.used.items() if solver.boolean_value(used)]
    firsts = term.first_hosts

    def key(host: int) -> tuple[bool, int, int]:
        later = firsts is not None and not firsts[host]
        unit = int(term.unit.unit_of[host]) if term.unit is not None else 0
        return later, unit, rank[host]

    ordered = sorted(hosts, key=key)
    if firsts is not None and ordered:
        ordered = [ordered[0], *sorted(ordered[1:], key=lambda host: key(host)[1:])]
    return {host: int(solver.value(variables.slots[host])) for host in ordered}
