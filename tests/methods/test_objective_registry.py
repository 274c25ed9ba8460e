"""Objectives are data: one that is registered works everywhere, one that is not nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, get_args

import pytest
from slotwise import Cluster, Host, InputError, Instance, Job, Method, ObjectiveName, Status
from slotwise.model.generate import generate
from slotwise.model.objective import Cost, Objective, forget, objective_named, objectives, register
from slotwise.solver import planning
from slotwise.solver.planning import plan
from slotwise.solver.validate import validate
from slotwise.solver.validation import claims

THREE = Instance(
    Cluster((Host("h", 1),)),
    pending=(
        Job("long", run_limit=7200, submit=-600, deadline=7300),
        Job("short", run_limit=600, submit=-60, deadline=9000),
        Job("mid", run_limit=1800, deadline=2000),
    ),
    now=0,
)

#: All but the one that obeys rules of Slurm.
METHODS = tuple(name for name in planning.METHODS if name != "slurm")


class Flow(Objective):
    """Seconds from submission to end: known to nothing in the project."""

    name: Any = "flow"
    meaning = "sum of the seconds from submission to end"

    def cost(self, job: Job, duration: int | None, now: int) -> Cost:
        return Cost(Fraction(1), now, base=Fraction(now - job.submit + (duration or 0)))


class WorstDelay(Objective):
    """The largest lateness, which is not a last end: a pool has no such problem."""

    name: Any = "worst-delay"
    meaning = "the most seconds that an end lies after its deadline"
    due_dates = True
    combination = "largest"

    def cost(self, job: Job, duration: int | None, now: int) -> Cost:
        assert job.deadline is not None
        return Cost(Fraction(1), job.deadline - (duration or 0))


@pytest.fixture
def toys() -> Iterator[None]:
    for toy in (Flow(), WorstDelay()):
        register(toy)
    yield
    for name in ("flow", "worst-delay"):
        forget(name)


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge's own formulas for the toys, without which nothing of theirs is proved."""

    def flow(facts: Any, known: Any) -> float:
        return float(sum(entry.finish - job.submit for entry, job in known))

    def worst(facts: Any, known: Any) -> float:
        return float(max(max(0, entry.finish - job.deadline) for entry, job in known))

    monkeypatch.setitem(claims.FORMULAS, "flow", flow)  # type: ignore[misc]
    monkeypatch.setitem(claims.FORMULAS, "worst-delay", worst)  # type: ignore[misc]


@pytest.mark.usefixtures("toys", "judged")
@pytest.mark.parametrize("method", METHODS)
def test_a_new_objective_is_that_objective_by_every_method(method: Any) -> None:
    three = replace(THREE, pending=tuple(replace(job, deadline=None) for job in THREE.pending))
    found = plan(three, method, objective="flow")  # type: ignore[arg-type]
    assert found.objective == "flow"
    run = {"long": 7800, "short": 660, "mid": 1800}
    if method in ("optimal", "milp"):
        assert [found[job].start for job in ("short", "mid", "long")] == [0, 600, 2400]
        assert (found.status, found.value, found.bound) == ("optimal", 3000 + 10260, 3000 + 10260)
    else:
        assert found.status == "heuristic"
    if all(item.start is not None for item in found):
        assert found.value == sum(run[item.job] + (item.start or 0) for item in found)


@pytest.mark.usefixtures("toys", "judged")
@pytest.mark.parametrize("method", ["optimal", "milp"])
def test_a_largest_cost_that_is_no_makespan(method: Any) -> None:
    found = plan(THREE, method, objective="worst-delay")  # type: ignore[arg-type]
    # Alone, mid has 200 s and long 100 s to spare: one of them waits for the other.
    assert (found.status, found.value, found.bound) == ("optimal", 1700, 1700)
    assert [found[job].start for job in ("mid", "long")] == [0, 1800]
    assert found["short"].start in range(9000 - 600 + 1700 + 1)


@pytest.mark.usefixtures("toys")
@pytest.mark.parametrize("name", ["flow", "worst-delay"])
def test_the_judge_refuses_an_objective_without_a_formula_of_its_own(name: Any) -> None:
    found = plan(THREE, objective=name, effort=0.5)
    assert [fault.check for fault in validate(THREE, found)] == ["value"]
    assert f"objective {name} is not one of lexicographic" in str(validate(THREE, found)[0])
    assert (found.status, found.bound) == ("heuristic", None)


def test_what_is_not_registered_is_an_error_everywhere() -> None:
    for method in METHODS:
        with pytest.raises(InputError, match="unknown objective 'flow': use one of lexicographic"):
            plan(THREE, method, objective="flow")  # type: ignore[arg-type]
    forged = replace(plan(THREE, objective="weighted", effort=0.5), objective="flow")  # type: ignore[arg-type]
    assert [fault.check for fault in validate(THREE, forged)] == ["value"]


def test_a_name_is_registered_once() -> None:
    with pytest.raises(ValueError, match="'makespan' is already registered: choose another name"):
        register(objective_named("makespan"))


def test_a_combination_nobody_knows_is_refused() -> None:
    class Median(Flow):
        name: Any = "median"
        combination: Any = "median"

    with pytest.raises(ValueError, match="unknown combination 'median'"):
        register(Median())
    assert "median" not in objectives()


def test_names_types_and_judge_agree() -> None:
    assert get_args(ObjectiveName) == tuple(objectives())
    assert set(claims.FORMULAS) == set(objectives())
    assert get_args(Method) == planning.METHODS
    assert get_args(Status) == claims.STATUSES
    assert all(name == objective.name for name, objective in objectives().items())
    assert all(objective.meaning for objective in objectives().values())


@pytest.mark.parametrize("name", tuple(objectives()))
def test_a_later_start_never_costs_less(name: ObjectiveName) -> None:
    objective = objective_named(name)
    for job in generate(hosts=2, running=0, pending=20, seed=1).pending:
        cost = objective.cost(replace(job, deadline=500, weight=0.3), job.run_limit, 100)
        values = [cost.at(start) for start in range(100, 1500, 37)]
        assert values == sorted(values)


@pytest.mark.parametrize("name", tuple(objectives()))
def test_the_time_based_plan_has_the_objective_that_was_asked_for(name: ObjectiveName) -> None:
    found = plan(THREE, "time-based", objective=name)
    assert (found.objective, found.status) == (name, "heuristic")
    assert validate(THREE, found) == []
    best = plan(THREE, objective=name, effort=0.5)
    assert found.value is not None
    assert best.value is not None
    aborted = {job.id for job in THREE.pending} - {item.job for item in found}
    assert best.value <= found.value or aborted  # -t: what LSF aborts costs its plan nothing
