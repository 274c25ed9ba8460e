"""Limits and cancellation: a plan at every instant at which the work may have to stop.

No clock of the machine is looked at: a cancellation fires at the n-th time it is asked for, or an
injected clock jumps.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from itertools import product

import pytest
import slotwise as sw
from sampling import pairwise, some
from slotwise import Instance, Job, Method, ObjectiveName, Plan
from slotwise.model.generate import generate
from slotwise.model.plan import NOT_EXAMINED
from slotwise.solver import planning
from slotwise.solver.advice.ask import ask
from slotwise.solver.advice.comparison import compare
from slotwise.solver.advice.explain import explain
from slotwise.solver.advice.what_if import PlanView
from slotwise.solver.availability.demand import Demand
from slotwise.solver.budget import Budget, OutOfTime
from slotwise.solver.certify import NOT_JUDGED
from slotwise.solver.fairshare.priority_order import priority_order
from slotwise.solver.planning import plan
from slotwise.solver.resolve import Resolver
from slotwise.solver.scheduler.continuation import (
    NOT_TRIED,
    loop_session,
    simulated_starts_within,
)
from slotwise.solver.scheduler.next_cycle import plan_next_cycle
from slotwise.solver.validate import validate

ESTIMATES = ("greedy", "time-based")


class Nth(threading.Event):
    """Is set from the n-th time on that it is asked; counts how often it was."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.n = n
        self.asked = 0

    def is_set(self) -> bool:
        self.asked += 1
        return self.asked >= self.n or super().is_set()


class Ticks:
    """A clock that goes on by one second each time it is looked at."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def busy(seed: int = 0, pending: int = 7) -> Instance:
    return generate(hosts=8, per_enclosure=4, running=14, pending=pending, load=0.95, seed=seed)


def in_order(full: int, most: int = 16) -> list[int]:
    """The polls to stop at: all of them, or the first few and so many evenly spread ones."""
    step = max(1, full // most)
    return sorted({*range(1, min(6, full) + 1), *range(1, full + 1, step), full})


def is_whole(instance: Instance, found: Plan, *, as_lsf: bool) -> None:
    """Every job stands in the plan once, and the judge has nothing to say."""
    assert validate(instance, found, as_lsf=as_lsf) == []
    named = [item.job for item in found] + [item.job for item in found.unplaced]
    assert sorted(named) == sorted(job.id for job in instance.pending)
    assert not any("bug in Slotwise" in note for note in found.notes)


def claims_no_more(found: Plan, full: Plan) -> None:
    """Nothing is proved or called impossible that the whole work would not."""
    proved = {item.job: item.start for item in full if item.proved}
    assert {item.job: item.start for item in found if item.proved}.items() <= proved.items()
    assert found.status in (full.status, "feasible", "heuristic")
    never = {item.job for item in full.unplaced}
    for item in found.unplaced:
        assert item.job in never or "limit" in item.reason


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The grace never ends by the machine's own clock, however slow that machine is."""
    monkeypatch.setattr(planning, "GRACE", 1e9)
    monkeypatch.setattr(planning, "MIN_GRACE", 1e9)


@pytest.fixture
def no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left at the stop is not examined at all."""
    monkeypatch.setattr(planning, "GRACE", 0.0)


def is_full(found: Plan, full: Plan) -> bool:
    """Whether it is the whole plan; where it says that rules were not tried, more of them named."""
    if NOT_TRIED not in found.notes:
        return found == full
    same = replace(found, notes=full.notes, omissions=full.omissions)
    return same == full and set(full.omissions) <= set(found.omissions)


@pytest.mark.parametrize(
    ("method", "grace"), pairwise(["greedy", "time-based", "optimal", "milp"], [True, False])
)
def test_a_plan_wherever_it_is_cancelled(
    method: Method, grace: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not grace:
        monkeypatch.setattr(planning, "GRACE", 0.0)
    effort = None if method in ESTIMATES else 1.0
    small = busy(pending=7 if method in ESTIMATES else 4)
    count = Nth(1 << 60)
    full = plan(small, method, effort=effort, cancel=count)
    assert not full.cut
    cuts = 0
    for n in in_order(count.asked, 8 if method in ESTIMATES else 5):
        found = plan(small, method, effort=effort, cancel=Nth(n))
        is_whole(small, found, as_lsf=method in ESTIMATES)
        claims_no_more(found, full)
        if found.cut:
            cuts += 1
            assert any("limit" in note for note in found.notes)
        elif method in ESTIMATES and NOT_JUDGED not in found.notes:
            assert is_full(found, full)
    assert cuts > 1 or grace


@pytest.mark.parametrize("seed", some(range(6), 1))
def test_time_based_as_far_as_it_got_and_greedy_for_the_rest(seed: int) -> None:
    """Later stops keep at least as many places in the future; the others say why they have none."""
    small = busy(seed)
    count = Nth(1 << 60)
    full = plan(small, "time-based", cancel=count)
    for n in in_order(count.asked):
        found = plan(small, "time-based", cancel=Nth(n))
        is_whole(small, found, as_lsf=True)
        if NOT_JUDGED in found.notes or is_full(found, full):
            continue
        assert found.cut
        for item in found:
            if item.start is None:
                assert item.method == "greedy"
                assert item.fallback or full[item.job].start is None, item
        assert {item.method for item in found} <= {"greedy", "time-based"}


@pytest.mark.parametrize(
    ("seed", "method"), some(product([0, 6, *range(7, 40)], reversed(ESTIMATES)), 2)
)
def test_where_jobs_backfill_what_was_foreseen_before_makes_room(method: Method, seed: int) -> None:
    """Stopped after a job has backfilled and before the others have their places beside it."""
    crowded = generate(hosts=10, running=30, pending=30, seed=seed)
    count = Nth(1 << 60)
    full = plan(crowded, method, cancel=count)
    for n in in_order(count.asked, 3):
        found = plan(crowded, method, cancel=Nth(n))
        is_whole(crowded, found, as_lsf=True)
        claims_no_more(found, full)


def test_no_grace_names_the_jobs_that_were_not_looked_at(no_grace: None) -> None:
    small = busy()
    found = plan(small, "time-based", cancel=Nth(1))
    assert found.cut
    assert found.unplaced == ()
    assert all(item.start is None and item.fallback == NOT_EXAMINED for item in found)
    assert found.status == "heuristic"
    exact = plan(small, "optimal", cancel=Nth(1))
    assert exact.cut
    assert exact.status in ("feasible", "heuristic")
    assert exact.bound is None
    assert [item.fallback for item in exact] == [NOT_EXAMINED] * len(small.pending)


def test_the_clock_is_the_one_that_is_given() -> None:
    """Each look at it takes a second: what comes after so many looks is left."""
    small = busy()
    whole = plan_next_cycle(small, "time-based")
    seen = set()
    for limit in range(0, 400, 21):
        clock = Ticks()
        found = plan_next_cycle(
            small, "time-based", budget=Budget(limit, clock=clock, grace=limit / 4)
        )
        is_whole(small, found, as_lsf=True)
        seen.add("cut" if found.cut else "whole")
        assert found.cut or found == whole
    assert seen == {"cut", "whole"}


def test_a_judge_that_gives_up_lets_nothing_be_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "TO_JUDGE", 0.0)
    small = busy(pending=3)
    count = Nth(1 << 60)
    full = plan(small, "optimal", effort=1.0, cancel=count)
    assert any(item.proved for item in full)
    found = plan(small, "optimal", effort=1.0, cancel=Nth(count.asked - 1))
    assert NOT_JUDGED in found.notes
    assert found.status == "heuristic"
    assert not any(item.proved or item.bound is not None for item in found)


def test_no_time_at_all_is_still_a_plan() -> None:
    small = busy()
    for method in ("greedy", "time-based", "optimal", "milp"):
        found = plan(small, method, time_limit=0.0)  # type: ignore[arg-type]
        is_whole(small, found, as_lsf=method in ESTIMATES)
        if method in ESTIMATES:
            assert found.cut or found == plan(small, method)  # type: ignore[arg-type]
        else:
            assert found.status in ("feasible", "optimal")


@pytest.mark.parametrize("simulated", some([False, True], 1))
def test_comparing_keeps_one_limit_for_all(
    monkeypatch: pytest.MonkeyPatch, simulated: bool
) -> None:
    """By a clock that each look at it moves: all plans and runs together, and their graces."""
    small, clock, made = busy(), Ticks(), Budget.__init__

    def by_our_clock(budget: Budget, *given: object, **named: object) -> None:
        made(budget, *given, **named | {"clock": clock})  # type: ignore[arg-type]

    def taken(limit: float) -> float:
        begun = clock.now
        found = compare(small, time_limit=limit, effort=0.5, methods=simulated)
        assert [row.job for row in found] == names
        assert found.cut or clock.now - begun <= limit
        return clock.now - begun

    monkeypatch.setattr(Budget, "__init__", by_our_clock)
    names = [job.id for job in priority_order(small)]
    whole = taken(1e6)
    for name, seconds in {"GRACE": 2.0, "MIN_GRACE": 0.5}.items():
        monkeypatch.setattr(planning, name, seconds)
    graces = 3 * planning.TO_JUDGE * planning.GRACE
    for limit in (0.0, 10.0, whole / 8, whole / 4, whole / 2):
        assert taken(limit) <= limit + graces + 30  # a step looks some times before it ends


def test_a_run_of_the_loop_enters_no_more_jobs_than_there_is_time_for() -> None:
    array = "[{id: a, array: '1-900', run_limit: 1h}]"
    instance = sw.loads(f"format: slotwise/1\nhosts: [{{name: h, slots: 1}}]\npending: {array}")
    ticks = iter(range(100_000))
    session = loop_session(
        instance, "greedy", None, 1.0, Budget(20, clock=lambda: next(ticks), grace=20)
    )
    session.begin(pending_only=True)
    with pytest.raises(OutOfTime):
        session.run_until_stable()
    assert 0 < len(session.world.pending) < 100
    cut = Budget(20, clock=lambda: next(ticks), grace=20)
    assert (
        simulated_starts_within(instance, "greedy", jobs=None, budget=cut, attempts=10_000) is None
    )


def test_explaining_and_asking_stop() -> None:
    small = busy(pending=4)
    job = small.pending[-1].id
    count = Nth(1 << 60)
    full = explain(small, job, cancel=count, method="time-based")
    known = {item.change: item.start for item in full.suggestions}
    for n in in_order(count.asked, 3)[2:]:
        found = explain(small, job, cancel=Nth(n), method="time-based")
        assert found.answer.job.id == job
        assert (
            found.suggestions == ()
            or {item.change: item.start for item in found.suggestions}.items() <= known.items()
        )
    answer = ask(
        small, "bsub -n 4 -W 1:00 -q normal", explore=True, cancel=Nth(40), method="time-based"
    )
    assert answer.line.answer.job.slots == 4


@pytest.mark.parametrize("method", ["optimal", "milp"])
@pytest.mark.parametrize("objective", ["lexicographic", "total-start"])
def test_an_exact_plan_places_the_jobs_that_the_grace_lasts_for(
    method: Method, objective: ObjectiveName, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of jobs that there was no time to resolve nothing is said; the others are placed."""
    small = busy()
    resolved = 0
    demand = Resolver.demand

    def counting(resolver: Resolver, job: Job) -> Demand:
        nonlocal resolved
        resolved += 1
        return demand(resolver, job)

    monkeypatch.setattr(Resolver, "demand", counting)
    monkeypatch.setattr(Budget, "late", lambda _, graces=1.0: graces < 1 and resolved >= 3)
    found = plan(small, method, objective=objective, cancel=Nth(1))
    is_whole(small, found, as_lsf=False)
    assert found.cut
    assert found.bound is None
    unseen = [item.job for item in found if item.fallback == NOT_EXAMINED]
    assert unseen == [job.id for job in priority_order(small)][3:]
    assert [item.start is None for item in found] == [False] * 3 + [True] * 4
    assert not any(item.proved for item in found)


def test_explain_stops_while_it_looks_for_who_is_in_the_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each job before it is left out once, in a profile of all others: 12 s of a limit of 5."""
    cancel, built = threading.Event(), []
    without = PlanView.without

    def counted(view: PlanView, job: str) -> object:
        built.append(job)
        cancel.set()
        return without(view, job)

    monkeypatch.setattr(PlanView, "without", counted)
    array = "[{id: 1, array: '1-60', run_limit: 1h, slots: 2}]"
    instance = sw.loads(f"format: slotwise/1\nhosts: [{{name: h, slots: 4}}]\npending: {array}")
    found = explain(instance, "1[50]", cancel=cancel)
    assert len(built) == 1
    assert found.cut
