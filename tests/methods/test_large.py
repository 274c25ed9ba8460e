"""What is remembered or summed up for the sake of large clusters gives the same as afresh."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import enumerated_instances
import pytest
from literal_guard import LiteralGuard
from sampling import some
from slotwise import (
    Cluster,
    Host,
    Instance,
    Job,
    Limit,
    Params,
    PlannedJob,
    Queue,
    RunningJob,
    Scope,
)
from slotwise.model.generate import generate
from slotwise.solver.placement import earliest
from slotwise.solver.scheduler import reserved_profile
from slotwise.solver.scheduler.next_cycle import plan_next_cycle
from slotwise.solver.scheduler.simulation import simulate


def crowded(seed: int) -> Instance:
    return generate(
        hosts=24 + 8 * (seed % 3), per_enclosure=4, running=90, pending=40, load=0.97, seed=seed
    )


def guards_of(
    instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[list[PlannedJob]], list[reserved_profile.ReservedProfile]]:
    """The plan beside what is held, by the product and literally, and the product's guards."""
    made: list[reserved_profile.ReservedProfile] = []

    class Seen(reserved_profile.ReservedProfile):
        def __init__(self, *told: Any) -> None:
            super().__init__(*told)
            made.append(self)

    plans = []
    for kind in (Seen, LiteralGuard):
        monkeypatch.setattr(reserved_profile, "ReservedProfile", kind)
        plans.append([of_plan(item) for item in plan_next_cycle(instance, "time-based")])
    return plans, made


@pytest.mark.behaviour("TBR-07", "TBR-18")
@pytest.mark.parametrize("seed", some((29, *range(29), *range(30, 40)), 7))
def test_what_stays_free_is_what_each_leaves_of_what_those_before_it_leave(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Random clusters with units, memory and user limits."""
    instance = crowded(seed) if seed % 4 == 1 else enumerated_instances.newer_instance(Random(seed))
    (fast, literal), _ = guards_of(instance, monkeypatch)
    assert fast == literal


def at_limit(hosts: dict[str, int], runs: dict[str, tuple[int, int]], most: float) -> Instance:
    """Running jobs by host (slots, end), and a limit on the slots of each user."""
    return Instance(
        Cluster(tuple(Host(name, slots) for name, slots in hosts.items())),
        queues=(Queue("default", slot_reserve=50),),
        running=tuple(
            RunningJob(Job(f"r-{host}", slots, run_limit=end), 0, {host: slots})
            for host, (slots, end) in runs.items()
        ),
        limits=(Limit("u", {"slots": most}, users=Scope(("all",), each=True)),),
        params=Params(time_reserve_numjobs=5),
    )


def waiting(name: str, slots: int, run_limit: int) -> Job:
    return Job(name, slots, run_limit=run_limit, user=name[0])


@pytest.mark.behaviour("TBR-04", "TBR-10", "TBR-18")
def test_a_later_job_takes_nothing_from_what_an_earlier_one_needs() -> None:
    """At 100 y has four free slots. a1 takes two of them until 300, when b2 needs one. So b2 needs
    none before, though b3, behind it, has the other three from 300 on. b3 keeps two: of its three
    one is released with a1. So a2, without BACKFILL, finds none before b3 ends.

    The limit leaves b3 less than its place as long as b1 runs.
    """
    instance = replace(
        at_limit({"z": 1, "x": 4, "y": 4}, {"x": (3, 300), "y": (4, 100)}, 9.0),
        pending=(
            *(waiting("b1", 1, 300), waiting("b2", 6, 600), waiting("a1", 2, 200)),
            *(waiting("b3", 3, 100), waiting("a2", 1, 100)),
        ),
    )
    starts = {"b1": 0, "b2": 300, "a1": 100, "b3": 300, "a2": 400}
    assert starts_by_plan_and_loop(instance) == [starts, starts]


@pytest.mark.behaviour("TBR-04", "TBR-10", "TBR-18")
def test_a_job_behind_one_that_limits_cut_keeps_what_that_one_leaves_it() -> None:
    """From 600 on a2 needs one slot of y and b1 the other three. Three are released then, so the
    one that is free before is kept for b1, and b2 starts after b1.

    The limit leaves a2 less than its place as long as a1 runs.
    """
    instance = replace(
        at_limit({"z": 3, "x": 4, "y": 4}, {"x": (1, 600), "y": (3, 600)}, 10.0),
        pending=(
            *(waiting("a1", 3, 300), waiting("a2", 8, 300)),
            *(waiting("b1", 3, 200), waiting("b2", 1, 100)),
        ),
    )
    starts = {"a1": 0, "a2": 600, "b1": 600, "b2": 800}
    assert starts_by_plan_and_loop(instance) == [starts, starts]


def starts_by_plan_and_loop(instance: Instance) -> list[dict[str, int]]:
    planned = {item.job: item.start for item in plan_next_cycle(instance, "time-based")}
    simulated = simulate(instance, reservation="time-based", cycle=0).starts
    return [planned, {job.id: simulated[job.id] for job in instance.pending}]


@pytest.mark.parametrize("seed", some(range(24), 1))
def test_stretches_refuted_together_are_those_that_would_be_refuted_one_by_one(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = plan_next_cycle(crowded(seed), "time-based")
    monkeypatch.setattr(earliest, "_worth_a_look", lambda profile, demand, times, parts: parts)
    assert plan_next_cycle(crowded(seed), "time-based") == together


def of_plan(item: PlannedJob) -> PlannedJob:
    """Without the sentence: a limit that decides is not always counted to the last slot."""
    return replace(item, waits_for="")
