"""A small cycle-by-cycle cluster: enough to watch an order at work, nothing more.

First fit over hosts in the cluster's order, no reservation, no limit but slots. Jobs end at
``start + run_time``; a slot is seen free by the first cycle at or after the end.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from slotwise import Cluster, Host, Instance, Job, Params, Queue
from slotwise.model.shares import queue_hosts
from slotwise.solver.fairshare.dispatch_order import DispatchOrder, order_policy


def cluster(*slots: int, prefix: str = "h") -> Cluster:
    """Hosts h1, h2, … with these slots."""
    return Cluster(tuple(Host(f"{prefix}{i}", n) for i, n in enumerate(slots, 1)))


#: Only slots count: priority is shares / (1 + slots).
SLOTS_ONLY = Params(cpu_time_factor=0, run_time_factor=0, run_job_factor=1)


def instance(*queues: Queue, slots: int = 1000, **fields: Any) -> Instance:
    """These queues on one host, h1, with SLOTS_ONLY where no params are given."""
    fields.setdefault("params", SLOTS_ONLY)
    return replace(Instance(cluster(slots), queues), **fields)


def jobs(text: str, queue: str = "default", submit: int = 0) -> tuple[Job, ...]:
    """One job a word: its user, in order of submission; ids count from 1."""
    return tuple(
        Job(str(number), user=user, queue=queue, submit=submit)
        for number, user in enumerate(text.split(), 1)
    )


def offered(order: DispatchOrder, pending: Iterable[Job], now: int = 0) -> list[Job]:
    """The jobs of a cycle in which every job that may start takes slots on host h1 at once."""
    found = []
    order.begin(now, list(pending))
    while (offer := order.next()) is not None:
        if offer.ineligibility:
            order.skipped(offer.job)
        else:
            found.append(offer.job)
            host = min(offer.hosts) if offer.hosts else order.instance.cluster.hosts[0].name
            order.started(offer.job, {host: offer.job.slots}, now)
    return found


@dataclass
class Lab:
    """Runs an instance; `starts` is (time, job) in order of dispatch.

    run_time: seconds a job runs, its own run_time where not given. ended: told of each end.
    """

    instance: Instance
    order: DispatchOrder = field(init=False)
    run_time: Callable[[Job], int] | None = None
    starts: list[tuple[int, Job]] = field(default_factory=list)
    slot_seconds: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.order = order_policy(self.instance)
        self.free = {host.name: host.slots for host in self.instance.cluster.hosts}
        self.hosts_of = {
            queue.name: queue_hosts(self.instance.cluster, queue) for queue in self.instance.queues
        }
        self.pending: dict[str, Job] = {job.id: job for job in self.instance.pending}
        self.running: dict[str, tuple[Job, dict[str, int]]] = {}
        self.ends: list[tuple[int, int, str]] = []

    def submit(self, *more: Job) -> None:
        """Add jobs to the queue."""
        self.pending.update((job.id, job) for job in more)

    def cycle(self, now: int) -> None:
        """Jobs whose time is up end; then one pass over the queue."""
        while self.ends and self.ends[0][0] <= now:
            end, _, name = heapq.heappop(self.ends)
            _, allocation = self.running.pop(name)
            for host, slots in allocation.items():
                self.free[host] += slots
            self.order.ended(name, end)
        waiting = [job for job in self.pending.values() if job.submit <= now]
        self.order.begin(now, waiting)
        while (offer := self.order.next()) is not None:
            capacity = 0 if offer.ineligibility else offer.job.slots
            allocation = self.fit(offer.job, offer.hosts, capacity)
            if allocation is None:
                self.order.skipped(offer.job)
            else:
                self._start(offer.job, allocation, now)

    def fit(self, job: Job, mask: frozenset[str] | None, slots: int) -> dict[str, int] | None:
        """First fit, None where the slots are not free."""
        found: dict[str, int] = {}
        left = slots
        for host in self.hosts_of[job.queue]:
            take = min(left, self.free[host]) if mask is None or host in mask else 0
            if take:
                found[host] = take
                left -= take
        return None if left or not slots else found

    def _start(self, job: Job, allocation: dict[str, int], now: int) -> None:
        for host, slots in allocation.items():
            self.free[host] -= slots
        del self.pending[job.id]
        self.order.started(job, allocation, now)
        self.running[job.id] = (job, allocation)
        duration = self.run_time(job) if self.run_time else job.run_time
        assert duration is not None, "a lab job says how long it runs"
        heapq.heappush(self.ends, (now + duration, len(self.starts), job.id))
        self.starts.append((now, job))

    def in_use(self) -> dict[str, int]:
        """Slots in use by queue."""
        found = dict.fromkeys(self.hosts_of, 0)
        for job, allocation in self.running.values():
            found[job.queue] += sum(allocation.values())
        return found
