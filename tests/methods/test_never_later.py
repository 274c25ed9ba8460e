"""The exact methods never start a job later than time-based reservation, under any option.

In the lexicographic sense: the first job in priority order whose start differs starts earlier.
"""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

import pytest
import slotwise as sw
from sampling import some
from slotwise.solver.fairshare.priority_order import priority_order
from slotwise.solver.planning import plan
from slotwise.solver.validate import validate

OPTIONS: dict[str, dict[str, Any]] = {
    "optimal": {"method": "optimal"},
    "milp": {"method": "milp"},
    "as LSF": {"method": "optimal", "as_lsf": True},
    "as LSF by milp": {"method": "milp", "as_lsf": True},
    "with a margin": {"method": "optimal", "margin": 60},
    "as LSF with a margin": {"method": "optimal", "as_lsf": True, "margin": 60},
    "the first alone": {"method": "optimal", "first": 2},
}


def drawn(seed: int) -> sw.Instance:
    """A few hosts and jobs, some of a queue with BACKFILL, with ends a second apart."""
    random = Random(seed)
    slots = random.randint(2, 4)
    free = {f"h{number}": slots for number in range(random.randint(1, 3))}
    hosts = tuple(sw.Host(name, slots) for name in free)
    running = []
    for number in range(random.randint(0, 4)):
        places = {name: random.randint(0, left) for name, left in free.items()}
        held = {name: count for name, count in places.items() if count and random.random() < 0.6}
        if held:
            for name, count in held.items():
                free[name] -= count
            limit = random.choice([None, 600, 1199, 1200, 3000, 3600])
            job = sw.Job(f"r{number}", sum(held.values()), queue="plain", run_limit=limit)
            running.append(sw.RunningJob(job, -random.choice([0, 0, 100, 599]), held))
    queues = (
        sw.Queue("plain", priority=1),
        sw.Queue("fills", priority=random.choice([1, 2]), backfill=random.random() < 0.7),
    )
    pending = tuple(
        sw.Job(
            f"p{number}",
            random.randint(1, len(hosts) * slots),
            queue=random.choice(["plain", "fills"]),
            run_limit=random.choice([None, 600, 601, 1200, 1799, 3000]),
            begin=random.choice([None, None, None, 900]),
        )
        for number in range(random.randint(1, 5))
    )
    params = sw.Params(default_queue="plain")
    return sw.instance(hosts, queues=queues, running=running, pending=pending, params=params)


def never_later(instance: sw.Instance, option: str) -> None:
    options = OPTIONS[option]
    same = {name: options[name] for name in ("margin", "first") if name in options}
    found = plan(instance, effort=3, **options)
    timed = plan(instance, "time-based", **same)
    order = [job.id for job in priority_order(instance)]

    def starts(of: sw.Plan) -> list[float]:
        known = {item.job: item.start for item in of if item.start is not None}
        return [float(known.get(job, "inf")) for job in order]

    assert starts(found) <= starts(timed)
    if "first" not in options:
        assert validate(instance, found, as_lsf=options.get("as_lsf", False)) == []


@pytest.mark.behaviour("TBR-18")
@pytest.mark.parametrize(("seed", "option"), some(product(range(300), OPTIONS), 25))
def test_no_option_makes_a_job_later_than_time_based(seed: int, option: str) -> None:
    never_later(drawn(seed), option)


@pytest.mark.parametrize("option", ["as LSF", "as LSF by milp"])
@pytest.mark.parametrize("seed", [155, 199, 230, 342])
def test_what_a_cycle_holds_lets_a_job_start_earlier(seed: int, option: str) -> None:
    """Cases in which a plan that holds what would be held at each start comes later."""
    never_later(drawn(seed), option)
