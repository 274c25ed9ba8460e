"""Validity rules of queues, users and parameters (MEM-05, MEM-06, PLC-11, TBR-15)."""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import nearest
from ..instance import Instance
from ..job import OTHERS
from ..modules import loaded, module_notes
from ..queue import Queue
from .finding import Finding, Location
from .known import unknown_host, unknown_unit_type
from .text import SHARE_KEYWORDS


def check_queues(instance: Instance) -> Iterator[Finding]:
    """What is wrong with the queues and the parameters that govern them."""
    names = [queue.name for queue in instance.queues]
    if instance.params.default_queue not in names:
        message = f"unknown queue {instance.params.default_queue!r}"
        hint = nearest(instance.params.default_queue, names)
        yield Finding(("params", "DEFAULT_QUEUE"), message + hint, undefined=True)
    users = _known_users(instance)
    for index, queue in enumerate(instance.queues):
        place: Location = ("queues", index)
        yield from _references(instance, queue, place, names)
        yield from _reservation(instance, queue, place)
        yield from _users(queue, place, users)
    yield from _shares(instance, users)
    for place, message in module_notes(instance):
        yield Finding(place, message, warning=True)


def _references(
    instance: Instance, queue: Queue, place: Location, names: list[str]
) -> Iterator[Finding]:
    cluster = instance.cluster
    for name in (*(request.name for request in queue.hosts), *queue.excluded_hosts):
        if name != OTHERS and cluster.expand(name) is None:
            yield Finding((*place, "HOSTS"), unknown_host(cluster, name), undefined=True)
    for name in (*(queue.preemptive or ()), *(queue.preemptable or ())):
        if name != "*" and name not in names:
            message = f"unknown queue {name!r}{nearest(name, names)}"
            yield Finding((*place, "PREEMPTION"), message, undefined=True)
    unit_type = queue.exclusive.removeprefix("CU[").removesuffix("]")
    if queue.exclusive.startswith("CU") and unit_type not in cluster.unit_types:
        message = unknown_unit_type(unit_type, cluster.unit_types)
        yield Finding((*place, "EXCLUSIVE"), message, undefined=True)


def _reservation(instance: Instance, queue: Queue, place: Location) -> Iterator[Finding]:
    if queue.slot_reserve is not None and queue.resource_reserve is not None:
        message = (
            f"queue {queue.name} has RESOURCE_RESERVE too: SLOT_RESERVE is ignored, and "
            "RESOURCE_RESERVE reserves both slots and memory"
        )
        yield Finding((*place, "SLOT_RESERVE"), message, warning=True)
    if (
        queue.chunk_job_size is not None
        and queue.chunk_job_size > 1
        and instance.params.time_reserve_numjobs
    ):
        message = (
            f"job chunking of queue {queue.name} does not go with time-based reservation: "
            "leave out CHUNK_JOB_SIZE or LSB_TIME_RESERVE_NUMJOBS"
        )
        yield Finding((*place, "CHUNK_JOB_SIZE"), message)
    if not loaded(instance, "schmod_reserve") and queue.resource_reserve is not None:
        message = (
            "schmod_reserve is not among the modules: no memory is reserved for pending "
            f"sequential jobs of queue {queue.name}"
        )
        yield Finding((*place, "RESOURCE_RESERVE"), message, warning=True)


def _users(queue: Queue, place: Location, users: set[str]) -> Iterator[Finding]:
    for word in queue.users:
        name = word.removeprefix("~").removesuffix("/")
        if users and name not in users and name != "all":
            message = f"nobody is called {name!r} here{nearest(name, users)}"
            yield Finding((*place, "USERS"), message, warning=True, undefined=True)


def _known_users(instance: Instance) -> set[str]:
    """Every user and group that the instance names apart from shares; empty if none is declared."""
    if not instance.users and not instance.groups:
        return set()
    known = {user.name.removesuffix("@") for user in instance.users}
    for group in instance.groups:
        known.update((group.name, *(member.removeprefix("~") for member in group.members)))
    known.update(item.job.user for item in instance.running)
    known.update(job.user for job in (*instance.pending, *instance.future))
    return known


def _shares(instance: Instance, users: set[str]) -> Iterator[Finding]:
    """Shares of someone whom nothing else names: allowed, but mostly a slip of the pen."""
    if not users:
        return
    lists: list[tuple[Location, tuple[tuple[str, int], ...]]] = [
        (("queues", i, "FAIRSHARE"), queue.user_shares or ())
        for i, queue in enumerate(instance.queues)
    ]
    lists += [
        (("host_partitions", i, "USER_SHARES"), partition.user_shares)
        for i, partition in enumerate(instance.partitions)
    ]
    for place, shares in lists:
        for name, _ in shares:
            if name not in users | SHARE_KEYWORDS and not name.endswith("@"):
                message = f"gives shares to unknown user {name!r}{nearest(name, users)}"
                yield Finding(place, message, warning=True, undefined=True)
