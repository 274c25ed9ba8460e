"""Durations, sizes, stamps and times of day."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from slotwise.model.formats.units import (
    format_duration,
    format_size,
    parse_duration,
    parse_size,
)


@given(st.integers(-(10**9), 10**9))
def test_a_written_duration_reads_back(seconds: int) -> None:
    assert parse_duration(format_duration(seconds), 60) == seconds


@given(st.floats(0, 1e12))
def test_a_written_size_reads_back(megabytes: float) -> None:
    assert parse_size(format_size(megabytes)) == megabytes
