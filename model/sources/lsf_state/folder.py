"""A folder of saved output of a cluster's commands, with any file names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...confined import check_inside, is_inside
from ...errors import InputError, Problem, unreadable
from ...formats.reading import file_bytes, no_file, odd_kind
from ...formats.sniff import KINDS, kind_of_text
from .bjobs import is_of_arrays
from .facts import COMMANDS
from .values import Remarks, Text, says_nothing

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


#: Listings of which a lesser form may name what the best one does not.
_MERGED = frozenset({"bjobs", "bhosts", "bqueues"})
#: Commands by which people name the files with what they printed.
_NAMES = frozenset(
    {name.split()[0] for name in COMMANDS} | {"bjobs", "bhosts", "bqueues", "bhpart", "bresources"}
)
#: Kinds that commands of Slotwise itself write.
_OWN = frozenset({"instance", "changes", "plan"})
#: Files of the configuration, which tell what no command prints.
_CONFIGURATION = frozenset({"configuration", "lsf.conf"})


@dataclass(frozen=True, slots=True)
class Unread:
    """A file of a folder that is not read."""

    #: Name of the file.
    name: str
    #: Kind of the file, "" if it is like none that is known.
    kind: str

    @property
    def changes_answers(self) -> bool:
        """Return whether it may say something that no other file of the folder does."""
        return self.kind in _CONFIGURATION or (not self.kind and self.is_named_by_a_command)

    @property
    def is_named_by_a_command(self) -> bool:
        """Return whether the name begins with that of a command whose output is read."""
        return re.split(r"[^a-z]", self.name.lower())[0] in _NAMES

    @property
    def text(self) -> str:
        """Return why it is not read, and what reads it."""
        if not self.kind:
            return f"{self.name} is not read: it is like no listing that is known"
        kind = KINDS[self.kind]
        if kind.instead:
            return f"{self.name} is not read: it is {kind.text}, which tells {kind.instead}"
        site = ", then --site" if self.kind in _CONFIGURATION else ""
        return f"{self.name} is not read: it is {kind.text}: `{kind.use}` takes it{site}"


@dataclass(frozen=True, slots=True)
class PrintedFolder:
    """Texts of a folder."""

    #: Texts by option, the best form of each kind.
    best: Mapping[str, Sequence[Text]]
    #: Further forms of bjobs, bhosts and bqueues by option, best first.
    lesser: Mapping[str, Sequence[Text]] = field(default_factory=dict)
    #: Files that are not read.
    unread: Sequence[Unread] = ()


def tell_unread(unread: Sequence[Unread], notes: Remarks, *, with_site: bool) -> None:
    """Note the files that are not read; with_site: a site has what configuration files say."""
    others = []
    for item in unread:
        if item.changes_answers and not (with_site and item.kind in _CONFIGURATION):
            notes.touch(item.text)
        elif item.kind:
            notes.append(item.text)
        else:
            others.append(item.name)
    if others:
        more = f" and {len(others) - 3} more files" if len(others) > 3 else ""
        names = f"{', '.join(others[:3])}{more}"
        notes.append(f"not read, as like no listing that is known: {names}")


def printed_in(folder: Path) -> PrintedFolder:
    """Return the texts of a folder; raises InputError if no command printed any of them."""
    ranked: dict[str, dict[int, list[Text]]] = {}
    unread = []
    for text in texts_in(folder):
        kind = _kind(text)
        if kind in _OPTIONS:
            ranked.setdefault(kind, {}).setdefault(_rank(kind, text), []).append(text)
        elif kind not in _OWN and not says_nothing(text.content):
            name = Path(text.source).name
            unread += [] if name.startswith(".") else [Unread(name, kind)]
    if "bresources -g -l" in ranked:
        ranked.pop("bresources", None)
    found: dict[str, list[Text]] = {}
    lesser: dict[str, list[Text]] = {}
    for kind, forms in ranked.items():
        best, *others = sorted(forms, reverse=True)
        found.setdefault(_OPTIONS[kind], []).extend(forms[best])
        if kind in _MERGED:
            lesser[kind] = [text for rank in others for text in forms[rank]]
    if not found:
        names = "bjobs, bhosts, bqueues or a similar command: save one there, such as bjobs.txt"
        raise InputError([Problem(f"has no file with the output of {names}", str(folder))])
    return PrintedFolder(found, lesser, unread)


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
        if is_inside(path) and odd_kind(path) not in ("", "a folder", "a link to nothing"):
            raise no_file(path)
        if path.is_file():
            yield Text(file_bytes(path).decode("utf-8", errors="replace"), str(path))


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
