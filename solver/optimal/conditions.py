"""Proofs on conditions: starts that depend on the allocation of a job that may be placed elsewhere.

A rule that a plan leaves out may put a job on other slots, or at another time, than planned. What
it may take then is entered everywhere and for good; a start that is the earliest beside what runs
alone, on slots that are free all the same, hangs on no such job.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ...model.errors import InputError
from ...model.plan import Plan
from ..availability.demand import Demand, TermDemand, parts_of, with_eligible_time
from ..availability.profile import Profile
from ..availability.resources import Alternative, Per, Use, flat
from ..budget import Budget
from ..placement.earliest import Start, allocate_start, earliest_start, start_at, still_free
from ..placement.holding import may_grow
from ..precedence import jobs_of
from ..problem import PlanningProblem
from ..rules.rule_book import candidate_hosts, pools_used
from .lexicographic import warm_starts
from .order_search import times_of

#: The jobs that the start of a job depends on, by job.
Conditions = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class _Moving:
    """A job that may be elsewhere in other plans, with its possible hosts and pools."""

    job: str
    hosts: set[int]
    pools: set[int]
    #: The unsure jobs that must start as planned to keep this job in its place.
    because: tuple[str, ...]

    def may_meet(self, demand: Demand, hosts: set[int], pools: set[int]) -> bool:
        """Whether this job may take resources that another job needs, or is a dependency (-w) of
        that job.
        """
        waits = demand.after is not None and self.job in jobs_of(demand.after)
        return waits or not (self.hosts.isdisjoint(hosts) and self.pools.isdisjoint(pools))


def conditions(
    problem: PlanningProblem,
    plan: Plan,
    unsure: Collection[str],
    budget: Budget,
    *,
    in_order: bool,
    asking: Mapping[str, Collection[str]],
    firm: Collection[str] = (),
) -> Conditions:
    """Return, for each job, the `unsure` jobs on whose hosts and starts its start depends.

    in_order: a job depends only on jobs before it. asking: for unsure jobs that may hold other
    amounts than planned, the jobs that ask for these. firm: jobs without dependencies. If the
    budget ends, every start that is not yet examined depends on every unsure job.
    """
    if not unsure:
        return {}
    starts = warm_starts(problem, plan)
    found: dict[str, tuple[str, ...]] = {}
    while True:
        known = len(found)
        found |= _found(
            *(problem, starts, unsure, budget, asking),
            before=not in_order,
            found=found,
            firm=firm,
        )
        if in_order or len(found) == known:
            return found


def _found(
    problem: PlanningProblem,
    starts: Mapping[str, Start],
    unsure: Collection[str],
    budget: Budget,
    asking: Mapping[str, Collection[str]],
    *,
    before: bool,
    found: Conditions,
    firm: Collection[str],
) -> dict[str, tuple[str, ...]]:
    """Compute the conditions in one pass over the jobs in priority order; before: moving jobs that
    precede all others.
    """
    profile, times = problem.base.copy(), times_of(starts)
    moving: list[_Moving] = []

    def move(demand: Demand, because: tuple[str, ...]) -> None:
        demand = _under_any_alternative(problem, demand)
        hosts, pools = candidate_hosts(demand), pools_used(demand)
        moving.append(_Moving(demand.job.id, hosts, pools, because))
        _take_everywhere(profile, demand)

    demands = [
        demand
        for demand in problem.demands
        if not demand.impossible or (demand.job.id in unsure and _has_alternatives(problem, demand))
    ]
    if before:
        for demand in demands:
            name = demand.job.id
            if name in unsure or name in found:
                move(demand, (name,) if name in unsure else found[name])
    new: dict[str, tuple[str, ...]] = {}
    everyone = tuple(demand.job.id for demand in demands if demand.job.id in unsure)
    for demand in demands:
        name = demand.job.id
        if before and name in found:
            continue
        start = starts.get(name)
        if budget.late():
            if start is not None and name not in firm:
                new[name] = everyone
            continue
        because: tuple[str, ...] = (name,) if name in unsure else ()
        if start is not None:
            met = () if name in firm else _met(moving, demand)
            loose = any(name in asking.get(job, ()) for job in met)
            if met and (
                loose or not _stands(problem, profile, demand, start, moving, times, budget)
            ):
                new[name] = met
                because = because or ((name, *met) if loose else met)
            elif not because:
                allocate_start(profile, with_eligible_time(demand, times), start)
        if because and not (before and name in unsure):
            move(demand, because)
    return new


def _has_alternatives(problem: PlanningProblem, demand: Demand) -> bool:
    """Return whether a job has alternatives in braces; False if its requirement is refused."""
    try:
        return problem.resolver.has_alternatives(demand.job)
    except InputError:
        return False


def _under_any_alternative(problem: PlanningProblem, demand: Demand) -> Demand:
    """Return the demand with the terms of all alternatives in braces, of which it takes one."""
    if not _has_alternatives(problem, demand):
        return demand
    later = problem.resolver.later_terms(demand.job)
    return replace(demand, terms=(*demand.terms, *later), impossible="")


def _met(moving: Collection[_Moving], demand: Demand) -> tuple[str, ...]:
    """Return the unsure jobs behind all moving jobs that may meet this job."""
    hosts, pools = candidate_hosts(demand), pools_used(demand)
    near = (item for item in moving if item.may_meet(demand, hosts, pools))
    jobs = (job for item in near for job in item.because)
    return tuple(dict.fromkeys(job for job in jobs if job != demand.job.id))


def _stands(
    problem: PlanningProblem,
    profile: Profile,
    demand: Demand,
    start: Start,
    moving: Collection[_Moving],
    times: Mapping[str, int],
    budget: Budget,
) -> bool:
    """Whether a start is feasible and the earliest one wherever the moving jobs are placed,
    on its hosts, of a range of slots with the fewest.
    """
    if demand.interval is not None or budget.late():
        return False
    if demand.after is not None:
        waits_for = jobs_of(demand.after)
        if any(item.job in waits_for for item in moving):
            return False
        demand = with_eligible_time(demand, times)
    if start.time > demand.earliest and earliest_alone(problem, demand) != start.time:
        return False
    if not may_grow(demand):
        return still_free(profile, demand, start)
    (term,) = demand.terms
    own = term.candidates[np.isin(term.candidates, list(start.allocation))]
    return (
        start_at(profile, replace(demand, terms=(replace(term, candidates=own),)), start.time)
        is not None
    )


def earliest_alone(problem: PlanningProblem, demand: Demand) -> int | None:
    """Return the earliest start of a job given running jobs, without other pending jobs."""
    alone = earliest_start(problem.base, demand)
    return None if alone is None else alone.time


def _take_everywhere(profile: Profile, demand: Demand) -> None:
    """Subtract, from now on without end, everything that a job may take of any host and pool."""
    for term in demand.terms:
        hosts = term.candidates.tolist()
        uses = Alternative(tuple(_most(term, pools=False)))
        whole: set[int] = set()
        if term.unit is not None and term.unit.excl:
            used = {int(term.unit.unit_of[host]) for host in hosts}
            whole = {host for host, unit in enumerate(term.unit.unit_of) if int(unit) in used}
        everywhere = dict.fromkeys(hosts, term.max_slots)
        parts = parts_of(profile.table, uses, everywhere, whole)
        profile.allocate(parts, profile.now, None)
        for use in _most(term, pools=True):
            inside = [host for host in hosts if profile.table.pools[use.index].mask[host]]
            place = dict.fromkeys(inside[: term.max_slots], 1)
            if use.per is not Per.HOST:
                place = dict.fromkeys(inside[:1], term.max_slots)
            parts = parts_of(profile.table, Alternative((), (use,)), place)
            profile.allocate(parts, profile.now, None)


def _most(term: TermDemand, *, pools: bool) -> list[Use]:
    """Return the maximum amount that a term takes under any rusage alternative, on any host of its
    place.
    """
    found: dict[tuple[int, Per], Use] = {}
    for alternative in term.alternatives:
        for use in alternative.pool_uses if pools else alternative.host_uses:
            # An amount taken on the first host counts on every host, because each may be the first.
            per = Per.HOST if use.per is Per.JOB and not pools else use.per
            amount, other = use.reservation.initial, found.get((use.index, per))
            if other is None or other.reservation.initial < amount:
                held = flat(use.reservation.resource, amount)
                found[use.index, per] = replace(use, per=per, reservation=held, once=False)
    return list(found.values())
