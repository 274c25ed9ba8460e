"""Forecasts over hosts: the loop as configured, run forward from copies of one state."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from forecast_lab import cluster, coming_of, past_jobs, past_of, site_history
from loop_starts import simulated_starts
from sampling import pairwise, some
from slotwise import Cluster, History, Host, Instance, Job, RunningJob
from slotwise.solver.forecast.arrivals import NOBODY, NoArrivals
from slotwise.solver.forecast.forecast import Drawn, forecast_world, starts_at_limits
from slotwise.solver.forecast.jobs import NO_START
from slotwise.solver.forecast.moment import pool_world
from slotwise.solver.forecast.of_instance import HostsWorld, forecast, hosts_world
from slotwise.solver.forecast.runtimes import AtLimits, Ratios
from slotwise.solver.scheduler.methods import settings_for
from slotwise.solver.scheduler.simulation import simulate

NOTHING = History(past_of())
HOUR = 3600


def by_name(world: HostsWorld, starts: np.ndarray) -> dict[str, int]:
    rows = zip(world.asked.tolist(), starts.tolist(), strict=True)
    return {world.names[row]: start for row, start in rows if start != NO_START}


@pytest.mark.parametrize(
    ("seed", "fair", "method"), some(pairwise(range(3), [False, True], ["greedy", "time-based"]), 2)
)
def test_at_limits_it_is_the_loop_run_on(seed: int, fair: bool, method: str) -> None:
    instance = cluster(seed, fair=fair)
    settings = settings_for(instance, reservation=method, top=8, cycle=0)
    world = replace(hosts_world(instance, NOTHING, settings), every_cycle=True)
    really = simulated_starts(instance, method)
    assert len(set(really.values())) > 1
    assert by_name(world, starts_at_limits(world)) == really
    # A sample is such a run too, and leaves nothing behind for the next.
    names = tuple(world.names[row] for row in world.asked.tolist())
    found = forecast_world(world, names, AtLimits(), NoArrivals(), Drawn(2))
    for sample in range(2):
        assert by_name(world, found.samples[:, sample]) == really


@pytest.mark.parametrize("fair", [False, True])
@pytest.mark.parametrize("seed", some(range(3), 1))
def test_with_run_times_and_arrivals_known_it_is_the_simulation(seed: int, fair: bool) -> None:
    """What `simulate` does with the same run times and future jobs, as configured."""
    instance = cluster(seed, fair=fair)
    draw = np.random.default_rng(seed)
    history = past_jobs(Job("x", queue="short"))
    world = replace(hosts_world(instance, history), every_cycle=True)
    longest = AtLimits().draw(world.jobs, 0, 1, 0)[:, 0]
    least = np.maximum(1, world.jobs.elapsed)
    run_times = draw.integers(least, np.maximum(longest, least) + 1)
    later = np.sort(draw.integers(1, 2 * HOUR, 30)).tolist()
    coming = [
        (submit, int(draw.integers(60, HOUR)), HOUR, int(draw.integers(1, 12))) for submit in later
    ]
    known = dict(zip(world.names, run_times.tolist(), strict=True))
    future = (
        Job(f"+{n}", slots, queue="short", run_limit=limit, run_time=ran, submit=submit)
        for n, (submit, ran, limit, slots) in enumerate(coming)
    )
    told = replace(
        instance,
        running=tuple(
            replace(run, job=replace(run.job, run_time=known[run.job.id]))
            for run in instance.running
        ),
        pending=tuple(replace(job, run_time=known[job.id]) for job in instance.pending),
        future=tuple(future),
    )
    really = simulate(told).starts
    arrivals = replace(coming_of(*coming), row=np.zeros(len(coming), dtype=np.int64))
    found = by_name(world, world.starts(run_times, arrivals))
    assert found == {job.id: really[job.id] for job in instance.pending if job.id in really}
    assert found != by_name(world, world.starts(run_times, NOBODY))


def test_a_pool_gives_what_its_policy_gives_where_nothing_is_reserved() -> None:
    """First come, first served without holes: the pool's easy and the loop decide alike.

    With holes they may not: EASY reserves for the first job alone, the loop for as many as its
    configuration says, once a cycle.
    """
    draw = np.random.default_rng(5)
    for _ in range(6):
        pending = tuple(Job(str(n), 4, run_limit=HOUR, submit=-100 + n) for n in range(8))
        ends = np.sort(draw.integers(100, 5000, 4)).tolist()
        running = tuple(
            RunningJob(Job(f"r{n}", 4, run_limit=end + 50, submit=-200), -50, {"pool": 4})
            for n, end in enumerate(ends)
        )
        instance = Instance(Cluster((Host("pool", 16),)), running=running, pending=pending)
        pool = pool_world(instance, NOTHING)
        assert pool is not None
        hosts = hosts_world(
            instance, NOTHING, settings_for(instance, reservation="time-based", cycle=0)
        )
        assert hosts.names[4:] == tuple(job.id for job in pending)
        times = Ratios(past_of((-1, 100, 4, -300, -200, -150), (-1, 100, 4, -300, -200, -120)))
        run_times = times.draw(pool.jobs, 0, 3, 1)
        for sample in range(3):
            expected = pool.starts(run_times[:, sample], NOBODY).tolist()
            assert hosts.starts(run_times[:, sample], NOBODY).tolist() == expected


@pytest.mark.parametrize("fair", [False, True])
def test_the_number_of_workers_makes_no_difference(fair: bool) -> None:
    instance = cluster(4, fair=fair)
    history = site_history(instance)
    alone, shared = (forecast(instance, history, samples=7, workers=n) for n in (1, 2))
    assert alone.samples.tolist() == shared.samples.tolist()
    assert alone.by_limits.tolist() == shared.by_limits.tolist()
    assert (alone.samples.std(axis=1) > 0).any()
    assert forecast(instance, history, samples=7, seed=1).samples.tolist() != alone.samples.tolist()
