"""How long an exact method may search: wall clock, deterministic effort, cancellation."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Budget:
    """What is left of a search.

    time_limit: wall seconds, None for none. effort: deterministic units (about one second of one
    worker each), None for none; with it the answer does not depend on the machine. cancel: set it
    from another thread or a signal handler to stop with the best so far. workers: solver
    threads; processes: of the pool optimiser.
    clock: seconds, monotonic.
    """

    time_limit: float | None = None
    effort: float | None = None
    workers: int = 1
    processes: int = 1
    cancel: threading.Event = field(default_factory=threading.Event)
    clock: Callable[[], float] = time.monotonic
    started: float = 0.0
    effort_spent: float = 0.0

    def __post_init__(self) -> None:
        self.started = self.clock()

    def elapsed(self) -> float:
        """Wall seconds since the start."""
        return self.clock() - self.started

    def left(self) -> float:
        """Wall seconds left; infinite without a time limit."""
        return float("inf") if self.time_limit is None else self.time_limit - self.elapsed()

    def keep_back(self, seconds: float) -> None:
        """Leave so many of the seconds left, half of them at most, for writing up the result."""
        if self.time_limit is not None:
            self.time_limit -= min(seconds, max(0.0, self.left()) / 2)

    def effort_left(self) -> float:
        """Deterministic units left; infinite without an effort."""
        return float("inf") if self.effort is None else self.effort - self.effort_spent

    def exhausted(self) -> bool:
        """Whether the search has to stop now."""
        return self.cancel.is_set() or self.left() <= 0 or self.effort_left() <= 0
