"""Time-based reservation: instants, durations, order, future allocations, backfill."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import slotwise as sw
from hypothesis import given
from hypothesis_profiles import examples
from judging import host, job, problem, racks, running
from random_instances import instances
from slotwise import (
    Application,
    Cluster,
    Instance,
    Job,
    Queue,
    RunningJob,
    loads,
)
from slotwise.model.duration import expected_finish
from slotwise.model.plan import FORMATTERS
from slotwise.solver.planning import plan
from slotwise.solver.scheduler.simulation import simulate
from slotwise.solver.validate import validate

HOUR = 3600
MINUTE = 60


@pytest.mark.behaviour("TBR-07")
def test_qat_starts_at_the_end_of_qat25_on_all_three_hosts() -> None:
    instance = sw.load(sw.example("qat-time-based"))
    assert plan(instance, "greedy")["11898"].reserved == {"qat26": 2}
    for method in ("time-based", "optimal"):
        planned = plan(instance, method, effort=10)["11898"]
        assert (planned.start, planned.finish) == (12 * HOUR, 26 * HOUR)
        assert planned.allocation == {"qat24": 2, "qat25": 2, "qat26": 2}
        assert planned.waits_for.endswith("free when 11896 ends")
    assert plan(instance, effort=10)["11898"].proved


@pytest.mark.behaviour("TBR-08", "TBR-06")
def test_sierra_starts_when_node_0_is_free_on_nodes_0_2_and_3() -> None:
    instance = sw.load(sw.example("sierra-nodes"))
    assert plan(instance, "greedy")["11902"].reserved == {"sierra2": 2, "sierra3": 2}
    for method in ("time-based", "optimal"):
        planned = plan(instance, method, effort=10)["11902"]
        assert planned.start == 10 * HOUR
        assert planned.allocation == {"sierra0": 2, "sierra2": 2, "sierra3": 2}
        assert FORMATTERS["rms"](planned.allocation) == "rms_alloc=2*sierra[0,2-3]"
        assert FORMATTERS["lsf"](planned.allocation) == "alloc=2*sierra0 2*sierra2 2*sierra3"


@pytest.mark.behaviour("TBR-02", "RSV-09")
def test_ends_of_memory_phases_are_instants_for_the_optimum_only() -> None:
    """600 MB for ten minutes, 300 to the thirtieth, 100 to the end after two hours; 1000 in all."""
    instance = sw.load(sw.example("memory-phases"))
    literal = plan(instance, "time-based")
    assert (literal["job2"].start, literal["job3"].start) == (2 * HOUR, 2 * HOUR)
    assert literal["job2"].waits_for == (
        "needs 1 free slot and 500 MB of mem (now 0; free slots: 3; mem on a host with a free "
        "slot: "
        "400 MB at best); free when job1 ends"
    )
    # So does the plan that the exact methods begin with, in which job3 fits before job2.
    first = plan(instance, "optimal", time_limit=0)
    assert (first["job2"].start, first["job3"].start) == (2 * HOUR, 0)
    exact = plan(instance, "optimal", effort=10)
    assert (exact["job2"].start, exact["job3"].start) == (10 * MINUTE, 25 * MINUTE)
    assert exact.status == "optimal"


@pytest.mark.behaviour("RSV-02", "RSV-03")
@pytest.mark.parametrize(
    ("usage", "minutes"),
    [
        ("rusage[tmp=30:duration=30:decay=1]", 10),  # falls by 1 MB a minute
        ("rusage[tmp=30:duration=30:decay=0]", 30),
        ("rusage[tmp=30:duration=30:decay=5]", 30),
        ("rusage[tmp=30:duration=30]", 30),
        ("rusage[tmp=30:decay=1]", 60),  # no duration: for the job's life
        ("rusage[tmp=30:duration=1h]", 60),
        ("rusage[tmp=30:duration=600s]", 10),
    ],
)
def test_what_a_running_job_holds_falls_by_duration_and_decay(usage: str, minutes: int) -> None:
    """30 of 60 MB are held; who wants 40 waits until 20 are held at most."""
    hosts = (host("A", amounts={"tmp": 60.0}),)
    busy = (running("r", {"A": 1}, usage, run_limit=HOUR),)
    instance = problem(job("j", 1, "rusage[tmp=40]"), hosts=hosts, running=busy)
    assert plan(instance, effort=10)["j"].start == minutes * MINUTE


@pytest.mark.behaviour("TBR-02")
@examples(60)
@given(instances(most_hosts=5, most_jobs=4))
def test_every_start_is_now_or_the_finish_of_a_running_or_planned_job(instance: Instance) -> None:
    instants = {instance.now, *(expected_finish(instance, run) for run in instance.running)}
    found = [item for item in plan(instance, "time-based") if item.start is not None]
    assert {item.start for item in found} <= instants | {item.finish for item in found}


@pytest.mark.behaviour("SUB-04")
def test_a_job_runs_past_its_estimate_until_its_limit() -> None:
    """The scheduler takes it to end at any moment; the limit kills it."""
    first = Job("j", 4, run_limit=100, estimated_run_time=30, run_time=500)
    second = Job("next", 4, run_limit=10, submit=1)
    instance = replace(problem(hosts=(host("A"),)), future=(first, second))
    result = simulate(instance, cycle=1)
    assert next((job.job, job.start, job.end) for job in result.jobs) == ("j", 0, 100)
    assert next(job for job in result.jobs if job.job == "next").start >= 100


LIMITS = (  # default and maximum of the queue, the application's, what is granted
    (240, None, 60, 60),
    (60, None, 240, 240),
    (180, 240, 60, 60),
    (60, 100, 240, 100),
    (None, 100, 240, 100),
    (None, 100, 60, 60),
    (None, 100, None, 100),
    (200, 100, None, 100),
)


@pytest.mark.behaviour("TBR-03")
@pytest.mark.parametrize(("default", "most", "own", "granted"), LIMITS)
@pytest.mark.parametrize("name", ["run_limit", "cpu_limit"])
def test_the_limit_of_an_application_overrides_the_default_of_its_queue(
    name: str, default: int | None, most: int | None, own: int | None, granted: int
) -> None:
    """It cannot exceed the maximum; CPULIMIT of a queue is one number, its maximum."""
    if name == "run_limit":
        queue = Queue("default", run_limit=default, run_limit_max=most)
    elif most is None:
        return
    else:
        queue = Queue("default", cpu_limit=most)
    instance = Instance(
        Cluster((host("A"),)),
        queues=(queue,),
        applications=(Application("app", **{name: own}),),
        pending=(
            Job("j", 4, application="app", submit=-1, run_time=1000),
            Job("next", 1, run_limit=5),
        ),
    )
    for method in ("greedy", "time-based", "optimal"):
        found = plan(instance, method, effort=10)
        assert found["j"].finish == granted
        assert validate(instance, found) == []
    if name == "run_limit":
        assert simulate(instance, cycle=1)["j"].end == granted


@pytest.mark.behaviour("TBR-03")
def test_a_running_job_of_unknown_end_frees_nothing() -> None:
    busy = (running("endless", {"A": 1}, run_limit=None), running("r", {"B": 4}))
    instance = problem(job("j", 8), hosts=(host("A"), host("B")), running=busy)
    for method in ("time-based", "optimal"):
        found = plan(instance, method, effort=10)
        assert "j" not in found
        assert found.unplaced[0].reason == (
            "waits for jobs whose end is unknown (no run limit): endless"
        )
    seven = replace(instance, pending=(job("j", 7),))
    assert plan(seven, "time-based")["j"].start == 100


@pytest.mark.behaviour("TBR-04", "FSH-16", "LOP-04")
def test_order_by_queue_then_job_priority_then_submission_then_listing() -> None:
    queues = (Queue("low", 10), Queue("high", 20))
    jobs = (
        job("e", 4, queue="low", priority=90, submit=-9),
        job("c", 4, queue="high", submit=-1),
        job("d", 4, queue="high", submit=-1),
        job("b", 4, queue="high", submit=-5),
        job("a", 4, queue="high", priority=50),
    )
    found = plan(problem(*jobs, hosts=(host("A"),), queues=queues), "time-based")
    assert [item.job for item in found] == ["a", "b", "c", "d", "e"]
    assert [item.start for item in found] == [0, 100, 200, 300, 400]


@pytest.mark.behaviour("TBR-18", "TBR-04")
@pytest.mark.parametrize(("limit", "start"), [(5400, 1800), (5401, 10800)])
def test_a_job_backfills_if_it_ends_by_the_start_of_the_reserved_one(
    limit: int, start: int
) -> None:
    """From 8:30 to 10:00 three slots are free; at 10:00 job2 needs all four for an hour."""
    instance = sw.load(sw.example("backfill"))
    job2, job3, _ = instance.pending
    wanted = replace(job3, run_limit=limit)
    found = plan(replace(instance, pending=(job2, wanted)), "time-based")
    assert (found["job2"].start, found["job3"].start) == (2 * HOUR, start)


@pytest.mark.behaviour("TBR-18")
def test_a_job_of_unknown_end_does_not_backfill() -> None:
    instance = sw.load(sw.example("backfill"))
    job2, job3, _ = instance.pending
    endless = replace(job3, run_limit=None)
    found = plan(replace(instance, pending=(job2, endless)), "time-based")
    assert (found["job2"].start, found["job3"].start) == (2 * HOUR, 3 * HOUR)


@pytest.mark.behaviour("MEM-08")
@pytest.mark.parametrize("example", ["memory-pending", "memory-backfill"])
def test_memory_counts_with_slots(example: str) -> None:
    """Eight slots are free, 200 MB too few: job3 starts when job1 and job2 end."""
    instance = sw.load(sw.example(example))
    planned = plan(instance, "time-based")["job3"]
    assert (planned.start, planned.allocation) == (300 * MINUTE, {"hostA": 1})
    assert re.search(r"\d+ MB of mem\b", planned.waits_for)


def run_on(instance: Instance) -> dict[str, int]:
    """Start of each job if the plan is made anew whenever one of its jobs has started."""
    starts: dict[str, int] = {}
    while True:
        planned = [item for item in plan(instance, "time-based") if item.start is not None]
        now = min((item.start for item in planned if item.start is not None), default=None)
        if now is None:
            return starts
        begun = {item.job: item for item in planned if item.start == now}
        starts |= dict.fromkeys(begun, now)
        ends = [(held, expected_finish(instance, held)) for held in instance.running]
        still = [held for held, end in ends if end is None or end > now]
        still += [
            RunningJob(item, now, begun[item.id].allocation, alternative=begun[item.id].alternative)
            for item in instance.pending
            if item.id in begun
        ]
        left = tuple(item for item in instance.pending if item.id not in begun)
        instance = replace(instance, now=now, running=tuple(still), pending=left)


@pytest.mark.behaviour("TBR-05")
@examples(60)
@given(instances())
def test_a_time_based_plan_comes_true_when_the_cycle_runs_on(instance: Instance) -> None:
    """No column SIMULATED is needed for it: with the same limits the next cycle says the same."""
    found = plan(instance, "time-based")
    assert run_on(instance) == {item.job: item.start for item in found if item.start is not None}


@pytest.mark.behaviour("RSV-01")
def test_a_selection_by_memory_sees_what_is_left_in_a_plan_as_in_the_loop() -> None:
    hosts = (host("A", amounts={"mem": 1000.0}),)
    busy = running("r", {"A": 2}, "rusage[mem=800]")
    chosen, reserved = "select[mem>600]", "rusage[mem=600]"
    for asked in (chosen, f"{chosen} {reserved}"):
        instance = problem(job("j", 2, asked, run_time=100), hosts=hosts, running=(busy,))
        assert plan(instance, "time-based")["j"].start == 100
        assert sw.simulate(instance).starts["j"] == 120  # the first cycle after the end of r


@pytest.mark.behaviour("TBR-13")
@pytest.mark.parametrize("pref", ["config", "maxavail", "minavail"])
def test_reservation_takes_units_in_configuration_order_whatever_is_preferred(pref: str) -> None:
    """At 100 r1 has four free slots, r2 eight, r3 twelve."""
    ends = (
        running("short", {"r1a": 4, "r2a": 4, "r2b": 4, "r3a": 4, "r3b": 4, "r3c": 4}),
        running("long", {"r1b": 4, "r1c": 4, "r2c": 4}, run_limit=999),
    )
    wanted = job("j", 4, f"cu[pref={pref}]")
    instance = problem(wanted, cluster=racks(r1=3, r2=3, r3=3), running=ends)
    planned = plan(instance, "time-based")["j"]
    assert (planned.start, planned.allocation) == (100, {"r1a": 4})


@pytest.mark.behaviour("PLC-06", "PLC-09")
@pytest.mark.parametrize("method", ["greedy", "time-based", "optimal"])
@pytest.mark.parametrize("balance", ["", ":balance"])
@pytest.mark.parametrize(("pref", "unit"), [("config", 1), ("maxavail", 3), ("minavail", 2)])
def test_what_starts_now_takes_units_as_it_prefers(
    method: str, balance: str, pref: str, unit: int
) -> None:
    """Nothing is reserved for it: r1 has eight free slots, r2 five, r3 twelve."""
    busy = running("r", {"r1a": 4, "r2a": 4, "r2b": 3}, run_limit=999)
    wanted = job("j", 5, f"cu[pref={pref}{balance}]")
    instance = problem(wanted, cluster=racks(r1=3, r2=3, r3=3), running=(busy,))
    planned = plan(instance, method)["j"]
    assert planned.start == 0
    assert {host[:2] for host in planned.allocation} == {f"r{unit}"}


CHUNKED = """
format: slotwise/1
params: {LSB_TIME_RESERVE_NUMJOBS: %d}
hosts: [{name: hostA, slots: 4}]
queues: [{name: default, CHUNK_JOB_SIZE: %d}]
"""


@pytest.mark.behaviour("TBR-15")
def test_job_chunking_is_refused_beside_time_based_reservation() -> None:
    with pytest.raises(sw.InputError) as caught:
        loads(CHUNKED % (4, 3))
    assert [str(item) for item in caught.value.problems] == [
        "line 5: queues[0].CHUNK_JOB_SIZE: job chunking of queue default cannot be combined "
        "with time-based reservation: remove CHUNK_JOB_SIZE or LSB_TIME_RESERVE_NUMJOBS"
    ]
    assert loads(CHUNKED % (0, 3)).queue("default").chunk_job_size == 3
    assert loads(CHUNKED % (4, 1)).params.time_reserve_numjobs == 4
