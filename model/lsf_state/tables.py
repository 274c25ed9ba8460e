"""Tables as LSF prints them: a line of column names, and rows under it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def table_row(names: Sequence[str], words: Sequence[str]) -> dict[str, str] | None:
    """A row by column; the last column may hold several words. None where it does not fit."""
    if len(words) < len(names):
        return None
    last = len(names) - 1
    cells = [*words[:last], " ".join(words[last:])]
    return dict(zip(names, cells, strict=True))


def load_rows(lines: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Rows Total, Reserved, loadSched and loadStop with their values by index."""
    names: list[str] = []
    for line in lines:
        words = line.split()
        if words and words[0] in ("Total", "Reserved", "loadSched", "loadStop"):
            yield words[0], dict(zip(names, words[1:], strict=False))
        elif words:
            names = words
