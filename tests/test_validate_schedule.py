"""The judge on simulations: what it refuses, and where it sees a job wait that could start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest
import slotwise as sw
from judging import host, job, problem, running
from slotwise import (
    AdvanceReservation,
    Cluster,
    HostPartition,
    Instance,
    Job,
    Limit,
    Params,
    Queue,
    RunningJob,
    SharedResource,
)
from slotwise.solver.scheduler.simulation import simulate
from slotwise.solver.validate import validate_schedule

#: From when to when, and which slots of which hosts.
Held = tuple[int, int | None, Mapping[str, int]]


@dataclass
class Ran:
    """What a simulation says."""

    jobs: list[Any]
    time: int = 10_000
    log: tuple[Mapping[str, Any], ...] = ()
    settings: Any = field(default_factory=lambda: SimpleNamespace(reservation="none", cycle=0))


def ran(held: Mapping[str, tuple[Held, ...]], **more: Any) -> Ran:
    """Jobs by id with what they held; one that held nothing waits."""

    def record(name: str, parts: tuple[Held, ...]) -> Any:
        start = parts[0][0] if parts else None
        end = parts[-1][1] if parts else None
        status = "pending" if start is None else "running" if end is None else "done"
        return SimpleNamespace(
            **{"job": name, "start": start, "end": end, "status": status, "held": parts},
            alternative=0,
            requirement_alternative=0,
        )

    return Ran([record(name, parts) for name, parts in held.items()], **more)


def told(instance: Instance, held: Mapping[str, tuple[Held, ...]], **more: Any) -> list[str]:
    """The short names of what is wrong, each once."""
    found = validate_schedule(instance, ran(held, **more))  # type: ignore[arg-type]
    return list(dict.fromkeys(item.check for item in found))


def one(start: int, end: int | None, **slots: int) -> tuple[Held, ...]:
    """Slots from a start to an end."""
    return ((start, end, slots),)


ELEMENTS = tuple(job(f"7[{n}]", array_limit=1) for n in (1, 2))
AFTER = job("k", dependency="done(j)")
BUSY = problem(job("j", 4), running=(running("r", {"A": 2}),), hosts=(host("A"),))
LICENCE = Cluster((host("A"),), shared=(SharedResource("lic", 1.0),))
NIGHT = (Queue("default", dispatch_window="1:00-2:00"),)
DAY = (Queue("default", run_window="1:00-2:00"),)
BOOKED = (AdvanceReservation("ar", 50, 80, {"A": 3}),)
PARTS = tuple(HostPartition(name, (name,), (("user", 1),)) for name in "AB")
MEMORY = (host("A", amounts={"mem": 100.0}),)
WRONG: dict[str, tuple[Instance, Mapping[str, tuple[Held, ...]], str]] = {
    "slots beside a running job": (
        BUSY,
        {"r": one(0, 100, A=2), "j": one(50, 150, A=4)},
        "slots",
    ),
    "slots of two that run on": (
        problem(*(job(n, 3, run_limit=None) for n in "jk"), hosts=(host("A"),)),
        {"j": one(0, None, A=3), "k": one(500, None, A=3)},
        "slots",
    ),
    "%N": (
        problem(*ELEMENTS),
        {"7[1]": one(0, 100, A=1), "7[2]": one(99, 199, A=1)},
        "limit",
    ),
    "%N of an element that runs": (
        problem(ELEMENTS[1], running=(RunningJob(ELEMENTS[0], 0, {"A": 1}),)),
        {"7[1]": one(0, 100, A=1), "7[2]": one(1, 101, B=1)},
        "limit",
    ),
    "a limit": (
        problem(job("j"), job("k"), limits=(Limit("l", {"jobs": 1.0}),)),
        {"j": one(0, 100, A=1), "k": one(5, 105, B=1)},
        "limit",
    ),
    "a condition": (
        problem(job("j"), AFTER),
        {"j": one(0, 100, A=1), "k": one(99, 199, A=1)},
        "dependency",
    ),
    "a condition on a job that never starts": (
        problem(job("j"), AFTER),
        {"j": (), "k": one(0, 100, A=1)},
        "dependency",
    ),
    "-b": (problem(job("j", begin=60)), {"j": one(59, 159, A=1)}, "start"),
    "submission": (problem(job("j", submit=60)), {"j": one(59, 159, A=1)}, "submit"),
    "a dispatch window": (
        problem(job("j"), queues=NIGHT),
        {"j": one(0, 9, A=1)},
        "dispatch-window",
    ),
    "a run window": (problem(job("j"), queues=DAY), {"j": one(0, 9, A=1)}, "run-window"),
    "a run limit": (problem(job("j")), {"j": one(0, 101, A=1)}, "run-limit"),
    "a run limit, and it still runs": (problem(job("j")), {"j": one(0, None, A=1)}, "run-limit"),
    "a reservation": (
        problem(job("j", 2), hosts=(host("A"),), advance_reservations=BOOKED),
        {"j": one(0, 100, A=2)},
        "slots",
    ),
    "an interval after a job that has ended": (
        problem(job("j"), job("k"), params=Params(job_accept_interval=1)),
        {"j": one(0, 10, A=1), "k": one(59, 159, A=1)},
        "accept-interval",
    ),
    "a licence": (
        problem(*(job(n, 1, "rusage[lic=1]") for n in "jk"), cluster=LICENCE),
        {"j": one(0, 100, A=1), "k": one(50, 150, A=1)},
        "lic",
    ),
    "-x": (
        problem(job("j", exclusive=True), job("k"), queues=(Queue("default", exclusive="Y"),)),
        {"j": one(0, 100, A=1), "k": one(50, 150, A=1)},
        "alone",
    ),
    "memory of a job that is off its slots": (
        problem(*(job(n, 1, "rusage[mem=60]", run_limit=900) for n in "jk"), hosts=MEMORY),
        {"j": ((0, 50, {"A": 1}), (90, 200, {"A": 1})), "k": one(60, 80, A=1)},
        "mem",
    ),
    "slots of a job that goes on": (
        problem(job("j", 4, run_limit=900), job("k"), hosts=(host("A"),)),
        {"j": ((0, 50, {"A": 4}), (70, 200, {"A": 4})), "k": one(60, 80, A=1)},
        "slots",
    ),
    "growth into another partition": (
        problem(job("j", 1, max_slots=2, resizable=True, run_limit=900), partitions=PARTS),
        {"j": ((0, 50, {"A": 1}), (50, 200, {"A": 1, "B": 1}))},
        "partition",
    ),
    "the shape of what it grew to": (
        problem(job("j", 1, "span[hosts=1]", max_slots=2, resizable=True, run_limit=900)),
        {"j": ((0, 50, {"A": 1}), (50, 200, {"A": 1, "B": 1}))},
        "span",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_rule_that_a_simulation_breaks_is_told(name: str) -> None:
    instance, held, check = WRONG[name]
    assert told(instance, held) == [check]


RIGHT: dict[str, tuple[Instance, Mapping[str, tuple[Held, ...]]]] = {
    "slots that come free": (BUSY, {"r": one(0, 100, A=2), "j": one(100, 200, A=4)}),
    "%N": (problem(*ELEMENTS), {"7[1]": one(0, 100, A=1), "7[2]": one(100, 199, A=1)}),
    "a condition": (problem(job("j"), AFTER), {"j": one(0, 100, A=1), "k": one(100, 199, A=1)}),
    "preemption gives slots": (
        problem(job("j", 4, run_limit=900), job("k"), hosts=(host("A"),)),
        {"j": ((0, 60, {"A": 4}), (80, 200, {"A": 4})), "k": one(60, 80, A=1)},
    ),
    "a reservation that comes later": (
        problem(job("j", 2), hosts=(host("A"),), advance_reservations=BOOKED),
        {"j": one(0, 50, A=2)},
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_simulation_that_keeps_all_rules_is_right(name: str) -> None:
    assert told(*RIGHT[name]) == []


WAITS = problem(job("j", 2), job("k", 2), hosts=(host("A", 2),))


def idle(instance: Instance, held: Mapping[str, tuple[Held, ...]], **more: Any) -> list[str]:
    """What the judge says of jobs that wait."""
    found = validate_schedule(instance, ran(held, **more))  # type: ignore[arg-type]
    assert all(item.check == "idle" for item in found)
    return [str(item) for item in found]


def test_a_job_that_waits_beside_free_slots_is_told() -> None:
    late = {"j": one(0, 100, A=2), "k": one(160, 260, A=2)}
    assert idle(WAITS, late) == ["idle: job k: it waits at 100 s and could start on 2 of A"]
    assert idle(WAITS, {**late, "k": ()}) == idle(WAITS, late)
    assert idle(WAITS, {**late, "k": one(100, 200, A=2)}) == []
    # The next cycle is soon enough.
    grid = SimpleNamespace(reservation="none", cycle=60)
    assert idle(WAITS, {**late, "k": one(120, 220, A=2)}, settings=grid) == []
    assert len(idle(WAITS, late, settings=grid)) == 1


EXCUSES: dict[str, Instance] = {
    "-b": problem(job("j", begin=200)),
    "a condition that does not hold": problem(job("j", dependency="done(r)")),
    "a limit": problem(job("j"), limits=(Limit("l", {"slots": 0.0}),)),
    "no host that it may have": problem(job("j", 1, "select[type==X]")),
    "a window that is shut": problem(
        job("j"), queues=(Queue("default", dispatch_window="1:00-2:00"),)
    ),
    "a reservation": problem(
        job("j", 2), hosts=(host("A"),), advance_reservations=(replace(BOOKED[0], end=10_000),)
    ),
    "no share": problem(job("j", user="root"), queues=(Queue("default", user_shares=(("a", 1),)),)),
}


@pytest.mark.parametrize("name", EXCUSES)
def test_a_job_that_may_not_start_is_not_told(name: str) -> None:
    assert idle(EXCUSES[name], {"j": ()}, time=150) == []


def test_what_others_hold_is_not_free() -> None:
    """Slots that are held now, and a place in the future that the job would still be on."""
    greedy = SimpleNamespace(reservation="greedy", cycle=0)
    held = {"j": (), "k": ()}
    wide = problem(job("j", 4), job("k", 2), hosts=(host("A", 2),))
    for reserved, place, waits in (({"A": 2}, {}, 0), ({}, {"A": 2}, 0), ({}, {}, 1)):
        item = {"job": "j", "estimate": 50, "reserved": reserved, "allocation": place}
        log = ({"time": 0, "reservations": [item]},)
        assert len(idle(wide, held, log=log, settings=greedy)) == waits
    # A run that is over by then is in nobody's way.
    item = {"job": "j", "estimate": 100, "reserved": {}, "allocation": {"A": 2}}
    log = ({"time": 0, "reservations": [item]},)
    assert len(idle(wide, held, log=log, settings=greedy)) == 1


def test_the_library_judges_simulations() -> None:
    result = sw.simulate(WAITS, reservation="none")
    assert sw.validate(WAITS, result) == []
    wrong = replace(result, jobs=tuple(replace(item, start=0, end=9) for item in result.jobs))
    held = tuple(replace(item, held=((0, 9, {"A": 2}),)) for item in wrong.jobs)
    (violation,) = sw.validate(WAITS, replace(wrong, jobs=held))
    assert (violation.check, violation.host) == ("slots", "A")


@pytest.mark.behaviour("TBR-19")
@pytest.mark.parametrize("method", ["none", "greedy", "time-based"])
def test_what_comes_free_by_a_reservation_is_there_for_it(method: str) -> None:
    """r has two slots of A until the reservation of one begins: the two others are free until
    then and after it.
    """
    booked = (AdvanceReservation("ar", 100, 200, {"A": 1}),)
    instance = problem(
        job("j", 2, run_limit=500),
        running=(running("r", {"A": 2}),),
        hosts=(host("A"),),
        advance_reservations=booked,
    )
    result = simulate(instance, reservation=method, keep_log=True, cycle=0)  # type: ignore[arg-type]
    assert result["j"].start == 0
    assert validate_schedule(instance, result) == []
    # Of three slots that r has one second longer there are too few.
    run = (RunningJob(job("r", 2, run_limit=101), 0, {"A": 2}),)
    full = replace(instance, running=run, pending=(replace(instance.pending[0], slots=2),))
    later = simulate(full, reservation=method, keep_log=True, cycle=0)  # type: ignore[arg-type]
    assert later["j"].start == 101
    assert validate_schedule(full, later) == []


@pytest.mark.behaviour("LOP-06")
def test_a_job_that_was_preempted_goes_on_beside_a_reservation() -> None:
    """It has its four slots again when the reservation is over."""
    queues = (Queue("default"), Queue("high", 9, preemptive=("default",)))
    instance = problem(
        Job("h", 1, queue="high", run_limit=60),
        running=(running("r", {"A": 4}, run_limit=300),),
        hosts=(host("A"),),
        queues=queues,
        advance_reservations=(AdvanceReservation("ar", 90, 150, {"A": 4}),),
    )
    result = simulate(instance, keep_log=True, cycle=0)
    assert (result["h"].start, result["r"].held[-1][0]) == (0, 150)
    assert validate_schedule(instance, result) == []


@pytest.mark.behaviour("PLC-14", "FSH-08")
def test_a_job_grows_within_its_partition() -> None:
    instance = problem(
        job("j", 4, max_slots=8, resizable=True, run_limit=500),
        partitions=PARTS,
        queues=(Queue("default"),),
    )
    result = simulate(instance, keep_log=True, cycle=0)
    assert [dict(slots) for _, _, slots in result["j"].held] == [{"A": 4}]
    assert validate_schedule(instance, result) == []


@pytest.mark.behaviour("LOP-06", "TBR-07")
@pytest.mark.parametrize("fields", [{}, {"slot_reserve": 100}, {"resource_reserve": 100}])
def test_who_preempts_leaves_the_future_allocations_of_jobs_before_it(
    fields: dict[str, int],
) -> None:
    """wide waits for the whole host, which is free at 60 s: short, behind it, would suspend r."""
    queues = (Queue("default", **fields), Queue("high", 9, preemptive=("default",), **fields))
    instance = problem(
        Job("wide", 4, queue="high", run_limit=100),
        Job("short", 1, queue="high", run_limit=200),
        running=(
            running("r", {"A": 1}, run_limit=60),
            running("h", {"A": 3}, queue="high", run_limit=60),
        ),
        hosts=(host("A"),),
        queues=queues,
    )
    result = simulate(instance, reservation="time-based", top=2, keep_log=True, cycle=0)
    assert (result["wide"].start, result["short"].start) == (60, 160)
    assert validate_schedule(instance, result) == []
