"""Shorter forms of a listing, given together with the best one: what only they name is kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any

from ...display import some
from ...errors import InputError
from .bhosts import read_bhosts
from .bjobs import read_bjobs
from .bqueues import read_bqueues
from .ignored import SAYS_LESS, IgnoredFiles
from .seen import Seen
from .values import PrintedTimes, Remarks, Text

#: The id in a row of a table of bjobs whose job waits or runs.
_ROW = re.compile(
    r"^\s*(\d{1,18}(?:\[\d{1,10}\])?)\s.*?\b(?:PEND|PSUSP|RUN|[SU]SUSP|UNKWN|WAIT)\s", re.MULTILINE
)


def with_shorter_forms(
    seen: Seen, shorter: Mapping[str, Sequence[Text]], calendar: PrintedTimes
) -> Seen:
    """Return the listings with the jobs, hosts and queues that only a shorter form names."""
    ignored = IgnoredFiles()
    readers: dict[str, tuple[str, str, Callable[[Text, Remarks], list[Any]]]] = {
        "jobs": ("bjobs", "id", lambda text, notes: read_bjobs(text, calendar, notes)),
        "hosts": ("bhosts", "name", read_bhosts),
        "queues": ("bqueues", "name", read_bqueues),
    }
    found: dict[str, Any] = {}
    for field, (command, key, read) in readers.items():
        listed = getattr(seen, field)
        name_of = attrgetter(key)
        known = set(map(name_of, listed or ()))
        more = _more(shorter.get(command, ()), known, read, name_of, seen.notes, ignored)
        found[field] = None if listed is None else [*listed, *more]
    seen.notes += ignored.sentences()
    return replace(seen, **found)


def _more(
    texts: Sequence[Text],
    known: set[str],
    reader: Callable[[Text, Remarks], list[Any]],
    name_of: Callable[[Any], str],
    notes: Remarks,
    ignored: IgnoredFiles,
) -> list[Any]:
    """Return what the texts list beyond the known names; add these to the known ones, and texts
    without more to the ignored files.
    """
    found: list[Any] = []
    for text in texts:
        own = Remarks()
        file = Path(text.source).name
        try:
            new = [item for item in reader(text, own) if name_of(item) not in known]
        except InputError:
            new = []
            _tell_rows(text, file, known, notes)
        if not new:
            ignored.add(text.source, SAYS_LESS)
            continue
        names = [name_of(item) for item in new]
        notes.append(f"only {file} lists {some(names)}: that file is used")
        notes += own
        notes.omissions += own.omissions
        found += new
        known.update(names)
    return found


def _tell_rows(text: Text, file: str, known: Collection[str], notes: Remarks) -> None:
    """Note the jobs of a table of bjobs that no other form has."""
    missing = [id for id in dict.fromkeys(_ROW.findall(text.content)) if id not in known]
    if missing:
        notes.touch(
            f"only {file} lists job{'s' * (len(missing) > 1)} {some(missing)}, in a form that "
            "has no requirements: omitted (give bjobs -u all -l, -UF or -json -o '…')",
            count=len(missing),
        )
