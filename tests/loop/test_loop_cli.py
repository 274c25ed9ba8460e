"""``slotwise simulate`` over hosts: outputs, stop and resume, messages."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from slotwise.solver.availability.demand import GroupCap, TermCapacity, TermDemand
from slotwise.solver.placement import fits, place
from slotwise.solver.placement.choose import fits_plain, is_plain, place_plain
from slotwise.solver.placement.single import place_on_first


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
