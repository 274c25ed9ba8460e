"""What `make docs` has made already, by the content of what it was made from (.cache/docs.json)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / ".cache" / "docs.json"
#: What the program is, with the instances that it ships.
PROGRAM = ("__init__.py", "library.py", "pyproject.toml", "cli", "instances", "model", "solver")


def digest(names: Iterable[str], *texts: str) -> str:
    """Of files and of all files in folders below the root, by name and content, and of texts."""
    found = hashlib.sha256()
    for name in names:
        top = ROOT / name
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if path.is_file() and "__pycache__" not in path.parts:
                found.update(f"{path.relative_to(ROOT)}\0".encode())
                found.update(path.read_bytes() + b"\0")
    for text in texts:
        found.update(text.encode() + b"\0")
    return found.hexdigest()


def is_made(name: str, key: str) -> bool:
    """Whether something was made from just this."""
    return _record().get(name) == key


def keep(name: str, key: str) -> None:
    """Remember that it was."""
    RECORD.parent.mkdir(exist_ok=True)
    RECORD.write_text(json.dumps(_record() | {name: key}, indent=1), encoding="utf-8")


def _record() -> dict[str, str]:
    try:
        found = json.loads(RECORD.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
