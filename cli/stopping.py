"""Ctrl-C and SIGTERM as a request to stop at the next good moment."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType


@contextmanager
def stop_on_signal() -> Iterator[Callable[[], bool]]:
    """Yields a function that says whether SIGINT or SIGTERM has come; a second one kills.

    Outside the main thread signals cannot be caught and the answer is always no.
    """
    with cancel_on_signal() as cancel:
        yield cancel.is_set


@contextmanager
def cancel_on_signal() -> Iterator[threading.Event]:
    """Yields an event that SIGINT or SIGTERM sets; as :func:`stop_on_signal`."""
    cancel = threading.Event()

    def ask(number: int, _frame: FrameType | None) -> None:
        cancel.set()
        # Not through sys.stderr: the signal may have come in the middle of a write to it.
        with suppress(OSError):
            os.write(2, b"slotwise: stopping with what there is so far (once more: at once)\n")
        signal.signal(number, before[signal.Signals(number)])

    if threading.current_thread() is not threading.main_thread():
        yield cancel
        return
    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield cancel
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
