"""Job groups: a limit counts the jobs of a group and of all below it (GRP-01)."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest
import slotwise as sw
from loop_lab import HOUR, host, instance, job, run, running
from sampling import some
from slotwise.cli.main import app
from slotwise.model.job import JobGroup, job_groups_of
from typer.testing import CliRunner

pytestmark = pytest.mark.behaviour("GRP-01")

DOCUMENT = """
format: slotwise/1
hosts: [{name: A, slots: 16}]
queues: [{name: q}]
job_groups: [{name: /canada, limit: 12}, {name: /canada/qa/auto, limit: 6}, {name: /x}]
running:
RUNNING
pending:
  - {id: "1", array: "1-9", bsub: "-q q -W 60 -g /canada/qa/auto"}
  - {id: "2", bsub: "-q q -W 60 -g /x"}
"""
RUNNING = "\n".join(
    f'  - {{id: "9{n}", bsub: "-q q -W 60 -g /canada/projects/test1", start: 0, '
    "allocation: {A: 1}}"
    for n in range(7)
)
#: Groups and their limits for jobs at random; None of those without an entry.
TREE = {"/a": 3, "/a/b": 2, "/a/b/c": None, "/a/d": 1, "/e": None, "": None}


def text(document: str = DOCUMENT) -> str:
    return document.replace("RUNNING", RUNNING)


@pytest.mark.parametrize("method", ["time-based", "optimal", "milp"])
def test_the_groups_above_count_too(method: str) -> None:
    """The manual's: /canada 12, of which 7 run, leaves 5 of the 6 of /canada/qa/auto."""
    problem = sw.loads(text())
    found = sw.plan(problem, method=method)
    starts = [found[f"1[{n}]"].start for n in range(1, 10)]
    assert starts == [0] * 5 + [HOUR] * 4
    assert found["2"].start == 0
    assert not sw.validate(problem, found)


def test_the_loop_starts_no_more_and_says_why() -> None:
    problem = sw.loads(text())
    found = run(problem)
    assert sorted(found[f"1[{n}]"].start for n in range(1, 10)) == [0] * 5 + [HOUR] * 4
    shown = CliRunner().invoke(app, ["show", "bjobs", "-l", "-", "1[9]"], input=text())
    assert "The specified job group has reached its job limit" in shown.stdout
    assert "Job Group </canada/qa/auto>" in shown.stdout


def test_bjgroup_counts_groups_with_those_below() -> None:
    shown = CliRunner().invoke(app, ["show", "bjgroup", "-", "--format", "json"], input=text())
    rows = {row["GROUP_NAME"]: row for row in json.loads(shown.stdout)}
    assert rows["/canada"] | {"FINISH": 0} == {
        **{"GROUP_NAME": "/canada", "NJOBS": 16, "PEND": 4, "RUN": 12, "SSUSP": 0, "USUSP": 0},
        **{"FINISH": 0, "JLIMIT": "12/12"},
    }
    assert rows["/canada/qa/auto"]["JLIMIT"] == "5/6"
    assert rows["/canada/projects"]["JLIMIT"] == "7/-"


def test_suspended_jobs_count() -> None:
    one = running("r", {"A": 1}, 60, job_group="/a")
    problem = instance(
        host("A", 4),
        running=(replace(one, suspended=True),),
        pending=(job("p", 1, minutes=10, job_group="/a/b"),),
        job_groups=(JobGroup("/a", 1),),
    )
    found = sw.outlook(problem)["p"]
    assert (found.as_configured, found.state) == (None, "unknown end")


def test_without_a_word_of_groups_their_limits_are_not_known() -> None:
    silent = sw.loads(text(DOCUMENT.replace("job_groups:", "description: nothing #")))
    found = sw.plan(silent)
    assert not found["1[1]"].proved
    assert found["1[9]"].start == 0
    assert any("job group" in item.what for item in found.omissions)
    known = sw.plan(sw.loads(text()))
    assert known["1[1]"].proved
    assert not any("job group" in item.what for item in known.omissions)


def literal(jobs: list[tuple[str, int]], running_groups: list[str], slots: int) -> list[int]:
    """The earliest starts in the order of the list; jobs of an hour each, all that run end at 1."""
    starts: list[int] = []
    for group, size in jobs:
        hour = 0
        while True:
            here = [
                (g, s) for (g, s), start in zip(jobs, starts, strict=False) if start == hour * HOUR
            ]
            here += [(g, 1) for g in running_groups if hour == 0]
            full = sum(s for _, s in here) + size > slots
            for path in job_groups_of(group):
                most = TREE.get(path)
                inside = sum(path in job_groups_of(g) for g, _ in here)
                full |= most is not None and inside >= most
            if not full:
                break
            hour += 1
        starts.append(hour * HOUR)
    return starts


@pytest.mark.parametrize("seed", some(range(30), 10))
def test_plans_agree_with_a_literal_reading(seed: int) -> None:
    """Jobs of one hour in priority order, each at the first hour at which nothing is in its way."""
    draw = random.Random(seed)
    jobs = [(draw.choice(list(TREE)), draw.randint(1, 3)) for _ in range(draw.randint(2, 6))]
    runs = [draw.choice(list(TREE)) for _ in range(draw.randint(0, 2))]
    problem = instance(
        host("A", 5),
        running=tuple(
            running(f"r{n}", {"A": 1}, 60, job_group=group) for n, group in enumerate(runs)
        ),
        pending=tuple(
            job(f"p{n}", size, minutes=60, job_group=group) for n, (group, size) in enumerate(jobs)
        ),
        job_groups=tuple(JobGroup(name, most) for name, most in TREE.items() if name),
    )
    wanted = literal(jobs, runs, 5)
    found = sw.plan(problem)
    assert [found[f"p{n}"].start for n in range(len(jobs))] == wanted
    assert not sw.validate(problem, found)
    assert not sw.validate(problem, sw.plan(problem, method="time-based"))
    free = tuple(replace(group, limit=None) for group in problem.job_groups)
    without = sw.plan(replace(problem, job_groups=free))
    if [item.start for item in without] != wanted:
        assert sw.validate(problem, without)
