"""Resizable jobs (PLC-14, TBR-14): a running -ar job below its maximum takes what is free.

A growth request has its place in the order like a pending job. Where fairshare, partitions or pools
are at work it stands beside the jobs that wait, and each slot it gets counts before the next
attempt (FSH-15). First come, first served, growth comes last in a cycle, in queue order; so do the
requests that the order did not come to. It never touches what pending jobs hold. New slots obey the
job's span: more slots on any candidate host, blocks on new hosts under ptile (the last one may be
smaller where the maximum asks for it), blocks on any host under block, the same host under hosts=1;
same[] keeps to the class of the job's hosts.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...model.job import Job
from ...model.shares import hosts_beside
from ..availability.demand import TermDemand
from ..fairshare.priority_order import FirstCome
from ..fairshare.stages import Offer
from ..fairshare.waiting_jobs import queue_key
from ..placement.single import place_most
from .cycle_state import CycleState
from .job_state import RUNNING, JobState


def growth_requests(cycle: CycleState) -> list[Job]:
    """Return the slots that each growing resizable job still requests, as a range from 1."""
    return [
        replace(state.job, slots=1, max_slots=state.job.most_slots - state.slots)
        for state in cycle.world.subsets.growing.values()
        if state.status == RUNNING and state.slots < state.job.most_slots
    ]


def grow_resizable_jobs(cycle: CycleState) -> None:
    """Examine growth requests at the end of a cycle."""
    jobs = growth_requests(cycle)
    if not jobs:
        return
    world = cycle.world
    order = world.order
    if isinstance(order, FirstCome):
        priority = {queue.name: queue.priority for queue in cycle.instance.queues}
        for job in sorted(jobs, key=lambda job: queue_key(job, priority[job.queue])):
            grow(cycle, Offer(job, (world.states.get(job.id).number,)))
        return
    order.begin(world.now, jobs)
    while (offer := order.next()) is not None:
        grow(cycle, offer)
        order.skipped(offer.job)


def grow(cycle: CycleState, offer: Offer) -> None:
    """Let one resizable job grow within its offer."""
    state = cycle.world.states.get(offer.job.id)
    demand = cycle.world.requests.now(cycle.world.shape(state))
    if offer.ineligibility or demand.impossible or len(demand.terms) > 1:
        return
    if demand.terms[0].unit is not None:  # cu[] of its queue: the job is not resizable there (004)
        return
    most = state.job.most_slots - state.slots
    if offer.max_slots is not None:
        most = min(most, offer.max_slots)
    term = _missing(demand.terms[0], state, most)
    if term is None:
        return
    if cycle.instance.partitions:
        names = cycle.world.names
        near = hosts_beside(cycle.instance, (names[host] for host in state.allocation))
        inside = np.array([names[host] in near for host in term.candidates], dtype=bool)
        if not inside.any():
            return
        term = replace(term, candidates=term.candidates[inside])
    residual = cycle.residual(cycle.eligibility.closed(state.job.queue, offer.hosts), state)
    capacity = residual.capacity(demand, term, term.alternatives[state.alternative], residual.now)
    more = place_most(term, capacity)
    if more is None:
        return
    allocation = dict(state.allocation)
    for host, slots in more.items():
        allocation[host] = allocation.get(host, 0) + slots
    cycle.world.resize(state, allocation)
    cycle.planned.invalidate()
    if state.job.id not in cycle.record.resized:
        cycle.record.resized.append(state.job.id)


def _missing(term: TermDemand, state: JobState, most: int) -> TermDemand | None:
    """Return the missing part of the term, `most` slots; None if it cannot grow."""
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
    return replace(term, slots=block, max_slots=most, candidates=candidates, first_hosts=None)
