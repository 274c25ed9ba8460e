"""Every option that names a file to write, at every kind of path."""

from __future__ import annotations

import os
import resource
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
import slotwise as sw
from confining import Run, copied, lies_outside, within
from sampling import some
from slotwise import InputError
from slotwise.cli.main import app
from typer.testing import CliRunner, Result

HEADLINE = str(sw.example("headline"))
LSF = Path(__file__).parents[1] / "data" / "lsf"
POOL = Path(__file__).parents[1] / "data" / "snapshots" / "KTH-SP2_q10_0.json"
ACCT = Path(__file__).parents[1] / "data" / "acct" / "lsb.acct.missing-fields"
#: Each writer with what the file then begins with; words in capitals are inputs, OUT is the file.
WRITERS: dict[str, tuple[str, bytes]] = {
    "solve --lsf-plan": (f"solve {HEADLINE} --method greedy --lsf-plan OUT", b"{"),
    "simulate --jobs": (f"simulate {HEADLINE} --jobs OUT", b"job,"),
    "simulate --cycle-log": (f"simulate {HEADLINE} --cycle-log OUT", b"{"),
    "simulate --shares": ("simulate FAIR --shares OUT", b"time,"),
    "simulate --checkpoint": (
        f"simulate {HEADLINE} --checkpoint OUT --checkpoint-every 0.001",
        b'{"format":"slotwise-checkpoint"',
    ),
    "replay --jobs": ("replay LOG --jobs OUT", b"job,"),
    "replay --output": ("replay LOG --output OUT", b"; MaxProcs"),
    "replay --evalys": ("replay LOG --evalys OUT", b"job_id,"),
    "replay --plot": ("replay LOG --plot OUT", b"<?xml"),
    "replay --checkpoint": (
        "replay LOG --checkpoint OUT --checkpoint-every 0.001",
        b'{"format":"slotwise-checkpoint"',
    ),
    "generate --output": ("generate --hosts 3 --running 2 --output OUT", b"format: "),
    "snapshot --output": ("snapshot --output OUT", b"format: "),
    "import snapshot --output": (
        f"import snapshot --bjobs {LSF}/bjobs-running-two-hosts.json --bhosts {LSF}/bhosts.json "
        f"--bqueues {LSF}/bqueues.json --output OUT",
        b"format: ",
    ),
    "import slurm --output": (
        f"import slurm --from {LSF.parent}/slurm/live --output OUT",
        b"format: ",
    ),
    "import lsf --output": ("import lsf CONF --output OUT", b"format: "),
    "import events --output": (
        f"import events {LSF}/lsb.events --keep-going --output OUT",
        b"format: ",
    ),
    "import acct --output": (
        f"import acct {ACCT} --keep-going --at 2022-02-14T08:15:47Z --output OUT",
        b"format: ",
    ),
    "import swf --output": ("import swf LOG --policy easy --at 500 --output OUT", b"format: "),
    "import pool --output": (f"import pool {POOL} --output OUT", b"format: "),
    "report --output": (f"report {HEADLINE} --method greedy --output OUT", b"<!"),
    "report --png": (f"report {HEADLINE} --method greedy --png OUT", b"\x89PNG"),
    "report --animate": (f"report {HEADLINE} --animate OUT", b"<svg"),
    "report --svg": (f"report {HEADLINE} --method greedy --svg OUT", b"<?xml"),
    "backtest --jobs": ("backtest LOG --questions 4 --samples 4 --jobs OUT", b"job,"),
    "backtest --picture": ("backtest LOG --questions 4 --samples 4 --picture OUT", b"<?xml"),
    "score --output": ("score STORE --output OUT", b"by,group,"),
    "whatif --output": ("whatif SITE --workers 1 --set reservation=none --output OUT", b"<!"),
    "whatif --table": ("whatif SITE --workers 1 --set reservation=none --table OUT", b"variant,"),
    "sweep --output": ("sweep STUDY --workers 1 --into CELLS --output OUT", b"<!"),
    "sweep --table": ("sweep STUDY --workers 1 --into CELLS --table OUT", b"cell,"),
}
RUNNER = CliRunner()
Writer = Callable[[Path], Result]
Words = Callable[[Path], list[str]]


#: Those that write by different ways: whole files, tables, checkpoints, pages and pictures.
TYPICAL = (
    "simulate --jobs",
    "simulate --checkpoint",
    "import acct --output",
    "generate --output",
    "report --output",
    "report --png",
)


@pytest.fixture(
    params=[
        pytest.param(name, marks=[pytest.mark.slow] if name not in TYPICAL else [])
        for name in WRITERS
    ]
)
def words(request: pytest.FixtureRequest, inputs: dict[str, str], commands: None) -> Words:
    """The command line with a path."""
    line, _ = WRITERS[request.param]

    def words(path: Path) -> list[str]:
        known = inputs | {"OUT": str(path)}
        return [known.get(word, word) for word in line.split()]

    return words


@pytest.fixture
def writer(words: Words) -> Writer:
    """Runs the command with a path."""
    return lambda path: RUNNER.invoke(app, words(path))


@pytest.fixture
def begin(request: pytest.FixtureRequest) -> bytes:
    return WRITERS[request.node.callspec.params["words"]][1]


@pytest.fixture
def name(begin: bytes) -> str:
    """What the file is called, where its name says what goes in."""
    endings = {
        b"\x89PNG": ".png",
        b"<?xml": ".svg",
        b"<!": ".html",
        b"format: ": ".yaml",
        b"; Max": ".swf",
    }
    return "out" + endings.get(
        begin[:5] if begin.startswith(b"; Max") else begin,
        ".json" if begin.startswith(b"{") else ".csv",
    )


def wrote(result: Result) -> None:
    assert (result.exit_code, result.exception) == (0, None), result.output


def test_hard_links_stay(writer: Writer, begin: bytes, name: str, tmp_path: Path) -> None:
    target, twin = tmp_path / name, tmp_path / "twin"
    target.write_bytes(b"before " * 1000)
    target.chmod(0o640)
    twin.hardlink_to(target)
    wrote(writer(target))
    assert target.samefile(twin)
    assert twin.read_bytes().startswith(begin)
    assert b"before before" not in twin.read_bytes()
    assert stat.S_IMODE(twin.stat().st_mode) == 0o640


def test_a_device_node(writer: Writer, name: str, tmp_path: Path) -> None:
    """A node of our own with the numbers of the null device."""
    node = tmp_path / name
    try:
        os.mknod(node, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        os.close(os.open(node, os.O_WRONLY))
    except PermissionError:
        pytest.skip("device nodes may not be made or opened here")
    wrote(writer(node))
    assert stat.S_ISCHR(os.lstat(node).st_mode)


def test_no_input_is_overwritten(
    request: pytest.FixtureRequest, words: Words, name: str, tmp_path: Path
) -> None:
    """Every file that a command reads, a copy of it, as its output too: by its name or a link."""
    out = tmp_path / name
    line = words(out)
    for place, word in enumerate(line):
        source = Path(word)
        if word == str(out) or not source.is_file():
            continue
        content = source.read_bytes()
        out.write_bytes(content)
        for path in (out, tmp_path / f"link-{name}"):
            if path != out:
                path.symlink_to(name)
            result = RUNNER.invoke(app, [*line[:place], str(path), *line[place + 1 :]])
            assert isinstance(result.exception, InputError), result.output
            assert "would overwrite" in str(result.exception)
            assert out.read_bytes() == content
            path.unlink() if path != out else None


def refused(result: Result, path: Path) -> None:
    assert isinstance(result.exception, InputError), result.output
    assert str(result.exception).startswith(f"{path}: cannot be written: ")
    assert "\n" not in str(result.exception)


def test_what_is_refused(writer: Writer, name: str, tmp_path: Path) -> None:
    """A folder, a file in a missing folder, a link that leads to itself."""
    folder, loop = tmp_path / name, tmp_path / f"loop-{name}"
    folder.mkdir()
    loop.symlink_to(loop.name)
    for path in (folder, tmp_path / "missing" / name, loop):
        refused(writer(path), path)


@pytest.mark.parametrize("linked", some([False, True], 1))
def test_a_full_disk_leaves_what_was_there(
    writer: Writer, begin: bytes, name: str, tmp_path: Path, linked: bool
) -> None:
    """A limit on the size of files stands for it."""
    target = tmp_path / name
    target.write_bytes(b"before")
    if linked:
        (tmp_path / "twin").hardlink_to(target)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, hard))
    try:
        result = writer(target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    refused(result, target)
    assert target.read_bytes() == b"before"
    assert not [item for item in tmp_path.iterdir() if item.name.startswith(".slotwise")]


@pytest.mark.parametrize("way", ["absolute", "a link"])
@pytest.mark.parametrize("name", some(WRITERS, 12))
def test_nothing_is_written_outside(
    name: str, way: str, run: Run, inputs: dict[str, str], commands: None
) -> None:
    folder = Path.cwd()
    ending = "svg" if "picture" in name else "json"
    target = folder.parent / f"out.{ending}"
    (folder / f"link.{ending}").symlink_to(target)
    path = str(target) if way == "absolute" else f"link.{ending}"
    line, _ = WRITERS[name]
    known = within(folder, inputs) | {"OUT": path}
    lies_outside(run(*copied([known.get(word, word) for word in line.split()], folder)), path)
    assert not target.exists()
