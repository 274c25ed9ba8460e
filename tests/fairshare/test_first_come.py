"""The list of those who come first: what joins and leaves at any time keeps the order."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from sampling import some
from slotwise import Job
from slotwise.model.generate import generate
from slotwise.solver.fairshare.priority_order import priority_order
from slotwise.solver.scheduler.methods import settings_for
from slotwise.solver.scheduler.simulation import Session

INSTANCE = generate(hosts=1, running=0, pending=0)
PRIORITY = {queue.name: queue.priority for queue in INSTANCE.queues}


def first_come() -> Any:
    """The order of the loop, of which no queue has fairshare."""
    return Session(INSTANCE, settings_for(INSTANCE)).world.order


def walked(order: Any) -> list[str]:
    """The ids in one walk from the head."""
    order.begin_cycle(0)
    found: list[str] = []
    while (offer := order.next()) is not None:
        found.append(offer.job.id)
        order.skipped(offer.job)
    return found


@pytest.mark.parametrize("seed", some(range(10), 4))
def test_jobs_come_in_the_order_of_their_queues_however_many_join_or_leave_at_once(
    seed: int,
) -> None:
    draw = random.Random(seed)
    order, waiting = first_come(), dict[int, Job]()
    came = 0
    for _ in range(30):
        for _ in range(draw.choice([0, 1, 3, 200])):
            queue = draw.choice(sorted(PRIORITY))
            job = Job(f"j{came}", 1, queue=queue, submit=draw.randint(0, 20))
            order.submitted(job, came, came)
            waiting[came] = job
            came += 1
        for number in draw.sample(sorted(waiting), min(len(waiting), draw.choice([0, 1, 90]))):
            order.withdrawn(waiting.pop(number))
        keys = {n: (-PRIORITY[job.queue], job.submit, n) for n, job in waiting.items()}
        assert walked(order) == [waiting[n].id for n in sorted(keys, key=keys.__getitem__)]


@pytest.mark.behaviour("FSH-16")
def test_elements_submitted_in_one_second_stand_where_the_id_of_their_array_does() -> None:
    """Listings say minutes: of jobs that came in the same one the ids tell who was first."""
    ids = ["210", "200[10]", "200[9]", "150"]
    jobs = {name: Job(name, 1, queue="normal") for name in ids}
    right = ["150", "200[9]", "200[10]", "210"]
    instance = replace(INSTANCE, pending=tuple(jobs.values()))
    assert [job.id for job in priority_order(instance)] == right
    named = ["a[2]", "x", "a[1]"]
    for names, expected in ((ids, right), (named, named)):
        order = first_come()
        for number, name in enumerate(names):
            order.submitted(Job(name, 1, queue="normal"), number, number)
        assert walked(order) == expected


def test_a_job_that_starts_in_its_turn_makes_way_for_the_next() -> None:
    order = first_come()
    jobs = [Job(f"j{n}", 1, queue="normal", submit=n) for n in range(200)]
    for number, job in enumerate(jobs):
        order.submitted(job, number, number)
    order.begin_cycle(0)
    for number, job in enumerate(jobs):
        offer = order.next()
        assert offer is not None
        assert offer.job is job
        if number % 3:
            order.started(job, {}, 0)
        else:
            order.skipped(job)
    assert order.next() is None
    assert walked(order) == [job.id for job in jobs[::3]]
