"""The combinatorial method: units first, then hosts inside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..availability.arrays import Allocation, BoolArray, IntArray
from ..availability.demand import Room, UnitDemand
from .choose import (
    Rules,
    fewest_units,
    first_combination,
    first_fit_choice,
    unit_order,
)
from .fill import fill_any, fill_blocks
from .share import Need, Share, Stock
from .supply import Supply
from .uneven import fewest_uneven


@dataclass(frozen=True, slots=True)
class Layout:
    """Units in the order tried, what each can give, and the first execution host if asked.

    units: unit ids. first: row of the supply that must come first, -1 for any.
    """

    units: IntArray
    stock: Stock
    need: Need
    first: int = -1


def exact_for(supply: Supply, unit: UnitDemand | None) -> bool:
    """Whether the method decides every case of this supply.

    Blocks that differ from host to host are a subset-sum matter as soon as a unit must hold some
    number of them (usablecuslots, balance) or a certain host must be the last.
    """
    if supply.uniform:
        return True
    rules = Rules.of(unit)
    if rules.least or rules.balance:
        return False
    if supply.first is None:
        return True
    whole = _takes_whole(supply)[supply.first]
    return bool(whole.all() and whole.size if rules.fewest else whole.any())


def feasible(supply: Supply, unit: UnitDemand | None, room: Room, slots: int) -> bool:
    """Whether :func:`combine` finds a placement; does not build it."""
    if not supply.uniform:
        return combine(supply, unit, room, slots) is not None
    rules = Rules.of(unit)
    for layout in _layouts(supply, unit, room, slots):
        forced = layout.first >= 0
        if (
            not rules.fewest
            and first_fit_choice(layout.stock, layout.need, rules, forced) is not None
        ):
            return True
        if not rules.plain and fewest_units(layout.stock, layout.need, rules, forced) is not None:
            return True
    return False


def combine(supply: Supply, unit: UnitDemand | None, room: Room, slots: int) -> Allocation | None:
    """The placement by the tie rules of the package, or None; see :func:`exact_for`."""
    if not supply.uniform:
        return _walk(supply, unit, room, slots)
    rules = Rules.of(unit)
    best: tuple[int, Layout] | None = None
    for layout in _layouts(supply, unit, room, slots):
        forced = layout.first >= 0
        if not rules.fewest:
            share = first_fit_choice(layout.stock, layout.need, rules, forced)
            if share is not None:
                return _arranged(supply, layout, np.arange(layout.units.size), share)
        if not rules.plain:
            count = fewest_units(layout.stock, layout.need, rules, forced)
            if count is not None and (best is None or count < best[0]):
                best = count, layout
    if best is None:
        return None
    count, layout = best
    chosen, share = first_combination(layout.stock, layout.need, rules, layout.first >= 0, count)
    return _arranged(supply, layout, chosen, share)


def _layouts(supply: Supply, unit: UnitDemand | None, room: Room, slots: int) -> Iterator[Layout]:
    """One layout, or one for each kind of first execution host, in candidate order (PLC-12)."""
    if not supply.hosts.size:
        return
    size = supply.block
    need = Need(size, *divmod(slots, size))
    whole_rows = _takes_whole(supply)
    rest_rows = ~whole_rows & (supply.caps >= need.rest) & (need.rest > 0)
    amounts = supply.caps if supply.blocks is None else whole_rows
    kinds = int(supply.units.max()) + 1
    whole = np.bincount(supply.units, weights=amounts, minlength=kinds).astype(np.int64)
    spare = np.bincount(supply.units[rest_rows], minlength=kinds) > 0
    present = np.flatnonzero((whole > 0) | spare)
    free = room.caps if room.free_now is None else room.free_now

    def layout(row: int, pinned: bool) -> Layout:
        forced = int(supply.units[row]) if row >= 0 else None
        units = present if unit is None else unit_order(unit, free, present, forced)
        stock = Stock(whole[units], spare[units])
        return Layout(units, stock, Need(need.size, need.blocks, need.rest, pinned), row)

    if supply.first is None:
        yield layout(-1, False)
        return
    rows = np.flatnonzero(supply.first & (whole_rows | rest_rows))
    owners = supply.units[rows]
    # Units that give the same serve alike, so the first of a kind stands for all.
    keys = (whole[owners] * 2 + spare[owners]) * 2 + whole_rows[rows]
    for at in np.sort(np.unique(keys, return_index=True)[1]):
        yield layout(int(rows[at]), not whole_rows[rows[at]])


def _arranged(supply: Supply, layout: Layout, chosen: IntArray, share: Share) -> Allocation:
    """Hosts for a share, unit after unit."""
    need = layout.need
    allocation: Allocation = {}
    for index, position in enumerate(chosen):
        slots = int(share.whole[index]) * need.size + (need.rest if index == share.last else 0)
        if not slots:
            continue
        rows = np.flatnonzero(supply.units == layout.units[position])
        if index == 0 and layout.first >= 0:
            rows = np.r_[layout.first, rows[rows != layout.first]]
        here = supply.take(rows)
        if supply.blocks is None:
            part = fill_any(here, slots)
        else:
            part = fill_blocks(here, slots, last_on_first=need.pinned and index == 0)
        assert part is not None
        allocation |= part
    return allocation


def _walk(supply: Supply, unit: UnitDemand | None, room: Room, slots: int) -> Allocation | None:
    """First fit over the hosts, units in order, where blocks differ from host to host."""
    if supply.first is None:
        starts = [-1]
    else:
        whole = np.flatnonzero(supply.first & _takes_whole(supply))
        # The first such host of each unit stands for the others.
        starts = whole[np.sort(np.unique(supply.units[whole], return_index=True)[1])].tolist()
    best: tuple[int, Allocation] | None = None
    for row in starts:
        order = _uneven_units(supply, unit, room, slots, row)
        if order is not None and (best is None or order.size < best[0]):
            found = fill_blocks(supply.take(_rows_by_unit(supply, order, row)), slots)
            best = best if found is None else (order.size, found)
    return None if best is None else best[1]


def _uneven_units(
    supply: Supply, unit: UnitDemand | None, room: Room, slots: int, row: int
) -> IntArray | None:
    """The units to fill in order: all of them, or the first combination of the fewest."""
    if unit is None:
        return np.zeros(1, dtype=np.int64)
    free = room.caps if room.free_now is None else room.free_now
    forced = int(supply.units[row]) if row >= 0 else None
    order = unit_order(unit, free, np.unique(supply.units), forced)
    if not Rules.of(unit).fewest:
        return order
    assert supply.blocks is not None
    takes = _takes_whole(supply)
    held = np.minimum(supply.caps, supply.blocks)
    whole = np.zeros(int(supply.units.max()) + 1, dtype=np.int64)
    extra = np.zeros_like(whole)
    np.add.at(whole, supply.units, np.where(takes, held, 0))
    np.maximum.at(extra, supply.units, np.where(takes, 0, held))
    chosen = fewest_uneven(whole[order], extra[order], slots, unit.maxcus, row >= 0)
    return None if chosen is None else order[chosen]


def _rows_by_unit(supply: Supply, order: IntArray, row: int) -> IntArray:
    """Rows of the units in their order, candidate order inside, row `row` (if any) first."""
    rank = np.full(int(supply.units.max()) + 1, order.size, dtype=np.int64)
    rank[order] = np.arange(order.size)
    ranks = rank[supply.units]
    rows = np.argsort(ranks, kind="stable")
    rows = rows[ranks[rows] < order.size]
    return rows if row < 0 else np.append([row], rows[rows != row])


def _takes_whole(supply: Supply) -> BoolArray:
    whole: BoolArray = supply.caps >= (1 if supply.blocks is None else supply.blocks)
    return whole
