"""Linear programs end: GLOP's simplex may go round in circles, so its iterations are limited."""

from __future__ import annotations

import pytest
from pool_problems import brute_force
from sampling import some
from slotwise.solver.optimal import backends
from slotwise.solver.optimal.pool import optimise

from .test_pool_proof import some_problem


@pytest.mark.parametrize("falling", some([False, True], 1))
@pytest.mark.parametrize("work", [0.0, 1e-6, 1e-5, 1e-4])
def test_bounds_hold_and_searches_end_where_programs_are_given_up(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    work: float,
    falling: bool,
) -> None:
    monkeypatch.setattr(backends, "MAX_WORK", work)
    for seed in range(12):
        problem = some_problem(seed, falling=falling)
        result = optimise(problem, effort=200)
        value = brute_force(problem)
        assert result.bound <= value <= result.value
        if result.status == "proved":
            assert result.value == value
    # GLOP complains there of solutions that are read and do not exist.
    assert capfd.readouterr().err == ""
