"""Records with a checksum: checkpoints, cells of a sweep, saved plans, backtests.

A record is a JSON object whose first keys are ``format``, ``version`` and ``checksum``. The sum
(SHA-256) is over everything behind them, written compactly and in the order in which it stands.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..changes import Change
from ..errors import InputError, Problem
from ..instance import Instance
from .reading import opened, stream_bytes

HEAD = ("format", "version", "checksum")


@dataclass(frozen=True, slots=True)
class RecordKind:
    """A kind of record."""

    #: Name of its format.
    name: str
    #: Version of the content; a record of another version is rejected.
    version: int
    #: Description of such a record.
    title: str
    #: Advice for a damaged record.
    remedy: str


CHECKPOINT = RecordKind(
    "slotwise-checkpoint", 6, "checkpoint", "delete it and run again without --resume"
)
CELL = RecordKind("slotwise-cell", 1, "cell of a sweep", "delete it and run again")
PLAN = RecordKind(
    "slotwise-plan",
    1,
    "saved plan",
    "create it again, or remove the line `checksum` if the change was intended",
)
BACKTEST = RecordKind("slotwise-backtest", 1, "backtest", "delete it and run it again")


def sealed(kind: RecordKind, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record as data, for any layout."""
    return {**_head(kind, _compact(content)), **content}


def unsealed(kind: RecordKind, record: Mapping[str, Any], source: str = "") -> dict[str, Any]:
    """Return the content of a record; raises InputError for another kind or version, or damage."""
    if record.get("format") != kind.name:
        raise refusal(f"is not a {kind.title}", source)
    if record.get("version") != kind.version:
        version = str(record.get("version"))[:20]
        said = f"is a {kind.title} of version {version}; this is version {kind.version}"
        raise refusal(f"{said}: {kind.remedy}", source)
    content = {key: value for key, value in record.items() if key not in HEAD}
    try:
        fits = _head(kind, _compact(content))["checksum"] == record.get("checksum")
    except RecursionError:
        fits = False
    if not fits:
        raise refusal(f"is damaged: its checksum does not match ({kind.remedy})", source)
    return content


def seal(kind: RecordKind, content: Mapping[str, Any]) -> str:
    """Return the record as one line of text; equal contents give equal bytes."""
    body = _compact(content)
    return f"{_compact(_head(kind, body))[:-1]},{body[1:]}\n"


def unseal(kind: RecordKind, text: str, source: str = "") -> dict[str, Any]:
    """Return the content of a text that :func:`seal` made, byte by byte.

    Raises InputError for a text that is none, is damaged, or is of another kind or version.
    """
    known = f'{{"format":"{kind.name}"'
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        damaged = text[:8] == known[:8]
        said = f"is damaged: truncated or changed ({kind.remedy})"
        raise refusal(said if damaged else f"is not a {kind.title}", source) from error
    content = unsealed(kind, record if isinstance(record, dict) else {}, source)
    if seal(kind, content) != text:
        raise refusal(f"is damaged: its text was changed ({kind.remedy})", source)
    return content


def digest(instance: Instance, changes: Iterable[Change] = ()) -> str:
    """Return the SHA-256 of all data that affects a plan or simulation of an instance."""
    content = hashlib.sha256()
    for jobs in (instance.running, instance.pending, instance.future, tuple(changes)):
        for item in jobs:
            content.update(repr(item).encode())
    plain = dataclasses.asdict(dataclasses.replace(instance, running=(), pending=(), future=()))
    content.update(json.dumps(plain, default=sorted, sort_keys=True).encode())
    return content.hexdigest()


def refusal(message: str, source: str) -> InputError:
    """Return the error for a record as a whole."""
    return InputError([Problem(message, source)])


def _head(kind: RecordKind, body: str) -> dict[str, Any]:
    checksum = hashlib.sha256(body.encode()).hexdigest()
    return {"format": kind.name, "version": kind.version, "checksum": checksum}


def _compact(content: Mapping[str, Any]) -> str:
    return json.dumps(content, separators=(",", ":"))


Engine = Literal["loop", "replay"]

_HEAD = 4096
_NAMES = {"loop": "the scheduler loop", "replay": "a replay"}


def seal_checkpoint(engine: Engine, content: Mapping[str, Any]) -> str:
    """Return the text of a checkpoint; equal plain data gives equal text."""
    return seal(CHECKPOINT, {"engine": engine, **content})


def unseal_checkpoint(text: str, engine: Engine, source: str = "") -> dict[str, Any]:
    """Return the content of a checkpoint of that engine.

    Raises InputError for a text that is none, is damaged, or is of another version or engine.
    """
    content = unseal(CHECKPOINT, text, source)
    made_by = content.pop("engine", None)
    if made_by != engine:
        made = _NAMES.get(str(made_by), "something else")
        raise refusal(f"is a checkpoint of {made}, not of {_NAMES[engine]}", source)
    return content


def examine(content: Mapping[str, Any], shape: Any, source: str = "") -> None:
    """Raise InputError if a checkpoint has wrong keys or values of wrong types.

    shape: a dataclass. The checksum of such a checkpoint is valid, so the file was edited by hand.
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        adapter = TypeAdapter(shape)
        found = adapter.validate_json(json.dumps(content), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place, said = first["loc"], f"{first['msg'][:1].lower()}{first['msg'][1:]}"
    else:
        taken = adapter.dump_python(found)
        place, said = _lone_key(content, taken), "is not a key of such a checkpoint"
        if not place:
            place, said = _lone_key(taken, content), "is missing"
        if not place:
            return
    where = ".".join(map(str, place)) or "the whole"
    raise refusal(f"is damaged: {where}: {said} ({CHECKPOINT.remedy})", source)


def _lone_key(given: Any, other: Any) -> tuple[str | int, ...]:
    """Return the path of the first key that the other record lacks, () if it has all."""
    if isinstance(given, Mapping):
        pairs: Iterable[tuple[str | int, Any]] = given.items()
    elif isinstance(given, list | tuple):
        pairs = enumerate(given)
    else:
        return ()
    for key, value in pairs:
        if isinstance(given, Mapping) and key not in other:
            return (key,)
        if inner := _lone_key(value, other[key]):
            return (key, *inner)
    return ()


@contextmanager
def taking_over(source: str = "") -> Iterator[None]:
    """Report errors while a saved state is restored and continued as a damaged checkpoint.

    An internal error of slotwise cannot be distinguished from it; a run without --resume shows
    which it is.
    """
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
        said = "is damaged: its contents do not match this input"
        raise refusal(f"{said} ({CHECKPOINT.remedy})", source) from error


def read_checkpoint(path: Path) -> str:
    """Return the text of a checkpoint file; raises InputError if it cannot be read."""
    with opened(path) as file:
        # An endless device is not a checkpoint; its first byte suffices to reject it.
        whole = file.peek(1)[:1] == b"{"
        content = stream_bytes(file, str(path)) if whole else file.read1(_HEAD)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise refusal("is not a checkpoint: not a text file", str(path)) from error
