"""The shipped worked examples give what their descriptions say."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import slotwise as sw

HOUR = 3600


def _starts(name: str, method: str, **options: float) -> dict[str, int]:
    instance = sw.load(sw.example(name))
    plan = sw.plan(instance, method=method, **options)
    assert sw.validate(instance, plan) == []
    return {job.job: job.start - instance.now for job in plan if job.start is not None}


@pytest.mark.parametrize(
    ("name", "starts"),
    [
        pytest.param(
            "headline", {"job5": 3 * HOUR}, marks=pytest.mark.behaviour("GRD-05", "TBR-02")
        ),
        pytest.param("qat-time-based", {"11898": 12 * HOUR}, marks=pytest.mark.behaviour("TBR-07")),
        pytest.param("sierra-nodes", {"11902": 10 * HOUR}, marks=pytest.mark.behaviour("TBR-08")),
        pytest.param(
            "sierra-rms", {"3876": 10 * HOUR - 94}, marks=pytest.mark.behaviour("PLC-18")
        ),
        pytest.param("candidate-order", {"job2": HOUR}, marks=pytest.mark.behaviour("TBR-05")),
        pytest.param("compound-terms", {"job5": 3 * HOUR}, marks=pytest.mark.behaviour("TBR-11")),
        pytest.param("candidate-groups", {"job4": 2 * HOUR}),
        pytest.param(
            "slot-limits",
            {"job3": 2 * HOUR, "job4": 3 * HOUR, "job5": 0, "job6": 0},
            marks=pytest.mark.behaviour("TBR-10"),
        ),
        pytest.param(
            "backfill",
            {"job2": 90 * 60, "job3": 0, "job4": 150 * 60},
            marks=pytest.mark.behaviour("TBR-18"),
        ),
        pytest.param("memory-pending", {"job3": 5 * HOUR}, marks=pytest.mark.behaviour("MEM-08")),
        pytest.param("exclusive-hosts", {"job5": 2 * HOUR}, marks=pytest.mark.behaviour("PLC-13")),
        pytest.param("cu-exclusive", {"job3": 2 * HOUR}, marks=pytest.mark.behaviour("PLC-11")),
        pytest.param("cu-racks", {"job3": HOUR, "job4": 0}, marks=pytest.mark.behaviour("PLC-05")),
        pytest.param("memory-phases", {"job2": 2 * HOUR}),
    ],
)  # fmt: skip
def test_time_based_starts(name: str, starts: Mapping[str, int]) -> None:
    assert _starts(name, "time-based").items() >= starts.items()


@pytest.mark.parametrize(
    ("name", "job", "hours"),
    [
        pytest.param("headline", "job5", 2, marks=pytest.mark.behaviour("GRD-03", "GRD-05")),
        pytest.param("qat-time-based", "11898", 10, marks=pytest.mark.behaviour("TBR-09")),
        pytest.param("sierra-nodes", "11902", 10),
        pytest.param("candidate-groups", "job4", 5, marks=pytest.mark.behaviour("GRD-02")),
    ],
)
def test_greedy_estimates(name: str, job: str, hours: int) -> None:
    instance = sw.load(sw.example(name))
    estimate = sw.plan(instance, method="greedy")[job].estimate
    assert estimate is not None
    assert estimate - instance.now == hours * HOUR


@pytest.mark.behaviour("RSV-09")
def test_the_optimum_uses_the_phases_of_running_jobs() -> None:
    starts = _starts("memory-phases", "optimal", time_limit=10)
    assert starts["job2"] == 600


@pytest.mark.parametrize(
    ("name", "job", "units"),
    [
        pytest.param("cu-balance-64", "job2", [22, 21, 21], marks=pytest.mark.behaviour("PLC-10")),
        pytest.param("cu-balance-uneven", "job3", [4, 5, 5], marks=pytest.mark.behaviour("PLC-09")),
        pytest.param("cu-preference", "job3", [0, 5], marks=pytest.mark.behaviour("PLC-09")),
        pytest.param("cu-preference", "job4", [5, 0], marks=pytest.mark.behaviour("PLC-09")),
        pytest.param("cu-preference", "job5", [20, 0], marks=pytest.mark.behaviour("TBR-13")),
    ],
)
def test_slots_of_each_unit(name: str, job: str, units: list[int]) -> None:
    instance = sw.load(sw.example(name))
    allocation = sw.plan(instance, method="time-based")[job].allocation
    found = [
        sum(slots for host, slots in allocation.items() if host in unit.hosts)
        for unit in instance.cluster.units_of()
    ]
    assert [slots for slots in found if slots or name == "cu-preference"] == units


@pytest.mark.behaviour("PLC-07")
def test_a_range_takes_the_first_two_enclosures_that_do() -> None:
    instance = sw.load(sw.example("cu-maxcus-range"))
    planned = sw.plan(instance, method="time-based")["job3"]
    used = [
        unit.name
        for unit in instance.cluster.units_of("enclosure")
        if set(unit.hosts) & set(planned.allocation)
    ]
    assert len(used) == 2
    assert sum(planned.allocation.values()) >= 11
    assert planned.start == 0
