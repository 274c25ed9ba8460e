"""Jobs that choose among options: a start and a rusage alternative, each with its own placement.

What a job holds never rises after its start, so what all of them hold together peaks at starts:
each host resource and each pool needs one inequality at every start among the options, and at every
instant at which an advance reservation takes something away.

One term of a job on its candidate hosts, as linear constraints: span, same, units, first host.
Every constraint is scaled by `chosen`, the binary of the option that the term belongs to: where it
is 0, all variables of the term are 0.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from itertools import count
from typing import Any, Literal, TypeAlias

import numpy as np
import pulp

from ...model.errors import SlotwiseError, missing_package
from ..availability.demand import Availability, Demand, TermDemand, UnitDemand, runs_at
from ..availability.profile import SLACK
from ..availability.resources import SLOTS, Allocation, Alternative, IntArray, Per, Use
from ..budget import Budget
from ..optimal.first_fit import SECONDS, TermsTogether
from ..placement.earliest import Start
from ..precedence import After, Event, Known, Several

#: Branch-and-bound nodes for each unit of a deterministic effort.
NODES_PER_EFFORT = 200

Solver = Literal["HiGHS", "CBC"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a solver run: OPTIMAL, FEASIBLE, INFEASIBLE or UNKNOWN."""

    status: str
    #: Objective of the solution left in the variables, None without one.
    value: float | None = None
    #: Lower bound of all solutions, None if the solver gives none.
    bound: float | None = None


def default_solver() -> Solver:
    """Return HiGHS if highspy can be imported, else the CBC that comes with PuLP."""
    return "HiGHS" if find_spec("highspy") is not None else "CBC"


def solve(
    problem: pulp.LpProblem, budget: Budget, *, seconds: float, solver: Solver | None = None
) -> Outcome:
    """Minimise within the smaller of the budget and `seconds` (wall), in one thread.

    Under a deterministic effort the number of nodes is limited instead of the time. PuLP calls a
    run that a limit ended "Optimal" all the same: what counts is the status of the solution.
    """
    limit = None
    nodes = None
    if budget.effort is None:
        limit = max(0.05, min(seconds, budget.left()))
    else:
        nodes = max(1, int(NODES_PER_EFFORT * min(budget.effort_left(), 1e6)))
    if (solver or default_solver()) == "HiGHS":
        return _highs(problem, budget, limit, nodes)
    return _cbc(problem, limit, nodes)


def _cbc(problem: pulp.LpProblem, limit: float | None, nodes: int | None) -> Outcome:
    command = pulp.PULP_CBC_CMD(msg=False, timeLimit=limit, maxNodes=nodes, threads=1, gapRel=0)
    if not command.available():
        raise SlotwiseError(missing_package("a solver", "integer programs", "highs"))
    problem.solve(command)
    if problem.sol_status == pulp.LpSolutionOptimal:
        value = float(pulp.value(problem.objective) or 0.0)
        return Outcome("OPTIMAL", value, value)
    if problem.sol_status == pulp.LpSolutionIntegerFeasible:
        return Outcome("FEASIBLE", float(pulp.value(problem.objective) or 0.0))
    infeasible = problem.status == pulp.LpStatusInfeasible
    return Outcome("INFEASIBLE" if infeasible else "UNKNOWN")


def _highs(
    problem: pulp.LpProblem, budget: Budget, limit: float | None, nodes: int | None
) -> Outcome:
    """Return a HiGHS model built by PuLP and run here, because PuLP cannot stop HiGHS or read its
    bound.
    """
    import highspy

    options: dict[str, Any] = {"mip_rel_gap": 0.0, "mip_abs_gap": 1e-6}
    if nodes is not None:
        options["mip_max_nodes"] = nodes
    command = pulp.HiGHS(msg=False, threads=1, timeLimit=limit, **options)
    command.createAndConfigureSolver(problem)
    command.buildSolverModel(problem)
    highs = problem.solverModel
    _until_cancelled(highs, budget)
    status = highs.getModelStatus()
    info = highs.getInfo()
    kinds = highspy.HighsModelStatus
    if status in (kinds.kInfeasible, kinds.kUnboundedOrInfeasible):
        return Outcome("INFEASIBLE")
    bound = float(info.mip_dual_bound)
    # 2 is highspy's kSolutionStatusFeasible.
    if info.primal_solution_status != 2:
        return Outcome("UNKNOWN", bound=bound)
    values = list(highs.getSolution().col_value)
    for variable in problem.variables():
        variable.varValue = values[variable.index]
    value = float(info.objective_function_value)
    if status == kinds.kOptimal:
        return Outcome("OPTIMAL", value, value)
    return Outcome("FEASIBLE", value, bound)


def _until_cancelled(highs: Any, budget: Budget) -> None:
    """Run the solver in a thread, so that Ctrl-C reaches Python; the solver stops at its next
    check.
    """

    def stop(event: Any) -> None:
        event.interrupt(budget.cancel.is_set())

    highs.cbMipInterrupt.subscribe(stop)
    thread = threading.Thread(target=highs.run, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(0.02)
    except KeyboardInterrupt:
        budget.cancel.set()
        thread.join()


Expression: TypeAlias = pulp.LpAffineExpression
Variable: TypeAlias = pulp.LpVariable


class Program:
    """A PuLP problem that names its own variables; the objective is empty until one is set."""

    def __init__(self) -> None:
        self.problem = pulp.LpProblem("slotwise", pulp.LpMinimize)
        self.problem += 0, "objective"
        self._numbers = count()

    def binary(self) -> Variable:
        """Return a new 0/1 variable."""
        return self.integer(1)

    def integer(self, high: int) -> Variable:
        """Return a new integer variable over [0, high]."""
        return self.problem.add_variable(f"v{next(self._numbers)}", 0, high, pulp.LpInteger)

    def real(self, low: float, high: float) -> Variable:
        """Return a new real variable over [low, high]."""
        return self.problem.add_variable(f"v{next(self._numbers)}", low, high, pulp.LpContinuous)

    def add(self, constraint: pulp.LpConstraint) -> None:
        """Add a constraint."""
        self.problem.addConstraint(constraint)


def total(parts: list[tuple[Variable, float]]) -> Expression:
    """Return a weighted sum; weights of a variable that occurs twice are added."""
    weights: dict[Variable, float] = defaultdict(float)
    for variable, weight in parts:
        weights[variable] += weight
    return pulp.LpAffineExpression(list(weights.items()))


@dataclass(slots=True)
class TermVariables:
    """The variables of one term: its slots on each host, as parts (variable, weight) of a sum."""

    program: Program
    term: TermDemand
    chosen: Variable
    slots: dict[int, list[tuple[Variable, float]]] = field(default_factory=dict)
    #: Whether each host is used, by host.
    used: dict[int, list[tuple[Variable, float]]] = field(default_factory=dict)
    #: Number of blocks on each host, only under span[block].
    blocks: dict[int, list[tuple[Variable, float]]] = field(default_factory=dict)
    #: Whether each host is the first of the term, only if the first host matters.
    first: dict[int, Variable] = field(default_factory=dict)
    #: Whether each compute unit is used.
    unit: dict[int, Variable] = field(default_factory=dict)

    def place(self, caps: IntArray, hosts: list[int]) -> None:
        """Add the variables on `hosts`, each host with at most `caps` slots (more than 0)."""
        if self.term.one_host:
            self._on_one(caps, hosts)
        elif self.term.ptile is not None:
            self._in_tiles(self.term.ptile, caps, hosts)
        elif self.term.block > 1:
            self._in_blocks(self.term.block, caps, hosts)
        else:
            self._anywhere(caps, hosts)
        everything = [part for parts in self.slots.values() for part in parts]
        least, most = self.term.slots, self.term.largest
        if least == most:
            self.program.add(total([*everything, (self.chosen, -least)]) == 0)
        else:
            self.program.add(total([*everything, (self.chosen, -least)]) >= 0)
            self.program.add(total([*everything, (self.chosen, -most)]) <= 0)
        for parts in self.used.values():
            self.program.add(total([*parts, (self.chosen, -1)]) <= 0)
        self._agree()
        if self.term.unit is not None:
            self._units(self.term.unit)

    def name_first(self, allowed: set[int]) -> None:
        """Require that exactly one used host of the `allowed` ones is the first."""
        for host, parts in self.used.items():
            if host in allowed:
                self.first[host] = self.program.binary()
                self.program.add(total([(self.first[host], 1), *_minus(parts)]) <= 0)
        named = [(variable, 1.0) for variable in self.first.values()]
        self.program.add(total([*named, (self.chosen, -1)]) == 0)

    def _on_one(self, caps: IntArray, hosts: list[int]) -> None:
        for host in hosts:
            if caps[host] >= self.term.slots:
                here = self.program.binary()
                self.used[host] = [(here, 1)]
                self.slots[host] = [(here, self.term.slots)]

    def _in_tiles(self, ptile: IntArray, caps: IntArray, hosts: list[int]) -> None:
        """Require a full tile on every used host except at most one host with fewer slots."""
        short: list[tuple[Variable, float]] = []
        for host in hosts:
            tile, cap = int(ptile[host]), int(caps[host])
            self.used[host], self.slots[host] = [], []
            if cap >= tile:
                full = self.program.binary()
                self.used[host].append((full, 1))
                self.slots[host].append((full, tile))
            if tile > 1:
                least, most = self.program.binary(), min(cap, tile - 1)
                rest = self.program.integer(most)
                self.program.add(rest >= least)
                self.program.add(rest <= most * least)
                self.used[host].append((least, 1))
                self.slots[host].append((rest, 1))
                short.append((least, 1))
        if short:
            self.program.add(total([*short, (self.chosen, -1)]) <= 0)

    def _in_blocks(self, block: int, caps: IntArray, hosts: list[int]) -> None:
        """Require full blocks on every host, and a smaller block on at most one host."""
        short: list[tuple[Variable, float]] = []
        for host in hosts:
            cap = min(int(caps[host]), self.term.largest)
            here, whole = self.program.binary(), self.program.integer(cap // block)
            least, rest = self.program.binary(), self.program.integer(min(cap, block - 1))
            self.program.add(rest >= least)
            self.program.add(rest <= (block - 1) * least)
            self.program.add(total([(whole, block), (rest, 1), (here, -cap)]) <= 0)
            self.program.add(total([(whole, 1), (least, 1), (here, -1)]) >= 0)
            self.used[host] = [(here, 1)]
            self.slots[host] = [(whole, block), (rest, 1)]
            self.blocks[host] = [(whole, 1), (least, 1)]
            short.append((least, 1))
        self.program.add(total([*short, (self.chosen, -1)]) <= 0)

    def _anywhere(self, caps: IntArray, hosts: list[int]) -> None:
        for host in hosts:
            most = min(int(caps[host]), self.term.largest)
            here, held = self.program.binary(), self.program.integer(most)
            self.program.add(held >= here)
            self.program.add(held <= most * here)
            self.used[host] = [(here, 1)]
            self.slots[host] = [(held, 1)]

    def _agree(self) -> None:
        """Require that all used hosts have one label in one of the arrays of same[]."""
        if not self.term.same:
            return
        labels: dict[tuple[int, int], Variable] = {}
        for host, parts in self.used.items():
            own: list[tuple[Variable, float]] = []
            for number, array in enumerate(self.term.same):
                key = (number, int(array[host]))
                if key[1] >= 0:
                    if key not in labels:
                        labels[key] = self.program.binary()
                    own.append((labels[key], -1))
            self.program.add(total([*parts, *own]) <= 0)
        agreed = [(variable, 1.0) for variable in labels.values()]
        self.program.add(total([*agreed, (self.chosen, -1)]) == 0)

    def _units(self, unit: UnitDemand) -> None:
        members: dict[int, list[int]] = defaultdict(list)
        for host in self.used:
            members[int(unit.unit_of[host])].append(host)
        for number, hosts in sorted(members.items()):
            here = self.unit[number] = self.program.binary()
            parts = [part for host in hosts for part in self.used[host]]
            self.program.add(total([(here, 1), *_minus(parts)]) <= 0)
            for host in hosts:
                self.program.add(total([*self.used[host], (here, -1)]) <= 0)
        if unit.maxcus is not None:
            units = [(variable, 1.0) for variable in self.unit.values()]
            self.program.add(total(units) <= unit.maxcus)
        if unit.usablecuslots is not None:
            self._usable(members, unit.usablecuslots)
        if unit.balance:
            self._balanced(members)

    def _usable(self, members: dict[int, list[int]], least: int) -> None:
        """Require this many slots in each used compute unit, except one."""
        spared: list[tuple[Variable, float]] = []
        for number, hosts in sorted(members.items()):
            spare = self.program.binary()
            spared.append((spare, 1))
            parts = [part for host in hosts for part in self.slots[host]]
            asked = [(self.unit[number], -float(least)), (spare, float(least))]
            self.program.add(total([*parts, *asked]) >= 0)
        self.program.add(total(spared) <= 1)

    def _balanced(self, members: dict[int, list[int]]) -> None:
        """Require that the slots of used units (hosts under a ptile, or blocks) differ by at most
        one.
        """
        counted = self.blocks or (self.slots if self.term.ptile is None else self.used)
        most = self.term.slots
        low = self.program.integer(most)
        for number, hosts in sorted(members.items()):
            here = self.unit[number]
            parts = [part for host in hosts for part in counted[host]]
            self.program.add(total([*parts, (low, -1), (here, -most)]) >= -most)
            self.program.add(total([*parts, (low, -1), (here, most)]) <= most + 1)

    def allocation(self) -> Allocation:
        """Return the allocation in the solution, hosts in candidate order, the first host first.

        Hosts of one compute unit are kept together.
        """
        unit = self.term.unit
        rank = {int(host): position for position, host in enumerate(self.term.candidates)}
        held = {host: _value(parts) for host, parts in self.slots.items()}
        first = {host for host, variable in self.first.items() if variable.varValue > 0.5}

        def place(host: int) -> tuple[bool, int, int]:
            return host not in first, 0 if unit is None else int(unit.unit_of[host]), rank[host]

        return {host: held[host] for host in sorted(held, key=place) if held[host]}


def _minus(parts: list[tuple[Variable, float]]) -> list[tuple[Variable, float]]:
    return [(variable, -weight) for variable, weight in parts]


def _value(parts: list[tuple[Variable, float]]) -> int:
    held: int = round(sum(weight * variable.varValue for variable, weight in parts))
    return held


#: (job, variable, amount per unit, largest value of the variable)
Parts = list[tuple[str, Variable, float, int]]
#: Variables and their weights in a sum.
Weighted = list[tuple[Variable, float]]


@dataclass(slots=True)
class Option:
    """One possible start of a job; `chosen` is its variable."""

    demand: Demand
    time: int
    number: int
    chosen: Variable
    terms: list[TermVariables]

    def runs_at(self, point: int) -> bool:
        """Whether the job would use resources at `point`."""
        return runs_at(self.demand, self.time, point)


def alternatives(demand: Demand) -> list[int]:
    """Return the rusage alternatives that the cluster can satisfy."""
    return [
        number
        for number in range(len(demand.terms[0].alternatives) if demand.terms else 0)
        if all(
            number < len(term.alternatives) and not term.alternatives[number].missing
            for term in demand.terms
        )
    ]


class PlacementModel:
    """A model of all jobs of `starts`, each at one of its candidate instants, given running
    jobs.
    """

    def __init__(
        self,
        base: Availability,
        starts: Sequence[tuple[Demand, Sequence[int]]],
        *,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """Build the model. check: called for each job; an exception from it ends the building."""
        self.base = base
        self.program = Program()
        self.options: dict[str, list[Option]] = {}
        for demand, times in starts:
            check()
            found = [
                option
                for time in times
                for number in alternatives(demand)
                if (option := self._option(demand, time, number)) is not None
            ]
            self.options[demand.job.id] = found
        self.infeasible = not all(self.options.values())
        if self.options and not self.infeasible:
            for found in self.options.values():
                self.program.add(total([(option.chosen, 1) for option in found]) == 1)
            self._capacities()
            for demand, _ in starts:
                if demand.after is not None:
                    self._wait(demand.after, self.options[demand.job.id])

    def _wait(self, event: Event, options: Sequence[Option]) -> None:
        """Forbid the options of a job at which its dependency condition is not satisfied yet."""
        for time in sorted({option.time for option in options}):
            here = [(option.chosen, 1.0) for option in options if option.time == time]
            held = self._held(event, time)
            if held is not True:
                self.program.add(total([*here, *((v, -w) for v, w in held or ())]) <= 0)

    def _held(self, event: Event, time: int) -> Weighted | bool:
        """Return a sum that is 1 if a condition holds at `time` and 0 otherwise, or a bool if this
        is fixed.

        What a job that may start at several instants has reached by then is the sum of those of its
        options that are early enough.
        """
        match event:
            case Known(known):
                return known is not None and known <= time
            case After(job, _, lag):
                early = [o.chosen for o in self.options.get(job, ()) if o.time + lag <= time]
                return [(chosen, 1.0) for chosen in early] or False
            case Several(parts, count):
                sums = [self._held(part, time) for part in parts]
                least = count - sum(item is True for item in sums)
                open_still = [item for item in sums if not isinstance(item, bool)]
                if least <= 0 or len(open_still) < least:
                    return least <= 0
                # 1 at most where as many of the parts are.
                reached = self.program.binary()
                parts_of = [pair for item in open_still for pair in item]
                self.program.add(
                    total([(reached, float(least)), *((v, -w) for v, w in parts_of)]) <= 0
                )
                return [(reached, 1.0)]

    def minimise(self, costs: Mapping[str, Mapping[int, float]]) -> None:
        """Minimise the sum of the jobs' costs by their start."""
        self.program.problem.setObjective(
            total(
                [
                    (option.chosen, costs[job][option.time])
                    for job, options in self.options.items()
                    for option in options
                ]
            )
        )

    def minimise_largest(
        self, costs: Mapping[str, Mapping[int, float]], *, whole: bool = True
    ) -> None:
        """Minimise the largest of the jobs' costs; whole: they are whole numbers."""
        most = max((cost for own in costs.values() for cost in own.values()), default=0.0)
        top = int(np.ceil(most))
        largest = self.program.integer(top) if whole else self.program.real(0, top)
        for job, options in self.options.items():
            own = [(option.chosen, -costs[job][option.time]) for option in options]
            self.program.add(total([(largest, 1), *own]) >= 0)
        self.program.problem.setObjective(total([(largest, 1)]))

    def keep(self, value: float) -> None:
        """Require that no solution is worse than `value` in the present objective from now on.

        But for the solvers' own tolerance: the caller compares what comes of it.
        """
        slack = 1e-6 + 1e-12 * abs(value)
        self.program.add(self.program.problem.objective <= value + slack)

    def solve(self, budget: Budget, *, seconds: float) -> tuple[Outcome, dict[str, Start]]:
        """Return the outcome, and a start for every job if there is a solution."""
        if self.infeasible:
            return Outcome("INFEASIBLE"), {}
        if not self.options:
            return Outcome("OPTIMAL", 0.0, 0.0), {}
        outcome = solve(self.program.problem, budget, seconds=seconds)
        if outcome.value is None:
            return outcome, {}
        found: dict[str, Start] = {}
        for job, options in self.options.items():
            taken = max(options, key=lambda option: float(option.chosen.varValue))
            terms = tuple(variables.allocation() for variables in taken.terms)
            found[job] = Start(taken.time, terms, taken.number)
        return outcome, found

    def _option(self, demand: Demand, time: int, number: int) -> Option | None:
        """Return the option with its variables, or None if one term alone has too few slots."""
        if not self.base.open_for(demand, time):
            return None
        capacities = []
        for term in demand.terms:
            capacity = self.base.capacity(demand, term, _spread(term.alternatives[number]), time)
            hosts = [int(host) for host in term.candidates if capacity.caps[host] > 0]
            if capacity.idle is not None and term.unit is not None:
                busy = {int(owner) for owner in term.unit.unit_of[~capacity.idle]}
                hosts = [host for host in hosts if int(term.unit.unit_of[host]) not in busy]
            if sum(int(capacity.caps[host]) for host in hosts) < term.slots:
                return None
            capacities.append((term, capacity.caps, hosts))
        option = Option(demand, time, number, self.program.binary(), [])
        for term, caps, hosts in capacities:
            variables = TermVariables(self.program, term, option.chosen)
            variables.place(caps, hosts)
            self._first(term, number, variables, time)
            option.terms.append(variables)
        if demand.exclusive and len(option.terms) > 1:
            self._share_hosts(option.terms)
        return option

    def _share_hosts(self, terms: list[TermVariables]) -> None:
        """Require that the terms of an exclusive job share the slots of its hosts."""
        for host, capacity in enumerate(self.base.table.host_resources[SLOTS].capacity):
            parts = [part for variables in terms for part in variables.slots.get(host, ())]
            if parts:
                self.program.add(total(parts) <= int(capacity))

    def _first(self, term: TermDemand, number: int, variables: TermVariables, time: int) -> None:
        """Choose the first host, which matters for -m host! and for amounts taken on the first host
        only.
        """
        once = [use for use in term.alternatives[number].host_uses if use.per is Per.JOB]
        if term.first_hosts is None and not once:
            return
        allowed = set(variables.used)
        if term.first_hosts is not None:
            allowed = {host for host in allowed if term.first_hosts[host]}
        for use in once:
            free = self.base.free(use.index, time)
            allowed = {h for h in allowed if free[h] + SLACK >= use.reservation.initial}
        variables.name_first(allowed)

    def _capacities(self) -> None:
        everything = [option for options in self.options.values() for option in options]
        points = {option.time for option in everything}
        points.update(time for time in self.base.later_starts if time >= min(points))
        for point in sorted(points):
            active = [option for option in everything if option.runs_at(point)]
            hosts: dict[tuple[int, int], Parts] = defaultdict(list)
            pools: dict[int, Parts] = defaultdict(list)
            for option in active:
                for variables in option.terms:
                    for use in variables.term.alternatives[option.number].host_uses:
                        self._on_hosts(option, variables, use, point, hosts)
                    for use in variables.term.alternatives[option.number].pool_uses:
                        self._in_pool(option, variables, use, point, pools)
                self._once(option, hosts, pools)
            for (index, host), parts in sorted(hosts.items()):
                self._at_most(parts, float(self.base.free(index, point)[host]))
            for index, parts in sorted(pools.items()):
                self._at_most(parts, self.base.free_in_pool(index, point))

    def _at_most(self, parts: Parts, free: float) -> None:
        """Require that the parts together do not exceed the free amount, unless the constraint
        cannot bind.
        """
        if not np.isfinite(free):
            return
        worst: dict[str, float] = defaultdict(float)
        for job, _, amount, most in parts:
            worst[job] += amount * most
        if sum(worst.values()) > free + SLACK:
            held = total([(variable, amount) for _, variable, amount, _ in parts])
            self.program.add(held <= max(0.0, free) + SLACK)

    def _on_hosts(
        self,
        option: Option,
        variables: TermVariables,
        use: Use,
        point: int,
        hosts: dict[tuple[int, int], Parts],
    ) -> None:
        amount = use.reservation.planned_at(point - option.time)
        if amount <= 0 or (use.once and len(option.terms) > 1):
            return
        job, unit = option.demand.job.id, variables.term.unit
        capacity = self.base.table.host_resources[use.index].capacity
        if use.index in self.base.table.slot_indices and unit is not None and unit.excl:
            for host, number in enumerate(unit.unit_of):
                if int(number) in variables.unit:
                    whole = (job, variables.unit[int(number)], float(capacity[host]), 1)
                    hosts[use.index, host].append(whole)
            return
        for host in variables.used:
            here = hosts[use.index, host]
            if use.per is Per.JOB:
                if host in variables.first:
                    here.append((job, variables.first[host], amount, 1))
            elif use.per is Per.SLOT:
                here += _parts(job, variables.slots[host], amount)
            else:
                times = float(capacity[host]) if use.per is Per.WHOLE else amount
                here += _parts(job, variables.used[host], times)

    def _in_pool(
        self,
        option: Option,
        variables: TermVariables,
        use: Use,
        point: int,
        pools: dict[int, Parts],
    ) -> None:
        amount = use.reservation.planned_at(point - option.time)
        mask = self.base.table.pools[use.index].mask
        inside = [host for host in variables.used if mask[host]]
        if amount <= 0 or not inside or (use.once and len(option.terms) > 1):
            return
        job, here = option.demand.job.id, pools[use.index]
        if use.per in (Per.SLOT, Per.HOST):
            counted = variables.slots if use.per is Per.SLOT else variables.used
            for host in inside:
                here += _parts(job, counted[host], amount)
            return
        touched = self._touched([variables.used[host] for host in inside])
        here.append((job, touched, amount, 1))

    def _once(
        self, option: Option, hosts: dict[tuple[int, int], Parts], pools: dict[int, Parts]
    ) -> None:
        """Add limits that count a job once, on a host or in total, for any of its terms."""
        if len(option.terms) < 2:
            return
        on_hosts: dict[tuple[int, int], list[Weighted]] = defaultdict(list)
        in_pools: dict[int, list[Weighted]] = defaultdict(list)
        for variables in option.terms:
            alternative = variables.term.alternatives[option.number]
            for use in alternative.host_uses:
                for host in variables.used if use.once else ():
                    on_hosts[use.index, host].append(variables.used[host])
            for use in alternative.pool_uses:
                mask = self.base.table.pools[use.index].mask
                inside = [host for host in variables.used if use.once and mask[host]]
                in_pools[use.index] += [variables.used[host] for host in inside]
        job = option.demand.job.id
        for key, used in on_hosts.items():
            # Job slots are here for an exclusive job, which has its hosts whole.
            capacity = self.base.table.host_resources[SLOTS].capacity[key[1]]
            amount = float(capacity) if key[0] in self.base.table.slot_indices else 1.0
            hosts[key].append((job, self._touched(used), amount, 1))
        for index, used in in_pools.items():
            if used:
                pools[index].append((job, self._touched(used), 1, 1))

    def _touched(self, used: list[Weighted]) -> Variable:
        """Return a variable that is one if any of the hosts is used."""
        touched = self.program.binary()
        for host in used:
            self.program.add(total([*host, (touched, -1)]) <= 0)
        return touched


def _parts(job: str, parts: list[tuple[Variable, float]], amount: float) -> Parts:
    return [(job, variable, weight * amount, int(variable.upBound)) for variable, weight in parts]


def _spread(alternative: Alternative) -> Alternative:
    """Return the alternative without the amounts of the first host, which no other host needs."""
    uses = tuple(use for use in alternative.host_uses if use.per is not Per.JOB)
    return replace(alternative, host_uses=uses)


class TermsByProgram(TermsTogether):
    """A placer of the terms of a job that shares no model with the CP-SAT methods."""

    def jointly(
        self, availability: Availability, starts: Sequence[tuple[Demand, int]]
    ) -> tuple[str, dict[str, Start]]:
        """Place jobs at fixed starts in the available resources: return FEASIBLE and the starts, or
        another status.
        """
        model = PlacementModel(availability, [(demand, [time]) for demand, time in starts])
        outcome, placed = model.solve(self.budget, seconds=SECONDS)
        return ("FEASIBLE", placed) if placed else (outcome.status, {})
