"""How a file of SQLite begins, known without sqlalchemy."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ...model.confined import is_inside
from ...model.formats.reading import beginning

#: The first bytes of an SQLite file.
SQLITE_HEAD: Final = b"SQLite format 3\0"


def has_sqlite_head(path: Path) -> bool:
    """Return whether a regular file begins as an SQLite file does; it may not exist."""
    try:
        return is_inside(path) and path.is_file() and beginning(path, 16) == SQLITE_HEAD
    except OSError:
        return False
