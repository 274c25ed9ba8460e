"""Folders with listings of Slurm and other files: every file is read or named."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
import slotwise as sw
from slotwise import InputError, load
from slotwise.cli.main import app
from slotwise.model.sources.lsf_state.values import Text
from slotwise.model.sources.slurm.folder import read_folder, read_texts
from typer.testing import CliRunner

from tests.slurm.test_import import instance_of

DATA = Path(__file__).parents[1] / "data" / "slurm"
pytestmark = pytest.mark.behaviour("SLU-01")

SQUEUE = "  JOBID PARTITION     NAME     USER ST TIME  NODES NODELIST(REASON)\n"
SINFO = "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\nmain*  up 2-00:00:00  1  mix n2\n"
BJOBS = "JOBID   USER    STAT  QUEUE      FROM_HOST   EXEC_HOST   JOB_NAME   SUBMIT_TIME\n"
SACCT = {"jobs": [{"job_id": 7, "state": {"current": "COMPLETED"}}]}


def folder_of(target: Path, *names: str) -> Path:
    """A folder with the listings of the live cluster, without the files of these names."""
    target.mkdir()
    for path in sorted((DATA / "live").iterdir()):
        if path.name not in (*names, "node.txt"):  # sinfo.json has them
            (target / path.name).write_bytes(path.read_bytes())
    return target


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("notes.txt", b"hello there\n", "not the output of a known command"),
        (".hidden", b"x\n", "not the output of a known command"),
        ("other.json", b'{"statistics": {}}', "not the output of a known command"),
        ("sacct.json", json.dumps(SACCT).encode(), "not the output of a known command"),
        ("bjobs.txt", BJOBS.encode(), "not the output of a known command"),
        ("empty.txt", b"", "empty"),
        ("blank.txt", b" \n\n", "empty"),
        ("core.bin", b"\x7fELF\0\1\xff\xfe\0", "not a text file"),
        ("all.txt.gz", gzip.compress(b"JobId=1", mtime=0), "an archive or a compressed file"),
        ("all.zip", b"PK\x03\x04\x14\0", "an archive or a compressed file"),
        ("all.tar", b"squeue.json".ljust(257, b"\0") + b"ustar\x0000", "an archive"),
        ("table.txt", (SQUEUE + " 1 main wrap root R 0:13 1 n2\n").encode(), "a shorter form"),
        ("head.txt", SQUEUE.encode(), "a shorter form"),
        ("sinfo.txt", SINFO.encode(), "a shorter form"),
        ("norm.txt", b" JOBID PRIORITY FAIRSHARE\n 7 0.0000123 0.5000000\n", "sprio -n, give"),
    ],
)
def test_a_file_that_is_not_read_is_named(
    name: str, content: bytes, reason: str, tmp_path: Path
) -> None:
    folder = folder_of(tmp_path / "all")
    out, again = tmp_path / "out.yaml", tmp_path / "again.yaml"
    words = ["import", "slurm", "--from", str(folder), "-o"]
    assert CliRunner().invoke(app, [*words, str(out)]).exit_code == 0
    (folder / name).write_bytes(content)
    made = CliRunner().invoke(app, [*words, str(again)])
    assert made.exit_code == 0, made.stderr
    (note,) = [line for line in made.stderr.splitlines() if "ignored" in line]
    assert note.startswith(f"slotwise: ignored {name}: {reason}")
    assert load(again) == load(out)


@pytest.mark.parametrize("head", ["JOBID PARTITION PRIORITY AGE", "JOBID PRIORITY FAIRSHARE"])
def test_snapshot_reads_a_folder_with_sprio_and_keeps_it(head: str, tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "all")
    (folder / "sprio.txt").write_text(f" {head}\n")
    words = ["snapshot", "--from", str(folder), "-o"]
    made = CliRunner().invoke(app, [*words, str(tmp_path / "out.yaml")])
    assert made.exit_code == 0, made.stderr
    refused = CliRunner().invoke(app, [*words, str(folder / "sprio.txt")])
    assert isinstance(refused.exception, InputError)
    assert (folder / "sprio.txt").read_text() == f" {head}\n"


def test_the_same_listing_twice_is_read_once(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "all")
    content = (folder / "squeue.json").read_text()
    (folder / "squeue2.json").write_text(content)
    (folder / "squeue3.json").write_text(json.dumps(json.loads(content), indent=1))
    (folder / "reservation.txt").write_text("No reservations in the system\n")
    (folder / "reservation2.txt").write_text("No reservations in the system\n")
    seen = read_folder(folder)
    assert list(seen.ignored.sentences()) == [
        "ignored squeue2.json, squeue3.json: another file has the same listing"
    ]
    assert seen.missing == []


@pytest.mark.parametrize("kind", ["job", "node"])
def test_records_that_only_an_ignored_listing_has_are_named(kind: str, tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "all")
    if kind == "job":
        listed = json.loads((folder / "squeue.json").read_text())
        running = next(item for item in listed["jobs"] if item["job_state"] == "RUNNING")
        ended = {**running, "job_id": 9001, "job_state": "COMPLETED"}
        other = {**listed, "jobs": [{**running, "job_id": 9000}, ended]}
        (folder / "z.json").write_text(json.dumps(other))
        expected = "jobs 9000 are in z.json, which is not read, and not in squeue.json"
    else:
        (folder / "z.txt").write_text(
            "NodeName=n9 CPUTot=8 ThreadsPerCore=1 RealMemory=1000 State=IDLE\n"
        )
        expected = "nodes n9 are in z.txt, which is not read, and not in "
    out = tmp_path / "out.yaml"
    made = CliRunner().invoke(app, ["import", "slurm", "--from", str(folder), "-o", str(out)])
    assert expected in " ".join(made.stderr.split())
    touched = [item for item in load(out).omissions if expected in item.what]
    assert [item.jobs for item in touched] == [None]  # any job, as none knows what is in use


def test_jobs_of_sacct_are_no_listing_of_the_queue(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "all", "squeue.json")
    (folder / "sacct.json").write_text(json.dumps(SACCT))
    with pytest.raises(InputError, match="no input lists the jobs"):
        read_folder(folder)


def test_a_longer_listing_of_ended_jobs_does_not_replace_the_queue() -> None:
    queue = "JobId=1 JobState=RUNNING NodeList=n1\n"
    ended = "".join(f"JobId={number} JobState=COMPLETED\n" for number in range(2, 9))
    seen = read_texts([Text(ended, "jobcomp.txt"), Text(queue, "queue.txt")], "test")
    assert [job.id for job in seen.jobs] == ["1"]
    assert list(seen.ignored.sentences()) == [
        "ignored jobcomp.txt: another file has the same listing"
    ]


def jobs_of_cluster(cluster: str, form: str) -> str:
    """A listing without jobs but one, which names its cluster in one of the forms."""
    job = {"job_id": 7, "job_state": "PENDING"}
    if form == "job":
        return json.dumps({"jobs": [{**job, "cluster": cluster}]})
    return json.dumps({"meta": {"slurm": {"cluster": cluster}}, "jobs": [job]})


@pytest.mark.parametrize("form", ["job", "meta"])
def test_listings_of_two_clusters_are_refused(form: str, tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "all", "squeue.json")
    (folder / "squeue.json").write_text(jobs_of_cluster("Live", form))
    read_folder(folder)
    (folder / "squeue.json").write_text(jobs_of_cluster("other", form))
    with pytest.raises(InputError) as caught:
        read_folder(folder)
    (line,) = str(caught.value).splitlines()
    assert "config.txt: belongs to cluster 'live', but squeue.json to 'other'" in line


def test_associations_of_another_cluster_do_not_count() -> None:
    table = (
        "Cluster|Account|User|GrpTRES\nlive|physics||cpu=8\nother|physics||cpu=4\n"
        "other|chemistry||cpu=2\n"
    )
    jobs = Text("JobId=1 JobState=PENDING\n", "jobs.txt")
    config = Text("Configuration data as of 2026-11-26T23:01:49\nClusterName = Live\n", "c.txt")
    found = read_texts([Text(table, "assoc.txt"), jobs, config], "test").limits
    assert [(item.account, item.values["grptres"]) for item in found] == [("physics", "cpu=8")]
    with pytest.raises(InputError, match=r"clusters \(live, other\), but no input names one"):
        read_texts([Text(table, "assoc.txt"), jobs], "test")


QOS = "Name|Priority|GrpTRES|GrpJobs|UsageFactor|MaxTRESPU\nnormal|25|||1.000000|\n"
ASSOC = "Cluster|Account|User|GrpTRES|GrpJobs|MaxJobs\nlive|bio||cpu=2|3|\n"
CONFIG = "Configuration data as of 2026-03-01T09:00:00\nClusterName = live\n"
SDIAG = "sdiag output at Sun Mar 01 09:00:00 2026 (1772355600)\n"


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("qos.txt", f"{QOS}long|Unknown||||\n", "qos.txt:3: Priority: must be a number"),
        ("qos.txt", f"{QOS}long||cpu=x|||\n", "qos.txt:3: GrpTRES: 'cpu=x' is not an amount"),
        ("qos.txt", f"{QOS}long|||1k||\n", "qos.txt:3: GrpJobs: must be a number"),
        ("qos.txt", f"{QOS}long||||x|\n", "qos.txt:3: UsageFactor: must be a number"),
        ("qos.txt", f"{QOS}long|||||mem=1Q\n", "qos.txt:3: MaxTRESPU: 'mem=1Q' is not an amount"),
        ("assoc.txt", f"{ASSOC}live|a|b|||1.x\n", "assoc.txt:3: MaxJobs: must be a number"),
        ("assoc.txt", f"{ASSOC}live|a|b|=|cpu|\n", "assoc.txt:3: GrpJobs: must be a number"),
        ("m.txt", "Current Association Manager state\nQOS=long(2)\n    GrpJobs=z(1)\n",
         "m.txt, QOS=long(2): grpjobs: must be a number such as 4 or UNLIMITED, not 'z'"),
        ("config.txt", f"{CONFIG}PriorityWeightTRES = CPU=x\n",
         "config.txt: PriorityWeightTRES: 'CPU=x' is not a weight"),
        ("sdiag.txt", SDIAG.replace("2026", "2206"), "sdiag.txt: 'sdiag output at Sun Mar 01"),
        ("sdiag.txt", SDIAG.replace("2026", "0026"), "must agree"),
    ],
)  # fmt: skip
def test_a_cell_that_cannot_be_read_is_named(name: str, text: str, says: str) -> None:
    """With its file, row and column, also of what is used late."""
    jobs = Text("JobId=1 JobState=PENDING\n", "jobs.txt")
    with pytest.raises(InputError) as caught:
        read_texts([Text(text, name), jobs], "test")
    (problem,) = caught.value.problems
    assert says in str(problem)


@pytest.mark.parametrize(
    ("name", "without", "counts"),
    [
        ("scontrol_show_reservation.txt", "reservation", True),
        ("prod-Licenses.out", "licence", True),
        ("sshare_a_l.txt", "share", True),
        ("scontrol_show_job.txt", "", False),
        ("notes.txt", "", False),
    ],
)
def test_an_unread_file_that_may_be_a_listing_leaves_nothing_proved(
    name: str, without: str, counts: bool, tmp_path: Path
) -> None:
    folder = folder_of(tmp_path / "all")
    assert read_folder(folder).missing == []
    for path in folder.iterdir():
        if without and without[:4] in path.name:
            path.unlink()
    (folder / name).write_text("ReservatonName=r1 StartTme=2026-11-26T23:00:00 Nodes=n1\n")
    assert [text.split(" is not read")[0] for text in read_folder(folder).missing] == (
        [name] * counts
    )


NODE = (
    "NodeName=n1 CPUTot=8 ThreadsPerCore=1 CPUAlloc=8 RealMemory=9000 State=ALLOCATED Partitions=p"
)
PART = "PartitionName=p Default=YES DefaultTime=01:00:00 MaxTime=1-0 Nodes=n1 State=UP"
RUNS = (
    "JobId=1 JobState=RUNNING UserId=a(1) Partition=p NumNodes=1 NumCPUs=8 NumTasks=8 "
    "TRES=cpu=8,mem=1G,node=1 TimeLimit=01:00:00 StartTime=2026-03-02T09:30:00 "
    "EndTime=2026-03-02T10:30:00 NodeList=n1"
)
WAITS = (
    "JobId=2 JobState=PENDING UserId=b(2) Partition=p NumNodes=1-1 NumCPUs=8 NumTasks=8 "
    "TRES=cpu=8,mem=4G,node=1 TimeLimit=00:10:00 MinMemoryNode=4G"
)


@pytest.mark.parametrize(
    ("old", "new", "proved", "start"),
    [
        ("", "", True, 1800),
        ("State=ALLOCATED", "State=ALLOCATED+RESERVED", False, 1800),
        ("State=ALLOCATED", "State=ALLOCATED*", False, None),
        ("RealMemory", "CoreSpecCount=2 RealMemory", False, None),
        ("DefaultTime=01:00:00 MaxTime=1-0", "DefaultTime=01:00:00 MaxTime=00:30:00", True, 1800),
        ("State=UP", "State=UP MaxMemPerNode=1000", False, 1800),
        ("State=UP", "State=UP MaxMemPerCPU=100", False, 1800),
        ("State=UP", "State=UP MaxMemPerCPU=512 MaxMemPerNode=4096", True, 1800),
        ("NodeList=n1", "NodeList=n9", False, 0),
        (RUNS, f"{RUNS}\n{RUNS.replace('=1 ', '=3 ', 1)}", False, 1800),
    ],
)
def test_what_a_listing_has_is_in_the_answer(
    old: str, new: str, proved: bool, start: int | None
) -> None:
    """A node that is reserved or silent, cores set apart, memory beyond a partition's: the start
    was proved. A default above the maximum, a job on a node that no input describes and two jobs
    that share CPUs: the whole cluster was refused.
    """
    texts = {
        "nodes": NODE, "part": PART, "jobs": f"{RUNS}\n{WAITS}",
        "config": "Configuration data as of 2026-03-02T10:00:00\nSelectType = select/cons_tres\n"
        "SelectTypeParameters = CR_CORE_MEMORY",
        "sdiag": "sdiag output at Mon Mar 02 10:00:00 2026 (1772445600)",
    }  # fmt: skip
    row = sw.outlook(
        instance_of({name: text.replace(old, new, 1) + "\n" for name, text in texts.items()})
    )["2"]
    assert (row.possible, row.proved) == (start, proved)


def test_a_job_that_asks_for_gpus_where_no_node_has_any_has_no_start() -> None:
    """The cycle of backfill ended in a KeyError."""
    asks = f"{WAITS} TresPerJob=gres/gpu:1 StartTime=2026-03-02T14:00:00"
    config = (
        "Configuration data as of 2026-03-02T10:00:00\nSelectType = select/cons_tres\n"
        "SelectTypeParameters = CR_CORE_MEMORY\nSLURM_VERSION = 26.05.3\n"
    )
    sdiag = "sdiag output at Mon Mar 02 10:00:00 2026 (1772445600)\n"
    texts = {"n": NODE, "p": PART, "j": f"{RUNS}\n{asks}", "config": config, "sdiag": sdiag}
    found = instance_of({name: f"{text}\n" for name, text in texts.items()})
    assert sw.plan(found, method="slurm")["2"].start is None
