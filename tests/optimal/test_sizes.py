"""At which sizes a model or a search is taken, and small pieces of the pool optimiser by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from slotwise.model.generate import generate
from slotwise.model.objective import objective_named
from slotwise.solver.budget import Budget
from slotwise.solver.optimal.costs import Costs
from slotwise.solver.optimal.first_fit import plan_first_fit
from slotwise.solver.optimal.interval_model import MEMORY, WORTH, IntervalModel
from slotwise.solver.optimal.lexicographic import warm_starts
from slotwise.solver.optimal.pool import PoolProblem, layers, pricing
from slotwise.solver.optimal.pool import search as improver
from slotwise.solver.optimal.pool.bounds import Incumbent, Market, Relaxation
from slotwise.solver.optimal.pool.chronology import uses_less
from slotwise.solver.optimal.pool.layers import LayeredSearch
from slotwise.solver.optimal.pool.pricing import Fineness, Reach, best_of, make_grid, refine
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


def limited(seconds: float, memory: float = 1e9) -> Budget:
    return Budget(time_limit=seconds, clock=lambda: 0.0, memory=lambda: memory)


def test_the_interval_model_is_built_where_time_and_memory_are_left_for_it() -> None:
    """Pairs of job and host, times the jobs squared, for the time; pairs for the memory."""
    second = limited(1)
    assert IntervalModel.fits([asked(WORTH)], second)
    assert not IntervalModel.fits([asked(WORTH + 1)], second)
    assert IntervalModel.fits([asked(WORTH // 8), asked(WORTH // 8)], second)
    assert not IntervalModel.fits([asked(WORTH // 8), asked(WORTH // 8 + 1)], second)
    assert IntervalModel.fits([asked(WORTH // 2, alternatives=2)], second)
    assert not IntervalModel.fits([asked(WORTH // 2 + 1, alternatives=2)], second)
    assert IntervalModel.fits([asked(10 * WORTH)], limited(10))
    assert not IntervalModel.fits([asked(1)], limited(0))
    assert not IntervalModel.fits([], second)
    pairs = int(0.5 * (1 << 20) / MEMORY)
    assert IntervalModel.fits([asked(pairs)], limited(10, memory=1))
    assert not IntervalModel.fits([asked(pairs + 1)], limited(10, memory=1))
    assert not IntervalModel.fits([asked(1, duration=None)], second)
    assert not IntervalModel.fits([asked(1), asked(1, calendar=object())], second)


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


@pytest.mark.parametrize("name", ["MAX_ENTRIES", "LONGEST", "MAX_IN_ALL"])
def test_tables_up_to_which_layers_are_searched(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The largest that is too large, by bisection, is one below what it counts."""
    problem = pool()
    domains = [np.arange(10), np.arange(3, 12), np.arange(10), np.arange(7)]
    domains = domains[: len(problem.groups)]
    entries = len(layers.rooms_of(problem)) * 12
    last = max(int(each[-1]) for each in domains) + 7
    exact = {
        "MAX_ENTRIES": entries,
        "LONGEST": last,
        "MAX_IN_ALL": last * int(problem.weights.sum()),
    }[name]
    assert LayeredSearch.suits(problem, domains)
    monkeypatch.setattr(layers, name, exact)
    assert LayeredSearch.suits(problem, domains)
    monkeypatch.setattr(layers, name, exact - 1)
    assert not LayeredSearch.suits(problem, domains)


def test_layers_need_capacity_that_never_falls() -> None:
    domains = [np.arange(9)] * 2
    falling = PoolProblem.build([0, 3], [4, 3], [2, 3], [5, 4])
    level = PoolProblem.build([0, 3], [4, 4], [2, 3], [5, 4])
    assert not LayeredSearch.suits(falling, domains)
    assert LayeredSearch.suits(level, domains)


def test_one_job_has_no_better_order() -> None:
    assert list(improver.improve(Incumbent(pool(jobs=1), np.array([0]), 0), 1)) == []


def test_the_best_bound_is_the_one_of_the_highest_floor() -> None:
    bounds = [
        None,
        SimpleNamespace(floor=3),
        SimpleNamespace(floor=9),
        None,
        SimpleNamespace(floor=5),
    ]
    steps = best_of(iter(bounds))  # type: ignore[arg-type]
    pauses = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found = end.value
            break
        pauses += 1
    assert (found.floor, pauses) == (9, 5)
    empty = best_of(iter([None]))
    next(empty)
    with pytest.raises(StopIteration) as stopped:
        next(empty)
    assert stopped.value.value is None


def test_bucket_limits() -> None:
    """Steps of capacity and points; all where they are few, else evenly picked with both ends."""
    problem = PoolProblem.build([0, 10, 90], [1, 2, 4], [1], [5])
    few = make_grid(problem, np.array([3, 50]), 80, 5)
    assert few.tolist() == [0, 3, 10, 50, 80]
    many = make_grid(problem, np.arange(2, 40), 80, 3)
    assert many.tolist() == [0, 2, 10, 20, 39, 80]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((), (), True),
        ((), ((5, 1),), True),
        (((5, 1),), (), False),
        (((5, 2),), ((5, 2),), True),
        (((5, 2),), ((5, 1),), False),
        (((5, 2),), ((6, 2),), True),
        (((6, 2),), ((5, 2),), False),
        (((5, 1), (7, 1)), ((7, 2),), True),
        (((5, 2), (7, 1)), ((7, 2),), False),
        (((5, 1), (7, 2)), ((5, 2), (7, 1)), False),
        (((5, 2), (7, 1)), ((5, 1), (7, 2)), True),
    ],
)
def test_who_holds_less_from_now_on(
    one: tuple[tuple[int, int], ...], other: tuple[tuple[int, int], ...], expected: bool
) -> None:
    assert uses_less(one, other) == expected


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


def test_rows_that_are_missing_are_counted_at_the_end_and_pauses_are_no_rows() -> None:
    """A pause after every twenty buckets of the grid."""
    problem = PoolProblem.build([0], [5], [3] * 6, [10] * 6)
    market = Market(problem, np.arange(46))
    relaxation = Relaxation(market, [np.arange(40)] * len(problem.groups), 10**6, 1)
    for _ in relaxation.solve(1):
        pass
    before = len(market.functions)
    *pauses, rows = relaxation.separate()
    assert pauses == [0, 0]
    assert rows >= 0
    assert (rows > 0) == (len(market.functions) > before)


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
