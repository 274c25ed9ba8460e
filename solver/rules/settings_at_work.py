"""The settings behind a rule that an estimate leaves out, with the queue that has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from ...model.instance import Instance
from ...model.queue import Queue
from .left_out import FEW_LOOK_AHEAD, RUN_OUT

#: Queues that are named with their settings; of more none is.
MOST_QUEUES = 2


def setting_of(rule: str, instance: Instance, jobs: Iterable[str]) -> str:
    """``MAX_RESERVE_TIME[5] in queue normal``: what makes a rule bind these jobs, "" if unknown.

    rule: its name, as notes have it. jobs: ids of pending jobs.
    """
    if rule == FEW_LOOK_AHEAD:
        number = instance.params.time_reserve_numjobs
        return f"LSB_TIME_RESERVE_NUMJOBS {f'= {number}' if number else 'is not set'}"
    ids = set(jobs)
    used = dict.fromkeys(job.queue for job in instance.pending if job.id in ids)
    queues = [instance.queue(name) for name in used]
    named = _NAMED.get(rule)
    if named is None or len(queues) > MOST_QUEUES:
        return ""
    texts = (f"{text} in queue {queue.name}" for queue in queues for text in named(instance, queue))
    return ", ".join(texts)


def _run_out(_: Instance, queue: Queue) -> Iterator[str]:
    slots, amounts = queue.slot_reserve, queue.resource_reserve
    key, cycles = ("SLOT_RESERVE", slots) if amounts is None else ("RESOURCE_RESERVE", amounts)
    if cycles is not None:
        yield f"{key} = MAX_RESERVE_TIME[{cycles}]"


def _windows(_: Instance, queue: Queue) -> Iterator[str]:
    if queue.dispatch_window:
        yield f"DISPATCH_WINDOW = {queue.dispatch_window}"
    if queue.run_window:
        yield f"RUN_WINDOW = {queue.run_window}"


def _intervals(instance: Instance, queue: Queue) -> Iterator[str]:
    own = queue.job_accept_interval
    interval = instance.params.job_accept_interval if own is None else own
    if interval:
        yield f"JOB_ACCEPT_INTERVAL = {interval}"


def _none_reserved(_: Instance, queue: Queue) -> Iterator[str]:
    if queue.reserve_cycles is None:
        yield "no SLOT_RESERVE"


_NAMED: Mapping[str, Callable[[Instance, Queue], Iterable[str]]] = {
    RUN_OUT: _run_out,
    "dispatch and run windows": _windows,
    "JOB_ACCEPT_INTERVAL": _intervals,
    "that only queues with SLOT_RESERVE or RESOURCE_RESERVE reserve": _none_reserved,
}
