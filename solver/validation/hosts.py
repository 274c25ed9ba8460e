"""Which hosts may hold a job at all: status, select, lists of hosts, resources that are there.

Availability of hosts at an instant, given load and past starts. An allocation proposed by the
validator must be possible for the scheduler, so a host that may be closed counts as closed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ...model.cluster import BUILTIN_AMOUNTS, BUILTIN_INDICES, INCREASING_INDICES, Host
from ...model.job import Job
from ...model.resreq.syntax import Simple
from ...model.shares import partition_hosts
from . import reservations
from .facts import (
    SLACK,
    Facts,
    Holding,
    TermShare,
    Violation,
    amount_of,
    on_host,
)
from .selection import HostView, named, satisfies

#: Host states that only jobs cause, and that pass with them.
_PASSING = ("ok", "closed_full", "closed_excl", "closed_cu_excl")


def candidates(facts: Facts) -> Iterator[Violation]:
    """Yield hosts of an allocation that are not candidates of their term (REQ-02, PLC-12)."""
    for holding in facts.planned:
        for part in holding.parts:
            for host in part.allocation:
                faults = [*host_faults(facts, holding.job, part.requirement, host)]
                faults += missing_resources(facts, part, host)
                for fault in faults:
                    text = f"job {holding.job.id}: host {host} {fault}"
                    yield Violation("candidate", text, holding.job.id, host, holding.start)


def first_execution_host(facts: Facts) -> Iterator[Violation]:
    """Yield jobs whose first host is none of those that -m marks with ``!`` (PLC-12)."""
    for holding in facts.planned:
        first = next(iter(holding.allocation), None)
        if first is not None and not may_begin_on(facts, holding.job, (first,)):
            names = " ".join(request.name for request in holding.job.hosts if request.first)
            text = f"job {holding.job.id}: first host {first} is not one of {names} (-m)"
            yield Violation("first-host", text, holding.job.id, first, holding.start)


def may_begin_on(facts: Facts, job: Job, hosts: Iterable[str]) -> bool:
    """Return whether one of these hosts may be the first execution host of a job."""
    names = [request.name for request in job.hosts if request.first]
    if not names:
        return True
    listed = facts.expand(request.name for request in job.hosts)
    firsts = facts.expand(names)
    return any(host in firsts or ("others" in names and host not in listed) for host in hosts)


def host_faults(facts: Facts, job: Job, requirement: Simple, host: str) -> Iterator[str]:
    """Yield the reasons why a host is not a candidate for a term of the job."""
    it = facts.hosts[host]
    queue = facts.queues[job.queue]
    if it.status.lower() not in _PASSING:
        yield f"has status {it.status}"
    if queue.hosts and not _listed(facts, host, [request.name for request in queue.hosts]):
        yield f"is not among the hosts of queue {queue.name}"
    if host in facts.expand(queue.excluded_hosts):
        yield f"is excluded by queue {queue.name}"
    if job.hosts and not _listed(facts, host, [request.name for request in job.hosts]):
        yield "is not among the hosts of -m"
    if job.reservation:
        windows = reservations.windows_of(facts, job)
        if windows and not any(window.slots.get(host) for window in windows):
            yield f"is not in advance reservation {job.reservation}"
    home = _home(facts, job.from_host)
    # The default selection of a job with -U is type==any.
    if not satisfies(requirement.select, view(facts, it, home), default=not job.reservation):
        yield "does not meet the select section"
    if it.exclusive and not it.exclusive & {*named(requirement.select, facts.names)}:
        yield f"accepts only jobs that request {' or '.join(sorted(it.exclusive))}"


def missing_resources(facts: Facts, part: TermShare, host: str) -> Iterator[str]:
    """Yield the resources of the rusage section that the host neither has nor reaches (RSV-10)."""
    for item in part.reservations:
        name = item.resource
        if item.initial <= 0 or (name in BUILTIN_INDICES and name not in BUILTIN_AMOUNTS):
            continue
        reached = any(
            shared.name == name and (shared.hosts is None or host in shared.hosts)
            for shared in facts.instance.cluster.shared
        )
        if amount_of(facts.hosts[host], name) is None and not reached:
            yield f"has no {name}"


def _home(facts: Facts, name: str) -> Host | None:
    """Return the submission host; a machine with nodes is represented by its first."""
    if not name or name in facts.hosts:
        return facts.hosts.get(name)
    return next((host for host in facts.hosts.values() if host.node_of == name), None)


def view(facts: Facts, host: Host, home: Host | None = None) -> HostView:
    """Return the host as a select section sees it; home: the submission host, None if unknown."""
    cluster = facts.instance.cluster
    by_slot = facts.instance.params.parallel_sched_by_slot
    return HostView(host, cluster, facts.names, by_slot, home)


def static_value(facts: Facts, name: str, host: Host) -> float | str | None:
    """Return the value that same[] compares; None if the host lacks the resource."""
    seen = view(facts, host)
    return seen.text(name) if name in facts.names.strings else seen.number(name)


def _listed(facts: Facts, host: str, names: list[str]) -> bool:
    return "others" in names or host in facts.expand(names)


def may_be_closed(facts: Facts, holding: Holding, host: str) -> bool:
    """Return whether load (RSV-11) or JOB_ACCEPT_INTERVAL (TBR-16) may prevent a start on a
    host.
    """
    return _has_just_accepted(facts, holding, host) or _beyond_sched(facts, holding, host)


def _has_just_accepted(facts: Facts, holding: Holding, host: str) -> bool:
    params = facts.instance.params
    cycles = facts.queues[holding.job.queue].job_accept_interval
    interval = (params.job_accept_interval if cycles is None else cycles) * params.mbd_sleep_time
    if not interval:
        return False
    there = facts.holdings_on(host)
    starts = [other.start for other in there if other.job.id != holding.job.id]
    return any(start <= holding.start < start + interval for start in starts)


def _beyond_sched(facts: Facts, holding: Holding, host: str) -> bool:
    """Return whether a host may be beyond loadSched; load that others reserve counts as beyond."""
    it = facts.hosts[host]
    others = [
        other
        for other in facts.holdings_on(host)
        if other.job.id != holding.job.id and other.active(holding.start)
    ]
    for thresholds in (facts.queues[holding.job.queue].thresholds, it.thresholds):
        for name, limit in thresholds.sched.items():
            held = sum(on_host(facts, other, name, host, holding.start) for other in others)
            value = it.load.get(name)
            if name in INCREASING_INDICES:
                past = held > 0 or (value is not None and value > limit)
            elif name in BUILTIN_AMOUNTS:
                known = [have for have in (value, it.amounts.get(name)) if have is not None]
                past = bool(known) and min(known) - held < limit + SLACK
            else:
                past = held > 0 or (value is not None and value < limit)
            if past:
                return True
    return False


@dataclass(frozen=True, slots=True)
class Sides:
    """The hosts of each partition, and the hosts in no partition."""

    #: Host sets of the partitions.
    inside: tuple[frozenset[str], ...]
    #: Hosts of no partition.
    outside: frozenset[str]

    @classmethod
    def of(cls, facts: Facts) -> Sides:
        """Return the sides of an instance."""
        cluster, partitions = facts.instance.cluster, facts.instance.partitions
        inside = tuple(frozenset(partition_hosts(cluster, each)) for each in partitions)
        return cls(inside, frozenset(facts.hosts).difference(*inside))

    def open_with(self, hosts: Iterable[str]) -> frozenset[str]:
        """Return the hosts that a job with these hosts may also use; empty if they exclude each
        other.

        These are the hosts of all partitions that contain `hosts`, or those of no partition.
        """
        held = frozenset(hosts)
        if held <= self.outside:
            return self.outside
        around = [side for side in self.inside if held <= side]
        return around[0].intersection(*around) if around else frozenset()


def one_partition(facts: Facts) -> Iterator[Violation]:
    """Yield jobs and terms with hosts inside and outside a partition."""
    if not facts.instance.partitions:
        return
    sides = Sides.of(facts)
    for holding in facts.planned:
        if not sides.open_with(holding.allocation):
            hosts = " ".join(holding.allocation)
            text = f"job {holding.job.id}: {hosts} are neither in one host partition nor in none"
            yield Violation("partition", text, holding.job.id, "", holding.start)
