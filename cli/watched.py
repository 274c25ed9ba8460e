"""A source of the cluster's state that is read again and again, and one job of it explained."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from ..model.errors import Problem
    from ..model.instance import Instance
    from ..model.progress import OnProgress
    from ..solver.advice.explain import Explanation

#: Reads the state of the cluster, with warnings; raises InputError and OSError.
StateReader: TypeAlias = Callable[[], tuple["Instance", Sequence["Problem"]]]


#: Up to this many running and pending jobs, changes of the configuration are tried by default.
MAX_JOBS = 2000


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


def explained(
    instance: Instance,
    job: str,
    time_limit: float | None,
    cancel: threading.Event,
    on_progress: OnProgress | None = None,
) -> Explanation:
    """Return the explanation, as `slotwise explain` prints it."""
    from ..solver.advice.explain import explain

    return explain(
        instance,
        job,
        time_limit=time_limit,
        configuration=is_small(instance),
        cancel=cancel,
        on_progress=on_progress,
    )


def is_small(instance: Instance) -> bool:
    """Whether changes of the configuration are tried unasked."""
    return len(instance.running) + len(instance.pending) <= MAX_JOBS
