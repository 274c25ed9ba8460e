"""At which sizes a model or a search is taken, and small pieces of the pool optimiser by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from slotwise.model.generate import generate
from slotwise.model.objective import objective_named
from slotwise.solver.optimal.costs import Costs
from slotwise.solver.optimal.first_fit import plan_first_fit
from slotwise.solver.optimal.interval_model import IntervalModel
from slotwise.solver.optimal.lexicographic import warm_starts
from slotwise.solver.optimal.pool import PoolProblem, layers, pricing
from slotwise.solver.optimal.pool import search as improver
from slotwise.solver.optimal.pool.bounds import Incumbent
from slotwise.solver.optimal.pool.layers import LayeredSearch
from slotwise.solver.optimal.pool.pricing import Fineness, Reach, refine
from slotwise.solver.optimal.pool.prover import Root
from slotwise.solver.optimal.weighted import earliest_alone
from slotwise.solver.problem import PlanningProblem


def asked(candidates: int, alternatives: int = 1, **more: Any) -> Any:
    term = SimpleNamespace(candidates=np.arange(candidates), alternatives=(None,) * alternatives)
    return SimpleNamespace(
        **{
            **{"terms": (term,), "duration": 5, "calendar": None, "latest": None, "killed": None},
            **more,
        }
    )


def test_hosts_that_change_seldom_get_few_blocks() -> None:
    """Of all instants at which something ends, a host's cumulative knows its own."""
    problem = PlanningProblem.of(generate(hosts=40, running=200, pending=3, load=0.97, seed=3))
    warm = warm_starts(problem, plan_first_fit(problem))
    demands = [demand for demand in problem.demands if demand.job.id in warm]
    costs = Costs.of(objective_named("total-start"), demands, problem.instance.now)
    last = 10 + max(start.time for start in warm.values())
    total = costs.total({job: start.time for job, start in warm.items()})
    model = IntervalModel(problem, demands, costs, earliest_alone(problem), last, total)
    blocks = [c for c in model.model.proto.constraints if c.has_interval()]
    pairs = sum(term.candidates.size for demand in demands for term in demand.terms)
    resources = len(problem.resolver.table.host_resources)
    running = problem.instance.running
    held = sum(len(item.allocation) for item in running) * resources
    assert len(problem.base.changes()) > 100
    assert len(blocks) < 2 * (pairs * resources + held)


def pool(objective: str = "starts", jobs: int = 4) -> PoolProblem:
    sizes, durations = [2, 3, 1, 2][:jobs], [5, 4, 7, 2][:jobs]
    return PoolProblem.build([0, 3], [2, 4], sizes, durations, objective=objective)


def test_one_job_has_no_better_order() -> None:
    assert list(improver.improve(Incumbent(pool(jobs=1), np.array([0]), 0), 1)) == []


@pytest.mark.parametrize(
    ("floors", "added", "failed_at", "expected"),
    [
        ([10, 20, 40, 80], 1, None, 4),  # as many rounds as are asked for, and one
        ([10, 20, 40, 80], 0, None, 1),  # no row is missing
        ([10, 20, 40, 80], 1, 2, 2),  # the LP gave up in the second round
        ([10, 20, 21, 80], 1, None, 3),  # less than a tenth is gained
        ([10, 20, 1000, 80], 1, None, 3),  # nothing better than the ceiling is left
        ([0, 20, 40, 80], 1, None, 4),
        ([10, 20, 40, 44], 1, None, 4),
        ([None, 20, 40, 80], 1, None, 0),  # the LP gave up at once, without a bound
    ],
)
def test_prices_are_made_better_while_that_is_worth_it(
    monkeypatch: pytest.MonkeyPatch,
    floors: list[int | None],
    added: int,
    failed_at: int | None,
    expected: int,
) -> None:
    rounds = iter(enumerate(floors, 1))

    class Lp:
        failed = False

        def __init__(self, *_: object) -> None: ...

        def solve(self) -> list[Any]:
            number, floor = next(rounds)
            self.failed = number == failed_at
            return [] if floor is None else [SimpleNamespace(floor=floor, value=floor)]

        def separate(self) -> list[int]:
            return [0, added]

    monkeypatch.setattr(pricing, "Relaxation", Lp)
    problem = pool()
    fineness = Fineness(buckets=4, rounds=3, gain=0.1)
    found = refine(problem, Reach([np.arange(20)] * len(problem.groups)), 1000, fineness)
    assert len([bound for bound in found if bound is not None]) == expected


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
