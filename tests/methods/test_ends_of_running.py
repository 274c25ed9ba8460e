"""A job that runs at the instance's now holds its slots then, whatever its times say."""

from __future__ import annotations

from random import Random

import pytest
import slotwise as sw
from sampling import some
from slotwise import loads
from slotwise.solver.validate import validate

METHODS = ("greedy", "time-based", "optimal", "milp")
OVER = """
format: slotwise/1
hosts: [{name: h, slots: 2}]
running: [{id: 1, start: -3600, run_time: 30m, run_limit: 3h, allocation: 2*h}]
pending: [{id: p, slots: 2, run_limit: 10m}]
"""


@pytest.mark.behaviour("TBR-02")
@pytest.mark.parametrize("method", METHODS)
def test_a_true_run_time_that_is_over_frees_nothing_in_a_plan(method: sw.Method) -> None:
    """Plans go by the limit: nobody has told the scheduler how long the job really runs."""
    instance = loads(OVER)
    found = sw.plan(instance, method)
    assert validate(instance, found, as_lsf=True) == []
    assert found["p"].start == (None if method == "greedy" else 7200)
    assert sw.ask(instance, "-n 2 -W 10", method="time-based").line.answer.start == 7800


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
