"""Usage over time: rows, their sums, decay, the frozen base and its copies."""

from __future__ import annotations

import numpy as np
import pytest
from availability_cases import slots
from slotwise.solver.availability.usage import RunningUsage, Usage


@pytest.mark.parametrize("seed", range(20))
def test_random_rows_sum_as_a_second_by_second_count_does(seed: int) -> None:
    random = np.random.default_rng(seed)
    usage = Usage(3)
    counted = np.zeros((60, 3))
    for _ in range(30):
        if random.random() < 0.1:
            usage.freeze()
        start, length = int(random.integers(50)), int(random.integers(1, 30))
        host, count = int(random.integers(3)), int(random.integers(1, 5))
        usage.add(host, start, start + length, slots(), count)
        counted[start : start + length, host] += count
    assert [usage.at(time).tolist() for time in range(60)] == counted.tolist()


@pytest.mark.parametrize("seed", range(4))
def test_the_most_in_use_by_few_instants_as_by_many(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(seed)
    usage, starts = Usage(3), set[int]()
    for _ in range(12):
        start, length = int(random.integers(1, 50)), int(random.integers(1, 30))
        hosts = random.permutation(3)[: int(random.integers(1, 4))]
        usage.add_constant(hosts, start, start + length, np.full(len(hosts), 2.0))
        starts.add(start)
        for first in (0, 10, 30):
            points = [first, *sorted(start for start in starts if first < start < first + 15)]
            monkeypatch.setattr("slotwise.solver.availability.usage.FEW_POINTS", 0)
            expected = usage.most(points, 0).tolist()
            monkeypatch.setattr("slotwise.solver.availability.usage.FEW_POINTS", 99)
            assert usage.most(points, 0).tolist() == expected
            every = [usage.at(time) for time in range(first, points[-1] + 1)]
            assert expected == np.max(every, axis=0).tolist()


@pytest.mark.parametrize("seed", range(6))
def test_rows_stay_in_the_order_of_their_ends(seed: int) -> None:
    """However many come and go between two looks; and what is in use is what they come to."""
    rng = np.random.default_rng(seed)
    looks = [[59], [29, 59], [3, 4, 50, 51, 59], range(60), range(0, 60, 7), range(0, 60, 3)]
    usage = RunningUsage(8)
    there: list[tuple[int, int, int, int, float]] = []
    for owner in range(60):
        usage.owner = owner
        hosts = rng.permutation(8)[: rng.integers(1, 9)]
        begin, end = int(rng.integers(-9, 9)), int(rng.integers(10, 40))
        amounts = rng.integers(1, 5, len(hosts)).astype(float)
        usage.add_constant(hosts, begin, end, amounts)
        rows = zip(hosts.tolist(), amounts.tolist(), strict=True)
        there += [(owner, host, begin, end, amount) for host, amount in rows]
        while rng.random() < 0.4:
            gone = int(rng.integers(0, owner + 1))
            usage.remove(gone)
            there = [row for row in there if row[0] != gone]
        if owner not in looks[seed]:
            continue
        expected = sorted(there, key=lambda row: row[3])
        block = usage.by_end()
        columns = (block.where, block.begin, block.end, block.amount)
        assert [*zip(*(column.tolist() for column in columns), strict=True)] == [
            row[1:] for row in expected
        ]
        for time in (int(rng.integers(-9, 12)), int(rng.integers(10, 42))):
            running = [row for row in there if row[2] <= time < row[3]]
            sums = [sum(amount for _, at, _, _, amount in running if at == n) for n in range(8)]
            assert usage.at(time).tolist() == sums
