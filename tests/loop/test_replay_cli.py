"""``slotwise replay``: files, formats, stops and messages."""

import gzip
import os
import signal
from itertools import islice

import pytest
import traces
import typer
from sampling import some
from slotwise import InputError
from slotwise.cli.main import app
from slotwise.solver.replay import Replay
from typer.testing import CliRunner

KTH = str(traces.log_path("KTH-SP2"))
SMALL = """; MaxProcs: 4
1 0 -1 10 3 -1 -1 3 10 -1 1 1 1 -1 1 -1 -1 -1
2 1 -1 5 4 -1 -1 4 5 -1 1 1 1 -1 1 -1 -1 -1
3 2 -1 8 1 -1 -1 1 8 -1 1 1 1 -1 1 -1 -1 -1
4 3 -1 0 1 -1 -1 1 8 -1 1 1 1 -1 1 -1 -1 -1
"""
SMALL_EASY = """job,submit,start,end,procs,req_time,run_time,wait
1,0,0,10,3,10,10,0
2,1,10,15,4,5,5,9
3,2,2,10,1,8,8,0
"""


def run(*arguments):
    return CliRunner().invoke(app, ["replay", *map(str, arguments)])


def refused(*arguments):
    """The message of a run that has to be refused."""
    result = run(*arguments)
    assert isinstance(result.exception, InputError)
    return str(result.exception)


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.swf"
    path.write_text(SMALL)
    return path


def test_malformed_records_are_refused_or_skipped(small, tmp_path):
    small.write_text(SMALL + "nonsense\n" + "1 2 3\n")
    out = tmp_path / "out.csv"
    message = refused(small, "--jobs", out)
    assert message.splitlines() == [
        f"{small}:6: a record must have 18 columns, not 1",
        f"{small}:7: a record must have 18 columns, not 3",
        "--keep-going skips and counts such records and reads the others",
    ]
    assert not out.exists()
    result = run(small, "--jobs", out, "--keep-going")
    assert result.exit_code == 0
    assert out.read_text() == SMALL_EASY
    assert result.stderr.splitlines()[:3] == [
        *(f"slotwise: warning: {line}" for line in message.splitlines()[:2]),
        "slotwise: omitted 2 jobs: malformed record",
    ]


def test_bad_files_are_refused_before_any_work(small, tmp_path):
    assert "ends in one of .csv, .csv.gz, .json" in refused(small, "--jobs", tmp_path / "out.txt")
    assert "no such folder" in refused(small, "--jobs", tmp_path / "no" / "out.csv")
    assert "cannot be read" in refused(tmp_path / "none.swf")
    assert "cannot be read" in refused(small, "--resume", tmp_path / "none.json")
    empty = tmp_path / "empty.swf"
    empty.write_text("; MaxProcs: 4\n")
    out = tmp_path / "out.csv"
    assert "no job to replay" in refused(empty, "--jobs", out)
    assert not out.exists()
    (tmp_path / "dir.csv").mkdir()
    assert "cannot be written" in refused(small, "--jobs", tmp_path / "dir.csv")
    assert sorted(os.listdir(tmp_path)) == ["dir.csv", "empty.swf", "small.swf"]


@pytest.fixture
def signal_after(monkeypatch):
    """Send this process a signal when a replay has been advanced so many times."""

    def arrange(number, calls):
        left = iter(range(calls))
        advance = Replay.advance

        def counted(self, *arguments):
            if next(left, None) is None:
                os.kill(os.getpid(), number)
            return advance(self, *arguments)

        monkeypatch.setattr(Replay, "advance", counted)
        return monkeypatch.undo

    return arrange


@pytest.mark.parametrize(
    ("number", "policy"), some([(signal.SIGINT, "easy"), (signal.SIGTERM, "conservative")], 1)
)
def test_stopped_by_a_signal_and_resumed(tmp_path, signal_after, number, policy):
    """Exit code 3, no jobs file, and then the very bytes of a run in one piece."""
    out, whole, state = tmp_path / "out.csv", tmp_path / "whole.csv", tmp_path / "state.json"
    handlers = [signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)]
    log = tmp_path / "log.swf"
    with gzip.open(KTH, "rt") as file:
        log.write_text("".join(islice(file, 5000)))
    undo = signal_after(number, 10)
    stopped = run(log, "--policy", policy, "--jobs", out, "--checkpoint", state)
    undo()
    assert stopped.exit_code == 3
    assert stopped.stdout == ""
    assert f"continue with --resume {state}" in stopped.stderr
    assert not out.exists()
    assert handlers == [signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)]
    resumed = run(log, "--resume", state, "--jobs", out)
    straight = run(log, "--policy", policy, "--jobs", whole)
    assert resumed.exit_code == straight.exit_code == 0
    assert out.read_bytes() == whole.read_bytes()
    assert resumed.stdout == straight.stdout
    assert f"has --policy {policy}, not fcfs" in refused(log, "--resume", state, "--policy", "fcfs")


def test_stopped_without_a_checkpoint(small, tmp_path, signal_after):
    signal_after(signal.SIGTERM, 0)
    log = tmp_path / "long.swf"
    record = SMALL.splitlines()[1].split(maxsplit=1)[1]
    log.write_text("; MaxProcs: 4\n" + "".join(f"{n} {record}\n" for n in range(1, 999)))
    result = run(log, "--jobs", tmp_path / "out.csv")
    assert result.exit_code == 3
    assert "nothing was written (no --checkpoint)" in result.stderr
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("site.yaml", "format: slotwise/1\n", "an instance file"),
        ("lsb.acct", '"JOB_FINISH" "10.1" 0\n', "lsb.acct"),
        ("pool.json", '{"log": "x", "procs": 4}', "a queue snapshot"),
    ],
)
def test_other_formats_are_sent_to_simulate(tmp_path, name, text, kind):
    path = tmp_path / name
    path.write_text(text)
    message = refused(path)
    assert f"is {kind}" in message
    assert f"slotwise simulate {path}" in message
    assert "\n" not in message


def test_options_of_the_loop_are_not_offered(small):
    for option in ("--reservation", "--hosts", "--cycle", "--cluster", "--shares", "--example"):
        assert f"replay has no option {option}" in refused(small, option, "1")
        assert option not in run("--help").stdout


@pytest.mark.parametrize(
    "words", [["replay"], ["backtest"], ["forecast", "--history", "x"], ["import", "swf"]]
)
def test_an_unknown_policy_is_refused_before_anything_is_read(words):
    found = CliRunner().invoke(app, [*words, "gone.swf", "--policy", "esy"])
    assert str(found.exception).startswith("unknown policy 'esy' (did you mean 'easy'?): use one")


def test_the_shell_completes_policies():
    command = typer.main.get_command(app).commands["replay"]
    (option,) = (each for each in command.params if "--policy" in each.opts)
    context = command.make_context("replay", [KTH], resilient_parsing=True)
    found = [[item.value for item in option.shell_complete(context, begun)] for begun in ("s", "e")]
    assert found == [["saf"], ["easy", "easy-sjbf"]]
