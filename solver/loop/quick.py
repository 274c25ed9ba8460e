"""Placement of plain jobs without ceremony: first fit, blocks or one host, on caps that are known.

Most jobs of most workloads ask for nothing but slots, perhaps so many on a host. For these the
general placement would come to the same answer (a test compares them); this is the short way there.
"""

from __future__ import annotations

import numpy as np

from ..demand import Allocation, Room, TermDemand
from ..placement.fill import fill_any, fill_blocks
from ..placement.supply import Supply


def is_plain(term: TermDemand) -> bool:
    """Whether :func:`place_plain` is exact for a term."""
    return (
        term.unit is None and not term.same and term.first_hosts is None and term.most <= term.slots
    )


def place_plain(term: TermDemand, room: Room) -> Allocation | None:
    """The placement of a plain term in a room without groups, or None."""
    caps = room.caps[term.candidates]
    rows = np.flatnonzero(caps)
    if not rows.size:
        return None
    hosts, caps = term.candidates[rows], caps[rows]
    if term.one_host:
        large = caps >= term.slots
        at = int(large.argmax())
        return {int(hosts[at]): term.slots} if large[at] else None
    if term.ptile is not None:
        return fill_blocks(Supply(hosts, caps, term.ptile[hosts], caps, None), term.slots)
    if caps[0] >= term.slots:
        return {int(hosts[0]): term.slots}
    return fill_any(Supply(hosts, caps, None, caps, None), term.slots)
