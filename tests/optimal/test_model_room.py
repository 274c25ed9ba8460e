"""The size of a model follows from the time and the memory left, and from what models took."""

from __future__ import annotations

import pytest
import slotwise as sw
from slotwise.solver import budget as budgets
from slotwise.solver.budget import MEMORY_OF_EFFORT, MEMORY_SHARE, Budget
from slotwise.solver.optimal import lexicographic
from slotwise.solver.optimal.backends import PLACEMENT, TRUST, ModelSizeLimit
from slotwise.solver.optimal.first_fit import plan_first_fit
from slotwise.solver.optimal.lexicographic import plan_lexicographic
from slotwise.solver.problem import PlanningProblem

PLENTY = 1e9
BYTES, PAIRS_A_SECOND, SHARE = PLACEMENT.memory, PLACEMENT.a_second, PLACEMENT.share


def capacity(left: float, memory: float = PLENTY) -> ModelSizeLimit:
    return ModelSizeLimit(Budget(time_limit=left, clock=lambda: 0.0, memory=lambda: memory))


def test_more_time_is_room_for_more_and_none_for_nothing() -> None:
    assert capacity(10).max_pairs() == pytest.approx(10 * SHARE * PAIRS_A_SECOND)
    assert capacity(40).max_pairs() == pytest.approx(40 * SHARE * PAIRS_A_SECOND)
    assert capacity(0).max_pairs() == 0
    assert capacity(-1).max_pairs() == 0


def test_what_models_took_counts_more_and_more() -> None:
    slow = capacity(10)
    slow.took(1000, 1.0)
    rate = (1000 + TRUST * PAIRS_A_SECOND) / (1.0 + TRUST)
    assert slow.max_pairs() == pytest.approx(10 * SHARE * rate)
    slow.took(99_000, 99.0)
    assert slow.max_pairs() < 10 * SHARE * 1200
    fast = capacity(10)
    fast.took(10**6, 10.0)
    assert fast.max_pairs() > capacity(10).max_pairs()


def test_memory_binds_where_there_is_less_of_it_than_time() -> None:
    assert capacity(1e6, memory=100).max_pairs() == pytest.approx(
        MEMORY_SHARE * 100 * (1 << 20) / BYTES
    )
    assert capacity(1e6, memory=0).max_pairs() == 0


def test_under_an_effort_neither_the_clock_nor_the_machine_decides() -> None:
    budget = Budget(effort=30, time_limit=0.001, memory=lambda: 0.0)
    found = ModelSizeLimit(budget)
    assert found.max_pairs() == pytest.approx(
        min(MEMORY_OF_EFFORT * (1 << 20) / BYTES, 30 * SHARE * PAIRS_A_SECOND)
    )
    found.took(10, 100.0)
    budget.effort_spent = 20
    assert found.max_pairs() == pytest.approx(10 * SHARE * PAIRS_A_SECOND)


@pytest.mark.parametrize(("megabytes", "proved"), [(1e5, True), (0.0, False)])
def test_a_search_without_memory_refutes_nothing_by_models(megabytes: float, proved: bool) -> None:
    """joint-wins takes one model; without memory for it the large job's start stays open."""
    problem = PlanningProblem.of(sw.load(sw.example("joint-wins")))
    budget = Budget(time_limit=30, memory=lambda: megabytes)
    found = plan_lexicographic(problem, plan_first_fit(problem), budget)
    assert found["large"].proved is proved
    assert found["large"].start == (0 if proved else 7200)


def test_the_least_that_is_said_of_memory_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgets, "_said", lambda: iter([500.0, 70.0, 900.0]))
    assert budgets.memory_available() == 70.0
    monkeypatch.setattr(budgets, "_said", lambda: iter([500.0, -5.0]))
    assert budgets.memory_available() == 0.0
    monkeypatch.setattr(budgets, "_said", lambda: iter([]))
    assert budgets.memory_available() == budgets.UNKNOWN


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
