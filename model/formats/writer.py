"""An Instance as text: YAML for people, JSON for programs and large instances."""

from __future__ import annotations

import json
from typing import Any

from ..instance import Instance
from .encode import Plain, to_document
from .units import format_duration

#: Job and reservation fields that YAML shows as ``90m`` rather than as seconds.
_DURATIONS = ("run_limit", "cpu_limit", "run_time", "estimated_run_time")
_INSTANTS = (
    "start",
    "finish",
    "end",
    "submit",
    "begin",
    "deadline",
    "stamp",
    "since",
    "rest_until",
)
_TIMED = (
    *("advance_reservations", "share_usage", "pool_usage", "held"),
    *("running", "pending", "future"),
)


def dump(instance: Instance) -> str:
    """The instance as YAML: the same bytes for equal instances, and no content lost."""
    import yaml

    document = to_document(instance)
    for section in _TIMED:
        if section in document:
            document[section] = [_readable(entry) for entry in document[section]]
    if "now" in document:
        document["now"] = format_duration(document["now"])

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        """Writes equal parts out instead of pointing from one to the other."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    text: str = yaml.dump(
        document,
        Dumper=Dumper,
        sort_keys=False,
        width=100,
        default_flow_style=None,
        allow_unicode=True,
    )
    return text


def _readable(entry: Plain) -> Plain:
    timed = (*_DURATIONS, *_INSTANTS)
    return {
        name: format_duration(value) if name in timed and value else value
        for name, value in entry.items()
    }


def dump_json(instance: Instance) -> str:
    """The instance as JSON, an entry a line: the quick form for thousands of entries."""
    document = to_document(instance)
    parts = [f"{json.dumps(name)}: {_json(value)}" for name, value in document.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _json(value: Any) -> str:
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(_compact(item) for item in value) + "\n]"
    return _compact(value)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
