"""Starts that hang on a limit equal to a gap, and plans that keep a distance."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
import slotwise as sw
from slotwise import Choices

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


def test_a_job_without_a_limit_keeps_its_place_for_ever_with_a_margin_too() -> None:
    kept = plan(gap(None), margin=60)
    assert (kept["small"].start, kept["small"].finish) == (2460, None)


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
        with pytest.raises(sw.InputError, match="give whole seconds"):
            call(gap(60), margin=margin)
    with pytest.raises(sw.InputError, match="give whole seconds"):
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
