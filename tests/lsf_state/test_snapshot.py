"""`import snapshot` and `snapshot`: instances that load, shares that print again, and messages."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from sampling import some
from slotwise import Gpus, InputError, Instance, dump, load, loads
from slotwise.cli.main import app
from slotwise.model.generate import generate
from typer.testing import CliRunner

DATA = Path(__file__).parents[1] / "data" / "lsf"
NOW = "2026-04-12T18:20:00+00:00"


def _run(*arguments: object) -> tuple[int, str, str]:
    """Exit code, stdout, stderr with errors as `main` prints them."""
    result = CliRunner().invoke(app, [str(item) for item in arguments])
    if isinstance(result.exception, InputError):
        return 2, result.stdout, str(result.exception)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def _write(folder: Path, **texts: str) -> list[str]:
    """A file for each option, and the arguments that name them."""
    arguments = []
    for name, text in texts.items():
        file = folder / name
        file.write_text(text)
        arguments += [f"--{name}", str(file)]
    return arguments


@pytest.mark.behaviour("CFG-04")
def test_real_output_becomes_an_instance(tmp_path: Path) -> None:
    out = tmp_path / "now.yaml"
    code, _, said = _run(
        *("import", "snapshot", "--bjobs", DATA / "bjobs-running-two-hosts.json"),
        *("--bhosts", DATA / "bhosts.json", "--bqueues", DATA / "bqueues.json", "-o", out),
    )
    assert code == 0
    instance = load(out)
    (running,) = instance.running
    assert running.job.id == "321"
    assert (running.slots, running.job.user) == (32, "ubuntu")
    # FINISH_TIME "Apr 12 22:27:01 2026 L" is its run limit.
    assert running.start + (running.job.run_limit or 0) - instance.now == 15366 - 34
    assert instance.origin == "2026-04-12T18:11:29+00:00"
    assert {host.name: host.slots for host in instance.cluster.hosts} == {
        "ip-10-30-9-105": 4,
        "nodes-1.example.com": 16,
        "nodes-2.example.com": 16,
    }
    assert "which nothing describes" in said


SITE = """
format: slotwise/1
resources: [{name: linux, kind: boolean}]
hosts:
  - {name: "host[A-C]", slots: 4, mem: 8G, RESOURCES: linux}
queues:
  - {name: normal, PRIORITY: 30, FAIRSHARE: "USER_SHARES[[user1,100] [default,1]]"}
  - {name: long, PRIORITY: 20, EXCLUSIVE: Y}
params: {ENABLE_HIST_RUN_TIME: Y}
"""


def _bjobs(*records: dict[str, str]) -> str:
    usual = {"STAT": "PEND", "QUEUE": "long", "USER": "u", "SUBMIT_TIME": "Apr 12 18:00:00 2026"}
    return json.dumps({"COMMAND": "bjobs", "RECORDS": [usual | record for record in records]})


def test_a_site_says_what_the_commands_do_not(tmp_path: Path) -> None:
    (tmp_path / "site.yaml").write_text(SITE)
    arguments = _write(
        tmp_path,
        bjobs=_bjobs(
            {"JOBID": "1", "STAT": "RUN", "START_TIME": "Apr 12 18:10:00 2026",
             "EXEC_HOST": "hostA:hostA", "RUNTIMELIMIT": "30.0",
             "COMBINED_RESREQ": "select[linux] rusage[mem=1024] order[r15s:pg]"},
            {"JOBID": "2", "NREQ_SLOT": "8", "RUNTIMELIMIT": "60.0", "COMBINED_RESREQ":
             "select[type == local] span[ptile=4]"},
            {"JOBID": "3", "STAT": "PSUSP", "NREQ_SLOT": "1"},
            {"JOBID": "4", "NREQ_SLOT": "1", "COMBINED_RESREQ": "select[solaris]"},
        ),
        bhosts="HOST_NAME STATUS JL/U MAX NJOBS RUN SSUSP USUSP RSV\n"
        "hostA closed_Full - 4 2 2 0 0 0\nhostB unreach - 4 0 0 0 0 0\n",
    )  # fmt: skip
    code, text, said = _run(
        *("import", "snapshot", *arguments, "--site", tmp_path / "site.yaml", "--now", NOW)
    )
    assert code == 0
    instance = loads(text)
    assert [host.status for host in instance.cluster.hosts] == ["ok", "unreach", "ok"]
    assert all(host.amounts == {"mem": 8192.0} for host in instance.cluster.hosts)
    (running,) = instance.running
    assert (running.start, running.job.run_limit) == (-600, 1800)
    assert running.job.res_req == ("select[linux] rusage[mem=1024]",)
    assert [(job.id, job.slots, job.res_req) for job in instance.pending] == [
        ("2", 8, ("span[ptile=4]",)),
        ("4", 1, ()),
    ]
    assert "bhosts does not list hostC" in said
    assert "left out 1 job in state PSUSP" in said
    assert "left out the requirements of 1 pending job" in said
    assert "solaris" in said


def test_jobs_from_before_their_queue_was_changed(tmp_path: Path) -> None:
    """Who runs stays, too long a limit is what the queue grants, what it refuses is left out."""
    queue = "  - {name: long, RUNLIMIT: 60, PROCLIMIT: 4, USERS: u}"
    site = "format: slotwise/1\nhosts: [{name: hostA, slots: 4}]\nqueues:\n" + queue
    (tmp_path / "site.yaml").write_text(site)
    arguments = _write(
        tmp_path,
        bjobs=_bjobs(
            {"JOBID": "1", "STAT": "RUN", "START_TIME": "Apr 12 18:10:00 2026", "USER": "other",
             "EXEC_HOST": "hostA", "RUNTIMELIMIT": "90.0"},
            {"JOBID": "2", "NREQ_SLOT": "2", "RUNTIMELIMIT": "90.0"},
            {"JOBID": "3", "NREQ_SLOT": "2", "RUNTIMELIMIT": "60.0"},
            {"JOBID": "4", "NREQ_SLOT": "8", "RUNTIMELIMIT": "90.0"},
            {"JOBID": "5", "NREQ_SLOT": "1", "USER": "other"},
            {"JOBID": "6", "NREQ_SLOT": "2", "USER": "other"},
        ),
    )  # fmt: skip
    code, text, said = _run(
        *("import", "snapshot", *arguments, "--site", tmp_path / "site.yaml", "--now", NOW)
    )
    assert code == 0
    instance = loads(text)
    assert [(item.job.id, item.job.run_limit) for item in instance.running] == [("1", 5400)]
    assert [(job.id, job.run_limit) for job in instance.pending] == [("2", 3600), ("3", 3600)]
    assert "took the queue's maximum as the run limit of 1 pending job: queue long" in said
    assert "left out 1 pending job: queue long takes jobs of 1 to 4 slots (PROCLIMIT)" in said
    assert "left out 2 pending jobs: user other may not use queue long" in said


def test_of_many_reasons_five_are_said_and_the_others_counted(tmp_path: Path) -> None:
    queue = "  - {name: long, USERS: u}"
    site = "format: slotwise/1\nhosts: [{name: hostA, slots: 4}]\nqueues:\n" + queue
    (tmp_path / "site.yaml").write_text(site)
    for count, more in ((5, 0), (6, 1), (8, 3)):
        users = ["u", *(f"u{number}" for number in range(count))]
        jobs = [{"JOBID": str(100 + n), "USER": user} for n, user in enumerate(users)]
        arguments = _write(tmp_path, bjobs=_bjobs(*jobs))
        code, _, said = _run(
            *("import", "snapshot", *arguments, "--site", tmp_path / "site.yaml", "--now", NOW)
        )
        assert code == 0
        assert said.count("may not use queue long") == 5
        assert (f"left out other pending jobs for {more} more reasons" in said) == bool(more)


def test_the_documents_table_prints_again(tmp_path: Path) -> None:
    """The twelve rows of a real cluster (Boston University), from text to `show bqueues -l`."""
    rows = (
        *((0, 29.4, 0, "0.333"), (0, 821.9, 0, "0.316"), (0, 18781.0, 0, "0.150")),
        *((1, 2288.2, 2696, "0.143"), (0, 67178.7, 0, "0.062"), (3, 34856.3, 65633, "0.032")),
        *((0, 158440.7, 0, "0.030"), (4, 73265.0, 33534, "0.028")),
        *((1, 100969.1, 70430, "0.025"), (2, 52842.4, 103421, "0.025")),
        *((0, 305000.0, 0, "0.016"), (3, 91714.2, 211038, "0.014")),
    )
    table = "".join(
        f"user{n}      1     {priority}      {started}      0    {cpu}    {run}\n"
        for n, (started, cpu, run, priority) in enumerate(rows)
    )
    queues = (
        "QUEUE: p4-long\n\nPARAMETERS/STATISTICS\n"
        "PRIO NICE STATUS MAX JL/U JL/P JL/H NJOBS PEND RUN SSUSP USUSP RSV\n"
        "30 20 Open:Active - - - - 14 0 14 0 0 0\n\nSCHEDULING POLICIES:  FAIRSHARE\n"
        "USER_SHARES:  [default, 1]\n\nSHARE_INFO_FOR: p4-long/\n"
        f"USER/GROUP SHARES PRIORITY STARTED RESERVED CPU_TIME RUN_TIME\n{table}\n"
    )
    running = []
    for n, (started, _, run, _) in enumerate(rows):
        for job in range(started):
            seconds = run // started + (run % started if job == 0 else 0)
            running.append({"JOBID": f"{n}{job}", "STAT": "RUN", "USER": f"user{n}",
                            "QUEUE": "p4-long", "EXEC_HOST": "h",
                            "START_TIME": str(1_776_018_000 - seconds)})  # fmt: skip
    arguments = _write(
        tmp_path,
        bjobs=_bjobs(*running),
        bqueues=queues,
        bhosts="HOST_NAME STATUS JL/U MAX NJOBS RUN SSUSP USUSP RSV\nh ok - 20 14 14 0 0 0\n",
    )
    out = tmp_path / "now.yaml"
    code, _, said = _run(*("import", "snapshot", *arguments, "--now", NOW, "-o", out))
    assert code == 0
    assert said == (  # every printed priority follows from the formula
        "slotwise: balance: slots in use: bhosts counts 14, the jobs read hold 14\n"
        "slotwise: balance: slots in use: bqueues counts 14, the jobs read hold 14\n"
        "slotwise: balance: slots waited for: bqueues counts 0, the jobs read ask for 0\n"
    )
    shown = json.loads(_run("show", "bqueues", out, "--format", "json")[1])
    (level,) = shown[0]["levels"]
    found = {row["account"]: row for row in level["rows"]}
    for n, (started, cpu, run, priority) in enumerate(rows):
        row = found[f"user{n}"]
        assert (row["started"], row["run_time"]) == (started, run)
        assert row["cpu_time"] == pytest.approx(cpu)
        assert f"{row['priority']:.3f}" == priority


#: After the documents (seed 001): only the lower level was printed at one moment.
BHPART = """\
HOST_PARTITION_NAME: Partition1
HOSTS: HostA

SHARE_INFO_FOR: Partition1/
USER/GROUP  SHARES  PRIORITY  STARTED  RESERVED  CPU_TIME  RUN_TIME
group1         40     1.867       5        0       48.4     17618
group2         20     0.775       6        0      607.7     24664

SHARE_INFO_FOR: Partition1/group2/
USER/GROUP  SHARES  PRIORITY  STARTED  RESERVED  CPU_TIME  RUN_TIME
user1           8     1.144       1        0        9.6      5108
user2           2     0.667       0        0        0.0         0
others          1     0.046       5        0      598.1     19556
"""


def test_a_partition_with_a_tree_and_what_differs(tmp_path: Path) -> None:
    site = """
format: slotwise/1
hosts: [{name: HostA, slots: 20}]
user_groups:
  - {name: group1, members: g1}
  - {name: group2, members: user1 user2 user3, USER_SHARES: "[user1,8] [user2,2] [others,1]"}
host_partitions:
  - {name: Partition1, HOSTS: HostA, USER_SHARES: "[group1,40] [group2,20]"}
queues: [{name: normal}]
"""
    (tmp_path / "site.yaml").write_text(site)

    def run(number: str, user: str, slots: int, seconds: int) -> dict[str, str]:
        start = str(1_776_018_000 - seconds)
        where = {"QUEUE": "normal", "EXEC_HOST": f"{slots}*HostA", "START_TIME": start}
        return {"JOBID": number, "STAT": "RUN", "USER": user} | where

    arguments = _write(
        tmp_path,
        bjobs=_bjobs(run("1", "g1", 5, 17618), run("2", "user1", 1, 5108),
                     run("3", "user3", 5, 19556)),
        bhpart=BHPART,
    )  # fmt: skip
    out = tmp_path / "now.yaml"
    code, _, said = _run(
        *("import", "snapshot", *arguments, "--now", NOW),
        *("--site", tmp_path / "site.yaml", "-o", out),
    )
    assert code == 0
    # The documents' group rows were sampled at another moment: the formula says so.
    assert [line.split(": ", 2)[-1] for line in said.splitlines()] == [
        "line 6: Partition1/group1: PRIORITY 1.867, the formula gives 1.866 for the numbers "
        "beside it",
        "line 7: Partition1/group2: PRIORITY 0.775, the formula gives 0.772 for the numbers "
        "beside it",
    ]
    text = _run("show", "bhpart", out, "-r")[1]
    assert BHPART.split("\n\n")[2].split()[3:] == text.split("\n\n")[2].split()[3:]


def test_priorities_that_do_not_follow_are_told(tmp_path: Path) -> None:
    queues = (
        "QUEUE: q\nPRIO NICE STATUS MAX JL/U JL/P JL/H NJOBS PEND RUN SSUSP USUSP RSV\n"
        "30 20 Open:Active - - - - 0 0 0 0 0 0\nUSER_SHARES:  [a, 10] [b, 1]\n\n"
        "SHARE_INFO_FOR: q/\nUSER/GROUP SHARES PRIORITY STARTED RESERVED CPU_TIME RUN_TIME\n"
        "a 10 3.300 0 0 0.0 0\nb 1 0.111 2 0 0.0 0\nc 1 0.333 0 0 0.0 0\n"
    )
    arguments = _write(tmp_path, bqueues=queues, bhosts=(DATA / "bhosts.json").read_text())
    code, _, said = _run("import", "snapshot", *arguments, "--now", NOW)
    assert code == 0
    assert said.splitlines() == [
        "slotwise: differs: line 8: q/a: PRIORITY 3.300, the formula gives 3.333 for the numbers "
        "beside it",
        "slotwise: differs: line 9: q/b: STARTED 2, the running jobs hold 0",
        "slotwise: line 10: q/c: the instance has no such share account",
    ]


def test_what_is_wrong_is_one_report_and_no_file(tmp_path: Path) -> None:
    arguments = _write(
        tmp_path,
        bjobs=_bjobs({"JOBID": "1", "STAT": "RUN", "EXEC_HOST": "a", "RUN_TIME": "long"}),
        bhosts="HOST_NAME STATUS JL/U MAX NJOBS RUN SSUSP USUSP RSV\na ok - x 3 3 0 0 0\n",
    )
    out = tmp_path / "now.yaml"
    code, _, said = _run("import", "snapshot", *arguments, "-o", out)
    assert code == 0  # a cell that cannot be read takes only itself
    assert "RUN_TIME: 'long' is no time" in said
    assert "bhosts:2: host a: MAX: must be a whole number such as 4, not 'x'" in said
    out.unlink()
    twice = {"JOBID": "1", "STAT": "PEND", "NREQ_SLOT": "1"}
    arguments = _write(
        tmp_path,
        bjobs=_bjobs(twice, twice),
        bhosts="HOST_NAME STATUS JL/U NJOBS RUN SSUSP USUSP RSV\na ok - 3 3 0 0 0\n",
    )
    code, _, said = _run("import", "snapshot", *arguments, "-o", out)
    assert code == 2
    assert "job 1: is listed twice" in said
    assert "bhosts:1: has no column MAX" in said
    assert not out.exists()


@pytest.mark.parametrize("seed", some(range(6), 2))
def test_what_we_print_we_read(tmp_path: Path, seed: int) -> None:
    """`show … --format lsf-json` of an instance gives its jobs back on its own site."""
    made = generate(seed=seed, hosts=12, running=8, pending=10)
    made = replace(made, origin=made.origin or "2026-04-12T18:20:00+00:00", future=())
    file, site, out = tmp_path / "i.yaml", tmp_path / "site.yaml", tmp_path / "now.yaml"
    file.write_text(dump(made))
    site.write_text(dump(replace(made, running=(), pending=())))
    code, text, _ = _run("show", "bjobs", file, "--no-cycle", "--format", "lsf-json")
    assert code == 0
    (tmp_path / "bjobs").write_text(text)
    moment = _moment(made)
    code, _, said = _run(
        *("import", "snapshot", "--bjobs", tmp_path / "bjobs", "--site", site),
        *("--now", moment, "-o", out),
    )
    assert (code, said) == (0, "")
    again = load(out)
    assert again.running == made.running
    assert sorted(again.pending, key=lambda job: job.id) == sorted(
        made.pending, key=lambda job: job.id
    )
    assert again.now == made.now


def _moment(instance: Instance) -> str:
    from datetime import datetime, timedelta

    assert instance.origin is not None
    return (datetime.fromisoformat(instance.origin) + timedelta(seconds=instance.now)).isoformat()


def _command(folder: Path, name: str, text: str, *, code: int = 0, refuse: str = "") -> None:
    """A command that prints a text; refuse: an option that it does not know."""
    (folder / f"{name}.txt").write_text(text)
    script = folder / name
    script.write_text(
        f"#!{sys.executable}\nimport sys\n"
        f"if {refuse!r} and {refuse!r} in sys.argv:\n"
        "    sys.exit('illegal option')\n"
        f"open({str(folder / 'calls')!r}, 'a').write(' '.join(sys.argv[1:3]) + chr(10))\n"
        f"sys.stdout.write(open({str(folder / f'{name}.txt')!r}).read())\n"
        f"sys.exit({code})\n"
    )
    script.chmod(0o755)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


HOSTS = "HOST_NAME STATUS JL/U MAX NJOBS RUN SSUSP USUSP RSV\nh ok - 20 2 2 0 0 0\n"
LONG_HOSTS = (
    "HOST  h\nSTATUS CPUF JL/U MAX NJOBS RUN SSUSP USUSP RSV DISPATCH_WINDOW\n"
    "ok 1.0 - 20 2 2 0 0 0 -\n\n mem\n Total 4G\n Reserved 0M\n"
)
QUEUES = (
    "QUEUE_NAME PRIO STATUS MAX JL/U JL/P JL/H NJOBS PEND RUN SUSP\n"
    "long 30 Open:Active - - - - 0 0 0 0\n"
)


def test_the_commands_are_run(path: Path) -> None:
    _command(path, "bjobs", _bjobs({"JOBID": "1", "NREQ_SLOT": "2"}))
    _command(path, "bhosts", HOSTS)
    _command(path, "bqueues", QUEUES)
    code, text, said = _run("snapshot")
    assert code == 0
    assert said == (
        "slotwise: `bjobs -u all -json …`: has no column combined_resreq, runtimelimit, "
        "job_priority, specified_start_time, ask_hosts, dependency: it is not known what 1 waiting "
        "job asks for by that (give them to bjobs -o)\n"
        "slotwise: bqueues says of long neither limits nor policies, users and hosts: taken as "
        "none and as all (bqueues -l has them)\n"
        "slotwise: balance: slots in use: bhosts counts 2, the jobs read hold 0\n"
        "slotwise: balance: slots in use: bqueues counts 0, the jobs read hold 0\n"
        "slotwise: balance: slots waited for: bqueues counts 0, the jobs read ask for 2\n"
        "slotwise: contradicts itself: bhosts counts 2 slots in use on h, the jobs read hold 0: "
        "bjobs without -u all?\n"
        "slotwise: contradicts itself: bqueues counts 0 slots waited for in long, the jobs read "
        "ask for 2: printed at different times?\n"
    )
    instance = loads(text)
    assert [item.where for item in instance.omissions if item.jobs != ()] == [
        "`bjobs -u all -json …`",
        "",
        "",
        "",
    ]
    assert [job.id for job in instance.pending] == ["1"]
    assert instance.cluster.hosts[0].slots == 20
    assert (path / "calls").read_text().splitlines() == [
        *("-u all", "-l", "-gpu -l", "-r", "-s", "-aff"),
        *("-u all", "-u all"),  # -aps, -A
    ]


def test_an_older_bjobs_without_json(path: Path) -> None:
    text = "Job <5>, User <ann>, Project <p>, Status <PEND>, Queue <long>, Command <x>\n"
    text += "Fri May 10 17:21:26: Submitted from host <h>, CWD <$HOME>, 4 Task(s);\n"
    _command(path, "bjobs", text, refuse="-json")
    _command(path, "bhosts", HOSTS)
    _command(path, "bqueues", QUEUES)
    code, out, _ = _run("snapshot")
    assert code == 0
    assert [(job.id, job.slots) for job in loads(out).pending] == [("5", 4)]


def test_missing_commands_are_named_in_one_report(path: Path) -> None:
    _command(path, "bhosts", HOSTS)
    code, _, said = _run("snapshot")
    assert code == 2
    assert [line.split(":")[0] for line in said.splitlines()] == ["bjobs", "bqueues"]
    assert "not on the PATH" in said


def test_a_command_that_fails_or_hangs(path: Path) -> None:
    _command(path, "bjobs", "", code=255)
    _command(path, "bhosts", HOSTS)
    _command(path, "bqueues", QUEUES)
    code, _, said = _run("snapshot")
    wrong, hint = said.splitlines()
    assert (code, wrong) == (
        2,
        "the LSF of this machine does not answer: `bjobs -u all -UF`: failed: exit code 255",
    )
    assert hint.startswith("Run it where bjobs works")
    (path / "bjobs").write_text(f"#!{sys.executable}\nimport time\ntime.sleep(60)\n")
    code, _, said = _run("snapshot", "--timeout", "1")
    assert code == 2
    assert "gave no answer in 1 s" in said
    assert os.environ["PATH"] == str(path)


@pytest.mark.parametrize("seed", some(range(4), 2))
def test_the_text_of_show_is_the_text_that_is_read(tmp_path: Path, seed: int) -> None:
    """bjobs -l, bhosts -l and bqueues -l of an instance give its jobs, slots and queues back."""
    made = generate(seed=seed, hosts=10, running=8, pending=10)
    made = replace(made, origin=made.origin or "2026-04-12T18:20:00+00:00", future=())
    file = tmp_path / "i.yaml"
    file.write_text(dump(made))
    texts = {
        view: _run("show", view, file, "-l", "--no-cycle")[1]
        for view in ("bjobs", "bhosts", "bqueues")
    }
    arguments = _write(tmp_path, **texts)
    code, text, said = _run("import", "snapshot", *arguments, "--now", _moment(made))
    assert code == 0, said
    again = loads(text)
    zero = made.now - again.now
    assert {r.job.id: (r.start + zero, r.allocation, r.job.user) for r in again.running} == {
        r.job.id: (r.start, r.allocation, r.job.user) for r in made.running
    }
    asked = {job.id: (job.slots, job.submit, job.queue, job.run_limit) for job in made.pending}
    assert {
        job.id: (job.slots, job.submit + zero, job.queue, job.run_limit) for job in again.pending
    } == asked
    assert [(host.name, host.slots) for host in again.cluster.hosts] == [
        (host.name, host.slots) for host in made.cluster.hosts
    ]
    for queue in made.queues:
        other = again.queue(queue.name)
        assert (other.priority, other.backfill, other.run_limit, other.slots) == (
            *(queue.priority, queue.backfill),
            *(queue.run_limit, queue.slots),
        )
        assert other.user_shares == queue.user_shares


def test_nothing_says_which_hosts_there_are(tmp_path: Path) -> None:
    code, _, said = _run("import", "snapshot", "--bjobs", DATA / "bjobs-done.json")
    assert code == 2
    assert said.startswith("no input says which hosts there are")


def test_bhosts_and_bqueues_in_lsf_s_json(tmp_path: Path) -> None:
    made = generate(seed=2, hosts=6, running=3, pending=0)
    file = tmp_path / "i.yaml"
    file.write_text(dump(made))
    texts = {
        view: _run("show", view, file, "--format", "lsf-json", "--no-cycle")[1]
        for view in ("bhosts", "bqueues")
    }
    assert json.loads(texts["bhosts"])["HOSTS"] == 6
    for record in (
        *json.loads(texts["bhosts"])["RECORDS"],
        *json.loads(texts["bqueues"])["RECORDS"],
    ):
        assert all(isinstance(value, str) for value in record.values())
    code, text, said = _run("import", "snapshot", *_write(tmp_path, **texts), "--now", NOW)
    assert code == 0, said
    again = loads(text)
    assert [(h.name, h.slots, h.cpu_factor) for h in again.cluster.hosts] == [
        (h.name, h.slots, h.cpu_factor) for h in made.cluster.hosts
    ]
    assert [(q.name, q.priority) for q in again.queues] == [
        (q.name, q.priority) for q in made.queues
    ]
    code, _, said = _run("show", "bmgroup", file, "--format", "lsf-json")
    assert (code, said.split(":")[0]) == (2, "LSF has no JSON of bmgroup")


def test_several_requirements_are_printed_as_one(tmp_path: Path) -> None:
    file = tmp_path / "i.yaml"
    file.write_text(
        "format: slotwise/1\nhosts: [{name: h, slots: 4, mem: 4G}]\npending:\n"
        "  - {id: 1, res_req: ['select[mem>1]', 'rusage[mem=5]', 'select[ncpus>2]']}\n"
    )
    (record,) = json.loads(_run("show", "bjobs", file, "--format", "lsf-json")[1])["RECORDS"]
    assert record["COMBINED_RESREQ"].startswith("select[")
    assert record["COMBINED_RESREQ"].count("select[") == 1
    assert "rusage[mem=5]" in record["COMBINED_RESREQ"]


def test_bjobs_is_asked_for_gpus_where_it_knows_them(path: Path) -> None:
    _command(path, "bjobs", _bjobs({"JOBID": "1", "GPU_NUM": "2", "GPU_MODE": "shared"}))
    _command(path, "bhosts", HOSTS)
    _command(path, "bqueues", QUEUES)
    script = (path / "bjobs").read_text()
    (path / "bjobs").write_text(script.replace("sys.argv[1:3]", "sys.argv"))
    code, text, _ = _run("snapshot")
    assert code == 0
    assert "gpu_num gpu_mode j_exclusive" in (path / "calls").read_text()
    assert loads(text).pending[0].gpu == ""  # no input says which hosts have GPUs
    _command(path, "gpus", "HOST_NAME GPU_ID MODEL MUSED\nh 0 TeslaK80 0M\n  1 TeslaK80 0M\n")
    plain = (path / "bhosts").read_text()
    both = "import sys, os\nif '-gpu' in sys.argv: os.execv({!r}, sys.argv)\n"
    (path / "bhosts").write_text(plain.replace("import sys\n", both.format(str(path / "gpus"))))
    code, text, _ = _run("snapshot")
    assert loads(text).pending[0].gpu == "num=2:mode=shared"
    assert loads(text).cluster.hosts[0].gpus == Gpus(2, "TeslaK80")
    # One that does not know the columns is asked again without them.
    old = script.replace("import sys\n", "import sys\nif 'gpu' in sys.argv[-1]: sys.exit('bad')\n")
    (path / "bjobs").write_text(old)
    code, text, _ = _run("snapshot")
    assert (code, loads(text).pending[0].id) == (0, "1")


def _memory_counts(tmp_path: Path, *options: str, **texts: str) -> tuple[bool, list[str]]:
    """RESOURCE_RESERVE_PER_SLOT of a snapshot with these texts, and what touches its jobs."""
    jobs = ({"JOBID": "1", "COMBINED_RESREQ": "rusage[mem=100]"}, {"JOBID": "2"})
    files = _write(tmp_path, bjobs=_bjobs(*jobs), bhosts=LONG_HOSTS, **texts)
    code, text, _ = _run("import", "snapshot", *files, "--now", NOW, *options)
    assert code == 0
    instance = loads(text)
    found = [item for item in instance.omissions if "rusage[mem]" in item.what]
    assert all(item.jobs == ("1",) for item in found)
    return instance.params.reserve_per_slot, [item.what for item in found]


def test_openlava_and_volclava_are_asked_or_told_what_memory_counts_for(tmp_path: Path) -> None:
    lsid = "OpenLava Project 3.3, Jan 1 2016\nMy cluster name is openlava\n"
    assert _memory_counts(tmp_path, lsid=lsid) == (
        True,
        ["OpenLava: rusage[mem] is counted per slot, as OpenLava does (--rusage host: per host)"],
    )
    assert _memory_counts(tmp_path, "--rusage", "host", lsid=lsid) == (False, [])
    per_slot, told = _memory_counts(tmp_path, lsid="volclava 1.0.0, My cluster name is c\n")
    assert not per_slot
    assert "early versions of volclava count it per slot" in told[0]
    assert _memory_counts(tmp_path, lsid="IBM Spectrum LSF Standard 10.1.0.0\n") == (False, [])
    assert _memory_counts(tmp_path) == (False, [])
    assert _memory_counts(tmp_path, "--rusage", "slot") == (True, [])


def test_the_snapshot_command_asks_lsid(path: Path) -> None:
    _command(path, "bjobs", _bjobs({"JOBID": "1", "COMBINED_RESREQ": "rusage[mem=100]"}))
    _command(path, "bhosts", HOSTS)
    _command(path, "bqueues", QUEUES)
    _command(path, "lsid", "OpenLava Project 3.3\n")
    code, text, _ = _run("snapshot")
    assert code == 0
    assert loads(text).params.reserve_per_slot


def test_what_the_site_leaves_out_stays_with_the_snapshot(tmp_path: Path) -> None:
    site = "format: slotwise/1\nhosts: [{name: h, slots: 20}]\nqueues: [{name: long}]\n"
    (tmp_path / "site.yaml").write_text(f"{site}omissions: [{{what: MEMLIMIT}}]\n")
    files = _write(tmp_path, bjobs=_bjobs({"JOBID": "1"}), bhosts=HOSTS)
    site_option = ("--site", tmp_path / "site.yaml")
    _, text, _ = _run("import", "snapshot", *files, "--now", NOW, *site_option)
    assert "MEMLIMIT" in [item.what for item in loads(text).omissions]


def test_a_job_whose_requirement_cannot_be_read_is_left_out_and_counted(tmp_path: Path) -> None:
    """It would be an empty requirement otherwise; of one with an unknown part only that goes."""
    texts = {"1": "select[mem>>4] rusage[", "2": "select[nfpgas>0 && mem>1]", "3": "frob[3]"}
    jobs = [{"JOBID": id, "COMBINED_RESREQ": text} for id, text in texts.items()]
    jobs.append({"JOBID": "4", "COMBINED_RESREQ": "frob[3]"})
    files = _write(tmp_path, bjobs=_bjobs(*jobs), bhosts=LONG_HOSTS)
    code, text, said = _run("import", "snapshot", *files, "--now", NOW)
    assert code == 0
    instance = loads(text)
    assert [(job.id, job.res_req) for job in instance.pending] == [("2", ("select[mem>1]",))]
    kept = [item for item in instance.omissions if "cannot be read" in item.what]
    assert [item.count for item in kept] == [1, 2]
    assert kept[1].what.startswith("left out 2 pending jobs whose requirement cannot be read: 'fr")
    assert all(item.jobs is None and item.what in said for item in kept)
    (part,) = (item for item in instance.omissions if "a part of the requirements" in item.what)
    assert part.jobs == ("2",)
