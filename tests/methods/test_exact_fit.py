"""Starts that hang on a limit equal to a gap, and plans that keep a distance."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest
import slotwise as sw
from sampling import pairwise, some
from slotwise import Choices

OBJECTIVES: tuple[sw.ObjectiveName, ...] = (
    *("lexicographic", "weighted", "total-start", "makespan", "slowdown", "tardiness"),
)
QUEUE = sw.Queue("q", backfill=True)


def job(name: str, slots: int, limit: int | None, **more: Any) -> sw.Job:
    return sw.Job(name, slots, queue="q", run_limit=limit, **more)


def gap(limit: int | None, **more: Any) -> sw.Instance:
    """One slot of two is free for 1,800 s, then `wide` takes both; `small` may go before it."""
    runs = sw.RunningJob(job("runs", 1, 1800), 0, {"a": 1})
    return sw.instance(
        [sw.Host("a", 2)],
        running=[runs],
        pending=[job("wide", 2, 600), job("small", 1, limit)],
        queues=[QUEUE],
        **more,
    )


def plan(instance: sw.Instance, method: sw.Method = "time-based", **more: Any) -> sw.Plan:
    return sw.plan(instance, method, effort=None if method == "time-based" else 1, **more)


def random_queue(seed: int) -> sw.Instance:
    """Jobs whose limits are multiples of the same few seconds: gaps are often filled exactly."""
    draw = random.Random(seed)
    hosts = [sw.Host(f"h{n}", draw.randint(1, 4), amounts={"mem": 100.0}) for n in range(3)]
    running, free = [], {host.name: host.slots for host in hosts}
    for number in range(draw.randint(1, 5)):
        host = draw.choice(hosts).name
        if free[host]:
            slots = draw.randint(1, free[host])
            free[host] -= slots
            limit = 10 * draw.randint(1, 5)
            running.append(sw.RunningJob(job(f"r{number}", slots, limit), 0, {host: slots}))
    most = sum(host.slots for host in hosts)
    pending = [
        job(
            f"p{number}",
            draw.randint(1, most),
            10 * draw.randint(1, 5),
            res_req=("rusage[mem=60]",) if draw.random() < 0.3 else (),
        )
        for number in range(draw.randint(2, 7))
    ]
    return sw.instance(hosts, running=running, pending=pending, queues=[QUEUE])


def with_limit(instance: sw.Instance, number: int, limit: int) -> sw.Instance:
    pending = list(instance.pending)
    pending[number] = replace(pending[number], run_limit=limit)
    return replace(instance, pending=tuple(pending))


@pytest.mark.parametrize("seed", some(range(60), 6))
def test_marked_are_those_that_one_second_more_would_move(seed: int) -> None:
    """Of first fit one after the other: what the judge of a mark is, planned anew."""
    instance = random_queue(seed)
    found = plan(instance)
    for number, item in enumerate(instance.pending):
        before = found.get(item.id)
        if before is None or before.start is None:
            continue
        longer = with_limit(instance, number, (item.run_limit or 0) + 1)
        after = plan(longer)[item.id]
        moved = (after.start, after.allocation) != (before.start, before.allocation)
        if moved or before.start > 0:  # a start that moves at once may free what was held
            assert moved is bool(before.exact_fit), (item.id, before, after)


@pytest.mark.parametrize(("objective", "seed"), pairwise(OBJECTIVES, range(6)))
def test_a_margin_is_a_longer_limit_in_all_but_its_own_end(
    seed: int, objective: sw.ObjectiveName
) -> None:
    """Starts are those of jobs that ask for so much more; values are those of the jobs as asked."""
    instance = random_queue(seed)
    instance = replace(
        instance,
        pending=tuple(
            replace(j, deadline=40, weight=1 + n) for n, j in enumerate(instance.pending)
        ),
    )
    margin = 5
    if objective != "tardiness":  # elsewhere -t is not a due date: it ends jobs
        plain = (replace(j, deadline=None) for j in instance.pending)
        instance = replace(instance, pending=tuple(plain))
    longer = tuple(
        replace(
            j,
            run_limit=(j.run_limit or 0) + margin,
            deadline=None if j.deadline is None else j.deadline + margin,
        )
        for j in instance.pending
    )
    for method in ("optimal",) if objective == "tardiness" else ("time-based", "optimal"):
        kept = plan(instance, method, objective=objective, margin=margin)
        assert sw.validate(instance, kept, as_lsf=True) == []
        assert not any("bug" in note for note in kept.notes)
        asked = plan(replace(instance, pending=longer), method, objective=objective)
        if objective in ("lexicographic", "total-start", "weighted", "tardiness"):
            assert kept.value == asked.value, method
        if objective == "lexicographic" or method == "time-based":
            assert [i.start for i in kept] == [i.start for i in asked], method
        if objective == "makespan":
            assert kept.value is not None
            assert asked.value is not None
            assert kept.value == asked.value - margin
        assert (kept.status, kept.bound is None) == (asked.status, asked.bound is None)


def test_a_whole_pool_keeps_it_under_every_objective() -> None:
    pool = sw.instance(
        [sw.Host("a", 2)], pending=[job(f"p{n}", 1, 100 + n) for n in range(3)], queues=[QUEUE]
    )
    found = sw.plan(pool, "optimal", objective="makespan", margin=10, effort=4)
    # Two in a row on one slot: 100 + 10 + 101 at best; the other has the longest.
    assert (found.status, found.value) == ("optimal", 211.0)


def test_questions_keep_it_too() -> None:
    instance = gap(1800)
    line = "bsub -n 1 -W 30 -q q"
    alone = replace(instance, pending=instance.pending[:1])
    tight = sw.ask(alone, line, method="time-based")
    assert tight.line.answer.start == 0
    assert "before wide" in tight.line.answer.exact_fit
    assert "before wide" in tight.to_dict()["line"]["exact_fit"]
    kept = sw.ask(alone, line, margin=60, choices=Choices(limit=(1740, 1800)), method="time-based")
    assert kept.line.answer.start == 2460
    assert [choice.answer.start for choice in kept.alternatives] == [0]
    told = sw.explain(instance, "small", margin=60, method="time-based")
    assert (told.answer.start, told.answer.finish) == (2460, 4260)
    assert "with -W 0:29 or less (backfill)" in [item.change for item in told.suggestions]
    assert (
        "before wide" in sw.explain(instance, "small", method="time-based").to_dict()["exact_fit"]
    )
    for method in ("time-based", "optimal"):
        assert sw.explain(instance, "small", method=method, margin=60).answer.start == 2460
    rows = sw.compare(instance, effort=1, margin=60, methods=True)
    assert (rows["small"].time_based_estimate, rows["small"].optimal_estimate) == (2460, 2460)
    assert rows["small"].greedy_simulated == 0  # the loop knows no margin
    assert "before wide" in sw.compare(instance, effort=1, methods=True)["small"].exact_fit


@pytest.mark.parametrize("margin", [-1, 1.5, True, "60", 10**12])
def test_margins_that_make_no_sense_are_refused(margin: Any) -> None:
    for call in (sw.plan, sw.compare):
        with pytest.raises(sw.InputError, match="margin must be 0 to"):
            call(gap(60), margin=margin)
    with pytest.raises(sw.InputError, match="margin must be 0 to"):
        sw.ask(gap(60), "bsub -q q -W 1", margin=margin, method="time-based")


def test_saved_plans_keep_both() -> None:
    from slotwise.model.formats.plan_file import read_plan

    instance = gap(1800)
    for made in (plan(instance), plan(instance, margin=60)):
        data = json.loads(json.dumps(made.to_dict()))
        assert read_plan(data, instance, "plan.json").to_dict() == made.to_dict()
    data = json.loads(json.dumps(plan(instance, margin=60).to_dict()))
    with pytest.raises(sw.InputError, match="margin"):
        read_plan({**data, "margin": -1}, instance, "plan.json")
