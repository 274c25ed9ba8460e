"""What an instance says that its loop remembers: it must be of its own jobs and hosts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..errors import nearest
from ..instance import HeldHosts, Instance
from .finding import Finding, Location
from .known import unknown_host


def memory_findings(instance: Instance) -> Iterator[Finding]:
    """Hosts held by jobs that do not pend, slots borrowed by jobs that do not have them."""
    if instance.held:
        waiting = {job.id for job in instance.pending}
        for index, item in enumerate(instance.held):
            place: Location = ("held", index)
            if item.job not in waiting:
                hint = nearest(item.job, waiting)
                yield Finding((*place, "job"), f"no pending job is called {item.job!r}{hint}")
            yield from _held(instance, item, place)
        yield from _twice("held", [item.job for item in instance.held])
    if instance.borrowed:
        running = {item.job.id: item.allocation for item in instance.running}
        for index, loan in enumerate(instance.borrowed):
            place = ("borrowed", index)
            if loan.job not in running:
                hint = nearest(loan.job, running)
                yield Finding((*place, "job"), f"no running job is called {loan.job!r}{hint}")
                continue
            yield from _borrowed(loan.slots, running[loan.job], (*place, "slots"))
        yield from _twice("borrowed", [item.job for item in instance.borrowed])


def _held(instance: Instance, item: HeldHosts, place: Location) -> Iterator[Finding]:
    known = instance.cluster.host_index()
    for host in item.hosts:
        if host not in known:
            message = unknown_host(instance.cluster, host)
            yield Finding((*place, "hosts"), message, undefined=True)
    if item.since is not None and item.since > instance.now:
        late = item.since - instance.now
        message = f"lies {late} s after the instance's now: what is held has been held"
        yield Finding((*place, "since"), message)


def _borrowed(
    slots: Mapping[str, int], has: Mapping[str, int], place: Location
) -> Iterator[Finding]:
    for host, count in slots.items():
        if count > has.get(host, 0):
            message = f"the job has {has.get(host, 0)} slots on {host}, not {count}"
            yield Finding(place, message)


def _twice(section: str, jobs: list[str]) -> Iterator[Finding]:
    seen: set[str] = set()
    for index, job in enumerate(jobs):
        if job in seen:
            yield Finding((section, index, "job"), f"job {job} stands here already")
        seen.add(job)
