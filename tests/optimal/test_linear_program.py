"""Linear programs end: GLOP's simplex may go round in circles, so its iterations are limited."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from pool_problems import brute_force
from slotwise.solver.optimal import linear_program
from slotwise.solver.optimal.linear_program import (
    DUAL_SIMPLEX,
    PRIMAL_SIMPLEX,
    new_program,
    solve,
)
from slotwise.solver.optimal.pool import optimise, prover

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


@pytest.mark.parametrize("parameters", ["", DUAL_SIMPLEX, PRIMAL_SIMPLEX])
@pytest.mark.parametrize("anew", [False, True])
def test_a_program_is_given_up_after_so_many_iterations(
    monkeypatch: pytest.MonkeyPatch, parameters: str, anew: bool
) -> None:
    # Preprocessing would leave nothing to iterate on.
    parameters += " use_preprocessing: false"
    program = transport()
    with monkeypatch.context() as patch:
        patch.setattr(linear_program, "ITERATIONS", 0)
        patch.setattr(linear_program, "FIRST_ITERATIONS", 5)
        assert not solve(program, parameters, anew=anew)
        assert program.iterations() <= 5
    assert solve(program, parameters, anew=anew)
    best = program.Objective().Value()
    assert solve(transport())
    assert best == pytest.approx(program.Objective().Value())
    # Far fewer than the limit: what solves at all is not given up.
    assert 5 < program.iterations() < linear_program.FIRST_ITERATIONS


@pytest.mark.parametrize("falling", [False, True])
@pytest.mark.parametrize("most", [0, 2, 6, 15])
def test_bounds_hold_and_searches_end_where_programs_are_given_up(
    monkeypatch: pytest.MonkeyPatch, most: int, falling: bool
) -> None:
    monkeypatch.setattr(linear_program, "ITERATIONS", 0)
    monkeypatch.setattr(linear_program, "FIRST_ITERATIONS", most)
    monkeypatch.setattr(prover, "MANY_JOBS", 4 if falling else 60)
    for seed in range(12):
        problem = some_problem(seed, falling=falling)
        result = optimise(problem, effort=200)
        value = brute_force(problem)
        assert result.bound <= value <= result.value
        if result.status == "proved":
            assert result.value == value
