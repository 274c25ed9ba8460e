"""Greedy slot reservation, LSF's default: literal, with its known errors (GRD-01 … GRD-05).

It looks at what is free now and at the minimum of slots, not at topology, memory or limits of the
future; the estimate it gives is "no sooner than". See :mod:`slotwise.solver.methods.runon` for the
start that jobs really get under it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...model.duration import expected_finish
from ...model.instance import Instance
from ...model.plan import Plan, PlannedJob, Unplaced
from ..availability.arrays import BoolArray, FloatArray, IntArray
from ..availability.demand import Demand, TermDemand
from ..availability.profile import Profile
from ..availability.resources import SLOTS
from ..placement.earliest import hold_start, start_at
from ..problem import PlanningProblem
from ..rules.pending_reasons import reason_unplaced
from ..rules.shortage import counted


@dataclass(slots=True)
class GreedyState:
    """What greedy reservation knows: who ends when, and the slots that pending jobs hold now.

    finishes: (finish, slots per host index) of jobs with a known end, ascending by finish.
    """

    finishes: list[tuple[int, dict[int, int]]]
    held: IntArray
    reserved: dict[str, dict[int, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, problem: PlanningProblem) -> GreedyState:
        """The state before any reservation."""
        instance = problem.instance
        index = instance.cluster.host_index()
        finishes: list[tuple[int, dict[int, int]]] = []
        for running in instance.running:
            finish = expected_finish(instance, running)
            if finish is not None:
                slots = {index[name]: count for name, count in running.allocation.items()}
                finishes.append((finish, slots))
        finishes.sort(key=lambda item: item[0])
        return cls(finishes, np.zeros(len(index), dtype=np.int64))


def greedy_plan(instance: Instance, *, as_lsf: bool = True) -> Plan:
    """Start what starts now; for every other pending job reserve slots and estimate its start."""
    return plan_greedy(PlanningProblem.of(instance, as_lsf=as_lsf))


def plan_greedy(problem: PlanningProblem) -> Plan:
    """:func:`greedy_plan` for a problem that is already resolved."""
    profile = problem.base.copy()
    state = GreedyState.of(problem)
    reservations: list[PlannedJob] = []
    unplaced: list[Unplaced] = []
    for demand in problem.demands:
        planned = reserve_greedily(problem, demand, state, profile)
        if planned is None:
            unplaced.append(Unplaced(demand.job.id, reason_unplaced(problem, demand)))
        else:
            reservations.append(planned)
    return Plan(
        method="greedy",
        objective="lexicographic",
        status="heuristic",
        now=problem.instance.now,
        reservations=tuple(reservations),
        unplaced=tuple(unplaced),
    )


def reserve_greedily(
    problem: PlanningProblem,
    demand: Demand,
    state: GreedyState,
    profile: Profile,
    *,
    fallback: str = "",
) -> PlannedJob | None:
    """Start a job now if it fits beside the reservations made so far, else reserve and estimate.

    Returns None for a job that can never start. `profile` takes the job if it starts; slots that
    are only reserved are kept in `state`.
    """
    if demand.impossible:
        return None
    now = problem.instance.now
    beside = _beside(profile, state, now)
    if demand.earliest <= now:
        start = start_at(beside, demand, now)
        if start is not None:
            hold_start(profile, demand, start)
            return problem.planned(demand, start, "greedy")
    free = beside.free(SLOTS, now)
    group = candidate_group(demand, free)
    if problem.instance.params.reserve_by_starttime:
        group = _earliest_group(demand, free, state, now)
    taken = free_slots_in_order(demand, group, free)
    if _other_resource_missing(demand, group, beside, now):
        taken = {}
    for host, slots in taken.items():
        state.held[host] += slots
    state.reserved[demand.job.id] = taken
    estimate = _estimate(demand, group, taken, state, now)
    return PlannedJob(
        job=demand.job.id,
        start=None,
        method="greedy",
        estimate=estimate,
        reserved=problem.named(taken),
        waits_for=f"needs {counted(demand.slots, 'free slot')}, holds {sum(taken.values())} now",
        fallback=fallback,
    )


def _beside(profile: Profile, state: GreedyState, now: int) -> Profile:
    """The profile with the slots that pending jobs hold now taken out for this instant."""
    if not state.held.any():
        return profile
    beside = profile.copy()
    for host in np.flatnonzero(state.held):
        beside.block(int(host), float(state.held[host]), now, now + 1)
    return beside


def candidate_group(demand: Demand, free: FloatArray) -> BoolArray:
    """The hosts a reservation goes to: of mutually exclusive groups the one with most free slots.

    Ties: the group of the earlier candidate (GRD-02). free: slots per host, [H].
    """
    at_least_none = np.maximum(free, 0)
    return max(
        candidate_groups(demand, len(free)), key=lambda mask: float(at_least_none[mask].sum())
    )


def _earliest_group(demand: Demand, free: FloatArray, state: GreedyState, now: int) -> BoolArray:
    """Under RESERVE_BY_STARTTIME the group with the earliest estimate, the earlier one of equals.

    See TBR-17; a group that never has enough comes last.
    """

    def estimate(group: BoolArray) -> float:
        found = _estimate(demand, group, free_slots_in_order(demand, group, free), state, now)
        return float("inf") if found is None else found

    return min(candidate_groups(demand, len(free)), key=estimate)


def candidate_groups(demand: Demand, hosts: int) -> list[BoolArray]:
    """Sets of hosts of which a job may use only one, as masks [H]; all candidates where it may mix.

    Groups are exclusive where the job may not mix them: single hosts under span[hosts=1], the
    classes of same[] (GRD-02).
    """
    member = np.zeros(hosts, dtype=bool)
    for term in demand.terms:
        member[term.candidates] = True
    return _exclusive_groups(demand.terms[0], member) or [member]


def _exclusive_groups(term: TermDemand, member: BoolArray) -> list[BoolArray]:
    labels = [np.arange(len(member), dtype=np.int64)] if term.one_host else list(term.same)
    groups: list[BoolArray] = []
    for array in labels:
        inside = array[term.candidates]
        _, first = np.unique(inside, return_index=True)
        groups += [member & (array == inside[at]) for at in sorted(first) if inside[at] >= 0]
    return groups


def free_slots_in_order(demand: Demand, group: BoolArray, free: FloatArray) -> dict[int, int]:
    """As many free slots as it may, up to the minimum it asks for, in candidate order (GRD-01)."""
    order = np.concatenate([term.candidates for term in demand.terms])
    if len(demand.terms) > 1:
        order = order[np.sort(np.unique(order, return_index=True)[1])]
    there = np.where(group[order], np.maximum(free[order], 0), 0).astype(np.int64)
    taken = np.clip(demand.slots - (np.cumsum(there) - there), 0, there)
    used = np.flatnonzero(taken)
    return dict(zip(order[used].tolist(), taken[used].tolist(), strict=True))


def _other_resource_missing(demand: Demand, group: BoolArray, profile: Profile, now: int) -> bool:
    """Under SLOT_RESERVE nothing is reserved while anything but slots is short (MEM-08)."""
    if demand.queue.slot_reserve is None or demand.queue.resource_reserve is not None:
        return False
    for term in demand.terms:
        caps = np.zeros(profile.hosts, dtype=np.int64)
        for alternative in term.alternatives:
            caps = np.maximum(caps, profile.room(demand, term, alternative, now).caps)
        free = profile.free(SLOTS, now)
        if ((caps < np.minimum(free, term.slots)) & group & (free > 0)).any():
            return True
    return False


def _estimate(
    demand: Demand, group: BoolArray, taken: dict[int, int], state: GreedyState, now: int
) -> int | None:
    """The finish of the running job with which the slots add up to the minimum (GRD-03)."""
    total = sum(taken.values())
    if total >= demand.slots:
        return max(now, demand.earliest)
    for finish, slots in state.finishes:
        total += sum(count for host, count in slots.items() if group[host])
        if total >= demand.slots:
            return max(finish, demand.earliest)
    return None
