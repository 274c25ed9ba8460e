"""The profile of running jobs: what it forgets when they end, and what a copy plans with."""

from __future__ import annotations

import numpy as np
import pytest
from availability_cases import steps, table, takes
from slotwise import Host
from slotwise.solver.availability.demand import parts_of
from slotwise.solver.availability.profile import Profile
from slotwise.solver.availability.running_profile import Hold, RunningProfile


def plain(allocation: dict[int, int]) -> list[Hold]:
    return [(takes(), allocation, ())]


def running() -> RunningProfile:
    return RunningProfile(table(), 0)


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
    assert live.finish == {number: finish for number, (_, finish) in alive.items()}
