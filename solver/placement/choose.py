"""Which compute units a term uses (PLC-06 to PLC-10).

Exact by an exchange argument: of the units still free to choose, those with the most whole blocks
serve every rule best, except that one unit with a spare host for the last block may replace the
smallest of them. So two sets of units decide whether a partial choice can be completed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..availability.arrays import BoolArray, IntArray
from ..availability.demand import UnitDemand
from .share import Need, Share, Stock, at_least, balanced, first_fit


@dataclass(frozen=True, slots=True)
class Rules:
    """The keywords of cu[] that bind the choice. most: maxcus. least: usablecuslots, 0: none."""

    most: int | None = None
    least: int = 0
    balance: bool = False
    fewest: bool = False

    @classmethod
    def of(cls, unit: UnitDemand | None) -> Rules:
        if unit is None:
            return cls()
        fewest = unit.maxcus is not None or unit.balance or unit.pref == "bestfit"
        return cls(unit.maxcus, unit.usablecuslots or 0, unit.balance, fewest)

    @property
    def plain(self) -> bool:
        """First fit over the units in order, no more."""
        return not (self.fewest or self.least)


def unit_order(
    unit: UnitDemand, free: IntArray, present: IntArray, forced: int | None = None
) -> IntArray:
    """The units in the order they are tried.

    The unit of the first execution host, then host preference, then pref, then configuration.
    free: free slots per host [H]. present: the units to order.
    """
    owned = unit.unit_of >= 0
    slots = np.bincount(unit.unit_of[owned], weights=free[owned], minlength=len(unit.names))
    sign = {"maxavail": -1, "minavail": 1, "bestfit": 1}.get(unit.pref, 0)
    keys = [present, sign * slots[present]]
    if unit.preference is not None:
        keys.append(-unit.preference[present])
    order: IntArray = present[np.lexsort(keys)]
    return order if forced is None else np.append([forced], order[order != forced])


def share_among(stock: Stock, need: Need, rules: Rules) -> Share | None:
    """The blocks split over all of these units by the rules, or None."""
    if rules.balance:
        return balanced(stock, need, rules.least)
    if rules.least:
        return at_least(stock, need, rules.least)
    return first_fit(stock, need)


def first_fit_choice(stock: Stock, need: Need, rules: Rules, forced: bool) -> Share | None:
    """First fit over the units in order, those too small for usablecuslots left out.

    Complete without usablecuslots; with it, a None only says that units must be combined
    with more care (:func:`fewest_units`).
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
    """The least number of units that can hold the term, or None. forced: the first is used."""
    chosen = np.arange(1 if forced else 0)
    pool = np.arange(chosen.size, stock.whole.size)
    ranked = _ranked(stock, pool)
    for count in _counts(stock, need, rules):
        if _completes(stock, need, rules, chosen, ranked, count):
            return count
    return None


def first_combination(
    stock: Stock, need: Need, rules: Rules, forced: bool, count: int
) -> tuple[IntArray, Share]:
    """The first combination of `count` units in the order given, and its share.

    `count` must come from :func:`fewest_units`. Tries each kind of unit once and the chosen ones.
    """
    chosen = np.arange(1 if forced else 0)
    refused = set()
    for position in range(chosen.size, stock.whole.size):
        if chosen.size == count:
            break
        # A unit refused once stays refused: what completes a choice never grows again.
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
    """Whether `chosen` and some of `ranked` (largest first) make `count` units that serve."""
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
    """Numbers of units that pass the necessary conditions, ascending."""
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
        # All but one unit and the one with the last block hold this many whole blocks.
        possible &= (counts - 2) * -(-rules.least // need.size) <= need.blocks
    found: list[int] = counts[possible].tolist()
    return found
