"""GPUs as consumables: how many a job takes, on which hosts, and whose words count (GPU-02)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import slotwise as sw
from slotwise import (
    Application,
    Cluster,
    Gpus,
    Host,
    Instance,
    Job,
    Params,
    Plan,
    PlannedJob,
    Queue,
    RunningJob,
)
from slotwise.solver.planning import plan
from slotwise.solver.validate import validate

HOUR = 3600
A100 = Gpus(4, "NVIDIAA100_SXM4_40GB", 40960.0)


def cluster(*gpus: Gpus | None) -> Cluster:
    return Cluster(tuple(Host(f"h{n}", 8, gpus=item) for n, item in enumerate(gpus)))


def problem(*jobs: Job, gpus: tuple[Gpus | None, ...] = (A100,), **more: Any) -> Instance:
    return Instance(cluster(*gpus), pending=jobs, **more)


def job(gpu: str, slots: int = 1, *res_req: str, id: str = "p", **more: Any) -> Job:
    return Job(id, slots, gpu=gpu, res_req=res_req, run_limit=HOUR, **more)


def holder(gpu: str, host: str = "h0", hours: int = 2, slots: int = 1) -> RunningJob:
    it = Job(f"r{host}", slots, gpu=gpu, run_limit=hours * HOUR)
    return RunningJob(it, 0, {host: slots})


def start(instance: Instance, method: str = "optimal") -> int | None:
    found = plan(instance, method, effort=20)
    assert validate(instance, found) == []
    return found["p"].start if found.get("p") is not None else None


@pytest.mark.behaviour("GPU-02", "GPU-03")
@pytest.mark.parametrize("method", ["optimal", "milp", "time-based"])
def test_a_job_waits_for_gpus_that_others_hold(method: str) -> None:
    three = (holder("num=3:j_exclusive=yes"),)
    assert start(problem(job("num=1:j_exclusive=yes"), running=three), method) == 0
    assert start(problem(job("num=2:j_exclusive=yes"), running=three), method) == 2 * HOUR


@pytest.mark.behaviour("GPU-02")
def test_gpus_are_per_host_or_per_task() -> None:
    two = (A100, A100)
    spread = ("span[ptile=1]",)
    for gpu, slots, right in (
        ("num=4", 2, 0),
        ("num=4/host", 2, 0),
        ("num=2/task", 2, 0),
        ("num=3/task", 2, None),
        ("num=5", 1, None),
    ):
        it = problem(job(f"{gpu}:j_exclusive=yes", slots, "span[hosts=1]"), gpus=two)
        assert start(it) == right, gpu
    both = problem(job("num=4:j_exclusive=yes", 2, *spread), gpus=two)
    assert plan(both, "optimal", effort=20)["p"].allocation == {"h0": 1, "h1": 1}
    # Four GPUs on each of its hosts: none is left on either.
    one = replace(both, running=(holder("num=1:j_exclusive=yes", "h1"),))
    assert start(one) == 2 * HOUR


@pytest.mark.behaviour("GPU-02")
@pytest.mark.parametrize("name", ["ngpus_physical", "ngpus_excl_p", "ngpus_excl_t", "ngpus"])
def test_old_names_count_the_same_gpus(name: str) -> None:
    held = (holder("num=3:j_exclusive=yes"),)
    asking = Job("p", 1, res_req=(f"rusage[{name}=2]",), run_limit=HOUR)
    assert start(problem(asking, running=held)) == 2 * HOUR
    # Hosts may say it by the amount alone, under an old name too.
    plain = Cluster((Host("h0", 8, amounts={"ngpus_excl_p": 4.0, "ngpus_physical": 4.0}),))
    assert start(Instance(plain, pending=(asking,), running=held)) == 2 * HOUR


@pytest.mark.behaviour("GPU-02")
def test_rusage_goes_before_num() -> None:
    assert start(problem(job("num=4:j_exclusive=yes", 1, "rusage[ngpus_physical=5]"))) is None
    assert start(problem(job("num=9:j_exclusive=yes", 1, "rusage[ngpus_physical=4]"))) == 0


@pytest.mark.behaviour("GPU-02")
@pytest.mark.parametrize(
    ("merge", "gpus", "right"),
    [
        (True, Gpus(2, "TeslaK80", 4096.0), 0),
        (True, Gpus(1, "TeslaK80", 4096.0), None),  # num of the job
        (True, Gpus(2, "NVIDIAA100_SXM4_40GB", 4096.0), None),  # gmodel of the application
        (True, Gpus(2, "TeslaK80", 4095.0), None),  # gmem of the cluster
        (False, Gpus(2, "NVIDIAA100_SXM4_40GB", 1.0), 0),
        (False, Gpus(1, "NVIDIAA100_SXM4_40GB", 1.0), None),
    ],
)
def test_each_option_is_that_of_the_narrowest_level(
    merge: bool, gpus: Gpus, right: int | None
) -> None:
    it = problem(
        job("num=2:mode=shared", 3, application="app"),
        gpus=(gpus,),
        queues=(Queue("default", gpu_req="num=1/task:gmodel=A100:mode=exclusive_process"),),
        applications=(Application("app", gpu_req="gmodel=K80"),),
        params=Params(gpu_req="gmem=4G:num=8", gpu_req_merge=merge),
    )
    assert start(it) == right
    another = replace(it.pending[0], id="another")
    told = plan(replace(it, pending=(*it.pending, another)), "optimal", effort=5).omissions
    assert any("sharing of GPUs" in item.what for item in told) == (right == 0)


@pytest.mark.behaviour("GPU-02")
@pytest.mark.parametrize(
    ("default", "count", "right"), [("num=3", 3, 0), ("num=3", 2, None), ("", 1, 0)]
)
def test_a_dash_asks_for_the_default(default: str, count: int, right: int | None) -> None:
    it = problem(job("-"), gpus=(Gpus(count),), params=Params(gpu_req=default))
    assert start(it) == right


@pytest.mark.behaviour("GPU-02")
@pytest.mark.parametrize(
    ("asked", "model", "suits"),
    [
        ("K80", "TeslaK80", True),
        ("Tesla", "TeslaK80", True),
        ("teslak80", "TeslaK80", True),
        ("K8", "TeslaK80", False),
        ("A10", "NVIDIAA100_SXM4_40GB", False),
        ("A10", "NVIDIAA10", True),
        ("A100", "NVIDIAA10", False),
        ("H100", "NVIDIAH10080GBHBM3", True),
        ("A10", "NVIDIAA10080GBPCIe", False),
        ("TeslaV100_SXM2_32GB", "TeslaV100_SXM2_32GB", True),
        ("V100", "", None),
        ("", "", True),
    ],
)
def test_models_match_by_name_and_part_of_name(asked: str, model: str, suits: bool | None) -> None:
    it = problem(job(f"gmodel={asked}" if asked else "num=1"), gpus=(Gpus(1, model),))
    assert start(it) == (None if suits is False else 0)
    if suits is not False:
        assert plan(it, "optimal", effort=20)["p"].proved is bool(suits)


@pytest.mark.behaviour("GPU-02")
@pytest.mark.parametrize(
    ("asked", "suits"),
    [
        ("gmem=11G", True),
        ("gmem=12G", False),
        ("gmem=11264", True),
        ("gmodel=K80-12G", True),
        ("gmodel=K80#12GB", True),
        ("gmodel=K80-24G", False),
        ("gvendor=nvidia", True),
        ("gvendor=amd", False),
    ],
)
def test_gpus_suit_by_memory_and_maker(asked: str, suits: bool) -> None:
    it = problem(job(f"{asked}:j_exclusive=yes"), gpus=(Gpus(1, "TeslaK80", 11441.0),))
    assert start(it) == (0 if suits else None)
    in_gb = problem(
        job("gmem=11:j_exclusive=yes"),
        gpus=(Gpus(1, "TeslaK80", 11441.0),),
        params=Params(unit_for_limits="GB"),
    )
    assert start(in_gb) == 0


@pytest.mark.behaviour("GPU-02")
def test_what_hosts_do_not_say_of_gpus_is_named() -> None:
    it = problem(job("gmodel=A100:j_exclusive=yes"), gpus=(Gpus(4),))
    found = plan(it, "optimal", effort=20)
    assert found["p"].start == 0
    assert not found["p"].proved
    assert found.left_out == ("model and memory of GPUs on hosts that do not report them",)


@pytest.mark.behaviour("GPU-02")
def test_levels_of_a_file_are_checked_too() -> None:
    text = """format: slotwise/1
params: {LSB_GPU_REQ: "num=x"}
hosts: [{name: h, slots: 4, gpus: 2}]
queues: [{name: q, GPU_REQ: "mode=no"}]
"""
    with pytest.raises(sw.InputError) as caught:
        sw.loads(text)
    assert "params.LSB_GPU_REQ" in str(caught.value)
    assert "queues[0].GPU_REQ" in str(caught.value)


@pytest.mark.behaviour("GPU-01")
@pytest.mark.parametrize(
    ("gpus", "message"),
    [
        ("-1", "must be a number of GPUs"),
        ("{count: 2, memory: 4G}", "unknown key 'memory'"),
        ("{count: 2, model: Tesla K80}", "not contain a blank, slash or hyphen"),
        ("{model: K80}", "must be a number of GPUs"),
        ("{count: 2, mem: much}", "must be a size"),
    ],
)
def test_what_is_wrong_with_the_gpus_of_a_host_is_said(gpus: str, message: str) -> None:
    with pytest.raises(sw.InputError, match="hosts") as caught:
        sw.loads(f"format: slotwise/1\nhosts: [{{name: h, slots: 4, gpus: {gpus}}}]\n")
    assert message in str(caught.value)


@pytest.mark.behaviour("GPU-01")
def test_gpus_and_amounts_of_a_host_may_not_differ() -> None:
    text = "format: slotwise/1\nhosts: [{{name: h, slots: 4, gpus: 2, amounts: {{ngpus: {}}}}}]\n"
    assert sw.loads(text.format(2)).cluster.hosts[0].gpus == Gpus(2)
    with pytest.raises(sw.InputError, match="gpus sets ngpus to 2"):
        sw.loads(text.format(3))


@pytest.mark.behaviour("GPU-03")
@pytest.mark.parametrize(
    ("gpu", "allocation", "fault"),
    [
        ("num=2:j_exclusive=yes", {"h0": 1}, "5 GPUs in use on host h0 at 0 s, but it has 4"),
        ("num=1/task:j_exclusive=yes", {"h0": 2}, "5 GPUs in use on host h0 at 0 s, but it has 4"),
        ("num=1:j_exclusive=yes", {"h1": 1}, "host h1 has no GPUs"),
        ("num=1:gmodel=V100:j_exclusive=yes", {"h0": 1}, "has GPUs NVIDIAA100_SXM4_40GB, not v100"),
        ("num=1:gmem=80G:j_exclusive=yes", {"h0": 1}, "too few for gmem=80G"),
        ("num=1:gvendor=amd:j_exclusive=yes", {"h0": 1}, "has GPUs of nvidia, not of amd"),
    ],
)
def test_the_judge_reads_gpus_for_itself(gpu: str, allocation: dict[str, int], fault: str) -> None:
    slots = sum(allocation.values())
    it = problem(job(gpu, slots), gpus=(A100, None), running=(holder("num=3:j_exclusive=yes"),))
    entry = PlannedJob("p", 0, HOUR, allocation, method="test")
    said = validate(it, Plan("test", "lexicographic", "heuristic", 0, (entry,)))
    assert any(item.check == "gpu" and fault in item.message for item in said), said
    right = PlannedJob("p", 2 * HOUR, 3 * HOUR, allocation, method="test")
    later = validate(it, Plan("test", "lexicographic", "heuristic", 0, (right,)))
    assert any(item.check == "gpu" for item in later) == ("in use" not in fault)


@pytest.mark.behaviour("GPU-02")
def test_constraints_behind_rusage_are_those_of_gpu() -> None:
    it = problem(gpus=(A100,))
    text = "rusage[ngpus_physical=2:gmodel=A100#40G:gmem=10G] span[gtile=2]"
    asked = sw.ask(
        it, f"-n 1 -W 60 -R '{text}' -gpu j_exclusive=yes", method="time-based"
    ).line.answer.job
    assert asked.gpu == "j_exclusive=yes:gmodel=A100#40G:gmem=10G:gtile=2"
    assert asked.res_req == ("rusage[ngpus_physical=2]",)


@pytest.mark.behaviour("GPU-04")
def test_why_a_job_waits_names_gpus_and_what_helps() -> None:
    it = problem(
        job("num=2:gmodel=A100:j_exclusive=yes"), running=(holder("num=3:j_exclusive=yes"),)
    )
    found = plan(it, "time-based")["p"]
    left = "free slots: 7; GPUs on a host with a free slot: 1 at best"
    wanted = f"needs 1 free slot and 2 free A100 GPUs (now 0; {left})"
    assert found.waits_for == f"{wanted}; free when rh0 ends"
    said = sw.explain(it, "p", method="time-based")
    changes = [item.change for item in said.suggestions]
    assert "with -gpu num=1:gmodel=A100:j_exclusive=yes" in changes
    reasons = [reason["reason"] for reason in said.to_dict()["pending_reasons"]]
    assert any("(ngpus_physical)" in reason and "Job's" in reason for reason in reasons)


@pytest.mark.behaviour("GPU-04")
def test_ask_says_never_without_gpus_and_explores_fewer() -> None:
    bare = problem(gpus=(None, None))
    answer = sw.ask(bare, '-gpu "num=8/task" -n 2 -W 60', method="time-based")
    assert answer.line.answer.start is None
    assert "no host has GPUs" in answer.line.answer.waits_for
    assert answer.omissions == ()
    it = problem(running=(holder("num=3:j_exclusive=yes"),))
    found = sw.ask(
        it, '-W 60 -gpu "num=3:gmodel=K80:j_exclusive=yes"', explore=True, method="time-based"
    )
    best = {item.shown["gpu"] for item in found.alternatives}
    assert "num=3:j_exclusive=yes" in best  # without gmodel
    suited = sw.ask(it, '-W 60 -gpu "num=3:j_exclusive=yes"', explore=True, method="time-based")
    assert suited.alternatives[0].changed["gpu"] == "num=1:j_exclusive=yes"
