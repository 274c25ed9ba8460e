"""Rank of a pending job by absolute priority, and the job right before it (APS-01)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...model.instance import Instance
from ...model.job import Job
from ...model.shares import aps_groups
from ..fairshare.absolute_order import AbsoluteValue
from ..fairshare.dispatch_order import order_policy


@dataclass(frozen=True, slots=True)
class AbsoluteRank:
    """The place of one job among the pending jobs of its APS group."""

    #: The queues of the group.
    queues: tuple[str, ...]
    #: Rank of the job, 1 for the first, and the number of jobs pending in the queue group.
    rank: int
    #: Number of jobs in the APS group.
    count: int
    #: Absolute priority of the job.
    value: AbsoluteValue
    #: The job right before it, None if it is the first.
    before: Job | None = None
    #: Absolute priority of the job before it; None: the first.
    value_before: AbsoluteValue | None = None

    def __str__(self) -> str:
        where = f"of queue{'s' * (len(self.queues) > 1)} {', '.join(self.queues)}"
        text = f"ranks {self.rank} of {self.count} by absolute priority {where}: {self.value.sum}"
        if self.before is None or self.value_before is None:
            return text
        if self.value_before.key == self.value.key:
            return f"{text}, behind {self.before.id} with the same, submitted before it"
        return f"{text}, behind {self.before.id} with {self.value_before.sum}"

    def to_dict(self) -> dict[str, Any]:
        """Return the rank as JSON data."""
        return {
            "queues": list(self.queues),
            "rank": self.rank,
            "of": self.count,
            "value": str(self.value),
            "terms": dict(self.value.terms or {}),
            "behind": None if self.before is None else self.before.id,
            "value_before": None if self.value_before is None else str(self.value_before),
        }


def absolute_rank(instance: Instance, job: Job) -> AbsoluteRank | None:
    """Return the present rank of a pending job, None if no absolute priority decides."""
    if not any(job.queue in group.queues for group in aps_groups(instance)):
        return None
    for absolute in order_policy(instance).absolute.values():
        queues = absolute.group.queues
        if job.queue not in queues:
            continue
        jobs = [other for other in instance.pending if other.queue in queues]
        standings = absolute.standings(jobs, instance.now)
        places = [other.id for other, _ in standings]
        if job.id not in places:
            return None
        at = places.index(job.id)
        before = standings[at - 1] if at else (None, None)
        return AbsoluteRank(queues, at + 1, len(places), standings[at][1], *before)
    return None
