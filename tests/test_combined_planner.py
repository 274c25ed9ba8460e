"""A planner that lives on, where rules meet that seldom do: always the plan from nothing."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
import slotwise as sw
from combined_enumerator import MINUTE, Case, Term
from combined_instances import pending_job
from sampling import some
from slotwise import Plan, PlannedJob
from slotwise.solver.planning import plan
from test_combined import EFFORT, MOST, drawn, starts

EVENTS = 6


def one_event(
    planner: sw.Planner, it: Case, asks: dict[str, tuple[Term, ...]], random: Random
) -> str:
    """Something happens; what, in words."""
    instance = planner.instance
    running = [item.job.id for item in instance.running]
    waiting = [job.id for job in instance.pending]
    hosts = list(it.hosts)
    kind = random.choice(
        ["end", "cancel", "cancel", "host", "host", "submit", "advance", "advance"]
    )
    if kind == "end" and running:
        planner.end(name := random.choice(running))
        return f"job {name} ended"
    if kind == "cancel" and running + waiting:
        planner.cancel(name := random.choice(running + waiting))
        return f"job {name} cancelled"
    if kind == "host":
        status = random.choice(["down", "up", "closed", "open"])
        planner.host(name := random.choice(hosts), status)
        return f"host {name} {status}"
    if kind == "submit" and len(waiting) < 4:
        job = pending_job(random, hosts, len(asks) + 10, asks)
        planner.submit(replace(job, submit=instance.now, queued_as=None))
        return f"job {job.id} submitted"
    planner.advance(now := instance.now + random.randint(0, 4) * MINUTE)
    return f"it is second {now}"


def changes_are_true(before: Plan, after: Plan, because: str, waiting: set[str]) -> None:
    """Each job that waits before and after and has another start or place, and no other."""

    def where(item: PlannedJob | None) -> tuple[int | None, dict[str, int]]:
        return (None, {}) if item is None else (item.start, dict(item.allocation))

    moved = {
        item.job: (where(item), where(after.get(item.job)))
        for item in before
        if item.job in waiting and where(item) != where(after.get(item.job))
    }
    said = {
        change.job: ((change.was, dict(change.was_on)), (change.start, dict(change.on)))
        for change in after.changes
    }
    assert said == moved
    assert all(change.because == because for change in after.changes)


def enumerated(planner: sw.Planner, it: Case, asks: dict[str, tuple[Term, ...]]) -> Case | None:
    """What the planner's instance is, for the enumerator; None where that has no eyes for it."""
    instance = planner.instance
    if any(len(asks[item.job.id]) > 1 for item in instance.running):
        return None
    found = Case(instance, asks, it.host_windows, it.dispatch, it.run)
    size = 1
    for forms in found.forms.values():
        size *= max(1, len(forms))
    return found if size <= MOST else None


def lives_on(seed: int, method: str) -> None:
    it = drawn(seed)
    if it is None:
        return
    random, asks = Random(seed), dict(it.asks)
    options = {"effort": EFFORT} if method == "optimal" else {}
    planner = sw.Planner(it.instance, method, **options)
    before = planner.plan()
    for _ in range(EVENTS):
        because = one_event(planner, it, asks, random)
        found = planner.plan()
        waiting = {job.id for job in planner.instance.pending}
        changes_are_true(before, found, because, waiting)
        fresh = plan(planner.instance, method, **options)
        assert starts(found) == starts(fresh), because
        assert found.status == fresh.status
        if method == "optimal" and (case := enumerated(planner, it, asks)) is not None:
            assert case.faults(found) == []
            if found.status in ("optimal", "infeasible"):
                assert starts(found) == case.lexicographic()
        before = found


@pytest.mark.parametrize("method", ["time-based", "greedy", "optimal"])
@pytest.mark.parametrize("block", some(range(4), 1))
def test_planners_agree_with_plans_from_nothing(method: str, block: int) -> None:
    for seed in range(block * 3, block * 3 + 3):
        lives_on(seed, method)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["time-based", "greedy", "optimal"])
@pytest.mark.parametrize("block", range(20))
def test_planners_agree_with_plans_from_nothing_on_many(method: str, block: int) -> None:
    for seed in range(7_000 + block * 50, 7_050 + block * 50):
        lives_on(seed, method)
