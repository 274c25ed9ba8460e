"""What is lent of a reservation: whose it is, and that it counts once (PAI-01, PAI-03)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from loop_lab import HOUR, estimates, host, instance, job, run, running
from slotwise import Instance, Params, Queue
from slotwise.solver.planning import plan as plan_of

FILLED = Queue("q", 40, slot_reserve=1000, backfill=True, exclusive="Y")


@pytest.mark.behaviour("TBR-18", "MEM-02")
def test_greedy_holds_the_rest_of_the_memory_where_it_has_lent_the_slot() -> None:
    """X holds a slot and 400 MB; S borrows the slot and 100 MB; N may not have the other 300."""
    queue = replace(FILLED, slot_reserve=None, resource_reserve=1000)
    problem = instance(
        host("h", 3, mem=1000),
        queues=(queue,),
        running=(running("1", {"h": 1}, 60, res_req=("rusage[mem=600]",)),),
        pending=(
            job("X", 1, "rusage[mem=1000]", minutes=60),
            job("W", 1, minutes=1),
            job("S", 1, "rusage[mem=100]", minutes=30),
            job("N", 1, "rusage[mem=100]"),
        ),
    )
    result = run(problem, until=2 * HOUR)
    assert (result["S"].start, result["S"].backfilled) == (0, True)
    assert result["X"].start == HOUR
    assert result["N"].start == 2 * HOUR


def lending(method: int) -> Instance:
    """As in a live cluster: big needs all of A, r2 runs for 300 s, b1 backfills for 60."""
    return instance(
        host("A", 4),
        queues=(replace(FILLED, exclusive="N"),),
        running=(
            running("r1", {"A": 1}, run_limit=100),
            running("r2", {"A": 1}, run_limit=300),
        ),
        pending=(job("big", 4, run_limit=500), job("b1", 1, run_limit=60)),
        future=(job("b2", 1, run_limit=120, submit=20),),
        params=Params(mbd_sleep_time=1, time_reserve_numjobs=method),
    )


@pytest.mark.behaviour("GRD-03", "TBR-18", "PAI-03")
def test_a_greedy_plan_counts_it_once_too() -> None:
    planned = plan_of(lending(0), "greedy")
    assert (planned["b1"].start, planned["big"].estimate) == (0, 300)


@pytest.mark.behaviour("GRD-03", "MEM-01", "TBR-18", "PAI-03")
def test_memory_that_is_lent_comes_back_once() -> None:
    problem = instance(
        host("A", 4, mem=1000),
        queues=(replace(FILLED, slot_reserve=None, resource_reserve=1000),),
        running=(
            running("r1", {"A": 1}, run_limit=100, res_req=("rusage[mem=200]",)),
            running("r2", {"A": 1}, run_limit=300, res_req=("rusage[mem=500]",)),
        ),
        pending=(
            job("big", 1, "rusage[mem=900]", run_limit=500),
            job("b1", 1, "rusage[mem=200]", run_limit=60),
        ),
        params=Params(mbd_sleep_time=1),
    )
    result = run(problem)
    assert {at for _, at in estimates(result, "big")} == {300}
    assert (result["b1"].start, result["big"].start) == (0, 300)
