"""One truth: plan, loop, comparison and views give the same answer to the same question."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import slotwise as sw
from loop_lab import HOUR, MINUTE, cluster, host, job, running
from loop_lab import instance as small
from loop_starts import simulated_starts
from slotwise import (
    AdvanceReservation,
    Instance,
    Job,
    Params,
    Queue,
    RunningJob,
    SharedResource,
    Thresholds,
)
from slotwise.model.shares import HostPartition
from slotwise.solver.advice.comparison import compare
from slotwise.solver.planning import plan
from slotwise.solver.scheduler.history import snapshot_of
from slotwise.solver.scheduler.simulation import simulate

RESERVE = Queue("q", slot_reserve=1000)
METHODS = ("greedy", "time-based", "optimal")


def start(problem: Instance, method: str, name: str, **more: Any) -> int | None:
    """The planned start of a job, None where it has none."""
    found = plan(problem, method, **({"effort": 5} if method == "optimal" else {}), **more)
    item = found.get(name)
    return None if item is None else item.start


def in_loop(problem: Instance, method: str, **more: Any) -> dict[str, int]:
    top = max(1, len(problem.pending))
    return simulate(problem, reservation=method, **{"top": top, "cycle": 0, **more}).starts


@pytest.mark.behaviour("TBR-18", "GRD-04")
def test_simulated_starts_know_backfill() -> None:
    problem = small(
        host("A", 4),
        queues=(replace(RESERVE, backfill=True),),
        running=(running("r", {"A": 2}, 240),),
        pending=(job("big", 4, minutes=240), job("small", 2, minutes=60)),
    )
    found = {row.job: row for row in compare(problem, effort=5, methods=True)}
    assert (found["small"].greedy_simulated, found["small"].sooner_by) == (0, 0)
    assert found["big"].greedy_simulated == 4 * HOUR


@pytest.mark.behaviour("GRD-04")
@pytest.mark.parametrize(
    ("example", "starts"),
    [
        ("slot-limits", {"job5": 0, "job6": 0}),
        ("memory-phases", {"job2": 600, "job3": 1500}),
        ("memory-backfill", {"job4": 18000}),
        ("memory-backfill-parallel", {"job5": 0}),
        ("backfill", {"job3": 0}),
    ],
)
def test_simulated_starts_of_the_examples(example: str, starts: dict[str, int]) -> None:
    problem = sw.load(sw.example(example))
    found = simulated_starts(problem, "greedy")
    assert {name: found[name] - problem.now for name in starts} == starts


def test_a_comparison_has_an_estimate_and_a_simulated_start_by_each_method() -> None:
    problem = sw.load(sw.example("backfill"))
    found = compare(problem, effort=5, methods=True)
    assert found.simulated == ("greedy", "time-based", "optimal")
    for row, record in zip(found, found.to_records(), strict=True):
        for method in found.simulated:
            name = method.replace("-", "_")
            start = simulated_starts(problem, method)[row.job]
            assert getattr(row, f"{name}_simulated") == record[f"{name}_simulated"] == start
        assert record["possible"] == record["optimal_estimate"]


@pytest.mark.parametrize(
    ("options", "simulated"),
    [
        ({}, ("greedy", "time-based", "optimal")),
        # Cycles plan in priority order, whatever else a plan minimises.
        ({"objective": "total-start"}, ("greedy", "time-based")),
    ],
)
def test_what_is_simulated_is_said(options: Any, simulated: tuple[str, ...]) -> None:
    found = compare(sw.load(sw.example("backfill")), effort=5, **options, methods=True)
    assert found.simulated == simulated == tuple(found.to_dict()["simulated"])
    lacking = {"time_based", "optimal"} - {name.replace("-", "_") for name in simulated}
    for name in lacking:
        assert all(getattr(row, f"{name}_simulated") is None for row in found)
        words = found.missing_starts()[f"{name}_simulated"]
        assert words == {row.job: "not run" for row in found}


def test_of_many_jobs_greedy_alone_is_simulated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("slotwise.solver.advice.comparison.MAX_SIMULATED", 2)
    problem = sw.load(sw.example("backfill"))
    assert len(problem.pending) == 3
    assert compare(problem, effort=5, methods=True).simulated == ("greedy",)


@pytest.mark.behaviour("GRD-01", "GRD-03")
def test_greedy_holds_no_more_of_a_host_than_a_block() -> None:
    problem = small(
        host("h1", 4),
        host("h2", 4),
        queues=(RESERVE,),
        running=(running("r", {"h1": 4}, 60),),
        pending=(
            job("wide", 2, "span[ptile=1]", minutes=60),
            job("small", 3, "span[hosts=1]", minutes=600),
        ),
    )
    found = plan(problem, "greedy")
    assert found["wide"].reserved == {"h2": 1}
    assert (found["wide"].estimate, found["small"].start) == (HOUR, 0)


@pytest.mark.behaviour("MEM-08")
def test_greedy_and_the_fallback_hold_nothing_while_a_licence_is_short() -> None:
    shared = SharedResource("lic", 1.0)
    lic = "rusage[lic=1]"
    problem = small(
        cluster=cluster(host("A", 3), shared=(shared,)),
        queues=(Queue("q", resource_reserve=1000),),
        running=(running("r", {"A": 1}, 300, res_req=(lic,)),),
        pending=(job("p1", 2, lic, minutes=60), job("p2", 2, minutes=60)),
    )
    found = plan(problem, "greedy")
    assert (found["p1"].reserved, found["p2"].start) == ({}, 0)
    endless = replace(problem, running=(running("r", {"A": 1}, None, res_req=(lic,)),))
    fallback = plan(endless, "time-based")
    assert "p1" not in fallback
    assert fallback["p2"].start == 0


@pytest.mark.behaviour("TBR-10", "GRD-01")
@pytest.mark.parametrize("limits", [{"user_slots": 4}, {"queue_slots": 4}])
def test_greedy_holds_only_what_limits_leave(limits: dict[str, int]) -> None:
    problem = small(
        host("A", 3),
        host("B", 2),
        queues=(replace(RESERVE, **limits),),
        running=(running("r", {"B": 2}, 60),),
        pending=(job("p", 4, minutes=60),),
    )
    assert sum(plan(problem, "greedy")["p"].reserved.values()) == 2


def test_on_a_full_cluster_there_is_no_slot_to_hold_and_no_estimate_anywhere() -> None:
    problem = small(
        host("A", 4),
        queues=(RESERVE,),
        running=(running("r", {"A": 4}, 120),),
        pending=(job("p", 2, minutes=60),),
    )
    (row,) = compare(problem, effort=5, methods=True)
    assert (row.greedy_estimate, row.greedy_simulated) == (None, 2 * HOUR)
    seen = snapshot_of(problem, after_cycle=True).waiting["p"]
    assert (dict(seen.slots), seen.estimate) == ({}, None)


@pytest.mark.behaviour("TBR-18", "TBR-04")
@pytest.mark.parametrize(("backfill", "expected"), [(True, 0), (False, 3 * HOUR)])
def test_held_slots_are_for_backfill_queues_only_in_plan_and_loop(
    backfill: bool, expected: int
) -> None:
    problem = small(
        host("A", 4),
        queues=(Queue("q", backfill=backfill),),
        running=(running("r", {"A": 2}, 120),),
        pending=(job("big", 4, minutes=60), job("small", 2, minutes=60)),
    )
    assert start(problem, "time-based", "small") == expected
    assert in_loop(problem, "time-based")["small"] == expected
    assert start(problem, "optimal", "small") == 0
    needs = plan(problem, "optimal", effort=5)["small"].needs_backfill
    assert needs == ("" if backfill else "q")
    bound = plan(problem, "optimal", effort=5, as_lsf=True)
    assert bound["small"].start == expected
    assert bound["small"].proved is backfill
    assert bound["small"].bound == 0
    # Before the first job that would need what is held the joint plan stands.
    assert (bound["big"].start, bound["big"].proved) == (2 * HOUR, True)
    assert bound.value == 2 * HOUR + expected
    assert (bound.status, bound.bound) == (
        ("optimal", 2 * HOUR) if backfill else ("feasible", None)
    )
    assert (
        "joint placement with slots that are already reserved" in bound.left_out
    ) is not backfill


def test_what_is_held_for_ever_leaves_no_start_and_proves_none() -> None:
    """Without the rule small starts at once; with it nothing says that it never could."""
    problem = small(
        host("A", 4),
        queues=(Queue("q", backfill=False),),
        running=(running("r", {"A": 2}, 60),),
        pending=(job("endless", 4), job("small", 2, minutes=30), job("huge", 5, minutes=30)),
    )
    free = plan(problem, "optimal", effort=5)
    assert (free["small"].start, free.status) == (0, "infeasible")
    bound = plan(problem, "optimal", effort=5, as_lsf=True)
    assert [item.job for item in bound.unplaced] == ["small", "huge"]
    assert (bound.status, bound.bound) == ("feasible", None)
    assert not any("bug" in note for note in bound.notes)
    # Of a job that fits nowhere the rule changes nothing.
    alone = replace(problem, pending=(problem.pending[0], problem.pending[2]))
    assert plan(alone, "optimal", effort=5, as_lsf=True).status == "infeasible"


@pytest.mark.behaviour("TBR-10")
def test_a_limit_that_is_full_keeps_a_reservation_from_holding() -> None:
    problem = small(
        host("A", 8),
        queues=(Queue("q", 2, host_slots=4), Queue("z", 1)),
        running=(running("j1", {"A": 4}, 60),),
        pending=(job("p", 4, minutes=60), job("x", 4, minutes=120, queue="z")),
    )
    assert in_loop(problem, "time-based")["x"] == 0
    assert start(problem, "time-based", "x") == 0


def two_partitions() -> Instance:
    parts = (
        HostPartition("A", ("a1", "a2"), (("default", 1),)),
        HostPartition("B", ("b1", "b2"), (("default", 1),)),
    )
    return small(
        *(host(name, 4) for name in ("a1", "a2", "b1", "b2")),
        running=(
            running("ra", {"a1": 4, "a2": 4}, 150),
            running("rb", {"b1": 4, "b2": 4}, 90),
        ),
        pending=(job("p", 8, minutes=60),),
        partitions=parts,
        params=Params(time_reserve_numjobs=1),
    )


@pytest.mark.behaviour("TBR-12", "FSH-08")
def test_n_counts_jobs_and_no_plan_mixes_partitions() -> None:
    problem = two_partitions()
    assert simulate(problem, cycle=0)["p"].start == 5400
    for method in ("time-based", "optimal"):
        found = plan(problem, method, **({"effort": 5} if method == "optimal" else {}))["p"]
        assert (found.start, set(found.allocation)) == (5400, {"b1", "b2"})


@pytest.mark.behaviour("FSH-08")
@pytest.mark.parametrize("method", METHODS)
def test_a_job_without_a_share_has_no_start(method: str) -> None:
    parts = (HostPartition("P", ("A",), (("u1", 1),)),)
    problem = small(host("A", 4), pending=(job("p", 1, user="root"),), partitions=parts)
    found = plan(problem, method, **({"effort": 5} if method == "optimal" else {}))
    assert "p" not in found
    assert "share" in found.unplaced[0].reason
    assert "p" not in simulate(problem).starts


def test_a_job_that_starts_now_takes_what_the_loop_gives_it() -> None:
    problem = small(
        host("A", 60),
        pending=(job("p1", 11, max_slots=60, minutes=60), job("p2", 10, minutes=60)),
    )
    found = plan(problem, "time-based")
    assert sum(found["p1"].allocation.values()) == 60
    assert (found["p1"].start, found["p2"].start) == (0, HOUR)
    assert simulated_starts(problem, "greedy")["p2"] == HOUR
    # The joint plan fills the range with what it leaves free, and so does the loop under it.
    joint = plan(problem, "optimal", effort=5)
    assert [sum(joint[name].allocation.values()) for name in ("p1", "p2")] == [50, 10]
    assert simulated_starts(problem, "optimal") == {"p1": 0, "p2": 0}


@pytest.mark.behaviour("RSV-11")
@pytest.mark.parametrize("method", METHODS)
def test_a_host_beyond_loadsched_takes_no_job_and_no_start_is_known(method: str) -> None:
    limits = Thresholds(sched={"r1m": 0.7}, stop={"r1m": 2.0})
    problem = small(
        host("A", 4, load={"r1m": 3.0}),
        queues=(Queue("q", thresholds=limits),),
        pending=(job("p", 1, minutes=60),),
    )
    found = plan(problem, method, **({"effort": 5} if method == "optimal" else {}))
    assert found.get("p") is None or found["p"].start is None
    text = " ".join([*found.notes, *(item.reason for item in found.unplaced)])
    assert "load" in text
    assert "p" not in simulate(problem).starts


@pytest.mark.behaviour("RSV-01")
@pytest.mark.parametrize("asks", ["rusage[mem=401]", "select[mem>700]"])
@pytest.mark.parametrize("method", METHODS)
def test_reported_memory_counts(method: str, asks: str) -> None:
    problem = small(host("A", 4, mem=1000, load={"mem": 150.0}), pending=(job("p", 1, asks),))
    assert start(problem, method, "p") != 0
    assert "p" not in simulate(problem).starts


@pytest.mark.behaviour("RSV-01", "MEM-01")
def test_a_job_holds_the_memory_that_is_reported() -> None:
    problem = small(
        host("A", 4, mem=1000, load={"mem": 300.0}), pending=(job("p", 1, "rusage[mem=400]"),)
    )
    assert dict(snapshot_of(problem, after_cycle=True).waiting["p"].memory) == {}
    greedy = simulate(problem, reservation="greedy", keep_log=True, until=60)
    (held,) = greedy.log[0]["reservations"]
    assert held["memory"] == {"A": 300.0}
    assert start(problem, "optimal", "p") is None


@pytest.mark.behaviour("RSV-11")
@pytest.mark.parametrize("method", METHODS)
def test_memory_below_loadsched_closes_a_host(method: str) -> None:
    limits = Thresholds(sched={"mem": 40.0})
    problem = small(
        host("A", 4, mem=1000, load={"mem": 30.0}),
        queues=(Queue("q", thresholds=limits),),
        pending=(job("p", 1, minutes=10),),
    )
    assert start(problem, method, "p") is None


@pytest.mark.behaviour("TBR-19")
def test_the_optimal_loop_plans_with_advance_reservations() -> None:
    kept = AdvanceReservation("kept", HOUR, 3 * HOUR, {"A": 4})
    problem = small(
        host("A", 4),
        pending=(job("long", 4, minutes=120), job("short", 4, minutes=60)),
        advance_reservations=(kept,),
    )
    result = simulate(problem, reservation="optimal")
    assert (result["long"].start, result["short"].start) == (3 * HOUR, 0)
    assert result["long"].estimate == 3 * HOUR
    solved = plan(problem, "optimal", effort=5)
    assert (solved["long"].start, solved["short"].start) == (3 * HOUR, 0)


@pytest.mark.behaviour("LOP-06")
def test_preemptable_alone_lets_the_named_queue_preempt() -> None:
    problem = small(
        host("A", 4),
        queues=(Queue("hi", 2), Queue("lo", 1, preemptable=("hi",))),
        running=(running("r", {"A": 4}, 60, queue="lo"),),
        pending=(job("p", 4, minutes=60, queue="hi"),),
    )
    assert simulate(problem)["p"].start == 0
    (row,) = compare(problem, effort=5, methods=True)
    assert (row.greedy_simulated, row.optimal_estimate, row.proved) == (0, 0, True)
    assert plan(problem, "optimal", effort=5).suspended == {"r": 0}
    assert any("preemption" in note for note in plan(problem, "time-based").notes)


@pytest.mark.behaviour("LOP-06")
@pytest.mark.parametrize(
    ("waits", "runs", "suspended", "named"),
    [
        ("hi", "lo", False, True),
        ("lo", "lo", False, False),  # nobody waits who may preempt
        ("hi", "hi", False, False),  # nobody is there whom it may preempt
        ("lo", "lo", True, True),  # the one that is suspended goes on as the loop says
    ],
)
def test_preemption_is_left_out_only_where_it_could_happen(
    waits: str, runs: str, suspended: bool, named: bool
) -> None:
    run = replace(running("r", {"A": 4}, 60, queue=runs), suspended=suspended)
    problem = small(
        host("A", 4),
        queues=(Queue("hi", 2), Queue("lo", 1, preemptable=("hi",))),
        running=(run,),
        pending=(job("p", 2, minutes=60, queue=waits),),
    )
    best = plan(problem, "optimal", effort=5)
    noted = any("preemption" in note for note in best.notes) or bool(best.suspended)
    assert noted is named
    assert suspended or best["p"].proved is (not named or best["p"].start == 0)
    # The loop shows what a rule that estimates leave out changes: which job, and when it starts.
    told, starts = plan(problem, "time-based"), in_loop(problem, "time-based")
    if starts.get("p") == (None if told.get("p") is None else told["p"].start):
        assert told.notes == ()
    else:
        assert (starts["p"], named) == (0, True)
        assert told.notes == ("not modelled: preemption (job p starts now, not +1h)",)


@pytest.mark.behaviour("LOP-06")
@pytest.mark.parametrize("method", ["optimal", "time-based"])
def test_preemption_changes_nothing_where_nobody_has_to_wait(method: str) -> None:
    problem = small(
        host("A", 4),
        queues=(Queue("hi", 2), Queue("lo", 1, preemptable=("hi",))),
        running=(running("r", {"A": 2}, 60, queue="lo"),),
        pending=(
            job("p", 2, minutes=60, queue="hi"),
            job("later", 2, minutes=10, queue="lo"),
        ),
    )
    found = plan(problem, method, **({"effort": 5} if method == "optimal" else {}))
    assert [item.start for item in found] == [0, HOUR]
    assert found.notes == ()
    assert [item.proved for item in found] == [method == "optimal"] * 2


@pytest.mark.behaviour("TBR-16")
def test_job_accept_interval_closes_hosts_that_have_just_taken_a_job() -> None:
    busy = RunningJob(Job("r", 1, queue="q", run_limit=HOUR), -30, {"A": 1})
    problem = small(
        host("A", 4),
        running=(busy,),
        pending=(job("p", 1, minutes=10),),
        params=Params(job_accept_interval=2),
    )
    found = plan(problem, "optimal", effort=5)["p"]
    assert found.start == 90
    assert found.waits_for.endswith("free when JOB_ACCEPT_INTERVAL of A is over")
    assert in_loop(problem, "greedy")["p"] == 90
    assert plan(problem, "time-based")["p"].start == in_loop(problem, "time-based")["p"] == 90


def test_slots_that_backfill_borrows_count_once() -> None:
    """While short has the two held slots, big holds no others for them."""
    problem = small(
        host("A", 4),
        host("B", 2),
        queues=(replace(RESERVE, backfill=True),),
        running=(running("r", {"A": 2}, 60),),
        pending=(
            job("big", 4, "span[hosts=1]", minutes=60),
            job("short", 2, minutes=30, hosts=()),
        ),
    )
    result = simulate(problem, reservation="time-based")
    assert (result["big"].start, result["short"].start) == (HOUR, 0)
    assert result["short"].end == 30 * MINUTE
