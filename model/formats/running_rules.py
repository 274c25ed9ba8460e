"""Rules on running jobs: their times, their slots, and hosts with enough of them (CFG-02)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import gt

from ..errors import nearest
from ..instance import Instance
from ..job import RunningJob
from ..progress import Poll, never, polled
from .finding import Finding, Location
from .units import format_duration


def running_findings(instance: Instance, poll: Poll = never) -> Iterator[Finding]:
    """Yield errors of the running jobs: times, slots and hosts."""
    slots = {host.name: host.slots for host in instance.cluster.hosts}
    held = dict.fromkeys(slots, 0)
    now = instance.now
    for index, item in enumerate(polled(instance.running, poll)):
        job, allocation = item.job, item.allocation
        plain = item.finish is None and item.start <= now and job.max_slots is None
        if not plain or sum(allocation.values()) != job.slots:
            yield from _times(instance, index, item)
        if not allocation:
            place: Location = ("running", index, "allocation")
            yield Finding(place, "holds no slots: name hosts such as 2*hostA")
        for host, count in allocation.items():
            if host not in slots:
                message = f"unknown host {host!r}{nearest(host, slots)}"
                yield Finding(("running", index, "allocation"), message, undefined=True)
            elif not item.suspended:
                held[host] += count
    if any(map(gt, held.values(), slots.values())):
        yield from _overfull(instance, slots, held)


def _overfull(
    instance: Instance, slots: Mapping[str, int], held: Mapping[str, int]
) -> Iterator[Finding]:
    """Yield hosts with more slots in use than available, at the last job that uses the host."""
    last = {
        host: index
        for index, item in enumerate(instance.running)
        for host in item.allocation
        if host in slots and not item.suspended
    }
    for host, index in last.items():
        if held[host] > slots[host]:
            message = f"{host} has {slots[host]} slots, the running jobs hold {held[host]}"
            yield Finding(("running", index, "allocation"), message)


def _times(instance: Instance, index: int, item: RunningJob) -> Iterator[Finding]:
    """Yield errors of the times and slots of a running job; none for one that has started, has no
    given end and the slots that it requests.
    """
    place: Location = ("running", index)
    if item.start > instance.now:
        message = (
            f"starts {format_duration(item.start - instance.now)} after now: a running job has"
        )
        yield Finding((*place, "start"), f"{message} started already")
    if item.finish is not None and item.finish < item.start:
        yield Finding((*place, "finish"), "is before the start")
    job = item.job
    if item.allocation and not job.resizable and not job.slots <= item.slots <= job.most_slots:
        message = f"asks for {job.slots} slots and holds {item.slots}: only a resizable job may"
        yield Finding((*place, "slots"), message)
