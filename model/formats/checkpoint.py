"""Checkpoints of a simulation or a replay: one JSON document that is whole, or refused.

``{"format": "slotwise-checkpoint", "version": 4, "engine": …, "checksum": …, …content}``, compact
and on one line. The checksum (SHA-256) is over engine and content, and the text has to be the very
one that would be written again: no bit may be flipped and nothing be missing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from ..confined import check_inside
from ..errors import InputError, Problem, unreadable

Engine = Literal["loop", "replay"]

FORMAT = "slotwise-checkpoint"
VERSION = 5
_HEAD = 4096
_NAMES = {"loop": "the scheduler loop", "replay": "a replay"}


def seal(engine: Engine, content: Mapping[str, Any]) -> str:
    """The text of a checkpoint; content: plain data, the same data gives the same bytes."""
    body = _compact({"engine": engine, **content})
    checksum = hashlib.sha256(body.encode()).hexdigest()
    head = _compact({"format": FORMAT, "version": VERSION, "checksum": checksum})
    return f"{head[:-1]},{body[1:]}\n"


def unseal(text: str, engine: Engine, source: str = "") -> dict[str, Any]:
    """The content of a checkpoint of that engine.

    Raises InputError for a text that is none, is damaged, or is of another version or engine.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        known = f'{{"format":"{FORMAT}"'
        damaged = text[:8] == known[:8]
        says = "is damaged: cut off or changed" if damaged else _none(engine)
        raise _refused(says, source) from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise _refused(_none(engine), source)
    if content.get("version") != VERSION:
        version = str(content.get("version"))[:20]
        raise _refused(f"is a checkpoint of version {version}; this is version {VERSION}", source)
    for name in ("format", "version", "checksum"):
        content.pop(name, None)
    made_by = content.pop("engine", None)
    if made_by not in _NAMES or seal(made_by, content) != text:
        raise _refused("is damaged: its checksum does not fit", source)
    if made_by != engine:
        raise _refused(f"is a checkpoint of {_NAMES[made_by]}, not of {_NAMES[engine]}", source)
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
        raise _refused(f"is damaged: {type(error).__name__} {error}", source) from error


def read_checkpoint(path: Path) -> str:
    """The text of a checkpoint file; InputError if it cannot be read."""
    check_inside(path)
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
            # Of what is none, a device that never ends may be, the beginning is enough.
            return (head + file.read() if head[:1] == b"{" else head).decode()
    except UnicodeDecodeError as error:
        raise _refused("is no checkpoint: not a text file", str(path)) from error
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error


def _none(engine: Engine) -> str:
    return f"is no checkpoint: this is not a checkpoint of {_NAMES[engine]}"


def _refused(message: str, source: str) -> InputError:
    return InputError([Problem(message, source)])


def _compact(content: Mapping[str, Any]) -> str:
    return json.dumps(content, separators=(",", ":"))
