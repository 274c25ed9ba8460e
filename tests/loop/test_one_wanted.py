"""A cycle that is asked about one job says of it what the whole cycle says."""

from __future__ import annotations

from dataclasses import replace

import pytest
import slotwise as sw
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from random_instances import instances
from sampling import some
from slotwise import Instance
from slotwise.model.generate import generate
from slotwise.solver.advice.what_if import WhatIfPlanner
from slotwise.solver.scheduler.continuation import ConfiguredRun, run_as_configured
from slotwise.solver.scheduler.next_cycle import NextCycle


def same(instance: Instance, method: sw.Method, name: str) -> bool:
    """Compare; whether the shorter cycle ended early."""
    short = NextCycle(instance, method, wanted=name)
    assert short.result_for(name) == NextCycle(instance, method).result_for(name)
    return short.cycle.answered


@examples(60)
@given(instances(most_hosts=4, most_jobs=6), st.booleans(), st.sampled_from([True, False]))
def test_random_instances(instance: Instance, shares: bool, backfill: bool) -> None:
    queues = [replace(queue, backfill=backfill) for queue in instance.queues]
    pending = instance.pending
    if shares:
        queues[0] = replace(queues[0], user_shares=(("u", 1), ("v", 2)))
        pending = tuple(replace(job, user="uv"[n % 2]) for n, job in enumerate(pending))
    instance = replace(instance, queues=tuple(queues), pending=pending)
    for job in pending:
        try:
            NextCycle(instance, "time-based")
        except sw.InputError:
            return
        same(instance, "time-based", job.id)


@pytest.mark.parametrize("seed", some([2, 1], 1))
def test_generated_clusters(seed: int) -> None:
    """Jobs in front end the cycle early, those that wait do not."""
    instance = generate(hosts=16, running=60, pending=12, load=0.8, seed=seed)
    plan = sw.plan(instance, "time-based")
    early = {job.id for job in instance.pending if same(instance, "time-based", job.id)}
    assert early
    assert all(plan[name].start == instance.now for name in early)


def test_asked_in_front_the_jobs_behind_have_no_turn() -> None:
    instance = generate(hosts=16, running=66, pending=14, load=0.8, seed=1)
    front = replace(instance.pending[0], id="asked", queue="short", slots=1, priority=60)
    front = replace(front, res_req=(), run_limit=1800)
    answer = WhatIfPlanner(instance, method="time-based").answer(front)
    whole = sw.plan(replace(instance, pending=(*instance.pending, front)), "time-based")["asked"]
    assert (answer.start, answer.allocation) == (whole.start, whole.allocation)
    world = replace(instance, pending=(*instance.pending, front))
    cycle = NextCycle(world, "time-based", wanted="asked")
    assert cycle.cycle.answered
    assert len(cycle.cycle.progress.examined) < len(world.pending) / 2


def own(run: ConfiguredRun, name: str) -> tuple[object, ...]:
    """What a run says of one job."""
    estimate = run.estimates.get(name), run.estimate_by.get(name)
    return run.starts.get(name), estimate, run.waiting.get(name), run.method


def as_configured_alone(instance: Instance) -> int:
    """Compare what runs for one job each say of it; how many of them left jobs out."""
    whole = run_as_configured(instance)
    shorter = 0
    for job in instance.pending:
        alone = run_as_configured(instance, until=job.id)
        assert own(alone, job.id) == own(whole, job.id)
        shorter += len(alone.starts) < len(whole.starts)
    return shorter


@pytest.mark.parametrize("seed", some([2, 1, 0, 3, 4, 5, 6, 7], 1))
@pytest.mark.parametrize("load", some([0.8, 0.97], 1))
def test_the_scheduler_as_configured_run_until_one_job_starts(seed: int, load: float) -> None:
    assert as_configured_alone(
        generate(hosts=16, running=60, pending=12, load=load, gpus=seed % 2, seed=seed)
    )


@examples(60)
@given(instances(most_hosts=4, most_jobs=6), st.booleans(), st.sampled_from([0, 1, 2]))
def test_random_ones_as_configured(instance: Instance, backfill: bool, kind: int) -> None:
    queues = [replace(queue, backfill=backfill) for queue in instance.queues]
    if kind == 1:
        queues[0] = replace(queues[0], user_shares=(("u", 1), ("v", 2)))
    if kind == 2:
        high = replace(queues[0], name="high", priority=99, preemptive=(f"{queues[0].name}",))
        queues.append(high)
    names = [queue.name for queue in queues]
    pending = tuple(
        replace(job, user="uv"[n % 2], queue=names[n % len(names)])
        for n, job in enumerate(instance.pending)
    )
    as_configured_alone(replace(instance, queues=tuple(queues), pending=pending))
