"""Slot reservations in the loop: greedy and time-based, future allocations, backfill (TBR rows)."""

from __future__ import annotations

from dataclasses import replace

import pytest
import slotwise as sw
from loop_lab import HOUR, MINUTE, cluster, held, host, instance, job, run, running
from slotwise import (
    ComputeUnit,
    HostGroup,
    HostRequest,
    InputError,
    Limit,
    Params,
    Queue,
    Scope,
)

RESERVE = Queue("q", 40, slot_reserve=1000)


@pytest.mark.behaviour("TBR-11")
def test_a_compound_requirement_starts_with_its_last_term() -> None:
    problem = instance(
        cluster=cluster(host("A", 2, type="X"), host("B", 2, type="Y"), host("C", 2, type="Y")),
        queues=(RESERVE,),
        running=(running("r1", {"A": 2}, 30), running("r2", {"B": 1, "C": 1}, 60)),
        pending=(job("p", 5, "1*{select[type==X]}+4*{select[type==Y]}", minutes=30),),
    )
    result = run(problem, "time-based")
    assert result["p"].estimate == result["p"].start == HOUR
    assert result["p"].hosts == {"A": 1, "B": 2, "C": 2}


@pytest.mark.behaviour("TBR-13")
def test_what_is_held_counts_as_available_for_the_preference_of_units() -> None:
    """Of six free slots of A two are held: no job runs on them, and B has five."""
    units = tuple(ComputeUnit(f"u{n}", "rack", (n,)) for n in ("B", "A", "C"))
    where = cluster(
        *(host("B", 5), host("A", 6), host("C", 4)),
        units=units,
        unit_types=("rack",),
        default_unit_type="rack",
    )
    asked = (HostRequest("A"), HostRequest("C"))
    big = replace(job("big", 4, "span[ptile=2]", minutes=60), hosts=asked)
    problem = instance(
        cluster=where,
        queues=(RESERVE,),
        running=(running("r", {"C": 4}, 60),),
        pending=(big, job("p", 1, "cu[pref=maxavail:maxcus=1]", minutes=10)),
    )
    result = run(problem, "greedy")
    assert held(result, "big")[0][1] == {"A": 2}
    assert result["p"].hosts == {"A": 1}


@pytest.mark.behaviour("TBR-15")
def test_not_with_job_chunking() -> None:
    problem = instance(host("A", 4), queues=(replace(RESERVE, chunk_job_size=4),))
    with pytest.raises(InputError, match="CHUNK_JOB_SIZE"):
        run(problem, "time-based")
    assert run(problem, "greedy").complete


@pytest.mark.behaviour("TBR-17", "GRD-02")
def test_reservation_by_start_time_picks_the_group_that_is_free_first() -> None:
    def problem(by_start_time: bool):
        return instance(
            cluster=cluster(
                host("A", 8, strings={"os": "x"}),
                host("B", 4, strings={"os": "y"}),
                groups=(HostGroup("g", ("A",)),),
                resources=(sw_string("os"),),
            ),
            queues=(RESERVE,),
            running=(running("r1", {"A": 5}, 60), running("r2", {"B": 2}, 30)),
            pending=(job("p", 4, "same[os]", minutes=10),),
            params=Params(reserve_by_starttime=by_start_time),
        )

    largest, earliest = run(problem(False), "greedy"), run(problem(True), "greedy")
    assert held(largest, "p")[0][1] == {"A": 3}
    assert largest["p"].estimate == HOUR
    assert held(earliest, "p")[0][1] == {"B": 2}
    assert earliest["p"].estimate == 30 * MINUTE


def sw_string(name: str):
    from slotwise.model.cluster import ResourceDefinition

    return ResourceDefinition(name, kind="string")


@pytest.mark.behaviour("TBR-18")
def test_backfill_needs_its_queue_and_a_run_limit_on_both_sides() -> None:
    bf = Queue("bf", 10, backfill=True)
    queues = (RESERVE, bf, Queue("plain", 5))

    def at(*pending, limit: int | None = 60):
        return run(
            instance(
                host("A", 4),
                queues=queues,
                running=(running("r", {"A": 2}, limit, run_time=HOUR),),
                pending=(job("big", 4, minutes=30), *pending),
            ),
            "greedy",
        )

    exactly = at(job("x", 1, minutes=60, queue="bf"))
    assert exactly["x"].start == 0
    over = at(job("x", 1, run_limit=HOUR + 1, queue="bf"))
    assert over["x"].start == HOUR + 30 * MINUTE
    assert at(job("x", 1, minutes=10, queue="plain"))["x"].start > 0
    assert at(job("x", 1, run_time=600, queue="bf"))["x"].start > 0
    assert at(job("x", 1, minutes=10, queue="bf"), limit=None)["x"].start > 0


@pytest.mark.behaviour("TBR-18")
def test_borrowed_slots_count_for_both_in_user_totals_and_once_on_the_host() -> None:
    """MAX 4 slots of the user: r2 + reserved 2 leave nothing to borrow; another user may."""
    limits = (Limit("u", {"slots": 4.0}, users=Scope(("all",), each=True)),)
    queues = (replace(RESERVE, host_slots=4), Queue("bf", 10, backfill=True))

    def at(user: str):
        return run(
            instance(
                host("A", 4),
                queues=queues,
                running=(running("r", {"A": 2}, 60, user="ann"),),
                pending=(
                    job("big", 4, minutes=30, user="ann"),
                    job("x", 1, minutes=10, queue="bf", user=user),
                ),
                limits=limits,
            ),
            "greedy",
        )

    assert at("ann")["x"].start > 0
    assert at("bob")["x"].start == 0


def test_the_loop_agrees_with_the_planner_on_one_snapshot() -> None:
    """The first cycle's time-based estimates are the time-based plan's starts."""
    from slotwise.model.generate import generate

    problem = generate(hosts=24, running=80, pending=12, seed=3)
    plan = sw.plan(problem, "time-based", jobs=12)
    result = run(problem, "time-based", top=12, until=0)
    started = result.starts
    compared = 0
    for item in plan:
        if item.job in started and item.start == 0:
            continue
        record = result[item.job]
        if record.estimate_by == "time-based" and item.method == "time-based":
            compared += 1
            assert record.estimate >= item.start
    assert compared > 3
