"""Memory that running jobs hold, for the adjustment plug-ins (FSH-05)."""

from __future__ import annotations

from ...model.instance import Instance
from ..availability.free_now import parts_of
from ..resolve import Resolver


def held_memory(instance: Instance) -> dict[str, float]:
    """MB that each running job reserves at the instance's now, by job id."""
    resolver = Resolver.of(instance, reserving=False)
    index = instance.cluster.host_index()
    found: dict[str, float] = {}
    for running in instance.running:
        allocation = {index[name]: slots for name, slots in running.allocation.items()}
        elapsed = instance.now - running.start
        found[running.job.id] = sum(
            part.reservation.at(elapsed) * float(part.times.sum())
            for use, slots in resolver.running_uses(running, allocation)
            for part in parts_of(resolver.table, use, slots)
            if not part.pool and resolver.table.host_resources[part.index].name == "mem"
        )
    return found
