"""Greedy slot reservation: what it holds now, what it estimates, and what really happens."""

from __future__ import annotations

from dataclasses import replace

import pytest
import slotwise as sw
from judging import host, job, problem, running
from slotwise import Instance, Params, Queue
from slotwise.cli.main import app
from slotwise.solver.advice.comparison import compare
from slotwise.solver.planning import plan
from slotwise.solver.validate import validate
from typer.testing import CliRunner

HOUR = 3600


def headline(order: tuple[int, int, int, int] = (3, 1, 4, 2)) -> Instance:
    """The documents' example; order: hours until the end of job1 to job4."""
    instance = sw.load(sw.example("headline"))
    hours = dict(zip(("job1", "job2", "job3", "job4"), order, strict=True))
    jobs = tuple(
        replace(run, job=replace(run.job, run_limit=HOUR * hours[run.job.id]))
        for run in instance.running
    )
    return replace(instance, running=jobs)


@pytest.mark.behaviour("GRD-05")
def test_headline_greedy_says_the_end_of_job4_and_time_based_the_end_of_job1() -> None:
    instance = headline()
    greedy = plan(instance, "greedy")["job5"]
    assert (greedy.start, greedy.estimate) == (None, 2 * HOUR)
    assert greedy.reserved == {"hostA": 1, "hostD": 1}
    for method in ("time-based", "optimal"):
        planned = plan(instance, method, effort=10)["job5"]
        assert planned.start == 3 * HOUR
        assert planned.allocation == {"hostA": 2, "hostC": 2, "hostD": 2}
        assert planned.waits_for == "needs 3 hosts with 2 free slots each (now 0); " + (
            "free when job1 ends"
        )
    assert plan(instance, effort=10)["job5"].proved


@pytest.mark.behaviour("GRD-05", "GRD-03")
def test_with_the_order_as_it_is_misprinted_both_methods_say_the_end_of_job1() -> None:
    """FT(Job2) < FT(Job1) < FT(Job4) < FT(Job3) shows no difference (docs/dev/semantics.md)."""
    instance = headline(order=(2, 1, 4, 3))
    assert plan(instance, "greedy")["job5"].estimate == 2 * HOUR
    assert plan(instance, "time-based")["job5"].start == 2 * HOUR


@pytest.mark.behaviour("GRD-01")
def test_it_reserves_the_free_slots_up_to_the_minimum() -> None:
    """Two hosts with three free slots each, no place for a job that wants one empty host."""
    busy = (running("r1", {"A": 1}), running("r2", {"B": 1}), running("r3", {"C": 4}))
    wanted = job("j", 8, max_slots=12)
    reserved = plan(problem(wanted, running=busy), "greedy")["j"].reserved
    assert reserved == {"A": 3, "B": 3}
    tiled = job("j", 4, "span[ptile=4]", max_slots=12)
    assert plan(problem(tiled, running=busy), "greedy")["j"].reserved == {"A": 3, "B": 1}


@pytest.mark.behaviour("GRD-01")
def test_slots_that_one_job_holds_are_not_free_for_the_next() -> None:
    busy = (running("r1", {"A": 4}), running("r2", {"B": 2, "C": 3}))
    found = plan(problem(job("first", 6), job("second", 1), running=busy), "greedy")
    assert found["first"].reserved == {"B": 2, "C": 1}
    assert (found["second"].start, found["second"].reserved) == (None, {})
    assert found["second"].estimate is None  # it holds nothing, so greedy has nothing to say


@pytest.mark.behaviour("GRD-02")
def test_of_groups_that_exclude_each_other_the_one_with_most_free_slots() -> None:
    """group1 has four free slots and is empty after five hours, group2 has one and is after two."""
    instance = sw.load(sw.example("candidate-groups"))
    waiting = plan(instance, "greedy")["job4"]
    assert (waiting.reserved, waiting.estimate) == ({"a2": 4}, 5 * HOUR)
    assert plan(instance, "time-based")["job4"].start == 2 * HOUR


@pytest.mark.behaviour("TBR-17")
def test_reserve_by_starttime_prefers_the_group_with_the_earliest_estimate() -> None:
    instance = sw.load(sw.example("candidate-groups"))
    params = replace(instance.params, reserve_by_starttime=True)
    waiting = plan(replace(instance, params=params), "greedy")["job4"]
    assert (waiting.reserved, waiting.estimate) == ({"b2": 1}, 2 * HOUR)


@pytest.mark.behaviour("GRD-04", "TBR-09")
@pytest.mark.parametrize(
    ("example", "name", "estimate", "real"),
    [
        ("headline", "job5", 2 * HOUR, 3 * HOUR),
        ("qat-time-based", "11898", 10 * HOUR, 12 * HOUR),
    ],
)
def test_the_estimate_is_too_early_where_topology_binds(
    example: str, name: str, estimate: int, real: int
) -> None:
    instance = sw.load(sw.example(example))
    (row,) = compare(instance, effort=10, methods=True)
    assert row.job == name
    assert (row.greedy_estimate, row.greedy_simulated) == (estimate, real)
    assert (row.time_based_estimate, row.optimal_estimate, row.proved) == (real, real, True)


@pytest.mark.behaviour("GRD-04", "TBR-09")
def test_the_estimate_is_worded_as_a_lower_bound() -> None:
    command = ["solve", "--example", "qat-time-based", "--method", "greedy"]
    text = CliRunner().invoke(app, command).stdout
    assert "no sooner than 01:39:13" in " ".join(text.split())
    assert "Times are of 2026-01-06." in text
    assert "2*qat26" in text


@pytest.mark.behaviour("GRD-06", "MEM-05")
def test_reserve_cycles_come_from_resource_reserve_before_slot_reserve() -> None:
    assert Queue("q", slot_reserve=20).reserve_cycles == 20
    assert Queue("q", slot_reserve=20, resource_reserve=5).reserve_cycles == 5
    assert Queue("q").reserve_cycles is None


@pytest.mark.behaviour("GRD-07", "TBR-04")
def test_a_job_without_a_place_in_the_future_falls_back_and_the_rest_go_on() -> None:
    """B never has two free slots again; by slots alone five are there when r ends."""
    hosts = (host("A"), host("B"))
    busy = (running("r", {"A": 4}), running("endless", {"B": 3}, run_limit=None))
    wanted = (job("wide", 4, "span[ptile=2]"), job("small", 1), job("later", 3))
    found = plan(problem(*wanted, hosts=hosts, running=busy), "time-based")
    wide = found["wide"]
    assert (wide.method, wide.start, wide.estimate) == ("greedy", None, 100)
    assert wide.reserved == {"B": 1}
    assert wide.fallback == "waits for jobs whose end is unknown (no run limit): endless"
    assert (found["small"].method, found["small"].start) == ("time-based", 100)
    assert (found["later"].start, found["later"].allocation) == (100, {"A": 3})


@pytest.mark.behaviour("GRD-07")
def test_a_job_that_no_method_can_place_is_listed_with_the_reason() -> None:
    found = plan(problem(job("j", 13)), "time-based")
    assert found.reservations == ()
    assert [(item.job, item.reason) for item in found.unplaced] == [
        (
            "j",
            "does not fit on this cluster even when it is empty: needs 13 free slots (has 12)",
        )
    ]


@pytest.mark.behaviour("TBR-01")
def test_time_based_reservation_is_off_unless_asked_for() -> None:
    assert Params().time_reserve_numjobs == 0
    busy = (running("r", {"A": 4, "B": 4, "C": 2}),)
    instance = problem(job("one", 6), job("two", 6), job("three", 6), running=busy)
    for count, timed in ((0, []), (1, ["one"]), (2, ["one", "two"])):
        found = plan(instance, "time-based", jobs=count)
        assert [item.job for item in found if item.method == "time-based"] == timed
        assert [item.job for item in found if item.method == "greedy"] == [
            name for name in ("one", "two", "three") if name not in timed
        ]


FIRST_HOST = """
format: slotwise/1
hosts: [{name: A, slots: 4}, {name: B, slots: 4}, {name: C, slots: 8}]
queues: [{name: q, SLOT_RESERVE: "MAX_RESERVE_TIME[100]", BACKFILL: Y}]
running:
  - {id: 1, queue: q, start: 0, run_limit: 10m, allocation: USED*B}
  - {id: 2, queue: q, start: 0, run_limit: 20m, allocation: 6*C}
pending:
  - {id: 100, bsub: '-q q -n SLOTS -W 30 -m "HOSTS" SPAN'}
  - {id: 101, bsub: '-q q -n 4 -W 60 -m A'}
"""


@pytest.mark.behaviour("GRD-01", "PLC-12")
@pytest.mark.parametrize(
    ("used", "slots", "hosts", "span", "held"),
    [
        (4, 8, "B! A C", "", {}),
        (3, 8, "B! A C", "", {"B": 1, "A": 4, "C": 2}),
        (3, 8, "A B! C", "", {"B": 1, "A": 4, "C": 2}),
        (4, 8, "others! A C", "", {}),
        (3, 8, "A C others!", "", {"B": 1, "A": 4, "C": 2}),
        (3, 4, "B! A C", "-R span[hosts=1]", {"B": 1}),
        (4, 4, "B! A C", "-R span[hosts=1]", {}),
        (4, 5, "B! A C", "-R span[ptile=2]", {}),
        (4, 8, "B A C", "", {"A": 4, "C": 2}),
    ],
)
def test_nothing_is_held_where_no_slot_of_a_first_execution_host_is(
    used: int, slots: int, hosts: str, span: str, held: dict[str, int]
) -> None:
    text = FIRST_HOST.replace("USED", str(used)).replace("SLOTS", str(slots))
    instance = sw.loads(text.replace("HOSTS", hosts).replace("SPAN", span))
    found = plan(instance, "greedy")
    assert found["100"].reserved == held
    assert not found.refused
    # Without a reservation the job behind starts; the judge objects to one without its first host.
    assert (found["101"].start == instance.now) == ("A" not in held)
    elsewhere = replace(found["100"], reserved={"C": 2})
    faults = validate(instance, replace(found, reservations=(elsewhere, found["101"])))
    assert [fault.check for fault in faults] == ["reserved"] * ("!" in hosts)
