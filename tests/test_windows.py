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


@pytest.mark.behaviour("TBR-19")
@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("8-17", (8 * 60, 17 * 60)),
        ("(8-17)", (8 * 60, 17 * 60)),
        ("8:30-17", (8 * 60 + 30, 17 * 60)),
        ("(19:00-7:00)", (19 * 60, 31 * 60)),
        ("5:19:00-1:8:30", (5 * 1440 + 19 * 60, 8 * 1440 + 8 * 60 + 30)),
        (" ( 3:8:00 - 3:9:00 ) ", (3 * 1440 + 8 * 60, 3 * 1440 + 9 * 60)),
    ],
)
def test_the_first_period(text: str, first: tuple[int, int]) -> None:
    """Minutes from Sunday 0:00; a window may end on the next day or in the next week."""
    assert parse_windows(text)[0] == first


@pytest.mark.parametrize(
    "text",
    [
        "1:8:00-1:9:00 2:8:00-2:9:00",
        "(1:8:00-1:9:00 2:8:00-2:9:00)",
        "(2:8:00-2:9:00)(1:8:00-1:9:00)",
    ],
)
def test_several_windows_are_parted_by_blanks_or_brackets(text: str) -> None:
    assert parse_windows(text) == ((1920, 1980), (3360, 3420))


def test_windows_that_touch_are_one() -> None:
    assert parse_windows("1:8:00-1:9:00 1:9:00-1:10:00") == ((1920, 2040),)
    assert parse_windows("0-12 12-0") == ((0, 7 * 1440),)


@pytest.mark.parametrize("text", ["", "  ", "()"])
def test_no_windows(text: str) -> None:
    assert parse_windows(text) == ()


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


def test_a_night_window_is_one_period_over_midnight() -> None:
    assert open_periods("19-7", None, 12 * HOUR, 36 * HOUR) == ((19 * HOUR, 31 * HOUR),)
    assert open_periods("6:19:00-0:7:00", None, 0, DAY) == ((0, 7 * HOUR),)


@pytest.mark.behaviour("TBR-19")
def test_the_origin_gives_the_weekday_and_the_hour() -> None:
    """2024-03-15 18:00 is a Friday: the weekend window opens an hour later, for 61.5 hours."""
    opens = open_periods("5:19:00-1:8:30", "2024-03-15T18:00:00+01:00", 0, 7 * DAY)
    assert opens == ((HOUR, HOUR + 61 * HOUR + 30 * 60),)


def test_always_open() -> None:
    assert open_periods("", None, 5, 50) == ((5, 50),)
    assert open_periods("0-0", None, -DAY, 30 * DAY) == ((-DAY, 30 * DAY),)
    assert open_periods("8-17", None, 50, 50) == ()


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
