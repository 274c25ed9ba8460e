"""Files of a folder that are not read, and why."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .values import Text

#: Reasons for which a file is not read.
EMPTY = "empty"
ARCHIVE = "an archive or a compressed file: unpack it in the folder"
BINARY = "not a text file"
UNKNOWN = "not the output of a known command"
COPY = "another file has the same listing"
SAYS_LESS = "a shorter form of a listing that another file has"
#: Reasons for which a listing in a file may have gone unread.
_UNREADABLE = frozenset({UNKNOWN, ARCHIVE, BINARY})
#: First characters of archives, as UTF-8 with replaced bytes.
_ARCHIVES = ("PK\x03\x04", "\x1f\ufffd", "\ufffd7zXZ", "BZh9", "(\ufffd/\ufffd")
#: Where a tar archive has its mark, and the mark.
_TAR_AT, _TAR = 257, "ustar"
#: Names in one sentence.
MAX_NAMES = 10


@dataclass(slots=True)
class IgnoredFiles:
    """Names of the files that are not read, by the reason."""

    #: Names by reason, both in the order in which they were found.
    names: dict[str, list[str]] = field(default_factory=dict)

    def add(self, source: str, reason: str) -> None:
        """Add a file. source: path, or name of the output."""
        self.names.setdefault(reason, []).append(Path(source).name)

    def readable(
        self, texts: Iterable[Text], has_no_listing: Callable[[str], bool]
    ) -> Iterator[Text]:
        """Yield the texts that may be listings, each content once; add the others.

        has_no_listing: whether a content is an answer such as "No jobs", which several commands
        print.
        """
        seen: set[str] = set()
        for text in texts:
            reason = COPY if text.content in seen else _why_unreadable(text.content)
            if reason == COPY and has_no_listing(text.content):
                continue
            if reason:
                self.add(text.source, reason)
            else:
                seen.add(text.content)
                yield text

    def may_have(self, listings: Collection[str]) -> list[str]:
        """Return a sentence for each file that may have had a listing, by the words of its name.

        listings: words in the names that people give to files with these listings.
        """
        return sorted(
            f"{name} is not read: {reason}"
            for reason in self.names.keys() & _UNREADABLE
            for name in self.names[reason]
            if not set(listings).isdisjoint(re.split(r"[^a-z]+", name.lower()))
        )

    def sentences(self) -> Iterator[str]:
        """Yield one sentence for each reason."""
        for reason, names in self.names.items():
            more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
            yield f"ignored {', '.join(names[:MAX_NAMES])}{more}: {reason}"


def _why_unreadable(content: str) -> str:
    """Return why no listing can be in this content, "" if one can."""
    if not content.strip():
        return EMPTY
    if content.startswith(_ARCHIVES) or content[_TAR_AT:].startswith(_TAR):
        return ARCHIVE
    return BINARY if "\0" in content[:4096] else ""
