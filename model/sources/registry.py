"""The file formats that commands read, one line each (CONTRIBUTING.md: a new file format)."""

from __future__ import annotations

from pathlib import Path

from ..formats.file_format import FileFormat
from ..formats.reading import kind_of

#: The name of the format of our own.
INSTANCE = "instance"


def file_formats() -> tuple[FileFormat, ...]:
    """Return all formats; the first that recognises a file reads it, so the least specific is
    last.
    """
    from ..formats.reader import InstanceFile
    from .trace import AcctLogFile, PoolSnapshot, SwfLogFile

    return (PoolSnapshot(), InstanceFile(), AcctLogFile(), SwfLogFile())


def whole_by_itself(path: Path) -> FileFormat | None:
    """Return the format of a file that is not an instance file but needs no options either.

    None for instance files, for logs, which need a moment or hosts, and for anything else.
    """
    if kind_of(path) == INSTANCE:
        return None
    found = next((item for item in file_formats() if item.recognises(path)), None)
    return found if found is not None and found.name != INSTANCE and not found.takes else None


def format_of(path: Path) -> FileFormat:
    """Return the format of a file; a text without any mark counts as the last one, an SWF log."""
    formats = file_formats()
    return next((item for item in formats if item.recognises(path)), formats[-1])
