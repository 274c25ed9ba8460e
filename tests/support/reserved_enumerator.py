"""Random small sites with advance reservations, and their earliest starts minute by minute.

Nothing of the product is asked but its records: every way to spread the slots is tried at every
minute, beside every way in which the jobs before may have theirs.
"""

from __future__ import annotations

from random import Random

from brute_force import allocations
from slotwise import AdvanceReservation, Cluster, Host, Instance, Job, Params, Queue, RunningJob

MINUTE = 60
#: A job with its slots by host and when it runs.
Placed = tuple[Job, dict[str, int], int, int]


def reserved_instance(seed: int) -> Instance:
    """One or two hosts, one or two reservations of user u, jobs in them and beside them."""
    random = Random(seed)
    hosts = tuple(Host(name, random.randint(1, 3)) for name in "AB"[: random.randint(1, 2)])
    booked: list[AdvanceReservation] = []
    for number in range(random.randint(1, 2)):
        start, length = random.randint(0, 4), random.randint(1, 5)
        left = {
            host.name: host.slots - max((i.slots.get(host.name, 0) for i in booked), default=0)
            for host in hosts
        }
        slots = {n: random.randint(1, s) for n, s in left.items() if s and random.random() < 0.8}
        if slots:
            item = AdvanceReservation(
                f"u#{number}",
                start * MINUTE,
                (start + length) * MINUTE,
                slots,
                users=("u",),
                open=random.random() < 0.3,
            )
            booked.append(item)
    running = []
    for host in hosts:
        if random.random() < 0.5:
            slots_of = random.randint(1, host.slots)
            limit = random.randint(1, 4) * MINUTE
            job = Job(f"r{host.name}", slots=slots_of, user="u", run_limit=limit)
            running.append(RunningJob(job, 0, {host.name: slots_of}))
    names = ["", *(item.name for item in booked)]
    pending = tuple(
        Job(
            f"p{number}",
            slots=random.randint(1, 2),
            user="u",
            run_limit=random.randint(1, 5) * MINUTE,
            begin=random.choice([None, None, None, 2 * MINUTE]),
            reservation=random.choice(names) if random.random() < 0.7 else "",
        )
        for number in range(random.randint(1, 4))
    )
    return Instance(
        Cluster(hosts),
        queues=(Queue("default"),),
        running=tuple(running),
        pending=pending,
        advance_reservations=tuple(booked),
        params=Params(open_reservations_continue=random.random() < 0.5),
    )


def earliest_starts(instance: Instance) -> dict[str, int | None]:
    """The lexicographically earliest starts of the pending jobs in their order, None for none."""
    known = {item.name: item for item in instance.advance_reservations}
    base: list[Placed] = [
        (run.job, dict(run.allocation), run.start, run.start + (run.job.run_limit or 0))
        for run in instance.running
    ]
    ways, found = [base], dict[str, int | None]()
    for job in instance.pending:
        found[job.id] = None
        for time in range(0, 60 * MINUTE, MINUTE):
            end = time + (job.run_limit or 0)
            item = known.get(job.reservation)
            if time < (job.begin or 0) or (item and not item.start <= time < item.end):
                continue
            if item and not item.open:
                end = min(end, item.end)
            grown = [
                [*before, (job, slots, time, end)]
                for before in ways
                for slots in allocations(instance, job.slots)
                if _fit(instance, [*before, (job, slots, time, end)])
            ]
            if grown:
                ways, found[job.id] = grown, time
                break
    return found


def _fit(instance: Instance, placed: list[Placed]) -> bool:
    """Whether hosts and reservations have enough; what runs may overrun a reservation."""
    for time in range(0, max(end for *_, end in placed), MINUTE):
        there = [(job, slots) for job, slots, start, end in placed if start <= time < end]
        for host in instance.cluster.hosts:
            held = [(job, slots.get(host.name, 0)) for job, slots in there]
            outside = [(job, count) for job, count in held if not job.reservation]
            kept = sum(
                item.slots.get(host.name, 0)
                for item in instance.advance_reservations
                if item.start <= time < item.end
            )
            beside = sum(count for _, count in outside) + kept
            new = any(count for job, count in outside if not job.id.startswith("r"))
            if sum(count for _, count in held) > host.slots or (new and beside > host.slots):
                return False
            for item in instance.advance_reservations:
                own = sum(count for job, count in held if job.reservation == item.name)
                if own > item.slots.get(host.name, 0):
                    return False
    return True
