"""Jobs that need no turn are passed over, and nobody else is."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import numpy as np
import pytest
from sampling import some
from slotwise import Cluster, Host, Instance, Job, Queue
from slotwise.solver.availability.resources import BoolArray, IntArray
from slotwise.solver.scheduler.methods import settings_for
from slotwise.solver.scheduler.simulation import Session


class JobKind(NamedTuple):
    """Which jobs are alike, and their seconds."""

    number: int
    limit: int


class Longer:
    """Jobs of a kind that run longer than so many seconds are hopeless; kinds: by job id."""

    def __init__(self, kinds: dict[str, JobKind], most: dict[int, int]) -> None:
        self.kinds, self.most = kinds, most

    def must_skip(self, job: Job) -> bool:
        """One job."""
        number, limit = self.kinds[job.id]
        return limit > self.most[number]

    def skip_mask(self, numbers: IntArray, limits: IntArray) -> BoolArray:
        """Many jobs."""
        return limits > np.array([self.most[number] for number in numbers.tolist()], dtype=np.int64)


@pytest.mark.parametrize("seed", some(range(20), 10))
def test_a_walk_is_that_of_one_who_asks_each_job(seed: int) -> None:
    draw = random.Random(seed)
    queues = (Queue("low", 10), Queue("high", 20))
    site = Instance(Cluster((Host("h", 4),)), queues)
    order: Any = Session(site, settings_for(site)).world.order
    kinds: dict[str, JobKind] = {}
    waiting: list[Job] = []
    arrived = 0
    for _ in range(30):
        for _ in range(draw.randrange(8)):
            queue = draw.choice(("low", "high"))
            job = Job(f"j{arrived}", 1, queue=queue, submit=draw.randrange(50))
            kinds[job.id] = JobKind(draw.randrange(4), draw.randrange(100))
            order.submitted(job, arrived, arrived, kinds[job.id])
            waiting.append(job)
            arrived += 1
        waiting.sort(key=lambda job: (job.queue != "high", job.submit, int(job.id[1:])))
        hopeless = Longer(kinds, {number: draw.randrange(100) for number in range(4)})
        order.begin_cycle(0)
        had: list[str] = []
        expected: list[str] = []
        for job in list(waiting):
            if hopeless.must_skip(job):
                continue
            expected.append(job.id)
            offer = order.next_except(hopeless)
            had.append(offer.job.id if offer else "")
            if draw.random() < 0.3:
                order.started(job, {"h": 1}, 0)
                waiting.remove(job)
            else:
                order.skipped(job)
            if draw.random() < 0.1:  # what is known of a kind changes on the way
                hopeless.most[draw.randrange(4)] = -1
        assert had == expected
        assert order.next_except(hopeless) is None
