"""Look-alikes by every method, loop and judge, against an enumerator that shares nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

import pytest
from enumerated_plans import Table
from lookalike_instances import binds, lookalikes
from loop_starts import simulated_starts
from sampling import some
from slotwise import Instance, Method, Plan
from slotwise.model.display import clock_text
from slotwise.solver.planning import plan
from slotwise.solver.scheduler.simulation import simulate
from slotwise.solver.validate import validate, validate_schedule
from test_alike import alone

EXACT: tuple[Method, ...] = ("optimal", "milp")
#: Deterministic effort of proofs, which seldom take a part of it.
EFFORT = 40
#: Look-alikes of one test.
EACH = 3
#: What a plan says of a job that the loop starts at another second.
TOLD = re.compile(r"job (?P<job>\S+) (?:starts (?P<start>[^,]+)|does not start), not ")


def starts_of(found: Plan) -> dict[str, int | None]:
    return {item.job: item.start for item in found} | {item.job: None for item in found.unplaced}


def are_kept_apart(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All invariants of one instance."""
    it = lookalikes(Random(seed))
    table = Table(it)
    plans = [plan(it, method) for method in ("greedy", "time-based")]
    plans += [plan(it, method, effort=EFFORT) for method in (EXACT if seed % 4 == 0 else EXACT[:1])]
    right = table.lexicographic()
    for found in plans:
        assert validate(it, found, as_lsf=found.method in ("greedy", "time-based")) == [], seed
        assert table.faults(found) == [], (seed, found.method)
        if found.method in EXACT and not found.left_out:
            assert starts_of(found) == right, (seed, found.method)
            assert all(item.proved for item in found), (seed, found.method)
    names_what_the_loop_does(it, plans[1])
    every_job_starts(it, right)
    with monkeypatch.context() as patch:
        alone(patch)
        assert bare(plan(it, "time-based")) == bare(plans[1]), seed
        assert bare(plan(it, "optimal", effort=EFFORT)) == bare(plans[2]), seed


def bare(found: Plan) -> Plan:
    """Without what is missing until a start, which jobs of one kind and start share in words."""
    return replace(found, reservations=tuple(replace(item, waits_for="") for item in found))


def names_what_the_loop_does(it: Instance, found: Plan) -> None:
    """The time-based plan starts jobs when the loop does, or names a rule, a job and its second.

    A rule is named with the first job that it moves; others may be moved by that one.
    """
    starts, planned = simulated_starts(it, "time-based"), starts_of(found)
    moved = {name for name, start in planned.items() if starts.get(name) != start}
    told = {item["job"]: item["start"] for note in found.notes for item in TOLD.finditer(note)}
    assert bool(told) == bool(moved), (it, found.notes)
    for name in told:
        assert name in moved
        start = starts.get(name)
        assert told[name] == (None if start is None else clock_text(it, start)), name


def every_job_starts(it: Instance, right: dict[str, int | None]) -> None:
    """The loop keeps every rule, and starts whatever can start at all."""
    for reservation in ("greedy", "time-based"):
        run = simulate(it, reservation=reservation, until=100_000)
        if not any("{" in text for job in it.pending for text in job.res_req):
            # A record says nothing of the terms of a compound requirement.
            assert validate_schedule(it, run) == [], reservation
        for record in run.jobs:
            assert record.start is not None or right.get(record.job, 0) is None, (it, record.job)


@pytest.mark.behaviour("ARR-01", "ARR-02")
@pytest.mark.parametrize("part", some(range(400), 1))
def test_look_alikes_are_kept_apart(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(EACH * part, EACH * part + EACH):
        are_kept_apart(seed, monkeypatch)


def test_most_look_alikes_have_elements_and_jobs_like_them() -> None:
    """In half of them a limit of running elements keeps some job from starting earlier."""
    drawn = [lookalikes(Random(seed)) for seed in range(8)]
    jobs = [[*it.pending, *(run.job for run in it.running)] for it in drawn]
    assert sum(len({"[" in job.id for job in each}) == 2 for each in jobs) >= 4
    assert sum(binds(it) for it in drawn) >= 3
