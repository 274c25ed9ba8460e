"""Files of YAML or JSON as plain data, with nothing lost on the way and within the limits."""

from __future__ import annotations

import os
import stat
from errno import EACCES, EISDIR
from pathlib import Path
from typing import Any, BinaryIO

from ..confined import check_inside
from ..errors import InputError, Problem, unreadable
from ..input_limits import limits
from . import raw

#: Bytes that are read at a time.
_PART = 2**20


def file_content(path: Path) -> tuple[bytes, str | None]:
    """What is in a file, and its format by its suffix: "json", "yaml" or None for unknown.

    Raises InputError where it cannot be read, or has more bytes than are read.
    """
    suffix = path.suffix.lower()
    return file_bytes(path), {".json": "json", ".yaml": "yaml", ".yml": "yaml"}.get(suffix)


def file_bytes(path: Path, source: str = "") -> bytes:
    """What is in a file, a device that never ends too; messages call it `source`.

    Raises InputError where it cannot be read, or has more bytes than are read.
    """
    check_inside(path, source)
    try:
        with path.open("rb") as file:
            data = _read(file, limits().text + 1)
    except (OSError, ValueError) as error:
        raise unreadable(source or path, error) from None
    check_length(data, source or str(path))
    return data


def with_script(entry: Any, folder: Path) -> Any:
    """A job's entry whose script counts from the folder of the file that it stands in."""
    name = entry.get("script") if isinstance(entry, dict) else None
    return entry | {"script": str(folder / name)} if isinstance(name, str) and name else entry


def _read(file: BinaryIO, most: int) -> bytes:
    """At most so many bytes; asked for at once, room would be made for all of them."""
    parts: list[bytes] = []
    while most and (part := file.read(min(most, _PART))):
        parts.append(part)
        most -= len(part)
    return b"".join(parts)


def check_readable(path: Path) -> None:
    """InputError where the system would not open a file; what can be read but once is untouched."""
    check_inside(path)
    try:
        if stat.S_ISDIR(os.stat(path).st_mode):
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
        if not os.access(path, os.R_OK):
            raise PermissionError(EACCES, os.strerror(EACCES))
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None


def is_pipe(path: Path) -> bool:
    """Whether what is looked at there is gone for whoever reads it next."""
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def check_length(text: str | bytes, source: str) -> None:
    """InputError where a text is beyond the limit."""
    if len(text) > limits().text:
        message = f"has more than {limits().text:,} bytes (--max-text)"
        raise InputError([Problem(message, source)])


def plain_data(text: str | bytes, source: str, format: str | None) -> tuple[Any, str]:
    """The data of a text, and the text; bytes are taken for UTF-8; format: None for "look at it".

    Raises InputError for what is no YAML or JSON, or beyond the limits.
    """
    check_length(text, source)
    if isinstance(text, bytes):
        text = _decoded(text, source)
    elif not text.isascii():
        _decoded(text.encode("utf-8", "surrogatepass"), source)
    json_text = raw.is_json(text) if format is None else format == "json"
    try:
        return raw.parse(text, source, json_text=json_text), text
    except InputError:
        copied = text if json_text else raw.as_copied(text)
        if copied == text:
            raise
        return raw.parse(copied, source, json_text=False), copied


def _decoded(data: bytes, source: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = Problem(f"is not UTF-8 text (byte {error.start})", source)
        raise InputError([problem]) from None
