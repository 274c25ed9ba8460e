"""Under fairshare, cycles are left out as long as time alone leaves the jobs in their order."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from sampling import pairwise, some
from slotwise import Cluster, Host, Instance, Job, Params, Queue, UserGroup
from slotwise.solver.scheduler.simulation import simulate

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


def weighed(params: Params, seed: int) -> Params:
    """Other weights of what was used, and other decay, but for the first seeds."""
    draw = random.Random(seed)
    if seed < 3:
        return params
    return replace(
        params,
        hist_hours=draw.choice((0, 0.1, 1, 5)),
        enable_hist_run_time=draw.random() < 0.5,
        run_time_decay=draw.random() < 0.3,
        run_job_factor=draw.choice((0.0, 0.01, 3.0)),
        run_time_factor=draw.choice((0.0, 0.7, 5.0)),
        committed_run_time_factor=draw.choice((0.0, 0.5)),
    )


@pytest.mark.behaviour("LOP-01")
@pytest.mark.parametrize(
    ("seed", "users", "method"),
    some(pairwise(range(8), [1, 2, 3], ["none", "greedy", "time-based"]), 9),
)
def test_cycles_left_out_change_nothing(seed: int, users: int, method: str) -> None:
    shares = (("red", 3), ("blue", 1)) if seed % 2 else EACH
    instance = shared(seed, users, shares)
    instance = replace(instance, params=weighed(instance.params, seed))
    lean = simulate(instance, reservation=method, keep_log=True)
    whole = simulate(instance, reservation=method, keep_log=True, skip_idle=False, until=lean.time)
    assert list(lean.jobs) == list(whole.jobs)
    by_time = {entry["time"]: entry for entry in whole.log}
    assert [by_time[entry["time"]] for entry in lean.log] == list(lean.log)


@pytest.mark.behaviour("GRD-06", "MEM-04")
@pytest.mark.parametrize("method", ["greedy", "time-based"])
@pytest.mark.parametrize("seed", some(range(4), 2))
def test_one_account_is_served_first_come(seed: int, method: str) -> None:
    """Also where a reservation's time is over behind jobs that hold all that is free."""
    instance = shared(seed, 1)
    plain = replace(instance, queues=tuple(replace(q, user_shares=()) for q in instance.queues))
    alone = simulate(instance, reservation=method)
    assert alone.starts == simulate(plain, reservation=method).starts
