"""When the slots of each job are free together in its turn, whatever rules keep it from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ....model.cluster import Thresholds
from ....model.duration import expected_duration
from ....model.instance import Instance
from ....model.job import Job
from ....model.plan import Plan
from ....model.queue import Queue
from ...budget import Budget
from ...fairshare.queue_order import has_policy
from ...planning import nothing_planned, plan
from ..what_if import Asker
from .surroundings import longest_limit, user_with_most

#: Cycles that no reservation lasts for.
LONG = 1 << 40


def ideal_plan(instance: Instance, budget: Budget) -> Plan:
    """Every job in its turn where its slots are first free together (time-based reservation).

    Of the rules of the instance those are left out that keep jobs from slots that are free: limits,
    windows, intervals, thresholds, hosts that are closed. Shares and priorities decide whose turn
    it is, and a job gets the memory and the places that it asks for.
    """
    if budget.stopped():
        return nothing_planned(instance, "time-based")
    limit = budget.part(0.5)
    return plan(without_rules(instance), "time-based", time_limit=limit, cancel=budget.cancel)


def best_hopes(
    instance: Instance, jobs: Sequence[Job], budget: Budget
) -> tuple[list[tuple[Job, int]], bool]:
    """When each job would start at best if one thing were otherwise (seconds), as far as known.

    That is if it asked for slots alone, or if all queues and users were equal and nobody's running
    jobs held most of the cluster. Jobs that are not looked at in time are left out; the second
    value says whether any may be.
    """
    plain = without_rules(instance)
    queues = tuple(replace(q, res_req="", hosts=(), excluded_hosts=()) for q in plain.queues)
    asker = Asker(replace(plain, queues=queues), time_limit=budget.part(0.3), cancel=budget.cancel)
    equal = _equal_order(instance, plain, budget)
    cut = budget.stopped() or (equal is not None and equal.cut)
    queue_of = {queue.name: queue for queue in instance.queues}
    hopes: list[tuple[Job, int]] = []
    for job in jobs:
        found = None if equal is None else equal.get(job.id)
        starts = [] if found is None or found.start is None else [found.start]
        bare = replace(job, res_req=(), hosts=(), exclusive=False, application="", extsched="")
        asks = bool(queue_of[job.queue].res_req or queue_of[job.queue].hosts) or bare != job
        if asks and asker.stopped():
            cut = True
        elif asks:
            outlook = asker.outlook(bare)
            starts += [] if outlook.start is None else [outlook.start]
            cut = cut or outlook.cut
        if starts:
            hopes.append((job, min(starts)))
    return hopes, cut


def _equal_order(instance: Instance, plain: Instance, budget: Budget) -> Plan | None:
    """Every job in its turn, first come, first served; None where that is no other turn."""
    most = user_with_most(instance)
    several = len({queue.priority for queue in instance.queues}) > 1
    if budget.stopped() or not (most or several or has_policy(instance)):
        return None
    running = tuple(run for run in plain.running if run.job.user != most)
    queues = tuple(_equal(queue) for queue in plain.queues)
    world = replace(plain, queues=queues, partitions=(), running=running)
    limit = budget.part(0.3)
    return plan(world, "time-based", time_limit=limit, cancel=budget.cancel)


def _equal(queue: Queue) -> Queue:
    return replace(
        queue,
        priority=1,
        user_shares=None,
        fairshare_queues=(),
        slot_pool="",
        slot_share=None,
    )


def without_rules(instance: Instance) -> Instance:
    """The instance with reservations that last, backfill everywhere, and no limits."""
    length = longest_limit(instance)
    ended = {
        queue.name: length
        for queue in instance.queues
        if any(
            expected_duration(instance, job) is None
            for job in (*(run.job for run in instance.running), *instance.pending)
            if job.queue == queue.name
        )
    }
    queues = tuple(_free(queue, ended.get(queue.name)) for queue in instance.queues)
    cluster = instance.cluster
    hosts = tuple(
        replace(host, status="ok", windows="", thresholds=Thresholds(), user_slots=None)
        for host in cluster.hosts
    )
    users = tuple(replace(u, max_slots=None, processor_slots=None) for u in instance.users)
    return replace(
        instance,
        cluster=replace(cluster, hosts=hosts),
        queues=queues,
        users=users,
        limits=(),
        advance_reservations=(),
        held=(),
        borrowed=(),
        params=replace(instance.params, job_accept_interval=0, modules=None),
    )


def _free(queue: Queue, run_limit: int | None) -> Queue:
    return replace(
        queue,
        slot_reserve=None,
        resource_reserve=LONG,
        backfill=True,
        queue_slots=None,
        user_slots=None,
        processor_slots=None,
        host_slots=None,
        slots=None,
        thresholds=Thresholds(),
        dispatch_window="",
        run_window="",
        job_accept_interval=None,
        chunk_job_size=None,
        active=True,
        run_limit=queue.run_limit if run_limit is None else run_limit,
    )
