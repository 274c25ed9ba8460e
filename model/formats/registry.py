"""The file formats that commands read, one line each (CONTRIBUTING.md: a new file format)."""

from __future__ import annotations

from pathlib import Path

from .file_format import FileFormat


def file_formats() -> tuple[FileFormat, ...]:
    """All formats; the first that recognises a file reads it, so the least telling comes last."""
    from .pool import PoolSnapshot
    from .reader import InstanceFile
    from .trace import AcctLogFile, SwfLogFile

    return (PoolSnapshot(), InstanceFile(), AcctLogFile(), SwfLogFile())


def format_of(path: Path) -> FileFormat:
    """The format of a file: a text without any mark is taken for the last one, an SWF log."""
    formats = file_formats()
    return next((item for item in formats if item.recognises(path)), formats[-1])
