"""Forecasts over hosts: the loop as configured, run forward from copies of one state."""

from __future__ import annotations

import gc
from dataclasses import replace

import numpy as np
import pytest
import slotwise as sw
from forecast_lab import cluster, coming_of, past_jobs, past_of, site_history
from sampling import pairwise, some
from slotwise import Cluster, History, Host, Instance, Job, Limit, Queue, RunningJob, Scope
from slotwise.solver.budget import OutOfTime
from slotwise.solver.forecast.arrivals import NOBODY, FutureArrivals, NoArrivals
from slotwise.solver.forecast.forecast import Drawn, forecast_world, starts_at_limits
from slotwise.solver.forecast.history import NO_START, keys_of
from slotwise.solver.forecast.moment import pool_world
from slotwise.solver.forecast.of_instance import HostsWorld, forecast, hosts_world, world_of
from slotwise.solver.forecast.runtimes import ENDLESS, AtLimits, ExactRunTimes, Ratios
from slotwise.solver.scheduler.continuation import simulated_starts
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


@pytest.mark.parametrize(
    "example",
    [
        "headline",
        "memory-backfill-parallel",
        "joint-wins",
        "backfill",
        "slot-limits",
        "fairshare-pool",
        "exclusive-hosts",
    ],
)
def test_examples_at_limits(example: str) -> None:
    instance = sw.load(sw.example(example))
    settings = settings_for(instance, reservation="time-based", top=len(instance.pending), cycle=0)
    world = hosts_world(instance, NOTHING, settings)
    assert by_name(world, starts_at_limits(world)) == simulated_starts(instance, "time-based")


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


SMALL = Instance(
    Cluster((Host("a", 4, amounts={"mem": 100.0}), Host("b", 4, amounts={"mem": 100.0}))),
    queues=(Queue("low", 10), Queue("high", 90)),
    running=(
        RunningJob(Job("1", 4, queue="low", run_limit=600, user="ann"), 0, {"a": 4}),
        RunningJob(Job("2", 2, queue="low", run_limit=900, user="bob"), 0, {"b": 2}),
    ),
    pending=(Job("3", 4, queue="low", run_limit=600, res_req=("span[hosts=1]",)),),
)


def one_coming(*rows: int, submit: int = 300, slots: int = 4, span: int = 5000) -> FutureArrivals:
    each = [(submit, span, span, slots)] * len(rows)
    return replace(coming_of(*each), row=np.array(rows, dtype=np.int64))


def start_of_3(history: History, coming: FutureArrivals) -> int:
    world = hosts_world(SMALL, history, settings_for(SMALL, reservation="greedy", cycle=0))
    return int(world.starts(np.array([600, 900, 600]), coming)[0])


def test_a_coming_job_stands_in_the_queue_of_the_log() -> None:
    assert start_of_3(NOTHING, NOBODY) == 600
    # On host a, before job 3, whose turn comes when bob's job has ended on host b.
    assert start_of_3(past_jobs(Job("x", 4, queue="high")), one_coming(0)) == 900
    assert start_of_3(past_jobs(Job("x", 4, queue="low")), one_coming(0)) == 600
    # A queue that this cluster has not: the first, as there is no default queue.
    assert start_of_3(past_jobs(Job("x", 4, queue="gone")), one_coming(0)) == 600


def test_a_coming_job_asks_for_what_the_log_says() -> None:
    """Slots alone fit on host b; with so much memory only host a will do."""
    plain = Job("x", 2, queue="high")
    assert start_of_3(past_jobs(plain), one_coming(0, slots=2)) == 600
    there = replace(plain, res_req=("select[hname==a]",))
    assert start_of_3(past_jobs(there), one_coming(0, slots=2)) == 900
    for unknown in ("rusage[tape=1]", "rusage[mem=9999]", "select[hname==gone]"):
        asked = replace(plain, res_req=(unknown,))
        assert start_of_3(past_jobs(asked), one_coming(0, slots=2)) == 600


def test_a_coming_job_like_one_that_runs_is_as_that_one_was_submitted() -> None:
    assert hosts_world(SMALL, NOTHING).names == ("1", "2", "3")
    assert start_of_3(NOTHING, one_coming(-3, submit=10)) == 600  # behind job 3
    urgent = replace(SMALL, running=(SMALL.running[0], _urgent(SMALL.running[1])))
    world = hosts_world(urgent, NOTHING, settings_for(urgent, reservation="greedy", cycle=0))
    run_times = np.array([600, 900, 600])
    assert world.starts(run_times, one_coming(-2, slots=2)).tolist() == [600]
    # The second takes host a; the first ends on host b at its limit of 900 s, as bob's does.
    assert world.starts(run_times, one_coming(-2, -2, slots=2)).tolist() == [1200]


def _urgent(run: RunningJob) -> RunningJob:
    return replace(run, job=replace(run.job, queue="high", begin=0))


def test_a_coming_job_that_fits_nowhere_is_left_out() -> None:
    history = past_jobs(Job("x", 99, queue="high"))
    assert start_of_3(history, one_coming(0, slots=99)) == 600


def test_coming_jobs_have_names_of_their_own() -> None:
    taken = replace(SMALL, pending=(replace(SMALL.pending[0], id="+0"),))
    world = hosts_world(taken, past_jobs(Job("x", 4, queue="high")))
    assert world.newcomers.prefix == "++"
    world.starts(np.array([600, 900, 600]), one_coming(0))


def test_many_coming_jobs_come_in_time() -> None:
    """More than are entered at once, several of them between two cycles."""
    instance = Instance(
        Cluster((Host("a", 1),)),
        running=(RunningJob(Job("1", run_limit=60, queue="low"), 0, {"a": 1}),),
        pending=(Job("2", run_limit=60, queue="low"),),
        queues=(Queue("low", 1), Queue("high", 2)),
    )
    history = past_jobs(Job("x", queue="high"))
    world = hosts_world(instance, history, settings_for(instance, cycle=0))
    coming = coming_of(*((30, 7, 7, 1) for _ in range(300)))
    coming = replace(coming, row=np.zeros(300, dtype=np.int64))
    assert world.starts(np.array([60, 60]), coming).tolist() == [60 + 300 * 7]


def test_a_job_that_fits_nowhere_or_waits_for_ever_never_starts() -> None:
    endless = replace(SMALL.running[0], job=replace(SMALL.running[0].job, run_limit=None))
    instance = replace(
        SMALL,
        running=(endless, SMALL.running[1]),
        pending=(
            replace(SMALL.pending[0], id="4", slots=99),
            replace(SMALL.pending[0], id="5", res_req=("select[hname==a]",)),
            replace(SMALL.pending[0], id="6", res_req=("select[hname==b]",)),
        ),
    )
    world = hosts_world(instance, NOTHING, settings_for(instance, reservation="greedy", cycle=0))
    assert starts_at_limits(world).tolist() == [NO_START, NO_START, 900]
    assert world.starts(np.array([ENDLESS, 900, 1, 1, 1]), NOBODY).tolist() == [
        NO_START,
        NO_START,
        900,
    ]
    assert world.starts(np.array([700, 900, 1, 1, 1]), NOBODY).tolist() == [NO_START, 700, 900]


def test_it_stops_in_the_middle_of_a_sample() -> None:
    world = hosts_world(SMALL, NOTHING)
    with pytest.raises(OutOfTime):
        world.starts(np.array([600, 900, 600]), NOBODY, lambda: True)
    asked: list[int] = []

    def later() -> bool:
        asked.append(1)
        return len(asked) > 30

    found = forecast_world(world, ("3",), AtLimits(), NoArrivals(), Drawn(10**4, stop=later))
    assert 1 <= found.samples.shape[1] < 30


def test_the_garbage_collector_is_spared_a_future_and_no_longer() -> None:
    world, seen = hosts_world(SMALL, NOTHING), []

    def stop(at_last: bool = False) -> bool:
        seen.append(gc.isenabled())
        return at_last

    assert gc.isenabled()
    world.starts(np.array([600, 900, 600]), NOBODY, stop)
    assert gc.isenabled()
    with pytest.raises(OutOfTime):
        world.starts(np.array([600, 900, 600]), NOBODY, lambda: stop(True))
    assert gc.isenabled()
    assert seen
    assert not any(seen)


@pytest.mark.parametrize("fair", [False, True])
def test_the_number_of_workers_makes_no_difference(fair: bool) -> None:
    instance = cluster(4, fair=fair)
    history = site_history(instance)
    alone, shared = (forecast(instance, history, samples=7, workers=n) for n in (1, 2))
    assert alone.samples.tolist() == shared.samples.tolist()
    assert alone.by_limits.tolist() == shared.by_limits.tolist()
    assert (alone.samples.std(axis=1) > 0).any()
    assert forecast(instance, history, samples=7, seed=1).samples.tolist() != alone.samples.tolist()


def test_what_jobs_leave_of_their_limits_brings_starts_forward() -> None:
    instance = cluster(1)
    found = forecast(instance, site_history(instance), samples=20, arrivals=NoArrivals())
    late = found.by_limits > instance.now + HOUR
    assert late.any()
    assert (found.likely[late] < found.by_limits[late]).all()


def test_a_changed_request_leaves_the_draws_of_the_others() -> None:
    instance = cluster(2)
    history = site_history(instance)
    models = Ratios(history.jobs)
    first, *rest = instance.pending
    other = replace(first, slots=first.slots + 1, run_limit=first.run_limit // 2, res_req=())
    before, after = (
        hosts_world(replace(instance, pending=(job, *rest)), history) for job in (first, other)
    )
    drawn = [
        dict(zip(world.names, models.draw(world.jobs, 0, 50, 3).tolist(), strict=True))
        for world in (before, after)
    ]
    assert drawn[0].pop(first.id) != drawn[1].pop(first.id)
    assert drawn[0] == drawn[1]


def test_more_than_a_pool_is_a_world_of_hosts() -> None:
    assert isinstance(world_of(SMALL, NOTHING, "easy"), HostsWorld)
    pool = Instance(Cluster((Host("pool", 4),)), pending=(Job("1"),))
    assert not isinstance(world_of(pool, NOTHING, "easy"), HostsWorld)


def test_limits_hold_in_the_forecast() -> None:
    """Two jobs of ann, of which one may run at a time."""
    limit = Limit("one", {"jobs": 1}, users=Scope(("ann",)))
    instance = Instance(
        Cluster((Host("a", 4),)),
        running=(RunningJob(Job("1", user="ann", run_limit=900), 0, {"a": 1}),),
        pending=(Job("2", user="ann", run_limit=60), Job("3", user="bob", run_limit=60)),
        limits=(limit,),
    )
    world = hosts_world(instance, NOTHING, settings_for(instance, cycle=0))
    exact = ExactRunTimes(dict(zip(keys_of(["1"]).tolist(), [500], strict=True)))
    found = forecast_world(world, ("2", "3"), exact, NoArrivals(), Drawn(1))
    assert found.by_limits.tolist() == [900, 0]
    assert found.samples[:, 0].tolist() == [500, 0]


def test_suspended_and_overdue_jobs() -> None:
    instance = Instance(
        Cluster((Host("a", 2), Host("b", 2))),
        now=1000,
        running=(
            RunningJob(Job("1", 2, run_limit=600), 0, {"a": 2}),  # beyond its limit
            RunningJob(Job("2", 2, run_limit=5000), 500, {"b": 2}, finish=2000),
        ),
        pending=(Job("3", 2, run_limit=60), Job("4", 2, run_limit=5000)),
    )
    world = hosts_world(instance, NOTHING, settings_for(instance, cycle=0))
    assert world.jobs.limit.tolist() == [600, 1500, 60, 5000]
    assert by_name(world, starts_at_limits(world)) == simulated_starts(instance, "greedy")
