"""A folder of saved output of a cluster's commands, with any file names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...confined import check_inside, is_inside
from ...errors import InputError, unreadable
from ...formats.reading import KINDS, file_bytes, kind_of_text, no_file, odd_kind
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
#: Listings of which a shorter form may name what the best one does not.
_MERGED = frozenset({"bjobs", "bhosts", "bqueues"})
#: Commands whose words are in the names that people give to files with what they printed.
_NAMES = frozenset(
    {name.split()[0] for name in COMMANDS} | {"bjobs", "bhosts", "bqueues", "bhpart", "bresources"}
)
#: Files of the configuration, which say what no command prints.
_CONFIGURATION = frozenset({"configuration", "lsf.conf"})


@dataclass(frozen=True, slots=True)
class PrintedFolder:
    """Texts of a folder."""

    #: Texts by option, the best form of each kind.
    best: Mapping[str, Sequence[Text]]
    #: Shorter forms of bjobs, bhosts and bqueues by option, best first.
    shorter: Mapping[str, Sequence[Text]] = field(default_factory=dict)
    #: Sentences about unread files that may say what no other file does.
    unread: Sequence[str] = ()
    #: Likewise for files of the configuration.
    configuration: Sequence[str] = ()


class NoListingError(InputError):
    """Nothing in a folder is the output of a command of LSF."""


def printed_in(folder: Path, ignored: IgnoredFiles) -> PrintedFolder:
    """Return the texts of a folder.

    Files that are not read are added to `ignored`. Raises InputError if there is no folder,
    NoListingError if no file has the output of a command.
    """
    ranked: dict[str, dict[int, list[Text]]] = {}
    configuration = []
    for text in ignored.readable(texts_in(folder), says_nothing):
        kind = _kind(text)
        if kind in _OPTIONS:
            ranked.setdefault(kind, {}).setdefault(_rank(kind, text), []).append(text)
        elif kind or not says_nothing(text.content):
            ignored.add(text.source, _why_unread(kind))
        if kind in _CONFIGURATION:
            configuration.append(f"{Path(text.source).name} is not read: {_why_unread(kind)}")
    found: dict[str, list[Text]] = {}
    shorter: dict[str, list[Text]] = {}
    if "bresources -g -l" in ranked and "bresources" in ranked:
        ranked["bresources -g -l"] |= {-1: ranked.pop("bresources")[0]}
    for kind, forms in ranked.items():
        best, *ranks = sorted(forms, reverse=True)
        found.setdefault(_OPTIONS[kind], []).extend(forms[best])
        others = [text for rank in ranks for text in forms[rank]]
        if kind in _MERGED:
            shorter[kind] = others
        else:
            for text in others:
                ignored.add(text.source, SAYS_LESS)
    if not found:
        raise NoListingError("has no file with the output of bjobs, bhosts or bqueues")
    return PrintedFolder(found, shorter, ignored.may_have(_NAMES), configuration)


def _kind(text: Text) -> str:
    """Return the kind of a text, "" if unknown."""
    kind = kind_of_text(text.content[:65536])
    if kind == "configuration" and _LIMITS.match(text.content):
        return "blimits -c"
    return "bjobs -A" if kind == "bjobs" and is_of_arrays(text) else kind


def texts_in(folder: Path) -> Iterator[Text]:
    """Yield the files of a folder by name; raises InputError if it cannot be read."""
    check_inside(folder)
    try:
        paths = sorted(folder.iterdir())
    except OSError as error:
        raise unreadable(folder, error) from None
    for path in paths:
        # Folders are passed over, and links to nothing, by which editors lock files.
        if is_inside(path) and odd_kind(path) not in ("", "a folder", "a broken link"):
            raise no_file(path)
        if path.is_file():
            yield Text(file_bytes(path).decode("utf-8", errors="replace"), str(path))


def _why_unread(kind: str) -> str:
    """Return why a text of a kind that no option takes is not read."""
    if kind not in KINDS:
        return UNKNOWN
    use = KINDS[kind].instead or (KINDS[kind].use and f"`{KINDS[kind].use}` reads it")
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
