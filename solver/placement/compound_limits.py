"""What a job of several terms counts once, not once a term: limits on jobs, hosts it has whole."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..availability.arrays import Allocation
from ..availability.demand import Availability, Demand, Room, TermDemand
from ..availability.resources import Pool
from ..availability.uses import Alternative, Per, Use

#: What one term takes and where.
Part = tuple[Alternative, Allocation]


def held_by_terms(terms: Iterable[Part], pools: Sequence[Pool]) -> Iterator[Part]:
    """What a job holds, term after term. pools: of the resource table."""
    before: set[int] = set()
    for alternative, allocation in terms:
        yield from counted_once(alternative, allocation, before, pools)
        before |= set(allocation)


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
        yield replace(alternative, host_uses=once, pool_uses=()), new


def room_beside(
    availability: Availability,
    demand: Demand,
    term: TermDemand,
    alternative: Alternative,
    time: int,
    before: Mapping[int, int],
) -> Room:
    """The room of a term of a job whose earlier terms hold the slots `before` by host.

    `availability` has these terms already.
    """
    if not before:
        return availability.room(demand, term, alternative, time)
    once, rest = _split(alternative, before, availability.table.pools)
    room = availability.room(demand, term, rest, time)
    if not once:
        return room
    own = np.zeros(availability.hosts, dtype=np.int64)
    own[list(before)] = list(before.values())
    here = room.caps
    for use in once:
        if use.per is Per.WHOLE:  # the job has the host to itself, so what it left is its own
            capacity = availability.table.host_resources[use.index].capacity
            here = np.minimum(here, (capacity - own).astype(np.int64))
    alone = replace(alternative, host_uses=once, pool_uses=())
    elsewhere = availability.room(demand, term, alone, time).caps
    return replace(room, caps=np.where(own > 0, here, np.minimum(room.caps, elsewhere)))


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
    rest = replace(
        alternative,
        host_uses=tuple(use for use in alternative.host_uses if not use.once),
        pool_uses=tuple(
            use
            for use in alternative.pool_uses
            if not (use.once and pools[use.index].mask[list(before)].any())
        ),
    )
    return once, rest
