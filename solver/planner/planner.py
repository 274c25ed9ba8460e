"""A long-lived planner: it takes events and keeps the plan up to date.

After an event only what it touches is entered anew: the job that ended gives its rows back, one
that starts brings its own. The cycle that decides about the pending jobs is run again, on copies,
so that the answer is the one from nothing. Where nothing can be reused everything is rebuilt: the
exact methods search from the beginning, fairshare counts its accounts from the instance, running
jobs whose amounts change over time, that are suspended, own units or hold several terms are entered
for every plan, and a host that changes leaves what is known of requirements as it is, since these
know no status.

An instance that goes on: jobs come and end, hosts change, time passes. What an event means is what
it means in files of changes (:mod:`slotwise.model.changes`), and it is held to their rules, with
their messages.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, get_args

from ...model.changes import DOWN, Change, EarlyEnd, HostStatus, Kill, NewJob, status_after
from ...model.cluster import HOST_STATUSES, Host
from ...model.compact import no_collection
from ...model.duration import within_queue_limit
from ...model.errors import InputError, Problem, UnknownNameError
from ...model.formats.changes import require_sound_changes
from ...model.formats.field_rules import class_rules, without_numpy
from ...model.formats.objects import require_sound
from ...model.formats.submit import refusals, submitted_job
from ...model.formats.units import LONGEST
from ...model.instance import Instance
from ...model.job import Job, RunningJob, job_id
from ...model.modules import with_loaded_modules
from ...model.objective import ObjectiveName
from ...model.plan import Method, Plan, PlanChange, PlannedJob, Unplaced
from ..advice.what_if import StartAnswer, WhatIfPlanner, answer_of_cycle
from ..fairshare.waiting_jobs import has_policy
from ..optimal.alternatives import as_chosen, with_choice
from ..planning import ESTIMATES, check_margin, plan
from ..resolve import may_have_choices
from ..rules.omitted import estimator_view
from ..scheduler.loaded_jobs import LoadedRunningJobs
from ..scheduler.next_cycle import NextCycle, plan_of
from .stable import PlanContext, grounds_of_cycle, grounds_of_search, nearest_plan, stable_plan


class LiveInstance:
    """The current instance, with its running jobs loaded.

    Running jobs have no order: the last one moves to the position of a job that has left.
    """

    def __init__(self, instance: Instance, *, margin: int = 0) -> None:
        self.instance = instance
        self._margin = margin
        #: Whether a host is up and open, in the words of changes; its status where unnamed.
        self._status: dict[str, str] = {}
        self._where = {item.job.id: at for at, item in enumerate(instance.running)}
        self._kept: LoadedRunningJobs | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the loaded jobs, which are loaded again on demand."""
        return {**self.__dict__, "_kept": None}

    @property
    def loaded_jobs(self) -> LoadedRunningJobs:
        """Return the loaded running jobs."""
        seen = self._as_entered()
        reserved = seen.advance_reservations
        if self._kept is None or self._kept.requests.instance.advance_reservations != reserved:
            self._kept = LoadedRunningJobs(seen, margin=self._margin)
        return self._kept

    def _as_entered(self) -> Instance:
        found = with_loaded_modules(estimator_view(self.instance))
        hosts = tuple(_with_status(host, "ok") for host in found.cluster.hosts)
        return replace(found, cluster=replace(found.cluster, hosts=hosts))

    def runs(self, job: str) -> bool:
        """Whether a job of this id runs."""
        return job in self._where

    def submit(self, job: Job) -> None:
        """Submit a job, now or later at its `submit` time."""
        now = self.instance.now
        if isinstance(job, Job) and type(job.submit) is int and job.submit < now:
            job = replace(job, submit=now)
        if not self._fits(job):
            self._check(NewJob(job))
        name = "future" if job.submit > now else "pending"
        self._keep_to_limits([job] if name == "pending" else [])
        self._set(**{name: (*getattr(self.instance, name), job)})

    def end(self, job: str) -> None:
        """Remove a running job that has ended."""
        self._check(EarlyEnd(self.instance.now, job))
        if job not in self._where:
            raise InputError(
                [Problem(f"job {job} is not running: only a running job can end", path="job")]
            )
        self._leave([job])

    def cancel(self, job: str) -> None:
        """Kill a pending, running or future job."""
        now = self.instance.now
        coming = {item.id for item in self.instance.future}
        if job not in coming:
            self._check(Kill(now, job))
        if job in self._where:
            self._leave([job])
        else:
            self._withdraw({job})

    def host(self, name: str, status: str) -> None:
        """Set a host down (its jobs are requeued), up, closed or open."""
        self._check(HostStatus(self.instance.now, name, status))
        cluster = self.instance.cluster
        at = cluster.host_index()[name]
        host = cluster.hosts[at]
        before = self._status.get(name, "ok" if host.takes_jobs else host.status)
        after = self._status[name] = status_after(before, status)
        shown = after if after in HOST_STATUSES else DOWN
        hosts = (*cluster.hosts[:at], _with_status(host, shown), *cluster.hosts[at + 1 :])
        self._set(cluster=replace(cluster, hosts=hosts))
        if status == DOWN:
            lost = [
                replace(within_queue_limit(self.instance, item.job), requeued=True)
                for item in self.instance.running
                if name in item.allocation
            ]
            self._leave([job.id for job in lost])
            self._set(pending=(*self.instance.pending, *lost))

    def start(self, running: Iterable[RunningJob]) -> None:
        """Start pending jobs, without a check whether they are eligible."""
        more = tuple(running)
        if not more:
            return
        self._withdraw({item.job.id for item in more})
        first = len(self.instance.running)
        self._where |= {item.job.id: first + at for at, item in enumerate(more)}
        kept = self._kept
        self._set(running=(*self.instance.running, *more))
        if kept is not None:
            kept.started(self._as_entered(), more)

    def clock(self, now: int) -> None:
        """Advance the clock to `now`: process the ends and arrivals due by then."""
        self._set(now=now)
        states = self.loaded_jobs.states
        over = [
            item.job.id
            for item, state in zip(self.instance.running, states, strict=True)
            if not item.suspended and (end := state.real_end()) is not None and end <= now
        ]
        self._leave(over)
        submitted = tuple(job for job in self.instance.future if job.submit <= now)
        if submitted:
            self._keep_to_limits(submitted)
            future = tuple(job for job in self.instance.future if job.submit > now)
            self._set(pending=(*self.instance.pending, *submitted), future=future)

    def _set(self, **parts: object) -> None:
        self.instance = replace(self.instance, **parts)  # type: ignore[arg-type]

    def _keep_to_limits(self, jobs: Iterable[Job]) -> None:
        """Reload running jobs if an arriving job states a limit on running elements (``%N``)."""
        limited = [job for job in jobs if job.array_limit is not None]
        if self._kept is None or not limited:
            return
        running = [item.job for item in self.instance.running]
        if not all(
            self._kept.requests.resolver.table.learns_limit(job, running) for job in limited
        ):
            self._kept = None

    def _leave(self, jobs: Sequence[str]) -> None:
        """Remove running jobs that have finished."""
        if not jobs:
            return
        running = list(self.instance.running)
        for job in jobs:
            at, last = self._where.pop(job), running.pop()
            if at < len(running):
                running[at] = last
                self._where[last.job.id] = at
            if self._kept is not None:
                self._kept.ended(at)
        self._set(running=tuple(running))

    def _withdraw(self, jobs: Collection[str]) -> None:
        pending, future = (
            tuple(job for job in of if job.id not in jobs)
            for of in (self.instance.pending, self.instance.future)
        )
        self._set(pending=pending, future=future)

    def _fits(self, job: Job) -> bool:
        """Return whether a job is valid by itself and together with the other jobs, by every check.

        The check of a whole instance, which locates errors, covers every host.
        """
        if not isinstance(job, Job) or class_rules(Job).wrong(job, set()):
            return False
        known = (self.instance.pending, self.instance.future)
        if job.id in self._where or any(job.id == other.id for of in known for other in of):
            return False
        return not any(refusals(self.instance, job))

    def _check(self, change: Change) -> None:
        """Check one change by the rules of files of changes; paths in messages lead into the
        change.
        """
        try:
            require_sound_changes([change], self.instance)
        except InputError as error:
            raise InputError(
                replace(found, path=found.path.removeprefix("changes[0]").lstrip("."))
                for found in error.problems
            ) from None


def _with_status(host: Host, status: str) -> Host:
    return host if host.status == status else replace(host, status=status)


class Planner:
    """A planner that keeps the plan of an instance up to date; `instance` is the present state.

    The plan is that of :func:`slotwise.plan` for `instance`, start by start. Of the plans with
    these starts it is one near the last: a job stays on its hosts where it can. With a tolerance a
    start that was told moves later by more than that only where it must.
    Events raise InputError with everything that is wrong, and change nothing then.
    """

    def __init__(
        self,
        instance: Instance,
        method: Method = "time-based",
        *,
        objective: ObjectiveName = "lexicographic",
        jobs: int | None = None,
        margin: int = 0,
        tolerance: int | None = None,
        time_limit: float | None = None,
        effort: float | None = None,
    ) -> None:
        """Initialise the planner.

        tolerance: seconds, None if no tolerance; rejected with fairshare, which has an order of
        its own. Other parameters as in :func:`slotwise.plan`; time_limit and effort apply to the
        exact methods.
        """
        require_sound(instance)
        numbers = map(without_numpy, (jobs, margin, tolerance, time_limit, effort))
        jobs, margin, tolerance, time_limit, effort = numbers
        if method not in get_args(Method):
            raise UnknownNameError.among("method", method, get_args(Method))
        check_margin(margin)
        if tolerance is not None and (type(tolerance) is not int or tolerance < 0):
            raise InputError(f"tolerance must be 0 or more seconds, or None, not {tolerance!r}")
        if tolerance is not None and has_policy(instance):
            raise InputError(
                "tolerance is not supported with fairshare, host partitions or slot pools"
            )
        self.method: Method = method
        self._options = {"objective": objective, "time_limit": time_limit, "effort": effort}
        self._jobs, self._margin, self._tolerance = jobs, margin, tolerance
        self._living = LiveInstance(instance, margin=margin)
        self._changes: list[PlanChange] = []
        self._published: dict[str, int] = {}
        self._together: list[str] | None = None
        self._plan: Plan | None = None
        #: The time-based cycle behind the plan, which also answers for one additional job.
        self._asked: NextCycle | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without data that is quickly recomputed, so that it can be sent to other
        processes.
        """
        return {**self.__dict__, "_asked": None}

    @property
    def instance(self) -> Instance:
        """Return the instance after all events."""
        return self._living.instance

    def submit(self, job: Job | str, *, user: str = "") -> str:
        """Submit a job, or the job of a bsub line, now or later at its `submit` time.

        Returns its id. user: who submits a line.
        """
        if isinstance(job, str):
            job = submitted_job(self.instance, job, user=user)
        with self._event(f"job {getattr(job, 'id', '?')} submitted"):
            self._living.submit(job)
        return job.id

    def end(self, job: str | int) -> None:
        """Remove a running job that has ended."""
        job = job_id(job)
        with self._event(f"job {job} ended"):
            self._living.end(job)

    def cancel(self, job: str | int) -> None:
        """Kill a job, so that it neither runs nor waits any more."""
        job = job_id(job)
        with self._event(f"job {job} cancelled"):
            self._living.cancel(job)

    def host(self, name: str, status: str) -> None:
        """Set the status of a host: "down" (its jobs are requeued), "up", "closed", "open" or
        "ok".
        """
        with self._event(f"host {name} {status}"):
            self._living.host(name, status)

    def advance(self, now: int) -> None:
        """Advance the time to `now` (seconds from the origin), with all planned events until then.

        Jobs with a planned start before `now` have started there. Jobs that should end by now have
        ended, and future jobs with a submission by now are pending. A job planned to start at `now`
        is still pending.
        """
        before, now = self.instance.now, without_numpy(now)
        if type(now) is not int or not before <= now <= LONGEST:
            text = f"must be a whole second from {before} to {LONGEST}, not {now!r}"
            raise InputError([Problem(text, path="now")])
        with self._event(f"it is second {now}"):
            found = self._current()
            waiting = {job.id: job for job in self.instance.pending}
            begun = [
                RunningJob(waiting[item.job], item.start, item.allocation, None, item.alternative)
                for item in found
                if item.start is not None and item.start < now and item.job in waiting
            ]
            self._living.start(begun)
            self._living.clock(now)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Group events: the planner makes no plan between them, and attributes changes to all of
        them.
        """
        if self._together is not None:
            yield
            return
        with self._lasting():
            self._together = []
            try:
                yield
            finally:
                names, self._together = self._together, None
                if names:
                    self._replan("; ".join(names))

    @contextmanager
    def _event(self, what: str) -> Iterator[None]:
        if self._together is not None:
            yield
            self._together.append(what)
            return
        with self._lasting():
            yield
            self._replan(what)

    @contextmanager
    def _lasting(self) -> Iterator[None]:
        """Keep the previous plan, so that the next plan can list its changes."""
        self._current()
        yield

    def plan(self) -> Plan:
        """Return the current plan; its `changes` are those since the previous call."""
        changes, self._changes = tuple(self._changes), []
        return replace(self._current(), changes=changes)

    def ask(self, request: Job | str, *, user: str = "") -> StartAnswer:
        """Return the start of a job or bsub line submitted now as the last of its queue.

        The answer is that of :func:`slotwise.ask`; if the planner is greedy, that of time-based
        reservation. All rules that a cycle omits are among the omissions, whether or not they
        change this start. Raises InputError for other input, and for a line that LSF would reject.
        """
        if not isinstance(request, (Job, str)):
            kind = type(request).__name__
            raise InputError(f"request must be a Job or a bsub line, not {kind}")
        instance = self.instance
        if isinstance(request, str):
            job = submitted_job(instance, request, user=user)
        else:
            # Running jobs are examined only if one of them has this name.
            beside = instance.running if self._living.runs(request.id) else ()
            trial = LiveInstance(replace(instance, running=beside))
            trial.submit(replace(request, submit=instance.now))
            job = trial.instance.pending[-1]
        if self.method not in ("greedy", "time-based"):
            asker = WhatIfPlanner(
                instance,
                "optimal",
                time_limit=self._options["time_limit"],  # type: ignore[arg-type]
                effort=self._options["effort"],  # type: ignore[arg-type]
                margin=self._margin,
            )
            return asker.stated(asker.answer(job))
        asker = WhatIfPlanner(instance, "time-based", margin=self._margin)
        stated = asker.stated
        current = self._current()
        if may_have_choices(replace(instance, pending=(*instance.pending, job))):
            return stated(asker.answer_with_omissions(job))
        if (
            self._asked is not None
            and (answer := self._asked.result_for_added_job(job)) is not None
        ):
            return stated(_answer(job, self._asked, answer))
        with no_collection():
            asked = replace(instance, pending=(*instance.pending, job))
            last = {item.job: item for item in current}
            cycle = self._cycle(asked, "time-based", None, last, wanted=job.id)
            return stated(_answer(job, cycle, cycle.result_for(job.id)))

    def _current(self) -> Plan:
        if self._plan is None:
            self._plan = self._made({})
        return self._plan

    def _replan(self, because: str) -> None:
        before = self._current()
        waiting = {job.id for job in self.instance.pending}
        last = {item.job: item for item in before if item.job in waiting}
        self._plan = self._made(last)
        for job, item in last.items():
            now = self._plan.get(job)
            start, on = (None, {}) if now is None else (now.start, now.allocation)
            if (start, on) != (item.start, item.allocation):
                self._changes.append(
                    PlanChange(job, item.start, start, item.allocation, on, because)
                )

    def _cycle(
        self,
        instance: Instance,
        method: Method,
        jobs: int | None,
        last: Mapping[str, PlannedJob],
        *,
        wanted: str | None = None,
    ) -> NextCycle:
        likely = {job: item.start for job, item in last.items() if item.start is not None}
        return NextCycle(
            instance,
            method,
            jobs=jobs,
            margin=self._margin,
            kept=self._living.loaded_jobs,
            likely=likely,
            wanted=wanted,
        )

    def _made(self, last: Mapping[str, PlannedJob]) -> Plan:
        """Return a plan of the present state that stays near the last plan."""
        instance = self.instance
        if self.method in ESTIMATES and self._options["objective"] == "lexicographic":
            chosen = instance
            if may_have_choices(instance):
                found = plan(instance, self.method, jobs=self._jobs, margin=self._margin)
                chosen = as_chosen(instance, found)
            with no_collection():
                cycle = self._cycle(chosen, self.method, self._jobs, last)
                self._asked = cycle if self.method == "time-based" else None
                found = with_choice(plan_of(cycle), instance, chosen)
                found = replace(found, margin=self._margin, origin=instance.origin)
                return self._stable(found, grounds_of_cycle(cycle), last)
        found = plan(
            instance,
            self.method,
            jobs=self._jobs,
            margin=self._margin,
            objective=self._options["objective"],  # type: ignore[arg-type]
            time_limit=self._options["time_limit"],  # type: ignore[arg-type]
            effort=self._options["effort"],  # type: ignore[arg-type]
        )
        return self._stable(found, grounds_of_search(instance, self._margin, found), last)

    def _stable(self, found: Plan, grounds: PlanContext, last: Mapping[str, PlannedJob]) -> Plan:
        found = nearest_plan(self.instance, found, grounds, last)
        if self._tolerance is not None:
            found = self._as_published(found, grounds, last)
            self._publish(found)
        return found

    def _as_published(
        self, found: Plan, grounds: PlanContext, last: Mapping[str, PlannedJob]
    ) -> Plan:
        """Return the plan, or one that keeps the published starts if this plan moves a start too
        far.
        """
        assert self._tolerance is not None
        published = {job: self._published[job] for job in last if job in self._published}
        late = [
            job
            for job, start in published.items()
            if _later(found.get(job), start, self._tolerance)
        ]
        if not late:
            return found
        kept = stable_plan(self.instance, found, grounds, last)
        return found if kept is None else kept

    def _publish(self, found: Plan) -> None:
        """Record the published start of each job: the first one, until it has to change."""
        assert self._tolerance is not None
        published: dict[str, int] = {}
        for item in found:
            if item.start is not None:
                before = self._published.get(item.job, item.start)
                within = before <= item.start <= before + self._tolerance
                published[item.job] = before if within else item.start
        self._published = published


def _answer(job: Job, cycle: NextCycle, found: PlannedJob | Unplaced) -> StartAnswer:
    return replace(answer_of_cycle(job, cycle, found), omissions=cycle.omissions((job,)))


def _later(item: PlannedJob | None, published: int, tolerance: int) -> bool:
    return item is None or item.start is None or item.start > published + tolerance
