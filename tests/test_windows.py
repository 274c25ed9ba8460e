"""Time windows: what the text means and when it is open."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slotwise import InputError, from_document, plan

HOUR, DAY = 3600, 86400
SITE = {"format": "slotwise/1", "hosts": [{"name": "a", "slots": 1}]}
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
    with pytest.raises(InputError) as caught:
        from_document({**SITE, "queues": [{"name": "q", "DISPATCH_WINDOW": text}]})
    (problem,) = caught.value.problems
    assert problem.message == message


def start(window: str, now: int) -> int | None:
    """When a job starts that waits since `now`, without an origin: second 0 is on a Sunday."""
    queues = [{"name": "q", "DISPATCH_WINDOW": window}]
    waits = {"id": "1", "queue": "q", "run_limit": 60, "submit": now}
    return plan(from_document({**SITE, "now": now, "queues": queues, "pending": [waits]}))[
        "1"
    ].start


@pytest.mark.behaviour("TBR-19")
def test_windows_without_origin_begin_on_a_sunday() -> None:
    assert (start("8-17", 0), start("8-17", 17 * HOUR)) == (8 * HOUR, DAY + 8 * HOUR)
    assert (start("8-17", 17 * HOUR - 1), start("1:0:00-1:1:00", 0)) == (17 * HOUR - 1, DAY)
    assert start("1:0:00-1:1:00", DAY + HOUR) == 8 * DAY


@given(st.integers(0, 10079), st.integers(1, 10080), st.integers(-(10**6), 10**7))
def test_a_job_starts_at_once_where_the_week_minute_by_minute_says_open(
    first: int, length: int, time: int
) -> None:
    """At `time` if and only if the minute of the week lies in the window, wrapped around."""
    last = (first + length) % 10080
    minute = time // 60 % 10080
    inside = (minute - first) % 10080 < length
    assert (start(f"{_edge(first)}-{_edge(last)}", time) == time) == inside


def _edge(minute: int) -> str:
    return f"{minute // 1440}:{minute % 1440 // 60}:{minute % 60:02}"
