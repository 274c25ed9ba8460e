"""Blocks split over units, and which units: each rule against the plainest words for it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import combinations, product

import pytest
from placement_cases import bools, ints, unit_demand
from slotwise.solver.placement.choose import (
    Need,
    Rules,
    Share,
    Stock,
    at_least,
    balanced,
    fewest_uneven,
    fewest_units,
    first_combination,
    first_fit,
    first_fit_choice,
    share_among,
    unit_order,
)

Parts = tuple[list[int], int]


def drawn(seed: int, most_units: int = 4) -> tuple[Stock, Need, int]:
    """Units, what is asked of them, and a number for usablecuslots."""
    rng = random.Random(seed)
    size = rng.choice([1, 1, 2, 3])
    rest = rng.randrange(size)
    count = rng.randint(1, most_units)
    spare = [bool(rest) and rng.random() < 0.4 for _ in range(count)]
    pinned = bool(rest) and rng.random() < 0.3
    if pinned:
        spare[0] = True
    whole = [rng.choice([0, 1, 2, 3, 4]) if held else rng.choice([1, 2, 3, 4]) for held in spare]
    blocks = rng.randint(0 if rest else 1, max(1, sum(whole)))
    return Stock(ints(whole), bools(spare)), Need(size, blocks, rest, pinned), rng.randint(1, 7)


def splits(stock: Stock, need: Need) -> Iterator[Parts]:
    """Every way to split the blocks over the units."""
    whole, spare = stock.whole.tolist(), stock.spare.tolist()
    for parts in product(*(range(most + 1) for most in whole)):
        if sum(parts) != need.blocks:
            continue
        if not need.rest:
            yield list(parts), -1
        elif need.pinned:
            yield list(parts), 0
        else:
            for last in range(len(whole)):
                if spare[last] or parts[last] < whole[last]:
                    yield list(parts), last


def slots_of(need: Need, share: Parts) -> list[int]:
    parts, last = share
    return [n * need.size + (need.rest if at == last else 0) for at, n in enumerate(parts)]


def blocks_of(share: Parts) -> list[int]:
    parts, last = share
    return [n + (at == last) for at, n in enumerate(parts)]


def listed(share: Share | None) -> Parts | None:
    return None if share is None else (share.whole.tolist(), share.last)


@pytest.mark.parametrize("seed", range(0, 600, 100))
def test_first_fit_fills_unit_after_unit(seed: int) -> None:
    """The most in the first unit, then in the second; the last block in the first that is used."""
    for each in range(seed, seed + 100):
        stock, need, _ = drawn(each)

        def rank(share: Parts, need: Need = need) -> tuple[list[int], bool, int]:
            parts, last = share
            return [-n for n in parts], last >= 0 and not need.pinned and not parts[last], last

        expected = min(splits(stock, need), key=rank, default=None)
        assert listed(first_fit(stock, need)) == expected


@pytest.mark.parametrize("seed", range(1000, 2200, 200))
def test_at_least_so_many_slots_in_every_unit_but_one(seed: int) -> None:
    """The last block as late as can be; then the one unit with fewer is that of the last block,
    or else the last in order; then as much as can be in the first units."""
    for each in range(seed, seed + 200):
        stock, need, least = drawn(each)
        possible = []
        for share in splits(stock, need):
            slots, (parts, last) = slots_of(need, share), share
            for fewer in range(len(parts)):
                others = slots[:fewer] + slots[fewer + 1 :]
                if all(blocks_of(share)) and all(n >= least for n in others):
                    rank = -last, fewer != last, -fewer, [-n for n in parts]
                    possible.append((rank, share))
        expected = min(possible)[1] if possible else None
        assert listed(at_least(stock, need, least)) == expected


@pytest.mark.parametrize("seed", range(3000, 4200, 200))
def test_balanced_parts_differ_by_one_block_at_most(seed: int) -> None:
    """The last block as late as can be, in a smaller part if it may; larger parts come first."""
    for each in range(seed, seed + 200):
        stock, need, least = drawn(each)
        least = 0 if each % 2 else least
        possible = [
            share
            for share in splits(stock, need)
            if all(blocks_of(share))
            and max(blocks_of(share)) - min(blocks_of(share)) <= 1
            and sum(n < least for n in slots_of(need, share)) <= 1
        ]

        def rank(share: Parts) -> tuple[int, int, list[int]]:
            blocks, last = blocks_of(share), share[1]
            return -last, blocks[last] if last >= 0 else 0, [-n for n in blocks]

        assert listed(balanced(stock, need, least)) == min(possible, key=rank, default=None)


@pytest.mark.parametrize("seed", range(4500, 4600, 20))
def test_each_rule_has_its_way_to_share(seed: int) -> None:
    for each in range(seed, seed + 20):
        stock, need, least = drawn(each)
        for rules, expected in (
            (Rules(), first_fit(stock, need)),
            (Rules(most=1, fewest=True), first_fit(stock, need)),
            (Rules(least=least), at_least(stock, need, least)),
            (Rules(balance=True), balanced(stock, need)),
            (Rules(least=least, balance=True), balanced(stock, need, least)),
        ):
            assert listed(share_among(stock, need, rules)) == listed(expected)


def rules_of(seed: int, least: int) -> Rules:
    rng = random.Random(seed)
    balance = rng.random() < 0.3
    most = rng.choice([None, 1, 2, 3])
    return Rules(most, rng.choice([0, 0, least]), balance, True)


@pytest.mark.parametrize("seed", range(5000, 5400, 100))
def test_the_first_combination_of_the_fewest_units(seed: int) -> None:
    """By trying them all."""
    for each in range(seed, seed + 100):
        stock, need, least = drawn(each, 5)
        rules, forced = rules_of(each, least), need.pinned or each % 3 == 0
        count = stock.whole.size
        served = [
            chosen
            for size in range(1, min(count, rules.most or count) + 1)
            for chosen in combinations(range(count), size)
            if (chosen[0] == 0 or not forced)
            and share_among(stock.take(ints(chosen)), need, rules) is not None
        ]
        least_units = len(served[0]) if served else None
        assert fewest_units(stock, need, rules, forced) == least_units
        if least_units is not None:
            chosen, share = first_combination(stock, need, rules, forced, least_units)
            assert tuple(chosen.tolist()) == served[0]
            expected = share_among(stock.take(ints(served[0])), need, rules)
            assert listed(share) == listed(expected)


@pytest.mark.parametrize("seed", range(6000, 6800, 200))
def test_first_fit_passes_over_units_that_are_too_small(seed: int) -> None:
    for each in range(seed, seed + 200):
        stock, need, least = drawn(each)
        if need.pinned:
            continue
        least = each % 8
        forced = each % 3 == 0
        wide = [
            at
            for at, whole in enumerate(stock.whole.tolist())
            if whole * need.size >= least or (forced and not at)
        ]
        share = first_fit(stock.take(ints(wide)), need) if wide else None
        expected = None
        if share is not None:
            parts = [0] * stock.whole.size
            for at, amount in zip(wide, share.whole.tolist(), strict=True):
                parts[at] = amount
            expected = parts, wide[share.last] if share.last >= 0 else -1
            if sum(0 < n < least for n in slots_of(need, expected)) > 1:
                expected = None
        assert listed(first_fit_choice(stock, need, Rules(least=least), forced)) == expected


@pytest.mark.parametrize(
    ("cu", "forced", "expected"),
    [
        ({"pref": "config"}, None, [0, 1, 2, 3]),
        ({"pref": "maxavail"}, None, [2, 0, 3, 1]),
        ({"pref": "minavail"}, None, [1, 0, 3, 2]),
        ({"pref": "bestfit"}, None, [1, 0, 3, 2]),
        ({"pref": "maxavail", "preference": ints([0, 1, 0, 2])}, None, [3, 1, 2, 0]),
        ({"pref": "config", "preference": ints([0, 1, 0, 2])}, 2, [2, 3, 1, 0]),
    ],
)
def test_the_order_of_units(cu: dict[str, object], forced: int | None, expected: list[int]) -> None:
    """Units of 4, 1, 6 and 4 free slots; a host outside them does not count."""
    unit = unit_demand([0, 0, 1, 2, 3, -1], **cu)
    order = unit_order(unit, ints([1, 3, 1, 6, 4, 9]), ints([0, 1, 2, 3]), forced)
    assert order.tolist() == expected


@pytest.mark.parametrize("seed", range(7000, 7600, 200))
def test_units_of_uneven_blocks(seed: int) -> None:
    """A set of units holds what its whole hosts hold and the most that one more could add."""
    for each in range(seed, seed + 200):
        rng = random.Random(each)
        count = rng.randint(1, 5)
        whole = [rng.choice([0, 2, 3, 4, 6]) for _ in range(count)]
        extra = [rng.choice([0, 1, 2, 3]) for _ in range(count)]
        forced, most = rng.random() < 0.4, rng.choice([None, 1, 2, 3])
        slots = rng.randint(1, sum(whole) + max(extra) + 1)
        served = [
            chosen
            for size in range(1, min(count, most or count) + 1)
            for chosen in combinations(range(count), size)
            if (chosen[0] == 0 or not forced)
            and sum(whole[at] for at in chosen) + max(extra[at] for at in chosen) >= slots
        ]
        found = fewest_uneven(ints(whole), ints(extra), slots, most, forced)
        assert (None if found is None else tuple(found.tolist())) == (served[0] if served else None)
