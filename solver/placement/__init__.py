"""Exact placement of one term at one window."""

from __future__ import annotations

import numpy as np

from ..demand import Allocation, Room, TermDemand
from .fill import fill_any, fill_blocks
from .supply import Supply, supplies

__all__ = ["fits", "place"]


def place(term: TermDemand, room: Room, slots: int | None = None) -> Allocation | None:
    """Exactly `slots` slots (term.slots by default), or None if there is no such placement."""
    wanted = term.slots if slots is None else slots
    for supply in supplies(term, room, wanted):
        found = _place(supply, wanted)
        if found is not None:
            return found
    return None


def fits(term: TermDemand, room: Room, slots: int | None = None) -> bool:
    """Whether place() finds a placement."""
    return place(term, room, slots) is not None


def _place(supply: Supply, slots: int) -> Allocation | None:
    fill = fill_any if supply.blocks is None else fill_blocks
    if supply.first is None:
        return fill(supply, slots)
    for row in np.flatnonzero(supply.first):
        order = np.r_[row, np.delete(np.arange(supply.hosts.size), row)]
        found = fill(supply.take(order), slots)
        if found is not None and int(supply.hosts[row]) in found:
            return found
    return None
