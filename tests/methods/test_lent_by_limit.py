"""Held slots are lent until a run limit is over; what an exact plan says of who may stay on."""

from __future__ import annotations

import pytest
from loop_starts import simulated_starts
from slotwise import Instance, loads
from slotwise.solver.planning import plan

BY_LIMIT = "backfill by run limits (-W) instead of expected run times"

MINUTE = 60


def site(*pending: str) -> Instance:
    """One of three slots runs until 5 minutes, when big needs all of them."""
    jobs = "\n".join(f"    - {{id: s{number}, {asked}}}" for number, asked in enumerate(pending))
    return loads(f"""
    format: slotwise/1
    params: {{LSB_TIME_RESERVE_NUMJOBS: 9}}
    hosts: [{{name: A, slots: 3}}]
    queues: [{{name: q, BACKFILL: Y}}, {{name: late, BACKFILL: Y, IGNORE_DEADLINE: Y}}]
    running: [{{id: 9, start: 0, queue: q, allocation: 1*A, run_limit: 5m}}]
    pending:
    - {{id: big, bsub: -q q -n 3 -W 10}}
{jobs}
    """)


@pytest.mark.behaviour("TBR-18")
@pytest.mark.parametrize("method", ["optimal", "milp"])
@pytest.mark.parametrize(
    "asked",
    [
        "bsub: -q q -W 10 -We 4",  # its limit reaches into the start of big
        "bsub: -q q -We 4",  # without a limit nothing is lent
        "bsub: -q q -c 4",
    ],
)
def test_who_may_stay_beyond_its_gap_is_not_proved_to_start_in_it(method: str, asked: str) -> None:
    instance = site(asked)
    found = plan(instance, method, effort=1)  # type: ignore[arg-type]
    assert [(item.job, item.start, item.proved) for item in found] == [
        ("big", 5 * MINUTE, True),
        ("s0", 0, False),
    ]
    assert BY_LIMIT in found.left_out
    loop = simulated_starts(instance, "time-based")
    assert loop == {"big": 5 * MINUTE, "s0": 15 * MINUTE}
    as_lsf = plan(instance, method, effort=1, as_lsf=True)  # type: ignore[arg-type]
    assert {item.job: item.start for item in as_lsf} == loop
    assert BY_LIMIT not in as_lsf.left_out


@pytest.mark.behaviour("TBR-18")
@pytest.mark.parametrize("as_lsf", [False, True])
@pytest.mark.parametrize("asked", ["bsub: -q q -W 5 -We 4", "bsub: -q q -W 5"])
def test_whose_limit_ends_by_then_is_proved(asked: str, as_lsf: bool) -> None:
    instance = site(asked)
    found = plan(instance, "optimal", effort=1, as_lsf=as_lsf)
    assert [(item.start, item.proved) for item in found] == [(5 * MINUTE, True), (0, True)]
    assert BY_LIMIT not in found.left_out
    assert simulated_starts(instance, "time-based")["s0"] == 0


@pytest.mark.parametrize("method", ["optimal", "milp"])
def test_a_job_without_an_end_starts_in_its_run_window(method: str) -> None:
    """d starts and is stopped as the window closes: e has no slot then, f has one."""
    instance = loads("""
    format: slotwise/1
    origin: '2026-07-28T16:00:00+00:00'
    hosts: [{name: A, slots: 1}, {name: B, slots: 1}]
    queues: [{name: w, RUN_WINDOW: "16:00-17:00"}, {name: q}]
    pending:
    - {id: d, bsub: -q w -m A}
    - {id: e, bsub: -q q -W 5 -m A}
    - {id: f, bsub: -q q -W 5 -m B}
    """)
    found = plan(instance, method, effort=1)  # type: ignore[arg-type]
    assert {item.job: (item.start, item.proved) for item in found} == {
        "d": (0, True),
        "f": (0, True),
    }
    assert simulated_starts(instance, "none") == {"d": 0, "f": 0}
