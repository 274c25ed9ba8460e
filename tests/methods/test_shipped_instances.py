"""Every shipped instance: it loads, every method plans it, and the judge accepts every plan."""

from __future__ import annotations

import pytest
import slotwise as sw
from slotwise.model.objective import objectives
from slotwise.solver.planning import plan

#: Those whose optimum is not proved with so little effort.
LARGE = {"cluster-1000", "ctc-sp2-queue-100", "theta-queue-50", "slurm-live"}
SMALL = sorted(set(sw.examples()) - LARGE)


def check(name: str, methods: tuple[str, ...], **options: float) -> dict[str, sw.Plan]:
    instance = sw.load(sw.example(name))
    assert instance.name == name
    assert instance.description
    plans = {method: plan(instance, method, **options) for method in methods}
    for method, found in plans.items():
        assert sw.validate(instance, found, as_lsf=method != "optimal") == []
        planned = {item.job for item in found} | {item.job for item in found.unplaced}
        assert planned == {job.id for job in instance.pending}
    return plans


#: The example with every feature takes long; the pages of docs plan it too.
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] if n == "site" else []) for n in SMALL]
)
def test_every_method_gives_a_valid_plan_and_the_optimum_is_proved(name: str) -> None:
    plans = check(name, ("greedy", "time-based", "optimal"), effort=10)
    best = plans["optimal"]
    if best.left_out:  # slot pools
        assert best.status == "feasible"
        assert any(item.fallback == "not proved" for item in best)
    else:
        assert best.status == ("infeasible" if best.unplaced else "optimal")
    for timed in plans["time-based"]:
        if timed.start is not None and timed.start != best[timed.job].start:
            assert best[timed.job].start < timed.start
            break


@pytest.mark.parametrize("objective", tuple(objectives())[1:])
@pytest.mark.parametrize("name", ["headline", "cu-racks", "memory-phases"])
def test_every_objective(name: str, objective: str) -> None:
    instance = sw.load(sw.example(name))
    found = plan(instance, "optimal", objective=objective, effort=0.3)
    assert sw.validate(instance, found) == []
    assert found.bound is not None
    assert found.value is not None
    assert found.bound <= found.value
