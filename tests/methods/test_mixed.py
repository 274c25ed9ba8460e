"""GPUs, job arrays and dependency conditions in one instance: against every plan tried."""

from __future__ import annotations

import pytest
from mixed_cases import Everything, case
from sampling import some
from slotwise import Instance, Method, Plan
from slotwise.solver.fairshare.priority_order import priority_order
from slotwise.solver.planning import plan
from slotwise.solver.validate import validate

#: The latest start of a plan that is tried.
LAST = 9


def exact(instance: Instance, method: Method, objective: str) -> Plan:
    if method == "milp":
        return plan(instance, method, objective=objective, time_limit=60)  # type: ignore[arg-type]
    return plan(instance, method, objective=objective, effort=3)  # type: ignore[arg-type]


def nothing_false_is_proved(seed: int) -> None:
    given = case(seed)
    instance = given.instance
    everything = Everything(given)
    order = [job.id for job in priority_order(instance)]
    right = everything.lexicographic(order)
    least = everything.least_total(LAST)
    for method in ("greedy", "time-based"):
        found = plan(instance, method)  # type: ignore[arg-type]
        assert validate(instance, found) == [], (seed, method)
        assert not any("bug" in note for note in found.notes), (seed, method, found.notes)
    methods: tuple[Method, ...] = ("optimal", "milp")
    for method in methods:
        found = exact(instance, method, "lexicographic")
        assert validate(instance, found) == [], (seed, method)
        assert found.status == "optimal", (seed, method, found.notes)
        assert [found[name].start for name in order] == right, (seed, method)
        assert all(item.proved for item in found), (seed, method)
        found = exact(instance, method, "total-start")
        assert validate(instance, found) == [], (seed, method)
        if least is not None:
            assert found.bound is None or found.bound <= least + 1e-6, (seed, method)
            if found.status == "optimal":
                assert found.value is not None
                late = any((item.start or 0) > LAST for item in found)
                assert found.value <= least, (seed, method)
                assert late or found.value == least, (seed, method)


@pytest.mark.behaviour("ARR-02")
@pytest.mark.behaviour("DEP-03")
@pytest.mark.behaviour("GPU-02")
@pytest.mark.parametrize("seed", some(range(0, 60, 5), 5))
def test_nothing_false_is_proved_where_they_meet(seed: int) -> None:
    nothing_false_is_proved(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_nothing_false_is_proved_of_two_thousand(part: int) -> None:
    for seed in range(1000 + 100 * part, 1100 + 100 * part):
        nothing_false_is_proved(seed)
