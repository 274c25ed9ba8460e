"""The poller thread: it reads the source at an interval and gives new states to the planner."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass

from ...model.errors import SlotwiseError
from ..process import BackgroundWork
from .board import Board
from .polls import Polled, StateSource, read_once

#: Failed polls in a row after which the interval grows.
PATIENCE = 3
#: Maximum number of seconds between two polls.
LONGEST_WAIT = 600.0


@dataclass(slots=True)
class Breaker:
    """Waits between polls: the interval, doubled with every failure beyond the third in a row."""

    #: Seconds between two polls.
    every: float
    #: Failed polls in a row.
    failures: int = 0

    def succeeded(self) -> None:
        """Close the breaker: a poll has read a state."""
        self.failures = 0

    def failed(self) -> None:
        """Count a failed poll."""
        self.failures += 1

    @property
    def is_open(self) -> bool:
        """Whether polls have failed so often that they are made less often."""
        return self.failures > PATIENCE

    @property
    def wait(self) -> float:
        """Return the seconds until the next poll."""
        beyond = min(max(0, self.failures - PATIENCE), 30)
        return min(self.every * 2.0**beyond, max(self.every, LONGEST_WAIT))


#: Seconds between two checks whether a file has changed.
TICK = 0.5
#: Characters of a message of a failed poll that are shown.
MAX_MESSAGE = 500


@dataclass(slots=True)
class Poller(BackgroundWork):
    """Reads one source again and again, one poll at a time."""

    source: StateSource
    board: Board
    #: Takes each new state.
    give: Callable[[Polled], None]
    breaker: Breaker
    #: Seconds since 1970.
    clock: Callable[[], float] = time.time
    #: Polls so far, and those that failed.
    polls: int = 0
    failures: int = 0
    _stamp: tuple[int, ...] | None = None
    _last: Polled | None = None
    _due: float = 0.0

    @property
    def next_in(self) -> float:
        """Return the seconds until the next poll is due."""
        return max(0.0, self._due - time.monotonic())

    def _run(self) -> None:
        while not self.stopping.is_set():
            stamp = self.source.stamp()
            if stamp != self._stamp or time.monotonic() >= self._due:
                self.poll(stamp)
                self._due = time.monotonic() + self.breaker.wait
            self.stopping.wait(min(TICK, max(0.01, self.next_in)))

    def first(self) -> None:
        """Make the first poll before the thread starts; raise InputError or OSError if it fails."""
        self._stamp = self.source.stamp()
        self.polls = 1
        self._taken(read_once(self.source, self.polls, self.clock))
        self._due = time.monotonic() + self.breaker.wait

    def poll(self, stamp: tuple[int, ...]) -> None:
        """Make one poll. stamp: that of the source before it; () if only reading tells."""
        self.polls += 1
        same = bool(stamp) and stamp == self._stamp and not self.board.state.problem
        if same and self._last is not None:
            last = self._last
            found = Polled(last.number, last.instance, last.warnings, self.clock())
            self.board.polled(found, same=True)
            return
        self._stamp = stamp
        try:
            found = read_once(self.source, self.polls, self.clock)
        except (SlotwiseError, OSError) as error:
            self._failed(str(error))
        except Exception as error:  # a fault of ours must not end the service
            traceback.print_exc()
            self._failed(f"an internal error of slotwise: {type(error).__name__}: {error}")
        else:
            self._taken(found)

    def _taken(self, found: Polled) -> None:
        self.breaker.succeeded()
        self._last = found
        self.board.polled(found, same=False)
        self.give(found)

    def _failed(self, problem: str) -> None:
        self.failures += 1
        self.breaker.failed()
        self.board.failed(problem[:MAX_MESSAGE], self.breaker.failures)
