"""``slotwise show bjobs|bhosts|bmgroup|bresources`` against what the documents print."""

import csv
import io
import json
from pathlib import Path

import pytest
from slotwise.cli.main import app
from slotwise.model.plan import FORMATTERS, lsf_allocation, rms_allocation
from typer.testing import CliRunner


def shown(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["show", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def written(folder: Path, text: str) -> str:
    file = folder / "site.yaml"
    file.write_text("format: slotwise/1\n" + text)
    return str(file)


@pytest.mark.behaviour("VEW-01", "VEW-06", "TBR-06")
def test_bjobs_writes_allocations_as_an_integration_does():
    """Example 2, in the form of RMS."""
    text = shown("bjobs", "--example", "sierra-nodes", "-lp", "--alloc", "rms")
    assert "now: Reserved <4> job slots on host(s) <2*sierra2 2*sierra3>;\n" in text
    assert "+10h: Estimated Job Start Time; rms_alloc=2*sierra[0,2-3]\n" in text


@pytest.mark.behaviour("VEW-06", "TBR-06")
@pytest.mark.parametrize(
    ("allocation", "lsf", "rms"),
    [
        ({"hostA": 2, "hostB": 3}, "alloc=2*hostA 3*hostB", "rms_alloc=2*hostA 3*hostB"),
        ({"sierra0": 2, "sierra1": 3}, "alloc=2*sierra0 3*sierra1",
         "rms_alloc=2*sierra0 3*sierra1"),
        ({"sierra0": 2, "sierra2": 2, "sierra3": 2}, "alloc=2*sierra0 2*sierra2 2*sierra3",
         "rms_alloc=2*sierra[0,2-3]"),
        ({"n9": 1, "n10": 1, "n11": 1, "m1": 4, "login": 2},
         "alloc=1*n9 1*n10 1*n11 4*m1 2*login", "rms_alloc=1*n[9-11] 4*m1 2*login"),
        ({}, "alloc=", "rms_alloc="),
    ],
)  # fmt: skip
def test_allocation_strings(allocation, lsf, rms):
    assert (lsf_allocation(allocation), rms_allocation(allocation)) == (lsf, rms)
    assert {name: form(allocation) for name, form in FORMATTERS.items()} == {
        "lsf": lsf, "rms": rms
    }  # fmt: skip


RESERVATION = """\
hosts: [{name: hostA, slots: SLOTS, cpu_factor: 20, mem: MEM, tmp: 911, swp: 915,
         load: {r15s: 1.5, r1m: 1.2, r15m: 2.0, ut: 0.91, pg: 2.5, io: 7, ls: 49, it: 0}}]
queues: [{name: reservation, RESOURCE_RESERVE: "MAX_RESERVE_TIME[10]"}]
running: [{id: "1", start: 0, run_limit: 1h, res_req: "rusage[mem=100]", allocation: 1*hostA}]
"""


@pytest.mark.behaviour("VEW-01", "MEM-01")
def test_bjobs_shows_reserved_memory(tmp_path):
    """The documents' job 3: -m hostA -n 2 -R "rusage[mem=60]" on a host with one slot free."""
    file = written(
        tmp_path,
        RESERVATION.replace("SLOTS", "2").replace("MEM", "500")
        + "pending: [{id: '3', user: user1, queue: reservation, "
        """bsub: '-m hostA -n 2 -W 60 -R "rusage[mem=60]"'}]\n""",
    )
    lines = shown("bjobs", file, "-lp").splitlines()
    assert lines[:6] == [
        "Job <3>, User <user1>, Project <default>, Status <PEND>, Queue <reservation>",
        "now: Submitted, 2 Processors Requested, Requested Resources <rusage[mem=60]>, "
        "Specified Hosts <hostA>;",
        " RUNLIMIT",
        " 60.0 min",
        "now: Reserved <1> job slot on host <hostA>;",
        "now: Reserved <60> megabyte memory on host <60M*hostA>;",
    ]
    assert lines[6] == "+1h: Job will start no sooner than indicated time stamp;"
    assert lines[8:10] == [" PENDING REASONS:", " Not enough job slot(s): hostA;"]


@pytest.mark.behaviour("VEW-02")
@pytest.mark.parametrize(
    ("held", "status"), [("4*hostA", ("closed", "closed_Full")), ("3*hostA", ("ok", "ok"))]
)
def test_a_host_whose_slots_are_all_used_is_full(
    tmp_path: Path, held: str, status: tuple[str, str]
) -> None:
    """The short form says closed, the long one and JSON why."""
    file = tmp_path / "full.yaml"
    file.write_text(
        "format: slotwise/1\nhosts: [{name: hostA, slots: 4}, {name: hostB, slots: 1, "
        f"status: closed_Adm}}]\nrunning: [{{id: r, start: 0, allocation: '{held}'}}]\n"
    )
    short = shown("bhosts", str(file)).splitlines()
    assert [line.split()[1] for line in short[1:]] == [status[0], "closed"]
    long = shown("bhosts", str(file), "-l")
    assert [long.splitlines()[2].split()[0], "closed_Adm" in long] == [status[1], True]
    records = json.loads(shown("bhosts", str(file), "--format", "lsf-json"))["RECORDS"]
    assert [record["STATUS"] for record in records] == [status[1], "closed_Adm"]


@pytest.mark.behaviour("VEW-02", "QBF-03", "QBF-04")
def test_bhosts_and_bqueues_after_the_cycle_are_the_documents_tables():
    """Fifteen slots of three hosts are in use; 8, 5 and 2 of the three queues run.

    The documents print `ok` for the full hosts; bhosts of the family prints `closed`.
    """
    lines = shown("bhosts", "--example", "fairshare-pool").splitlines()
    assert [" ".join(line.split()) for line in lines] == [
        "HOST_NAME STATUS JL/U MAX NJOBS RUN SSUSP USUSP RSV",
        *(f"host{letter} closed - 5 5 5 0 0 0" for letter in "abc"),
    ]
    queues = shown("bqueues", "--example", "fairshare-pool", "--cycle").splitlines()
    assert [line.split()[-4:] for line in queues[1:]] == [
        ["10", "2", "8", "0"], ["10", "5", "5", "0"], ["10", "8", "2", "0"],
    ]  # fmt: skip


SITE = """\
hosts:
  - {name: "h[1-3]", slots: 2, amounts: {gpus: 4}}
host_groups: {left: h1 h2, everything: left h3}
resources: [{name: gpus, kind: numeric}]
shared_resources: [{name: licenseX, amount: 5, hosts: h1 h2}]
reservation_usage: {licenseX: PER_JOB, gpus: PER_HOST}
queues: [{name: q, RUN_WINDOW: "8:00-18:00"}]
running:
  - {id: r, queue: q, start: 0, run_limit: 1h, allocation: 1*h1, suspended: true,
     res_req: "rusage[licenseX=2:gpus=1]"}
"""


@pytest.mark.behaviour("VEW-02", "VEW-03", "VEW-05")
def test_groups_reservation_methods_and_shared_resources(tmp_path):
    file = written(tmp_path, SITE)
    assert shown("bmgroup", file, "-r") == (
        "GROUP_NAME  HOSTS\nleft        h1 h2\neverything  h1 h2 h3\n"
    )
    assert shown("bresources", file, "-s") == (
        "Begin ReservationUsage\nRESOURCE  METHOD\nlicenseX  PER_JOB\ngpus      PER_HOST\n"
        "End ReservationUsage\n"
    )
    assert shown("bresources", file, "--name", "gpus").splitlines()[2:] == [
        "gpus      PER_HOST", "End ReservationUsage",
    ]  # fmt: skip
    assert shown("bhosts", file, "-s") == (
        "RESOURCE  TOTAL  RESERVED  LOCATION\nlicenseX      3         2  h1 h2\n"
    )
    first = shown("bhosts", file, "-l", "--no-cycle").split("HOST  ")[1].splitlines()
    assert first[2].split() == ["ok", "1.00", "-", "2", "1", "0", "0", "1", "0", "-"]
    own = [line.split() for line in first[-4:-1]]
    assert own == [["gpus"], ["Total", "3.0"], ["Reserved", "1.0"]]
    assert "Open:Inact_Win" in shown("bqueues", file)


def test_jobs_as_a_table_and_as_data():
    table = shown("bjobs", "--example", "fairshare-groups").splitlines()
    assert table[0].split() == [
        *("JOBID", "USER", "STAT", "QUEUE", "FROM_HOST", "EXEC_HOST", "JOB_NAME"),
        "SUBMIT_TIME",
    ]
    assert [line.split()[2] for line in table[1:]] == ["RUN"] * 4 + ["PEND"] * 4
    (job,) = json.loads(shown("bjobs", "--example", "memory-pending", "-p", "--format", "json"))
    assert (job["reserved_memory"], job["estimate"]) == ({"hostA": 200.0}, 5 * 3600)
    rows = list(
        csv.DictReader(io.StringIO(shown("bjobs", "--example", "qat-time-based", "--format=csv")))
    )
    assert [row["status"] for row in rows] == ["RUN", "RUN", "RUN", "PEND"]
    assert rows[3]["allocation"] == "2*qat24 2*qat25 2*qat26"
    assert rows[0]["hosts"] == "4*qat24"
    hosts = json.loads(shown("bhosts", "--example", "memory-pending", "--format", "json"))
    assert (hosts[0]["RSV"], hosts[0]["reserved"]["mem"]) == (1, 1000.0)


def test_views_of_nothing(tmp_path):
    file = written(tmp_path, "hosts: [{name: a, slots: 1}]\n")
    assert shown("bjobs", file) == "No unfinished job found\n"
    assert shown("bjobs", file, "-p") == "No pending job found\n"
    assert shown("bmgroup", file) == "No host group is configured.\n"
    assert shown("bresources", file) == "No reservation usage is configured.\n"
    assert shown("bhosts", file, "-s") == "No shared resource is configured.\n"
    result = CliRunner().invoke(app, ["show", "bjobs", "--example", "headline", "--name", "jobx"])
    assert str(result.exception).startswith("unknown job 'jobx' (did you mean 'job")


@pytest.mark.behaviour("VEW-01", "REQ-12")
def test_bjobs_shows_several_requirement_options_as_one(tmp_path):
    """What the documents say of bjobs -l: a single, merged select string."""
    file = written(
        tmp_path,
        "hosts: [{name: a, slots: 4, mem: 8G}]\n"
        "params: {LSF_UNIT_FOR_LIMITS: GB}\n"
        "pending: [{id: a, res_req: ['select[mem > 1]', 'select[ncpus>1 || mem>2] order[ut]']}, "
        "{id: b, res_req: 'select[mem > 1]'}]\n",
    )
    told = shown("bjobs", file, "-l")
    assert "Requested Resources <select[mem>1 && (ncpus>1 || mem>2)] order[ut]>" in told
    assert "Requested Resources <select[mem > 1]>" in told
