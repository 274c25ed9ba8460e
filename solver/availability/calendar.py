"""When a job may start at all: dispatch windows, run windows, advance reservations (TBR-19)."""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ...model.configuration import Queue
from ...model.display import WEEK
from ...model.instance import Instance
from ...model.reserved_periods import ReservedPeriods
from ...model.windows import open_periods
from .resources import BoolArray, IntArray

#: Windows repeat every week (seconds).


@dataclass(frozen=True, slots=True)
class Windows:
    """One DISPATCH_WINDOW or RUN_WINDOW text against the instance's origin."""

    text: str
    origin: str | None

    def is_open(self, time: int) -> bool:
        """Whether `time` (seconds) lies inside a window."""
        return bool(open_periods(self.text, self.origin, time, time + 1))

    def openings(self, time: int) -> list[int]:
        """The first instant of each open period from `time` on, over a week."""
        return [first for first, _ in open_periods(self.text, self.origin, time, time + WEEK)]

    def closings(self, time: int) -> list[int]:
        """The end of each open period from `time` on, over a week."""
        return [last for _, last in open_periods(self.text, self.origin, time, time + WEEK)]

    def open_until(self, time: int) -> int | None:
        """When the window that is open at `time` closes; None if it never does."""
        first, last = open_periods(self.text, self.origin, time, time + WEEK)[0]
        return None if (first, last) == (time, time + WEEK) else last


@dataclass(frozen=True, slots=True)
class Calendar:
    """Windows that bind one job."""

    #: It starts inside them.
    dispatch: Windows | None = None
    #: It runs wholly inside one of them.
    run: Windows | None = None
    #: (hosts [H], windows) pairs; those hosts take a job only inside the windows.
    hosts: tuple[tuple[BoolArray, Windows], ...] = ()
    #: (hosts [H], second) pairs; those hosts take no job before it.
    closed_until: tuple[tuple[BoolArray, int], ...] = ()
    #: Those of its advance reservation: it starts inside them (ARV-01).
    reserved: ReservedPeriods | None = None

    @classmethod
    def of(cls, instance: Instance, queue: Queue) -> Calendar | None:
        """The calendar of the jobs of a queue, or None where nothing is ever closed."""
        texts = sorted({host.windows for host in instance.cluster.hosts} - {""})
        hosts = tuple(
            (
                np.array([host.windows == text for host in instance.cluster.hosts]),
                _windows(text, instance),
            )
            for text in texts
        )
        dispatch = _windows(queue.dispatch_window, instance) if queue.dispatch_window else None
        run = _windows(queue.run_window, instance) if queue.run_window else None
        return cls(dispatch, run, hosts) if dispatch or run or hosts else None

    def allows(self, start: int, duration: int | None) -> bool:
        """Whether a job may start at `start` (seconds) and run for `duration` (None: no end)."""
        if self.dispatch is not None and not self.dispatch.is_open(start):
            return False
        if self.reserved is not None and not self.reserved.is_active(start):
            return False
        if self.run is None:
            return True
        if not self.run.is_open(start):
            return False
        until = self.run.open_until(start)
        return until is None or (duration is not None and start + duration <= until)

    def closed_hosts(self, start: int) -> BoolArray | None:
        """Hosts that take no job at `start`, [H]; None where all are open."""
        closed = [mask for mask, windows in self.hosts if not windows.is_open(start)]
        closed += [mask for mask, until in self.closed_until if start < until]
        return np.logical_or.reduce(closed) if closed else None

    def openings(self, time: int) -> set[int]:
        """The instants from `time` on at which one of the windows opens, over a week.

        All windows repeat every week, so what never opens together in it never does.
        """
        all_windows = [w for w in (self.dispatch, self.run) if w is not None]
        all_windows += [windows for _, windows in self.hosts]
        since = [time] if self.reserved is None else self.reserved.starts_after(time)
        found = {at for windows in all_windows for begin in since for at in windows.openings(begin)}
        found.update(() if self.reserved is None else since)
        return found | {until for _, until in self.closed_until if until >= time}

    def ends_run(self, start: int) -> int | None:
        """When the end of its advance reservation kills a job that starts then, None if never."""
        return None if self.reserved is None else self.reserved.ends_run(start)

    def closings(self, time: int, duration: int | None) -> set[int]:
        """From when on a window that opens by a week from `time` is shut to a start of the job.

        duration: seconds that the job runs, which have to end before a run window does.
        """
        plain = [windows for _, windows in self.hosts]
        found = {end for windows in plain for end in windows.closings(time)}
        if self.dispatch is not None:
            found |= set(self.dispatch.closings(time))
        if self.reserved is not None:
            found |= set(self.reserved.ends_after(time))
        if self.run is not None and duration is not None:
            found |= {max(time, end - duration + 1) for end in self.run.closings(time)}
        return found


def _windows(text: str, instance: Instance) -> Windows:
    return Windows(text, instance.origin)


# Which hosts take no job because they have just taken one, or soon take one (TBR-16).
#
# Under JOB_ACCEPT_INTERVAL a host that has accepted a job takes no other for so long; the queue of
# the other says how long. So a start keeps later jobs off its hosts, and it needs hosts that took
# nothing shortly before.


#: The last acceptance of a host that has not accepted a job yet.
NEVER_ACCEPTED = -(1 << 60)


def accept_interval(instance: Instance, queue: Queue) -> int | None:
    """JOB_ACCEPT_INTERVAL of a queue in seconds; None where no queue of the instance has one."""
    if not any(_cycles(instance, other) for other in instance.queues):
        return None
    return _cycles(instance, queue) * instance.params.mbd_sleep_time


def _cycles(instance: Instance, queue: Queue) -> int:
    own = queue.job_accept_interval
    return instance.params.job_accept_interval if own is None else own


def last_starts(instance: Instance) -> IntArray:
    """When the last of its running jobs started on each host, [H]."""
    index = instance.cluster.host_index()
    found = np.full(len(index), NEVER_ACCEPTED, dtype=np.int64)
    for running in instance.running:
        hosts = [index[name] for name in running.allocation]
        found[hosts] = np.maximum(found[hosts], running.start)
    return found


def accepted_of(instance: Instance) -> Accepted | None:
    """What hosts took of what runs; None where no queue has JOB_ACCEPT_INTERVAL."""
    heeded = any(_cycles(instance, queue) for queue in instance.queues)
    return Accepted(last_starts(instance)) if heeded else None


class Accepted:
    """When each host took its last job, and which jobs it is planned to take.

    Of two jobs that start on a host in the same second the one that is entered first is accepted
    first. Times are seconds.
    """

    __slots__ = ("_hosts", "_intervals", "_last", "_longest", "_starts")

    def __init__(self, last: IntArray) -> None:
        """last: when each host took its last job, [H]."""
        self._last = last
        self._starts: list[int] = []
        self._intervals: list[int] = []
        self._hosts: list[IntArray] = []
        self._longest = 0

    def copy(self) -> Accepted:
        """An independent copy."""
        twin = Accepted(self._last)
        twin._starts, twin._intervals = list(self._starts), list(self._intervals)
        twin._hosts, twin._longest = list(self._hosts), self._longest
        return twin

    def add(self, start: int, interval: int, hosts: Iterable[int]) -> None:
        """A job of a queue with this interval is planned to start there."""
        at = bisect.bisect_right(self._starts, start)
        self._starts.insert(at, start)
        self._intervals.insert(at, interval)
        self._hosts.insert(at, np.fromiter(hosts, dtype=np.int64))
        self._longest = max(self._longest, interval)

    def closed(self, interval: int, time: int) -> BoolArray | None:
        """Hosts that a job of a queue with this interval may not start on then, [H].

        Either they took a job less than its interval before, or it would keep one that is planned
        from starting after it. None where there is no such host.
        """
        mask = time < self._last + interval if interval else np.zeros(len(self._last), dtype=bool)
        low = bisect.bisect_right(self._starts, time - interval)
        at = bisect.bisect_right(self._starts, time)
        high = bisect.bisect_left(self._starts, time + self._longest, lo=at)
        for hosts in self._hosts[low:at] if interval else ():
            mask[hosts] = True
        for number in range(at, high):
            if self._starts[number] < time + self._intervals[number]:
                mask[self._hosts[number]] = True
        return mask if mask.any() else None

    def openings(self, interval: int) -> set[int]:
        """The instants at which some host may take a job of such a queue again."""
        ends = np.unique(self._last + interval).tolist() if interval else []
        return {*ends, *(start + interval for start in self._starts)}

    def closings(self) -> set[int]:
        """The instants from which on a start would come too close to one that is planned."""
        pairs = zip(self._starts, self._intervals, strict=True)
        return {*self._starts, *(start - interval + 1 for start, interval in pairs)}
