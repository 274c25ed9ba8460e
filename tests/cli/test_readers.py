"""Every argument and option that names a file to read, where there is none that can be read."""

from __future__ import annotations

import inspect
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import slotwise as sw
from all_commands import all_commands
from confining import Run, copied, lies_outside, within
from forked import slotwise
from modes import probe, with_the_rights_of_modes
from sampling import pairwise, some
from slotwise import InputError, load
from slotwise.cli.main import app
from typer.main import get_command
from typer.testing import CliRunner

HEADLINE = str(sw.example("headline"))
DATA = Path(__file__).parents[1] / "data"
LSF = DATA / "lsf"
ACCT = DATA / "acct" / "lsb.acct.small-cluster"
HOSTS = f"--bhosts {LSF}/bhosts.json"
JOBS = f"--bjobs {LSF}/bjobs-running-two-hosts.json"
QUEUES = f"--bqueues {LSF}/bqueues.json"
#: Each reader with a command line; words in capitals are inputs, IN is what cannot be read.
READERS: dict[str, str] = {
    "solve file": "solve IN --method greedy",
    "compare file": "compare IN",
    "compare history": f"compare {HEADLINE} --history IN",
    "compare calibration": f"compare {HEADLINE} --history LOG --calibration IN",
    "diagnose file": "diagnose IN",
    "diagnose history": f"diagnose {HEADLINE} --history IN",
    "diagnose calibration": f"diagnose {HEADLINE} --history LOG --calibration IN",
    "explain instance_file": "explain IN job5",
    "report file": "report IN -o -",
    "report instance": "report PLAN --instance IN -o -",
    "report history": f"report {HEADLINE} --history IN -o -",
    "report cluster": "report LOG --simulate --cluster IN -o -",
    "simulate file": "simulate IN",
    "simulate cluster": "simulate LOG --cluster IN",
    "simulate events": f"simulate {ACCT} --cluster {HEADLINE} --events IN",
    "simulate changes": f"simulate {HEADLINE} --changes IN",
    "simulate resume": f"simulate {HEADLINE} --resume IN",
    "replay log": "replay IN",
    "replay resume": "replay LOG --resume IN",
    "show words": "show bjobs IN",
    "top file": "top IN --once",
    "slots file": "slots IN",
    "serve file": "serve IN --port 0 --for 1s",
    "serve history": f"serve {HEADLINE} --port 0 --for 1s --history IN",
    "serve token_file": f"serve {HEADLINE} --port 0 --for 1s --token-file IN",
    "score log": "score STORE --log IN",
    "score snapshot": "score --snapshot IN --log AFTER",
    "score history": "score --snapshot BEFORE --log AFTER --history IN",
    "score calibration": "score --snapshot BEFORE --log AFTER --history LOG --calibration IN",
    "check files": f"check IN {HEADLINE}",
    "check changes": f"check {HEADLINE} --changes IN",
    "whatif file": "whatif IN --set reservation=none",
    "whatif log": "whatif SITE --log IN --set reservation=none",
    "whatif events": f"whatif SITE --log {ACCT} --events IN --set reservation=none",
    "whatif changes": "whatif SITE --changes IN --set reservation=none",
    "sweep study": "sweep IN --into CELLS",
    "forecast file": "forecast IN --history LOG",
    "forecast history": f"forecast {HEADLINE} --history IN",
    "forecast calibration": f"forecast {HEADLINE} --history LOG --calibration IN",
    "backtest log": "backtest IN",
    "backtest cluster": "backtest LOG --cluster IN",
    "ask instance_file": "ask IN -n1",
    "ask history": f"ask {HEADLINE} -n1 --history IN",
    "ask calibration": f"ask {HEADLINE} -n1 --history LOG --calibration IN",
    "resreq against": "resreq select[mem>1] --against IN",
    "snapshot bjobs": f"snapshot --bjobs IN {HOSTS} {QUEUES}",
    "snapshot bhosts": f"snapshot {JOBS} --bhosts IN {QUEUES}",
    "snapshot bqueues": f"snapshot {JOBS} {HOSTS} --bqueues IN",
    "snapshot bhpart": f"snapshot {JOBS} {HOSTS} {QUEUES} --bhpart IN",
    "snapshot lsid": f"snapshot {JOBS} {HOSTS} {QUEUES} --lsid IN",
    "snapshot site": f"snapshot {JOBS} {HOSTS} {QUEUES} --site IN",
    "snapshot bparams": f"snapshot {JOBS} {HOSTS} --bparams IN",
    "snapshot bugroup": f"snapshot {JOBS} {HOSTS} --bugroup IN",
    "snapshot bmgroup": f"snapshot {JOBS} {HOSTS} --bmgroup IN",
    "snapshot busers": f"snapshot {JOBS} {HOSTS} --busers IN",
    "snapshot lshosts": f"snapshot {JOBS} {HOSTS} --lshosts IN",
    "snapshot blimits": f"snapshot {JOBS} {HOSTS} --blimits IN",
    "snapshot bjgroup": f"snapshot {JOBS} {HOSTS} --bjgroup IN",
    "snapshot brsvs": f"snapshot {JOBS} {HOSTS} --brsvs IN",
    "snapshot bsla": f"snapshot {JOBS} {HOSTS} --bsla IN",
    "snapshot bresources": f"snapshot {JOBS} {HOSTS} --bresources IN",
    "snapshot topology": f"snapshot {JOBS} {HOSTS} --topology IN",
    "snapshot aps": f"snapshot {JOBS} {HOSTS} --aps IN",
    "snapshot folder": "snapshot --from IN",
    "import slurm folder": "import slurm --from IN",
    "import lsf confdir": "import lsf IN",
    "import lsf lshosts": "import lsf CONF --lshosts IN",
    "import events files": "import events IN",
    "import events site": f"import events {LSF}/lsb.events --site IN",
    "import acct files": "import acct IN",
    "import acct site": f"import acct {ACCT} --site IN",
    "import acct usage_for": f"import acct {ACCT} --usage-for IN",
    "import swf file": "import swf IN",
    "import pool file": "import pool IN",
}
#: Files to write, and the folder of a sweep (test_writers.py); words of some stand for a file too.
WRITTEN = frozenset(
    {"output", "png", "svg", "lsf_plan", "jobs", "cycle_log", "shares", "checkpoint"}
    | {"animate", "picture", "table", "into", "plot", "evalys"}
)
WORDS = frozenset({"explain instance_file", "ask instance_file", "show words"})
RUNNER = CliRunner()


def of_paths() -> Iterator[str]:
    """``command parameter`` for every parameter of every command that takes a path."""
    for words in all_commands():
        command = get_command(app)
        for word in words:
            command = command.get_command(None, word)  # type: ignore[attr-defined]
        function = inspect.unwrap(
            command.callback,  # type: ignore[arg-type]
            stop=lambda each: hasattr(each, "__signature__"),
        )
        for name, each in inspect.signature(function, eval_str=True).parameters.items():
            if re.search(r"\bPath\b", str(each.annotation)):
                yield f"{' '.join(words)} {name}"


def test_the_table_has_every_reader() -> None:
    found = {name for name in of_paths() if name.split()[-1] not in WRITTEN}
    alias = {name for name in found if name.startswith("import snapshot ")}
    assert {name.removeprefix("import ") for name in alias} <= found
    assert found - alias == set(READERS) - WORDS


@pytest.fixture
def words(name: str, inputs: dict[str, str], commands: None, tmp_path: Path) -> list[str]:
    plan = tmp_path / "plan.json"
    if "PLAN" in READERS[name]:
        plan.write_text(
            RUNNER.invoke(app, ["solve", HEADLINE, "--method", "greedy", "--format", "json"]).stdout
        )
    known = inputs | {"PLAN": str(plan)}
    return [known.get(word, word) for word in READERS[name].split()]


#: Paths at which no process finds a file, in a folder, with what the system says of them.
UNREADABLE: dict[str, Callable[[Path], Path]] = {
    "No such file or directory": lambda folder: folder / "missing" / "file.yaml",
    "Too many levels of symbolic links": lambda folder: folder / "loop.yaml",
    "Not a directory": lambda folder: Path(HEADLINE) / "file.yaml",
    "File name too long": lambda folder: folder / ("n" * 300),
    "Is a directory": lambda folder: folder,
}
#: What wants a folder.
FOLDERS = {
    ("serve file", "Is a directory"),
    ("import lsf confdir", "Not a directory"),
    ("import lsf confdir", "Is a directory"),
    ("snapshot folder", "Is a directory"),
    ("import slurm folder", "Is a directory"),
}
#: What reads an instance file takes a folder of listings too.
INSTANCES = frozenset(
    {"ask instance_file", "explain instance_file", "check files", "show words", "resreq against"}
    | {
        f"{name} file"
        for name in ("solve", "compare", "diagnose", "top", "slots", "whatif", "forecast")
    }
    | {f"{name} site" for name in ("snapshot", "import events", "import acct")}
    | {f"{name} cluster" for name in ("report", "simulate", "backtest")}
    | {"report file", "report instance", "import acct usage_for"}
)


@pytest.mark.parametrize(("name", "reason"), some(pairwise(list(READERS), list(UNREADABLE)), 30))
def test_what_is_no_file(name: str, reason: str, words: list[str], tmp_path: Path) -> None:
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    path = UNREADABLE[reason](tmp_path)
    if (name, reason) in FOLDERS:
        path, reason = tmp_path / "missing.yaml", "No such file or directory"
    result = RUNNER.invoke(app, [str(path) if word == "IN" else word for word in words])
    if name.startswith("check "):  # it looks at the other files too
        assert result.exit_code == 2
        said = result.stderr.splitlines()[0].removeprefix("slotwise: ")
    else:
        assert isinstance(result.exception, InputError), result.output
        said = str(result.exception)
    if name in INSTANCES and reason == "Is a directory":
        listings, file = "has no file with the output of bjobs,", f"cannot be read: {reason}: give "
        assert said.startswith((f"{path}: {listings}", f"{path}: {file}"))
    else:
        assert said == f"{path}: cannot be read: {reason}"


@pytest.mark.parametrize(
    ("name", "source", "more"),
    [
        ("simulate file", HEADLINE, []),
        ("replay log", "LOG", []),
        ("backtest log", "LOG", ["--questions", "4", "--samples", "4"]),
        ("import acct files", str(ACCT), []),
        ("import events files", str(LSF / "lsb.events"), ["--keep-going"]),
        ("import swf file", "LOG", ["--policy", "easy", "--at", "500"]),
        ("forecast history", "LOG", ["--samples", "4"]),
        ("whatif log", "LOG", ["--workers", "1"]),
        ("simulate events", str(ACCT), []),
        ("solve file", HEADLINE, []),
    ],
)
def test_a_pipe_is_read_whole_by_its_name(
    name: str, source: str, more: list[str], inputs: dict[str, str], tmp_path: Path
) -> None:
    """As ``<(zcat log)`` and ``/dev/stdin`` are: whoever looks at the beginning takes it away."""
    source = inputs.get(source, source)
    line = [inputs.get(word, word) for word in READERS[name].split()]
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    wanted = RUNNER.invoke(app, [source if word == "IN" else word for word in line] + more)
    feed = threading.Thread(target=lambda: pipe.write_bytes(Path(source).read_bytes()), daemon=True)
    feed.start()
    found = RUNNER.invoke(app, [str(pipe) if word == "IN" else word for word in line] + more)
    assert found.exit_code == wanted.exit_code
    if wanted.exception is None:
        said = found.output.replace(str(pipe), source)
        assert said.split() == wanted.output.split()  # lines are filled by the length of the name
    else:
        assert str(found.exception).replace(str(pipe), source) == str(wanted.exception)
    feed.join(20)
    assert not feed.is_alive()


LONG = "n" * 300


@pytest.mark.parametrize(
    ("words", "wrong"),
    {
        f"solve {LONG}": "cannot be read: File name too long",
        f"import slurm --from {LONG}": "cannot be read: File name too long",
        f"diagnose {LONG}": "cannot be read: File name too long",
        f"--confine {LONG} check {HEADLINE}": "is no folder (--confine): give an existing folder",
    }.items(),
)
def test_a_name_that_is_too_long_is_no_file(words: str, wrong: str) -> None:
    """Whatever asks first what stands there: the system refuses to look."""
    result = RUNNER.invoke(app, words.split())
    assert isinstance(result.exception, InputError), result.output
    assert str(result.exception) == f"{LONG}: {wrong}"


def test_a_directory_of_an_instance_whose_name_is_too_long(tmp_path: Path) -> None:
    path = tmp_path / "site.yaml"
    path.write_text(f"format: slotwise/1\nhosts: [{{name: a, slots: 1}}]\nconfig: {LONG}\n")
    with pytest.raises(InputError, match=f"site.yaml:3: config: there is no directory '{LONG}'"):
        load(path)


#: What never ends, by what a reader is told of it.
ENDLESS = ("/dev/zero", "/dev/urandom", "yes")


@pytest.mark.parametrize(
    ("name", "endless"),
    some([(name, ENDLESS[at % 3]) for at, name in enumerate(READERS)], 7),
)
def test_what_never_ends(name: str, endless: str, words: list[str], tmp_path: Path) -> None:
    """Refused once the limit is reached, or seen at once to be no such file."""
    source = Path(endless)
    if endless == "yes":
        source = tmp_path / "pipe"
        os.mkfifo(source)
        threading.Thread(target=_say_yes, args=(source,), daemon=True).start()
    line = [str(source) if word == "IN" else word for word in words]
    result = RUNNER.invoke(app, ["--max-text", "300000", "--max-unpacked", "300000", *line])
    said = str(result.exception) if isinstance(result.exception, InputError) else result.stderr
    assert str(source) in said, result.output
    assert result.exit_code != 0


def _say_yes(pipe: Path) -> None:
    with suppress(OSError), pipe.open("wb", buffering=0) as file:
        while True:
            file.write(b"y\n" * 1000)


@pytest.mark.parametrize("name", some(READERS, 5))
def test_what_may_not_be_read(name: str, words: list[str], tmp_path: Path) -> None:
    """A file, or a folder where one is wanted, whose mode hands it out to nobody."""
    closed = tmp_path / "closed.yaml"
    if (name, "Is a directory") in FOLDERS:
        closed.mkdir()
    else:
        closed.write_bytes(Path(HEADLINE).read_bytes())
    probe(read_only(tmp_path))
    closed.chmod(0o000)
    done = slotwise(
        *(closed if word == "IN" else word for word in words), before=with_the_rights_of_modes
    )
    closed.chmod(0o700)
    said = [line for line in done.stderr.splitlines() if " note: " not in line]
    assert said == [f"slotwise: {closed}: cannot be read: Permission denied"]
    assert done.returncode == 2
    assert done.stdout == "" or name.startswith("check ")


def read_only(folder: Path) -> Path:
    readable = folder / "readable"
    readable.mkdir()
    readable.chmod(0o555)
    return readable


#: How a path leads out of the folder.
WAYS: dict[str, Callable[[Path], str]] = {
    "absolute": lambda folder: str(folder.parent / "secret.yaml"),
    "upwards": lambda folder: "../secret.yaml",
    "a link": lambda folder: "link.yaml",
    "nothing there": lambda folder: "../none/such.yaml",
}


@pytest.mark.parametrize(("name", "way"), some(pairwise(list(READERS), list(WAYS)), 22))
def test_nothing_is_read_outside(
    name: str, way: str, run: Run, inputs: dict[str, str], commands: None
) -> None:
    """Inputs beside the one in question lie in the folder."""
    folder = Path.cwd()
    (folder / "link.yaml").symlink_to("../secret.yaml")
    (folder / "plan.json").write_text(
        RUNNER.invoke(app, ["solve", HEADLINE, "--method", "greedy", "--format", "json"]).stdout
    )
    known = within(folder, inputs) | {"PLAN": "plan.json"}
    path = WAYS[way](folder)
    words = [path if word == "IN" else known.get(word, word) for word in READERS[name].split()]
    lies_outside(run(*copied(words, folder)), path)
