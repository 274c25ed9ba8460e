"""At which sizes a model or a search is taken, and small pieces of the pool optimiser by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from slotwise.solver.optimal.pool import PoolProblem, layers
from slotwise.solver.optimal.pool import search as improver
from slotwise.solver.optimal.pool.bounds import Incumbent
from slotwise.solver.optimal.pool.layers import LayeredSearch
from slotwise.solver.optimal.pool.pricing import Fineness
from slotwise.solver.optimal.pool.prover import Root


def asked(candidates: int, alternatives: int = 1, **more: Any) -> Any:
    term = SimpleNamespace(candidates=np.arange(candidates), alternatives=(None,) * alternatives)
    return SimpleNamespace(
        **{
            **{"terms": (term,), "duration": 5, "calendar": None, "latest": None, "killed": None},
            **more,
        }
    )


def pool(objective: str = "starts", jobs: int = 4) -> PoolProblem:
    sizes, durations = [2, 3, 1, 2][:jobs], [5, 4, 7, 2][:jobs]
    return PoolProblem.build([0, 3], [2, 4], sizes, durations, objective=objective)


def test_one_job_has_no_better_order() -> None:
    assert list(improver.improve(Incumbent(pool(jobs=1), np.array([0]), 0), 1)) == []


def test_crowded_layers_get_prices_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def refined(*_: object, **__: object) -> list[None]:
        asked.append(layers.CROWDED)
        return [None]

    monkeypatch.setattr(layers, "refine", refined)
    problem = PoolProblem.build([0], [3], [1, 2, 3, 2, 1], [5, 4, 7, 2, 6])
    root = Root(Incumbent(problem, np.array([0, 30, 60, 90, 120]), 0), [np.arange(150)] * 5)
    for _ in root.tighten(Fineness(buckets=5, rounds=0, gain=1e-3)):
        pass
    assert root.bound is not None
    for crowded in (10**6, 1):
        monkeypatch.setattr(layers, "CROWDED", crowded)
        search = LayeredSearch(problem, root.domains, root.bound.prices, root.incumbent.value)
        for _ in search.run(50):
            pass
        assert (crowded in asked) == (crowded == 1)
