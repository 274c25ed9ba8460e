"""Starts of a snapshot's jobs by a log, and by simulations that know more and more of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from ...model.display import MINUTE
from ...model.errors import InputError, Problem
from ...model.instance import Instance
from ...model.job import Job
from ..budget import Budget, OutOfTime
from ..forecast.history import clock_offset, is_record_of
from ..forecast.logged_runs import LoggedRun, LoggedRuns
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
            wrong = (
                "ends before the instance's now, so it has nothing of what followed: give the log "
                "of a later time"
            )
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
    kinds = ("have no date", "are dates")
    wrong = (
        f"its times {kinds[log.epoch is not None]}, those of the instance "
        f"{kinds[instance.origin is not None]}: give the log of the cluster of the instance"
    )
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


# Simulations with the facts of the log.


def simulated_with(instance: Instance, budget: Budget) -> dict[str, int]:
    """Return the starts of the pending jobs in the scheduler as configured.

    Unlike a plan it uses real run times and future submissions. Raises OutOfTime.
    """
    session = Session(
        instance, settings_for(instance, top=looking_ahead(instance), cycle=0), budget=budget
    )
    waiting = {job.id for job in instance.pending}
    starts: dict[str, int] = {}
    session.begin(pending_only=True)
    while waiting and session.advance():
        if budget.stopped():
            raise OutOfTime
        for job in waiting.intersection(session.cycle.record.started):
            starts[job] = session.cycle.record.time
        waiting -= starts.keys()
    return starts


@dataclass(frozen=True)
class Hindsight:
    """Starts of the pending jobs with more and more facts of the log; None: does not start."""

    facts: LoggedFacts
    budget: Budget = field(default_factory=Budget)

    def starts(self) -> list[tuple[Step, dict[str, int]]]:
        """Return the starts after each step, with the reason that the step stands for."""
        facts, instance = self.facts, self.facts.instance
        now_known = replace(
            instance,
            running=tuple(
                replace(run, job=self._as_it_ran(run.job, run.start)) for run in instance.running
            ),
            pending=tuple(self._as_it_ran(job, None) for job in instance.pending),
            future=(),
        )
        steps: list[tuple[Step, dict[str, int]]] = []
        found = simulated_with(now_known, self.budget)
        steps.append(("run times", found))
        left = tuple(job for job in now_known.pending if facts.fate(job) != "removed")
        if len(left) < len(now_known.pending):
            now_known = replace(now_known, pending=left)
            found = simulated_with(now_known, self.budget)
        steps.append(("removed", found))
        future = self._later_jobs()
        if future:
            found = simulated_with(replace(now_known, future=future), self.budget)
        steps.append(("submitted later", found))
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
