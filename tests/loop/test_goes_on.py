"""A loop that is stopped, written down, read and run on equals the one that was not stopped."""

from __future__ import annotations

import random
from dataclasses import replace

from slotwise import (
    BorrowedSlots,
    Cluster,
    HeldHosts,
    Host,
    Instance,
    Job,
    Params,
    Queue,
    dump,
    dump_json,
    loads,
)
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
    for seed in range(3):
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
