"""Reservations that start before an earlier one on a host of it."""

from __future__ import annotations

import pytest
from loop_lab import job
from slotwise.solver.placement.earliest import Start
from slotwise.solver.world.held import Held, overtaken
from slotwise.solver.world.job_state import JobState


def reserved(*places: tuple[int, tuple[int, ...]]) -> list[Held]:
    """Reservations in their order: estimate and hosts."""
    found = []
    for number, (time, hosts) in enumerate(places):
        start = Start(time, (dict.fromkeys(hosts, 1),))
        state = JobState(job(f"j{number}", len(hosts)), number)
        found.append(Held(state, "time-based", time, start=start))
    return found


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ([], False),
        ([(20, (0, 1)), (10, (2, 3))], False),
        ([(20, (0, 1)), (10, (1, 2))], True),
        ([(20, (0, 1)), (20, (1, 2))], False),
        ([(20, (0, 1)), (30, (1,)), (25, (2,))], False),
        ([(20, (0, 1)), (30, (1,)), (25, (1,))], True),
        ([(30, (0,)), (20, (1,)), (25, (0, 1))], True),
    ],
)
def test_who_is_overtaken(places: list[tuple[int, tuple[int, ...]]], expected: bool) -> None:
    assert overtaken(reserved(*places)) is expected
