"""Each of Slurm's reasons is explained by what was read, or takes the proof and says so."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
import slotwise as sw
from printed_listings import slurm_snapshot
from slotwise.cli.main import app
from slotwise.solver.planning import plan
from typer.testing import CliRunner

pytestmark = pytest.mark.behaviour("GAT-01")
NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)
CLOCK = f"sdiag output at Mon Mar 02 10:00:00 2026 ({int(NOW.timestamp())})\n"
CONFIG = (
    "Configuration data as of 2026-03-02T10:00:00\nClusterName = small\n"
    "PriorityType = priority/basic\nSelectType = select/cons_tres\n"
    "SelectTypeParameters = CR_CPU\nSLURM_VERSION = {version}\n"
)
PARTITIONS = (
    "PartitionName=cpu Default=YES MaxTime=UNLIMITED Nodes=n1 PriorityTier=1 State=UP{}\n"
    "PartitionName=off MaxTime=UNLIMITED Nodes=n1 PriorityTier=1 State={}\n"
)
NODES = (
    "NodeName=n1 CPUTot=512 CPUAlloc=512 CoresPerSocket=512 Sockets=1 ThreadsPerCore=1 "
    "RealMemory=64000 State=ALLOCATED Partitions=cpu,off ActiveFeatures=fast Gres=(null)\n"
    "NodeName=n2 CPUTot=8 CPUAlloc=0 CoresPerSocket=8 Sockets=1 ThreadsPerCore=1 "
    "RealMemory=64000 State={} ActiveFeatures=(null) Gres=(null)\n"
)
RUNS = (
    "JobId=1 ArrayJobId=1 ArrayTaskId=9 JobName=r UserId=zoe(9) Priority=1000 "
    "Account=lab QOS=normal JobState=RUNNING "
    "Reason=None TimeLimit=01:00:00 SubmitTime=2026-03-02T09:00:00 StartTime=2026-03-02T09:30:00 "
    "EndTime=2026-03-02T10:30:00 Partition=cpu NodeList=n1 NumNodes=1 NumCPUs={} NumTasks=1 "
    "CPUs/Task=1 Nodes=n1 CPU_IDs=0-{} Mem=0\n"
)
MAINTENANCE = (
    "ReservationName=maint StartTime=2026-03-02T10:50:00 EndTime=2026-03-09T12:00:00 Nodes=n1 "
    "Flags=MAINT Users=root State=INACTIVE\n"
)
LICENCES = "LicenseName=matlab Total=8 Used=8 Free=0 Reserved=0 Remote=no\n"

#: What limits of a QOS and an association are on, with a cell and its words in reasons.
TRES = {
    "Cpu": "cpu=1", "CPU": "cpu=1", "Mem": "mem=1G", "Memory": "mem=1G", "Node": "node=9",
    "GRES": "gres/gpu=9", "License": "license/matlab=1", "Billing": "billing=999",
    "Energy": "energy=999", "BB": "bb/any=9", "Unknown": "cpu=1",
}  # fmt: skip


def limits() -> dict[str, tuple[str, str, str]]:
    """Reasons that are limits: of a QOS or an association, its column, its cell."""
    found = {
        "QOSGrpJobsLimit": ("qos", "GrpJobs", "1"),
        "QOSGrpSubmitJobsLimit": ("qos", "GrpSubmit", "99"),
        "QOSGrpWallLimit": ("qos", "GrpWall", "99:00:00"),
        "QOSMaxJobsPerUserLimit": ("qos", "MaxJobsPU", "1"),
        "QOSMaxSubmitJobPerUserLimit": ("qos", "MaxSubmitPU", "9"),
        "MaxJobsPerAccount": ("qos", "MaxJobsPA", "1"),
        "MaxSubmitJobsPerAccount": ("qos", "MaxSubmitPA", "9"),
        "QOSUsageThreshold": ("qos", "UsageThres", "0.5"),
        "QOSJobLimit": ("qos", "GrpJobs", "1"),
        "QOSResourceLimit": ("qos", "GrpTRES", "cpu=1"),
        "QOSTimeLimit": ("qos", "GrpWall", "99:00:00"),
        "AssocGrpJobsLimit": ("assoc", "GrpJobs", "1"),
        "AssocGrpSubmitJobsLimit": ("assoc", "GrpSubmit", "99"),
        "AssocGrpWallLimit": ("assoc", "GrpWall", "99:00:00"),
        "AssocMaxJobsLimit": ("assoc", "MaxJobs", "1"),
        "AssocMaxSubmitJobLimit": ("assoc", "MaxSubmit", "9"),
        "AssociationJobLimit": ("assoc", "MaxJobs", "1"),
        "AssociationResourceLimit": ("assoc", "GrpTRES", "cpu=1"),
        "AssociationTimeLimit": ("assoc", "GrpWall", "99:00:00"),
        "AccountingPolicy": ("assoc", "GrpJobs", "1"),
    }
    for what, cell in TRES.items():
        for of, word in (("qos", "QOS"), ("assoc", "Assoc")):
            found[f"{word}Grp{what}Limit"] = (of, "GrpTRES", cell)
            found[f"{word}Grp{what}"] = (of, "GrpTRES", cell)
            found[f"{word}Grp{what}Minutes"] = (of, "GrpTRESMins", cell)
            found[f"{word}Grp{what}MinutesLimit"] = (of, "GrpTRESMins", cell)
            found[f"{word}Grp{what}RunMinutes"] = (of, "GrpTRESRunMins", cell)
            found[f"{word}Grp{what}RunMinutesLimit"] = (of, "GrpTRESRunMins", cell)
        found[f"QOSMax{what}PerUser"] = ("qos", "MaxTRESPU", cell)
        found[f"QOSMax{what}PerUserLimit"] = ("qos", "MaxTRESPU", cell)
        found[f"Max{what}PerAccount"] = ("qos", "MaxTRESPA", cell)
        found[f"Max{what}RunMinsPerAccount"] = ("qos", "MaxTRESRunMinsPA", cell)
        found[f"Max{what}RunMinsPerUser"] = ("qos", "MaxTRESRunMinsPU", cell)
    return found


LIMITS = limits()
#: Columns and cells of the limits that methods obey.
COUNTED = re.compile(r"(Grp|Max)(TRES|Jobs)(PU|PA)? (1|cpu=.*|mem=.*|license.*)")
#: Other reasons, each with the fields of a job that explain it beside MAINTENANCE and the like.
FACTS = {
    "Dependency": "Dependency=afterany:1(unfulfilled)",
    "BeginTime": "EligibleTime=2026-03-02T12:00:00",
    "Licenses": "Licenses=matlab:1",
    "Reservation": "Reservation=maint",
    "ReqNodeNotAvail": "",
    "ReqNodeNotAvail,_Reserved_for_maintenance": "",
    "ReqNodeNotAvail,_May_be_reserved_for_other_job": "",
    "ReqNodeNotAvail,_UnavailableNodes:n2": "ReqNodeList=n2",
    "NodeDown": "ReqNodeList=n2",
    "JobArrayTaskLimit": "ArrayJobId=1 ArrayTaskId=1-3%1 ArrayTaskThrottle=1",
    "Constraints": "Features=fast",
    "PartitionDown": "Partition=off",
    "PartitionInactive": "Partition=off",
    "AccountNotAllowed": "",
    "Job's_account_not_permitted_to_use_this_partition_(cpu_allows_x_not_y)": "",
    "QOSNotAllowed": "",
    "Job's_QOS_not_permitted_to_use_this_partition_(cpu_allows_x_not_y)": "",
    "PartitionConfig": "",
    "BurstBufferResources": "BurstBuffer=any",
    "BurstBufferStageIn": "BurstBuffer=any",
    "BurstBufferOperation": "BurstBuffer=any",
    "FedJobLock": "FedViableSiblings=a,b",
}
#: Reasons that nothing explains.
NOTHING = [
    "Prolog",
    "Cleaning",
    "FrontEndDown",
    "SchedDefer",
    "SystemFailure",
    "JobLaunchFailure",
    "NonZeroExitCode",
    "RaisedSignal",
    "TimeLimit",
    "InactiveLimit",
    "OutOfMemory",
    "InvalidAccount",
    "InvalidQOS",
    "PowerNotAvail",
    "PowerReserved",
    "ReservationDeleted",
    "ReservationInvalid",
    "MaxPoweredUpNodes",
    "MpiPortsBusy",
    "WordsOfAnotherVersion",
]
#: Reasons that say that no waiting helps.
NEVER = (
    *["DependencyNeverSatisfied", "PartitionTimeLimit", "PartitionNodeLimit", "BadConstraints"],
    *["DeadLine", "MaxMemPerLimit", "QOSMaxWallDurationPerJobLimit", "QOSMinCpuNotSatisfied"],
    *["AssocMaxWallDurationPerJobLimit", "AssocMaxCpuPerNode", "QOSMaxGRESPerNode", "QOSMinNode"],
    *(f"{of}Max{what}PerJob" for what in TRES for of in ("QOS", "Assoc")),
    *(f"{of}Max{what}MinutesPerJob" for what in TRES for of in ("QOS", "Assoc")),
    *("AssocMaxCpuPerJobLimit", "AssocMaxCpuMinutesPerJobLimit", "QOSMinMemory", "QOSMinGRES"),
)
#: Reasons of a job that waits for its turn or for nodes in use.
WAITS = (
    *("None", "Priority", "Resources"),
    "Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved_for_jobs_in_higher_priority_partitions",
)
HELD = ("JobHeldUser", "JobHeldAdmin", "JobHoldMaxRequeue")


#: Fields of a running job that uses the limit of a reason.
OF_RUN = (
    "UserId=u{0}(1) Account=a{0} QOS=q{0} JobState=RUNNING EndTime=2026-03-02T10:30:00 "
    "NodeList=n1 Nodes=n1 CPU_IDs={1} Mem=0"
)


def job(number: int, reason: str, more: str = "", start: str = "Unknown") -> str:
    fields = {
        "JobId": number, "JobName": "j", "UserId": f"u{number}(1)", "Priority": 1000,
        "Account": f"a{number}", "QOS": f"q{number}", "JobState": "PENDING", "Reason": reason,
        "TimeLimit": "01:00:00", "SubmitTime": "2026-03-02T09:00:00",
        "EligibleTime": "2026-03-02T09:00:00", "StartTime": start, "Partition": "cpu",
        "NumNodes": "1-1", "NumCPUs": 1, "NumTasks": 1, "CPUs/Task": 1,
        "ReqTRES": "cpu=1,mem=1G,node=1,license/matlab=1",
    }  # fmt: skip
    fields |= dict(word.split("=", 1) for word in more.format(id=number).split())
    return " ".join(f"{name}={value}" for name, value in fields.items()) + "\n"


def made(
    jobs: str,
    *,
    explained: bool = False,
    full: bool = False,
    busy: bool = True,
    version: str = "23.11.4",
    reserved: str = "",
) -> sw.Instance:
    """The instance of these jobs; explained: with all that explains reasons; full: each limit is
    in use; busy: n1 is full.
    """
    others = len(LIMITS) if full else 0
    runs = "".join(
        job(1000 + number, "None", OF_RUN.format(number, 512 - number), "2026-03-02T09:30:00")
        for number in range(100, 100 + others)
    )
    texts = {
        "sdiag": CLOCK,
        "config": CONFIG.format(version=version),
        "partitions": PARTITIONS.format(
            " AllowAccounts=x AllowQos=y" if explained else "", "DOWN" if explained else "UP"
        ),
        "nodes": NODES.format("DOWN" if explained else "IDLE").replace(
            "CPUAlloc=512", f"CPUAlloc={512 if busy else 1}"
        ),
        "jobs": RUNS.format(*((512 - others, 511 - others) if busy else (1, 0))) + runs + jobs,
    }
    if explained:
        texts |= {"reservations": MAINTENANCE, "licences": LICENCES, **tables()}
    if reserved:
        texts["reservations"] = reserved
    return slurm_snapshot(NOW, texts)


def tables() -> dict[str, str]:
    """The QOS and the association of each job with a limit, each with the limit of its reason."""
    rows: dict[str, list[str]] = {"qos": [], "assoc": []}
    heads = {
        of: sorted({column for kind, column, _ in LIMITS.values() if kind == of}) for of in rows
    }
    for number, (of, column, cell) in enumerate(LIMITS.values(), start=100):
        name = f"q{number}" if of == "qos" else f"a{number}|"
        cells = [cell if head == column else "" for head in heads[of]]
        rows[of].append("|".join((name, *cells)))
    first = {"qos": "Name", "assoc": "Account|User"}
    return {of: "\n".join(("|".join((first[of], *heads[of])), *rows[of])) + "\n" for of in rows}


def said_of(instance: sw.Instance, name: str) -> list[str]:
    return [
        item.what
        for item in instance.omissions
        if item.what.startswith("Slurm says") and item.jobs is not None and name in item.jobs
    ]


@pytest.mark.parametrize("explained", ["by nothing", "with room", "full"])
def test_each_limit_is_explained_by_its_row_if_that_is_full(explained: str) -> None:
    found = made(
        "".join(job(number, reason) for number, reason in enumerate(LIMITS, start=100)),
        explained=explained != "by nothing",
        full=explained == "full",
    )
    assert len(found.pending) == len(LIMITS)
    for number, (reason, (_, column, cell)) in enumerate(LIMITS.items(), start=100):
        counted = COUNTED.fullmatch(f"{column} {cell}")
        said = said_of(found, str(number))
        told = explained == "by nothing" or (explained == "with room" and counted)
        assert bool(said) == bool(told), (reason, said)
    if explained == "by nothing":
        assert not any(item.proved for item in plan(found, "optimal", effort=5))


#: What would explain a reason at another time or of another length, and does not now.
ACTIVE, LATER = (MAINTENANCE.replace("02T10:50", day) for day in ("02T09:50", "02T11:10"))


@pytest.mark.parametrize(
    ("reason", "more", "reserved"),
    [
        ("Reservation", "Reservation=maint", ACTIVE),
        ("ReqNodeNotAvail,_Reserved_for_maintenance", "", LATER),
        ("ReqNodeNotAvail", "", LATER),
        ("JobArrayTaskLimit", "ArrayJobId={id} ArrayTaskId=1-3%2", LATER),
        ("JobArrayTaskLimit", "ArrayJobId={id} ArrayTaskId=1-3 ArrayTaskThrottle=2", LATER),
    ],
)
def test_what_is_not_in_force_now_explains_nothing(reason: str, more: str, reserved: str) -> None:
    """A reservation a week ahead explained why a job of an hour did not start."""
    found = made(job(10, reason, more), reserved=reserved)
    assert all(said_of(found, item.id) for item in found.pending), found.omissions
    assert not any(item.proved for item in plan(found, "optimal", effort=5))


@pytest.mark.parametrize("explained", [False, True])
@pytest.mark.parametrize("reason", FACTS)
def test_each_reason_is_explained_by_what_was_read(reason: str, explained: bool) -> None:
    found = made(job(10, reason, FACTS[reason] if explained else ""), explained=explained)
    names = [item.id for item in found.pending]
    assert all(bool(said_of(found, name)) != explained for name in names), found.omissions
    if not explained:
        assert names == ["10"]
        assert not plan(found, "optimal", effort=5)["10"].proved


def test_what_nothing_explains_is_always_told_and_what_waits_never() -> None:
    jobs = [*NOTHING, *WAITS]
    found = made("".join(job(number, reason) for number, reason in enumerate(jobs, start=10)))
    for number, reason in enumerate(jobs, start=10):
        assert bool(said_of(found, str(number))) == (reason in NOTHING), reason


#: Cells with several reasons, as squeue joins those of the tasks of an array.
JOINED = {
    "Resources,Priority": True,
    f"{WAITS[-1]},Priority": True,
    "Resources,_Prolog": False,
    "Priority,QOSMaxJobsPerUserLimit": False,
    "Resources,BadConstraints": False,
    "BadConstraints,Resources": False,
    "Resources,JobHeldUser": False,
    "Resources,Dependency": False,
    f"{WAITS[-1]},Dependency": False,
    "ReqNodeNotAvail,_May_be_reserved_for_other_job,Prolog": False,
}


@pytest.mark.parametrize(("reason", "waits"), JOINED.items())
def test_each_of_several_reasons_is_explained(reason: str, waits: bool) -> None:
    found = made(job(10, reason))
    assert [item.id for item in found.pending] == ["10"]
    assert bool(said_of(found, "10")) != waits
    assert plan(found, "optimal", effort=5)["10"].proved == waits


def test_several_reasons_with_all_that_explains_them() -> None:
    """Commas of a list of nodes are none between reasons."""
    reasons = ["Resources,Dependency", "ReqNodeNotAvail,_UnavailableNodes:n[2,3],n2,Dependency"]
    more = "Dependency=afterany:1(unfulfilled) ReqNodeList=n2"
    jobs = "".join(job(number, reason, more) for number, reason in enumerate(reasons, start=10))
    found = made(jobs, explained=True)
    assert [said_of(found, item.id) for item in found.pending] == [[], []]
    assert made(job(10, "BadConstraints,PartitionTimeLimit")).pending == ()


def test_a_job_that_no_waiting_helps_is_not_planned() -> None:
    jobs = [*NEVER, *HELD]
    found = made("".join(job(number, reason) for number, reason in enumerate(jobs, start=10)))
    assert found.pending == ()


def test_a_job_that_starts_now_has_no_reason_but_its_turn() -> None:
    jobs = [*NOTHING, *LIMITS, *FACTS, *WAITS]
    found = made(
        "".join(job(number, reason) for number, reason in enumerate(jobs, start=100)), busy=False
    )
    planned = plan(found, "optimal", effort=5)
    for number, reason in enumerate(jobs, start=100):
        said = said_of(found, str(number))
        assert planned[str(number)].proved == (reason in ("None", "Priority")) != bool(said), reason
        assert all(text.endswith("; here the next cycle starts it") for text in said)


@pytest.mark.parametrize(
    ("start", "told"), [("10:00:00", False), ("10:00:45", False), ("14:00:00", True)]
)
@pytest.mark.parametrize("reason", ["None", *WAITS[1:]])
def test_a_later_start_than_the_next_cycle_is_told(reason: str, start: str, told: bool) -> None:
    found = made(job(10, reason, start=f"2026-03-02T{start}"), busy=False)
    assert bool(said_of(found, "10") or found.omissions) == told
    assert plan(found, "optimal", effort=5)["10"].proved != told


@pytest.mark.parametrize(
    ("start", "told"), [("10:30:00", False), ("10:31:00", False), ("10:20:00", False),
                        ("14:00:00", True)]
)  # fmt: skip
def test_a_later_start_than_that_of_its_plan_made_again_is_told(start: str, told: bool) -> None:
    """Slurm starts it later than the end of the job in its way, for a reason that no input has."""
    found = made(job(10, "Resources", start=f"2026-03-02T{start}"))
    assert bool(said_of(found, "10")) == told
    answer = plan(found, "optimal", effort=5)["10"]
    assert (answer.start, answer.proved) == (1800, not told)


def test_a_limit_holds_back_all_that_share_it() -> None:
    shared = "QOS=gold UserId=ann(1)"
    jobs = (
        job(10, "QOSMaxJobsPerUserLimit", shared)
        + job(11, "Priority", shared)
        + job(12, "Priority", "QOS=gold")
        + job(13, "QOSGrpCpuLimit", "QOS=blue")
        + job(14, "Priority", "QOS=blue")
        + job(15, "Priority")
    )
    found = made(jobs)
    assert [bool(said_of(found, str(n))) for n in range(10, 16)] == [True] * 2 + [False] + [
        True
    ] * 2 + [False]


@pytest.mark.parametrize("reason", ["QOSMaxJobsPerUserLimit", "Resources"])
def test_nothing_is_said_not_to_starve_beside_it(reason: str) -> None:
    found = made(job(10, reason, start="2026-03-02T14:00:00"), busy=False)
    answer = CliRunner().invoke(app, ["diagnose", "-"], input=sw.dump(found)).stdout
    assert "starves" not in answer
    assert "job 10" in answer


@pytest.mark.parametrize(
    ("enforced", "partition", "named"),
    [
        ("associations,limits,qos", "", ["limits of QOS gold: no listing contains it"]),
        ("limits", " QoS=night", ["limits of QOS gold: no listing contains it",
                                  "limits of QOS night: no listing contains it"]),
        ("none", " QoS=night", []),
    ],
)  # fmt: skip
def test_enforced_limits_that_no_listing_has_take_the_proof(
    enforced: str, partition: str, named: list[str]
) -> None:
    """Whatever the job's own reason is: here Priority, which says nothing of limits."""
    waits = (
        "JobId=2 JobName=p UserId=ann(8) Priority=900 Account=lab QOS=gold JobState=PENDING "
        "Reason=Priority TimeLimit=01:00:00 SubmitTime=2026-03-02T09:00:00 Partition=cpu "
        "NumNodes=1 NumCPUs=1 NumTasks=1 CPUs/Task=1 TRES=cpu=1,node=1\n"
    )
    texts = {
        "sdiag.txt": CLOCK,
        "config.txt": CONFIG.format(version="25.11.7") + f"AccountingStorageEnforce = {enforced}\n",
        "partitions.txt": PARTITIONS.format(partition, "UP"),
        "nodes.txt": NODES.format("IDLE").replace("CPUAlloc=512", "CPUAlloc=0"),
        "jobs.txt": waits,
        "qos.txt": "Name|Priority|GrpTRES\nnormal|0|\n",
        "assoc.txt": "Cluster|Account|User|ParentName|GrpTRES\nsmall|lab|||\n",
    }
    problem = slurm_snapshot(NOW, texts)
    assert sorted(item.what for item in problem.omissions if "listing" in item.what) == named
    assert plan(problem)["2"].proved is not bool(named)


@pytest.mark.parametrize(("limit", "named"), [(2, False), (3, True)])
def test_different_limits_of_one_array_are_named(limit: int, named: bool) -> None:
    more = "ArrayJobId=10 ArrayTaskId={} ArrayTaskThrottle={}"
    found = made(
        job(10, "Priority", more.format("1-3", 2)) + job(11, "Priority", more.format("4", limit))
    )
    told = [item for item in found.omissions if "which limit array 10 has" in item.what]
    assert bool(told) == named
    ids = tuple(f"10[{task}]" for task in range(1, 5))
    assert all(sorted(item.jobs or ()) == list(ids) for item in told)
