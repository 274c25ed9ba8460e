"""Golden cases: folders of what a person has and types, with what is printed then.

`tests/golden/CASE/in/` is the folder in which the commands of `cmd` run, one a line; a line that
begins with # says what the next ones show. `out/printed.txt` has what each prints: standard output,
then messages with "! " before each line, and the exit code unless it is 0. Files that a command
writes are in `out/` too. `data/` in a command is tests/data. `COLUMNS=80` before a command sets the
width, `< FILE` after it its input.

`make golden` (`pytest tests/test_golden.py --record-golden`) writes `out/` anew: look at the diff.
"""

from __future__ import annotations

import difflib
import os
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from forked import slotwise

HERE = Path(__file__).parent
GOLDEN = HERE / "golden"
#: Time of every file of a case, in seconds since 1970.
RECORDED = 1_796_000_000
CASES = sorted(path.name for path in GOLDEN.iterdir() if path.is_dir())


def commands(case: Path) -> Iterator[str]:
    """The lines of a case that are commands."""
    for line in (case / "cmd").read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            yield line


def printed(line: str, folder: Path) -> str:
    """What one command prints in a folder, as printed.txt has it."""
    words = shlex.split(line)
    set_to = dict(word.split("=", 1) for word in words[: words.index("slotwise")])
    words = words[len(set_to) + 1 :]
    text = ""
    if "<" in words:
        text = (folder / words.pop(words.index("<") + 1)).read_text(encoding="utf-8")
        words.remove("<")
    done = slotwise(*words, cwd=folder, before=lambda: os.environ.update(set_to), text=text)
    code = [f"exit code {done.returncode}\n"] if done.returncode else []
    said = [f"! {each}\n" for each in done.stderr.splitlines()]
    out = done.stdout if done.stdout.endswith("\n") or not done.stdout else done.stdout + "\n"
    return "".join([f"$ {line}\n", out, *said, *code, "\n"])


def outputs(case: Path, folder: Path) -> dict[str, str]:
    """Every file of `out/` as the commands of today make it."""
    shutil.copytree(case / "in", folder, dirs_exist_ok=True)
    for path in folder.rglob("*"):  # a listing without a date is of the time of its file
        os.utime(path, (RECORDED, RECORDED))
    (folder / "data").symlink_to(HERE / "data")
    before = {path for path in folder.rglob("*") if path.is_file()}
    found = {"printed.txt": "".join(printed(line, folder) for line in commands(case))}
    for path in sorted({path for path in folder.rglob("*") if path.is_file()} - before):
        found[path.relative_to(folder).as_posix()] = path.read_text(encoding="utf-8")
    return found


def kept(case: Path) -> dict[str, str]:
    """Every file of `out/` as it was recorded."""
    out = case / "out"
    return {
        path.relative_to(out).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(out.rglob("*"))
        if path.is_file()
    }


def difference(was: dict[str, str], now: dict[str, str]) -> str:
    """How two sets of files differ, as diff prints it; empty where they are equal."""
    return "".join(
        line
        for name in sorted(was.keys() | now.keys())
        for line in difflib.unified_diff(
            was.get(name, "").splitlines(keepends=True),
            now.get(name, "").splitlines(keepends=True),
            f"recorded/{name}",
            f"today/{name}",
        )
    )


@pytest.mark.parametrize("name", CASES)
def test_a_case_prints_what_was_recorded(
    name: str, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    case = GOLDEN / name
    found = outputs(case, tmp_path)
    if pytestconfig.getoption("--record-golden"):
        shutil.rmtree(case / "out", ignore_errors=True)
        for file, text in found.items():
            path = case / "out" / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    changes = difference(kept(case), found)
    assert not changes, f"make golden records anew, and the diff is to be looked at:\n{changes}"


def test_a_change_of_a_recorded_output_is_seen() -> None:
    name = "printed.txt"
    assert difference({name: "a\nb\n"}, {name: "a\nc\n"}).splitlines()[-2:] == ["-b", "+c"]
    assert difference({}, {name: "a\n"})
    assert not difference({name: "a\n"}, {name: "a\n"})
