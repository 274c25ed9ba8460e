"""A log run by the loop over hosts, as a backtest looks at it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sampling import some
from slotwise import Cluster, Host, Instance, Job, Params, Queue
from slotwise.solver.forecast.backtest import accuracies, answer, backtest
from slotwise.solver.forecast.of_instance import SimulatedLog
from slotwise.solver.scheduler.methods import settings_for
from slotwise.solver.scheduler.simulation import Session


def site(jobs: list[Job]) -> Instance:
    return Instance(
        Cluster((Host("a", 4), Host("b", 4))),
        queues=(Queue("normal", 20, backfill=True, resource_reserve=9, run_limit=4000),),
        future=tuple(jobs),
        params=Params(mbd_sleep_time=10, time_reserve_numjobs=2, default_queue="normal"),
    )


def log(count: int, seed: int) -> list[Job]:
    draw = np.random.default_rng(seed)
    submit = np.sort(draw.integers(0, 130 * count, count)).tolist()
    return [
        Job(
            f"j{n}",
            int(draw.integers(1, 7)),
            user=f"u{draw.integers(3)}",
            queue="normal",
            run_limit=int(draw.integers(3, 12)) * 100 if draw.random() < 0.8 else None,
            run_time=int(draw.integers(50, 600)),
            submit=time,
        )
        for n, time in enumerate(submit)
    ]


def simulated(jobs: list[Job]) -> SimulatedLog:
    instance = site(jobs)
    session = Session(instance, settings_for(instance))
    session.begin()
    return SimulatedLog.run(session, "log")


@pytest.mark.parametrize("row", some([25, 32, 39], 1))
def test_nothing_that_came_after_the_moment_of_asking_changes_an_answer(row: int) -> None:
    jobs = log(40, 1)
    first = simulated(jobs)
    now = jobs[row].submit
    changed = []
    for place, job in enumerate(jobs):
        start, run = int(first.start[place]), job.run_time or 0
        if place <= row and start + min(run, 4000) >= now:
            job = replace(job, run_time=max(now - start, 1) + 7 * place)
        if place > row:
            job = replace(job, submit=now + 1 + place, slots=8, user="someone", run_limit=60)
        changed.append(job)
    other = simulated(changed)
    before = first.start[: row + 1] < now
    assert (other.start[: row + 1][before] == first.start[: row + 1][before]).all()
    assert other.start.tolist() != first.start.tolist()
    assert answer(other, row, 3, 5) == answer(first, row, 3, 5)


def test_a_backtest_has_the_columns_of_a_pools() -> None:
    found = simulated(log(40, 2))
    questions = backtest(found, jobs=4, samples=2, seed=1)
    truth = {job.id: record.wait for job, record in zip(found.jobs, found.records, strict=True)}
    assert questions.wait.tolist() == [truth[f"j{row}"] for row in questions.row]
    groups = accuracies(found, questions)
    names = [item.estimator for item in groups[0].estimators]
    assert names == ["by limits", "last two", "history", "forecast", "calibrated"]
    again = backtest(found, jobs=4, samples=2, seed=1, workers=2)
    assert again.quantiles.tolist() == questions.quantiles.tolist()
