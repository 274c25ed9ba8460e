"""How the slots of a simulation were used over time, summed up exactly in whole slot-seconds."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from ..availability.arrays import IntArray
from ..world.job_state import FUTURE
from .records import JobRecord, Simulation


@dataclass(frozen=True, slots=True)
class SlotUse:
    """begin, end: from the first submission to the last end (seconds).

    utilisation: slot-seconds in use over all. idle_while_waiting: share of all slot-seconds that
    were free while a job waited. fragmentation: share of the free ones on hosts with a job.
    """

    begin: int
    end: int
    utilisation: float
    idle_while_waiting: float
    fragmentation: float


def slot_use(result: Simulation) -> SlotUse:
    """Of all jobs that came."""
    begin = min((record.submit for record in result.jobs), default=0)
    begin = max(begin, result.instance.now)
    spans = _Spans(begin)
    hosts = {host.name: number for number, host in enumerate(result.instance.cluster.hosts)}
    end = result.time
    for record in result.jobs:
        end = max(end, record.end or end)
        if record.status != FUTURE:
            spans.add(record, hosts)
    spans.end_at(end)
    capacity = [host.slots for host in result.instance.cluster.hosts]
    waiting = _Union(spans.wait_since, spans.wait_until)
    busy = spans.slot_seconds(spans.since, spans.until)
    free = sum(capacity) * (end - begin) - busy
    busy_then = spans.slot_seconds(waiting.before(spans.since), waiting.before(spans.until))
    idle_then = sum(capacity) * waiting.length - busy_then
    partly = spans.capacity_seconds(capacity) - busy
    whole = max(1, sum(capacity) * max(1, end - begin))
    return SlotUse(begin, end, busy / whole, idle_then / whole, partly / free if free else 0.0)


def slot_seconds(
    result: Simulation, begin: int, end: int, block: int
) -> tuple[list[float], list[float]]:
    """Slot-seconds in use, and all there are, in each stretch of `block` seconds from `begin` on.

    The last stretch ends at `end`.
    """
    count = max(1, -(-(end - begin) // block))
    edges = np.minimum(begin + block * np.arange(count + 1, dtype=np.int64), end)
    spans = _Spans(begin)
    hosts = {host.name: number for number, host in enumerate(result.instance.cluster.hosts)}
    for record in result.jobs:
        if record.status != FUTURE:
            spans.add(record, hosts)
    spans.end_at(end)
    since, until = (np.array(column, dtype=np.int64) for column in (spans.since, spans.until))
    used = [
        float(spans.slot_seconds(np.clip(since, low, high), np.clip(until, low, high)))
        for low, high in pairwise(edges)
    ]
    total = sum(host.slots for host in result.instance.cluster.hosts)
    return used, [float(total * (high - low)) for low, high in pairwise(edges)]


#: The end of a span whose end is still to come.
_OPEN = -1 << 62


def _column() -> array[int]:
    return array("q")


@dataclass(slots=True)
class _Spans:
    """In columns: from when to when jobs waited, and held slots; nothing before `begin` counts.

    last: after the places (host and slots) of each span in `hosts` and `slots`.
    """

    begin: int
    wait_since: array[int] = field(default_factory=_column)
    wait_until: array[int] = field(default_factory=_column)
    since: array[int] = field(default_factory=_column)
    until: array[int] = field(default_factory=_column)
    last: array[int] = field(default_factory=_column)
    hosts: array[int] = field(default_factory=lambda: array("i"))
    slots: array[int] = field(default_factory=_column)

    def add(self, record: JobRecord, hosts: dict[str, int]) -> None:
        """A job that came; hosts: numbers by name."""
        # One that is killed before it starts waits until then.
        waits_until = record.end if record.start is None else record.start
        if waits_until is None or record.submit < waits_until:
            self.wait_since.append(max(self.begin, record.submit))
            self.wait_until.append(self._end(waits_until))
        for since, until, where in record.held:
            self.since.append(max(self.begin, since))
            self.until.append(self._end(until))
            for name, slots in where.items():
                self.hosts.append(hosts[name])
                self.slots.append(slots)
            self.last.append(len(self.hosts))

    def _end(self, until: int | None) -> int:
        return _OPEN if until is None else max(self.begin, until)

    def end_at(self, end: int) -> None:
        """What is still open ends at `end`."""
        for column in (self.wait_until, self.until):
            ends = np.frombuffer(column, dtype=np.int64) if column else np.zeros(0, np.int64)
            ends[ends == _OPEN] = max(self.begin, end)

    def slot_seconds(self, since: array[int] | IntArray, until: array[int] | IntArray) -> int:
        """Slots times seconds, if the spans were from since to until."""
        first = total = 0
        for begin, end, last in zip(since, until, self.last, strict=True):
            total += sum(self.slots[first:last]) * (int(end) - int(begin))
            first = last
        return total

    def capacity_seconds(self, capacity: list[int]) -> int:
        """Slots of hosts times the seconds in which some job held one there."""
        done = [self.begin] * len(capacity)
        total = 0
        for span in np.argsort(np.array(self.since, dtype=np.int64), kind="stable"):
            since, until = self.since[span], self.until[span]
            for host in self.hosts[self.last[span - 1] if span else 0 : self.last[span]]:
                if until > done[host]:
                    total += capacity[host] * (until - max(since, done[host]))
                    done[host] = until
        return total


class _Union:
    """All instants that lie in some span. length: how many seconds."""

    def __init__(self, since: array[int], until: array[int]) -> None:
        begins, ends = (np.array(column, dtype=np.int64) for column in (since, until))
        order = np.argsort(begins, kind="stable")
        begins, ends = begins[order], np.maximum.accumulate(ends[order])
        apart = np.flatnonzero(begins[1:] > ends[:-1]) + 1
        some = min(1, len(begins))
        self._begins = begins[np.concatenate([[0][:some], apart]).astype(np.int64)]
        self._ends = ends[np.concatenate([apart, [len(ends)][:some]]).astype(np.int64) - 1]
        self._sum = np.concatenate([[0], np.cumsum(np.maximum(self._ends - self._begins, 0))])
        self.length = int(self._sum[-1])

    def before(self, times: array[int]) -> IntArray:
        """Seconds in it before each instant."""
        at = np.array(times, dtype=np.int64)
        place = np.searchsorted(self._begins, at, side="right")
        inside = np.zeros(len(at), dtype=np.int64)
        some = place > 0
        last = place[some] - 1
        begun = self._begins[last]
        inside[some] = np.clip(at[some] - begun, 0, np.maximum(self._ends[last] - begun, 0))
        return self._sum[np.maximum(place - 1, 0)] * some + inside
