"""JOB_ACCEPT_INTERVAL: a host that has just taken a job takes no other (TBR-16)."""

from __future__ import annotations

from collections.abc import Iterator

from .facts import Facts, Holding
from .violation import Violation


def accept_interval(facts: Facts) -> Iterator[Violation]:
    """No job starts on a host less than the interval of its queue after another did.

    Of jobs that are planned for the same second one may be accepted after the other only if the
    queue of the second has no interval: any order will do.
    """
    if not any(_interval(facts, name) for name in facts.queues):
        return
    for host, there in facts.by_host.items():
        facts.poll()
        for late in there:
            interval = _interval(facts, late.job.queue)
            if not late.planned or not interval:
                continue
            for early in there:
                if early is not late and _keeps_off(facts, early, late, interval):
                    text = (
                        f"job {late.job.id}: it starts on host {host} at {late.start} s, job "
                        f"{early.job.id} did at {early.start} s, less than {interval} s before "
                        "(JOB_ACCEPT_INTERVAL)"
                    )
                    yield Violation("accept-interval", text, late.job.id, host, late.start)


def _keeps_off(facts: Facts, early: Holding, late: Holding, interval: int) -> bool:
    if early.start == late.start and early.planned:
        both = bool(_interval(facts, early.job.queue))
        return both and early.job.id < late.job.id  # said of one of the two
    return early.start <= late.start < early.start + interval


def _interval(facts: Facts, queue: str) -> int:
    """Seconds for a job of this queue."""
    params = facts.instance.params
    own = facts.queues[queue].job_accept_interval
    cycles = params.job_accept_interval if own is None else own
    return cycles * params.mbd_sleep_time
