"""The profile: (time, free) steps, candidate instants, windows over starts, room of one term."""

from __future__ import annotations

import numpy as np
import pytest
from availability_cases import MEM, amount, caps, demand, holds, slots, steps, table, takes
from slotwise import AdvanceReservation, Host, Instance, SharedResource
from slotwise.solver.availability.demand import TermDemand
from slotwise.solver.availability.profile import Profile, block_advance_reservations
from slotwise.solver.availability.resources import SLOTS, Alternative, Per, Use, flat
from slotwise.solver.availability.usage import FOREVER


def empty(now: int = 0) -> Profile:
    """A and B of 4 slots."""
    return Profile(table(), now)


def test_nothing_runs() -> None:
    assert steps(empty()) == [(0, [4, 4])]


def test_running_jobs_give_slots_back_one_after_another() -> None:
    profile = holds(empty(), ({0: 3}, -50, 100), ({0: 1, 1: 2}, 0, 200), ({1: 1}, 0, None))
    assert steps(profile) == [(0, [0, 1]), (100, [3, 1]), (200, [4, 3])]
    assert profile.changes() == [0, 100, 200]
    assert profile.only_grows


def test_a_planned_job_splits_the_stretches_that_it_covers() -> None:
    """[150, 250) inside [100, 300): the steps split at both of its ends."""
    profile = holds(empty(), ({0: 2}, 0, 100), ({0: 1}, 100, 300), ({0: 2}, 150, 250))
    assert steps(profile) == [
        (0, [2, 4]), (100, [3, 4]), (150, [1, 4]), (250, [3, 4]), (300, [4, 4])
    ]  # fmt: skip
    assert profile.later_starts == (100, 150)
    assert not profile.only_grows


@pytest.mark.parametrize(
    ("start", "finish", "after"),
    [
        (100, 200, [(0, [2, 4]), (100, [0, 4]), (200, [2, 4]), (300, [4, 4])]),  # inside
        (0, 100, [(0, [0, 4]), (100, [2, 4]), (300, [4, 4])]),  # from the same start
        (200, 300, [(0, [2, 4]), (200, [0, 4]), (300, [4, 4])]),  # to the same end
        (200, 400, [(0, [2, 4]), (200, [0, 4]), (300, [2, 4]), (400, [4, 4])]),  # across the end
        (300, 400, [(0, [2, 4]), (300, [2, 4]), (400, [4, 4])]),  # right behind: no gap between
        (350, 400, [(0, [2, 4]), (300, [4, 4]), (350, [2, 4]), (400, [4, 4])]),  # later
        (50, 350, [(0, [2, 4]), (50, [0, 4]), (300, [2, 4]), (350, [4, 4])]),  # around the end
    ],
)
def test_every_way_to_overlap_a_running_job(
    start: int, finish: int, after: list[tuple[int, list[float]]]
) -> None:
    profile = holds(empty(), ({0: 2}, 0, 300), ({0: 2}, start, finish))
    merged = [step for i, step in enumerate(after) if i == 0 or step[1] != after[i - 1][1]]
    assert steps(profile) == merged


def test_many_hosts_are_held_as_one_block_with_the_same_steps() -> None:
    wide = table(*(Host(f"h{n}", 2) for n in range(12)))
    one, many = Profile(wide, 0), Profile(wide, 0)
    many.allocate(takes(), dict.fromkeys(range(12), 1), 10, 50)
    for host in range(12):
        one.allocate(takes(), {host: 1}, 10, 50)
    assert steps(many) == steps(one) == [(0, [2] * 12), (10, [1] * 12), (50, [2] * 12)]


def test_memory_phases_are_steps_of_their_own() -> None:
    profile = Profile(table(Host("A", 4, amounts={"mem": 100.0})), 0)
    profile.allocate(takes(amount(30, 10, until=(60,))), {0: 2}, 0, 200)
    assert steps(profile, MEM) == [(0, [40]), (60, [80]), (200, [100])]
    assert profile.candidate_times(0) == [0, 60, 200]
    assert profile.candidate_times(0, finishes_only=True) == [0, 200]
    assert profile.candidate_times(70) == [70, 200]


def test_per_host_per_job_and_whole_hosts() -> None:
    where = table(Host("A", 4, amounts={"mem": 100.0}), Host("B", 4, amounts={"mem": 100.0}))
    profile = Profile(where, 0)
    profile.allocate(takes(amount(10, per=Per.HOST)), {0: 3, 1: 1}, 0, 50)
    profile.allocate(takes(amount(5, per=Per.JOB)), {1: 2, 0: 1}, 0, 50)
    assert profile.free(MEM, 0).tolist() == [90, 85]
    profile = holds(Profile(where, 0), ({1: 1}, 0, 80))
    profile.allocate(Alternative((slots(Per.WHOLE),)), {0: 1}, 0, 50)
    assert steps(profile) == [(0, [0, 3]), (50, [4, 3]), (80, [4, 4])]


def test_hosts_shared_with_no_other_job_are_taken_whole() -> None:
    """cu[excl]: the hosts of the unit beside its own slots, its idle ones too (PLC-11)."""
    profile = empty()
    profile.allocate(takes(), {0: 1}, 0, 50, whole_hosts={0, 1})
    assert steps(profile) == [(0, [0, 0]), (50, [4, 4])]


def test_a_pool_counts_the_slots_inside_its_hosts() -> None:
    licence = SharedResource("lic", 5, frozenset({"A"}))
    profile = Profile(table(shared=(licence,)), 0)
    use = Use(0, Per.SLOT, flat("lic", 1.0))
    profile.allocate(takes(pools=(use,)), {0: 2, 1: 2}, 0, 60)
    profile.allocate(takes(pools=(use,)), {1: 1}, 0, 60)
    assert [profile.free_in_pool(0, time) for time in (0, 59, 60)] == [3, 3, 5]


def test_closed_slots_come_and_go_like_a_job() -> None:
    reserved = AdvanceReservation("r", 100, 200, {"B": 3})
    where = table()
    profile = Profile(where, 0)
    instance = Instance(where.instance.cluster, advance_reservations=(reserved,))
    block_advance_reservations(instance, profile)
    assert steps(profile) == [(0, [4, 4]), (100, [4, 1]), (200, [4, 4])]
    assert profile.candidate_times(0, finishes_only=True) == [0, 200]


def test_a_window_sees_every_start_inside_it_and_none_at_its_end() -> None:
    profile = holds(empty(), ({0: 3}, 100, 200), ({0: 1}, 150, 250))
    assert profile.checkpoints(0, 100) == [0]
    assert profile.checkpoints(0, 101) == [0, 100]
    assert profile.checkpoints(100, 60) == [100, 150]
    assert profile.checkpoints(0, None) == [0, 100, 150]
    assert [caps(profile, demand(duration=length)) for length in (100, 101, 151)] == [
        [4, 4], [1, 4], [0, 4]
    ]  # fmt: skip


def test_room_of_a_job_that_needs_more_than_slots() -> None:
    where = table(Host("A", 4, amounts={"mem": 100.0}), Host("B", 4, amounts={"mem": 30.0}))
    assert caps(Profile(where, 0), demand(alternative=takes(amount(25)))) == [4, 1]
    assert caps(Profile(where, 0), demand(alternative=takes(amount(40, per=Per.HOST)))) == [4, 0]


def test_room_under_a_falling_demand_counts_what_is_held_at_each_instant() -> None:
    """25 MB for a minute, then 5: a job that takes 80 MB from second 60 on leaves enough."""
    profile = Profile(table(Host("A", 4, amounts={"mem": 100.0})), 0)
    profile.allocate(takes(amount(80)), {0: 1}, 60, 500)
    falling = demand(alternative=takes(amount(25, 5, until=(60,))), hosts=1)
    constant = demand(alternative=takes(amount(25)), hosts=1)
    assert caps(profile, falling) == [3]
    assert caps(profile, constant) == [0]


def test_room_under_a_pool_is_a_cap_over_its_hosts_or_none_at_all() -> None:
    profile = Profile(table(shared=(SharedResource("lic", 3, None),)), 0)
    use = Use(0, Per.SLOT, flat("lic", 2.0))
    job = demand(alternative=takes(pools=(use,)))
    capacity = profile.capacity(job, job.terms[0], job.terms[0].alternatives[0], 0)
    assert capacity.caps.tolist() == [4, 4]
    assert [(group.slots, group.mask.tolist()) for group in capacity.groups] == [(1, [True, True])]
    profile.allocate(takes(pools=(use,)), {0: 1}, 0, 100)
    assert caps(profile, job) == [0, 0]
    assert caps(profile, job, 100) == [4, 4]


def test_only_candidates_have_room() -> None:
    term = TermDemand(1, 1, np.array([1]), alternatives=(takes(),))
    assert empty().capacity(demand(), term, takes(), 0).caps.tolist() == [0, 4]


def test_stretches_join_instants_whose_windows_reach_over_the_same_starts() -> None:
    profile = holds(empty(), ({0: 1}, 100, 200))
    times = [0, 30, 60, 90, 100, 120]
    assert profile.stretches(times, 50) == [(0, 2), (2, 4), (4, 6)]
    assert profile.stretches(times, 50, one_by_one=True) == [(0, 2), (2, 3), (3, 4), (4, 6)]
    assert profile.stretches(times, None) == [(0, 4), (4, 6)]


def test_copies_are_independent() -> None:
    first = holds(empty(), ({0: 1}, 0, 100))
    second = first.copy()
    holds(first, ({0: 1}, 0, 50))
    holds(second, ({1: 2}, 20, 40))
    assert steps(first) == [(0, [2, 4]), (50, [3, 4]), (100, [4, 4])]
    assert steps(second) == [(0, [3, 4]), (20, [3, 2]), (40, [3, 4]), (100, [4, 4])]


def test_answers_are_as_fresh_as_what_is_held() -> None:
    """Free amounts are kept between questions; a new hold must drop what it changes."""
    profile = empty()
    assert caps(profile, demand(duration=None)) == [4, 4]
    holds(profile, ({0: 4}, 500, 600))
    assert caps(profile, demand(duration=None)) == [0, 4]
    assert caps(profile, demand(duration=None), 500) == [0, 4]
    holds(profile, ({1: 4}, 0, FOREVER))
    assert caps(profile, demand(duration=None)) == [0, 0]
    assert profile.free(SLOTS, 0).tolist() == [4, 0]


@pytest.mark.parametrize("seed", range(15))
def test_room_over_a_random_window_is_the_least_of_every_second(seed: int) -> None:
    random = np.random.default_rng(seed)
    profile = empty()
    free = np.full((200, 2), 40.0)
    where = table(Host("A", 40), Host("B", 40))
    profile = Profile(where, 0)
    for _ in range(15):
        start, length = int(random.integers(100)), int(random.integers(1, 60))
        host, count = int(random.integers(2)), int(random.integers(1, 3))
        holds(profile, ({host: count}, start, start + length))
        free[start : start + length, host] -= count
        at, wide = int(random.integers(120)), int(random.integers(1, 80))
        assert caps(profile, demand(duration=wide), at) == free[at : at + wide].min(0).tolist()


@pytest.mark.parametrize("per", [Per.SLOT, Per.HOST, Per.JOB])
@pytest.mark.parametrize("count", [7, 8, 9])
def test_a_job_on_many_hosts_holds_as_much_as_on_few(per: Per, count: int) -> None:
    """2.5 MB of 100 by the slot, the host, the job."""
    where = table(*(Host(f"h{n}", 9, amounts={"mem": 100.0}) for n in range(9)))
    profile = Profile(where, 0)
    allocation = {host: host + 1 for host in range(count)}
    profile.allocate(takes(amount(2.5, per=per)), allocation, 10, 20)
    held = {
        Per.SLOT: [2.5 * slots for slots in allocation.values()],
        Per.HOST: [2.5] * count,
        Per.JOB: [2.5],
    }[per]
    free = [100.0 - part for part in (*held, *[0.0] * 9)][:9]
    assert steps(profile, MEM) == [(0, [100.0] * 9), (10, free), (20, [100.0] * 9)]
    slots_left = [9 - allocation.get(host, 0) for host in range(9)]
    assert steps(profile) == [(0, [9] * 9), (10, slots_left), (20, [9] * 9)]
