"""The problems of the service, printed as lines on standard error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from .board import BoardState

#: Kinds of problems: the field of a state that has the message, and the words before it.
KINDS: Final = (
    ("problem", "the cluster cannot be read"),
    ("unplanned", "a state was not planned, or not kept"),
    ("not_forecast", "no likely starts"),
)


@dataclass(slots=True)
class Journal:
    """A listener of the board: each problem once, and when the cluster can be read again."""

    #: Prints one line.
    tell: Callable[[str], None]
    _known: dict[str, str] = field(default_factory=dict)

    def __call__(self, state: BoardState) -> None:
        """Print what has changed with a state."""
        for name, words in KINDS:
            problem: str = getattr(state, name)
            is_over = name == "problem" and not problem
            if problem == self._known.get(name, "") or not (problem or is_over):
                continue
            self._known[name] = problem
            self.tell("the cluster is read again" if is_over else f"{words}: {problem}")
