"""CP-SAT model of several jobs at fixed starts: allocations of all jobs together.

With fixed starts, the model needs Booleans and counts only, no time variables and no intervals.
Shared capacity is checked at the instants at which something starts.

Constraints of one term over hosts: span, same, first execution host, compute units. They do not
depend on time, so they serve fixed starts (JointPlacement) and variable starts
(:mod:`.interval_model`).

Rows of a model for capacity that jobs at fixed starts share. Usage can peak only at a start, so
each host resource needs one inequality per start. Most hosts have enough for all jobs that may use
them; only other hosts get a row.

Rows for JOB_ACCEPT_INTERVAL between jobs at fixed starts (TBR-16). A host accepts no job until the
interval of that job's queue has passed since the previous acceptance. Among jobs that start in the
same second, a job whose queue has an interval is accepted before a job whose queue has none.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from ortools.sat.python import cp_model

from ..availability.demand import Availability, Demand, TermDemand, UnitDemand, runs_at
from ..availability.profile import SLACK
from ..availability.resources import SLOTS, Allocation, BoolArray, FloatArray, IntArray, Per, Use
from ..budget import Budget
from ..placement.earliest import Start
from .backends import run

#: Largest factor by which amounts (MB and others) are multiplied to become integers for CP-SAT.
FINEST = 1_000_000
#: Decimal digits that are kept when a scaled amount is rounded; further digits are rounding errors.
NOISE = 3


def scale_of(amounts: Iterable[float]) -> int:
    """Return the smallest power of a thousand, up to FINEST, that makes all amounts integers."""
    left = list(amounts)
    for scale in (1, 1000):
        if all(abs(amount * scale - round(amount * scale)) < 1e-7 for amount in left):
            return scale
    return FINEST


def up(amount: float, scale: int) -> int:
    """Return a demand in integer units, rounded up so that it is never too small."""
    return int(np.ceil(round(amount * scale, NOISE)))


def down(amount: float, scale: int) -> int:
    """Return a capacity in integer units; it exceeds the capacity by at most SLACK."""
    return int(np.floor((amount + SLACK) * scale))


def amounts_of(demands: Iterable[Demand]) -> set[float]:
    """Return all amounts that jobs reserve at any time under any alternative."""
    return {
        use.reservation.planned_at(time)
        for demand in demands
        for term in demand.terms
        for alternative in term.alternatives
        for use in (*alternative.host_uses, *alternative.pool_uses)
        for time in (0, *use.reservation.drops())
    }


Literal = cp_model.IntVar


class Part(NamedTuple):
    """Part of the slots on a host: a variable times a weight."""

    variable: cp_model.IntVar
    weight: int
    #: Maximum value of the variable.
    most: int


@dataclass(slots=True)
class TermShape:
    """Variables of one term under one rusage alternative; all are 0 unless `chosen` is true."""

    model: cp_model.CpModel
    term: TermDemand
    chosen: Literal
    #: Slots on each candidate host: the weighted sum of its parts.
    slots: dict[int, cp_model.LinearExprT] = field(default_factory=dict)
    #: Parts of the slots on each candidate host.
    parts: dict[int, list[Part]] = field(default_factory=dict)
    #: Whether the term uses a host, by host index.
    used: dict[int, Literal] = field(default_factory=dict)
    #: Whether the term uses a compute unit, by number of the unit.
    unit: dict[int, Literal] = field(default_factory=dict)
    #: Maximum of `slots`, by host index.
    most: dict[int, int] = field(default_factory=dict)
    #: Whether a host is the first execution host, by host index; empty unless the job reserves
    #: something on its first host only.
    first: dict[int, Literal] = field(default_factory=dict)
    #: Number of blocks, by host index; empty without span[block].
    blocks: dict[int, cp_model.LinearExprT] = field(default_factory=dict)

    @classmethod
    def build(
        cls,
        model: cp_model.CpModel,
        term: TermDemand,
        caps: IntArray,
        candidates: Iterable[int],
        chosen: Literal,
        first: BoolArray | None = None,
    ) -> TermShape:
        """Add the variables and constraints of a term on `candidates`, with at most `caps` slots on
        each.

        first: hosts with enough of the resources that the job takes on its first host only, [H];
        None if there are no such resources.
        """
        shape = cls(model, term, chosen)
        for host in candidates:
            shape.used[host] = model.new_bool_var("")
            model.add_implication(shape.used[host], chosen)
        if term.one_host:
            shape._one_host(caps)
        elif term.ptile is not None:
            shape._ptile(term.ptile, caps)
        elif term.block > 1:
            shape._in_blocks(term.block, caps)
        else:
            shape._free_span(caps)
        shape._same()
        shape._units()
        if term.first_hosts is not None:
            firsts = [used for host, used in shape.used.items() if term.first_hosts[host]]
            model.add_bool_or(firsts).only_enforce_if(chosen)
        if first is not None:
            shape._first(first)
        return shape

    def _first(self, able: BoolArray) -> None:
        """Require that exactly one used host is the first, among the hosts that may be the
        first.
        """
        marked = self.term.first_hosts
        for host, used in self.used.items():
            if able[host] and (marked is None or marked[host]):
                self.first[host] = self.model.new_bool_var("")
                self.model.add_implication(self.first[host], used)
        self.model.add(sum(self.first.values()) == self.chosen)

    @property
    def takes_units(self) -> bool:
        """Return whether the term allocates all hosts of its units completely: cu[excl]
        (PLC-11).
        """
        return self.term.unit is not None and self.term.unit.excl

    def unit_hosts(self) -> list[int]:
        """Return all hosts of the units that may be used, including hosts that are no
        candidates.
        """
        unit = self.term.unit
        assert unit is not None
        return [host for host, number in enumerate(unit.unit_of.tolist()) if number in self.unit]

    def unit_variable(self, host: int) -> Literal:
        """Return the variable that is true if the unit of a host is used."""
        assert self.term.unit is not None
        return self.unit[int(self.term.unit.unit_of[host])]

    def slot_variable(self, host: int) -> cp_model.IntVar:
        """Return the slots of a host as one variable, which is created at the first call."""
        expression = self.slots[host]
        if isinstance(expression, cp_model.IntVar):
            return expression
        variable = self.model.new_int_var(0, self.most[host], "")
        self.model.add(variable == expression)
        self.slots[host] = variable
        return variable

    def _one_host(self, caps: IntArray) -> None:
        slots = self.term.slots
        for host in [host for host in self.used if caps[host] < slots]:
            self.model.add(self.used.pop(host) == 0)
        for host, used in self.used.items():
            self._fill(host, [Part(used, slots, 1)], slots)
        self.model.add(sum(self.used.values()) == self.chosen)

    def _ptile(self, ptile: IntArray, caps: IntArray) -> None:
        """Require full tiles on all hosts except at most one, which receives the remainder."""
        slots = self.term.largest
        tiles = {int(ptile[host]) for host in self.used}
        known = len(tiles) == 1 and slots == self.term.slots
        remainder = slots % tiles.pop() if known else None
        rests: list[Literal] = []
        for host, used in self.used.items():
            tile, cap = int(ptile[host]), int(caps[host])
            present: list[Literal] = []
            parts: list[Part] = []
            if cap >= tile:
                present.append(self.model.new_bool_var(""))
                parts.append(Part(present[-1], tile, 1))
            if cap >= (remainder or 1) and tile > 1 and remainder != 0:
                present.append(self.model.new_bool_var(""))
                rests.append(present[-1])
                parts.append(self._rest(present[-1], min(tile - 1, cap, slots), remainder))
            self.model.add(sum(present) == used)
            self._fill(host, parts, min(tile, cap, slots))
        self._end_blocks(rests, remainder)

    def _in_blocks(self, block: int, caps: IntArray) -> None:
        """Require whole blocks on each host, and a smaller block on at most one host."""
        slots = self.term.largest
        remainder = slots % block if slots == self.term.slots else None
        rests: list[Literal] = []
        for host, used in self.used.items():
            cap = min(int(caps[host]), slots)
            whole = self.model.new_int_var(0, cap // block, "")
            parts = [Part(whole, block, cap // block)]
            self.blocks[host] = whole
            if remainder != 0 and cap >= (remainder or 1):
                rests.append(self.model.new_bool_var(""))
                parts.append(self._rest(rests[-1], min(block - 1, cap), remainder))
                self.blocks[host] = whole + rests[-1]
                self.model.add(_sum(parts) <= cap)
            self.model.add(self.blocks[host] >= used)
            self.model.add(self.blocks[host] <= (cap // block + 1) * used)
            self._fill(host, parts, cap)
        self._end_blocks(rests, remainder)

    def _end_blocks(self, rests: list[Literal], remainder: int | None) -> None:
        """Require the smaller block, if there must be one, on one host; else on at most one."""
        if remainder:
            self.model.add(sum(rests) == self.chosen)
        elif rests:
            self.model.add_at_most_one(rests)
        self._total()

    def _fill(self, host: int, parts: list[Part], most: int) -> None:
        """Set the slots of a host, at most `most`, which may be less than the sum of the maxima
        of its parts.
        """
        self.parts[host] = parts
        self.slots[host] = _sum(parts)
        self.most[host] = most

    def _rest(self, present: Literal, most: int, known: int | None) -> Part:
        """Return the slots of the host with the remainder; `known` if all tiles are equal, else
        None.
        """
        if known is not None:
            return Part(present, known, 1)
        amount = self.model.new_int_var(0, most, "")
        self.model.add(amount >= 1).only_enforce_if(present)
        self.model.add(amount == 0).only_enforce_if(~present)
        return Part(amount, 1, most)

    def _total(self) -> None:
        """Require the requested number of slots, or a number within the requested range."""
        least, most = self.term.slots, self.term.largest
        total = sum(self.slots.values())
        if least == most:
            self.model.add(total == least * self.chosen)
        else:
            self.model.add(total >= least * self.chosen)
            self.model.add(total <= most * self.chosen)

    def _free_span(self, caps: IntArray) -> None:
        slots = self.term.largest
        for host, used in self.used.items():
            most = min(int(caps[host]), slots)
            amount = self.model.new_int_var(0, most, "")
            self.model.add(amount <= most * used)
            self.model.add(amount >= used)
            self._fill(host, [Part(amount, 1, most)], most)
        self._total()

    def _same(self) -> None:
        if not self.term.same:
            return
        agrees: dict[tuple[int, int], Literal] = {}
        by_host: dict[int, list[Literal]] = defaultdict(list)
        for number, labels in enumerate(self.term.same):
            for host in self.used:
                label = int(labels[host])
                if label >= 0:
                    key = (number, label)
                    if key not in agrees:
                        agrees[key] = self.model.new_bool_var("")
                    by_host[host].append(agrees[key])
        self.model.add(sum(agrees.values()) == self.chosen)
        for host, used in self.used.items():
            self.model.add(used <= sum(by_host[host]))

    def _units(self) -> None:
        unit = self.term.unit
        if unit is None:
            return
        members: dict[int, list[int]] = defaultdict(list)
        for host in self.used:
            members[int(unit.unit_of[host])].append(host)
        for number, hosts in sorted(members.items()):
            literal = self.model.new_bool_var("")
            self.model.add_max_equality(literal, [self.used[host] for host in hosts])
            self.unit[number] = literal
        if unit.maxcus is not None:
            self.model.add(sum(self.unit.values()) <= unit.maxcus)
        slots = {c: sum(self.slots[h] for h in hosts) for c, hosts in members.items()}
        if unit.usablecuslots is not None:
            self._usable(unit, slots)
        if unit.balance:
            self._balance(members, slots)

    def _usable(
        self,
        unit: UnitDemand,
        slots: Mapping[int, cp_model.LinearExprT],
    ) -> None:
        exempt = {number: self.model.new_bool_var("") for number in self.unit}
        self.model.add_at_most_one(exempt.values())
        least = unit.usablecuslots or 0
        for number, used in self.unit.items():
            self.model.add(slots[number] >= least * used - least * exempt[number])

    def _balance(
        self,
        members: Mapping[int, list[int]],
        slots: Mapping[int, cp_model.LinearExprT],
    ) -> None:
        term = self.term
        by_hosts = term.ptile is not None and int(term.ptile.max()) > 1
        counted = self.used if by_hosts else self.blocks
        low = self.model.new_int_var(0, term.slots, "")
        for number, used in self.unit.items():
            amount = sum(counted[host] for host in members[number]) if counted else slots[number]
            self.model.add(amount >= low).only_enforce_if(used)
            self.model.add(amount <= low + 1).only_enforce_if(used)
        self.model.add(low >= self.chosen)

    def allocation(self, solver: cp_model.CpSolver) -> Allocation:
        """Return the allocation that the solver found, with hosts in placement order.

        Hosts of one compute unit are adjacent. A first execution host comes first.
        """
        term = self.term
        rank = {int(host): position for position, host in enumerate(term.candidates)}
        hosts = [host for host, used in self.used.items() if solver.boolean_value(used)]

        def key(host: int) -> tuple[int, int]:
            return int(term.unit.unit_of[host]) if term.unit is not None else 0, rank[host]

        ordered = sorted(hosts, key=key)
        first = next((h for h, named in self.first.items() if solver.boolean_value(named)), None)
        if term.first_hosts is not None and first is None:
            first = next((host for host in ordered if term.first_hosts[host]), first)
        if first is not None:
            ordered = [first, *(host for host in ordered if host != first)]
        return {host: int(solver.value(self.slots[host])) for host in ordered}


def _sum(parts: list[Part]) -> cp_model.LinearExprT:
    """Return the weighted sum of the parts; the variable itself if there is one part of weight
    1.
    """
    if len(parts) == 1 and parts[0].weight == 1:
        return parts[0].variable
    return sum(part.weight * part.variable for part in parts)


#: Terms of a row: variable, weight, maximum value of the variable.
Terms = list[tuple[cp_model.IntVar, float, int]]
#: Relative margin of the test whether a host needs a row: rounding may add a superfluous row, but
#: never omit a necessary one.
MARGIN = 1e-3


@dataclass(slots=True, eq=False)
class PlacedChoice:
    """One rusage alternative of one job at a start (seconds), present if `chosen`."""

    demand: Demand
    #: Start in seconds.
    time: int
    #: Index of the rusage alternative.
    number: int
    chosen: Literal
    terms: list[TermShape]

    def runs_at(self, point: int) -> bool:
        """Whether the job, started as chosen, runs at an instant."""
        return runs_at(self.demand, self.time, point)

    def held(self, shape: TermShape, point: int) -> Iterable[tuple[Use, float]]:
        """Yield the amounts that a term takes on hosts at an instant, for each of its uses."""
        for use in shape.term.alternatives[self.number].host_uses:
            amount = use.reservation.planned_at(point - self.time)
            if amount and not (use.once and len(self.terms) > 1):
                yield use, amount


@dataclass(frozen=True, slots=True)
class SharedCapacity:
    """Rows of a model that limit the shared capacity of hosts and pools."""

    model: cp_model.CpModel
    base: Availability
    choices: Sequence[PlacedChoice]
    #: Choices of which at least one takes part in each added row; empty: rows of all choices.
    new: Collection[PlacedChoice] = ()

    def add(self, points: Iterable[int]) -> None:
        """Add the rows of these instants."""
        for point in points:
            active = [choice for choice in self.choices if choice.runs_at(point)]
            jobs = {choice.demand.job.id for choice in active}
            # A single job without terms stays within the capacity that its variables were built
            # for.
            alone = len(jobs) < 2 and not any(len(choice.terms) > 1 for choice in active)
            if not alone:
                self._add_host_rows(active, point)
            self._add_pool_rows(active, point)

    def _is_new(self, choice: PlacedChoice) -> bool:
        return not self.new or choice in self.new

    def _add_host_rows(self, active: list[PlacedChoice], point: int) -> None:
        tight = self._tight(active, point)
        rows: dict[int, dict[int, Terms]] = {index: defaultdict(list) for index in tight}
        for choice in active:
            for shape in choice.terms:
                for use, amount in choice.held(shape, point):
                    if use.index in tight:
                        self._host_terms(shape, use, amount, tight[use.index], rows[use.index])
        for (index, host), term in self._once_on_hosts(active):
            rows.setdefault(index, defaultdict(list))[host].append(term)
        for index, by_host in rows.items():
            free = self.base.free(index, point)
            for host, terms in by_host.items():
                self._at_most(terms, float(free[host]))

    def _tight(self, active: list[PlacedChoice], point: int) -> dict[int, BoolArray]:
        """Return, by host resource, the hosts whose jobs could exceed the free amount, [H]
        booleans.

        If a resource counts once per host for a job with several terms, all its hosts are included.
        """
        most: dict[int, FloatArray] = defaultdict(lambda: np.zeros(self.base.hosts))
        touched: dict[int, BoolArray] = defaultdict(lambda: np.zeros(self.base.hosts, dtype=bool))
        whole = set()
        for choice in active:
            for shape in choice.terms:
                for use, amount in choice.held(shape, point):
                    hosts, amounts = self._largest(shape, use, amount)
                    np.add.at(most[use.index], hosts, amounts)
                    if self._is_new(choice):
                        touched[use.index][hosts] = True
                if len(choice.terms) > 1:
                    for use in shape.term.alternatives[choice.number].host_uses:
                        whole.add(use.index)
                        touched[use.index][list(shape.used)] |= self._is_new(choice)
        found = {
            index: hosts & ((index in whole) | (most[index] > self._free(index, point)))
            for index, hosts in touched.items()
        }
        return {index: hosts for index, hosts in found.items() if hosts.any()}

    def _free(self, index: int, point: int) -> FloatArray:
        free = self.base.free(index, point)
        # An unlimited amount is infinite and must stay infinite.
        return free - MARGIN * (1 + np.where(np.isfinite(free), abs(free), 0))

    def _largest(
        self, shape: TermShape, use: Use, amount: float
    ) -> tuple[np.ndarray, FloatArray | float]:
        """Return the hosts on which a term may reserve a resource, and the maximum amount on
        each.
        """
        capacity = self.base.table.host_resources[use.index].capacity
        if use.index in self.base.table.slot_indices and shape.takes_units:
            hosts = np.fromiter(shape.unit_hosts(), np.int64)
            return hosts, capacity[hosts]
        hosts = np.fromiter(shape.used, np.int64, len(shape.used))
        if use.per is Per.SLOT:
            return hosts, amount * np.fromiter((shape.most[h] for h in shape.used), float)
        return hosts, capacity[hosts] if use.per is Per.WHOLE else np.full(len(hosts), amount)

    def _host_terms(
        self,
        shape: TermShape,
        use: Use,
        amount: float,
        tight: BoolArray,
        rows: dict[int, Terms],
    ) -> None:
        capacity = self.base.table.host_resources[use.index].capacity
        if use.index in self.base.table.slot_indices and shape.takes_units:
            # cu[excl] allocates whole units (PLC-11).
            for host in shape.unit_hosts():
                if tight[host]:
                    rows[host].append((shape.unit_variable(host), float(capacity[host]), 1))
            return
        for host, used in shape.used.items():
            if not tight[host]:
                continue
            if use.per is Per.SLOT:
                rows[host] += _weighed(shape.parts[host], amount)
            elif use.per is Per.WHOLE:
                rows[host].append((used, float(capacity[host]), 1))
            elif use.per is not Per.JOB:
                rows[host].append((used, amount, 1))
            elif host in shape.first:
                rows[host].append((shape.first[host], amount, 1))

    def _once_on_hosts(
        self, active: list[PlacedChoice]
    ) -> list[tuple[tuple[int, int], tuple[Literal, float, int]]]:
        """Return amounts that count once per job and host, even if several terms of the job use
        the host.
        """
        found = []
        for choice in active:
            if len(choice.terms) < 2:
                continue
            literals: dict[tuple[int, int], list[Literal]] = defaultdict(list)
            for shape in choice.terms:
                for use in shape.term.alternatives[choice.number].host_uses:
                    if use.once:
                        for host, used in shape.used.items():
                            literals[use.index, host].append(used)
            for (index, host), uses in literals.items():
                # A use of job slots that counts once belongs to an exclusive job, which has whole
                # hosts.
                capacity = self.base.table.host_resources[SLOTS].capacity
                whole = index in self.base.table.slot_indices
                weight = float(capacity[host]) if whole else 1.0
                found.append(((index, host), (self._any(uses), weight, 1)))
        return found

    def _add_pool_rows(self, active: list[PlacedChoice], point: int) -> None:
        rows: dict[int, Terms] = defaultdict(list)
        touched: set[int] = set()
        for choice in active:
            for shape in choice.terms:
                uses = shape.term.alternatives[choice.number].pool_uses
                if self._is_new(choice):
                    touched |= {use.index for use in uses}
                for use in uses:
                    self._pool_terms(choice, shape, use, point, rows)
            self._once_in_pools(choice, rows)
        for index in touched & set(rows):
            self._at_most(rows[index], self.base.free_in_pool(index, point))

    def _pool_terms(
        self, choice: PlacedChoice, shape: TermShape, use: Use, point: int, rows: dict[int, Terms]
    ) -> None:
        held = use.reservation.planned_at(point - choice.time)
        mask = self.base.table.pools[use.index].mask
        inside = [host for host in shape.used if mask[host]]
        if held == 0 or not inside or (use.once and len(choice.terms) > 1):
            return
        if use.per is Per.SLOT:
            if len(inside) == len(shape.used) and shape.term.largest == shape.term.slots:
                rows[use.index].append((choice.chosen, held * shape.term.slots, 1))
            else:
                for host in inside:
                    rows[use.index] += _weighed(shape.parts[host], held)
        elif use.per is Per.HOST:
            rows[use.index] += [(shape.used[host], held, 1) for host in inside]
        else:
            rows[use.index].append((self._any([shape.used[h] for h in inside]), held, 1))

    def _once_in_pools(self, choice: PlacedChoice, rows: dict[int, Terms]) -> None:
        """Add amounts that count once per job in a pool, even if several terms of the job use
        the pool.
        """
        if len(choice.terms) < 2:
            return
        literals: dict[int, list[Literal]] = defaultdict(list)
        for shape in choice.terms:
            for use in shape.term.alternatives[choice.number].pool_uses:
                if use.once:
                    mask = self.base.table.pools[use.index].mask
                    literals[use.index] += [used for h, used in shape.used.items() if mask[h]]
        for index, uses in literals.items():
            if uses:
                rows[index].append((self._any(uses), 1.0, 1))

    def _at_most(self, terms: Terms, free: float) -> None:
        if not np.isfinite(free):
            return
        scale = scale_of({weight for _, weight, _ in terms})
        limit = down(free, scale)
        weights = [up(weight, scale) for _, weight, _ in terms]
        most = sum(w * largest for w, (_, _, largest) in zip(weights, terms, strict=True))
        if most > limit:
            variables = [variable for variable, _, _ in terms]
            self.model.add(cp_model.LinearExpr.weighted_sum(variables, weights) <= limit)

    def _any(self, literals: list[Literal]) -> Literal:
        found = self.model.new_bool_var("")
        self.model.add_max_equality(found, literals)
        return found


def _weighed(parts: Iterable[Part], amount: float) -> Terms:
    return [(part.variable, amount * part.weight, part.most) for part in parts]


def keep_apart(
    model: cp_model.CpModel, choices: Sequence[PlacedChoice], new: Sequence[PlacedChoice]
) -> None:
    """Forbid that two jobs share a host on which their starts are too close to each other.

    new: only pairs with one of these choices get a row.
    """
    intervals = {choice.demand.interval or 0 for choice in choices}
    if not any(intervals):
        return
    if len(intervals) == 1:
        _in_windows(model, choices, new, intervals.pop())
    else:
        for one in new:
            for other in choices:
                if one.demand is other.demand or not too_close(one, other):
                    continue
                own = _hosts(model, one)
                for host, used in _hosts(model, other).items():
                    if host in own:
                        model.add_bool_or([used.negated(), own[host].negated()])


def _in_windows(
    model: cp_model.CpModel,
    choices: Sequence[PlacedChoice],
    new: Sequence[PlacedChoice],
    interval: int,
) -> None:
    """Allow one job per host among all jobs that start within an interval, for one common
    interval.
    """
    times = {choice.time for choice in new}
    for last in sorted({choice.time for choice in choices}):
        if not any(last - interval < time <= last for time in times):
            continue
        together = [choice for choice in choices if last - interval < choice.time <= last]
        by_host: dict[int, list[Literal]] = defaultdict(list)
        for choice in together:
            for host, used in _hosts(model, choice).items():
                by_host[host].append(used)
        for literals in by_host.values():
            if len(literals) > 1:
                model.add_at_most_one(literals)


def too_close(one: PlacedChoice, other: PlacedChoice) -> bool:
    """Return whether two starts are too close to each other for one host."""
    first, second = sorted((one, other), key=lambda choice: choice.time)
    if first.time == second.time:
        return bool(first.demand.interval) and bool(second.demand.interval)
    return second.time < first.time + (second.demand.interval or 0)


def _hosts(model: cp_model.CpModel, choice: PlacedChoice) -> dict[int, Literal]:
    """Return literals, by host, that are true if the job is on the host under this choice."""
    if len(choice.terms) == 1:
        return choice.terms[0].used
    found: dict[int, Literal] = {}
    by_host: dict[int, list[Literal]] = defaultdict(list)
    for shape in choice.terms:
        for host, used in shape.used.items():
            by_host[host].append(used)
    for host, literals in by_host.items():
        if len(literals) == 1:
            found[host] = literals[0]
        else:
            found[host] = model.new_bool_var("")
            model.add_max_equality(found[host], literals)
    return found


class JointPlacement:
    """CP-SAT model of the allocations of several jobs with fixed starts."""

    def __init__(
        self,
        base: Availability,
        starts: Sequence[tuple[Demand, int]],
        *,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """Build the model.

        starts: each job with its start in seconds. check: called before each job; an exception from
        it ends the building.
        """
        self.base = base
        self.starts = list(starts)
        self.model = cp_model.CpModel()
        self.choices: list[list[PlacedChoice]] = []
        self.hopeless = False
        for demand, time in self.starts:
            check()
            self.choices.append(self._add_job([(demand, time)]))
        if not self.hopeless:
            SharedCapacity(self.model, base, self._every_choice()).add(self._points())
            keep_apart(self.model, self._every_choice(), self._every_choice())

    def beside(self, options: Sequence[tuple[Demand, int]]) -> JointPlacement:
        """Return a copy of the model with one more job; this model does not change.

        options: the job with each start that it may have (seconds), ascending; the first feasible
        one is the optimum of the copy.
        """
        twin = copy.copy(self)
        twin.model = self.model.clone()
        twin.starts, twin.choices = [*self.starts, *options], list(self.choices)
        twin.add(options)
        return twin

    def add(self, options: Sequence[tuple[Demand, int]]) -> None:
        """Add a job with these starts, and the rows in which it takes part."""
        added = self._add_job(options)
        self.choices.append(added)
        if self.hopeless:
            return
        points = [point for point in self._points() if any(c.runs_at(point) for c in added)]
        every = self._every_choice()
        SharedCapacity(self.model, self.base, every, set(added)).add(points)
        keep_apart(self.model, every, added)
        if len(options) > 1:
            rank = {time: number for number, (_, time) in enumerate(options)}
            self.model.minimize(sum(rank[choice.time] * choice.chosen for choice in added))

    @property
    def size(self) -> int:
        """Return the number of variables of the model."""
        return len(self.model.proto.variables)

    def _every_choice(self) -> list[PlacedChoice]:
        return [choice for choices in self.choices for choice in choices]

    def _points(self) -> list[int]:
        """Return the instants at which free amounts may fall: starts of these jobs and of
        reservations.
        """
        return sorted({*(time for _, time in self.starts), *self.base.later_starts})

    def solve(
        self,
        budget: Budget,
        *,
        seconds: float,
        effort: float,
        hint: Mapping[str, Start] | None = None,
    ) -> tuple[str, dict[str, Start]]:
        """Solve the model within the budget.

        Returns a status (FEASIBLE, INFEASIBLE or UNKNOWN; OPTIMAL if the last job has several
        options and none before its start is feasible) and, if feasible, a start for every job by
        id.
        """
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
        return status if self.model.has_objective() else "FEASIBLE", found

    def _add_job(self, options: Sequence[tuple[Demand, int]]) -> list[PlacedChoice]:
        choices = []
        for demand, time in options:
            for number in range(len(demand.terms[0].alternatives) if demand.terms else 0):
                if any(
                    number >= len(term.alternatives) or term.alternatives[number].missing
                    for term in demand.terms
                ):
                    continue
                chosen = self.model.new_bool_var(f"{demand.job.id}#{number}")
                terms = [
                    self._add_term(demand, term, time, number, chosen) for term in demand.terms
                ]
                choices.append(PlacedChoice(demand, time, number, chosen, terms))
                if demand.exclusive and len(terms) > 1:
                    self._share_hosts(terms)
        if not choices:
            self.hopeless = True
        else:
            self.model.add_exactly_one([choice.chosen for choice in choices])
        return choices

    def _share_hosts(self, terms: list[TermShape]) -> None:
        """Limit the slots of all terms of an exclusive job to the slots of their common hosts."""
        for host, capacity in enumerate(self.base.table.host_resources[SLOTS].capacity):
            parts = [shape.slots[host] for shape in terms if host in shape.used]
            if len(parts) > 1:
                self.model.add(sum(parts) <= int(capacity))

    def _add_term(
        self, demand: Demand, term: TermDemand, time: int, number: int, chosen: cp_model.IntVar
    ) -> TermShape:
        capacity = self.base.capacity(demand, term, term.alternatives[number], time)
        candidates = term.candidates[capacity.caps[term.candidates] > 0].tolist()
        if capacity.idle is not None and term.unit is not None:
            busy = {int(unit) for unit in np.unique(term.unit.unit_of[~capacity.idle])}
            candidates = [h for h in candidates if int(term.unit.unit_of[h]) not in busy]
        return TermShape.build(self.model, term, capacity.caps, candidates, chosen, capacity.first)

    def _hint(self, known: Mapping[str, Start]) -> None:
        for choices in self.choices:
            for choice in choices:
                start = known.get(choice.demand.job.id)
                if start is None:
                    continue
                for shape, allocation in zip(choice.terms, start.terms, strict=True):
                    for host, used in shape.used.items():
                        self.model.add_hint(used, host in allocation)
