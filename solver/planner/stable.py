"""A plan that stays near the previous one and passes the validator, else the unchanged plan.

Plans near the previous one: equal hosts at equal starts, and published starts. All changes here
move allocations of an existing plan, which :mod:`solver.certify` checks before it is returned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ...model.instance import Instance
from ...model.plan import Plan, PlannedJob
from ..availability.demand import Demand, accepted_of
from ..availability.profile import Profile
from ..certify import holds
from ..fairshare.priority_order import priority_order
from ..optimal.alternatives import as_chosen
from ..placement.earliest import Start, allocate_start, earliest_start, start_at, still_free
from ..placement.holding import Hold
from ..problem import PlanningProblem, start_on
from ..scheduler.next_cycle import NextCycle


@dataclass(frozen=True, slots=True)
class PlannedPlacement:
    """A pending job with its place in a plan."""

    job: str
    demand: Demand
    start: Start
    #: Whether other hosts would serve the job too.
    movable: bool = True
    #: Function that adds the commitment of a start to a profile.
    protection: Hold | None = None
    #: Whether the job may use slots that others reserve, if it ends by their starts.
    backfilled: bool = True


def closest_placements(
    base: Profile, placed: Sequence[PlannedPlacement], last: Mapping[str, Start]
) -> dict[str, Start]:
    """Return the placements of a plan with as many previous hosts as possible; no start changes.

    base: what runs. placed: in the order of planning, which goes first where two would keep the
    same place. Jobs that differ are lifted out, each goes back to its last place where that is
    free; the others, and jobs that have no last place to keep, go where they were or anywhere at
    the same start. If then one has no place at its start, the last of those that would go back
    stays where the plan has it, and the rest is tried again.
    """
    found = {item.job: item.start for item in placed}
    wishes = [item for item in placed if _would_keep(item, last.get(item.job))]
    loose = [item for item in placed if item.job not in last and _may_go_elsewhere(item)]
    lifted = {item.job for item in (*wishes, *loose)}
    for item in placed:
        if item.job not in lifted:
            allocate_start(base, item.demand, item.start)
    while wishes:
        moved = _settled(base, wishes, loose, last, placed)
        if moved is not None:
            return found | moved
        given_up = wishes.pop()
        allocate_start(base, given_up.demand, given_up.start)
    return found


def _may_go_elsewhere(item: PlannedPlacement) -> bool:
    """Whether other hosts would do; whole units and balanced units depend on other free hosts."""
    terms = item.demand.terms
    return item.movable and len(terms) == 1 and terms[0].unit is None


def _would_keep(item: PlannedPlacement, before: Start | None) -> bool:
    if before is None or not _may_go_elsewhere(item):
        return False
    own = item.start
    return (
        before.time == own.time
        and before.alternative == own.alternative
        and before.allocation != own.allocation
        and sum(before.allocation.values()) == sum(own.allocation.values())
        and len(before.terms) == 1
    )


def _settled(
    base: Profile,
    wishes: Sequence[PlannedPlacement],
    loose: Sequence[PlannedPlacement],
    last: Mapping[str, Start],
    placed: Sequence[PlannedPlacement],
) -> dict[str, Start] | None:
    """Return placements of removed jobs: the previous hosts, else the present, else any; None if
    one job has none.
    """
    profile = base.copy()
    found: dict[str, Start] = {}
    for item in wishes:
        if _is_free(profile, item, last[item.job], placed):
            found[item.job] = last[item.job]
            allocate_start(profile, item.demand, last[item.job])
    for item in placed:
        if item.job in found or not any(item is other for other in (*wishes, *loose)):
            continue
        start: Start | None = item.start
        if not _is_free(profile, item, item.start, placed):
            start = start_at(profile, item.demand, item.start.time)
            if start is None or start.alternative != item.start.alternative:
                return None
            if not _is_free(profile, item, start, placed):
                return None
        assert start is not None
        found[item.job] = start
        allocate_start(profile, item.demand, start)
    return found


def _is_free(
    profile: Profile, item: PlannedPlacement, start: Start, placed: Sequence[PlannedPlacement]
) -> bool:
    """Whether an allocation is free, also given all reservations if the job may not backfill."""
    if item.backfilled:
        return still_free(profile, item.demand, start)
    beside = profile.copy()
    for other in placed:
        if other.protection is not None and other.job != item.job:
            other.protection(beside)
    return still_free(beside, item.demand, start)


def keep_published(
    base: Profile, demands: Sequence[Demand], published: Mapping[str, Start]
) -> dict[str, Start]:
    """Return starts of all jobs, with previously published starts placed first.

    Each of them holds the place that it was told, where that is free beside what runs; else it
    starts at the same time elsewhere, else as early as it can after that. Then every job in its
    turn comes forward as far as these places let it, and jobs that nobody was told of go where they
    fit. demands: in the order of planning.
    """
    by_job = {demand.job.id: demand for demand in demands}
    pins: dict[str, Start] = {}
    profile = base.copy()
    later: list[tuple[Demand, int]] = []
    known = [(by_job[job], start) for job, start in published.items() if job in by_job]
    # Among jobs of one second, those without a conflict of JOB_ACCEPT_INTERVAL come last.
    known.sort(key=lambda item: (item[1].time, not item[0].interval))
    for demand, start in known:
        pin = _as_published(profile, demand, start)
        if pin is None:
            later.append((demand, start.time))
            continue
        pins[demand.job.id] = pin
        allocate_start(profile, demand, pin)
    for demand, time in later:
        found = earliest_start(profile, demand, finishes_only=True, not_before=time)
        if found is not None:
            pins[demand.job.id] = found
            allocate_start(profile, demand, found)
    return _forward(base, demands, pins)


def _as_published(profile: Profile, demand: Demand, start: Start) -> Start | None:
    time = max(start.time, demand.earliest)
    if still_free(profile, demand, replace(start, time=time)):
        return replace(start, time=time)
    return start_at(profile, demand, time)


def _forward(
    base: Profile, demands: Sequence[Demand], pins: Mapping[str, Start]
) -> dict[str, Start]:
    """Move each job, in order, to the earliest instant that the other allocations allow."""
    starts = dict(pins)
    by_job = {demand.job.id: demand for demand in demands}
    for demand in demands:
        profile = base.copy()
        for job, start in starts.items():
            if job != demand.job.id:
                allocate_start(profile, by_job[job], start)
        found = earliest_start(profile, demand, finishes_only=True)
        own = starts.get(demand.job.id)
        if found is not None and (own is None or found.time < own.time):
            starts[demand.job.id] = found
    return starts


@dataclass(frozen=True, slots=True)
class PlanContext:
    """Data for checks of planned starts; each part is computed on demand."""

    #: Profile of the running jobs.
    base: Callable[[], Profile]
    #: Adds the reservations of jobs without a planned start to a profile.
    held: Callable[[Profile], None]
    #: The jobs with an allocation, in the order of planning.
    placed: Callable[[], list[PlannedPlacement]]
    #: Demands of all jobs, in priority order.
    demands: Callable[[], list[Demand]]
    #: Arguments for the validator.
    as_lsf: bool


def grounds_of_cycle(cycle: NextCycle) -> PlanContext:
    """Return the context of a plan made by a cycle."""

    def placed() -> list[PlannedPlacement]:
        found = []
        free = not _each_start_counts(cycle.instance)
        standings = {item.name: item for item in cycle.commitments}
        for job in priority_order(cycle.instance):
            start = cycle.planned_start(job.id)
            if start is None:
                continue
            state = cycle.world.states.get(job.id)
            shape = cycle.world.shape(state)
            backfills = cycle.cycle.queues[job.queue].backfill
            found.append(
                PlannedPlacement(
                    job.id,
                    cycle.demand_of(job.id),
                    start,
                    free and not shape.dynamic,
                    standings[job.id].protection,
                    backfills and state.limit is not None,
                )
            )
        return found

    def demands() -> list[Demand]:
        return [cycle.demand_of(job.id) for job in priority_order(cycle.instance)]

    return PlanContext(
        cycle.profile_before_starts, cycle.subtract_open_reservations, placed, demands, as_lsf=True
    )


def grounds_of_search(instance: Instance, margin: int, found: Plan) -> PlanContext:
    """Return the context of a plan made by an exact method."""
    known: list[PlanningProblem] = []

    def problem() -> PlanningProblem:
        if not known:
            chosen = as_chosen(instance, found)
            known.append(PlanningProblem.of(chosen, as_lsf=False, margin=margin))
        return known[0]

    def placed() -> list[PlannedPlacement]:
        starts = {item.job: problem().start_of(item) for item in found}
        free = not _each_start_counts(instance)
        return [
            PlannedPlacement(demand.job.id, demand, start, free)
            for demand in problem().demands
            if (start := starts.get(demand.job.id)) is not None
        ]

    return PlanContext(
        lambda: problem().base.copy(),
        lambda profile: None,
        placed,
        lambda: list(problem().demands),
        as_lsf=False,
    )


def _each_start_counts(instance: Instance) -> bool:
    """Whether the hosts of a job affect later jobs by more than the amounts that the job takes."""
    cluster = instance.cluster
    return (
        bool(instance.partitions)
        or accepted_of(instance) is not None
        or any(queue.thresholds.sched for queue in instance.queues)
        or any(host.thresholds.sched for host in cluster.hosts)
    )


def nearest_plan(
    instance: Instance, found: Plan, grounds: PlanContext, last: Mapping[str, PlannedJob]
) -> Plan:
    """Return the plan with jobs on their previous hosts if possible, and unchanged starts."""
    before = {item.job: item for item in found}
    stays = {
        job
        for job, item in last.items()
        if (now := before.get(job)) is not None
        and now.start is not None
        and now.start == item.start
    }
    if all(before[job].allocation == last[job].allocation for job in stays):
        return found
    index = instance.cluster.host_index()
    wishes = {job: start for job in stays if (start := start_on(last[job], index)) is not None}
    base = grounds.base()
    grounds.held(base)
    starts = closest_placements(base, grounds.placed(), wishes)
    changed = {job: start for job, start in starts.items() if _moves(before[job], start, instance)}
    if not changed:
        return found
    return _judged(instance, found, _with(instance, found, changed), grounds.as_lsf)


def stable_plan(
    instance: Instance, found: Plan, grounds: PlanContext, last: Mapping[str, PlannedJob]
) -> Plan | None:
    """Return a plan that places jobs with published starts first, or None if there is none."""
    index = instance.cluster.host_index()
    published = {job: start for job, item in last.items() if (start := start_on(item, index))}
    demands = [demand for demand in grounds.demands() if not demand.impossible]
    starts = keep_published(grounds.base(), demands, published)
    known = {item.job: item for item in found}
    entries = tuple(
        _entry(instance, known.get(job) or PlannedJob(job, None), starts[job], demand, found.method)
        if (job := demand.job.id) in starts
        else PlannedJob(job, None, method=found.method, waits_for=NO_PLACE, fallback=NO_PLACE)
        for demand in demands
    )
    there = {demand.job.id for demand in demands}
    value = float(sum(start.time - found.now for start in starts.values()))
    kept = replace(
        found,
        reservations=entries,
        unplaced=tuple(item for item in found.unplaced if item.job not in there),
        status="heuristic" if found.method in ("greedy", "time-based") else "feasible",
        value=value if found.objective == "lexicographic" else None,
        bound=None,
        notes=(*found.notes, KEPT),
    )
    judged = _judged(instance, found, kept, grounds.as_lsf)
    return None if judged is found else judged


#: Note on a plan that keeps published starts.
NO_PLACE = "the promised starts of other jobs allow no start"
KEPT = "promised starts take precedence: by priority, some would move beyond the tolerance"


def _entry(
    instance: Instance, item: PlannedJob, start: Start, demand: Demand, method: str
) -> PlannedJob:
    entry = replace(_moved(instance, item, start), method=method, fallback="")
    if start.time == item.start:
        return entry.unproved()
    why = "keeps its promised start, or was moved for another one"
    return replace(
        entry.unproved(),
        start=start.time,
        finish=demand.end_of_run(start.time),
        estimate=None,
        waits_for=why,
        exact_fit="",
    )


def _moves(item: PlannedJob, start: Start, instance: Instance) -> bool:
    return _named(instance, start.allocation) != dict(item.allocation)


def _named(instance: Instance, allocation: Mapping[int, int]) -> dict[str, int]:
    hosts = instance.cluster.hosts
    return {hosts[index].name: slots for index, slots in allocation.items()}


def _moved(instance: Instance, item: PlannedJob, start: Start) -> PlannedJob:
    terms = tuple(_named(instance, term) for term in start.terms) if len(start.terms) > 1 else ()
    return replace(
        item,
        allocation=_named(instance, start.allocation),
        alternative=start.alternative,
        terms=terms,
    )


def _with(instance: Instance, found: Plan, changed: Mapping[str, Start]) -> Plan:
    entries = [
        _moved(instance, item, changed[item.job]) if item.job in changed else item for item in found
    ]
    return replace(found, reservations=tuple(entries))


def _judged(instance: Instance, found: Plan, other: Plan, as_lsf: bool) -> Plan:
    """Return the other plan, with its current reservations, if the validator accepts it."""
    other = _holding(instance, other)
    return other if holds(instance, other, as_lsf=as_lsf) else found


def _holding(instance: Instance, plan: Plan) -> Plan:
    """Return the plan with the currently reserved slots of each waiting job: the free part of its
    allocation.
    """
    left = {host.name: host.slots for host in instance.cluster.hosts}
    for running in instance.running:
        for host, slots in running.allocation.items():
            left[host] -= slots
    for item in plan:
        if item.start == plan.now:
            for host, slots in item.allocation.items():
                left[host] -= slots
    entries = []
    for item in plan:
        held: dict[str, int] = {}
        for host, slots in (item.allocation or item.reserved).items() if item.reserved else ():
            part = min(slots, left[host])
            if part > 0:
                held[host] = part
                left[host] -= part
        entries.append(replace(item, reserved=held) if item.reserved else item)
    return replace(plan, reservations=tuple(entries))
