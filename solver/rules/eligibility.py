"""Hosts that are closed to a job at an instant: status, load, windows, JOB_ACCEPT_INTERVAL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from ...model.cluster import BUILTIN_AMOUNTS, INCREASING_INDICES, Thresholds
from ...model.configuration import Queue
from ...model.display import WEEK
from ...model.duration import expected_finish
from ...model.instance import Instance
from ...model.job import Job, RunningJob
from ...model.reserved_periods import ALWAYS
from ..availability.demand import Accepted, Windows, host_windows, last_starts, parts_of
from ..availability.guarantees import GuaranteedUse
from ..availability.resources import (
    Allocation,
    BoolArray,
    FloatArray,
    HostResource,
    IntArray,
    ResourceTable,
)
from ..availability.running_profile import FreeNow
from ..resolve import Resolver


class Situation(Protocol):
    """The state of a cluster at an instant; times in seconds, hosts in the order of the instance.

    last_accepted: when each host accepted its last job, [H].
    """

    @property
    def instance(self) -> Instance:
        """Return the instance; its hosts count as up, because this class has their status."""

    @property
    def table(self) -> ResourceTable:
        """Return the resources and limits of the instance."""

    @property
    def names(self) -> Sequence[str]:
        """Return the host names."""

    @property
    def now(self) -> int:
        """Return the current instant in seconds from the origin."""

    @property
    def free_now(self) -> FreeNow:
        """Return the free resources now."""

    @property
    def last_accepted(self) -> IntArray:
        """Return when each host last accepted a job, [H]."""

    def reserved_load(self, name: str) -> FloatArray:
        """Return the part of a load index that running jobs reserve, [H] (RSV-01)."""


class InitialSituation:
    """Situation of an instance at its now, before anything is scheduled.

    Running jobs are examined on demand.
    """

    def __init__(self, instance: Instance, resolver: Resolver) -> None:
        self.instance = instance
        self.table = resolver.table
        self.names = [host.name for host in instance.cluster.hosts]
        self.now = instance.now
        self._resolver = resolver

    @cached_property
    def _running(self) -> list[tuple[RunningJob, Allocation]]:
        """Return the running jobs with their slots by host index."""
        index = self.instance.cluster.host_index()
        return [
            (item, {index[name]: slots for name, slots in item.allocation.items()})
            for item in self.instance.running
        ]

    @cached_property
    def _holding(self) -> list[tuple[RunningJob, Allocation]]:
        """Return the running jobs that do not end now, with their allocations."""
        ends = ((pair, expected_finish(self.instance, pair[0])) for pair in self._running)
        return [pair for pair, end in ends if end is None or end > self.now]

    @cached_property
    def free_now(self) -> FreeNow:
        """Return the free resources now."""
        found = FreeNow(self.table)
        for item, allocation in self._holding:
            blocked = self._resolver.blocked_units(item.job, allocation)
            elapsed = self.now - item.start
            for alternative, part in self._resolver.running_uses(item, allocation):
                found.take(parts_of(self.table, alternative, part, blocked), elapsed)
        return found

    @property
    def pool_uses(self) -> list[GuaranteedUse]:
        """Return the use of each guaranteed pool."""
        pools = () if self.table.guarantees is None else self.table.guarantees.pools
        return [self.table.pool_use(number, self.free_now.pool) for number in range(len(pools))]

    @cached_property
    def last_accepted(self) -> IntArray:
        """Return when each host last accepted a job, [H]."""
        return last_starts(self.instance)

    def reserved_load(self, name: str) -> FloatArray:
        """Return the part of a load index that running jobs reserve, [H] (RSV-01)."""
        return self.reserved_load_at(name, self.now)

    def reserved_load_at(self, name: str, time: int) -> FloatArray:
        """Return the part of a load index that jobs still running at `time` reserve then, [H]."""
        total = np.zeros(len(self.names))
        for item, allocation in self._holding:
            end = expected_finish(self.instance, item)
            if end is None or end > time:
                add_reserved_load(
                    total,
                    self._resolver,
                    name,
                    item.job,
                    item.alternative,
                    time - item.start,
                    list(allocation),
                )
        return total

    def load_falls(self, name: str) -> list[int]:
        """Return the instants after now at which running jobs reserve less of a load index,
        rising.
        """
        found: set[int] = set()
        for item, _ in self._holding:
            for reservation in self._resolver.load_reservations(item.job, item.alternative):
                if reservation.resource == name:
                    end = expected_finish(self.instance, item)
                    drops = (item.start + drop for drop in reservation.drops())
                    found.update(drop for drop in drops if end is None or drop < end)
                    found.update(() if end is None else (end,))
        return sorted(time for time in found if time > self.now)


def add_reserved_load(
    total: FloatArray,
    resolver: Resolver,
    name: str,
    job: Job,
    alternative: int,
    elapsed: int,
    hosts: list[int],
) -> None:
    """Add what one running job reserves of a load index, `elapsed` s after its start."""
    for item in resolver.load_reservations(job, alternative):
        if item.resource == name:
            total[hosts] += item.at(elapsed)


def thresholds_of(instance: Instance) -> Iterator[Thresholds]:
    """Yield the load thresholds of all queues and hosts."""
    yield from (queue.thresholds for queue in instance.queues)
    yield from (host.thresholds for host in instance.cluster.hosts)


class Eligibility:
    """Eligibility of jobs, queues and hosts in one situation, cached until the cycle ends."""

    def __init__(self, situation: Situation, status: Sequence[str]) -> None:
        self.situation = situation
        instance = situation.instance
        hosts = instance.cluster.hosts
        #: Status of each host: "ok", "closed" (takes no job) or "down".
        self.status = list(status)
        self.all_up = all(item == "ok" for item in status)
        #: Reported load of each host, by index.
        self.load: dict[str, FloatArray] = {}
        for name in sorted({name for host in hosts for name in host.load}):
            self.load[name] = np.array([host.load.get(name, np.nan) for host in hosts])
        self._queues = {queue.name: queue for queue in instance.queues}
        self._any_intervals = instance.has_accept_interval
        self._host_windows = host_windows(instance)
        self._queue_windows = {
            queue.name: [
                Windows(text, instance.origin)
                for text in (queue.dispatch_window, queue.run_window)
                if text
            ]
            for queue in instance.queues
        }
        #: Whether a window opens or closes anything.
        self.any_windows = bool(self._host_windows) or any(self._queue_windows.values())
        limits = list(thresholds_of(instance))
        self._any_thresholds = any(item.sched or item.stop for item in limits)
        #: Whether some loadStop may suspend a running job.
        self.watches_load = any(item.stop for item in limits)
        self._masks: dict[tuple[str, frozenset[str] | None, bool, bool], BoolArray | None] = {}
        self._inside: dict[frozenset[str], BoolArray] = {}

    def begin_cycle(self) -> None:
        """Clear the results cached for the last cycle."""
        self._masks.clear()

    @property
    def moved_by_time(self) -> bool:
        """Return whether time alone, or load, may open or close hosts and queues."""
        return self._any_thresholds or self.watches_load or self.any_windows or self._any_intervals

    def accepted(self) -> None:
        """Record that a host accepted a job, which may close the host (TBR-16)."""
        if self._any_thresholds or self._any_intervals:
            self._masks.clear()

    def closed(
        self,
        queue: str,
        hosts: frozenset[str] | None,
        *,
        windows: bool = True,
        intervals: bool = True,
    ) -> BoolArray | None:
        """Return the hosts that accept no job of a queue now, [H]; None if all do. hosts: the only
        ones used.

        windows: False ignores host windows, as an estimate does (TBR-19). intervals: False ignores
        JOB_ACCEPT_INTERVAL, for a plan that knows when it ends.
        """
        key = (queue, hosts, windows or not self._host_windows, intervals)
        if key not in self._masks:
            mask = self._closed(self._queues[queue], windows=windows, intervals=intervals)
            if hosts is not None:
                mask = mask | ~self.membership(hosts)
            self._masks[key] = mask if mask.any() else None
        return self._masks[key]

    def _closed(self, queue: Queue, *, windows: bool, intervals: bool) -> BoolArray:
        situation = self.situation
        mask = np.zeros(len(self.status), dtype=bool)
        if not self.all_up:
            mask |= [status != "ok" for status in self.status]
        for own, opening in self._host_windows if windows else ():
            if not opening.is_open(situation.now):
                mask |= own
        interval = situation.instance.accept_interval(queue) if intervals else 0
        if interval:
            mask |= situation.now < situation.last_accepted + interval
        if self._any_thresholds:
            mask |= self.beyond(queue.thresholds)
        return mask

    def acceptances(self) -> Accepted | None:
        """Return the recent starts by host for a profile; None without JOB_ACCEPT_INTERVAL."""
        return Accepted(self.situation.last_accepted.copy()) if self._any_intervals else None

    def membership(self, hosts: frozenset[str]) -> BoolArray:
        """Return whether each host is in a set of hosts, [H]."""
        if hosts not in self._inside:
            self._inside[hosts] = np.array([name in hosts for name in self.situation.names])
        return self._inside[hosts]

    def beyond(self, thresholds: Thresholds) -> BoolArray:
        """Return the hosts beyond loadSched of the queue or their own, which accept no job."""
        hosts = self.situation.instance.cluster.hosts
        found = np.zeros(len(hosts), dtype=bool)
        names = set(thresholds.sched) | {n for host in hosts for n in host.thresholds.sched}
        for name in sorted(names):
            found |= self.beyond_one(thresholds, name)
        return found

    def beyond_one(
        self, thresholds: Thresholds, name: str, reserved: FloatArray | None = None
    ) -> BoolArray:
        """Return the hosts beyond loadSched of one index, [H].

        reserved: amount of it that running jobs reserve, [H]; None for the current amount.
        """
        hosts = self.situation.instance.cluster.hosts
        available = self.available(name, reserved)
        own = np.array([host.thresholds.sched.get(name, np.nan) for host in hosts])
        of_queue = np.full(len(hosts), thresholds.sched.get(name, np.nan))
        return _past(name, available, of_queue) | _past(name, available, own)

    def beyond_stop(self, queue: str, host: int) -> str:
        """Return the index by which a host is beyond loadStop for a queue's jobs, "" if by none."""
        own = self.situation.instance.cluster.hosts[host].thresholds
        for limits in (self._queues[queue].thresholds, own):
            for name, limit in sorted(limits.stop.items()):
                reported = self.reported(name)[host]
                if _past(name, np.array([reported]), np.array([limit])).any():
                    return name
        return ""

    def set_status(self, host: int, status: str) -> None:
        """Set the new status of a host."""
        self.status[host] = status
        self.all_up = all(item == "ok" for item in self.status)

    def report(self, host: str, values: Mapping[str, float]) -> None:
        """Set load indices of a host, or its amounts without jobs."""
        place = self.situation.names.index(host)
        amounts = {r.name: index for index, r in enumerate(self.situation.table.host_resources)}
        for name, value in values.items():
            if name in BUILTIN_AMOUNTS and name in amounts:
                self.situation.free_now.report(amounts[name], place, value)
                if name not in self.load:
                    continue
            if name not in self.load:
                self.load[name] = np.full(len(self.situation.names), np.nan)
            self.load[name][place] = value

    def reported(self, name: str) -> FloatArray:
        """Return the values that hosts report for an index or amount, [H]."""
        if name in self.load:
            return self.load[name]
        for index, resource in enumerate(self.situation.table.host_resources):
            if resource.name == name and name in BUILTIN_AMOUNTS:
                return _known(resource, self.situation.free_now.reported(index))
        return np.full(len(self.situation.names), 0.0 if name in INCREASING_INDICES else np.nan)

    def available(self, name: str, reserved: FloatArray | None = None) -> FloatArray:
        """Return the reported value less reservations of running jobs; plus for a load (RSV-01).

        reserved: of a load index, [H]; None for what they reserve now.
        """
        for index, resource in enumerate(self.situation.table.host_resources):
            if resource.name == name and name in BUILTIN_AMOUNTS:
                return _known(resource, self.situation.free_now.host(index))
        reported = self.reported(name)
        if reserved is None:
            reserved = self.situation.reserved_load(name)
        return reported + reserved if name in INCREASING_INDICES else reported - reserved

    def values(self, *, as_reported: bool = False) -> dict[str, FloatArray]:
        """Return columns for selections and orders at this instant: amounts, slots, load.

        as_reported: amounts as hosts report them, available without any job.
        """
        free_now = self.situation.free_now
        amount_of = free_now.reported if as_reported else free_now.host
        found = {name: self.available(name) for name in self.load}
        for index, resource in enumerate(self.situation.table.host_resources):
            if resource.name in (*BUILTIN_AMOUNTS, "slots"):
                found[resource.name] = _known(resource, amount_of(index))
        return found

    def why_load(self, queue: str) -> str:
        """Return the pending reason for hosts beyond loadSched (RSV-12)."""
        if not self._any_thresholds:
            return ""
        own = self._queues[queue]
        count = int(self.beyond(own.thresholds).sum())
        if not count:
            return ""
        hosts = f"{count} host{'s' * (count > 1)}"
        if own.res_req and not own.thresholds.sched:
            return f"load of {hosts}"
        names = set(own.thresholds.sched) | {
            name for host in self.situation.instance.cluster.hosts for name in host.thresholds.sched
        }
        return f"{', '.join(sorted(names))} beyond loadSched on {hosts}"

    def queue_open(self, job: Job, duration: int | None) -> str:
        """Return why the windows of its queue prevent a start of a job now, "" if they do not.

        A job with a known duration starts only if its run window stays open long enough, except in
        a queue with IGNORE_DEADLINE.
        """
        if not self.any_windows:
            return ""
        queue = self._queues[job.queue]
        now = self.situation.now
        origin = self.situation.instance.origin
        if queue.dispatch_window and not Windows(queue.dispatch_window, origin).is_open(now):
            return f"the dispatch window of queue {queue.name} is closed"
        if queue.run_window:
            windows = Windows(queue.run_window, origin)
            if not windows.is_open(now):
                return f"the run window of queue {queue.name} is closed"
            until = windows.open_until(now)
            beyond = until is not None and duration is not None and now + duration > until
            if beyond and not queue.ignore_deadline:
                return f"it would run beyond the run window of queue {queue.name}"
        return ""

    def run_window_open(self, queue: str, now: int) -> bool:
        """Return whether the run window of a queue is open now."""
        text = self._queues[queue].run_window
        return not text or Windows(text, self.situation.instance.origin).is_open(now)

    def run_window_end(self, queue: str) -> int | None:
        """Return when the open run window of a queue closes to jobs that cannot end before.

        None if it never closes, or if it is closed now.
        """
        if self._queues[queue].ignore_deadline:
            return None
        text, now = self._queues[queue].run_window, self.situation.now
        if not text or not self.run_window_open(queue, now):
            return None
        return Windows(text, self.situation.instance.origin).open_until(now)

    def next_change(self, now: int) -> int | None:
        """Return the next instant at which a window or an advance reservation opens or closes."""
        found: list[int] = []
        everything = [windows for _, windows in self._host_windows]
        for of_queue in self._queue_windows.values():
            everything += of_queue
        for windows in everything:
            if windows.is_open(now):
                until = windows.open_until(now)
                found += [] if until is None else [until]
            else:
                found += windows.openings(now)[:1]
        for item in self.situation.instance.advance_reservations:
            found += [at for at in (item.start, item.end) if now < at < ALWAYS]
        return min(found, default=None)

    def next_accept(self, now: int) -> int | None:
        """Return the next instant at which JOB_ACCEPT_INTERVAL allows a host to accept a job
        again.
        """
        found: list[int] = []
        interval_of = self.situation.instance.accept_interval
        for interval in set(map(interval_of, self._queues.values())) - {0}:
            ends = self.situation.last_accepted + interval
            ends = ends[ends > now]
            if ends.size:
                found.append(int(ends.min()))
        return min(found, default=None)

    @property
    def stall(self) -> int:
        """Return seconds after which windows and advance reservations only repeat."""
        every = self.situation.instance.advance_reservations
        ends = [item.start if item.end == ALWAYS else item.end for item in every]
        ahead = max(ends, default=0) - self.situation.instance.now
        return max(WEEK if self.any_windows else 0, ahead)

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Take over what :meth:`to_state` gave."""
        self.status = list(state["status"])
        self.all_up = all(item == "ok" for item in self.status)
        self.load = {name: np.array(column, dtype=float) for name, column in state["load"].items()}

    def to_state(self) -> Mapping[str, object]:
        """Return plain data for a checkpoint."""
        return {
            "status": self.status,
            "load": {name: column.tolist() for name, column in self.load.items()},
        }


def _known(resource: HostResource, amounts: FloatArray) -> FloatArray:
    """Return the amounts on hosts that have the resource, nan on other hosts."""
    return np.where(resource.capacity < 0, np.nan, amounts)


def _past(name: str, value: FloatArray, limit: FloatArray) -> BoolArray:
    """Return whether each value is beyond its threshold; unknown values are not."""
    with np.errstate(invalid="ignore"):
        past: BoolArray = value > limit if name in INCREASING_INDICES else value < limit
    return past


def may_preempt(queue: Queue, other: Queue) -> bool:
    """Return whether jobs of `queue` may suspend jobs of `other`, by the setting of either.

    Only lower queues are preempted, and none with BACKFILL.
    """
    if other.priority >= queue.priority or other.backfill:
        return False
    return _names(queue.preemptive, other) or _names(other.preemptable, queue)


def preempting_pairs(instance: Instance) -> list[tuple[str, str]]:
    """Return all pairs of a queue and another one that it may preempt."""
    if not any(q.preemptive is not None or q.preemptable is not None for q in instance.queues):
        return []
    return [
        (queue.name, other.name)
        for queue in instance.queues
        for other in instance.queues
        if may_preempt(queue, other)
    ]


def preempting_now(instance: Instance) -> list[tuple[str, str]]:
    """Return the pairs with a waiting job and a job to suspend.

    If a job is suspended already, all pairs are returned.
    """
    pairs = preempting_pairs(instance)
    if not pairs or any(run.suspended for run in instance.running):
        return pairs
    waiting = {job.queue for job in instance.pending}
    there = waiting | {run.job.queue for run in instance.running}
    return [(queue, other) for queue, other in pairs if queue in waiting and other in there]


def _names(listed: tuple[str, ...] | None, queue: Queue) -> bool:
    return listed is not None and ("*" in listed or queue.name in listed)
