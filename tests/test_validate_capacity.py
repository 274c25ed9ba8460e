"""The judge on what hosts and shared resources have, over time."""

from dataclasses import replace

import pytest
from judging import Case, entry, faults, host, job, plan, problem, racks, running
from slotwise import (
    AdvanceReservation,
    Cluster,
    Params,
    Queue,
    ReservationUsage,
    ResourceDefinition,
    RunningJob,
    SharedResource,
    Violation,
)
from slotwise.solver.validate import validate

MEMORY = (host("A", 4, amounts={"mem": 1000.0}), host("B", 4, amounts={"mem": 1000.0}))
LICENCE = Cluster(
    tuple(host(name) for name in "ABC"),
    resources=(ResourceDefinition("lic"),),
    shared=(SharedResource("lic", 3),),
)
EXCLUSIVE = (Queue("default", exclusive="Y"),)
UNITS = (Queue("default", exclusive="CU[rack]"),)

CASES = [
    Case(
        "slots beside a running job",
        problem(job("j", 2), running=(running("r", {"A": 3}),)),
        {"j": (100, {"A": 2})},
        {"j": (99, {"A": 2})},
        ("slots: job j: 5 slots in use on host A at 99 s, but it has 4",),
    ),
    Case(
        "slots beside a running job without an end",
        problem(job("j", 2), running=(running("r", {"A": 3}, run_limit=None),)),
        {"j": (10**9, {"B": 2})},
        {"j": (10**9, {"A": 2})},
        ("slots: job j: 5 slots in use on host A at 1000000000 s, but it has 4",),
    ),
    Case(
        "slots beside a planned job",
        problem(job("j", 3), job("k", 2)),
        {"j": (0, {"A": 3}), "k": (100, {"A": 2})},
        {"j": (0, {"A": 3}), "k": (50, {"A": 2})},
        ("slots: job k: 5 slots in use on host A at 50 s, but it has 4",),
    ),
    Case(
        "two that start together",
        problem(job("j", 3), job("k", 2)),
        {"j": (0, {"A": 3}), "k": (0, {"B": 2})},
        {"j": (0, {"A": 3}), "k": (0, {"A": 2})},
        ("slots: jobs j, k: 5 slots in use on host A at 0 s, but it has 4",),
    ),
    Case(
        "memory once a host",
        problem(
            job("j", 3, "rusage[mem=600]"),
            hosts=MEMORY,
            running=(running("r", {"A": 1}, "rusage[mem=500]"),),
        ),
        {"j": (0, {"B": 3})},
        {"j": (0, {"A": 1, "B": 2})},
        ("mem: job j: 1100 mem in use on host A at 0 s, but it has 1000",),
    ),
    Case(
        "one of an amount that a host has one of",
        problem(
            job("j", 1, "rusage[gpu=1]"),
            hosts=(host("A", 4, amounts={"gpu": 1.0}), host("B", 4, amounts={"gpu": 1.0})),
            running=(running("r", {"A": 1}, "rusage[gpu=1]"),),
        ),
        {"j": (0, {"B": 1})},
        {"j": (0, {"A": 1})},
        ("gpu: job j: 2 gpu in use on host A at 0 s, but it has 1",),
    ),
    Case(
        "memory a slot",
        problem(job("j", 3, "rusage[mem=400]"), hosts=MEMORY, params=Params(reserve_per_slot=True)),
        {"j": (0, {"A": 1, "B": 2})},
        {"j": (0, {"A": 3})},
        ("mem: job j: 1200 mem in use on host A at 0 s, but it has 1000",),
    ),
    Case(
        "memory that falls by phases",
        problem(
            job("j", 1, "rusage[mem=500]"),
            hosts=MEMORY[:1],
            running=(running("r", {"A": 1}, "rusage[mem=(800 400):duration=(1)]"),),
        ),
        {"j": (60, {"A": 1})},
        {"j": (59, {"A": 1})},
        ("mem: job j: 1300 mem in use on host A at 59 s, but it has 1000",),
    ),
    Case(
        "memory that decays, as a staircase of minutes",
        problem(
            job("j", 1, "rusage[mem=500]"),
            hosts=MEMORY[:1],
            running=(
                running("r", {"A": 1}, "rusage[mem=600:duration=10:decay=1]", run_limit=9000),
            ),
        ),
        {"j": (120, {"A": 1})},
        {"j": (119, {"A": 1})},
        ("mem: job j: 1040 mem in use on host A at 119 s, but it has 1000",),
    ),
    Case(
        "a licence once a job",
        problem(job("j", 5, "rusage[lic=2]"), job("k", 1, "rusage[lic=2]"), cluster=LICENCE),
        {"j": (0, {"A": 4, "B": 1}), "k": (100, {"C": 1})},
        {"j": (0, {"A": 4, "B": 1}), "k": (99, {"C": 1})},
        ("lic: job k: 4 lic in use at 99 s, there are 3",),
    ),
    Case(
        "a licence a host",
        problem(
            job("j", 4, "rusage[lic=2]"),
            cluster=LICENCE,
            reservation_usage=(ReservationUsage("lic", "PER_HOST"),),
        ),
        {"j": (0, {"A": 4})},
        {"j": (0, {"A": 2, "B": 2})},
        ("lic: job j: 4 lic in use at 0 s, there are 3",),
    ),
    Case(
        "a licence a slot",
        problem(
            job("j", 1, "rusage[lic=1]", max_slots=4),
            cluster=LICENCE,
            reservation_usage=(ReservationUsage("lic", "PER_SLOT"),),
        ),
        {"j": (0, {"A": 3})},
        {"j": (0, {"A": 4})},
        ("lic: job j: 4 lic in use at 0 s, there are 3",),
    ),
    Case(
        "a static shared resource knows no duration",
        problem(
            job("j", 1, "rusage[lic=2]"),
            cluster=LICENCE,
            running=(running("r", {"A": 1}, "rusage[lic=2:duration=1]"),),
        ),
        {"j": (100, {"A": 1})},
        {"j": (60, {"A": 1})},
        ("lic: job j: 4 lic in use at 60 s, there are 3",),
    ),
    Case(
        "a dynamic shared resource does",
        problem(
            job("j", 1, "rusage[lic=2]"),
            cluster=replace(LICENCE, shared=(SharedResource("lic", 3, static=False),)),
            running=(running("r", {"A": 1}, "rusage[lic=2:duration=1]"),),
        ),
        {"j": (60, {"A": 1})},
        {"j": (59, {"A": 1})},
        ("lic: job j: 4 lic in use at 59 s, there are 3",),
    ),
    Case(
        "a user-defined amount on the first host alone",
        problem(
            job("j", 2, "rusage[disk=5]"),
            cluster=Cluster(
                (host("A", amounts={"disk": 5.0}), host("B", amounts={"disk": 1.0})),
                resources=(ResourceDefinition("disk"),),
            ),
            reservation_usage=(ReservationUsage("disk", "PER_JOB"),),
        ),
        {"j": (0, {"A": 1, "B": 1})},
        {"j": (0, {"B": 1, "A": 1})},
        ("disk: job j: 5 disk in use on host B at 0 s, but it has 1",),
    ),
    Case(
        "-x beside a running job",
        problem(job("j", 1, exclusive=True), running=(running("r", {"A": 1}),), queues=EXCLUSIVE),
        {"j": (100, {"A": 1})},
        {"j": (0, {"A": 1})},
        ("alone: -x of job j allows no other job on host A at 0 s, job r is there",),
    ),
    Case(
        "a running -x job",
        problem(job("j", 1), running=(running("r", {"A": 1}, exclusive=True),), queues=EXCLUSIVE),
        {"j": (100, {"A": 1})},
        {"j": (50, {"A": 1})},
        ("alone: -x of job r allows no other job on host A at 50 s, job j is there",),
    ),
    Case(
        "a later job in an exclusive unit",
        problem(job("j", 1, "cu[excl]"), job("k", 1), cluster=racks(r1=2, r2=1), queues=UNITS),
        {"j": (0, {"r1a": 1}), "k": (99, {"r2a": 1})},
        {"j": (0, {"r1a": 1}), "k": (99, {"r1b": 1})},
        ("alone: cu[excl] of job j allows no other job on host r1b at 99 s, job k is there",),
    ),
    Case(
        "a running job in an exclusive unit",
        problem(
            job("j", 1, "cu[excl]"),
            cluster=racks(r1=2, r2=1),
            queues=UNITS,
            running=(running("r", {"r1b": 1}),),
        ),
        {"j": (0, {"r2a": 1})},
        {"j": (0, {"r1a": 1})},
        ("alone: cu[excl] of job j allows no other job on host r1b at 0 s, job r is there",),
    ),
    Case(
        "slots reserved in advance, from the start",
        problem(job("j", 3), advance_reservations=(AdvanceReservation("ar", 0, 500, {"A": 2}),)),
        {"j": (500, {"A": 3})},
        {"j": (450, {"A": 3})},
        (
            "slots: job j: 3 slots in use on host A at 450 s, but it has 4, 2 of them reserved "
            "in advance",
        ),
    ),
    Case(
        "slots reserved in advance, while it runs",
        problem(job("j", 3), advance_reservations=(AdvanceReservation("ar", 100, 500, {"A": 2}),)),
        {"j": (0, {"A": 3})},
        {"j": (1, {"A": 3})},
        (
            "slots: job j: 3 slots in use on host A at 100 s, but it has 4, 2 of them reserved "
            "in advance",
        ),
    ),
    Case(
        "-x beside an advance reservation",
        problem(
            job("j", 1, exclusive=True),
            queues=EXCLUSIVE,
            advance_reservations=(AdvanceReservation("ar", 100, 500, {"A": 2}),),
        ),
        {"j": (0, {"A": 1})},
        {"j": (50, {"A": 1})},
        (
            "alone: -x of job j allows no other job on host A at 100 s, advance reservation "
            "ar is there",
        ),
    ),
]


@pytest.mark.behaviour(
    "RSV-02", "RSV-03", "RSV-08", "RSV-09", "RSV-10", "PLC-11", "PLC-13", "TBR-19"
)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_capacity(case: Case) -> None:
    assert case.outcome() == ([], list(case.said))


@pytest.mark.behaviour("RSV-10")
def test_each_place_of_a_shared_resource_is_its_own() -> None:
    """The part of a job on the hosts of a place uses that place; other hosts reach nothing."""
    places = (SharedResource("lic", 2, frozenset("A")), SharedResource("lic", 1, frozenset("B")))
    instance = problem(job("j", 2, "rusage[lic=2]"), cluster=replace(LICENCE, shared=places))
    assert faults(instance, {"j": (0, {"A": 2})}) == []
    assert faults(instance, {"j": (0, {"A": 1, "B": 1})}) == [
        "lic: job j: 2 lic in use at 0 s, there are 1"
    ]
    assert faults(instance, {"j": (0, {"C": 2})}) == ["candidate: job j: host C has no lic"]


@pytest.mark.behaviour("RSV-07")
def test_the_alternative_that_was_taken_counts() -> None:
    instance = problem(
        job("j", 1, "rusage[mem=800||mem=300]"),
        hosts=MEMORY[:1],
        running=(RunningJob(job("r", 1, "rusage[mem=900||mem=600]"), 0, {"A": 1}, alternative=1),),
    )
    assert faults(instance, {"j": entry(instance, "j", (0, {"A": 1}), alternative=1)}) == []
    assert faults(instance, {"j": (0, {"A": 1})}) == [
        "mem: job j: 1400 mem in use on host A at 0 s, but it has 1000"
    ]


def test_the_overcommitment_of_running_jobs_is_told_and_no_planned_job_blamed() -> None:
    """Slots as the reader of files tells them; memory, which is only estimated, not at all."""
    crowd = tuple(running(f"r{i}", {"A": 3}, "rusage[mem=900]") for i in range(2))
    instance = problem(job("j", 1, "rusage[mem=50]"), hosts=MEMORY, running=crowd)
    told = "running: A has 4 slots, its running jobs use 6"
    assert faults(instance, {"j": (0, {"B": 1})}) == [told]
    assert faults(instance, {"j": (0, {"A": 1})}) == [
        told,
        "slots: job j: 7 slots in use on host A at 0 s, but it has 4",
        "mem: job j: 1850 mem in use on host A at 0 s, but it has 1000",
    ]


def test_as_lsf_leaves_advance_reservations_out() -> None:
    instance = problem(
        job("j", 3), advance_reservations=(AdvanceReservation("ar", 0, 500, {"A": 2}),)
    )
    assert len(faults(instance, {"j": (0, {"A": 3})})) == 1
    assert faults(instance, {"j": (0, {"A": 3})}, as_lsf=True) == []


def test_an_overdue_job_frees_its_slots_in_the_next_second() -> None:
    instance = problem(job("j", 4), running=(running("r", {"A": 4}),), now=500)
    assert faults(instance, {"j": (500, {"A": 4})}) != []
    assert faults(instance, {"j": (501, {"A": 4})}) == []


def test_a_violation_says_where() -> None:
    instance = problem(job("j", 5))
    (found,) = validate(instance, plan(instance, {"j": (7, {"A": 5})}))
    text = "job j: 5 slots in use on host A at 7 s, but it has 4"
    assert found == Violation("slots", text, "j", "A", 7)


def test_equal_running_jobs_of_several_terms_hold_what_each_term_asks() -> None:
    """r has 600 MB on A and s on B, each none on the other host: 400 are left on both."""
    asked = "1*{rusage[mem=600]} + 1*{rusage[mem=0]}"
    old = (running("r", {"A": 1, "B": 1}, asked), running("s", {"B": 1, "A": 1}, asked))
    for size, said in ((400, []), (401, [1001])):
        instance = problem(job("j", 1, f"rusage[mem={size}]"), hosts=MEMORY, running=old)
        for name in "AB":
            assert faults(instance, {"j": (100, {name: 1})}) == []
            assert faults(instance, {"j": (0, {name: 1})}) == [
                f"mem: job j: {most} mem in use on host {name} at 0 s, but it has 1000"
                for most in said
            ]
