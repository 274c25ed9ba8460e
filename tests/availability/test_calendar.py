"""Windows of queues and hosts: open or closed, when they open, what a window of a job needs."""

from __future__ import annotations

import pytest
from availability_cases import caps, demand
from slotwise import Cluster, Host, Instance, Queue
from slotwise.model.display import WEEK
from slotwise.solver.availability.demand import Calendar, Windows
from slotwise.solver.availability.profile import Profile
from slotwise.solver.availability.resources import ResourceTable

HOUR, DAY = 3600, 86400
#: A Sunday, midnight: second 0 of the tests.
ORIGIN = "2026-01-04T00:00:00"


def problem(*hosts: Host) -> Instance:
    return Instance(Cluster(hosts or (Host("A", 4), Host("B", 4))), origin=ORIGIN)


def test_a_window_of_every_day() -> None:
    office = Windows("8:00-18:00", ORIGIN)
    times = [8 * HOUR - 1, 8 * HOUR, 18 * HOUR - 1, 18 * HOUR]
    assert [office.is_open(time) for time in times] == [False, True, True, False]
    assert office.open_until(9 * HOUR) == 18 * HOUR
    assert office.openings(9 * HOUR)[:2] == [9 * HOUR, DAY + 8 * HOUR]


def test_a_window_over_midnight_and_one_over_the_weekend() -> None:
    night = Windows("19:00-7:00", ORIGIN)
    assert [night.is_open(hour * HOUR) for hour in (6, 7, 18, 19, 24, 31)] == [
        True, False, False, True, True, False
    ]  # fmt: skip
    weekend = Windows("5:19:00-1:8:30", ORIGIN)
    monday = DAY + 8 * HOUR + 1800
    assert [weekend.is_open(time) for time in (0, monday - 1, monday, 5 * DAY + 19 * HOUR)] == [
        True, True, False, True
    ]  # fmt: skip


def test_what_never_closes_has_no_end() -> None:
    assert Windows("0:00-24:00", ORIGIN).open_until(5) is None


@pytest.mark.parametrize(
    ("start", "duration", "allowed"),
    [
        (8 * HOUR, 2 * HOUR, True),
        (8 * HOUR, 10 * HOUR, True),  # up to the second at which the window closes
        (8 * HOUR, 10 * HOUR + 1, False),
        (17 * HOUR, HOUR + 1, False),
        (17 * HOUR, None, True),  # stopped as the window closes
        (18 * HOUR, None, False),
        (7 * HOUR, HOUR, False),
    ],
)
def test_a_run_window_holds_the_whole_job(start: int, duration: int | None, allowed: bool) -> None:
    calendar = Calendar.of(problem(), Queue("q", run_window="8:00-18:00"))
    assert calendar is not None
    assert calendar.allows(start, duration) is allowed


def test_a_dispatch_window_holds_the_start_alone() -> None:
    calendar = Calendar.of(problem(), Queue("q", dispatch_window="8:00-18:00"))
    assert calendar is not None
    assert calendar.allows(17 * HOUR, None)
    assert not calendar.allows(18 * HOUR, 1)


def test_no_windows_no_calendar() -> None:
    assert Calendar.of(problem(), Queue("q")) is None


def test_hosts_are_closed_by_their_own_windows() -> None:
    instance = problem(Host("A", 4), Host("B", 4, windows="8:00-18:00"))
    calendar = Calendar.of(instance, Queue("q"))
    assert calendar is not None
    closed = calendar.closed_hosts(0)
    assert closed is not None
    assert closed.tolist() == [False, True]
    assert calendar.closed_hosts(9 * HOUR) is None
    profile = Profile(ResourceTable(instance), 0)
    assert caps(profile, demand(calendar=calendar)) == [4, 0]
    assert caps(profile, demand(calendar=calendar), 9 * HOUR) == [4, 4]


def test_openings_of_a_week_join_those_of_queue_and_hosts() -> None:
    instance = problem(Host("A", 4, windows="6:10:00-6:12:00"))
    queue = Queue("q", dispatch_window="0:8:00-0:9:00", run_window="0:8:00-0:20:00")
    calendar = Calendar.of(instance, queue)
    assert calendar is not None
    assert calendar.openings(0) == {8 * HOUR, 6 * DAY + 10 * HOUR}
    assert calendar.openings(WEEK) == {WEEK + 8 * HOUR, WEEK + 6 * DAY + 10 * HOUR}


def test_candidate_times_of_a_job_have_its_openings() -> None:
    calendar = Calendar.of(problem(), Queue("q", dispatch_window="0:8:00-0:9:00"))
    profile = Profile(ResourceTable(problem()), 0)
    job = demand(calendar=calendar)
    assert profile.with_openings(job, [0, 100]) == [0, 100, 8 * HOUR]
    assert not profile.open_for(job, 100)
    assert profile.open_for(job, 8 * HOUR)
