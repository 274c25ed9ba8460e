"""Outputs: what stands at the path keeps its kind, owner, mode and links; errors are one line."""

from __future__ import annotations

import os
import resource
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import slotwise as sw
import typer
from all_commands import all_commands
from forked import program, slotwise
from sampling import pairwise, some
from slotwise import InputError
from slotwise.cli import start
from slotwise.cli.output import whole_file

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


#: Every option that names a file to write: the command, and what the file then has to begin with.
WRITERS: dict[str, tuple[Callable[[str], list[str]], bytes]] = {
    "generate": (lambda _: ["generate", "--hosts", "3", "--running", "2", "-o"], b"format: "),
    "replay --jobs": (lambda log: ["replay", log, "--jobs"], b"job,submit"),
    "loop --jobs": (lambda _: ["simulate", HEADLINE, "--jobs"], b"job,"),
    "loop --cycle-log": (lambda _: ["simulate", HEADLINE, "--cycle-log"], b"{"),
}


@pytest.fixture(params=WRITERS)
def writer(request: pytest.FixtureRequest, log: str) -> tuple[list[str], bytes]:
    make, begin = WRITERS[request.param]
    return make(log), begin


def run(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    if options.keys() <= {"cwd"}:
        return slotwise(*arguments, **options)
    return subprocess.run(
        [*RUN, *arguments], capture_output=True, text=True, timeout=60, check=False, **options
    )


def test_a_device_node_stays_a_device_node(tmp_path: Path, writer: tuple[list[str], bytes]) -> None:
    """A node of our own with the numbers of the null device."""
    node = tmp_path / "node.csv"
    try:
        os.mknod(node, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        os.close(os.open(node, os.O_WRONLY))
    except PermissionError:
        pytest.skip("device nodes may not be made or opened here")
    done = run(*writer[0], str(node))
    assert (done.returncode, stat.S_ISCHR(os.lstat(node).st_mode)) == (0, True)
    nameless = tmp_path / "node"
    node.rename(nameless)
    assert run(*writer[0], str(nameless)).returncode == 0
    assert stat.S_ISCHR(os.lstat(nameless).st_mode)


def test_a_fifo_gets_the_content(tmp_path: Path, writer: tuple[list[str], bytes]) -> None:
    fifo = tmp_path / "pipe.csv"
    os.mkfifo(fifo)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(fifo.read_bytes()), daemon=True)
    reader.start()
    assert run(*writer[0], str(fifo)).returncode == 0
    reader.join(10)
    assert got[0].startswith(writer[1])
    assert stat.S_ISFIFO(os.lstat(fifo).st_mode)


def test_a_symlink_stays_and_its_target_is_written(
    tmp_path: Path, writer: tuple[list[str], bytes]
) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    for name in ("there.csv", "dangling.csv"):
        target, link = folder / name, tmp_path / f"link-{name}"
        link.symlink_to(Path("elsewhere") / name)
        if name == "there.csv":
            target.write_text("before")
        assert run(*writer[0], str(link)).returncode == 0
        assert link.is_symlink()
        assert target.read_bytes().startswith(writer[1])
    assert sorted(item.name for item in folder.iterdir()) == ["dangling.csv", "there.csv"]


def test_mode_owner_and_hard_links_stay(tmp_path: Path, writer: tuple[list[str], bytes]) -> None:
    target, twin = tmp_path / "out.csv", tmp_path / "twin.csv"
    target.write_text("before " * 10_000)
    target.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(target, 12345, 54321)
    owner = target.stat().st_uid, target.stat().st_gid
    assert run(*writer[0], str(target)).returncode == 0
    found = target.stat()
    assert (stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid) == (0o640, *owner)
    twin.hardlink_to(target)
    target.write_text("before " * 10_000)
    assert run(*writer[0], str(target)).returncode == 0
    assert target.samefile(twin)
    assert target.stat().st_nlink == 2
    assert twin.read_bytes().startswith(writer[1])
    assert b"before" not in twin.read_bytes()


@pytest.mark.parametrize("name", ["user.note", "system.posix_acl_access", "security.selinux"])
def test_attributes_of_a_file_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A file that carries any is rewritten in place; what every file has is no reason for that."""
    target = tmp_path / "out.csv"
    target.write_text("before")
    first = target.stat().st_ino
    monkeypatch.setattr(os, "listxattr", lambda _: [name])
    with whole_file(target) as file:
        file.write(b"after")
    assert target.read_bytes() == b"after"
    assert (target.stat().st_ino == first) == (not name.startswith("security."))


def test_a_new_file_has_the_mode_of_the_mask(tmp_path: Path) -> None:
    target = tmp_path / "new.yaml"
    before = os.umask(0o027)
    try:
        run("generate", "--hosts", "2", "--running", "1", "-o", str(target))
    finally:
        os.umask(before)
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


@pytest.mark.parametrize("linked", [False, True])
def test_a_failure_leaves_what_was_there(tmp_path: Path, linked: bool) -> None:
    target = tmp_path / "out"
    target.write_text("before")
    if linked:
        (tmp_path / "twin").hardlink_to(target)
    names = sorted(os.listdir(tmp_path))
    with pytest.raises(ZeroDivisionError), whole_file(target) as file:
        print(file.write(b"after") // 0)
    assert target.read_text() == "before"
    assert sorted(os.listdir(tmp_path)) == names


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


def test_what_is_our_own_standard_output_is_not_replaced(tmp_path: Path, log: str) -> None:
    target = tmp_path / "all.csv"
    with target.open("ab") as file:
        done = slotwise("replay", log, "--jobs", target, before=lambda: _to(file.fileno(), 1))
    assert done.returncode == 0
    text = target.read_text()
    assert text.startswith("job,submit")
    assert "mean_wait" in text


@pytest.mark.parametrize("option", some(["--jobs", "--cycle-log", "--checkpoint"], 1))
@pytest.mark.parametrize("where", ["nowhere/out.csv", "folder.csv", "loop.csv", "dangling.csv"])
def test_a_path_that_cannot_be_written_is_refused_at_once(
    tmp_path: Path, option: str, where: str
) -> None:
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    (tmp_path / "dangling.csv").symlink_to("nowhere/out.csv")
    path = tmp_path / where
    done = run("simulate", HEADLINE, option, str(path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"slotwise: {path}: cannot be written: ")
    assert done.stderr.count("\n") == 1


#: Commands that read much before they write; the input is named where %s stands.
LONG = {
    "import acct": ["import", "acct", "%s", "-o"],
    "import events": ["import", "events", "%s", "-o"],
    "import swf": ["import", "swf", "%s", "-o"],
    "import snapshot": ["import", "snapshot", "--bjobs", "%s", "-o"],
    "import instance of a format": ["import", "pool", "%s", "-o"],
    "generate": ["generate", "--hosts", "200000", "-o"],
}


@pytest.mark.parametrize("command", LONG)
@pytest.mark.parametrize("where", some(["nowhere/out", "folder", "socket"], 1))
def test_an_output_that_cannot_be_written_is_refused_before_anything_is_read(
    tmp_path: Path, command: str, where: str
) -> None:
    (tmp_path / "folder").mkdir()
    path = tmp_path / where
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        made = [word.replace("%s", str(tmp_path / "not read")) for word in LONG[command]]
        done = run(*made, str(path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"slotwise: {path}: cannot be written: ")
    assert done.stderr.count("\n") == 1


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


def test_the_null_device_takes_several_outputs(tmp_path: Path) -> None:
    done = run("simulate", HEADLINE, "--cycle-log", os.devnull, "--checkpoint", os.devnull)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_read_only_file_is_not_replaced(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write any file")
    target = tmp_path / "out.yaml"
    target.touch(0o444)
    with pytest.raises(InputError, match="Permission denied"), whole_file(target) as file:
        file.write(b"x")


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
#: Those that print remarks about their input.
REMARKING = {
    "import acct",
    "import lsf",
    "import slurm",
    "import snapshot",
    "snapshot",
    "sweep",
    "forecast",
    "serve",
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


def test_every_command_has_a_run() -> None:
    assert {" ".join(words) for words in all_commands()} == {
        words for words in COMMANDS if words not in ("help", "version") and "--" not in words
    }


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


def remarks(name: str, words: list[str]) -> str:
    """What the run prints to standard error where nothing is in its way."""
    if name not in REMARKING:
        return ""
    done = slotwise(*words[len(RUN) :])
    assert done.returncode == 0
    assert done.stderr
    return done.stderr


def _to(file: int, stream: int) -> None:
    os.dup2(file, stream)


def _a_full_disk_behind_standard_output(name: str, line: list[str], folder: Path) -> None:
    with full_device(folder).open("wb") as file:
        done = slotwise(*line[len(RUN) :], before=lambda: _to(file.fileno(), 1))
    assert done.stderr == remarks(name, line) + "slotwise: <stdout>: No space left on device\n"
    assert done.returncode == 2


def _closed_standard_input_and_output(name: str, line: list[str], folder: Path) -> None:
    code, messages = said(line, "<&- >&-")
    assert messages == remarks(name, line) + "slotwise: <stdout>: Bad file descriptor\n"
    assert code == 2


def _closed_messages(name: str, line: list[str], folder: Path) -> None:
    """A run has its answer, and its exit code, whether or not anybody can read its messages."""
    command = ["/bin/sh", "-c", 'exec "$@" 2>&-', "sh", *line]
    done = subprocess.run(command, stdout=subprocess.PIPE, timeout=60, check=False)
    assert done.returncode == 0
    assert done.stdout


def _a_reader_that_has_gone(name: str, line: list[str], folder: Path) -> None:
    source, target = os.pipe()
    os.close(source)
    code, messages = said(line, stdout=target)
    os.close(target)
    assert (messages, code) == (remarks(name, line), 0)


FAULTS = (
    _a_full_disk_behind_standard_output,
    _closed_standard_input_and_output,
    _closed_messages,
    _a_reader_that_has_gone,
)


@pytest.mark.parametrize(("name", "fault"), pairwise(list(COMMANDS), FAULTS))
def test_every_command_with_a_stream_at_fault(
    name: str, fault: Callable[[str, list[str], Path], None], line: Line, tmp_path: Path
) -> None:
    fault(name, line(name), tmp_path)


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
    assert said == "slotwise: stopped before there was an answer\n"
    assert process.returncode == 130


def test_sigterm_leaves_no_part_of_a_file(tmp_path: Path) -> None:
    """The reader of a FIFO never comes: the command waits with its output, then is ended."""
    script = (
        "import os, sys, time, signal\n"
        "from pathlib import Path\n"
        "import slotwise.cli.output as g\n"
        "def slow(instance, output, notation=None):\n"
        "    from slotwise.cli.output import whole_file\n"
        "    with whole_file(output) as file:\n"
        "        file.write(b'half')\n"
        "        file.flush()\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "        time.sleep(60)\n"
        "g.write_instance = slow\n"
        "from slotwise.cli.main import main\n"
        "main()\n"
    )
    target = tmp_path / "out.yaml"
    done = program(script, "generate", "--hosts", 2, "-o", target)
    said = "slotwise: stopped before there was an answer\n"
    assert (done.returncode, done.stderr) == (143, said)
    assert list(tmp_path.iterdir()) == []
