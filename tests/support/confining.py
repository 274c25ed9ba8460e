"""Commands that are confined to a folder, for tests of --confine."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from slotwise import InputError
from typer.testing import Result

Run = Callable[..., Result]


def lies_outside(result: Result, path: object) -> None:
    said = str(result.exception) if isinstance(result.exception, InputError) else result.stderr
    assert f"{path}: is outside " in said, result.output
    assert "(--confine)" in said
    assert result.exit_code != 0


def within(folder: Path, inputs: dict[str, str]) -> dict[str, str]:
    """The inputs, copied into the folder."""
    found = {}
    for name, source in inputs.items():
        found[name] = _copy(Path(source), folder)
    return found


def copied(words: list[str], folder: Path) -> list[str]:
    """Files of the tests that are named in full lie in the folder too."""
    return [
        _copy(Path(word), folder)
        if word.startswith("/") and Path(word).exists() and Path(word).parent != folder.parent
        else word
        for word in words
    ]


def _copy(source: Path, folder: Path) -> str:
    target = folder / source.name
    if not target.exists():
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    return str(target)
