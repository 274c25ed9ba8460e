"""What is remembered or summed up for the sake of large clusters gives the same as afresh."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

import enumerated_instances
import pytest
from literal_guard import decided_by_limits, guards_of, reckoned_afresh
from sampling import some
from slotwise import (
    Cluster,
    Host,
    Instance,
    Job,
    Limit,
    Params,
    Queue,
    RunningJob,
    Scope,
    SharedResource,
)
from slotwise.model.generate import generate
from slotwise.solver.placement import earliest
from slotwise.solver.scheduler.next_cycle import plan_next_cycle
from slotwise.solver.scheduler.simulation import simulate


def crowded(seed: int) -> Instance:
    return generate(
        hosts=24 + 8 * (seed % 3), per_enclosure=4, running=90, pending=40, load=0.97, seed=seed
    )


def tight(seed: int) -> Instance:
    """A limit on users of less than they wait for."""
    instance = crowded(8 * seed + 1)
    return replace(instance, limits=(replace(instance.limits[0], amounts={"slots": 40}),))


def contested(seed: int) -> Instance:
    """Hosts that empty piece by piece, licences that only pending jobs take, seldom BACKFILL."""
    rng = Random(seed)
    names = [f"h{number}" for number in range(5)]

    def job(name: str) -> Job:
        licences = rng.choice([0, 1, 2, 3])
        res_req = (f"rusage[lic={licences}]",) if licences else ()
        limit = 100 * rng.choice([1, 1, 2, 2, 3, 6])
        user = rng.choice(("ann", "bob"))
        slots = rng.choice([1, 1, 2, 3, 6, 8, 12])
        return Job(name, slots, res_req=res_req, run_limit=limit, user=user)

    running: list[RunningJob] = []
    for host in names:
        left = 4
        while left:
            count = rng.randint(1, left)
            left -= count
            if rng.random() < 0.85:
                runs = Job(f"r{len(running)}", count, run_limit=100 * rng.randint(1, 12))
                running.append(RunningJob(runs, 0, {host: count}))
    limits: list[Limit] = []
    if rng.random() < 0.4:
        each = Scope(("all",), each=True)
        limits.append(Limit("u", {"slots": float(rng.randint(8, 14))}, users=each))
    if rng.random() < 0.4:
        some = Scope(tuple(rng.sample(names, 3)))
        limits.append(Limit("some", {"slots": float(rng.randint(5, 9))}, hosts=some))
    return Instance(
        Cluster(
            tuple(Host(name, 4) for name in names),
            shared=(SharedResource("lic", float(rng.choice([6, 8, 12, 20]))),),
        ),
        queues=(Queue("default", backfill=seed % 5 == 0, resource_reserve=50),),
        running=tuple(running),
        pending=tuple(job(f"p{number:02}") for number in range(16)),
        limits=tuple(limits),
        params=Params(time_reserve_numjobs=16),
    )


def licensed(seed: int) -> Instance:
    """Six full hosts; jobs also need licences, which all share, scratch and memory."""
    rng = Random(seed)
    names = [f"h{number}" for number in range(6)]
    amounts = {"scratch": 100.0, "mem": 1000.0}

    def job(name: str, slots: int) -> Job:
        asked = {
            "lic": rng.choice([1, 2, 4, 6]) if rng.random() < 0.6 else 0,
            "scratch": rng.choice([10, 30, 60]) if rng.random() < 0.2 else 0,
            "mem": rng.choice([100, 300]) if rng.random() < 0.3 else 0,
        }
        needs = ":".join(f"{what}={amount}" for what, amount in asked.items() if amount)
        res_req = (f"rusage[{needs}]",) if needs else ()
        return Job(name, slots, res_req=res_req, run_limit=rng.randint(1, 8) * 100)

    free, running = dict.fromkeys(names, 4), []
    for number in range(14):
        host = rng.choice(names)
        if count := min(free[host], rng.randint(1, 3)):
            free[host] -= count
            running.append(RunningJob(job(f"r{number}", count), 0, {host: count}))
    return Instance(
        Cluster(
            tuple(Host(name, 4, amounts=amounts) for name in names),
            shared=(SharedResource("lic", float(rng.choice([12, 16, 20]))),),
        ),
        queues=(Queue("default", backfill=True, resource_reserve=50),),
        running=tuple(running),
        pending=tuple(job(f"p{n}", rng.choice([1, 1, 2, 4, 6, 9, 12])) for n in range(24)),
        params=Params(time_reserve_numjobs=6),
    )


@pytest.mark.parametrize("seed", some(range(12), 1))
def test_what_is_remembered_of_reservations_is_what_would_be_reckoned(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    decided_by_limits(monkeypatch)
    remembered = plan_next_cycle(crowded(seed), "time-based")
    reckoned = reckoned_afresh(monkeypatch)
    assert plan_next_cycle(crowded(seed), "time-based") == remembered
    assert len(reckoned) > 40


@pytest.mark.behaviour("TBR-07", "TBR-18")
@pytest.mark.parametrize("seed", some((29, *range(29), *range(30, 40)), 5))
def test_what_stays_free_is_what_each_leaves_of_what_those_before_it_leave(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Random clusters with units, memory and user limits."""
    instance = crowded(seed) if seed % 4 == 1 else enumerated_instances.newer_instance(Random(seed))
    (fast, literal), _ = guards_of(instance, monkeypatch)
    assert fast == literal


@pytest.mark.behaviour("MEM-08")
@pytest.mark.parametrize(
    ("draw", "seeds"),
    [
        (licensed, range(2)),
        (contested, (0, 21, 42, 52)),
        pytest.param(tight, (0,), marks=pytest.mark.slow),
        pytest.param(crowded, (85,), marks=pytest.mark.slow),
        pytest.param(licensed, range(4, 40), marks=pytest.mark.slow),
        pytest.param(contested, range(100), marks=pytest.mark.slow),
    ],
)
def test_places_that_limits_and_licences_cut_are_held_as_reckoned_literally(
    draw: Callable[[int], Instance], seeds: Sequence[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    limited = 0
    for seed in seeds:
        (fast, literal), made = guards_of(draw(seed), monkeypatch)
        limited += any(one.limit_dependent for one in made)
        assert fast == literal, seed
    assert limited > 0


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
