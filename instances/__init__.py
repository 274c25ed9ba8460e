"""Instances that come with Slotwise, one file each, named by what it shows."""

from __future__ import annotations

from pathlib import Path

from ..model.errors import UnknownNameError, nearest

_FOLDER = Path(__file__).parent


def examples() -> tuple[str, ...]:
    """Return the names of all shipped instances, sorted."""
    return tuple(
        sorted(file.stem for file in _FOLDER.iterdir() if file.suffix in (".yaml", ".json"))
    )


def example(name: str) -> Path:
    """Return the file of a shipped instance; raise UnknownNameError with the nearest name."""
    for suffix in (".yaml", ".json"):
        file = _FOLDER / f"{name}{suffix}"
        if name in examples() and file.is_file():
            return file
    hint = nearest(name, examples())
    raise UnknownNameError(f"no example is called {name!r}{hint} (`slotwise examples` lists them)")


def description(name: str) -> str:
    """Return one paragraph on the subject of a shipped instance."""
    from ..model.formats.source_text import parse

    file = example(name)
    data = parse(file.read_text(encoding="utf-8"), str(file), json_text=file.suffix == ".json")
    return " ".join(str(data["description"]).split())


def site(name: str = "site") -> Path:
    """Return the LSF configuration directory of a shipped site; raise UnknownNameError."""
    folders = {"site": _FOLDER / "site", "tutorial": _FOLDER / "tutorial" / "conf"}
    if name not in folders:
        raise UnknownNameError.among("configuration", name, folders)
    return folders[name]
