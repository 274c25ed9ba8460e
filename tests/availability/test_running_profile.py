"""The profile of running jobs: what it forgets when they end, and what a copy plans with."""

from __future__ import annotations

import numpy as np
import pytest
from availability_cases import steps, table, takes
from slotwise import Host
from slotwise.solver.availability.demand import parts_of
from slotwise.solver.availability.profile import Profile
from slotwise.solver.availability.running_profile import FinishTimes, Hold, RunningProfile
from slotwise.solver.availability.usage import FOREVER


def plain(allocation: dict[int, int]) -> list[Hold]:
    return [(takes(), allocation, ())]


def running() -> RunningProfile:
    return RunningProfile(table(), 0)


def test_finishes_in_order_however_they_come_and_go() -> None:
    rng = np.random.default_rng(1)
    finishes = FinishTimes()
    finishes.add_all(expected := {job: int(rng.integers(20)) for job in range(100, 110)})
    for _ in range(300):
        job = int(rng.integers(30))
        if rng.random() < 0.4:
            assert finishes.remove(job) == expected.pop(job, None)
        else:
            expected[job] = FOREVER if rng.random() < 0.1 else int(rng.integers(20))
            finishes.put(job, expected[job])
        without = set(rng.integers(0, 110, 3).tolist()) if rng.random() < 0.5 else set()
        kept = {time for job, time in expected.items() if job not in without}
        later = sorted(time for time in kept if 7 < time < FOREVER)
        assert finishes.copy().after(7, without) == finishes.after(7, without) == later


@pytest.mark.parametrize("seed", range(10))
def test_many_starts_and_ends_leave_what_a_new_profile_has(seed: int) -> None:
    """Rows of ended jobs are switched off and swept out in between."""
    random = np.random.default_rng(seed)
    where = table(Host("A", 500), Host("B", 500), Host("C", 500))
    live = RunningProfile(where, 0)
    alive: dict[int, tuple[dict[int, int], int]] = {}
    for number in range(300):
        hosts = random.choice(3, size=int(random.integers(1, 4)), replace=False)
        allocation = {int(host): int(random.integers(1, 4)) for host in hosts}
        finish = int(random.integers(1, 900))
        live.started(number, plain(allocation), 0, finish)
        alive[number] = allocation, finish
        if random.random() < 0.8:
            gone = int(random.choice(sorted(alive)))
            live.ended(gone)
            del alive[gone]
    fresh = Profile(where, 0)
    for allocation, finish in alive.values():
        fresh.allocate(parts_of(where, takes(), allocation), 0, finish)
    assert steps(live.copy()) == steps(fresh)
    assert live.finish.of == {number: finish for number, (_, finish) in alive.items()}
