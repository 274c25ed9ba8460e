"""The size of a model follows from the time and the memory left, and from what models took."""

from __future__ import annotations

import pytest
import slotwise as sw
from slotwise.solver import budget as budgets
from slotwise.solver.budget import Budget
from slotwise.solver.optimal import lexicographic
from slotwise.solver.optimal.first_fit import plan_first_fit
from slotwise.solver.optimal.lexicographic import plan_lexicographic
from slotwise.solver.problem import PlanningProblem


@pytest.mark.parametrize(("megabytes", "proved"), [(1e5, True), (0.0, False)])
def test_a_search_without_memory_refutes_nothing_by_models(megabytes: float, proved: bool) -> None:
    """joint-wins takes one model; without memory for it the large job's start stays open."""
    problem = PlanningProblem.of(sw.load(sw.example("joint-wins")))
    budget = Budget(time_limit=30, memory=lambda: megabytes)
    found = plan_lexicographic(problem, plan_first_fit(problem), budget)
    assert found["large"].proved is proved
    assert found["large"].start == (0 if proved else 7200)


def test_what_a_limit_on_the_process_leaves_is_asked() -> None:
    resource = pytest.importorskip("resource")
    before = budgets.memory_available()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = before  # far above what tests take
    try:
        resource.setrlimit(resource.RLIMIT_AS, (int(8e9), hard))
        assert budgets.memory_available() < 8e9 / budgets.MB
        assert budgets.memory_available() <= used
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def test_what_was_not_decided_is_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What one model leaves undecided is asked again, with no less of the time each time."""
    from slotwise.solver.optimal.joint_placement import JointPlacement

    shares: list[float] = []
    real = JointPlacement.solve

    def solve(self, budget, *, seconds, effort, hint=None):
        shares.append(seconds / budget.left())
        if len(shares) < 3:
            return "UNKNOWN", {}
        return real(self, budget, seconds=seconds, effort=effort, hint=hint)

    monkeypatch.setattr(JointPlacement, "solve", solve)
    problem = PlanningProblem.of(sw.load(sw.example("joint-wins")))
    found = plan_lexicographic(problem, plan_first_fit(problem), Budget(time_limit=1000))
    assert (found["large"].start, found["large"].proved, found.status) == (0, True, "optimal")
    first, *later = (min(share, lexicographic.MAX_SHARE) / 2 for share in lexicographic.SHARES)
    assert shares == pytest.approx([first, *later], rel=0.01)
