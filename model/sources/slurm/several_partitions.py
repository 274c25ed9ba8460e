"""Pending jobs whose starts depend on the partition of a job with several partitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...job import Job
from .seen import SlurmJob, SlurmState

#: Omission for jobs behind one that waits in several partitions.
BEHIND = "that jobs ahead of it in several partitions can start in another than their first"


def behind_others(
    seen: SlurmState, waiting: Iterable[SlurmJob], pending: Iterable[Job]
) -> Iterator[str]:
    """Yield the pending jobs that follow a job in several partitions and may use its nodes.

    waiting: records of the jobs that are pending. Jobs of equal rank may be behind.
    """
    jobs = list(pending)
    priority = {job.id: job.priority or 0 for job in jobs}
    arrays = {job.array_id: job.priority or 0 for job in jobs if job.array_id}
    tiers = {item.name: item.tier for item in seen.partitions}
    nodes = _nodes_of(seen)
    ahead: dict[tuple[str, ...], tuple[tuple[int, int], set[str]]] = {}
    for item in waiting:
        own_priority = priority.get(item.full_id, arrays.get(item.id))
        if len(item.partitions) < 2 or own_priority is None:  # one partition, or an omitted job
            continue
        rank = (max(tiers.get(name, 1) for name in item.partitions), own_priority)
        known = ahead.get(item.partitions)
        ids = {item.full_id, item.id} | (set() if known is None else known[1])
        ahead[item.partitions] = (rank if known is None else max(rank, known[0]), ids)
    for job in jobs:
        if job.reservation:  # nodes of a reservation are not shared
            continue
        own = nodes.get(job.queue, set())
        rank = (tiers.get(job.queue, 1), job.priority or 0)
        for names, (first, ids) in ahead.items():
            alone = ids <= {job.id, job.array_id or job.id}
            if not alone and rank <= first and any(own & nodes.get(name, set()) for name in names):
                yield job.id
                break


def _nodes_of(seen: SlurmState) -> dict[str, set[str]]:
    """Return the nodes of each partition: its own list, else the nodes that name it."""
    found: dict[str, set[str]] = {}
    for node in seen.nodes:
        for name in node.partitions:
            found.setdefault(name, set()).add(node.name)
    for item in seen.partitions:
        if item.nodes is not None:
            found[item.name] = set(item.nodes)
    return found
