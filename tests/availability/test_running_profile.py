"""The profile of running jobs: what it forgets when they end, and what a copy plans with."""

from __future__ import annotations

import numpy as np
import pytest
from availability_cases import MEM, amount, steps, table, takes
from slotwise import Host, SharedResource
from slotwise.solver.availability.profile import Profile
from slotwise.solver.availability.resources import Per, Use, flat
from slotwise.solver.availability.running_profile import FinishTimes, Hold, RunningProfile
from slotwise.solver.availability.usage import FOREVER


def plain(allocation: dict[int, int]) -> list[Hold]:
    return [(takes(), allocation, ())]


def running() -> RunningProfile:
    return RunningProfile(table(), 0)


def test_jobs_come_and_go() -> None:
    live = running()
    live.started(1, plain({0: 2}), 0, 100)
    live.started(2, plain({0: 1, 1: 1}), 0, 200)
    assert steps(live.copy()) == [(0, [1, 3]), (100, [3, 3]), (200, [4, 4])]
    live.ended(1)
    assert steps(live.copy()) == [(0, [3, 3]), (200, [4, 4])]
    live.ended(2)
    assert steps(live.copy()) == [(0, [4, 4])]
    assert live.finish.of == {}


def test_one_without_an_end_stays_and_gives_no_instant() -> None:
    live = running()
    live.started(1, plain({0: 2}), 0, None)
    assert live.finish.of == {1: FOREVER}
    assert live.copy().changes() == [0]
    assert steps(live.copy()) == [(0, [2, 4])]


def test_a_copy_plans_on_while_the_original_stays() -> None:
    live = running()
    live.started(1, plain({0: 4}), 0, 100)
    plan = live.copy()
    plan.allocate(takes(), {0: 4}, 100, 300)
    assert steps(plan) == [(0, [0, 4]), (300, [4, 4])]
    assert steps(live.copy()) == [(0, [0, 4]), (100, [4, 4])]
    assert not plan.only_grows


def test_finishes_in_order_however_they_come_and_go() -> None:
    rng = np.random.default_rng(1)
    finishes = FinishTimes()
    finishes.add_all(expected := {job: int(rng.integers(20)) for job in range(100, 110)})
    for _ in range(300):
        job = int(rng.integers(30))
        if rng.random() < 0.4:
            assert finishes.remove(job) == expected.pop(job, None)
        else:
            expected[job] = FOREVER if rng.random() < 0.1 else int(rng.integers(20))
            finishes.put(job, expected[job])
        without = set(rng.integers(0, 110, 3).tolist()) if rng.random() < 0.5 else set()
        kept = {time for job, time in expected.items() if job not in without}
        later = sorted(time for time in kept if 7 < time < FOREVER)
        assert finishes.copy().after(7, without) == finishes.after(7, without) == later


def test_past_ends_are_no_candidates() -> None:
    live = running()
    live.started(1, plain({0: 1}), 0, 50)
    live.started(2, plain({0: 1}), 0, 90)
    live.now = 60
    assert live.copy().candidate_times(60) == [60, 90]


def test_slots_by_finish_are_in_the_order_of_the_ends() -> None:
    live = running()
    live.started(1, plain({0: 2}), 0, 300)
    live.started(2, plain({1: 1}), 0, 100)
    live.started(3, plain({0: 1}), 0, None)
    finish, host, count = live.slots_by_finish()
    assert list(zip(finish.tolist(), host.tolist(), count.tolist(), strict=True)) == [
        (100, 1, 1),
        (300, 0, 2),
    ]
    live.ended(2)
    assert live.slots_by_finish()[0].tolist() == [300]


def test_memory_phases_and_pools_go_with_their_job() -> None:
    where = table(Host("A", 4, amounts={"mem": 100.0}), shared=(SharedResource("lic", 3),))
    live = RunningProfile(where, 0)
    licence = Use(0, Per.SLOT, flat("lic", 1.0))
    phases = takes(amount(30, 10, until=(60,)), pools=(licence,))
    live.started(1, [(phases, {0: 2}, ())], 0, 200)
    assert steps(live.copy(), MEM) == [(0, [40]), (60, [80]), (200, [100])]
    freed = [live.when_freed(MEM, 0, amount, 0) for amount in (1, 40, 41, 60, 61)]
    assert freed == [60, 60, 200, 200, None]
    assert live.copy().free_in_pool(0, 0) == 1
    live.ended(1)
    assert steps(live.copy(), MEM) == [(0, [100])]
    assert live.copy().free_in_pool(0, 0) == 3


def test_what_hosts_report_to_be_gone_is_replaced_by_the_next_report() -> None:
    where = table(Host("A", 4, amounts={"mem": 100.0}))
    live = RunningProfile(where, 0)
    live.started(1, [(takes(amount(30)), {0: 1}, ())], 0, 200)
    live.hold_reported(MEM, np.array([20.0]))
    assert steps(live.copy(), MEM) == [(0, [50]), (200, [80])]
    live.hold_reported(MEM, np.array([5.0]))
    assert steps(live.copy(), MEM) == [(0, [65]), (200, [95])]


@pytest.mark.parametrize("seed", range(10))
def test_many_starts_and_ends_leave_what_a_new_profile_has(seed: int) -> None:
    """Rows of ended jobs are switched off and swept out in between."""
    random = np.random.default_rng(seed)
    where = table(Host("A", 500), Host("B", 500), Host("C", 500))
    live = RunningProfile(where, 0)
    alive: dict[int, tuple[dict[int, int], int]] = {}
    for number in range(300):
        hosts = random.choice(3, size=int(random.integers(1, 4)), replace=False)
        allocation = {int(host): int(random.integers(1, 4)) for host in hosts}
        finish = int(random.integers(1, 900))
        live.started(number, plain(allocation), 0, finish)
        alive[number] = allocation, finish
        if random.random() < 0.8:
            gone = int(random.choice(sorted(alive)))
            live.ended(gone)
            del alive[gone]
    fresh = Profile(where, 0)
    for allocation, finish in alive.values():
        fresh.allocate(takes(), allocation, 0, finish)
    assert steps(live.copy()) == steps(fresh)
    assert live.finish.of == {number: finish for number, (_, finish) in alive.items()}
