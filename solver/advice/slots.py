"""What could start right now without delaying any job, each row checked by the simulated scheduler.

As bslots of LSF and showbf of Maui, which consider reservations only. Here a job of the row is
submitted and the simulation continues as configured: no waiting job starts or ends later, and no
running job is suspended.
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ...model.display import MINUTE, duration_text, with_stamps
from ...model.duration import expected_duration, expected_finish
from ...model.errors import InputError, Problem, UnknownNameError
from ...model.escaping import html_table
from ...model.instance import Instance
from ...model.job import Job
from ...model.job_table import OneLine
from ...model.omissions import Omission
from ...model.plan import PlannedJob
from ..budget import Budget
from ..forecast.forecast import SAMPLES
from ..forecast.history import History
from ..forecast.of_instance import past_of, sampled_use
from ..outlook.outlook import not_simulated, states_of
from ..pending_reasons import NOWHERE
from ..resolve import Resolver
from ..scheduler.continuation import ConfiguredRun, run_as_configured
from .ask import submission_of

#: Limits that are tried are multiples of these seconds, up to the longest one.
STEP = 5 * MINUTE
LONGEST = 30 * 24 * 60 * MINUTE
#: Rows of a kind of hosts, on one host and across hosts, unless all are requested.
ROWS = 3
#: Reason if the longest request is too short to paste.
NO_TIME_LEFT = f"no request has {duration_text(STEP)} and two dispatch cycles"


@dataclass(frozen=True, slots=True)
class SlotsRow:
    """A largest and longest request that starts now and delays no other job."""

    #: Kind of hosts: a host group, a model, or a number of slots.
    kind: str
    #: Slots of the request.
    slots: int
    #: Slots by host that it would get.
    allocation: dict[str, int]
    #: Seconds that a job may run, None: no limit.
    at_most: int | None
    #: Options to paste behind bsub or sbatch; its limit is two dispatch cycles shorter.
    line: str
    #: Reason why a longer job does not fit: the first job that it would delay, or a sentence.
    delays: str = ""
    why_not_longer: str = ""


@dataclass(frozen=True, slots=True)
class AlikeHosts:
    """Hosts of equal model, slots and memory."""

    name: str
    hosts: tuple[str, ...]
    #: Option of bsub that requests them, "" if all hosts.
    option: str


@dataclass(frozen=True, slots=True)
class FreeSlots:
    """Free slots of a kind of hosts at some times, as configured."""

    kind: str
    capacity: int
    #: Free slots at each time of `Slots.times`.
    free: tuple[int, ...]
    #: Hosts without a job at each time.
    whole_hosts: tuple[int, ...]
    #: Slots of jobs that run now at each time.
    running: tuple[int, ...]
    #: Free slots at each time in at least 9 of 10 forecasts; empty without a history.
    likely: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class HostsWithoutRow:
    """Hosts on which no request starts now, or none of this queue."""

    hosts: tuple[str, ...]
    #: Status of the hosts, or why the smallest job with the shortest limit does not fit there.
    why: str


@dataclass(frozen=True, slots=True, repr=False)
class Slots(OneLine):
    """What could start now, and free slots over time; times in seconds from the origin."""

    rows: tuple[SlotsRow, ...]
    #: Queue and user that were assumed.
    queue: str
    user: str
    #: Slots that are free on hosts that take jobs once the jobs that start now have started.
    free: int
    #: Those of them on hosts that jobs of the queue may use.
    free_of_queue: int
    #: Number of pending jobs, none of which a row delays.
    waiting: int
    now: int
    origin: str | None
    #: Hosts that are in no row.
    without_row: tuple[HostsWithoutRow, ...] = ()
    #: Slots of the smallest job of the queue.
    smallest: int = 1
    #: Why the smallest job with the shortest limit does not fit, "" if a row exists.
    nothing: str = ""
    #: Start of this job; None: unknown, or rows exist.
    earliest: int | None = None
    #: Times of `free_when`.
    times: tuple[int, ...] = ()
    free_when: tuple[FreeSlots, ...] = ()
    #: Settings that the simulation omits, of such a job or of a waiting one.
    cautions: tuple[Omission, ...] = ()
    #: Whether a limit or Ctrl-C stopped the search early: more requests may fit.
    is_partial: bool = False

    def _about(self) -> str:
        return f"{len(self.rows)} rows, {self.free} free"

    def _repr_html_(self) -> str:
        cells = [(row.kind, row.slots, row.at_most, row.line) for row in self.rows]
        return html_table("starts now", ("hosts", "slots", "at most (s)", "line"), cells)

    def records(self) -> list[dict[str, Any]]:
        """Return the rows as records, or free slots by kind and time, as CSV has them."""
        if not self.times:
            return [asdict(row) for row in self.rows]
        return [
            {"kind": item.kind, "capacity": item.capacity, "time": time}
            | {"free": item.free[at], "whole_hosts": item.whole_hosts[at]}
            | {"running": item.running[at], "likely": item.likely[at] if item.likely else None}
            for item in self.free_when
            for at, time in enumerate(self.times)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as a JSON object."""
        found = {**asdict(self), "cautions": [item.to_dict() for item in self.cautions]}
        return with_stamps(found, self.origin, ("now", "earliest"))


def slots(
    instance: Instance,
    *,
    queue: str = "",
    user: str = "",
    until: int | None = None,
    every: bool = False,
    history: History | str | Path | None = None,
    samples: int = SAMPLES,
    seed: int = 0,
    time_limit: float | None = None,
    cancel: threading.Event | None = None,
) -> Slots:
    """Return what could start now without delaying any job as configured.

    queue, user: of the job; the default queue, an unnamed user. until: seconds from now for which
    `free_when` is computed; None: not at all. every: all rows, not the largest few of each kind.
    history: finished jobs, or a log with them; `free_when` then also has quantiles of forecasts.
    Raises InputError for a queue or user that does not exist or is not accepted.
    """
    budget = Budget(time_limit, cancel=cancel or threading.Event())
    base = run_as_configured(instance, budget=budget)
    search = _SlotSearch(instance, queue, user, budget, base)
    kinds = host_kinds(instance)
    anywhere = kinds[0] if len(kinds) == 1 else AlikeHosts("", (), "")
    job = search.pasted(search.line(anywhere, search.least, False, None))
    rows: list[SlotsRow] = []
    nothing, earliest, partial = search.fill(rows, kinds, LONGEST if every else ROWS)
    if until is not None and until < 1:
        raise InputError([Problem(f"must be 1 second or more, not {until}", path="until")])
    times = () if until is None else hours(instance.now, until)
    starts = base.starts.values()
    free, usable = free_now(instance, starts), search.candidates(job)
    used: list[list[Counter[str]]] = []
    if times and kinds and history is not None:
        past = past_of(history, instance)
        used = list(sampled_use(instance, past, times, samples, seed, budget.stopped))
        partial = partial or budget.stopped()
    later = free_when(instance, starts, times, used) if times else ()
    return Slots(
        tuple(rows),
        job.queue,
        job.user,
        sum(free.values()),
        sum(count for name, count in free.items() if name in usable),
        len(instance.pending),
        instance.now,
        instance.origin,
        tuple(search.without_row(kinds, usable, {row.kind for row in rows})),
        search.least,
        nothing,
        earliest,
        times,
        later,
        not_simulated(instance, (*instance.pending, job, *search.of_rows(rows))),
        partial,
    )


def host_kinds(instance: Instance) -> list[AlikeHosts]:
    """Return the kinds of hosts that take jobs; for Slurm one kind, as no line names nodes."""
    hosts_of_jobs = [host for host in instance.cluster.hosts if host.takes_jobs and host.slots > 0]
    names = tuple(host.name for host in hosts_of_jobs)
    alike: dict[tuple[str, int, float | None], list[str]] = {}
    for host in instance.cluster.hosts:
        key = host.model, host.slots, host.amounts.get("mem")
        alike.setdefault(key, []).append(host.name)
    if instance.params.scheduler.has_own_words or len(alike) == 1:
        return [AlikeHosts("all", names, "")] if names else []
    groups = {frozenset(group.members): group.name for group in instance.cluster.groups}
    found = []
    for (model, count, memory), hosts in alike.items():
        group = groups.get(frozenset(hosts))
        taking = tuple(name for name in hosts if name in set(names))
        size = f"{count} slots" if memory is None else f"{count} slots, {memory:g} MB"
        name = group or (size if model == "any" else f"{model}, {size}")
        if taking:
            found.append(AlikeHosts(name, taking, f'-m "{group or " ".join(taking)}"'))
    return found


class _Stopped(Exception):
    """The budget is over."""


@dataclass(frozen=True, slots=True)
class _Trial:
    """A request that was tried: the run with its job, or why it does not start now or delays."""

    job: Job | None = None
    run: ConfiguredRun | None = None
    delays: str = ""
    why: str = ""

    @property
    def fits(self) -> bool:
        return not self.why


@dataclass(slots=True)
class _SlotSearch:
    instance: Instance
    queue: str
    user: str
    budget: Budget
    base: ConfiguredRun
    #: Fewest slots of a job of the queue.
    least: int = 1
    #: Slots that may be free now, by host.
    free: dict[str, int] = field(default_factory=dict)
    #: What was tried, by line.
    tried: dict[str, _Trial] = field(default_factory=dict)

    def __post_init__(self) -> None:
        queues = [queue.name for queue in self.instance.queues]
        if self.queue and self.queue not in queues:
            raise UnknownNameError.among("queue", self.queue, queues)
        name = self.queue or self.instance.params.default_queue
        limits = (item.slots for item in self.instance.queues if item.name == name)
        self.least, *_ = next(limits, None) or (1,)
        hosts = self.instance.cluster.hosts
        self.free = {host.name: host.slots for host in hosts if host.takes_jobs}
        for run in self.instance.running:
            keeps = not (run.suspended or run.job.id in self.base.suspended)
            for name, count in run.allocation.items() if keeps else ():
                if name in self.free:
                    self.free[name] = max(0, self.free[name] - count)

    def line(self, kind: AlikeHosts, slots: int, one_host: bool, limit: int | None) -> str:
        """Return the options of a request; limit: in seconds."""
        minutes = None if limit is None else f"{limit // 3600}:{limit // 60 % 60:02}"
        command = self.instance.params.scheduler.submit
        if command == "sbatch":
            words = [f"-p {self.queue}" * bool(self.queue), f"-n {slots}", "-N 1" * one_host]
            words += [f"-t {minutes}:00" * bool(minutes)]
        else:
            one = '-R "span[hosts=1]"' * (one_host and slots > 1)
            words = [f"-q {self.queue}" * bool(self.queue), f"-n {slots}", one, kind.option]
            words += [f"-W {minutes}" * bool(minutes)]
        return " ".join(filter(None, [command, *words]))

    def pasted(self, line: str) -> Job:
        """Return the job of a line; raise InputError if its queue rejects it."""
        return submission_of(
            self.instance, line, None, user=self.user, from_host="", script_name=""
        ).job

    def of_rows(self, rows: Iterable[SlotsRow]) -> Iterator[Job]:
        """Yield the jobs of rows, with their lines as ids."""
        return (replace(self.pasted(row.line), id=row.line) for row in rows)

    def trial(self, kind: AlikeHosts, slots: int, one_host: bool, limit: int | None) -> _Trial:
        """Return what follows if the request is submitted now."""
        line = self.line(kind, slots, one_host, limit)
        if line not in self.tried:
            try:
                job = self.pasted(line)
            except InputError as error:
                why = str(error).splitlines()[0].removeprefix("bsub line: ")
                self.tried[line] = _Trial(why=why)
            else:
                self.tried[line] = self._run(job)
        return self.tried[line]

    def _run(self, job: Job) -> _Trial:
        instance, now = self.instance, self.instance.now
        with_job = replace(instance, pending=(*instance.pending, job))
        watched = job.id, now
        run = run_as_configured(with_job, budget=self.budget, until=job.id, unless_later=watched)
        if self.budget.stopped():
            raise _Stopped
        if run.start(job.id) != now:
            why = run.waiting.get(job.id, "") or "it does not start now"
            if why == NOWHERE:  # by a limit of 0, for example, which the loop does not name
                found = states_of(with_job, (job,), run.starts, run.waiting, self.budget)
                _, why = found.get(job.id, ("", why))
            return _Trial(job, why=why)
        run = run_as_configured(with_job, budget=self.budget)
        if self.budget.stopped():
            raise _Stopped
        if job.id in run.suspended:
            return _Trial(job, why="it would be suspended")
        delayed = min(self._delayed(run), default=None)
        if delayed is None:
            return _Trial(job, run)
        return _Trial(job, delays=delayed[1], why=f"job {delayed[1]} would be delayed")

    def _delayed(self, run: ConfiguredRun) -> Iterator[tuple[int, str]]:
        """Yield each job that starts or ends later than without the request, or is suspended."""
        for name, time in run.suspended.items():
            if time < self.base.suspended.get(name, time + 1):
                yield time, name
        for name, before in self.base.starts.items():
            after = run.starts.get(name)
            pairs = (
                (before.start, None if after is None else after.start),
                (before.finish, None if after is None else after.finish),
            )
            if any(old is not None and (new is None or new > old) for old, new in pairs):
                yield before.start or 0, name

    def fill(
        self, rows: list[SlotsRow], kinds: list[AlikeHosts], most: int
    ) -> tuple[str, int | None, bool]:
        """Append the rows; return what :meth:`smallest` does, and whether it was stopped early."""
        try:
            if self.budget.stopped():
                raise _Stopped
            for kind in kinds:
                rows.extend(self.of_kind(kind, most))
            return (*(("", None) if rows else self.smallest(kinds)), False)
        except _Stopped:
            return "", None, True

    def of_kind(self, kind: AlikeHosts, most: int) -> Iterator[SlotsRow]:
        """Yield the largest and longest requests, on one host and across hosts."""
        free = [self.free[name] for name in kind.hosts]
        one = list(self._frontier(kind, max(free), True, most))
        yield from one
        for row in self._frontier(kind, sum(free), False, most) if sum(free) > max(free) else ():
            if not any(
                row.slots <= other.slots and _length(row) <= _length(other) for other in one
            ):
                yield row

    def _frontier(
        self, kind: AlikeHosts, free: int, one_host: bool, most: int
    ) -> Iterator[SlotsRow]:
        """Yield rows of more slots and shorter limits each; `most` of them."""
        slots = self.least - 1
        while slots < free and most:
            limit = self._longest(kind, slots + 1, one_host)
            if limit == 0:
                return
            tried: int | None = 0
            while tried != limit:  # a larger job may fit for longer: it uses other hosts
                tried = limit
                slots = self._largest(kind, max(slots, self.least), free, one_host, limit)
                limit = self._longest(kind, slots, one_host, limit)
            row = self._row(kind, slots, one_host, limit)
            if row is not None:
                most -= 1
                yield row

    def _longest(
        self, kind: AlikeHosts, slots: int, one_host: bool, known: int | None = 0
    ) -> int | None:
        """Return the longest limit of a job of these slots; None: no limit, 0: none fits.

        known: a limit that fits.
        """
        if known is None:
            return None
        unlimited = self.trial(kind, slots, one_host, None)
        job = unlimited.job
        if unlimited.fits and job is not None and expected_duration(self.instance, job) is None:
            return None
        steps = (LONGEST - known) // STEP
        return known + STEP * _last(
            steps, lambda n: self.trial(kind, slots, one_host, known + STEP * n).fits
        )

    def _largest(
        self, kind: AlikeHosts, least: int, most: int, one_host: bool, limit: int | None
    ) -> int:
        """Return the most slots of a job of this limit."""
        return least + _last(
            most - least, lambda n: self.trial(kind, least + n, one_host, limit).fits
        )

    def _row(
        self, kind: AlikeHosts, slots: int, one_host: bool, limit: int | None
    ) -> SlotsRow | None:
        """Return the row of a request, None if no limit is left that is two cycles shorter."""
        asked = limit
        longer = _Trial()
        if limit is not None:
            longer = self.trial(kind, slots, one_host, limit + STEP)
            cycles = 2 if longer.job is not None else 0  # none if the queue's own limit ends it
            asked = (limit - cycles * self.instance.params.mbd_sleep_time) // STEP * STEP
            if asked <= 0:
                return None
        trial = self.trial(kind, slots, one_host, asked)
        if trial.run is None or trial.job is None:
            return None
        allocation = dict(trial.run.starts[trial.job.id].allocation)
        line = self.line(kind, slots, one_host, asked)
        return SlotsRow(kind.name, slots, allocation, limit, line, longer.delays, longer.why)

    def candidates(self, job: Job) -> frozenset[str]:
        """Return the hosts on which the job may run at all."""
        hosts = self.instance.cluster.hosts
        terms = Resolver.of(self.instance).demand(job).terms
        return frozenset(hosts[int(at)].name for term in terms for at in term.candidates)

    def without_row(
        self, kinds: Iterable[AlikeHosts], usable: Collection[str], listed: Collection[str]
    ) -> Iterator[HostsWithoutRow]:
        """Yield the hosts that are in no row. usable: by jobs of the queue; listed: kinds."""
        kind_of = {name: kind for kind in kinds for name in kind.hosts}
        found: dict[str, list[str]] = {}
        for host in self.instance.cluster.hosts:
            kind = kind_of.get(host.name)
            if kind is None:
                why = "no slots" if host.takes_jobs else host.status
            elif host.name not in usable:
                why = f"not for jobs of queue {self.queue or self.instance.params.default_queue}"
            elif kind.name in listed:
                continue
            else:
                unknown = (
                    "not examined" if any(map(self.free.get, kind.hosts)) else "no slot is free"
                )
                trial = self.tried.get(
                    self.line(kind, self.least, self.least == 1, STEP), _Trial(why=unknown)
                )
                why = trial.why or NO_TIME_LEFT
            found.setdefault(why, []).append(host.name)
        for why, hosts in found.items():
            yield HostsWithoutRow(tuple(hosts), why)

    def smallest(self, kinds: list[AlikeHosts]) -> tuple[str, int | None]:
        """Return why the smallest job does not start now anywhere, and its start."""
        trials = [self.trial(kind, self.least, self.least == 1, STEP) for kind in kinds]
        if any(trial.fits for trial in trials):
            return NO_TIME_LEFT, None
        starts = []
        for job in (trial.job for trial in trials if trial.job is not None):
            pending = (*self.instance.pending, job)
            run = run_as_configured(
                replace(self.instance, pending=pending), budget=self.budget, until=job.id
            )
            starts.append(run.start(job.id))
        known = (start for start in starts if start is not None)
        return next((trial.why for trial in trials), "no host accepts jobs"), min(
            known, default=None
        )


def _length(row: SlotsRow) -> float:
    return math.inf if row.at_most is None else row.at_most


def _last(most: int, fits: Callable[[int], bool]) -> int:
    """Return a number n from 0 to `most` that fits while n + 1 does not; 0 counts as fitting."""
    low, high = 0, 1
    while high <= most and fits(high):
        low, high = high, 2 * high
    high = min(high, most + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def hours(now: int, until: int) -> tuple[int, ...]:
    """Return 25 times, from now to `until` seconds later."""
    return tuple(now + until * part // 24 for part in range(25))


def free_now(instance: Instance, starts: Iterable[PlannedJob]) -> dict[str, int]:
    """Return the free slots by host that takes jobs, once the jobs that start now have started."""
    ((running, planned),) = _in_use_at(instance, starts, (instance.now,))
    used = running + planned
    return {h.name: max(0, h.slots - used[h.name]) for h in instance.cluster.hosts if h.takes_jobs}


def free_when(
    instance: Instance,
    starts: Iterable[PlannedJob],
    times: tuple[int, ...],
    samples: Sequence[Sequence[Counter[str]]] = (),
) -> tuple[FreeSlots, ...]:
    """Return the free slots of each kind if every job runs to its limit and no job is submitted.

    samples: slots in use by sample, time and host.
    """
    slots = {host.name: host.slots for host in instance.cluster.hosts}
    in_use = _in_use_at(instance, starts, times)
    found = []
    for kind in host_kinds(instance):
        running = [sum(map(used.__getitem__, kind.hosts)) for used, _ in in_use]
        left = [[max(0, slots[h] - a[h] - b[h]) for h in kind.hosts] for a, b in in_use]
        whole = [sum(a[h] + b[h] == 0 for h in kind.hosts) for a, b in in_use]
        free = tuple(map(sum, left))
        capacity = sum(map(slots.__getitem__, kind.hosts))
        sampled = [
            [sum(max(0, slots[h] - used[h]) for h in kind.hosts) for used in sample]
            for sample in samples
        ]
        likely = tuple(sorted(column)[len(sampled) // 10] for column in zip(*sampled, strict=True))
        row = FreeSlots(kind.name, capacity, free, tuple(whole), tuple(running), likely)
        found.append(row)
    return tuple(found)


def _in_use_at(
    instance: Instance, starts: Iterable[PlannedJob], times: tuple[int, ...]
) -> list[tuple[Counter[str], Counter[str]]]:
    """Return for each time the slots by host of the running jobs, and those of planned ones."""
    now = [
        (run.allocation, instance.now, expected_finish(instance, run))
        for run in instance.running
        if not run.suspended
    ]
    later = [(item.allocation, item.start, item.finish) for item in starts]
    return [(_in_use(now, time), _in_use(later, time)) for time in times]


def _in_use(
    spans: Iterable[tuple[Mapping[str, int], int | None, int | None]], time: int
) -> Counter[str]:
    """Return the slots by host of allocations at a time."""
    used: Counter[str] = Counter()
    for allocation, start, end in spans:
        if start is not None and start <= time and (end is None or time < end):
            used.update(allocation)
    return used
