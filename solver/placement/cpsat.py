"""Placement by a CP-SAT model: every keyword and every group cap, in one method.

Placement as a CP-SAT model: every keyword and every group cap, in one method. Equivalent hosts for
the term (unit, block, groups, first execution host) form a class, and the model counts whole blocks
in each class, so its size depends on the number of kinds of hosts. It is used if group caps, or
blocks that differ from host to host, exceed the combinatorial method, and to check that one. One
worker: equal results on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..availability.demand import GroupCap, TermCapacity, UnitDemand
from ..availability.resources import Allocation, BoolArray, IntArray
from .choose import Rules, filled, gathered, unit_order
from .supply import Supply

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

    Expr = cp_model.LinearExpr | int


@dataclass(frozen=True, slots=True)
class BindingGroup:
    """A group cap over the rows of a supply."""

    rows: BoolArray
    #: Maximum number of slots on the rows, None if it cannot restrict.
    slots: int | None
    #: Maximum number of hosts of the rows, None if it cannot restrict.
    hosts: int | None


def binding(
    groups: Iterable[GroupCap], supply: Supply, slots: int
) -> tuple[BindingGroup, ...] | None:
    """Return the caps that may restrict a placement of `slots` slots; None if a cap excludes it.

    A cap over all hosts of the supply limits only the total, which is known, and with a uniform
    span the number of hosts.
    """
    bounds = []
    for group in groups:
        rows = group.mask[supply.hosts]
        covers = bool(rows.all())
        size = np.unique(supply.hosts[rows]).size if supply.several else np.count_nonzero(rows)
        most = min(slots, int(supply.caps[rows].sum()))
        cap = group.slots if group.slots is not None and group.slots < most else None
        hosts = group.hosts if group.hosts is not None and group.hosts < min(size, slots) else None
        if covers and cap is not None:
            return None
        if covers and hosts is not None and _counts_hosts(supply):
            if -(-slots // supply.block) > hosts:
                return None
            hosts = None
        if cap is not None or hosts is not None:
            bounds.append(BindingGroup(rows, cap, hosts))
    return tuple(bounds)


def _counts_hosts(supply: Supply) -> bool:
    """Return whether the number of slots determines the number of hosts."""
    return supply.blocks is not None and supply.uniform and not supply.several


def obeys(allocation: Allocation, supply: Supply, bounds: Iterable[BindingGroup]) -> bool:
    """Return whether an allocation obeys the caps."""
    slots = np.zeros(int(supply.hosts.max()) + 1, dtype=np.int64)
    slots[list(allocation)] = list(allocation.values())
    amounts = slots[supply.hosts]
    if supply.several:  # Each host once, at its first row.
        amounts[
            ~np.isin(np.arange(amounts.size), np.unique(supply.hosts, return_index=True)[1])
        ] = 0
    return all(
        (bound.slots is None or int(amounts[bound.rows].sum()) <= bound.slots)
        and (bound.hosts is None or np.count_nonzero(amounts[bound.rows]) <= bound.hosts)
        for bound in bounds
    )


def absorbed(supply: Supply, bounds: tuple[BindingGroup, ...]) -> Supply | None:
    """Return the supply with nested or disjoint slot caps included in the caps of hosts.

    This is exact if any number of slots may go to any host (no span, no units): filling hosts in
    order, each up to its groups' caps, then reaches the maximum. None if that does not hold (host
    caps, groups that overlap).
    """
    if supply.blocks is not None or any(bound.hosts is not None for bound in bounds):
        return None
    nested = sorted(bounds, key=lambda bound: np.count_nonzero(bound.rows))
    for index, inner in enumerate(nested):
        for outer in nested[index + 1 :]:
            common = inner.rows & outer.rows
            if common.any() and (common != inner.rows).any():
                return None
    if supply.first is not None and supply.first.any():
        row = int(np.flatnonzero(supply.first)[0])
        supply = supply.take(np.r_[row, np.delete(np.arange(supply.hosts.size), row)])
        nested = [_moved_first(bound, row) for bound in nested]
    caps = supply.caps.copy()
    for bound in nested:
        inside = caps[bound.rows]
        before = np.cumsum(inside) - inside
        caps[bound.rows] = np.clip((bound.slots or 0) - before, 0, inside)
    return supply.with_caps(caps)


def fewest_hosts_first(supply: Supply) -> Supply:
    """Return the supply with the largest hosts first (after a first execution host), for fewest
    hosts.
    """
    rows = np.argsort(-supply.caps, kind="stable")
    if supply.first is not None and supply.first.any():
        able = np.flatnonzero(supply.first)
        row = able[np.argmax(supply.caps[able])]
        rows = np.r_[row, rows[rows != row]]
    return supply.take(rows)


def _moved_first(bound: BindingGroup, row: int) -> BindingGroup:
    rows = np.r_[bound.rows[row], np.delete(bound.rows, row)]
    return BindingGroup(rows, bound.slots, bound.hosts)


#: Deterministic effort for preferring early hosts once a placement with the fewest units is known,
#: and the number of classes beyond which it is not spent.
ORDER_EFFORT = 0.2
ORDER_KINDS = 300
#: Number of units beyond which their order counts only within that effort.
MAX_ORDERED = 50


@dataclass(frozen=True, slots=True)
class HostKind:
    """Hosts of one class: rows of the supply in candidate order, and what they can hold."""

    rows: IntArray
    #: Slots of a whole block (1 without span).
    size: int
    #: Number of whole blocks on all hosts of the class.
    most: int
    #: Most slots that one host can hold as the last, smaller block; 0 if none.
    last: int
    #: Unit of the hosts.
    unit: int
    #: Whether they may be the first execution host.
    first: bool


@dataclass(slots=True)
class _Model:
    """The model with its variables and expressions, one a class."""

    cp: cp_model.CpModel
    kinds: list[HostKind]
    #: Number of whole blocks in each class.
    whole: list[cp_model.IntVar] = field(default_factory=list)
    #: Whether a host of the class holds the last block.
    last: list[Expr] = field(default_factory=list)
    #: Slots of the last block in each class.
    rest: list[Expr] = field(default_factory=list)
    #: Hosts used in each class (without span and host caps: positive if any).
    hosts: list[Expr] = field(default_factory=list)
    used: dict[int, cp_model.IntVar] = field(default_factory=dict)

    def slots(self, index: int) -> Expr:
        return self.kinds[index].size * self.whole[index] + self.rest[index]


def solve(
    supply: Supply,
    unit: UnitDemand | None,
    capacity: TermCapacity,
    slots: int,
    bounds: tuple[BindingGroup, ...] = (),
    *,
    refine: bool = True,
) -> Allocation | None:
    """Return a placement of `slots` slots, or None if there is none (always decided).

    refine: minimise the units if maxcus, balance or bestfit require it; then, in models of moderate
    size, prefer units and hosts early in order. Without it, any placement is returned.
    """
    from ortools.sat.python import cp_model

    if not supply.hosts.size:
        return None
    need = divmod(slots, supply.block) if supply.uniform else None
    model = _Model(cp_model.CpModel(), _kinds(supply, bounds, need))
    if not model.kinds:
        return None
    counted = supply.blocks is None and any(bound.hosts is not None for bound in bounds)
    _blocks(model, supply, slots, need, counted=counted)
    for bound in bounds:
        inside = [index for index, kind in enumerate(model.kinds) if bound.rows[kind.rows[0]]]
        if bound.slots is not None:
            model.cp.add(sum(model.slots(index) for index in inside) <= bound.slots)
        if bound.hosts is not None:
            hosts = _distinct(model, supply, inside) if supply.several else model.hosts
            model.cp.add(sum(hosts[index] for index in inside) <= bound.hosts)
    order = np.zeros(1, dtype=np.int64)
    if unit is not None:
        free = capacity.caps if capacity.free_now is None else capacity.free_now
        order = unit_order(unit, free, np.unique(supply.units))
        _units(model, supply, unit, slots)
    values = _solved(model, Rules.of(unit).fewest, order, refine)
    return None if values is None else _allocation(model, supply, order, values)


def _distinct(model: _Model, supply: Supply, inside: list[int]) -> dict[int, Expr]:
    """Return by class whether its host is used, at the first class of a host; 0 at its others.

    Under host caps the classes of blocks thereby count one host each.
    """
    used: dict[int, cp_model.IntVar] = {}
    found: dict[int, Expr] = {}
    for index in inside:
        kind = model.kinds[index]
        host = int(supply.hosts[kind.rows[0]])
        found[index] = 0
        if host not in used:
            found[index] = used[host] = model.cp.new_bool_var(f"host{host}")
        model.cp.add(model.whole[index] <= kind.most * used[host])
        model.cp.add(model.last[index] <= used[host])
    return found


def _kinds(
    supply: Supply, bounds: tuple[BindingGroup, ...], need: tuple[int, int] | None
) -> list[HostKind]:
    """Return the useful host classes, in the order of their first host."""
    first = np.zeros(supply.hosts.size, bool) if supply.first is None else supply.first
    alike = [supply.units, first, *(bound.rows for bound in bounds)]
    if supply.blocks is not None:
        # At most one host too small for a whole block is used: the largest represents all.
        alike.append(np.where(supply.caps >= supply.blocks, supply.blocks, 0))
    elif any(bound.hosts is not None for bound in bounds):
        # Otherwise, without span, only the sum of the caps counts.
        alike.append(supply.caps)
    if supply.several and any(bound.hosts is not None for bound in bounds):
        alike.append(supply.hosts)
    _, inverse = np.unique(np.column_stack(alike), axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    members = np.split(np.argsort(inverse, kind="stable"), np.cumsum(np.bincount(inverse))[:-1])
    members.sort(key=lambda rows: int(rows[0]))
    kinds = [_kind(supply, rows, None if need is None else need[1]) for rows in members]
    return [kind for kind in kinds if kind.most or kind.last]


def _kind(supply: Supply, rows: IntArray, rest: int | None) -> HostKind:
    """Return the class of equal hosts; rest: slots of the last block if known."""
    caps, head = supply.caps[rows], int(rows[0])
    unit, first = int(supply.units[head]), supply.first is not None and bool(supply.first[head])
    if supply.blocks is None:
        return HostKind(rows, 1, int(caps.sum()), 0, unit, first)
    size = int(supply.blocks[head])
    if caps[0] >= size:
        return HostKind(rows, size, rows.size, size if rest is None else rest, unit, first)
    best = rows[[np.argmax(caps)]]
    last = int(caps.max())
    if rest is not None:
        last = rest if last >= rest else 0
    return HostKind(best, int(supply.blocks[best[0]]), 0, last, unit, first)


def _blocks(
    model: _Model, supply: Supply, slots: int, need: tuple[int, int] | None, *, counted: bool
) -> None:
    """Add blocks of each class, their sum, and the first execution host to the model.

    counted: whether the number of hosts matters.
    """
    cp = model.cp
    for number, kind in enumerate(model.kinds):
        whole = cp.new_int_var(0, min(kind.most, slots // kind.size), f"whole{number}")
        last: Expr = 0
        rest: Expr = 0
        hosts: Expr = whole
        if kind.last:
            last = cp.new_bool_var(f"last{number}")
            rest = kind.last * last
            hosts = whole + last
            if need is None:
                rest = cp.new_int_var(0, kind.last, f"rest{number}")
                cp.add(rest >= last)
                cp.add(rest <= kind.last * last)
            if kind.most:
                cp.add(whole + last <= kind.rows.size)
        elif counted:
            hosts = cp.new_int_var(0, kind.rows.size, f"hosts{number}")
            cp.add(whole <= int(supply.caps[kind.rows[0]]) * hosts)
            cp.add(hosts <= whole)
        model.whole.append(whole)
        model.last.append(last)
        model.rest.append(rest)
        model.hosts.append(hosts)
    if need is None:
        cp.add(sum(model.slots(index) for index in range(len(model.kinds))) == slots)
        cp.add(sum(model.last) <= 1)
    else:
        cp.add(sum(model.whole) == need[0])
        if need[1]:
            cp.add(sum(model.last) == 1)
    if supply.first is not None:
        cp.add(sum(h for h, kind in zip(model.hosts, model.kinds, strict=True) if kind.first) >= 1)


def _units(model: _Model, supply: Supply, unit: UnitDemand, slots: int) -> None:
    """Add the constraints of maxcus, usablecuslots and balance."""
    cp = model.cp
    exempt = []
    low = cp.new_int_var(1, slots, "low")
    # With several slots on each host, balance counts hosts, not slots (PLC-09).
    by_hosts = supply.blocks is not None and bool((supply.blocks > 1).any())
    for owner in sorted({kind.unit for kind in model.kinds}):
        inside = [index for index, kind in enumerate(model.kinds) if kind.unit == owner]
        used = cp.new_bool_var(f"used{owner}")
        model.used[owner] = used
        for index in inside:
            cp.add(model.whole[index] <= model.kinds[index].most * used)
            cp.add(model.last[index] <= used)
        cp.add(sum(model.whole[index] + model.last[index] for index in inside) >= used)
        total = sum(model.slots(index) for index in inside)
        if unit.usablecuslots:
            fewer = cp.new_bool_var(f"fewer{owner}")
            exempt.append(fewer)
            cp.add(total >= unit.usablecuslots * (used - fewer))
        if unit.balance:
            even = sum(model.hosts[index] for index in inside) if by_hosts else total
            cp.add(even >= low).only_enforce_if(used)
            cp.add(even <= low + 1).only_enforce_if(used)
    if exempt:
        cp.add(sum(exempt) <= 1)
    if unit.maxcus is not None:
        cp.add(sum(model.used.values()) <= unit.maxcus)


def _solved(
    model: _Model, fewest: bool, order: IntArray, refine: bool
) -> list[tuple[int, int]] | None:
    """Return whole blocks and rest of each class: fewest units if required, then early in order."""
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    solver.parameters.linearization_level = 2
    units = sum(model.used.values())
    if fewest and refine:
        model.cp.minimize(units)
    if solver.solve(model.cp) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    values = _read(model, solver)
    if not refine or len(model.kinds) > ORDER_KINDS:
        return values
    solver.parameters.max_deterministic_time = ORDER_EFFORT
    place = {int(owner): position for position, owner in enumerate(order)}
    if fewest:
        model.cp.add(units == round(solver.objective_value))
        if 1 < len(model.used) <= MAX_ORDERED:
            # With powers of two a unit counts more than all later ones.
            ranked = sorted(model.used, key=place.__getitem__, reverse=True)
            model.cp.maximize(sum((1 << at) * model.used[owner] for at, owner in enumerate(ranked)))
            if not _again(model, solver):
                return values
            values = _read(model, solver)
            for used in model.used.values():
                model.cp.add(used == solver.value(used))
    early = sum(
        int(kind.rows[0]) * model.slots(index) for index, kind in enumerate(model.kinds)
    ) + len(model.kinds) * sum(place[owner] * used for owner, used in model.used.items())
    model.cp.minimize(early)
    return _read(model, solver) if _again(model, solver) else values


def _again(model: _Model, solver: cp_model.CpSolver) -> bool:
    """Solve once more from the last solution; whether there is one."""
    from ortools.sat.python import cp_model

    model.cp.clear_hints()  # type: ignore[no-untyped-call]
    for index in range(len(model.cp.proto.variables)):
        variable = model.cp.get_int_var_from_proto_index(index)
        model.cp.add_hint(variable, solver.value(variable))
    return solver.solve(model.cp) in (cp_model.OPTIMAL, cp_model.FEASIBLE)


def _read(model: _Model, solver: cp_model.CpSolver) -> list[tuple[int, int]]:
    return [
        (solver.value(whole), solver.value(rest))
        for whole, rest in zip(model.whole, model.rest, strict=True)
    ]


def _allocation(
    model: _Model, supply: Supply, order: IntArray, values: list[tuple[int, int]]
) -> Allocation:
    """Return slots on the first hosts of each class; the first execution host and its unit come
    first.
    """
    amounts = np.zeros(supply.hosts.size, dtype=np.int64)
    for kind, (whole, rest) in zip(model.kinds, values, strict=True):
        if supply.blocks is None:
            amounts[kind.rows] = filled(supply.caps[kind.rows], whole)
        else:
            amounts[kind.rows[:whole]] = kind.size
            if rest:
                amounts[kind.rows[whole]] = rest
    used = np.flatnonzero(amounts)
    rank = {int(owner): position for position, owner in enumerate(order)}
    head = -1
    if supply.first is not None:
        head = int(used[np.flatnonzero(supply.first[used])[0]])
        rank[int(supply.units[head])] = -1
    used = np.array(sorted(used, key=lambda row: (rank[int(supply.units[row])], row != head, row)))
    return gathered(supply.hosts[used], amounts[used])
