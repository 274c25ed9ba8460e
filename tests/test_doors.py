"""Tests stand at the doors of the rooms (docs/dev/doors.md): how many import another module."""

from __future__ import annotations

import ast
import re
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
TABLE = (HERE.parent / "docs" / "dev" / "doors.md").read_text(encoding="utf-8")
DOORS = set(re.findall(r"`(slotwise[\w.]*)`", TABLE))
#: Test files that import a module which is no door. It only falls.
CEILING = 120


def modules(path: Path) -> set[str]:
    """Every module of slotwise that a file imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {item.name for item in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            inner = {f"{node.module}.{item.name}" for item in node.names}
            found |= {each if _is_module(each) else node.module for each in inner}
    return {name for name in found if name.partition(".")[0] == "slotwise"}


def _is_module(name: str) -> bool:
    path = HERE.parent.joinpath(*name.split(".")[1:])
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def test_each_door_is_there() -> None:
    assert [name for name in sorted(DOORS) if find_spec(name) is None] == []


def test_no_more_test_files_import_what_is_behind_a_door() -> None:
    behind = [path for path in HERE.rglob("*.py") if modules(path) - DOORS]
    assert len(behind) <= CEILING, "import a door of docs/dev/doors.md instead"
