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
from slotwise.solver.slurm.backfill import BackfillSettings

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
    assert "14 of 14 starts that Slurm printed are those of this plan" in found.notes


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


def test_ends_are_released_in_groups() -> None:
    """What 1800 s would allow is said for 1860 s, the last end of the group; exact is earlier."""
    problem = cluster(
        [("r1", 1800, {"n1": 4}), ("r2", 1825, {"n2": 4}), ("r3", 9000, {"n3": 4})],
        job("p", 1, 10),
    )
    found = sw.plan(slurm(problem, "bf_resolution=1"), "slurm")["p"]
    assert found.start == 1825
    assert found.waits_for.startswith("it would fit 25s earlier")
    assert sw.plan(problem, "optimal")["p"].start == 1800


def test_an_end_on_another_node_pulls_a_late_one_into_its_group() -> None:
    """77121 p5 of the recorded runs: a job skipped as it has no usable node closes no group."""
    problem = cluster(
        [("r1", 1800, {"n1": 2}), ("other", 1800, {"n2": 4}), ("late", 5400, {"n1": 2})],
        job("p", 1, 10, hosts=(sw.HostRequest("n1"),)),
        nodes=2,
    )
    assert starts(problem, "bf_resolution=1")["p"] == 5400
    alone = replace(problem, running=(problem.running[0], problem.running[2]))
    assert starts(alone, "bf_resolution=1")["p"] == 1800
    newer = starts(problem, "bf_resolution=1", "24.11.0")
    assert newer["p"] == 5400


def test_jobs_that_end_in_one_second_may_be_of_two_groups() -> None:
    """default-7 of the live runs: "a" joins the group of 415 s, "b" of the same second does not."""
    problem = cluster(
        [
            ("r1", 415, {"n1": 1}),
            ("other", 415, {"n2": 4}),
            ("a", 715, {"n1": 1}),
            ("b", 715, {"n1": 1}),
            ("c", 895, {"n1": 1}),
        ],
        job("p", 3, 5, hosts=(sw.HostRequest("n1"),)),
        nodes=2,
    )
    assert starts(problem)["p"] == 895
    assert sw.plan(problem, "optimal")["p"].start == 715
    two = replace(problem, pending=(replace(problem.pending[0], slots=2),))
    assert starts(two)["p"] == 715


def test_windows_double_or_grow_by_a_number() -> None:
    """Groups {600, 640}, {680}, {720}, {760, 800} by doubling; {760} alone by steps of a second."""
    running = [(f"r{n}", 600 + 40 * n, {"n1": 1}) for n in range(6)]
    problem = cluster(running, job("p", 5, 10), nodes=1, cpus=6)
    assert starts(problem, "bf_resolution=1,bf_window_linear=1")["p"] == 760
    assert starts(problem, "bf_resolution=1")["p"] == 800


def test_only_ends_on_chosen_nodes_count_from_25_05_1_on() -> None:
    problem = cluster([("r1", 1800, {"n1": 4}), ("r2", 1825, {"n2": 4})], job("p", 4, 10), nodes=2)
    assert starts(problem, "bf_resolution=1", "24.05.3")["p"] == 1825
    assert starts(problem, "bf_resolution=1", "25.05.1")["p"] == 1800


def test_planned_nodes_are_whole() -> None:
    """The second job would fit beside the first on n1; Slurm has it wait for its end."""
    problem = cluster(
        [("r1", 600, {"n1": 4}), ("r2", 9000, {"n2": 4})],
        job("first", 1, 30, hosts=(sw.HostRequest("n1"),)),
        job("second", 1, 30, hosts=(sw.HostRequest("n1"),)),
        nodes=2,
    )
    found = starts(problem, "bf_resolution=1")
    assert found == {"first": 600, "second": 600 + 1800}
    assert sw.plan(problem, "optimal")["second"].start == 600


def test_a_gap_of_exactly_its_length_is_not_used() -> None:
    problem = cluster(
        [("r1", 1200, {"n1": 4, "n2": 4})],
        job("wide", 12, 30, ptile=4),
        job("fits", 1, 19),
        job("exact", 1, 20),
    )
    found = starts(problem, "bf_resolution=1")
    assert (found["wide"], found["fits"]) == (1200, 0)
    assert found["exact"] is None or found["exact"] > 0


def test_a_job_is_given_up_if_nothing_is_released_within_its_length() -> None:
    """So a missing start is no "never": the exact plan has one.

    The first record behind its length is asked as well, and equal neighbours are one record: three
    wide jobs behind each other do not hide the end, unless a record between them differs.
    """
    wide = [job(f"wide{n}", 8, 60, ptile=4) for n in range(3)]
    last = job("last", 8, 15, ptile=4)
    problem = cluster([("r1", 600, {"n1": 4})], *wide, last, nodes=2)
    assert starts(problem) == {"wide0": 600, "wide1": 4200, "wide2": 7800, "last": 11400}
    ends = {"n1": 600, "n2": 4200, "n3": 7800}
    narrow = [job(f"on_{node}", 4, 240, hosts=(sw.HostRequest(node),)) for node in ends]
    running = [(f"r{node}", end, {node: 4}) for node, end in ends.items()]
    problem = cluster(running, *narrow, job("last", 12, 15, ptile=4))
    found = sw.plan(slurm(problem), "slurm")
    assert [found[f"on_{node}"].start for node in ends] == list(ends.values())
    assert found["last"].start is None
    assert "gives it up" in found["last"].waits_for
    assert sw.plan(problem, "optimal")["last"].start == 7800 + 240 * 60


def test_times_of_the_map_are_rounded_down() -> None:
    problem = cluster([("r1", 635, {"n1": 4})], job("first", 4, 10), job("second", 4, 60), nodes=1)
    assert starts(problem)["first"] == 635
    assert starts(problem)["second"] == 1200  # 635 + 600, rounded down to a minute
    assert starts(problem, "", "24.11.0")["second"] == 1260


def test_a_reservation_is_followed_by_its_rounded_end_and_a_second() -> None:
    problem = replace(
        cluster([], job("p", 4, 30), nodes=1),
        advance_reservations=(sw.AdvanceReservation("maint", 600, 1815, {"n1": 4}),),
    )
    assert starts(problem)["p"] == 1861
    assert starts(problem, "bf_resolution=1")["p"] == 1816


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


def test_dependent_jobs_and_those_before_their_time_have_no_start() -> None:
    problem = cluster(
        [("r1", 600, {"n1": 4})],
        job("after", 1, 10, dependency="done(r1)"),
        job("begins", 1, 10, begin=900),
    )
    assert starts(problem) == {"after": None, "begins": None}


def test_licences_are_planned_with_bf_licenses_only() -> None:
    problem = cluster([("r1", 600, {"n1": 1})], nodes=2)
    shared = replace(problem.cluster, shared=(sw.SharedResource("lic", 1),))
    first = problem.running[0]
    uses = replace(first, job=replace(first.job, res_req=("rusage[lic=1/job]",)))
    wants = sw.Job("p", 1, queue="q", res_req=("rusage[lic=1/job]",), run_limit=600)
    problem = replace(problem, cluster=shared, running=(uses,), pending=(wants,))
    assert starts(problem)["p"] is None
    assert starts(problem, "bf_licenses,bf_resolution=1")["p"] == 600


def test_beyond_the_window_a_start_is_shown_and_nothing_is_reserved() -> None:
    day = 86400
    problem = cluster(
        [("r1", 2 * day, {"n1": 4})], job("first", 4, 60), job("second", 4, 60), nodes=1
    )
    assert starts(problem) == {"first": 2 * day, "second": 2 * day}


def test_lighter_nodes_come_first_and_the_tightest_single_node() -> None:
    problem = cluster([("r1", 600, {"n2": 3})], job("p", 1, 10))
    found = sw.plan(slurm(problem), "slurm")
    assert dict(found["p"].allocation) == {"n2": 1}
    hosts = tuple(
        replace(host, load={"weight": float(weight)})
        for host, weight in zip(problem.cluster.hosts, (5, 5, 1), strict=True)
    )
    weighted = replace(problem, cluster=replace(problem.cluster, hosts=hosts))
    assert dict(sw.plan(slurm(weighted), "slurm")["p"].allocation) == {"n3": 1}


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


@pytest.mark.parametrize(
    ("version", "memory", "start"),
    [
        ("22.05.6", "", 5400), ("22.05.7", "", 1800), ("22.05.8", "mem=10/host", 1800),
        ("22.05.8", "mem=10/task", 5400), ("23.02.4", "", 1800), ("23.02.5", "", 5400),
        ("24.11.0", "", 5400), ("", "", 5400),
    ],
)  # fmt: skip
def test_some_versions_count_cpus_that_are_no_whole_task(
    version: str, memory: str, start: int
) -> None:
    """Seed 318 of the live runs: -n3 -c2 where 3 and 3 CPUs are released, and it then starts."""
    uses = f"rusage[{memory}] " if memory else ""
    asked = sw.Job("p", 6, queue="q", res_req=(f"{uses}span[block=2]",), run_limit=600)
    problem = cluster(
        [("r1", 1800, {"n1": 3, "n2": 3}), ("r2", 5400, {"n1": 1, "n2": 1, "n3": 4})], asked
    )
    amounts = {"mem": 1000.0}
    hosts = tuple(replace(host, amounts=amounts) for host in problem.cluster.hosts)
    problem = replace(problem, cluster=replace(problem.cluster, hosts=hosts))
    assert starts(problem, "bf_resolution=1", version)["p"] == start
    single = replace(problem, pending=(replace(asked, slots=8),))  # two nodes of four, whole tasks
    assert starts(single, "bf_resolution=1", version)["p"] == 5400


@pytest.mark.parametrize("version", ["22.05.8", "24.11.0"])
def test_a_node_without_a_whole_task_counts_in_no_version(version: str) -> None:
    problem = cluster(
        [("r1", 1800, {"n1": 3, "n2": 1}), ("r2", 5400, {"n1": 1, "n2": 3, "n3": 4})],
        sw.Job("p", 4, queue="q", res_req=("span[block=2]",), run_limit=600),
    )
    assert starts(problem, "bf_resolution=1", version)["p"] == 5400


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
    assert ("runs into reservation late" in found["p"].waits_for) == runs_into
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
        params = slurm(problem, word).params
        assert BackfillSettings.of(params) == BackfillSettings.of(slurm(problem).params)


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


@pytest.mark.parametrize(
    ("version", "more", "node"),
    [
        ("23.02.4", {}, "n2"), ("23.02.5", {}, "n1"), ("25.11.7", {}, "n1"),
        ("25.11.7", {"res_req": ("span[hosts=1]",)}, "n2"), ("25.11.7", {"exclusive": True}, "n3"),
    ],
)  # fmt: skip
def test_a_node_counts_with_the_cpus_of_its_tasks(
    version: str, more: dict[str, Any], node: str
) -> None:
    """Recorded queue 25.11-accounts-reservations-105: `-N1 --ntasks-per-node=2` takes the first of
    two nodes with 3 and 2 free CPUs, though the second is the tightest.
    """
    held = {"n1": 1, "n2": 2, "n3": 0}
    problem = cluster(
        [(f"r{name}", 9000, {name: cpus}) for name, cpus in held.items() if cpus],
        replace(job("p", 2, 10, ptile=2), **more),
    )
    found = sw.plan(slurm(problem, "bf_resolution=1", version), "slurm")
    assert not found.refused
    assert list(found["p"].allocation) == [node]


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
