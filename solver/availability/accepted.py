"""Which hosts take no job because they have just taken one, or soon take one (TBR-16).

Under JOB_ACCEPT_INTERVAL a host that has accepted a job takes no other for so long; the queue of
the other says how long. So a start keeps later jobs off its hosts, and it needs hosts that took
nothing shortly before.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable

import numpy as np

from ...model.instance import Instance
from ...model.queue import Queue
from .arrays import BoolArray, IntArray

#: The last acceptance of a host that has not accepted a job yet.
NEVER = -(1 << 60)


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
    found = np.full(len(index), NEVER, dtype=np.int64)
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
