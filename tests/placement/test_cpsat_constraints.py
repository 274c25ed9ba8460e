"""Each constraint of the placement model alone: what just fits, and one slot, host or unit more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from placement_cases import bools, ints, unit_demand
from slotwise.solver.availability.demand import TermCapacity
from slotwise.solver.availability.resources import Allocation
from slotwise.solver.placement import cpsat
from slotwise.solver.placement.cpsat import BindingGroup
from slotwise.solver.placement.supply import Supply


def solved(
    caps: Sequence[int],
    slots: int,
    *,
    blocks: int | Sequence[int] | None = None,
    first: Sequence[int] | None = None,
    units: Sequence[int] | None = None,
    bounds: tuple[BindingGroup, ...] = (),
    refine: bool = True,
    **cu: Any,
) -> Allocation | None:
    """The model's placement on hosts of these caps. first: the hosts that may come first."""
    if isinstance(blocks, int):
        blocks = [blocks] * len(caps)
    supply = Supply(
        ints(range(len(caps))),
        ints(caps),
        None if blocks is None else ints(blocks),
        ints(units or [0] * len(caps)),
        None if first is None else bools([host in first for host in range(len(caps))]),
    )
    unit = None if units is None else unit_demand(units, **cu)
    found = cpsat.solve(supply, unit, TermCapacity(ints(caps)), slots, bounds, refine=refine)
    if found is not None:
        assert sum(found.values()) == slots
        assert all(0 < amount <= caps[host] for host, amount in found.items())
    return found


def group(*inside: int, slots: int | None = None, hosts: int | None = None) -> BindingGroup:
    """At most so many slots and hosts on those hosts, of four."""
    return BindingGroup(bools([host in inside for host in range(4)]), slots, hosts)


@pytest.mark.parametrize(
    ("hosts", "slots", "expected"),
    [
        ({"caps": [2, 3]}, 5, {0: 2, 1: 3}),
        ({"caps": [3, 2], "blocks": 3}, 5, {0: 3, 1: 2}),
        # The last block may be smaller, on one host: there only, and a large host will do.
        ({"caps": [4, 3, 1], "blocks": 2}, 5, {0: 2, 1: 2, 2: 1}),
        ({"caps": [2, 2], "blocks": 2}, 4, {0: 2, 1: 2}),
        ({"caps": [1, 1], "blocks": 2}, 1, {0: 1}),
        # Blocks that differ from host to host.
        ({"caps": [3, 2], "blocks": [3, 2]}, 5, {0: 3, 1: 2}),
        ({"caps": [2, 1, 2], "blocks": [3, 2, 2]}, 4, {0: 2, 2: 2}),
        ({"caps": [2, 1], "blocks": [4, 3]}, 2, {0: 2}),
        ({"caps": [4, 1], "first": [1]}, 5, {1: 1, 0: 4}),
    ],
)
def test_the_most_that_hosts_hold_and_one_slot_more(
    hosts: dict[str, Any], slots: int, expected: Allocation
) -> None:
    found = solved(slots=slots, **hosts)
    assert found == expected
    assert solved(slots=slots + 1, **hosts) is None


def test_a_smaller_block_on_a_large_host() -> None:
    assert solved([2, 2], 3, blocks=2) == {0: 2, 1: 1}
    assert solved([3, 2], 4, blocks=[3, 2]) in ({0: 3, 1: 1}, {0: 2, 1: 2})


def test_a_single_block_takes_one_host() -> None:
    assert solved([2, 3], 3, blocks=3) == {1: 3}
    assert solved([2, 3], 4, blocks=4) is None


def test_one_of_the_first_hosts_comes_first() -> None:
    assert list((solved([4, 2, 2], 2, first=[1, 2]) or {}).items()) == [(1, 1), (0, 1)]
    assert list(solved([4, 2, 2], 7, first=[2]) or ()) == [2, 0, 1]
    assert solved([4, 2, 2], 2, first=[]) is None
    # Its block is there whole, or is the last.
    assert solved([3, 3, 1], 4, blocks=3, first=[2]) == {2: 1, 0: 3}
    assert solved([3, 3, 1], 6, blocks=3, first=[2]) is None


@pytest.mark.parametrize(
    ("bound", "blocks", "slots"),
    [
        (group(0, 1, slots=3), None, 5),
        (group(0, 1, hosts=1), None, 4),
        (group(0, 1, 2, hosts=2), None, 5),
        (group(0, 1, slots=2), 2, 3),
        (group(0, 1, hosts=1), 2, 3),
        (group(1, 2, slots=1), 2, 3),
        (group(0, 1, 2, 3, hosts=2), 2, 4),
    ],
)
def test_caps_of_a_group_of_hosts(bound: BindingGroup, blocks: int | None, slots: int) -> None:
    """Hosts of 2, 2, 1 and 1 slots."""
    caps = [2, 2, 1, 1]
    found = solved(caps, slots, blocks=blocks, bounds=(bound,))
    assert found is not None
    inside = [amount for host, amount in found.items() if bound.rows[host]]
    assert bound.slots is None or sum(inside) <= bound.slots
    assert bound.hosts is None or len(inside) <= bound.hosts
    assert solved(caps, slots + 1, blocks=blocks, bounds=(bound,)) is None
    assert solved(caps, slots + 1, blocks=blocks) is not None


@pytest.mark.parametrize(
    ("sizes", "slots", "cu", "expected"),
    [
        ([2, 2], 2, {"maxcus": 1}, [2, 0]),
        ([2, 2], 3, {"maxcus": 1}, None),
        ([1, 2, 3], 5, {"maxcus": 2}, [0, 2, 3]),
        ([1, 2, 3], 6, {"maxcus": 2}, None),
        ([1, 3], 3, {"maxcus": 2}, [0, 3]),
        ([3, 2], 5, {"usablecuslots": 3}, [3, 2]),
        ([2, 2], 2, {"usablecuslots": 3}, [2, 0]),
        ([2, 2], 3, {"usablecuslots": 3}, None),
        ([2, 1, 1], 3, {"usablecuslots": 2}, [2, 1, 0]),
        ([2, 1, 1], 4, {"usablecuslots": 2}, None),
        ([2, 2], 4, {"usablecuslots": 2}, [2, 2]),
        ([2, 3], 5, {"balance": True}, [2, 3]),
        ([1, 3], 3, {"balance": True}, [0, 3]),
        ([1, 3], 4, {"balance": True}, None),
        ([2, 2], 4, {"balance": True}, [2, 2]),
        ([1, 1, 2], 2, {"pref": "bestfit"}, [0, 0, 2]),
    ],
)
def test_units_of_hosts_of_one_slot(
    sizes: list[int], slots: int, cu: dict[str, Any], expected: list[int] | None
) -> None:
    owners = [unit for unit, size in enumerate(sizes) for _ in range(size)]
    found = solved([1] * len(owners), slots, units=owners, **cu)
    assert (found is None) == (expected is None)
    if found is not None:
        parts = [sum(owners[host] == unit for host in found) for unit in range(len(sizes))]
        assert parts == expected


@pytest.mark.parametrize(
    ("sizes", "blocks", "slots", "expected"),
    [
        # Under a span, even means hosts: 3 and 2 though that is 6 slots and 3.
        ([3, 2], 2, 9, [3, 2]),
        ([4, 2], 2, 10, [3, 2]),
        ([4, 2], 2, 11, None),
        ([4, 1], 2, 10, None),
    ],
)
def test_balance_counts_hosts_under_a_span(
    sizes: list[int], blocks: int, slots: int, expected: list[int] | None
) -> None:
    owners = [unit for unit, size in enumerate(sizes) for _ in range(size)]
    caps = [blocks] * len(owners)
    found = solved(caps, slots, blocks=blocks, units=owners, balance=True)
    parts = found and [sum(owners[host] == unit for host in found) for unit in (0, 1)]
    assert parts == expected


@pytest.mark.parametrize("most", [50, 1])
@pytest.mark.parametrize(
    ("pref", "free", "unit"),
    [("config", [1, 3], 0), ("maxavail", [1, 3], 1), ("minavail", [3, 1], 1)],
)
def test_of_equal_units_the_first_in_order(
    monkeypatch: pytest.MonkeyPatch, most: int, pref: str, free: list[int], unit: int
) -> None:
    """Also where units are too many to be ordered one by one."""
    monkeypatch.setattr(cpsat, "MAX_ORDERED", most)
    supply = Supply(ints([0, 1]), ints([1, 1]), None, ints([0, 1]), None)
    capacity = TermCapacity(ints([1, 1]), free_now=ints(free))
    asked = unit_demand([0, 1], maxcus=1, pref=pref)
    assert cpsat.solve(supply, asked, capacity, 1) == {unit: 1}


def test_without_refinement_any_placement_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    owners = [0, 0, 1, 1, 2, 2]
    for found in (
        solved([1] * 6, 3, units=owners, maxcus=2, refine=False),
        solved([1] * 6, 3, units=owners, maxcus=2),
    ):
        assert found is not None
        assert len({owners[host] for host in found}) == 2
    assert solved([1] * 6, 5, units=owners, maxcus=2, refine=False) is None
    monkeypatch.setattr(cpsat, "ORDER_KINDS", 2)
    found = solved([1] * 6, 3, units=owners, maxcus=3)
    assert found is not None
    assert len({owners[host] for host in found}) == 2, "the fewest even where order is left aside"


def test_no_host_at_all() -> None:
    assert solved([], 1) is None
