"""Budget of a method: wall clock, deterministic effort, cancellation, memory.

A search calls :meth:`Budget.stopped`. Once it is true, a grace period is left for a weaker answer
for the rest; when that has expired too (:meth:`Budget.late`), the rest is reported as not examined.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

#: Bytes of a megabyte.
MB = 1 << 20
#: Assumed memory in MB if no source gives it.
UNKNOWN = 2000.0


def memory_available() -> float:
    """Return the MB that can still be used: of the machine, a control group, a limit on the
    process.
    """
    return max(0.0, min(_said(), default=UNKNOWN))


def _said() -> Iterator[float]:
    """Yield the memory in MB from each source that gives it."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        amounts = {
            name: rest.split()[0] for name, _, rest in (line.partition(":") for line in lines)
        }
        yield int(amounts["MemAvailable"]) / 1024
    with contextlib.suppress(OSError, ValueError):
        group = Path("/sys/fs/cgroup")
        most = int((group / "memory.max").read_text(encoding="ascii"))
        yield (most - int((group / "memory.current").read_text(encoding="ascii"))) / MB
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()
        for kind, used in ((resource.RLIMIT_AS, pages[0]), (resource.RLIMIT_DATA, pages[5])):
            limit, _ = resource.getrlimit(kind)
            if limit != resource.RLIM_INFINITY:
                yield (limit - int(used) * os.sysconf("SC_PAGE_SIZE")) / MB


def limit_memory(megabytes: int) -> bool:
    """Limit the memory of this process and its children; return False if impossible.

    Allocations beyond it raise a MemoryError. Address space without memory does not count, so that
    threads of solvers do not exceed the limit.
    """
    if sys.platform != "linux":  # On other systems the limit can be set without effect.
        return False
    try:
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        most = megabytes * MB if hard == resource.RLIM_INFINITY else min(megabytes * MB, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    except (ImportError, OSError, ValueError):
        return False
    return True


#: Minimum rest of a time limit in seconds, so that it is never zero.
MIN_LIMIT = 1e-3
#: Seconds for a weaker answer after a search has to stop.
GRACE = 2.0
#: Share of the available memory that models may use.
MEMORY_SHARE = 0.5
#: Memory of models (MB) under an effort, so that the answer does not depend on the machine.
MEMORY_OF_EFFORT = 2000.0


class Deadline(threading.Event):
    """An event that is also set after some seconds, or when another event is set.

    One deadline covers all phases of a piece of work.
    """

    def __init__(
        self,
        seconds: float | None = None,
        other: threading.Event | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        """Start a timer.

        seconds: from now on, None if no end. clock: None for the monotonic clock.
        """
        super().__init__()
        self._clock = clock or time.monotonic
        self._end = math.inf if seconds is None else self._clock() + seconds
        self._other = other

    def left(self) -> float:
        """Return the seconds until the event is set automatically, at least 0; infinite without
        an end.
        """
        return max(0.0, self._end - self._clock())

    def is_set(self) -> bool:
        """Return whether the event is set or its time has come."""
        asked = super().is_set() or (self._other is not None and self._other.is_set())
        return asked or self._clock() >= self._end


class OutOfTime(Exception):
    """The limit came before there was anything to show."""


@dataclass(slots=True)
class Budget:
    """Rest of the time, effort and memory of one piece of work."""

    #: Wall-clock seconds, None: no limit.
    time_limit: float | None = None
    #: Deterministic units (each about one second of one worker), None: no limit; with it the answer
    #: does not depend on the machine.
    effort: float | None = None
    #: Number of solver threads.
    workers: int = 1
    #: Number of processes of the pool optimiser.
    processes: int = 1
    #: Event that another thread or a signal handler sets to stop with the incumbent.
    cancel: threading.Event = field(default_factory=threading.Event)
    #: Clock in seconds, monotonic.
    clock: Callable[[], float] = field(default_factory=lambda: time.monotonic)
    #: Seconds for a weaker answer after the stop.
    grace: float = GRACE
    #: Function that returns the available MB, called when needed.
    memory: Callable[[], float] = memory_available
    #: Time of the clock at the start.
    started: float = 0.0
    #: Deterministic units spent so far.
    effort_spent: float = 0.0
    _stopped_at: float | None = None

    def __post_init__(self) -> None:
        self.started = self.clock()

    def elapsed(self) -> float:
        """Return the wall seconds since the start."""
        return self.clock() - self.started

    def left(self) -> float:
        """Return the remaining wall seconds; infinite without a time limit."""
        return float("inf") if self.time_limit is None else self.time_limit - self.elapsed()

    def with_grace(self) -> Budget:
        """Return a budget for work that may use the grace period too and gives nothing when
        stopped.
        """
        limit = None if self.time_limit is None else max(0.0, self.left() + self.grace)
        return Budget(limit, cancel=self.cancel, clock=self.clock)

    def time_share(self, share: float) -> float | None:
        """Return a share of the remaining wall seconds, None without a limit."""
        return None if self.time_limit is None else share * max(0.0, self.left())

    def reserve_seconds(self, seconds: float) -> None:
        """Keep some of the remaining seconds, at most half, for writing up the result."""
        if self.time_limit is not None:
            self.time_limit -= min(seconds, max(0.0, self.left()) / 2)

    def effort_left(self) -> float:
        """Return the remaining deterministic units; infinite without an effort."""
        return float("inf") if self.effort is None else self.effort - self.effort_spent

    def spent(self) -> float:
        """Return what was spent so far: deterministic units with an effort, else wall seconds."""
        return self.elapsed() if self.effort is None else self.effort_spent

    def rest(self) -> float:
        """Return what is left of these units or seconds, at least 0."""
        return max(0.0, self.left() if self.effort is None else self.effort_left())

    def memory_left(self) -> float:
        """Return the MB that one more model may use."""
        if self.effort is not None:
            return MEMORY_OF_EFFORT
        return MEMORY_SHARE * self.memory()

    def exhausted(self) -> bool:
        """Return whether a search has to stop now."""
        return self.stopped() or self.effort_left() <= 0

    def stopped(self) -> bool:
        """Return whether the time has expired or the work was cancelled; once true it stays
        true.
        """
        if self._stopped_at is None:
            over = self.time_limit is not None and self.left() <= 0
            if not (over or self.cancel.is_set()):
                return False
            self._stopped_at = self.clock()
        return True

    def renew_grace(self) -> None:
        """Restart a grace period that has begun, because a weaker answer was not possible
        before.
        """
        if self.stopped():
            self._stopped_at = self.clock()

    def late(self, graces: float = 1.0) -> bool:
        """Return whether the grace period after the stop, or this many of them, has expired too."""
        return (
            self.stopped()
            and self._stopped_at is not None
            and self.clock() - self._stopped_at >= graces * self.grace
        )

    def check(self) -> None:
        """Raise OutOfTime when it is late: for work without which there is nothing to show."""
        if self.late():
            raise OutOfTime

    def check_search(self) -> None:
        """Raise OutOfTime at the end of the time limit, for work that may stay undone."""
        if self.stopped():
            raise OutOfTime
