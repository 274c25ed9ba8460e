"""Random workloads for the loop, of rules that seldom stand together, as a reader would take them.

The clusters, queues, limits and requests are those of :mod:`combined_instances`; here jobs come
over time and end before their limits, and the rules join that only a loop has.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from combined_enumerator import MINUTE, Term
from combined_instances import case, pending_job
from slotwise import (
    Change,
    Cluster,
    EarlyEnd,
    HostPartition,
    HostStatus,
    InputError,
    Instance,
    Job,
    Kill,
    LoadReport,
    Modification,
    Moved,
    Params,
    Queue,
    QueueSwitch,
    Release,
    Resize,
    check,
)


def workload(seed: int) -> Instance:
    """A small site whose jobs come over a quarter of an hour; sound."""
    random = Random(seed)
    while True:
        instance = _drawn(random)
        try:
            check(instance)
        except InputError:
            continue
        return instance


def _drawn(random: Random) -> Instance:
    base = case(random).instance
    names = [host.name for host in base.cluster.hosts]
    asks: dict[str, tuple[Term, ...]] = {}
    last = 14 + random.randint(0, 6)
    jobs = [pending_job(random, names, number, asks) for number in range(10, last)]
    running = tuple(
        replace(item, job=replace(item.job, run_time=_run_time(random, item.job)))
        for item in base.running
    )
    pending = tuple(replace(job, run_time=_run_time(random, job)) for job in base.pending)
    future = tuple(
        replace(
            job,
            run_time=_run_time(random, job),
            submit=random.randint(0, 15 * MINUTE),
            begin=None if job.begin is None else job.begin + random.randint(0, 10) * MINUTE,
            deadline=None,
            queued_as=None,
            requeued=False,
            resizable=random.random() < 0.2 and bool(job.max_slots) and not job.res_req,
        )
        for job in jobs
    )
    step = random.choice([7, 30, 60])
    shares = random.choice([None, None, (("ann", 1), ("bob", 2))])
    partitioned = shares is None and random.random() < 0.15
    queues = tuple(_queue(random, queue, shares) for queue in base.queues)
    return replace(
        base,
        queues=queues,
        running=running,
        pending=pending,
        future=tuple(sorted(future, key=lambda job: job.submit)),
        partitions=_partitions(random, base.cluster) if partitioned else (),
        params=Params(mbd_sleep_time=step, job_accept_interval=random.choice([0] * 5 + [1])),
    )


def _run_time(random: Random, job: Job) -> int:
    limit = job.run_limit or 8 * MINUTE
    return random.choice([limit, random.randint(1, limit)])


def _queue(random: Random, queue: Queue, shares: tuple[tuple[str, int], ...] | None) -> Queue:
    reserve = random.choice([None, 2, 5, 100])
    slots = random.random() < 0.5
    changed = replace(
        queue,
        slot_reserve=reserve if slots else None,
        resource_reserve=None if slots else reserve,
        user_shares=shares,
    )
    if queue.name == "b" and random.random() < 0.15:
        return replace(changed, priority=9, preemptive=("a",), backfill=False)
    return changed


def _partitions(random: Random, cluster: Cluster) -> tuple[HostPartition, ...]:
    names = [host.name for host in cluster.hosts]
    cut = random.randint(1, len(names))
    parts = [tuple(part) for part in (names[:cut], names[cut:]) if part]
    return tuple(
        HostPartition(f"part{at}", part, (("ann", random.randint(1, 3)), ("bob", 1)))
        for at, part in enumerate(parts)
    )


def changes_of(site: Instance, seed: int) -> tuple[Change, ...]:
    """What happens to such a site from outside in half an hour, commands in vain too."""
    random = Random(seed)
    return tuple(_change(random, site) for _ in range(random.randint(1, 8)))


def _change(random: Random, site: Instance) -> Change:
    time = random.choice([random.randint(0, 1800), 60 * random.randint(0, 30)])
    host = random.choice(site.cluster.hosts)
    running = tuple(item.job for item in site.running)
    job = random.choice((*running, *site.pending, *site.future))
    slots = {host.name: random.randint(1, host.slots)}
    return random.choice(
        (
            HostStatus(time, host.name, random.choice(["down", "up", "closed", "open", "ok"])),
            HostStatus(time, host.name, random.choice(["down", "closed"])),
            LoadReport(time, host.name, {random.choice(["mem", "ut"]): random.random() * 4}),
            Resize(time, job.id, slots),
            Release(time, job.id, {host.name: 1}),
            EarlyEnd(time, job.id),
            Kill(time, job.id),
            Moved(time, job.id, random.choice(["top", "bottom"])),
            QueueSwitch(time, job.id, random.choice(site.queues).name),
            Modification(time, job.id, _modified(random)),
        )
    )


def _modified(random: Random) -> dict[str, object]:
    return random.choice(
        (
            {"run_limit": 60 * random.randint(1, 12)},
            {"begin": 60 * random.randint(0, 30)},
            {"slots": random.randint(1, 4), "max_slots": None},
            {"priority": random.randint(1, 90)},
        )
    )
