"""Selections by what is free: which of them may say something else as jobs start and end."""

from __future__ import annotations

from contextlib import suppress

from ...model.cluster import BUILTIN_AMOUNTS
from ...model.errors import InputError
from ...model.instance import Instance
from ..resolve import Resolver


def changing_selections(instance: Instance, resolver: Resolver) -> frozenset[str]:
    """Pending jobs (ids) whose selection may change with time.

    One by memory, swap or scratch space does not where no job reserves any and no host reports it.
    """
    selected: dict[str, frozenset[str]] = {}
    for job in instance.pending:
        with suppress(InputError):
            if names := resolver.selects_by_load(job):
                selected[job.id] = names
    if not selected:
        return frozenset()
    moved = {name for host in instance.cluster.hosts for name in host.load}
    for job in (*(run.job for run in instance.running), *instance.pending):
        with suppress(InputError):
            moved |= resolver.reserves(job)
    steady = frozenset(BUILTIN_AMOUNTS) - moved
    return frozenset(job for job, names in selected.items() if names - steady)
