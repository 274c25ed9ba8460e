"""What a job waits for, in a sentence: the constraint that binds just before it can start."""

from __future__ import annotations

import pytest
import slotwise as sw
from judging import job, problem, racks, running
from slotwise import Queue

BUSY = (running("r", {"A": 3, "B": 3, "C": 1}),)


@pytest.mark.parametrize(
    ("slots", "asked", "sentence"),
    [
        (6, "", "needs 6 free slots (now 5)"),
        (4, "span[hosts=1]", "needs one host with 4 free slots (now 3 at best)"),
        (4, "span[ptile=2]", "needs 2 hosts with 2 free slots each (now 1)"),
        (5, "span[ptile=4]", "needs 1 host with 4 free slots and one with 1 (now 0)"),
        (
            5,
            "span[ptile=3]",
            "needs 1 host with 3 free slots and one with 2, has no other for the 2",
        ),
    ],
)
def test_slots_and_span(slots: int, asked: str, sentence: str) -> None:
    instance = problem(job("j", slots, asked), running=BUSY)
    planned = sw.plan(instance, "time-based")["j"]
    assert planned.start == 100
    assert planned.waits_for == f"{sentence}; free when r ends"


@pytest.mark.parametrize(
    ("slots", "asked", "sentence"),
    [
        (5, "cu[maxcus=1]", "cu[maxcus=1]; the fullest choice, r2, has 4 and lacks 1"),
        (8, "cu[maxcus=2]", "cu[maxcus=2]; the 2 fullest have 7 and lack 1"),
        (8, "cu[balance]", "cu[balance]; the fullest choice, r2, has 4"),
        (2, "cu[excl]", "cu[excl]; 0 of 3 units are without other jobs"),
    ],
)
def test_compute_units(slots: int, asked: str, sentence: str) -> None:
    """r1 has three free slots of eight, r2 four, r3 one."""
    cluster = racks(r1=2, r2=2, r3=2)
    busy = running("r", {"r1a": 4, "r1b": 1, "r2a": 4, "r3a": 4, "r3b": 3})
    queues = (Queue("default", exclusive="CU[rack]"),)
    instance = problem(job("j", slots, asked), cluster=cluster, running=(busy,), queues=queues)
    planned = sw.plan(instance, "time-based")["j"]
    assert planned.start == 100
    assert sentence in planned.waits_for


def test_the_empty_units_of_an_exclusive_job_are_counted() -> None:
    planned = sw.plan(sw.load(sw.example("cu-exclusive")), effort=10)["job3"]
    assert planned.waits_for == (
        "needs 64 slots under cu[maxcus=8:usablecuslots=10:excl]; 3 of 5 units are without other "
        "jobs, with 48 slots; free when job1 ends"
    )


@pytest.mark.behaviour("RSV-09")
def test_a_job_may_wait_for_another_to_hold_less() -> None:
    found = sw.plan(sw.load(sw.example("memory-phases")), effort=10)
    assert found["job2"].waits_for.endswith("; free when job1 holds less")
    assert found["job3"].waits_for.endswith("; free when job2 holds less")


def test_an_exclusive_job_waits_for_jobs_on_all_hosts_of_its_unit() -> None:
    busy = running("r", {"r1b": 1})
    instance = problem(
        job("j", 2, "cu[excl]"),
        cluster=racks(r1=2),
        running=(busy,),
        queues=(Queue("default", exclusive="CU[rack]"),),
    )
    planned = sw.plan(instance, "time-based")["j"]
    assert (planned.start, planned.allocation) == (100, {"r1a": 2})
    assert planned.waits_for.endswith("0 of 1 units are without other jobs; free when r ends")
