"""The same placement as a CP-SAT model: every keyword and every group cap, in one method.

Hosts that are alike for the term (unit, cap, block, groups, first execution host) form a class,
and the model counts hosts and slots a class, so its size follows the number of kinds of hosts. It
is used where group caps, or blocks that differ from host to host, leave the combinatorial method,
and to check that one. One worker: the same answer on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..demand import Allocation, IntArray, Room, UnitDemand
from .choose import unit_order
from .groups import Bound
from .share import filled
from .supply import Supply

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

#: Deterministic effort spent on early hosts once a placement with the fewest units is known.
ORDER_EFFORT = 0.2


@dataclass(frozen=True, slots=True)
class Kind:
    """Hosts of one class: rows of the supply in candidate order, and what they can hold.

    block: slots of a whole block, None without span. cap: most slots on one of them; less than
    the block where they serve the last block only. most: slots on all of them.
    """

    rows: IntArray
    cap: int
    most: int
    block: int | None
    unit: int
    first: bool


@dataclass(slots=True)
class _Model:
    """The model with its variables, one a class: slots, hosts, and the last, smaller block."""

    cp: cp_model.CpModel
    kinds: list[Kind]
    slots: list[cp_model.IntVar] = field(default_factory=list)
    hosts: list[cp_model.IntVar] = field(default_factory=list)
    last: list[cp_model.IntVar | None] = field(default_factory=list)
    rest: list[cp_model.IntVar | None] = field(default_factory=list)
    used: dict[int, cp_model.IntVar] = field(default_factory=dict)


def solve(
    supply: Supply,
    unit: UnitDemand | None,
    room: Room,
    slots: int,
    bounds: tuple[Bound, ...] = (),
) -> Allocation | None:
    """A placement of `slots` slots, or None if there is none (always decided).

    Over the fewest units where maxcus, balance or bestfit want that; then, as far as a small
    effort goes, on units and hosts that come early in order.
    """
    from ortools.sat.python import cp_model

    if not supply.hosts.size:
        return None
    model = _Model(cp_model.CpModel(), _kinds(supply, bounds))
    _hosts_and_slots(model, slots)
    cp = model.cp
    cp.add(sum(model.slots) == slots)
    if supply.first is not None:
        cp.add(sum(h for h, kind in zip(model.hosts, model.kinds, strict=True) if kind.first) >= 1)
    for bound in bounds:
        inside = [index for index, kind in enumerate(model.kinds) if bound.rows[kind.rows[0]]]
        if bound.slots is not None:
            cp.add(sum(model.slots[index] for index in inside) <= bound.slots)
        if bound.hosts is not None:
            cp.add(sum(model.hosts[index] for index in inside) <= bound.hosts)
    order = np.zeros(1, dtype=np.int64)
    if unit is not None:
        free = room.caps if room.free_now is None else room.free_now
        order = unit_order(unit, free, np.unique(supply.units))
        _units(model, supply, unit, slots)
    values = _solved(model, unit, order)
    return None if values is None else _allocation(model, supply, slots, order, values)


def _kinds(supply: Supply, bounds: tuple[Bound, ...]) -> list[Kind]:
    """The classes, in the order of their first host."""
    first = np.zeros(supply.hosts.size, bool) if supply.first is None else supply.first
    alike = [supply.units, first, *(bound.rows for bound in bounds)]
    if supply.blocks is not None:
        # Of the hosts too small for a whole block, one serves at most: the largest stands for all.
        alike.append(np.where(supply.caps >= supply.blocks, supply.blocks, 0))
    elif any(bound.hosts is not None for bound in bounds):
        # Otherwise, without span, only the sum of the caps counts.
        alike.append(supply.caps)
    _, inverse = np.unique(np.column_stack(alike), axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    members = np.split(np.argsort(inverse, kind="stable"), np.cumsum(np.bincount(inverse))[:-1])
    return [
        _kind(supply, rows, bool(first[rows[0]]))
        for rows in sorted(members, key=lambda rows: int(rows[0]))
    ]


def _kind(supply: Supply, rows: IntArray, first: bool) -> Kind:
    caps = supply.caps[rows]
    unit = int(supply.units[rows[0]])
    if supply.blocks is None:
        return Kind(rows, int(caps.max()), int(caps.sum()), None, unit, first)
    block = int(supply.blocks[rows[0]])
    if caps[0] >= block:
        return Kind(rows, block, rows.size * block, block, unit, first)
    best = rows[[np.argmax(caps)]]
    return Kind(best, int(caps.max()), int(caps.max()), int(supply.blocks[best[0]]), unit, first)


def _hosts_and_slots(model: _Model, slots: int) -> None:
    """Slots and hosts of each class, tied by cap or by block; one smaller block at most."""
    cp = model.cp
    for number, kind in enumerate(model.kinds):
        held = cp.new_int_var(0, min(slots, kind.most), f"slots{number}")
        hosts = cp.new_int_var(0, min(slots, kind.rows.size), f"hosts{number}")
        model.slots.append(held)
        model.hosts.append(hosts)
        last = rest = None
        if kind.block is None:
            cp.add(hosts <= held)
            cp.add(held <= kind.cap * hosts)
        else:
            last = cp.new_bool_var(f"last{number}")
            rest = cp.new_int_var(0, kind.cap, f"rest{number}")
            cp.add(rest >= last)
            cp.add(rest <= kind.cap * last)
            cp.add(held == kind.block * (hosts - last) + rest)
            cp.add(hosts >= last)
            if kind.cap < kind.block:
                cp.add(hosts == last)
        model.last.append(last)
        model.rest.append(rest)
    lasts = [last for last in model.last if last is not None]
    if lasts:
        cp.add(sum(lasts) <= 1)


def _units(model: _Model, supply: Supply, unit: UnitDemand, slots: int) -> None:
    """maxcus, usablecuslots and balance over the units."""
    cp = model.cp
    exempt = []
    low = cp.new_int_var(1, slots, "low")
    # Under a span of more than one slot a host, even means hosts, not slots (PLC-09).
    by_hosts = supply.blocks is not None and bool((supply.blocks > 1).any())
    most = np.bincount([kind.unit for kind in model.kinds], [kind.most for kind in model.kinds])
    most = np.minimum(most, slots).astype(np.int64)
    for owner in np.unique(supply.units).tolist():
        inside = [index for index, kind in enumerate(model.kinds) if kind.unit == owner]
        used = cp.new_bool_var(f"used{owner}")
        model.used[owner] = used
        total = sum(model.slots[index] for index in inside)
        hosts = sum(model.hosts[index] for index in inside)
        cp.add(total >= used)
        cp.add(total <= int(most[owner]) * used)
        if unit.usablecuslots:
            fewer = cp.new_bool_var(f"fewer{owner}")
            exempt.append(fewer)
            cp.add(total >= unit.usablecuslots).only_enforce_if(used, ~fewer)
        if unit.balance:
            even = hosts if by_hosts else total
            cp.add(even >= low).only_enforce_if(used)
            cp.add(even <= low + 1).only_enforce_if(used)
    if exempt:
        cp.add(sum(exempt) <= 1)
    if unit.maxcus is not None:
        cp.add(sum(model.used.values()) <= unit.maxcus)
    # Implied, and quick to prove with: the largest units must hold the job.
    enough = int(np.searchsorted(np.cumsum(np.sort(most)[::-1]), slots)) + 1
    cp.add(sum(model.used.values()) >= enough)


def _solved(model: _Model, unit: UnitDemand | None, order: IntArray) -> list[_Values] | None:
    """Values of the classes: fewest units first where wanted, then early ones in order."""
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    fewest = unit is not None and (
        unit.balance or unit.maxcus is not None or unit.pref == "bestfit"
    )
    units = sum(model.used.values())
    if fewest:
        model.cp.minimize(units)
    if solver.solve(model.cp) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    values = _read(model, solver)
    if fewest:
        model.cp.add(units <= round(solver.objective_value))
    place = {int(owner): position for position, owner in enumerate(order)}
    early = sum(
        int(kind.rows[0]) * held for kind, held in zip(model.kinds, model.slots, strict=True)
    ) + len(model.kinds) * sum(place[owner] * used for owner, used in model.used.items())
    model.cp.minimize(early)
    for variable, value in zip(model.slots, values, strict=True):
        model.cp.add_hint(variable, value.slots)
    solver.parameters.max_deterministic_time = ORDER_EFFORT
    if solver.solve(model.cp) in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return _read(model, solver)
    return values


@dataclass(frozen=True, slots=True)
class _Values:
    slots: int
    hosts: int
    rest: int


def _read(model: _Model, solver: cp_model.CpSolver) -> list[_Values]:
    return [
        _Values(
            solver.value(model.slots[index]),
            solver.value(model.hosts[index]),
            0 if (rest := model.rest[index]) is None else solver.value(rest),
        )
        for index in range(len(model.kinds))
    ]


def _allocation(
    model: _Model, supply: Supply, slots: int, order: IntArray, values: list[_Values]
) -> Allocation:
    """Slots on the first hosts of each class; units in order, the first host's unit first."""
    amounts = np.zeros(supply.hosts.size, dtype=np.int64)
    for kind, value in zip(model.kinds, values, strict=True):
        if kind.block is None:
            amounts[kind.rows] = filled(supply.caps[kind.rows], value.slots)
            continue
        rows = kind.rows[: value.hosts]
        amounts[rows] = kind.block
        if value.rest:
            amounts[rows[-1]] = value.rest
    used = np.flatnonzero(amounts)
    rank = {int(owner): position for position, owner in enumerate(order)}
    head = -1
    if supply.first is not None:
        head = int(used[np.flatnonzero(supply.first[used])[0]])
        rank[int(supply.units[head])] = -1
    used = np.array(sorted(used, key=lambda row: (rank[int(supply.units[row])], row != head, row)))
    return {int(supply.hosts[row]): int(amounts[row]) for row in used}
