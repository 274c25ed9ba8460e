"""The jobs of a backfill cycle in Slurm's order: each once for every partition it waits in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...model.configuration import Queue
from ...model.instance import Instance
from ...model.job import HostRequest
from ...model.slurm_partitions import partitions_of
from ..availability.demand import Demand
from ..availability.resources import BoolArray
from ..problem import PlanningProblem


@dataclass(frozen=True, slots=True)
class Attempt:
    """A job in one of its partitions."""

    demand: Demand
    #: Nodes of the partition, [H]; None if the job waits in no other.
    nodes: BoolArray | None = None


def with_all_nodes(instance: Instance) -> Instance:
    """Return the instance with the nodes of all partitions in each queue that stands for several.

    A cycle itself keeps a job on the nodes of one partition.
    """
    return replace(
        instance, queues=tuple(_with_all_nodes(instance, queue) for queue in instance.queues)
    )


def _with_all_nodes(instance: Instance, queue: Queue) -> Queue:
    names = partitions_of(instance, queue.name)
    if len(names) == 1:
        return queue
    members = [instance.queue(name) for name in names]
    hosts: tuple[HostRequest, ...] = ()
    if all(member.hosts for member in members):
        hosts = tuple(dict.fromkeys(host for member in members for host in member.hosts))
    return replace(queue, hosts=hosts, res_req=members[0].res_req)


def attempts(problem: PlanningProblem, demands: Sequence[Demand]) -> list[Attempt]:
    """Return the attempts of a cycle: by the tier of the partition, then priority and place."""
    instance = problem.instance
    partitions = {demand.job.id: partitions_of(instance, demand.job.queue) for demand in demands}
    if all(len(names) == 1 for names in partitions.values()):
        return [Attempt(demand) for demand in demands]
    index = problem.resolver.host_index()
    place = {job.id: number for number, job in enumerate(instance.pending)}
    tiers = {queue.name: queue.priority for queue in instance.queues}
    default = instance.params.default_priority
    found: list[tuple[tuple[int, int, int], Attempt]] = []
    for demand in demands:
        job, names = demand.job, partitions[demand.job.id]
        priority = default if job.priority is None else job.priority
        for name in names:
            nodes = _nodes_of(instance, name, index) if len(names) > 1 else None
            key = (-tiers.get(name, 0), -priority, place[job.id])
            found.append((key, Attempt(demand, nodes)))
    return [attempt for _, attempt in sorted(found, key=lambda item: item[0])]


def _nodes_of(instance: Instance, partition: str, index: Mapping[str, int]) -> BoolArray:
    """Return the nodes of a partition, [H]."""
    hosts: Iterable[HostRequest] = instance.queue(partition).hosts
    names = [host.name for host in hosts]
    nodes = np.full(len(index), not names)
    nodes[[index[name] for name in names]] = True
    return nodes
