"""Requests of the page to the planner, each in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

from ...model.errors import report
from ..listing import Listing, listing_of
from ..watched import WatchedSource

R = TypeVar("R")


def listed(
    source: WatchedSource, time_limit: Callable[[], float | None], cancel: threading.Event
) -> Listing:
    """Read the state and plan it.

    time_limit: gives the wall seconds of simulation and plan together, once the state is read.
    """
    from ...solver.outlook.outlook import outlook

    instance, warnings = source.read()
    found = outlook(instance, time_limit=time_limit(), cancel=cancel)
    return listing_of(instance, found, report(warnings))


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
