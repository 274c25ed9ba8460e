"""First hosts that are full, resizable jobs in queues of units, durations after a resize."""

from __future__ import annotations

from dataclasses import replace

import pytest
import slotwise as sw
from loop_lab import HOUR, cluster, held, host, instance, job, run, running
from slotwise import ComputeUnit, HostRequest, Queue

FIRST = HostRequest("A", first=True), HostRequest("B")
RESERVES = (Queue("q", slot_reserve=1000),)
UNITS = tuple(ComputeUnit(f"rack{n}", "rack", (n,)) for n in "AB")


@pytest.mark.behaviour("PAI-09")
def test_a_job_whose_first_hosts_are_full_holds_nothing_elsewhere() -> None:
    """Without a first host it would hold B, and the small job would wait for it."""
    wide = job("wide", 4, minutes=60, hosts=FIRST)
    problem = instance(
        *(host("A", 2), host("B", 4)),
        queues=RESERVES,
        running=(running("a", {"A": 2}, 60), running("b", {"B": 2}, 120)),
        pending=(wide,),
        future=(job("small", 2, minutes=200, submit=60),),
    )
    found = run(problem, "greedy")
    assert all(not slots for at, slots, _ in held(found, "wide") if at < HOUR)
    assert found["small"].start == 60
    others = tuple(replace(request, first=False) for request in FIRST)
    anywhere = run(replace(problem, pending=(replace(wide, hosts=others),)), "greedy")
    assert held(anywhere, "wide")[0][1] == {"B": 2}


@pytest.mark.behaviour("PAI-11")
@pytest.mark.parametrize("way", ["in order", "by shares"])
def test_a_resizable_job_of_a_queue_with_units_runs_and_does_not_grow(way: str) -> None:
    """Jobs of -ar in a queue with cu[] are resizable no more (004); their own cu[] is refused."""
    queue = Queue("q", res_req="cu[type=rack]")
    shares = (("others", 1),)
    where = cluster(host("A", 2), host("B", 4), units=UNITS, unit_types=("rack",))
    grows = job("grows", 2, max_slots=4, minutes=60, resizable=True)
    problem = instance(
        cluster=where,
        queues=(replace(queue, user_shares=shares) if way == "by shares" else queue,),
        running=(running("r", {"B": 3}, 5),),
        pending=(grows,),
    )
    found = run(problem)
    assert found["grows"].hosts == {"A": 2, "B": 1}
    assert not [entry for entry in found.log if "resized" in entry]
    plain = replace(problem, queues=(replace(problem.queues[0], res_req=""),))
    assert [entry["time"] for entry in run(plain).log if "resized" in entry] == [300]
    own = replace(grows, res_req=("cu[type=rack]",))
    with pytest.raises(sw.InputError, match="cannot have cu"):
        sw.plan(replace(plain, pending=(own,)))


@pytest.mark.behaviour("PAI-11")
def test_memory_without_a_value_reserves_nothing() -> None:
    problem = instance(
        host("A", 4, mem=100),
        running=(running("r", {"A": 1}, 60, res_req=("rusage[mem]",)),),
        pending=(job("all", 1, "rusage[mem=100]", minutes=10),),
    )
    assert sw.plan(problem)["all"].start == 0
