"""How the slots of a simulation were used over time, summed up exactly in whole slot-seconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from operator import mul

import numpy as np

from ...model.int_table import IntTable
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
    first, end = None, result.time
    for record in result.jobs:
        first = record.submit if first is None else min(first, record.submit)
        end = max(end, record.end or end)
    begin = max(first or 0, result.instance.now)
    spans = _spans(result, begin, end)
    capacity = [host.slots for host in result.instance.cluster.hosts]
    waiting = _Union(spans.waits.column(0), spans.waits.column(1))
    busy = spans.slot_seconds(lambda times: times)
    free = sum(capacity) * (end - begin) - busy
    busy_then = spans.slot_seconds(waiting.before)
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
    spans = _spans(result, begin, end)
    used = [
        float(spans.slot_seconds(partial(np.clip, a_min=low, a_max=high)))
        for low, high in pairwise(edges)
    ]
    total = sum(host.slots for host in result.instance.cluster.hosts)
    return used, [float(total * (high - low)) for low, high in pairwise(edges)]


def _spans(result: Simulation, begin: int, end: int) -> _Spans:
    """Of all jobs that came."""
    spans = _Spans(begin, end)
    hosts = {host.name: number for number, host in enumerate(result.instance.cluster.hosts)}
    for record in result.jobs:
        if record.status != FUTURE:
            spans.add(record, hosts)
    return spans


@dataclass(slots=True)
class _Spans:
    """From when to when jobs waited, and held slots; what is still open ends at `end`.

    Nothing before `begin` counts. waits: since, until. held: since, until, slots, first row in
    `hosts` and how many. hosts: number.
    """

    begin: int
    end: int
    waits: IntTable = field(default_factory=IntTable)
    held: IntTable = field(default_factory=IntTable)
    hosts: IntTable = field(default_factory=IntTable)

    def add(self, record: JobRecord, hosts: dict[str, int]) -> None:
        """A job that came; hosts: numbers by name."""
        # One that is killed before it starts waits until then.
        waits_until = record.end if record.start is None else record.start
        if waits_until is None or record.submit < waits_until:
            self.waits.append(max(self.begin, record.submit), self._until(waits_until))
        for since, until, where in record.held:
            span = max(self.begin, since), self._until(until)
            self.held.append(*span, sum(where.values()), len(self.hosts), len(where))
            for name in where:
                self.hosts.append(hosts[name])

    def _until(self, until: int | None) -> int:
        return max(self.begin, self.end if until is None else until)

    def slot_seconds(self, clock: Callable[[IntArray], IntArray]) -> int:
        """Slots times seconds by a clock that shows `clock(t)` at t."""
        total = 0
        for rows in self.held.blocks():
            since, until, slots, *_ = zip(*rows, strict=True)
            seconds = clock(np.array(until, np.int64)) - clock(np.array(since, np.int64))
            total += sum(map(mul, slots, seconds.tolist()))
        return total

    def capacity_seconds(self, capacity: list[int]) -> int:
        """Slots of hosts times the seconds in which some job held one there."""
        done = [self.begin] * len(capacity)
        total = 0
        for span in np.argsort(self.held.column(0), kind="stable"):
            since, until, _, first, count = (number or 0 for number in self.held[int(span)])
            for place in range(first, first + count):
                host = self.hosts[place][0] or 0
                if until > done[host]:
                    total += capacity[host] * (until - max(since, done[host]))
                    done[host] = until
        return total


class _Union:
    """All instants that lie in some span. length: how many seconds."""

    def __init__(self, begins: IntArray, ends: IntArray) -> None:
        order = np.argsort(begins, kind="stable")
        ends = ends[order]
        begins = begins[order]
        np.maximum.accumulate(ends, out=ends)
        apart = np.flatnonzero(begins[1:] > ends[:-1]) + 1
        some = min(1, len(begins))
        self._begins = begins[np.concatenate([[0][:some], apart]).astype(np.int64)]
        self._ends = ends[np.concatenate([apart, [len(ends)][:some]]).astype(np.int64) - 1]
        self._sum = np.concatenate([[0], np.cumsum(np.maximum(self._ends - self._begins, 0))])
        self.length = int(self._sum[-1])

    def before(self, at: IntArray) -> IntArray:
        """Seconds in it before each instant."""
        place = np.searchsorted(self._begins, at, side="right")
        inside = np.zeros(len(at), dtype=np.int64)
        some = place > 0
        last = place[some] - 1
        begun = self._begins[last]
        inside[some] = np.clip(at[some] - begun, 0, np.maximum(self._ends[last] - begun, 0))
        return self._sum[np.maximum(place - 1, 0)] * some + inside
