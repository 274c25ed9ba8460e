"""lsb.resources: limits, and how each resource is reserved."""

from __future__ import annotations

from collections.abc import Iterable

from .draft import Draft, Item, Mark
from .notes import Notes
from .sections import LsfEntry, LsfSection, entries
from .source import Problems

SECTIONS = (
    "Limit",
    "ReservationUsage",
    "GuaranteedResourcePool",
    "ResourceReservation",
    "HostExport",
    "SharedResourceExport",
)
_AMOUNTS = ("SLOTS", "SLOTS_PER_PROCESSOR", "JOBS", "MEM", "SWP", "TMP", "RESOURCE", "LICENSE")
_SCOPES = (
    ["USERS", "PER_USER", "QUEUES", "PER_QUEUE", "HOSTS", "PER_HOST", "PROJECTS", "PER_PROJECT"]
)  # fmt: skip
_TAKEN = frozenset(["NAME", *_AMOUNTS, *_SCOPES])
_METHODS = ("PER_JOB", "PER_HOST", "PER_SLOT")
#: Names of LSF 10.1 for the same.
_SAME = {"PER_TASK": "PER_SLOT"}


def read_resources(
    sections: Iterable[LsfSection], draft: Draft, notes: Notes, problems: Problems
) -> None:
    """Limits and ReservationUsage into the document."""
    unnamed = 0
    for section in sections:
        if section.name == "Limit":
            for entry in entries(section, problems):
                name = entry.text("NAME") or f"NONAME{unnamed:03d}"
                unnamed += not entry.text("NAME")
                _limit(name, entry, draft, notes)
        elif section.name == "ReservationUsage":
            for entry in entries(section, problems, table=True):
                _usage(entry, draft, notes, problems)
        else:
            reason = "LSF sets resources aside by it; here none are"
            notes.may_differ(section.name, reason, notes.at(section.place))


def _limit(name: str, entry: LsfEntry, draft: Draft, notes: Notes) -> None:
    """A limit whose scope or amount is not modelled is left out whole: it would bind too many."""
    for parameter, value in entry.values.items():
        key = entry.keys[parameter]
        if parameter not in _TAKEN:
            _left_out(f"{key} in limits", name, notes)
            return
        if parameter in _AMOUNTS and "%" in value.text:
            _left_out(f"{key} in percent", name, notes)
            return
    item = Item(entry)
    item.put("name", name, "NAME")
    for key in ("SLOTS", "SLOTS_PER_PROCESSOR", "JOBS", "MEM", "SWP", "TMP"):
        item.take(key)
    for key in _SCOPES:
        item.take(key, plain=False)
    for parameter in ("RESOURCE", "LICENSE"):
        if text := entry.text(parameter):
            bare = text[1:-1] if text.startswith("(") and text.endswith(")") else text
            item.put("RESOURCE", bare, parameter)
    draft.add("limits", item)


def _left_out(topic: str, name: str, notes: Notes) -> None:
    notes.may_differ(topic, "it is not modelled, and the limit is left out", f"limit {name}")


def _usage(entry: LsfEntry, draft: Draft, notes: Notes, problems: Problems) -> None:
    name, method = entry.text("RESOURCE"), entry.text("METHOD").upper()
    if reserve := entry.text("RESERVE"):
        reason = "held resources of pending jobs: only slots and memory are held here"
        if reserve.upper() in ("Y", "YES"):
            notes.may_differ("RESERVE in ReservationUsage", reason, name)
    if not method:
        return
    method = _SAME.get(method, method)
    label = "ReservationUsage.METHOD"
    if method not in _METHODS:
        message = f"must be PER_JOB, PER_HOST, PER_SLOT or PER_TASK, not {entry.text('METHOD')!r}"
        problems.add(entry.at("METHOD"), message, label)
    elif name in draft.document.get("reservation_usage", {}):
        problems.add(entry.place, f"{name} is already defined", "ReservationUsage.RESOURCE")
    else:
        draft.put("reservation_usage", name, method, Mark(entry.place, "ReservationUsage.RESOURCE"))
