"""What is held for a job ends when the job has become too late for its run window (TBR-19)."""

from __future__ import annotations

import pytest
from slotwise import Cluster, Host, Instance, Job, Params, Queue, RunningJob
from slotwise.solver.scheduler.checkpoints import load, save
from slotwise.solver.scheduler.methods import settings_for
from slotwise.solver.scheduler.simulation import Session, simulate

#: Two of four slots are held for p, which runs for 5 of the 10 minutes that its queue is open.
SITE = Instance(
    Cluster((Host("h", 4),)),
    queues=(
        Queue("short", 2, run_window="0:00-0:10", slot_reserve=100),
        Queue("any", 1, slot_reserve=100),
    ),
    running=(RunningJob(Job("r", 2, queue="any", run_limit=6000), 0, {"h": 2}),),
    pending=(
        Job("p", 4, queue="short", run_limit=300),
        Job("q", 2, queue="any", run_limit=600),
    ),
    params=Params(mbd_sleep_time=60),
)


@pytest.mark.behaviour("TBR-19")
def test_the_next_cycle_gives_what_was_held_to_another() -> None:
    starts = simulate(SITE, reservation="greedy", until=3600).starts
    # At 300 s p could still end with its window, from 301 s on it could not.
    assert starts == {"r": 0, "q": 360}


@pytest.mark.behaviour("TBR-19")
def test_a_checkpoint_keeps_the_instant() -> None:
    session = Session(SITE, settings_for(SITE, reservation="greedy"), until=3600)
    session.begin()
    while session.advance():
        session = load(save(session), SITE)
    assert session.result().starts == {"r": 0, "q": 360}
