"""What the rule book has to know of one moment: what runs, what is free, what hosts report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ...model.instance import Instance
from ...model.job import Job
from ..availability.arrays import FloatArray, IntArray
from ..availability.free_now import FreeNow
from ..availability.resources import ResourceTable
from ..resolve import Resolver

#: The last acceptance of a host that has not accepted a job yet.
NEVER = -(1 << 60)


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
    """The situation of an instance at its now, before anything is scheduled."""

    def __init__(self, instance: Instance, resolver: Resolver) -> None:
        self.instance = instance
        self.table = resolver.table
        self.names = [host.name for host in instance.cluster.hosts]
        self.now = instance.now
        self.free_now = FreeNow(self.table)
        self.last_accepted = np.full(len(self.names), NEVER, dtype=np.int64)
        self._resolver = resolver
        self._running: list[tuple[Job, int, int, list[int]]] = []
        index = instance.cluster.host_index()
        for item in instance.running:
            allocation = {index[name]: slots for name, slots in item.allocation.items()}
            hosts = list(allocation)
            blocked = resolver.blocked_units(item.job, allocation)
            for alternative, part in resolver.running_uses(item, allocation):
                self.free_now.take(
                    alternative, part, elapsed=self.now - item.start, whole_hosts=blocked
                )
            self.last_accepted[hosts] = np.maximum(self.last_accepted[hosts], item.start)
            self._running.append((item.job, item.alternative, item.start, hosts))

    def reserved_load(self, name: str) -> FloatArray:
        """What running jobs reserve of a load index, [H] (RSV-01)."""
        total = np.zeros(len(self.names))
        for job, alternative, start, hosts in self._running:
            add_reserved_load(
                total, self._resolver, name, job, alternative, self.now - start, hosts
            )
        return total


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
