"""Instance files in YAML or JSON: read, check, write, describe.

    instance = load("headline.yaml")
    text = dump(instance)              # loads(text) == instance; equal instances, equal bytes

The other readers of this folder (bsub lines, traces, snapshots, changes over time) are modules of
their own.
"""

from __future__ import annotations

from .encode import dump, dump_json, to_document
from .reader import from_document, load, load_with_warnings, loads, loads_with_warnings

__all__ = [
    "changes_schema",
    "dump",
    "dump_json",
    "from_document",
    "json_schema",
    "load",
    "load_with_warnings",
    "loads",
    "loads_with_warnings",
    "to_document",
]


def json_schema() -> dict[str, object]:
    """Return the JSON Schema (draft 2020-12) of an instance file."""
    from .document import schema

    return schema()


def changes_schema() -> dict[str, object]:
    """Return the JSON Schema (draft 2020-12) of a file of changes."""
    from .changes import schema

    return schema()
