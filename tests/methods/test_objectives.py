"""Objectives that trade jobs against each other, against brute force and the judge."""

from __future__ import annotations

from brute_force import least_total_start
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from random_instances import instances
from slotwise import Instance
from slotwise.model.objective import objectives
from slotwise.solver.planning import plan
from slotwise.solver.validate import validate


@examples(12)
@given(instances(most_hosts=3, most_jobs=2))
def test_total_start_equals_brute_force(instance: Instance) -> None:
    expected = least_total_start(instance)
    assume(expected is not None)
    found = plan(instance, "optimal", objective="total-start", effort=20)
    assert validate(instance, found) == []
    assert found.status == "optimal"
    assert found.value == found.bound == expected


@examples(20)
@given(instances(most_hosts=5, most_jobs=4), st.sampled_from(tuple(objectives())[1:]))
def test_every_objective_gives_a_valid_plan_between_its_bound_and_time_based(
    instance: Instance, objective: str
) -> None:
    found = plan(instance, "optimal", objective=objective, effort=5)
    assert validate(instance, found) == []
    assert found.value is not None
    assert found.bound is not None
    assert found.bound <= found.value + 1e-9
    timed = plan(instance, "time-based")
    placed = [item for item in timed.reservations if item.start is not None]
    if objective == "total-start" and len(placed) == len(found.reservations):
        assert found.value <= sum(item.start or 0 for item in placed)
