"""Start of one job behind the jobs before it, computed for many small changes.

Each question runs the scheduler on, or the next cycle, with the changed job among all others.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile
from time import monotonic
from typing import Any, Literal

from ...model.absolute_priority import StatedPriority
from ...model.display import data_of
from ...model.errors import UnknownNameError
from ...model.instance import Instance
from ...model.job import Job, array_of, with_running_limits
from ...model.omissions import Omission
from ...model.plan import (
    NOT_EXAMINED,
    MissingStart,
    Plan,
    PlannedArray,
    PlannedJob,
    Unplaced,
    missing_start,
)
from ...model.plan import Method as PlanMethod
from ...model.progress import OnProgress, Progress
from ...model.slurm_words import with_features
from ..availability.demand import Demand
from ..availability.profile import Profile
from ..budget import MIN_LIMIT, Budget, Deadline, OutOfTime
from ..fairshare.priority_order import priority_order
from ..fairshare.waiting_jobs import has_policy
from ..optimal.alternatives import as_chosen, opening_reason, options_of
from ..optimal.first_fit import TermsTogether
from ..optimal.lexicographic import warm_starts
from ..outlook.outlook import JobOutlook, Reasons, State, not_simulated, outlook_of_job
from ..placement.earliest import Start, allocate_start, earliest_start
from ..planning import check_margin, plan
from ..precedence import After, Precedence, earliest
from ..problem import PlanningProblem
from ..resolve import Resolver, may_have_choices
from ..scheduler import reservation_sequence as holding_back
from ..scheduler.continuation import CONFIGURED, ConfiguredRun, omissions_of_job, run_as_configured
from ..scheduler.cycle_reservations import JobReservation
from ..scheduler.next_cycle import NextCycle

#: Ways in which one job is asked about: the start that the simulated scheduler reaches as the
#: cluster is configured, the one in its next cycle by time-based reservation, the possible one.
Method = Literal["configured", "time-based", "optimal"]
METHODS = ("configured", "time-based", "optimal")
#: Default wall seconds of one exact plan.
TIME_LIMIT = 10.0
#: Part of the time limit after which the first run as configured ends: the rest is for the start
#: that is possible, and for what stands in the way.
CONFIGURED_SHARE = 0.6
#: Running and pending jobs from which on the possible start is examined only within a limit.
LARGE = 20_000
#: Running jobs from which on setting up a cycle costs much more than one answer.
MANY = 200


@dataclass(frozen=True, slots=True)
class StartAnswer:
    """Start of one job; times in seconds from the origin, None if no start at all."""

    job: Job
    #: Start in seconds from the origin, None if the job has none.
    start: int | None
    #: Expected finish in seconds, None if unknown.
    finish: int | None = None
    #: Slots by host.
    allocation: Mapping[str, int] = field(default_factory=dict)
    #: The constraint that binds, or why there is no start.
    waits_for: str = ""
    #: Whether no earlier start is possible.
    proved: bool = False
    #: Reason of a missing start; "no place" until the cause is found.
    missing: MissingStart | State = "no place"
    #: Whether a limit or Ctrl-C came before every job of the plan was examined.
    cut: bool = False
    #: Reason why the start depends on an exact fit, "" if it does not.
    exact_fit: str = ""
    #: If a limit left no start: when the job fits, given running jobs and the starts planned so
    #: far.
    earliest_known: int | None = None
    #: Omitted rules that may change the start.
    omissions: tuple[Omission, ...] = ()
    #: The jobs that must start where planned for the start to be proved.
    proved_if: tuple[str, ...] = ()

    @classmethod
    def unexamined(cls, job: Job, why: str = NOT_EXAMINED) -> StartAnswer:
        """Return the answer for a job that a limit or Ctrl-C left unexamined."""
        return cls(job, None, waits_for=why, missing="not examined", cut=True)

    @property
    def when(self) -> float:
        """Return the start, infinite if there is none."""
        return math.inf if self.start is None else self.start

    @property
    def at_the_earliest(self) -> int | None:
        """Return :attr:`earliest_known` under its name until 0.2, which the next release
        removes.
        """
        return self.earliest_known

    def unknown(self) -> dict[str, Any]:
        """Return additional plain data: the reason of a missing start, a limit, an exact fit."""
        word = data_of(self, "missing") if self.start is None else {}
        if self.earliest_known is not None:
            word["at_the_earliest"] = self.earliest_known
        return word | data_of(self, "exact_fit? proved_if? omissions? cut?")


def stated_by(outlook: JobOutlook, answer: StartAnswer) -> StartAnswer:
    """Return the answer, with the state of the outlook if the job has no start."""
    if answer.start is not None or answer.missing != "no place" or outlook.state == "starts":
        return answer
    return replace(answer, missing=outlook.state, waits_for=outlook.condition)


@dataclass(frozen=True, slots=True)
class _Run:
    """A run of the scheduler as configured, and the request for which it was made."""

    pending: tuple[Job, ...]
    #: The job whose start was requested, "" for all jobs.
    until: str
    #: Second after which the requested start was of no interest.
    unless_later: int | None
    run: ConfiguredRun

    def serves(self, pending: tuple[Job, ...], job: str, unless_later: int | None) -> bool:
        """Whether the run answers when a job among these pending jobs starts."""
        asked = self.until in ("", job) and self.unless_later in (None, unless_later)
        return asked and self.pending == pending


@dataclass(frozen=True, slots=True)
class Planned:
    """A job with its reservation, by host names and by host index."""

    demand: Demand
    item: PlannedJob
    start: Start
    #: Commitment of the job until its start, None if it takes nothing.
    held: JobReservation | None = None


@dataclass(frozen=True, slots=True)
class PlanView:
    """Cluster state that one job sees: running jobs and jobs planned before it."""

    problem: PlanningProblem
    profile: Profile
    #: Jobs with a start among those before it in priority order.
    planned: tuple[Planned, ...]
    #: Whether it may use nothing that they hold until their starts (its queue has no BACKFILL).
    respects_reservations: bool = False

    @classmethod
    def of(cls, problem: PlanningProblem, found: Plan, *, without: str = "") -> PlanView:
        """Return the allocations of a plan without those of one job."""
        starts = warm_starts(problem, found)
        planned = tuple(
            Planned(demand, found[demand.job.id], starts[demand.job.id])
            for demand in problem.demands
            if demand.job.id in starts and demand.job.id != without
        )
        return cls(problem, _profile(problem, planned, guarded=False), planned)

    @classmethod
    def of_cycle(cls, cycle: NextCycle, *, guarded: bool, without: str = "") -> PlanView:
        """Return the starts and future allocations of a cycle without those of one job."""
        said = {item.job: item for item in cycle.results()}
        planned = tuple(
            Planned(demand, item, start, cycle.held.get(demand.job.id))
            for demand in cycle.problem.demands
            if demand.job.id != without
            and isinstance(item := said[demand.job.id], PlannedJob)
            and (start := cycle.planned_start(demand.job.id)) is not None
        )
        profile = _profile(cycle.problem, planned, guarded=guarded)
        return cls(cycle.problem, profile, planned, guarded)

    def times(self) -> dict[str, tuple[int, int | None]]:
        """Start and end (seconds) of the planned jobs."""
        return {item.demand.job.id: (item.start.time, item.item.finish) for item in self.planned}

    def begins(self, time: int) -> Iterator[tuple[str, Collection[str]]]:
        """Yield the planned jobs that start at a second, with their hosts."""
        for other in self.planned:
            if other.start.time == time:
                yield other.demand.job.id, other.item.allocation

    def released(self, demand: Demand) -> Demand:
        """Return the job with the earliest eligible time that its condition permits in this
        plan.
        """
        job, instance = demand.job, self.problem.instance
        if not job.dependency:
            return demand
        others = (other for other in instance.pending if other.id != job.id)
        waits = Precedence.of(replace(instance, pending=(*others, job))).releases[job.id]
        times = self.times()

        def when(other: After) -> int | None:
            start, finish = times.get(other.job, (None, None))
            margin = self.problem.margin
            return start if other.start else None if finish is None else finish + margin

        time = earliest(waits.event, when)
        return demand if time is None else replace(demand, earliest=max(demand.earliest, time))

    def without(self, job: str) -> Profile:
        """Return the profile without the reservation of one of the planned jobs."""
        kept = [other for other in self.planned if other.demand.job.id != job]
        return _profile(self.problem, kept, guarded=self.respects_reservations)


def _profile(problem: PlanningProblem, planned: Sequence[Planned], *, guarded: bool) -> Profile:
    base = problem.base.copy()
    for other in planned:
        allocate_start(base, other.demand, other.start)
    if not guarded:
        return base
    held = [other.held for other in planned if other.held is not None]
    return holding_back.profile_without_backfill(base, held, problem.instance.now)


class WhatIfPlanner:
    """Computes starts of single jobs in one instance by one method."""

    def __init__(
        self,
        instance: Instance,
        method: Method = "configured",
        *,
        time_limit: float | None = None,
        effort: float | None = None,
        margin: int = 0,
        cancel: threading.Event | None = None,
        on_progress: OnProgress | None = None,
    ) -> None:
        """Initialise the planner.

        time_limit: wall seconds of all questions together. effort, margin: of each plan, as in
        :func:`slotwise.plan`. on_progress: called before each question.
        """
        if method not in METHODS:
            raise UnknownNameError.among("method", method, METHODS)
        check_margin(margin)
        # A part of the instance without the pending elements of an array keeps its limit.
        running = with_running_limits(instance.running, instance.pending)
        same = running == instance.running
        self.instance = instance if same else replace(instance, running=running)
        self.method = method
        self.margin = margin
        self.effort = effort
        self.cancel = Deadline(time_limit, cancel)
        self._limited = time_limit is not None
        self._took = 0.0
        self.refrained = False
        self.on_progress = on_progress
        self._asked = 0
        self._begun = monotonic()
        self._cycles: dict[tuple[str, ...], NextCycle] = {}
        self._elements: tuple[Job, ...] = ()
        self._first: _Run | None = None
        self._last: _Run | None = None

    def for_instance(self, instance: Instance) -> WhatIfPlanner:
        """Return the questioner for another instance, with equal settings."""
        other = WhatIfPlanner(
            instance,
            self.method,
            time_limit=self.cancel.left() if self._limited else None,
            effort=self.effort,
            margin=self.margin,
            cancel=self.cancel,
            on_progress=None if self.on_progress is None else lambda _: self._count(),
        )
        other._asked, other._took = 1, self._took
        return other

    def _count(self) -> None:
        """Count one more question, of this or another instance."""
        self._asked += 1
        if self.on_progress is not None:
            self.on_progress(Progress(self._asked, None, None, None, monotonic() - self._begun))

    def stopped(self) -> bool:
        """Whether nothing more is asked: too little is left of the limit, or it is to stop.

        Once it is so, `refrained` says that something was left undone.
        """
        too_late = self._limited and self.cancel.left() < self._took
        if too_late or self.cancel.is_set():
            self.refrained = True
        return self.refrained

    def _left(self) -> float | None:
        """Return the wall seconds of the next exact plan."""
        if self._limited:
            return max(MIN_LIMIT, self.cancel.left())
        return TIME_LIMIT if self.effort is None else None

    def jobs_ahead(self, job: Job) -> tuple[Job, ...]:
        """Return the pending jobs that are planned before `job`, in order.

        A job of the same id is the one that `job` stands for; else it is submitted last.
        """
        ordered = priority_order(replace(self.instance, pending=self._with(job)))
        if self.method != "optimal" and job.dependency:
            # A cycle examines the job after all jobs without a condition; only jobs that depend on
            # it follow.
            behind = self._following(job)
            return tuple(other for other in ordered if other.id not in behind)
        return tuple(takewhile(lambda other: other.id != job.id, ordered))

    def prerequisites(self, job: Job) -> tuple[Job, ...]:
        """Return the pending jobs on which a job depends (-w), directly or not, in order."""
        waits_for = Precedence.of(replace(self.instance, pending=self._with(job))).waits_for()
        found, new = set[str](), {job.id}
        while new:
            new = {name for item in new for name in waits_for.get(item, ())} - found
            found |= new
        return tuple(other for other in self.jobs_ahead(job) if other.id in found)

    def _following(self, job: Job) -> set[str]:
        """Return the job and the pending jobs that depend on it, directly or not."""
        waits_for = Precedence.of(replace(self.instance, pending=self._with(job))).waits_for()
        found, grown = {job.id}, True
        while grown:
            new = {n for n, before in waits_for.items() if not found.isdisjoint(before)} - found
            found, grown = found | new, bool(new)
        return found

    def answer(
        self, job: Job, *, first: bool = False, unless_later: int | None = None
    ) -> StartAnswer:
        """Return the start of `job`; first: treat it as the first of all pending jobs.

        unless_later: second after which a simulated start is not needed.

        A time-based answer has no omissions; see :meth:`answer_with_omissions`.
        """
        self._count()
        if self._asked > 1 and self.stopped():
            return StartAnswer.unexamined(job)
        if self.method == CONFIGURED:
            run = self._run(job, first=first, unless_later=unless_later)
            found, why = run.starts.get(job.id), run.waiting.get(job.id, "")
            if found is None:
                missing: MissingStart = "not examined" if run.cut else "no place"
                return StartAnswer(job, None, waits_for=why, missing=missing, cut=run.cut)
            return StartAnswer(job, found.start, found.finish, found.allocation, found.waits_for)
        if self.method == "time-based":
            return self._in_next_cycle(job, first=first)
        best = self._plan_until(job, self._with_first(job) if first else self._with(job))
        reasons = {item.job: item for item in best.unplaced}
        item = best.get(job.id) or reasons.get(job.id)
        answer = _answer(job, item, finished=not best.may_improve, cut=best.cut)
        touching = tuple(omission for omission in best.omissions if omission.touches(job.id))
        return replace(answer, omissions=touching)

    def _in_next_cycle(self, job: Job, *, first: bool = False) -> StartAnswer:
        """Return the start of a job by time-based reservation in the next cycle."""
        try:
            return replace(self._of_cycle(job, first=first)[0], job=job)
        except OutOfTime:
            return StartAnswer.unexamined(job)

    def _run(
        self, job: Job, *, first: bool = False, unless_later: int | None = None
    ) -> ConfiguredRun:
        """Return the simulation of the scheduler as configured until a job starts.

        The first simulation, which is that of the requested job, and the last one are cached.
        """
        pending = self._with_first(job) if first else self._with(job)
        for known in (self._first, self._last):
            if known is not None and known.serves(pending, job.id, unless_later):
                return known.run
        until = "" if self._is_array(job) else job.id
        return self._run_on(pending, until, unless_later)

    def _run_on(
        self, pending: tuple[Job, ...], until: str, unless_later: int | None = None
    ) -> ConfiguredRun:
        """Run the scheduler on with these pending jobs; until: job whose start is requested, "" for
        all.
        """
        budget = self.budget()
        if self._asked == 1:  # of the job itself, not of a change
            budget.time_limit = budget.time_share(CONFIGURED_SHARE)
        watched = None if unless_later is None else (until, unless_later)
        world = replace(self.instance, pending=pending)
        run = run_as_configured(world, budget=budget, until=until, unless_later=watched)
        if not run.cut:
            self._took = max(self._took, budget.elapsed())
        self._last = _Run(pending, until, unless_later, run)
        if self._first is None:
            self._first = self._last
        return run

    def outlook(self, job: Job) -> JobOutlook:
        """Return the outlook of `job`: as configured, LSF's estimate, possible, and its cautions.

        In very large instances without a time limit, the possible start is not examined.
        """
        run = self._run(job)
        world = replace(self.instance, pending=self._with(job))
        large = len(world.running) + len(world.pending) > LARGE
        may_plan = self._limited or self.effort is not None or not large
        best = None if self.stopped() or not may_plan else self._plan_until(job, world.pending)
        return outlook_of_job(world, job, run, best, self.budget())

    def stated(self, answer: StartAnswer) -> StartAnswer:
        """Return the answer, with its state and the reason if the job has no start."""
        if answer.start is not None or answer.missing != "no place":
            return answer
        job = answer.job
        try:
            # A job with a condition depends on the starts of other jobs.
            run = self._run(job) if job.dependency else None
            state, why = self._reasons(job, run, answer.waits_for).of(job)
        except OutOfTime:
            return replace(answer, missing="not examined")
        return replace(answer, missing=state, waits_for=why)

    def blocked_by(self, job: Job, fits: int, start: int) -> list[str]:
        """Return the jobs before it that wait when it fits, if it starts earlier without them."""
        found = self._run(job).starts
        ahead = [
            other.id
            for other in self.jobs_ahead(job)
            if other.id not in found or (found[other.id].start or 0) > fits
        ]
        rest = tuple(other for other in self.instance.pending if other.id not in ahead)
        if not ahead or self.stopped():
            return []
        without = self.for_instance(replace(self.instance, pending=rest))
        then = without.answer(job, unless_later=start - 1).start
        return ahead if then is not None and then < start else []

    def is_passed(self, job: Job, start: int) -> bool:
        """Whether a job behind it starts before this as configured."""
        before = {other.id for other in self.jobs_ahead(job)} | {job.id}
        return any(
            item.job not in before and item.start is not None and item.start < start
            for item in self._run(job).starts.values()
        )

    def awaits(self, job: Job) -> bool:
        """Whether its start condition does not come to hold as configured."""
        return bool(job.dependency) and self._reasons(job, self._run(job)).awaits(job)

    def _reasons(self, job: Job, run: ConfiguredRun | None, why: str = "") -> Reasons:
        """Return the reasons of a job after a run; why: that of the job, if no run is needed."""
        world = replace(self.instance, pending=self._with(job))
        problem = PlanningProblem.of(world, as_lsf=False, budget=self.budget())
        if run is None:
            return Reasons(world, problem, {}, {job.id: why})
        return Reasons(world, problem, run.starts, run.waiting)

    def in_turn(self, job: Job) -> int | None:
        """Return the start of a job in dispatch order by time-based reservation, None if it has
        none.
        """
        return self._in_next_cycle(job).start

    def elements(self, array: str, jobs: Sequence[Job] = ()) -> PlannedArray | None:
        """Return the elements of an array with their starts, None if none has one.

        jobs: the elements, submitted after all pending jobs.
        """
        self._count()
        self._elements = tuple(jobs)
        pending = (*self.instance.pending, *jobs)
        if self.method != "configured":
            world = replace(self.instance, pending=pending)
            return self._plan(world, self.method).array(array)
        run = self._run_on(pending, "")
        found = [item for job in pending if (item := run.starts.get(job.id)) is not None]
        chosen = [item for item in found if array_of(item.job) == array]
        return PlannedArray.of(array, chosen) if chosen else None

    def answer_with_omissions(self, job: Job) -> StartAnswer:
        """Return the start of `job`, with the omitted rules that may change it."""
        if self.method == "optimal":
            return self.answer(job)
        if self.method == CONFIGURED:
            found = self.answer(job)
            omissions = not_simulated(replace(self.instance, pending=self._with(job)), (job,))
            return replace(found, omissions=tuple(o for o in omissions if o.touches(job.id)))
        self._count()
        try:
            found, cycle = self._of_cycle(job, first=False)
        except OutOfTime:
            return StartAnswer.unexamined(job)
        chosen, found = found.job, replace(found, job=job)
        omissions = cycle.omissions((chosen,))
        if not self.margin:
            world = replace(cycle.asked, pending=self._settled(self._with(chosen)))
            place = (world, job.id, found.start, omissions)
            try:
                omissions = omissions_of_job(*place, method=self.method, budget=self.budget())
            except OutOfTime:
                return replace(found, omissions=omissions, cut=True)
        return replace(found, omissions=omissions)

    def fails(self, found: StartAnswer) -> tuple[str, ...]:
        """Return the requirement parts of a waiting job that hold on some hosts only, and where
        they fail.

        () if the pending reason states it.
        """
        if found.start == self.instance.now or found.cut:
            return ()
        told = Resolver.of(self.instance).fails(found.job)
        if any(text in found.waits_for for text in told):
            return ()
        return tuple(with_features(self.instance, text) for text in told)

    def answer_if_earlier(self, job: Job, limit: int) -> StartAnswer:
        """Return the start of `job` if it is before `limit`; otherwise the result may be a bound.

        In large instances, a whole cycle is simulated only if the jobs before it leave a chance.
        """
        many = len(self.instance.running) > MANY and self.method != "optimal"
        if many and not self._some_come_later and not has_policy(self.instance):
            guess = self._behind_those_ahead(job)
            if guess.start is None or guess.start >= limit:
                return guess
        return self.answer(job, unless_later=limit)

    def _behind_those_ahead(self, job: Job) -> StartAnswer:
        """Return the start of `job` in a cycle of the jobs before it, which plans itself last."""
        cycle = self._cycle(self.jobs_ahead(job))
        options = self.options(job)
        found = [answer_of_cycle(o, cycle, cycle.hypothetical_result(o)) for o in options]
        return replace(min(found, key=lambda answer: answer.when), job=job)

    def view(self, job: Job) -> PlanView:
        """Return the availability for `job`, with the jobs before it as the method places them."""
        ahead = self.jobs_ahead(job)
        if self.method != "optimal":
            guarded = not self.instance.queue(job.queue).backfill
            if not job.reservation:
                return PlanView.of_cycle(self._cycle(ahead), guarded=guarded)
            # A cycle that contains the job has its reservation.
            cycle = self._next_cycle(replace(self.instance, pending=(*ahead, job)))
            return PlanView.of_cycle(cycle, guarded=guarded, without=job.id)
        world = replace(self.instance, pending=self._with(job))
        found = self._plan_until(job, world.pending)
        chosen = as_chosen(world, found)
        problem = PlanningProblem.of(
            chosen, as_lsf=False, margin=self.margin, loans=True, first=len(ahead) + 1
        )
        return PlanView.of(problem, found, without=job.id)

    def options(self, job: Job) -> tuple[Job, ...]:
        """Return a job once for each of its alternatives in braces; without any, the job alone."""
        world = replace(self.instance, pending=(job,))
        if job.requirement_alternative is not None or not may_have_choices(world):
            return (job,)
        return options_of(self.instance, (job,)).get(job.id, (job,))

    def _options_in_cycle(self, job: Job, *, first: bool) -> tuple[Job, ...]:
        """As :meth:`options`; a pending job as it is has the alternative that a plan gives it."""
        chosen = None if first else self._chosen.get(job.id)
        if chosen is not None and job == replace(
            chosen, requirement_alternative=None, begin=job.begin
        ):
            return (chosen,)
        return self.options(job)

    @cached_property
    def _chosen(self) -> Mapping[str, Job]:
        """Return by id the pending jobs with alternatives in braces, each with the one that a plan
        of the next cycle gives it.
        """
        if not may_have_choices(self.instance):
            return {}
        chosen = as_chosen(self.instance, self._plan(self.instance, "time-based")).pending
        pairs = zip(self.instance.pending, chosen, strict=True)
        return {job.id: job for asked, job in pairs if job is not asked}

    def _settled(self, pending: Sequence[Job]) -> tuple[Job, ...]:
        """Return pending jobs as a cycle takes them: each with one alternative in braces."""
        chosen = self._chosen
        if not chosen:
            return tuple(pending)
        return tuple(
            job if job.requirement_alternative is not None else chosen.get(job.id, job)
            for job in pending
        )

    def demands(self, view: PlanView, job: Job) -> tuple[Demand, ...]:
        """Return the demand of a job under each of its alternatives in braces in a view."""
        return tuple(self.demand(view, option) for option in self.options(job))

    def demand(self, view: PlanView, job: Job) -> Demand:
        """Return the demand of a job in a view, under its own alternative or the first.

        The exact method places its terms together.
        """
        demand = view.released(view.problem.demand_of(job))
        if self.method != "optimal" or len(demand.terms) == 1:
            return demand
        budget = Budget(self._left(), effort=self.effort, cancel=self.cancel)
        return replace(demand, joint_placer=TermsTogether(budget))

    def _plan_until(self, job: Job, pending: tuple[Job, ...]) -> Plan:
        """Return the optimal plan of a job and of those before it in the order of these jobs."""
        world = replace(self.instance, pending=pending)
        order = [other.id for other in priority_order(world)]
        return self._plan(world, "optimal", order.index(job.id) + 1)

    def _plan(self, world: Instance, method: PlanMethod, first: int | None = None) -> Plan:
        exact = method == "optimal"
        return plan(
            world,
            method,
            first=first,
            time_limit=self._left() if exact or self._limited else None,
            effort=self.effort if exact else None,
            margin=self.margin,
            cancel=self.cancel,
        )

    def _cycle(self, pending: tuple[Job, ...]) -> NextCycle:
        """Return the next cycle with these jobs only; cached for repeated questions."""
        key = tuple(job.id for job in pending)
        if key not in self._cycles:
            self._cycles[key] = self._next_cycle(replace(self.instance, pending=pending))
        return self._cycles[key]

    def _of_cycle(self, job: Job, *, first: bool) -> tuple[StartAnswer, NextCycle]:
        """Return the result of the next cycle for a job, and that cycle.

        The job of the answer has the alternative in braces by which it starts earliest.
        """
        found = [
            self._of_cycle_by(o, first=first) for o in self._options_in_cycle(job, first=first)
        ]
        answer, cycle = min(found, key=lambda item: item[0].when)
        if chosen := answer.job.requirement_alternative:
            why = opening_reason(answer.waits_for, chosen, answer.start, job.begin)
            answer = replace(answer, waits_for=why)
        return answer, cycle

    def _of_cycle_by(self, job: Job, *, first: bool) -> tuple[StartAnswer, NextCycle]:
        """As :meth:`_of_cycle`, of a job without alternatives in braces to choose from."""
        pending = self._with_first(job) if first else self._with(job)
        cycle = self._next_cycle(replace(self.instance, pending=pending), wanted=job.id)
        found = answer_of_cycle(job, cycle, cycle.result_for(job.id))
        if found.start is None and found.missing in ("no date", "not examined"):
            found = replace(found, earliest_known=cycle.earliest_known(job))
        return found, cycle

    def _next_cycle(self, instance: Instance, wanted: str | None = None) -> NextCycle:
        """Return the next cycle. wanted: the only job whose start is needed."""
        budget, margin = self.budget(), self.margin
        instance = replace(instance, pending=self._settled(instance.pending))
        cycle = NextCycle(instance, "time-based", budget=budget, margin=margin, wanted=wanted)
        self._took = max(self._took, budget.elapsed())
        return cycle

    def budget(self) -> Budget:
        """Return the budget of one cycle; unlimited unless requested."""
        return Budget(self._left() if self._limited else None, cancel=self.cancel)

    @cached_property
    def _some_come_later(self) -> bool:
        """Return whether some jobs reserve nothing yet, so that jobs after them come first (-w,
        -b).
        """
        return any(
            job.dependency or job.reservation or (job.begin or 0) > self.instance.now
            for job in self._settled(self.instance.pending)
        )

    def _is_array(self, job: Job) -> bool:
        """Whether the job represents a submitted job array."""
        return bool(self._elements) and job is self._elements[0]

    def _with_first(self, job: Job) -> tuple[Job, ...]:
        """Return the pending jobs with `job` first, or `job` alone if others still precede it.

        Others precede it if queues or shares require it, with any priority of the job.
        """
        others = [other for other in self.instance.pending if other.id != job.id]
        top = max([job, *others], key=lambda other: other.priority).priority + 1
        submit = min(other.submit for other in (job, *others)) - 1
        stated = (other.aps.value for other in (job, *others) if other.aps is not None)
        aps = StatedPriority("system", max([0.0, *stated]) + 1)
        pending = (replace(job, priority=top, submit=submit, aps=aps), *others)
        order = priority_order(replace(self.instance, pending=pending))
        return pending if order[0].id == job.id else (*self.prerequisites(job), job)

    def _with(self, job: Job) -> tuple[Job, ...]:
        """Return the pending jobs with `job` in place of the one with its id, or as the last.

        The first element of a new array is followed by the other elements.
        """
        pending = self.instance.pending
        if all(other.id != job.id for other in pending):
            return (*pending, *(self._elements if self._is_array(job) else (job,)))
        return tuple(job if other.id == job.id else other for other in pending)


def earliest_demand(view: PlanView, demands: Sequence[Demand], job: Job) -> Demand:
    """Return, of the demands of a job under its alternatives, the one that fits earliest in a view,
    with the job as it was asked.
    """
    if len(demands) == 1:
        return demands[0]

    def when(demand: Demand) -> float:
        start = None if demand.impossible else earliest_start(view.profile, demand)
        return math.inf if start is None else start.time

    return replace(min(demands, key=when), job=job)


def answer_of_cycle(job: Job, cycle: NextCycle, found: PlannedJob | Unplaced) -> StartAnswer:
    """Return the result of a cycle for a job, as an answer."""
    # A cycle is kept and asked again: its time may be over only then.
    late = isinstance(found, PlannedJob) and found.start is None
    cut = cycle.cut or (late and cycle.budget.stopped())
    return _answer(job, found, finished=not cut, cut=cut)


def _answer(
    job: Job, found: PlannedJob | Unplaced | None, *, finished: bool, cut: bool
) -> StartAnswer:
    """Return the answer for one job.

    finished: whether everything was examined; cut: as in a plan.
    """
    if isinstance(found, PlannedJob) and found.start is not None:
        return StartAnswer(
            *(job, found.start, found.finish, found.allocation, found.waits_for, found.proved),
            cut=cut,
            exact_fit=found.exact_fit,
            proved_if=found.proved_if,
        )
    why = found.reason if isinstance(found, Unplaced) else ""
    if isinstance(found, PlannedJob):
        why = found.fallback or found.waits_for
    missing = missing_start(found, finished=finished)
    if cut and missing == "no date":
        missing = "not examined"
    return StartAnswer(job, None, waits_for=why, missing=missing, cut=cut)
