"""Resizable jobs (PLC-14, TBR-14): a running -ar job below its maximum takes what is free.

Growth comes last in a cycle and never touches what pending jobs hold. New slots obey the job's
span: more slots on any candidate host, whole blocks on new hosts under ptile, the same host under
hosts=1; same[] keeps to the class of the job's hosts.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..availability.demand import TermDemand
from ..placement.ranges import place_most
from ..world.cycle_state import CycleState
from ..world.job_state import RUNNING, JobState


def grow(cycle: CycleState) -> None:
    """Let running resizable jobs grow, the earliest started first."""
    jobs = [
        state
        for state in cycle.world.growing.values()
        if state.status == RUNNING and state.slots < state.job.most_slots
    ]
    for state in sorted(jobs, key=lambda s: (s.start or 0, s.number)):
        _grow(cycle, state)


def _grow(cycle: CycleState, state: JobState) -> None:
    demand = cycle.world.requests.now(cycle.shape(state))
    if demand.impossible or len(demand.terms) > 1:
        return
    term = _missing(demand.terms[0], state)
    if term is None:
        return
    beside = cycle.beside(cycle.eligibility.closed(state.job.queue, None), state)
    room = beside.room(demand, term, term.alternatives[state.alternative], beside.now)
    more = place_most(term, room)
    if more is None:
        return
    allocation = dict(state.allocation)
    for host, slots in more.items():
        allocation[host] = allocation.get(host, 0) + slots
    cycle.world.resize(state, allocation)
    cycle.drop_future()
    cycle.record.resized.append(state.job.id)


def _missing(term: TermDemand, state: JobState) -> TermDemand | None:
    """The part of the term that is still to come, None if it cannot grow."""
    own = np.array(list(state.allocation), dtype=np.int64)
    most = state.job.most_slots - state.slots
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
        block = int(term.ptile[candidates].min())
        most -= most % block
        if any(state.allocation[int(h)] < int(term.ptile[h]) for h in own):
            # The last host holds a remainder: no further block may follow it.
            return None
    if most < block or not candidates.size:
        return None
    return replace(term, slots=block, most=most, candidates=candidates, first_hosts=None)
