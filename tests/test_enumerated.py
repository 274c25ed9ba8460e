"""Every method against an enumerator that reads requirements for itself (:mod:`enumerator`).

Never "infeasible" where a place exists, never a start called proved with an earlier one, never a
bound above the optimum, never a place that breaks a rule.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from enumerated_instances import instance as draw
from enumerated_instances import newer_instance
from enumerated_plans import Table
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from long_ways import no_models
from sampling import some
from slotwise import Instance, Plan
from slotwise.solver.planning import plan
from slotwise.solver.problem import PlanningProblem

#: Combinations of forms beyond which an instance is left out.
MOST = 20_000
#: Beyond which no optimum over all jobs is enumerated.
MAX_FOR_ALL = 2_000
#: Deterministic effort: of proofs, and of searches, which spend all of it.
EFFORT, SEARCH = 60, 2


def starts(found: Plan) -> dict[str, int | None]:
    """Each job's start, None where it has none."""
    return {item.job: item.start for item in found} | {item.job: None for item in found.unplaced}


def time_based_is_right(table: Table) -> None:
    found = plan(table.instance, "time-based")
    assert not any("bug" in note for note in found.notes)  # the judge's objections
    assert table.faults(found) == []
    problem = PlanningProblem.of(table.instance)
    first = plan(table.instance, "optimal", time_limit=0)  # what the search begins with
    assert table.faults(first) == []
    assert problem.omitted_rules or table.first_fits(first) == []


def lexicographic_is_right(table: Table, method: str) -> None:
    found = plan(table.instance, method, effort=EFFORT)
    right = table.lexicographic()
    assert table.faults(found) == []
    if found.left_out:  # selections by memory that is reserved: what holds now may not hold later
        return
    assert found.notes == ()
    assert starts(found) == right
    assert found.status == ("infeasible" if None in right.values() else "optimal")


def objective_is_right(table: Table, method: str, objective: str) -> None:
    found = plan(table.instance, method, objective=objective, effort=SEARCH)
    best = table.least(objective)
    assert table.faults(found) == []
    if found.left_out:
        return
    assert found.status != "heuristic"
    assert found.value is not None
    if best is None:
        assert found.status in ("infeasible", "feasible")
        return
    assert found.unplaced == ()
    assert found.value >= best - 1e-6
    assert found.bound is None or found.bound <= best + 1e-6
    if found.status == "optimal":
        assert found.value == pytest.approx(best)


def nothing_false_is_proved(table: Table, found: Plan) -> None:
    """Proved starts are those of the optimum as long as all before them are; places are valid."""
    right = table.lexicographic()
    assert table.faults(found) == []
    if found.left_out:
        return
    if found.status in ("optimal", "infeasible"):
        assert starts(found) == right
    for job in table.instance.pending:
        item = found.get(job.id)
        if item is None or item.start != right[job.id]:
            assert item is None or not item.proved
            return
        assert item.bound is None or item.bound <= item.start


def table_of(instance: Instance) -> Table | None:
    """The forms of an instance; None if there are too many."""
    table = Table(instance)
    return table if table.size() <= MOST else None


def all_right(seed: int, drawn: Callable[[Random], Instance] = draw) -> None:
    table = table_of(drawn(Random(seed)))
    if table is None:
        return
    time_based_is_right(table)
    for method in ("optimal", "milp"):
        lexicographic_is_right(table, method)
    if table.size() <= MAX_FOR_ALL and seed % 5 == 0:
        for objective in ("total-start", "makespan"):
            for method in ("optimal", "milp"):
                objective_is_right(table, method, objective)


@pytest.mark.behaviour("TBR-02", "REQ-14", "RSV-07", "RSV-10", "PLC-02", "PLC-08", "PLC-11")
@pytest.mark.parametrize("block", some(range(10), 2))
def test_every_method_agrees_with_the_enumerator(block: int) -> None:
    for seed in range(block * 10, block * 10 + 10):
        all_right(seed)


@pytest.mark.behaviour("REQ-21", "REQ-22", "PLC-15", "PLC-16")
@pytest.mark.parametrize("block", some(range(6), 1))
def test_every_method_agrees_with_the_enumerator_in_the_language_of_10(block: int) -> None:
    for seed in range(block * 10, block * 10 + 10):
        all_right(seed, newer_instance)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_every_method_agrees_with_the_enumerator_on_many_of_10(block: int) -> None:
    for seed in range(1_000 + block * 100, 1_100 + block * 100):
        all_right(seed, newer_instance)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_every_method_agrees_with_the_enumerator_on_many(block: int) -> None:
    for seed in range(1_000 + block * 100, 1_100 + block * 100):
        all_right(seed)


@examples(40)
@given(st.randoms(use_true_random=False))
def test_the_lexicographic_optimum_is_that_of_the_enumerator(random: Random) -> None:
    table = table_of(draw(random))
    assume(table is not None)
    assert table is not None
    time_based_is_right(table)
    lexicographic_is_right(table, "optimal")


@pytest.mark.parametrize("seed", some(range(200, 240), 6))
@pytest.mark.parametrize("limit", ["model too large", "no effort", "no time"])
def test_under_limits_nothing_false_is_proved(
    seed: int, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = table_of(draw(Random(seed)))
    if table is None:
        return
    if limit == "model too large":
        no_models(monkeypatch)
    options = {"model too large": {"effort": EFFORT}, "no effort": {"effort": 0}}
    given = options.get(limit, {"time_limit": 0})
    nothing_false_is_proved(table, plan(table.instance, "optimal", **given))  # type: ignore[arg-type]
    if limit == "no time":
        found = plan(table.instance, "milp", time_limit=0)
        nothing_false_is_proved(table, found)
