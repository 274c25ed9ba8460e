"""Time windows: what the text means and when it is open."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slotwise.model.windows import open_periods, parse_windows

HOUR, DAY = 3600, 86400
SHAPE = (
    "must be windows such as (19:00-7:00) or 5:19:00-1:8:30 "
    "(day:hour:minute, day 0 is Sunday), not "
)
EXIST = "has a time that does not exist: day 0-6, hour 0-24, minute 0-59"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("8", SHAPE + "'8'"),
        ("(8-17", SHAPE + "'(8-17'"),
        ("8-17,18-19", SHAPE + "'8-17,18-19'"),
        ("7:8:00-7:9:00", "'7:8:00-7:9:00' " + EXIST),
        ("8:00-8:60", "'8:00-8:60' " + EXIST),
        ("5:8:00-17:00", "'5:8:00-17:00' names a day on one side only: give both days or none"),
    ],
)
def test_bad_texts(text: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the exact message is compared
        parse_windows(text)
    assert str(caught.value) == message


@pytest.mark.behaviour("TBR-19")
def test_open_periods_without_origin_start_on_a_sunday() -> None:
    assert open_periods("8-17", None, 0, DAY) == ((8 * HOUR, 17 * HOUR),)
    assert open_periods("1:0:00-1:1:00", None, 0, 9 * DAY) == (
        (DAY, DAY + HOUR),
        (8 * DAY, 8 * DAY + HOUR),
    )


@given(st.integers(0, 10079), st.integers(1, 10080), st.integers(-(10**6), 10**7))
def test_open_periods_agree_with_the_week_minute_by_minute(
    first: int, length: int, time: int
) -> None:
    """Open at `time` if and only if the minute of the week lies in the window, wrapped around."""
    last = (first + length) % 10080
    text = f"{_edge(first)}-{_edge(last)}"
    minute = time // 60 % 10080
    inside = (minute - first) % 10080 < length
    assert bool(open_periods(text, None, time, time + 1)) == inside


def _edge(minute: int) -> str:
    return f"{minute // 1440}:{minute % 1440 // 60}:{minute % 60:02}"
