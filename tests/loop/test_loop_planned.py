"""The optimal method in the loop, and what estimates are worth where run limits are exact."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from loop_lab import HOUR, host, instance, job, run, running
from sampling import some
from slotwise import Instance, Queue
from slotwise.solver.validate import validate_schedule

RESERVE = Queue("q", 40, slot_reserve=1000, backfill=True)


def trace(seed: int, jobs: int = 40) -> Instance:
    """Jobs over several hosts and small ones, that run exactly as long as their limits say."""
    rng = random.Random(seed)
    future = []
    for number in range(jobs):
        if number % 5 == 4:
            tile = rng.choice((2, 4))
            slots, asks = tile * rng.randint(2, 5), (f"span[ptile={tile}]",)
        else:
            slots = rng.choice((1, 2, 3, 4))
            asks = ("span[hosts=1]",) if slots > 1 else ()
        minutes, submit = rng.randint(5, 90), rng.randint(0, 4 * HOUR)
        future.append(job(f"j{number}", slots, *asks, minutes=minutes, submit=submit))
    return instance(*(host(f"h{n}", 4) for n in range(6)), queues=(RESERVE,), future=tuple(future))


@pytest.mark.behaviour("LOP-05")
@pytest.mark.parametrize("seed", some([2, 0, 1, 3], 1))
def test_planned_estimates_are_kept_where_limits_are_exact(seed: int) -> None:
    """A cycle at every event: nothing that happens can put off a job that was planned."""
    problem = trace(seed)
    result = run(problem, "optimal", cycle=0)
    planned = [record for record in result.jobs if record.estimate_by == "optimal"]
    assert len(planned) > 5
    assert [record.error for record in planned] == [0] * len(planned)
    assert validate_schedule(problem, result) == []


@pytest.mark.behaviour("TBR-04", "TBR-18")
@pytest.mark.parametrize("method", ["time-based", "optimal"])
@pytest.mark.parametrize("seed", some(range(3), 1))
def test_backfill_never_puts_off_the_first_job(method: str, seed: int) -> None:
    """From the cycle on in which a job is first in the order its estimate never moves back."""
    result = run(trace(seed + 10), method, cycle=0)
    promised: dict[str, int] = {}
    for entry in result.log:
        if entry["reservations"]:
            first = entry["reservations"][0]
            before = promised.get(first["job"], first["estimate"])
            assert first["estimate"] <= before
            promised[first["job"]] = first["estimate"]
    assert len(promised) > 5
    assert all(result[name].start <= time for name, time in promised.items())
    assert any(record.backfilled for record in result.jobs)


@pytest.mark.behaviour("TBR-07")
@pytest.mark.parametrize("method", ["time-based", "optimal"])
def test_only_what_is_needed_is_kept(method: str) -> None:
    """p1 needs two slots on each host in an hour; r1 frees its two on A by then.

    What is free of its place is reserved, but p2 may use it: enough comes free in time.
    """
    problem = instance(
        host("A", 4),
        host("B", 4),
        queues=(RESERVE,),
        running=(running("r1", {"A": 2}, 60), running("r2", {"B": 4}, 60)),
        pending=(job("p1", 4, "span[ptile=2]", minutes=30), job("p2", 2, minutes=120)),
    )
    planned = run(problem, method)
    assert (planned["p1"].start, planned["p2"].start) == (HOUR, 0)
    assert planned.log[0]["reservations"][0]["reserved"] == {}
    alone = run(replace(problem, pending=problem.pending[:1]), method)
    assert alone.log[0]["reservations"][0]["reserved"] == {"A": 2}
    assert planned.log[0]["reservations"][0]["allocation"] == {"A": 2, "B": 2}
    # Without r1's end in time the two slots on A are kept.
    longer = (running("r1", {"A": 2}, 240), running("r2", {"B": 4}, 60))
    held = run(
        instance(
            *problem.cluster.hosts, queues=(RESERVE,), running=longer, pending=problem.pending
        ),
        method,
    )
    assert held.log[0]["reservations"][0]["reserved"] == {"A": 2}
    assert held["p2"].start > 0
    assert held["p1"].start == HOUR


def test_the_same_effort_gives_the_same_simulation() -> None:
    first, again = (run(trace(7, jobs=25), "optimal", effort=0.5) for _ in range(2))
    assert (first.jobs, first.log) == (again.jobs, again.log)


def test_hardly_any_effort_is_no_worse_than_time_based_on_the_first_job() -> None:
    problem = trace(3, jobs=20)
    little = run(problem, "optimal", effort=1e-6)
    assert little.complete
    assert validate_schedule(problem, little) == []
