"""lsb.applications: application profiles."""

from __future__ import annotations

from collections.abc import Iterable

from ...job import Application
from .by_fact import lsf_keys, take_plain
from .draft import Draft, Item
from .notes import Notes
from .parameters import note_rest
from .queues import put_gpus, put_limits, put_requirement
from .runlimits import RunLimits
from .sections import LsfSection, entries
from .shared import Shared
from .source import Problems

SECTIONS = ("Application",)
_TAKEN = lsf_keys(Application) | {"DESCRIPTION", "DEFAULT_HOST_SPEC"}


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
            take_plain(item, Application)
            put_requirement(item, shared, notes, f"application {name}")
            put_gpus(item, shared, notes, f"application {name}")
            put_limits(item, Application, limits, f"application {name}", problems)
            note_rest(notes, entry, "application", _TAKEN, f"application {name}")
            draft.add("applications", item)
