"""A loop that is stopped, written down, read and run on equals the one that was not stopped."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from slotwise import (
    BorrowedSlots,
    Cluster,
    HeldHosts,
    Host,
    InputError,
    Instance,
    Job,
    Params,
    Queue,
    RunningJob,
    dump,
    dump_json,
    loads,
)
from slotwise.solver.planning import plan
from slotwise.solver.scheduler.history import snapshot
from slotwise.solver.scheduler.methods import settings_for
from slotwise.solver.scheduler.simulation import Session


def _site(rng: random.Random) -> Instance:
    """A crowded cluster whose one queue backfills and reserves, for short or long."""
    hosts = tuple(Host(f"h{at}", rng.choice([2, 4, 8])) for at in range(rng.randint(2, 5)))
    queue = Queue("normal", backfill=True, slot_reserve=rng.choice([3, 10, 100_000]))
    most = sum(host.slots for host in hosts)
    limits = [rng.choice([60, 120, 300, 600, 1800]) for _ in range(60)]
    jobs = [
        Job(
            str(number),
            min(most, rng.choice([1, 1, 2, 3, 4, 6, 8, 12])),
            queue="normal",
            run_limit=limit,
            run_time=rng.randint(1, limit),
            submit=rng.randint(0, 1500),
        )
        for number, limit in enumerate(limits, start=1)
    ]
    jobs.sort(key=lambda job: job.submit)
    params = Params(mbd_sleep_time=10, default_queue="normal")
    return Instance(Cluster(hosts), queues=(queue,), future=tuple(jobs), params=params)


def _begun(instance: Instance) -> Session:
    session = Session(instance, settings_for(instance))
    session.begin()
    return session


def _starts(session: Session) -> dict[str, int | None]:
    while session.advance():
        pass
    return {record.job: record.start for record in session.result().jobs}


def _stopped(instance: Instance, cycles: int) -> Instance:
    session = _begun(instance)
    for _ in range(cycles):
        session.advance()
    return snapshot(session).instance


def _differs(whole: dict[str, int | None], moment: Instance) -> bool:
    rest = _starts(_begun(moment))
    return any(whole[job] != start for job, start in rest.items())


def test_goes_on_as_if_never_stopped() -> None:
    forgetful = 0
    for seed in range(4):
        rng = random.Random(seed)
        site = _site(rng)
        whole = _starts(_begun(site))
        moment = _stopped(site, rng.randint(5, 150))
        assert loads(dump(moment)) == loads(dump_json(moment)) == moment
        assert not _differs(whole, loads(dump(moment))), seed
        forgetful += _differs(whole, replace(moment, held=(), borrowed=()))
    assert forgetful  # what is remembered has a say


def test_a_job_that_is_gone_is_not_remembered() -> None:
    site = _site(random.Random(1))
    moment = replace(
        site, held=(HeldHosts("gone", ("h0",), 0),), borrowed=(BorrowedSlots("gone", {"h0": 1}),)
    )
    assert _starts(_begun(moment)) == _starts(_begun(site))


@pytest.mark.parametrize("method", ["greedy", "time-based"])
def test_an_estimate_names_what_it_does_not_remember(method: str) -> None:
    """p has held for so long that its time is over: q starts, which no estimate foresees."""
    text = """
    format: slotwise/1
    now: 6010
    hosts: [{name: a, slots: 4}]
    queues: [{name: default, SLOT_RESERVE: "MAX_RESERVE_TIME[2]"}]
    running: [{id: r, start: 0, run_limit: 9000, allocation: 2*a}]
    pending: [{id: p, slots: 4, run_limit: 10m}, {id: q, slots: 2, run_limit: 500m}]
    """
    bare = loads(text)
    site = replace(bare, held=(HeldHosts("p", ("a",), 5),))
    assert any("held, borrowed" in note for note in plan(site, method).notes)
    assert not any("held, borrowed" in note for note in plan(bare, method).notes)


_POOL = Instance(
    Cluster((Host("a", 4),)),
    running=(RunningJob(Job("r", 2), 0, {"a": 2}),),
    pending=(Job("p", 4),),
    now=10,
)


@pytest.mark.parametrize(
    ("memory", "message"),
    [
        ({"held": (HeldHosts("r", ("a",)),)}, "no pending job is called 'r'"),
        ({"held": (HeldHosts("p", ("b",)),)}, "b"),
        ({"held": (HeldHosts("p", ("a",), 11),)}, "lies 1 s after the instance's now"),
        ({"held": (HeldHosts("p"), HeldHosts("p"))}, "job p is given already"),
        ({"borrowed": (BorrowedSlots("p", {"a": 1}),)}, "no running job is called 'p'"),
        ({"borrowed": (BorrowedSlots("r", {"a": 3}),)}, "the job has 2 slots on a, not 3"),
    ],
)
def test_what_makes_no_sense(memory: dict[str, object], message: str) -> None:
    assert loads(dump(_POOL)) == _POOL
    with pytest.raises(InputError) as error:
        loads(dump(replace(_POOL, **memory)))  # type: ignore[arg-type]
    (problem,) = error.value.problems
    assert message in str(problem)
