"""The profile that exact methods start from: running jobs in columns, as if held one by one."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from slotwise import Instance, RunningJob
from slotwise.model.duration import expected_finish
from slotwise.model.generate import generate
from slotwise.solver.availability.demand import parts_of
from slotwise.solver.availability.profile import Profile
from slotwise.solver.problem import profile_of_running
from slotwise.solver.resolve import Resolver


def one_by_one(resolver: Resolver) -> Profile:
    instance = resolver.instance
    profile = Profile(resolver.table, instance.now)
    for resource, away in resolver.table.reported_used().items():
        profile.hold_reported(resource, away)
    index = instance.cluster.host_index()
    for running in instance.running:
        allocation = {index[name]: slots for name, slots in running.allocation.items()}
        finish = expected_finish(instance, running)
        blocked = resolver.blocked_units(running.job, allocation)
        for alternative, part in resolver.running_uses(running, allocation):
            parts = parts_of(resolver.table, alternative, part, blocked)
            profile.allocate(parts, running.start, finish)
    return profile


def are_the_same(instance: Instance) -> None:
    first, second = Resolver.of(instance), Resolver.of(instance)
    known, found = one_by_one(first), profile_of_running(second)
    assert [pool.name for pool in first.table.pools] == [pool.name for pool in second.table.pools]
    for only in (False, True):
        times = known.candidate_times(instance.now, finishes_only=only)
        assert times == found.candidate_times(instance.now, finishes_only=only)
    for time in (instance.now, *known.changes()):
        for index in range(len(first.table.host_resources)):
            assert np.allclose(known.free(index, time), found.free(index, time), atol=1e-9)
        for index in range(len(first.table.pools)):
            free = found.free_in_pool(index, time)
            assert known.free_in_pool(index, time) == pytest.approx(free)


@pytest.mark.parametrize("seed", range(6))
def test_of_random_clusters(seed: int) -> None:
    rng = random.Random(seed)
    instance = generate(hosts=12, per_enclosure=4, running=40, pending=2, load=0.9, seed=seed)

    def changed(run: RunningJob) -> RunningJob:
        kind = rng.randrange(6)
        if kind == 0:
            return replace(run, suspended=True)
        if kind == 1:
            return replace(run, job=replace(run.job, run_limit=None, queue="short"))
        if kind == 2:
            phases = "rusage[mem=(900 300):duration=(60):decay=(1)]"
            return replace(run, job=replace(run.job, res_req=(phases,)))
        if kind == 3:
            return replace(run, start=run.start - 10**6)
        return replace(run, job=replace(run.job, exclusive=True)) if kind == 4 else run

    are_the_same(replace(instance, running=tuple(map(changed, instance.running))))
