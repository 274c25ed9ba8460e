"""The scheduler's greedy and time-based plans equal the literal references of solver/reference.

Of every instance that uses no rule of :data:`left_out.LEFT_OUT`: starts, estimates and what is
held. The references share nothing with the scheduler but the model.
"""

from __future__ import annotations

from typing import Any

import pytest
import slotwise as sw
from left_out import METHODS, differences, pair_case, whole_case
from sampling import some
from slotwise.solver.reference import greedy, time_based

HOUR = 3600


@pytest.mark.behaviour("REF-01", "REF-02", "GRD-03", "GRD-05", "TBR-02")
def test_the_headline_of_the_documents() -> None:
    """FT(Job4) by greedy, which counts slots; FT(Job1) by time-based, on two slots each."""
    instance = sw.load(sw.example("headline"))
    held, placed = greedy(instance)["job5"], time_based(instance)["job5"]
    assert (held.estimate, held.slots) == (2 * HOUR, {"hostA": 1, "hostD": 1})
    assert (placed.start, placed.slots) == (3 * HOUR, {"hostA": 2, "hostC": 2, "hostD": 2})


@pytest.mark.behaviour("REF-01", "REF-02", "GRD-02", "TBR-05", "TBR-07", "TBR-08", "TBR-09")
@pytest.mark.parametrize(
    ("example", "job", "estimate", "start"),
    [
        ("qat-time-based", "11898", 10, 12),
        ("sierra-nodes", "11902", 10, 10),
        ("candidate-groups", "job4", 5, 2),
        ("candidate-order", "job2", 1, 1),
        ("exclusive-hosts", "job5", None, 2),
        ("cu-exclusive", "job3", None, 2),
        ("cu-racks", "job3", None, 1),
    ],
)
def test_golden_numbers(example: str, job: str, estimate: int | None, start: int) -> None:
    instance = sw.load(sw.example(example))
    if estimate is not None:
        assert greedy(instance)[job].estimate == instance.now + estimate * HOUR
    assert time_based(instance)[job].start == instance.now + start * HOUR


@pytest.mark.behaviour("REF-01", "REF-02")
@pytest.mark.parametrize("hundred", some(range(100), 2))
@pytest.mark.parametrize("draw", [pair_case, whole_case])
def test_sites_in_which_features_meet(draw: Any, hundred: int) -> None:
    """A rule that either reads otherwise makes an estimate, a start or a reservation differ."""
    for seed in range(50 * hundred, 50 * hundred + 50):
        for method in METHODS:
            rule, differing = differences(draw(seed), method)
            assert rule or not differing, (seed, method, differing)
