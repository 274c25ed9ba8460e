"""The threads of the service: one reads the source at an interval, one plans each new state."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import ClassVar, Protocol

from ...model.errors import InputError, SlotwiseError
from ...model.instance import Instance
from ...solver.advice.likely import StartQuantiles
from ...solver.budget import Budget, OutOfTime
from ...solver.forecast.forecast import Calibration, Forecasts
from ...solver.forecast.history import History
from ...solver.outlook.outlook import Outlook as PredictedJobs
from ...solver.outlook.outlook import StepLimits
from ..listing import listing_of
from ..process import BackgroundWork
from .board import Board
from .polls import Polled, PredictedStarts, StateSource, read_once

#: Failed polls in a row after which the interval grows.
MAX_FAILURES = 3
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
        return self.failures > MAX_FAILURES

    @property
    def wait(self) -> float:
        """Return the seconds until the next poll."""
        beyond = min(max(0, self.failures - MAX_FAILURES), 30)
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


#: Wall-clock seconds of one forecast; with fewer samples if it does not last.
SECONDS = 10.0


@dataclass(slots=True)
class LogForecasts:
    """Forecasts by one log, which is read again once it has changed."""

    log: Path
    #: Factors of the bounds, None if there are none yet.
    calibration: Calibration | None = None
    _read: tuple[tuple[int, int, str | None], History] | None = None

    def check(self, instance: Instance) -> None:
        """Raise InputError if the log cannot be read, or has nothing on this instance."""
        from ...model.errors import unreadable

        try:
            self._history(instance)
        except OSError as error:
            raise unreadable(self.log, error) from None

    def of(self, instance: Instance, cancel: threading.Event) -> Forecasts | None:
        """Return the forecasts of the pending jobs; None if there was no time for one.

        Raises InputError and OSError if the log cannot be read.
        """
        from ...solver.forecast.forecast import UNCALIBRATED
        from ...solver.forecast.of_instance import forecast

        budget = Budget(SECONDS, cancel=cancel)
        try:
            return forecast(
                instance,
                self._history(instance),
                calibration=self.calibration or UNCALIBRATED,
                should_stop=budget.stopped,
            )
        except OutOfTime:
            return None

    def _history(self, instance: Instance) -> History:
        """Return the finished jobs on the clock of an instance."""
        from ...solver.forecast.history import read_history, without_own

        facts = self.log.stat()
        stamp = facts.st_mtime_ns, facts.st_size, instance.origin
        if self._read is None or self._read[0] != stamp:
            self._read = stamp, read_history(self.log, instance, keep_going=True)
        return without_own(self._read[1], instance)


def likely_starts(found: Forecasts) -> Mapping[str, StartQuantiles]:
    """Return the quantiles of each job's start, by job."""
    return {
        record["job"]: StartQuantiles(
            record["likely"], record["nine_in_ten_by"], record["one_in_ten_by"]
        )
        for record in found.records()
    }


#: Seconds of a simulation, and of a plan, after which a newer state ends it.
MIN_RUN, MIN_PLAN = 2.0, 1.0
#: Seconds after which a simulation continues despite a newer state, so that late starts are known.
WHOLE_FIRST, WHOLE_EVERY = 120.0, 600.0
#: Seconds between two readings of the calibration of the store.
CALIBRATED_EVERY = 3600.0


class Keeper(Protocol):
    """Keeps the estimates of planned states."""

    def keep(
        self,
        polled: Polled,
        found: Iterable[PredictedStarts],
        forecasts: Forecasts | None,
        causes: Mapping[str, str],
    ) -> None:
        """Keep the estimates of one state, and the causes of its moved starts by job; raise
        SlotwiseError if it cannot.
        """

    def calibration(self) -> Calibration:
        """Return the factors of the bounds by the forecasts whose starts are known."""


@dataclass(slots=True)
class PlanCounters:
    """Counters of the planner for metrics."""

    #: States planned as a whole.
    plans: int = 0
    #: Wall-clock seconds of the last one, and from its poll until it was on the board.
    seconds: float = 0.0
    delay: float = 0.0
    #: Seconds from the poll to the first starts of it on the board.
    first: float = 0.0
    #: Plans that failed, with the last message.
    failures: int = 0
    problem: str = ""


class _Newer(threading.Event):
    """Set once a newer state waits and the work has had its minimum, or everything stops.

    minimum: seconds from the first question on; infinite: a newer state does not set it.
    """

    def __init__(self, planner: PlannerThread, polled: Polled, minimum: float) -> None:
        super().__init__()
        self._planner, self._polled, self._minimum = planner, polled, minimum
        self._began: float | None = None

    def is_set(self) -> bool:
        """Whether the work has to end."""
        if super().is_set() or self._planner.stopping.is_set():
            return True
        now = time.monotonic()
        if self._began is None:
            self._began = now
        if now - self._began >= self._minimum and self._planner.has_newer(self._polled):
            self.set()
        return super().is_set()


@dataclass(slots=True)
class PlannerThread(BackgroundWork):
    """Plans states one after another; of several that wait only the newest."""

    PATIENCE: ClassVar[float] = 5.0
    board: Board
    limits: StepLimits
    #: Seconds between two polls: a simulation takes half of them, so that a plan has time too.
    every: float = inf
    keeper: Keeper | None = None
    #: Forecasts by a log, None without one.
    forecasting: LogForecasts | None = None
    #: Seconds since 1970.
    clock: Callable[[], float] = time.time
    counters: PlanCounters = field(default_factory=PlanCounters)
    _waiting: Polled | None = None
    _news: threading.Condition = field(default_factory=threading.Condition)
    _calibrate_at: float = 0.0
    #: Monotonic second from which on a simulation runs to its end.
    _whole_at: float = 0.0
    #: State whose simulation was too short; it is planned again if there is no newer one.
    _too_short: Polled | None = None

    def start(self) -> None:
        """Start the thread, in the context of the caller."""
        self._whole_at = time.monotonic() + WHOLE_FIRST
        BackgroundWork.start(self)

    def _wake(self) -> None:
        with self._news:
            self._news.notify_all()

    def give(self, polled: Polled) -> None:
        """Plan a state next, in place of one that still waits."""
        with self._news:
            self._waiting = polled
            self._news.notify_all()

    def has_newer(self, polled: Polled) -> bool:
        """Whether a newer state waits."""
        waiting = self._waiting
        return waiting is not None and waiting.number > polled.number

    def _run(self) -> None:
        while True:
            with self._news:
                while self._waiting is None and not self.stopping.is_set():
                    if not self._news.wait(None if self._too_short is None else self.every):
                        self._waiting = self._too_short
                polled, self._waiting = self._waiting, None
            if self.stopping.is_set() or polled is None:
                return
            try:
                self.plan(polled)
            except SlotwiseError as error:
                self._failed(str(error))
            except Exception as error:  # a fault of ours must not end the service
                if not self.stopping.is_set():
                    traceback.print_exc()
                    self._failed(f"an internal error of slotwise: {type(error).__name__}: {error}")

    def _failed(self, problem: str) -> None:
        self.counters.failures += 1
        self.counters.problem = problem
        self.board.unplanned(problem)

    def plan(self, polled: Polled) -> None:
        """Plan one state and put it on the board in steps; raises InputError as a plan does."""
        from ...solver.outlook.outlook import starts_in_steps

        began = time.monotonic()
        instance, waited = polled.instance, False

        def publish(found: PredictedJobs) -> None:
            nonlocal waited
            self.board.planned(
                polled, listing_of(instance, found, polled.warnings), found, last=False
            )
            if not waited:
                self.counters.first = self.clock() - polled.read_at
            waited = True

        late, limits = began >= self._whole_at, self.limits
        is_again, self._too_short = polled is self._too_short, None
        if not late and not is_again:
            limits = replace(limits, configured=min(limits.configured, self.every / 2))
        cancel = _Newer(self, polled, inf if late else MIN_RUN)
        skip_plan = _Newer(self, polled, MIN_PLAN)
        found = starts_in_steps(instance, publish, limits, cancel=cancel, skip_plan=skip_plan)
        if self.stopping.is_set():
            return
        if not cancel.is_set():
            self._whole_at = time.monotonic() + WHOLE_EVERY
        if found.cut and limits.configured < self.limits.configured:
            self._too_short = polled
        forecasts = self._forecasts(instance)
        likely = None if forecasts is None else likely_starts(forecasts)
        listing = listing_of(instance, found, polled.warnings)
        self.board.planned(polled, listing, found, likely, last=True)
        counters = self.counters
        counters.plans += 1
        counters.seconds = time.monotonic() - began
        counters.delay = self.clock() - polled.read_at
        counters.problem = ""
        if self.keeper is not None:
            self.keeper.keep(polled, self.board.starts(polled), forecasts, self.board.causes())

    def _forecasts(self, instance: Instance) -> Forecasts | None:
        """Return the forecasts of a state; a log that cannot be used is said on the board."""
        if self.forecasting is None:
            return None
        now = time.monotonic()
        if self.keeper is not None and now >= self._calibrate_at:
            self.forecasting.calibration = self.keeper.calibration()
            self._calibrate_at = now + CALIBRATED_EVERY
        try:
            found = self.forecasting.of(instance, self.stopping)
        except (InputError, OSError) as error:
            self.board.not_forecast(str(error))
            return None
        self.board.not_forecast("")
        return found
