"""Copies of a session: each goes its own way, and the first leaves nothing behind for the next."""

from __future__ import annotations

from dataclasses import replace

import pytest
from slotwise.model.generate import generate
from slotwise.solver.scheduler.checkpoints import Entered
from slotwise.solver.scheduler.methods import settings_for
from slotwise.solver.scheduler.simulation import Session, simulate


@pytest.mark.parametrize("fair", [False, True])
def test_each_copy_goes_on_as_the_session_would_have(fair: bool) -> None:
    instance = generate(hosts=16, running=40, pending=8, load=1.0, seed=3)
    instance = replace(instance, params=replace(instance.params, mbd_sleep_time=1800))
    shares = (("default", 1),) if fair else ()
    queues = tuple(replace(queue, user_shares=shares) for queue in instance.queues)
    instance = replace(instance, queues=queues)
    session = Session(instance, settings_for(instance))
    session.begin()
    entered = Entered(session)
    expected = simulate(instance)
    for _ in range(2):
        copy = entered.copy()
        while copy.advance():
            pass
        assert copy.result().starts == expected.starts
        assert copy.result().cycles == expected.cycles
    while session.advance():
        pass
    assert session.result().starts == expected.starts


def test_a_job_that_nobody_knew_of() -> None:
    """It is the same as one that was known to come."""
    instance = generate(hosts=16, running=40, pending=5, load=1.0, seed=3)
    job = replace(instance.pending[0], id="x", submit=1000)
    session = Session(instance, settings_for(instance))
    session.begin()
    entered = Entered(session)
    copy = entered.copy()
    copy.world.add_job(job)
    while copy.advance():
        pass
    known = simulate(replace(instance, future=(job,)))
    assert copy.result().starts == known.starts
    assert known.starts["x"] > 1000
    assert len(entered.copy().world.states) == len(copy.world.states) - 1
