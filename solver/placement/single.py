"""One term over one window: exactly n slots, or a range of slots (PLC-02, -07, -14).

The combinatorial method decides where it is exact, CP-SAT elsewhere.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..availability.demand import TermCapacity, TermDemand
from ..availability.resources import Allocation
from .choose import (
    Rules,
    combine,
    exact_for,
    feasible,
    fits_plain,
    is_plain,
    place_plain,
    takes_first_hosts,
)
from .cpsat import BindingGroup, absorbed, binding, fewest_hosts_first, obeys
from .supply import Supply, supplies


def place(term: TermDemand, capacity: TermCapacity, slots: int | None = None) -> Allocation | None:
    """Return exactly `slots` slots (default term.slots) by the tie rules of the package, or None.

    The result has slots by host index in allocation order: units in their order, hosts in candidate
    order, the first execution host first.
    """
    slots = term.slots if slots is None else slots
    if is_plain(term, capacity, slots):
        return place_plain(term, capacity, slots)
    classes = (
        _place_class(term, supply, capacity, slots) for supply in supplies(term, capacity, slots)
    )
    placed = (found for found in classes if found is not None)
    if not (term.same and Rules.of(term.unit).fewest):
        return next(placed, None)
    return min(placed, key=lambda found: len(units_of(term, found)), default=None)


#: Number of hosts that are examined first: minimum, number per slot, one part in N of all.
_FIRST_HOSTS, _PER_SLOT, _PARTS = 64, 2, 8


def first_part(term: TermDemand) -> TermDemand | None:
    """Return the term on its first candidates if they are few of all and may be enough, else None.

    A placement there by :func:`place_on_first` equals that on all candidates: a later host is
    taken only if the earlier ones do not suffice.
    """
    some = max(_FIRST_HOSTS, _PER_SLOT * term.slots, len(term.candidates) // _PARTS)
    enough = takes_first_hosts(term) and term.max_slots <= term.slots
    if not enough or len(term.candidates) < 2 * some:
        return None
    return replace(term, candidates=term.candidates[:some])


def place_on_first(first: TermDemand, capacity: TermCapacity) -> Allocation | None:
    """Return the placement of a term on its :func:`first_part`, None if other hosts decide too."""
    if not is_plain(first, capacity, first.slots):
        return None
    return place_plain(first, capacity, first.slots)


def units_of(term: TermDemand, allocation: Allocation) -> tuple[int, ...]:
    """Return the compute units of an allocation, rising."""
    owners = () if term.unit is None else {int(term.unit.unit_of[host]) for host in allocation}
    return tuple(sorted(owners))


def fits(term: TermDemand, capacity: TermCapacity, slots: int | None = None) -> bool:
    """Return whether :func:`place` finds a placement, without building it if possible."""
    slots = term.slots if slots is None else slots
    if is_plain(term, capacity, slots):
        return fits_plain(term, capacity, slots)
    for supply in supplies(term, capacity, slots):
        bounds = binding(capacity.groups, supply, slots)
        if bounds is None:
            continue
        if bounds or not exact_for(supply, term.unit):
            if _place_bounded(term, supply, capacity, slots, bounds, refine=False) is not None:
                return True
        elif feasible(supply, term.unit, capacity, slots):
            return True
    return False


def _place_class(
    term: TermDemand, supply: Supply, capacity: TermCapacity, slots: int
) -> Allocation | None:
    bounds = binding(capacity.groups, supply, slots)
    if bounds is None:
        return None
    if bounds or not exact_for(supply, term.unit):
        return _place_bounded(term, supply, capacity, slots, bounds)
    return combine(supply, term.unit, capacity, slots)


def _place_bounded(
    term: TermDemand,
    supply: Supply,
    capacity: TermCapacity,
    slots: int,
    bounds: tuple[BindingGroup, ...],
    *,
    refine: bool = True,
) -> Allocation | None:
    """Return a placement under caps over part of the hosts: exact shortcuts first, then the
    model.
    """
    if exact_for(supply, term.unit):
        found = combine(supply, term.unit, capacity, slots)
        if found is None or obeys(found, supply, bounds):
            return found
        if term.unit is None:
            folded = absorbed(supply, bounds)
            if folded is not None:
                return combine(folded, None, capacity, slots)
            if supply.blocks is None and all(bound.rows.all() for bound in bounds):
                # Only the number of hosts is capped: the largest hosts need the fewest.
                found = combine(fewest_hosts_first(supply), None, capacity, slots)
                return found if found is not None and obeys(found, supply, bounds) else None
    from .cpsat import solve

    return solve(supply, term.unit, capacity, slots, bounds, refine=refine)


def place_least(term: TermDemand, capacity: TermCapacity) -> Allocation | None:
    """Return the fewest slots of the range that fit, or None; a larger number may fit if a
    smaller does not.
    """
    return next(
        (found for n in _sizes(term, capacity) if (found := place(term, capacity, n))), None
    )


def fits_at_all(term: TermDemand, capacity: TermCapacity) -> bool:
    """Return whether :func:`place_least` finds a placement."""
    if term.max_slots <= term.slots:
        return fits(term, capacity)
    return any(fits(term, capacity, slots) for slots in _sizes(term, capacity))


def _sizes(term: TermDemand, capacity: TermCapacity) -> range:
    """Return the numbers of slots to try, rising."""
    largest = term.largest
    if largest > term.slots:
        largest = max(term.slots, min(largest, int(np.sum(capacity.caps[term.candidates]))))
    return range(term.slots, largest + 1)


def place_most(term: TermDemand, capacity: TermCapacity) -> Allocation | None:
    """Return a placement as near to term.most as possible, at least term.slots, or None.

    * balance ignores the maximum. * maxcus: the first combination of the fewest units that holds
    the minimum, then filled up. * ptile: the maximum with a smaller block on the last host, else
    whole blocks only, else (no number of whole blocks lies in the range) the most that fits.
    """
    unit = term.unit
    if capacity.first is not None:
        both = capacity.first if term.first_hosts is None else capacity.first & term.first_hosts
        term = replace(term, first_hosts=both)
    if term.max_slots <= term.slots or (unit is not None and unit.balance):
        return place(term, capacity)
    if unit is not None and unit.maxcus is not None:
        base = place_least(term, capacity)
        if base is None:
            return None
        used = unit.unit_of[list(base)]
        capacity = replace(capacity, caps=np.where(np.isin(unit.unit_of, used), capacity.caps, 0))
    slots = _most(term, capacity)
    return None if slots is None else place(term, capacity, slots)


def _most(term: TermDemand, capacity: TermCapacity) -> int | None:
    """Return the number of slots for a range."""
    if fits(term, capacity, term.max_slots):
        return term.max_slots
    most = min(term.max_slots - 1, int(capacity.caps[term.candidates].sum()))
    block = _block(term, capacity)
    if block > 1:
        blocks = _largest(term, capacity, -(-term.slots // block), most // block, block)
        if blocks is not None:
            return blocks
        if _simple(term):
            most = min(most, -(-term.slots // block) * block - 1)
    return _largest(term, capacity, term.slots, most, 1)


def _block(term: TermDemand, capacity: TermCapacity) -> int:
    """Return the block, or the ptile if it is equal on all hosts; else 1."""
    if term.block > 1:
        return term.block
    if term.ptile is None or term.one_host:
        return 1
    sizes = term.ptile[term.candidates[capacity.caps[term.candidates] > 0]]
    return int(sizes[0]) if sizes.size and (sizes == sizes[0]).all() else 1


def _largest(
    term: TermDemand, capacity: TermCapacity, low: int, high: int, step: int
) -> int | None:
    """Return the largest feasible multiple of `step` from low*step to high*step, or None."""
    if not _closed_downwards(term, step):
        numbers = range(high, low - 1, -1)
        return next((n * step for n in numbers if fits(term, capacity, n * step)), None)
    if high < low or not fits(term, capacity, low * step):
        return None
    while low < high:
        middle = (low + high + 1) // 2
        if fits(term, capacity, middle * step):
            low = middle
        else:
            high = middle - 1
    return low * step


def _simple(term: TermDemand) -> bool:
    """Return whether no rule requires a certain host or a number of slots in a unit."""
    least = term.unit is not None and term.unit.usablecuslots
    return term.first_hosts is None and not least


def _closed_downwards(term: TermDemand, step: int) -> bool:
    """Return whether fewer slots (by one step) fit whenever more do, so that bisection is exact.

    A first execution host or usablecuslots may break this: the part dropped first may have to stay,
    or may make a unit large enough.
    """
    if _simple(term):
        return True
    both = term.first_hosts is not None and term.unit is not None and term.unit.usablecuslots
    return not both and (not term.tiled or step > 1)
