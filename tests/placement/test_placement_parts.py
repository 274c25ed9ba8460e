"""The parts of placement by themselves: supplies, caps of groups, filling, splitting over terms."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product

import pytest
from placement_cases import bools, case, ints, unit_demand
from placement_reference import placements, valid
from slotwise.solver.availability.demand import GroupCap
from slotwise.solver.availability.resources import Allocation
from slotwise.solver.placement import fits, place
from slotwise.solver.placement.choose import (
    exact_for,
    fill_any,
    fill_blocks,
    fits_plain,
    gathered,
    is_plain,
    place_plain,
)
from slotwise.solver.placement.cpsat import (
    BindingGroup,
    absorbed,
    binding,
    fewest_hosts_first,
    obeys,
)
from slotwise.solver.placement.supply import Supply, busy_units, split_over_terms, supplies


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


def listed(found: Supply) -> tuple[object, ...]:
    return (
        found.hosts.tolist(),
        found.caps.tolist(),
        None if found.blocks is None else found.blocks.tolist(),
        found.units.tolist(),
        None if found.first is None else found.first.tolist(),
        found.several,
    )


def test_rows_of_a_supply() -> None:
    full = supply([3, 1, 2], [2, 2, 3], [0, 1, 1], [True, False, True], several=True)
    assert listed(full.take(ints([2, 0]))) == (
        [2, 0], [2, 3], [3, 2], [1, 0], [True, True], True
    )  # fmt: skip
    assert listed(supply([3, 1, 2]).take(bools([False, True, True]))) == (
        [1, 2], [1, 2], None, [0, 0], None, False
    )  # fmt: skip
    assert listed(full.with_caps(ints([0, 4, 1]))) == (
        [1, 2], [4, 1], [2, 3], [1, 1], [False, True], True
    )  # fmt: skip


@pytest.mark.parametrize(
    ("blocks", "uniform", "block"),
    [(None, True, 1), ([2, 2, 2], True, 2), ([2, 2, 3], False, 2), ([3, 2, 2], False, 3)],
)
def test_blocks_of_one_size(blocks: list[int] | None, uniform: bool, block: int) -> None:
    found = supply([4, 4, 4], blocks)
    assert (found.uniform, found.block) == (uniform, block)


def test_a_supply_without_hosts_has_one_block_size() -> None:
    empty = supply([], [])
    assert (empty.uniform, empty.block) == (True, 1)


def test_who_can_hold_something() -> None:
    """Hosts with slots, in a unit, outside groups that are used up, in candidate order."""
    term, capacity = case(
        [2, 0, 3, 1, 4, 2],
        2,
        order=[5, 4, 3, 2, 1, 0],
        units=[0, 0, 1, -1, 1, 2],
        groups=(GroupCap(bools([False] * 5 + [True]), slots=0), GroupCap(bools([True] * 6), 9, 1)),
    )
    (found,) = supplies(term, capacity, 2)
    assert listed(found) == ([4, 2, 0], [4, 3, 2], None, [1, 1, 0], None, False)
    term, capacity = case([2, 2], 2, groups=(GroupCap(bools([True, False]), hosts=0),))
    (found,) = supplies(term, capacity, 2)
    assert found.hosts.tolist() == [1]
    assert list(supplies(term, capacity, 3)) == [], "not enough slots in sum"


def test_units_with_work_are_left_out_under_excl() -> None:
    """Host 3 is no candidate, but its work is in unit 1; host 4 is outside all units."""
    unit = unit_demand([0, 0, 1, 1, -1])
    assert busy_units(unit, bools([True, True, True, False, False])).tolist() == [False, True]
    assert busy_units(unit, bools([True] * 5)).tolist() == [False, False]
    for keywords, hosts in (({"excl": True}, [0, 1]), ({}, [0, 1, 2])):
        term, capacity = case(
            [2] * 5,
            2,
            order=[0, 1, 2],
            units=[0, 0, 1, 1, -1],
            idle=[True, True, True, False, True],
            **keywords,
        )
        (found,) = supplies(term, capacity, 2)
        assert found.hosts.tolist() == hosts


def test_classes_of_labels_in_the_order_of_their_first_host() -> None:
    term, capacity = case([1, 2, 2, 1, 3], 3, order=[2, 0, 1, 3, 4], same=([7, 7, 5, 5, -1],))
    assert [found.hosts.tolist() for found in supplies(term, capacity, 3)] == [[2, 3], [0, 1]]
    term, capacity = case([1, 2, 2, 2, 3], 4, same=([7, 7, 5, 5, -1], [-1, 4, 4, 4, -1]))
    assert [found.hosts.tolist() for found in supplies(term, capacity, 4)] == [[2, 3], [1, 2, 3]]


def test_a_host_has_a_row_for_each_of_its_blocks() -> None:
    term, capacity = case([5, 2, 1], 5, block=2, first=[False, True, True])
    (found,) = supplies(term, capacity, 5)
    assert listed(found) == (
        [0, 0, 0, 1, 2], [2, 2, 1, 2, 1], [2] * 5, [0] * 5, [False, False, False, True, True], True
    )  # fmt: skip
    (found,) = supplies(term, capacity, 3)
    assert found.caps.tolist() == [2, 1, 2, 1], "no more than is asked"


def bound(rows: list[bool], slots: int | None = None, hosts: int | None = None) -> BindingGroup:
    return BindingGroup(bools(rows), slots, hosts)


@pytest.mark.parametrize(
    ("group", "slots", "expected"),
    [
        ((None, None), 4, []),
        ((3, None), 4, [(3, None)]),
        ((4, None), 4, []),  # four slots never take more than four
        ((4, None), 5, []),  # the hosts inside have no more
        ((3, None), 3, []),
        ((None, 1), 4, [(None, 1)]),
        ((None, 2), 4, []),  # there are two
        ((None, 1), 1, []),
        ((3, 1), 5, [(3, 1)]),
    ],
)
def test_caps_over_part_of_the_hosts(
    group: tuple[int | None, int | None], slots: int, expected: list[tuple[int | None, int | None]]
) -> None:
    """Hosts of 2, 2 and 3 slots; the first two are inside."""
    found = binding([GroupCap(bools([True, True, False]), *group)], supply([2, 2, 3]), slots)
    assert found is not None
    assert [(item.slots, item.hosts) for item in found] == expected
    assert all(item.rows.tolist() == [True, True, False] for item in found)


def test_caps_over_all_hosts_decide_at_once() -> None:
    everywhere = [True] * 3

    def of(slots: int | None, hosts: int | None, wanted: int, given: Supply) -> object:
        found = binding([GroupCap(bools(everywhere), slots, hosts)], given, wanted)
        return None if found is None else [(item.slots, item.hosts) for item in found]

    plain, tiled, mixed = (supply([2, 2, 2], blocks) for blocks in (None, [2, 2, 2], [2, 2, 1]))
    assert of(3, None, 4, plain) is None
    assert of(4, None, 4, plain) == []
    assert of(None, 2, 4, plain) == [(None, 2)]
    assert of(None, 2, 4, tiled) == []  # four slots are two hosts
    assert of(None, 2, 5, tiled) is None
    assert of(None, 2, 4, mixed) == [(None, 2)]
    rows = supply([2, 2, 1], [2] * 3, several=True, hosts=[0, 0, 1])
    everywhere = [True] * 2
    assert of(None, 1, 4, rows) == [(None, 1)]
    assert of(None, 2, 4, rows) == []  # there are two hosts, with three rows


@pytest.mark.parametrize(
    ("held", "slots", "hosts", "expected"),
    [
        ({0: 2, 1: 1}, 3, None, True),
        ({0: 2, 1: 1, 2: 5}, 3, None, True),
        ({0: 2, 1: 2}, 3, None, False),
        ({0: 2, 1: 1}, None, 2, True),
        ({0: 2, 1: 1}, None, 1, False),
        ({0: 4, 2: 1}, None, 1, True),
        ({0: 4, 2: 1}, 4, 1, True),
        ({0: 4, 2: 1}, 3, 1, False),
        ({2: 1}, 0, 0, True),
    ],
)
def test_whether_an_allocation_obeys(
    held: Allocation, slots: int | None, hosts: int | None, expected: bool
) -> None:
    inside = [True, True, False]
    assert obeys(held, supply([9, 9, 9]), [bound(inside, slots, hosts)]) == expected
    rows = supply([9] * 4, [9] * 4, several=True, hosts=[0, 0, 1, 2])
    assert obeys(held, rows, [bound([True, True, True, False], slots, hosts)]) == expected


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


def test_what_cannot_be_folded() -> None:
    assert absorbed(supply([2, 2], [2, 2]), (bound([True, False], 1),)) is None
    assert absorbed(supply([2, 2]), (bound([True, False], 1, 1),)) is None


def test_the_largest_hosts_first() -> None:
    assert fewest_hosts_first(supply([1, 3, 2, 3])).hosts.tolist() == [1, 3, 2, 0]
    first = [True, False, True, False]
    assert fewest_hosts_first(supply([1, 3, 2, 3], first=first)).hosts.tolist() == [2, 1, 3, 0]
    nobody = fewest_hosts_first(supply([1, 3], first=[False, False]))
    assert nobody.hosts.tolist() == [1, 0]


def test_any_number_of_slots_in_order() -> None:
    given = supply([2, 3, 1], hosts=[7, 5, 6])
    assert [list((fill_any(given, n) or {}).items()) for n in (1, 2, 4, 6)] == [
        [(7, 1)], [(7, 2)], [(7, 2), (5, 2)], [(7, 2), (5, 3), (6, 1)]
    ]  # fmt: skip
    assert fill_any(given, 7) is None
    assert gathered(ints([3, 1, 3]), ints([2, 1, 4])) == {3: 6, 1: 1}


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


def test_what_is_plain() -> None:
    plain = [case([2, 2], 2), case([2, 2], 2, ptile=1), case([2, 2], 2, one_host=True)]
    loose = case([2, 2], 2, groups=(GroupCap(bools([True, False]), 2, 2),))
    assert all(is_plain(*each, 2) for each in [*plain, loose])
    others = [
        case([2, 2], 2, block=2),
        case([2, 2], 2, first=[True, False]),
        case([2, 2], 2, units=[0, 0]),
        case([2, 2], 2, same=([1, 1],)),
        case([2, 2], 2, groups=(GroupCap(bools([True, False]), 1),)),
        case([2, 2], 2, groups=(GroupCap(bools([True, False]), hosts=1),)),
    ]
    assert not any(is_plain(*each, 2) for each in others)


@pytest.mark.parametrize(
    ("keywords", "slots", "expected"),
    [
        ({}, 1, {2: 1}),
        ({}, 3, {2: 3}),
        ({}, 4, {2: 3, 0: 1}),
        ({}, 6, {2: 3, 0: 2, 3: 1}),
        ({}, 8, None),
        ({"one_host": True}, 2, {2: 2}),
        ({"one_host": True}, 4, None),
        ({"ptile": 2}, 4, {2: 2, 0: 2}),
        ({"ptile": 2}, 5, {2: 2, 0: 2, 3: 1}),
        ({"ptile": 2}, 6, {2: 2, 0: 2, 3: 2}),
        ({"ptile": 2}, 7, None),
    ],
)
def test_plain_terms(keywords: dict[str, object], slots: int, expected: Allocation | None) -> None:
    """Host 1 has nothing, host 2 comes first."""
    term, capacity = case([2, 0, 3, 2], slots, order=[1, 2, 0, 3], **keywords)
    assert is_plain(term, capacity, slots)
    assert place_plain(term, capacity, slots) == place(term, capacity) == expected
    assert fits_plain(term, capacity, slots) == fits(term, capacity) == (expected is not None)
    assert expected is None or valid(term, capacity, expected)


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


def test_no_slot_anywhere() -> None:
    for keywords in ({}, {"one_host": True}, {"ptile": 1}):
        term, capacity = case([0, 0], 1, **keywords)
        assert place_plain(term, capacity, 1) is None
        assert not fits_plain(term, capacity, 1)


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


@pytest.mark.parametrize(
    ("caps", "blocks", "first", "cu", "exact"),
    [
        ([2, 3], None, None, {"balance": True}, True),
        ([2, 3], [2, 2], None, {"usablecuslots": 3}, True),
        ([2, 3], [2, 3], None, None, True),
        ([2, 3], [2, 3], None, {}, True),
        ([2, 3], [2, 3], None, {"maxcus": 1}, True),
        ([2, 3], [2, 3], None, {"usablecuslots": 3}, False),
        ([2, 3], [2, 3], None, {"balance": True}, False),
        # A first host that takes its whole block, or each of them where units are to be few.
        ([2, 3], [2, 3], [True, False], None, True),
        ([1, 3], [2, 3], [True, False], None, False),
        ([1, 3], [2, 3], [True, True], None, True),
        ([1, 3], [2, 3], [True, True], {"maxcus": 1}, False),
        ([2, 3], [2, 3], [True, True], {"maxcus": 1}, True),
        ([2, 3], [2, 3], [False, False], {"maxcus": 1}, False),
        ([2, 3], [2, 3], [False, False], None, False),
    ],
)
def test_where_the_combinatorial_method_is_exact(
    caps: list[int],
    blocks: list[int] | None,
    first: list[bool] | None,
    cu: dict[str, object] | None,
    exact: bool,
) -> None:
    unit = None if cu is None else unit_demand([0, 1], **cu)
    assert exact_for(supply(caps, blocks, [0, 1], first), unit) is exact


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
