"""Opening a store from a command; without the extra `serve`, a message instead of a traceback."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from ...model.errors import InputError

if TYPE_CHECKING:
    from .store import Store


#: The first bytes of an SQLite file.
SQLITE_HEAD: Final = b"SQLite format 3\0"


def has_sqlite_head(path: Path) -> bool:
    """Return whether a regular file begins as an SQLite file does; it may not exist."""
    from ...model.confined import is_inside
    from ...model.formats.reading import beginning

    try:
        return is_inside(path) and path.is_file() and beginning(path, 16) == SQLITE_HEAD
    except OSError:
        return False


def opened_store(target: str | Path) -> Store:
    """Return an existing store; raise InputError as :meth:`Store.open` does, or without sqlalchemy.

    target: a file or the URL of a database.
    """
    try:
        from .store import Store
    except ModuleNotFoundError as error:
        if error.name != "sqlalchemy":
            raise
        needs = "a store needs the package sqlalchemy, which is not installed"
        raise InputError(f"{needs}: pip install 'slotwise[serve]'") from None
    return Store.open(target, create=False)
