"""Limits on jobs under compound requirements: a job counts once, not once a term."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..availability.arrays import Allocation
from ..availability.demand import Availability, Demand, Room, TermDemand
from ..availability.resources import Pool
from ..availability.uses import Alternative, Use

#: What one term takes and where.
Part = tuple[Alternative, Allocation]


def counted_once(
    alternative: Alternative,
    allocation: Allocation,
    before: Collection[int],
    pools: Sequence[Pool],
) -> Iterator[Part]:
    """What one term holds: what counts a job once only where no earlier term is.

    before: the hosts of the earlier terms. pools: of the resource table.
    """
    if not before:
        yield alternative, allocation
        return
    once, rest = _split(alternative, before, pools)
    yield rest, allocation
    new = {host: slots for host, slots in allocation.items() if host not in before}
    if once and new:
        yield Alternative(once), new


def room_beside(
    availability: Availability,
    demand: Demand,
    term: TermDemand,
    alternative: Alternative,
    time: int,
    before: Collection[int],
) -> Room:
    """The room of a term of a job whose earlier terms are on the hosts `before`."""
    once, rest = _split(alternative, before, availability.table.pools)
    room = availability.room(demand, term, rest, time)
    if not once:
        return room
    caps = availability.room(demand, term, Alternative(once), time).caps
    counted = np.zeros(availability.hosts, dtype=bool)
    counted[list(before)] = True
    return replace(room, caps=np.where(counted, room.caps, np.minimum(room.caps, caps)))


def counts_once(demand: Demand) -> bool:
    """Whether several terms of the job meet in a limit that counts the job once."""
    return len(demand.terms) > 1 and any(
        use.once
        for term in demand.terms
        for alternative in term.alternatives
        for use in (*alternative.host_uses, *alternative.pool_uses)
    )


def _split(
    alternative: Alternative, before: Collection[int], pools: Sequence[Pool]
) -> tuple[tuple[Use, ...], Alternative]:
    """Host uses that count the job once, and the alternative without what is counted already."""
    once = tuple(use for use in alternative.host_uses if use.once)
    rest = Alternative(
        tuple(use for use in alternative.host_uses if not use.once),
        tuple(
            use
            for use in alternative.pool_uses
            if not (use.once and pools[use.index].mask[list(before)].any())
        ),
        alternative.missing,
    )
    return once, rest
