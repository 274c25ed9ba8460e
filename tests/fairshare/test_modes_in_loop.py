"""The modes of fairshare in the scheduler loop itself: saturation, pools over time, partitions."""

import random
from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest
from slotwise import (
    Cluster,
    Host,
    Instance,
    Job,
    Params,
    Queue,
    RunningJob,
)
from slotwise.solver.scheduler.simulation import simulate

MINUTE, HOUR = 60, 3600


def numbered(jobs: Iterable[Job]) -> tuple[Job, ...]:
    """Ids in order of submission."""
    ordered = sorted(jobs, key=lambda job: job.submit)
    return tuple(replace(job, id=str(number)) for number, job in enumerate(ordered, 1))


def stream(
    slots: float, hours: float, length: Callable[[], int], *, start: float = 0.0, **fields: str
) -> list[Job]:
    """Jobs of one slot that together ask for so many slots all the time."""
    jobs, work = [], 0.0
    while work < hours * HOUR * slots:
        run_time = length()
        submit = int(start * HOUR + work / slots)
        jobs.append(
            Job("", submit=submit, run_time=run_time, run_limit=max(600, 2 * run_time), **fields)
        )
        work += run_time
    return jobs


@pytest.mark.behaviour("FSH-04")
def test_slots_that_backfill_borrows_count_as_reserved_as_long_as_they_are_held():
    """wide holds the two free slots; from minute 2 a backfill job has them for five minutes."""
    queue = Queue("q", user_shares=(("ann", 9), ("bob", 1)), slot_reserve=99, backfill=True)
    instance = Instance(
        Cluster((Host("h1", 4),)),
        (queue,),
        params=Params(time_reserve_numjobs=1, default_queue="q"),
        running=(RunningJob(Job("r", 2, user="cat", queue="q", run_limit=HOUR), 0, {"h1": 2}),),
        pending=(Job("wide", 4, user="ann", queue="q", run_limit=HOUR),),
        future=(Job("short", 2, user="bob", queue="q", run_limit=300, submit=100),),
    )
    seen: dict[int, tuple[int, int]] = {}

    def look(record, world):
        (ann,), (bob,) = (world.order.trees["q"].accounts(user) for user in ("ann", "bob"))
        seen[record.time // MINUTE] = (ann.reserved, bob.slots)

    result = simulate(instance, recorder=look, until=HOUR, skip_idle=False)
    assert (result["short"].start, result["short"].backfilled) == (120, True)
    assert [seen[minute] for minute in (0, 1, 2, 6, 7, 59)] == [
        (2, 0), (2, 0), (2, 2), (2, 2), (2, 0), (2, 0),
    ]  # fmt: skip
    assert (result["wide"].start, seen[60]) == (HOUR, (0, 0))


@pytest.mark.behaviour("QBF-07")
def test_a_queue_that_expanded_is_rebalanced():
    """50, 20 and 30 percent of 20 slots, long jobs in queue3. The others run dry and come back.

    The shares hold before and after; in between queue3 has everything. Its jobs of 15 to 45
    minutes end, and within an hour it is back at six slots.
    """
    draw = random.Random(3)
    shares = {"queue1": 50, "queue2": 20, "queue3": 30}
    future = []
    for name, share in shares.items():
        mean = 1800 if name == "queue3" else 200

        def length(mean: int = mean) -> int:
            return int(draw.uniform(0.5, 1.5) * mean)

        slots = 20 * share / 100
        if name == "queue3":
            future += stream(3 * slots, 5.5, length, queue=name)
        else:
            future += stream(1.1 * slots, 2, length, queue=name)
            future += stream(1.1 * slots, 2, length, start=3.5, queue=name)
    instance = Instance(
        Cluster((Host("h1", 10), Host("h2", 10))),
        tuple(
            Queue(name, 50 - place, slot_pool="P", slot_share=share)
            for place, (name, share) in enumerate(shares.items())
        ),
        future=numbered(future),
    )
    used: dict[int, tuple[int, ...]] = {}

    def look(record, world):
        used[record.time // MINUTE] = tuple(world.order.pools["P"].in_use.values())

    simulate(instance, until="5h30m", recorder=look)
    for minute in (*range(30, 120), *range(4 * 60 + 30, 5 * 60 + 30)):
        assert used[minute] == pytest.approx((10, 4, 6), abs=1)
    assert [used[minute] for minute in range(165, 210)] == [(0, 0, 20)] * 45
    assert {sum(slots) for minute, slots in used.items() if minute >= 30} == {20}
