"""Limits of every kind in the loop: slots, jobs, amounts; of hosts, queues, users, projects."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from loop_lab import HOUR, cluster, host, instance, job, run, running
from slotwise import Limit, Queue, Scope, SharedResource

RESERVE = Queue("q", 40, slot_reserve=1000)


LIMITED = {
    "SLOTS": {"limits": (Limit("l", {"slots": 4.0}),)},
    "PER_USER": {"limits": (Limit("l", {"slots": 4.0}, users=Scope(("all",), each=True)),)},
    "PER_QUEUE": {"limits": (Limit("l", {"slots": 4.0}, queues=Scope(("all",), each=True)),)},
    "PER_PROJECT": {"limits": (Limit("l", {"slots": 4.0}, projects=Scope(("all",), each=True)),)},
    "PER_HOST": {"limits": (Limit("l", {"slots": 2.0}, hosts=Scope(("all",), each=True)),)},
    "SLOTS_PER_PROCESSOR": {
        "limits": (Limit("l", slots_per_processor=0.5, hosts=Scope(("all",), each=True)),)
    },
    "JOBS": {"limits": (Limit("l", {"jobs": 1.0}),)},
    "QJOB_LIMIT": {"queues": (replace(RESERVE, queue_slots=4),)},
    "UJOB_LIMIT": {"queues": (replace(RESERVE, user_slots=4),)},
    "HJOB_LIMIT": {"queues": (replace(RESERVE, host_slots=2),)},
    "PJOB_LIMIT": {"queues": (replace(RESERVE, processor_slots=0.5),)},
    "JL/U": {"cluster": cluster(host("A", 4, user_slots=2), host("B", 4, user_slots=2))},
    "MXJ": {"cluster": cluster(host("A", 2), host("B", 2))},
}


@pytest.mark.behaviour("TBR-10", "LOP-03")
@pytest.mark.parametrize("kind", LIMITED)
def test_limits_hold_now_and_in_the_future(kind: str) -> None:
    """Each lets two jobs of two slots run at most, or one of them: the next waits for their end."""
    settings = {"queues": (RESERVE,), "cluster": cluster(host("A", 4), host("B", 4))}
    settings |= LIMITED[kind]
    problem = instance(
        running=(running("r", {"A": 2}, 60),),
        pending=(job("p1", 3, minutes=30),),
        **settings,
    )
    result = run(problem, "time-based")
    assert result["p1"].start == HOUR
    assert result["p1"].estimate == HOUR
    free = run(
        instance(
            cluster=cluster(host("A", 4), host("B", 4)),
            queues=(RESERVE,),
            running=problem.running,
            pending=problem.pending,
        )
    )
    assert free["p1"].start == 0


def amounts(resource: str, total: float, **more: Any) -> dict[str, Any]:
    """Both jobs use 60 of `resource`, of which a Limit section leaves `total` in all."""
    asks = f"rusage[{resource}=60]"
    shared = (SharedResource("lic", 1000.0),) if resource == "lic" else ()
    where = {"amounts": {"tmp": 500.0, "swp": 500.0}}
    return {
        "cluster": cluster(host("A", 4, 500, **where), host("B", 4, 500, **where), shared=shared),
        "queues": (replace(RESERVE, slot_reserve=None, resource_reserve=100),),
        "running": (running("r", {"A": 1}, 60, res_req=(asks,)),),
        "pending": (job("p1", 1, asks, minutes=30),),
        "limits": (Limit("l", {resource: total}, **more),),
    }


EACH = Scope(("all",), each=True)


@pytest.mark.behaviour("LOP-03")
@pytest.mark.parametrize("resource", ["mem", "tmp", "swp", "lic"])
@pytest.mark.parametrize(
    ("more", "waits"),
    [
        ({}, True),
        ({"users": EACH}, True),
        ({"queues": EACH}, True),
        ({"projects": EACH}, True),
        ({"users": Scope(("someone else",))}, False),
        ({"hosts": EACH}, False),  # the other host has a limit of its own
    ],
)
def test_amounts_of_a_limit_section(resource: str, more: dict[str, Any], waits: bool) -> None:
    result = run(instance(**amounts(resource, 100.0, **more)), "time-based")
    assert result["p1"].start == (HOUR if waits else 0)
    assert not waits or result["p1"].estimate == HOUR
    assert run(instance(**amounts(resource, 120.0, **more)))["p1"].start == 0


@pytest.mark.behaviour("LOP-03")
def test_the_strictest_of_several_limits_binds() -> None:
    limits = (Limit("a", {"slots": 6.0}), Limit("b", {"slots": 4.0}, users=EACH))
    result = run(
        instance(
            host("A", 8),
            limits=limits,
            pending=(
                job("one", 3, minutes=30),
                job("two", 3, minutes=30),  # over the user's 4
                job("three", 3, minutes=30, user="other"),
            ),
        )
    )
    assert (result["one"].start, result["two"].start, result["three"].start) == (0, 1800, 0)
