"""Whether a host takes jobs at all at an instant, as far as load and past starts tell.

A place that the judge proposes must be one that the scheduler could have given: where it may be
closed it is taken for closed.
"""

from __future__ import annotations

from ...model.cluster import BUILTIN_AMOUNTS, INCREASING_INDICES
from .facts import SLACK, Facts, Holding
from .usage import on_host


def may_be_closed(facts: Facts, holding: Holding, host: str) -> bool:
    """Whether load (RSV-11) or JOB_ACCEPT_INTERVAL (TBR-16) may keep the job's start off a host."""
    return _has_just_accepted(facts, holding, host) or _beyond_sched(facts, holding, host)


def _has_just_accepted(facts: Facts, holding: Holding, host: str) -> bool:
    params = facts.instance.params
    cycles = facts.queues[holding.job.queue].job_accept_interval
    interval = (params.job_accept_interval if cycles is None else cycles) * params.mbd_sleep_time
    if not interval:
        return False
    there = facts.by_host.get(host, ())
    starts = [other.start for other in there if other.job.id != holding.job.id]
    return any(start <= holding.start < start + interval for start in starts)


def _beyond_sched(facts: Facts, holding: Holding, host: str) -> bool:
    """Beyond loadSched of the queue or the host; what jobs reserve of a load makes it doubtful."""
    it = facts.hosts[host]
    others = [
        other
        for other in facts.by_host.get(host, ())
        if other.job.id != holding.job.id and other.active(holding.start)
    ]
    for thresholds in (facts.queues[holding.job.queue].thresholds, it.thresholds):
        for name, limit in thresholds.sched.items():
            held = sum(on_host(facts, other, name, host, holding.start) for other in others)
            value = it.load.get(name)
            if name in INCREASING_INDICES:
                past = held > 0 or (value is not None and value > limit)
            elif name in BUILTIN_AMOUNTS:
                known = [have for have in (value, it.amounts.get(name)) if have is not None]
                past = bool(known) and min(known) - held < limit + SLACK
            else:
                past = held > 0 or (value is not None and value < limit)
            if past:
                return True
    return False
