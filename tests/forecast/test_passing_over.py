"""Cycles that are left out: the same starts as with a look at every cycle, in fewer steps."""

from __future__ import annotations

from dataclasses import replace

import pytest
from forecast_lab import cluster, coming_of, past_jobs, site_history
from long_ways import every_cycle, looks
from sampling import pairwise, some
from slotwise import Cluster, Host, Instance, Job, Queue, RunningJob
from slotwise.solver.forecast.forecast import starts_at_limits
from slotwise.solver.forecast.of_instance import HostsWorld, forecast, hosts_world
from slotwise.solver.scheduler.simulation import Session

CYCLE = 60
LONG = CYCLE * 10**6


@pytest.mark.parametrize(("seed", "fair"), some(pairwise(range(4), [False, True]), 2))
def test_what_is_left_out_changes_no_start(
    seed: int, fair: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = cluster(seed, fair=fair)
    history = site_history(instance)
    found = forecast(instance, history, samples=6)
    every_cycle(monkeypatch)
    again = forecast(instance, history, samples=6)
    assert found.samples.tolist() == again.samples.tolist()
    assert found.by_limits.tolist() == again.by_limits.tolist()


def full(limit: int, *, fair: bool) -> HostsWorld:
    """One host that a job has for `limit` seconds; another job waits for half of it."""
    shares = (("default", 1),) if fair else ()
    run = RunningJob(Job("1", 4, user="u", run_limit=limit, queue="q"), 0, {"h": 4})
    wait = Job("2", 2, user="v", run_limit=60, queue="q")
    cluster_of_one = Cluster((Host("h", 4),))
    queues = (Queue("q", user_shares=shares),)
    return hosts_world(
        Instance(cluster_of_one, queues=queues, running=(run,), pending=(wait,)),
        past_jobs(Job("3", 1, user="v", queue="q")),
    )


@pytest.mark.parametrize("fair", [False, True])
def test_the_steps_do_not_grow_with_the_length_of_times(
    fair: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = 0
    advance = Session.advance

    def counted(session: Session, *, pass_over: bool = False) -> bool:
        nonlocal steps
        steps += 1
        return advance(session, pass_over=pass_over)

    monkeypatch.setattr(Session, "advance", counted)
    assert starts_at_limits(full(LONG, fair=fair)).tolist() == [LONG]
    assert steps < 5


@pytest.mark.parametrize("fair", [False, True])
def test_of_those_that_wait_each_is_looked_at_once(
    fair: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at = looks(monkeypatch)
    world = full(LONG, fair=fair)
    coming = coming_of(*((CYCLE * n, 10, 60, 1) for n in range(1, 101)))
    coming = replace(coming, row=coming.row * 0)
    assert world.starts(world.jobs.limit, coming).tolist() == [LONG]
    # Two waited when the host was full, then each newcomer alone, then all when it was free.
    assert sum(looked_at) <= 2 + 100 + 101
    assert world.starts(world.jobs.limit, coming_of()).tolist() == [LONG]
