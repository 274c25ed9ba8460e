"""One folder outside which no file is read or written, for those who take the files of others.

The folder in force belongs to the context (thread or task)::

    with confined(Path("uploads/7")):
        instance = load("uploads/7/site.yaml")
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from pathlib import Path

from .errors import InputError, Problem
from .input_limits import within

#: Files that come with Slotwise may always be read.
_SHIPPED = os.path.realpath(os.path.join(os.path.dirname(__file__), os.pardir, "instances"))
#: The folder as given, and the real folders in which files may lie; None: no restriction.
_FOLDERS: ContextVar[tuple[str, tuple[str, ...]] | None] = ContextVar("confined", default=None)


@contextmanager
def confined(folder: Path | None) -> Iterator[None]:
    """Refuse all files outside `folder` within the block; None changes nothing.

    Raises InputError if it is not a folder.
    """
    if folder is None:
        yield
        return
    check_inside(folder)
    if not os.path.isdir(folder):
        raise InputError(
            [Problem("is not a folder (--confine): give an existing folder", str(folder))]
        )
    with within(_FOLDERS, (str(folder), (os.path.realpath(folder), _SHIPPED))):
        yield


def also_in(folder: Path) -> AbstractContextManager[None]:
    """Allow a temporary folder in addition, within the block."""
    before = _FOLDERS.get()
    return within(_FOLDERS, before and (before[0], (*before[1], os.path.realpath(folder))))


def is_inside(path: str | Path) -> bool:
    """Return whether a file may be read and written; symbolic links are followed."""
    found = _FOLDERS.get()
    if found is None:
        return True
    real = os.path.realpath(path)
    return any(os.path.commonpath((real, folder)) == folder for folder in found[1])


def check_inside(path: str | Path, source: str = "") -> None:
    """Raise InputError for a file outside the folder, existing or not.

    source: the name of the file in messages.
    """
    found = _FOLDERS.get()
    if found is not None and not is_inside(path):
        raise InputError(
            [Problem(f"is outside {found[0]} (--confine): use a path inside", source or str(path))]
        )
