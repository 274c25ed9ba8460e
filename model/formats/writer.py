"""An Instance as text: YAML for people, JSON for programs and large instances."""

from __future__ import annotations

import json
from typing import Any

from ..errors import InputError
from ..input_limits import limits
from ..instance import Instance
from .encode import Plain, to_document
from .objects import require_sound
from .source_text import check_length
from .units import format_duration

#: Job and reservation fields that YAML shows as ``90m`` rather than as seconds.
_DURATIONS = ("run_limit", "cpu_limit", "run_time", "estimated_run_time", "think_time")
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
    *("advance_reservations", "share_usage", "pool_usage", "held", "lsf_says"),
    *("running", "pending", "future"),
)


def dump(instance: Instance) -> str:
    """The instance as YAML: the same bytes for equal instances, and no content lost.

    Raises InputError with everything that is wrong with it, or where it is beyond the limits on
    input: what is written can be read.
    """
    import yaml

    document = _document(instance)
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
    check_length(text, "")
    return text


def _document(instance: Instance) -> Plain:
    """The document of a sound instance."""
    require_sound(instance)
    counts = {
        "hosts": (len(instance.cluster.hosts), limits().hosts),
        "jobs": (
            len(instance.running) + len(instance.pending) + len(instance.future),
            limits().jobs,
        ),
    }
    for what, (count, most) in counts.items():
        if count > most:
            raise InputError(f"has more than {most:,} {what} (--max-{what})")
    return to_document(instance)


def _readable(entry: Plain) -> Plain:
    timed = (*_DURATIONS, *_INSTANTS)
    return {
        name: format_duration(value) if name in timed and value else value
        for name, value in entry.items()
    }


def dump_json(instance: Instance) -> str:
    """The instance as JSON, an entry a line: the quick form for thousands of entries.

    Raises InputError as :func:`dump` does.
    """
    document = _document(instance)
    parts = [f"{json.dumps(name)}: {_json(value)}" for name, value in document.items()]
    text = "{\n" + ",\n".join(parts) + "\n}\n"
    check_length(text, "")
    return text


def _json(value: Any) -> str:
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(_compact(item) for item in value) + "\n]"
    return _compact(value)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
