"""A job that runs at the instance's now holds its slots then, whatever its times say."""

from __future__ import annotations

from random import Random

import pytest
import slotwise as sw
from sampling import some
from slotwise.solver.validate import validate

METHODS = ("greedy", "time-based", "optimal", "milp")


def _drawn(seed: int) -> sw.Instance:
    random = Random(seed)
    hosts = tuple(sw.Host(f"h{n}", 3) for n in range(2))
    running, free = [], {"h0": 3, "h1": 3}
    for number in range(random.randint(1, 4)):
        name = random.choice(sorted(free))
        slots = random.randint(0, free[name])
        if slots:
            free[name] -= slots
            job = sw.Job(
                f"r{number}",
                slots,
                run_limit=random.choice([None, 60, 600, 3600]),
                run_time=random.choice([None, 0, 30, 600]),
            )
            begun = -random.choice([0, 60, 600, 900])
            finish = random.choice([None, None, begun, 0, 1, 300])
            running.append(sw.RunningJob(job, begun, {name: slots}, finish))
    pending = tuple(
        sw.Job(f"p{n}", random.randint(1, 4), run_limit=random.choice([60, 600])) for n in range(3)
    )
    return sw.instance(hosts, running=running, pending=pending)


@pytest.mark.behaviour("TBR-02")
@pytest.mark.parametrize("seed", some(range(200), 10))
def test_no_method_uses_what_still_runs(seed: int) -> None:
    instance = _drawn(seed)
    for method in METHODS:
        assert validate(instance, sw.plan(instance, method), as_lsf=True) == [], method
