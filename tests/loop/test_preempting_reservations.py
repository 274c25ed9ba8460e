"""A reservation never keeps a job that may preempt from preempting (PAI-02)."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from loop_lab import cluster, host, instance, job, running
from slotwise import ComputeUnit, Instance, Queue
from slotwise.solver.scheduler.simulation import simulate

PREEMPTIVE = Queue("q", 50, preemptive=("lo",))
LOW = Queue("lo", 20)
#: How a queue may reserve.
WAYS = (
    {"slot_reserve": 5},
    {"slot_reserve": 1000},
    {"resource_reserve": 5},
    {"resource_reserve": 1000},
)


def drawn(seed: int, way: dict) -> Instance:
    """A small cluster where the first job of the order may preempt, and nothing is reserved.

    Where reservations of `way` run out, those that wait with it are jobs that it may preempt: any
    other may get, in the session without a reservation, what it would have given back by then.
    """
    draw = random.Random(seed)
    others = ("lo",) if 5 in way.values() else ("q", "lo", "mid")
    hosts = [host(name, draw.randint(1, 4), mem=draw.choice((400, 1000))) for name in "abc"]
    hosts = hosts[: draw.randint(1, 3)]
    free = {item.name: item.slots for item in hosts}
    begun = []
    for number in range(draw.randint(1, 6)):
        name = draw.choice(list(free))
        slots = min(free[name], draw.randint(1, 3))
        if slots:
            free[name] -= slots
            queue = draw.choice(("lo", "lo", "q", "mid"))
            limit = draw.choice((5, 20, 60, 180))
            begun.append(running(f"r{number}", {name: slots}, limit, queue=queue))
    shapes = ["", "", "span[hosts=1]", "span[ptile=1]", "rusage[mem=200]", "cu[type=u:maxcus=1]"]
    waiting = []
    for number in range(draw.randint(1, 5)):
        queue = "q" if number == 0 else draw.choice(others)
        shape = draw.choice(shapes)
        limit = draw.choice((5, 30, 60, None))
        asks = (shape,) if shape else ()
        alone = draw.random() < 0.1
        waiting.append(
            job(
                *(f"p{number}", draw.randint(1, 5), *asks),
                minutes=limit,
                queue=queue,
                exclusive=alone,
            )
        )
    units = tuple(ComputeUnit(f"u{item.name}", "u", (item.name,)) for item in hosts)
    where = cluster(*hosts, units=units, unit_types=("u",), default_unit_type="u")
    queues = (
        replace(PREEMPTIVE, exclusive="Y"),
        Queue("mid", 30, backfill=draw.random() < 0.5, exclusive="Y"),
        replace(LOW, exclusive="Y"),
    )
    return instance(cluster=where, queues=queues, running=tuple(begun), pending=tuple(waiting))


def reserving(problem: Instance, seed: int, way: dict) -> Instance:
    """The same where some queues reserve, that of the first job among them or not."""
    draw = random.Random(-seed)
    which = draw.choice((("q",), ("q", "lo"), ("lo",), ("q", "mid", "lo")))
    queues = tuple(
        replace(queue, **way) if queue.name in which else queue for queue in problem.queues
    )
    first = draw.choice((0, 0, 1, 3))
    params = replace(problem.params, time_reserve_numjobs=first)
    return replace(problem, queues=queues, params=params)


def later_by_reserving(seeds: range) -> list[int]:
    """Seeds whose first job starts later where queues reserve."""
    found = []
    for seed in seeds:
        way = WAYS[seed % len(WAYS)]
        problem = drawn(seed, way)
        without = simulate(problem, until=3600)["p0"].start
        with_it = simulate(reserving(problem, seed, way), until=3600)["p0"].start
        if without is not None and (with_it is None or with_it > without):
            found.append(seed)
    return found


@pytest.mark.behaviour("LOP-06", "GRD-06", "MEM-01", "PAI-02")
def test_no_reservation_parameter_delays_the_first_job_that_may_preempt() -> None:
    assert later_by_reserving(range(30)) == []


@pytest.mark.slow
@pytest.mark.behaviour("LOP-06", "GRD-06", "MEM-01", "PAI-02")
def test_no_reservation_parameter_delays_it_at_length() -> None:
    assert later_by_reserving(range(30, 3000)) == []
