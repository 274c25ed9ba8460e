"""Beyond LSF's estimate (windows, advance reservations, deadlines), and what jobs reserve."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from judging import host, job, problem, racks, running
from loop_starts import simulated_starts
from slotwise import (
    AdvanceReservation,
    Cluster,
    Instance,
    Method,
    Params,
    Queue,
    ReservationUsage,
    SharedResource,
    dump,
)
from slotwise.cli.main import app
from slotwise.model.reservation import reservation
from slotwise.solver.advice.comparison import compare
from slotwise.solver.planning import plan
from slotwise.solver.validate import validate
from typer.testing import CliRunner

HOUR = 3600


def two_hours(*jobs: str, slots: int = 6, **fields: Any) -> Instance:
    """Jobs of six slots and two hours on twelve free slots, at midnight of a Sunday."""
    return problem(*(job(name, slots, run_limit=2 * HOUR) for name in jobs), **fields)


def queue(**fields: str) -> tuple[Queue, ...]:
    return (Queue("default", **fields),)


def starts(instance: Instance, **options: Any) -> dict[str, int | None]:
    """Optimal starts in hours; the plan is valid."""
    found = plan(instance, "optimal", effort=10, **options)
    assert validate(instance, found, as_lsf=options.get("as_lsf", False)) == []
    assert found.status == "optimal"
    return {item.job: item.start // HOUR for item in found if item.start is not None}


@pytest.mark.behaviour("TBR-19")
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"queues": queue(dispatch_window="2:00-3:00")}, {"j": 2, "k": 2, "l": 26}),
        ({"queues": queue(run_window="2-4")}, {"j": 2, "k": 2, "l": 26}),
        ({"queues": queue(run_window="2-6")}, {"j": 2, "k": 2, "l": 4}),
        # Too short on Sunday, long enough on Monday.
        ({"queues": queue(run_window="0:2:00-0:3:00 1:2:00-1:4:00")}, {"j": 26, "k": 26, "l": 194}),
    ],
    ids=["dispatch", "run", "run twice", "run too short"],
)
def test_queue_windows_are_kept_by_default_and_left_out_as_lsf_does(
    fields: dict[str, Any], expected: dict[str, int]
) -> None:
    instance = two_hours("j", "k", "l", **fields)
    assert starts(instance) == expected
    assert starts(instance, as_lsf=True) == {"j": 0, "k": 0, "l": 2}
    literal = plan(instance, "time-based")
    assert [item.start for item in literal] == [0, 0, 2 * HOUR]
    assert plan(instance, effort=10)["j"].waits_for == "a dispatch or run window"


@pytest.mark.behaviour("TBR-19")
@pytest.mark.parametrize("method", ["optimal", "milp"])
def test_a_job_without_a_known_end_starts_in_a_run_window(method: Method) -> None:
    """It had no start where the scheduler starts it and stops it as the window closes."""
    jobs = job("j", 1, run_limit=None), job("k", 1, run_limit=HOUR)
    instance = problem(*jobs, queues=queue(run_window="2-4"))
    found = plan(instance, method, effort=10)
    assert [(item.start, item.proved) for item in found] == [(2 * HOUR, True)] * 2
    assert simulated_starts(instance, "none") == {"j": 2 * HOUR, "k": 2 * HOUR}
    assert plan(instance, method, effort=10, as_lsf=True)["j"].start == 0
    late = replace(found["j"], start=4 * HOUR)
    faults = validate(instance, replace(found, reservations=(late, found["k"])))
    assert "run-window" in {item.check for item in faults}


@pytest.mark.behaviour("TBR-19", "LOP-01")
@pytest.mark.parametrize(
    ("windows", "said"),
    [
        ({"run_window": "2-4"}, "is longer than every run window (2-4) of its queue"),
        (
            {"run_window": "2-6", "dispatch_window": "4-6"},
            "the dispatch and run windows of its queue and hosts allow no start",
        ),
    ],
)
def test_a_job_that_fits_into_no_window_says_which(windows: dict[str, str], said: str) -> None:
    instance = problem(job("j", 1, run_limit=3 * HOUR), queues=queue(**windows))
    for method in ("optimal", "milp"):
        found = plan(instance, method, effort=10)
        assert [(item.job, item.reason) for item in found.unplaced] == [("j", said)]
        assert found.status == "infeasible"


@pytest.mark.behaviour("TBR-19")
def test_host_windows_close_a_host_for_starts_only() -> None:
    """A takes jobs from 3 to 5, B from 4 to 6; a job that runs goes on after the window."""
    hosts = (host("A", windows="3-5"), host("B", windows="4-6"))
    instance = two_hours("j", "k", hosts=hosts)
    assert starts(instance) == {"j": 4, "k": 28}
    assert starts(two_hours("j", "k", slots=4, hosts=hosts)) == {"j": 3, "k": 4}
    planned = plan(instance, effort=10)["j"]
    assert planned.waits_for == "the dispatch window of A and B is closed"


@pytest.mark.behaviour("TBR-19")
def test_an_advance_reservation_keeps_its_slots_and_jobs_that_end_before_it_run() -> None:
    kept = AdvanceReservation("maintenance", 2 * HOUR, 5 * HOUR, {"A": 4, "B": 4, "C": 2})
    instance = two_hours("j", "k", "l", slots=12, advance_reservations=(kept,))
    assert starts(instance) == {"j": 0, "k": 5, "l": 7}
    earlier = replace(kept, start=2 * HOUR - 1)
    assert starts(replace(instance, advance_reservations=(earlier,))) == {"j": 5, "k": 7, "l": 9}
    assert starts(instance, as_lsf=True) == {"j": 0, "k": 2, "l": 4}
    small = two_hours("j", "k", "l", slots=2, advance_reservations=(earlier,))
    assert starts(small) == {"j": 0, "k": 2, "l": 4}
    assert plan(small, effort=10)["l"].allocation == {"C": 2}
    large = plan(replace(instance, advance_reservations=(earlier,)), effort=10)["j"]
    assert large.waits_for.endswith("free when advance reservation maintenance ends")
    past = AdvanceReservation("past", 0, 1 * HOUR, {"A": 4, "B": 4, "C": 2})
    both = replace(instance, advance_reservations=(past, earlier))
    name = "advance reservation maintenance"
    ends = f"until {name} starts; free when {name} ends"
    assert large.waits_for == f"needs 12 free slots for 2h: free now, but only for 1h 59m, {ends}"
    assert plan(both, effort=10)["j"].waits_for.endswith(ends)


@pytest.mark.behaviour("TBR-19", "PLC-13", "PLC-11")
@pytest.mark.parametrize("kind", ["-x", "cu[excl]"])
def test_an_advance_reservation_counts_as_another_job_for_exclusive_ones(kind: str) -> None:
    """One slot of r1a is set aside for an hour in two hours: r1 is not the job's own."""
    kept = AdvanceReservation("one", 1 * HOUR, 2 * HOUR, {"r1a": 1})
    exclusive = kind == "-x"
    wanted = job(
        "j", 4, *(() if exclusive else ("cu[excl]",)), exclusive=exclusive, run_limit=2 * HOUR
    )
    queues = (Queue("default", exclusive="CU[rack]"),)
    instance = problem(
        wanted, cluster=racks(r1=1, r2=1), queues=queues, advance_reservations=(kept,)
    )
    assert plan(instance, effort=10)["j"].allocation == {"r2a": 4}
    alone = replace(instance, cluster=racks(r1=1))
    assert starts(alone) == {"j": 2}


def printed(instance: Instance, *command: str) -> str:
    """What a command prints of an instance, in one line."""
    done = CliRunner().invoke(app, [command[0], "-", *command[1:]], input=dump(instance))
    return " ".join((done.stdout + done.stderr).split())


@pytest.mark.behaviour("TBR-19")
def test_what_moved_is_said() -> None:
    instance = two_hours("j", "k", queues=queue(dispatch_window="2-4"))
    found = plan(instance, effort=10)
    assert found.notes == tuple(
        f"windows or advance reservations move job {name}: LSF's estimate, which ignores them, "
        "is now"
        for name in "jk"
    )
    assert found.notes[0] in printed(instance, "solve", "--method", "optimal")
    assert found.to_dict()["notes"] == list(found.notes)
    shown = compare(instance, effort=10, methods=True)
    assert found.notes[1] in printed(instance, "compare", "--methods")
    assert [(row.time_based_estimate, row.optimal_estimate) for row in shown] == [
        (0, 2 * HOUR),
        (0, 2 * HOUR),
    ]
    assert plan(instance, effort=10, as_lsf=True).notes == ()
    assert plan(two_hours("j"), effort=10).notes == ()


@pytest.mark.behaviour("TBR-19")
def test_deadlines_are_what_the_tardiness_objective_looks_at() -> None:
    """In order the second job would end at 200, 100 late; the other way round nothing is late."""
    instance = problem(
        job("first", 4, deadline=500), job("urgent", 4, deadline=100), hosts=(host("A"),)
    )
    found = plan(instance, "optimal", objective="tardiness", effort=20)
    assert (found["urgent"].start, found["first"].start) == (0, 100)
    assert (found.value, found.status) == (0, "optimal")
    assert "urgent" not in plan(instance, effort=10)


@pytest.mark.behaviour("PLC-11")
def test_an_exclusive_unit_takes_no_other_job_while_it_is_used() -> None:
    cluster = racks(r1=2, r2=2)
    instance = problem(
        job("owner", 5, "cu[excl]"),
        job("small", 1, "select[type==any]"),
        job("large", 9),
        cluster=cluster,
        queues=queue(exclusive="CU[rack]"),
        running=(running("r", {"r1b": 1}, run_limit=30),),
    )
    for method in ("time-based", "optimal"):
        found = plan(instance, method, effort=10)
        assert (found["owner"].start, set(found["owner"].allocation)) == (0, {"r2a", "r2b"})
        assert (found["small"].start, set(found["small"].allocation)) == (0, {"r1a"})
        assert found["large"].start == 100
        assert validate(instance, found) == []


@pytest.mark.behaviour("PLC-11")
def test_a_running_owner_of_a_unit_keeps_others_out() -> None:
    busy = (running("r", {"r1a": 1}, "cu[excl]"),)
    instance = problem(
        job("j", 9), cluster=racks(r1=2, r2=2), queues=queue(exclusive="CU[rack]"), running=busy
    )
    assert plan(instance, "time-based")["j"].start == 100


@pytest.mark.behaviour("RSV-07")
@pytest.mark.parametrize(
    ("usage", "start", "alternative"),
    [
        ("rusage[mem=20||mem=10:swp=20]", 0, 1),
        ("rusage[mem=10||mem=20]", 0, 0),
        ("rusage[mem=20||mem=10:swp=60]", 100, 0),
        ("rusage[mem=20||mem=(15 5):duration=(10)||mem=(10 5):duration=(10)]", 0, 2),
    ],
)
def test_rusage_alternatives_are_tried_in_order(usage: str, start: int, alternative: int) -> None:
    """10 of 20 MB memory and all of 50 MB swap are free until second 100."""
    hosts = (host("A", amounts={"mem": 20.0, "swp": 50.0}),)
    busy = (running("r", {"A": 1}, "rusage[mem=10]"),)
    instance = problem(job("j", 1, usage), hosts=hosts, running=busy)
    for method in ("time-based", "optimal"):
        found = plan(instance, method, effort=10)
        assert (found["j"].start, found["j"].alternative) == (start, alternative)
        assert validate(instance, found) == []


def starts_now(instance: Instance) -> bool:
    found = plan(instance, "time-based")
    assert validate(instance, found, as_lsf=True) == []
    return "j" in found and found["j"].start == 0


@pytest.mark.behaviour("RSV-08")
@pytest.mark.parametrize(
    ("method", "shared", "on_each_host"),
    [("PER_JOB", 2, 2), ("PER_HOST", 4, 2), ("PER_SLOT", 24, 12)],
)
def test_reservation_usage_of_shared_and_host_based_resources(
    method: str, shared: int, on_each_host: int
) -> None:
    """Six slots on each of two hosts, 2 a use: how much there must be for the job to start."""
    usage = (ReservationUsage("lic", method),)
    wanted = job("j", 12, "rusage[lic=2]")
    for more, fits in ((0.0, True), (-0.5, False)):
        floating = Cluster(
            (host("A", 6), host("B", 6)), shared=(SharedResource("lic", shared + more),)
        )
        assert starts_now(problem(wanted, cluster=floating, reservation_usage=usage)) == fits
        hosts = tuple(host(name, 6, amounts={"lic": on_each_host + more}) for name in "AB")
        assert starts_now(problem(wanted, hosts=hosts, reservation_usage=usage)) == fits


@pytest.mark.behaviour("RSV-08")
@pytest.mark.parametrize(("per_slot", "least"), [(False, 100), (True, 300)])
def test_resource_reserve_per_slot_governs_the_rest(per_slot: bool, least: int) -> None:
    params = Params(reserve_per_slot=per_slot)
    for amount, fits in ((least, True), (least - 1, False)):
        hosts = (host("A", amounts={"mem": float(amount)}),)
        instance = problem(job("j", 3, "rusage[mem=100]"), hosts=hosts, params=params)
        assert starts_now(instance) == fits


@pytest.mark.behaviour("RSV-02", "RSV-09")
def test_a_decaying_phase_falls_to_the_next_amount_by_steps_of_a_minute() -> None:
    """600 MB fall to 300 in ten minutes, then 300 to nothing in five."""
    held = reservation("mem", (600.0, 300.0), (600, 300), (1, 1))
    assert [held.at(time) for time in (0, 90, 600, 750, 900)] == [600, 555, 300, 150, 0]
    assert [held.planned_at(time) for time in (0, 59, 60, 119, 600, 659)] == [
        *(600, 600, 570, 570, 300, 300)
    ]
    assert all(held.planned_at(time) >= held.at(time) for time in range(0, 1000, 7))
    assert held.drops() == tuple(range(60, 901, 60))
