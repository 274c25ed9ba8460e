"""The outlook of an instance: one simulation as configured, one plan by the optimal method."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

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
from ..rules.rule_book import heeded_nowhere
from ..scheduler.configured import ConfiguredRun, run_as_configured
from .records import JobOutlook, Outlook, State
from .states import Reasons

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
    cancel: threading.Event | None = None,
    on_progress: OnProgress | None = None,
) -> Outlook:
    """The outlook of every pending job; options as in :func:`slotwise.plan`.

    time_limit: wall seconds of the simulation and the plan together; without it the plan alone has
    its usual one. margin: of the plan; the scheduler has none. first: plan only so many jobs.
    Raises InputError as `plan` and the simulation do.
    """
    whole = Budget(time_limit, cancel=cancel or threading.Event())
    configured = configured_within(instance, whole, CONFIGURED_SHARE)
    found = (nothing_planned if whole.late() else plan)(
        instance,
        "optimal",
        objective=objective,
        time_limit=whole.part(1.0),
        effort=effort,
        workers=workers,
        as_lsf=as_lsf,
        margin=margin,
        first=first,
        cancel=cancel,
        on_progress=on_progress,
    )
    return outlook_of(instance, configured, found, whole)


def configured_within(instance: Instance, whole: Budget, share: float) -> ConfiguredRun:
    """The scheduler run on as configured, in this share of the seconds left."""
    budget = Budget(whole.part(share), cancel=whole.cancel)
    return run_as_configured(instance, budget=budget)


def outlook_of(
    instance: Instance,
    configured: ConfiguredRun,
    found: Plan | None,
    budget: Budget | None = None,
) -> Outlook:
    """The outlook that follows from a run as configured and an optimal plan of one instance.

    found: None where no such plan was made, so that possible starts are not known. budget: of the
    reasons why jobs have no start; where it is over they are not examined.
    """
    order = priority_order(instance)
    states = _states(instance, order, configured, budget or Budget())
    if found is None:
        omissions = heeded_nowhere(instance, Resolver.of(instance))
    else:
        omissions = found.omissions
    entries = tuple(_of_job(job, configured, found, omissions, states.get(job.id)) for job in order)
    return Outlook(
        entries,
        now=instance.now,
        origin=instance.origin,
        method=configured.method,
        plan=found,
        configured=configured.starts,
        cut=configured.cut or (found is not None and found.cut),
    )


def outlook_of_job(
    instance: Instance,
    job: Job,
    configured: ConfiguredRun,
    found: Plan | None,
    omissions: Sequence[Omission] = (),
    budget: Budget | None = None,
) -> JobOutlook:
    """The outlook of one pending job, as :func:`outlook_of`.

    found: an optimal plan of it and the jobs before it, None where none was made. omissions: what
    is not considered of it beside what the plan says; the plan's proof does not stand where one
    touches the job.
    """
    states = _states(instance, (job,), configured, budget or Budget())
    said = () if found is None else found.omissions
    row = _of_job(job, configured, found, (*said, *omissions), states.get(job.id))
    if any(item.touches(job.id) for item in omissions):
        return replace(row, bound=None, proved=False, proved_if=())
    return row


def _states(
    instance: Instance, order: Sequence[Job], configured: ConfiguredRun, budget: Budget
) -> dict[str, tuple[State, str]]:
    """The state, and what must happen, of each job that does not start as configured."""
    without = [job for job in order if job.id not in configured.starts]
    if configured.cut:
        return {job.id: ("not examined", "") for job in without}
    found: dict[str, tuple[State, str]] = {}
    if not without:
        return found
    try:
        problem = PlanningProblem.of(instance, as_lsf=False, budget=budget)
        reasons = Reasons(instance, problem, configured.starts, configured.waiting)
        for job in without:
            if budget.late():
                raise OutOfTime
            found[job.id] = reasons.of(job)
    except OutOfTime:
        found = {job.id: found.get(job.id, ("not examined", "")) for job in without}
    return found


def _of_job(
    job: Job,
    configured: ConfiguredRun,
    found: Plan | None,
    omissions: Sequence[Omission],
    state: tuple[State, str] | None,
) -> JobOutlook:
    started = configured.starts.get(job.id)
    word, condition = state or ("starts", "")
    base = JobOutlook(
        job=job.id,
        slots=job.slots,
        state=word,
        as_configured=None if started is None else started.start,
        as_configured_end=None if started is None else started.finish,
        as_configured_on={} if started is None else started.allocation,
        estimate=configured.estimates.get(job.id),
        estimate_by=configured.estimate_by.get(job.id, ""),
        condition=condition,
        held_back=configured.waiting.get(job.id, ""),
        cautions=cautions_of(job.id, omissions),
    )
    if found is None:
        return base
    item = found.get(job.id)
    if item is not None:
        return _with_possible(base, item)
    reason = next((entry.reason for entry in found.unplaced if entry.job == job.id), "")
    return replace(base, waits_for=reason)


def _with_possible(base: JobOutlook, item: PlannedJob) -> JobOutlook:
    return replace(
        base,
        possible=item.start,
        possible_on=item.allocation,
        bound=item.bound,
        proved=item.proved,
        proved_if=item.proved_if,
        waits_for=item.waits_for,
    )


def cautions_of(job: str, omissions: Sequence[Omission]) -> tuple[Omission, ...]:
    """Those that touch a job, each once."""
    return tuple({item.name: item for item in reversed(omissions) if item.touches(job)}.values())[
        ::-1
    ]
