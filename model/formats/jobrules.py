"""Validity rules of jobs: what bsub would refuse, and what running jobs cannot hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter, gt

from ..errors import nearest
from ..instance import Instance
from ..job import OTHERS, Job, RunningJob
from ..polling import Poll, never, polled
from ..queue import Queue
from .finding import Finding, Location
from .job_conditions import check_conditions
from .kinds_of_jobs import of_jobs
from .known import host_names
from .units import format_duration

_NAMES = ("queue", "user", "application", "from_host", "hosts")
#: What a job names.
_NAMED = attrgetter(*_NAMES)
#: All that bsub looks at.
_SUBMITTED = attrgetter(
    *_NAMES,
    *("slots", "max_slots", "run_limit", "cpu_limit", "exclusive", "begin", "deadline", "priority"),
    *("requeued", "whole_hosts"),
)


def check_jobs(instance: Instance, poll: Poll = never) -> Iterator[Finding]:
    """What is wrong with the jobs; a job that is merely too big for the cluster is not wrong."""
    waiting = (("pending", instance.pending), ("future", instance.future))
    running = [item.job for item in instance.running]
    yield from _identities((("running", running), *waiting))
    references = _References(instance)
    yield from of_jobs("running", running, _NAMED, references.check, poll)

    def look(place: Location, job: Job) -> Iterator[Finding]:
        yield from references.check(place, job)
        if job.begin is not None and job.deadline is not None and job.deadline <= job.begin:
            yield Finding((*place, "deadline"), "must be later than begin")
        if job.requeued:
            return  # it was let in before; what its queue takes today is asked when it has a turn
        queue = references.queues.get(job.queue)
        if queue is not None and queue.users and not references.admits(queue.users, job.user):
            yield Finding((*place, "user"), f"user {job.user} may not use queue {queue.name}")
        yield from _priority(place, job, instance.params.max_user_priority)
        yield from _submission(place, job, queue)

    for section, jobs in waiting:
        yield from of_jobs(section, jobs, _SUBMITTED, look, poll)
    yield from check_conditions(instance, poll)
    yield from _running(instance, poll)


def _identities(sections: Iterable[tuple[str, Sequence[Job]]]) -> Iterator[Finding]:
    seen: set[str] = set()
    for section, jobs in sections:
        ids = {job.id for job in jobs}
        if len(ids) == len(jobs) and seen.isdisjoint(ids):
            seen |= ids
            continue
        for index, job in enumerate(jobs):
            if job.id in seen:
                yield Finding((section, index, "id"), f"there is a job {job.id} already")
            seen.add(job.id)


class _References:
    """The names a job may use."""

    def __init__(self, instance: Instance) -> None:
        cluster = instance.cluster
        self.queues = {queue.name: queue for queue in instance.queues}
        self._applications = {profile.name for profile in instance.applications}
        self._machines = {
            name for host in cluster.hosts for name in (host.name, host.node_of) if name
        }
        self._hosts = {"all", OTHERS, *host_names(cluster)}
        self._members = {group.name: group.members for group in instance.groups}
        self._sound: set[tuple[object, ...]] = set()

    def check(self, place: Location, job: Job) -> Iterable[Finding]:
        """Queue, application and hosts exist; equal ones once."""
        named = _NAMED(job)
        if named in self._sound:
            return ()
        found = list(self._wrong(place, job))
        if not found:
            self._sound.add(named)
        return found

    def _wrong(self, place: Location, job: Job) -> Iterator[Finding]:
        queue = self.queues.get(job.queue)
        if queue is None:
            hint = nearest(job.queue, self.queues)
            message = f"unknown queue {job.queue!r}{hint}"
            yield Finding((*place, "queue"), message, undefined=True)
        if job.application and job.application not in self._applications:
            hint = nearest(job.application, self._applications)
            message = f"unknown application {job.application!r}{hint}"
            yield Finding((*place, "application"), message, undefined=True)
        if job.from_host and job.from_host not in self._machines:
            hint = nearest(job.from_host, self._machines)
            message = f"unknown submission host {job.from_host!r}{hint}"
            yield Finding((*place, "from_host"), message, undefined=True)
        for request in job.hosts:
            if request.name not in self._hosts:
                hint = nearest(request.name, self._hosts)
                message = f"unknown host or host group {request.name!r}{hint}"
                yield Finding((*place, "hosts"), message, undefined=True)

    def admits(self, users: tuple[str, ...], user: str) -> bool:
        """Whether USERS of a queue lets a user submit; what runs was let in before."""
        wanted = [name for name in users if not name.startswith("~")]
        excluded = [name[1:] for name in users if name.startswith("~")]
        return (not wanted or self._covers(wanted, user)) and not self._covers(excluded, user)

    def _covers(self, names: Iterable[str], user: str) -> bool:
        stack, seen = [name.removesuffix("/") for name in names], set[str]()
        while stack:
            name = stack.pop()
            if name in ("all", user):
                return True
            if name not in seen:
                seen.add(name)
                stack.extend(self._members.get(name, ()))
        return False


def _priority(place: Location, job: Job, most: int) -> Iterator[Finding]:
    if most and job.priority > most:
        message = f"must be {most} or less, not {job.priority}: MAX_USER_PRIORITY is {most}"
        yield Finding((*place, "priority"), message)


def _submission(place: Location, job: Job, queue: Queue | None) -> Iterator[Finding]:
    """What bsub would refuse in this queue."""
    if queue is None:
        return
    if queue.slots is not None:
        least, _, most = queue.slots
        if job.most_slots < least or (most is not None and job.slots > most):
            wanted = f"{least} to {most}" if most is not None else f"{least} or more"
            message = f"queue {queue.name} takes jobs of {wanted} slots (PROCLIMIT)"
            yield Finding((*place, "slots"), message)
    longest = queue.run_limit_max
    if job.run_limit is not None and longest is not None and job.run_limit > longest:
        limit = format_duration(longest)
        message = f"queue {queue.name} takes jobs of {limit} at most (RUNLIMIT)"
        yield Finding((*place, "run_limit"), message)
    most_cpu = queue.cpu_limit
    if job.cpu_limit is not None and most_cpu is not None and job.cpu_limit > most_cpu:
        limit = format_duration(most_cpu)
        message = f"queue {queue.name} takes jobs of {limit} of CPU time at most (CPULIMIT)"
        yield Finding((*place, "cpu_limit"), message)
    if job.whole_hosts and not job.exclusive:
        yield Finding((*place, "whole_hosts"), "such a job is exclusive: give exclusive: true")
    if job.exclusive and not job.whole_hosts and queue.exclusive == "N":
        message = f"queue {queue.name} takes no exclusive jobs: it needs EXCLUSIVE: Y"
        yield Finding((*place, "exclusive"), message)


def _running(instance: Instance, poll: Poll) -> Iterator[Finding]:
    slots = {host.name: host.slots for host in instance.cluster.hosts}
    held = dict.fromkeys(slots, 0)
    for index, item in enumerate(polled(instance.running, poll)):
        if not _plain(item, instance.now):
            yield from _times(instance, index, item)
        place: Location = ("running", index, "allocation")
        if not item.allocation:
            yield Finding(place, "holds no slots: name hosts such as 2*hostA")
        for host, count in item.allocation.items():
            if host not in slots:
                message = f"unknown host {host!r}{nearest(host, slots)}"
                yield Finding(place, message, undefined=True)
            elif not item.suspended:
                held[host] += count
    if any(map(gt, held.values(), slots.values())):
        yield from _overfull(instance, slots, held)


def _overfull(
    instance: Instance, slots: Mapping[str, int], held: Mapping[str, int]
) -> Iterator[Finding]:
    """Hosts of which more is held than there is, at the last job that holds something there."""
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


def _plain(item: RunningJob, now: int) -> bool:
    """Whether a running job has started, names no end and holds as many slots as it asked for."""
    job = item.job
    plain = item.finish is None and item.start <= now and job.max_slots is None
    return plain and sum(item.allocation.values()) == job.slots


def _times(instance: Instance, index: int, item: RunningJob) -> Iterator[Finding]:
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
