"""The words of every command that there is."""

from __future__ import annotations

from collections.abc import Iterator

from slotwise.cli.main import app
from typer.main import get_command


def all_commands() -> Iterator[tuple[str, ...]]:
    """Each command by its words, those of groups too."""

    def walk(group: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
        for word in group.list_commands(None):  # type: ignore[attr-defined]
            inner = group.get_command(None, word)  # type: ignore[attr-defined]
            if hasattr(inner, "list_commands"):
                yield from walk(inner, (*path, word))
            else:
                yield (*path, word)

    return walk(get_command(app))
