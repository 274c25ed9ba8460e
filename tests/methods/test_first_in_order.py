"""A plan of the first jobs of the order alone."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
import slotwise as sw
from slotwise import Cluster, Host, InputError, Instance, Job, RunningJob
from slotwise.solver.validate import validate


def full(seed: int) -> Instance:
    """Hosts without a free slot, and a queue in a random order that asks for slots alone."""
    rng = random.Random(seed)
    hosts = tuple(Host(f"h{n}", 4) for n in range(5))
    running = tuple(
        RunningJob(
            Job(f"r{n}{k}", slots=2, run_limit=60 * rng.randint(2, 60)),
            -60,
            {host.name: 2},
        )
        for n, host in enumerate(hosts)
        for k in range(2)
    )
    pending = tuple(
        Job(
            f"p{n}",
            slots=rng.randint(1, 12),
            run_limit=60 * rng.randint(1, 90),
            submit=-rng.randint(0, 99),
        )
        for n in range(14)
    )
    return Instance(Cluster(hosts), running=running, pending=pending)


def test_the_judge_misses_who_is_not_counted() -> None:
    instance = full(3)
    found = sw.plan(instance, "time-based", first=5)
    told = validate(instance, replace(found, behind=8), as_lsf=True)
    assert len([item for item in told if "it is missing" in str(item)]) == 9


def test_at_least_one_is_planned() -> None:
    with pytest.raises(InputError, match="1 or more, not 0"):
        sw.plan(full(2), "time-based", first=0)
