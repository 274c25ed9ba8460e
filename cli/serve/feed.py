"""The Atom feed of moved starts."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from xml.etree.ElementTree import Element, SubElement, tostring

from ...model.display import iso_time
from ...model.escaping import printable
from .answers import moved_record
from .polls import zero_of

if TYPE_CHECKING:
    from .access import Viewer
    from .board import BoardState, PlannedRow, RowChange

#: Maximum number of entries.
MAX_ENTRIES = 100
#: Content type of a feed.
ATOM = "application/atom+xml"
#: Second 0 of an instance without dates.
_NO_DATE = "1970-01-01T00:00:00+00:00"


def feed_record(
    state: BoardState, head: dict[str, Any], viewer: Viewer, only: Mapping[str, str]
) -> dict[str, Any]:
    """Return the last moved starts, the latest first. only: values that columns must have."""
    polled = state.polled
    if polled is None:
        return {"state": head, "now": _NO_DATE, "moved": []}
    origin = polled.instance.origin or _NO_DATE

    def moves() -> Iterator[tuple[int, str, PlannedRow, int | None, RowChange]]:
        waiting = (row.planned for row in state.rows if row.planned is not None)
        for row in (*waiting, *state.left.values()):
            listed = row.listed
            chosen = all(getattr(listed, name) == value for name, value in only.items())
            for move in row.moves if chosen and viewer.sees(listed.user) else ():
                if move.change is not None and move.change.is_move:
                    yield move.at, listed.job, row, move.as_configured, move.change

    latest = heapq.nlargest(MAX_ENTRIES, moves(), key=lambda item: item[:2])
    moved = []
    for at, _, row, start, change in latest:
        record = moved_record(row, start, change, polled.instance)
        stamp = iso_time(origin, at - zero_of(polled.instance))
        moved.append({**record, "updated": stamp})
    return {"state": head, "now": iso_time(origin, polled.instance.now), "moved": moved}


def atom(record: Mapping[str, Any]) -> bytes:
    """Return the feed of a record as XML."""
    source, moved = record["state"]["source"], record["moved"]
    feed = Element("feed", xmlns="http://www.w3.org/2005/Atom")
    of_source = f"urn:slotwise:{quote(source, safe='')}"
    updated = moved[0]["updated"] if moved else record["now"]
    _texts(feed, title=f"Moved starts, {source}", id=of_source, updated=updated)
    SubElement(SubElement(feed, "author"), "name").text = "slotwise"
    SubElement(feed, "link", rel="self", type=ATOM, href="feed.atom")
    SubElement(feed, "link", rel="alternate", type="text/html", href="./")
    for item in moved:
        entry, job = SubElement(feed, "entry"), quote(item["job"], safe="")
        _texts(
            entry,
            title=f"{item['job']}: {item['text']}",
            id=f"{of_source}:{job}:{item['updated']}",
            updated=item["updated"],
            summary=f"Start as configured: {_start(item, 'as_configured')}, before "
            f"{_start(item, 'before')}. User {item['user']}, queue {item['queue']}, "
            f"slots {item['slots']}.",
        )
        SubElement(entry, "link", href=f"job/{job}")
    return b'<?xml version="1.0" encoding="utf-8"?>\n' + tostring(feed)


def _texts(parent: Element, **texts: str) -> None:
    """Add elements with texts; a character that XML cannot have is escaped."""
    for name, text in texts.items():
        SubElement(parent, name).text = printable(text)


def _start(item: Mapping[str, Any], name: str) -> str:
    """Return a start as a stamp, or as a short text without dates."""
    return item.get(f"{name}_time") or item.get(f"{name}_text") or "unknown"
