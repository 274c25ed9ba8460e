"""How the blocks of a term are split over a set of units.

A *block* is what one host holds: ptile slots (one slot where there is no span). A term of n slots
asks for q = n // p whole blocks and, if n is no multiple of p, a last block of r = n mod p slots.
Each function takes the units in the order they are tried and answers with the number of whole
blocks in each and the unit of the last block, or None if the rule cannot be kept with these units.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..availability.arrays import BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class Stock:
    """What each unit can give.

    whole: hosts that hold a whole block. spare: whether a further host holds the last block only.
    """

    whole: IntArray
    spare: BoolArray

    def take(self, positions: IntArray) -> Stock:
        return Stock(self.whole[positions], self.spare[positions])


@dataclass(frozen=True, slots=True)
class Need:
    """Blocks a term asks for.

    size: slots in a whole block. blocks: whole blocks. rest: slots of the last block, 0 for none.
    pinned: the last block must be in the first unit, on a host that takes no whole one.
    """

    size: int
    blocks: int
    rest: int
    pinned: bool = False

    @property
    def total(self) -> int:
        """All blocks, that is hosts under ptile and slots without span."""
        return self.blocks + (self.rest > 0)


class Share(NamedTuple):
    """Whole blocks in each unit and the position of the unit with the last block (-1: none)."""

    whole: IntArray
    last: int


def first_fit(stock: Stock, need: Need) -> Share | None:
    """Units filled one after another; the last block where there is room, used units first."""
    if int(stock.whole.sum()) < need.blocks:
        return None
    whole = filled(stock.whole, need.blocks)
    if not need.rest:
        return Share(whole, -1)
    if need.pinned:
        return Share(whole, 0)
    room = (stock.whole > whole) | stock.spare
    for units in (np.flatnonzero(room & (whole > 0)), np.flatnonzero(room)):
        if units.size:
            return Share(whole, int(units[0]))
    return None


def at_least(stock: Stock, need: Need, least: int) -> Share | None:
    """Every unit used, each with `least` slots or more, one of them maybe fewer (PLC-08).

    The unit with fewer is the last in order if no unit is too small for `least` anyway.
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
    """Least whole blocks in each unit, one array for each choice of the unit with fewer."""
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
    """Every unit used, block counts differ by at most 1 (PLC-09); larger parts first in order.

    least: at least so many slots in all units but one (the lenient reading of PLC-10).
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
    """`larger` units with low + 1 blocks, the rest with low; `high`: the last block's unit too."""
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
    """Positions worth trying for the last block, last ones first: one of each kind of unit."""
    if not need.rest:
        return [-1]
    if need.pinned:
        return [0]
    kinds = (stock.whole * 2 + stock.spare)[::-1]
    _, at = np.unique(kinds, return_index=True)
    return [kinds.size - 1 - int(position) for position in np.sort(at)]


def filled(most: IntArray, amount: int) -> IntArray:
    """`amount` handed out in order, each entry up to its most."""
    filled: IntArray = np.clip(amount - (np.cumsum(most) - most), 0, most)
    return filled
