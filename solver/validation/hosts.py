"""Which hosts may hold a job at all: status, select, lists of hosts, resources that are there."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.cluster import BUILTIN_AMOUNTS, BUILTIN_INDICES, Host
from ...model.job import Job
from ...model.resreq.syntax import Simple
from .facts import Facts, TermShare
from .select import HostView, named, satisfies
from .usage import amount_of
from .violation import Violation

#: Host states that come from jobs alone and pass with them.
_PASSING = ("ok", "closed_full", "closed_excl", "closed_cu_excl")


def candidates(facts: Facts) -> Iterator[Violation]:
    """Every host of an allocation is a candidate of the term it serves (REQ-02, PLC-12)."""
    for holding in facts.planned:
        for part in holding.parts:
            for host in part.allocation:
                faults = [*host_faults(facts, holding.job, part.requirement, host)]
                faults += missing_resources(facts, part, host)
                for fault in faults:
                    text = f"job {holding.job.id}: host {host} {fault}"
                    yield Violation("candidate", text, holding.job.id, host, holding.start)


def first_execution_host(facts: Facts) -> Iterator[Violation]:
    """The first host of the allocation is one of those that -m marks with ``!`` (PLC-12)."""
    for holding in facts.planned:
        wanted = holding.job.hosts
        names = [request.name for request in wanted if request.first]
        first = next(iter(holding.allocation), None)
        if first is None or not names:
            continue
        listed = facts.expand(request.name for request in wanted)
        if first not in facts.expand(names) and ("others" not in names or first in listed):
            text = f"job {holding.job.id}: first host {first} is none of {' '.join(names)} (-m)"
            yield Violation("first-host", text, holding.job.id, first, holding.start)


def host_faults(facts: Facts, job: Job, requirement: Simple, host: str) -> Iterator[str]:
    """Why the host is no candidate for a term of the job; nothing if it is one."""
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
    home = _home(facts, job.from_host)
    if not satisfies(requirement.select, view(facts, it, home)):
        yield "does not meet the select section"
    if it.exclusive and not it.exclusive & {*named(requirement.select, facts.names)}:
        yield f"takes only jobs that ask for {' or '.join(sorted(it.exclusive))}"


def missing_resources(facts: Facts, part: TermShare, host: str) -> Iterator[str]:
    """Resources of the rusage section that the host neither has nor reaches (RSV-10)."""
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
    """The submission host; a machine of several nodes is like its first."""
    if not name or name in facts.hosts:
        return facts.hosts.get(name)
    return next((host for host in facts.hosts.values() if host.node_of == name), None)


def view(facts: Facts, host: Host, home: Host | None = None) -> HostView:
    """The host as a select section sees it; home: the submission host, None if not known."""
    cluster = facts.instance.cluster
    by_slot = facts.instance.params.parallel_sched_by_slot
    return HostView(host, cluster, facts.names, by_slot, home)


def static_value(facts: Facts, name: str, host: Host) -> float | str | None:
    """What same[] compares; None where the host lacks the resource."""
    seen = view(facts, host)
    return seen.text(name) if name in facts.names.strings else seen.number(name)


def _listed(facts: Facts, host: str, names: list[str]) -> bool:
    return "others" in names or host in facts.expand(names)
