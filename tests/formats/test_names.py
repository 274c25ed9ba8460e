"""Host ranges, lists, allocations and preference marks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from slotwise import Cluster, Host, HostGroup, Instance, dump, loads


@given(st.lists(st.integers(0, 1200), min_size=1, unique=True), st.sampled_from([0, 1, 3, 5]))
def test_compressed_names_expand_to_the_same(numbers: list[int], width: int) -> None:
    hosts = tuple(f"n{number:0{width}d}-ib" for number in numbers)
    cluster = Cluster(tuple(Host(name, 1) for name in hosts), groups=(HostGroup("g", hosts),))
    assert loads(dump(Instance(cluster))).cluster == cluster
