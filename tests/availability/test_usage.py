"""Usage over time: rows, their sums, decay, the frozen base and its copies."""

from __future__ import annotations

import numpy as np
import pytest
from availability_cases import amount, slots
from slotwise.solver.availability.usage import Block, Row, RunningUsage, Usage


def used(usage: Usage, *times: int) -> list[list[float]]:
    return [usage.at(time).tolist() for time in times]


def test_a_use_holds_from_its_start_to_before_its_end() -> None:
    usage = Usage(2)
    usage.add(1, 10, 20, slots(), 3)
    assert used(usage, 9, 10, 19, 20) == [[0, 0], [0, 3], [0, 3], [0, 0]]


def test_uses_add_up_host_by_host() -> None:
    usage = Usage(2)
    usage.add(0, 0, 30, slots(), 1)
    usage.add(0, 10, 20, slots(), 2)
    usage.add_constant(np.array([0, 1]), 15, 40, np.array([4.0, 5.0]))
    assert used(usage, 5, 12, 15, 25, 35) == [[1, 0], [3, 0], [7, 5], [5, 5], [4, 5]]


def test_phases_fall_one_after_another_and_end_with_the_job() -> None:
    usage = Usage(1)
    usage.add(0, 100, 400, amount(30, 20, 10, until=(60, 60)), 2)
    assert used(usage, 100, 159, 160, 219, 220, 399, 400) == [
        [60], [60], [40], [40], [20], [20], [0]
    ]  # fmt: skip


def test_a_phase_beyond_the_end_of_the_job_is_not_held() -> None:
    usage = Usage(1)
    usage.add(0, 0, 50, amount(30, 10, until=(60,)), 1)
    assert used(usage, 49, 50, 70) == [[30], [0], [0]]


def test_decay_is_a_staircase_of_minutes_and_a_cut_keeps_its_slope() -> None:
    """RSV-02: 120 MB over 120 s fall by 60 each minute, also where the job ends after 90 s."""
    whole, cut = Usage(1), Usage(1)
    whole.add(0, 0, 1000, amount(120, until=(120,), decay=True), 1)
    cut.add(0, 0, 90, amount(120, until=(120,), decay=True), 1)
    assert used(whole, 0, 59, 60, 119, 120) == [[120], [120], [60], [60], [0]]
    assert used(cut, 0, 59, 60, 89, 90) == [[120], [120], [60], [60], [0]]


def test_copies_share_the_frozen_base_and_nothing_else() -> None:
    usage = Usage(1)
    usage.add(0, 0, 10, slots(), 1)
    usage.freeze()
    twin = usage.copy()
    twin.add(0, 5, 15, slots(), 2)
    usage.add(0, 5, 15, slots(), 7)
    assert used(usage, 4, 5, 12) == [[1], [8], [7]]
    assert used(twin, 4, 5, 12) == [[1], [3], [2]]


def test_joined_blocks_keep_their_decaying_rows() -> None:
    flat = Block([Row(0, 0, 100, 5.0, 5.0, False)])
    falling = Block([Row(0, 0, 120, 120.0, 0.0, True)])
    for blocks in ([flat, falling], [falling, flat], [flat, Block([]), falling]):
        both = Block.joined(blocks)
        assert [both.at(time, 1).tolist() for time in (0, 60, 119)] == [[125], [65], [60]]
    three = Block.joined([flat, falling, flat])
    assert [three.at(time, 1).tolist() for time in (0, 60, 119)] == [[130], [70], [60]]
    assert Block.joined([flat]) is flat


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
