"""What one job has tried in vain its equals do not try again, and nothing else comes of it."""

from __future__ import annotations

import random
from dataclasses import asdict

import pytest
from long_ways import every_attempt
from sampling import pairwise, some
from slotwise import Cluster, Host, Instance, Job, Params, Queue
from slotwise.solver.scheduler.simulation import simulate


def crowded(seed: int, *, fairshare: bool) -> Instance:
    """More jobs than slots, of few kinds, in queues that reserve and backfill or do not."""
    draw = random.Random(seed)
    shares = (("default", 1),) if fairshare else None
    queues = tuple(
        Queue(
            name,
            draw.choice((10, 20)),
            backfill=draw.random() < 0.7,
            slot_reserve=draw.choice((None, 3, 50)),
            user_slots=draw.choice((None, None, 6)),
            user_shares=shares or (),
        )
        for name in ("a", "b")
    )
    future = tuple(
        Job(
            str(number),
            draw.choice((1, 1, 2, 4, 8, 12)),
            user=draw.choice("xyz"),
            queue=draw.choice("ab"),
            res_req=draw.choice(((), (), ("span[ptile=2]",))),
            run_limit=(limit := 60 * draw.randrange(1, 60)),
            run_time=draw.randrange(1, limit),
            submit=draw.randrange(2000),
        )
        for number in range(60)
    )
    hosts = tuple(Host(f"h{number}", draw.choice((2, 4))) for number in range(6))
    return Instance(Cluster(hosts), queues, future=future, params=Params(mbd_sleep_time=60))


@pytest.mark.parametrize(
    ("seed", "fairshare", "method"),
    some(pairwise(range(2), [False, True], ["greedy", "time-based"]), 2),
)
def test_trying_each_one_gives_the_same(
    seed: int, fairshare: bool, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = crowded(seed, fairshare=fairshare)
    short = simulate(instance, reservation=method, keep_log=True)
    every_attempt(monkeypatch)
    whole = simulate(instance, reservation=method, keep_log=True)
    assert [asdict(job) for job in short.jobs] == [asdict(job) for job in whole.jobs]
    assert short.log == whole.log
