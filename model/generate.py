"""Random instances that look like real clusters: enclosures, racks, memory, a deep queue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .cluster import Cluster, ComputeUnit, Gpus, Host
from .configuration import Limit, Params, Queue, Scope
from .display import HOUR
from .errors import InputError, Problem
from .instance import Instance
from .job import ArraySpec, Job, RunningJob, elements, ranges_of

SLOTS = 16
MEMORY = 65536
#: Run limits in hours, each with its probability.
_LIMITS = ((1, 0.25), (2, 0.2), (4, 0.25), (8, 0.15), (12, 0.1), (24, 0.05))
#: Job sizes in slots, each with its probability.
_SIZES = (
    (1, 0.3),
    (2, 0.12),
    (4, 0.14),
    (8, 0.14),
    (16, 0.14),
    (32, 0.09),
    (64, 0.05),
    (128, 0.02),
)
_USERS = 20
#: Number of hosts that are examined first for a running job.
WINDOW = 64


def generate(
    *,
    hosts: int = 100,
    per_enclosure: int = 16,
    per_rack: int = 4,
    running: int = 500,
    pending: int = 50,
    load: float = 0.92,
    memory: bool = True,
    gpus: int = 0,
    array: int = 0,
    seed: int = 0,
) -> Instance:
    """Return a random instance; equal arguments give equal instances.

    hosts of 16 slots and 64 GB in enclosures of `per_enclosure` hosts and racks of `per_rack`
    enclosures; `running` jobs that bring the slots in use to the share `load`; `pending` jobs of
    every kind: plain, ptile, compute units, memory in phases, same[type], under a user limit.
    memory: hosts have memory and jobs reserve it. gpus: of each host; some jobs ask for them.
    array: elements of some of the pending jobs, which are job arrays then; at least a quarter of
    them run at once. Without the two the instance is the same as without these arguments.
    Raises InputError for arguments out of range.
    """
    _check(
        {"hosts": hosts, "per_enclosure": per_enclosure, "per_rack": per_rack},
        {"running": running, "pending": pending, "gpus": gpus, "array": array},
        load,
    )
    maker = _Maker(np.random.default_rng(seed), hosts, memory)
    cluster = Cluster(
        tuple(maker.host(number) for number in range(hosts)),
        unit_types=("enclosure", "rack"),
        default_unit_type="enclosure",
        units=_units(hosts, per_enclosure, per_rack),
    )
    running_jobs = maker.fill(running, load)
    shared: dict[str, Any] = {"backfill": True, "resource_reserve": 20, "res_req": "type==any"}
    made = Instance(
        cluster,
        queues=(
            # Hosts have two types, and jobs do not name a submission host.
            Queue("normal", 20, exclusive="CU[enclosure]", **shared),
            Queue("short", 30, run_limit_max=4 * HOUR, **shared),
        ),
        running=running_jobs,
        pending=tuple(maker.pending(number, per_enclosure) for number in range(pending)),
        limits=(Limit("per-user", {"slots": hosts * 4 + SLOTS}, users=Scope(("all",), each=True)),),
        params=Params(time_reserve_numjobs=min(pending, 4), default_queue="normal"),
        name=f"cluster-{hosts}",
        description=(
            f"A generated cluster: {hosts} hosts of {SLOTS} slots, {per_enclosure} in an enclosure "
            f"and {per_rack} enclosures in a rack; {len(running_jobs)} running and {pending} "
            f"pending jobs (seed {seed})."
        ),
    )
    # A random generator of its own, so that the option changes nothing else.
    random = np.random.default_rng((seed, 1))
    made = _with_gpus(made, gpus, random) if gpus else made
    return _with_arrays(made, array, random) if array else made


def _check(positive: Mapping[str, int], others: Mapping[str, int], load: float) -> None:
    problems = [
        Problem(f"must be {least} or more, not {value}", path=name)
        for least, counts in ((1, positive), (0, others))
        for name, value in counts.items()
        if value < least
    ]
    if not 0 <= load <= 1:
        problems.append(Problem(f"must be a fraction from 0 to 1, not {load:g}", path="load"))
    if problems:
        raise InputError(problems)


def _with_gpus(instance: Instance, count: int, random: np.random.Generator) -> Instance:
    """Add `count` GPUs to each host, with jobs that use and jobs that request them."""
    cluster = instance.cluster
    hosts = tuple(replace(host, gpus=Gpus(count)) for host in cluster.hosts)
    left = {host.name: count for host in hosts}
    running = []
    for item in instance.running:
        if random.random() < 0.5 and all(left[name] > 0 for name in item.allocation):
            item = replace(item, job=replace(item.job, gpu=_gpu_request(1)))
            for name in item.allocation:
                left[name] -= 1
        running.append(item)
    pending = tuple(
        replace(job, gpu=_gpu_request(int(random.integers(1, count + 1))))
        if random.random() < 0.3
        else job
        for job in instance.pending
    )
    return replace(
        instance, cluster=replace(cluster, hosts=hosts), running=tuple(running), pending=pending
    )


def _gpu_request(count: int) -> str:
    return f"num={count}:j_exclusive=yes"


def _with_arrays(instance: Instance, length: int, random: np.random.Generator) -> Instance:
    """Turn a fifth of the small pending jobs into arrays, half of them with a limit on elements."""
    pending: list[Job] = []
    for job in instance.pending:
        if job.slots > SLOTS or random.random() >= 0.4:
            pending.append(job)
            continue
        limit = int(random.integers(-(-length // 4), length + 1)) if random.random() < 0.5 else None
        name = replace(job, name=job.name or "array")
        pending += elements(name, ArraySpec(ranges_of(range(1, length + 1)), limit))
    return replace(instance, pending=tuple(pending))


def _units(hosts: int, per_enclosure: int, per_rack: int) -> tuple[ComputeUnit, ...]:
    enclosures: list[ComputeUnit] = []
    racks: dict[str, list[str]] = {}
    for first in range(0, hosts, per_enclosure):
        names = [_name(number) for number in range(first, min(hosts, first + per_enclosure))]
        rack = f"rack{len(enclosures) // per_rack + 1}"
        enclosures.append(ComputeUnit(f"enc{len(enclosures) + 1}", "enclosure", tuple(names), rack))
        racks.setdefault(rack, []).extend(names)
    return (
        *enclosures,
        *(ComputeUnit(name, "rack", tuple(names)) for name, names in racks.items()),
    )


def _name(number: int) -> str:
    return f"n{number + 1:05d}"


@dataclass(slots=True)
class _Maker:
    """Generator of hosts and jobs that tracks the free slots of each host."""

    #: Source of random numbers.
    random: np.random.Generator
    hosts: int
    #: Whether hosts have memory and jobs request it.
    memory: bool
    _free: NDArray[np.int64] = field(init=False)
    _spare: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self._free = np.full(self.hosts, SLOTS)
        self._spare = np.full(self.hosts, MEMORY)

    def host(self, number: int) -> Host:
        """Return one host; the last fifth have another type."""
        kind = "X86_64" if number < self.hosts * 4 // 5 else "ARM64"
        amounts = {"mem": float(MEMORY)} if self.memory else {}
        return Host(_name(number), SLOTS, type=kind, amounts=amounts)

    def _pick(self, choices: tuple[tuple[int, float], ...]) -> int:
        point = self.random.random() * sum(weight for _, weight in choices)
        for value, weight in choices:
            point -= weight
            if point < 0:
                return value
        return choices[-1][0]

    def _user(self) -> str:
        # A few users have most of the jobs.
        return f"user{int(_USERS * self.random.random() ** 2) + 1}"

    def fill(self, count: int, load: float) -> tuple[RunningJob, ...]:
        """Return `count` running jobs (fewer if hosts are full), slots in use up to `load`."""
        sizes = self._sizes(count, round(self.hosts * SLOTS * load))
        found = (self._running(number + 1, size) for number, size in enumerate(sizes))
        return tuple(job for job in found if job is not None)

    def _sizes(self, count: int, total: int) -> list[int]:
        """Return slots of each job: sampled sizes, halved or doubled to reach the total."""
        count = min(count, total)
        sizes = [self._pick(_SIZES) for _ in range(count)]
        excess = sum(sizes) - total
        while count and excess:
            index = int(self.random.integers(count))
            change = -min(excess, sizes[index] // 2) if excess > 0 else min(-excess, sizes[index])
            sizes[index] += change
            excess += change
        return sizes

    def _running(self, number: int, size: int) -> RunningJob | None:
        ptile = self._pick(((1, 0.2), (2, 0.2), (4, 0.3), (8, 0.2), (16, 0.1)))
        need = 1024 * self._pick(((1, 0.4), (2, 0.3), (4, 0.2), (8, 0.1)))
        fits = self._fitting(int(self.random.integers(self.hosts)), size, ptile, need)
        takes = np.minimum(self._free[fits], ptile)
        before = np.cumsum(takes) - takes
        takes = np.minimum(takes, size - before)[before < size]
        fits = fits[: len(takes)]
        if not len(fits):
            return None
        self._free[fits] -= takes
        self._spare[fits] -= need
        allocation = {_name(int(host)): int(slots) for host, slots in zip(fits, takes, strict=True)}
        limit = self._pick(_LIMITS) * HOUR
        elapsed = int(self.random.integers(0, limit // 60)) * 60
        job = Job(
            f"r{number}",
            slots=sum(allocation.values()),
            user=self._user(),
            queue="normal",
            res_req=(f"rusage[mem={need}]",) if self.memory else (),
            run_limit=limit,
            submit=-elapsed - 600,
        )
        return RunningJob(job, -elapsed, allocation)

    def _fitting(self, first: int, size: int, ptile: int, need: int) -> NDArray[np.int64]:
        """Return enough hosts with free slots for the job, from `first` on and cyclically."""
        found: list[NDArray[np.int64]] = []
        room, at, width = 0, first, WINDOW
        while room < size and at < first + self.hosts:
            end = min(at + width, first + self.hosts, self.hosts if at < self.hosts else 1 << 62)
            part = slice(at % self.hosts, at % self.hosts + end - at)
            fits = np.flatnonzero((self._free[part] > 0) & (self._spare[part] >= need))
            fits = fits + at % self.hosts
            found.append(fits)
            room += int(np.minimum(self._free[fits], ptile).sum())
            at, width = end, 2 * width
        return np.concatenate(found)

    def pending(self, number: int, per_enclosure: int) -> Job:
        """Return one pending job of a random kind."""
        size = self._pick(_SIZES)
        limit = self._pick(_LIMITS) * HOUR
        short = limit <= 4 * HOUR and size <= 16 and self.random.random() < 0.5
        return Job(
            f"p{number + 1}",
            slots=size,
            user=self._user(),
            queue="short" if short else "normal",
            res_req=self._requirement(size, per_enclosure, short=short),
            run_limit=limit,
            submit=-int(self.random.integers(1, 6 * 60)) * 60,
        )

    def _requirement(self, size: int, per_enclosure: int, *, short: bool) -> tuple[str, ...]:
        unit_slots = per_enclosure * SLOTS
        few = max(1, -(-2 * size // unit_slots))
        placements = [
            ("", 0.25),
            (f"span[ptile={min(size, 2 ** int(self.random.integers(0, 5)))}]", 0.25),
            ("same[type]" if size > 1 else "", 0.1),
            ("span[hosts=1]" if size <= SLOTS else f"span[ptile={SLOTS}]", 0.1),
            (f"cu[maxcus={few}]", 0.08),
            (f"cu[balance:maxcus={2 * few}]", 0.08),
            (f"cu[usablecuslots={max(1, size // 4)}]", 0.06),
            ("cu[type=rack:maxcus=1]" if size <= unit_slots else "cu[type=rack]", 0.05),
            ("" if short else "cu[excl]", 0.03),
        ]
        text = placements[self._pick(tuple((i, w) for i, (_, w) in enumerate(placements)))][0]
        whole = f"{text} {self._usage()}".strip() if self.memory else text
        return (whole,) if whole else ()

    def _usage(self) -> str:
        amount = 1024 * 2 ** int(self.random.integers(0, 5))
        kind = self.random.random()
        if kind < 0.3:
            return ""
        if kind < 0.8:
            return f"rusage[mem={amount}]"
        return f"rusage[mem=({2 * amount} {amount}):duration=({int(self.random.integers(5, 60))})]"
