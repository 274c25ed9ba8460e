"""Probes of how slots and memory are reserved, for how long, for whom, and of backfill."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....model.instance import Instance
from ....model.job import Job
from ....model.params import Params
from ....model.queue import Queue
from ....model.time_text import duration_text
from .probes import Probe, SettingChange
from .settings import FEW, params_with, queue_with, round_from

#: Cycles that are enough where nobody knows how long the job waits.
LONG_WAIT = 10080


@dataclass(frozen=True, slots=True)
class JobInLine:
    """What a probe has to know of the job. rank: its place in line, 1 the first.

    wait: seconds until it starts as configured, None for never. memory: whether it asks for memory
    or another amount that a reservation would have to hold.
    """

    job: Job
    rank: int
    wait: int | None
    memory: bool


def reserving_probes(instance: Instance, need: JobInLine) -> Iterator[Probe]:
    """What of the reservations of the job could be otherwise."""
    queue, params = instance.queue(need.job.queue), instance.params
    enough = LONG_WAIT
    if need.wait is not None:
        enough = -(-need.wait // params.mbd_sleep_time)
    cycles = queue.reserve_cycles
    if cycles is None:
        yield _no_reservation(instance, queue, need, enough)
    else:
        yield _expires(params, queue, cycles, enough)
        if need.memory and not queue.holds_memory:
            yield _memory_not_reserved(queue, cycles, enough)
    if not queue.backfill:
        yield _no_backfill(queue)
    if cycles is not None:
        yield from looking_ahead_probes(params, need.rank)
    if params.modules is not None:
        yield _module(params)


def _reserve_key(queue: Queue) -> tuple[str, str]:
    """The key that counts, as LSF has it and as a field."""
    if queue.resource_reserve is not None:
        return "RESOURCE_RESERVE", "resource_reserve"
    return "SLOT_RESERVE", "slot_reserve"


def _reserve(queue: Queue, key: tuple[str, str], cycles: int) -> SettingChange:
    value = f"MAX_RESERVE_TIME[{cycles}]"
    return SettingChange(
        f"lsb.queues, queue {queue.name}",
        f"{key[0]} = {value}",
        queue_with(queue.name, **{key[1]: cycles}),
        f"queues.{queue.name}.{key[0]}={value}",
    )


def _expires(params: Params, queue: Queue, cycles: int, enough: int) -> Probe:
    key = _reserve_key(queue)
    lasts = duration_text(cycles * params.mbd_sleep_time)
    cause = (
        f"reservations of queue {queue.name} expire after {cycles} dispatch cycles ({lasts}): "
        f"{key[0]} = MAX_RESERVE_TIME[{cycles}]"
    )
    steps = [_reserve(queue, key, number) for number in round_from(cycles, enough)]
    return Probe("reservation expires", cause, tuple(steps))


def _no_reservation(instance: Instance, queue: Queue, need: JobInLine, enough: int) -> Probe:
    key = ("SLOT_RESERVE", "slot_reserve")
    if need.memory:
        key = ("RESOURCE_RESERVE", "resource_reserve")
    others = any(other.reserve_cycles is not None for other in instance.queues)
    whose = f"queue {queue.name} reserves" if others else "no queue reserves"
    no = "no slots" if others else "slots"
    cause = (
        f"{whose} {no} for jobs that wait: neither SLOT_RESERVE nor RESOURCE_RESERVE is set in "
        f"queue {queue.name}"
    )
    steps = [_reserve(queue, key, number) for number in round_from(0, enough)]
    return Probe("no reservation", cause, tuple(steps))


def _memory_not_reserved(queue: Queue, cycles: int, enough: int) -> Probe:
    cause = (
        f"queue {queue.name} reserves slots but no memory for jobs that wait: SLOT_RESERVE is set "
        "and RESOURCE_RESERVE is not"
    )
    key = ("RESOURCE_RESERVE", "resource_reserve")
    numbers = (cycles, *round_from(cycles, enough))
    return Probe(
        "memory not reserved", cause, tuple(_reserve(queue, key, number) for number in numbers)
    )


def _no_backfill(queue: Queue) -> Probe:
    cause = (
        f"queue {queue.name} has no BACKFILL: its jobs may not use slots that are reserved for "
        "jobs before them, not even in gaps that are long enough"
    )
    change = SettingChange(
        f"lsb.queues, queue {queue.name}",
        "BACKFILL = Y",
        queue_with(queue.name, backfill=True),
        f"queues.{queue.name}.BACKFILL=Y",
    )
    return Probe("no backfill", cause, (change,))


def looking_ahead_probes(params: Params, rank: int) -> Iterator[Probe]:
    """Future allocations for more jobs, up to the place of the job in line."""
    today = params.time_reserve_numjobs
    if rank <= today:
        return
    numbers = round_from(today, rank, FEW)
    steps = [
        SettingChange(
            "lsf.conf",
            f"LSB_TIME_RESERVE_NUMJOBS = {number}",
            params_with(time_reserve_numjobs=number),
            f"LSB_TIME_RESERVE_NUMJOBS={number}",
        )
        for number in numbers
    ]
    if not steps:
        return
    if today:
        cause = (
            f"only the first {today} jobs in line get a future allocation, and it is number "
            f"{rank}: LSB_TIME_RESERVE_NUMJOBS = {today}"
        )
        yield Probe("too few reservations", cause, tuple(steps))
        return
    cause = (
        "greedy reservation takes slots as they come free, without a look at hosts or at when the "
        "others end: LSB_TIME_RESERVE_NUMJOBS is not set"
    )
    yield Probe("greedy estimate", cause, tuple(steps))


def _module(params: Params) -> Probe:
    missing = [
        name for name in ("schmod_parallel", "schmod_reserve") if name not in (params.modules or ())
    ]
    cause = f"the scheduler does not load {' and '.join(missing or ['all modules'])}"
    wanted = (*(params.modules or ()), *missing)
    change = SettingChange("lsb.modules", f"load {', '.join(missing)}", params_with(modules=wanted))
    return Probe("scheduler module", cause, (change,))
