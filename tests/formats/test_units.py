"""Durations, sizes, stamps and times of day."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slotwise.model.formats.units import (
    Clock,
    format_duration,
    format_size,
    parse_duration,
    parse_instant,
    parse_size,
    parse_stamp,
)


@pytest.mark.parametrize(
    ("given", "unit", "seconds"),
    [
        ("2h", 1, 7200),
        ("90m", 1, 5400),
        ("30s", 60, 30),
        ("1d", 60, 86400),
        ("1w", 1, 604800),
        ("1d12h30m", 1, 131400),
        ("1.5h", 1, 5400),
        ("2:00", 60, 7200),
        ("2:00", 1, 7200),
        ("0:30", 60, 1800),
        ("-1:30", 1, -5400),
        ("-90m", 1, -5400),
        (120, 60, 7200),
        (120, 1, 120),
        ("120", 60, 7200),
        (0.5, 60, 30),
    ],
)
def test_durations(given: object, unit: int, seconds: int) -> None:
    assert parse_duration(given, unit) == seconds


@pytest.mark.parametrize(
    "given", ["", "soon", "2x", "1:75", "h", "2h 30m", True, None, [], 0.0001, 1e300, "9" * 30]
)
def test_no_durations(given: object) -> None:
    with pytest.raises(
        ValueError, match=r"must be (a duration|a whole number of seconds|at most [0-9]+ seconds)"
    ):
        parse_duration(given)


@given(st.integers(-(10**9), 10**9))
def test_a_written_duration_reads_back(seconds: int) -> None:
    assert parse_duration(format_duration(seconds), 60) == seconds


@pytest.mark.parametrize(
    ("given", "megabytes"),
    [("4G", 4096), ("512M", 512), ("1.5T", 1572864), ("512K", 0.5), ("2GB", 2048), (100, 100.0)],
)
def test_sizes(given: object, megabytes: float) -> None:
    assert parse_size(given) == megabytes


def test_units_may_be_decimal() -> None:
    assert parse_size("4G", base=1000) == 4000
    assert parse_size(4, unit=1024) == 4096
    assert parse_size("4M", unit=1024) == 4


@pytest.mark.parametrize("given", ["4X", "", "-1", -1, True, "nan", float("inf"), None])
def test_no_sizes(given: object) -> None:
    with pytest.raises(ValueError, match=r"size|must be 0 or more, not"):
        parse_size(given)


@given(st.floats(0, 1e12))
def test_a_written_size_reads_back(megabytes: float) -> None:
    assert parse_size(format_size(megabytes)) == megabytes


def test_stamps_need_a_zone_and_whole_seconds() -> None:
    assert parse_stamp("2026-01-05T08:00:00+01:00") == parse_stamp("2026-01-05T07:00:00Z")
    for text in ("2026-01-05T08:00:00", "2026-01-05", "2026-13-05T08:00:00Z", "tomorrow"):
        with pytest.raises(ValueError, match=r"time zone|no ISO 8601"):
            parse_stamp(text)
    with pytest.raises(ValueError, match="whole number of seconds"):
        parse_stamp("2026-01-05T08:00:00.5Z")


def test_an_instant_is_a_stamp_a_duration_or_seconds() -> None:
    stamp = parse_instant("2026-01-05T08:00:00Z")
    assert isinstance(stamp, datetime)
    assert Clock(parse_stamp("2026-01-05T07:00:00Z")).seconds(stamp) == 3600
    assert parse_instant("-2h") == -7200
    assert parse_instant(90) == 90
    with pytest.raises(ValueError, match="or an ISO 8601 stamp, not 'later'"):
        parse_instant("later")


@pytest.mark.behaviour("CFG-03")
@pytest.mark.parametrize(
    ("text", "stamp"),
    [
        ("20:00", "2026-01-05T20:00:00+01:00"),
        ("9:30", "2026-01-05T09:30:00+01:00"),
        ("8:00", "2026-01-06T08:00:00+01:00"),
        ("7:10:00", "2026-01-07T10:00:00+01:00"),
        ("4:10:00", "2026-02-04T10:00:00+01:00"),
        ("31:10:00", "2026-01-31T10:00:00+01:00"),
        ("3:1:10:00", "2026-03-01T10:00:00+01:00"),
        ("1:4:10:00", "2027-01-04T10:00:00+01:00"),
    ],
)
def test_a_time_of_day_is_the_next_one(text: str, stamp: str) -> None:
    clock = Clock(parse_stamp("2026-01-05T08:00:00+01:00"), now=5400)
    assert clock.next(text) == clock.seconds(parse_stamp(stamp))


@pytest.mark.parametrize("text", ["25:00", "10:61", "31:4:1:2:3", "x:y", "10", "2:30:10:00"])
def test_no_times_of_day(text: str) -> None:
    clock = Clock(parse_stamp("2026-01-05T08:00:00+01:00"))
    with pytest.raises(ValueError, match=r"must be \[\[month:\]day:\]hour:minute|is no time"):
        clock.next(text)
