"""Rank of a pending job by absolute priority (APS-01) or Slurm's multifactor priority."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ...model.display import data_of
from ...model.instance import Instance
from ...model.job import Job
from ...model.shares import aps_groups
from ...model.slurm_priority import age_factor
from ..fairshare.absolute_order import AbsoluteValue
from ..fairshare.association_use import association_use
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
            return f"{text}, behind {self.before.id} with an equal value, submitted earlier"
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


@dataclass(frozen=True, slots=True)
class MultifactorRank:
    """The place of one job among the pending jobs of its partition."""

    #: Name of the partition.
    partition: str
    #: Rank of the job, 1 for the first.
    rank: int
    #: Number of pending jobs of the partition.
    count: int
    #: Priority of the job.
    priority: int
    #: Whether an administrator has set the priority, so that it has no parts.
    is_set: bool = False
    #: Age part, None if age does not count.
    age: int | None = None
    #: Fairshare part, None if fairshare does not count or the job has no association.
    fairshare: int | None = None
    #: Fairshare factor of the association.
    factor: float = 0.0
    #: LevelFS of the association, None under the classic formula.
    level: float | None = None
    #: User and account of the association.
    association: str = ""
    #: Id of the job right before it, "" if it is the first.
    behind: str = ""
    #: Priority of the job right before it.
    priority_before: int = 0

    @property
    def others(self) -> int:
        """Return the sum of the parts that stay: job size, partition, QOS, TRES, site, nice."""
        return self.priority - (self.age or 0) - (self.fairshare or 0)

    def __str__(self) -> str:
        where = f"rank {self.rank} of {self.count} in partition {self.partition}"
        text = f"has priority {self.priority}, {where}"
        if self.is_set:
            text += ": set by an administrator, it does not change"
        else:
            text += f": {', '.join(self._parts())}"
        if not self.behind:
            return text
        return f"{text}; behind {self.behind} with {self.priority_before}"

    def _parts(self) -> list[str]:
        found = []
        if self.fairshare is not None:
            level = "" if self.level is None else f", LevelFS {self.level:.3f}"
            what = f"FairShare {self.factor:.6f} of {self.association}{level}"
            found.append(f"fairshare {self.fairshare} ({what})")
        if self.age is not None:
            found.append(f"age {self.age}")
        return [*found, f"job size, partition, QOS and the other parts {self.others}"]

    def to_dict(self) -> dict[str, Any]:
        """Return the rank as JSON data."""
        level = self.level if self.level is not None and math.isfinite(self.level) else None
        return {
            **data_of(self, "partition rank of=count priority set_by_administrator=is_set age"),
            "fairshare": self.fairshare,
            "fairshare_factor": None if self.fairshare is None else self.factor,
            "level_fs": level,
            "association": self.association,
            "other_parts": None if self.is_set else self.others,
            "behind": self.behind or None,
            "priority_before": self.priority_before if self.behind else None,
        }


def multifactor_rank(instance: Instance, job: Job) -> MultifactorRank | None:
    """Return the present rank of a pending job, None if no priority has parts that move."""
    params = instance.params
    if not params.scheduler.is_multifactor or not params.grows_priorities:
        return None
    jobs = [other for other in instance.pending if other.queue == job.queue]
    ordered = sorted(
        jobs, key=lambda other: (-params.priority_at(other, instance.now), *other.queue_position)
    )
    names = [other.id for other in ordered]
    at = names.index(job.id)
    before = ordered[at - 1] if at else None
    age, use = age_factor(params.select_parameters), association_use(instance)
    number = None if use is None else use.association(job)
    shares = None if use is None or number is None else use.shares()[number]
    factor = 0.0 if shares is None else shares.factor or 0.0
    return MultifactorRank(
        job.queue,
        at + 1,
        len(names),
        params.priority_at(job, instance.now),
        job.has_fixed_priority,
        None if age is None else age.part(job, instance.now),
        None if use is None or shares is None else int(use.rule.weight * factor),
        factor,
        None if shares is None else shares.level,
        "" if number is None else instance.associations[number].title,
        "" if before is None else before.id,
        0 if before is None else params.priority_at(before, instance.now),
    )
