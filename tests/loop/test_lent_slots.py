"""What is lent of a reservation: whose it is, and that it counts once (PAI-01, PAI-03)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from loop_lab import HOUR, MINUTE, cluster, estimates, held, host, instance, job, run, running
from slotwise import ComputeUnit, Instance, Params, Queue
from slotwise.solver.planning import plan as plan_of

FILLED = Queue("q", 40, slot_reserve=1000, backfill=True, exclusive="Y")
UNITS = tuple(ComputeUnit(name, "u", members) for name, members in (("u1", ("h", "g")),))


def beside_a_large_hold(queue: Queue, *requirement: str, **asked: object) -> Instance:
    """X waits an hour for the rest of its hosts; S ends by then, N never does."""
    where = cluster(
        host("h", 4, mem=1000),
        host("g", 1, mem=1000),
        units=UNITS,
        unit_types=("u",),
        default_unit_type="u",
    )
    return instance(
        cluster=where,
        queues=(queue,),
        running=(running("1", {"h": 2}, 60),),
        pending=(
            job("X", 1, "select[hname==h]", *requirement, minutes=60, **asked),
            job("S", 1, "select[hname==h]", minutes=60),
            job("N", 1, "select[hname==h]"),
        ),
        params=Params(time_reserve_numjobs=1),
    )


#: Demands whose hold is larger than their slots: the queue, what the job asks, and its options.
LARGE = {
    "-x": (FILLED, "", {"exclusive": True}),
    "-nnodes": (FILLED, "", {"exclusive": True, "whole_hosts": True}),
    "cu[excl]": (replace(FILLED, exclusive="CU[u]"), "cu[type=u:excl]", {}),
    "memory": (replace(FILLED, slot_reserve=None, resource_reserve=1000), "rusage[mem=1000]", {}),
}


@pytest.mark.behaviour("TBR-18", "TBR-07", "PAI-01", "PAI-03")
@pytest.mark.parametrize("kind", LARGE)
def test_a_loan_leaves_the_rest_of_a_large_hold(kind: str) -> None:
    queue, requirement, asked = LARGE[kind]
    problem = beside_a_large_hold(queue, *filter(None, (requirement,)), **asked)
    if kind == "memory":
        item = replace(problem.running[0].job, res_req=("rusage[mem=600]",))
        problem = replace(
            problem,
            running=(replace(problem.running[0], job=item),),
            pending=(
                problem.pending[0],
                replace(problem.pending[1], res_req=("select[hname==h] rusage[mem=100]",)),
                replace(problem.pending[2], res_req=("select[hname==h] rusage[mem=100]",)),
            ),
        )
    result = run(problem, until=3 * HOUR)
    starts = {name: result[name].start for name in "XSN"}
    assert starts == {"X": HOUR, "S": 0, "N": 2 * HOUR}
    assert plan_of(problem, "time-based")["X"].start == HOUR


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


@pytest.mark.behaviour("TBR-18", "PAI-01")
def test_an_exclusive_borrower_has_borrowed_its_host() -> None:
    """S takes all four free slots of g, which are those that X holds there."""
    problem = instance(
        *(host("g", 4), host("h", 4)),
        queues=(FILLED,),
        running=(running("1", {"h": 4}, 60),),
        pending=(job("X", 6, minutes=60), job("S", 1, minutes=30, exclusive=True)),
        params=Params(time_reserve_numjobs=0),
    )
    result = run(problem, until=2 * HOUR)
    assert (result["S"].start, result["X"].start) == (0, HOUR)
    reserved = [slots for at, slots, _ in held(result, "X") if at == MINUTE]
    assert reserved == [{}]


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
@pytest.mark.parametrize("method", [0, 1])
def test_a_slot_that_is_lent_is_not_there_and_comes_back_once(method: int) -> None:
    result = run(lending(method))
    assert {at for _, at in estimates(result, "big")} == {300}
    assert [result[name].start for name in ("b1", "b2", "big")] == [0, 20, 300]


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


@pytest.mark.behaviour("TBR-18")
def test_a_loan_does_not_keep_the_slots_of_another_from_being_lent() -> None:
    """X lends a slot to S until its start; T, who ends later, may still have that of Y."""
    problem = instance(
        *(host("h", 4), host("g", 2)),
        queues=(replace(FILLED, exclusive="N"),),
        running=(running("1", {"h": 1}, 180), running("2", {"g": 2}, 20)),
        pending=(
            job("X", 4, "span[ptile=2]", minutes=60),
            job("Y", 2, "select[hname==h]", minutes=60),
            job("S", 1, minutes=10),
            job("T", 1, minutes=100),
        ),
    )
    result = run(problem, until=HOUR)
    assert (result["S"].start, result["T"].start) == (0, 0)
    assert result["X"].start == 20 * MINUTE


@pytest.mark.behaviour("TBR-18", "GRD-01")
@pytest.mark.parametrize(("family", "second"), [("LSF", {"h": 1}), ("volclava", {})])
def test_what_the_open_family_holds_is_free(family: str, second: dict[str, int]) -> None:
    """Of 3 slots W holds 2, which B backfills; the third and fourth come free after 20 and 30 s.

    LSF counts the two that B uses, so the fourth is for V. volclava forgets them: it is for W.
    """
    long = running("R", {"h": 2}, 10)
    short = [running(n, {"h": 1}, 10, run_time=at) for n, at in (("S", 20), ("T", 30))]
    result = run(
        instance(
            cluster=cluster(host("h", 6)),
            queues=(Queue("q", 40, slot_reserve=1000, backfill=True),),
            running=(long, *short),
            pending=(job("1", 3, minutes=10), job("2", 3, minutes=10), job("3", 2, minutes=1)),
            params=Params(family=family, mbd_sleep_time=10),
        )
    )
    assert (result["3"].start, result["3"].backfilled) == (0, True)
    first, last = (
        next((slots for time, slots, _ in held(result, name) if time == 30), {})
        for name in ("1", "2")
    )
    assert (sum(first.values()), last) == (2 - len(second), second)


@pytest.mark.behaviour("GRD-02", "TBR-18")
@pytest.mark.parametrize(("family", "estimate"), [("LSF", 600), ("volclava", 120)])
def test_the_open_family_counts_all_hosts_for_a_job_on_one(family: str, estimate: int) -> None:
    """W holds 2 slots of h, where 2 come free after 600 s; those of g do after 120 s, too few."""
    result = run(
        instance(
            cluster=cluster(host("g", 2), host("h", 4)),
            queues=(Queue("q", 40, slot_reserve=1000, backfill=True),),
            running=(running("1", {"h": 2}, 10), running("2", {"g": 2}, 2)),
            pending=(job("3", 4, "span[hosts=1]", minutes=10),),
            params=Params(family=family, mbd_sleep_time=10),
        )
    )
    assert estimates(result, "3")[0] == (0, estimate)
