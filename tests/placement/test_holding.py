"""What a reservation keeps from other jobs: of its place what is free and limits let it hold."""

from __future__ import annotations

from dataclasses import replace

import pytest
from availability_cases import MEM, amount, demand, slots, steps, table, takes
from placement_cases import unit_demand
from slotwise import Host, SharedResource
from slotwise.solver.availability.demand import Demand
from slotwise.solver.availability.profile import Profile
from slotwise.solver.availability.resources import (
    SLOTS,
    Allocation,
    Alternative,
    Per,
    ResourceTable,
    Use,
    flat,
)
from slotwise.solver.availability.usage import FOREVER
from slotwise.solver.placement.earliest import Start
from slotwise.solver.placement.holding import (
    ReservationRows,
    counts_slots,
    free_slots_of,
    full_allocation,
    slot_capacity,
)

LIMIT = Use(0, Per.SLOT, flat("slots", 1.0))
WHOLE = Alternative((slots(Per.WHOLE),))


def hold_slots(
    profile: Profile,
    alternative: Alternative | None,
    held: Allocation,
    memory: dict[int, float],
    begin: int,
    end: int,
) -> None:
    """One row of what is held, entered at once."""
    rows = ReservationRows(profile.table)
    rows.add(alternative, held, memory, begin, end)
    rows.subtract_from(profile)


def three_hosts() -> ResourceTable:
    """A, B and C of 4, 3 and 2 slots; a pool of 5 that stands for a limit on A and B."""
    hosts = tuple(
        Host(name, count, amounts={"mem": 100.0})
        for name, count in zip("ABC", (4, 3, 2), strict=True)
    )
    return table(*hosts, shared=(SharedResource("lic", 5, frozenset({"A", "B"})),))


def in_units(wanted: Demand, excl: bool) -> Demand:
    """A and B are one unit, C another."""
    unit = unit_demand([0, 0, 1], excl=excl)
    return replace(wanted, terms=(replace(wanted.terms[0], unit=unit),))


def test_which_uses_count_slots() -> None:
    assert counts_slots(slots())
    assert counts_slots(slots(Per.WHOLE))
    assert not counts_slots(slots(Per.HOST))
    assert not counts_slots(slots(Per.JOB))
    assert not counts_slots(amount(1))


def test_all_slots_of_a_place() -> None:
    profile = Profile(three_hosts(), 0)
    start = Start(50, ({1: 1},))
    wanted = demand(hosts=3)
    assert full_allocation(wanted, start, profile.table) == {1: 1}
    assert full_allocation(in_units(wanted, False), start, profile.table) == {1: 1}
    assert full_allocation(in_units(wanted, True), start, profile.table) == {0: 4, 1: 3}
    assert full_allocation(demand(hosts=3, alternative=WHOLE), start, profile.table) == {1: 3}


def test_slots_and_memory_over_a_window() -> None:
    profile = Profile(three_hosts(), 0)
    alternative = takes(amount(10), pools=(LIMIT,))
    hold_slots(profile, alternative, {0: 2, 2: 1}, {0: 30.0}, 10, 50)
    # Where it is free again is nobody's instant to start.
    assert steps(profile) == [(0, [4, 3, 2]), (10, [2, 3, 1])]
    assert [profile.free(SLOTS, time).tolist() for time in (49, 50)] == [[2, 3, 1], [4, 3, 2]]
    assert steps(profile, MEM) == [(0, [100] * 3), (10, [70, 100, 100])]
    assert [profile.free(MEM, time).tolist() for time in (49, 50)] == [[70, 100, 100], [100] * 3]
    assert [profile.free_in_pool(0, time) for time in (9, 10, 49, 50)] == [5, 3, 3, 5]
    # Memory alone, and without a use of memory none.
    hold_slots(profile, alternative, {}, {1: 5.0}, 60, 70)
    assert profile.free(MEM, 60).tolist() == [100, 95, 100]
    assert profile.free(SLOTS, 60).tolist() == [4, 3, 2]
    hold_slots(profile, takes(), {1: 1}, {1: 5.0}, 80, 90)
    assert profile.free(MEM, 80).tolist() == [100] * 3
    assert profile.free(SLOTS, 80).tolist() == [4, 2, 2]
    # A whole host's use holds the slots that it is told, not the host.
    hold_slots(profile, WHOLE, {0: 1}, {}, 100, 110)
    assert profile.free(SLOTS, 100).tolist() == [3, 3, 2]


def test_held_for_ever_and_not_at_all() -> None:
    profile = Profile(three_hosts(), 0)
    for begin, end in ((20, 20), (30, 20)):
        hold_slots(profile, takes(), {0: 1}, {}, begin, end)
    hold_slots(profile, None, {0: 1}, {}, 0, 10)
    hold_slots(profile, takes(), {}, {}, 0, 10)
    assert steps(profile) == [(0, [4, 3, 2])]
    hold_slots(profile, takes(), {0: 1}, {}, 20, FOREVER)
    assert steps(profile) == [(0, [4, 3, 2]), (20, [3, 3, 2])]


def test_room_by_slots_alone() -> None:
    profile = Profile(three_hosts(), 0)
    profile.allocate(takes(amount(100, per=Per.HOST)), {0: 3}, 10, 50)
    free, most = slot_capacity(takes(amount(10)), profile, 10)
    assert (free.tolist(), most) == ([1, 3, 2], FOREVER)
    profile.allocate(takes(pools=(LIMIT,)), {1: 2}, 10, 30)
    free, most = slot_capacity(takes(pools=(LIMIT,)), profile, 10)
    assert (free.tolist(), most) == ([1, 1, 2], 3)
    free, most = slot_capacity(takes(pools=(replace(LIMIT, per=Per.HOST),)), profile, 10)
    assert most == FOREVER
    profile.allocate(takes(), {0: 3}, 10, 20)  # two more than there are
    assert slot_capacity(takes(), profile, 10)[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("busy", "expected"),
    [
        ({}, {0: 2, 1: 2}),
        ({0: 3}, {0: 1, 1: 2}),
        ({0: 4}, {1: 2}),
        ({0: 4, 1: 2}, {1: 1}),
        ({0: 4, 1: 3}, {}),
    ],
)
def test_the_part_of_a_place_that_is_free(busy: Allocation, expected: Allocation) -> None:
    profile = Profile(three_hosts(), 0)
    profile.allocate(takes(), busy, 0, 50)
    wanted, start = demand(4, hosts=3), Start(50, ({0: 2, 1: 2},))
    assert free_slots_of(wanted, start, profile, 0) == expected
    assert free_slots_of(wanted, start, profile, 50) == {0: 2, 1: 2}


@pytest.mark.parametrize(
    ("taken", "expected"), [(0, {0: 3, 1: 2}), (1, {0: 3, 1: 1}), (2, {0: 3}), (3, {0: 2}), (5, {})]
)
def test_a_limit_leaves_the_first_hosts_of_the_place(taken: int, expected: Allocation) -> None:
    """Five slots in all; others hold some of them, on hosts that are large enough."""
    profile = Profile(three_hosts(), 0)
    profile.allocate(Alternative((), (LIMIT,)), {0: taken}, 0, 50)
    wanted = demand(5, hosts=3, alternative=takes(pools=(LIMIT,)))
    assert free_slots_of(wanted, Start(50, ({0: 3, 1: 2},)), profile, 0) == expected


def test_hosts_and_units_for_oneself_are_held_as_far_as_they_are_free() -> None:
    profile = Profile(three_hosts(), 0)
    profile.allocate(takes(), {0: 3, 2: 1}, 0, 50)
    start = Start(50, ({1: 1},))
    wanted = demand(hosts=3)
    assert free_slots_of(in_units(wanted, True), start, profile, 0) == {0: 1, 1: 3}
    assert free_slots_of(in_units(wanted, False), start, profile, 0) == {1: 1}
    alone = demand(hosts=3, alternative=WHOLE)
    assert free_slots_of(alone, Start(50, ({0: 1, 2: 1},)), profile, 0) == {0: 1, 2: 1}


def test_terms_share_what_is_free() -> None:
    """Two terms on A, of which three slots are free; the limit counts both."""
    profile = Profile(three_hosts(), 0)
    profile.allocate(takes(), {0: 1}, 0, 50)
    limited = takes(pools=(LIMIT,))
    wanted = demand(4, hosts=3, alternative=limited)
    wanted = replace(wanted, terms=wanted.terms * 2)
    start = Start(50, ({0: 2}, {0: 2, 1: 2}))
    assert free_slots_of(wanted, start, profile, 0) == {0: 3, 1: 2}
    profile.allocate(Alternative((), (LIMIT,)), {0: 1}, 0, 50)
    assert free_slots_of(wanted, start, profile, 0) == {0: 3, 1: 1}
