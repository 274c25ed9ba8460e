"""The earliest start of one job: exact against a scan of every minute; what may never delay it."""

from __future__ import annotations

import pytest
from judging import job, problem, running
from slotwise import loads
from slotwise.solver.planning import plan


@pytest.mark.behaviour("GRD-01", "TBR-02")
def test_a_range_of_slots_takes_what_there_is_now_and_is_planned_with_its_minimum() -> None:
    instance = problem(job("j", 2, max_slots=8))
    for method in ("greedy", "time-based", "optimal"):
        assert plan(instance, method, effort=5)["j"].allocation == {"A": 4, "B": 4}
    busy = (running("r", {"A": 4, "B": 4, "C": 3}),)
    for method in ("time-based", "optimal"):
        found = plan(problem(job("j", 2, max_slots=8), running=busy), method, effort=5)["j"]
        assert (found.start, sum(found.allocation.values())) == (100, 2)


@pytest.mark.behaviour("PLC-05")
def test_the_finest_unit_type_is_the_default_unless_another_is_marked() -> None:
    """A rack of two enclosures: cu[maxcus=1] is one enclosure, or the rack where it is marked."""
    text = """
format: slotwise/1
params: {COMPUTE_UNIT_TYPES: "%s"}
hosts: [{name: "n[1-2]", slots: 4}]
compute_units:
  - {name: enc1, type: enclosure, members: n1}
  - {name: enc2, type: enclosure, members: n2}
  - {name: rack, type: rack, members: enc1 enc2}
pending: [{id: j, slots: 8, run_limit: 1h, res_req: "cu[maxcus=1]"}]
"""
    for types, fits in (
        ("enclosure rack", False),
        ("enclosure! rack", False),
        ("enclosure rack!", True),
    ):
        assert ("j" in plan(loads(text % types), effort=5)) == fits
