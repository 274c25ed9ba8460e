"""Diagnosis of starving jobs: their causes in the configuration, and the cost of each remedy.

The scheduler is simulated from now as configured. A job starves if it starts later than the instant
at which its slots are free together, with jobs in dispatch order. Each rule that concerns the job
is then changed alone and the simulation is repeated. A change by which the job starts earlier shows
the cause.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, combinations
from pathlib import Path
from time import monotonic

from ....model.configuration import Queue, without_growth
from ....model.display import HOUR, WEEK
from ....model.errors import InputError, Problem, nearest
from ....model.instance import Instance
from ....model.job import Job, job_ids
from ....model.omissions import Omission, no_pending_job
from ....model.plan import Plan, PlannedJob
from ....model.progress import OnProgress, Progress
from ...budget import Budget, OutOfTime
from ...fairshare.priority_order import priority_order
from ...fairshare.waiting_jobs import has_policy
from ...forecast.history import History
from ...outlook.outlook import State, not_simulated, states_of
from ...pending_reasons import BEYOND_KNOWN
from ...planning import nothing_planned, plan
from ...resolve import Resolver
from ...rules.omitted import left_to_the_loop, remarks
from ...scheduler.continuation import ConfiguredRun, run_as_configured
from ..likely import USUAL, Drawing, Forecaster, remarks_of
from ..what_if import WhatIfPlanner
from .limits import limit_probes, without_limits, without_rules
from .probes import (
    IN_LINE,
    OF_THE_JOB,
    ONE_USER,
    RANK,
    JobInLine,
    Probe,
    SettingChange,
    in_family_words,
    joined,
    lines_of,
    looking_ahead_probes,
    reserving_probes,
    together,
)
from .records import Diagnosis, Remedy, RemedyCost, WaitChange, WaitingJob
from .surroundings import (
    host_probes,
    order_probes,
    other_job_probes,
    queue_probes,
    request_probes,
    user_with_most,
)

Starts = Mapping[str, int]
#: Maximum number of simulations that look for members of a rule that need no change.
MAX_LEFT_OUT = 24
#: Largest difference of two starts that count as equal: seconds, and share of the gain.
ALIKE, ALIKE_SHARE = 120, 0.03


@dataclass(frozen=True, slots=True)
class Target:
    """A job that should start earlier, with the bounds of useful starts in seconds."""

    #: Id of the job.
    job: str
    #: Requested slots.
    slots: int
    #: Start as configured, None if it never starts.
    today: int | None
    #: Latest start that counts as an improvement.
    latest: int
    #: Instant at which the slots of the job are free.
    earliest: int


@dataclass(slots=True)
class Simulations:
    """Simulated starts by change; each change is simulated once."""

    #: Instance as configured.
    instance: Instance
    #: Time limit of all simulations together.
    budget: Budget
    #: Start of each job as configured, by id.
    today: Starts = field(default_factory=dict)
    #: Start and hosts of each job as configured, by id.
    placed: Mapping[str, PlannedJob] = field(default_factory=dict)
    #: Reason why each job waits as configured, by id.
    waiting: Mapping[str, str] = field(default_factory=dict)
    #: Whether a limit stopped a simulation before its end.
    cut: bool = False
    #: Simulated changes by key.
    changes: dict[str, SettingChange] = field(default_factory=dict)
    #: Function that is called before each simulation.
    before: Callable[[], None] = lambda: None
    _known: dict[str, Starts] = field(default_factory=dict)
    _given_up: dict[tuple[str, str], int] = field(default_factory=dict)

    def begin(self) -> None:
        """Simulate the scheduler as configured."""
        found = self._run(self.instance)
        if found is not None:
            self.placed, self.waiting = found.starts, found.waiting
            self.today = _starts(found)

    def unlimited(self) -> Mapping[str, PlannedJob]:
        """Return starts and hosts without limits and windows; {} if the instance has none."""
        changed = without_limits(self.instance)
        if changed == self.instance or self.budget.stopped():
            return {}
        found = self._run(changed)
        return {} if found is None else found.starts

    @property
    def tried(self) -> int:
        """Return the number of simulated changes."""
        return len(self.changes)

    def starts(self, key: str) -> Starts:
        """Return the starts under a change that was simulated to its end, by job id; else {}."""
        return self._known.get(key, {})

    def start(self, change: SettingChange, wanted: Target, latest: int) -> int | None:
        """Return the start of a job under a change, None if it is later than `latest`."""
        key = change.key
        if key not in self._known and self._given_up.get((key, wanted.job), -1) < latest:
            if self.budget.stopped():
                self.cut = True
                return None
            self.changes[key] = change
            found = self._run(change.apply(self.instance), (wanted.job, latest))
            if found is None:
                if not self.cut:
                    self._known[key] = {}
                return None
            starts = _starts(found)
            if wanted.job not in starts:
                self._given_up[key, wanted.job] = latest
                return None
            self._known[key] = starts
        start = self.starts(key).get(wanted.job)
        return start if start is not None and start <= latest else None

    def _run(
        self, instance: Instance, unless_later: tuple[str, int] | None = None
    ) -> ConfiguredRun | None:
        """Return the simulated start of each job, None if the run failed or a limit stopped it."""
        self.before()
        try:
            found = run_as_configured(instance, budget=self.budget, unless_later=unless_later)
        except (InputError, OutOfTime):
            self.cut = self.cut or self.budget.stopped()
            return None
        if self.budget.stopped():
            self.cut = True
            return None
        return found

    def remedies(self, probe: Probe, wanted: Target) -> list[Remedy]:
        """Return the smallest change of a probe under which the job starts early enough, or []."""
        full = self.start(probe.steps[-1], wanted, wanted.latest)
        if full is None:
            return []
        if probe.of_some is not None:
            probe = self._needed(probe, wanted, full + self._alike(full, wanted))
            if self.start(probe.steps[-1], wanted, wanted.latest) is None:
                return []
        return [self.remedy(probe, probe.steps[self.smallest(probe.steps, wanted)], wanted)]

    def _needed(self, probe: Probe, wanted: Target, enough: int) -> Probe:
        """Return the necessary members of a rule, each with its smallest change."""
        found = self._fewest(probe, wanted, enough, joined)
        if found.of_some is None:
            return found
        parts = [found.of_some([place]) for place in range(found.members)]
        if len(parts) == 1 or not any(len(part.steps) > 1 or part.of_some for part in parts):
            return found
        chosen = [part.steps[-1] for part in parts]
        for at, part in enumerate(parts):
            beside = partial(_in_place, chosen, at)
            parts[at] = self._fewest(part, wanted, enough, beside)
            steps = [beside(step) for step in parts[at].steps]
            chosen[at] = parts[at].steps[self.smallest(steps, wanted)]
        return replace(together(parts), steps=(joined(*chosen),))

    def _fewest(
        self,
        probe: Probe,
        wanted: Target,
        enough: int,
        whole: Callable[[SettingChange], SettingChange],
    ) -> Probe:
        """Return the probe restricted to the members that must change, by bisection.

        whole: function that combines a step of the probe with the other changes.
        """
        some, kept, tried = probe.of_some, list(range(probe.members)), 0
        size = len(kept) // 2
        while some is not None and size and tried < MAX_LEFT_OUT:
            at = 0
            while at < len(kept) and tried < MAX_LEFT_OUT:
                fewer = [*kept[:at], *kept[at + size :]]
                tried += 1
                change = whole(some(fewer).steps[-1]) if fewer else None
                if change is not None and self.start(change, wanted, enough) is not None:
                    kept = fewer
                else:
                    at += size
            size //= 2
        return probe if some is None or len(kept) == probe.members else some(kept)

    def smallest(self, steps: Sequence[SettingChange], wanted: Target) -> int:
        """Return the index of the smallest change that helps as much as the last one, by
        bisection.
        """
        full = self.starts(steps[-1].key)[wanted.job]
        enough = full + self._alike(full, wanted)
        return bisect_left(
            steps[:-1], True, key=lambda step: self.start(step, wanted, enough) is not None
        )

    def _alike(self, full: int, wanted: Target) -> int:
        if wanted.today is None:
            return ALIKE
        return max(ALIKE, round(ALIKE_SHARE * (wanted.today - full)))

    def remedy(self, probe: Probe, change: SettingChange, wanted: Target) -> Remedy:
        """Return a simulated change as a remedy, with its gain and its cost for other jobs."""
        starts = self.starts(change.key)
        start = starts[wanted.job]
        gain = None if wanted.today is None else wanted.today - start
        reaches = start <= wanted.earliest + self._alike(start, wanted)
        return Remedy(
            kind=probe.kind,
            cause=probe.cause,
            where=change.where,
            setting=change.setting,
            start=start,
            gain=gain,
            slot_hours=None if gain is None else gain * wanted.slots / HOUR,
            reaches=reaches,
            cost=self.cost(starts, wanted.job, change.requeues),
            whatif=change.whatif,
            lines=lines_of(change),
        )

    def cost(self, starts: Starts, job: str, requeues: Sequence[str] = ()) -> RemedyCost:
        """Return the effect of changed starts on other pending jobs; requeues: jobs that
        restart.
        """
        others = [
            WaitChange(other.id, other.slots, self.today.get(other.id), starts.get(other.id))
            for other in self.instance.pending
            if other.id != job
        ]
        known = [(item, item.change) for item in others if item.change is not None]
        changes = [change for _, change in known]
        longer = sorted((pair for pair in known if pair[1] > 0), key=lambda pair: -pair[1])
        sooner = sorted((pair for pair in known if pair[1] < 0), key=lambda pair: pair[1])
        lost = [item.job for item in others if item.today is not None and item.then is None]
        again = [run for run in self.instance.running if run.job.id in set(requeues)]
        return RemedyCost(
            jobs=len(others),
            mean_wait=sum(changes) / len(changes) if changes else 0.0,
            longer=tuple(item for item, _ in longer),
            sooner=tuple(item for item, _ in sooner),
            slot_hours=sum(item.slots * change for item, change in known) / HOUR,
            lost=(*lost, *(item for item in requeues if item not in starts)),
            won=tuple(i.job for i in others if i.today is None and i.then is not None),
            neither=sum(item.today is None and item.then is None for item in others),
            begin_anew=tuple(requeues),
            work_lost=sum(run.slots * (self.instance.now - run.start) for run in again) / HOUR,
        )


def _in_place(chosen: Sequence[SettingChange], at: int, change: SettingChange) -> SettingChange:
    """Return the joined changes with one of them replaced."""
    return joined(*chosen[:at], change, *chosen[at + 1 :])


def ranked(remedies: Sequence[Remedy], today: int | None, most: int) -> tuple[Remedy, ...]:
    """Return the best remedy of each kind: earliest start first, equal starts by kind of cause.

    A remedy that prevents the start of another job is dropped if there is any other.
    """
    if not remedies:
        return ()
    remedies = [item for item in remedies if not item.cost.lost] or remedies
    best = min(item.start for item in remedies)
    alike = ALIKE if today is None else max(ALIKE, round(0.1 * (today - best)))

    def order(item: Remedy) -> tuple[int, int, float]:
        level = 0 if item.start <= best + alike else item.start
        # Of several alternatives of the job, the last one requests the most.
        return level, RANK[item.kind], 0 if item.kind in OF_THE_JOB else item.cost.slot_hours

    kept: dict[str, Remedy] = {}
    for item in sorted(remedies, key=order):
        kept.setdefault(item.kind, item)
    return tuple(kept.values())[:most]


def _starts(run: ConfiguredRun) -> Starts:
    return {job: item.start for job, item in run.starts.items() if item.start is not None}


def ideal_plan(instance: Instance, budget: Budget) -> Plan:
    """Return the plan with each job, in dispatch order, at the first instant at which its slots are
    free.

    The plan is time-based. Rules that keep jobs from free slots are dropped: limits, windows,
    intervals, thresholds and closed hosts. Shares and priorities decide the order. Jobs get the
    memory and the hosts that they request.
    """
    if budget.stopped():
        return nothing_planned(instance, "time-based")
    limit = budget.time_share(0.5)
    return plan(without_rules(instance), "time-based", time_limit=limit, cancel=budget.cancel)


def optimistic_starts(
    instance: Instance, jobs: Sequence[Job], budget: Budget
) -> tuple[list[tuple[Job, int]], bool]:
    """Return the best start of each job under one changed rule, in seconds, and whether some are
    missing.

    The changes are: the job requests slots only; all queues and users are equal; no user's running
    jobs occupy most of the cluster. Jobs that are not examined in time are omitted.
    """
    plain = without_rules(instance)
    queues = tuple(replace(q, res_req="", hosts=(), excluded_hosts=()) for q in plain.queues)
    asker = WhatIfPlanner(
        replace(plain, queues=queues), time_limit=budget.time_share(0.3), cancel=budget.cancel
    )
    equal = _equal_order(instance, plain, budget)
    cut = budget.stopped() or (equal is not None and equal.cut)
    queue_of = {queue.name: queue for queue in instance.queues}
    hopes: list[tuple[Job, int]] = []
    for job in jobs:
        found = None if equal is None else equal.get(job.id)
        starts = [] if found is None or found.start is None else [found.start]
        bare = replace(
            job, res_req=(), hosts=(), exclusive=False, application="", extsched="", gpu=""
        )
        asks = bool(queue_of[job.queue].res_req or queue_of[job.queue].hosts) or bare != job
        if asks and asker.stopped():
            cut = True
        elif asks:
            answer = asker.answer(bare)
            starts += [] if answer.start is None else [answer.start]
            cut = cut or answer.cut
        if starts:
            hopes.append((job, min(starts)))
    return hopes, cut


def _equal_order(instance: Instance, plain: Instance, budget: Budget) -> Plan | None:
    """Return a plan with jobs in order of submission; None if that is the configured order."""
    most, *_ = user_with_most(instance, {host.name for host in instance.cluster.hosts})
    several = len({queue.priority for queue in instance.queues}) > 1
    if budget.stopped() or not (most or several or has_policy(instance)):
        return None
    running = tuple(run for run in plain.running if run.job.user != most)
    queues = tuple(_equal(queue) for queue in plain.queues)
    params = without_growth(plain.params)
    world = replace(plain, queues=queues, partitions=(), running=running, params=params)
    return plan(world, "time-based", time_limit=budget.time_share(0.3), cancel=budget.cancel)


def _equal(queue: Queue) -> Queue:
    return replace(
        queue,
        priority=1,
        user_shares=None,
        fairshare_queues=(),
        slot_pool="",
        slot_share=None,
        aps_priority=None,
        queue_group=(),
    )


#: Minimum excess of the wait over that for free slots, above which a job starves: seconds, dispatch
#: cycles, and share of the whole wait.
LEAST, MIN_CYCLES, MIN_SHARE = 1800, 5, 0.2
#: Minimum share of the excess wait that a remedy removes.
HELPS = 0.3
#: Minimum share of the excess wait that the remedy of another job must remove to serve as remedy of
#: this job too.
HELPS_TOO = 0.7
#: For jobs that start as soon as their slots are free: minimum wait (seconds) to be explained, and
#: minimum share of the wait that one change must save.
LONG_WAIT, SAVED = 1800, 1 / 3
#: Such a job starves if one change saves this much (seconds, share) and this many jobs overtake it.
STARVED, STARVED_SHARE, MANY_PASS = 7200, 0.6, 3
#: Maximum number of rules that are tried in pairs if none helps alone.
MAX_PAIRED = 8
#: Minimum excess of the wait (seconds) at which a job is reported although no single change helps;
#: it must also be half of the wait.
UNEXPLAINED = 7200
#: Maximum number of jobs for which all changes are tried, and of remedies of each job.
MAX_JOBS, MAX_REMEDIES = 3, 4
#: Causes for which future allocations are tried in addition, and minimum number of jobs with one.
TIME_OF_RESERVATIONS, LOOK_AHEAD = frozenset({"reservation expires", "no reservation"}), 4
#: A second later than any start.
BEYOND_ANY_START = 1 << 60
#: Wall-clock seconds of the plan that proves a start.
PROOF_TIME = 5.0


def diagnose(
    instance: Instance,
    *,
    jobs: Sequence[str | int] | str | int = (),
    most: int = MAX_JOBS,
    time_limit: float | None = None,
    cancel: threading.Event | None = None,
    on_progress: OnProgress | None = None,
    history: History | str | Path | None = None,
    drawing: Drawing = USUAL,
) -> Diagnosis:
    """Return which pending jobs starve, why, and the remedies with their costs for other jobs.

    jobs: ids of the jobs to examine, () for all. most: number of jobs for which all changes are
    tried. time_limit: wall seconds of the whole diagnosis. cancel: set it to stop; the result then
    has the jobs examined so far. on_progress: called before each simulation. history: finished
    jobs, or a log of them, for forecast starts, today and under the first remedy. drawing: their
    settings. Raises InputError for a job that is not pending and for an unreadable history.
    """
    jobs = job_ids(jobs)
    _check(instance, jobs)
    stop = cancel or threading.Event()
    forecaster = Forecaster.of(instance, history, drawing, None, stop)
    runs = Simulations(instance, Budget(time_limit, cancel=stop))
    found = _DiagnosisRun(instance, runs, most, on_progress).run(jobs)
    if forecaster is not None:
        found = _with_forecasts(found, forecaster, runs)
    return found


def _check(instance: Instance, jobs: Sequence[str]) -> None:
    known = {job.id for job in instance.pending}
    problems = [
        Problem(no_pending_job(instance.omissions, name, nearest(name, known)))
        for name in jobs
        if name not in known
    ]
    if problems:
        raise InputError(problems)


@dataclass(slots=True)
class _DiagnosisRun:
    """State of one diagnosis."""

    instance: Instance
    runs: Simulations
    most: int
    on_progress: OnProgress | None
    #: Plan with each job at the first instant at which its slots are free.
    ideal: Plan | None = None
    #: Starts in the simulation without limits and windows, by job.
    unlimited: Mapping[str, PlannedJob] = field(default_factory=dict)
    #: Position in the dispatch order by job id.
    order: Mapping[str, int] = field(default_factory=dict)
    #: State of each job without a start as configured, and the event it waits for.
    states: Mapping[str, tuple[State, str]] = field(default_factory=dict)
    found: list[WaitingJob] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def run(self, names: Sequence[str]) -> Diagnosis:
        """Return the diagnosis, incomplete if the time ends."""
        begun = monotonic()
        report = self.on_progress
        if report is not None:
            self.runs.before = lambda: report(
                Progress(self.runs.tried, None, None, None, monotonic() - begun)
            )
        self.runs.begin()
        self.states = self._stated()
        pending = [job for job in self.instance.pending if not names or job.id in set(names)]
        if not self.runs.cut:
            self.order = {job.id: at for at, job in enumerate(priority_order(self.instance))}
            self.ideal = ideal_plan(self.instance, self.runs.budget)
            self.unlimited = self.runs.unlimited()
            self._look_at(pending)
        without = tuple(self._without_start(pending))
        return Diagnosis(
            jobs=tuple(self.found),
            never=tuple((job, why) for job, state, why in without if state == "impossible"),
            undated=tuple(item for item in without if item[1] != "impossible"),
            pending=len(self.instance.pending),
            tried=self.runs.tried,
            now=self.instance.now,
            origin=self.instance.origin,
            notes=tuple(self.notes),
            omissions=(*self._not_compared(), *not_simulated(self.instance, pending)),
            cut=self.runs.cut or self.ideal is None or self.ideal.cut,
        )

    def _not_compared(self) -> Iterator[Omission]:
        """Yield what the plan of first free slots omits, and jobs that are not planned."""
        for rule, jobs in left_to_the_loop(Resolver.of(self.instance), self.instance.pending):
            yield Omission(f"{rule}, in when slots are first free", jobs=tuple(sorted(jobs)))
        yield from remarks(self.instance)

    def _stated(self) -> dict[str, tuple[State, str]]:
        """Return the state and reason of each job without a start as configured; {} if the time
        ends.
        """
        runs = self.runs
        without = [job for job in self.instance.pending if job.id not in runs.today]
        if runs.cut:
            return {}
        return states_of(self.instance, without, runs.placed, runs.waiting, runs.budget)

    def _look_at(self, pending: Sequence[Job]) -> None:
        late = sorted(self._late(pending), key=self._weight)
        added = {True: 0, False: 0}
        for job, earliest in late:
            starts = job.id in self.runs.today
            if self._add_alike(job, earliest) or added[starts] == self.most:
                continue
            self._add(job, earliest)
            added[starts] += 1
        known = {job.id for job, _ in late}
        others = [job for job in pending if job.id not in known and self._waits_long(job)]
        for job in self._by_possible_gain(others)[: self.most]:
            self._add_waiting(job)
        self.found.sort(key=_prominence)

    def _late(self, pending: Sequence[Job]) -> Iterator[tuple[Job, int]]:
        """Yield jobs that wait longer than until their slots are free, with this instant."""
        instance = self.instance
        for job in pending:
            item = self._free_at(job.id)
            earliest = None if item is None else item.start
            if earliest is None:
                continue
            start = self.runs.today.get(job.id)
            if start is None:
                yield job, earliest
                continue
            cycles = MIN_CYCLES * instance.params.mbd_sleep_time
            least = max(LEAST, cycles, MIN_SHARE * (start - instance.now))
            if start - earliest >= least:
                yield job, earliest

    def _free_at(self, job: str) -> PlannedJob | None:
        """Return when and where the slots of a job are free, regardless of limits and
        reservations.
        """
        in_turn = self.ideal.get(job) if self.ideal is not None else None
        found = [item for item in (in_turn, self.unlimited.get(job)) if item is not None]
        return min(found, key=lambda item: (item.start is None, item.start or 0), default=None)

    def _wait(self, job: Job) -> float:
        start = self.runs.today.get(job.id)
        return float("inf") if start is None else float(start - self.instance.now)

    def _waits_long(self, job: Job) -> bool:
        begins = job.begin is not None and job.begin > self.instance.now
        return self._wait(job) >= LONG_WAIT and not begins

    def _by_possible_gain(self, jobs: Sequence[Job]) -> list[Job]:
        """Return the jobs for which one change may gain enough, those with the largest gain
        first.
        """
        found = []
        hopes, cut = optimistic_starts(self.instance, jobs, self.runs.budget)
        self.runs.cut = self.runs.cut or cut
        for job, best in hopes:
            wait = min(self._wait(job), WEEK)
            gain = wait - (best - self.instance.now)
            if gain >= SAVED * wait:
                found.append((-gain, self.order[job.id], job))
        return [job for *_, job in sorted(found, key=lambda item: item[:2])]

    def _weight(self, item: tuple[Job, int]) -> tuple[bool, float, int]:
        """Return a sort key: jobs without a start first, then the largest product of slots and
        excess wait.
        """
        job, earliest = item
        start = self.runs.today.get(job.id)
        lost = 0 if start is None else -job.slots * (start - earliest)
        return start is not None, lost or -job.slots, self.order[job.id]

    def _add(self, job: Job, earliest: int) -> None:
        """Add a job that waits longer than until its slots are free."""
        start = self.runs.today.get(job.id)
        wanted = Target(job.id, job.slots, start, _helping(HELPS, start, earliest), earliest)
        own = ranked(self._tried(self._of_configuration(job), wanted), start, MAX_REMEDIES)
        # Changes that make the slots free earlier may gain more.
        least = round(0.1 * min(self._wait(job), WEEK))
        sooner = replace(wanted, latest=min(self._half(job), earliest - max(ALIKE, least)))
        far = start is not None and self._wait(job) > 4 * (start - earliest)
        more: tuple[Remedy, ...] = ()
        if far or not own:
            more = ranked(self._tried(self._of_the_rest(job), sooner), start, MAX_REMEDIES)
        gain = more[0].gain if more else None
        outweighs = gain is not None and start is not None and gain >= 4 * (start - earliest)
        if more and (not own or outweighs):
            self._add_held_up(job, more)
            return
        made = self._waiting(job, earliest, own, starves=True)
        if not own and self._unexplained(made):
            own = ranked(self._pairs(job, wanted), start, MAX_REMEDIES)
            made = replace(made, remedies=own)
        # If no change brings the job forward, the configuration is not the cause.
        made = replace(made, starves=made.starves and (bool(own) or start is None))
        if own or self._unexplained(made):
            self.found.append(self._with_proof(self._with_planning(job, wanted, made)))

    def _pairs(self, job: Job, wanted: Target) -> list[Remedy]:
        """Return the first pair of rules that helps if both are changed, with the smallest
        changes.
        """
        probes = [probe for probe in self._of_configuration(job) if probe.steps]
        if self.instance.queue(job.queue).reserve_cycles is None:
            probes[1:1] = self._looking_ahead(self._need(job))
        probes = probes[:MAX_PAIRED]
        for one, other in combinations(probes, 2):
            whole = joined(one.steps[-1], other.steps[-1])
            if self.runs.start(whole, wanted, wanted.latest) is None:
                continue
            return self.runs.remedies(together((one, other)), wanted)
        return []

    def _unexplained(self, item: WaitingJob) -> bool:
        """Return whether a job that no single change helps waits long enough to be reported."""
        if item.excess is None or item.simulated is None:
            return True
        wait = item.simulated - self.instance.now
        return bool(item.overtaken) and item.excess >= max(UNEXPLAINED, wait / 2)

    def _add_alike(self, job: Job, earliest: int) -> bool:
        """Add the job if the first remedy of another job helps it sufficiently; return whether
        it does.
        """
        start = self.runs.today.get(job.id)
        latest = _helping(HELPS_TOO, start, earliest)
        wanted = Target(job.id, job.slots, start, latest, earliest)
        known = {item.key: item for other in self.found for item in other.remedies[:1]}
        remedies = [
            self.runs.remedy(Probe(item.kind, item.cause, ()), self.runs.changes[key], wanted)
            for key, item in known.items()
            if self.runs.starts(key).get(job.id, BEYOND_ANY_START + 1) <= latest
        ]
        best = ranked(remedies, start, 1)
        if best:
            self.found.append(self._waiting(job, earliest, best, starves=True))
        return bool(best)

    def _of_configuration(self, job: Job) -> Iterator[Probe]:
        instance = self.instance
        return self._in_family_words(
            reserving_probes(instance, self._need(job)),
            limit_probes(instance, job),
            host_probes(instance),
            other_job_probes(instance, job),
        )

    def _of_the_rest(self, job: Job) -> Iterator[Probe]:
        probes = order_probes, request_probes, queue_probes
        return self._in_family_words(*(found(self.instance, job) for found in probes))

    def _looking_ahead(self, need: JobInLine) -> Iterator[Probe]:
        params = self.instance.params
        return self._in_family_words(looking_ahead_probes(params, max(need.rank, LOOK_AHEAD)))

    def _in_family_words(self, *probes: Iterable[Probe]) -> Iterator[Probe]:
        return in_family_words(self.instance, chain(*probes))

    def _need(self, job: Job) -> JobInLine:
        start = self.runs.today.get(job.id)
        wait = None if start is None else start - self.instance.now
        texts = (*job.res_req, self.instance.queue(job.queue).res_req)
        memory = any("rusage" in text for text in texts)
        return JobInLine(job, self.order[job.id] + 1, wait, memory)

    def _tried(self, probes: Iterator[Probe], wanted: Target) -> list[Remedy]:
        known = (self.runs.remedies(probe, wanted) for probe in probes if probe.steps)
        return [*chain.from_iterable(known)]

    def _half(self, job: Job) -> int:
        """Return the latest start that saves the necessary share of the wait."""
        if job.id not in self.runs.today:
            return BEYOND_ANY_START
        return round(self.instance.now + (1 - SAVED) * self._wait(job))

    def _with_planning(self, job: Job, wanted: Target, item: WaitingJob) -> WaitingJob:
        """Return the job with future allocations combined with its first remedy, if that costs
        others less.

        If future allocations alone are not a remedy, their gain is recorded in `too_little`.
        """
        if not item.remedies or item.remedies[0].kind not in TIME_OF_RESERVATIONS:
            return item
        first, need = item.remedies[0], self._need(job)
        basis = self.runs.changes[first.key]
        found: list[Remedy] = []
        for probe in self._looking_ahead(need):
            both = Probe(probe.kind, probe.cause, (joined(basis, probe.steps[-1]),))
            found = self.runs.remedies(both, replace(wanted, latest=first.start + ALIKE))
            alone = [other for other in item.remedies if other.kind == probe.kind]
            if not alone:
                change = probe.steps[-1]
                start = self.runs.start(change, wanted, BEYOND_ANY_START)
                gain = () if start is None else (self.runs.remedy(probe, change, wanted),)
                item = replace(item, too_little=gain)
        cheaper = [other for other in found if other.cost.slot_hours < first.cost.slot_hours]
        return replace(item, remedies=(first, *cheaper, *item.remedies[1:])[:MAX_REMEDIES])

    def _add_waiting(self, job: Job) -> None:
        """Add a job that starts when its slots are free, if one change makes it wait much less."""
        start, now = self.runs.today.get(job.id), self.instance.now
        wanted = Target(job.id, job.slots, start, self._half(job), now if start is None else start)
        rest = chain(
            self._of_the_rest(job), self._in_family_words(other_job_probes(self.instance, job))
        )
        remedies = ranked(self._tried(rest, wanted), start, MAX_REMEDIES)
        if remedies:
            self._add_held_up(job, remedies)

    def _add_held_up(self, job: Job, remedies: tuple[Remedy, ...]) -> None:
        """Add a job that has other jobs before it, or that needs resources other than slots."""
        made = self._waiting(job, remedies[0].start, remedies, starves=False)
        self.found.append(replace(made, starves=self._starves(made)))

    def _starves(self, item: WaitingJob) -> bool:
        """Return whether other jobs precede a job for long; a job that gets its request does not
        starve.
        """
        first = item.remedies[0]
        if first.kind not in IN_LINE:
            return False
        if first.gain is None or item.simulated is None:
            return True
        share = first.gain / max(1, item.simulated - self.instance.now)
        passed = len(item.passed_by) >= MANY_PASS or first.kind == ONE_USER
        return passed and first.gain >= STARVED and share >= STARVED_SHARE

    def _waiting(
        self, job: Job, earliest: int, remedies: tuple[Remedy, ...], *, starves: bool
    ) -> WaitingJob:
        start = self.runs.today.get(job.id)
        item = self._free_at(job.id)
        allocation = item.allocation if item is not None else {}
        by_order = bool(remedies) and remedies[0].kind in IN_LINE - {"slot pool", ONE_USER}
        passing = list(self._passing(job, start, by_submission=by_order))
        overtaken = [
            other.job
            for other in passing
            if set(other.allocation) & set(allocation)
            and (other.finish is None or other.finish > earliest)
        ]
        state, condition = self.states.get(job.id, ("starts", ""))
        return WaitingJob(
            job=job.id,
            slots=job.slots,
            user=job.user,
            queue=job.queue,
            submit=job.submit,
            starves=starves and condition != BEYOND_KNOWN,
            simulated=start,
            earliest=earliest,
            allocation=allocation,
            free_by="simulation" if item is self.unlimited.get(job.id) else "time-based",
            passed_by=tuple(other.job for other in passing),
            overtaken=tuple(overtaken),
            remedies=remedies,
            state=state,
            condition=condition,
        )

    def _passing(self, job: Job, start: int | None, *, by_submission: bool) -> Iterator[PlannedJob]:
        """Yield jobs after it in the dispatch order, or submitted later, that start before it."""
        behind = {
            other.id
            for other in self.instance.pending
            if (
                other.queue_position > job.queue_position
                if by_submission
                else self.order[other.id] > self.order[job.id]
            )
        }
        for item in sorted(self.runs.placed.values(), key=lambda item: item.start or 0):
            if item.job in behind and (start is None or (item.start or 0) < start):
                yield item

    def _with_proof(self, item: WaitingJob) -> WaitingJob:
        """Return the job with its earliest start proved, or replaced by an earlier planned
        start.
        """
        budget = self.runs.budget
        if budget.stopped() or any(other.proved for other in self.found):
            return item
        part = budget.time_share(0.3)
        limit = PROOF_TIME if part is None else min(PROOF_TIME, max(part, 1e-3))
        best = plan(
            self.instance,
            "optimal",
            first=self.order[item.job] + 1,
            time_limit=limit,
            cancel=budget.cancel,
        ).get(item.job)
        if best is None or best.start is None or best.start > item.earliest:
            return item
        return replace(item, earliest=best.start, proved=best.proved, allocation=best.allocation)

    def _without_start(self, pending: Sequence[Job]) -> Iterator[tuple[str, State, str]]:
        """Yield id, state and reason of jobs that start neither as configured nor under any
        change.
        """
        if self.ideal is None or self.ideal.cut:
            return
        known = {item.job for item in self.found}
        wanted = {job.id for job in pending}
        reasons = {item.job: item.reason for item in self.ideal.unplaced}
        for job, (state, why) in self.states.items():
            if job in wanted - known and (state == "impossible" or job in reasons):
                yield job, state, why or reasons.get(job, "")


def _prominence(item: WaitingJob) -> tuple[bool, bool, int]:
    """Return the sort key: infeasible jobs first, then starving ones, then waiting ones by
    importance.
    """
    rank = 0 if item.starves or item.cause in IN_LINE else RANK.get(item.cause, len(RANK))
    return item.state != "impossible", not item.starves, rank


def _helping(share: float, start: int | None, earliest: int) -> int:
    """Return the latest start that removes a share of a job's excess wait."""
    return BEYOND_ANY_START if start is None else start - round(share * (start - earliest))


def _with_forecasts(found: Diagnosis, forecaster: Forecaster, runs: Simulations) -> Diagnosis:
    """Return the diagnosis with forecast starts of its jobs, and of the first job under its
    remedy.
    """
    budget = runs.budget
    likely = forecaster.all(budget.time_share(0.5))
    jobs = [replace(item, likely=likely.get(item.job)) for item in found.jobs]
    if jobs and jobs[0].remedies and not budget.stopped():
        first, *rest = jobs[0].remedies
        instance = runs.changes[first.key].apply(runs.instance)
        then = replace(forecaster, instance=instance).all(budget.time_share(1.0)).get(jobs[0].job)
        jobs[0] = replace(jobs[0], remedies=(replace(first, likely=then), *rest))
    return replace(
        found,
        jobs=tuple(jobs),
        forecast=True,
        **remarks_of(forecaster),
        cut=found.cut or budget.stopped(),
    )
