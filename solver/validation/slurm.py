"""Checks of a plan of method "slurm": Slurm's rules for a cycle, written independently.

The plan is an estimate: it ignores deadlines, and licences and limits of later instants, and it
rounds the times of its map. Each of its jobs fits given the running jobs, and those that start
later have their nodes to themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from itertools import pairwise

from ...model.instance import AdvanceReservation, Instance
from ...model.plan import Plan, PlannedJob, Unplaced
from ...model.slurm_version import GPUS_COUNT_OVER_NODES, PARTS_OF_TASKS, version_number
from .facts import Violation

#: Function that checks rules of capacity and hosts for a plan of a few jobs.
Judged = Callable[[Plan], Iterator[Violation]]


def slurm_faults(
    instance: Instance, plan: Plan, judged: Judged, over_limit: Callable[[Plan], bool]
) -> Iterator[Violation]:
    """Yield everything in the plan that a cycle of Slurm's backfill cannot have returned.

    over_limit: whether a plan of a few jobs exceeds a limit; a job that would do so if it started
    now reserves no node.
    """
    started = [item for item in plan.reservations if item.start == plan.now]
    later = [item for item in plan.reservations if item.start is not None and item not in started]
    yield from judged(_alone(instance, plan, started))
    for item in later:
        yield from judged(_alone(instance, plan, [*started, item]))
    for item in plan.reservations:
        if item.start is not None and item.start < plan.now:
            yield Violation("start", f"job {item.job}: it starts before now", item.job)
        if item.proved or item.bound is not None or item.proved_if:
            yield Violation("bound", f"job {item.job}: an estimate proves nothing", item.job)
    yield from _in_partitions(instance, plan)
    holding = [
        item
        for item in later
        if not over_limit(_alone(instance, plan, [*started, replace(item, start=plan.now)]))
    ]
    yield from _shared_nodes(instance, plan, holding)
    yield from _in_reservations(instance, plan)


def as_in_a_cycle(instance: Instance, few: Plan) -> Instance:
    """The instance as a cycle reads it for a plan of a few jobs: without the nodes of queues such
    as ``a/b``, which are checked apart, without reservations that it does not see, and without
    whole tasks if the version of Slurm does not keep them whole, and without the GPUs of a job
    that the version counts over several nodes.
    """
    own = {job.id: job.reservation for job in instance.pending}
    last = max(few.reservations, key=lambda item: item.start or 0, default=None)
    if last is not None:
        windows = instance.advance_reservations
        seen = [w for w in windows if w.name == own[last.job] or _is_seen(w, last, few.now)]
        instance = replace(instance, advance_reservations=tuple(seen))
    version = version_number(instance.params.scheduler_version)
    if version in PARTS_OF_TASKS:
        jobs = tuple(replace(job, res_req=_in_parts(job.res_req)) for job in instance.pending)
        instance = replace(instance, pending=jobs)
    if version in GPUS_COUNT_OVER_NODES:
        jobs = tuple(
            replace(job, gpu=re.sub(r"num=\d+/job", "num=1/host", job.gpu))
            for job in instance.pending
        )
        instance = replace(instance, pending=jobs)
    queues = {queue.name: queue for queue in instance.queues}
    for name, queue in list(queues.items()):
        if parts := _parts(instance, name):
            queues[name] = replace(queue, hosts=(), res_req=queues[parts[0]].res_req)
    return replace(instance, queues=tuple(queues.values()))


def _is_seen(window: AdvanceReservation, item: PlannedJob, now: int) -> bool:
    """Whether a cycle that examines a job at any instant from now on sees a reservation: it begins
    before the job would end if it started now. A later one is not seen at the first instants, at
    which a cycle may find any start.
    """
    length = float("inf") if item.finish is None else item.finish - (item.start or 0)
    return window.start < now + length


def _in_parts(requirements: tuple[str, ...]) -> tuple[str, ...]:
    """The requirement strings without span[block=n]; a job with memory for each CPU keeps it."""
    return tuple(
        text if "/task" in text else re.sub(r"\s*span\[block=\d+\]", "", text)
        for text in requirements
    )


def _parts(instance: Instance, name: str) -> list[str]:
    """The partitions of which a queue ``a/b`` takes any, [] for a queue that is one itself."""
    known = [queue.name for queue in instance.queues]
    parts = name.split("/")
    is_several = instance.params.family == "Slurm" and len(parts) > 1
    return parts if is_several and all(part in known for part in parts) else []


def _in_partitions(instance: Instance, plan: Plan) -> Iterator[Violation]:
    """A job in several partitions has nodes of one of them."""
    every = {host.name for host in instance.cluster.hosts}
    listed = {queue.name: {host.name for host in queue.hosts} for queue in instance.queues}
    queue_of = {job.id: job.queue for job in instance.pending}
    for item in plan.reservations:
        parts = _parts(instance, queue_of[item.job])
        used = set(item.allocation)
        if parts and not any(used <= (listed[part] or every) for part in parts):
            text = f"job {item.job}: its nodes are of none of {', '.join(parts)} alone"
            yield Violation("candidate", text, item.job)


def _alone(instance: Instance, plan: Plan, items: list[PlannedJob]) -> Plan:
    """Return the plan of these jobs alone; the others have no start."""
    names = {item.job for item in items}
    others = [job.id for job in instance.pending if job.id not in names]
    return replace(
        plan,
        reservations=tuple(items),
        unplaced=tuple(Unplaced(name, "not examined") for name in others),
        value=None,
        behind=0,
    )


def _in_reservations(instance: Instance, plan: Plan) -> Iterator[Violation]:
    """Yield jobs outside the time of their reservation, and other jobs on its nodes."""
    own = {job.id: job.reservation for job in instance.pending}
    for item in plan.reservations:
        if item.start is None:
            continue
        end = float("inf") if item.finish is None else item.finish
        inside = [w for w in instance.advance_reservations if w.name == own[item.job]]
        if inside and not any(
            w.start <= item.start and end <= w.end and item.allocation.keys() <= w.slots.keys()
            for w in inside
        ):
            text = f"job {item.job}: it is not inside its reservation {own[item.job]}"
            yield Violation("reservation", text, item.job, "", item.start)
        for window in instance.advance_reservations:
            nodes = item.allocation.keys() & window.slots.keys()
            if not _is_seen(window, item, plan.now):
                continue
            if window not in inside and nodes and item.start < window.end and end > window.start:
                text = f"job {item.job}: its nodes are those of reservation {window.name}"
                yield Violation("reservation", text, item.job, min(nodes), item.start)


def _shared_nodes(instance: Instance, plan: Plan, later: list[PlannedJob]) -> Iterator[Violation]:
    """Yield pairs of future jobs with a common node at the same time, by the map's rounding."""
    text = instance.params.scheduler_parameters
    found = re.search(r"(?:^|,)\s*bf_resolution=(\d+)", text)
    step = int(found[1]) if found and 1 <= int(found[1]) <= 3600 else 60
    window = re.search(r"(?:^|,)\s*bf_window=(\d+)", text)
    last = plan.now + 60 * (int(window[1]) if window and 1 <= int(window[1]) <= 43200 else 1440)
    zero = 0
    if instance.origin is not None:
        zero = int(datetime.fromisoformat(instance.origin).timestamp())
    spans: list[tuple[float, float, PlannedJob]] = []
    for item in later:
        assert item.start is not None
        end = float("inf") if item.finish is None else (zero + item.finish) // step * step
        if item.start <= last:
            spans.append(((zero + item.start) // step * step, end, item))
    by_node: dict[str, list[tuple[float, float, PlannedJob]]] = {}
    for begin, end, item in spans:
        for node in item.allocation:
            by_node.setdefault(node, []).append((begin, end, item))
    for node, held in by_node.items():
        held.sort(key=lambda span: span[:2])
        for (_, end, one), (begin, _, other) in pairwise(held):
            if begin < end:
                text = f"job {other.job}: node {node} is planned for job {one.job} then"
                yield Violation("slots", text, other.job, node, other.start)
