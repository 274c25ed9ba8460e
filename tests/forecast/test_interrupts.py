"""Ctrl-C while several processes draw futures or answer: what there is, and no orphans."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sampling import some
from slotwise.cli.main import app
from synthetic_log import synthetic
from typer.testing import CliRunner

if not hasattr(os, "killpg"):
    pytest.skip("there are no groups of processes here", allow_module_level=True)

#: Runs the command; as tasks are handed out for the n-th time, Ctrl-C comes to the whole group, as
#: a terminal sends it. The second time is when the first answer has come.
INTERRUPTED = """
import os, signal, sys
from slotwise.cli.main import main
from slotwise.solver.forecast.workers import _Processes

left, hand_out = [int(sys.argv[1])], _Processes._hand_out

def handed_out(self, tasks, count):
    left[0] -= 1
    if left[0] == 0:
        os.killpg(0, signal.SIGINT)
    hand_out(self, tasks, count)

_Processes._hand_out = handed_out
sys.argv[:] = ["slotwise", *sys.argv[2:]]
main()
"""
#: Seconds for the helpers of a process that has ended to see that it has.
PATIENCE = 30


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A log, and a moment of it."""
    work = synthetic(400, 16, load=1.1, seed=4)
    columns = (work.job, work.submit, work.run_time, work.procs, work.req_time)
    lines = ["; MaxProcs: 16"]
    for number, submit, run, procs, limit in zip(*(c.tolist() for c in columns), strict=True):
        lines.append(f"{number} {submit} -1 {run} {procs} -1 -1 {procs} {limit}" + " -1" * 9)
    folder = tmp_path_factory.mktemp("log")
    log, moment = folder / "log.swf", folder / "now.yaml"
    log.write_text("\n".join([*lines, ""]))
    cut = ["import", "swf", str(log), "--policy", "easy", "--at", "600000", "-o", str(moment)]
    assert CliRunner().invoke(app, cut).exit_code == 0
    return log, moment


def _interrupted(hand_out: int, *arguments: object) -> tuple[int, str, str]:
    """Exit code, stdout and stderr; nobody of the group is left then."""
    words = [str(word) for word in (hand_out, *arguments, "--workers", 2, "--format", "json")]
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    out, err = process.communicate(timeout=300)
    end = time.monotonic() + PATIENCE
    while _is_there(process.pid):
        assert time.monotonic() < end, "a process is left over"
        time.sleep(0.05)
    return process.returncode, out, err


def _is_there(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


STOPPING = "slotwise: stopping with what there is so far (once more: at once)\n"


def test_a_backtest_says_what_was_answered(files: tuple[Path, Path]) -> None:
    log, _ = files
    code, out, err = _interrupted(2, "backtest", log, "--questions", 30, "--samples", 5)
    assert (code, err) == (3, STOPPING)
    record = json.loads(out)
    assert record["cut"]
    assert record["jobs"] == 1


@pytest.mark.parametrize("command", some(["forecast", "backtest", "calibration"], 1))
def test_before_the_first_answer_there_is_none(files: tuple[Path, Path], command: str) -> None:
    log, moment = files
    arguments: tuple[object, ...] = ("backtest", log, "--questions", 30)
    if command != "backtest":
        arguments = ("forecast", moment, "--history", log)
    if command == "calibration":
        arguments += ("--calibrate", 20)
    code, out, err = _interrupted(1, *arguments)
    assert (code, out) == (130, "")
    assert err == STOPPING + "slotwise: stopped before an answer was found\n"
