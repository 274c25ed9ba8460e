"""GPUs of Slurm's jobs: no job shares one, so that plans by whole GPUs are exact."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import slotwise as sw
from sampling import pairwise

from tests.slurm.test_import import instance_of

pytestmark = pytest.mark.behaviour("SLU-01")
TEXTS = {
    "nodes.txt": "NodeName=g1 CPUTot=8 ThreadsPerCore=1 Gres=gpu:a100:2 RealMemory=900 "
    "State=IDLE\n",
    "part.txt": "PartitionName=gpu Default=YES MaxTime=60 Nodes=g1 State=UP PriorityTier=1\n",
    "config.txt": "Configuration data as of 2026-11-26T23:53:41\nSelectType = select/cons_tres\n"
    "SelectTypeParameters = CR_CORE\n",
    "sdiag.txt": "sdiag output at Thu Nov 26 23:53:41 2026 (1795737221)\n",
    "jobs.txt": "".join(
        f"JobId={n} UserId=a(1) Priority={9 - n} Partition=gpu JobState=PENDING TimeLimit=10 "
        f"NumNodes=1-1 NumCPUs=1 NumTasks=1 TRES=cpu=1,node=1 TresPerNode=gres/gpu:1\n"
        for n in (1, 2, 3)
    ),
}


@pytest.mark.parametrize("method", ["optimal", "milp"])
def test_jobs_with_gpus_are_proved(method: str) -> None:
    found = instance_of(TEXTS)
    plan = sw.plan(found, method)
    assert [plan[job].start - found.now for job in "123"] == [0, 0, 600]
    assert all(plan[job].proved for job in "123")
    assert not any("GPU" in item.what for item in plan.omissions)


def test_a_new_job_with_gpus_is_proved() -> None:
    asked = sw.ask(instance_of(TEXTS), "sbatch -n1 -t 5 --gres=gpu:1", method="optimal")
    assert asked.line.answer.proved
    assert not any("GPU" in item.what for item in asked.omissions)


def test_jobs_of_lsf_may_share_theirs() -> None:
    found = instance_of(TEXTS)
    plan = sw.plan(replace(found, params=replace(found.params, family="LSF")), "optimal")
    assert any("sharing of GPUs" in item.what for item in plan.omissions)


def with_memory(request: str, more: str = "") -> dict[str, str]:
    """The cluster with memory as a resource and one pending job of this request."""
    job = (
        "JobId=1 UserId=a(1) Priority=9 Partition=gpu JobState=PENDING TimeLimit=10 NumNodes=1-1 "
        f"NumCPUs=1 NumTasks=1 TRES=cpu=1,node=1,mem=600M {request}\n"
    )
    config = TEXTS["config.txt"].replace("CR_CORE", "CR_CORE_MEMORY")
    return {**TEXTS, "config.txt": config, "jobs.txt": job + more}


def test_memory_by_gpu_decides_when_a_job_starts() -> None:
    """900 MB: two GPUs of 400 MB fit on the node, two of 500 MB do not with another job."""
    other = (
        "JobId=2 UserId=a(1) Priority=8 Partition=gpu JobState=PENDING TimeLimit=10 NumNodes=1-1 "
        "NumCPUs=1 NumTasks=1 TRES=cpu=1,node=1,mem={0}M TresPerNode=gres/gpu:1 "
        "MemPerTres=gres/gpu:{0}\n"
    )
    for size, start in ((400, 0), (500, 600)):
        more = other.format(size)
        texts = with_memory(f"TresPerNode=gres/gpu:1 MemPerTres=gres/gpu:{size}", more)
        found = instance_of(texts)
        for method in ("optimal", "milp", "time-based", "slurm"):
            plan = sw.plan(found, method)
            assert plan["2"].start == found.now + start, method
    asked = sw.ask(instance_of(TEXTS), "sbatch -n1 -t 5 --gres=gpu:2 --mem-per-gpu=100")
    assert not any("mem-per-gpu" in item.what for item in asked.omissions)


def test_defaults_of_a_partition_for_gpus_touch_jobs_with_gpus() -> None:
    part = TEXTS["part.txt"].replace("State=UP", "State=UP JobDefaults=DefMemPerGPU=100")
    cpus = TEXTS["jobs.txt"].splitlines()[2].replace(" TresPerNode=gres/gpu:1", "")
    jobs = "\n".join([*TEXTS["jobs.txt"].splitlines()[:2], cpus])
    plan = sw.plan(instance_of({**TEXTS, "part.txt": part, "jobs.txt": jobs}))
    assert [plan[job].proved for job in "123"] == [False, False, True]


RUNNING = (
    "JobId=5 UserId=a(1) Priority=9 Partition=gpu JobState=RUNNING TimeLimit=10 NumNodes=2 "
    "NumCPUs=4 StartTime=2026-11-26T23:50:00 NodeList=g[1-2] TRES=cpu=4,node=2,gres/gpu={total} "
    "AllocTRES=cpu=4,node=2,gres/gpu={total} {nodes}\n"
)


def of_two_nodes(total: int, nodes: str) -> dict[str, str]:
    """Two nodes of four GPUs, on which one job runs."""
    node = (
        "NodeName={} CPUTot=8 ThreadsPerCore=1 Gres=gpu:a100:4 RealMemory=900 State=MIXED "
        "CPUAlloc=2\n"
    )
    return {
        **TEXTS,
        "nodes.txt": node.format("g1") + node.format("g2"),
        "part.txt": TEXTS["part.txt"].replace("Nodes=g1", "Nodes=g[1-2]"),
        "jobs.txt": RUNNING.format(total=total, nodes=nodes),
    }


def test_gpus_by_node_are_read_from_json() -> None:
    texts = of_two_nodes(4, "")
    texts.pop("jobs.txt")
    job = {
        "job_id": 5, "job_state": "RUNNING", "partition": "gpu", "user_name": "a", "cpus": 4,
        "node_count": 2, "time_limit": 10, "start_time": 1795737000, "nodes": "g[1-2]",
        "tres_alloc_str": "cpu=4,node=2,gres/gpu=4", "tres_req_str": "cpu=4,node=2,gres/gpu=4",
        "gres_detail": ["gpu:a100:3(IDX:0-2)", "gpu:a100:1(IDX:0)"],
    }  # fmt: skip
    found = instance_of({**texts, "squeue.json": json.dumps({"jobs": [job]})})
    assert found.running[0].job.gpu == "num=3/host"
    (item,) = [item for item in found.omissions if "GPUs of job 5" in item.what]
    assert item.hosts == ("g2",)


HELD = "JobId=9 UserId=a(1) Priority=9 Partition=gpu JobState=RUNNING TimeLimit=30 NumNodes=1 "
HELD += "NumCPUs=1 NumTasks=2 NodeList=g1 StartTime=2026-11-26T23:53:41 "


def _beside(running: str, node: str = "", waits: str = "TresPerNode=gres/gpu:1") -> sw.Instance:
    """The cluster with one running and one pending job."""
    jobs = TEXTS["jobs.txt"].splitlines()[0].replace("TresPerNode=gres/gpu:1", waits)
    words = node.replace("shard", "")
    nodes = TEXTS["nodes.txt"].replace("State=", f"{words} CPUAlloc=1 State=")
    if "shard" in running + node:
        nodes = nodes.replace("gpu:a100:2", "gpu:a100:2,shard:8")
    jobs = f"{HELD}{running}\n{jobs}\n"
    return instance_of({**TEXTS, "nodes.txt": nodes, "jobs.txt": jobs})


@pytest.mark.parametrize(
    "running",
    [
        "AllocTRES=cpu=1,node=1,gres/gpu=2",
        "AllocTRES=cpu=1,node=1 TresPerNode=gres/gpu:2",
        "AllocTRES=cpu=1,node=1 TresPerNode=gres:gpu:a100:2",
        "AllocTRES=cpu=1,node=1 TresPerJob=gres/gpu:2",
        "AllocTRES=cpu=1,node=1 TresPerTask=gres/gpu=1",
        "ReqTRES=cpu=1,node=1,gres/gpu=2,gres/gpu:a100=2",
        "ReqTRES=cpu=1,node=1,gres/gpu=2 TresPerSocket=gres/gpu:2",
        "AllocTRES=cpu=1,node=1 Nodes=g1 CPU_IDs=0 Mem=0 GRES=gpu:a100:2(IDX:0-1)",
    ],
)
def test_what_a_running_job_holds_is_found_in_each_form(running: str) -> None:
    """AllocTRES has no GPUs where AccountingStorageTRES does not list them."""
    plan = sw.plan(_beside(running), "optimal")
    assert (plan["1"].start, plan["1"].proved) == (1800, True)


@pytest.mark.parametrize("asked", ["gres/gpu=1", "gres/gpu=1,gres/gpu:a100=1"])
def test_gpus_that_tres_alone_name_are_requested(asked: str) -> None:
    """A job of which no TresPer… was printed started now, beside one that has all GPUs, proved."""
    found = _beside("AllocTRES=cpu=1,node=1,gres/gpu=2", waits=f"ReqTRES=cpu=1,node=1,{asked}")
    assert sw.plan(found, "optimal")["1"].start == 1800


@pytest.mark.parametrize(
    ("running", "node", "waits", "proved"),
    [
        ("TresPerNode=gres/gpu:1", "GresUsed=gpu:a100:1(IDX:0)", "TresPerNode=gres/gpu:1", True),
        ("TresPerNode=gres/gpu:1", "GresUsed=gpu:a100:2(IDX:0-1)", "TresPerNode=gres/gpu:1", False),
        ("", "AllocTRES=cpu=1,gres/gpu=1", "TresPerNode=gres/gpu:1", False),
        ("", "AllocTRES=cpu=1,gres/gpu=1", "", True),
        ("TresPerSocket=gres/gpu:1", "", "TresPerNode=gres/gpu:1", False),
        ("TresPerSocket=gres/gpu:1", "", "", True),
        ("TresPerNode=gres/shard:1", "", "TresPerNode=gres/gpu:1", False),
        ("TresPerNode=gres/shard:1", "", "TresPerNode=gres/shard:1", False),
        ("AllocTRES=cpu=1,gres/shard=1", "", "TresPerNode=gres/gpu:1", False),
        ("TresPerNode=gres/gpu:1", "shard", "TresPerNode=gres/shard:1", False),
        ("AllocTRES=cpu=1,gres/gpu=1", "shard", "TresPerNode=gres/shard:1", False),
        ("AllocTRES=cpu=1,gres/gpu=1", "shard", "TresPerNode=gres/gpu:1", True),
        ("", "GresUsed=gpu:a100:1 shard", "TresPerNode=gres/shard:1", False),
    ],
)  # fmt: skip
def test_gpus_in_use_by_no_known_job_take_the_proof(
    running: str, node: str, waits: str, proved: bool
) -> None:
    """Of the jobs that request GPUs, and of no others; shard and gpu are of one device."""
    plan = sw.plan(_beside(running, node, waits), "optimal")
    assert (plan["1"].start, plan["1"].proved) == (0, proved)


@pytest.mark.parametrize(
    ("of", "kind", "form"),
    pairwise(
        [
            ("{}=8", "gpu:1", 1800),
            ("{}=1", "gpu:2", 1800),
            ("{}=4", "gpu:1", 0),
            ("gpu=2", "{}:1", 1800),
            ("gpu=1", "{}:5", 1800),
            ("gpu=1", "{}:4", 0),
            ("gpu=1,gres/{}=1", "gpu:1", 1800),
        ],
        ["shard", "mps"],
        ["text", "json"],
    ),
)
def test_gpus_and_parts_of_them_are_one_amount(
    of: tuple[str, str, int], kind: str, form: str
) -> None:
    """Two GPUs of 4 parts; a whole GPU takes its parts. Which device has a part is not known, so
    that nothing of it is proved; the ask box has the amounts too.
    """
    held, waits, start = of
    held, waits = held.format(kind), waits.format(kind)
    texts = {**TEXTS, "nodes.txt": TEXTS["nodes.txt"].replace("a100:2", f"a100:2,{kind}:8")}
    texts["jobs.txt"] = f"{HELD}AllocTRES=cpu=1,gres/{held}\n" + TEXTS["jobs.txt"].splitlines()[
        0
    ].replace("gpu:1", waits)
    if form == "json":
        common = {"partition": "gpu", "user_name": "a", "cpus": 1, "tasks": 1, "node_count": 1}
        runs = {"job_id": 9, "job_state": "RUNNING", "time_limit": 30, "start_time": 1795737221,
                "nodes": "g1", "tres_alloc_str": f"cpu=1,node=1,gres/{held}"}  # fmt: skip
        wait = {"job_id": 1, "job_state": "PENDING", "time_limit": 10,
                "tres_per_node": f"gres/{waits}"}  # fmt: skip
        texts["squeue.json"] = json.dumps({"jobs": [common | runs, common | wait]})
        texts.pop("jobs.txt")
    found = instance_of(texts)
    planned = sw.plan(found, "optimal")["1"]
    line = f"sbatch -N1 -n1 -t 10 --gres={waits}"
    asked = sw.ask(replace(found, pending=()), line, method="optimal").line.answer
    assert (planned.start, planned.proved) == (start, False)
    assert (asked.start, asked.proved) == (start, False)


@pytest.mark.parametrize(
    ("request_", "nodes"),
    [
        ("--gpus=12", 3),
        ("--gpus=4", 1),
        ("-N 2 --gpus=8", 2),
        ("-n 3 --gpus-per-task=2", 2),
        ("-n 3 --gpus-per-task=3", 3),
        ("--gpus=13", 0),
        ("-N 1-1 --gpus=5", 0),
        ("-n 1 --gpus-per-task=5", 0),
        ("-N 1-2 --gpus=8", 2),
        ("-N 2-3 --gpus=12", 3),
        ("-N 2-3 -n 17", 3),
        ("-N 2-4 -n 24", 3),
        ("-N 2 -n 40 -O", 2),
        ("-N 2 --gpus=13", 0),
        ("-N 2 --gpus=a100:9", 0),
        ("-N 1-2 --gpus=9", 0),
        ("-N 2-4 --gpus=13", 0),
        ("-N 5 --gpus=5", 0),
        ("-N 2-3 -n 25", 0),
        ("-N 2 -n 17 --gpus=8", 0),
        ("-N 2 -n 4 --gpus-per-task=3", 0),
        ("-N 1-2 -n 12 --gpus-per-task=1", 0),
        ("-n 13 --gpus-per-task=1", 0),
        ("-x g1 --gpus=9", 0),
        ("-N 2 -n 3 --gpus-per-node=5", 0),
        ("-N 2 --gres=gpu:5", 0),
    ],
)
def test_gpus_of_a_whole_job_take_as_many_nodes_as_they_need(request_: str, nodes: int) -> None:
    """Three nodes of 4 GPUs; impossible only where no reading of the request fits."""
    texts = dict(TEXTS)
    texts["nodes.txt"] = "".join(
        f"NodeName=g{n} CPUTot=8 ThreadsPerCore=1 Gres=gpu:a100:4 RealMemory=900 State=IDLE\n"
        for n in (1, 2, 3)
    )
    texts["part.txt"] = texts["part.txt"].replace("Nodes=g1", "Nodes=g[1-3]")
    texts["jobs.txt"] = "No jobs in the system\n"
    asked = sw.ask(instance_of(texts), f"sbatch -t 5 {request_} --wrap x", method="optimal")
    assert len(asked.line.answer.allocation) == nodes
    assert asked.outlook is not None
    assert asked.outlook.state == ("starts" if nodes else "impossible")
    assert ("13 GPUs on a" in asked.outlook.condition) is False


@pytest.mark.behaviour("GAT-04")
@pytest.mark.parametrize(
    ("request_", "state"),
    [
        ("NumNodes=1 NumCPUs=1 NumTasks=1 TRES=cpu=1,node=1 TresPerJob=gres/gpu:4", "starts if"),
        ("NumNodes=1-1 NumCPUs=1 NumTasks=1 TRES=cpu=1,node=1 TresPerJob=gres/gpu:4", "impossible"),
        ("NumNodes=2 NumCPUs=2 NumTasks=2 TRES=cpu=2,node=2 TresPerJob=gres/gpu:3", "starts if"),
        ("NumNodes=2 NumCPUs=2 NumTasks=2 TRES=cpu=2,node=2 TresPerJob=gres/gpu:5", "impossible"),
        ("NumNodes=1-2 NumCPUs=1 NumTasks=1 TRES=cpu=1,node=1 TresPerJob=gres/gpu:5", "impossible"),
        ("NumNodes=3 NumCPUs=3 NumTasks=3 TRES=cpu=3,node=3 TresPerJob=gres/gpu:3", "impossible"),
        ("NumNodes=2 NumCPUs=3 NumTasks=3 TRES=cpu=3,node=2 TresPerTask=gres/gpu:1", "starts if"),
        ("NumNodes=2 NumCPUs=3 NumTasks=3 TRES=cpu=3,node=2 TresPerTask=gres/gpu:2", "impossible"),
    ],
)  # fmt: skip
def test_what_an_omission_makes_infeasible_is_not_called_impossible(
    request_: str, state: str
) -> None:
    """Nodes of 1 and 3 GPUs: Slurm may take 1 and 2 of them, we plan equal parts."""
    texts = dict(TEXTS)
    texts["nodes.txt"] = "".join(
        f"NodeName=g{n} CPUTot=8 ThreadsPerCore=1 Gres=gpu:a100:{n} RealMemory=900 State=IDLE\n"
        for n in (1, 3)
    )
    texts["part.txt"] = texts["part.txt"].replace("Nodes=g1", "Nodes=g1,g3")
    texts["jobs.txt"] = (
        f"JobId=1 UserId=a(1) Priority=9 Partition=gpu JobState=PENDING TimeLimit=10 {request_}\n"
    )
    row = sw.outlook(instance_of(texts))["1"]
    assert row.state == state


BEHIND = (
    "JobId=1 UserId=a(1) Priority=9 Partition=gpu JobState=PENDING TimeLimit=10 {}\n"
    "JobId=2 UserId=a(1) Priority=8 Partition=gpu JobState=PENDING TimeLimit=10 "
    "NumNodes=1-1 NumCPUs=1 NumTasks=1 TRES=cpu=1,node=1 {}\n"
)


@pytest.mark.behaviour("GAT-04")
@pytest.mark.parametrize(
    ("ahead", "behind", "proof"),
    [
        ("NumNodes=1 NumCPUs=3 NumTasks=3 TresPerTask=gres/gpu:2", "TresPerNode=gres/gpu:1", None),
        ("NumNodes=2 NumCPUs=2 NumTasks=2 TresPerJob=gres/gpu:3", "TresPerNode=gres/gpu:1", None),
        ("NumNodes=2-2 NumCPUs=2 NumTasks=2 TresPerJob=gres/gpu:a100:3", "TresPerJob=gres/gpu:4",
         None),
        ("NumNodes=1 NumCPUs=3 NumTasks=3 TresPerTask=gres/gpu:2", "", ()),
        ("NumNodes=2-2 NumCPUs=4 NumTasks=2 TresPerNode=gres/gpu:4", "TresPerNode=gres/gpu:1", ()),
        ("NumNodes=1-1 NumCPUs=1 NumTasks=1 TresPerTask=gres/gpu:2", "TresPerNode=gres/gpu:1", ()),
        ("NumNodes=1 NumCPUs=3 NumTasks=3 OverSubscribe=USER", "", None),
        ("NumNodes=2 NumCPUs=16 NumTasks=2", "", ("1",)),
    ],
)  # fmt: skip
def test_a_job_behind_amounts_that_are_not_known(
    ahead: str, behind: str, proof: tuple[str, ...] | None
) -> None:
    """It was proved on the condition that job 1 starts where planned, whatever job 1 holds there.

    proof: of job 2: (): proved, None: not even on a condition.
    """
    texts = dict(TEXTS)
    texts["nodes.txt"] = "".join(
        f"NodeName=g{n} CPUTot=8 ThreadsPerCore=1 Gres=gpu:a100:4 RealMemory=900 State=IDLE\n"
        for n in (1, 2)
    )
    texts["part.txt"] = texts["part.txt"].replace("Nodes=g1", "Nodes=g[1-2]")
    texts["jobs.txt"] = BEHIND.format(ahead, behind)
    instance = instance_of(texts)
    plan = sw.plan(instance)
    entry = plan["2"]
    assert (entry.proved, entry.proved_if) == (proof == (), proof or ())
    named = any(item.touches("2") for item in plan.omissions)
    assert named == (proof is None), plan.omissions
    rows = (sw.compare(instance).outlook["2"], sw.explain(instance, "2").outlook)
    for row in rows:
        assert row is not None
        assert (row.proved, row.proved_if) == (entry.proved, entry.proved_if)
        assert bool(row.cautions or row.possible_cautions) == named
    lines = sw.compare(instance).cautions().lines
    assert any("touches 2)" in line or "touches 1, 2)" in line for line in lines) == named
