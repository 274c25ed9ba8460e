"""How strong the pool search is: the optimum in so many rounds, and what few rounds leave open.

No clock decides here. Limits are those measured and a tenth more (a hundredth for values), so that
another release of the linear solver does not fail them, and a search that got weaker does.
"""

from __future__ import annotations

from random import Random

import pytest
from sampling import some
from slotwise.solver.optimal.pool import PoolProblem, optimise

RISING, FALLING = (2, 7, 10), (10, 4, 10)


def queue(count: int, seed: int, free: tuple[int, ...]) -> PoolProblem:
    """Jobs of many kinds with weights, some submitted later."""
    rng = Random(seed)
    columns = [[rng.randint(1, high) for _ in range(count)] for high in (7, 30, 4)]
    earliest = [rng.choice([0, 0, 5, 11]) for _ in range(count)]
    return PoolProblem.build(
        [0, 6, 13], free, *columns[:2], weights=columns[2], earliest=earliest
    )  # fmt: skip


@pytest.mark.parametrize(
    ("count", "seed", "free", "value", "asked"),
    some(
        [
            (8, 1, RISING, 520, 94),
            (8, 1, FALLING, 547, 82),
            (8, 2, RISING, 351, 80),
            (8, 2, FALLING, 361, 96),
            (12, 1, RISING, 576, 106),
            (12, 1, FALLING, 618, 98),
            (12, 2, RISING, 844, 94),
            (12, 2, FALLING, 753, 90),
            (16, 1, RISING, 1121, 158),
            (16, 1, FALLING, 1141, 142),
            (16, 2, RISING, 1672, 108),
            (16, 2, FALLING, 1743, 100),
        ],
        6,
    ),
)
def test_the_optimum_is_proved_in_so_many_pieces_of_work(
    count: int, seed: int, free: tuple[int, ...], value: int, asked: int
) -> None:
    pieces = []
    result = optimise(
        queue(count, seed, free), effort=1000, cancelled=lambda: bool(pieces.append(1))
    )
    assert (result.status, result.value, result.bound) == ("proved", value, value)
    assert len(pieces) <= 1.1 * asked
    assert all(point.bound <= value <= point.value for point in result.history)


@pytest.mark.parametrize(
    ("count", "seed", "free", "effort", "value", "bound"),
    [
        (26, 1, RISING, 120, 2879, 2781),
        pytest.param(26, 2, FALLING, 150, 4001, 3792, marks=pytest.mark.slow),
        pytest.param(45, 1, FALLING, 100, 9611, 8807, marks=pytest.mark.slow),
    ],
)
def test_what_is_known_of_a_long_queue_after_little_work(
    count: int, seed: int, free: tuple[int, ...], effort: int, value: int, bound: int
) -> None:
    result = optimise(queue(count, seed, free), effort=effort)
    assert result.value <= 1.01 * value
    assert result.bound >= 0.99 * bound
    assert result.bound <= result.value


@pytest.mark.parametrize("asks", [1, 6])
def test_a_search_that_is_cancelled_asks_no_more(asks: int) -> None:
    pieces: list[int] = []

    def cancelled() -> bool:
        pieces.append(1)
        return len(pieces) == asks

    result = optimise(queue(26, 1, RISING), effort=1000, cancelled=cancelled)
    assert (len(pieces), result.status) == (asks, "gap")
    assert 0 < result.gap < 1
    by_clock = optimise(queue(26, 1, RISING), time_limit=60, cancelled=lambda: True)
    assert by_clock.status == "gap"
