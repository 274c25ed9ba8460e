"""Linear programs end: GLOP's simplex may go round in circles, so its iterations are limited."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from pool_problems import brute_force
from sampling import some
from slotwise.solver.optimal import backends
from slotwise.solver.optimal.backends import PRIMAL_SIMPLEX, new_program, solve
from slotwise.solver.optimal.pool import optimise

from .test_pool_proof import some_problem


def transport(size: int = 12) -> Any:
    """Many sources and sinks, random costs: some dozens of iterations."""
    rng = Random(1)
    program = new_program()
    rows = [program.Constraint(-program.infinity(), 3.0) for _ in range(size)]
    columns = [program.Constraint(2.0, program.infinity()) for _ in range(size)]
    for row in rows:
        for column in columns:
            flow = program.NumVar(0.0, program.infinity(), "")
            row.SetCoefficient(flow, 1.0)
            column.SetCoefficient(flow, 1.0)
            program.Objective().SetCoefficient(flow, rng.randint(1, 99))
    return program


@pytest.mark.parametrize("parameters", ["", PRIMAL_SIMPLEX])
def test_a_program_is_given_up_after_so_much_work(parameters: str) -> None:
    # Preprocessing would leave nothing to do.
    parameters += " use_preprocessing: false"
    program = transport()
    assert not solve(program, parameters, work=1e-9)
    assert solve(program, parameters)
    best = program.Objective().Value()
    assert solve(transport())
    assert best == pytest.approx(program.Objective().Value())


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
