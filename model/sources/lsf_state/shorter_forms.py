"""Shorter forms of a listing, given together with the best one: what only they name is kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from ...display import some
from ...errors import InputError
from .bhosts import SeenHost, read_bhosts
from .bjobs import SeenJob, read_bjobs
from .bqueues import SeenQueue, read_bqueues
from .ignored import SAYS_LESS, IgnoredFiles
from .seen import Seen
from .values import PrintedTimes, Remarks, Text

Item = TypeVar("Item", SeenJob, SeenHost, SeenQueue)

#: The id in a row of a table of bjobs whose job waits or runs.
_ROW = re.compile(
    r"^\s*(\d{1,18}(?:\[\d{1,10}\])?)\s.*?\b(?:PEND|PSUSP|RUN|[SU]SUSP|UNKWN|WAIT)\s", re.MULTILINE
)


def with_shorter_forms(
    seen: Seen, shorter: Mapping[str, Sequence[Text]], calendar: PrintedTimes
) -> Seen:
    """Return the listings with the jobs, hosts and queues that only a shorter form names."""
    ignored = IgnoredFiles()
    jobs = _more(
        shorter.get("bjobs", ()),
        {job.id for job in seen.jobs},
        lambda text, notes: read_bjobs(text, calendar, notes),
        lambda job: job.id,
        seen.notes,
        ignored,
    )
    hosts = _more(
        shorter.get("bhosts", ()),
        {host.name for host in seen.hosts or ()},
        read_bhosts,
        lambda host: host.name,
        seen.notes,
        ignored,
    )
    queues = _more(
        shorter.get("bqueues", ()),
        {queue.name for queue in seen.queues or ()},
        read_bqueues,
        lambda queue: queue.name,
        seen.notes,
        ignored,
    )
    seen.notes += ignored.sentences()
    return replace(
        seen,
        jobs=[*seen.jobs, *jobs],
        hosts=[*seen.hosts, *hosts] if seen.hosts is not None else None,
        queues=[*seen.queues, *queues] if seen.queues is not None else None,
    )


def _more(
    texts: Sequence[Text],
    known: set[str],
    reader: Callable[[Text, Remarks], list[Item]],
    name_of: Callable[[Item], str],
    notes: Remarks,
    ignored: IgnoredFiles,
) -> list[Item]:
    """Return what the texts list beyond the known names; add these to the known ones, and texts
    without more to the ignored files.
    """
    found: list[Item] = []
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
