"""Changes of an instance that several probes make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from ....model.cluster import Host
from ....model.instance import Instance
from ....model.job import Job

Apply = Callable[[Instance], Instance]
#: Round numbers of dispatch cycles: what an administrator would write.
ROUND = (
    *(5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 300, 360, 480, 600, 720, 960, 1440),
    *(2160, 2880, 4320, 7200, 10080, 14400, 20160, 43200, 100800),
)
#: Numbers of jobs with a future allocation.
FEW = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 75, 100)


def queue_with(name: str, **changes: Any) -> Apply:
    """One queue with other values."""

    def apply(instance: Instance) -> Instance:
        queues = (replace(q, **changes) if q.name == name else q for q in instance.queues)
        return replace(instance, queues=tuple(queues))

    return apply


def params_with(**changes: Any) -> Apply:
    """Parameters of the cluster with other values."""
    return lambda instance: replace(instance, params=replace(instance.params, **changes))


def hosts_with(names: Iterable[str], change: Callable[[Host], Host]) -> Apply:
    """Some hosts otherwise."""
    chosen = frozenset(names)

    def apply(instance: Instance) -> Instance:
        cluster = instance.cluster
        hosts = tuple(change(h) if h.name in chosen else h for h in cluster.hosts)
        return replace(instance, cluster=replace(cluster, hosts=hosts))

    return apply


def job_as(job: Job) -> Apply:
    """A pending job asked for in another way."""

    def apply(instance: Instance) -> Instance:
        pending = tuple(job if other.id == job.id else other for other in instance.pending)
        return replace(instance, pending=pending)

    return apply


def round_from(current: int, enough: int, numbers: tuple[int, ...] = ROUND) -> tuple[int, ...]:
    """Round numbers above the present one, up to the first that is enough."""
    found = []
    for number in numbers:
        if number > current:
            found.append(number)
            if number >= enough:
                break
    return tuple(found)


def amounts_from(current: int, *wanted: int) -> tuple[int, ...]:
    """Amounts above the present one: steps that double, and those that are wanted, rising."""
    most = max(wanted)
    steps = set(wanted)
    step = 1
    while current + step < most:
        steps.add(current + step)
        step *= 2
    return tuple(sorted(number for number in steps if number > current))


def named(names: Iterable[str], most: int = 3) -> str:
    """A few names, and how many more there are."""
    listed = list(names)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more


def chunks(items: tuple[Any, ...], size: int) -> Iterator[tuple[Any, ...]]:
    """The items in groups of at most so many."""
    for first in range(0, len(items), size):
        yield items[first : first + size]
