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
    return SlotSpans.of(result).use()


def slot_seconds(
    result: Simulation, begin: int, end: int, block: int
) -> tuple[list[float], list[float]]:
    """Slot-seconds in use, and all there are, in each stretch of `block` seconds from `begin` on.

    The last stretch ends at `end`.
    """
    count = max(1, -(-(end - begin) // block))
    edges = np.minimum(begin + block * np.arange(count + 1, dtype=np.int64), end)
    spans = SlotSpans.of(result)
    used = [
        float(spans.slot_seconds(begin, end, partial(np.clip, a_min=low, a_max=high)))
        for low, high in pairwise(edges)
    ]
    total = sum(host.slots for host in result.instance.cluster.hosts)
    return used, [float(total * (high - low)) for low, high in pairwise(edges)]


@dataclass(slots=True)
class SlotSpans:
    """From when to when jobs waited, and held slots, job by job; None: to the end.

    capacity: slots by host. end: so far. first: submission. waits: since, until. held: since,
    until, slots, first row in `hosts` and how many. hosts: number.
    """

    capacity: dict[str, int]
    now: int
    end: int
    first: int | None = None
    waits: IntTable = field(default_factory=IntTable)
    held: IntTable = field(default_factory=IntTable)
    hosts: IntTable = field(default_factory=IntTable)
    _number: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self._number = {name: number for number, name in enumerate(self.capacity)}

    @classmethod
    def before(cls, result: Simulation) -> SlotSpans:
        """Of no job of the simulation yet."""
        hosts = result.instance.cluster.hosts
        return cls({host.name: host.slots for host in hosts}, result.instance.now, result.time)

    @classmethod
    def of(cls, result: Simulation) -> SlotSpans:
        """Of all its jobs."""
        spans = cls.before(result)
        for record in result.jobs:
            spans.add(record)
        return spans

    def add(self, record: JobRecord) -> None:
        """Another job."""
        self.first = record.submit if self.first is None else min(self.first, record.submit)
        self.end = max(self.end, record.end or self.end)
        if record.status == FUTURE:
            return
        # One that is killed before it starts waits until then.
        waits_until = record.end if record.start is None else record.start
        if waits_until is None or record.submit < waits_until:
            self.waits.append(record.submit, waits_until)
        for since, until, where in record.held:
            self.held.append(since, until, sum(where.values()), len(self.hosts), len(where))
            for name in where:
                self.hosts.append(self._number[name])

    def use(self) -> SlotUse:
        """How the slots were used from the first submission on, but not before the instance."""
        begin, end = max(self.first or 0, self.now), self.end
        since, until = self.waits.column(0), self.waits.column(1, end)
        waiting = _Union(np.maximum(since, begin), np.maximum(until, begin))
        slots = sum(self.capacity.values())
        busy = self.slot_seconds(begin, end, lambda times: times)
        free = slots * (end - begin) - busy
        idle_then = slots * waiting.length - self.slot_seconds(begin, end, waiting.before)
        partly = self._capacity_seconds(begin, end) - busy
        whole = max(1, slots * max(1, end - begin))
        return SlotUse(begin, end, busy / whole, idle_then / whole, partly / free if free else 0.0)

    def slot_seconds(self, begin: int, end: int, clock: Callable[[IntArray], IntArray]) -> int:
        """Slots times seconds by a clock that shows `clock(t)` at t; nothing before `begin` counts.

        What is still open ends at `end`.
        """
        total = 0
        for rows in self.held.blocks():
            since, until, slots, *_ = zip(*rows, strict=True)
            ends = np.array([end if time is None else time for time in until], np.int64)
            begins = np.maximum(np.array(since, np.int64), begin)
            seconds = clock(np.maximum(ends, begin)) - clock(begins)
            total += sum(map(mul, slots, seconds.tolist()))
        return total

    def _capacity_seconds(self, begin: int, end: int) -> int:
        """Slots of hosts times the seconds in which some job held one there."""
        capacity = list(self.capacity.values())
        done = [begin] * len(capacity)
        total = 0
        order = np.argsort(np.maximum(self.held.column(0), begin), kind="stable")
        for span in order.tolist():
            since, until, _, first, count = self.held[span]
            assert since is not None
            assert first is not None
            assert count is not None
            last = end if until is None else until
            for place in range(first, first + count):
                host = self.hosts[place][0] or 0
                if last > done[host]:
                    total += capacity[host] * (last - max(since, done[host]))
                    done[host] = last
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
