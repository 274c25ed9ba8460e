"""Opening a store from a command; without the extra `serve`, a message instead of a traceback."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...model.errors import InputError, missing_package

if TYPE_CHECKING:
    from .store import Store


def opened_store(target: str | Path) -> Store:
    """Return an existing store; raise InputError as :meth:`Store.open` does, or without sqlalchemy.

    target: a file or the URL of a database.
    """
    try:
        from .store import Store
    except ModuleNotFoundError as error:
        if error.name != "sqlalchemy":
            raise
        raise InputError(missing_package("sqlalchemy", "a store", "serve")) from None
    return Store.open(target, create=False)
