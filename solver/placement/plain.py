"""Plain terms without ceremony: first fit, blocks or one host, on caps that are known.

Most jobs ask for nothing but slots, perhaps so many on a host. For these the general method comes
to the same answer (a test compares them); this is the short way there.
"""

from __future__ import annotations

import numpy as np

from ..availability.arrays import Allocation
from ..availability.demand import Room, TermDemand
from .fill import fill_any, fill_blocks
from .supply import Supply


def is_plain(term: TermDemand, room: Room) -> bool:
    """Whether the functions of this module are exact for a term in a room."""
    any_first = term.first_hosts is None and room.first is None
    return term.block == 1 and any_first and term.unit is None and not term.same and not room.groups


def place_plain(term: TermDemand, room: Room, slots: int) -> Allocation | None:
    """The placement of a plain term, or None."""
    caps = room.caps[term.candidates]
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


def fits_plain(term: TermDemand, room: Room, slots: int) -> bool:
    """Whether :func:`place_plain` finds a placement."""
    caps = room.caps[term.candidates]
    if term.one_host or term.ptile is None:
        most = caps.max(initial=0) if term.one_host else caps.sum()
        return bool(most >= slots)
    blocks = term.ptile[term.candidates]
    if int(np.minimum(caps, blocks).sum()) < slots:
        return False
    return place_plain(term, room, slots) is not None
