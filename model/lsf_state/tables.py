"""Tables as LSF prints them: a line of column names, and rows under it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

#: Limits that stand side by side, each over its value, and what a value looks like.
_TIME, _COUNTS = re.compile(r"\s*(\S+(?: min(?: of \S+)?)?)"), re.compile(r"\s*(\d+(?: +\d+){0,2})")
_LIMITS = {
    **dict.fromkeys(("CPULIMIT", "RUNLIMIT", "ESTIMATED_RUNTIME"), _TIME),
    **dict.fromkeys(("PROCLIMIT", "TASKLIMIT"), _COUNTS),
}


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


def limit_row(names: str, row: str) -> dict[str, str]:
    """Limits by name where one line has ``CPULIMIT  RUNLIMIT  PROCLIMIT`` and the next the values.

    {} for any other line. LSF prints those of them that are set, in this order.
    """
    words = names.split()
    if not words or any(word not in _LIMITS for word in words):
        return {}
    found: dict[str, str] = {}
    at = 0
    for word in words:
        match = _LIMITS[word].match(row, at)
        if match is None:
            break
        found[word], at = match[1], match.end()
    return found
