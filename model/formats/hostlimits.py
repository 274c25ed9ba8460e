"""Limits that count on one host (``8:00/hostA``) as wall-clock time, where that is one number.

A limit of n minutes on hostA is n * factor(hostA) / factor(host) minutes on the host that runs the
job. A plan knows how long a job lasts before it knows where, so the hosts that a job may use must
have one factor; a running job counts by its first execution host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from ..cluster import Cluster
from ..errors import nearest
from ..instance import Instance
from ..job import OTHERS, Application, HostRequest, Job, RunningJob
from ..params import Params
from ..queue import Queue
from .finding import Finding, Location
from .units import LimitOnHost, format_duration

Limited = TypeVar("Limited", Job, Queue, Application, Params)

_LSF_NAMES = {
    "run_limit": "RUNLIMIT",
    "run_time": "RUNTIME",
    "cpu_limit": "CPULIMIT",
    "estimated_run_time": "ESTIMATED_RUNTIME",
}
_LIMITS = ("run_limit", "run_limit_max", "run_time", "cpu_limit", "estimated_run_time")


def in_wall_clock(instance: Instance, findings: list[Finding]) -> Instance:
    """The instance with all limits in wall-clock time; those that cannot be go to `findings`."""
    scale = LimitScale(instance.cluster, instance.queues)

    def settled(place: Location, item: Limited, hosts: Callable[[], Iterable[str]]) -> Limited:
        found, wrong = scale.settled(item, hosts)
        job = isinstance(item, Job)
        findings.extend(
            Finding((*place, name if job else _LSF_NAMES[name]), message) for name, message in wrong
        )
        return found

    def waiting(section: str, jobs: Sequence[Job]) -> tuple[Job, ...]:
        if not any(map(_on_a_host, jobs)):
            return tuple(jobs)
        return tuple(
            settled((section, n), job, partial(scale.hosts_of, job)) if _on_a_host(job) else job
            for n, job in enumerate(jobs)
        )

    def running(number: int, item: RunningJob) -> RunningJob:
        if not _on_a_host(item.job):
            return item
        job = settled(("running", number), item.job, lambda: list(item.allocation)[:1])
        return replace(item, job=job)

    def everywhere() -> list[str]:
        return [host.name for host in instance.cluster.hosts]

    return replace(
        instance,
        params=settled(("params",), instance.params, everywhere),
        queues=tuple(
            settled(("queues", n), queue, partial(scale.hosts_of_queue, queue))
            for n, queue in enumerate(instance.queues)
        ),
        applications=tuple(
            settled(("applications", n), item, everywhere)
            for n, item in enumerate(instance.applications)
        ),
        running=tuple(running(n, item) for n, item in enumerate(instance.running)),
        pending=waiting("pending", instance.pending),
        future=waiting("future", instance.future),
    )


def _on_a_host(job: Job) -> bool:
    """Whether some limit of the job counts on one host."""
    limits = (job.run_limit, job.run_time, job.cpu_limit, job.estimated_run_time)
    return LimitOnHost in map(type, limits)


class LimitScale:
    """Limits on hosts of one cluster as wall-clock time."""

    def __init__(self, cluster: Cluster, queues: Iterable[Queue]) -> None:
        self._cluster = cluster
        self._queues = {queue.name: queue for queue in queues}
        self._factor = {host.name: host.cpu_factor for host in cluster.hosts}
        self._machine = {host.node_of: host.cpu_factor for host in cluster.hosts if host.node_of}
        self._models: dict[str, set[float]] = {}
        for host in cluster.hosts:
            self._models.setdefault(host.model, set()).add(host.cpu_factor)

    def settled(
        self, item: Limited, hosts: Callable[[], Iterable[str]]
    ) -> tuple[Limited, list[tuple[str, str]]]:
        """A job, queue or application with its limits in wall-clock time, and what is wrong.

        hosts: gives those that it may use, asked only for a limit on a host. What is wrong: the
        field and why.
        """
        changed: dict[str, int] = {}
        wrong: list[tuple[str, str]] = []
        for name in _LIMITS:
            limit = getattr(item, name, None)
            if isinstance(limit, LimitOnHost):
                changed[name] = int(limit)
                try:
                    changed[name] = self._seconds(limit, hosts())
                except ValueError as error:
                    wrong.append((name.removesuffix("_max"), str(error)))
        return (replace(item, **changed) if changed else item), wrong  # type: ignore[arg-type]

    def hosts_of(self, job: Job) -> set[str]:
        """The hosts that -m and the queue leave to a job."""
        queue = self._queues.get(job.queue)
        allowed = self.hosts_of_queue(queue) if queue is not None else set(self._factor)
        return allowed & self._named(job.hosts)

    def hosts_of_queue(self, queue: Queue) -> set[str]:
        """HOSTS of a queue."""
        excluded = {h for name in queue.excluded_hosts for h in self._cluster.expand(name) or ()}
        return self._named(queue.hosts) - excluded

    def _named(self, requests: Sequence[HostRequest]) -> set[str]:
        if not requests or any(request.name == OTHERS for request in requests):
            return set(self._factor)
        return {host for item in requests for host in self._cluster.expand(item.name) or ()}

    def _seconds(self, limit: LimitOnHost, hosts: Iterable[str]) -> int:
        own = self._reference(limit.host)
        there = {self._factor[host] for host in hosts if host in self._factor} or {own}
        if len(there) > 1:
            factors = ", ".join(f"{factor:g}" for factor in sorted(there))
            raise ValueError(
                f"counts on {limit.host} (CPU factor {own:g}), and the hosts that may run the job "
                f"have other factors ({factors}), so that its length depends on its place: give "
                f"wall-clock time such as {format_duration(int(limit))}, or hosts of one factor"
            )
        return max(1, round(int(limit) * own / there.pop()))

    def _reference(self, name: str) -> float:
        """The CPU factor of a host or model."""
        if name in self._factor:
            return self._factor[name]
        if name in self._machine:
            return self._machine[name]
        factors = self._models.get(name, set())
        if len(factors) == 1:
            return next(iter(factors))
        if factors:
            raise ValueError(f"the hosts of model {name} have several CPU factors: name a host")
        hint = nearest(name, self._names())
        raise ValueError(f"unknown host or model {name!r}{hint} behind the limit")

    def _names(self) -> Iterator[str]:
        yield from self._factor
        yield from self._machine
        yield from self._models
