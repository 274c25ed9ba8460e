"""The room of one term: amounts that are equal but for rounding, and what shrinks it by host."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from availability_cases import MEM, amount, caps, demand, slots, table, takes
from slotwise import Host, SharedResource
from slotwise.solver.availability.demand import Demand, Floor, TermCapacity, UnitDemand
from slotwise.solver.availability.profile import Profile
from slotwise.solver.availability.resources import Alternative, Per, Use
from slotwise.solver.availability.usage import Usage


def room_of(profile: Profile, wanted: Demand, start: int = 0) -> TermCapacity:
    term = wanted.terms[0]
    return profile.capacity(wanted, term, term.alternatives[0], start)


def with_memory(*amounts: float) -> Profile:
    return Profile(table(*(Host(f"h{n}", 4, amounts={"mem": mem})
                           for n, mem in enumerate(amounts))), 0)  # fmt: skip


def test_rounding_takes_no_slot_away_and_a_real_lack_does() -> None:
    """0.3 holds 0.1 three times, though 0.3 // 0.1 is 2; a thousandth less holds it twice."""
    by_slot = demand(alternative=takes(amount(0.1)))
    assert caps(with_memory(0.3, 0.299), by_slot) == [3, 2]
    by_host = demand(alternative=takes(amount(0.1, per=Per.HOST)))
    profile = with_memory(1.0, 0.999)
    profile.allocate(takes(amount(0.9, per=Per.HOST)), {0: 1, 1: 1}, 0, 50)
    assert profile.free(MEM, 0)[0] < 0.1
    assert caps(profile, by_host) == [3, 0]
    by_job = demand(alternative=takes(amount(0.1, per=Per.JOB)))
    first = room_of(profile, by_job).first
    assert first is not None
    assert first.tolist() == [True, False]
    # Phase by phase, too.
    falling = demand(alternative=takes(amount(0.1, 0.05, until=(10,))))
    assert caps(with_memory(0.3, 0.299), falling) == [3, 2]


@pytest.mark.parametrize(("have", "times"), [(0.3, 3), (0.299, 2)])
@pytest.mark.parametrize("until", [(), (10,)])
def test_rounding_in_a_pool(have: float, times: int, until: tuple[int, ...]) -> None:
    profile = Profile(table(shared=(SharedResource("lic", have, None),)), 0)
    held = amount(*(0.1, 0.01)[: len(until) + 1], until=until).reservation
    wanted = demand(alternative=takes(pools=(Use(0, Per.SLOT, held),)))
    (group,) = room_of(profile, wanted).groups
    assert (group.slots, group.hosts) == (times, None)
    wanted = demand(alternative=takes(pools=(Use(0, Per.HOST, held),)))
    (group,) = room_of(profile, wanted).groups
    assert (group.slots, group.hosts) == (None, times)


def test_a_floor_counts_at_the_start_only_and_with_the_same_slack() -> None:
    profile = with_memory(0.3, 0.3)
    profile.allocate(takes(amount(0.2, per=Per.HOST)), {0: 1}, 0, 50)  # leaves 0.09999999999999998
    profile.allocate(takes(amount(0.3, per=Per.HOST)), {1: 1}, 60, 80)
    floored = replace(demand(), floors=(Floor(MEM, np.array([0.1, 0.1])),))
    assert caps(profile, floored) == [3, 3]
    assert caps(profile, floored, 60) == [4, 0]
    floored = replace(demand(), floors=(Floor(MEM, np.array([0.11, 0.3])),))
    assert caps(profile, floored) == [0, 3]


def test_hosts_of_an_alternative_and_hosts_that_are_idle() -> None:
    profile = Profile(table(), 0)
    only_b = replace(takes(), hosts=np.array([False, True]))
    assert caps(profile, demand(alternative=only_b)) == [0, 4]
    profile.allocate(takes(), {0: 1}, 50, 60)
    wanted = demand(duration=100)
    assert room_of(profile, wanted).idle is None
    unit = UnitDemand(np.zeros(2, dtype=np.int64), ("u",), excl=True)
    term = replace(wanted.terms[0], unit=unit)
    for duration, idle in ((50, [True, True]), (51, [False, True])):
        wanted = replace(wanted, terms=(term,), duration=duration)
        found = room_of(profile, wanted).idle
        assert found is not None
        assert found.tolist() == idle


def test_a_whole_host_is_there_when_nothing_of_it_is_taken() -> None:
    profile = Profile(table(), 0)
    profile.allocate(takes(), {1: 1}, 0, 50)
    whole = demand(alternative=Alternative((slots(Per.WHOLE),)))
    assert caps(profile, whole) == [4, 0]
    assert caps(profile, whole, 50) == [4, 4]


@pytest.mark.parametrize("count", [1, 12])
def test_a_window_without_length_holds_nothing(count: int) -> None:
    wide = table(*(Host(f"h{n}", 2, amounts={"mem": 10.0}) for n in range(12)))
    profile = Profile(wide, 0)
    for finish in (30, 20):
        profile.allocate(takes(amount(3)), dict.fromkeys(range(count), 1), 30, finish)
    for time in (0, 20, 30, 40):
        assert profile.free(0, time).tolist() == [2] * 12
        assert profile.free(MEM, time).tolist() == [10] * 12


def test_many_hosts_are_entered_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One by one where a job is on few, or holds what changes."""
    wide = table(*(Host(f"h{n}", 2, amounts={"mem": 10.0}) for n in range(12)))
    one_by_one: list[int] = []
    add = Usage.add

    def noted(self: Usage, host: int, *more: Any) -> None:
        one_by_one.append(host)
        add(self, host, *more)

    monkeypatch.setattr(Usage, "add", noted)
    Profile(wide, 0).allocate(takes(amount(1)), dict.fromkeys(range(12), 1), 5, 9)
    assert one_by_one == []
    Profile(wide, 0).allocate(takes(), {3: 1, 1: 1}, 5, 9)
    assert one_by_one == [3, 1]
    falling = Alternative((amount(2, 1, until=(3,)),))
    Profile(wide, 0).allocate(falling, dict.fromkeys(range(12), 1), 5, 9)
    assert one_by_one[2:] == list(range(12))
