"""How much a job holds of a resource at an instant (RSV-08 … RSV-10)."""

from __future__ import annotations

from collections.abc import Callable

from ...model.cluster import Host, SharedResource
from ...model.reservation import Reservation
from .facts import Facts, Holding

#: Words behind an amount, mem=50/task, and what they mean.
_SAID = {"host": "PER_HOST", "task": "PER_SLOT", "job": "PER_JOB"}

#: Names that jobs know the GPUs of a host by; each is one of the same devices.
GPUS = ("ngpus_physical", "ngpus_excl_p", "ngpus_excl_t", "ngpus_shared", "ngpus")


def amount_of(host: Host, resource: str) -> float | None:
    """What a host has of a resource, None where it has none of it."""
    if resource not in GPUS:
        return host.amounts.get(resource)
    if host.gpus is not None:
        return float(host.gpus.count)
    found = [host.amounts[name] for name in GPUS if name in host.amounts]
    return found[0] if found else None


def method(facts: Facts, item: Reservation, default: str) -> str:
    """PER_JOB, PER_HOST or PER_SLOT, as the amount says or the cluster (RSV-08)."""
    if item.per:
        return _SAID[item.per]
    for usage in facts.instance.reservation_usage:
        if usage.resource == item.resource:
            return usage.method
    return "PER_SLOT" if facts.instance.params.reserve_per_slot else default


def on_host(facts: Facts, holding: Holding, resource: str, host: str, time: int) -> float:
    """Amount of a host-based resource that a job holds on one host.

    Once for the host by default, times the slots there with PER_SLOT, on the first host alone
    with PER_JOB (RSV-08).
    """
    total = 0.0
    names = GPUS if resource in GPUS else (resource,)
    for part in holding.parts:
        slots = part.allocation.get(host)
        if slots is None:
            continue
        for item in part.reservations:
            if item.resource not in names:
                continue
            counted = method(facts, item, "PER_HOST")
            if counted == "PER_JOB" and next(iter(part.allocation)) != host:
                continue
            times = slots if counted == "PER_SLOT" else 1
            total += times * item.planned_at(time - holding.start)
    return total


def of_shared(facts: Facts, holding: Holding, shared: SharedResource, time: int) -> float:
    """Amount of one location of a shared resource that a job holds through its hosts there.

    Once for the job by default. Static ones know no duration and no decay (RSV-10).
    """

    def inside(host: str) -> bool:
        return shared.hosts is None or host in shared.hosts

    return _shared_amount(facts, holding, shared.name, time, inside, static=shared.static)


def of_shared_on(
    facts: Facts, holding: Holding, resource: str, time: int, inside: Callable[[str], bool]
) -> float:
    """What a limit counts of a shared resource: what the job holds through hosts that it covers."""
    static = any(item.static for item in facts.instance.cluster.shared if item.name == resource)
    return _shared_amount(facts, holding, resource, time, inside, static=static)


def _shared_amount(
    facts: Facts,
    holding: Holding,
    resource: str,
    time: int,
    inside: Callable[[str], bool],
    *,
    static: bool,
) -> float:
    total = 0.0
    for part in holding.parts:
        there = [slots for host, slots in part.allocation.items() if inside(host)]
        times = {"PER_JOB": bool(there), "PER_HOST": len(there), "PER_SLOT": sum(there)}
        for item in part.reservations:
            if item.resource == resource:
                amount = item.initial if static else item.planned_at(time - holding.start)
                total += times[method(facts, item, "PER_JOB")] * amount
    return total
