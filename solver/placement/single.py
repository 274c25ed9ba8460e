"""Exactly n slots: the combinatorial method where it is exact, CP-SAT elsewhere."""

from __future__ import annotations

from ..availability.arrays import Allocation
from ..availability.demand import Room, TermDemand
from .choose import Rules
from .combine import combine, exact_for, feasible
from .groups import BindingGroup, absorbed, binding, fewest_hosts_first, obeys
from .plain import fits_plain, is_plain, place_plain
from .supply import Supply, supplies


def place(term: TermDemand, room: Room, slots: int | None = None) -> Allocation | None:
    """Exactly `slots` slots (default term.slots) by the tie rules of the package, or None.

    Host index -> slots in allocation order: units in their order, hosts in candidate order, the
    first execution host first.
    """
    slots = term.slots if slots is None else slots
    if is_plain(term, room):
        return place_plain(term, room, slots)
    classes = (_place_class(term, supply, room, slots) for supply in supplies(term, room, slots))
    placed = (found for found in classes if found is not None)
    if not (term.same and Rules.of(term.unit).fewest):
        return next(placed, None)
    return min(placed, key=lambda found: len(units_of(term, found)), default=None)


def units_of(term: TermDemand, allocation: Allocation) -> tuple[int, ...]:
    """The compute units of an allocation, ascending."""
    owners = () if term.unit is None else {int(term.unit.unit_of[host]) for host in allocation}
    return tuple(sorted(owners))


def fits(term: TermDemand, room: Room, slots: int | None = None) -> bool:
    """Whether :func:`place` finds a placement, without building it where that is possible."""
    slots = term.slots if slots is None else slots
    if is_plain(term, room):
        return fits_plain(term, room, slots)
    for supply in supplies(term, room, slots):
        bounds = binding(room.groups, supply, slots)
        if bounds is None:
            continue
        if bounds or not exact_for(supply, term.unit):
            if _place_bounded(term, supply, room, slots, bounds, refine=False) is not None:
                return True
        elif feasible(supply, term.unit, room, slots):
            return True
    return False


def _place_class(term: TermDemand, supply: Supply, room: Room, slots: int) -> Allocation | None:
    bounds = binding(room.groups, supply, slots)
    if bounds is None:
        return None
    if bounds or not exact_for(supply, term.unit):
        return _place_bounded(term, supply, room, slots, bounds)
    return combine(supply, term.unit, room, slots)


def _place_bounded(
    term: TermDemand,
    supply: Supply,
    room: Room,
    slots: int,
    bounds: tuple[BindingGroup, ...],
    *,
    refine: bool = True,
) -> Allocation | None:
    """Under caps over part of the hosts: quick exact answers first, then the model."""
    if exact_for(supply, term.unit):
        found = combine(supply, term.unit, room, slots)
        if found is None or obeys(found, supply, bounds):
            return found
        if term.unit is None:
            folded = absorbed(supply, bounds)
            if folded is not None:
                return combine(folded, None, room, slots)
            if supply.blocks is None and all(bound.rows.all() for bound in bounds):
                # Only the number of hosts is capped: the largest hosts need the fewest.
                found = combine(fewest_hosts_first(supply), None, room, slots)
                return found if found is not None and obeys(found, supply, bounds) else None
    from .cpsat import solve

    return solve(supply, term.unit, room, slots, bounds, refine=refine)
