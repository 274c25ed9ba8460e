"""Map of whole nodes over time, and the choice of nodes at one instant as Slurm makes it, without a
topology plugin.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...model.gpu_request import GpuRequest
from ...model.slurm_version import (
    CPUS_OF_TASKS_PER_NODE,
    FIRST_FITTING_NODE,
    GPUS_COUNT_OVER_NODES,
    PARTS_OF_TASKS,
    VersionNumber,
)
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
    #: Whether a node counts with `per_node` CPUs, not with all its free ones.
    counts_tasks: bool = False
    #: CPUs of a task: a node comes with whole tasks, or with no fewer CPUs than this.
    block: int = 1
    #: Whether a node that has a task counts with all its free CPUs, not with those of whole tasks.
    parts_of_tasks: bool = False
    #: Whether the job takes the first node that holds all of it, not the tightest.
    takes_first: bool = False
    #: GPUs of the job that count over the nodes examined, 0 if one node must have them all.
    gpus_over_nodes: int = 0
    #: Positions of the nodes that the job must have.
    required: tuple[int, ...] = ()

    @classmethod
    def of(cls, demand: Demand, version: VersionNumber, gpus: GpuRequest | None) -> JobShape:
        """Return the shape of a job with one term for a version of Slurm.

        gpus: the GPUs that it needs.
        """
        term, job = demand.terms[0], demand.job
        size = 0 if term.ptile is None else _ptile(term)
        is_counted = version in CPUS_OF_TASKS_PER_NODE or gpus is not None
        counts_tasks = is_counted and not job.exclusive
        if term.one_host or size == term.slots:
            of_job = gpus is not None and gpus.per == "job" and version in GPUS_COUNT_OVER_NODES
            return cls(
                term.slots, 1, 1, size or (term.slots if gpus else 0), counts_tasks=counts_tasks,
                takes_first=version in FIRST_FITTING_NODE,
                gpus_over_nodes=gpus.num if of_job and gpus is not None else 0,
            )  # fmt: skip
        first = term.first_hosts
        required = () if first is None else tuple(np.flatnonzero(first).tolist())
        if size:
            nodes = -(-term.slots // size)
            size = min(size, term.slots)
            return cls(
                term.slots, nodes, nodes, size, counts_tasks=counts_tasks, required=required
            )  # fmt: skip
        uses = (use for item in term.alternatives for use in item.host_uses)
        by_cpu = any(use.per is Per.SLOT and use.index != SLOTS for use in uses)
        return cls(
            term.slots, 1, None, block=term.block,
            parts_of_tasks=version in PARTS_OF_TASKS and not by_cpu, required=required,
        )  # fmt: skip


def _ptile(term: TermDemand) -> int:
    assert term.ptile is not None
    return max(1, int(term.ptile[term.candidates].max())) if len(term.candidates) else 1


@dataclass(slots=True)
class _NodeRun:
    """Usable nodes that are neighbours and have one weight."""

    nodes: list[int]
    weight: float
    cpus: int
    #: First required node of the run; None if it has none.
    required: int | None = None


@dataclass(slots=True)
class _Left:
    """CPUs and nodes that a job still needs."""

    cpus: int
    nodes: int

    @property
    def is_any(self) -> bool:
        return self.cpus > 0 or self.nodes > 0

    def take(self, taken: Allocation, host: int, free: int, per_node: int) -> None:
        """Take a node with `per_node` CPUs, 0: with as many as its free ones allow."""
        others = max(0, self.nodes - 1)  # every other node needs a CPU at least
        taken[host] = per_node or max(1, min(free, self.cpus - others))
        self.cpus -= taken[host]
        self.nodes -= 1


def choose_nodes(
    caps: IntArray,
    usable: BoolArray,
    weights: Sequence[float],
    shape: JobShape,
    gpus: GpusSeen | None = None,
) -> Allocation | None:
    """Return the CPUs by node, or None if the usable nodes do not suffice.

    caps: CPUs that the job can have on each node, [H]; usable: nodes that it may use, [H];
    gpus: those of the nodes if its GPUs count over several.
    """
    sizes = np.where(usable, sizes_of(caps, shape), 0)
    hosts = np.flatnonzero(sizes)
    if len(hosts) < shape.min_nodes or int(sizes.sum()) < shape.slots:
        return None
    free = dict(zip(hosts.tolist(), sizes[hosts].tolist(), strict=True))
    if not free.keys() >= set(shape.required):
        return None
    if shape.takes_first and gpus is not None:
        return gpus.first_node(free, weights, shape)
    if shape.takes_first:
        return {min(free, key=lambda host: (weights[host], host)): shape.slots}
    taken: Allocation = {}
    left = _Left(shape.slots, shape.min_nodes)
    for host in shape.required:
        left.take(taken, host, free[host], shape.per_node)
    runs = list(_runs(free, weights, shape.required))
    while runs and left.is_any:
        run = _best(runs, left)
        runs.remove(run)
        for host in _in_run(run, free, left):
            more = None if shape.max_nodes is None else shape.max_nodes - len(taken)
            if not left.is_any or more == 0:
                break
            if more != 1 or free[host] >= left.cpus:
                left.take(taken, host, free[host], shape.per_node)
    return None if left.is_any else _trimmed(taken, shape.slots)


@dataclass(slots=True)
class GpusSeen:
    """GPUs of the nodes over the tests of one job, whose GPUs count over the nodes examined."""

    #: Free GPUs, [H].
    free: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    #: GPUs found at the last look, by node: of one weight, nodes not yet examined come first.
    found: dict[int, int] = field(default_factory=dict)

    def first_node(
        self, cpus: Iterable[int], weights: Sequence[float], shape: JobShape
    ) -> Allocation | None:
        """Return the first node with the CPUs and a GPU at which the GPUs of all nodes before it
        and its own are as many as the job needs, None if there is none.
        """
        nodes = [host for host in cpus if self.free[host] > 0]
        nodes.sort(key=lambda host: (weights[host], host in self.found,
                                     -self.found.get(host, 0), host))  # fmt: skip
        total = 0
        for host in nodes:
            self.found[host] = min(int(self.free[host]), shape.gpus_over_nodes)
            total += self.found[host]
            if total >= shape.gpus_over_nodes:
                return {host: shape.slots}
        return None


def sizes_of(caps: IntArray, shape: JobShape) -> IntArray:
    """Return the number of CPUs of each node that count, [H]."""
    if shape.per_node:
        counted = shape.per_node if shape.counts_tasks else caps
        return np.where(caps >= shape.per_node, counted, 0)
    if shape.max_nodes == 1:
        return np.where(caps >= shape.slots, caps, 0)
    if shape.parts_of_tasks:
        return np.where(caps >= shape.block, caps, 0)
    return np.asarray(np.maximum(caps, 0) // shape.block * shape.block)


def _runs(
    free: dict[int, int], weights: Sequence[float], required: Sequence[int]
) -> Iterator[_NodeRun]:
    """Yield the runs of nodes; required nodes join their neighbours and are not taken again."""
    run: _NodeRun | None = None
    last = -1
    for host in sorted(free):
        if run is None or last != host - 1 or run.weight != weights[host]:
            if run is not None and run.nodes:
                yield run
            run = _NodeRun([], weights[host], 0)
        last = host
        if host not in required:
            run.nodes.append(host)
            run.cpus += free[host]
        elif run.required is None:
            run.required = host
    if run is not None and run.nodes:
        yield run


def _best(runs: Sequence[_NodeRun], left: _Left) -> _NodeRun:
    """Return the run of nodes to use: one next to a required node, else of the least weight, among
    equal ones the tightest sufficient, or the largest if none is sufficient.
    """

    def rank(run: _NodeRun) -> tuple[bool, float, bool, int]:
        short = run.cpus < left.cpus or len(run.nodes) < left.nodes
        return run.required is None, run.weight, short, -run.cpus if short else run.cpus

    return min(runs, key=rank)


def _in_run(run: _NodeRun, free: dict[int, int], left: _Left) -> list[int]:
    """Return the nodes of a run in allocation order.

    From a required node upwards, then downwards; without one, a single node is the tightest.
    """
    if run.required is not None:
        above = [host for host in run.nodes if host > run.required]
        return above + [host for host in reversed(run.nodes) if host < run.required]
    if left.nodes <= 1:
        fitting = [host for host in run.nodes if free[host] >= left.cpus]
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


#: No licences.
NO_LICENCES: Mapping[int, float] = {}


@dataclass(slots=True)
class MapRecord:
    """Nodes that no planned job has over [begin, end); seconds since 1970."""

    #: First second of the record.
    begin: int
    #: Second at which the record ends.
    end: int
    #: [H].
    free: BoolArray
    #: Licences in use, by pool.
    licences: dict[int, float] = field(default_factory=dict)

    def equals(self, other: MapRecord) -> bool:
        """Whether another record has the same nodes and licences."""
        return self.licences == other.licences and bool((self.free == other.free).all())


class NodeMap:
    """Records that follow each other, from the cycle to the end of the window."""

    def __init__(self, begin: int, end: int, free: BoolArray) -> None:
        self.records = [MapRecord(begin, end, free)]
        #: Whether equal neighbours are joined; a recorded Slurm with running licences did not.
        self.joins = True

    def take(
        self, begin: int, end: int, nodes: BoolArray, licences: Mapping[int, float] = NO_LICENCES
    ) -> None:
        """Take nodes whole, and licences, over [begin, end).

        Then one pair of equal neighbours becomes one record, as in Slurm: which times are tried for
        later jobs hangs on it.
        """
        begin = max(begin, self.records[0].begin)
        first = next((n for n, item in enumerate(self.records) if item.end >= begin), 0)
        self._split(begin)
        self._split(end)
        for record in self.records:
            if record.begin >= begin and record.end <= end:
                record.free = record.free & ~nodes
                for pool, amount in licences.items():
                    record.licences[pool] = record.licences.get(pool, 0.0) + amount
        if self.joins:
            self._join_one(max(0, first - 1), end)

    def _split(self, time: int) -> None:
        """Let a record begin at an instant."""
        for place, record in enumerate(self.records):
            if record.begin < time < record.end:
                later = MapRecord(time, record.end, record.free, dict(record.licences))
                record.end = time
                self.records.insert(place + 1, later)
                return

    def _join_one(self, place: int, end: int) -> None:
        """Join the first equal neighbours from a record on, up to the one that begins at `end`."""
        while place + 1 < len(self.records) and self.records[place].begin < end:
            record, following = self.records[place], self.records[place + 1]
            if record.equals(following):
                record.end = following.end
                del self.records[place + 1]
                return
            place += 1

    def overlaps(self, begin: int, end: int, nodes: BoolArray) -> bool:
        """Whether one of the nodes is taken at some instant of [begin, end)."""
        return any(
            record.end > begin and record.begin < end and bool((nodes & ~record.free).any())
            for record in self.records
        )

    def usable(
        self, time: int, end: int, nodes: BoolArray, *, looks_past_end: bool
    ) -> tuple[BoolArray, int | None]:
        """Return nodes that are free in every record that touches [time, end], and a later time to
        try.

        The later time is the end of the first record whose successor has another unusable node; the
        first record after `end` is the last one examined. looks_past_end: if there is none, it is
        the end of the record after that one, unless that is the last of all.
        """
        free, later = nodes.copy(), None
        for place, record in enumerate(self.records):
            if record.end <= time:
                continue
            if later is None and place + 1 < len(self.records):
                following = nodes & self.records[place + 1].free
                if (following & ~(free & record.free)).any():
                    later = record.end
            if record.begin > end:
                if looks_past_end and later is None and place + 2 < len(self.records):
                    later = self.records[place + 1].end
                break
            free &= record.free
        return free, later

    def short_until(
        self, time: int, end: int, needed: Mapping[int, float], capacity: Mapping[int, float]
    ) -> list[int]:
        """Return the ends of the records that touch [time, end] and have too few licences."""
        return [
            record.end
            for record in self.records
            if record.end > time
            and record.begin <= end
            and any(
                capacity[pool] - record.licences.get(pool, 0.0) < amount - 1e-6
                for pool, amount in needed.items()
            )
        ]
