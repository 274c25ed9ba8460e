"""Loans of guaranteed pools: what owners leave idle, as LOAN_POLICIES says (GUA-01)."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
import slotwise as sw
from loop_lab import HOUR, MINUTE, host, instance, job, run, running
from slotwise import HostPartition, Instance, Queue
from slotwise.model.service_class import (
    Guarantee,
    GuaranteedAmount,
    GuaranteedPool,
    LoanPolicy,
    ServiceClass,
)
from slotwise.solver.validate import validate_schedule

pytestmark = pytest.mark.behaviour("GUA-01")

QUEUES = (Queue("q", 5), Queue("own", 9), Queue("short", 1))


def site(*pending: Any, slots: int = 10, loans: LoanPolicy | None, **more: Any) -> Instance:
    """One host, of which class a has 6 slots guaranteed."""
    amounts = more.pop("amounts", {"a": 6})
    shares = tuple(Guarantee(name, GuaranteedAmount(float(n))) for name, n in amounts.items())
    return instance(
        host("A", slots),
        queues=more.pop("queues", QUEUES),
        pending=tuple(pending),
        service_classes=tuple(ServiceClass(name) for name in amounts),
        guaranteed_pools=(GuaranteedPool("p", distribution=shares, loans=loans),),
        **more,
    )


def short(name: str, slots: int, minutes: int = 10, **more: Any) -> Any:
    return job(name, slots, minutes=minutes, queue="short", **more)


def looped(problem: Instance) -> list[int | None]:
    found = run(problem)
    assert not validate_schedule(problem, found)
    return [found[item.id].start for item in problem.pending]


def planned(problem: Instance, method: str) -> list[int | None]:
    found = sw.plan(problem, method=method)  # type: ignore[arg-type]
    assert not sw.validate(problem, found)
    assert not [note for note in found.notes if "bug" in note]
    starts = {item.job: item.start for item in found}
    return [starts.get(item.id) for item in problem.pending]


def test_ten_minutes_are_short_enough_and_eleven_are_not() -> None:
    """DURATION[10] (worked number 8): both want what the owners have idle."""
    problem = site(
        short("ten", 5, 10), short("eleven", 5, 11), loans=LoanPolicy(("all",), duration=600)
    )
    assert looped(problem) == [0, None]
    assert sw.outlook(problem)["eleven"].as_configured is None
    assert looped(replace(problem, pending=problem.pending[:1])) == [0]
    estimated = site(
        short("e", 5, 60, estimated_run_time=600), loans=LoanPolicy(("all",), duration=600)
    )
    assert looped(estimated) == [0]  # the shorter of run limit and estimate counts


def test_owners_come_before_loans_whatever_the_order_of_the_queues_is() -> None:
    queues = (Queue("own", 1), Queue("short", 9))
    owner = job("o", 6, minutes=60, queue="own", service_class="a")
    problem = site(short("s", 5, 60), owner, loans=LoanPolicy(("all",)), queues=queues)
    assert looped(problem) == [HOUR, 0]


def test_on_demand_loans_are_closed_while_owners_wait() -> None:
    held = (running("r", {"A": 4}, 60, queue="q"), running("o", {"A": 2}, 90, service_class="a"))
    waiting = job("w", 5, minutes=10, queue="own", service_class="a")
    for close, starts in ((False, [HOUR, 0]), (True, [HOUR, HOUR])):
        policy = LoanPolicy(("short",), close_on_demand=close)
        problem = site(waiting, short("s", 3, 60), loans=policy, running=held)
        assert looped(problem) == starts


@pytest.mark.parametrize(
    ("policy", "most"),
    [
        (LoanPolicy(("all",)), 10),
        (LoanPolicy(("all",), retain=GuaranteedAmount(2)), 8),
        (LoanPolicy(("all",), retain=GuaranteedAmount(30, percent=True)), 7),
        (LoanPolicy(("all",), retain=GuaranteedAmount(9)), 4),
        (LoanPolicy(("all",), idle_buffer=GuaranteedAmount(3)), 7),
        (LoanPolicy(("q",), ("short",), 60, retain=GuaranteedAmount(3)), 10),
    ],
)
def test_what_is_kept_back_from_loans(policy: LoanPolicy, most: int) -> None:
    """RETAIN of each unused guarantee, IDLE_BUFFER of the pool; a queue with ! is free of both."""
    problem = site(*(short(f"s{n}", 1, 60) for n in range(11)), loans=policy)
    assert sum(start == 0 for start in looped(problem)) == most
    if not policy.exempt:
        for method in ("optimal", "milp"):
            starts = planned(problem, method)
            assert sum(start == 0 for start in starts) == most
            assert all(item.proved for item in sw.plan(problem, method=method))  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["optimal", "milp"])
@pytest.mark.parametrize("none", [GuaranteedAmount(0), GuaranteedAmount(9, percent=True)])
@pytest.mark.parametrize(
    "policy",
    [
        LoanPolicy(("all",), retain=GuaranteedAmount(2)),
        LoanPolicy(("all",), idle_buffer=GuaranteedAmount(2)),
    ],
)
def test_what_a_class_with_a_guarantee_of_0_uses_is_not_lent(
    policy: LoanPolicy, none: GuaranteedAmount, method: str
) -> None:
    """Class z has 9% of 10 slots, which is none, and runs on 4: 4 of the others are lent."""
    held = running("r", {"A": 4}, 60, queue="own", service_class="z")
    problem = site(*(short(f"s{n}", 1, 60) for n in range(6)), loans=policy, running=(held,))
    (pool,) = problem.guaranteed_pools
    problem = replace(
        problem,
        service_classes=(ServiceClass("a"), ServiceClass("z")),
        guaranteed_pools=(replace(pool, distribution=(*pool.distribution, Guarantee("z", none))),),
    )
    assert planned(problem, method) == looped(problem) == [0] * 4 + [HOUR] * 2


def test_a_plan_proves_loans_only_where_every_job_may_have_one() -> None:
    problem = site(short("s", 5), job("n", 1, minutes=60), loans=LoanPolicy(("short",)))
    found = sw.plan(problem)
    assert [item.start for item in found] == looped(problem) == [0, 0]
    later = site(short("s", 5), job("n", 9, minutes=60), loans=LoanPolicy(("short",)))
    found = sw.plan(later)
    assert "loans of guaranteed pool p" in [item.what for item in found.omissions]
    assert not any(item.proved for item in found if item.start)


def test_hosts_of_a_partition_are_lent_too() -> None:
    parts = (HostPartition("part", ("A",), (("user", 1),)),)
    assert looped(site(short("s", 9), loans=LoanPolicy(("short",)), partitions=parts)) == [0]
    assert looped(site(short("s", 9), loans=None, partitions=parts)) == [None]


def test_a_job_that_starts_on_a_loan_alone_names_the_loans() -> None:
    parent = running("r", {"A": 1}, 30, queue="own", service_class="a")
    asked = short("s", 9, dependency="done(r)")
    problem = site(asked, loans=LoanPolicy(("short",)), running=(parent,))
    found = sw.plan(problem, method="time-based")
    assert [item.what for item in found.omissions] == ["loans of guaranteed pools after this cycle"]
    assert looped(problem) == [30 * MINUTE]


def test_queues_may_see_no_guarantees() -> None:
    blind = (Queue("q", 5, ignores_guarantees=True), *QUEUES[1:])
    asked = job("n", 8, minutes=60), short("s", 1)
    assert looped(site(*asked, loans=None, queues=blind)) == [0, HOUR]
    assert looped(site(*asked, loans=None)) == [None, 0]
    assert not sw.plan(site(*asked, loans=None, queues=blind))["s"].proved


def test_jobs_of_classes_are_preempted_by_such_queues_alone() -> None:
    owner = running("o", {"A": 6}, 60, queue="own", service_class="a")
    other = running("r", {"A": 4}, 60, queue="short")
    asked = job("n", 4, minutes=10), job("m", 4, minutes=10)
    queues = (Queue("q", 50, preemptive=("*",)), *QUEUES[1:])
    problem = site(*asked, slots=14, loans=None, queues=queues, running=(owner, other))
    found = run(problem)
    assert (found["n"].start, found["m"].start) == (0, 10 * MINUTE)
    assert found["o"].end == HOUR
    assert "preempted jobs" in " ".join(item.what for item in sw.plan(problem).omissions)
    blind = replace(problem, queues=(replace(queues[0], ignores_guarantees=True), *QUEUES[1:]))
    assert run(replace(blind, pending=(job("big", 14, minutes=10),)))["big"].start == 0


def random_site(seed: int) -> Instance:
    """Up to three hosts and classes, a pool on some hosts with any loan policy."""
    draw = random.Random(seed)
    hosts = [host(f"h{n}", draw.randint(2, 5)) for n in range(draw.randint(1, 3))]
    amounts = {name: draw.randint(0, 4) for name in "abc"[: draw.randint(1, 3)]}
    policy = LoanPolicy(
        draw.choice([("all",), ("short",), ("q", "short")]),
        draw.choice([(), (), ("q",)]),
        draw.choice([None, 30 * MINUTE, HOUR]),
        draw.random() < 0.3,
        draw.choice([None, None, GuaranteedAmount(1), GuaranteedAmount(30, percent=True)]),
        draw.choice([None, None, GuaranteedAmount(2)]),
    )
    queues = (
        Queue("q", draw.choice([1, 5])),
        Queue("own", draw.choice([1, 9])),
        Queue("short", 1, ignores_guarantees=draw.random() < 0.1),
    )

    def one(name: str, own: str) -> Any:
        queue = "own" if own else draw.choice(["q", "short"])
        minutes = draw.choice([10, 30, 60, 90])
        return job(name, draw.randint(1, 3), minutes=minutes, service_class=own, queue=queue)

    free = {item.name: item.slots for item in hosts}
    runs = []
    for number in range(draw.randint(0, 3)):
        name, slots, own = draw.choice(hosts).name, draw.randint(1, 3), draw.choice([*amounts, ""])
        if free[name] >= slots:
            free[name] -= slots
            queue = "own" if own else "q"
            runs.append(running(f"r{number}", {name: slots}, 60, service_class=own, queue=queue))
    pool = GuaranteedPool(
        "p",
        hosts=tuple(draw.sample([item.name for item in hosts], draw.randint(1, len(hosts)))),
        distribution=tuple(Guarantee(n, GuaranteedAmount(float(v))) for n, v in amounts.items()),
        loans=policy if draw.random() < 0.8 else None,
    )
    return instance(
        *hosts,
        queues=queues,
        running=tuple(runs),
        pending=tuple(
            one(f"p{n}", draw.choice([*amounts, "", "", ""])) for n in range(draw.randint(2, 7))
        ),
        service_classes=tuple(ServiceClass(name) for name in amounts),
        guaranteed_pools=(pool,),
    )


def check(seed: int) -> None:
    """Loop and judge agree; exact methods too; nothing proved is beaten by the loop."""
    problem = random_site(seed)
    found = run(problem)
    assert not validate_schedule(problem, found)
    plans = {}
    for method in ("optimal", "milp", "time-based", "greedy"):
        plans[method] = sw.plan(problem, method=method)  # type: ignore[arg-type]
        assert not sw.validate(problem, plans[method])
        assert not [note for note in plans[method].notes if "bug" in note]
    for item in plans["optimal"]:
        other = plans["milp"].get(item.job)
        if item.proved and other is not None and other.proved:
            assert item.start == other.start
    for item in plans["optimal"]:
        start = found[item.job].start
        if not item.proved or start != item.start:
            assert not (item.proved and start is not None and start < (item.start or 0))
            break


@pytest.mark.parametrize("seed", range(3))
def test_loop_plans_and_judge_agree(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 603))
def test_loop_plans_and_judge_agree_at_large(seed: int) -> None:
    check(seed)
