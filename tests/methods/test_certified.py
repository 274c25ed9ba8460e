"""Every plan passes the judge before it is returned, and loses its claims where that objects."""

from __future__ import annotations

from dataclasses import replace

import pytest
from judging import job, problem
from slotwise import Plan, Violation
from slotwise.solver import planning
from slotwise.solver.certify import certified
from slotwise.solver.planning import plan

#: All but the one that obeys rules of Slurm.
METHODS = tuple(name for name in planning.METHODS if name != "slurm")

INSTANCE = problem(job("j", 4), job("k", 2, submit=1))


@pytest.mark.parametrize("method", METHODS)
def test_a_plan_that_the_judge_accepts_is_returned_as_it_is(method: str) -> None:
    found = plan(INSTANCE, method, effort=5)
    assert found.notes == ()
    assert certified(INSTANCE, found) is found


@pytest.mark.parametrize("method", METHODS)
def test_every_method_asks_the_judge(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def note(_: object, found: Plan, **__: object) -> Plan:
        asked.append(found.method)
        return found

    monkeypatch.setattr(planning, "certified", note)
    plan(INSTANCE, method, effort=5)
    assert asked == [method]


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


def test_a_long_list_of_objections_is_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    found = plan(INSTANCE, "greedy")
    many = [Violation("slots", f"fault {number}") for number in range(9)]
    monkeypatch.setattr("slotwise.solver.certify.validate", lambda *_, **__: many)
    judged = certified(INSTANCE, found)
    assert judged.refused
    (note,) = judged.notes
    assert note.endswith("fault 2 and 6 more")
