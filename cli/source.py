"""The instance that a command is about: a file, a shipped example, or the cluster as it is now."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ..model.confined import is_inside
from ..model.errors import InputError, Problem
from .declare import argument, option
from .options import (
    MANY_JOBS,
    collected_notes,
    example_names,
    print_note,
    read_source,
    read_with_warnings,
)
from .process import left_of
from .scheduler import TIMEOUT, Asking

if TYPE_CHECKING:
    from ..model.instance import Instance

#: Said where a command has no instance, or two.
WANTED = (
    "give an instance file or --example NAME (`slotwise examples` lists them), or --cluster for "
    "the cluster of this machine"
)
#: Name of this machine's cluster in answers.
LIVE = "this cluster"
#: How the names of instance files end.
INSTANCES = (".yaml", ".yml", ".json")
#: The switch for a bare --cluster if --cluster FILE exists too (cli/panels.py).
LIVE_ALONE = option(False, "", "--cluster-now", hidden=True)


@dataclass(frozen=True, slots=True)
class Source:
    """The instance that a command is about."""

    file: Path | None = argument(
        None,
        "Instance file, or folder with the scheduler's output; - for standard input.",
        show_default=False,
    )
    example: str | None = option(
        None,
        "A bundled example instead of a file; see `slotwise examples`.",
        autocompletion=example_names,
    )
    live: bool = option(
        False,
        "Use the cluster of this machine instead of a file: runs its scheduler's commands.",
        "--cluster",
    )
    timeout: float | None = option(
        None,
        "With --cluster: seconds to wait for each of the scheduler's commands; default 120.",
        min=1.0,
    )

    @property
    def name(self) -> str:
        """Return the name of the input as given."""
        return LIVE if self.live else self.example or str(self.file)

    @property
    def is_given(self) -> bool:
        """Whether anything says which instance."""
        return self.live or self.file is not None or self.example is not None

    def read(self, time_limit: float | None = None) -> Instance:
        """Return the instance; warnings go to stderr. A large one stays until the process ends.

        time_limit: seconds of the whole command. Raises InputError if none or several are
        given, or the instance is bad.
        """
        from ..model.compact import never_free

        found = self.read_now(time_limit) if self.is_printed else read_source(self.path())
        if len(found.running) + len(found.pending) >= MANY_JOBS:
            never_free(found)
        return found

    def read_now(self, time_limit: float | None = None) -> Instance:
        """Return the state that a scheduler reports: that of this machine, or in a folder."""
        from .import_snapshot import BALANCE, Listings
        from .importer import cluster_now, printed_instance

        timeout = self.timeout or TIMEOUT
        left = left_of(time_limit)
        notes: list[str] = []
        try:
            with collected_notes(notes):
                if not self.is_live:
                    return printed_instance(Listings(folder=self.path()))
                return cluster_now(Asking(min(timeout, left) if left else timeout))
        finally:
            for note in notes:
                if not note.startswith(BALANCE):
                    print_note(note)

    @property
    def is_live(self) -> bool:
        """Whether the scheduler is asked; InputError where something else is given as well."""
        if self.live and (self.file is not None or self.example is not None):
            other = f"--example {self.example}" if self.file is None else str(self.file)
            wrong = f"asks the scheduler of this machine: remove {other}"
            raise InputError([Problem(wrong, "--cluster")])
        if self.timeout is not None and not self.live:
            raise InputError([Problem("needs a live scheduler: give --cluster", "--timeout")])
        return self.live

    @property
    def is_printed(self) -> bool:
        """Whether the state is what a scheduler's commands print, now or into a folder."""
        if self.is_live:
            return True
        path = self.path()
        return is_inside(path) and os.path.isdir(path)  # False for a name that is too long

    def read_with_warnings(self) -> tuple[Instance, Sequence[Problem]]:
        """Return the result of :meth:`read`, with the warnings as data."""
        if not self.is_printed:
            return read_with_warnings(self.path())
        notes: list[str] = []
        with collected_notes(notes):
            instance = self.read_now()
        return instance, [Problem(text) for text in notes]

    @property
    def watched(self) -> Path | None:
        """Return the file that may change, None if it is not a file."""
        return None if self.is_live else self.path()

    def path(self, wanted: str = WANTED) -> Path:
        """Return the file, or that of an example; raise InputError for none or two of them."""
        from ..instances import example as example_path

        if self.file is not None and self.example is not None:
            wrong = f"is already the instance: remove {self.file}"
            raise InputError([Problem(wrong, f"--example {self.example}")])
        if self.file is None and self.example is None:
            raise InputError(wanted)
        return example_path(self.example) if self.file is None else self.file  # type: ignore[arg-type]

    def behind_file(
        self, words: Sequence[str], most: int | None = None
    ) -> tuple[Source, list[str]]:
        """Return the source with its file from the first word, and the words behind that.

        There is no file among them where an example or --cluster is given, unless they are more
        than `most`, or the first has the name of an instance file that is there.
        """
        rest = list(words)
        named = self.example is not None or self.live
        too_many = most is not None and len(rest) > most
        if rest and (not named or too_many or (self.live and _is_instance(rest[0]))):
            return replace(self, file=Path(rest[0])), rest[1:]
        return self, rest


def _is_instance(word: str) -> bool:
    return word.endswith(INSTANCES) and os.path.exists(word)


#: Reads the state of the cluster, with warnings; raises InputError and OSError.
StateReader: TypeAlias = Callable[[], tuple["Instance", Sequence["Problem"]]]


@dataclass(frozen=True, slots=True)
class WatchedSource:
    """A source of the cluster's state, and the file behind it."""

    read: StateReader
    #: Name of the source on the page.
    title: str
    #: The file that is watched; None if none is.
    file: Path | None = None

    def stamp(self) -> tuple[int, ...]:
        """Return a stamp of the file, which differs once the file has changed."""
        if self.file is None:
            return ()
        try:
            found = self.file.stat()
        except OSError:
            return (0,)
        return found.st_mtime_ns, found.st_size, found.st_ino
