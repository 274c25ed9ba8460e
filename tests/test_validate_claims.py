"""The judge on entries, times, windows and what a plan claims of itself."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from judging import Case, entry, faults, host, job, plan, problem, running
from slotwise import Application, PlannedJob, Queue, Unplaced
from slotwise.solver.validate import validate

HOUR = 3600
ONE = problem(job("j", 1))
TWO = problem(job("j", 2, weight=3.0), job("k", 2))
BUSY = problem(job("j", 4), running=(running("r", {"A": 3}),))
GOOD = {"j": (0, {"A": 2}), "k": (50, {"A": 2})}


def started(start: int = 0, **more: Any) -> PlannedJob:
    return entry(ONE, "j", (start, {"A": 1}), **more)


CASES = [
    Case(
        "a job that does not exist",
        ONE,
        {"j": (0, {"A": 1})},
        {"j": (0, {"A": 1}), "x": (0, {"A": 1})},
        ("entry: job x: there is no such pending job",),
    ),
    Case(
        "a job that runs",
        BUSY,
        {"j": (100, {"A": 4})},
        {"j": (100, {"A": 4}), "r": (100, {"B": 1})},
        ("entry: job r: it is already running",),
    ),
    Case(
        "a lost job",
        TWO,
        GOOD,
        {"j": (0, {"A": 2})},
        ("entry: job k: it is missing: neither among the reservations nor unplaced",),
    ),
    Case(
        "a start in the past",
        replace(ONE, now=10),
        {"j": (10, {"A": 1})},
        {"j": (9, {"A": 1})},
        ("start: job j: it starts at 9 s, now is 10 s",),
    ),
    Case(
        "a start before -b",
        problem(job("j", 1, begin=60)),
        {"j": (60, {"A": 1})},
        {"j": (59, {"A": 1})},
        ("start: job j: it starts at 59 s, -b allows no start before 60 s",),
    ),
    Case(
        "a wrong finish",
        ONE,
        {"j": (5, {"A": 1})},
        {"j": replace(started(), finish=99)},
        ("finish: job j: it finishes at 99 s, its expected duration gives 100 s",),
    ),
    Case(
        "a finish by the application's run time",
        problem(
            job("j", 1, run_limit=None, application="app"),
            applications=(Application("app", run_time=7),),
        ),
        {"j": PlannedJob("j", 1, 8, {"A": 1})},
        {"j": PlannedJob("j", 1, None, {"A": 1})},
        ("finish: job j: it finishes at no known time, its expected duration gives 8 s",),
    ),
    Case(
        "a finish that nothing tells",
        problem(job("j", 1, run_limit=None)),
        {"j": PlannedJob("j", 1, None, {"A": 1})},
        {"j": PlannedJob("j", 1, 8, {"A": 1})},
        ("finish: job j: it finishes at 8 s, its expected duration gives no known time",),
    ),
    Case(
        "an estimate with a finish",
        ONE,
        {"j": PlannedJob("j", None, estimate=10)},
        {"j": PlannedJob("j", None, 110, estimate=10)},
        ("finish: job j: it finishes at 110 s without a start",),
    ),
    Case(
        "an estimate in the past",
        replace(ONE, now=10),
        {"j": PlannedJob("j", None, estimate=10)},
        {"j": PlannedJob("j", None, estimate=9)},
        ("bound: job j: estimate 9 s is before now",),
    ),
    Case(
        "an estimate that holds hosts",
        ONE,
        {"j": PlannedJob("j", None, estimate=10)},
        {"j": PlannedJob("j", None, None, {"A": 1}, estimate=10)},
        ("allocation: job j: it has hosts without a start",),
    ),
    Case(
        "a start without hosts",
        ONE,
        {"j": (0, {"A": 1})},
        {"j": (0, {})},
        (
            "allocation: job j: it starts without hosts",
            "slots-asked: job j: it has 0 slots, but -n requests 1",
        ),
    ),
    Case(
        "an unknown host",
        ONE,
        {"j": (0, {"A": 1})},
        {"j": (0, {"A": 1, "Z": 1})},
        ("allocation: job j: there is no host Z",),
    ),
    Case(
        "no slot on a host",
        ONE,
        {"j": (0, {"A": 1})},
        {"j": (0, {"A": 1, "B": 0})},
        ("allocation: job j: it holds 0 slots on host B",),
    ),
    Case(
        "reserved slots that are not free",
        BUSY,
        {"j": PlannedJob("j", None, estimate=100, reserved={"A": 1, "B": 3})},
        {"j": PlannedJob("j", None, estimate=100, reserved={"A": 2})},
        ("reserved: job j: 2 slots reserved on host A at 0 s, 1 are free",),
    ),
    Case(
        "slots reserved twice",
        problem(job("j", 9), job("k", 9)),
        {
            "j": PlannedJob("j", None, estimate=0, reserved={"A": 3}),
            "k": PlannedJob("k", None, estimate=0, reserved={"A": 1}),
        },
        {
            "j": PlannedJob("j", None, estimate=0, reserved={"A": 3}),
            "k": PlannedJob("k", None, estimate=0, reserved={"A": 2}),
        },
        ("reserved: jobs j, k: 5 slots reserved on host A at 0 s, 4 are free",),
    ),
    Case(
        "a bound above the start",
        ONE,
        {"j": started(bound=0)},
        {"j": started(bound=1)},
        ("bound: job j: bound 1 s is above its start 0 s",),
    ),
    Case(
        "a proof without its bound",
        ONE,
        {"j": started(bound=0, proved=True)},
        {"j": started(5, bound=4, proved=True)},
        ("bound: job j: start 5 s is called proved, its bound is 4 s",),
    ),
    Case(
        "the queue's dispatch window",
        problem(job("j", 1), queues=(Queue("default", dispatch_window="(8:00-9:00)"),)),
        {"j": (9 * HOUR - 1, {"A": 1})},
        {"j": (9 * HOUR, {"A": 1})},
        (
            "dispatch-window: job j: it starts at 32400 s, outside DISPATCH_WINDOW (8:00-9:00) of "
            "queue default",
        ),
    ),
    Case(
        "a host's dispatch window",
        problem(job("j", 2), hosts=(host("A"), host("B", windows="8-9"))),
        {"j": (8 * HOUR, {"A": 1, "B": 1})},
        {"j": (8 * HOUR - 1, {"A": 1, "B": 1})},
        ("dispatch-window: job j: it starts at 28799 s, outside DISPATCH_WINDOW 8-9 of host B",),
    ),
    Case(
        "the queue's run window",
        problem(job("j", 1), queues=(Queue("default", run_window="8-9"),)),
        {"j": (9 * HOUR - 100, {"A": 1})},
        {"j": (9 * HOUR - 99, {"A": 1})},
        (
            "run-window: job j: it runs from 32301 s to 32401 s, not within RUN_WINDOW 8-9 of "
            "queue default",
        ),
    ),
]


@pytest.mark.behaviour("TBR-03", "TBR-19", "GRD-01")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_claims(case: Case) -> None:
    assert case.outcome() == ([], list(case.said))


@pytest.mark.behaviour("TBR-19")
def test_windows_bind_unless_as_lsf() -> None:
    queue = Queue("default", dispatch_window="8-9", run_window="8-9")
    instance = problem(job("j", 1), queues=(queue,))
    assert len(faults(instance, {"j": (0, {"A": 1})})) == 2
    assert faults(instance, {"j": (0, {"A": 1})}, as_lsf=True) == []


@pytest.mark.behaviour("TBR-19")
def test_a_job_without_an_end_starts_in_an_open_run_window_alone() -> None:
    """It is stopped as the window closes."""

    def verdict(window: str) -> list[str]:
        instance = problem(
            job("j", 1, run_limit=None), queues=(Queue("default", run_window=window),)
        )
        return faults(instance, {"j": PlannedJob("j", 0, None, {"A": 1})})

    assert verdict("0-0") == verdict("0-23") == []
    assert verdict("1-23") == [
        "run-window: job j: it runs from 0 s to no known time, not within RUN_WINDOW 1-23 of queue "
        "default"
    ]


@pytest.mark.behaviour("TBR-19")
def test_windows_count_from_the_origin() -> None:
    """Second 0 is Friday 18:00; the queue opens for the weekend at 19:00."""
    queue = Queue("default", dispatch_window="5:19:00-1:8:30")
    instance = problem(job("j", 1), queues=(queue,), origin="2024-03-15T18:00:00+00:00")
    assert faults(instance, {"j": (HOUR, {"A": 1})}) == []
    assert len(faults(instance, {"j": (HOUR - 1, {"A": 1})})) == 1


@pytest.mark.behaviour("TBR-19")
def test_windows_come_back_every_week() -> None:
    """Mondays from 8 to 9; second 0 is a Thursday, and the job starts three weeks later."""
    queue = Queue("default", dispatch_window="1:8:00-1:9:00")
    instance = problem(job("j", 1), queues=(queue,), origin="2026-01-01T00:00:00+00:00")
    for week in range(4):
        opens = (4 + 7 * week) * 24 * HOUR + 8 * HOUR
        assert faults(instance, {"j": (opens, {"A": 1})}) == []
        assert faults(instance, {"j": (opens + HOUR - 1, {"A": 1})}) == []
        assert len(faults(instance, {"j": (opens - 1, {"A": 1})})) == 1
        assert len(faults(instance, {"j": (opens + HOUR, {"A": 1})})) == 1


def test_a_job_that_stands_twice() -> None:
    double = replace(plan(ONE, {"j": (0, {"A": 1})}), unplaced=(Unplaced("j", "no place"),))
    assert [str(fault) for fault in validate(ONE, double)] == [
        "entry: job j: it is in the plan 2 times"
    ]


def test_unplaced_jobs_are_not_lost() -> None:
    assert faults(TWO, {"j": (0, {"A": 2})}, unplaced=(Unplaced("k", "too big"),)) == []


def test_a_plan_for_another_instant() -> None:
    assert faults(ONE, {"j": (0, {"A": 1})}, now=5)[0] == (
        "entry: the plan is made for 5 s, the instance's now is 0 s"
    )


def test_a_late_job_is_no_violation_where_tardiness_is_weighed() -> None:
    instance = problem(job("j", 1, deadline=10))
    late = {"j": (500, {"A": 1})}
    assert faults(instance, late, objective="tardiness", method="optimal") == []
    (told, _) = faults(instance, late)
    assert told.startswith("deadline: job j: it starts at 500 s, its termination time (-t) is 10 s")


@pytest.mark.parametrize(
    ("objective", "right"),
    [("total-start", 50), ("lexicographic", 50), ("weighted", 50), ("makespan", 150)],
)
def test_the_value_is_recomputed(objective: str, right: float) -> None:
    assert faults(TWO, GOOD, objective=objective, value=float(right)) == []
    assert faults(TWO, GOOD, objective=objective, value=None) == []
    assert faults(TWO, GOOD, objective=objective, value=right - 1.0) == [
        f"value: value {right - 1} is claimed, {objective} gives {right}"
    ]


def test_weights_count() -> None:
    late = {"j": (10, {"A": 2}), "k": (0, {"B": 2})}
    assert faults(TWO, late, objective="weighted", value=30.0) == []
    assert faults(TWO, late, objective="weighted", value=10.0) == [
        "value: value 10 is claimed, weighted gives 30"
    ]


def test_value_and_bound() -> None:
    assert faults(TWO, GOOD, value=50.0, bound=51.0) == ["value: bound 51 is above the value 50"]
    found = faults(TWO, GOOD, objective="weighted", status="optimal", value=50.0, bound=49.0)
    assert found == ["value: status optimal, but bound 49 is below the value 50"]


def test_status() -> None:
    assert faults(ONE, {"j": (0, {"A": 1})}, status="fine") == [
        "status: status fine is not one of optimal, feasible, heuristic, infeasible"
    ]
    assert faults(ONE, {"j": (0, {"A": 1})}, status="infeasible") == [
        "status: status infeasible, but no job is unplaced"
    ]
    assert faults(ONE, {"j": (0, {"A": 1})}, status="optimal") == [
        "status: status optimal, but the start of job j is not proved"
    ]
    assert faults(ONE, {"j": started(bound=0, proved=True)}, status="optimal") == []
    missing = (Unplaced("k", "too big"),)
    found = faults(
        TWO, {"j": (0, {"A": 2})}, status="optimal", objective="weighted", unplaced=missing
    )
    assert found == ["status: status optimal, but unplaced: k"]


LATE = problem(
    job("j", 2, run_limit=100, submit=-50, deadline=120, weight=2.5),
    job("k", 2, run_limit=4, submit=-8, deadline=30, weight=1 / 3),
)
#: j over [30, 130), k over [40, 44): 10 s and 14 s late; slowdowns 180/100 and 52/10.
THEIRS: Mapping[str, Any] = {"j": (30, {"A": 2}), "k": (40, {"B": 2})}
RIGHT = {
    "lexicographic": 70.0,
    "total-start": 70.0,
    "weighted": 75 + 40 / 3,
    "makespan": 130.0,
    "slowdown": (1.8 + 5.2) / 2,
    "tardiness": 25 + 14 / 3,
}


@pytest.mark.parametrize("objective", RIGHT)
def test_every_objective_is_recomputed(objective: str) -> None:
    right, late = RIGHT[objective], LATE
    if objective != "tardiness":  # elsewhere -t is not a due date
        plain = (replace(job, deadline=None) for job in LATE.pending)
        late = replace(LATE, pending=tuple(plain))
    claim = {"objective": objective, "method": "optimal"}
    assert faults(late, THEIRS, value=right, **claim) == []
    for wrong in (0.0, right * (1 + 1e-8), right - 1, -right):
        (found,) = faults(late, THEIRS, value=wrong, **claim)
        assert found.startswith("value: value")
        assert f"{objective} gives" in found


@pytest.mark.parametrize("objective", [*RIGHT][1:])
def test_value_and_bound_set_to_nothing(objective: str) -> None:
    forged = {"objective": objective, "status": "optimal", "value": 0.0, "bound": 0.0}
    assert any("is claimed" in fault for fault in faults(LATE, THEIRS, **forged))


@pytest.mark.parametrize("objective", [*RIGHT][1:])
@pytest.mark.parametrize("status", ["optimal", "infeasible"])
def test_a_proof_needs_a_bound_that_is_the_value(objective: str, status: str) -> None:
    right = RIGHT[objective]
    more = {"objective": objective, "status": status, "value": right}
    ours = [
        fault
        for bound in (None, right * (1 - 1e-8), right, float("nan"))
        for fault in faults(LATE, THEIRS, bound=bound, **more)
        if fault.startswith("value")
    ]
    assert [fault.split(", but ")[-1].split(" is ")[0] for fault in ours] == [
        "no bound",
        f"bound {right * (1 - 1e-8):.15g}",
        "value: bound nan",
    ]


def test_claims_that_are_no_numbers() -> None:
    assert faults(TWO, GOOD, value=float("nan")) == ["value: value nan is not a number"]
    assert faults(TWO, GOOD, value=float("inf")) == ["value: value inf is not a number"]
    assert faults(TWO, GOOD, bound=3.0) == ["value: bound 3 is claimed without a value"]


def test_a_small_value_is_held_to_its_digits() -> None:
    instance = problem(job("j", 2, weight=1e-9))
    late = {"j": (10, {"A": 2})}
    assert faults(instance, late, objective="weighted", value=1e-8) == []
    assert faults(instance, late, objective="weighted", value=0.0) != []
    assert faults(instance, late, objective="weighted", value=1.1e-8) != []


def test_an_unknown_objective() -> None:
    known = "lexicographic, weighted, total-start, makespan, slowdown, tardiness"
    assert faults(ONE, {"j": (0, {"A": 1})}, objective="flow") == [
        f"value: objective flow is not one of {known}"
    ]


def test_an_optimum_without_a_start() -> None:
    waits = PlannedJob("j", None, estimate=50)
    assert "status: status optimal, but job j has no start" in faults(
        ONE, {"j": waits}, objective="weighted", status="optimal"
    )
