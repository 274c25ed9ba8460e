"""Every plan passes the judge before it is returned, and loses its claims where that objects."""

from __future__ import annotations

from dataclasses import replace

from judging import job, problem
from slotwise.solver.certify import certified
from slotwise.solver.planning import plan

INSTANCE = problem(job("j", 4), job("k", 2, submit=1))


def test_a_plan_that_breaks_a_rule_loses_its_claims() -> None:
    right = plan(INSTANCE, "optimal", effort=5)
    assert (right.status, right["j"].proved) == ("optimal", True)
    first, second = right.reservations
    broken = replace(first, allocation={"A": 9})
    found = certified(INSTANCE, replace(right, reservations=(broken, second)))
    assert (found.status, found.bound) == ("heuristic", None)
    assert not any(item.proved or item.bound is not None for item in found)
    assert found["j"].allocation == {"A": 9}
    (note,) = found.notes
    assert "report" in note
    assert "9 slots" in note
