"""Limits of QOS and associations for jobs that are submitted now: what Slurm would not start."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from slotwise import InputError
from slotwise.cli.main import app
from typer.testing import CliRunner

pytestmark = pytest.mark.behaviour("SLU-03")

NODE = (
    "NodeName=n{} CPUAlloc=0 CPUTot=4 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=16000 "
    "AllocMem=0 Gres=gpu:2 State=IDLE Partitions=cpu,night Weight=1\n"
)
PARTITION = (
    "PartitionName={} Default={} MaxTime=1-00:00:00 DefaultTime={} State=UP TotalCPUs=16 "
    "TotalNodes=4 Nodes=n[1-4] PriorityTier=1 OverSubscribe=NO MaxNodes=UNLIMITED QoS={}\n"
)
CONFIG = """Configuration data as of 2026-03-02T10:00:00
AccountingStorageEnforce = {}
AccountingStorageType   = accounting_storage/slurmdbd
ClusterName             = small
SelectType              = select/cons_tres
SelectTypeParameters    = CR_CORE_MEMORY
SchedulerType           = sched/backfill
PriorityType            = priority/basic
SLURM_VERSION           = 23.11.4
"""
QOS = "Name|Priority|{}\nnormal|0|{}\nhigh|10|\n"
ASSOC = "Cluster|Account|User|ParentName|Partition|{}\nsmall|root|||||\nsmall|lab||root||{}|\n"
ASSOC += "small|lab|ann||night|{}|\nsmall|lab|ann||||\nsmall|lab|bob||||\n"


def folder_of(
    target: Path,
    *,
    qos: tuple[str, str] = ("MaxTRES", ""),
    assoc: tuple[str, str, str] = ("MaxTRES", "", ""),
    enforce: str = "associations,limits,qos",
    night: str = "",
    default_time: str = "01:00:00",
    without: str = "",
) -> Path:
    """An empty cluster of 4 nodes with these limits; without: file that is not there."""
    partitions = PARTITION.format("cpu", "YES", default_time, "N/A")
    files = {
        "nodes": "".join(map(NODE.format, range(1, 5))),
        "partitions": partitions + PARTITION.format("night", "NO", "01:00:00", night or "N/A"),
        "config": CONFIG.format(enforce),
        "qos": QOS.format(*qos),
        "assoc": ASSOC.format(*assoc),
        "jobs": "No jobs in the system\n",
        "sdiag": "sdiag output at Mon Mar 02 10:00:00 2026 (1772445600)\n",
    }
    files.pop(without, None)
    return written(target, files)


def written(target: Path, files: Mapping[str, str]) -> Path:
    """A folder with these texts."""
    target.mkdir()
    for name, text in files.items():
        (target / f"{name}.txt").write_text(text)
    return target


def run(*words: object) -> str:
    made = CliRunner().invoke(app, [str(word) for word in words])
    assert made.exit_code == 0, made.output
    return made.stdout


def told(source: Path, line: str, user: str = "ann") -> tuple[bool, str]:
    """Whether the start is proved, and what is named."""
    found = json.loads(run("ask", source, "--user", user, "--format", "json", f"sbatch {line}"))
    names = [item["what"] for item in found["omissions"] if item["jobs"] != []]
    assert found["line"]["start"] == found["now"]
    return found["outlook"]["proved"], "; ".join(names)


#: A column and a cell of a QOS, requests within it and requests beyond it.
LIMITS = [
    ("MaxTRES", "node=2,cpu=6", ["-N2 -n2 -t60", "-n4 -N1 -t60"], ["-N3 -n3 -t60", "-n7 -t60"]),
    ("MaxTRESPerJob", "cpu=4", ["-n4 -t60"], ["-n5", "-N1 --exclusive -n2"]),
    ("MaxTRES", "mem=8G", ["-n1 --mem=8G", "-n4 --mem-per-cpu=2G"],
     ["-n1 --mem=9G", "-N2 -n2 --mem=5G", "-n5 --mem-per-cpu=2G", "-n1 --mem=0"]),
    ("MaxTRES", "gres/gpu=2", ["-n1 --mem=1 --gres=gpu:2", "-n1 --mem=1 -c4"],
     ["-N2 -n2 --mem=1 --gres=gpu:2", "-N3 --mem=1 --gpus-per-node=1"]),
    ("MaxTRES", "billing=4", [], ["-n1 --mem=1"]),
    ("MaxTRESPerNode", "cpu=2", ["-N2 --ntasks-per-node=2 --mem=1"], ["-N1 -n4 --mem=1"]),
    ("MaxTRESMins", "cpu=120", ["-n2 -t60 --mem=1"], ["-n3 -t60 --mem=1", "-n1 -t121 --mem=1"]),
    ("MaxWall", "01:30:00", ["-n1 -t90 --mem=1", "-n1 --mem=1"], ["-n1 -t91 --mem=1"]),
    ("MinTRES", "cpu=3", ["-n3 --mem=1"], ["-n2 --mem=1"]),
]  # fmt: skip


@pytest.mark.parametrize(("column", "cell", "within", "beyond"), LIMITS)
@pytest.mark.parametrize("named", ["", "-q normal -A lab"])
def test_a_job_beyond_a_limit_of_each_job_is_not_proved(
    tmp_path: Path, column: str, cell: str, within: list[str], beyond: list[str], named: str
) -> None:
    folder = folder_of(tmp_path / "site", qos=(column, cell))
    for line in within:
        assert told(folder, f"{line} {named}") == (True, ""), line
    for line in beyond:
        proved, names = told(folder, f"{line} {named}")
        assert not proved, line
        assert f"of qos normal ({cell})" in names, line


def test_it_survives_saving(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "site", qos=("MaxTRES", "cpu=6"))
    saved = tmp_path / "site.yaml"
    run("snapshot", "--from", folder, "-o", saved)
    for line in ("-n6 --mem=1", "-n7 --mem=1"):
        proved, names = told(saved, line)
        assert (proved, names) == told(folder, line)
        text = run("ask", folder, "--user", "ann", f"sbatch {line}")
        assert (proved, names in text) == ("proved the earliest" in text, True)
    assert not proved


@pytest.mark.parametrize("named", ["-q high -A lab", "-q high"])
def test_limits_of_another_qos_do_not_count(tmp_path: Path, named: str) -> None:
    folder = folder_of(tmp_path / "site", qos=("MaxTRES", "cpu=6"))
    assert told(folder, f"-n7 --mem=1 {named}") == (True, "")


@pytest.mark.parametrize(
    ("assoc", "line", "user", "named"),
    [
        (("MaxTRES", "cpu=2", ""), "-n3 -A lab", "ann", "MaxTRES of assoc lab/ann (cpu=2)"),
        (("MaxTRES", "cpu=2", ""), "-n3", "ann", "MaxTRES of assoc lab/ann (cpu=2)"),
        (("MaxTRES", "cpu=2", ""), "-n2 -A lab", "ann", ""),
        (("MaxWall", "", "00:30:00"), "-n1 -A lab -p night", "ann", "assoc lab/ann/night"),
        (("MaxWall", "", "00:30:00"), "-n1 -A lab", "ann", ""),
        (("MaxWall", "", "00:30:00"), "-n1 -A lab -p night", "bob", ""),
        (("GrpTRES", "cpu=9", ""), "-n1 -A lab", "ann", "GrpTRES of assoc lab (cpu=9)"),
        (("MaxTRES", "", ""), "-n1 -A bio", "ann", "limits of account bio"),
        (("MaxTRES", "", ""), "-n1 -q bad", "ann", "limits of QOS bad"),
        (("GrpTRESMins", "cpu=9", ""), "-n1 -A lab", "ann", "GrpTRESMins of assoc lab (cpu=9)"),
    ],
)  # fmt: skip
def test_limits_of_associations(
    tmp_path: Path, assoc: tuple[str, str, str], line: str, user: str, named: str
) -> None:
    """No job of the account is listed: no limit of the model counts a new one."""
    proved, names = told(folder_of(tmp_path / "site", assoc=assoc), f"{line} --mem=1", user)
    assert (not proved, named in names) == (bool(named), True)
    assert bool(names) == bool(named)


@pytest.mark.parametrize(("partition", "proved"), [("night", False), ("cpu", True)])
def test_the_qos_of_a_partition_counts_for_its_jobs(
    tmp_path: Path, partition: str, proved: bool
) -> None:
    folder = folder_of(tmp_path / "site", qos=("MaxTRES", "cpu=2"), night="normal")
    assert told(folder, f"-n3 --mem=1 -q high -p {partition}")[0] == proved


@pytest.mark.parametrize("missing", ["qos", "assoc"])
def test_enforced_limits_that_no_input_lists_take_the_proof_of_a_new_job(
    tmp_path: Path, missing: str
) -> None:
    assert not told(folder_of(tmp_path / "site", without=missing), "-n1 --mem=1")[0]
    free = folder_of(tmp_path / "free", without=missing, enforce="none")
    assert told(free, "-n1 --mem=1") == (True, "")


def test_limits_that_are_not_enforced_do_not_count(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "site", qos=("MaxTRES", "cpu=2"), enforce="none")
    for line in ("-n3 --mem=1", "-n3 --mem=1 -A lab -q normal", "-n3 --mem=1 -A other"):
        assert told(folder, line) == (True, ""), line


def test_without_a_default_time_the_longest_time_is_that_of_the_qos(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "site", qos=("MaxWall", "00:30:00"), default_time="NONE")
    assert not told(folder, "-n1 --mem=1")[0]
    assert told(folder, "-n1 --mem=1 -t 30")[0]


def test_alternatives_beyond_a_limit_have_no_start(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "site", qos=("MaxTRES", "cpu=6"))
    words = ("ask", folder, "--slots", "6,7", "sbatch -n4 --mem=1 -q normal -A lab")
    text = run(*words)
    assert "no place" in text
    assert "MaxTRES of qos normal (cpu=6)" in text
    found = json.loads(run(*words[:2], "--format", "json", *words[2:]))["alternatives"]
    assert {item["slots"]: item["start"] for item in found} == {"6": found[0]["start"], "7": None}
    assert "omissions" not in found[0]


def test_rows_of_slots_beyond_a_limit_are_named(tmp_path: Path) -> None:
    limited, free = (
        folder_of(tmp_path / name, qos=("MaxTRES", cell))
        for name, cell in (("site", "cpu=6"), ("free", "cpu=16"))
    )
    assert "MaxTRES of qos normal (cpu=6)" in run("slots", limited)
    assert "MaxTRES" not in run("slots", free)
    named = json.loads(run("slots", limited, "--format", "json"))["cautions"]
    assert any("sbatch -n 16" in job for item in named for job in item["jobs"])


#: A waiting job of 2 CPUs, and a running one of 2, both of QOS normal and of account lab.
JOBS = "".join(
    f"JobId={number} JobName=j UserId=ann(1) Account=lab QOS=normal JobState={state} Reason=None "
    f"Priority=9 SubmitTime=2026-03-02T09:00:00 TimeLimit=01:00:00 Partition=night {where} "
    "NumNodes=1-1 NumCPUs=2 NumTasks=2 CPUs/Task=1 ReqTRES=cpu=2,mem=1M,node=1 MinMemoryNode=1M\n\n"
    for number, state, where in (
        (1, "RUNNING", "StartTime=2026-03-02T09:30:00 EndTime=2026-03-02T10:30:00 NodeList=n1"),
        (2, "PENDING", "StartTime=Unknown"),
    )
)


@pytest.mark.parametrize(
    ("qos", "assoc", "night", "named"),
    [
        (("GrpTRES", "cpu=3"), ("GrpTRES", "", ""), "", ""),
        (("GrpTRES", "cpu=9"), ("GrpTRES", "cpu=3", ""), "", "GrpTRES cpu of"),
        (("GrpTRES", "cpu=9"), ("GrpTRES", "node=3", ""), "", ""),
        (("MaxJobsPU", "9"), ("MaxJobs", "1", ""), "", "MaxJobsPU of"),
        (("GrpTRES", "cpu=3"), ("GrpTRES", "", ""), "high", "GrpTRES cpu of"),
    ],
)  # fmt: skip
def test_of_limits_that_a_qos_overrides_nothing_is_proved(
    tmp_path: Path, qos: tuple[str, str], assoc: tuple[str, str, str], night: str, named: str
) -> None:
    """Slurm counts that of the partition's QOS, else of the job's QOS, else of the association."""
    folder = folder_of(tmp_path / "site", qos=qos, assoc=assoc, night=night)
    (folder / "jobs.txt").write_text(JOBS)
    if night:
        (folder / "qos.txt").write_text("Name|Priority|GrpTRES\nnormal|0|cpu=3\nhigh|0|cpu=9\n")
    found = json.loads(run("explain", folder, "2", "--format", "json"))["outlook"]
    cautions = json.dumps(found)
    assert ("Slurm counts one of them" in cautions) == bool(named)
    assert named in cautions
    assert not (named and found["proved"])
    line = "-n2 --mem=1 -q normal -A lab -p night"
    words = ("ask", folder, "--user", "ann", "--format", "json", f"sbatch {line}")
    assert ("Slurm counts one of them" in run(*words)) == bool(named)


WAITING = (
    "JobId={0} JobName=j UserId=ann(1) Account=lab QOS=normal JobState=PENDING Reason=Priority "
    "Partition=cpu SubmitTime=2026-03-02T09:00:00 StartTime=Unknown TimeLimit=01:00:00 NumNodes=1 "
    "NumCPUs=2 NumTasks=2 CPUs/Task=1 ReqTRES=cpu=2,mem=100M,node=1 MinMemoryNode=100M "
    "OverSubscribe={1}\n\n"
)


@pytest.mark.parametrize(
    ("cell", "sharing", "is_touched"),
    [
        ("cpu=8", "NO", True),  # two whole nodes: the third job has to wait
        ("mem=8G", "NO", False),
        ("cpu=8", "OK", False),
    ],
)
def test_exclusive_jobs_take_whole_nodes_of_a_shared_limit(
    tmp_path: Path, cell: str, sharing: str, is_touched: bool
) -> None:
    """Three jobs of two CPUs on whole nodes of four started at once under cpu=8, "proved"."""
    folder = folder_of(tmp_path / "site", qos=("GrpTRES", cell))
    (folder / "jobs.txt").write_text("".join(WAITING.format(job, sharing) for job in (8, 9, 10)))
    rows = json.loads(run("compare", folder, "--format", "json"))["jobs"]
    assert [row["proved"] for row in rows] == [not is_touched] * 3
    proved, names = told(folder, "-n1 --mem=1 -q normal -A lab --priority=1")
    assert (proved, "not whole nodes" in names) == (not is_touched, is_touched)
    alone = folder_of(tmp_path / "alone", qos=("GrpTRES", cell))
    (alone / "jobs.txt").write_text(WAITING.format(8, "OK"))
    proved, names = told(alone, "--exclusive -n2 --mem=1 -q normal -A lab --priority=1")
    named = cell.startswith("cpu")
    assert (proved, "not whole nodes" in names) == (not named, named)


@pytest.mark.parametrize(
    ("new", "wrong"),
    [
        ("maxtres: cpu=x", "values.maxtres: 'cpu=x' is not an amount"),
        ("maxtres: cpu=-1", "values.maxtres: "),
        ("maxtres: 3", "values.maxtres: "),
        ("mintres: cpu=y", "values.mintres: 'cpu=y' is not an amount"),
        ("maxtresmins: abc", "values.maxtresmins: "),
        ("maxwall: abc", "values.maxwall: "),
        ("grpjobs: abc", "values.grpjobs: "),
        ("MaxSubmitJobs: abc", "values.MaxSubmitJobs: "),
        ("mxtres: cpu=6", "values.mxtres: unknown column"),
    ],
)
@pytest.mark.parametrize("command", [("check",), ("ask", "sbatch -n1"), ("slots",), ("solve",)])
def test_a_limit_of_an_instance_that_is_none_is_one_line(
    tmp_path: Path, new: str, wrong: str, command: tuple[str, ...]
) -> None:
    """It was exit 70, or no limit; `check` took it."""
    saved = tmp_path / "site.yaml"
    source = folder_of(tmp_path / "site", qos=("MaxTRES", "cpu=6"))
    run("snapshot", "--from", source, "-o", saved)
    saved.write_text(saved.read_text().replace("maxtres: cpu=6", new))
    name, *line = command
    made = CliRunner().invoke(app, [name, str(saved), *line])
    said = " ".join(f"{made.output} {made.exception}".split())
    assert made.exit_code == 2 or isinstance(made.exception, InputError)
    assert said.count("slurm_limits[") == 1
    assert f"].{wrong}" in said


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ("of: qos", "of: zz", "].of: must be qos or association, not 'zz'"),
        ("name: high", "name: normal", "]: is already defined"),
        ("account: root", "account: root, parent: lab", "is above itself"),
        ("parent: root", "parent: biology", "no row is of account 'biology'"),
    ],
)
def test_rows_of_limits_that_contradict_are_named(
    tmp_path: Path, old: str, new: str, wrong: str
) -> None:
    saved = tmp_path / "site.yaml"
    run("snapshot", "--from", folder_of(tmp_path / "site"), "-o", saved)
    assert old in saved.read_text()
    saved.write_text(saved.read_text().replace(old, new, 1))
    made = CliRunner().invoke(app, ["check", str(saved)])
    assert wrong in " ".join(made.output.split())
    assert (made.exit_code == 0) == ("biology" in new)


def test_columns_of_an_instance_may_have_the_letters_of_slurm(tmp_path: Path) -> None:
    saved = tmp_path / "site.yaml"
    source = folder_of(tmp_path / "site", qos=("MaxTRES", "cpu=6"))
    run("snapshot", "--from", source, "-o", saved)
    saved.write_text(saved.read_text().replace("maxtres: cpu=6", "MaxTRES: cpu=6"))
    assert told(saved, "-n6 --mem=1 -q normal -A lab")[0]
    assert not told(saved, "-n7 --mem=1 -q normal -A lab")[0]


@pytest.mark.parametrize(
    ("enforce", "counts"),
    [("associations,qos", False), ("qos", False), ("limits", True), ("safe", True), ("all", True)],
)
def test_limits_count_only_if_slurm_enforces_them(
    tmp_path: Path, enforce: str, counts: bool
) -> None:
    """With qos alone, a QOS has to be valid, but its limits are not enforced."""
    folder = folder_of(tmp_path / "site", qos=("MaxTRES", "cpu=2"), enforce=enforce)
    names = told(folder, "-n3 --mem=1 -q normal -A lab")[1]
    assert ("MaxTRES of qos normal" in names) is counts
    (folder / "qos.txt").write_text(QOS.format("GrpJobs", "0"))
    (folder / "jobs.txt").write_text(WAITING.format(8, "OK"))
    (row,) = json.loads(run("compare", folder, "--format", "json"))["jobs"]
    assert (row["as_configured"] is None) is counts


#: Accounts, one of which has the name of a user's association; the limits are of lab, of ann in
#: it, and of ann in partition night.
NEARER = (
    "Cluster|Account|User|ParentName|Partition|{0}\nsmall|root||||\nsmall|lab||root||{1}\n"
    "small|lab|ann|||{2}\nsmall|lab|ann||night|{3}\nsmall|lab_ann||root||{1}\n"
    "small|sub||lab||\nsmall|sub|ann|||\nsmall|sub|eve|||\n"
)
ELSEWHERE = WAITING.replace("Account=lab", "Account={2}").replace("Partition=cpu", "Partition={3}")


@pytest.mark.parametrize(
    ("column", "cells", "starts"),
    [
        ("GrpJobs", ("", "0", ""), "night sub"),
        ("GrpTRES", ("", "cpu=1", "cpu=9"), "night sub"),
        ("MaxJobs", ("", "0", "5"), "night sub"),
        ("MaxJobs", ("0", "5", ""), "cpu"),
        ("MaxTRES", ("node=0", "cpu=9", "node=1"), "night"),
        ("MaxTRES", ("", "node=0", "N"), "night sub"),
    ],
)  # fmt: skip
def test_slurm_counts_the_nearest_association(
    tmp_path: Path, column: str, cells: tuple[str, str, str], starts: str
) -> None:
    """Of the partition, else of the user, else of the account; that of a user has no accounts
    below. All of them counted for each job, which was "impossible".
    """
    folder = folder_of(tmp_path / "site")
    (folder / "assoc.txt").write_text(NEARER.format(column, *cells))
    places = {"cpu": ("lab", "cpu"), "night": ("lab", "night"), "sub": ("sub", "cpu")}
    jobs = [ELSEWHERE.format(number, "OK", *of) for number, of in enumerate(places.values())]
    (folder / "jobs.txt").write_text("".join(jobs))
    found = json.loads(run("compare", folder, "--format", "json"))
    proved = [row["job"] for row in found["jobs"] if row["as_configured"] == 0 and row["proved"]]
    assert [list(places)[int(job)] for job in proved] == starts.split()
    assert "already defined" not in json.dumps(found)
    for name, (account, partition) in places.items():
        line = f"-n2 --mem=1 -t60 -q normal -A {account} -p {partition}"
        words = ("ask", folder, "--user", "ann", "--format", "json", f"sbatch {line}")
        assert json.loads(run(*words))["outlook"]["proved"] == (name in starts.split())
    if "night" in starts:  # the other partition may have another association
        assert not told(folder, "-n2 --mem=1 -q normal -A lab -p night,cpu")[0]


#: A limit on memory of the cluster or of partition cpu, options within it, and beyond it. Nodes
#: have 16000 MB and 4 CPUs.
MEMORY = [
    ("MaxMemPerNode=8000", ["--mem=8000", "-n8 --mem-per-cpu=1000", "-N1 -n4 --mem-per-cpu=2000"],
     ["--mem=8001", "", "--mem=0", "-N1 -n4 --mem-per-cpu=2001", "-c4 --mem-per-cpu=2001",
      "--ntasks-per-node=4 -N2 --mem-per-cpu=2001", "--exclusive --mem-per-cpu=2001"]),
    ("MaxMemPerCPU=2000", ["--mem=2000", "-N1 -n4 --mem=8000", "--mem-per-cpu=2000"],
     ["--mem=2001", "", "--mem-per-cpu=2001", "-N2 -n2 --mem=2001"]),
    ("MaxMemPerNode=8000 DefMemPerNode=9000", ["--mem=8000"], [""]),
    ("MaxMemPerNode=8000 DefMemPerCPU=4000", ["-n2"], ["-c4"]),
    ("MaxMemPerCPU=2000 DefMemPerCPU=3000", ["--mem-per-cpu=2000"], [""]),
    ("MaxMemPerCPU=2000 DefMemPerNode=2000", [""], []),
]  # fmt: skip


@pytest.mark.parametrize(
    ("setting", "within", "beyond", "of"),
    [
        pytest.param(*case, of, marks=[] if at % 2 == turn else [pytest.mark.slow])
        for at, case in enumerate(MEMORY)
        for turn, of in enumerate(["partition cpu", "the cluster"])
    ],
)
def test_memory_beyond_the_maximum_is_not_proved(
    tmp_path: Path, setting: str, within: list[str], beyond: list[str], of: str
) -> None:
    """Of jobs that are submitted now nothing asked, and of the cluster's maximum nothing at all."""
    folder, saved = folder_of(tmp_path / "site"), tmp_path / "site.yaml"
    name, old, new = (
        ("config", "SelectTypeP", f"{setting.replace(' ', chr(10))}\nSelectTypeP")
        if of == "the cluster"
        else ("partitions", "MaxNodes", f"{setting} MaxNodes")
    )
    path = folder / f"{name}.txt"
    path.write_text(path.read_text().replace(old, new, 1))
    run("snapshot", "--from", folder, "-o", saved)
    for line in within:
        assert told(saved, f"-n1 {line} -q normal -A lab") == (True, ""), line
    for line in beyond:
        proved, names = told(saved, f"-n1 {line} -q normal -A lab")
        named = f"{setting.split('=')[0]} of {of} ({setting.split()[0].split('=')[1]} MB)"
        assert (proved, named in names) == (False, True), line
    texts = {"MinMemoryNode=100M": True, "MinMemoryNode=9000M": False, "MinMemoryNode=0": False}
    for text, is_within in texts.items():
        (folder / "jobs.txt").write_text(
            WAITING.format(8, "OK").replace("MinMemoryNode=100M", text)
        )
        (row,) = json.loads(run("compare", folder, "--format", "json"))["jobs"]
        assert row["proved"] is is_within, text


def test_alternatives_beyond_the_memory_of_a_partition_have_no_start(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "site")
    path = folder / "partitions.txt"
    path.write_text(path.read_text().replace("=1 OverS", "=1 MaxMemPerNode=8000 OverS", 1))
    line = "sbatch -n1 --mem=9000 -q normal -A lab"
    for here, other in (("night", "cpu"), ("cpu", "night")):
        words = ("ask", folder, "--queue", other, "--format", "json", f"{line} -p {here}")
        (found,) = json.loads(run(*words))["alternatives"]
        assert found["start"] == (None if other == "cpu" else 0)


@pytest.mark.parametrize(
    ("column", "cell", "line", "start", "proved"),
    [
        ("MaxTRES", "node=1", "-n8 --mem=100", None, False),
        ("MaxTRES", "node=1", "-n4 --mem=100", 0, True),
        ("MaxTRES", "mem=2000", "-n8 --mem=1500", None, False),
        ("MaxTRES", "mem=2000", "-n4 --mem=1500", 0, True),
        ("MaxTRES", "mem=2000", "-n8 --mem=1000", 0, False),  # two nodes, not three
        ("MaxTRES", "mem=8000", "-n8 --mem=1000", 0, True),
        ("MaxTRES", "mem=3000", "-n8 --ntasks-per-node=2 --mem=1000", 0, False),
        ("MaxTRESMins", "mem=90000", "-n8 --mem=1000 -t60", None, False),
        ("MaxTRESMins", "mem=90000", "-n8 --mem=1000 -t30", 0, False),
        ("MaxTRES", "gres/gpu=1", "-n8 --mem=1 --gres=gpu:1", None, False),
        ("MaxTRES", "gres/gpu=2", "-n1 --mem=1 --gres=gpu:2", 0, True),
        ("MaxTRES", "billing=8", "-n8 --mem=1", 0, False),
        ("MaxTRESPerNode", "cpu=2", "-n4 --mem=1", 0, False),  # two on each of two nodes, perhaps
        ("MinTRES", "node=2", "-n2 --mem=1", 0, False),
    ],
)  # fmt: skip
def test_limits_that_grow_with_the_nodes_of_a_job(
    tmp_path: Path, column: str, cell: str, line: str, start: int | None, proved: bool
) -> None:
    """They counted on the fewest nodes that a job may have; a plan on more was "proved"."""
    folder = folder_of(tmp_path / "site", qos=(column, cell))
    words = ("ask", folder, "--format", "json", f"sbatch {line} -q normal -A lab")
    found = json.loads(run(*words))
    assert (found["line"]["start"], found["outlook"]["proved"]) == (start, proved)


@pytest.mark.parametrize(("megabytes", "start"), [(900, 0), (1500, None)])
def test_nodes_of_a_pending_job_are_within_its_limit_on_memory(
    tmp_path: Path, megabytes: int, start: int | None
) -> None:
    folder = folder_of(tmp_path / "site", qos=("MaxTRES", "mem=2000"))
    job = WAITING.format(8, "OK").replace("=2 ", "=8 ").replace("=100M", f"={megabytes}M")
    (folder / "jobs.txt").write_text(job.replace("cpu=2", "cpu=8"))
    (row,) = json.loads(run("compare", folder, "--format", "json"))["jobs"]
    assert (row["as_configured"], row["proved"]) == (start, False)


OF_LAB = "-n1 --mem=1 -A lab --priority=1"


@pytest.mark.parametrize(
    ("changes", "line", "user", "named"),
    [
        ({"qos": ("MaxSubmitPU", "2")}, "-q normal", "ann", ""),
        ({"qos": ("MaxSubmitPU", "2")}, "-q normal -a 1-2", "ann", "MaxSubmitPU of qos normal (2)"),
        ({"qos": ("MaxSubmitJobsPerUser", "1")}, "-q normal", "bob", ""),
        ({"qos": ("GrpSubmit", "1")}, "-q normal", "bob", "GrpSubmit of qos normal (1)"),
        ({"qos": ("MaxSubmitPA", "1")}, "-q normal", "bob", "MaxSubmitPA of qos normal (1)"),
        ({"qos": ("MaxSubmitPU", "1")}, "-q high", "ann", ""),
        ({"assoc": ("MaxSubmitJobs", "1", "")}, "-q high", "ann", "MaxSubmit of assoc lab/ann (1)"),
        ({"assoc": ("MaxSubmitJobs", "1", "")}, "-q high", "bob", ""),
        ({"assoc": ("MaxSubmit", "", "0")}, "-q high -p night", "ann", "lab/ann/night (0)"),
        ({"assoc": ("GrpSubmit", "1", "")}, "-q high", "bob", "GrpSubmit of assoc lab (1)"),
        ({"assoc": ("MaxJobs|QOS", "", "|high")}, "-q high -p night", "ann", ""),
        ({"assoc": ("MaxJobs|QOS", "", "|high")}, "-q normal -p night", "ann", "has only QOS high"),
        ({"assoc": ("MaxJobs|QOS", "", "|high"), "enforce": "limits"}, "-p night", "ann", ""),
        ({"assoc": ("MaxJobs|Def QOS", "", "|bad")}, "-p night", "ann", "limits of QOS bad"),
        ({}, "-q normal", "eve", "no listing has an association of user eve with account lab"),
        ({"without": "assoc"}, "-q normal", "eve", "limits of accounts"),
        ({"night": "bad"}, "-q normal -p night", "ann", "limits of QOS bad"),
        ({"night": "bad"}, "-q normal -p cpu", "ann", ""),
    ],
)  # fmt: skip
def test_what_sbatch_rejects_is_not_proved(
    tmp_path: Path, changes: dict[str, Any], line: str, user: str, named: str
) -> None:
    """One job of ann is pending. Neither numbers of submitted jobs, the QOS of an association, nor
    unknown users were asked of a new job: "now, proved".
    """
    folder, saved = folder_of(tmp_path / "site", **changes), tmp_path / "site.yaml"
    (folder / "jobs.txt").write_text(WAITING.format(8, "OK"))
    proved, names = told(folder, f"{OF_LAB} {line}", user)
    assert (proved, named in names, bool(names)) == (not named, True, bool(named))
    run("snapshot", "--from", folder, "-o", saved)
    assert told(saved, f"{OF_LAB} {line}", user) == (proved, names)


RESERVED = (
    "ReservationName=r1 StartTime=2026-03-02T09:00:00 EndTime=2026-03-02T19:00:00 Nodes=n[1-4] "
    "Flags= {} State=ACTIVE\n"
)


@pytest.mark.parametrize(
    ("file", "old", "new", "named"),
    [
        ("reservations", "", RESERVED.format("Users=ann"), ""),
        ("reservations", "", RESERVED.format("Users=bob"), "which may not admit it (users bob)"),
        ("reservations", "", RESERVED.format("Users=-ann"), "may not admit it (users -ann)"),
        ("reservations", "", RESERVED.format("Accounts=other"), "admit it (accounts other)"),
        ("reservations", "", RESERVED.format("Accounts=-lab"), "admit it (accounts -lab)"),
        ("jobs", "Account=lab", "Account=lab", ""),
        ("jobs", "UserId=ann", "UserId=eve", "limits of user eve in account lab"),
        ("assoc", "small|lab|ann||||\n", "", "limits of user ann in account lab"),
        ("assoc", "small|lab||root|", "small|bio||||node=9|\nsmall|lab|||", "show assoc tree"),
        ("assoc", "small|lab||root|", "small|bio|||||\nsmall|lab|||", ""),
        ("nodes", "AllocMem=0", "AllocMem=100", "disagree on how much memory is in use"),
    ],
)
def test_what_listings_contradict_or_lack_takes_the_proof_of_a_pending_job(
    tmp_path: Path, file: str, old: str, new: str, named: str
) -> None:
    """Each was "now, proved" without a word: who may use a reservation, users and parents of
    accounts that no listing has, memory that nodes show and no job holds.
    """
    folder, saved = folder_of(tmp_path / "site"), tmp_path / "site.yaml"
    job = WAITING.format(8, "OK").strip()
    (folder / "jobs.txt").write_text(f"{job} Reservation=r1\n" if file[0] == "r" else f"{job}\n")
    path = folder / f"{file}.txt"
    text = path.read_text() if path.exists() else ""
    assert old in text
    path.write_text(text.replace(old, new) if old else new)
    run("import", "slurm", "--from", folder, "-o", saved)
    found = json.loads(run("solve", saved, "--format", "json"))
    names = "; ".join(item["what"] for item in found["omissions"])
    assert (found["reservations"][0]["proved"], named in names) == (not named, True), names
