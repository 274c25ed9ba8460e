"""Resizable jobs (PLC-14, TBR-14): a running -ar job below its maximum takes what is free.

A wish to grow has its turn like a pending job. Where fairshare, partitions or pools are at work it
stands in their order, beside the jobs that wait, and each slot it gets counts before the next turn
(FSH-15). First come, first served, growth comes last in a cycle, in queue order; so do the wishes
that an order had no turn for. It never touches what pending jobs hold. New slots obey the job's
span: more slots on any candidate host, blocks on new hosts under ptile (the last one may be
smaller where the maximum asks for it), blocks on any host under block, the same host under hosts=1;
same[] keeps to the class of the job's hosts.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...model.job import Job
from ..availability.demand import TermDemand
from ..fairshare.dispatch_policy import FirstCome
from ..fairshare.queue_order import queue_key
from ..fairshare.stages import Offer
from ..placement.single import place_most
from ..world.cycle_state import CycleState
from ..world.job_state import RUNNING, JobState


def wishes(cycle: CycleState) -> list[Job]:
    """Of each running job that may grow the slots it still wants, as a range from 1."""
    return [
        replace(state.job, slots=1, max_slots=state.job.most_slots - state.slots)
        for state in cycle.world.growing.values()
        if state.status == RUNNING and state.slots < state.job.most_slots
    ]


def grow_last(cycle: CycleState) -> None:
    """The turns at the end of a cycle."""
    jobs = wishes(cycle)
    if not jobs:
        return
    world = cycle.world
    order = world.order
    if isinstance(order, FirstCome):
        priority = {queue.name: queue.priority for queue in cycle.instance.queues}
        for job in sorted(jobs, key=lambda job: queue_key(job, priority[job.queue])):
            number = world.states.of(job.id).number
            grow(cycle, Offer(job, (number,)))
        return
    order.begin(world.now, jobs)
    while (offer := order.next()) is not None:
        grow(cycle, offer)
        order.skipped(offer.job)


def grow(cycle: CycleState, offer: Offer) -> None:
    """Let one job grow, now that it is its turn, within what the offer allows."""
    state = cycle.world.states.of(offer.job.id)
    demand = cycle.world.requests.now(cycle.shape(state))
    if offer.withheld or demand.impossible or len(demand.terms) > 1:
        return
    most = state.job.most_slots - state.slots
    if offer.max_slots is not None:
        most = min(most, offer.max_slots)
    term = _missing(demand.terms[0], state, most)
    if term is None:
        return
    beside = cycle.beside(cycle.eligibility.closed(state.job.queue, offer.hosts), state)
    room = beside.room(demand, term, term.alternatives[state.alternative], beside.now)
    more = place_most(term, room)
    if more is None:
        return
    allocation = dict(state.allocation)
    for host, slots in more.items():
        allocation[host] = allocation.get(host, 0) + slots
    cycle.world.resize(state, allocation)
    cycle.drop_future()
    if state.job.id not in cycle.record.resized:
        cycle.record.resized.append(state.job.id)


def _missing(term: TermDemand, state: JobState, most: int) -> TermDemand | None:
    """The part of the term that is still to come, `most` slots of it; None if it cannot grow."""
    own = np.array(list(state.allocation), dtype=np.int64)
    candidates = term.candidates
    block = 1
    for labels in term.same[:1]:
        candidates = candidates[labels[candidates] == labels[own[0]]]
    if term.one_host:
        candidates = own
    elif term.ptile is not None:
        candidates = candidates[~np.isin(candidates, own)]
        if not candidates.size:
            return None
        block = min(most, int(term.ptile[candidates].min()))
        if any(state.allocation[int(h)] < int(term.ptile[h]) for h in own):
            # The last host holds a remainder: no further block may follow it.
            return None
    elif term.block > 1:
        block = min(most, term.block)
        if any(slots % term.block for slots in state.allocation.values()):
            return None
    if most < block or not candidates.size:
        return None
    return replace(term, slots=block, most=most, candidates=candidates, first_hosts=None)
