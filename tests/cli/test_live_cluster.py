"""``--cluster``: the scheduler of this machine in place of a file, also where its programs fail."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import pytest
import typer.main
from all_commands import all_commands
from fake_lsf import fake_lsf, printing, program
from forked import slotwise
from sampling import some
from slotwise.cli import lsf_programs
from slotwise.cli.lsf_programs import NEEDED
from slotwise.cli.main import app

SLOTWISE = str(Path(sys.executable).with_name("slotwise"))
#: A line of each command that takes FILE, without it.
LINES = {
    "compare": [],
    "explain": ["4711"],
    "ask": ["bsub", "-n", "2"],
    "diagnose": [],
    "report": ["-o", "-"],
    "solve": ["--method", "time-based"],
    "forecast": ["--history", "log.swf", "--samples", "5", "--policy", "fcfs"],
    "show": ["bjobs"],
    "top": ["--once"],
    "slots": [],
    "serve": ["--port", "0", "--for", "1s"],
    "whatif": ["--set", "MBD_SLEEP_TIME=30"],
    "simulate": ["--until", "2h"],
    "check": [],
    "resreq": ["mem>1"],
}
#: What of the cluster each answer shows, where it is not the pending job.
SHOWN = {
    "ask": "hostA",
    "diagnose": "Nothing starves",
    "whatif": "today",
    "simulate": "this cluster",
    "check": "this cluster: ok (1 host, 4 slots, 1 running, 1 pending job)",
    "resreq": "1 of 1 hosts match",
    "serve": "http://127.0.0.1:",
}
#: Ten jobs one after another, as a history.
SWF = "; MaxProcs: 4\n" + "".join(
    f"{n} {60 * n} 0 600 1 -1 -1 1 1800 -1 1 1 1 -1 1 -1 -1 -1\n" for n in range(1, 11)
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fake_lsf(tmp_path_factory.mktemp("lsf") / "bin")


@pytest.fixture
def lsf(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of LSF's programs, which is on the PATH."""
    folder = tmp_path / "bin"
    shutil.copytree(made, folder)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    return folder


def test_two_sentences_and_a_line_to_paste(lsf: Path) -> None:
    done = slotwise("explain", "4711", "--cluster")
    assert (done.returncode, done.stderr) == (0, "")
    start, helps, line, *note = done.stdout.splitlines()
    assert "4711 starts " in start
    assert start.endswith("it needs 2 free slots (has 1); free when 4710 ends.")
    assert helps.startswith("With -n 1 it would start now, ")
    assert line == "  bmod -n 1 4711"
    # Near midnight each time has its date, and no note is needed.
    assert [text[:13] for text in note] in (["Times are of "], [])
    whole = slotwise("explain", "4711", "--cluster", "--no-brief").stdout
    assert "WHAT WOULD HELP" in whole


@pytest.mark.parametrize("command", some(LINES, 3))
def test_every_command_asks_the_scheduler(lsf: Path, command: str) -> None:
    Path("log.swf").write_text(SWF)
    done = slotwise(command, *LINES[command], "--cluster")
    assert done.returncode == 0, done.stderr
    assert SHOWN.get(command, "4711") in done.stdout


def test_it_is_in_every_command_that_takes_an_instance() -> None:
    """By the table of LINES, and by what commands have: an example is an instance."""
    root = typer.main.get_command(app)
    have = {
        words[0]
        for words in all_commands()
        if len(words) == 1
        for option in root.get_command(None, words[0]).params  # type: ignore[attr-defined,arg-type]
        if option.opts[0] in ("--cluster", "--cluster-now")
    }
    takes = {
        words[0]
        for words in all_commands()
        if len(words) == 1
        for option in root.get_command(None, words[0]).params  # type: ignore[attr-defined,arg-type]
        if option.opts[0] == "--example"
    }
    assert takes <= set(LINES)
    assert have == {*LINES, "backtest"}  # where it is the file of a cluster that runs the log


@pytest.mark.parametrize(("command", "other"), some(product(LINES, ("now.yaml", "--example")), 2))
def test_it_goes_with_no_other_instance(lsf: Path, command: str, other: str) -> None:
    Path("now.yaml").write_text("format: slotwise/1\nhosts: [{name: h, slots: 1}]\n")
    Path("log.swf").write_text(SWF)
    first = ["bjobs"] if command == "show" else []
    words = [word for word in LINES[command] if word not in first]
    given = ["--example", "headline"] if other == "--example" else [other]
    if command == "resreq":
        given = ["--against", "now.yaml"]
    elif command == "check":
        given = ["now.yaml"]
    done = slotwise(command, *first, *given, *words, "--cluster")
    said = f"slotwise: --cluster: asks the scheduler of this machine: leave {' '.join(given[-1:])}"
    assert done.returncode == 2
    if given[0] == "--example":
        said = said.replace("leave ", "leave --example ")
    assert done.stderr.startswith(said)
    assert "Traceback" not in done.stderr


def test_a_log_has_its_cluster_from_a_file_and_none_now(lsf: Path) -> None:
    Path("log.swf").write_text(SWF)
    Path("site.yaml").write_text("format: slotwise/1\nhosts: [{name: h, slots: 4}]\n")
    with_site = slotwise("simulate", "log.swf", "--cluster", "site.yaml", "--until", "2h")
    assert with_site.returncode == 0, with_site.stderr
    refused = slotwise("simulate", "--cluster", "--hosts", "2")
    assert (refused.returncode, refused.stderr) == (
        2,
        "slotwise: --hosts: does not apply to the cluster of this machine, which is no log\n",
    )
    idle = slotwise("compare", "--example", "headline", "--timeout", "5")
    assert (idle.returncode, idle.stderr) == (
        2,
        "slotwise: --timeout: needs --cluster, whose commands it limits\n",
    )


def test_no_scheduler_and_a_part_of_one(lsf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (lsf / "bqueues").unlink()
    monkeypatch.setenv("PATH", str(lsf))  # where this machine's own scheduler is not
    part = slotwise("compare", "--cluster")
    assert part.returncode == 2
    assert part.stderr.startswith("slotwise: bqueues: is not on the PATH: set LSF's environment")
    monkeypatch.setenv("PATH", "/nowhere")
    none = slotwise("explain", "4711", "--cluster")
    assert none.returncode == 2
    assert none.stderr.startswith(
        "slotwise: no scheduler is on the PATH: no bjobs, bhosts, bqueues (LSF): set LSF's environ"
    )
    assert "slotwise import snapshot" in none.stderr


#: Ways in which a program fails, and what is said of it.
FAILS = {
    "hangs": ("sleep 100", "gave no answer in 1 s"),
    "garbage": ("printf 'x\\001\\377 y\\n1 2 3\\n'", ""),
    "killed": ("kill -9 $$", "failed: it was killed (SIGKILL)"),
    "error": ("echo 'LIM is down' >&2; exit 255", "failed: LIM is down"),
    "system": ("echo 'No route to host' >&2; exit 1", "failed: No route to host"),
    "half": ("echo HOST_NAME; exit 1", "failed: HOST_NAME"),
}
#: Programs that are asked where they are there, and the line that is shown.
MORE = (
    "bhpart",
    "lsid",
    "bparams",
    "bugroup",
    "bmgroup",
    "busers",
    "lshosts",
    "blimits",
    "bjgroup",
    "bsla",
    "bresources",
)


@pytest.mark.parametrize(("name", "how"), some(product(MORE, FAILS), 3))
def test_what_could_not_be_read_is_in_the_answer(lsf: Path, name: str, how: str) -> None:
    text, said = FAILS[how]
    program(lsf, name, text)
    seconds = 1.0 if how == "hangs" else lsf_programs.OPTIONAL_TIMEOUT
    done = slotwise(
        *("explain", "4711", "--cluster"),
        before=lambda: setattr(lsf_programs, "OPTIONAL_TIMEOUT", seconds),
    )
    assert done.returncode == 0, done.stderr
    notes = [line for line in done.stderr.splitlines() if line.endswith(": passed over")]
    assert any(line.startswith(f"slotwise: `{name}") and said in line for line in notes)
    assert f"\nnot considered: `{name}" in done.stdout
    assert "4711 may start" in done.stdout


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("bhpart", "echo 'No host partition' >&2; exit 255"),
        ("bhpart", "echo usage: x; exit 1"),
        ("bsla", "echo 'bsla: No service classes are defined' >&2; exit 255"),
        ("bsla", "echo 'The service class does not exist' >&2; exit 255"),
        ("bresources", "echo 'There is no guaranteed resource pool' >&2; exit 255"),
        ("bresources", "echo No guaranteed resource pool is configured"),
        # Of volclava 2.2, as `make live` runs it.
        ("bugroup", "echo 'user group: No user group defined in the system' >&2; exit 255"),
        ("bmgroup", "echo 'host group: No host group defined in the system' >&2; exit 255"),
        ("busers", "echo 'No user is defined in the lsb.users file' >&2; exit 255"),
        ("brsvs", "echo 'brsvs: No reservation found' >&2; exit 255"),
        ("bresources", "printf 'Begin Limit\\nNAME = l\\nUSERS = bob\\nSLOTS = 0\\nEnd Limit\\n'"),
    ],
)
def test_what_is_not_there_is_no_failure(lsf: Path, name: str, text: str) -> None:
    if text.startswith("printf"):  # of a version that has no -g; its sections count once
        printing(lsf, "blimits", "No resource blimits\n")
    program(lsf, name, text)
    done = slotwise("explain", "4711", "--cluster")
    assert (done.returncode, done.stderr) == (0, "")
    assert "4711 starts" in done.stdout


def test_a_cluster_without_arrays_is_no_failure(lsf: Path) -> None:
    """As volclava 2.2 says it to bjobs -A."""
    (lsf / "bjobs").rename(lsf / "others")
    none = "case $* in *-A*) echo 'Job array is not found' >&2; exit 255;; esac"
    program(lsf, "bjobs", f'{none}\nexec {lsf / "others"} "$@"')
    done = slotwise("explain", "4711", "--cluster")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("name", "how"), some(product(NEEDED, FAILS), 2))
def test_without_what_is_needed_there_is_no_answer(lsf: Path, name: str, how: str) -> None:
    text, said = FAILS[how]
    program(lsf, name, text)
    done = slotwise("compare", "--cluster", *(("--timeout", "1") if how == "hangs" else ()))
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert how == "hangs" or f"`{name} " in done.stderr
    assert "Traceback" not in done.stderr


def test_the_snapshot_names_them_too(lsf: Path) -> None:
    printing(lsf, "bhpart", "nonsense\n")
    done = slotwise("snapshot", "-o", "now.yaml")
    assert done.returncode == 0
    assert "slotwise: `bhpart -r`: " in done.stderr
    assert ": passed over" in done.stderr
    answer = slotwise("explain", "now.yaml", "4711").stdout
    assert "not considered: `bhpart -r`: " in answer


@pytest.mark.behaviour("GUA-02")
def test_guarantees_are_asked_for(lsf: Path) -> None:
    """The long table is read; a version that prints the short one is named as that."""
    printing(lsf, "bsla", "SERVICE CLASS NAME:  sc1\nAUTO ATTACH:  N\n\nGOAL:  GUARANTEE\n")
    pool = "GUARANTEED RESOURCE POOL: p1\nTYPE: slots\nDISTRIBUTION: [sc1, 4]\nHOSTS: all\n"
    short = "POOL_NAME  TYPE  STATUS  TOTAL  FREE\np1  slots  ok  4  1\n"
    printing(lsf, "bresources", pool)
    done = slotwise("snapshot")
    assert done.returncode == 0
    assert not {"bsla", "bresources"} & set(re.findall(r"\w+", done.stdout + done.stderr))
    assert "name: sc1" in done.stdout
    assert "DISTRIBUTION: '[sc1, 4]'" in done.stdout
    printing(lsf, "bresources", short)
    done = slotwise("snapshot")
    assert done.returncode == 0
    assert "give bresources -g -l" in done.stderr
    assert "bresources" in done.stdout, "an omission"
    assert "guaranteed_pools" not in done.stdout


@pytest.mark.behaviour("AFF-01")
def test_processor_units_are_asked_for(lsf: Path) -> None:
    """By bhosts -aff, else by lshosts -T; if both fail no start is left unproved for that."""
    hosts, tree = (lsf / "bhosts.txt").read_text(), "Host[8G] hostA\n    core0(0 1)\n"
    program(lsf, "lshosts", f'test "$*" = -T && printf "{tree}" || {{ echo usage: x; exit 1; }}')
    printing(lsf, "bhosts", hosts, refuse=("-json", "-aps", "-aff"))
    done = slotwise("snapshot")
    assert done.returncode == 0
    assert "cores: 1" in done.stdout
    assert "threads: 2" in done.stdout
    program(lsf, "lshosts", 'test "$*" = -T && kill -9 $$; echo usage: x; exit 1')
    failed = slotwise("explain", "4711", "--cluster")
    assert "slotwise: `lshosts -T`: failed" in failed.stderr
    assert "4711 starts " in failed.stdout


@pytest.mark.parametrize("line", some((["explain", "4711"], ["simulate"], ["top", "--once"]), 1))
def test_an_interrupt_while_the_scheduler_is_asked(lsf: Path, line: list[str]) -> None:
    program(lsf, "bjobs", f"touch {lsf / 'begun'}; sleep 100")
    with subprocess.Popen(
        [SLOTWISE, *line, "--cluster"],
        env=os.environ | {"PATH": f"{lsf}:/usr/bin:/bin"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as command:
        end = time.monotonic() + 60
        while not (lsf / "begun").exists():
            assert time.monotonic() < end
            time.sleep(0.05)
        command.send_signal(signal.SIGINT)
        out, said = command.communicate(timeout=60)
    assert (command.returncode, out) == (130, "")
    assert said.endswith("slotwise: stopped before there was an answer\n")
