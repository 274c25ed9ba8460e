"""What the rule book has to know of one moment: what runs, what is free, what hosts report."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

import numpy as np

from ...model.duration import expected_finish
from ...model.instance import Instance
from ...model.job import Job, RunningJob
from ..availability.accepted import last_starts
from ..availability.arrays import Allocation, FloatArray, IntArray
from ..availability.free_now import FreeNow
from ..availability.resources import ResourceTable
from ..resolve import Resolver


class Situation(Protocol):
    """One moment of a cluster; times in seconds, hosts in the order of the instance.

    last_accepted: when each host took its last job, [H].
    """

    @property
    def instance(self) -> Instance:
        """The instance; its hosts are taken to be up, their status is the rule book's."""

    @property
    def table(self) -> ResourceTable:
        """The resources and limits of the instance."""

    @property
    def names(self) -> Sequence[str]:
        """Host names."""

    @property
    def now(self) -> int:
        """The moment."""

    @property
    def free_now(self) -> FreeNow:
        """What is free at the moment."""

    @property
    def last_accepted(self) -> IntArray:
        """When each host took its last job, [H]."""

    def reserved_load(self, name: str) -> FloatArray:
        """What running jobs reserve of a load index, [H] (RSV-01)."""


class StandingCluster:
    """The situation of an instance at its now, before anything is scheduled.

    What runs is looked at when somebody asks for it.
    """

    def __init__(self, instance: Instance, resolver: Resolver) -> None:
        self.instance = instance
        self.table = resolver.table
        self.names = [host.name for host in instance.cluster.hosts]
        self.now = instance.now
        self._resolver = resolver

    @cached_property
    def _running(self) -> list[tuple[RunningJob, Allocation]]:
        """Running jobs and their slots by host index."""
        index = self.instance.cluster.host_index()
        return [
            (item, {index[name]: slots for name, slots in item.allocation.items()})
            for item in self.instance.running
        ]

    @cached_property
    def _holding(self) -> list[tuple[RunningJob, Allocation]]:
        """Those of them that do not end at this moment."""
        ends = ((pair, expected_finish(self.instance, pair[0])) for pair in self._running)
        return [pair for pair, end in ends if end is None or end > self.now]

    @cached_property
    def free_now(self) -> FreeNow:
        """What is free at the moment."""
        found = FreeNow(self.table)
        for item, allocation in self._holding:
            blocked = self._resolver.blocked_units(item.job, allocation)
            elapsed = self.now - item.start
            for alternative, part in self._resolver.running_uses(item, allocation):
                found.take(alternative, part, elapsed=elapsed, whole_hosts=blocked)
        return found

    @cached_property
    def last_accepted(self) -> IntArray:
        """When each host took its last job, [H]."""
        return last_starts(self.instance)

    def reserved_load(self, name: str) -> FloatArray:
        """What running jobs reserve of a load index, [H] (RSV-01)."""
        return self.reserved_load_at(name, self.now)

    def reserved_load_at(self, name: str, time: int) -> FloatArray:
        """What those of the running jobs that have not ended by `time` reserve then, [H]."""
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
        """The instants after now at which running jobs reserve less of a load index, in order."""
        found: set[int] = set()
        for item, _ in self._holding:
            held = self._resolver.load_reservations(item.job, item.alternative)
            for reservation in held:
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
