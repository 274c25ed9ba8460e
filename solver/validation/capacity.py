"""What hosts and shared resources have is enough at every instant (RSV, PLC-11, PLC-13, TBR-19).

A job never holds more later than at its start, so it is enough to look at the instants at which
planned jobs start and at which an advance reservation takes its slots away. What the running jobs
do among themselves is not the plan's fault: only a planned job is ever blamed. But a host on which
they hold more slots than it has is no host that a plan can be judged on, and is told.
"""

from __future__ import annotations

from collections.abc import Iterator

from .facts import SLACK, Facts, Holding
from .shape import blocked_hosts
from .usage import amount_of, of_shared, on_host
from .violation import Violation, shown


def running(facts: Facts) -> Iterator[Violation]:
    """The running jobs, suspended ones apart, hold no more slots of a host than it has."""
    held = dict.fromkeys(facts.hosts, 0)
    for item in facts.instance.running:
        if not item.suspended:
            for name, count in item.allocation.items():
                held[name] = held.get(name, 0) + count
    for host in facts.instance.cluster.hosts:
        if held[host.name] > host.slots:
            text = f"{host.name} has {host.slots} slots, the running jobs hold {held[host.name]}"
            yield Violation("running", text, host=host.name, time=facts.instance.now)


def slots(facts: Facts) -> Iterator[Violation]:
    """The slots in use on a host stay within its slots less those reserved in advance."""
    for time, jobs in instants(facts).items():
        facts.poll()
        for host, blamed in _by_host(jobs).items():
            active = [item for item in facts.by_host[host] if item.active(time)]
            used = sum(item.allocation[host] for item in active)
            reserved = reserved_in_advance(facts, host, time)
            have = facts.hosts[host].slots
            if used + reserved > have:
                less = f", {reserved} of them reserved in advance" if reserved else ""
                text = f"{used} slots in use on host {host} at {time} s, it has {have}{less}"
                yield blame("slots", blamed, text, host, time)


def amounts(facts: Facts) -> Iterator[Violation]:
    """mem, swp, tmp and user-defined amounts of each host suffice, phase by phase (RSV-01)."""
    for time, jobs in facts.starts().items():
        facts.poll()
        for host, blamed in _by_host([job for job in jobs if job.active(time)]).items():
            active = [item for item in facts.by_host[host] if item.active(time)]
            for resource in _reserved_names(blamed):
                have = amount_of(facts.hosts[host], resource)
                if have is None or not any(
                    on_host(facts, job, resource, host, time) > 0 for job in blamed
                ):
                    continue
                used = sum(on_host(facts, item, resource, host, time) for item in active)
                if used > have + SLACK:
                    text = f"{shown(used)} {resource} in use on host {host} at {time} s"
                    yield blame(resource, blamed, f"{text}, it has {shown(have)}", host, time)


def shared(facts: Facts) -> Iterator[Violation]:
    """Each location of a shared resource suffices (RSV-10)."""
    for time, jobs in facts.starts().items():
        facts.poll()
        blamed = [job for job in jobs if job.active(time)]
        for resource in _reserved_names(blamed):
            active: list[Holding] | None = None
            for location in facts.instance.cluster.shared:
                if location.name != resource or facts.hosts_have(resource):
                    continue
                guilty = [job for job in blamed if of_shared(facts, job, location, time) > 0]
                if active is None:
                    active = [item for item in facts.reserving(resource) if item.active(time)]
                used = sum(of_shared(facts, item, location, time) for item in active)
                if guilty and used > location.amount + SLACK:
                    text = f"{shown(used)} {resource} in use at {time} s"
                    text = f"{text}, there are {shown(location.amount)}"
                    yield blame(resource, guilty, text, "", time)


def alone(facts: Facts) -> Iterator[Violation]:
    """Hosts of -x jobs and units of cu[excl] jobs never hold another job (PLC-11, PLC-13)."""
    for owner in facts.holdings():
        facts.poll()
        blocked, rule = blocked_hosts(facts, owner)
        met: set[int] = set()
        for host in sorted(blocked):
            for other in facts.by_host.get(host, ()):
                if other is owner or id(other) in met or not owner.overlaps(other):
                    continue
                if owner.planned or other.planned:
                    met.add(id(other))
                    time = max(owner.start, other.start)
                    text = f"{rule} of job {owner.job.id} allows no other job on host {host}"
                    text = f"{text} at {time} s, job {other.job.id} is there"
                    guilty = owner if owner.planned else other
                    yield Violation("alone", text, guilty.job.id, host, time)
            yield from _reserved_from(facts, owner, host, rule)


def _reserved_from(facts: Facts, owner: Holding, host: str, rule: str) -> Iterator[Violation]:
    """An advance reservation counts as another job."""
    if facts.as_lsf or not owner.planned:
        return
    for window in facts.instance.advance_reservations:
        ends = owner.finish is None or window.start < owner.finish
        if window.slots.get(host) and ends and owner.start < window.end:
            time = max(owner.start, window.start)
            text = f"{rule} of job {owner.job.id} allows no other job on host {host}"
            text = f"{text} at {time} s, advance reservation {window.name} is there"
            yield Violation("alone", text, owner.job.id, host, time)


# --- look-ups ---------------------------------------------------------------------------------


def instants(facts: Facts) -> dict[int, list[Holding]]:
    """Instants to look at for slots, and the planned jobs to blame there."""
    found = {
        time: [job for job in jobs if job.active(time)] for time, jobs in facts.starts().items()
    }
    if not facts.as_lsf:
        for window in facts.instance.advance_reservations:
            if window.start > facts.instance.now:
                here = [
                    job
                    for job in facts.planned
                    if job.active(window.start) and job.start != window.start
                ]
                known = found.setdefault(window.start, [])
                known += [job for job in here if window.slots.keys() & job.allocation.keys()]
    return dict(sorted(found.items()))


def reserved_in_advance(facts: Facts, host: str, time: int) -> int:
    """Slots of a host that advance reservations set aside at `time`; none for LSF (TBR-19)."""
    if facts.as_lsf:
        return 0
    return sum(
        window.slots.get(host, 0)
        for window in facts.instance.advance_reservations
        if window.start <= time < window.end
    )


def blame(check: str, jobs: list[Holding], text: str, host: str, time: int) -> Violation:
    """A violation of all planned jobs that meet there; `job` names the last of them."""
    names = ", ".join(job.job.id for job in jobs)
    word = "job" if len(jobs) == 1 else "jobs"
    return Violation(check, f"{word} {names}: {text}", jobs[-1].job.id, host, time)


def _by_host(jobs: list[Holding]) -> dict[str, list[Holding]]:
    found: dict[str, list[Holding]] = {}
    for job in jobs:
        for host in job.allocation:
            found.setdefault(host, []).append(job)
    return found


def _reserved_names(jobs: list[Holding]) -> list[str]:
    """Resources that the jobs reserve, in their order, without repeats."""
    names = [item.resource for job in jobs for part in job.parts for item in part.reservations]
    return list(dict.fromkeys(names))
