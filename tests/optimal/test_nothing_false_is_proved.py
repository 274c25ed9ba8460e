"""Where a model is too large, a probe is not decided or the effort is tiny: no false proof.

Every plan is held against the enumeration of all joint placements: a start said to be proved is the
right one, a bound lies nowhere above it, and `optimal` or `infeasible` is said of no other plan.
"""

from __future__ import annotations

import pytest
import slotwise as sw
from brute_force import lexicographic_starts
from hypothesis import HealthCheck, given, settings
from random_instances import instances
from slotwise.model.instance import Instance
from slotwise.model.plan import Plan
from slotwise.solver.optimal import interval_model, lexicographic
from slotwise.solver.optimal.joint_placement import JointPlacement
from slotwise.solver.planning import plan
from slotwise.solver.validate import validate

few = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
)


def check_claims(instance: Instance, found: Plan) -> None:
    """Nothing that the plan says of itself is false."""
    assert validate(instance, found) == []
    right = lexicographic_starts(instance)
    planned = {item.job: item for item in found.reservations}
    agrees = True  # the jobs before this one are where they should be
    for job in instance.pending:
        item = planned.get(job.id)
        start = None if item is None else item.start
        if item is not None and item.start is not None and agrees:
            expected = right[job.id]
            assert expected is not None
            assert item.start >= expected
            assert item.bound is not None
            assert item.bound <= expected
            assert not item.proved or item.start == expected
        agrees = agrees and start == right[job.id]
    if found.status in ("optimal", "infeasible"):
        assert agrees
    assert (found.status == "infeasible") <= bool(found.unplaced)


@few
@given(instances(most_hosts=4, most_jobs=3))
def test_a_model_that_is_too_large_refutes_nothing(instance: Instance) -> None:
    """MOST_PAIRS of 1: every settled job is kept where it is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lexicographic, "MOST_PAIRS", 1)
        check_claims(instance, plan(instance, "optimal", effort=20))


@few
@given(instances(most_hosts=4, most_jobs=3))
def test_a_probe_that_is_not_decided_refutes_nothing(instance: Instance) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(JointPlacement, "solve", lambda *_, **__: ("UNKNOWN", {}))
        check_claims(instance, plan(instance, "optimal", effort=20))


@few
@given(instances(most_hosts=4, most_jobs=3))
def test_a_tiny_effort_proves_nothing_false(instance: Instance) -> None:
    for effort in (0.0, 1e-6, 1e-3):
        check_claims(instance, plan(instance, "optimal", effort=effort))


@pytest.mark.parametrize("objective", ["total-start", "weighted", "makespan", "slowdown"])
@pytest.mark.parametrize("pairs", [1, 1200])
@pytest.mark.parametrize("effort", [1e-6, 0.02, 5.0])
def test_bounds_of_the_other_objectives_hold_whatever_model_fits(
    objective: str, pairs: int, effort: float
) -> None:
    """joint-wins with each size of model and effort: bound <= best <= value; the best is known."""
    instance = sw.load(sw.example("joint-wins"))
    best = plan(instance, "optimal", objective=objective, effort=20).value
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interval_model, "MOST_PAIRS", pairs)
        patch.setattr(lexicographic, "MOST_PAIRS", pairs)
        found = plan(instance, "optimal", objective=objective, effort=effort)
    assert validate(instance, found) == []
    assert best is not None
    assert found.value is not None
    assert found.value >= best - 1e-9
    assert found.bound is None or found.bound <= best + 1e-9
    assert found.status != "optimal" or found.value == pytest.approx(best)


def test_jobs_kept_where_they_are_leave_the_question_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """The large job could start at 0 if the small one moved; it may not move, so: not proved."""
    monkeypatch.setattr(lexicographic, "MOST_PAIRS", 1)
    # The small job where the time-based plan puts it, in the middle of the idle enclosure.
    monkeypatch.setattr(f"{lexicographic.__name__}._Search._by_order", lambda *_: None)
    instance = sw.load(sw.example("joint-wins"))
    found = plan(instance, "optimal", effort=10)
    large = found["large"]
    assert large.start == 7200
    assert (large.bound, large.proved) == (0, False)
    assert found.status == "feasible"
    assert "the limit of one step of the search" in large.fallback


def test_an_undecided_probe_is_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(JointPlacement, "solve", lambda *_, **__: ("UNKNOWN", {}))
    monkeypatch.setattr(f"{lexicographic.__name__}._Search._by_order", lambda *_: None)
    instance = sw.load(sw.example("joint-wins"))
    large = plan(instance, "optimal", effort=10)["large"]
    assert (large.start, large.bound, large.proved) == (7200, 0, False)
    assert "the limit of one step of the search" in large.fallback
