"""What greedy reservation really does: the cycle run on, without new jobs, until all have started.

At every instant at which a job ends, all reservations are dropped and made anew in priority order:
a job that fits beside the reservations of the jobs before it starts, the others reserve what is
free. Jobs end at their limits. The start found this way is what a job would get, where the greedy
*estimate* (GRD-03) is only "no sooner than".
"""

from __future__ import annotations

import numpy as np

from ..availability.arrays import BoolArray, IntArray
from ..availability.demand import Demand
from ..availability.profile import FOREVER, Profile
from ..availability.resources import SLOTS
from ..placement.earliest import Start, hold_start, start_at
from ..problem import PlanningProblem


def run_on_greedily(problem: PlanningProblem) -> dict[str, int]:
    """Start of each pending job (seconds) under greedy reservation; absent: it never starts."""
    profile = problem.base.copy()
    waiting = [demand for demand in problem.demands if not demand.impossible]
    members = {demand.job.id: _member(demand, profile.hosts) for demand in waiting}
    starts: dict[str, int] = {}
    time: int | None = problem.instance.now
    while waiting and time is not None:
        waiting = _cycle(profile, waiting, members, time, starts)
        time = _next_instant(profile, waiting, time)
    return starts


def _cycle(
    profile: Profile,
    waiting: list[Demand],
    members: dict[str, BoolArray],
    time: int,
    starts: dict[str, int],
) -> list[Demand]:
    """One scheduling cycle at `time`; returns the jobs that still wait."""
    free = np.maximum(profile.free(SLOTS, time), 0).astype(np.int64)
    held = np.zeros_like(free)
    left: list[Demand] = []
    for demand in waiting:
        member = members[demand.job.id]
        start = None
        if demand.earliest <= time and int((free - held)[member].sum()) >= demand.slots:
            start = _start_beside(profile, demand, time, held)
        if start is None:
            _reserve(demand, member, free, held)
            left.append(demand)
        else:
            hold_start(profile, demand, start)
            free = np.maximum(profile.free(SLOTS, time), 0).astype(np.int64)
            starts[demand.job.id] = time
    return left


def _start_beside(profile: Profile, demand: Demand, time: int, held: IntArray) -> Start | None:
    """A start now that leaves the slots that earlier jobs hold alone."""
    if not held.any():
        return start_at(profile, demand, time)
    beside = profile.copy()
    for host in np.flatnonzero(held):
        beside.block(int(host), float(held[host]), time, time + 1)
    return start_at(beside, demand, time)


def _reserve(demand: Demand, member: BoolArray, free: IntArray, held: IntArray) -> None:
    """Hold up to the minimum the job asks for, in candidate order (GRD-01)."""
    missing = demand.slots
    for host in dict.fromkeys(int(h) for term in demand.terms for h in term.candidates):
        slots = min(missing, int(free[host] - held[host]))
        if slots > 0 and member[host]:
            held[host] += slots
            missing -= slots
        if not missing:
            return


def _next_instant(profile: Profile, waiting: list[Demand], time: int) -> int | None:
    """The next instant at which something is freed or a job may begin; None if there is none."""
    ends = profile.candidate_times(time)[1:2]
    begins = [demand.earliest for demand in waiting if demand.earliest > time]
    openings = [
        opening
        for demand in waiting
        if demand.calendar is not None
        for opening in demand.calendar.openings(time + 1)
    ]
    return min((t for t in (*ends, *begins, *openings) if time < t < FOREVER), default=None)


def _member(demand: Demand, hosts: int) -> BoolArray:
    member = np.zeros(hosts, dtype=bool)
    for term in demand.terms:
        member[term.candidates] = True
    return member
