"""Recorded queues of live 25.11.7, 26.05.3 and one of 22.05.8: starts that Slurm printed."""

from __future__ import annotations

import re
import tarfile
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import cache

import pytest
import slotwise as sw
from sampling import some
from slotwise.model import slurm_version
from slotwise.model.slurm_values import host_list
from slotwise.model.slurm_version import VersionNumber, VersionRule

from tests.slurm.test_import import DATA, instance_of

pytestmark = pytest.mark.behaviour("SLU-02")
#: Rules that no recorded queue needs: none is short of planned licences, none has a version before
#: 23.02.5; the form of JSON has a test of its own.
NOT_RECORDED = {"FIRST_SHORT_RECORD", "PARTS_OF_TASKS", "PRINTS_NO_SHARING"}
RULES = {name: rule for name, rule in vars(slurm_version).items() if isinstance(rule, VersionRule)}


@cache
def archive() -> Mapping[str, Mapping[str, str]]:
    """Texts of each queue by path: ``start.txt``, ``text/jobs.txt``, ``json/jobs.json``."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    with tarfile.open(DATA / "versions.tar.xz") as packed:
        for member in packed:
            content = packed.extractfile(member)
            assert content is not None
            queue, _, path = member.name.partition("/")
            found[queue][path] = content.read().decode()
    return found


@cache
def problem_of(queue: str, form: str = "text") -> sw.Instance:
    """The queue by text alone, or with its jobs from a JSON form."""
    paths = {
        path.partition("/")[2]: text for path, text in archive()[queue].items() if "text/" in path
    }
    if form != "text":
        del paths["jobs.txt"]
        paths["jobs.json"] = archive()[queue][f"{form}/jobs.json"]
    return instance_of(paths)


def printed(queue: str) -> dict[str, str]:
    """Start by job, that of an array its first; a begin time is not a planned start."""
    found: dict[str, str] = {}
    for line in archive()[queue]["start.txt"].splitlines()[1:]:
        job, start, *rest = line.split()
        name = job.partition("_")[0]
        is_last = "_" in job and queue.startswith("22.05")  # then an array has its last start
        if "BeginTime" not in rest and not is_last:
            found[name] = min(start, found.get(name, "N/A"))
    return found


def printed_nodes(queue: str) -> dict[str, set[str]]:
    """Nodes by job of which Slurm printed them, without arrays."""
    rows = (line.split() for line in archive()[queue]["start.txt"].splitlines()[1:])
    return {
        row[0]: set(host_list(row[2])) for row in rows if row[2] != "(null)" and "_" not in row[0]
    }


def planned(problem: sw.Instance) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for item in sw.plan(problem, "slurm").to_dict()["reservations"]:
        name = item["job"].partition("[")[0]
        found[name] = min(filter(None, (item["start_time"], found.get(name))), default=None)
    return found


def different(queue: str, problem: sw.Instance) -> set[str]:
    """Jobs whose planned start is not within 8 s of the printed one."""
    starts, found = planned(problem), set()
    for job, start in printed(queue).items():
        ours = starts.get(job)  # None: a limit allows it no start
        if start == "N/A" or ours is None:
            is_equal = start == "N/A" and ours is None
        else:
            ours_at = datetime.fromisoformat(ours).replace(tzinfo=None)
            is_equal = abs((ours_at - datetime.fromisoformat(start)).total_seconds()) <= 8
        found |= set() if is_equal else {job}
    return found


@pytest.mark.parametrize("queue", some(sorted(archive()), 20))
def test_the_printed_starts_and_nodes(queue: str) -> None:
    """Queues of make live differed: a job with GPUs took the tightest node, nodes tested at a later
    time counted with the CPUs of tasks, licences short now were planned beside a reservation,
    records were kept apart without running licences, and limits of nodes were not applied.
    """
    problem = problem_of(queue)
    assert not different(queue, problem)
    plan = sw.plan(problem, "slurm")
    assert not plan.refused
    nodes = printed_nodes(queue)
    assert not {job for job in nodes if nodes[job] != {*(plan[job].allocation or ())}}


@pytest.mark.parametrize(
    ("queue", "form"),
    some(
        [(queue, path.partition("/")[0]) for queue, texts in sorted(archive().items())
         for path in texts if "json" in path], 5
    ),
)  # fmt: skip
def test_json_has_the_starts_and_the_proofs_of_the_text(queue: str, form: str) -> None:
    """v0.0.45 lacks how a job shares its nodes: its submit line has it."""
    text, json = problem_of(queue), problem_of(queue, form)
    assert not different(queue, json)

    def proofs(problem: sw.Instance) -> list[tuple[str, bool]]:
        return [(item.job, item.proved) for item in sw.plan(problem, effort=0.05, workers=1)]

    assert proofs(json) == proofs(text)


def test_without_a_submit_line_the_sharing_is_named() -> None:
    texts = dict(archive()["26.05-parts-43"])
    jobs = re.sub(r"--wrap=sleep 100000", "job.sh", texts["json/jobs.json"])
    paths = {path.partition("/")[2]: text for path, text in texts.items() if "text/" in path}
    del paths["jobs.txt"]
    problem = instance_of({**paths, "jobs.json": jobs})
    named = [item for item in problem.omissions if "exclusive use of its nodes" in item.what]
    # The others say --exclusive, or wait in a partition with Exclusive=NODE.
    assert {job for item in named for job in item.jobs or ()} == {"588", "590", "592", "595"}
    beside = instance_of({**paths, "jobs.json": jobs, "jobs.txt": texts["text/jobs.txt"]})
    assert beside.pending == problem_of("26.05-parts-43").pending
    assert not [item for item in beside.omissions if "exclusive use of its nodes" in item.what]


@pytest.mark.parametrize("name", sorted(RULES.keys() - NOT_RECORDED))
def test_each_rule_of_a_version_decides_a_recorded_start(name: str) -> None:
    before = version_before(RULES[name].first)
    for queue in archive():
        problem = problem_of(queue)
        older = replace(problem, params=replace(problem.params, scheduler_version=before))
        if different(queue, older):
            return
    raise AssertionError(f"no recorded start needs {name}")


def version_before(version: VersionNumber) -> str:
    year, month, micro = version
    return f"{year:02}.{month:02}.{micro - 1}" if micro else f"{year:02}.{month - 1:02}.99"
