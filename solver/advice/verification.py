"""Estimates of one snapshot against the starts of a log, and why they differ.

The difference is divided by simulations of the snapshot: with the real run times, then without the
jobs that were removed, then with the jobs that were submitted later. Each step moves the start of a
job by its share; the rest is what the simulated scheduler does otherwise than the real one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from ...model.display import MINUTE, AsData, data_of, duration_text, some, with_stamps
from ...model.duration import expected_finish
from ...model.errors import InputError, Problem, wrong_clock
from ...model.instance import Instance
from ...model.job import Job
from ..accuracy.measures import Accuracy, accuracy
from ..budget import Budget, OutOfTime
from ..forecast.history import LoggedRun, LoggedRuns, clock_offset, is_record_of
from ..outlook.outlook import JobOutlook, Outlook
from ..pending_reasons import counted
from ..scheduler.continuation import starts_in
from ..scheduler.methods import looking_ahead, settings_for
from ..scheduler.simulation import Session

#: Fate of a pending job by the log.
Fate: TypeAlias = Literal["started", "pending", "removed", "not in the log"]
#: What a simulation knows of the log in addition to the one before it.
Step: TypeAlias = Literal["run times", "removed", "submitted later"]


@dataclass(frozen=True)
class LoggedFacts:
    """What a log says of the jobs of an instance, on the clock of the instance."""

    instance: Instance
    #: Run of each job of the instance that the log has, by id.
    runs: Mapping[str, LoggedRun]
    #: Jobs submitted after the snapshot that started, in the order of their starts.
    later: tuple[LoggedRun, ...]
    #: Number of jobs that waited or ran at the time of the snapshot and are not in it.
    missing: int
    #: Time of the last record.
    last: int
    #: Whether the log has jobs without an end too.
    has_unfinished: bool

    @classmethod
    def of(cls, instance: Instance, log: LoggedRuns, source: str = "") -> LoggedFacts:
        """Return the facts; raise InputError if the log cannot be of what followed."""
        _check_clocks(instance, log, source)
        zero = clock_offset(log.epoch, instance)
        last = log.last + zero
        if last <= instance.now:
            early = duration_text(instance.now - last)
            wrong = f"ends {early} before the instance's now: give a log of a later time"
            raise InputError([Problem(wrong, source)])
        here = {job.id: job for job in _jobs_of(instance)}
        running = {run.job.id for run in instance.running}
        runs: dict[str, LoggedRun] = {}
        later, missing = [], 0
        for run in (_shifted(run, zero) for run in log.runs):
            name = run.job.id
            if is_record_of(here, run.job, run.job.submit):
                if name not in runs and _is_next_run(run, instance.now, name in running):
                    runs[name] = run
            elif run.job.submit > instance.now:
                later += [run] if run.start is not None else []
            elif (run.end or last) > instance.now:
                missing += 1
        later.sort(key=lambda run: (run.start or 0, run.job.submit))
        return cls(instance, runs, tuple(later), missing, last, log.has_unfinished)

    def fate(self, job: Job) -> Fate:
        """Return the fate of a pending job."""
        run = self.runs.get(job.id)
        if run is None:
            return "not in the log"
        if run.start is not None:
            return "started"
        return "pending" if run.end is None else "removed"

    def end(self, job: str) -> int | None:
        """Return the real end of a job, None if it is unknown."""
        run = self.runs.get(job)
        return None if run is None or run.start is None else run.end


def _check_clocks(instance: Instance, log: LoggedRuns, source: str) -> None:
    if (log.epoch is None) == (instance.origin is None):
        return
    wrong = wrong_clock(instance.origin is not None, "the instance")
    raise InputError([Problem(wrong, source)])


def _jobs_of(instance: Instance) -> Iterator[Job]:
    yield from (run.job for run in instance.running)
    yield from instance.pending


def _shifted(run: LoggedRun, zero: int) -> LoggedRun:
    """Return a record on the instance's clock; a requeued job's later runs have its own id."""
    job = replace(run.job, id=run.job.id.partition("#")[0], submit=run.job.submit + zero)
    start = None if run.start is None else run.start + zero
    return LoggedRun(job, start, None if run.end is None else run.end + zero)


def _is_next_run(run: LoggedRun, now: int, is_running: bool) -> bool:
    """Whether a record is of the run after the snapshot, not of one before a requeue.

    bjobs prints no seconds, so a start within the same minute counts as after it.
    """
    if is_running:
        return run.end is None or run.end >= now - MINUTE
    return run.start is None or run.start >= now - MINUTE


def simulated_with(instance: Instance, budget: Budget) -> dict[str, int]:
    """Return the starts of the pending jobs in the scheduler as configured.

    Unlike a plan it uses real run times and future submissions. Raises OutOfTime.
    """
    settings = settings_for(instance, top=looking_ahead(instance), cycle=0)
    starts = starts_in(Session(instance, settings, budget=budget))
    if starts is None:
        raise OutOfTime
    return starts


@dataclass(frozen=True)
class Hindsight:
    """Starts of the pending jobs with more and more facts of the log; None: does not start."""

    facts: LoggedFacts
    budget: Budget = field(default_factory=Budget)

    def starts(self) -> list[tuple[Step, dict[str, int]]]:
        """Return the starts after each step, with the reason that the step stands for."""
        facts, instance = self.facts, self.facts.instance
        known = replace(
            instance,
            running=tuple(
                replace(run, job=self._as_it_ran(run.job, run.start)) for run in instance.running
            ),
            pending=tuple(self._as_it_ran(job, None) for job in instance.pending),
            future=(),
        )
        left = replace(known, pending=tuple(j for j in known.pending if facts.fate(j) != "removed"))
        variants: dict[Step, Instance] = {
            "run times": known,
            "removed": left,
            "submitted later": replace(left, future=self._later_jobs()),
        }
        steps: list[tuple[Step, dict[str, int]]] = []
        simulated: Instance | None = None
        found: dict[str, int] = {}
        for step, variant in variants.items():
            if variant != simulated:
                found, simulated = simulated_with(variant, self.budget), variant
            steps.append((step, found))
        return steps

    def _as_it_ran(self, job: Job, start: int | None) -> Job:
        """Return a job with its real run time; start: that of a running job."""
        end = self.facts.end(job.id)
        run = self.facts.runs.get(job.id)
        start = run.start if start is None and run is not None else start
        if end is None or start is None:
            return job
        return replace(job, run_time=max(1, end - start))

    def _later_jobs(self) -> tuple[Job, ...]:
        """Return the jobs that were submitted later and started before the last one here did."""
        facts, instance = self.facts, self.facts.instance
        starts = [run.start for job in instance.pending if (run := facts.runs.get(job.id))]
        latest = max((start for start in starts if start is not None), default=instance.now)
        queues = {queue.name for queue in instance.queues}
        applications = {profile.name for profile in instance.applications}
        here = {job.id for job in _jobs_of(instance)}
        found = []
        for number, run in enumerate(facts.later):
            job = run.job
            if run.start is None or run.start > latest or job.queue not in queues:
                continue
            name = f"{job.id}#{number}" if job.id in here else job.id
            here.add(name)
            application = job.application if job.application in applications else ""
            ran = None if run.end is None else max(1, run.end - run.start)
            found.append(replace(job, id=name, application=application, res_req=(), run_time=ran))
        return tuple(sorted(found, key=lambda job: job.submit))


#: Why a start differs from the estimate, in one word or two.
Why: TypeAlias = Literal[
    "as estimated",
    "finished early",
    "finished late",
    "removed",
    "submitted later",
    "tie",
    "omitted rule",
    "other",
    "no estimate",
    "still pending",
    "not in the log",
]
#: The estimates of a record, and its other times.
ESTIMATES: Final = ("as_configured", "estimate", "possible", "printed", "likely")
TIMES: Final = (*ESTIMATES, "started", "finished")
#: Jobs that a sentence names.
_MAX_NAMED = 3


@dataclass(frozen=True, slots=True)
class Cause(AsData):
    """One reason why a job started at another time than estimated."""

    why: Why
    #: Seconds by which it moved the start: negative if it made the start earlier.
    seconds: int
    #: Ids of the jobs whose behaviour it is, the most relevant first.
    jobs: tuple[str, ...] = ()

    DATA = "why seconds jobs"


@dataclass(frozen=True, slots=True)
class VerifiedJob:
    """Estimates and real start of one pending job; times in seconds from the origin."""

    job: str
    user: str
    queue: str
    slots: int
    fate: Fate
    #: Estimated starts by the names in ESTIMATES, None if there is none.
    estimates: Mapping[str, int | None]
    started: int | None = None
    finished: int | None = None
    why: Why = "not in the log"
    #: Reason for the difference, one sentence without a full stop.
    sentence: str = ""
    #: Reasons by the size of their effect.
    causes: tuple[Cause, ...] = ()

    @property
    def error(self) -> int | None:
        """Return the seconds from the start as configured to the real one, None if unknown."""
        estimated = self.estimates["as_configured"]
        return None if self.started is None or estimated is None else self.started - estimated

    def to_dict(self, origin: str | None = None) -> dict[str, Any]:
        """Return the fields as data, with ISO stamps if there is an origin."""
        record = data_of(self, "job user queue slots") | dict(self.estimates)
        record |= data_of(self, "started finished fate late_by=error why sentence causes")
        return with_stamps(record, origin, TIMES)


@dataclass(frozen=True, slots=True)
class Verification:
    """The pending jobs of a snapshot in priority order, with what happened to them."""

    jobs: tuple[VerifiedJob, ...]
    now: int
    origin: str | None
    #: Time of the last record of the log.
    last: int
    #: LoggedFacts on the log and the snapshot that limit the comparison, a sentence each.
    remarks: tuple[str, ...] = ()
    #: Whether a limit came before the reasons were known.
    is_partial: bool = False

    def accuracies(self) -> dict[str, Accuracy]:
        """Return the accuracy of each estimate over the jobs that started, by its name."""
        found = {}
        for name in ESTIMATES:
            pairs = [
                (item.estimates[name], item.started)
                for item in self.jobs
                if item.estimates[name] is not None and item.started is not None
            ]
            waits = np.array(pairs, dtype=np.float64).reshape(-1, 2) - self.now
            if len(waits):
                found[name] = accuracy(name, waits[:, 1].astype(np.int64), waits[:, 0])
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as data, fit for JSON."""
        accuracy = [item.to_dict() for item in self.accuracies().values()]
        found = data_of(self, "now origin last jobs", self.origin) | {"accuracy": accuracy}
        return found | data_of(self, "remarks cut=is_partial")


@dataclass(frozen=True)
class Explainer:
    """Finds the reasons of the differences of one snapshot."""

    facts: LoggedFacts
    predicted: Outlook
    #: Starts after each step of :class:`Hindsight`, None if the limit came before.
    steps: Sequence[tuple[Step, Mapping[str, int]]] | None

    @property
    def tolerance(self) -> int:
        """Return the seconds within which a start is as estimated: a dispatch cycle, a minute."""
        return max(MINUTE, self.facts.instance.params.mbd_sleep_time)

    def explained(self, item: VerifiedJob, answer: JobOutlook) -> VerifiedJob:
        """Return a job with the reason of its difference."""
        causes: tuple[Cause, ...] = ()
        if (said := self._said(item, answer)) is None:
            causes = self._causes(item, answer)
            same_side = (c for c in causes if (c.seconds > 0) == ((item.error or 0) > 0))
            first = next(same_side, causes[0])
            said = first.why, self._sentence(item, first, answer)
        return replace(item, why=said[0], sentence=said[1], causes=causes)

    def _said(self, item: VerifiedJob, answer: JobOutlook) -> tuple[Why, str] | None:
        """Return the reason of a job that needs no causes, else None."""
        error = item.error
        match item.fate:
            case "pending":
                return "still pending", "still pending at the end of the log"
            case "removed":
                return "removed", "it was removed before it started"
            case "not in the log":
                only = "" if self.facts.has_unfinished else ": it has only finished jobs"
                return "not in the log", f"the log has no record of it{only}"
        if error is None and answer.state == "not examined":
            return "no estimate", "the limit was reached before its estimate"
        if error is None:
            state = f"{answer.state}: {answer.condition}" if answer.condition else answer.state
            return "no estimate", f"it had no estimate ({state})"
        if abs(error) <= self.tolerance:
            when = "when estimated" if error else "in the second estimated"
            return "as estimated", f"started {when}"
        if self.steps is None:
            return "other", "the limit was reached before a reason was found"
        return None

    def _causes(self, item: VerifiedJob, answer: JobOutlook) -> tuple[Cause, ...]:
        """Return the reasons, the largest effect first; their seconds add up to the error."""
        assert self.steps is not None
        assert item.started is not None
        before = item.estimates["as_configured"]
        assert before is not None
        causes: list[Cause] = []
        for step, starts in self.steps:
            start = starts.get(item.job)
            if start is None:
                break
            if moved := start - before:
                causes.append(self._cause(step, item, moved, start))
            before = start
        if rest := item.started - before:
            causes.append(self._rest(item, answer, rest, before))
        return tuple(sorted(causes, key=lambda cause: -abs(cause.seconds)))

    def _cause(self, step: Step, item: VerifiedJob, moved: int, start: int) -> Cause:
        if step == "run times":
            why: Why = "finished early" if moved < 0 else "finished late"
            return Cause(why, moved, self._ends_before(item.job, start, early=moved < 0))
        if step == "removed":
            pending = self.facts.instance.pending
            jobs = tuple(job.id for job in pending if self.facts.fate(job) == "removed")
            return Cause(step, moved, jobs)
        return Cause(step, moved, self._overtakers(item))

    def _ends_before(self, job: str, start: int, *, early: bool) -> tuple[str, ...]:
        """Return the jobs that finished otherwise than planned by a start, the last end first."""
        found = []
        for other, planned in self._planned_ends.items():
            end = self.facts.end(other)
            if other == job or end is None or end > start:
                continue
            if planned is None or abs(end - planned) > self.tolerance:
                is_early = planned is None or end < planned
                found += [(-end, other)] if is_early == early else []
        return tuple(other for _, other in sorted(found))

    @cached_property
    def _planned_ends(self) -> dict[str, int | None]:
        """Return the ends by which the start as configured was computed, None if unknown."""
        instance = self.facts.instance
        ends = {run.job.id: expected_finish(instance, run) for run in instance.running}
        for job, item in self.predicted.configured.items():
            ends[job] = item.finish
        return ends

    def _overtakers(self, item: VerifiedJob) -> tuple[str, ...]:
        """Return the jobs submitted later that started before a job, the largest first."""
        runs = [
            run
            for run in self.facts.later
            if run.start is not None and item.started is not None and run.start <= item.started
        ]
        return tuple(run.job.id for run in sorted(runs, key=lambda run: -run.job.slots))

    def _rest(self, item: VerifiedJob, answer: JobOutlook, rest: int, start: int) -> Cause:
        """Return the reason of what no fact of the log explains."""
        if answer.cautions or answer.possible_cautions:
            return Cause("omitted rule", rest)
        if twins := self._tied(item, start):
            return Cause("tie", rest, twins)
        return Cause("other", rest)

    def _tied(self, item: VerifiedJob, start: int) -> tuple[str, ...]:
        """Return the other jobs of the same kind, if only their order differs from the log.

        () otherwise: the sorted real starts of all of them are not those simulated, or unknown.
        """
        assert self.steps is not None
        assert item.started is not None
        starts = self.steps[-1][1]
        jobs = {job.id: job for job in self.facts.instance.pending}
        kind = _kind(jobs[item.job])
        alike = [job for job in jobs if job in starts and _kind(jobs[job]) == kind]
        real = {job: run.start for job in alike if (run := self.facts.runs.get(job))}
        if len(alike) < 2 or any(real.get(job) is None for job in alike):
            return ()
        pairs = zip(
            sorted(starts[job] for job in alike),
            sorted(time for time in real.values() if time is not None),
            strict=True,
        )
        if any(abs(mine - other) > self.tolerance for mine, other in pairs):
            return ()
        return tuple(job for job in alike if job != item.job)

    def _sentence(self, item: VerifiedJob, cause: Cause, answer: JobOutlook) -> str:
        by = f"{duration_text(abs(cause.seconds))} {'later' if cause.seconds > 0 else 'earlier'}"
        names = _named(cause.jobs)
        match cause.why:
            case "finished early" | "finished late":
                who = names or "running jobs"
                return f"{by}: {who} {cause.why}{self._by_how_much(cause)}"
            case "removed":
                return f"{by}: {names} removed before the start"
            case "submitted later":
                return f"{by}: {names or 'jobs'} submitted after the snapshot started before it"
            case "tie":
                return f"{by}: equal jobs started in another order ({names})"
            case "omitted rule":
                rules = [rule.name for rule in (*answer.cautions, *answer.possible_cautions)]
                return f"{by}: not modelled: {'; '.join(dict.fromkeys(rules))}"
            case _:
                return (
                    f"{by}: not explained by the log; the scheduler differs or had more information"
                )

    def _by_how_much(self, cause: Cause) -> str:
        """Return by how much the first job finished early or late."""
        if not cause.jobs:
            return ""
        planned, end = self._planned_ends.get(cause.jobs[0]), self.facts.end(cause.jobs[0])
        if planned is None or end is None:
            return ""
        more = f", {cause.jobs[0]} by" if len(cause.jobs) > 1 else " by"
        return f"{more} {duration_text(abs(end - planned))}"


def _kind(job: Job) -> tuple[object, ...]:
    """Return what makes two jobs equal to the scheduler, but for their submission."""
    return replace(
        job, id="", submit=0, name="", run_time=None, cpu_time=None
    ), job.submit // MINUTE


def _named(jobs: Sequence[str]) -> str:
    """Return ``job 7``, ``jobs 7, 8 and 4 more``."""
    if not jobs:
        return ""
    if len(jobs) == 1:
        return f"job {jobs[0]}"
    return f"jobs {some(jobs, _MAX_NAMED)}"


def verify(
    instance: Instance,
    log: LoggedRuns,
    predicted: Outlook,
    *,
    likely: Mapping[str, int | None] | None = None,
    source: str = "",
    budget: Budget | None = None,
) -> Verification:
    """Return the estimates of a snapshot with the starts of a log, and why they differ.

    predicted: starts of the instance. likely: median forecast start of each job. source: name of
    the log in messages. budget: once it is over, the rest has no reasons. Raises InputError if the
    log cannot be of what followed.
    """
    facts = LoggedFacts.of(instance, log, source)
    steps = None
    with suppress(OutOfTime):
        steps = Hindsight(facts, budget or Budget()).starts()
    explainer = Explainer(facts, predicted, steps)
    printed = {item.job: item.start for item in instance.lsf_says}
    jobs = {job.id: job for job in instance.pending}
    found = []
    for answer in predicted:
        job, run = jobs[answer.job], facts.runs.get(answer.job)
        starts = {
            "as_configured": answer.as_configured,
            "estimate": answer.estimate,
            "possible": answer.possible,
            "printed": printed.get(job.id),
            "likely": (likely or {}).get(job.id),
        }
        item = VerifiedJob(
            job.id,
            job.user,
            job.queue,
            job.slots,
            facts.fate(job),
            starts,
            None if run is None else run.start,
            None if run is None else run.end,
        )
        found.append(explainer.explained(item, answer))
    remarks = tuple(_remarks(facts))
    return Verification(
        tuple(found), instance.now, instance.origin, facts.last, remarks, is_partial=steps is None
    )


def _remarks(facts: LoggedFacts) -> Iterator[str]:
    """Yield what limits the comparison."""
    instance = facts.instance
    known = [*(run.job.id for run in instance.running), *(job.id for job in instance.pending)]
    if known and not facts.runs:
        named = ", ".join(known[:_MAX_NAMED])
        yield f"the log has none of the instance's jobs ({named}): it may be of another cluster"
    if facts.missing:
        verb = "is" if facts.missing == 1 else "are"
        yield (
            f"{counted(facts.missing, 'job')} of the log were pending or running at the time of "
            f"the snapshot and {verb} not in it"
        )
    queues = {queue.name for queue in instance.queues}
    unknown = Counter(run.job.queue for run in facts.later if run.job.queue not in queues)
    if unknown:
        named = ", ".join(sorted(unknown)[:_MAX_NAMED])
        yield (
            f"{counted(sum(unknown.values()), 'job')} submitted later to queues that the instance "
            f"does not have ({named}) are not simulated"
        )
    if any(run.job.res_req for run in facts.later):
        yield "jobs submitted later are simulated by slots, user, queue and run limit alone"
