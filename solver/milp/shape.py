"""One term of a job on its candidate hosts, as linear constraints: span, same, units, first host.

Every constraint is scaled by `chosen`, the binary of the option that the term belongs to: where it
is 0, all variables of the term are 0.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import count
from typing import TypeAlias

import pulp

from ..availability.arrays import Allocation, IntArray
from ..availability.demand import TermDemand, UnitDemand

Expression: TypeAlias = pulp.LpAffineExpression
Variable: TypeAlias = pulp.LpVariable


class Program:
    """A PuLP problem with variables that name themselves; minimises nothing until told."""

    def __init__(self) -> None:
        self.problem = pulp.LpProblem("slotwise", pulp.LpMinimize)
        self.problem += 0, "objective"
        self._numbers = count()

    def binary(self) -> Variable:
        """A new 0/1 variable."""
        return self.integer(0, 1)

    def integer(self, low: int, high: int) -> Variable:
        """A new integer variable over [low, high]."""
        name = f"v{next(self._numbers)}"
        return self.problem.add_variable(name, low, high, pulp.LpInteger)

    def real(self, low: float, high: float) -> Variable:
        """A new variable over [low, high] that need not be whole."""
        return self.problem.add_variable(f"v{next(self._numbers)}", low, high, pulp.LpContinuous)

    def add(self, constraint: pulp.LpConstraint) -> None:
        """Add a constraint."""
        self.problem.addConstraint(constraint)


def total(parts: list[tuple[Variable, float]]) -> Expression:
    """A weighted sum; weights of a variable that occurs twice add up."""
    weights: dict[Variable, float] = defaultdict(float)
    for variable, weight in parts:
        weights[variable] += weight
    return pulp.LpAffineExpression(list(weights.items()))


@dataclass(slots=True)
class TermVariables:
    """Variables of one term: what it holds on each host, as parts (variable, weight) of a sum.

    used: whether a host is used. blocks: blocks on each, only under span[block].
    first: whether it is the first of the term, only where that matters.
    unit: whether a compute unit is used.
    """

    program: Program
    term: TermDemand
    chosen: Variable
    slots: dict[int, list[tuple[Variable, float]]] = field(default_factory=dict)
    used: dict[int, list[tuple[Variable, float]]] = field(default_factory=dict)
    blocks: dict[int, list[tuple[Variable, float]]] = field(default_factory=dict)
    first: dict[int, Variable] = field(default_factory=dict)
    unit: dict[int, Variable] = field(default_factory=dict)

    def place(self, caps: IntArray, hosts: list[int]) -> None:
        """Add the variables on `hosts`, each of which can hold `caps` slots (more than 0)."""
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
        """One of the used hosts that are `allowed` is the first."""
        for host, parts in self.used.items():
            if host in allowed:
                self.first[host] = self.program.binary()
                self.program.add(total([(self.first[host], 1), *_minus(parts)]) <= 0)
        named = [(variable, 1.0) for variable in self.first.values()]
        self.program.add(total([*named, (self.chosen, -1)]) == 0)

    # --- span ---------------------------------------------------------------------------------

    def _on_one(self, caps: IntArray, hosts: list[int]) -> None:
        for host in hosts:
            if caps[host] >= self.term.slots:
                here = self.program.binary()
                self.used[host] = [(here, 1)]
                self.slots[host] = [(here, self.term.slots)]

    def _in_tiles(self, ptile: IntArray, caps: IntArray, hosts: list[int]) -> None:
        """A full tile on every host, fewer slots on one at most."""
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
                rest = self.program.integer(0, most)
                self.program.add(rest >= least)
                self.program.add(rest <= most * least)
                self.used[host].append((least, 1))
                self.slots[host].append((rest, 1))
                short.append((least, 1))
        if short:
            self.program.add(total([*short, (self.chosen, -1)]) <= 0)

    def _in_blocks(self, block: int, caps: IntArray, hosts: list[int]) -> None:
        """Blocks on every host, on one at most a smaller one beside them or alone."""
        short: list[tuple[Variable, float]] = []
        for host in hosts:
            cap = min(int(caps[host]), self.term.largest)
            here, whole = self.program.binary(), self.program.integer(0, cap // block)
            least, rest = self.program.binary(), self.program.integer(0, min(cap, block - 1))
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
            here, held = self.program.binary(), self.program.integer(0, most)
            self.program.add(held >= here)
            self.program.add(held <= most * here)
            self.used[host] = [(here, 1)]
            self.slots[host] = [(held, 1)]

    # --- hosts that go together -----------------------------------------------------------------

    def _agree(self) -> None:
        """All hosts carry one label of one of the arrays of same[]."""
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
        """So many slots in each unit that is used, but for one."""
        spared: list[tuple[Variable, float]] = []
        for number, hosts in sorted(members.items()):
            spare = self.program.binary()
            spared.append((spare, 1))
            parts = [part for host in hosts for part in self.slots[host]]
            asked = [(self.unit[number], -float(least)), (spare, float(least))]
            self.program.add(total([*parts, *asked]) >= 0)
        self.program.add(total(spared) <= 1)

    def _balanced(self, members: dict[int, list[int]]) -> None:
        """Slots of the used units, their hosts under a ptile, or blocks, differ by one at most."""
        counted = self.blocks or (self.slots if self.term.ptile is None else self.used)
        most = self.term.slots
        low = self.program.integer(0, most)
        for number, hosts in sorted(members.items()):
            here = self.unit[number]
            parts = [part for host in hosts for part in counted[host]]
            self.program.add(total([*parts, (low, -1), (here, -most)]) >= -most)
            self.program.add(total([*parts, (low, -1), (here, most)]) <= most + 1)

    # --- reading ------------------------------------------------------------------------------

    def allocation(self) -> Allocation:
        """What the solution holds, hosts in the order in which they are tried, the first one first.

        Units are kept together.
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
