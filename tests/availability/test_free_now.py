"""The present: what is taken and given back, what a report changes, and the residual of one job."""

from __future__ import annotations

import json

import numpy as np
import pytest
from availability_cases import MEM, amount, caps, demand, slots, table, takes
from slotwise import Host, SharedResource
from slotwise.solver.availability.resources import (
    SLOTS,
    Alternative,
    Amounts,
    Per,
    ResourceTable,
    Use,
    flat,
)
from slotwise.solver.availability.running_profile import FreeNow, Residual, parts_of

LICENCE = Use(0, Per.SLOT, flat("lic", 1.0))


def two_hosts() -> ResourceTable:
    hosts = (Host("A", 4, amounts={"mem": 100.0}), Host("B", 4, amounts={"mem": 50.0}))
    return table(*hosts, shared=(SharedResource("lic", 6, frozenset({"A"})),))


def amounts(free: FreeNow) -> tuple[list[float], list[float], float]:
    """Free slots, memory and licences."""
    return free.host(SLOTS).tolist(), free.host(MEM).tolist(), free.pool(0)


def test_what_is_taken_is_given_back() -> None:
    free = FreeNow(two_hosts())
    parts = free.take(takes(amount(10), pools=(LICENCE,)), {0: 2, 1: 1})
    assert amounts(free) == ([2, 3], [80, 40], 4)
    free.give(parts)
    assert amounts(free) == ([4, 4], [100, 50], 6)


def test_a_job_that_started_earlier_holds_what_it_still_holds() -> None:
    """RSV-02: a decay is exact to the second here, not a staircase."""
    free = FreeNow(two_hosts())
    falling = takes(amount(60, until=(120,), decay=True))
    (_, memory) = free.take(falling, {0: 1}, elapsed=30)
    assert free.host(MEM).tolist() == [55, 50]
    assert (memory.falls, memory.decays) == (True, True)
    free.change(memory, 15.0)
    assert free.host(MEM).tolist() == [85, 50]


def test_per_job_counts_on_the_first_host_and_whole_takes_what_the_host_has() -> None:
    free = FreeNow(two_hosts())
    free.take(takes(amount(10, per=Per.JOB)), {1: 1, 0: 1})
    assert free.host(MEM).tolist() == [100, 40]
    free = FreeNow(two_hosts())
    free.take(Alternative((slots(Per.WHOLE),)), {0: 1}, whole_hosts=(0, 1))
    assert free.host(SLOTS).tolist() == [0, 0]


def test_a_report_changes_what_is_free_and_not_the_table() -> None:
    shared = two_hosts()
    free, other = FreeNow(shared), FreeNow(shared)
    free.take(takes(amount(30)), {0: 1})
    free.report(MEM, 0, 80.0)
    assert free.host(MEM).tolist() == [50, 50]
    free.report(MEM, 0, 90.0)
    assert free.host(MEM).tolist() == [60, 50]
    assert free.reported(MEM).tolist() == [90, 50]
    assert shared.host_resources[MEM].capacity.tolist() == [100, 50]
    assert other.host(MEM).tolist() == [100, 50]
    again = FreeNow(shared)
    again.load(json.loads(json.dumps(free.state())))
    assert (again.host(MEM).tolist(), again.reported(MEM).tolist()) == ([60, 50], [90, 50])


def test_a_copy_is_independent() -> None:
    free = FreeNow(two_hosts())
    free.host(MEM), free.pool(0)
    twin = free.copy()
    twin.take(takes(amount(10), pools=(LICENCE,)), {0: 1})
    assert amounts(free) == ([4, 4], [100, 50], 6)
    assert amounts(twin) == ([3, 4], [90, 50], 5)


def test_the_state_is_plain_data_and_comes_back_exactly() -> None:
    free = FreeNow(two_hosts())
    free.take(takes(amount(0.1 + 0.2), pools=(LICENCE,)), {0: 3})
    again = FreeNow(two_hosts())
    again.load(json.loads(json.dumps(free.state())))
    assert amounts(again) == amounts(free)


def residual(held: Amounts | None = None, now: int = 40) -> Residual:
    return Residual(FreeNow(two_hosts()), now, held or Amounts())


def test_the_residual_is_what_is_free_beside_what_others_hold() -> None:
    held = Amounts()
    held.add_hosts(SLOTS, {0: 3}, 2)
    held.add_hosts(MEM, {1: 45}, 2)
    held.add_pool(0, 2)
    view = residual(held)
    assert view.free(SLOTS, 40).tolist() == [1, 4]
    assert view.free(MEM, 40).tolist() == [100, 5]
    assert view.free_in_pool(0, 40) == 4
    assert 5 <= view.most_slots() < 6, "one slot and four"
    assert caps(view, demand(alternative=takes(amount(5))), 40) == [1, 1]


def test_some_hosts_have_what_all_have() -> None:
    held = Amounts()
    held.add_hosts(SLOTS, {0: 3}, 2)
    view, order = residual(held), np.array([1, 0])
    for view.blocked in (None, np.array([1.0, 0.0])):
        for index in (SLOTS, MEM):
            some = view.min_free_on(index, [40], order)
            assert some.tolist() == view.min_free(index, [40])[::-1].tolist()


def test_hosts_with_slots_are_known_as_jobs_start_and_end() -> None:
    """A full host may stay in the list for a time; one that is not full is always in it."""
    order = np.array([1, 0])
    ways = (
        lambda parts: free.give(parts),
        lambda parts: free.change(parts[0], 0.0),
        lambda parts: free.add(SLOTS, np.array([0]), np.array([4.0])),
        lambda parts: free.free_slots(0, 4),
        lambda parts: free.report(SLOTS, 0, 8.0),
        lambda parts: free.load(FreeNow(two_hosts()).state() | {"hosts": [[4, 4], [100, 50]]}),
    )
    for release in ways:
        free = FreeNow(two_hosts())
        assert free.with_slots(order).tolist() == [1, 0]
        parts = free.take(takes(), {0: 4})
        for _ in range(40):
            free.take(takes(amount(1)), {1: 0})
        assert free.with_slots(order).tolist() == [1]
        release(parts)
        assert free.with_slots(order).tolist() == [1, 0]
        assert free.copy().with_slots(order).tolist() == [1, 0]


def test_closed_hosts_and_blocked_slots_are_no_room() -> None:
    view = residual()
    view.blocked = np.array([1.0, 0.0])
    view.closed = np.array([False, True])
    assert caps(view, demand(), 40) == [3, 0]


def test_a_pool_caps_the_hosts_that_share_it() -> None:
    held = Amounts()
    held.add_pool(0, 4)
    job = demand(alternative=takes(pools=(LICENCE,)))
    view = residual(held)
    capacity = view.capacity(job, job.terms[0], job.terms[0].alternatives[0], 40)
    assert [(group.slots, group.mask.tolist()) for group in capacity.groups] == [(2, [True, False])]


@pytest.mark.parametrize("time", [39, 41])
def test_the_residual_refuses_every_other_instant(time: int) -> None:
    """It knows the present alone: an answer for another time would be a wrong one."""
    view, job = residual(), demand()
    for ask in (
        lambda: view.free(SLOTS, time),
        lambda: view.min_free_on(SLOTS, [time], np.array([0])),
        lambda: view.free_in_pool(0, time),
        lambda: view.min_free(SLOTS, [40, time]),
        lambda: view.min_free(SLOTS, [time]),
        lambda: view.open_for(job, time),
        lambda: view.capacity(job, job.terms[0], takes(), time),
        lambda: view.allocate(takes(), {0: 1}, time, None),
    ):
        with pytest.raises(ValueError, match="is of second 40 only"):
            ask()


def test_terms_put_down_in_a_copy_do_not_touch_the_present() -> None:
    view = residual()
    scratch = view.copy()
    scratch.allocate(takes(), {0: 2}, 40, None)
    assert scratch.free(SLOTS, 40).tolist() == [2, 4]
    assert view.free(SLOTS, 40).tolist() == [4, 4]


@pytest.mark.parametrize(
    ("per", "hosts", "rest"), [(Per.SLOT, [0, 1], [3, 4]), (Per.WHOLE, [1], [4])]
)
def test_the_rest_of_hosts_shared_with_nobody_is_slots_whatever_else_is_reserved(
    per: Per, hosts: list[int], rest: list[int]
) -> None:
    """Memory that falls comes after the slots, and is held where the job is."""
    own = slots(per)
    alternative = Alternative((own, amount(60, until=(120,))))
    (first, memory, last) = parts_of(two_hosts(), alternative, {0: 1}, whole_hosts={1, 0})
    assert (first.index, first.hosts.tolist()) == (SLOTS, [0])
    assert first.times.tolist() == [1 if per is Per.SLOT else 4]
    assert (memory.index, memory.hosts.tolist(), memory.times.tolist()) == (MEM, [0], [1])
    assert (last.index, last.hosts.tolist(), last.times.tolist()) == (SLOTS, hosts, rest)
    assert (first.falls, memory.falls, last.falls) == (False, True, False)
    assert last.reservation == own.reservation
