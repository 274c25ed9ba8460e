"""A limit in seconds of the processor, so that a busy machine gives the answer of an idle one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Seconds between two looks at the clock: this much, and one piece of work, a limit is late.
TICK = 0.05


@contextmanager
def processor_limit(
    seconds: float,
    *,
    clock: Callable[[], float] = time.process_time,
    tick: float = TICK,
) -> Iterator[threading.Event]:
    """An event that is set when this process has had so many seconds of the processor.

    Hand it to `slotwise.plan(cancel=...)`. A second process that works beside this one is not
    counted: it has about as many seconds, as it has on an idle machine.
    """
    over, done = threading.Event(), threading.Event()
    end = clock() + seconds

    def watch() -> None:
        while not done.wait(tick):
            if clock() >= end:
                over.set()
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield over
    finally:
        done.set()
        watcher.join()
