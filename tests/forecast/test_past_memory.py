"""What the loop had held and lent at the moments of a log that it has run."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from slotwise import Cluster, Host, Instance, Job, Params, Queue
from slotwise.solver.forecast.arrivals import NOBODY
from slotwise.solver.forecast.jobs import NO_START
from slotwise.solver.forecast.of_instance import SimulatedLog
from slotwise.solver.scheduler.cycle import backfilled_slots_by_job, held_hosts
from slotwise.solver.scheduler.methods import settings_for
from slotwise.solver.scheduler.simulation import Session

CYCLE = 10
#: Cycles of a reservation at most; None: future allocations for the first jobs.
KINDS = {"time-based": None, "greedy": 90, "short": 6}


def site(kind: str, seed: int, count: int = 60, slots: int = 4) -> Instance:
    """Two hosts, jobs of 1 to 8 slots, and queues that reserve, for some cycles or on, and fill."""
    draw = np.random.default_rng(seed)
    submit = np.sort(draw.integers(0, 9 * count, count) * CYCLE).tolist()
    jobs = tuple(
        Job(
            f"j{n}",
            int(draw.choice([1, 1, 2, 3, 5, 8])),
            queue="normal",
            run_limit=int(draw.integers(2, 12)) * 100,
            run_time=int(draw.integers(50, 1100)),
            submit=time,
        )
        for n, time in enumerate(submit)
    )
    cycles = KINDS[kind]
    queue = Queue("normal", 20, backfill=True)
    if cycles is None:
        queue = replace(queue, resource_reserve=90)
    else:
        queue = replace(queue, slot_reserve=cycles)
    return Instance(
        Cluster((Host("a", slots), Host("b", slots))),
        queues=(queue,),
        future=jobs,
        params=Params(
            mbd_sleep_time=CYCLE,
            time_reserve_numjobs=3 if cycles is None else None,
            default_queue="normal",
        ),
    )


def begun(instance: Instance, until: int | None = None) -> Session:
    session = Session(instance, settings_for(instance), until=until)
    session.begin()
    return session


@pytest.mark.parametrize("kind", KINDS)
def test_moments_say_what_a_loop_that_is_stopped_then_remembers(kind: str) -> None:
    held = borrowed = rests = 0
    for seed in range(2):
        instance = site(kind, seed)
        found = SimulatedLog.run(begun(instance), "log")
        for row in range(5, 60, 11):
            now = int(found.log.submit[row])
            stopped = begun(instance, until=now - 1)
            while stopped.advance():
                pass
            world, moment = stopped.world, found.instance(row)
            expected = held_hosts(world.pending.values(), world.names)
            assert sorted(moment.held, key=repr) == sorted(expected, key=repr)
            assert set(map(repr, moment.borrowed)) == set(map(repr, backfilled_slots_by_job(world)))
            held += any(item.hosts for item in moment.held)
            rests += any(item.rest_until is not None for item in moment.held)
            borrowed += bool(moment.borrowed)
    assert held > 1
    assert borrowed
    assert bool(rests) == (kind == "short")


@pytest.mark.parametrize("kind", KINDS)
def test_with_all_known_the_loop_goes_on_as_it_went(kind: str) -> None:
    """Asked at the last submission with the true run times: every start to the second.

    Without what was held and lent before, the starts are others in some of the sites.
    """
    forgotten = asked = 0
    for seed, count in product(range(2), (30, 37)):
        found = SimulatedLog.run(begun(site(kind, seed, count, slots=6)), "log")
        truth = {job.id: int(start) for job, start in zip(found.jobs, found.start, strict=True)}
        run_times = {item.job: item.run_time or 0 for item in found.records}
        now = int(found.log.submit[-1])
        if any(start + run_times[name] == now for name, start in truth.items()):
            continue  # The moment is before that second: the job that ends in it still runs.
        for memory in (found.memory, None):
            world = replace(found, memory=memory).world(len(found.log) - 1)
            waiting = np.flatnonzero(world.jobs.elapsed < 0)
            assert world.every_cycle == (kind != "time-based")
            world = replace(world, asked=waiting, every_cycle=True)
            times = np.array([run_times[name] for name in world.names], dtype=np.int64)
            starts = world.starts(times, NOBODY).tolist()
            assert NO_START not in starts
            expected = [truth[world.names[place]] for place in waiting.tolist()]
            if memory is None:
                forgotten += starts != expected
            else:
                asked += len(starts)
                assert starts == expected, (seed, count)
    assert asked > 20
    assert forgotten
