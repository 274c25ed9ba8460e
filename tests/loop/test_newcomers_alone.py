"""Cycles in which only newcomers have their turns say the same as whole cycles."""

from __future__ import annotations

import random

import pytest
from sampling import pairwise, some
from slotwise import Cluster, Host, Instance, Job, Params, Queue
from slotwise.solver.scheduler.simulation import simulate

MINUTE = 60


def busy(seed: int) -> Instance:
    """Few hosts, more work than they can do, jobs now and then; many ask for a topology."""
    draw = random.Random(seed)
    future = []
    for number in range(60):
        limit = MINUTE * draw.randint(5, 90)
        slots = draw.choice((1, 1, 2, 4, 6, 8, 12))
        future.append(
            Job(
                str(number),
                slots,
                queue=draw.choice(("normal", "normal", "normal", "urgent")),
                res_req=draw.choice(
                    ((), ("span[hosts=1]",) if slots <= 8 else (), ("rusage[mem=300]",))
                ),
                run_limit=draw.choice((limit, limit, None)),
                run_time=max(MINUTE, int(limit * draw.random())),
                submit=draw.randint(0, 300) * MINUTE + draw.choice((0, 7, 30)),
            )
        )
    hosts = tuple(Host(f"h{number}", 8, amounts={"mem": 2000.0}) for number in range(3))
    reserve = draw.choice((None, 3, 1000))
    queues = (
        Queue("normal", 30, slot_reserve=reserve, backfill=draw.random() < 0.7),
        Queue("urgent", 40, resource_reserve=reserve, backfill=True),
    )
    return Instance(Cluster(hosts), queues, future=tuple(future), params=Params(mbd_sleep_time=60))


@pytest.mark.behaviour("LOP-01")
@pytest.mark.parametrize(
    ("seed", "method"), some(pairwise(range(12), ["none", "greedy", "time-based"]), 6)
)
def test_whole_cycles_say_the_same(seed: int, method: str) -> None:
    instance = busy(seed)
    lean = simulate(instance, reservation=method, keep_log=True)
    whole = simulate(instance, reservation=method, keep_log=True, skip_idle=False, until=lean.time)
    assert list(lean.jobs) == list(whole.jobs)
    by_time = {entry["time"]: entry for entry in whole.log}
    assert [by_time[entry["time"]] for entry in lean.log] == list(lean.log)
