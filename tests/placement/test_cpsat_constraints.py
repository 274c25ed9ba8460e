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
