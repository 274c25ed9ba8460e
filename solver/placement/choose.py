"""The combinatorial placement of one term: units first, then hosts inside them (PLC-06 to PLC-10).

Terms without span and cu requirements take the first hosts with free slots. For others, compute
units are chosen, the blocks of the term are split over them, and each unit's share is split over
its hosts.

Fewest units if blocks differ from host to host (ptile='!' on mixed hosts). Units are measured in
slots here: the slots of their whole hosts, and the most that one more host, too small for its own
block, could add as the last. A set of units holds n slots exactly if the wholes and one such
addition reach n, because the last host may hold any part of its block.

Distribution of the blocks of a term over a set of units. A *block* is the slots of one host: ptile
slots (one slot without span). A term of n slots needs q = n // p whole blocks and, if n is no
multiple of p, a last block of r = n mod p slots. Each function takes the units in the order they
are tried and returns the number of whole blocks in each and the unit of the last block, or None if
the rule cannot be kept with these units.

Choice of the compute units of a term (PLC-06 to PLC-10). Exact by an exchange argument: of the
units still free to choose, those with the most whole blocks serve every rule best, except that one
unit with a spare host for the last block may replace the smallest of them. So two sets of units
decide whether a partial choice can be completed.

Fast placement of simple terms: first fit, blocks or one host, with known caps. Most jobs request
only slots, perhaps a number on each host. For these the general method returns equal placements (a
test compares them).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..availability.demand import GroupCap, TermCapacity, TermDemand, UnitDemand
from ..availability.resources import Allocation, BoolArray, IntArray
from .supply import Supply


def fewest_uneven(
    whole: IntArray, extra: IntArray, slots: int, most: int | None, forced: bool
) -> IntArray | None:
    """Return the first combination of the fewest units that have `slots`, as positions, or None.

    whole, extra: slots of each unit, in the order of the units. most: maxcus. forced: whether the
    first unit must be used, with a whole host.
    """
    limit = whole.size if most is None else min(most, whole.size)
    start = np.arange(1 if forced else 0)
    largest = np.cumsum(np.sort(whole + extra)[::-1])
    for count in range(int(np.searchsorted(largest, slots)) + 1, limit + 1):
        if _completes_uneven(whole, extra, slots, start, np.arange(start.size, whole.size), count):
            return _first(whole, extra, slots, start, count)
    return None


def _first(whole: IntArray, extra: IntArray, slots: int, chosen: IntArray, count: int) -> IntArray:
    for position in range(chosen.size, whole.size):
        more = np.append(chosen, position)
        later = np.arange(position + 1, whole.size)
        if more.size <= count and _completes_uneven(whole, extra, slots, more, later, count):
            chosen = more
    return chosen


def _completes_uneven(
    whole: IntArray, extra: IntArray, slots: int, chosen: IntArray, pool: IntArray, count: int
) -> bool:
    """Return whether `chosen` with the largest of `pool`, or all but one, holds `slots`."""
    more = count - chosen.size
    if more < 0 or more > pool.size:
        return False
    ranked = pool[np.argsort(-whole[pool], kind="stable")]
    best = np.append(chosen, ranked[:more])
    total = int(whole[best].sum())
    if total + int(extra[best].max()) >= slots:
        return True
    others = ranked[more:]
    if not more or not others.size:
        return False
    replaced = total - int(whole[best[-1]])
    return replaced + int((whole[others] + extra[others]).max()) >= slots


@dataclass(frozen=True, slots=True)
class Stock:
    """Capacity of each unit in blocks."""

    #: Number of hosts that hold a whole block.
    whole: IntArray
    #: Whether a further host holds only the last block.
    spare: BoolArray

    def take(self, positions: IntArray) -> Stock:
        return Stock(self.whole[positions], self.spare[positions])


@dataclass(frozen=True, slots=True)
class Need:
    """Blocks a term asks for."""

    #: Slots in a whole block.
    size: int
    #: Number of whole blocks.
    blocks: int
    #: Slots of the last block, 0 if there is none.
    rest: int
    #: Whether the last block must be in the first unit, on a host that takes no whole one.
    pinned: bool = False

    @property
    def total(self) -> int:
        """Return the number of blocks: hosts with ptile, slots without span."""
        return self.blocks + (self.rest > 0)


class Share(NamedTuple):
    """Whole blocks in each unit and the position of the unit with the last block (-1: none)."""

    whole: IntArray
    last: int


def first_fit(stock: Stock, need: Need) -> Share | None:
    """Return units filled in order; the last block where it fits, used units first."""
    if int(stock.whole.sum()) < need.blocks:
        return None
    whole = filled(stock.whole, need.blocks)
    if not need.rest:
        return Share(whole, -1)
    if need.pinned:
        return Share(whole, 0)
    capacity = (stock.whole > whole) | stock.spare
    for units in (np.flatnonzero(capacity & (whole > 0)), np.flatnonzero(capacity)):
        if units.size:
            return Share(whole, int(units[0]))
    return None


def at_least(stock: Stock, need: Need, least: int) -> Share | None:
    """Return a share in which every unit has `least` slots or more, except at most one (PLC-08).

    The exception is the last unit in order, if no unit is too small for `least`.
    """
    ample = -(-least // need.size)
    for last in _last_units(stock, need):
        most = stock.whole.copy()
        if last >= 0:
            most[last] -= not (stock.spare[last] or need.pinned)
        for least_blocks in _lower_bounds(stock, need, least, ample, last):
            left = need.blocks - int(least_blocks.sum())
            if (least_blocks <= most).all() and 0 <= left <= int((most - least_blocks).sum()):
                return Share(least_blocks + filled(most - least_blocks, left), last)
    return None


def _lower_bounds(
    stock: Stock, need: Need, least: int, ample: int, last: int
) -> Iterator[IntArray]:
    """Yield minimum whole blocks of each unit, one array for each choice of the exception."""
    everywhere = np.full(stock.whole.size, ample, dtype=np.int64)
    others = np.flatnonzero(np.arange(stock.whole.size) != last)
    small = others[stock.whole[others] < ample]
    if last >= 0 and not small.size:
        everywhere[last] = 0
        yield everywhere.copy()
    if small.size > 1:
        return
    if last >= 0:
        everywhere[last] = max(0, -((need.rest - least) // need.size))
    if others.size:
        everywhere[small[0] if small.size else others[-1]] = 1
    yield everywhere


def balanced(stock: Stock, need: Need, least: int = 0) -> Share | None:
    """Return blocks over all units, counts differing by at most 1 (PLC-09), larger first.

    least: minimum slots in all units but one (the lenient reading of PLC-10).
    """
    low, larger = divmod(need.total, stock.whole.size)
    if low == 0:
        return None
    for last in _last_units(stock, need):
        most = stock.whole.copy()
        if last >= 0:
            most[last] += stock.spare[last]
        if (most < low).any():
            continue
        for high in (False, True) if last >= 0 else (False,):
            parts = _parts(most, low, larger, last, high)
            if parts is None:
                continue
            slots = parts * need.size
            if last >= 0:
                slots[last] -= need.size - need.rest
                parts[last] -= 1
            if np.count_nonzero(slots < least) <= 1:
                return Share(parts, last)
    return None


def _parts(most: IntArray, low: int, larger: int, last: int, high: bool) -> IntArray | None:
    """Return `larger` units with low + 1 blocks and the rest with low.

    high: whether the unit of the last block counts as larger too.
    """
    able = most > low
    if last >= 0:
        if high and not (able[last] and larger):
            return None
        able[last] = False
    chosen = np.flatnonzero(able)[: larger - high]
    if chosen.size < larger - high:
        return None
    parts = np.full(most.size, low, dtype=np.int64)
    parts[chosen] += 1
    if high:
        parts[last] += 1
    return parts


def _last_units(stock: Stock, need: Need) -> list[int]:
    """Return positions to try for the last block, last ones first: one of each kind of unit."""
    if not need.rest:
        return [-1]
    if need.pinned:
        return [0]
    kinds = (stock.whole * 2 + stock.spare)[::-1]
    _, at = np.unique(kinds, return_index=True)
    return [kinds.size - 1 - int(position) for position in np.sort(at)]


def filled(most: IntArray, amount: int) -> IntArray:
    """Return `amount` distributed in order, each entry up to its maximum."""
    filled: IntArray = np.clip(amount - (np.cumsum(most) - most), 0, most)
    return filled


@dataclass(frozen=True, slots=True)
class Rules:
    """The keywords of cu[] that bind the choice."""

    #: Maximum number of units (maxcus), None: no limit.
    most: int | None = None
    #: Minimum number of slots in a unit (usablecuslots), 0: none.
    least: int = 0
    #: Whether slots are spread evenly.
    balance: bool = False
    #: Whether as few units as possible are used.
    fewest: bool = False

    @classmethod
    def of(cls, unit: UnitDemand | None) -> Rules:
        if unit is None:
            return cls()
        fewest = unit.maxcus is not None or unit.balance or unit.pref == "bestfit"
        return cls(unit.maxcus, unit.usablecuslots or 0, unit.balance, fewest)

    @property
    def plain(self) -> bool:
        """Return whether a first fit over the units in order obeys the rules."""
        return not (self.fewest or self.least)


def unit_order(
    unit: UnitDemand, free: IntArray, present: IntArray, forced: int | None = None
) -> IntArray:
    """Return the units in the order in which they are examined.

    The unit of the first execution host, then host preference, then pref, then configuration.
    free: free slots per host [H]. present: the units to order.
    """
    keys = [present]
    sign = {"maxavail": -1, "minavail": 1, "bestfit": 1}.get(unit.pref)
    if sign is not None:
        owned = unit.unit_of >= 0
        slots = np.bincount(unit.unit_of[owned], weights=free[owned], minlength=len(unit.names))
        keys.append(sign * slots[present])
    if unit.preference is not None:
        keys.append(-unit.preference[present])
    order: IntArray = present[np.lexsort(keys)]
    return order if forced is None else np.append([forced], order[order != forced])


def share_among(stock: Stock, need: Need, rules: Rules) -> Share | None:
    """Return the blocks distributed over all of these units by the rules, or None."""
    if rules.balance:
        return balanced(stock, need, rules.least)
    if rules.least:
        return at_least(stock, need, rules.least)
    return first_fit(stock, need)


def first_fit_choice(stock: Stock, need: Need, rules: Rules, forced: bool) -> Share | None:
    """Return a first fit over the units in order, without those too small for usablecuslots.

    Complete without usablecuslots; with it, None only means that a more careful search is needed
    (:func:`fewest_units`).
    """
    if not rules.least:
        return first_fit(stock, need)
    ample = stock.whole * need.size >= rules.least
    if forced:
        ample[:1] = True
    kept = np.flatnonzero(ample)
    share = first_fit(stock.take(kept), need)
    if share is None:
        return None
    whole = np.zeros_like(stock.whole)
    whole[kept] = share.whole
    last = int(kept[share.last]) if share.last >= 0 else -1
    slots = whole * need.size
    if last >= 0:
        slots[last] += need.rest
    few = np.count_nonzero((slots > 0) & (slots < rules.least)) > 1
    return None if few else Share(whole, last)


def fewest_units(stock: Stock, need: Need, rules: Rules, forced: bool) -> int | None:
    """Return the minimum number of units for the term, or None. forced: the first unit is used."""
    chosen = np.arange(1 if forced else 0)
    ranked = _ranked(stock, np.arange(chosen.size, stock.whole.size))
    for count in _counts(stock, need, rules):
        if _completes(stock, need, rules, chosen, ranked, count):
            return count
    return None


def first_combination(
    stock: Stock, need: Need, rules: Rules, forced: bool, count: int
) -> tuple[IntArray, Share]:
    """Return the first combination of `count` units in the given order, with its share.

    `count` must come from :func:`fewest_units`. Each kind of unit is tried once.
    """
    chosen = np.arange(1 if forced else 0)
    refused = set()
    for position in range(chosen.size, stock.whole.size):
        if chosen.size == count:
            break
        # A unit that was rejected once stays rejected: the rest of a choice never grows again.
        kind = int(stock.whole[position]), bool(stock.spare[position])
        if kind in refused:
            continue
        more = np.append(chosen, position)
        ranked = _ranked(stock, np.arange(position + 1, stock.whole.size))
        if _completes(stock, need, rules, more, ranked, count):
            chosen = more
        else:
            refused.add(kind)
    share = share_among(stock.take(chosen), need, rules)
    assert share is not None
    return chosen, share


def _ranked(stock: Stock, pool: IntArray) -> IntArray:
    return pool[np.argsort(-stock.whole[pool], kind="stable")]


def _completes(
    stock: Stock, need: Need, rules: Rules, chosen: IntArray, ranked: IntArray, count: int
) -> bool:
    """Return whether `chosen` and some of `ranked` (largest first) give `count` valid units."""
    return any(
        share_among(stock.take(units), need, rules) is not None
        for units in _best_sets(stock.spare, chosen, ranked, count - chosen.size)
    )


def _best_sets(
    spare: BoolArray, chosen: IntArray, ranked: IntArray, more: int
) -> Iterator[IntArray]:
    if more < 0 or more > ranked.size:
        return
    best = np.append(chosen, ranked[:more])
    yield best
    others = ranked[more:][spare[ranked[more:]]]
    if more and others.size:
        best = best.copy()
        best[-1] = others[0]
        yield best


def _counts(stock: Stock, need: Need, rules: Rules) -> list[int]:
    """Return the numbers of units that satisfy the necessary conditions, rising."""
    limit = min(stock.whole.size, need.total)
    if rules.most is not None:
        limit = min(limit, rules.most)
    counts = np.arange(1, limit + 1)
    whole = np.sort(stock.whole)[::-1]
    possible = np.cumsum(whole)[:limit] + bool(stock.spare.any()) >= need.total
    if rules.balance:
        with_last = np.sort(stock.whole + stock.spare)[::-1]
        low, larger = np.divmod(need.total, counts)
        possible &= with_last[counts - 1] >= low
        possible &= (larger == 0) | (with_last[larger - 1] > low)
    elif rules.least:
        # All units except one and the one with the last block hold this many whole blocks.
        possible &= (counts - 2) * -(-rules.least // need.size) <= need.blocks
    found: list[int] = counts[possible].tolist()
    return found


def fill_any(supply: Supply, slots: int) -> Allocation | None:
    """Return a first-fit allocation in the order of the rows, with any number of slots by host."""
    sums = supply.caps.cumsum()
    last = int(sums.searchsorted(slots))
    if last == sums.size:
        return None
    amounts = supply.caps[: last + 1].copy()
    amounts[last] -= sums[last] - slots
    return gathered(supply.hosts[: last + 1], amounts)


def fill_blocks(supply: Supply, slots: int, last_on_first: bool = False) -> Allocation | None:
    """Return whole blocks on the first hosts that fit one, and the rest on one more host.

    Exact also if blocks differ from host to host: the last host holds 1 … its block, so taking
    whole hosts until their sum would reach `slots` leaves a rest that either the next whole host or
    the first other host with enough free slots takes. last_on_first: the rest goes to row 0.
    """
    blocks = supply.blocks
    assert blocks is not None
    if not blocks.size:
        return None
    whole = supply.caps >= blocks
    if last_on_first:
        whole[0] = False
    amounts = np.where(whole, blocks, 0)
    sums = amounts.cumsum()
    taken = int(sums.searchsorted(slots))
    rest = slots - (int(sums[taken - 1]) if taken else 0)
    fitting = np.minimum(supply.caps, blocks) >= rest
    fitting[:taken] &= ~whole[:taken]
    last = int(fitting.argmax())
    if not fitting[last] or (last_on_first and last):
        return None
    amounts[taken:] = 0
    amounts[last] = rest
    used = amounts.nonzero()[0]
    return gathered(supply.hosts[used], amounts[used])


def gathered(hosts: IntArray, amounts: IntArray) -> Allocation:
    """Return slots by host from rows in order; a host may have several rows."""
    found: Allocation = {}
    for host, slots in zip(hosts.tolist(), amounts.tolist(), strict=True):
        found[host] = found.get(host, 0) + slots
    return found


def takes_first_hosts(term: TermDemand) -> bool:
    """Return whether a term is placed on the first of its candidates that have enough for it."""
    return term.block == 1 and term.first_hosts is None and term.unit is None and not term.same


def is_plain(term: TermDemand, capacity: TermCapacity, slots: int) -> bool:
    """Return whether the functions of this module are exact for this number of slots of a term."""
    return (
        takes_first_hosts(term)
        and capacity.first is None
        and all(_is_loose(group, slots) for group in capacity.groups)
    )


def _is_loose(group: GroupCap, slots: int) -> bool:
    """Return whether the cap of a group cannot restrict a placement of this number of slots."""
    return (group.slots is None or group.slots >= slots) and (
        group.hosts is None or group.hosts >= slots
    )


def place_plain(term: TermDemand, capacity: TermCapacity, slots: int) -> Allocation | None:
    """Return the allocation of a plain term, or None."""
    caps = capacity.caps[term.candidates]
    rows = caps.nonzero()[0]
    if not rows.size:
        return None
    hosts, caps = term.candidates[rows], caps[rows]
    if term.one_host or (term.ptile is None and caps[0] >= slots):
        large = caps >= slots
        at = int(large.argmax())
        return {int(hosts[at]): slots} if large[at] else None
    blocks = None if term.ptile is None else term.ptile[hosts]
    supply = Supply(hosts, caps, blocks, np.zeros_like(hosts), None)
    return fill_any(supply, slots) if blocks is None else fill_blocks(supply, slots)


def fits_plain(term: TermDemand, capacity: TermCapacity, slots: int) -> bool:
    """Return whether :func:`place_plain` finds a placement.

    Of blocks, the rest that the hosts with a whole one leave has to fit on one other host.
    """
    caps, blocks = capacity.caps, term.ptile
    if len(term.candidates) != len(caps):  # In any other case the order makes no difference.
        caps = caps[term.candidates]
        blocks = None if blocks is None else blocks[term.candidates]
    if term.one_host or blocks is None:
        most = caps.max(initial=0) if term.one_host else caps.sum()
        return bool(most >= slots)
    whole = caps >= blocks
    rest = slots - int(blocks[whole].sum())
    return rest <= 0 or bool((caps[~whole] >= rest).any())


@dataclass(frozen=True, slots=True)
class Layout:
    """Units in the order tried, the capacity of each, and the first execution host if required."""

    #: Ids of the units.
    units: IntArray
    #: Capacities of the units.
    stock: Stock
    #: Blocks that the term needs.
    need: Need
    #: Row of the supply that must come first, -1 for any.
    first: int = -1


def exact_for(supply: Supply, unit: UnitDemand | None) -> bool:
    """Return whether the method is exact for this supply.

    Blocks that differ from host to host are a subset-sum problem if a unit must hold a given number
    of them (usablecuslots, balance) or a certain host must be the last.
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


def feasible(supply: Supply, unit: UnitDemand | None, capacity: TermCapacity, slots: int) -> bool:
    """Return whether :func:`combine` finds a placement, without building it."""
    if not supply.uniform:
        return combine(supply, unit, capacity, slots) is not None
    rules = Rules.of(unit)
    for layout in _layouts(supply, unit, capacity, slots):
        forced = layout.first >= 0
        if (
            not rules.fewest
            and first_fit_choice(layout.stock, layout.need, rules, forced) is not None
        ):
            return True
        if not rules.plain and fewest_units(layout.stock, layout.need, rules, forced) is not None:
            return True
    return False


def combine(
    supply: Supply, unit: UnitDemand | None, capacity: TermCapacity, slots: int
) -> Allocation | None:
    """Return the allocation by the tie rules of the package, or None; see :func:`exact_for`."""
    if not supply.uniform:
        return _walk(supply, unit, capacity, slots)
    rules = Rules.of(unit)
    best: tuple[int, Layout] | None = None
    for layout in _layouts(supply, unit, capacity, slots):
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


def _layouts(
    supply: Supply, unit: UnitDemand | None, capacity: TermCapacity, slots: int
) -> Iterator[Layout]:
    """Yield one layout, or one for each kind of first execution host, in candidate order
    (PLC-12).
    """
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
    free = capacity.caps if capacity.free_now is None else capacity.free_now

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
    # Units with equal capacities are equivalent, so the first of each kind is tried.
    keys = (whole[owners] * 2 + spare[owners]) * 2 + whole_rows[rows]
    for at in np.sort(np.unique(keys, return_index=True)[1]):
        yield layout(int(rows[at]), not whole_rows[rows[at]])


def _arranged(supply: Supply, layout: Layout, chosen: IntArray, share: Share) -> Allocation:
    """Return the hosts for a share, unit after unit."""
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


def _walk(
    supply: Supply, unit: UnitDemand | None, capacity: TermCapacity, slots: int
) -> Allocation | None:
    """Return a first fit over the hosts, units in order, if blocks differ from host to host."""
    if supply.first is None:
        starts = [-1]
    else:
        whole = np.flatnonzero(supply.first & _takes_whole(supply))
        # The first suitable host of each unit represents it.
        starts = whole[np.sort(np.unique(supply.units[whole], return_index=True)[1])].tolist()
    best: tuple[int, Allocation] | None = None
    for row in starts:
        order = _uneven_units(supply, unit, capacity, slots, row)
        if order is not None and (best is None or order.size < best[0]):
            found = fill_blocks(supply.take(_rows_by_unit(supply, order, row)), slots)
            best = best if found is None else (order.size, found)
    return None if best is None else best[1]


def _uneven_units(
    supply: Supply, unit: UnitDemand | None, capacity: TermCapacity, slots: int, row: int
) -> IntArray | None:
    """Return the units to fill in order: all of them, or the first combination of the fewest."""
    if unit is None:
        return np.zeros(1, dtype=np.int64)
    free = capacity.caps if capacity.free_now is None else capacity.free_now
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
    """Return the rows of the units in order, with candidate order inside, row `row` (if any)
    first.
    """
    rank = np.full(int(supply.units.max()) + 1, order.size, dtype=np.int64)
    rank[order] = np.arange(order.size)
    ranks = rank[supply.units]
    rows = np.argsort(ranks, kind="stable")
    rows = rows[ranks[rows] < order.size]
    return rows if row < 0 else np.append([row], rows[rows != row])


def _takes_whole(supply: Supply) -> BoolArray:
    whole: BoolArray = supply.caps >= (1 if supply.blocks is None else supply.blocks)
    return whole
