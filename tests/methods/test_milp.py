"""The integer program by itself: objectives, limits, both solvers, too large a problem."""

from __future__ import annotations

import subprocess
import sys

import pulp
import pytest
import slotwise as sw
from agreement_cases import case
from brute_force import least_total_start
from hypothesis import assume, given
from hypothesis_profiles import examples
from random_instances import instances
from slotwise import Instance, loads
from slotwise.solver.budget import Budget
from slotwise.solver.milp import model as backend
from slotwise.solver.milp.model import PlacementModel
from slotwise.solver.planning import plan
from slotwise.solver.problem import PlanningProblem
from slotwise.solver.validate import validate


@examples(10)
@given(instances(most_hosts=3, most_jobs=2))
def test_total_start_equals_brute_force(instance: Instance) -> None:
    expected = least_total_start(instance)
    assume(expected is not None)
    found = plan(instance, "milp", objective="total-start", time_limit=30)
    assert validate(instance, found) == []
    assert found.status == "optimal"
    assert found.value == found.bound == expected


@pytest.mark.parametrize(
    ("example", "job", "start"),
    [("headline", "job5", 10800), ("joint-wins", "large", 0), ("qat-time-based", "11898", 43200)],
)
def test_worked_examples(example: str, job: str, start: int) -> None:
    found = plan(sw.load(sw.example(example)), "milp")
    assert found[job].start == start
    assert found[job].proved
    assert found.status == "optimal"


@pytest.mark.parametrize("seed", [1, 6, 12, 24, 38])
def test_cbc_and_highs_agree(seed: int) -> None:
    """The same program by both solvers, at starts that are possible and one that is not."""
    instance, _ = case(seed)
    problem = PlanningProblem.of(instance, as_lsf=False)
    known = plan(instance, "milp")
    asked = [(d, known[d.job.id].start) for d in problem.demands if d.job.id in known]
    assert asked
    earlier = [(demand, 0) for demand, _ in asked]
    for starts in (asked, earlier):
        found = []
        for solver in ("CBC", "HiGHS"):
            model = PlacementModel(problem.base, [(d, [t or 0]) for d, t in starts])
            if model.infeasible:
                continue
            found.append(backend.solve(model.program.problem, Budget(), seconds=20, solver=solver))
        assert len({outcome.status for outcome in found}) <= 1
        if starts is asked:
            assert [outcome.status for outcome in found] == ["OPTIMAL", "OPTIMAL"]


def knapsack() -> pulp.LpProblem:
    """A problem that takes a solver minutes to prove, with solutions at once."""
    problem = pulp.LpProblem("market_split", pulp.LpMinimize)
    taken = [problem.add_variable(f"x{i}", 0, 1, pulp.LpInteger) for i in range(40)]
    gaps = [problem.add_variable(f"g{row}", 0) for row in range(4)]
    problem += pulp.lpSum(gaps)
    for row, gap in enumerate(gaps):
        weights = [(37 * (i + 3) * (row + 5) ** 2 + 11 * i * i) % 97 + 3 for i in range(40)]
        sides = pulp.lpSum(w * x for w, x in zip(weights, taken, strict=True)) - sum(weights) // 2
        problem += sides <= gap
        problem += -sides <= gap
    return problem


@pytest.mark.parametrize("solver", ["CBC", "HiGHS"])
def test_a_run_that_a_limit_ended_is_only_feasible(solver: backend.Solver) -> None:
    """PuLP says Optimal for it."""
    outcome = backend.solve(knapsack(), Budget(), seconds=1.0, solver=solver)
    assert outcome.status == "FEASIBLE"
    assert outcome.value is not None
    assert outcome.bound is None or outcome.bound < outcome.value


def test_an_effort_gives_the_same_plan_twice() -> None:
    instance, _ = case(32)
    first, second = (plan(instance, "milp", effort=5).to_dict() for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("example", "objective"),
    [
        ("theta-queue-50", "total-start"),
        pytest.param("cluster-1000", "lexicographic", marks=pytest.mark.slow),
    ],
)
def test_too_large_is_said_and_answered_with_a_valid_plan(example: str, objective: str) -> None:
    instance = sw.load(sw.example(example))
    found = plan(instance, "milp", objective=objective, effort=0.5)
    assert found.status == "feasible"
    assert any("too large for the integer program" in note for note in found.notes)
    assert {item.job for item in found} | {item.job for item in found.unplaced} == {
        job.id for job in instance.pending
    }


def test_pulp_is_imported_by_this_method_alone() -> None:
    code = (
        "import sys, slotwise as sw\n"
        "instance = sw.load(sw.example('headline'))\n"
        "sw.plan(instance, 'time-based')\n"
        "assert 'pulp' not in sys.modules and 'ortools' not in sys.modules\n"
        "sw.plan(instance, 'milp')\n"
        "assert 'pulp' in sys.modules and 'ortools' not in sys.modules\n"
        "assert sw.plan(instance, 'optimal')['job5'].start == 10800\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_first_host_of_blocks_has_a_slot_of_its_own() -> None:
    """B alone has two blocks; A, which has to be first, holds no whole one before r ends."""
    instance = loads("""
    format: slotwise/1
    hosts: [{name: A, slots: 4}, {name: B, slots: 8}]
    running: [{id: r, start: 0, run_limit: 10m, allocation: 2*A}]
    pending: [{id: p, slots: 8, run_limit: 5m, hosts: "A! B", res_req: "span[block=4]"}]
    """)
    found = plan(instance, "milp")
    assert validate(instance, found) == []
    assert (found["p"].start, dict(found["p"].allocation)) == (600, {"A": 4, "B": 4})
