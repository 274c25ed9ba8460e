"""Running jobs entered all at once come to what they come to one by one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import slotwise as sw
from sampling import pairwise
from slotwise import Instance, RunningJob
from slotwise.model.generate import generate
from slotwise.solver.scheduler.job_state import JobState
from slotwise.solver.scheduler.methods import settings_for
from slotwise.solver.scheduler.simulation import Session
from slotwise.solver.scheduler.world import World


def worlds(instance: Instance) -> tuple[World, World]:
    """One filled job by job, one at once."""
    sessions = [Session(instance, settings_for(instance)) for _ in range(2)]
    one, other = (session.world for session in sessions)
    for state, running in entering(one, instance):
        one.add_running(state, running)
    other.add_all_running(with_events=True)
    assert in_order(one) == in_order(other)
    return one, other


def in_order(world: World) -> list[tuple[int, int, int]]:
    """Times, kinds and jobs of the events, as they will come."""
    return [(time, kind, job) for time, kind, _, job in sorted(world.events.state()[0])]


def entering(world: World, instance: Instance) -> Iterator[tuple[JobState, RunningJob]]:
    """The jobs that run, with their states."""
    return ((world.states.activate(number), job) for number, job in enumerate(instance.running))


def are_the_same(instance: Instance) -> None:
    one, other = worlds(instance)
    table = one.table
    assert len(table.host_resources) == len(other.table.host_resources)
    assert [pool.name for pool in table.pools] == [pool.name for pool in other.table.pools]
    profiles = [world.running_profile.copy() for world in (one, other)]
    first, second = profiles
    assert first.candidate_times(one.now) == second.candidate_times(one.now)
    ends = [profile.candidate_times(one.now, finishes_only=True) for profile in profiles]
    assert ends[0] == ends[1]
    times = [one.now, *first.changes()]
    for index in range(len(table.host_resources)):
        assert np.allclose(one.free_now.host(index), other.free_now.host(index), atol=1e-9)
        for time in times:
            assert np.allclose(first.free(index, time), second.free(index, time), atol=1e-9)
    for index in range(len(table.pools)):
        assert one.free_now.pool(index) == pytest.approx(other.free_now.pool(index))
        for time in times:
            assert first.free_in_pool(index, time) == pytest.approx(
                second.free_in_pool(index, time)
            )
    for mine, its in zip(
        one.running_profile.by_finish(),
        other.running_profile.by_finish(),
        strict=True,
    ):
        assert mine.tolist() == its.tolist()
    assert one.running_profile.finish == other.running_profile.finish
    assert one.last_accepted.tolist() == other.last_accepted.tolist()
    assert list(one.running) == list(other.running)
    assert [s.status for s in one.states] == [s.status for s in other.states]


def of_every_kind(seed: int, *, pending: int = 2) -> Instance:
    """Running jobs: exclusive, in phases, suspended, overdue, without an end, ending early."""
    rng = random.Random(seed)
    instance = generate(hosts=12, per_enclosure=4, running=40, pending=pending, load=0.9, seed=seed)

    def changed(number: int) -> object:
        run = instance.running[number]
        kind = rng.randrange(9)
        if kind == 0:
            return replace(run, suspended=True)
        if kind == 1:
            return replace(run, job=replace(run.job, run_limit=None, queue="short"))
        if kind == 2:
            phases = "rusage[mem=(900 300):duration=(60):decay=(1)]"
            return replace(run, job=replace(run.job, res_req=(phases,)))
        if kind == 3:
            return replace(run, start=run.start - 10**6)
        if kind == 4:
            return replace(run, job=replace(run.job, exclusive=True))
        if kind == 5:
            return replace(run, finish=instance.now + rng.randrange(1, 9999))
        if kind == 6:
            return replace(run, job=replace(run.job, run_time=rng.randrange(1, 9999)))
        if kind == 7:
            load = "rusage[r1m=0.5:duration=10]"
            return replace(run, job=replace(run.job, res_req=(load,)))
        return run

    running = tuple(changed(number) for number in range(len(instance.running)))
    return replace(instance, running=running)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(8))
def test_of_random_clusters(seed: int) -> None:
    are_the_same(of_every_kind(seed))


@pytest.mark.parametrize(("method", "seed"), pairwise(["greedy", "time-based"], range(8, 11)))
def test_the_loop_goes_the_same_way(
    seed: int, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = of_every_kind(seed, pending=12)
    found = sw.simulate(instance, reservation=method, cycle=0)

    def one_by_one(world: World, *, with_events: bool) -> None:
        assert with_events
        for state, running in entering(world, instance):
            world.add_running(state, running)

    monkeypatch.setattr(World, "add_all_running", one_by_one)
    assert list(sw.simulate(instance, reservation=method, cycle=0).jobs) == list(found.jobs)


def test_a_job_is_an_object_when_somebody_asks_for_it() -> None:
    instance = generate(hosts=4, per_enclosure=2, running=6, pending=1)
    one, other = worlds(instance)
    assert not other.states.here
    for number, running in enumerate(instance.running):
        state = other.states.get(running.job.id)
        assert state is other.running[number] is other.states.activate(number)
        mine = one.running[number]
        for name in ("status", "start", "since", "duration", "real_run_time", "limit", "terms"):
            assert getattr(state, name) == getattr(mine, name), name
        assert state.allocated_at == mine.allocated_at
