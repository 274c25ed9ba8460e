"""Requests of the page to the planner: the jobs of a file, and why one of them waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, TypeAlias, TypeVar

from ...model.errors import report
from .jobs import Listing, listing_of

if TYPE_CHECKING:
    from ...model.errors import Problem
    from ...model.instance import Instance
    from ...solver.advice.explain import Explanation

R = TypeVar("R")
#: Reads the state of the cluster, with warnings; raises InputError and OSError.
Source: TypeAlias = Callable[[], tuple["Instance", Sequence["Problem"]]]


@dataclass(frozen=True, slots=True)
class TopSource:
    """Source of the cluster's state."""

    read: Source
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


def listed(
    source: TopSource, time_limit: Callable[[], float | None], cancel: threading.Event
) -> Listing:
    """Read the state and plan it.

    time_limit: gives the wall seconds of simulation and plan together, once the state is read.
    """
    from ...solver.outlook.outlook import outlook

    instance, warnings = source.read()
    found = outlook(instance, time_limit=time_limit(), cancel=cancel)
    return listing_of(instance, found, report(warnings))


def explained(
    instance: Instance, job: str, time_limit: float | None, cancel: threading.Event
) -> Explanation:
    """Return the explanation, as `slotwise explain` prints it."""
    from ...solver.advice.explain import explain
    from ..explain import is_small

    return explain(
        instance, job, time_limit=time_limit, configuration=is_small(instance), cancel=cancel
    )


@dataclass(frozen=True, slots=True)
class Task(Generic[R]):
    """A call that runs in the background."""

    future: Future[R]
    #: Tells it to stop with what there is.
    cancel: threading.Event


class Background:
    """Calls in threads of their own, in this context. Use as a context manager.

    What still runs at the end is stopped.
    """

    def __init__(self, done: Callable[[], None]) -> None:
        """Create the worker. done: called, in any thread, when a call is done."""
        self._done = done
        self._threads = ThreadPoolExecutor(4, "slotwise top")
        self._tasks: list[Task[Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel.set()
        self._threads.shutdown(cancel_futures=True)

    def begin(self, call: Callable[[threading.Event], R]) -> Task[R]:
        """Begin a call, which gets the event that stops it; the result comes when it is there."""
        cancel = threading.Event()
        task = Task(self._threads.submit(copy_context().run, call, cancel), cancel)
        task.future.add_done_callback(lambda _: self._done())
        self._tasks = [item for item in self._tasks if not item.future.done()]
        self._tasks.append(task)
        return task
