"""What must hold across an instance: references, capacities, LSF's validity rules (CFG-02)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..errors import Problem, nearest
from ..instance import Instance
from ..polling import Poll, never
from .finding import Finding, Location
from .jobrules import check_jobs
from .known import unknown_host
from .loop_memory import memory_findings
from .queuerules import check_queues
from .requirements import check_requirements


def check(instance: Instance, poll: Poll = never) -> list[Finding]:
    """Everything that does not fit together, at its place in a document of this instance.

    poll: called now and then; what it raises ends the look.
    """
    parts = (
        _names,
        _units,
        _resources,
        check_queues,
        _limits,
        _usage,
        _reservations,
        memory_findings,
    )
    found: list[Finding] = []
    for part in parts:
        poll()
        found += part(instance)
    found += check_jobs(instance, poll)
    found += check_requirements(instance, poll)
    poll()
    found += _shares(instance)
    return found


def _names(instance: Instance) -> Iterator[Finding]:
    """Nothing has its name twice, and a host, group or unit name means one thing."""
    cluster = instance.cluster
    sections: dict[str, Iterable[str]] = {
        "resources": [item.name for item in cluster.resources],
        "queues": [queue.name for queue in instance.queues],
        "applications": [profile.name for profile in instance.applications],
        "users": [user.name for user in instance.users],
        "host_partitions": [partition.name for partition in instance.partitions],
        "limits": [limit.name for limit in instance.limits],
        "advance_reservations": [item.name for item in instance.advance_reservations],
    }
    for section, given in sections.items():
        seen: set[str] = set()
        for index, name in enumerate(given):
            if name in seen:
                yield Finding((section, index, "name"), f"{name} is already defined")
            seen.add(name)
    hosts = {host.name for host in cluster.hosts}
    groups = {group.name for group in cluster.groups}
    for name in [group.name for group in cluster.groups if group.name in hosts]:
        yield Finding(("host_groups", name), f"{name} is the name of a host too")
    for index, unit in enumerate(cluster.units):
        if unit.name in hosts or unit.name in groups:
            message = f"{unit.name} is the name of a host or host group too"
            yield Finding(("compute_units", index, "name"), message)
    shares = {group.name for group in instance.groups}
    for index, user in enumerate(instance.users):
        if user.name.removesuffix("@") != user.name and user.name[:-1] not in shares:
            hint = nearest(user.name[:-1], shares)
            message = f"unknown user group {user.name[:-1]!r}{hint}"
            yield Finding(("users", index, "name"), message, undefined=True)


def _units(instance: Instance) -> Iterator[Finding]:
    """A host is in at most one unit of the finest type, and so of each type (PLC-05)."""
    home: dict[str, str] = {}
    finest = instance.cluster.unit_types[:1]
    for index, unit in enumerate(instance.cluster.units):
        for host in unit.hosts if unit.type in finest else ():
            first = home.setdefault(host, unit.name)
            if first != unit.name:
                message = f"{host} is in {first} already: a host is in one {unit.type} only"
                yield Finding(("compute_units", index, "members"), message)


def _resources(instance: Instance) -> Iterator[Finding]:
    """Hosts carry a defined resource as the kind it is defined to be."""
    kinds = {item.name: item.kind for item in instance.cluster.resources}
    for shared in instance.cluster.shared:
        kinds.setdefault(shared.name, "shared")
    for index, host in enumerate(instance.cluster.hosts):
        carried = (
            ("amounts", "numeric", host.amounts),
            ("strings", "string", host.strings),
            ("RESOURCES", "boolean", host.booleans),
        )
        for key, kind, names in carried:
            for name in sorted(names):
                if kinds.get(name, kind) != kind:
                    message = f"{name} is a {kinds[name]} resource, not a {kind} one"
                    yield Finding(("hosts", index, key), message)
    for index, shared in enumerate(instance.cluster.shared):
        if kinds[shared.name] not in ("numeric", "shared"):
            message = f"{shared.name} is a {kinds[shared.name]} resource and has no amount"
            yield Finding(("shared_resources", index, "name"), message)


def _amounts(instance: Instance) -> set[str]:
    """Numeric resources that jobs may reserve."""
    cluster = instance.cluster
    names = {"mem", "swp", "tmp", *(shared.name for shared in cluster.shared)}
    names.update(item.name for item in cluster.resources if item.kind == "numeric")
    for host in cluster.hosts:
        names.update(host.amounts)
    return names


def _limits(instance: Instance) -> Iterator[Finding]:
    known = {"slots", "jobs", *_amounts(instance)}
    queues = [queue.name for queue in instance.queues]
    for index, limit in enumerate(instance.limits):
        place: Location = ("limits", index)
        if not limit.amounts and limit.slots_per_processor is None:
            yield Finding(place, "limits nothing: give SLOTS, JOBS, MEM, RESOURCE or the like")
        for name in limit.amounts:
            if name not in known:
                message = f"unknown resource {name!r}{nearest(name, known)}"
                yield Finding((*place, "RESOURCE"), message, undefined=True)
        per_host = limit.hosts is not None and limit.hosts.each
        if limit.slots_per_processor is not None and not per_host:
            yield Finding((*place, "SLOTS_PER_PROCESSOR"), "needs PER_HOST")
        if limit.queues is not None:
            for name in (*limit.queues.names, *limit.queues.excluded):
                if name != "all" and name not in queues:
                    key = "PER_QUEUE" if limit.queues.each else "QUEUES"
                    message = f"unknown queue {name!r}{nearest(name, queues)}"
                    yield Finding((*place, key), message, undefined=True)
        if limit.hosts is not None:
            for name in (*limit.hosts.names, *limit.hosts.excluded):
                if instance.cluster.expand(name) is None:
                    key = "PER_HOST" if limit.hosts.each else "HOSTS"
                    message = unknown_host(instance.cluster, name)
                    yield Finding((*place, key), message, undefined=True)


def _usage(instance: Instance) -> Iterator[Finding]:
    """ReservationUsage is for user-defined numeric resources (RSV-08)."""
    known = _amounts(instance) - {"mem", "swp", "tmp"}
    for usage in instance.reservation_usage:
        place: Location = ("reservation_usage", usage.resource)
        if usage.resource in ("mem", "swp", "tmp", "slots"):
            message = f"{usage.resource} is built in: RESOURCE_RESERVE_PER_SLOT governs it"
            yield Finding(place, message)
        elif usage.resource not in known:
            message = f"unknown numeric resource {usage.resource!r}{nearest(usage.resource, known)}"
            yield Finding(place, message, undefined=True)


def _reservations(instance: Instance) -> Iterator[Finding]:
    slots = {host.name: host.slots for host in instance.cluster.hosts}
    for index, item in enumerate(instance.advance_reservations):
        place: Location = ("advance_reservations", index)
        if item.end <= item.start:
            yield Finding((*place, "end"), "must be later than start")
        for host, count in item.slots.items():
            if host not in slots:
                message = f"unknown host {host!r}{nearest(host, slots)}"
                yield Finding((*place, "allocation"), message, undefined=True)
            elif count > slots[host]:
                message = f"{host} has {slots[host]} slots, not {count}"
                yield Finding((*place, "allocation"), message)


# --- fairshare ----------------------------------------------------------------------------------

_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


def _shares(instance: Instance) -> Iterator[Finding]:
    """Rules of fairshare and of pools (FSH-01 … FSH-13, QBF-01)."""
    from ..share_rules import share_problems, share_warnings

    problems, warnings = list(share_problems(instance)), list(share_warnings(instance))
    places = _job_places(instance) if problems or warnings else {}
    for problem in problems:
        place = _place(problem, places)
        flags = {"undefined": problem.undefined, "undecided": problem.undecided}
        yield Finding(place, problem.message, **flags)
    for problem in warnings:
        yield Finding(_place(problem, places), problem.message, warning=True)


def _place(problem: Problem, jobs: dict[str, Location]) -> Location:
    if problem.path in jobs:
        return jobs[problem.path]
    return tuple(int(number) if number else name for name, number in _STEP.findall(problem.path))


def _job_places(instance: Instance) -> dict[str, Location]:
    running = [item.job for item in instance.running]
    sections = (("running", running), ("pending", instance.pending), ("future", instance.future))
    return {
        f"job {job.id}": (section, index)
        for section, jobs in sections
        for index, job in enumerate(jobs)
    }
