"""Where policies let each pending job start at all: shares, host partitions, slot pools."""

from __future__ import annotations

from dataclasses import dataclass

from ...model.instance import Instance
from .dispatch_order import order_policy
from .queue_order import has_policy


@dataclass(frozen=True, slots=True)
class Admission:
    """What the policies say of one pending job.

    hosts: sets of host names, of which a start may use one; None for all hosts. refused: why the
    job has no share anywhere, "" if it has. pooled: whether a slot pool decides how many slots its
    queue may have at any time.
    """

    hosts: tuple[frozenset[str], ...] | None = None
    refused: str = ""
    pooled: bool = False


def admissions(instance: Instance) -> dict[str, Admission]:
    """What the policies say of the pending jobs, by id; {} where nothing but the queues decides."""
    if not has_policy(instance):
        return {}
    order = order_policy(instance)
    pooled = {queue.name for queue in instance.queues if queue.slot_pool}
    sets: dict[str, list[frozenset[str] | None]] = {}
    withheld: dict[str, str] = {}
    order.begin(instance.now, instance.pending)
    while (offer := order.next()) is not None:
        if offer.withheld:
            withheld[offer.job.id] = offer.withheld
        else:
            sets.setdefault(offer.job.id, []).append(offer.hosts)
        order.skipped(offer.job)
    found: dict[str, Admission] = {}
    for job in instance.pending:
        pool = job.queue in pooled
        hosts = sets.get(job.id, [])
        refused = "" if hosts or pool else withheld.get(job.id, "")
        anywhere = not hosts or any(item is None for item in hosts)
        named = None if anywhere else tuple(item for item in hosts if item)
        found[job.id] = Admission(named, refused, pool)
    return found
