"""The judge on plans whose jobs could start sooner, and on what is left out as behind."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
import slotwise as sw
from enumerated_instances import instance as drawn
from sampling import some
from slotwise import Instance, Plan, PlannedJob, loads
from slotwise.model.generate import generate
from slotwise.solver.planning import plan as plan_of
from slotwise.solver.validate import validate

WEEK = 7 * 86400
IDLE = loads("""
format: slotwise/1
hosts: [{name: h, slots: 2}]
pending: [{id: a, run_limit: 10m}, {id: b, run_limit: 10m}]
""")


def checks(instance: Instance, plan: Plan) -> set[str]:
    return {item.check for item in validate(instance, plan)}


def late(instance: Instance, by: int, objective: str = "lexicographic") -> Plan:
    """A plan of which every job starts so many seconds late, and all is called proved."""
    right = sw.plan(instance, "optimal", objective=objective)
    entries = tuple(
        replace(item, start=item.start + by, finish=item.finish + by, bound=item.start + by)
        for item in right
        if item.start is not None and item.finish is not None
    )
    assert right.value is not None
    value = right.value + by * len(entries)
    return replace(right, reservations=entries, value=value, bound=value)


@pytest.mark.parametrize("objective", ["lexicographic", "total-start"])
def test_two_jobs_on_an_idle_host_a_week_late_are_not_proved(objective: str) -> None:
    assert validate(IDLE, sw.plan(IDLE, "optimal", objective=objective)) == []
    assert checks(IDLE, late(IDLE, WEEK, objective)) == {"bound"}


@pytest.mark.parametrize("seed", some(range(60), 12))
def test_no_late_plan_passes_and_no_right_one_is_refused(seed: int) -> None:
    instance = drawn(Random(seed))
    right = plan_of(instance, "optimal", effort=2)
    assert validate(instance, right) == []
    first = next((item for item in right if item.proved and item.start is not None), None)
    if first is None or first.finish is None or right.status != "optimal":
        return
    if first.start != instance.now:  # the judge tries now, and ends of jobs on the same hosts
        return
    moved = replace(first, start=first.start + 1, finish=first.finish + 1, bound=first.start + 1)
    entries = tuple(moved if item is first else item for item in right)
    value = None if right.value is None else right.value + 1
    wrong = replace(right, reservations=entries, value=value, bound=value)
    assert validate(instance, wrong) != []


def test_a_bound_above_what_the_judge_finds_is_false_without_a_proof_too() -> None:
    (first, second) = sw.plan(IDLE, "optimal")
    entries = (first, replace(second, start=900, finish=1500, bound=600, proved=False))
    plan = sw.plan(IDLE, "optimal")
    found = replace(plan, reservations=entries, status="feasible", value=900.0, bound=None)
    assert checks(IDLE, found) == {"bound"}
    entries = (first, replace(entries[1], bound=0))
    assert validate(IDLE, replace(found, reservations=entries)) == []


@pytest.mark.parametrize("seed", range(3))
def test_who_is_behind_and_how_many(seed: int) -> None:
    instance = generate(hosts=4, running=6, pending=8, seed=seed)
    found = sw.plan(instance, "time-based", first=3)
    assert found.behind == 5
    assert validate(instance, found, as_lsf=True) == []
    for number in (4, 6, 0):
        assert "entry" in checks(instance, replace(found, behind=number))
    named = {item.job for item in found} | {item.job for item in found.unplaced}
    order = [*named, *(job.id for job in instance.pending if job.id not in named)]
    for job in order[:3]:
        entries = tuple(item for item in found if item.job != job)
        rest = tuple(item for item in found.unplaced if item.job != job)
        fewer = replace(found, reservations=entries, unplaced=rest, behind=6)
        last = job == sw.plan(instance, "time-based", first=3).reservations[-1].job
        assert last or "entry" in checks(instance, fewer)


def test_fractional_times_are_violations() -> None:
    (first, second) = sw.plan(IDLE, "optimal")
    for name in ("start", "finish", "bound", "estimate"):
        broken: PlannedJob = replace(first, **{name: 0.5})  # type: ignore[arg-type]
        plan = replace(sw.plan(IDLE, "optimal"), reservations=(broken, second))
        (found,) = validate(IDLE, plan)
        assert found.check == "entry"
        assert f"its {name} 0.5 is not a whole number" in found.message


def test_a_compound_plan_without_recorded_terms_is_split() -> None:
    instance = sw.load(sw.example("compound-terms"))
    right = sw.plan(instance, "optimal")
    bare = replace(right, reservations=tuple(replace(item, terms=()) for item in right))
    assert any(item.terms for item in right)
    assert validate(instance, bare) == []
