"""Arrays, dependency conditions and GPUs: the methods against every start tried."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from every_start import EveryStart, StartCase, arrays, conditions, with_gpus
from sampling import some
from slotwise.solver.fairshare.priority_order import priority_order
from slotwise.solver.planning import plan
from slotwise.solver.validate import validate

#: The latest start of a plan that is tried.
LAST = 12
KINDS: Mapping[str, Callable[[int], StartCase]] = {
    "arrays": arrays,
    "conditions": conditions,
    "conditions of more jobs": lambda seed: conditions(seed, jobs=4),
    "with GPUs": with_gpus,
}
LIMITS: Mapping[str, dict[str, Any]] = {"optimal": {"effort": 3}, "milp": {"time_limit": 60}}


def nothing_false_is_proved(given: StartCase) -> int:
    """All methods against every plan; how many optima of joint objectives were proved."""
    instance, tried = given.instance, EveryStart(given)
    jobs = {job.id: job for job in instance.pending}
    order = [job.id for job in priority_order(instance)]
    right = tried.lexicographic(order)
    costs: dict[str, Callable[[Mapping[str, int]], float]] = {
        "total-start": lambda starts: sum(starts.values()),
        "weighted": lambda starts: sum(jobs[name].weight * at for name, at in starts.items()),
        "makespan": lambda starts: max(
            (at + (jobs[name].run_limit or 0) for name, at in starts.items()), default=0
        ),
    }
    least = {name: tried.least(order, cost, LAST) for name, cost in costs.items()}
    proved = 0
    for method in ("greedy", "time-based"):
        found = plan(instance, method)
        assert validate(instance, found) == [], method
        assert not any("bug" in note for note in found.notes), (method, found.notes)
    for method, limit in LIMITS.items():
        found = plan(instance, method, objective="lexicographic", **limit)
        assert validate(instance, found) == [], method
        assert found.status == "optimal", (method, found.notes)
        assert [found[name].start for name in order] == right, method
        assert all(item.proved for item in found), method
        for objective, best in least.items():
            found = plan(instance, method, objective=objective, **limit)
            assert validate(instance, found) == [], (method, objective)
            assert found.value is not None
            if best is None:
                continue
            assert found.bound is None or found.bound <= best + 1e-6, (method, objective)
            if found.status == "optimal":
                proved += 1
                late = any((item.start or 0) > LAST for item in found)
                assert found.value <= best + 1e-6, (method, objective)
                assert late or found.value == pytest.approx(best), (method, objective)
    return proved


@pytest.mark.behaviour("ARR-01", "ARR-02", "DEP-02", "DEP-03", "DEP-05", "GPU-02")
@pytest.mark.parametrize("kind", ["arrays", "conditions", "with GPUs"])
@pytest.mark.parametrize("seed", some(range(0, 60, 5), 2))
def test_nothing_false_is_proved(kind: str, seed: int) -> None:
    assert nothing_false_is_proved(KINDS[kind](seed)) >= 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", range(20))
def test_nothing_false_is_proved_of_many(kind: str, part: int) -> None:
    seeds = range(1000 + 50 * part, 1050 + 50 * part)
    assert sum(nothing_false_is_proved(KINDS[kind](seed)) for seed in seeds) >= 100
