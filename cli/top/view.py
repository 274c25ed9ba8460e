"""Visible state of the live page, and the effect of each key on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias, get_args

from ..listing import FILTERS, Column, JobChoice, ListedJob

#: What the page shows: the table, the explanation of a job, the keys, or the table while a filter's
#: letter or words are typed.
Mode: TypeAlias = Literal["table", "explain", "help", "filter", "words"]
#: Actions that a key requests of the page, apart from painting.
Action: TypeAlias = Literal["", "quit", "refresh", "explain", "repaint"]
_SORTS: Final[tuple[Column, ...]] = get_args(Column)
#: Keys with their actions.
KEYS: Final[Mapping[str, str]] = {
    "Up Down PgUp PgDn Home End": "move (also k j, space, g G)",
    "Enter or e": "explain the chosen job: why not earlier, and what would help",
    "s": "sort by the next column; S by the one before",
    "r": "reverse the order",
    "f": "only jobs of the chosen job's user, queue or state (then u, q or s; a: all)",
    "/": "only rows with words that you type; Enter ends, Esc drops them",
    "Esc": "back; in the table: all jobs in priority order",
    "R": "read and plan again now",
    "h or ?": "this page",
    "q or Ctrl-C": "quit",
}
_LETTERS: Final = {name[0]: name for name in FILTERS}


@dataclass(frozen=True, slots=True)
class TopView:
    """Listed jobs, the selected one, and the text in front of them."""

    choice: JobChoice = field(default_factory=JobChoice)
    #: The chosen job, and in which row it was.
    job: str = ""
    row: int = 0
    mode: Mode = "table"
    #: The first line that is seen of a text.
    scroll: int = 0

    def row_of(self, rows: Sequence[ListedJob]) -> int:
        """Return the row of the chosen job; for a job that has gone, its last row."""
        for at, item in enumerate(rows):
            if item.job == self.job:
                return at
        return max(0, min(self.row, len(rows) - 1))

    def pressed(
        self, key: str, jobs: Sequence[ListedJob], page: int, lines: int = 0
    ) -> tuple[TopView, Action]:
        """Return the view after a key, and the action to take.

        page: rows that are seen together. lines: of the text in front of the table.
        """
        if key == "repaint":
            return self, "repaint"
        if self.mode == "words":
            return self._typed(key), ""
        if self.mode == "filter":
            return self._filtered(key, jobs), ""
        if self.mode in ("explain", "help"):
            return self._in_text(key, page, lines)
        return self._in_table(key, jobs, page)

    def _in_table(self, key: str, jobs: Sequence[ListedJob], page: int) -> tuple[TopView, Action]:
        rows = self.choice.of(jobs)
        at = _moved(key, self.row_of(rows), page, len(rows))
        if at is not None:
            return self._at(rows, at), ""
        if key in ("q", "quit"):
            return self, "quit"
        if key in ("enter", "e", "right") and rows:
            return replace(self._at(rows, self.row_of(rows)), mode="explain", scroll=0), "explain"
        if key == "R":
            return self, "refresh"
        modes: Mapping[str, Mode] = {"h": "help", "?": "help", "f": "filter", "/": "words"}
        if key in modes:
            return replace(self, mode=modes[key], scroll=0), ""
        if key == "escape":
            return replace(self, choice=JobChoice()), ""
        return replace(self, choice=_sorted(self.choice, key)), ""

    def _at(self, rows: Sequence[ListedJob], at: int) -> TopView:
        return replace(self, job=rows[at].job, row=at) if rows else self

    def _in_text(self, key: str, page: int, lines: int) -> tuple[TopView, Action]:
        if key == "quit":
            return self, "quit"
        at = _moved(key, self.scroll, page, max(1, lines - page + 1), line=1)
        if at is not None:
            return replace(self, scroll=at), ""
        if key in ("q", "escape", "enter", "left", "e", "h", "?"):
            return replace(self, mode="table", scroll=0), ""
        return self, ""

    def _filtered(self, key: str, jobs: Sequence[ListedJob]) -> TopView:
        """Return the view after `f` and a letter for the column."""
        table = replace(self, mode="table")
        rows = self.choice.of(jobs)
        if key == "a":
            return replace(table, choice=replace(self.choice, only={}, words=""))
        name = _LETTERS.get(key)
        if name is None or not rows:
            return table
        value = getattr(rows[self.row_of(rows)], name)
        return replace(table, choice=replace(self.choice, only={**self.choice.only, name: value}))

    def _typed(self, key: str) -> TopView:
        """Return the view after `/` and a character of a word, which filters as it is typed."""
        words = self.choice.words
        if key == "enter":
            return replace(self, mode="table")
        if key in ("escape", "quit"):
            return replace(self, mode="table", choice=replace(self.choice, words=""))
        if key == "backspace":
            words = words[:-1]
        elif key == "clear":
            words = ""
        elif key == "page down":  # the space bar
            words += " "
        elif len(key) == 1:
            words += key
        return replace(self, choice=replace(self.choice, words=words))


def _sorted(choice: JobChoice, key: str) -> JobChoice:
    at = _SORTS.index(choice.sort)
    if key in ("s", "S"):
        step = 1 if key == "s" else -1
        return replace(choice, sort=_SORTS[(at + step) % len(_SORTS)], reverse=False)
    return replace(choice, reverse=not choice.reverse) if key == "r" else choice


def _moved(key: str, at: int, page: int, count: int, line: int = 1) -> int | None:
    """Return the row to which a key moves from a row; None if it is another key."""
    last = max(0, count - 1)
    steps = {"up": -line, "k": -line, "down": line, "j": line}
    steps |= {"page up": -max(1, page), "page down": max(1, page)}
    steps |= {"home": -count, "g": -count, "end": count, "G": count}
    return max(0, min(at + steps[key], last)) if key in steps else None
