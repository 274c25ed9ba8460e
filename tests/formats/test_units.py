"""Durations and sizes of instance files."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from slotwise import Cluster, Host, Instance, Job, dump, loads


@given(st.integers(1, 10**9), st.floats(0, 1e12))
def test_a_written_duration_and_size_read_back(seconds: int, megabytes: float) -> None:
    cluster = Cluster((Host("a", 1, amounts={"mem": megabytes}),))
    instance = Instance(cluster, pending=(Job("1", 1, run_limit=seconds),))
    assert loads(dump(instance)) == instance
