"""Checkpoints of a simulation or a replay: sealed records (:mod:`.sealed`) of an engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from ..confined import check_inside
from ..errors import unreadable
from . import sealed
from .sealed import CHECKPOINT, refusal

Engine = Literal["loop", "replay"]

_HEAD = 4096
_NAMES = {"loop": "the scheduler loop", "replay": "a replay"}


def seal(engine: Engine, content: Mapping[str, Any]) -> str:
    """The text of a checkpoint; content: plain data, the same data gives the same bytes."""
    return sealed.seal(CHECKPOINT, {"engine": engine, **content})


def unseal(text: str, engine: Engine, source: str = "") -> dict[str, Any]:
    """The content of a checkpoint of that engine.

    Raises InputError for a text that is none, is damaged, or is of another version or engine.
    """
    content = sealed.unseal(CHECKPOINT, text, source)
    made_by = content.pop("engine", None)
    if made_by != engine:
        made = _NAMES.get(str(made_by), "something else")
        raise refusal(f"is a checkpoint of {made}, not of {_NAMES[engine]}", source)
    return content


@contextmanager
def taking_over(source: str = "") -> Iterator[None]:
    """While a state is taken over: what makes no sense there is a damaged checkpoint."""
    try:
        yield
    except (
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:
        said = f"is damaged: {type(error).__name__} {error} ({CHECKPOINT.remedy})"
        raise refusal(said, source) from error


def read_checkpoint(path: Path) -> str:
    """The text of a checkpoint file; InputError if it cannot be read."""
    check_inside(path)
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
            # Of what is none, a device that never ends may be, the beginning is enough.
            return (head + file.read() if head[:1] == b"{" else head).decode()
    except UnicodeDecodeError as error:
        raise refusal("is no checkpoint: not a text file", str(path)) from error
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error
