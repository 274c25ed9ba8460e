"""The search for the first instant that fits: its answer and its effort, on made-up answers."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from slotwise.solver.placement import earliest
from slotwise.solver.placement.earliest import Start, earliest_start


class Instants:
    """A profile of some instants, at each of which the job fits or not; counts what is asked."""

    def __init__(self, fits: list[bool], only_grows: bool = True) -> None:
        self.times = [10 * at for at in range(len(fits))]
        self.fits = dict(zip(self.times, fits, strict=True))
        self.only_grows = only_grows
        self.full_windows = None  # nothing is remembered
        self.asked: list[int] = []
        self.parts = [(0, len(fits))]

    def candidate_times(self, start: int, *, finishes_only: bool) -> list[int]:
        return [time for time in self.times if time >= start]

    def has_accept_interval(self, demand: object) -> bool:
        return False

    def with_openings(self, demand: object, times: list[int]) -> list[int]:
        return times

    def stretches(
        self, times: list[int], duration: int | None, *, one_by_one: bool
    ) -> list[tuple[int, int]]:
        first = self.times.index(times[0])
        there = range(first, first + len(times) + 1)
        return [(at - first, to - first) for at, to in self.parts if at in there and to in there]


@dataclass
class Asked:
    """What the search looks at of a demand."""

    terms: tuple[Any, ...]
    joint_placer: object
    impossible: str = ""
    earliest: int = 0
    calendar: object = None
    duration: int | None = 10
    floors: tuple[Any, ...] = ()
    interval: object = None
    latest: int | None = None
    killed: int | None = None
    may_be_killed: bool = False

    def duration_from(self, _: int) -> int | None:
        return self.duration


def demand(terms: int = 1, joint_placer: object = None) -> Any:
    return Asked(tuple(SimpleNamespace(alternatives=()) for _ in range(terms)), joint_placer)


@pytest.fixture(autouse=True)
def answers(monkeypatch: pytest.MonkeyPatch) -> None:
    def can_start(profile: Instants, _: object, time: int, found: object = None) -> bool:
        profile.asked.append(time)
        return profile.fits[time]

    def start_at(profile: Instants, _: object, time: int, found: object = None) -> Start | None:
        return Start(time, ({0: 1},)) if profile.fits[time] else None

    monkeypatch.setattr(earliest, "can_start", can_start)
    monkeypatch.setattr(earliest, "start_at", start_at)


def found(profile: Instants, wanted: Any = None, **keywords: Any) -> int | None:
    start = earliest_start(profile, wanted or demand(), **keywords)  # type: ignore[arg-type]
    return None if start is None else start.time


@pytest.mark.parametrize("count", range(1, 18))
def test_bisection_finds_the_first_instant_with_few_questions(count: int) -> None:
    for first in range(count + 1):
        for hint in (None, *range(-5, 10 * count + 5, 5)):
            profile = Instants([at >= first for at in range(count)])
            expected = None if first == count else 10 * first
            assert found(profile, hint=hint) == expected
            assert len(profile.asked) == len(set(profile.asked)), "nothing is asked twice"
            if hint is None or not 0 <= hint <= 10 * (count - 1):
                assert len(profile.asked) <= 2 + max(0, count - 2).bit_length()
            elif hint == expected:
                assert len(profile.asked) <= 2, "a right hint is next to no work"
            else:
                assert len(profile.asked) <= 4 + max(0, count - 2).bit_length()


def test_no_instant_at_all() -> None:
    profile = Instants([True, True])
    assert found(profile, not_before=20) is None
    assert profile.asked == []


def test_a_lower_bound_leaves_instants_out_and_the_later_of_the_two_counts() -> None:
    profile = Instants([True] * 4)
    assert found(profile, not_before=15) == 20
    late = demand()
    late.earliest = 25
    assert found(Instants([True] * 4), late, not_before=15) == 30
    assert found(Instants([True] * 4), late) == 30
    impossible = demand()
    impossible.impossible = "no such host"
    assert found(Instants([True]), impossible) is None


def test_where_availability_falls_each_stretch_is_searched_by_itself() -> None:
    profile = Instants([False, False, True, False, False, True], only_grows=False)
    profile.parts = [(0, 2), (2, 4), (4, 6)]
    assert found(profile) == 50, "the last of a stretch decides it, as it only grows inside"
    profile.parts = [(0, 3), (3, 6)]
    assert found(profile) == 20
    profile.parts = [(0, 2), (3, 5)]
    assert found(profile) is None


def test_stretches_are_refuted_together_by_what_their_windows_share() -> None:
    profile = Instants([False] * 64 + [True], only_grows=False)
    profile.parts = [(at, at + 1) for at in range(65)]
    long = demand()
    long.duration = 10_000
    assert found(profile, long) == 640
    assert len(profile.asked) < 30
    profile.asked.clear()
    long.duration = 10
    assert found(profile, long) == 640, "windows that share nothing"
    assert len(profile.asked) >= 65


def test_terms_in_order_are_tried_instant_by_instant() -> None:
    """More that is free may spoil the order, so nothing follows from one instant for another."""
    fits = [False, True, False, False]
    assert found(Instants(fits), demand(terms=2)) == 10
    assert found(Instants(fits), demand(terms=2, joint_placer=True)) is None
    assert found(Instants([False] * 3), demand(terms=2)) is None


def test_slots_of_terms_add_up_and_an_unknown_end_stays_unknown() -> None:
    start = Start(7, ({2: 1, 0: 3}, {0: 1, 5: 2}))
    assert start.allocation == {2: 1, 0: 4, 5: 2}
    assert list(start.allocation) == [2, 0, 5]
    wanted = demand()
    assert start.finish(wanted) == 17
    wanted.duration = None
    assert start.finish(wanted) is None
