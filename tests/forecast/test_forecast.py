"""Forecasts of a pool and over hosts: with all known they are the replay and the simulation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from forecast_lab import asked_of, cluster, coming_of, past_jobs, past_of, site_history
from hypothesis import given
from hypothesis import strategies as st
from loop_starts import simulated_starts
from sampling import pairwise, some
from slotwise import Cluster, History, Host, Instance, Job, RunningJob
from slotwise.solver.accuracy.measures import EARLY, LATE, LIKELY
from slotwise.solver.forecast.arrivals import NOBODY, NoArrivals, PastBlocks
from slotwise.solver.forecast.forecast import (
    Drawn,
    forecast_world,
    starts_at_limits,
    uncertainty,
)
from slotwise.solver.forecast.jobs import NO_START, keys_of
from slotwise.solver.forecast.moment import PoolWorld, pool_world
from slotwise.solver.forecast.of_instance import HostsWorld, forecast, hosts_world
from slotwise.solver.forecast.runtimes import AtLimits, ExactRunTimes, Ratios
from slotwise.solver.scheduler.methods import settings_for
from slotwise.solver.scheduler.simulation import simulate

NOW = 10**6
PAST = past_of(
    *((1, 100, 2, NOW - 400 * n - 90, NOW - 400 * n - 50, NOW - 400 * n) for n in range(9))
)


def _world(*jobs, procs=4):
    asked = asked_of(*jobs, submit=NOW)
    return PoolWorld(NOW, procs, asked, np.flatnonzero(asked.elapsed < 0))


def test_with_exact_run_times_every_sample_is_the_truth():
    world = _world((1, 100, 4, 30), (1, 100, 4, -1))
    truth = ExactRunTimes(dict(zip(keys_of("01").tolist(), (70, 5), strict=True)))
    found = forecast_world(world, ("1",), truth, NoArrivals(), Drawn(3))
    assert found.samples.tolist() == [[NOW + 40] * 3]
    assert found.by_limits.tolist() == [NOW + 70]


def test_another_seed_is_another_forecast_and_the_same_the_same():
    past = past_of(*((1, 100, 2, NOW - 999, NOW - 500 + run, NOW - 400) for run in range(0, 90, 9)))
    world = _world((1, 100, 4, 0), (1, 100, 4, -1), (1, 100, 4, -1))
    one, again, other = (
        forecast_world(world, ("1", "2"), Ratios(past), NoArrivals(), Drawn(9, seed))
        for seed in (1, 1, 2)
    )
    assert one.samples.tolist() == again.samples.tolist() != other.samples.tolist()


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 200)), min_size=2, max_size=6))
def test_a_job_behind_all_others_changes_none_of_them_under_fcfs(waiting):
    """Common random numbers: one more at the end draws nothing that others would have drawn."""
    rows = [(1, 150, 3, 20), *((1, limit, slots, -1) for slots, limit in waiting)]
    found = []
    for jobs in (asked_of(*rows[:-1]), asked_of(*rows)):
        asked = np.flatnonzero(jobs.elapsed < 0)
        world = PoolWorld(NOW, 4, jobs, asked, "fcfs")
        names = ("",) * len(asked)
        found.append(forecast_world(world, names, Ratios(PAST), NoArrivals(), Drawn(5)).samples)
    assert found[1][:-1].tolist() == found[0].tolist()


def _many_waiting(*, precision=None, workers=1, samples=300):
    world = _world((1, 100, 4, 30), (1, 100, 2, -1), (2, 60, 4, -1))
    drawn = Drawn(samples, 4, precision, workers)
    return forecast_world(world, ("1", "2"), Ratios(PAST), PastBlocks(PAST), drawn)


@pytest.mark.parametrize("workers", [1, 2])
def test_no_more_futures_are_drawn_than_the_precision_asks_for(workers):
    whole = _many_waiting()
    widths = [uncertainty(whole.waits, level).max() for level in (EARLY, LIKELY, LATE)]
    wanted = int(2 * max(widths)) + 1
    found = _many_waiting(precision=wanted, workers=workers)
    count = found.samples.shape[1]
    assert 30 <= count < 300
    assert not found.cut
    assert found.samples.tolist() == whole.samples[:, :count].tolist()
    for level in (EARLY, LIKELY, LATE):
        assert (uncertainty(found.waits, level) <= wanted).all()
    # Ten futures before it was not known as well yet.
    before = found.waits[:, : count - 10]
    assert max(uncertainty(before, level).max() for level in (EARLY, LIKELY, LATE)) > wanted


def test_the_interval_of_a_quantile_holds_it_as_often_as_it_says():
    random = np.random.default_rng(7)
    held = {0.1: 0, 0.5: 0, 0.9: 0}
    for _ in range(1000):
        waits = random.exponential(1000, (1, 100))
        ordered = np.sort(waits[0])
        for level in held:
            truth = -1000 * np.log(1 - level)
            middle = uncertainty(waits, level)[0]
            around = 1.96 * np.sqrt(100 * level * (1 - level))
            low = ordered[int(np.floor(100 * level - around)) - 1]
            assert middle > 0
            held[level] += low <= truth <= low + 2 * middle
    assert all(930 <= count <= 990 for count in held.values())


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
