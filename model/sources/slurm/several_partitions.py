"""Pending jobs in several partitions (``-p a,b``): each such list is a queue of its own.

A job starts in the partition where it starts first, on nodes of this partition alone. If the
partitions differ in nothing but their nodes, the queue has the nodes of all of them. Otherwise it
has those of the first partition, and the jobs that the others may change are named.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations

from ...job import Job
from ...omissions import Omission
from ...slurm_partitions import SEVERAL
from .seen import SlurmJob, SlurmPartition, SlurmState

#: Omission for jobs behind one that waits in several partitions.
BEHIND = Omission(
    "that jobs ahead of it in several partitions can start in another than their first"
)
#: Omissions for jobs behind a component of a heterogeneous job, and behind an omitted job.
BEHIND_HET = Omission("the common start of components of heterogeneous jobs ahead of it")
BEHIND_LEFT = Omission(
    "the nodes of jobs ahead of it inside reservations that are not planned", mark="reserved ahead"
)


@dataclass(frozen=True, slots=True)
class PartitionGroup:
    """The partitions of a job."""

    #: Their names, in the job's order, without those that never take it.
    names: tuple[str, ...]
    #: Whether they differ in nothing but their nodes, so that one plan holds for all of them.
    alike: bool
    #: Nodes of the group.
    nodes: frozenset[str]
    #: Whether a job needs the condition that its nodes are of one partition.
    apart: bool

    @property
    def name(self) -> str:
        """Return the name of the queue: ``a/b``."""
        return SEVERAL.join(self.names)

    @property
    def resource(self) -> str:
        """Return the string resource whose value on a node is the partition of the node."""
        return "of_" + re.sub(r"\W", "_", "_".join(self.names), flags=re.ASCII)


def in_taking(job: SlurmJob, longest: Mapping[str, float | None]) -> SlurmJob:
    """Return a pending job in those of its partitions that ever start it, in all if none does.

    longest: seconds that a job of a partition may request, None: any; -1 if it starts no job.
    """
    asked = job.limit if job.min_limit is None else job.min_limit
    asked = 0 if asked is None or math.isinf(asked) else asked
    names = tuple(dict.fromkeys(job.partitions))
    most = {name: longest.get(name) for name in names}
    kept = tuple(name for name, limit in most.items() if limit is None or asked <= limit)
    return replace(job, partitions=kept or names)


class PartitionGroups:
    """The groups of partitions that pending jobs name."""

    def __init__(self, seen: SlurmState) -> None:
        self.partitions = {item.name: item for item in seen.partitions}
        self.nodes = _nodes_of(seen)
        #: Whether priorities depend on the partition.
        self.by_factor = seen.settings.get("priorityweightpartition", "0") not in ("", "0")
        limited = {row.name for row in seen.limits if row.of == "qos"}
        #: Partitions whose QOS has limits, or for which users have associations of their own.
        self.limited = {item.name for item in seen.partitions if item.qos in limited}
        self.limited |= {row.values.get("partition", "") for row in seen.limits}
        self.made: dict[tuple[str, ...], PartitionGroup] = {}

    def of(self, job: SlurmJob) -> PartitionGroup | None:
        """Return the group of a pending job, None if it has one partition."""
        names = job.partitions
        if len(names) < 2:
            return None
        if names not in self.made:
            self.made[names] = self._group(names)
        return self.made[names]

    def _group(self, names: tuple[str, ...]) -> PartitionGroup:
        items = [self.partitions.get(name, SlurmPartition(name)) for name in names]
        sets = [frozenset(self.nodes.get(name, ())) for name in names]
        union = frozenset().union(*sets)
        nested = union in sets
        disjoint = not any(one & other for one, other in combinations(sets, 2))
        if not self.by_factor:
            items = [replace(item, job_factor=1) for item in items]
        same = all(_rules(item) == _rules(items[0]) and not item.named for item in items)
        is_simple = same and not self.limited & set(names) and items[0].sharing == "NO"
        alike = is_simple and (nested or disjoint)
        return PartitionGroup(names, alike, union if alike else sets[0], alike and not nested)

    @property
    def resources(self) -> list[str]:
        """Return the string resources of the groups whose partitions share no node."""
        return [group.resource for group in self.made.values() if group.apart]

    def strings(self, node: str) -> dict[str, str]:
        """Return the partitions of a node, by the resources of the groups."""
        return {
            group.resource: name
            for group in self.made.values()
            if group.apart
            for name in group.names
            if node in self.nodes.get(name, ())
        }

    def queues(self) -> Iterator[tuple[SlurmPartition, PartitionGroup]]:
        """Yield the description of each group that was asked for, as of one partition."""
        for group in self.made.values():
            first = self.partitions.get(group.names[0], SlurmPartition(group.names[0]))
            items = [self.partitions.get(name) for name in group.names]
            limits = [None if item is None else item.max_time for item in items]
            known = [limit for limit in limits if limit is not None]
            most = min(known, default=None) if group.alike else first.max_time
            nodes = tuple(sorted(group.nodes))
            yield replace(first, name=group.name, nodes=nodes, max_time=most), group


def _rules(item: SlurmPartition) -> SlurmPartition:
    """Return a partition without what may differ: its name, its nodes, and its longest job."""
    return replace(item, name="", nodes=None, default=False, max_time=None, max_nodes=None)


def planned_in_first(names: Iterable[str]) -> Omission:
    """Return the omission for a job that is planned in the first of its partitions alone."""
    listed = tuple(names)
    what = f"its other partitions: planned in {listed[0]} of {','.join(listed)}"
    return Omission(what, queues=(SEVERAL.join(listed),), mark="first partition")


def omitted_of(group: PartitionGroup, job: SlurmJob) -> Iterator[Omission]:
    """Yield why a start in several partitions is not planned as Slurm does."""
    if not group.alike:
        yield planned_in_first(group.names)
    elif job.limit is None:
        yield Omission(f"its time limit, which the partition gives ({','.join(group.names)})")


@dataclass(frozen=True, slots=True)
class JobAhead:
    """A pending job that may take nodes at another time or place than planned."""

    job: SlurmJob
    #: Its priority in the instance.
    priority: int
    #: Its partitions.
    partitions: tuple[str, ...]

    @property
    def whole(self) -> str:
        """Return the id of the heterogeneous job, of the array or of the job itself."""
        return self.job.het or self.job.id


def behind_others(
    groups: PartitionGroups,
    others: Iterable[JobAhead],
    pending: Iterable[Job],
    het: Mapping[str, str],
) -> Iterator[str]:
    """Yield the pending jobs that follow one of these and may use its nodes.

    Jobs of equal rank may be behind. het: heterogeneous job of each component.
    """
    tiers = {name: item.tier for name, item in groups.partitions.items()}

    def rank_of(names: Iterable[str], priority: int) -> tuple[int, int]:
        return max((tiers.get(name, 1) for name in names), default=1), priority

    ahead: dict[tuple[str, ...], tuple[tuple[int, int], set[str]]] = {}
    for item in others:
        rank = rank_of(item.partitions, item.priority)
        known = ahead.get(item.partitions)
        ids = {item.whole} | (set() if known is None else known[1])
        ahead[item.partitions] = (rank if known is None else max(rank, known[0]), ids)
    nodes = groups.nodes
    for job in pending:
        if job.reservation:  # nodes of a reservation are not shared
            continue
        names = job.queue.split(SEVERAL)
        own = set().union(*(nodes.get(name, set()) for name in names))
        rank = rank_of(names, job.priority or 0)
        for partitions, (first, ids) in ahead.items():
            alone = ids <= {het.get(job.id) or job.array_id or job.id}
            shared = any(own & nodes.get(name, set()) for name in partitions)
            if not alone and rank <= first and shared:
                yield job.id
                break


def _nodes_of(seen: SlurmState) -> Mapping[str, set[str]]:
    """Return the nodes of each partition: its own list, else the nodes that name it."""
    found: dict[str, set[str]] = {}
    for node in seen.nodes:
        for name in node.partitions:
            found.setdefault(name, set()).add(node.name)
    for item in seen.partitions:
        if item.nodes is not None:
            found[item.name] = set(item.nodes)
    return found
