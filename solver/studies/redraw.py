"""Another workload like a recorded one: its weeks in a drawn order, some twice, some never."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...model.instance import Instance
from ...model.job import Job
from .resample import WEEK


def redrawn(instance: Instance, seed: int, block: int = WEEK) -> Instance:
    """The instance with its jobs to come drawn anew, whole blocks (weeks) with replacement.

    A job keeps its place within its week, and its number with that of the new week behind it. What
    runs and what waits at the beginning stays.
    """
    jobs = instance.future
    if not jobs:
        return instance
    begin = min(job.submit for job in jobs)
    blocks: dict[int, list[Job]] = {}
    for job in jobs:
        blocks.setdefault((job.submit - begin) // block, []).append(job)
    count = max(blocks) + 1
    drawn = np.random.default_rng(seed).integers(0, count, size=count).tolist()
    future = [
        _moved(job, (new - old) * block, new)
        for new, old in enumerate(drawn)
        for job in blocks.get(old, ())
    ]
    return replace(instance, future=tuple(sorted(future, key=lambda job: job.submit)))


def _moved(job: Job, by: int, week: int) -> Job:
    def later(time: int | None) -> int | None:
        return None if time is None else time + by

    return replace(
        job,
        id=f"{job.id}w{week}",
        submit=job.submit + by,
        begin=later(job.begin),
        deadline=later(job.deadline),
    )
