"""Numbers of the documents and the tie rules of the package, asserted exactly."""

from __future__ import annotations

from typing import Any

import pytest
from placement_cases import bools, case, ints
from slotwise.solver.availability.demand import GroupCap
from slotwise.solver.availability.resources import Allocation
from slotwise.solver.placement import fits, place, place_most


def units_of(sizes: list[int], per_host: int = 1) -> tuple[list[int], list[int]]:
    """Caps and unit of each host for units of so many hosts."""
    owners = [unit for unit, size in enumerate(sizes) for _ in range(size)]
    return [per_host] * len(owners), owners


def parts(found: Allocation | None, owners: list[int]) -> list[int] | None:
    """Slots in each unit used, in allocation order."""
    if found is None:
        return None
    slots: dict[int, int] = {}
    for host, amount in found.items():
        slots[owners[host]] = slots.get(owners[host], 0) + amount
    return list(slots.values())


def placed(sizes: list[int], slots: int, per_host: int = 1, **keywords: Any) -> list[int] | None:
    caps, owners = units_of(sizes, per_host)
    return parts(place(*case(caps, slots, units=owners, **keywords)), owners)


@pytest.mark.behaviour("PLC-01")
def test_without_span_slots_come_in_candidate_order() -> None:
    assert place(*case([1, 0, 3, 2], 5, order=[3, 2, 1, 0])) == {3: 2, 2: 3}
    assert list(place(*case([1, 0, 3, 2], 5, order=[3, 2, 1, 0])) or ()) == [3, 2]
    assert place(*case([1, 0, 3, 2], 7)) is None


@pytest.mark.behaviour("PLC-02", "REQ-18")
def test_ptile_fills_hosts_and_leaves_the_remainder_to_one() -> None:
    assert place(*case([4, 4, 4], 6, ptile=2)) == {0: 2, 1: 2, 2: 2}
    assert place(*case([4, 1, 4, 4], 5, ptile=2)) == {0: 2, 1: 1, 2: 2}
    assert place(*case([1, 1, 1], 2, ptile=2)) is None
    assert place(*case([1, 1, 1], 1, ptile=2)) == {0: 1}


@pytest.mark.behaviour("PLC-02", "REQ-18")
def test_ptile_of_its_own_on_each_host() -> None:
    assert place(*case([8, 4, 8], 14, ptile=[8, 4, 2])) == {0: 8, 1: 4, 2: 2}
    assert place(*case([3, 4, 2], 9, ptile=[8, 4, 2])) == {0: 3, 1: 4, 2: 2}
    assert place(*case([3, 4, 2], 10, ptile=[8, 4, 2])) is None


@pytest.mark.behaviour("PLC-03", "REQ-18")
def test_one_host_takes_all() -> None:
    assert place(*case([2, 3, 4], 3, one_host=True)) == {1: 3}
    assert place(*case([2, 3, 4], 5, one_host=True)) is None
    assert place_most(*case([2, 3, 4], 2, most=9, one_host=True)) == {2: 4}


@pytest.mark.behaviour("PLC-04")
def test_hosts_agree_in_one_way_or_in_the_other() -> None:
    kind, model = [0, 1, 0, 1], [-1, 0, 0, 0]
    assert place(*case([2, 2, 2, 2], 4, same=(kind,))) == {0: 2, 2: 2}
    assert place(*case([2, 2, 2, 2], 6, same=(kind,))) is None
    assert place(*case([2, 2, 2, 2], 6, same=(kind, model))) == {1: 2, 2: 2, 3: 2}
    assert place(*case([2, 2, 2, 2], 8, same=(kind, model))) is None


@pytest.mark.behaviour("PLC-05")
def test_hosts_outside_units_are_no_candidates() -> None:
    assert place(*case([4, 4, 4], 6, units=[-1, 0, 0])) == {1: 4, 2: 2}
    assert place(*case([4, 4, 4], 9, units=[-1, 0, 0])) is None


@pytest.mark.behaviour("PLC-06")
def test_pref_orders_units_before_first_fit() -> None:
    owners = [0, 0, 1, 1, 2, 2]
    free = [1, 1, 3, 3, 1, 1]
    caps = [1, 1, 3, 3, 1, 1]
    first = {
        pref: place(*case(caps, 3, units=owners, free=free, pref=pref))
        for pref in ("config", "maxavail", "minavail")
    }
    assert first["config"] == {0: 1, 1: 1, 2: 1}
    assert first["maxavail"] == {2: 3}
    assert first["minavail"] == {0: 1, 1: 1, 4: 1}


@pytest.mark.behaviour("PLC-06", "PLC-12")
def test_order_inside_a_unit_and_host_preference() -> None:
    term_room = case([2, 2, 2, 2], 3, units=[0, 0, 1, 1], order=[3, 1, 0, 2])
    assert list((place(*term_room) or {}).items()) == [(1, 2), (0, 1)]
    liked = case([2, 2, 2, 2], 3, units=[0, 0, 1, 1], pref="minavail", preference=ints([0, 1]))
    assert place(*liked) == {2: 2, 3: 1}


@pytest.mark.behaviour("PLC-06", "PLC-07")
def test_bestfit_uses_few_units_and_small_ones() -> None:
    assert placed([6, 2, 4, 4], 4, pref="bestfit") == [4]
    caps, owners = units_of([6, 2, 4, 4])
    found = place(*case(caps, 4, units=owners, pref="bestfit"))
    assert {owners[host] for host in found or ()} == {2}


@pytest.mark.behaviour("PLC-07")
def test_maxcus_with_a_range_takes_the_first_combination_and_fills_it() -> None:
    caps, owners = units_of([8, 7, 9, 20])
    wide = place_most(*case(caps, 11, most=60, units=owners))
    assert parts(wide, owners) == [8, 7, 9, 20]
    narrow = place_most(*case(caps, 11, most=60, units=owners, maxcus=2))
    assert parts(narrow, owners) == [20]
    caps, owners = units_of([8, 7, 9])
    pair = place_most(*case(caps, 11, most=60, units=owners, maxcus=2))
    assert parts(pair, owners) == [8, 7]
    assert place_most(*case(caps, 18, most=60, units=owners, maxcus=2)) is None


@pytest.mark.behaviour("PLC-08", "PLC-10")
def test_usablecuslots_leaves_fewer_to_one_unit_only() -> None:
    assert placed([10, 9, 10], 14, usablecuslots=10) == [10, 4]
    assert placed([16] * 5, 64, maxcus=8, usablecuslots=10, excl=True) == [16] * 4
    assert placed([10] * 7, 64, maxcus=8, usablecuslots=10, excl=True) == [10] * 6 + [4]
    assert placed([9] * 8, 64, maxcus=8, usablecuslots=10, excl=True) is None
    assert placed([20] * 8, 3, usablecuslots=10) == [3]


@pytest.mark.behaviour("PLC-09")
@pytest.mark.parametrize(
    ("slots", "expected"),
    [(6, [6]), (8, [8]), (10, [5, 5]), (12, [6, 6]), (14, [4, 5, 5]), (19, None)],
)
def test_balance_over_units_of_4_6_and_8(slots: int, expected: list[int] | None) -> None:
    assert placed([4, 6, 8], slots, balance=True) == expected


@pytest.mark.behaviour("PLC-09")
def test_pref_breaks_ties_between_balanced_placements() -> None:
    caps, owners = units_of([5, 19])
    for pref, unit in (("minavail", 0), ("maxavail", 1)):
        found = place(*case(caps, 5, units=owners, balance=True, pref=pref, free=caps))
        assert {owners[host] for host in found or ()} == {unit}


@pytest.mark.behaviour("PLC-09")
def test_balance_counts_hosts_under_ptile() -> None:
    # 9 slots on 5 hosts of 2: 3 and 2 hosts, although 6 and 3 slots differ by more than 1.
    assert placed([3, 3], 9, per_host=2, ptile=2, balance=True) == [6, 3]
    assert placed([4, 1], 9, per_host=2, ptile=2, balance=True) is None


@pytest.mark.behaviour("PLC-09")
def test_balance_disregards_the_maximum() -> None:
    caps, owners = units_of([6, 8])
    assert parts(place_most(*case(caps, 10, most=14, units=owners, balance=True)), owners) == [5, 5]


@pytest.mark.behaviour("PLC-10")
@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([64] + [22] * 5, [64]),
        ([63] * 4, [32, 32]),
        ([22, 21, 21, 21], [22, 21, 21]),
        ([21] * 4, [16] * 4),
        ([15] * 20, None),
    ],
)
def test_64_slots_balanced_over_at_most_4(sizes: list[int], expected: list[int] | None) -> None:
    assert placed(sizes, 64, balance=True, maxcus=4) == expected


@pytest.mark.behaviour("PLC-10")
def test_58_slots_balanced_with_20_in_each() -> None:
    """The documents' own example, refused by default where it is read (PLC-08), solved here."""
    assert placed([58, 58], 58, balance=True, usablecuslots=20) == [58]
    assert placed([57, 29, 29], 58, balance=True, usablecuslots=20) == [29, 29]
    assert placed([28] * 8, 58, balance=True, usablecuslots=20) is None


@pytest.mark.behaviour("PLC-11")
def test_exclusive_units_hold_no_other_job_on_any_host() -> None:
    busy_elsewhere = [True, False, True, True]
    term, capacity = case([2, 0, 2, 2], 2, units=[0, 0, 1, 1], excl=True, idle=busy_elsewhere)
    assert place(term, capacity) == {2: 2}
    term, capacity = case([2, 0, 2, 2], 2, units=[0, 0, 1, 1], excl=False, idle=busy_elsewhere)
    assert place(term, capacity) == {0: 2}


@pytest.mark.behaviour("PLC-12")
def test_first_execution_host_and_its_unit_come_first() -> None:
    only = [False, False, False, True]
    assert list((place(*case([2, 2, 2, 2], 4, first=only)) or {}).items()) == [(3, 2), (0, 2)]
    found = place(*case([2, 2, 2, 2], 6, first=only, units=[0, 0, 1, 1]))
    assert list((found or {}).items()) == [(3, 2), (2, 2), (0, 2)]
    # A first host with room for the remainder only still serves.
    assert place(*case([2, 2, 0, 1], 5, first=only, ptile=2)) == {3: 1, 0: 2, 1: 2}
    assert place(*case([2, 2, 0, 1], 4, first=only, ptile=2)) is None
    assert place(*case([2, 2, 2, 0], 4, first=only)) is None


@pytest.mark.behaviour("PLC-02", "PLC-14")
def test_range_with_ptile_is_the_maximum_or_whole_hosts() -> None:
    """-n 1,14 with ptile=4: 14 as 4+4+4+2, or 4, 8 or 12 (004, resizable jobs)."""
    assert place_most(*case([4, 4, 4, 2], 1, most=14, ptile=4)) == {0: 4, 1: 4, 2: 4, 3: 2}
    assert place_most(*case([4, 4, 4, 1], 1, most=14, ptile=4)) == {0: 4, 1: 4, 2: 4}
    assert place_most(*case([4, 3, 4], 1, most=14, ptile=4)) == {0: 4, 2: 4}
    # Every host has one slot only: the job gets one (-n 1,20 with ptile=2).
    assert place_most(*case([1, 1, 1], 1, most=20, ptile=2)) == {0: 1}


def test_group_caps_over_all_hosts_bound_the_total() -> None:
    everywhere = GroupCap(bools([True] * 3), slots=4)
    assert place(*case([2, 2, 2], 4, groups=(everywhere,))) == {0: 2, 1: 2}
    assert not fits(*case([2, 2, 2], 5, groups=(everywhere,)))
    few_hosts = GroupCap(bools([True] * 3), hosts=2)
    assert place(*case([1, 2, 3], 5, groups=(few_hosts,))) == {2: 3, 1: 2}
    assert place(*case([2, 2, 2], 5, ptile=2, groups=(few_hosts,))) is None


def test_group_caps_over_some_hosts_move_the_job() -> None:
    some = GroupCap(bools([True, True, False, False]), slots=3)
    assert place(*case([2, 2, 2, 2], 6, groups=(some,))) == {0: 2, 1: 1, 2: 2, 3: 1}
    tiled = place(*case([2, 2, 2, 2], 6, ptile=2, groups=(some,)))
    assert tiled in ({0: 2, 2: 2, 3: 2}, {1: 2, 2: 2, 3: 2})
    assert place(*case([2, 2, 2, 2], 8, ptile=2, groups=(some,))) is None
    owners = [0, 1, 2, 2]
    chosen = place(*case([2, 2, 2, 2], 4, units=owners, maxcus=1, groups=(some,)))
    assert chosen == {2: 2, 3: 2}
