"""The profile: (time, free) steps, candidate instants, windows over starts, room of one term."""

from __future__ import annotations

import numpy as np
import pytest
from availability_cases import caps, demand, holds, steps, table
from slotwise import Host
from slotwise.solver.availability.profile import Profile


def empty(now: int = 0) -> Profile:
    """A and B of 4 slots."""
    return Profile(table(), now)


@pytest.mark.parametrize(
    ("start", "finish", "after"),
    [
        (100, 200, [(0, [2, 4]), (100, [0, 4]), (200, [2, 4]), (300, [4, 4])]),  # inside
        (0, 100, [(0, [0, 4]), (100, [2, 4]), (300, [4, 4])]),  # from the same start
        (200, 300, [(0, [2, 4]), (200, [0, 4]), (300, [4, 4])]),  # to the same end
        (200, 400, [(0, [2, 4]), (200, [0, 4]), (300, [2, 4]), (400, [4, 4])]),  # across the end
        (300, 400, [(0, [2, 4]), (300, [2, 4]), (400, [4, 4])]),  # right behind: no gap between
        (350, 400, [(0, [2, 4]), (300, [4, 4]), (350, [2, 4]), (400, [4, 4])]),  # later
        (50, 350, [(0, [2, 4]), (50, [0, 4]), (300, [2, 4]), (350, [4, 4])]),  # around the end
    ],
)
def test_every_way_to_overlap_a_running_job(
    start: int, finish: int, after: list[tuple[int, list[float]]]
) -> None:
    profile = holds(empty(), ({0: 2}, 0, 300), ({0: 2}, start, finish))
    merged = [step for i, step in enumerate(after) if i == 0 or step[1] != after[i - 1][1]]
    assert steps(profile) == merged


def test_copies_are_independent() -> None:
    first = holds(empty(), ({0: 1}, 0, 100))
    second = first.copy()
    holds(first, ({0: 1}, 0, 50))
    holds(second, ({1: 2}, 20, 40))
    assert steps(first) == [(0, [2, 4]), (50, [3, 4]), (100, [4, 4])]
    assert steps(second) == [(0, [3, 4]), (20, [3, 2]), (40, [3, 4]), (100, [4, 4])]


@pytest.mark.parametrize("seed", range(15))
def test_room_over_a_random_window_is_the_least_of_every_second(seed: int) -> None:
    random = np.random.default_rng(seed)
    profile = empty()
    free = np.full((200, 2), 40.0)
    where = table(Host("A", 40), Host("B", 40))
    profile = Profile(where, 0)
    for _ in range(15):
        start, length = int(random.integers(100)), int(random.integers(1, 60))
        host, count = int(random.integers(2)), int(random.integers(1, 3))
        holds(profile, ({host: count}, start, start + length))
        free[start : start + length, host] -= count
        at, wide = int(random.integers(120)), int(random.integers(1, 80))
        assert caps(profile, demand(duration=wide), at) == free[at : at + wide].min(0).tolist()
