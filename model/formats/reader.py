"""From an instance file to an Instance, or to everything that is wrong with it."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..errors import InputError, Problem
from ..input_limits import counting, limits
from ..instance import Instance
from .finding import Finding, Location, problems

_JOBS = ("running", "pending", "future")
_Lines = Callable[[Iterable[Location]], dict[Location, int]]


def load(source: str | Path) -> Instance:
    """Read an instance file (YAML, or JSON by suffix or content).

    Raises InputError with all problems: file, line, path into the document, what would be right.
    """
    return load_with_warnings(source)[0]


def loads(text: str, source: str = "", *, format: str | None = None) -> Instance:
    """Read an instance from text; `format` is "yaml", "json" or None for "look at it"."""
    return loads_with_warnings(text, source, format=format)[0]


def from_document(document: dict[str, Any], source: str = "") -> Instance:
    """Build an instance from plain data of the same structure as a file."""
    return _interpret(document, source, lambda _: {})[0]


def load_with_warnings(source: str | Path) -> tuple[Instance, tuple[Problem, ...]]:
    """As :func:`load`, with what is odd but no error (MEM-05 and the like)."""
    path = Path(source)
    try:
        with path.open("rb") as file:
            data = file.read(limits().text + 1)
    except OSError as error:
        raise InputError([Problem(error.strerror or str(error), str(source))]) from None
    except ValueError as error:
        raise InputError([Problem(str(error), str(source))]) from None
    suffix = path.suffix.lower()
    kind = "json" if suffix == ".json" else "yaml" if suffix in (".yaml", ".yml") else None
    return loads_with_warnings(data, str(source), format=kind)


def loads_with_warnings(
    text: str | bytes, source: str = "", *, format: str | None = None
) -> tuple[Instance, tuple[Problem, ...]]:
    """As :func:`loads`, with what is odd but no error; bytes are taken for UTF-8."""
    from . import raw
    from .positions import compose, lines

    if len(text) > limits().text:
        message = f"has more than {limits().text:,} bytes (--max-text)"
        raise InputError([Problem(message, source)])
    if isinstance(text, bytes):
        text = _decoded(text, source)
    elif not text.isascii():
        _decoded(text.encode("utf-8", "surrogatepass"), source)
    json_text = raw.is_json(text) if format is None else format == "json"
    with _no_collection():
        data = raw.parse(text, source, json_text=json_text)
        return _interpret(data, source, lambda places: lines(compose(text), places))


def _decoded(data: bytes, source: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = Problem(f"is not UTF-8 text (byte {error.start})", source)
        raise InputError([problem]) from None


@contextmanager
def _no_collection() -> Iterator[None]:
    """Spare the garbage collector many objects that hold no cycle: a third of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _interpret(data: Any, source: str, lines: _Lines) -> tuple[Instance, tuple[Problem, ...]]:
    from pydantic import ValidationError

    from .build import build
    from .document import Document
    from .messages import explain, rest, rests_on_definitions

    context = _context(data)
    if data is None:
        raise InputError([Problem("is empty: an instance needs at least format and hosts", source)])
    _check_jobs(data, source)

    try:
        with counting():
            instance, found = build(Document.model_validate(data, context=context))
    except ValidationError as error:
        with counting():
            found = explain(error)
        remainder = rest(data, error)
        with suppress(ValidationError):
            with counting():
                others = build(Document.model_validate(remainder.data, context=context))[1]
            if remainder.defining:
                others = [finding for finding in others if not rests_on_definitions(finding)]
            others = [remainder.original(finding) for finding in others]
            # A complaint about a whole entry may only be due to the part that was left out.
            broken = {finding.place[:n] for finding in found for n in range(len(finding.place))}
            found += [finding for finding in others if finding.place not in broken]
        fatal = [finding for finding in found if not finding.warning]
        raise InputError(_located(fatal, source, lines)) from None
    if fatal := [finding for finding in found if not finding.warning]:
        raise InputError(_located(fatal, source, lines))
    return instance, _located(found, source, lines) if found else ()


def _check_jobs(data: Any, source: str) -> None:
    sections = [data.get(name) for name in _JOBS] if isinstance(data, dict) else []
    if sum(len(jobs) for jobs in sections if isinstance(jobs, list)) > limits().jobs:
        message = f"has more than {limits().jobs:,} jobs (--max-jobs)"
        raise InputError([Problem(message, source)])


def _located(findings: list[Finding], source: str, lines: _Lines) -> tuple[Problem, ...]:
    return problems(findings, source, lines([finding.place for finding in findings]))


def _context(data: Any) -> dict[str, float]:
    """How plain sizes are read: `base` M in a G, `unit` MB where LSF_UNIT_FOR_LIMITS counts."""
    given = data if isinstance(data, dict) else {}
    base = 1000 if given.get("size_base") == 1000 else 1024
    params = given.get("params")
    unit = params.get("LSF_UNIT_FOR_LIMITS") if isinstance(params, dict) else None
    powers = {"KB": -1, "MB": 0, "GB": 1, "TB": 2, "PB": 3}
    return {"base": base, "unit": float(base) ** powers.get(str(unit), 0)}
