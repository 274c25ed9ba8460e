"""Choice of nodes for a job at one instant as Slurm makes it, without a topology plugin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..availability.demand import Demand, TermDemand
from ..availability.resources import SLOTS, Allocation, BoolArray, IntArray, Per


@dataclass(frozen=True, slots=True)
class JobShape:
    """Number of CPUs and nodes that a job needs."""

    slots: int
    min_nodes: int
    #: None: any number.
    max_nodes: int | None
    #: CPUs of every node, 0 if they may differ.
    per_node: int = 0
    #: CPUs of a task: a node comes with whole tasks, or with no fewer CPUs than this.
    block: int = 1
    #: Whether a node that has a task counts with all its free CPUs, not with those of whole tasks.
    parts_of_tasks: bool = False

    @classmethod
    def of(cls, demand: Demand, *, parts_of_tasks: bool = False) -> JobShape:
        """Return the shape of a job with one term.

        parts_of_tasks: Slurm counts all CPUs of a node; if memory is requested by CPU, it does not.
        """
        term = demand.terms[0]
        if term.one_host:
            return cls(term.slots, 1, 1)
        if term.ptile is not None:
            size = _ptile(term)
            nodes = -(-term.slots // size)
            return cls(term.slots, nodes, nodes, min(size, term.slots))
        uses = (use for item in term.alternatives for use in item.host_uses)
        by_cpu = any(use.per is Per.SLOT and use.index != SLOTS for use in uses)
        return cls(
            term.slots, 1, None, block=term.block, parts_of_tasks=parts_of_tasks and not by_cpu
        )


def _ptile(term: TermDemand) -> int:
    assert term.ptile is not None
    return max(1, int(term.ptile[term.candidates].max())) if len(term.candidates) else 1


@dataclass(slots=True)
class _NodeRun:
    """Usable nodes that are neighbours and have one weight."""

    nodes: list[int]
    weight: float
    cpus: int


def choose_nodes(
    caps: IntArray, usable: BoolArray, weights: Sequence[float], shape: JobShape
) -> Allocation | None:
    """Return the CPUs by node, or None if the usable nodes do not suffice.

    caps: CPUs that the job can have on each node, [H]; usable: nodes that it may use, [H].
    """
    sizes = np.where(usable, _sizes(caps, shape), 0)
    hosts = np.flatnonzero(sizes)
    if len(hosts) < shape.min_nodes or int(sizes.sum()) < shape.slots:
        return None
    free = dict(zip(hosts.tolist(), sizes[hosts].tolist(), strict=True))
    runs = list(_runs(free, weights))
    taken: Allocation = {}
    cpus, nodes = shape.slots, shape.min_nodes
    while runs and (cpus > 0 or nodes > 0):
        run = _best(runs, cpus, nodes)
        runs.remove(run)
        for host in _in_run(run, free, cpus, nodes):
            if (cpus <= 0 and nodes <= 0) or len(taken) == shape.max_nodes:
                break
            left = max(0, nodes - 1)  # every other node needs a CPU at least
            taken[host] = shape.per_node or max(1, min(free[host], cpus - left))
            cpus -= taken[host]
            nodes -= 1
    if cpus > 0 or nodes > 0:
        return None
    return _trimmed(taken, shape.slots)


def _sizes(caps: IntArray, shape: JobShape) -> IntArray:
    """Return the number of CPUs of each node that count, [H]."""
    if shape.per_node:
        return np.where(caps >= shape.per_node, caps, 0)
    if shape.max_nodes == 1:
        return np.where(caps >= shape.slots, caps, 0)
    if shape.parts_of_tasks:
        return np.where(caps >= shape.block, caps, 0)
    return np.asarray(np.maximum(caps, 0) // shape.block * shape.block)


def _runs(free: dict[int, int], weights: Sequence[float]) -> Iterator[_NodeRun]:
    run: _NodeRun | None = None
    for host in sorted(free):
        if run is not None and run.nodes[-1] == host - 1 and run.weight == weights[host]:
            run.nodes.append(host)
            run.cpus += free[host]
            continue
        if run is not None:
            yield run
        run = _NodeRun([host], weights[host], free[host])
    if run is not None:
        yield run


def _best(runs: Sequence[_NodeRun], cpus: int, nodes: int) -> _NodeRun:
    """Return the run of nodes to use: the one with least weight, among equal ones the tightest
    sufficient.

    If none is sufficient, the largest. A sufficient run precedes one of less weight that is not.
    """
    best, enough = runs[0], _suffices(runs[0], cpus, nodes)
    for run in runs[1:]:
        suffices = _suffices(run, cpus, nodes)
        better = run.weight < best.weight or (suffices and not enough)
        if run.weight == best.weight and suffices == enough:
            better = run.cpus < best.cpus if suffices else run.cpus > best.cpus
        if better:
            best, enough = run, suffices
    return best


def _suffices(run: _NodeRun, cpus: int, nodes: int) -> bool:
    return run.cpus >= cpus and len(run.nodes) >= nodes


def _in_run(run: _NodeRun, free: dict[int, int], cpus: int, nodes: int) -> list[int]:
    """Return the nodes of a run in allocation order; a single node is the tightest."""
    if nodes <= 1:
        fitting = [host for host in run.nodes if free[host] >= cpus]
        if fitting:
            return [min(fitting, key=lambda host: free[host])]
    return run.nodes


def _trimmed(taken: Allocation, slots: int) -> Allocation:
    """Return the allocation without surplus CPUs of the last node."""
    over = sum(taken.values()) - slots
    for host in reversed(list(taken)):
        less = min(over, taken[host] - 1)
        taken[host] -= less
        over -= less
    return taken
