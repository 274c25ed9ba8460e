"""Under fairshare, cycles are left out where time alone cannot change the order of the jobs."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from slotwise.model.cluster import Cluster, Host
from slotwise.model.instance import Instance
from slotwise.model.job import Job
from slotwise.model.params import Params
from slotwise.model.queue import Queue
from slotwise.model.user import UserGroup
from slotwise.solver.fairshare.dispatch_order import order_policy
from slotwise.solver.fairshare.standing_order import moves_with_time
from slotwise.solver.loop.simulation import simulate

MINUTE = 60
EACH = (("default", 1),)
GROUPS = (UserGroup("red", ("u0", "u1")), UserGroup("blue", ("u0", "u2")))


def shared(seed: int, users: int, shares: tuple[tuple[str, int], ...] = EACH) -> Instance:
    """Few hosts under fairshare, a queue that fills and empties, jobs of so many users."""
    draw = random.Random(seed)
    future = []
    for number in range(40):
        limit = MINUTE * draw.randint(5, 60)
        future.append(
            Job(
                str(number),
                draw.choice((1, 2, 4, 6, 8, 12)),
                user=f"u{draw.randrange(users)}",
                queue=draw.choice(("normal", "normal", "urgent")),
                res_req=draw.choice(((), ("rusage[mem=300]",))),
                run_limit=draw.choice((limit, limit, None)),
                run_time=max(MINUTE, int(limit * draw.random())),
                submit=draw.randint(0, 400) * MINUTE + draw.choice((0, 7, 30)),
            )
        )
    hosts = tuple(Host(f"h{number}", 8, amounts={"mem": 2000.0}) for number in range(3))
    reserve = draw.choice((None, 3, 1000))
    queues = (
        Queue("normal", 30, slot_reserve=reserve, backfill=True, user_shares=shares),
        Queue("urgent", 40, resource_reserve=reserve, user_shares=shares),
    )
    params = Params(mbd_sleep_time=60)
    return Instance(Cluster(hosts), queues, future=tuple(future), params=params, groups=GROUPS)


@pytest.mark.behaviour("LOP-01")
@pytest.mark.parametrize("method", ["none", "greedy", "time-based"])
@pytest.mark.parametrize("users", [1, 2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_cycles_left_out_change_nothing(seed: int, users: int, method: str) -> None:
    shares = (("red", 3), ("blue", 1)) if seed % 2 else EACH
    instance = shared(seed, users, shares)
    lean = simulate(instance, reservation=method, keep_log=True)
    whole = simulate(instance, reservation=method, keep_log=True, skip_idle=False, until=lean.time)
    assert list(lean.jobs) == list(whole.jobs)
    by_time = {entry["time"]: entry for entry in whole.log}
    assert [by_time[entry["time"]] for entry in lean.log] == list(lean.log)


@pytest.mark.behaviour("GRD-06", "MEM-04")
@pytest.mark.parametrize("method", ["greedy", "time-based"])
@pytest.mark.parametrize("seed", range(4))
def test_one_account_is_served_first_come(seed: int, method: str) -> None:
    """Also where a reservation's time is over behind jobs that hold all that is free."""
    instance = shared(seed, 1)
    plain = replace(instance, queues=tuple(replace(q, user_shares=()) for q in instance.queues))
    alone = simulate(instance, reservation=method)
    assert alone.starts == simulate(plain, reservation=method).starts


def test_cycles_of_one_user_are_left_out() -> None:
    instance = shared(0, 1)
    lean = simulate(instance, reservation="greedy")
    whole = simulate(instance, reservation="greedy", skip_idle=False, until=lean.time)
    assert lean.starts == whole.starts
    assert lean.cycles < whole.cycles


@pytest.mark.parametrize(
    ("users", "shares", "moves"),
    [
        (("u1", "u1"), EACH, False),
        (("u1", "u2"), EACH, True),
        (("u1", "u1"), (("red", 3), ("blue", 1)), False),
        (("u0", "u0"), (("red", 3), ("blue", 1)), True),  # a member of both
    ],
)
def test_only_one_account_stands_still(
    users: tuple[str, ...], shares: tuple[tuple[str, int], ...], moves: bool
) -> None:
    order = order_policy(shared(0, 1, shares))
    for number, user in enumerate(users):
        order.submitted(Job(f"j{number}", 1, user=user, queue="normal"), number, number)
    assert moves_with_time(order) is moves


def test_who_waits_no_more_does_not_count() -> None:
    order = order_policy(shared(0, 1))
    jobs = [Job(f"j{number}", 1, user=f"u{number}", queue="normal") for number in range(2)]
    for number, job in enumerate(jobs):
        order.submitted(job, number, number)
    order.withdrawn(jobs[1])
    assert not moves_with_time(order)


def test_pools_move() -> None:
    base = shared(0, 1)
    queues = (Queue("a", 30, slot_pool="P", slot_share=100),)
    order = order_policy(replace(base, queues=queues, future=()))
    order.submitted(Job("j", 1, user="u1", queue="a"), 0, 0)
    assert moves_with_time(order)
