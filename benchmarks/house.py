"""How large the house is, and how many of its files one plan enters.

    python benchmarks/house.py [--list]

Lines of code proper (without docstrings, comments and blank lines) and files of each floor; the
files that `slotwise solve` of the headline example enters, and how often the work goes over from
one to another. What is done once, when modules are imported, does not count. --list: names the
files entered, with the calls into each.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import slotwise

HOUSE = Path(slotwise.__file__).resolve().parent
FLOORS = ("model", "solver", "cli")
_NO_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENCODING, tokenize.ENDMARKER),
}


def code_lines(path: Path) -> int:
    """Lines of a file that hold code."""
    found: set[int] = set()
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type not in _NO_CODE:
                found.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if ast.get_docstring(node, clean=False) is not None:
            text = node.body[0]
            found.difference_update(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    return len(found)


def files_of(floor: str) -> list[Path]:
    """The Python files of a floor."""
    return sorted((HOUSE / floor).rglob("*.py"))


def entered(*words: str) -> tuple[Counter[str], int]:
    """The files that a command enters, with the calls into each, and the changes between files."""
    from slotwise.cli.main import app

    calls: Counter[str] = Counter()
    switches = 0
    last = ""

    def note(frame: FrameType, event: str, _: Any) -> None:
        nonlocal last, switches
        if event != "call":
            return
        name = frame.f_code.co_filename
        if not name.startswith(f"{HOUSE}/") or not name.startswith(_INSIDE):
            return
        calls[name.removeprefix(f"{HOUSE}/")] += 1
        switches += name != last
        last = name

    for watched in (False, True):
        sys.setprofile(note if watched else None)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                app([*words], standalone_mode=False)
        finally:
            sys.setprofile(None)
    return calls, switches


_INSIDE = tuple(f"{HOUSE}/{floor}/" for floor in FLOORS)
#: The plan that is watched; the effort makes it the same on any machine, in this process.
HEADLINE = ("solve", str(slotwise.example("headline")), "--effort", "1")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args()
    rows = {floor: files_of(floor) for floor in FLOORS}
    sums = {floor: sum(map(code_lines, files)) for floor, files in rows.items()}
    for floor, files in rows.items():
        print(f"{floor:8} {sums[floor]:7,} lines of code {len(files):4} files")
    total = sum(map(len, rows.values()))
    print(f"{'in all':8} {sum(sums.values()):7,} lines of code {total:4} files")
    calls, switches = entered(*HEADLINE)
    print(f"the headline plan enters {len(calls)} files, {switches:,} switches between them")
    if given.list:
        for name, count in calls.most_common():
            print(f"{count:9,} {name}")


if __name__ == "__main__":
    main()
