"""The list of those who come first: what joins and leaves at any time keeps the order."""

from __future__ import annotations

from slotwise import Job
from slotwise.model.generate import generate
from slotwise.solver.fairshare.dispatch_policy import FirstCome

INSTANCE = generate(hosts=1, running=0, pending=0)


def walked(order: FirstCome) -> list[str]:
    """The ids in one walk from the head."""
    order.begin_cycle(0)
    found: list[str] = []
    while (offer := order.next()) is not None:
        found.append(offer.job.id)
        order.skipped(offer.job)
    return found


def test_a_job_that_starts_in_its_turn_makes_way_for_the_next() -> None:
    order = FirstCome(INSTANCE)
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
