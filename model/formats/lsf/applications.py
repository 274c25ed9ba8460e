"""lsb.applications: application profiles."""

from __future__ import annotations

from collections.abc import Iterable

from .draft import Draft, Item
from .notes import Notes
from .parameters import note_rest
from .queues import put_gpus, put_limits, put_requirement
from .runlimits import RunLimits
from .sections import LsfSection, entries
from .shared import Shared
from .source import Problems

SECTIONS = ("Application",)
_TAKEN = frozenset(
    [
        "NAME",
        "RES_REQ",
        "GPU_REQ",
        "RUNLIMIT",
        "RUNTIME",
        "ESTIMATED_RUNTIME",
        "CPULIMIT",
        "PROCLIMIT",
        "TASKLIMIT",
        "DESCRIPTION",
        "DEFAULT_HOST_SPEC",
    ]
)


def read_applications(
    sections: Iterable[LsfSection],
    limits: RunLimits,
    shared: Shared,
    draft: Draft,
    notes: Notes,
    problems: Problems,
) -> None:
    """Application profiles into the document."""
    for section in sections:
        if section.name != "Application":
            notes.not_modelled("lsb.applications", section.name)
            continue
        for entry in entries(section, problems, table=False):
            name = entry.text("NAME")
            if not name:
                problems.add(entry.place, "an application profile needs a name", "Application.NAME")
                continue
            item = Item(entry)
            item.put("name", name, "NAME")
            put_requirement(item, shared, notes, f"application {name}")
            put_gpus(item, shared, notes, f"application {name}")
            put_limits(item, limits, f"application {name}", problems)
            if (value := entry.values.get("RUNTIME")) is not None:
                try:
                    item.put("RUNTIME", limits.text(value, entry, f"application {name}"), "RUNTIME")
                except ValueError as error:
                    problems.add(value.place, str(error), "Application.RUNTIME")
            note_rest(notes, entry, "application", _TAKEN, f"application {name}")
            draft.add("applications", item)
