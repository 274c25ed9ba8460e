"""Alternatives in braces: the exact methods against every placement under every alternative."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest
import slotwise as sw
from loop_lab import host, instance, job, running
from slotwise import Instance
from slotwise.solver.planning import plan
from slotwise.solver.scheduler.simulation import simulate
from slotwise.solver.validate import validate, validate_schedule

pytestmark = pytest.mark.behaviour("REQ-21")

MINUTE = 60
#: Requirement of an alternative: its text, its hosts, and whether it is for one host.
KINDS = (
    ("select[hname==A]", "A", True),
    ("select[hname==B]", "B", True),
    ("span[hosts=1]", "AB", True),
    ("span[ptile=1]", "AB", False),
)
#: Slots by host over [begin, end).
Held = tuple[tuple[int, int, dict[str, int]], ...]


def case(seed: int) -> tuple[Instance, list[list[tuple[int, int]]]]:
    """A site of two hosts, and by job its alternatives: number in KINDS, seconds until it opens."""
    random = Random(seed)
    pending, choices = [], []
    for number in range(random.choice([2, 3, 3])):
        kinds = random.sample(range(len(KINDS)), random.choice([1, 2, 2, 3]))
        delays = [0, *sorted(random.choices([0, 1, 2, 4, 7], k=len(kinds) - 1))]
        parts = [
            f"{{{KINDS[kind][0]}}}" + f"@{d}" * bool(d)
            for kind, d in zip(kinds, delays, strict=True)
        ]
        slots = random.choice([1, 1, 2])
        pending.append(
            job(f"p{number}", slots, " || ".join(parts), minutes=random.choice([2, 3, 5]))
        )
        choices.append([(kind, MINUTE * d) for kind, d in zip(kinds, delays, strict=True)])
    runs = [
        running(f"r{name}", {name: random.choice([1, 2])}, random.choice([2, 3, 6]))
        for name in "AB"
        if random.random() < 0.7
    ]
    return instance(
        host("A", 2), host("B", 2), running=tuple(runs), pending=tuple(pending)
    ), choices


def places(kind: int, slots: int) -> Iterator[dict[str, int]]:
    """Allocations of so many slots that an alternative accepts."""
    _, hosts, one_host = KINDS[kind]
    if one_host:
        yield from ({name: slots} for name in hosts)
    elif slots <= len(hosts):
        yield from (dict.fromkeys(names, 1) for names in itertools.combinations(hosts, slots))


def fits(held: Held, place: dict[str, int], begin: int, end: int) -> bool:
    """Whether both hosts have two slots for all of it at every instant."""
    times = {begin, *(start for start, _, _ in held if begin < start < end)}
    return all(
        count + sum(on.get(name, 0) for start, stop, on in held if start <= time < stop) <= 2
        for time in times
        for name, count in place.items()
    )


def earliest(given: Instance, choices: list[list[tuple[int, int]]]) -> list[int]:
    """The lexicographically first starts: of all plans with these the next job's first start."""
    base = tuple(
        (0, run.start + (run.job.run_limit or 0), dict(run.allocation)) for run in given.running
    )
    plans: list[Held] = [base]
    found = []
    for item, alternatives in zip(given.pending, choices, strict=True):
        for time in itertools.count(0, MINUTE):
            end = time + (item.run_limit or 0)
            wider = [
                (*held, (time, end, place))
                for held in plans
                for kind, opens in alternatives
                if opens <= time
                for place in places(kind, item.slots)
                if fits(held, place, time, end)
            ]
            if wider:
                break
        plans = wider
        found.append(time)
    return found


def compared(seed: int) -> None:
    given, choices = case(seed)
    right = earliest(given, choices)
    for method in ("greedy", "time-based", "optimal", "milp"):
        found = plan(given, method, **({"effort": 9} if method == "optimal" else {}))  # type: ignore[arg-type]
        exact = method in ("optimal", "milp")
        assert not validate(given, found, as_lsf=not exact), (seed, method)
        if exact:
            assert [found[item.id].start for item in given.pending] == right, (seed, method)
            assert all(item.proved for item in found), (seed, method)
    for reservation in ("none", "time-based", "optimal"):
        result = simulate(given, reservation=reservation, keep_log=True)  # type: ignore[arg-type]
        assert not validate_schedule(given, result), (seed, reservation)
        if reservation == "optimal":
            starts = {item.job: item.start for item in result.jobs}
            assert [starts[item.id] for item in given.pending] == right, seed


def answered(seed: int) -> None:
    """explain, ask and the planner have the start, and the alternative, of the method's plan."""
    given, _ = case(seed)
    *others, last = given.pending
    before = replace(given, pending=tuple(others))
    for method in ("time-based", "optimal"):
        effort = {"effort": 9} if method == "optimal" else {}
        found = plan(given, method, **effort)  # type: ignore[arg-type]
        told = [sw.explain(given, item.id, method=method, **effort) for item in given.pending]  # type: ignore[arg-type]
        assert [item.answer.start for item in told] == [found[j.id].start for j in given.pending]
        asked = sw.ask(before, last, method=method, **effort)  # type: ignore[arg-type]
        planner = sw.Planner(before, method=method, **effort)  # type: ignore[arg-type]
        answers = (asked.line.answer, planner.ask(last))
        assert [item.start for item in answers] == [found[last.id].start] * 2, (seed, method)
        planner.submit(last)
        kept = planner.plan()
        assert not validate(given, kept, as_lsf=method == "time-based"), (seed, method)
        chosen = {item.job: (item.start, item.requirement_alternative) for item in found}
        assert {i.job: (i.start, i.requirement_alternative) for i in kept} == chosen
        omissions = (*kept.omissions, *(o for item in told for o in item.answer.omissions))
        omissions = (*omissions, *(o for item in answers for o in item.omissions))
        assert not [item.what for item in omissions if "alternatives" in item.what], (seed, method)


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5])
def test_no_choice_of_alternatives_and_places_is_better(seed: int) -> None:
    compared(seed)


@pytest.mark.parametrize("seed", [2, 3])
def test_answers_on_one_job_have_the_alternative_of_the_plan(seed: int) -> None:
    answered(seed)


@pytest.mark.slow
def test_answers_on_one_job_have_it_on_many() -> None:
    for seed in range(100, 160):
        answered(seed)


@pytest.mark.slow
@pytest.mark.parametrize("hundred", range(3))
def test_no_choice_is_better_on_many(hundred: int) -> None:
    for seed in range(100 + 100 * hundred, 200 + 100 * hundred):
        compared(seed)
