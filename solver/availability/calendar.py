"""When a job may start at all: dispatch windows, run windows, advance reservations (TBR-19)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...model.instance import Instance
from ...model.queue import Queue
from ...model.windows import open_periods
from .arrays import BoolArray

#: Windows repeat every week (seconds).
WEEK = 7 * 86400


@dataclass(frozen=True, slots=True)
class Windows:
    """One DISPATCH_WINDOW or RUN_WINDOW text against the instance's origin."""

    text: str
    origin: str | None

    def is_open(self, time: int) -> bool:
        """Whether `time` (seconds) lies inside a window."""
        return bool(open_periods(self.text, self.origin, time, time + 1))

    def openings(self, time: int) -> list[int]:
        """The first instant of each open period from `time` on, over a week."""
        return [first for first, _ in open_periods(self.text, self.origin, time, time + WEEK)]

    def closings(self, time: int) -> list[int]:
        """The end of each open period from `time` on, over a week."""
        return [last for _, last in open_periods(self.text, self.origin, time, time + WEEK)]

    def open_until(self, time: int) -> int | None:
        """When the window that is open at `time` closes; None if it never does."""
        first, last = open_periods(self.text, self.origin, time, time + WEEK)[0]
        return None if (first, last) == (time, time + WEEK) else last


@dataclass(frozen=True, slots=True)
class Calendar:
    """Windows that bind one job.

    dispatch: it starts inside them. run: it runs wholly inside one of them.
    hosts: (hosts [H], windows) pairs; those hosts take a job only inside the windows.
    closed_until: (hosts [H], second) pairs; those hosts take no job before it.
    """

    dispatch: Windows | None = None
    run: Windows | None = None
    hosts: tuple[tuple[BoolArray, Windows], ...] = ()
    closed_until: tuple[tuple[BoolArray, int], ...] = ()

    @classmethod
    def of(cls, instance: Instance, queue: Queue) -> Calendar | None:
        """The calendar of the jobs of a queue, or None where nothing is ever closed."""
        texts = sorted({host.windows for host in instance.cluster.hosts} - {""})
        hosts = tuple(
            (
                np.array([host.windows == text for host in instance.cluster.hosts]),
                _windows(text, instance),
            )
            for text in texts
        )
        dispatch = _windows(queue.dispatch_window, instance) if queue.dispatch_window else None
        run = _windows(queue.run_window, instance) if queue.run_window else None
        return cls(dispatch, run, hosts) if dispatch or run or hosts else None

    def allows(self, start: int, duration: int | None) -> bool:
        """Whether a job may start at `start` (seconds) and run for `duration` (None: for ever)."""
        if self.dispatch is not None and not self.dispatch.is_open(start):
            return False
        if self.run is None:
            return True
        if not self.run.is_open(start):
            return False
        until = self.run.open_until(start)
        return until is None or (duration is not None and start + duration <= until)

    def closed_hosts(self, start: int) -> BoolArray | None:
        """Hosts that take no job at `start`, [H]; None where all are open."""
        closed = [mask for mask, windows in self.hosts if not windows.is_open(start)]
        closed += [mask for mask, until in self.closed_until if start < until]
        return np.logical_or.reduce(closed) if closed else None

    def openings(self, time: int) -> set[int]:
        """The instants from `time` on at which one of the windows opens, over a week.

        All windows repeat every week, so what never opens together in it never does.
        """
        all_windows = [w for w in (self.dispatch, self.run) if w is not None]
        all_windows += [windows for _, windows in self.hosts]
        found = {opening for windows in all_windows for opening in windows.openings(time)}
        return found | {until for _, until in self.closed_until if until >= time}

    def closings(self, time: int, duration: int | None) -> set[int]:
        """From when on a window that opens by a week from `time` is shut to a start of the job.

        duration: seconds that the job runs, which have to end before a run window does.
        """
        plain = [windows for _, windows in self.hosts]
        found = {end for windows in plain for end in windows.closings(time)}
        if self.dispatch is not None:
            found |= set(self.dispatch.closings(time))
        if self.run is not None and duration is not None:
            found |= {max(time, end - duration + 1) for end in self.run.closings(time)}
        return found


def _windows(text: str, instance: Instance) -> Windows:
    return Windows(text, instance.origin)
