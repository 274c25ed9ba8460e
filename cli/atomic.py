"""Output files that are whole or not there at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ..model.errors import InputError, Problem


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A binary file that replaces `path` when the block ends well, and vanishes when it does not.

    Raises InputError if the file cannot be written.
    """
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
            os.chmod(name, 0o666 & ~_umask())
            os.replace(name, path)
        except BaseException:
            with suppress(FileNotFoundError):  # an interrupt may come once it has its place
                os.unlink(name)
            raise
    except OSError as error:
        reason = f"cannot be written: {error.strerror or error}"
        raise InputError([Problem(reason, str(path))]) from error


def _umask() -> int:
    """The process's mask; it can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
