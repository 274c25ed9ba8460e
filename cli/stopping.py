"""Ctrl-C and SIGTERM as a request to stop at the next good moment; what is left of a time limit."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from types import FrameType

from .exits import Exit

#: When the command began (monotonic seconds), so that its time limit counts all that it does.
_BEGAN: ContextVar[float | None] = ContextVar("began", default=None)
#: Seconds that are left at least of a time limit: enough for a lesser answer.
LEAST_LIMIT = 1e-3
#: Judging an answer and writing it up takes about so much of the time that reading took.
KEPT = 0.75


@contextmanager
def timed_from_now() -> Iterator[None]:
    """A command begins: its time limit runs."""
    token = _BEGAN.set(time.monotonic())
    try:
        yield
    finally:
        _BEGAN.reset(token)


def left_of(limit: float | None, kept: float = KEPT) -> float | None:
    """Seconds for what comes next, of a time limit of the whole command; None and 0 stay.

    kept: for writing the answer up, as a share of the seconds used so far; half of the rest at
    most.
    """
    began = _BEGAN.get()
    if limit is None or limit == 0 or began is None:
        return limit
    used = time.monotonic() - began
    left = limit - used
    return max(LEAST_LIMIT, left - min(kept * used, left / 2))


@contextmanager
def stop_on_signal(*, at_once: bool = False) -> Iterator[Callable[[], bool]]:
    """Yields a function that says whether SIGINT or SIGTERM has come; a second one kills.

    Outside the main thread signals cannot be caught and the answer is always no. at_once: there is
    nothing to bring to an end first; KeyboardInterrupt or SystemExit is raised wherever it is.
    """
    with cancel_on_signal(at_once=at_once) as cancel:
        yield cancel.is_set


@contextmanager
def cancel_on_signal(*, at_once: bool = False) -> Iterator[threading.Event]:
    """Yields an event that SIGINT or SIGTERM sets; as :func:`stop_on_signal`."""
    cancel = threading.Event()

    def ask(number: int, _frame: FrameType | None) -> None:
        cancel.set()
        # Not through sys.stderr: the signal may have come in the middle of a write to it.
        with suppress(OSError):
            os.write(2, b"slotwise: stopping with what there is so far (once more: at once)\n")
        signal.signal(number, before[signal.Signals(number)])
        if at_once and number == signal.SIGINT:
            raise KeyboardInterrupt
        if at_once:
            sys.exit(Exit.TERMINATED)

    if threading.current_thread() is not threading.main_thread():
        yield cancel
        return
    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield cancel
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
