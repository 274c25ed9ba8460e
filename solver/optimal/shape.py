"""What one term may look like, as constraints over hosts: span, same, first host, compute units.

Time does not come into it: the same constraints serve the model with fixed starts
(:mod:`.joint_placement`) and the one with starts as variables (:mod:`.interval_model`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ortools.sat.python import cp_model

from ..availability.arrays import Allocation, BoolArray, IntArray
from ..availability.demand import TermDemand, UnitDemand

Literal = cp_model.IntVar


class Part(NamedTuple):
    """Slots on a host as a variable times a weight; most: the largest value of the variable."""

    variable: cp_model.IntVar
    weight: int
    most: int


@dataclass(slots=True)
class TermShape:
    """Variables of one term under one alternative, present if `chosen`.

    slots: slots on each candidate host, the sum of its parts; used: whether it is used; unit:
    whether a unit is used; most: the largest value of `slots`. first: whether it is the first
    host, only where a job takes something on its first host alone. blocks: blocks on each host,
    only under span[block].
    """

    model: cp_model.CpModel
    term: TermDemand
    chosen: Literal
    slots: dict[int, cp_model.LinearExprT] = field(default_factory=dict)
    parts: dict[int, list[Part]] = field(default_factory=dict)
    used: dict[int, Literal] = field(default_factory=dict)
    unit: dict[int, Literal] = field(default_factory=dict)
    most: dict[int, int] = field(default_factory=dict)
    first: dict[int, Literal] = field(default_factory=dict)
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
        """Add the variables and constraints of a term on `candidates`, at most `caps` on each.

        first: hosts with what the job takes on its first host alone, [H]; None if it does not.
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
        """One of the used hosts that are able is the first."""
        marked = self.term.first_hosts
        for host, used in self.used.items():
            if able[host] and (marked is None or marked[host]):
                self.first[host] = self.model.new_bool_var("")
                self.model.add_implication(self.first[host], used)
        self.model.add(sum(self.first.values()) == self.chosen)

    @property
    def takes_units(self) -> bool:
        """Whether the term takes every host of its units whole: cu[excl] (PLC-11)."""
        return self.term.unit is not None and self.term.unit.excl

    def unit_hosts(self) -> list[int]:
        """All hosts of the units that may be used, also those that are no candidates."""
        unit = self.term.unit
        assert unit is not None
        return [host for host, number in enumerate(unit.unit_of.tolist()) if number in self.unit]

    def unit_variable(self, host: int) -> Literal:
        """Whether the unit of a host is used."""
        assert self.term.unit is not None
        return self.unit[int(self.term.unit.unit_of[host])]

    def slot_variable(self, host: int) -> cp_model.IntVar:
        """The slots of a host as one variable (made on first need)."""
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
        """Whole tiles on all hosts but one at the most, which takes the remainder."""
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
        if remainder:
            self.model.add(sum(rests) == self.chosen)
        elif rests:
            self.model.add_at_most_one(rests)
        self._total()

    def _in_blocks(self, block: int, caps: IntArray) -> None:
        """Whole blocks, as many as there is room for, and on one host at most a smaller one."""
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
        if remainder:
            self.model.add(sum(rests) == self.chosen)
        elif rests:
            self.model.add_at_most_one(rests)
        self._total()

    def _fill(self, host: int, parts: list[Part], most: int) -> None:
        """The slots of a host: at most `most`, which may be less than its parts together."""
        self.parts[host] = parts
        self.slots[host] = _sum(parts)
        self.most[host] = most

    def _rest(self, present: Literal, most: int, known: int | None) -> Part:
        """Slots of the host with the remainder: known where all tiles are equal."""
        if known is not None:
            return Part(present, known, 1)
        amount = self.model.new_int_var(0, most, "")
        self.model.add(amount >= 1).only_enforce_if(present)
        self.model.add(amount == 0).only_enforce_if(~present)
        return Part(amount, 1, most)

    def _total(self) -> None:
        """The slots asked for, or a number of the range."""
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

    # --- compute units ------------------------------------------------------------------------

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
        """The placement that the solver found, in the order in which hosts are tried.

        Units are kept together; a first execution host comes first.
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
    """The parts together; a variable alone stays one."""
    if len(parts) == 1 and parts[0].weight == 1:
        return parts[0].variable
    return sum(part.weight * part.variable for part in parts)
