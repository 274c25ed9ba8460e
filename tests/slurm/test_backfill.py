"""Method slurm: the starts of recorded clusters, and each rule of the cycle alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import slotwise as sw
from slotwise.solver.budget import Budget
from slotwise.solver.outlook.outlook import outlook_of, with_slurm_estimates
from slotwise.solver.scheduler.continuation import run_as_configured

from tests.methods.test_whole_nodes import RECORDED, instance_of, recorded_start
from tests.slurm.test_import import instance_of as imported
from tests.slurm.test_import import texts_of

pytestmark = pytest.mark.behaviour("SLU-02")
#: SchedulerParameters of the recorded random queues.
LINEAR = "bf_interval=1,bf_resolution=1,bf_window=2880,bf_continue,bf_window_linear=1"


def slurm(problem: sw.Instance, parameters: str = "", version: str = "22.05.8") -> sw.Instance:
    params = replace(
        problem.params, family="Slurm", scheduler_parameters=parameters, scheduler_version=version
    )
    return replace(problem, params=params)


@pytest.mark.parametrize("key", RECORDED, ids=lambda key: f"{key[0]}{key[1][:12]}")
def test_recorded_random_queues(key: tuple[str, str]) -> None:
    """Every start within 8 s, as exactly as the moment of the cycle is known."""
    scenario = RECORDED[key]
    problem = replace(instance_of(scenario), origin="2026-01-01T00:00:00+00:00")
    found = sw.plan(slurm(problem, LINEAR), "slurm")
    assert not found.refused
    for item in scenario["pending"]:
        start = found[item["name"]].start
        assert start is not None
        assert abs(start - recorded_start(item)) <= 8


def test_a_live_queue() -> None:
    problem = imported(texts_of("live"))
    found = sw.plan(problem, "slurm")
    assert not found.refused
    of_slurm = {item.job: item.start for item in problem.lsf_says}
    assert {item.job: item.start for item in found} == {
        **dict.fromkeys(job.id for job in problem.pending), **of_slurm
    }  # fmt: skip


def test_a_live_queue_with_every_option() -> None:
    """Jobs that Slurm leaves without a start have none; what is not modelled is put in by hand."""
    problem = imported(texts_of("probes"))

    def as_slurm_has_it(job: sw.Job) -> sw.Job:
        if job.id == "12":  # [a*2&b*1]: four nodes, not three
            return replace(job, slots=16, res_req=("rusage[mem=10/host] span[ptile=4]",))
        if job.id == "23":  # --contiguous
            return replace(job, hosts=(sw.HostRequest("n1"), sw.HostRequest("n2")))
        return job

    problem = replace(problem, pending=tuple(map(as_slurm_has_it, problem.pending)))
    found = sw.plan(problem, "slurm")
    assert not found.refused
    of_slurm = {item.job: item.start for item in problem.lsf_says}
    differs = {
        item.job
        for item in found
        if item.start != of_slurm.get(item.job) and not item.job.startswith("26[")
    }
    assert differs == {"36"}  # behind 34, whose nodes in its other partition Slurm does not print
    assert found["26[10]"].start == of_slurm["26[10]"]
    assert "14 of 14 starts that Slurm printed are equal to those of this plan" in found.notes


def cluster(
    running: list[tuple[str, int, dict[str, int]]], *pending: sw.Job, nodes: int = 3, cpus: int = 4
) -> sw.Instance:
    """Nodes n1 …, running jobs with their ends, pending jobs in their order."""
    return sw.instance(
        [sw.Host(f"n{place + 1}", cpus) for place in range(nodes)],
        queues=[sw.Queue("q", exclusive="Y", backfill=True)],
        running=[
            sw.RunningJob(sw.Job(name, sum(held.values()), queue="q"), -60, held, finish=end)
            for name, end, held in running
        ],
        pending=list(pending),
        now=0,
        origin="2026-01-01T00:00:00+00:00",
    )


def job(name: str, slots: int, minutes: int, ptile: int = 0, **more: Any) -> sw.Job:
    text = (f"span[ptile={ptile}]",) if ptile else ("span[hosts=1]",)
    return sw.Job(name, slots, queue="q", res_req=text, run_limit=60 * minutes, **more)


def starts(problem: sw.Instance, *settings: str) -> dict[str, int | None]:
    found = sw.plan(slurm(problem, *settings), "slurm")
    assert not found.refused, found.notes
    return {item.job: item.start for item in found}


def test_jobs_of_a_reservation_keep_to_its_nodes_and_its_time() -> None:
    problem = replace(
        cluster(
            [("r1", 300, {"n1": 2})],
            *(job(name, 2, minutes, reservation="r") for name, minutes in
              (("a", 10), ("b", 10), ("c", 10), ("d", 20), ("long", 31))),
            job("other", 2, 10),
            nodes=2,
        ),
        advance_reservations=(sw.AdvanceReservation("r", 0, 1800, {"n1": 4}, ("all",)),),
    )  # fmt: skip
    problem = replace(
        problem,
        running=tuple(
            replace(run, job=replace(run.job, reservation="r")) for run in problem.running
        ),
    )
    found = starts(problem, "bf_resolution=1")
    assert (found["a"], found["b"], found["c"], found["d"]) == (0, 300, 900, None)
    assert (found["long"], found["other"]) == (None, 0)
    later = replace(
        problem,
        advance_reservations=(replace(problem.advance_reservations[0], start=60),),
    )
    assert starts(later)["a"] is None  # as of job 38 of the live queue


def test_the_judge_keeps_jobs_of_a_reservation_inside_it() -> None:
    window = sw.AdvanceReservation("r", 0, 1800, {"n1": 4}, ("all",))
    problem = slurm(
        replace(
            cluster([], job("in", 2, 10, reservation="r"), job("out", 2, 10), nodes=2),
            advance_reservations=(window,),
        )
    )
    found = sw.plan(problem, "slurm")
    assert sw.validate(problem, found) == []
    for name, change in (
        ("in", {"allocation": {"n2": 2}}), ("in", {"start": 1500, "finish": 2100}),
        ("out", {"allocation": {"n1": 2}}),
    ):  # fmt: skip
        moved = [replace(item, **change) if item.job == name else item for item in found]
        wrong = replace(found, reservations=tuple(moved), value=None)
        assert "reservation" in {fault.check for fault in sw.validate(problem, wrong)}


def test_beyond_the_window_a_start_is_shown_and_nothing_is_reserved() -> None:
    day = 86400
    problem = cluster(
        [("r1", 2 * day, {"n1": 4})], job("first", 4, 60), job("second", 4, 60), nodes=1
    )
    assert starts(problem) == {"first": 2 * day, "second": 2 * day}


def test_the_judge_has_its_own_reading() -> None:
    """A second job on a planned node, and a start beside no room, are found."""
    problem = slurm(
        cluster([("r1", 600, {"n1": 4})], job("a", 1, 30), job("b", 1, 30), nodes=1),
        "bf_resolution=1",
    )
    found = sw.plan(problem, "slurm")
    assert sw.validate(problem, found) == []
    second = found["b"]
    assert second.start == 2400
    moved = replace(second, start=700, finish=2500)
    wrong = replace(found, reservations=(found["a"], moved))
    assert {fault.check for fault in sw.validate(problem, wrong)} == {"value", "slots"}
    early = replace(found, reservations=(replace(found["a"], start=300, finish=2100), second))
    assert sw.validate(problem, early)


def test_recorded_plans_are_those_of_the_data() -> None:
    path = Path(__file__).parents[1] / "data" / "ground" / "slurm-plans.json"
    assert sum(len(item["pending"]) for item in json.loads(path.read_text())) == 64


def test_its_starts_are_the_estimates_of_slurm() -> None:
    """In `verify` and the store of the service; the loop's own reservations estimate nothing."""
    problem = imported(texts_of("live"))
    starts = {item.job: item.start for item in sw.plan(problem, "slurm")}
    run = run_as_configured(problem)
    assert not run.estimates
    own = with_slurm_estimates(problem, run, Budget())
    found = outlook_of(problem, own, None)
    assert {item.job: item.estimate for item in found} == starts
    assert {item.estimate_by for item in found if item.estimate is not None} == {"slurm"}
    of_lsf = replace(problem, params=replace(problem.params, family="LSF"))
    run = run_as_configured(of_lsf)
    assert run.estimates
    assert with_slurm_estimates(of_lsf, run, Budget()) is run


@pytest.mark.parametrize(
    ("begin", "minutes", "start"),
    [
        (1500, 10, 1200),
        (1900, 10, 1200),
        (1500, 30, 5101),
        (500, 10, 5101),
        (1201, 10, 1200),
        (1000, 10, 1200),
        (1000, 16, 1200),
        (1000, 17, 5101),
    ],
)
def test_a_start_that_runs_into_a_reservation(begin: int, minutes: int, start: int) -> None:
    """Slurm tests reservations at the instant examined alone: seen live with (1500, 10, 1200), and
    a start within the window.
    """
    problem = cluster([("r1", 1200, {"n1": 4})], job("p", 1, minutes), nodes=1)
    window = sw.AdvanceReservation("late", begin, 5100, {"n1": 4}, users=("root",))
    problem = replace(problem, advance_reservations=(window,))
    made = slurm(problem, "bf_resolution=1")
    found = sw.plan(made, "slurm")
    assert not found.refused, found.notes
    assert found["p"].start == start
    runs_into = start < 5100 and begin < start + 60 * minutes
    assert ("would overlap reservation late" in found["p"].waits_for) == runs_into
    best = sw.plan(made)
    assert best["p"].start == (5100 if runs_into or start == 5101 else start)
    assert not [note for note in best.notes if "LSF" in note]


@pytest.mark.parametrize(
    ("given", "same_as"),
    [("3.5", "3"), ("0", "60"), ("", "60"), ("x", "60"), ("2s", "2"), ("-1", "60"), ("3601", "60")],
)
def test_numbers_of_parameters_are_read_as_slurm_reads_them(given: str, same_as: str) -> None:
    """By their first digits; what is not allowed is the default."""
    problem = imported(texts_of("live"))

    def found(resolution: str) -> sw.Plan:
        plan = sw.plan(slurm(problem, f"bf_resolution={resolution},bf_window=2880"), "slurm")
        assert not plan.refused, plan.notes
        return plan

    assert [item.start for item in found(given)] == [item.start for item in found(same_as)]
    for word in ("bf_window=0", "bf_max_job_test=0", "bf_window=x", "bf_window=43201"):
        plans = [sw.plan(slurm(problem, *words), "slurm") for words in ((word,), ())]
        assert [item.start for item in plans[0]] == [item.start for item in plans[1]]


def gpu_nodes(*pending: sw.Job, ends: Mapping[str, tuple[int, ...]]) -> sw.Instance:
    """Two nodes of two GPUs; jobs of one GPU each hold them until these ends."""
    problem = replace(cluster([], nodes=2), pending=pending)
    hosts = tuple(replace(host, gpus=sw.Gpus(2)) for host in problem.cluster.hosts)
    running = tuple(
        sw.RunningJob(
            sw.Job(f"{node}-{place}", 1, queue="q", gpu="num=1/host"), -60, {node: 1}, finish=end
        )
        for node, until in ends.items()
        for place, end in enumerate(until)
    )
    return replace(problem, cluster=replace(problem.cluster, hosts=hosts), running=running)


@pytest.mark.parametrize(
    ("ends", "start", "later"),
    [
        # n1 has one at 600, n2 one at 1200: the sum is reached on n1, whose last end is 600.
        ({"n1": (600, 4000), "n2": (1200, 4000)}, 600, 4000),
        # One free now on each node: Slurm tries to start it, fails, and reserves n2.
        ({"n1": (4000,), "n2": (4500,)}, 0, 4000),
        # One GPU of both nodes at 600 is no sum of two.
        ({"n1": (600, 4000), "n2": (4500, 5000)}, 4000, 4000),
        ({"n1": (4000, 4100), "n2": (4500, 5000)}, 4100, 4100),
    ],
)
def test_gpus_of_a_job_count_over_the_nodes_looked_at(
    ends: Mapping[str, tuple[int, ...]], start: int, later: int
) -> None:
    """Recorded queue 26.05-gpu-53: `-N1 --gpus=2` is printed on a node with one free GPU."""
    own = job("p", 1, 10, gpu="num=2/job")
    problem = gpu_nodes(own, ends=ends)
    assert starts(problem, "bf_resolution=1", "26.05.3")["p"] == start
    assert starts(problem, "bf_resolution=1", "25.11.7")["p"] == later
    best = sw.plan(slurm(problem, "bf_resolution=1", "26.05.3"))["p"]
    assert (best.start, best.proved) == (later, True)
    by_node = replace(problem, pending=(replace(own, gpu="num=2/host"),))
    assert starts(by_node, "bf_resolution=1", "26.05.3")["p"] == later


def test_gpus_of_a_job_are_no_words_of_lsf() -> None:
    with pytest.raises(sw.InputError, match="2/task or 2/host"):
        cluster([], job("p", 1, 10, gpu="num=2/job"))


def test_nodes_without_gpus_give_times_to_try() -> None:
    """Seen live (22.05.8, seed 0 of the options): GPUs do not restrict the nodes of the map, whose
    changes are the instants that a cycle tries.
    """
    problem = cluster(
        [("r1", 100, {"n1": 4}), ("r2", 200, {"n2": 4}), ("r3", 500, {"n3": 4})],
        job("a", 4, 5, hosts=(sw.HostRequest("n1"),)),
        job("b", 4, 30, hosts=(sw.HostRequest("n2"),)),
        job("c", 4, 5, hosts=(sw.HostRequest("n3"),)),
    )
    first, second, third = problem.cluster.hosts
    hosts = (first, replace(second, gpus=sw.Gpus(1)), third)
    pending = (*problem.pending, job("p", 1, 5, gpu="num=1/host"))
    problem = replace(problem, cluster=replace(problem.cluster, hosts=hosts), pending=pending)
    # n2 is planned until 2000; that n1 is free at 400 and n3 at 800 lets the cycle go on.
    assert starts(problem, "bf_resolution=1") == {"a": 100, "b": 200, "c": 500, "p": 2000}


@pytest.mark.parametrize(("version", "node"), [("22.05.8", "n3"), ("23.11.0", "n1")])
def test_some_versions_keep_the_weights_that_gpus_give(version: str, node: str) -> None:
    """Seen live (22.05.8, seed 15 of the options): nodes with the GPUs of a job come first."""
    problem = cluster(
        [("r1", 9000, {"n1": 1})], job("p", 1, 10, gpu="num=1/host"), job("then", 2, 5)
    )
    first, second, third = problem.cluster.hosts
    hosts = (first, second, replace(third, gpus=sw.Gpus(1)))
    holds = sw.Job("r3", 1, queue="q", gpu="num=1/host")
    running = (*problem.running, sw.RunningJob(holds, -60, {"n3": 1}, finish=600))
    problem = replace(problem, cluster=replace(problem.cluster, hosts=hosts), running=running)
    found = sw.plan(slurm(problem, "bf_resolution=1", version), "slurm")
    assert not found.refused
    assert (found["p"].start, list(found["p"].allocation)) == (600, ["n3"])
    assert list(found["then"].allocation) == [node]
