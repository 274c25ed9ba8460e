"""Compound requirements where hosts are in partitions, against every choice of places (FSH-08)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from random import Random

import pytest
from loop_lab import host
from loop_lab import instance as small
from slotwise import Instance, Job, Plan, RunningJob
from slotwise.model.shares import HostPartition
from slotwise.solver.advice.explain import explain
from slotwise.solver.planning import plan
from slotwise.solver.scheduler.simulation import simulate
from slotwise.solver.validate import validate

STEP = 60
pytestmark = pytest.mark.behaviour("FSH-08", "TBR-12", "REQ-14")
NOWHERE = "does not fit on the hosts of its partitions"
#: Slots and type of each term.
Terms = tuple[tuple[int, str], ...]
Place = dict[str, int]
Taken = list[tuple[int, int, Place]]


def asks(terms: Terms) -> tuple[str, ...]:
    parts = (
        f"{count}*{{select[type=={kind}]}}" if kind else f"{count}*{{select[type==any]}}"
        for count, kind in terms
    )
    return (" + ".join(parts),)


def sides(instance: Instance) -> list[set[str]]:
    """The hosts of each partition, and those of none."""
    inside = [set(part.hosts) for part in instance.partitions]
    rest = {item.name for item in instance.cluster.hosts}.difference(*inside)
    return [side for side in (*inside, rest) if side]


def lays(instance: Instance, side: set[str], terms: Terms) -> Iterator[Place]:
    """All ways to lay the terms on hosts of one side."""
    each = []
    for count, kind in terms:
        hosts = [h for h in instance.cluster.hosts if h.name in side and kind in ("", h.type)]
        counts = product(*(range(min(h.slots, count) + 1) for h in hosts))
        ways = [dict(zip([h.name for h in hosts], way, strict=True)) for way in counts]
        each.append([way for way in ways if sum(way.values()) == count])
    for chosen in product(*each):
        total: Place = {}
        for part in chosen:
            for name, count in part.items():
                if count:
                    total[name] = total.get(name, 0) + count
        yield total


def places(instance: Instance, terms: Terms) -> list[Place]:
    found: list[Place] = []
    for side in sides(instance):
        found += [way for way in lays(instance, side, terms) if way not in found]
    slots = {item.name: item.slots for item in instance.cluster.hosts}
    return [way for way in found if all(count <= slots[name] for name, count in way.items())]


def fits(instance: Instance, taken: Taken, rest: list[tuple[int, int, list[Place]]]) -> bool:
    if not rest:
        return True
    (start, end, ways), *others = rest
    for way in ways:
        now: Taken = [*taken, (start, end, way)]
        if _room(instance, now) and fits(instance, now, others):
            return True
    return False


def _room(instance: Instance, taken: Taken) -> bool:
    for item in instance.cluster.hosts:
        for moment in {start for start, _, _ in taken}:
            used = sum(way.get(item.name, 0) for start, end, way in taken if start <= moment < end)
            if used > item.slots:
                return False
    return True


def least(instance: Instance, asked: dict[str, Terms]) -> dict[str, int | None]:
    """The lexicographic optimum, None where no place will ever do."""
    taken = [(run.start, run.job.run_limit or 0, dict(run.allocation)) for run in instance.running]
    before: list[tuple[int, int, list[Place]]] = []
    found: dict[str, int | None] = {}
    for item in instance.pending:
        ways, length = places(instance, asked[item.id]), item.run_limit or 0
        found[item.id] = None
        for start in range(0, 40 * STEP, STEP) if ways else ():
            trial = [*before, (start, start + length, ways)]
            if fits(instance, taken, trial):
                found[item.id], before = start, trial
                break
    return found


def drawn(seed: int) -> tuple[Instance, dict[str, Terms]]:
    """Two to five small hosts, one or two partitions, jobs of one or two terms."""
    draw = Random(seed)
    hosts = [host(f"h{n}", draw.randint(1, 2), type=draw.choice("XY")) for n in range(5)]
    hosts = hosts[: draw.randint(2, 5)]
    names = [item.name for item in hosts]
    cut, end = draw.randint(1, len(names)), len(names)
    parts = [HostPartition("P", tuple(names[:cut]), (("default", 1),))]
    if cut < end and draw.random() < 0.6:
        until = draw.randint(cut + 1, end)
        parts.append(HostPartition("Q", tuple(names[cut:until]), (("default", 1),)))
    running = tuple(
        RunningJob(
            Job(f"r{item.name}", 1, queue="q", run_limit=STEP * draw.randint(1, 4)),
            0,
            {item.name: 1},
        )
        for item in hosts
        if draw.random() < 0.4
    )
    asked: dict[str, Terms] = {}
    pending = []
    for number in range(draw.randint(1, 3)):
        name = f"p{number}"
        terms = tuple((draw.randint(1, 2), draw.choice(["", "X", "Y"])) for _ in range(2))
        asked[name] = terms if draw.random() < 0.8 else terms[:1]
        slots = sum(count for count, _ in asked[name])
        req = asks(terms) if len(asked[name]) > 1 else ()
        if not req:
            asked[name] = ((slots, ""),)
            req = ("select[type==any]",)
        pending.append(
            Job(name, slots, queue="q", res_req=req, run_limit=STEP * draw.randint(1, 3), submit=-9)
        )
    problem = small(*hosts, running=running, pending=tuple(pending), partitions=tuple(parts))
    return problem, asked


def no_mixture(instance: Instance, found: Plan) -> None:
    for item in found:
        if item.start is not None:
            assert any(set(item.allocation) <= side for side in sides(instance)), item


def all_right(seed: int) -> None:
    instance, asked = drawn(seed)
    right = least(instance, asked)
    for method in ("optimal", "milp"):
        found = plan(instance, method, effort=30)
        assert validate(instance, found) == [], seed
        no_mixture(instance, found)
        said = {item.job: item.start for item in found} | {x.job: None for x in found.unplaced}
        assert said == right, (seed, method)
        assert found.status == ("infeasible" if None in right.values() else "optimal")
    told = plan(instance, "time-based")
    assert not any("bug" in note for note in told.notes)
    no_mixture(instance, told)
    never = {item.job for item in told.unplaced}
    assert {job for job, start in right.items() if start is None} <= never
    for item in simulate(instance, reservation="time-based", cycle=0).jobs:
        assert any(set(item.hosts) <= side for side in sides(instance))
    for objective in ("total-start", "makespan"):
        best = plan(instance, "optimal", objective=objective, effort=2)
        assert validate(instance, best) == [], (seed, objective)
        no_mixture(instance, best)


def test_terms_are_in_one_partition_and_starts_are_proved() -> None:
    for seed in range(5):
        all_right(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_terms_are_in_one_partition_and_starts_are_proved_on_many(block: int) -> None:
    for seed in range(1000 + 50 * block, 1050 + 50 * block):
        all_right(seed)


def two_partitions() -> Instance:
    """One host in each of two partitions and one in none, and a job of two terms of one slot."""
    parts = tuple(HostPartition(name, (name.lower(),), (("default", 1),)) for name in "AB")
    lone = Job("p", 2, queue="q", res_req=asks(((1, ""), (1, ""))), run_limit=STEP)
    hosts = [host(name, 1) for name in "abc"]
    return small(*hosts, pending=(lone,), partitions=parts)


@pytest.mark.parametrize("method", ["time-based", "optimal"])
def test_explain_names_no_jobs_that_are_not_there(method: str) -> None:
    found = explain(two_partitions(), "p", method=method)
    assert (found.answer.start, found.answer.waits_for) == (None, NOWHERE)
    said = [item.reason for item in found.obstacles]
    assert said == ["its terms together: each fits alone, but not all at the same time"]


def test_the_judge_refuses_terms_in_two_partitions() -> None:
    instance = two_partitions()
    free = replace(instance, partitions=())
    found = plan(free, "optimal", effort=5)
    (item,) = found
    for hosts in (("a", "b"), ("b", "c"), ("a", "c")):
        terms = tuple({name: 1} for name in hosts)
        mixed = replace(item, allocation=dict.fromkeys(hosts, 1), terms=terms)
        wrong = replace(found, reservations=(mixed,))
        assert [fault.check for fault in validate(instance, wrong)] == ["partition"]
        assert validate(free, wrong) == []
