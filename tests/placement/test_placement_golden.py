"""Numbers of the documents and the tie rules of the package, asserted exactly."""

from __future__ import annotations

from typing import Any

import pytest
from placement_cases import bools, case, ints
from slotwise.solver.availability.demand import GroupCap
from slotwise.solver.availability.resources import Allocation
from slotwise.solver.placement import fits, place


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


@pytest.mark.behaviour("PLC-02", "REQ-18")
def test_ptile_fills_hosts_and_leaves_the_remainder_to_one() -> None:
    assert place(*case([4, 4, 4], 6, ptile=2)) == {0: 2, 1: 2, 2: 2}
    assert place(*case([4, 1, 4, 4], 5, ptile=2)) == {0: 2, 1: 1, 2: 2}
    assert place(*case([1, 1, 1], 2, ptile=2)) is None
    assert place(*case([1, 1, 1], 1, ptile=2)) == {0: 1}


@pytest.mark.behaviour("PLC-04")
def test_hosts_agree_in_one_way_or_in_the_other() -> None:
    kind, model = [0, 1, 0, 1], [-1, 0, 0, 0]
    assert place(*case([2, 2, 2, 2], 4, same=(kind,))) == {0: 2, 2: 2}
    assert place(*case([2, 2, 2, 2], 6, same=(kind,))) is None
    assert place(*case([2, 2, 2, 2], 6, same=(kind, model))) == {1: 2, 2: 2, 3: 2}
    assert place(*case([2, 2, 2, 2], 8, same=(kind, model))) is None


@pytest.mark.behaviour("PLC-06", "PLC-12")
def test_order_inside_a_unit_and_host_preference() -> None:
    term_room = case([2, 2, 2, 2], 3, units=[0, 0, 1, 1], order=[3, 1, 0, 2])
    assert list((place(*term_room) or {}).items()) == [(1, 2), (0, 1)]
    liked = case([2, 2, 2, 2], 3, units=[0, 0, 1, 1], pref="minavail", preference=ints([0, 1]))
    assert place(*liked) == {2: 2, 3: 1}


@pytest.mark.behaviour("PLC-08", "PLC-10")
def test_usablecuslots_leaves_fewer_to_one_unit_only() -> None:
    assert placed([10, 9, 10], 14, usablecuslots=10) == [10, 4]
    assert placed([16] * 5, 64, maxcus=8, usablecuslots=10, excl=True) == [16] * 4
    assert placed([10] * 7, 64, maxcus=8, usablecuslots=10, excl=True) == [10] * 6 + [4]
    assert placed([9] * 8, 64, maxcus=8, usablecuslots=10, excl=True) is None
    assert placed([20] * 8, 3, usablecuslots=10) == [3]


@pytest.mark.behaviour("PLC-09")
def test_balance_counts_hosts_under_ptile() -> None:
    # 9 slots on 5 hosts of 2: 3 and 2 hosts, although 6 and 3 slots differ by more than 1.
    assert placed([3, 3], 9, per_host=2, ptile=2, balance=True) == [6, 3]
    assert placed([4, 1], 9, per_host=2, ptile=2, balance=True) is None


@pytest.mark.behaviour("PLC-10")
def test_58_slots_balanced_with_20_in_each() -> None:
    """The documents' own example, refused by default where it is read (PLC-08), solved here."""
    assert placed([58, 58], 58, balance=True, usablecuslots=20) == [58]
    assert placed([57, 29, 29], 58, balance=True, usablecuslots=20) == [29, 29]
    assert placed([28] * 8, 58, balance=True, usablecuslots=20) is None


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
