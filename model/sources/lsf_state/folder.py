"""A folder of saved output of a cluster's commands, with any file names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ...confined import check_inside, is_inside
from ...errors import InputError, Problem, unreadable
from ...formats.reading import file_bytes, no_file, odd_kind
from ...formats.sniff import KINDS, kind_of_text
from .bjobs import is_of_arrays
from .facts import COMMANDS
from .ignored import SAYS_LESS, UNKNOWN, IgnoredFiles
from .values import Text, says_nothing

#: The kind of a text, by the option that takes it.
_OPTIONS = {
    **dict.fromkeys(("bhosts", "bhosts -gpu", "lshosts -gpu", "bhosts -s"), "bhosts"),
    "bjobs -A": "bjobs",
    **{kind: kind for kind in ("bjobs", "bqueues", "bhpart", "lsid")},
    **dict.fromkeys((*COMMANDS, "blimits -c", "bresources"), "facts"),
}
#: First line of blimits -c and bresources.
_LIMITS = re.compile(r"\s*(?:#.*\n\s*)*Begin\s+Limit\b")
#: Columns without which bjobs -json says less than bjobs -l.
_NEEDED = ("RUNTIMELIMIT", "SUBMIT_TIME")
#: A line of bjobs -l is broken before this column.
_BROKEN_AT = 90


def printed_in(folder: Path, ignored: IgnoredFiles) -> dict[str, list[Text]]:
    """Return the texts of a folder by option, the best form of each kind.

    All other files are added to `ignored`. Raises InputError if there is no folder or no such
    file.
    """
    best: dict[str, tuple[int, list[Text]]] = {}
    for text in ignored.readable(texts_in(folder), says_nothing):
        kind = kind_of_text(text.content[:65536]) or ""
        if kind == "configuration" and _LIMITS.match(text.content):
            kind = "blimits -c"
        if kind == "bjobs" and is_of_arrays(text):
            kind = "bjobs -A"
        if kind not in _OPTIONS:
            if kind or not says_nothing(text.content):
                ignored.add(text.source, _why_unread(kind))
            continue
        rank = _rank(kind, text)
        before = best.get(kind, (rank, []))
        kept, others = ([*before[1], text], []) if rank == before[0] else (before[1], [text])
        if rank > before[0]:
            kept, others = others, kept
        best[kind] = (max(rank, before[0]), kept)
        for other in others:
            ignored.add(other.source, SAYS_LESS)
    if "bresources -g -l" in best:
        for text in best.pop("bresources", (0, []))[1]:
            ignored.add(text.source, SAYS_LESS)
    found: dict[str, list[Text]] = {}
    for kind, (_, texts) in best.items():
        found.setdefault(_OPTIONS[kind], []).extend(texts)
    if not found:
        names = "bjobs, bhosts, bqueues or a similar command: save one there, such as bjobs.txt"
        raise InputError([Problem(f"has no file with the output of {names}", str(folder))])
    return found


def texts_in(folder: Path) -> Iterator[Text]:
    """Yield the files of a folder by name; raises InputError if it cannot be read."""
    check_inside(folder)
    try:
        paths = sorted(folder.iterdir())
    except OSError as error:
        raise unreadable(folder, error) from None
    for path in paths:
        # Folders are passed over, and links to nothing, by which editors lock files.
        if is_inside(path) and odd_kind(path) not in ("", "a folder", "a link to nothing"):
            raise no_file(path)
        if path.is_file():
            yield Text(file_bytes(path).decode("utf-8", errors="replace"), str(path))


def _why_unread(kind: str) -> str:
    """Return why a text of a kind that no option takes is not read."""
    if kind not in KINDS:
        return UNKNOWN
    use = KINDS[kind].instead or (KINDS[kind].use and f"`{KINDS[kind].use}` takes it")
    return ": ".join(filter(None, (KINDS[kind].text, use)))


def _rank(kind: str, text: Text) -> int:
    """Return the rank of a form of a kind: tables lowest, then long forms, JSON and -UF highest."""
    lines = text.content.splitlines()
    if kind == "bjobs" and text.is_json:
        return 3 if all(name in text.content for name in _NEEDED) else 0
    if kind == "bjobs":
        jobs = [line for line in lines if line.startswith("Job <")]
        return 2 if any(len(line) > _BROKEN_AT for line in jobs) else int(bool(jobs))
    if kind in ("bhosts", "bqueues"):
        return int(text.is_json or any(line.startswith(("HOST ", "QUEUE:")) for line in lines))
    if kind == "lshosts -T":  # bhosts -aff knows which processors jobs may be bound to
        return int(re.search(r"NUMA\[\d+: [^\]]*/", text.content) is not None)
    if kind == "bparams":
        return int("MBD_SLEEP_TIME =" in text.content)
    return 0
