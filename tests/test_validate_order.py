"""The judge reads dependency conditions (bsub -w) for itself."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from every_start import StartCase, conditions, holds
from judging import Case, faults, job, problem, running
from slotwise import Instance, Params, Plan, PlannedJob
from slotwise.solver.validate import validate

pytestmark = pytest.mark.behaviour("DEP-05")

RUNS = (running("1", {"A": 1}),)


def waits(condition: str, **more: object) -> Instance:
    """Jobs k (100 s) and j, which waits, beside job 1, which ends at 100."""
    return problem(job("k"), job("j", dependency=condition, **more), running=RUNS)


def broken(condition: str, at: int) -> str:
    return f"dependency: job j: it starts at {at} s, before {condition} holds"


CASES = [
    Case(
        name,
        waits(condition, **more),
        {"k": (0, {"B": 1}), "j": (good, {"C": 1})},
        {"k": (0, {"B": 1}), "j": (good - 1, {"C": 1})},
        (broken(condition, good - 1),),
    )
    for name, condition, good, more in (
        ("done of what runs", "done(1)", 100, {}),
        ("a number alone", "1", 100, {}),
        ("ended of what is planned", "ended(k)", 100, {}),
        ("both", "done(1) && post_done(k)", 100, {}),
        ("a failure counts as the end", "exit(1, != 0)", 100, {}),
        ("think time", "ended(1)", 130, {"think_time": 30}),
    )
]


@pytest.mark.parametrize("given", CASES, ids=lambda given: given.name)
def test_conditions(given: Case) -> None:
    good, bad = given.outcome()
    assert good == []
    assert bad == list(given.said)


@pytest.mark.parametrize(
    "condition",
    [
        "started(1)",
        "done(k) || started(1)",
        "!done(1)",
        'external(1, "x")',
        "done(99)",
        "numrun(1, 1)",
    ],
)
def test_what_may_hold_at_once(condition: str) -> None:
    assert faults(waits(condition), {"k": (0, {"B": 1}), "j": (0, {"C": 1})}) == []


def test_a_job_without_a_start_lets_nobody_go() -> None:
    said = faults(waits("started(k)"), {"j": (500, {"C": 1})})
    assert broken("started(k)", 500) in said


def test_the_last_job_of_a_name_or_all_of_them() -> None:
    jobs = (
        replace(job("a"), name="x"),
        replace(job("b"), name="x"),
        job("j", dependency="done(x)"),
    )
    places = {"a": (50, {"A": 1}), "b": (0, {"B": 1}), "j": (100, {"C": 1})}
    assert faults(problem(*jobs), places) == []
    everyone = problem(*jobs, params=Params(job_dep_last_sub=False))
    assert faults(everyone, places) == [broken("done(x)", 100)]
    starred = problem(*jobs[:2], replace(jobs[2], dependency="done(x*)"))
    assert faults(starred, places) == [broken("done(x*)", 100)]


def test_elements_and_counts() -> None:
    array = [replace(job(f"7[{n}]"), name="a") for n in (1, 2)]
    places = {"7[1]": (0, {"A": 1}), "7[2]": (50, {"B": 1}), "j": (100, {"C": 1})}

    def said(condition: str) -> list[str]:
        return faults(problem(*array, job("j", dependency=condition)), places)

    for condition in ("done(a[1])", "numdone(7, 1)", "numdone(7, >= 1)", "numpend(7, < 1)"):
        assert said(condition) == [], condition
    for condition in ("done(a[2])", "done(7)", "numdone(7, > 1)", "numended(a, *)"):
        assert said(condition) == [broken(condition, 100)], condition
    other = [job(f"8[{n}]", dependency="done(a[*])") for n in (1, 2)]
    paired = {**places, "8[1]": (100, {"C": 1}), "8[2]": (150, {"C": 1})}
    del paired["j"]
    assert faults(problem(*array, *other), paired) == []
    early = {**paired, "8[2]": (140, {"C": 1})}
    (text,) = faults(problem(*array, *other), early)
    assert text == "dependency: job 8[2]: it starts at 140 s, before done(a[*]) holds"


def _right(given: StartCase, plan: Plan) -> set[str]:
    """The jobs of a plan that start before their conditions hold."""
    starts = {item.job: item.start for item in plan if item.start is not None}
    ends = {item.job: item.finish for item in plan if item.finish is not None}
    for item in given.instance.running:
        starts[item.job.id], ends[item.job.id] = 0, item.job.run_limit or 0
    thinks = {job.id: job.think_time for job in given.instance.pending}
    return {
        name
        for name, tree in given.trees.items()
        if not holds(tree, starts[name] - thinks[name], starts, ends)
    }


@pytest.mark.parametrize("seed", range(60))
def test_the_judge_agrees_with_trees_that_nobody_parsed(seed: int) -> None:
    given, random = conditions(seed, jobs=5), Random(seed)
    entries = []
    for item in given.instance.pending:
        start = random.randint(0, 12)
        finish = start + (item.run_limit or 0)
        entries.append(PlannedJob(item.id, start, finish, {"h0": item.slots}))
    plan = Plan("test", "lexicographic", "heuristic", 0, tuple(entries))
    said = {fault.job for fault in validate(given.instance, plan) if fault.check == "dependency"}
    assert said == _right(given, plan)
