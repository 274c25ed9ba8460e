"""The outlook of pending jobs: what every command, page and library call says of their starts.

It has one simulation as configured and one plan by the optimal method.
"""

from __future__ import annotations

import math
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from ...model.display import data_of, duration_text, with_stamps
from ...model.duration import place_before_deadline, two_cycles
from ...model.escaping import html_table
from ...model.instance import Instance
from ...model.job import Job
from ...model.job_table import JobTable
from ...model.objective import ObjectiveName
from ...model.omissions import Omission
from ...model.plan import Plan, PlannedJob, allocation_text, yes_or_no
from ...model.progress import OnProgress
from ..availability.demand import Demand, without_hosts
from ..availability.resources import BoolArray
from ..budget import Budget, OutOfTime
from ..fairshare.priority_order import admissions, priority_order
from ..pending_reasons import (
    BEYOND_KNOWN,
    NOWHERE,
    at_any_time,
    beyond_reported,
    reason_unplaced,
)
from ..placement.earliest import earliest_start
from ..planning import nothing_planned, plan
from ..precedence import (
    NEVER_SATISFIED,
    NO_END,
    NOT_YET,
    After,
    Event,
    Known,
    Precedence,
    Several,
)
from ..problem import PlanningProblem
from ..resolve import Resolver
from ..rules.omitted import on_loans
from ..rules.rule_book import unheeded_by_the_loop, unsupported_rules
from ..scheduler.continuation import ConfiguredRun, run_as_configured

#: What is known of the start of a job as the cluster is configured:
#: it starts at a known time; it starts once something happens that nobody can date (`condition`
#: says what); the end of the event that it waits for is unknown; it fits nowhere on this cluster
#: (`condition` says why, and what would fit); a limit came before it was examined.
State: TypeAlias = Literal["starts", "starts if", "unknown end", "impossible", "not examined"]


#: The times of an outlook.
TIMES = ("as_configured", "as_configured_end", "estimate", "possible", "bound")


@dataclass(frozen=True, slots=True)
class JobOutlook:
    """Starts predicted for one pending job; times in seconds from the origin."""

    job: str
    slots: int
    state: State
    #: The start that the simulated scheduler reaches as the cluster is configured; None if the
    #: state is another than "starts".
    as_configured: int | None
    #: End of the job at its limit after this start, None if there is no limit.
    as_configured_end: int | None = None
    #: Host to slots as configured, in allocation order.
    as_configured_on: Mapping[str, int] = field(default_factory=dict)
    #: Start that LSF would print now: greedy's "no sooner than", or the time-based estimate. That
    #: of Slurm is by method slurm, if it was requested. None: no estimate.
    estimate: int | None = None
    #: Which of these it is, "slurm", "greedy" or "time-based" (a cycle gives only the first
    #: LSB_TIME_RESERVE_NUMJOBS jobs a future allocation, the others are reserved for greedily);
    #: "": none.
    estimate_by: str = ""
    #: The earliest start in priority order, by the optimal method; None: it has none, or it was
    #: not examined.
    possible: int | None = None
    #: Host to slots of the possible start, in allocation order.
    possible_on: Mapping[str, int] = field(default_factory=dict)
    #: No start before this is possible in priority order; None: no bound is known.
    bound: int | None = None
    #: The possible start is proved the earliest.
    proved: bool = False
    #: Jobs that must start where they are planned for the proof to hold.
    proved_if: tuple[str, ...] = ()
    #: Reason for the possible start, a sentence.
    waits_for: str = ""
    #: Why the simulated scheduler does not start the job at its first dispatch attempt, and which
    #: jobs end at its start; one sentence.
    held_back: str = ""
    #: What must happen before it starts, or why it cannot start here and what would fit; "" if
    #: it starts.
    condition: str = ""
    #: Settings of this job that no method considers; none of its starts is reliable.
    cautions: tuple[Omission, ...] = ()
    #: Further rules that only the plan of the possible start omits; the simulated scheduler obeys
    #: them. They prevent a proof of the possible start.
    possible_cautions: tuple[Omission, ...] = ()
    #: Indices of the alternatives in braces of its requirement, as configured and of the possible
    #: start.
    alternatives: tuple[int, int] = (0, 0)
    #: The first job of higher priority that starts later as configured, "" if there is none or if
    #: the possible start is no later than the one as configured.
    ahead_of: str = ""
    #: Seconds below which two starts do not differ.
    min_gain: int = 1

    @property
    def earlier_by(self) -> int | None:
        """Return the seconds by which the job could start earlier than as configured.

        A gain of less than two dispatch cycles is 0; None if one of the starts is not known.
        """
        gain = self.sooner_by
        return gain if gain is None or gain >= self.min_gain else 0

    @property
    def sooner_by(self) -> int | None:
        """Return the seconds from the possible start to the start as configured; negative if the
        possible one is later.

        None if one of them is not known.
        """
        if self.as_configured is None or self.possible is None:
            return None
        return self.as_configured - self.possible

    @property
    def is_ahead(self) -> bool:
        """Return whether the job starts earlier as configured than in priority order."""
        return (self.sooner_by or 0) < 0

    @property
    def is_no_earlier(self) -> bool:
        """Return whether the possible start is another one than as configured, and no gain."""
        return bool(self.sooner_by) and not self.earlier_by

    def to_dict(self, origin: str | None = None) -> dict[str, Any]:
        """Return the fields as a JSON object; times in seconds from the origin, also as ISO
        stamps.
        """
        record = data_of(
            self,
            "job slots state as_configured as_configured_end as_configured_on estimate estimate_by "
            "possible possible_on sooner_by earlier_by ahead_of bound proved proved_if waits_for "
            "held_back condition cautions possible_cautions",
            origin,
        )
        if any(self.alternatives):
            record["alternatives"] = list(self.alternatives)
        return with_stamps(record, origin, TIMES)


def starts_table(jobs: Iterable[JobOutlook], now: int) -> str:
    """Return the starts of jobs as an HTML table for notebooks; times from now."""

    def after(time: int | None) -> str | None:
        return None if time is None else duration_text(time - now)

    head = ("job", "slots", "as configured", "estimate", "possible", "proved", "where")
    rows = (
        (
            *(row.job, row.slots, after(row.as_configured) or row.state),
            *(after(row.estimate), after(row.possible), yes_or_no(row.proved, row.proved_if)),
            allocation_text(row.possible_on),
        )
        for row in jobs
    )
    return html_table("starts, from now on", head, rows)


@dataclass(frozen=True, slots=True, repr=False)
class Outlook(JobTable[JobOutlook]):
    """The outlook of the pending jobs of an instance, in priority order."""

    jobs: tuple[JobOutlook, ...]
    #: Seconds from the origin, and the ISO date of second 0 (None: it has none).
    now: int
    origin: str | None
    #: The reservation method in force: "greedy" or "time-based".
    method: str
    #: The plan by the optimal method, of which the possible starts are; None: none was made.
    plan: Plan | None
    #: Start and hosts of each job that starts as configured, by id.
    configured: Mapping[str, PlannedJob] = field(default_factory=dict)
    #: A limit or Ctrl-C came before every job was examined.
    cut: bool = False

    def _about(self) -> str:
        return f"{self.method}: {len(self)} jobs"

    def _repr_html_(self) -> str:
        """Return the starts as an HTML table for notebooks; times from now."""
        return starts_table(self.jobs, self.now)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, fit for JSON."""
        record = data_of(self, "now origin method") | {"jobs": self.to_records()}
        return record | data_of(self, "cut?")

    def cautions(self) -> Mapping[str, tuple[Omission, Sequence[str]]]:
        """Return the omitted rules by name, with the jobs that they affect, in order."""
        found: dict[str, tuple[Omission, list[str]]] = {}
        for item in self.jobs:
            for caution in (*item.cautions, *item.possible_cautions):
                found.setdefault(caution.name, (caution, []))[1].append(item.job)
        return found

    def unheeded(self) -> tuple[Omission, ...]:
        """Return the settings of the jobs that no method supports, one entry per name, in order."""
        return tuple({c.name: c for item in self.jobs for c in item.cautions}.values())


#: Message if no input states an end.
UNKNOWN_END = "the end of the event that it waits for is unknown"
#: From what comes by itself to what never comes: of several obstacles the last one counts, of
#: several ways the first one.
_HOPE: tuple[State, ...] = ("starts", "not examined", "unknown end", "starts if", "impossible")
#: Said of a job that another one waits for, by its state.
_WAITED_FOR: Mapping[State, str] = {
    "not examined": "which was not examined",
    "unknown end": "which has no known start",
    "starts if": "which starts only once another event occurs",
    "impossible": "which cannot start on this cluster",
}


class Stated(NamedTuple):
    """The state of a job or of a condition, and the reason; a condition that holds has "starts"."""

    state: State
    why: str = ""


_HOLDS = Stated("starts")
#: Pending reason of a job whose dependency is not satisfied.
_BY_CONDITION = (NOT_YET, NEVER_SATISFIED)
#: Characters of a condition that are shown.
LONGEST = 60


@dataclass(frozen=True)
class Reasons:
    """A classifier of the reasons why jobs of one instance have no start."""

    instance: Instance
    #: The instance resolved, with its windows and advance reservations.
    problem: PlanningProblem
    #: Jobs that the simulated scheduler starts, by id.
    starts: Mapping[str, PlannedJob]
    #: Pending reasons of the other jobs at their first dispatch attempt, by job id, in sentences.
    waiting: Mapping[str, str]
    _known: dict[str, Stated] = field(default_factory=dict)

    def of(self, job: Job) -> Stated:
        """Return the state of a job that does not start as configured, and what must happen
        first.
        """
        if job.id not in self._known:
            self._known[job.id] = self._found(job, self._awaited.get(job.id, _HOLDS))
        return self._known[job.id]

    def awaits(self, job: Job) -> bool:
        """Whether the start condition of a job is not expected to be satisfied."""
        return self._awaited.get(job.id, _HOLDS).state != "starts"

    def _found(self, job: Job, awaited: Stated) -> Stated:
        """Return the state of a job. awaited: the state of its start condition."""
        if why := self._why_nowhere(job):
            if lifted := self._may_be_lifted(job):
                return Stated("starts if", f"{lifted}; otherwise: {why}")
            return Stated("impossible", why)
        if awaited.state == "impossible":
            return awaited
        job = self._as_it_fits(job)
        queue = self.instance.queue(job.queue)
        act = "" if queue.active else f"queue {queue.name} is activated (badmin qact {queue.name})"
        shut = self._shut_for(job)
        if acts := " and ".join(filter(None, (act, shut))):
            then = awaited.why or self._endless_after(job, opened=bool(shut))
            return Stated("starts if", f"{acts}{f'; then {then}' if then else ''}")
        return awaited if awaited.state != "starts" else self._beside_others(job)

    def _endless_after(self, job: Job, *, opened: bool) -> str:
        """Return jobs of unknown end that block it in an active queue; opened: with all
        hosts open.
        """
        demand = replace(self._at_best.demand_of(job), after=None)
        demand = demand if opened else without_hosts(demand, self._is_shut)
        if not self._endless or earliest_start(self._at_best.base, demand) is not None:
            return ""
        return reason_unplaced(self._at_best, demand) or UNKNOWN_END

    def _beside_others(self, job: Job) -> Stated:
        """Return the state of a job that fits on this cluster and whose condition holds at some
        time.
        """
        known = None if job.requirement_alternative else self._as_now.get(job.id)
        demand = known or self.problem.demand_of(job)
        waits_for = self.waiting.get(job.id, "")
        if demand.latest is not None:
            first = f"{job.dependency} holds and " if job.dependency else ""
            return Stated("starts if", f"{first}{place_before_deadline(self.instance, job)}")
        if not self._fits(self.problem, demand):
            return Stated("starts if", waits_for or demand.impossible)
        why = reason_unplaced(self.problem, demand)
        if beyond_reported(self.problem, demand):
            return Stated("starts if", why)
        if self._endless or why == BEYOND_KNOWN:
            return Stated("unknown end", why or UNKNOWN_END)
        return Stated("starts if", waits_for or why)

    @staticmethod
    def _fits(problem: PlanningProblem, demand: Demand) -> bool:
        """Whether a job fits on the idle cluster, regardless of its dependencies."""
        if demand.impossible:
            return False
        demand = on_loans(problem.resolver, replace(demand, after=None))
        return earliest_start(problem.empty, at_any_time(problem, demand)) is not None

    def _why_nowhere(self, job: Job) -> str:
        """Return why a job fits nowhere with all queues active and all hosts open; "" if it
        fits.
        """
        if refused := self._refused.get(job.id, ""):
            return refused
        why = [self._why_nowhere_under(item) for item in self._at_best.resolver.under_each(job)]
        return why[0] if all(why) else ""

    def _may_be_lifted(self, job: Job) -> str:
        """Return the omission without which a job that fits nowhere may be feasible, "" if
        none.
        """
        if omitted := self._omitted.get(job.id) or next(iter(job.assumed), ""):
            return f"the omission allows it ({omitted})"
        demand = self._at_best.demand_of(job)
        short = replace(demand, duration=1)
        if demand.duration is None and not demand.impossible and self._fits(self._at_best, short):
            return "it has a run limit, or is suspended and resumed"
        return ""

    @cached_property
    def _omitted(self) -> Mapping[str, str]:
        """Return the omissions of the input that name or describe jobs, by job."""
        lifted = tuple(item for item in self.instance.omissions if item.lifts)
        seen = replace(self.instance, omissions=lifted)
        found = unsupported_rules(seen, self.problem.resolver, conditions={}) if lifted else ()
        known = [item for item in reversed(found) if item.lifts]
        ids = [job.id for job in self.instance.pending] if known else []
        return {
            job: item.name for item in known for job in (ids if item.jobs is None else item.jobs)
        }

    def _as_it_fits(self, job: Job) -> Job:
        """Return a job with the first of its alternatives in braces that fits on the open hosts, or
        else with all hosts open; a job without any as it is.
        """
        choices = self._at_best.resolver.under_each(job)
        if len(choices) == 1:
            return job
        fitting = (c for c in choices if self._fits(self.problem, self.problem.demand_of(c)))
        at_best = (c for c in choices if not self._why_nowhere_under(c))
        return next(fitting, None) or next(at_best, job)

    def _why_nowhere_under(self, job: Job) -> str:
        """As :meth:`_why_nowhere`, under one alternative of the requirement."""
        if self._fits(self.problem, self.problem.demand_of(job)):
            return ""
        demand = self._at_best.demand_of(job)
        if self._fits(self._at_best, demand):
            return ""
        return reason_unplaced(self._at_best, demand).removeprefix(f"{NOWHERE}: ")

    def _shut_for(self, job: Job) -> str:
        """Return the closed or down hosts that have to return; "" if the job fits on the others."""
        if self._fits(self.problem, self.problem.demand_of(job)):
            return ""
        profile = self._at_best.empty
        demand = replace(self._at_best.demand_of(job), after=None)
        if earliest_start(profile, without_hosts(demand, self._is_shut)) is not None:
            return ""
        found = earliest_start(profile, demand)
        needed = [int(h) for h in found.allocation if self._is_shut[h]] if found else []
        for host in tuple(needed):
            fewer = [other for other in needed if other != host]
            closed = self._is_shut.copy()
            closed[fewer] = False
            if fewer and earliest_start(profile, without_hosts(demand, closed)) is not None:
                needed = fewer
        names = [self.instance.cluster.hosts[host].name for host in needed]
        happens = "is opened or returns" if len(names) == 1 else "are opened or return"
        active = self.instance.queue(job.queue).active
        said = self.problem.demand_of(job).impossible if active else ""
        return f"{_some(names)} {happens}{f' ({said})' if said else ''}" if names else ""

    @cached_property
    def _refused(self) -> Mapping[str, str]:
        """Return the jobs that have no share, each with the reason."""
        found = admissions(self.instance)
        return {job: item.refused for job, item in found.items() if item.refused}

    @cached_property
    def _is_shut(self) -> BoolArray:
        """Return a mask of the hosts that take no jobs, [H]."""
        return np.array([not host.takes_jobs for host in self.instance.cluster.hosts], dtype=bool)

    @cached_property
    def _at_best(self) -> PlanningProblem:
        """Return the instance with all hosts open and all queues active."""
        instance, cluster = self.instance, self.instance.cluster
        if not self._is_shut.any() and all(queue.active for queue in instance.queues):
            return self.problem
        hosts = tuple(
            host if host.takes_jobs else replace(host, status="ok") for host in cluster.hosts
        )
        queues = tuple(replace(queue, active=True) for queue in instance.queues)
        world = replace(instance, cluster=replace(cluster, hosts=hosts), queues=queues)
        return PlanningProblem.of(world, as_lsf=False)

    @cached_property
    def _as_now(self) -> Mapping[str, Demand]:
        """Return the demands of jobs under the current loads, by job."""
        return {demand.job.id: demand for demand in self.problem.demands}

    @cached_property
    def _endless(self) -> bool:
        """Whether the end of a running or pending job is unknown."""
        pending = any(d.duration is None and not d.may_be_killed for d in self.problem.demands)
        return pending or bool(self.problem.endless())

    @cached_property
    def _awaited(self) -> Mapping[str, Stated]:
        """Return the state of the start conditions of pending jobs, by job."""
        conditions = Precedence.of(self.instance)
        jobs = {job.id: job for job in self.instance.pending}
        found: dict[str, Stated] = {}

        def state_of(job: str) -> Stated:
            """Return the state of a pending job, after the jobs on which it depends."""
            if job in self.starts:
                return _HOLDS
            if job not in self._known:
                self._known[job] = self._found(jobs[job], found.get(job, _HOLDS))
            return self._known[job]

        def of_event(event: Event) -> Stated:
            match event:
                case Known(time, why):
                    if time is not None:
                        return _HOLDS
                    return Stated("impossible" if why == NEVER_SATISFIED else "unknown end", why)
                case After():
                    return self._after(event, state_of(event.job))
                case Several(parts, count):
                    needed = sorted(map(of_event, parts), key=_hope)[:count]
                    return max(needed, key=_hope, default=_HOLDS)

        for name in conditions.ordered(list(conditions.releases)):
            release = conditions.releases[name]
            known = of_event(release.event)
            if release.left_out and known.state == "unknown end":  # a failure, a message, a count
                known = Stated("starts if", f"{_holds(jobs[name])}; {known.why}")
            if known == _HOLDS and self.waiting.get(name, "").startswith(_BY_CONDITION):
                known = Stated("starts if", _holds(jobs[name]))
            found[name] = known
        return found

    def _after(self, event: After, other: Stated) -> Stated:
        """Return the state of a job that depends on another one; other: state of the other job."""
        if other.state == "starts":
            item = self.starts[event.job]
            if event.start or item.finish is not None:
                return _HOLDS
            return Stated("unknown end", NO_END.format(event.job))
        if other.state == "impossible" and event.by_kill:
            return Stated("starts if", f"job {event.job} is ended: it cannot start on this cluster")
        return Stated(other.state, f"waits for job {event.job}, {_WAITED_FOR[other.state]}")


def _hope(item: Stated) -> int:
    return _HOPE.index(item.state)


def _holds(job: Job) -> str:
    text = job.dependency if len(job.dependency) <= LONGEST else f"{job.dependency[:LONGEST]}…"
    return f"its start condition is satisfied (-w {text})"


def _some(names: list[str]) -> str:
    """Return text such as ``n1``, ``n1 and n2`` or ``3 hosts (n1, n2 …)``."""
    if len(names) <= 2:
        return " and ".join(names)
    return f"{len(names)} hosts ({', '.join(names[:2])} …)"


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
    """Wall-clock seconds of the steps of :func:`starts_in_steps`."""

    #: Until the starts so far as configured are published while the simulation continues.
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
    once or several times. cancel: stops the simulation; then no plan is made. skip_plan: stops the
    plan.
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
    if not instance.params.scheduler.plans_nodes or not instance.pending or budget.late():
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
    found = None if found is None else without_idle_needs(found, configured)
    entries = _entries(instance, priority_order(instance), configured, found, budget)
    return Outlook(
        tuple(_with_overtaken(entries, two_cycles(instance))),
        now=instance.now,
        origin=instance.origin,
        method=configured.method,
        plan=found,
        configured=configured.starts,
        cut=configured.cut or (found is not None and found.cut),
    )


def _with_overtaken(entries: Iterable[JobOutlook], min_gain: int) -> Iterator[JobOutlook]:
    """Yield the entries in priority order, each with the first job before it that starts later."""
    names: list[str] = []
    latest: list[float] = []  # starts of these jobs, each later than all before it
    for item in entries:
        start, passed = item.as_configured, ""
        if start is not None and item.possible is not None and start < item.possible:
            passed = next(iter(names[bisect_right(latest, start) :]), "")
        yield replace(item, ahead_of=passed, min_gain=min_gain)
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
    (row,) = _entries(instance, (job,), configured, found, budget)
    return replace(row, min_gain=two_cycles(instance))


def not_simulated(instance: Instance, jobs: Sequence[Job]) -> tuple[Omission, ...]:
    """Return the settings of some pending jobs that no simulation and no plan considers."""
    return unheeded_by_the_loop(instance, Resolver.of(instance), jobs)


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
    return states_of(instance, without, starts, why, budget or Budget())


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


def states_of(
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


def _entries(
    instance: Instance,
    jobs: Sequence[Job],
    configured: ConfiguredRun,
    found: Plan | None,
    budget: Budget | None,
) -> Iterator[JobOutlook]:
    """Yield the answers for some jobs; options as of :func:`outlook_of`."""
    states: dict[str, tuple[State, str]] = {}
    if not configured.cut:
        without = [job for job in jobs if job.id not in configured.starts]
        run = configured.starts, configured.waiting
        states = states_of(instance, without, *run, budget or Budget())
    nowhere = by_job(not_simulated(instance, jobs), jobs)
    left_out = {} if found is None else by_job(found.omissions, jobs)
    unplaced = {} if found is None else {entry.job: entry.reason for entry in found.unplaced}
    for job in jobs:
        state, condition = states.get(job.id, ("not examined", ""))
        started = configured.starts.get(job.id)
        if started is None:
            started = PlannedJob(job.id, None, waits_for=configured.waiting.get(job.id, ""))
        else:
            state, condition = "starts", ""
        item = None if found is None else found.get(job.id)
        item = item or PlannedJob(job.id, None, waits_for=unplaced.get(job.id, ""))
        cautions = tuple(nowhere.get(job.id, ()))
        names = {each.name for each in cautions}
        yield JobOutlook(
            job=job.id,
            slots=job.slots,
            state=state,
            as_configured=started.start,
            as_configured_end=started.finish,
            as_configured_on=started.allocation,
            estimate=configured.estimates.get(job.id),
            estimate_by=configured.estimate_by.get(job.id, ""),
            possible=item.start,
            possible_on=item.allocation,
            bound=item.bound,
            proved=item.proved,
            proved_if=item.proved_if,
            waits_for=item.waits_for,
            held_back=started.waits_for,
            condition=condition,
            cautions=cautions,
            possible_cautions=tuple(o for o in left_out.get(job.id, ()) if o.name not in names),
            alternatives=(started.requirement_alternative, item.requirement_alternative),
        )


def by_job(omissions: Sequence[Omission], jobs: Sequence[Job]) -> dict[str, list[Omission]]:
    """Return the omissions that affect each of some jobs, one per name, in their order."""
    found: dict[str, dict[str, Omission]] = {}
    asked = {job.id for job in jobs}
    for item in omissions:
        for job in asked if item.jobs is None else asked.intersection(item.jobs):
            found.setdefault(job, {}).setdefault(item.name, item)
    return {job: list(items.values()) for job, items in found.items()}
