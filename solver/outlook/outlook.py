"""Predicted starts of an instance: one simulation as configured, one plan by the optimal method."""

from __future__ import annotations

import math
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from ...model.instance import Instance
from ...model.job import Job
from ...model.objective import ObjectiveName
from ...model.omissions import Omission
from ...model.plan import Plan, PlannedJob
from ...model.progress import OnProgress
from ..budget import Budget, OutOfTime
from ..fairshare.priority_order import priority_order
from ..planning import nothing_planned, plan
from ..problem import PlanningProblem
from ..resolve import Resolver
from ..rules.rule_book import unheeded_by_the_loop
from ..scheduler.continuation import ConfiguredRun, run_as_configured
from .records import JobOutlook, Outlook, Reasons, State

#: Share of the seconds left that the simulation as configured may take.
CONFIGURED_SHARE = 0.35


def outlook(
    instance: Instance,
    *,
    objective: ObjectiveName = "lexicographic",
    time_limit: float | None = None,
    effort: float | None = None,
    workers: int | None = None,
    as_lsf: bool = False,
    margin: int = 0,
    first: int | None = None,
    estimates: bool = False,
    cancel: threading.Event | None = None,
    on_progress: OnProgress | None = None,
) -> Outlook:
    """Return the predicted starts of every pending job; options as in :func:`slotwise.plan`.

    estimates: also those of Slurm, for which a cycle of its backfill is computed.

    time_limit: wall seconds of the simulation and the plan together; without it the plan alone has
    its usual one. margin: of the plan; the scheduler has none. first: plan only so many jobs.
    Raises InputError as `plan` and the simulation do.
    """
    whole = Budget(time_limit, cancel=cancel or threading.Event())
    configured = configured_within(instance, whole, CONFIGURED_SHARE)
    if estimates:
        configured = with_slurm_estimates(instance, configured, whole)
    found = (nothing_planned if whole.late() else plan)(
        instance,
        "optimal",
        objective=objective,
        time_limit=whole.time_share(1.0),
        effort=effort,
        workers=workers,
        as_lsf=as_lsf,
        margin=margin,
        first=first,
        cancel=cancel,
        on_progress=on_progress,
    )
    return outlook_of(instance, configured, found, whole)


@dataclass(frozen=True, slots=True)
class StepLimits:
    """Wall seconds of the steps of :func:`starts_in_steps`."""

    #: Until the earliest starts as configured are published while the simulation continues.
    first: float = 1.0
    #: Maximum of the simulation.
    configured: float = 60.0
    #: Maximum of the plan by the optimal method.
    plan: float = 10.0


def starts_in_steps(
    instance: Instance,
    publish: Callable[[Outlook], None],
    limits: StepLimits = StepLimits(),
    *,
    cancel: threading.Event,
    skip_plan: threading.Event,
) -> Outlook:
    """Return the same answer, and publish its first parts before.

    publish: takes an answer without possible starts, in which jobs may be "not examined"; called
    once or twice. cancel: stops the simulation; then no plan is made. skip_plan: stops the plan.
    """
    part = limits.first, lambda run: publish(outlook_of(instance, run, None))
    budget = Budget(limits.configured, cancel=cancel)
    configured = run_as_configured(instance, budget=budget, first_part=part)
    reasons = Budget(limits.plan, cancel=cancel)
    first = outlook_of(instance, configured, None, reasons)
    if cancel.is_set():
        return first
    publish(first)
    configured = with_slurm_estimates(instance, configured, Budget(limits.plan, cancel=cancel))
    found = plan(instance, "optimal", time_limit=limits.plan, cancel=skip_plan)
    return outlook_of(instance, configured, found, reasons)


def configured_within(instance: Instance, whole: Budget, share: float) -> ConfiguredRun:
    """Return the simulation of the scheduler as configured, within this share of the seconds
    left.
    """
    budget = Budget(whole.time_share(share), cancel=whole.cancel)
    return run_as_configured(instance, budget=budget)


def with_slurm_estimates(
    instance: Instance, configured: ConfiguredRun, budget: Budget
) -> ConfiguredRun:
    """Return the run with the starts of a cycle of Slurm's backfill as estimates; of another
    scheduler as it is.

    Jobs that the budget does not reach have none.
    """
    if not instance.params.of_slurm or not instance.pending or budget.late():
        return configured
    found = plan(instance, "slurm", time_limit=budget.time_share(0.5), cancel=budget.cancel)
    starts = {item.job: item.start for item in found if item.start is not None}
    return replace(configured, estimates=starts, estimate_by=dict.fromkeys(starts, "slurm"))


def outlook_of(
    instance: Instance,
    configured: ConfiguredRun,
    found: Plan | None,
    budget: Budget | None = None,
) -> Outlook:
    """Return the answers that follow from a run as configured and an optimal plan of an instance.

    found: None if no such plan was made, so that possible starts are unknown. budget: for the
    reasons why jobs have no start; jobs that it does not reach are not examined.
    """
    order = priority_order(instance)
    found = None if found is None else without_idle_needs(found, configured)
    states = _states(instance, order, configured, budget or Budget())
    nowhere = _unheeded(instance, order)
    left_out = {} if found is None else by_job(found.omissions, order)
    unplaced = _unplaced(found)
    entries = tuple(
        _of_job(job, configured, found, states.get(job.id), nowhere, left_out, unplaced)
        for job in order
    )
    return Outlook(
        tuple(_with_overtaken(entries, instance.params.mbd_sleep_time)),
        now=instance.now,
        origin=instance.origin,
        method=configured.method,
        plan=found,
        configured=configured.starts,
        cut=configured.cut or (found is not None and found.cut),
    )


def _with_overtaken(entries: Iterable[JobOutlook], cycle: int) -> Iterator[JobOutlook]:
    """Yield the entries in priority order, each with the first job before it that starts later.

    cycle: seconds between two dispatch cycles.
    """
    names: list[str] = []
    latest: list[float] = []  # starts of these jobs, each later than all before it
    for item in entries:
        start, passed = item.as_configured, ""
        if start is not None and item.possible is not None and start < item.possible:
            passed = next(iter(names[bisect_right(latest, start) :]), "")
        yield replace(item, ahead_of=passed, cycle=cycle)
        waits = start is not None or (item.possible is not None and item.state != "not examined")
        when = math.inf if start is None else start
        if waits and (not latest or when > latest[-1]):
            names.append(item.job)
            latest.append(when)


def outlook_of_job(
    instance: Instance,
    job: Job,
    configured: ConfiguredRun,
    found: Plan | None,
    budget: Budget | None = None,
) -> JobOutlook:
    """Return the answer for one pending job, as :func:`outlook_of` does for all.

    found: an optimal plan of it and the jobs before it, None if none was made.
    """
    found = None if found is None else without_idle_needs(found, configured)
    states = _states(instance, (job,), configured, budget or Budget())
    nowhere = _unheeded(instance, (job,))
    left_out = {} if found is None else by_job(found.omissions, (job,))
    state = states.get(job.id)
    row = _of_job(job, configured, found, state, nowhere, left_out, _unplaced(found))
    return replace(row, cycle=instance.params.mbd_sleep_time)


def not_simulated(instance: Instance, jobs: Sequence[Job]) -> tuple[Omission, ...]:
    """Return the settings of some pending jobs that no simulation and no plan considers."""
    return unheeded_by_the_loop(instance, Resolver.of(instance), jobs)


def _unheeded(instance: Instance, jobs: Sequence[Job]) -> dict[str, list[Omission]]:
    """Return these settings by job."""
    return by_job(not_simulated(instance, jobs), jobs)


def plan_states(
    instance: Instance, plan: Plan, budget: Budget | None = None
) -> dict[str, tuple[State, str]]:
    """Return state and condition of each job that a plan of all jobs leaves without a start.

    Jobs without a start in the plan are assumed not to start. Jobs that the budget does not reach
    are missing.
    """
    words = plan.missing_starts()
    known = ("no place",) if plan.may_improve else ("no place", "no place found")
    without = [job for job in instance.pending if words.get(job.id) in known]
    starts = {item.job: item for item in plan if item.start is not None}
    why = {item.job: item.reason for item in plan.unplaced}
    return _reasons(instance, without, starts, why, budget or Budget())


def words_of(plan: Plan, states: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Return the jobs without a planned start, each with its state, else with the status that the
    plan gives.

    states: with what must happen, of the jobs of which they are known. They do not stand for a
    place that a longer search may still find.
    """
    unsure = ("no date", *(("no place found",) if plan.may_improve else ()))
    found: dict[str, str] = {}
    for job, word in plan.missing_starts().items():
        state = states.get(job, ("not examined", ""))[0]
        sure = word not in unsure and state not in ("starts", "not examined")
        found[job] = state if sure else word
    return found


def without_idle_needs(plan: Plan, configured: ConfiguredRun) -> Plan:
    """Return the plan without needs of BACKFILL for jobs that the scheduler starts as early
    anyway.
    """
    if not any(item.needs_backfill for item in plan):
        return plan

    def honest(item: PlannedJob) -> PlannedJob:
        start = configured.start(item.job)
        idle = start is not None and item.start is not None and start <= item.start
        return replace(item, needs_backfill="") if item.needs_backfill and idle else item

    return replace(plan, reservations=tuple(map(honest, plan)))


def _states(
    instance: Instance, order: Sequence[Job], configured: ConfiguredRun, budget: Budget
) -> dict[str, tuple[State, str]]:
    """Return state and condition of each job that does not start as configured."""
    without = [job for job in order if job.id not in configured.starts]
    found: dict[str, tuple[State, str]] = {}
    if not configured.cut:
        found = _reasons(instance, without, configured.starts, configured.waiting, budget)
    return {job.id: found.get(job.id, ("not examined", "")) for job in without}


def _reasons(
    instance: Instance,
    without: Sequence[Job],
    starts: Mapping[str, PlannedJob],
    waiting: Mapping[str, str],
    budget: Budget,
) -> dict[str, tuple[State, str]]:
    """Return the states of jobs without a start, within the budget; options as of `Reasons`."""
    found: dict[str, tuple[State, str]] = {}
    if not without:
        return found
    with suppress(OutOfTime):
        problem = PlanningProblem.of(instance, as_lsf=False, budget=budget)
        reasons = Reasons(instance, problem, starts, waiting)
        for job in without:
            if budget.late():
                break
            found[job.id] = reasons.of(job)
    return found


def _of_job(
    job: Job,
    configured: ConfiguredRun,
    found: Plan | None,
    state: tuple[State, str] | None,
    nowhere: Mapping[str, Sequence[Omission]],
    left_out: Mapping[str, Sequence[Omission]],
    unplaced: Mapping[str, str],
) -> JobOutlook:
    """Return the answer for one job.

    nowhere, left_out: settings that nothing considers, and those that the plan omits, by job;
    unplaced: why jobs have no start in the plan.
    """
    started = configured.starts.get(job.id)
    word, condition = state or ("starts", "")
    cautions = tuple(nowhere.get(job.id, ()))
    names = {item.name for item in cautions}
    item = None if found is None else found.get(job.id)
    possible = {"waits_for": unplaced.get(job.id, "")} if item is None else _possible(item)
    return JobOutlook(
        job=job.id,
        slots=job.slots,
        state=word,
        as_configured=None if started is None else started.start,
        as_configured_end=None if started is None else started.finish,
        as_configured_on={} if started is None else started.allocation,
        estimate=configured.estimates.get(job.id),
        estimate_by=configured.estimate_by.get(job.id, ""),
        condition=condition,
        held_back=configured.waiting.get(job.id, "") if started is None else started.waits_for,
        cautions=cautions,
        possible_cautions=tuple(
            omission for omission in left_out.get(job.id, ()) if omission.name not in names
        ),
        alternatives=(_alternative(started), _alternative(item)),
        **possible,
    )


def _alternative(item: PlannedJob | None) -> int:
    return 0 if item is None else item.requirement_alternative


def _possible(item: PlannedJob) -> dict[str, Any]:
    """Return the fields that come from the entry in the optimal plan."""
    return {
        "possible": item.start,
        "possible_on": item.allocation,
        "bound": item.bound,
        "proved": item.proved,
        "proved_if": item.proved_if,
        "waits_for": item.waits_for,
    }


def _unplaced(found: Plan | None) -> dict[str, str]:
    """Return why jobs have no start in a plan, by job."""
    return {} if found is None else {entry.job: entry.reason for entry in found.unplaced}


def by_job(omissions: Sequence[Omission], jobs: Sequence[Job]) -> dict[str, list[Omission]]:
    """Return the omissions that affect each of some jobs, one per name, in their order."""
    found: dict[str, dict[str, Omission]] = {}
    asked = {job.id for job in jobs}
    for item in omissions:
        for job in asked if item.jobs is None else asked.intersection(item.jobs):
            found.setdefault(job, {}).setdefault(item.name, item)
    return {job: list(items.values()) for job, items in found.items()}
