"""The parts of placement by themselves: supplies, caps of groups, filling, splitting over terms."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from placement_cases import bools, case, ints
from placement_reference import placements, valid
from slotwise.solver.availability.demand import GroupCap, TermCapacity, TermDemand
from slotwise.solver.availability.resources import Allocation
from slotwise.solver.placement import fits, place
from slotwise.solver.placement.choose import (
    fill_blocks,
    fits_plain,
    is_plain,
    place_plain,
)
from slotwise.solver.placement.cpsat import (
    BindingGroup,
    absorbed,
    fewest_hosts_first,
)
from slotwise.solver.placement.single import place_on_first
from slotwise.solver.placement.supply import Supply, split_over_terms


def supply(
    caps: list[int],
    blocks: list[int] | None = None,
    units: list[int] | None = None,
    first: list[bool] | None = None,
    several: bool = False,
    hosts: list[int] | None = None,
) -> Supply:
    return Supply(
        ints(hosts or range(len(caps))),
        ints(caps),
        None if blocks is None else ints(blocks),
        ints(units or [0] * len(caps)),
        None if first is None else bools(first),
        several,
    )


def bound(rows: list[bool], slots: int | None = None, hosts: int | None = None) -> BindingGroup:
    return BindingGroup(bools(rows), slots, hosts)


@pytest.mark.parametrize("seed", range(0, 200, 50))
def test_folded_caps_allow_as_much_as_the_groups_do(seed: int) -> None:
    """By every way to hand out slots; the first host that may come first gets one of them."""
    folded_cases = 0
    for each in range(seed, seed + 50):
        rng = random.Random(each)
        count = rng.randint(2, 4)
        given = supply(
            [rng.randint(1, 3) for _ in range(count)],
            first=[rng.random() < 0.5 for _ in range(count)] if rng.random() < 0.4 else None,
        )
        bounds = tuple(
            bound([rng.random() < 0.6 for _ in range(count)], rng.randint(0, 4)) for _ in range(2)
        )
        sets = [set(item.rows.nonzero()[0].tolist()) for item in bounds]
        crossing = bool(sets[0] & sets[1]) and not (sets[0] <= sets[1] or sets[1] <= sets[0])
        found = absorbed(given, bounds)
        assert (found is None) == crossing
        if found is None:
            continue
        folded_cases += 1
        ways = [
            way
            for way in product(*(range(cap + 1) for cap in given.caps.tolist()))
            if all(
                sum(way[at] for at in inside) <= (item.slots or 0)
                for inside, item in zip(sets, bounds, strict=True)
            )
        ]
        assert int(found.caps.sum()) == max(map(sum, ways))
        head = [] if given.first is None else given.first.nonzero()[0].tolist()
        order = [*head[:1], *(at for at in range(count) if at not in head[:1])]
        best = max(ways, key=lambda way: [way[at] for at in order])
        caps = dict(zip(found.hosts.tolist(), found.caps.tolist(), strict=True))
        assert list(caps.items()) == [(at, best[at]) for at in order if best[at]]
    assert folded_cases > 20


def test_the_largest_hosts_first() -> None:
    assert fewest_hosts_first(supply([1, 3, 2, 3])).hosts.tolist() == [1, 3, 2, 0]
    first = [True, False, True, False]
    assert fewest_hosts_first(supply([1, 3, 2, 3], first=first)).hosts.tolist() == [2, 1, 3, 0]
    nobody = fewest_hosts_first(supply([1, 3], first=[False, False]))
    assert nobody.hosts.tolist() == [1, 0]


@pytest.mark.parametrize("seed", range(0, 800, 200))
def test_blocks_in_order_and_the_rest_on_one_more_host(seed: int) -> None:
    """Against the plain words: whole blocks on the first hosts as long as more is wanted."""
    for each in range(seed, seed + 200):
        rng = random.Random(each)
        count = rng.randint(1, 5)
        caps = [rng.randint(1, 4) for _ in range(count)]
        uniform = rng.random() < 0.5
        blocks = [rng.randint(1, 4)] * count if uniform else [rng.randint(1, 4) for _ in caps]
        slots, on_first = rng.randint(1, 10), uniform and rng.random() < 0.3
        left, amounts = slots, [0] * count
        for at in range(count):
            if caps[at] >= blocks[at] and not (on_first and at == 0):
                if left <= blocks[at]:
                    break
                amounts[at] = blocks[at]
                left -= blocks[at]
        spare = [at for at in range(count)
                 if not amounts[at] and min(caps[at], blocks[at]) >= left]  # fmt: skip
        expected = None
        if spare and (not on_first or spare[0] == 0):
            amounts[spare[0]] = left
            expected = {at: amount for at, amount in enumerate(amounts) if amount}
        found = fill_blocks(supply(caps, blocks), slots, last_on_first=on_first)
        assert found == expected
        if found is not None:
            assert sum(found.values()) == slots
            assert sum(found[at] < blocks[at] for at in found) <= 1


@pytest.mark.parametrize("seed", range(4))
def test_whether_a_plain_term_fits_is_whether_it_is_placed(seed: int) -> None:
    """Also with blocks that differ from host to host, and with some hosts as candidates."""
    rng = random.Random(seed)
    for _ in range(100):
        count = rng.randint(1, 6)
        order = rng.sample(range(count), rng.randint(1, count))
        caps = [rng.randint(0, 4) if host in order else 0 for host in range(count)]
        term, capacity = case(caps, rng.randint(1, 9), order=order)
        if rng.random() < 0.7:
            term = replace(term, ptile=ints([rng.randint(1, 4) for _ in caps]))
        placed = place_plain(term, capacity, term.slots)
        assert fits_plain(term, capacity, term.slots) == (placed is not None)


@pytest.mark.parametrize("seed", range(0, 300, 100))
def test_slots_are_split_over_terms_where_they_may_be(seed: int) -> None:
    """In order where that will do; else the first way, earlier terms as much as they can."""
    for each in range(seed, seed + 100):
        rng = random.Random(each)
        hosts, terms = rng.randint(1, 4), rng.randint(1, 3)
        held = {host: rng.randint(1, 3) for host in rng.sample(range(hosts), hosts)}
        total = sum(held.values())
        cuts = sorted(rng.randint(0, total) for _ in range(terms - 1))
        counts = [b - a for a, b in zip([0, *cuts], [*cuts, total], strict=True)]
        allowed = [bools([rng.random() < 0.7 for _ in range(hosts)]) for _ in range(terms)]
        # In order: slot after slot.
        slots = [host for host, count in held.items() for _ in range(count)]
        owners = [term for term, count in enumerate(counts) for _ in range(count)]
        in_order: list[Allocation] = [{} for _ in counts]
        for host, term in zip(slots, owners, strict=True):
            in_order[term][host] = in_order[term].get(host, 0) + 1
        expected = in_order
        if any(not allowed[term][host] for term, part in enumerate(in_order) for host in part):
            rows = product(
                *(
                    sorted(
                        (row for row in product(range(count + 1), repeat=terms)
                         if sum(row) == count),
                        reverse=True,
                    )
                    for count in held.values()
                )
            )  # fmt: skip
            for way in rows:
                parts = [
                    {host: row[term] for host, row in zip(held, way, strict=True) if row[term]}
                    for term in range(terms)
                ]
                if [sum(part.values()) for part in parts] == counts and all(
                    allowed[term][host] for term, part in enumerate(parts) for host in part
                ):
                    expected = parts
                    break
        assert split_over_terms(held, counts, allowed) == expected


@pytest.mark.parametrize("seed", range(3))
def test_hosts_are_counted_once_whatever_blocks_they_hold(seed: int) -> None:
    """Caps on the number of hosts under span[block]: by every placement there is."""
    decided = set()
    for each in range(20):
        rng = random.Random(100 * seed + each)
        caps = [rng.randint(1, 5) for _ in range(4)]
        inside = bools([True, True, rng.random() < 0.5, False])
        slots = rng.randint(2, sum(caps))
        term, capacity = case(
            caps,
            slots,
            block=rng.randint(2, 3),
            groups=(GroupCap(inside, hosts=rng.randint(1, 2)),),
        )
        possible = next(iter(placements(term, capacity, slots)), None) is not None
        found = place(term, capacity)
        assert (found is not None) == fits(term, capacity) == possible
        assert found is None or valid(term, capacity, found)
        decided.add(possible)
    assert decided == {True, False}


@examples(200)
@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=8),
    st.integers(1, 9),
    st.sampled_from(["any", "ptile", "host"]),
    st.integers(1, 3),
    st.integers(0, 2),
)
def test_the_short_way_places_as_the_long_one(
    caps: list[int], slots: int, shape: str, tile: int, spare: int
) -> None:
    """Caps of groups that allow all slots of the term change nothing."""
    count = len(caps)
    term = TermDemand(
        slots,
        slots,
        np.arange(count, dtype=np.int64)[::-1].copy(),
        ptile=np.full(count, tile, dtype=np.int64) if shape == "ptile" else None,
        one_host=shape == "host",
    )
    group = GroupCap(np.arange(count) % 2 == 0, slots + spare, slots + spare)
    capacity = TermCapacity(np.array(caps, dtype=np.int64), (group,))
    assert is_plain(term, capacity, slots)
    labels = replace(term, same=(np.zeros(count, dtype=np.int64),))  # forces the long way
    assert not is_plain(labels, capacity, slots)
    assert place_plain(term, capacity, slots) == place(labels, capacity)
    assert fits_plain(term, capacity, slots) == fits(labels, capacity)
    for few in range(1, count + 1):
        on_first = place_on_first(replace(term, candidates=term.candidates[:few]), capacity)
        assert on_first in (None, place(labels, capacity))
