"""Fewest units where blocks differ from host to host (ptile='!' on mixed hosts).

Units count in slots here: what their whole hosts hold, and the most that one more host, too small
for its own block, could add as the last. A set of units holds n slots exactly if the wholes and
one such addition reach n, because the last host may hold any part of its block.
"""

from __future__ import annotations

import numpy as np

from ..availability.arrays import IntArray


def fewest_uneven(
    whole: IntArray, extra: IntArray, slots: int, most: int | None, forced: bool
) -> IntArray | None:
    """The first combination of the fewest units that holds `slots`, as positions, or None.

    whole, extra: slots a unit, in the order units are tried. most: maxcus. forced: the first unit
    must be used, and holds a whole host.
    """
    limit = whole.size if most is None else min(most, whole.size)
    start = np.arange(1 if forced else 0)
    largest = np.cumsum(np.sort(whole + extra)[::-1])
    for count in range(int(np.searchsorted(largest, slots)) + 1, limit + 1):
        if _completes(whole, extra, slots, start, np.arange(start.size, whole.size), count):
            return _first(whole, extra, slots, start, count)
    return None


def _first(whole: IntArray, extra: IntArray, slots: int, chosen: IntArray, count: int) -> IntArray:
    for position in range(chosen.size, whole.size):
        more = np.append(chosen, position)
        later = np.arange(position + 1, whole.size)
        if more.size <= count and _completes(whole, extra, slots, more, later, count):
            chosen = more
    return chosen


def _completes(
    whole: IntArray, extra: IntArray, slots: int, chosen: IntArray, pool: IntArray, count: int
) -> bool:
    """Whether `chosen` with the largest of `pool`, or all but one of them, holds `slots`."""
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
