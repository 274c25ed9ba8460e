"""Rooms and terms for the placement tests: short hand-written ones, and random tiny ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from slotwise.solver.availability.demand import GroupCap, TermCapacity, TermDemand, UnitDemand

Case = tuple[TermDemand, TermCapacity]


def ints(values: Sequence[int]) -> Any:
    return np.array(values, dtype=np.int64)


def bools(values: Sequence[bool]) -> Any:
    return np.array(values, dtype=bool)


def unit_demand(unit_of: Sequence[int], **keywords: Any) -> UnitDemand:
    names = tuple(f"cu{c}" for c in range(max(unit_of) + 1))
    return UnitDemand(unit_of=ints(unit_of), names=names, **keywords)


def case(
    caps: Sequence[int],
    slots: int,
    *,
    most: int | None = None,
    ptile: int | Sequence[int] | None = None,
    units: Sequence[int] | None = None,
    order: Sequence[int] | None = None,
    idle: Sequence[bool] | None = None,
    free: Sequence[int] | None = None,
    groups: tuple[GroupCap, ...] = (),
    same: tuple[Sequence[int], ...] = (),
    one_host: bool = False,
    block: int = 1,
    first: Sequence[bool] | None = None,
    **cu: Any,
) -> Case:
    """A term and its room; every keyword as in TermDemand, Room and cu[]."""
    count = len(caps)
    if isinstance(ptile, int):
        ptile = [ptile] * count
    term = TermDemand(
        slots=slots,
        max_slots=slots if most is None else most,
        candidates=ints(range(count) if order is None else order),
        ptile=None if ptile is None else ints(ptile),
        block=block,
        one_host=one_host,
        same=tuple(ints(labels) for labels in same),
        unit=None if units is None else unit_demand(units, **cu),
        first_hosts=None if first is None else bools(first),
    )
    capacity = TermCapacity(
        ints(caps),
        groups,
        None if idle is None else bools(idle),
        None if free is None else ints(free),
    )
    return term, capacity


@st.composite
def tiny_cases(draw: st.DrawFn, grouped: bool = False, hosts: int = 6) -> Case:
    """At most `hosts` hosts, at most 4 slots each, any keywords that may be combined."""
    count = draw(st.integers(1, hosts))

    def row(element: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(element, min_size=count, max_size=count))

    caps = row(st.sampled_from([2, 3, 1, 4, 4, 3, 2, 0]))
    options: dict[str, Any] = {"order": draw(st.permutations(range(count)))}
    span = draw(st.sampled_from(["none", "ptile", "none", "ptile", "mixed", "host", "block"]))
    if span == "ptile":
        options["ptile"] = draw(st.integers(1, 4))
    elif span == "mixed":
        options["ptile"] = row(st.integers(1, 4))
    elif span == "block":
        options["block"] = draw(st.integers(2, 3))
    options["one_host"] = span == "host"
    if draw(st.integers(0, 3)) == 3:
        arrays = draw(st.integers(1, 2))
        options["same"] = tuple(row(st.integers(-1, 1)) for _ in range(arrays))
    if draw(st.integers(0, 3)) == 3:
        options["first"] = row(st.booleans())
    if draw(st.integers(0, 3)):
        options["units"] = row(st.sampled_from([0, 1, 2, 0, 1, 2, 3, 4, -1]))
        if max(options["units"]) < 0:
            options["units"] = [0] * count
        options["pref"] = draw(st.sampled_from(["config", "maxavail", "minavail", "bestfit"]))
        options["maxcus"] = draw(st.none() | st.integers(1, 3))
        options["usablecuslots"] = draw(st.none() | st.integers(1, 5))
        options["balance"] = draw(st.booleans())
        options["free"] = row(st.integers(0, 4))
        levels = max(options["units"]) + 1
        if draw(st.booleans()):
            levels = draw(st.lists(st.integers(0, 2), min_size=levels, max_size=levels))
            options["preference"] = ints(levels)
        options["excl"] = draw(st.sampled_from([False, False, True]))
        options["idle"] = row(st.sampled_from([True, True, True, False]))
    if grouped:
        options["groups"] = tuple(
            GroupCap(
                bools(row(st.booleans())),
                draw(st.none() | st.integers(0, 8)),
                draw(st.none() | st.integers(0, 4)),
            )
            for _ in range(draw(st.integers(1, 2)))
        )
    total = max(1, sum(caps))
    slots = draw(st.integers(1, total))
    if draw(st.booleans()):
        slots = total + 1 - slots
    most = slots + draw(st.integers(0, 6))
    return case(caps, slots, most=most, **options)
