"""A job that waits in a small cluster: which rule of several counts, and which are named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.slurm.test_limits_of_new_jobs import run, written

pytestmark = pytest.mark.behaviour("SLU-01")

NODE = "NodeName={} CPUAlloc={} CPUTot=16 CoresPerSocket=16 ThreadsPerCore=1 Gres=(null) "
NODE += "RealMemory=64000 State={} AllocMem={} Partitions={}\n"
PARTITION = "PartitionName={} Default={} MaxTime={} State={} Nodes={} QoS={} PreemptMode={}\n"
JOB = (
    "JobId={} UserId=ann(1001) Priority={} Account=lab QOS={} JobState={} "
    "TimeLimit=01:00:00 SubmitTime=2026-03-02T09:00:00 StartTime={} EndTime={} Partition={} "
    "NodeList={} NumNodes=1-1 NumCPUs={} NumTasks={} CPUs/Task=1 MinMemoryNode=4G "
    "OverSubscribe=OK {}\n"
)
CONFIG = """Configuration data as of 2026-03-02T10:00:00
AccountingStorageEnforce = associations,limits,qos
AccountingStorageType   = accounting_storage/slurmdbd
ClusterName             = small
SelectType              = select/cons_tres
SelectTypeParameters    = CR_CORE_MEMORY
SchedulerType           = sched/backfill
PriorityType            = priority/basic
SLURM_VERSION           = 23.11.4
"""
LIMITS = ("GrpTRES", "GrpJobs", "MaxTRESPU", "MaxJobsPU", "LimitFactor", "Flags", "PreemptMode")
ASSOC = ("GrpTRES", "GrpJobs", "MaxJobs")


def site(
    target: Path,
    *,
    busy: bool = True,
    partition: str = "cpu",
    cpu: dict[str, str] | None = None,
    gpu: dict[str, str] | None = None,
    qos: dict[str, dict[str, str]] | None = None,
    assoc: dict[str, str] | None = None,
    config: str = "",
    of: str = "normal",
    reservation: str = "",
    priority: int = 1000,
) -> Path:
    """Job 10 waits with 4 CPUs; busy: job 1 has n1, of partition cpu, until 10:30."""
    rows = {"normal": {}, "high": {}} | (qos or {})
    runs = ("2026-03-02T09:30:00", "2026-03-02T10:30:00")
    jobs = JOB.format(1, 10, "normal", "RUNNING", *runs, "cpu", "n1", 16, 16, "") if busy else ""
    waits = JOB.format(10, priority, of, "PENDING", "Unknown", "Unknown", partition, "", 4, 4, "")
    sets = {"cpu": cpu or {}, "gpu": gpu or {}}
    files = {
        "nodes": NODE.format("n1", 16 * busy, "ALLOCATED" if busy else "IDLE", 4096 * busy, "cpu")
        + NODE.format("n2", 0, "IDLE", 0, "gpu"),
        "partitions": "".join(
            PARTITION.format(
                name, "YES" if name == "cpu" else "NO", own.get("MaxTime", "7-00:00:00"),
                own.get("State", "UP"), node, own.get("QoS", "N/A"), own.get("PreemptMode", "OFF"),
            ) for (name, own), node in zip(sets.items(), ("n1", "n2"), strict=True)
        ),
        "config": CONFIG + config,
        "qos": f"Name|Priority|Preempt|{'|'.join(LIMITS)}\n" + "".join(
            f"{name}|0|{row.get('Preempt', '')}|{'|'.join(row.get(x, '') for x in LIMITS)}\n"
            for name, row in rows.items()
        ),
        "assoc": f"Cluster|Account|User|ParentName|{'|'.join(ASSOC)}\nsmall|root|||||\n"
        f"small|lab||root|{'|'.join((assoc or {}).get(x, '') for x in ASSOC)}\n"
        "small|lab|ann|||||\n",
        "jobs": jobs + waits,
        "sdiag": "sdiag output at Mon Mar 02 10:00:00 2026 (1772445600)\n",
    }  # fmt: skip
    if reservation:
        files["reservations"] = reservation
    return written(target, files)


def planned(folder: Path) -> str:
    """Return what solve prints for a folder."""
    run("import", "slurm", "--from", folder, "-o", folder.with_suffix(".yaml"))
    return run("solve", folder.with_suffix(".yaml"))


def row(printed: str) -> list[str]:
    return next(line.split() for line in printed.splitlines() if line.startswith(" 10 "))


@pytest.mark.parametrize(
    ("busy", "gpu", "row_starts"),
    [
        (True, {"MaxTime": "00:30:00"}, "10:30 10:30 proved 4*n1"),
        (False, {"State": "DOWN"}, "now now proved 4*n1"),
        (False, {"State": "INACTIVE"}, "now now proved 4*n1"),
        (False, {"MaxTime": "00:30:00", "QoS": "high", "State": "DOWN"}, "now now proved 4*n1"),
    ],
)
@pytest.mark.parametrize("partition", ["gpu,cpu", "cpu,gpu,gpu"])
def test_partitions_that_never_start_a_job_have_no_say(
    tmp_path: Path, partition: str, busy: bool, gpu: dict[str, str], row_starts: str
) -> None:
    """Limit, state and nodes of the first of its partitions were those of the job."""
    folder = site(tmp_path / "a", busy=busy, partition=partition, gpu=gpu)
    assert row(planned(folder))[1:5] == row_starts.split()
    asked = f"sbatch -p {partition} -t 60 -n4 --mem=4G"
    told = json.loads(
        run("ask", folder.with_suffix(".yaml"), "--user", "ann", "--format", "json", asked)
    )
    assert told["line"]["queue"] == "cpu"


#: Limits of rows, the QOS of partition cpu and of the job, and the start of job 10.
OVERRIDDEN = [
    ({"GrpTRES": "cpu=2"}, {"normal": {"GrpTRES": "cpu=8"}}, "", "now"),
    ({"GrpTRES": "mem=1G"}, {"normal": {"GrpTRES": "mem=8G"}}, "", "now"),
    ({"GrpJobs": "0"}, {"normal": {"GrpJobs": "5"}}, "", "now"),
    ({"MaxJobs": "0"}, {"normal": {"MaxJobsPU": "5"}}, "", "now"),
    ({"GrpTRES": "cpu=2"}, {"normal": {"LimitFactor": "4.0"}}, "", "now"),
    ({"GrpTRES": "cpu=2"}, {"high": {"GrpTRES": "cpu=8"}}, "high", "now"),
    ({}, {"normal": {"MaxJobsPU": "0"}, "high": {"MaxJobsPU": "5"}}, "high", "now"),
    ({}, {"normal": {"MaxTRESPU": "cpu=2"}, "high": {"MaxTRESPU": "cpu=8"}}, "high", "now"),
    ({}, {"normal": {"MaxJobsPU": "5", "Flags": "OverPartQOS"}, "high": {"MaxJobsPU": "0"}},
     "high", "now"),
    # A limit that nothing overrides counts: of other TRES, of a QOS that the job has not.
    ({"GrpTRES": "cpu=2"}, {"normal": {"GrpTRES": "mem=8G"}}, "", "impossible"),
    ({"GrpTRES": "cpu=2"}, {"high": {"GrpTRES": "cpu=8"}}, "", "impossible"),
    ({}, {"normal": {"MaxJobsPU": "5"}, "high": {"MaxJobsPU": "0"}}, "high", "impossible"),
]  # fmt: skip


@pytest.mark.parametrize(("assoc", "qos", "of_partition", "start"), OVERRIDDEN)
def test_a_limit_that_a_qos_overrides_holds_no_job(
    tmp_path: Path,
    assoc: dict[str, str],
    qos: dict[str, dict[str, str]],
    of_partition: str,
    start: str,
) -> None:
    """A job was impossible under a limit that Slurm does not count for it."""
    cpu = {"QoS": of_partition or "N/A"}
    folder = site(tmp_path / "a", busy=False, cpu=cpu, qos=qos, assoc=assoc)
    printed = planned(folder)
    assert row(printed)[1] == start
    assert start == "impossible" or row(printed)[3:5] == ["not", "proved"]


@pytest.mark.parametrize(("of", "is_named"), [("high", True), ("normal", False)])
@pytest.mark.parametrize("sets", [{"GrpTRES": "cpu=32"}, {"LimitFactor": "4.0"}])
def test_jobs_beside_a_job_with_another_limit_are_named(
    tmp_path: Path, sets: dict[str, str], of: str, is_named: bool
) -> None:
    """Job 1 (normal) counts for the limit of the account too, which its QOS overrides."""
    printed = planned(
        site(tmp_path / "a", qos={"normal": sets}, assoc={"GrpTRES": "cpu=18"}, of=of)
    )
    assert row(printed)[3:5] == ["not", "proved"]
    named = "jobs that another limit binds are not counted" in printed
    assert named == is_named or "LimitFactor" in sets


#: The configuration, PreemptMode of partition cpu, the QOS, QOS and priority of job 10, whether it
#: may preempt job 1 (normal, priority 10).
PREEMPTION = [
    ("REQUEUE,WITHIN", "REQUEUE", {}, "normal", 1000, True),
    ("WITHIN,REQUEUE", "OFF", {}, "normal", 1000, True),
    ("REQUEUE", "REQUEUE", {"normal": {"PreemptMode": "within"}}, "normal", 1000, True),
    ("OFF", "OFF", {"normal": {"PreemptMode": "cancel,within"}}, "normal", 1000, True),
    ("REQUEUE", "OFF", {"high": {"Preempt": "normal"}}, "high", 1, True),
    ("REQUEUE,WITHIN", "REQUEUE", {}, "normal", 10, False),
    ("REQUEUE", "REQUEUE", {}, "normal", 1000, False),
    ("REQUEUE,WITHIN", "REQUEUE", {}, "high", 1000, False),
    ("REQUEUE", "OFF", {"high": {"Preempt": "normal"}, "normal": {"PreemptMode": "off"}}, "high",
     1000, False),
]  # fmt: skip


@pytest.mark.parametrize(("mode", "cpu", "qos", "of", "priority", "may"), PREEMPTION)
def test_preemption_by_qos_is_named(
    tmp_path: Path,
    mode: str,
    cpu: str,
    qos: dict[str, dict[str, str]],
    of: str,
    priority: int,
    may: bool,
) -> None:
    """Mode WITHIN was unknown, and the mode of the partition counted in place of that of a QOS."""
    config = f"PreemptType = preempt/qos\nPreemptMode = {mode}\n"
    folder = site(
        tmp_path / "a", config=config, cpu={"PreemptMode": cpu}, qos=qos, of=of, priority=priority
    )
    printed = planned(folder)
    assert ("preemption: 1 may be preempted for it" in printed) == may
    assert row(printed)[3:5] == (["not", "proved"] if may else ["proved", "4*n1"])


RESERVATION = (
    "ReservationName=r1 StartTime=2026-03-02T{}:00 EndTime=2026-03-02T12:00:00 Nodes=n1 NodeCnt=1 "
    "CoreCnt=16 Flags={} Users={} Accounts={} State=ACTIVE\n"
)


@pytest.mark.parametrize(
    ("start", "flags", "users", "accounts", "may"),
    [
        ("09:00", "MAGNETIC", "ann", "(null)", True),
        ("09:00", "MAGNETIC,IGNORE_JOBS", "(null)", "lab", True),
        ("10:30", "MAGNETIC", "ann", "(null)", True),
        ("09:00", "MAGNETIC", "bob", "(null)", False),
        ("09:00", "MAGNETIC", "(null)", "other", False),
        ("09:00", "", "ann", "(null)", False),
    ],
)
def test_jobs_that_a_magnetic_reservation_may_take_are_named(
    tmp_path: Path, start: str, flags: str, users: str, accounts: str, may: bool
) -> None:
    """Job 10 names no reservation: its start behind the reservation was proved."""
    text = RESERVATION.format(start, flags or "SPEC_NODES", users, accounts)
    printed = planned(site(tmp_path / "a", busy=False, reservation=text))
    assert row(printed)[3:5] == (["not", "proved"] if may else ["proved", "4*n1"])
    assert ("r1 with MAGNETIC" in printed) == may
    asked = run("ask", tmp_path / "a.yaml", "--user", "ann", "sbatch -A lab -n4 -t60 --mem=4G")
    assert ("r1 with MAGNETIC" in asked) == (may or accounts == "other")
