"""From an instance file to an Instance, or to everything that is wrong with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..compact import no_collection
from ..errors import InputError, Problem, bounded
from ..input_limits import limits, too_many
from ..instance import Instance
from .build import examine
from .document import Finding, Location, problems
from .file_format import Contents, ReadOptions
from .reading import kind_of, refuse_other
from .source_text import file_content, is_json, plain_data, surely_printable, with_script

#: Suffixes of instance files.
SUFFIXES = (".yaml", ".yml", ".json")
_JOBS = ("running", "pending", "future")
_Lines = Callable[[Iterable[Location]], dict[Location, int]]


@dataclass(frozen=True, slots=True)
class InstanceFile:
    """The format of instance files, in the registry."""

    #: Name of the format in options.
    name: str = "instance"
    #: Name of the format in messages.
    kind: str = "an instance file, YAML or JSON"
    #: Names of the read options that affect the format.
    takes: frozenset[str] = frozenset()

    def recognises(self, path: Path) -> bool:
        """Return whether the suffix or the first lines mark an instance file."""
        return path.suffix.lower() in SUFFIXES or kind_of(path) == "instance"

    @bounded("the file")
    def read(self, path: Path, options: ReadOptions) -> Contents:
        """Return the instance, with its warnings as remarks."""
        instance, warnings = load_with_warnings(path)
        return Contents(instance, tuple(f"warning: {warning}" for warning in warnings))


def load(source: str | Path) -> Instance:
    """Read an instance file (YAML, or JSON by suffix or content).

    Raises InputError with all problems: file, line, path into the document, what would be right.
    """
    return load_with_warnings(source)[0]


def loads(text: str, source: str = "", *, format: str | None = None) -> Instance:
    """Read an instance from text; `format` is "yaml", "json" or None to detect it."""
    return loads_with_warnings(text, source, format=format)[0]


def from_document(document: dict[str, Any], source: str = "") -> Instance:
    """Build an instance from plain data of the same structure as a file."""
    return _interpret(document, source, lambda _: {})[0]


def load_with_warnings(source: str | Path) -> tuple[Instance, tuple[Problem, ...]]:
    """Return the instance of a file, and warnings (MEM-05 and the like); errors as in
    :func:`load`.
    """
    if not isinstance(source, (str, Path)):
        raise InputError(f"must be the path of a file, not {type(source).__name__}")
    path = Path(source)
    data, kind = file_content(path)
    try:
        return loads_with_warnings(data, str(source), format=kind)
    except InputError:
        refuse_other(path, "instance")
        raise


def loads_with_warnings(
    text: str | bytes, source: str = "", *, format: str | None = None
) -> tuple[Instance, tuple[Problem, ...]]:
    """Return the instance of a text, and warnings; bytes are taken for UTF-8."""
    from .source_text import compose, lines

    if not isinstance(text, (str, bytes)):
        raise InputError([Problem(f"must be a string, not {type(text).__name__}", source)])
    with no_collection():
        data, content = plain_data(text, source, format)
        json_text = is_json(content) if format is None else format == "json"
        printable = json_text and surely_printable(content)
        return _interpret(
            data, source, lambda places: lines(compose(content), places), printable=printable
        )


def _interpret(
    data: Any, source: str, lines: _Lines, *, printable: bool = False
) -> tuple[Instance, tuple[Problem, ...]]:
    if data is None:
        raise InputError([Problem("is empty: an instance needs at least format and hosts", source)])
    sections = [data.get(name) for name in _JOBS] if isinstance(data, dict) else []
    if sum(len(jobs) for jobs in sections if isinstance(jobs, list)) > limits().jobs:
        raise InputError([Problem(too_many("jobs", "jobs"), source)])
    if isinstance(data, dict):
        data = _with_scripts(data, source)
    if isinstance(data, dict) and data.get("config") is not None:
        return _with_config(data, source, lines)
    instance, found = examine(data, printable=printable)
    if instance is None:
        fatal = [finding for finding in found if not finding.warning]
        raise InputError(_located(fatal, source, lines))
    return instance, _located(found, source, lines) if found else ()


def _with_scripts(data: dict[str, Any], source: str) -> dict[str, Any]:
    """Return the data with paths of job scripts resolved from the folder of the file."""
    folder = Path(source).parent
    found = {}
    for name in _JOBS:
        jobs = data.get(name)
        if isinstance(jobs, list) and any(isinstance(e, dict) and "script" in e for e in jobs):
            found[name] = [with_script(entry, folder) for entry in jobs]
    return data | found if found else data


def _with_config(
    data: dict[str, Any], source: str, lines: _Lines
) -> tuple[Instance, tuple[Problem, ...]]:
    """Return an instance that extends a directory of LSF configuration."""
    from .lsf.site import overlay

    config = data["config"]
    named = config.get("directory") if isinstance(config, dict) else config
    if isinstance(named, str) and named and not os.path.exists(Path(source).parent / named):
        message = f"directory {named!r} does not exist (paths are relative to this file)"
        raise InputError(_located([Finding(("config",), message)], source, lines))
    try:
        whole = overlay(data, source)
    except ValueError as error:
        raise InputError(_located([Finding(("config",), str(error))], source, lines)) from None
    instance, found = whole.site.examine(whole.data)
    if instance is None:
        found = [finding for finding in found if not finding.warning]
    located = whole.located(found, lambda own: _located(own, source, lines))
    if instance is None:
        raise InputError((*whole.site.problems, *located))
    return instance, located


def _located(findings: list[Finding], source: str, lines: _Lines) -> tuple[Problem, ...]:
    return problems(findings, source, lines([finding.place for finding in findings]))
