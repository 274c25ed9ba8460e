"""Outputs: what stands at the path keeps its kind, owner, mode and links; errors are one line."""

from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import slotwise as sw
import typer
from forked import slotwise
from sampling import some
from slotwise import InputError
from slotwise.cli import start
from slotwise.cli.main import app
from typer.testing import CliRunner

RUN = [sys.executable, "-c", "from slotwise.cli.start import main; main()"]
HEADLINE = str(sw.example("headline"))
DATA = Path(__file__).parents[1] / "data"
POOL = DATA / "snapshots" / "KTH-SP2_q10_0.json"
LSF = DATA / "lsf"
ACCT = str(DATA / "acct" / "lsb.acct.missing-fields")
SWF = "; MaxProcs: 4\n1 0 -1 10 3 -1 -1 3 10 -1 1 1 1 -1 1 -1 -1 -1\n"


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "small.swf"
    path.write_text(SWF)
    return str(path)


def run(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    if options.keys() <= {"cwd"}:
        return slotwise(*arguments, **options)
    return subprocess.run(
        [*RUN, *arguments], capture_output=True, text=True, timeout=60, check=False, **options
    )


@pytest.mark.parametrize("linked", some([False, True], 1))
def test_a_file_that_grows_too_large_is_refused_and_the_old_one_stays(
    tmp_path: Path, linked: bool
) -> None:
    """RLIMIT_FSIZE stands for a full disk: write gives an error in the middle."""
    target = tmp_path / "out.yaml"
    target.write_text("before")
    if linked:
        (tmp_path / "twin").hardlink_to(target)
    names = sorted(os.listdir(tmp_path))

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))

    done = slotwise("generate", "--hosts", "200", "-o", target, before=small_files)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"slotwise: {target}: cannot be written: File too large\n"
    assert target.read_text() == "before"
    assert sorted(os.listdir(tmp_path)) == names


@pytest.mark.parametrize(
    "arguments",
    [
        ["simulate", "IN", "--jobs", "new.csv", "--cycle-log", "./new.csv"],
        ["simulate", "IN", "--cycle-log", "link", "--checkpoint", "there"],
        ["simulate", "IN", "--cycle-log", "IN"],
        ["simulate", "IN", "--checkpoint", "hard"],
        ["replay", "LOG", "--jobs", "new.csv", "--checkpoint", "new.csv"],
        ["replay", "LOG", "--checkpoint", "LOG"],
        ["import", "swf", "LOG", "-o", "LOG"],
        ["import", "acct", "there", "-o", "link"],
        ["import", "events", "there", "-o", "link"],
        ["import", "snapshot", "--bhosts", "there", "-o", "link"],
    ],
    ids=" ".join,
)
def test_outputs_do_not_overwrite_each_other_nor_what_is_read(
    tmp_path: Path, log: str, arguments: list[str]
) -> None:
    files = {"IN": tmp_path / "in.yaml", "LOG": Path(log), "there": tmp_path / "there"}
    files["IN"].write_bytes(Path(HEADLINE).read_bytes())
    files["there"].write_text("content")
    (tmp_path / "hard").hardlink_to(files["IN"])
    (tmp_path / "link").symlink_to("there")
    before = {path: path.read_bytes() for path in files.values()}
    done = run(*(str(files.get(word, word)) for word in arguments), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "would overwrite" in done.stderr
    assert done.stderr.count("\n") == 1
    assert {path: path.read_bytes() for path in files.values()} == before


def test_a_read_only_file_is_not_replaced(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write any file")
    target = tmp_path / "out.yaml"
    target.touch(0o444)
    with pytest.raises(InputError, match="Permission denied"):
        CliRunner().invoke(app, ["generate", "-o", str(target)], catch_exceptions=False)


#: A run of each command; words in capitals are inputs.
COMMANDS = {
    "solve": ["solve", "--example", "headline", "--method", "greedy"],
    "show": ["show", "bhosts", "--example", "headline"],
    "check": ["check", HEADLINE],
    "examples": ["examples"],
    "simulate": ["simulate", HEADLINE],
    "generate": ["generate", "--hosts", "2", "--running", "1"],
    "resreq": ["resreq", "mem>100"],
    "diagnose": ["diagnose", HEADLINE],
    "top": ["top", HEADLINE, "--once"],
    "slots": ["slots", HEADLINE],
    "serve": ["serve", HEADLINE, "--port", "0", "--for", "1s"],
    "explain": ["explain", HEADLINE, "job5"],
    "ask": ["ask", HEADLINE, "-n 1", "--method", "time-based"],
    "report": ["report", HEADLINE, "--method", "greedy", "-o", "-"],
    "import pool": ["import", "pool", str(POOL)],
    "import swf": ["import", "swf", "LOG", "--policy", "easy", "--at", "7000"],
    "import acct": ["import", "acct", ACCT, "--keep-going", "--at", "2022-02-14T08:15:47Z"],
    "import events": ["import", "events", f"{LSF}/lsb.events", "--keep-going"],
    "import lsf": ["import", "lsf", "CONF"],
    "import snapshot": [
        *("import", "snapshot", "--bjobs", f"{LSF}/bjobs-running-two-hosts.json"),
        *("--bhosts", f"{LSF}/bhosts.json", "--bqueues", f"{LSF}/bqueues.json"),
    ],
    "import slurm": ["import", "slurm", "--from", str(DATA / "slurm" / "live")],
    "snapshot": ["snapshot"],
    "compare": ["compare", HEADLINE],
    "replay": ["replay", "LOG"],
    "whatif": ["whatif", "SITE", "--workers", "1", "--set", "reservation=none"],
    "sweep": ["sweep", "STUDY", "--workers", "1", "--into", "CELLS"],
    "forecast": ["forecast", HEADLINE, "--history", "LOG", "--samples", "4"],
    "backtest": ["backtest", "LOG", "--questions", "4", "--samples", "4"],
    "score": ["score", "STORE"],
    "score --snapshot": ["score", "--snapshot", "BEFORE", "--log", "AFTER"],
    "check --schema": ["check", "--schema"],
    "help": ["--help"],
    "version": ["--version"],
}


def full_device(folder: Path) -> Path:
    """A node of our own with the numbers of the device that is always full."""
    node = folder / "full"
    try:
        os.mknod(node, 0o666 | stat.S_IFCHR, os.makedev(1, 7))
        with node.open("wb", buffering=0) as file:
            try:
                file.write(b"x")
            except OSError:
                return node
    except PermissionError:
        pass
    pytest.skip("a full device may not be made or opened here")


Line = Callable[[str], list[str]]


@pytest.fixture
def line(inputs: dict[str, str], commands: None) -> Line:
    """The words of a run of a command."""
    return lambda name: [*RUN, *(inputs.get(word, word) for word in COMMANDS[name])]


def said(line: list[str], streams: str = "", **options: Any) -> tuple[int, str]:
    """Exit code and messages of a run with its streams changed by a shell."""
    command = ["/bin/sh", "-c", f'exec "$@" {streams}', "sh", *line]
    done = subprocess.run(
        command, stderr=subprocess.PIPE, text=True, timeout=60, check=False, **options
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("how", some(["closed", "full", "gone"], 1))
def test_messages_that_nobody_can_read_do_not_spoil_the_answer(tmp_path: Path, how: str) -> None:
    log = tmp_path / "two.swf"
    log.write_text(SWF + "nonsense\n")
    out = tmp_path / "out.csv"
    arguments = ["replay", str(log), "--keep-going", "--jobs", str(out)]
    if how == "closed":
        done = subprocess.run(
            ["sh", "-c", 'exec "$@" 2>&-', "sh", *RUN, *arguments],
            stdout=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    elif how == "gone":
        source, target = os.pipe()
        os.close(source)
        done = subprocess.run([*RUN, *arguments], stdout=subprocess.PIPE, stderr=target, timeout=60)
        os.close(target)
    else:
        with full_device(tmp_path).open("wb") as file:
            done = subprocess.run(
                [*RUN, *arguments], stdout=subprocess.PIPE, stderr=file, timeout=60, check=False
            )
        assert (done.returncode, done.stdout) == (2, b"")
        return
    assert done.returncode == 0
    assert b"mean_wait" in done.stdout
    assert out.read_text().startswith("job,submit")


@pytest.mark.slow
def test_bad_input_with_closed_messages_is_exit_2(tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" 2>&-', "sh", *RUN, "solve", str(tmp_path / "none")],
        stdout=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, b"")


def test_a_closed_standard_input() -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *RUN, "check", "-"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == "slotwise: <stdin>: cannot be read: Bad file descriptor\n"


def test_a_character_that_the_terminal_cannot_show_is_escaped() -> None:
    done = run("solve", "--example", "headline", env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "job5" in done.stdout


@pytest.mark.parametrize("delay", some([0.06, 0.02, 0.04, 0.2, 0.1, 0.3], 2))
def test_ctrl_c_at_the_start_is_130_and_one_line(tmp_path: Path, delay: float) -> None:
    """As installed from a wheel: -S leaves out what an editable installation loads before us."""
    (tmp_path / "slotwise").symlink_to(Path(start.__file__).parents[1])
    packages = Path(typer.__file__).parents[1]
    begun = "import os; from slotwise.cli.start import main; os.write(2, b'!'); main()"
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", begun, "solve", "--example", "headline"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": f"{tmp_path}:{packages}"},
    )
    assert process.stderr is not None
    assert process.stderr.read(1) == b"!"  # before that Python itself answers
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    if process.returncode in (0, 3):  # it was quicker, or the search had begun
        assert out
        return
    said = err.decode()
    if said.startswith("Traceback") and ".py" not in said:
        return  # a busy machine had not let Python hand over to the command yet
    assert said == "slotwise: stopped before an answer was found\n"
    assert process.returncode == 130
