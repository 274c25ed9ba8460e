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


def _bjobs(*records: dict[str, str]) -> str:
    usual = {"STAT": "PEND", "QUEUE": "long", "USER": "u", "SUBMIT_TIME": "Apr 12 18:00:00 2026"}
    return json.dumps({"COMMAND": "bjobs", "RECORDS": [usual | record for record in records]})


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
        "slotwise: balance: slots in use: bhosts counts 14, the listed jobs use 14\n"
        "slotwise: balance: slots in use: bqueues counts 14, the listed jobs use 14\n"
        "slotwise: balance: slots waited for: bqueues counts 0, the listed jobs request 0\n"
    )
    shown = json.loads(_run("show", "bqueues", out, "--format", "json")[1])
    (level,) = shown[0]["levels"]
    found = {row["account"]: row for row in level["rows"]}
    for n, (started, cpu, run, priority) in enumerate(rows):
        row = found[f"user{n}"]
        assert (row["started"], row["run_time"]) == (started, run)
        assert row["cpu_time"] == pytest.approx(cpu)
        assert f"{row['priority']:.3f}" == priority


def test_what_is_wrong_is_one_report_and_no_file(tmp_path: Path) -> None:
    arguments = _write(
        tmp_path,
        bjobs=_bjobs({"JOBID": "1", "STAT": "RUN", "EXEC_HOST": "a", "RUN_TIME": "long"}),
        bhosts="HOST_NAME STATUS JL/U MAX NJOBS RUN SSUSP USUSP RSV\na ok - x 3 3 0 0 0\n",
    )
    out = tmp_path / "now.yaml"
    code, _, said = _run("import", "snapshot", *arguments, "-o", out)
    assert code == 0  # a cell that cannot be read takes only itself
    assert "RUN_TIME: 'long' is not a time" in said
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
QUEUES = (
    "QUEUE_NAME PRIO STATUS MAX JL/U JL/P JL/H NJOBS PEND RUN SUSP\n"
    "long 30 Open:Active - - - - 0 0 0 0\n"
)


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
    assert "did not answer within 1 s" in said
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


def test_the_snapshot_command_asks_lsid(path: Path) -> None:
    _command(path, "bjobs", _bjobs({"JOBID": "1", "COMBINED_RESREQ": "rusage[mem=100]"}))
    _command(path, "bhosts", HOSTS)
    _command(path, "bqueues", QUEUES)
    _command(path, "lsid", "OpenLava Project 3.3\n")
    code, text, _ = _run("snapshot")
    assert code == 0
    assert loads(text).params.reserve_per_slot
