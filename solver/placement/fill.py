"""From blocks a unit to slots a host."""

from __future__ import annotations

import numpy as np

from ..availability.arrays import Allocation, IntArray
from .supply import Supply


def fill_any(supply: Supply, slots: int) -> Allocation | None:
    """First fit in the order of the rows, any number of slots on each host."""
    sums = supply.caps.cumsum()
    last = int(sums.searchsorted(slots))
    if last == sums.size:
        return None
    amounts = supply.caps[: last + 1].copy()
    amounts[last] -= sums[last] - slots
    return gathered(supply.hosts[: last + 1], amounts)


def fill_blocks(supply: Supply, slots: int, last_on_first: bool = False) -> Allocation | None:
    """Whole blocks on the first hosts that take one; what is left on one more host.

    Exact also where blocks differ from host to host: the last host holds 1 … its block, so
    taking whole hosts until their sum would reach `slots` leaves a rest that either the next
    whole host or the first other host with room takes. last_on_first: the rest goes to row 0.
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
    """Slots by host of rows in order; a host may have several."""
    found: Allocation = {}
    for host, slots in zip(hosts.tolist(), amounts.tolist(), strict=True):
        found[host] = found.get(host, 0) + slots
    return found
