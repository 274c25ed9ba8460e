"""The judge on random plans: what is valid passes, and a plan broken in one way never does."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from judging import faults, host, job, plan, problem, running
from slotwise import Cluster, ComputeUnit, Instance, Job, Limit, Plan, PlannedJob, Scope
from slotwise.solver.validate import validate

NAMES = "ABCDEF"


@st.composite
def valid_plans(draw: st.DrawFn) -> tuple[Instance, Plan]:
    """Jobs on two hosts each, in lanes of their own; a running job holds one lane until 40."""
    lanes = draw(st.integers(1, 3))
    hosts = tuple(host(name, 4, amounts={"mem": 1000.0}) for name in NAMES[: 2 * lanes])
    free_at = [40, *[0] * (lanes - 1)]
    jobs: list[Job] = []
    entries: list[PlannedJob] = []
    for number in range(draw(st.integers(1, 5))):
        lane, length = draw(st.integers(0, lanes - 1)), draw(st.integers(1, 50))
        slots = draw(st.integers(5, 8))
        start = free_at[lane]  # at once: a later one would be no proved start
        first, second = NAMES[2 * lane], NAMES[2 * lane + 1]
        jobs.append(job(f"j{number}", slots, "rusage[mem=600] span[ptile=4]", run_limit=length))
        place = {first: 4, second: slots - 4}
        entries.append(
            PlannedJob(f"j{number}", start, start + length, place, bound=start, proved=True)
        )
        free_at[lane] = start + length
    now_running = (running("r", {"A": 1}, "rusage[mem=600]", run_limit=40),)
    instance = problem(*jobs, hosts=hosts, running=now_running)
    value = float(sum(entry.start or 0 for entry in entries))
    good = plan(instance, {entry.job: entry for entry in entries})
    return instance, replace(good, status="optimal", value=value, bound=value)


Change = Callable[[PlannedJob], PlannedJob]
CHANGES: dict[str, Change] = {
    "starts in the past": lambda e: replace(e, start=-1),
    "ends early": lambda e: replace(e, finish=(e.finish or 0) - 1),
    "never ends": lambda e: replace(e, finish=None),
    "lacks a slot": lambda e: replace(e, allocation={NAMES[0]: 4}),
    "has a slot too many": lambda e: replace(e, allocation={**e.allocation, NAMES[1]: 5}),
    "is on unknown hosts": lambda e: replace(e, allocation={"Y": 4, "Z": 1}),
    "has no hosts": lambda e: replace(e, allocation={}),
    "breaks ptile": lambda e: replace(e, allocation={NAMES[0]: sum(e.allocation.values())}),
    "is another job": lambda e: replace(e, job="other"),
    "is the running job": lambda e: replace(e, job="r"),
    "uses another alternative": lambda e: replace(e, alternative=1),
    "claims too high a bound": lambda e: replace(e, bound=(e.start or 0) + 1),
    "claims a proof without bound": lambda e: replace(e, bound=None),
    "starts beside the running job": lambda e: replace(
        e, start=0, finish=(e.finish or 0) - (e.start or 0), bound=0,
        allocation={"A": 4, "B": sum(e.allocation.values()) - 4},
    ),
    "reserves what is not free": lambda e: replace(e, reserved={"A": 4}),
}  # fmt: skip


@given(valid_plans())
def test_a_valid_plan_passes(case: tuple[Instance, Plan]) -> None:
    assert validate(*case) == []


@given(valid_plans(), st.sampled_from(sorted(CHANGES)), st.data())
def test_one_changed_entry_is_found(
    case: tuple[Instance, Plan], change: str, data: st.DataObject
) -> None:
    instance, good = case
    chosen = data.draw(st.integers(0, len(good.reservations) - 1))
    entries = [
        CHANGES[change](entry) if position == chosen else entry
        for position, entry in enumerate(good.reservations)
    ]
    assert validate(instance, replace(good, reservations=tuple(entries), value=None, bound=None))


@given(valid_plans(), st.data())
def test_a_job_moved_into_another_is_found(
    case: tuple[Instance, Plan], data: st.DataObject
) -> None:
    """Two jobs that hold the same hosts at one instant need more than the hosts have."""
    instance, good = case
    if len(good.reservations) < 2:
        return
    moved, other = data.draw(st.permutations(good.reservations))[:2]
    length = (moved.finish or 0) - (moved.start or 0)
    start = data.draw(st.integers(other.start or 0, (other.finish or 0) - 1))
    hosts = list(other.allocation)
    place = dict(zip(hosts, moved.allocation.values(), strict=True))
    clash = replace(moved, start=start, finish=start + length, allocation=place, bound=start)
    entries = tuple(clash if entry is moved else entry for entry in good.reservations)
    found = validate(instance, replace(good, reservations=entries, value=None, bound=None))
    assert {"slots", "mem"} <= {fault.check for fault in found}


@given(valid_plans(), st.sampled_from(["lost", "twice", "value", "bound", "status", "now"]))
def test_one_changed_claim_is_found(case: tuple[Instance, Plan], change: str) -> None:
    instance, good = case
    value = good.value or 0.0
    broken = {
        "lost": replace(good, reservations=good.reservations[1:], value=None, bound=None),
        "twice": replace(good, reservations=(*good.reservations, good.reservations[0])),
        "value": replace(good, value=value + 1, bound=value + 1),
        "bound": replace(good, bound=value - 1),
        "status": replace(good, status="infeasible"),
        "now": replace(good, now=1),
    }[change]
    assert validate(instance, broken)


def test_a_thousand_hosts_take_seconds() -> None:
    """1,000 hosts, 5,000 running jobs, 50 planned ones with memory, units and limits."""
    rng = np.random.default_rng(1)
    names = [f"n{number:04}" for number in range(1000)]
    units = tuple(
        ComputeUnit(f"u{k}", "rack", tuple(names[16 * k : 16 * k + 16])) for k in range(62)
    )
    cluster = Cluster(
        tuple(host(name, 48, amounts={"mem": 256e3}) for name in names),
        unit_types=("rack",),
        default_unit_type="rack",
        units=units,
    )
    busy = tuple(
        running(
            f"r{number}",
            {names[h % 1000]: 4 for h in (2 * number, 2 * number + 1)},
            f"rusage[mem={number % 7 + 1}000]",
            run_limit=int(rng.integers(1, 90)) * 1000,
            user=f"user{number % 40}",
        )
        for number in range(5000)
    )
    jobs = tuple(
        job(
            f"j{k}",
            256,
            "rusage[mem=20000:duration=60:decay=1] span[ptile=16] cu[maxcus=2]",
            run_limit=50,
        )
        for k in range(50)
    )
    limits = (
        Limit("users", {"slots": 30000, "jobs": 4000, "mem": 9e9}, users=Scope(("all",), True)),
    )
    instance = problem(*jobs, cluster=cluster, running=busy, limits=limits)
    places = {
        f"j{k}": (100_000 + 100 * k, dict.fromkeys(names[16 * k : 16 * k + 16], 16))
        for k in range(50)
    }
    began = time.process_time()
    assert faults(instance, places) == []
    assert time.process_time() - began < 10
    crowded = {name: (1, allocation) for name, (_, allocation) in places.items()}
    assert "slots" in {text.split(":")[0] for text in faults(instance, crowded)}
