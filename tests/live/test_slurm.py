"""Method slurm against a live Slurm on this machine: every start of random queues, by seed.

``make live`` runs it; it is skipped with a word where Slurm is not installed.
"""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import slotwise as sw
from slotwise.model.slurm_values import host_list
from slotwise.model.sources.slurm.assemble import assemble
from slotwise.model.sources.slurm.folder import printed_at, read_folder

from tests.live.slurm_cluster import (
    FORMS,
    OF_ACCOUNTING,
    SlurmCluster,
    missing_programs,
    slurm_cluster,
)

MISSING = missing_programs()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"a live Slurm needs {', '.join(MISSING)}"),
]
#: Queues that are tried, by the seeds from the first on.
QUEUES = int(os.environ.get("SLOTWISE_LIVE_QUEUES", "3"))
FIRST_SEED = int(os.environ.get("SLOTWISE_LIVE_SEED", "0"))
LINEAR = "bf_interval=1,bf_resolution=1,bf_continue,bf_window=2880,bf_window_linear=1"
SETTINGS = {
    "linear": LINEAR, "default": "bf_interval=1", "partitions": LINEAR, "options": LINEAR,
    "licences": f"{LINEAR},bf_licenses", "accounts": LINEAR,
}  # fmt: skip
#: Partitions of a job where several are tried: of nodes apart, over each other, of another tier.
PARTITIONS = ("main", "left", "right", "left,right", "right,left", "left,main", "first,right")
#: Seconds by which the instant of a cycle is known.
NEAR = 8
LIMITS = (7, 12, 15, 20, 25, 30, 45, 60, 90)


@pytest.fixture(scope="module", params=SETTINGS)
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SlurmCluster]:
    folder = tmp_path_factory.mktemp(f"slurm_{request.param}")
    parameters = f"{SETTINGS[request.param]},sched_interval=1,default_queue_depth=1000"
    has_accounts = request.param == "accounts"
    if has_accounts and (missing := missing_programs(OF_ACCOUNTING)):
        pytest.skip(f"limits of QOS need {', '.join(missing)}")
    with slurm_cluster(folder / "run", parameters=parameters, has_accounts=has_accounts) as found:
        found.setting = request.param
        yield found


def running_jobs(draw: random.Random) -> list[list[str]]:
    """Jobs that fill most of six nodes with four CPUs, each on its node."""
    jobs = []
    for node in range(1, 7):
        free = draw.choice((4, 4, 3, 2))
        while free > 0:
            cpus = draw.randint(1, free)
            free -= cpus
            limit = draw.choice(LIMITS)
            jobs.append(["-w", f"n{node}", "-N1", f"-n{cpus}", "--mem=10", f"-t{limit}"])
    return jobs


def pending_job(draw: random.Random) -> list[str]:
    """One job of some shape."""
    limit = f"-t{draw.choice((3, 5, 10, 18, 25, 33, 50, 70, 110))}"
    kind = draw.random()
    if kind < 0.5:
        each = draw.randint(1, 4)
        memory = f"--mem={draw.choice((10, 10, 10, 300, 700))}"
        return [f"-N{draw.randint(1, 6)}", f"--ntasks-per-node={each}", memory, limit]
    if kind < 0.7:
        return [f"-n{draw.randint(1, 10)}", "--mem=10", limit]
    if kind < 0.8:
        return ["-N1", f"-n{draw.randint(1, 4)}", "--mem-per-cpu=100", limit]
    if kind < 0.9:
        return [f"-N{draw.randint(1, 3)}", "--ntasks-per-node=1", "--exclusive", "--mem=10", limit]
    return [f"-n{draw.randint(1, 3)}", f"-c{draw.randint(2, 4)}", "--mem=10", limit]


def with_options(draw: random.Random) -> list[str]:
    """One job with GPUs or licences, an array, or one of an ordinary shape."""
    limit, kind = f"-t{draw.choice((3, 5, 10, 18, 25, 33, 50))}", draw.random()
    if kind < 0.2:
        return [
            "-N1",
            f"-n{draw.randint(1, 3)}",
            f"--gres=gpu:{draw.randint(1, 2)}",
            "--mem=10",
            limit,
        ]
    if kind < 0.35:
        return ["-N1", f"-n{draw.randint(1, 3)}", f"--gpus={draw.randint(1, 2)}", "--mem=10", limit]
    if kind < 0.5:
        return ["-N1", f"-n{draw.randint(1, 4)}", f"-Llic:{draw.randint(1, 3)}", "--mem=10", limit]
    if kind < 0.65:
        return [
            "-N1",
            f"-n{draw.randint(2, 4)}",
            f"--array=1-4%{draw.randint(1, 3)}",
            "--mem=10",
            limit,
        ]
    return pending_job(draw)


def with_limits(draw: random.Random) -> list[str]:
    """One job of a QOS or of an account with limits."""
    qos = f"--qos={draw.choice(('normal', 'cpus', 'each', 'jobs', 'nodes'))}"
    return [*with_options(draw), qos, f"--account={draw.choice(('lab', 'small'))}"]


def in_partitions(draw: random.Random, options: list[str]) -> list[str]:
    """The request in some partitions; all but main have three nodes."""
    names = draw.choice(PARTITIONS)
    if names != "main" and (found := re.fullmatch(r"-N([456])", options[0])):
        options = [f"-N{int(found[1]) - 3}", *options[1:]]
    return [*options, f"-p{names}"]


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + QUEUES))
def test_a_random_queue(cluster: SlurmCluster, seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    cluster.clear()
    ids = [cluster.submit(*options) for options in running_jobs(draw)]
    assert cluster.wait_until(lambda: all(cluster.states().get(name) == "RUNNING" for name in ids))
    if cluster.setting in ("options", "licences", "accounts"):
        window = (
            "StartTime=now+20minutes",
            "Duration=30",
            "Nodes=n1",
            "Users=daemon",
            "Flags=ignore_jobs",
        )
        cluster.run("scontrol", "create", "reservation", "ReservationName=maint", *window)
    of_setting = {"options": with_options, "licences": with_options, "accounts": with_limits}
    made = of_setting.get(cluster.setting, pending_job)
    asked = [made(draw) for _ in range(8)]
    if cluster.setting == "partitions":
        asked = [in_partitions(draw, options) for options in asked]
    words = {cluster.submit(*options): " ".join(options) for options in asked}
    time.sleep(5)  # some cycles of backfill
    cluster.print_to(tmp_path)
    nodes = planned_nodes((tmp_path / "text" / "jobs").read_text())
    for form in FORMS:
        assert differences(tmp_path / form, words, nodes) == []


def planned_nodes(jobs: str) -> dict[str, set[str]]:
    """The nodes that Slurm plans for each pending job, by scontrol show job."""
    found = re.findall(r"^JobId=(\d+) .*JobState=PENDING.* SchedNodeList=(\S+)", jobs, re.MULTILINE)
    return {job: set(host_list(names)) for job, names in found}


def differences(
    folder: Path, words: dict[str, str], nodes: dict[str, set[str]]
) -> list[tuple[str, ...]]:
    """Jobs, options, starts and nodes that are not those of Slurm, by the listings of a folder."""
    seen = read_folder(folder)
    instant = printed_at(seen)
    assert instant is not None
    problem = assemble(seen, datetime.fromtimestamp(instant, UTC)).instance
    plan = sw.plan(problem, "slurm")
    assert not plan.refused, plan.notes
    assert not sw.plan(problem, "optimal", effort=1.0).refused
    of_slurm = {item.job: item.start for item in problem.lsf_says}
    known = sum(start is not None for start in of_slurm.values())
    print(seen.version, folder.name, known, "starts")  # pytest -s
    return [
        (item.job, words.get(item.job.partition("[")[0], ""), str(item), f"{said} {names}")
        for item in plan
        if item.job in of_slurm
        and not is_equal(item, said := of_slurm[item.job], names := nodes.get(item.job, set()))
    ]


def is_equal(item: sw.Reservation, start: int | None, nodes: set[str]) -> bool:
    if item.start is None or start is None:
        return item.start is start
    return abs(item.start - start) <= NEAR and nodes in (set(), {*(item.allocation or ())})
