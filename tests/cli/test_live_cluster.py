"""``--cluster``: the scheduler of this machine in place of a file, also where its programs fail."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import pytest
from fake_lsf import fake_lsf, printing, program
from forked import slotwise
from sampling import some

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
    said = f"slotwise: --cluster: asks the scheduler of this machine: remove {' '.join(given[-1:])}"
    assert done.returncode == 2
    if given[0] == "--example":
        said = said.replace("remove ", "remove --example ")
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
        "slotwise: --hosts: does not apply to the cluster of this machine, which is not a log\n",
    )
    idle = slotwise("compare", "--example", "headline", "--timeout", "5")
    assert (idle.returncode, idle.stderr) == (
        2,
        "slotwise: --timeout: needs a live scheduler: give --cluster\n",
    )


def test_a_cluster_without_arrays_is_no_failure(lsf: Path) -> None:
    """As volclava 2.2 says it to bjobs -A."""
    (lsf / "bjobs").rename(lsf / "others")
    none = "case $* in *-A*) echo 'Job array is not found' >&2; exit 255;; esac"
    program(lsf, "bjobs", f'{none}\nexec {lsf / "others"} "$@"')
    done = slotwise("explain", "4711", "--cluster")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_snapshot_names_them_too(lsf: Path) -> None:
    printing(lsf, "bhpart", "nonsense\n")
    done = slotwise("snapshot", "-o", "now.yaml")
    assert done.returncode == 0
    assert "slotwise: `bhpart -r`: " in done.stderr
    assert ": passed over" in done.stderr
    answer = slotwise("explain", "now.yaml", "4711").stdout
    assert "not modelled: `bhpart -r`: " in answer


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
    assert said.endswith("slotwise: stopped before an answer was found\n")
