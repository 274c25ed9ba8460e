"""From blocks a unit to slots a host."""

from __future__ import annotations

import numpy as np

from ..availability.arrays import Allocation, IntArray
from .supply import Supply


def fill_any(supply: Supply, slots: int) -> Allocation | None:
    """First fit in the order of the rows, any number of slots on each host."""
    before = np.cumsum(supply.caps) - supply.caps
    amounts = np.clip(slots - before, 0, supply.caps)
    return _allocation(supply, amounts) if int(amounts.sum()) == slots else None


def fill_blocks(supply: Supply, slots: int, last_on_first: bool = False) -> Allocation | None:
    """Whole blocks on the first hosts that take one; what is left on one more host.

    Exact also where blocks differ from host to host: the last host holds 1 … its block, so
    taking whole hosts until their sum would reach `slots` leaves a rest that either the next
    whole host or the first other host with room takes. last_on_first: the rest goes to row 0.
    """
    blocks = supply.blocks
    assert blocks is not None
    whole = supply.caps >= blocks
    if last_on_first:
        whole[0] = False
    sums = np.cumsum(np.where(whole, blocks, 0))
    chosen = whole & (sums < slots)
    rest = slots - int(blocks[chosen].sum())
    fitting = np.flatnonzero(~chosen & (np.minimum(supply.caps, blocks) >= rest))
    if not fitting.size or (last_on_first and fitting[0] != 0):
        return None
    amounts = np.where(chosen, blocks, 0)
    amounts[fitting[0]] = rest
    return _allocation(supply, amounts)


def _allocation(supply: Supply, amounts: IntArray) -> Allocation:
    used = np.flatnonzero(amounts)
    return gathered(supply.hosts[used], amounts[used])


def gathered(hosts: IntArray, amounts: IntArray) -> Allocation:
    """Slots by host of rows in order; a host may have several."""
    found: Allocation = {}
    for host, slots in zip(hosts.tolist(), amounts.tolist(), strict=True):
        found[host] = found.get(host, 0) + slots
    return found
