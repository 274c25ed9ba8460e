"""The joint placement model against brute force, and the instance on which it wins."""

from __future__ import annotations

import pytest
import slotwise as sw
from brute_force import is_valid, lexicographic_starts
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from random_instances import instances
from slotwise import Instance
from slotwise.solver.budget import Budget
from slotwise.solver.optimal.joint_placement import JointPlacement
from slotwise.solver.planning import plan
from slotwise.solver.problem import PlanningProblem
from slotwise.solver.validate import validate


@examples(60)
@given(instances(most_hosts=4, most_jobs=2))
def test_model_agrees_with_brute_force_at_and_before_the_optimal_starts(
    instance: Instance,
) -> None:
    """Feasible at the optimal starts with a valid placement, infeasible one instant earlier."""
    starts = lexicographic_starts(instance)
    assume(all(start is not None for start in starts.values()))
    problem = PlanningProblem.of(instance)
    asked = [(demand, starts[demand.job.id] or 0) for demand in problem.demands]
    status, placed = JointPlacement(problem.base, asked).solve(Budget(), seconds=20, effort=20)
    assert status == "FEASIBLE"
    entries = tuple(
        problem.planned(demand, placed[demand.job.id], "optimal") for demand, _ in asked
    )
    assert is_valid(instance, entries)
    last, time = asked[-1]
    if time > instance.now:
        earlier = [*asked[:-1], (last, instance.now)]
        status, _ = JointPlacement(problem.base, earlier).solve(Budget(), seconds=20, effort=20)
        assert status == "INFEASIBLE"


@examples(60)
@given(instances(most_hosts=4, most_jobs=3), st.data())
def test_a_model_with_one_more_job_says_what_the_model_of_all_says(
    instance: Instance, data: st.DataObject
) -> None:
    """At starts of any kind; the model that was there before is used again and says the same.

    With several starts of the last job, it says the first at which the model of all is feasible.
    """
    problem = PlanningProblem.of(instance)
    times = problem.base.changes()[:3]
    asked = [
        (demand, max(demand.earliest, data.draw(st.sampled_from(times))))
        for demand in problem.demands
    ]
    *before, (last, time) = asked
    model = JointPlacement(problem.base, before)
    whole, _ = JointPlacement(problem.base, asked).solve(Budget(), seconds=20, effort=20)
    for _ in range(2):
        status, placed = model.beside([(last, time)]).solve(Budget(), seconds=20, effort=20)
        assert status == whole
        if placed:
            entries = tuple(
                problem.planned(demand, placed[demand.job.id], "optimal") for demand, _ in asked
            )
            assert is_valid(instance, entries)
    options = [(last, at) for at in times if at >= last.earliest]
    each = [
        JointPlacement(problem.base, [*before, option]).solve(Budget(), seconds=20, effort=20)[0]
        for option in options
    ]
    status, placed = model.beside(options).solve(Budget(), seconds=20, effort=20)
    if "FEASIBLE" in each:
        assert status == ("OPTIMAL" if len(options) > 1 else "FEASIBLE")
        assert placed[last.job.id].time == options[each.index("FEASIBLE")][1]
    else:
        assert status == "INFEASIBLE"
    assert len(model.starts) == len(model.choices) == len(before)


@pytest.mark.behaviour("TBR-04")
def test_joint_plan_wins_back_what_sequential_placement_loses() -> None:
    """The small job keeps its start and gives the idle enclosure to the large one."""
    instance = sw.load(sw.example("joint-wins"))
    sequential = plan(instance, "time-based")
    joint = plan(instance, "optimal", effort=10)
    assert (sequential["small"].start, joint["small"].start) == (0, 0)
    assert sequential["large"].start == 2 * 3600
    assert joint["large"].start == 0
    assert joint["large"].proved
    assert validate(instance, joint) == []
