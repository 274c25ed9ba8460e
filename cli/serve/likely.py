"""Forecasts of the service: likely starts from a log of finished jobs that grows."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...solver.advice.likely import StartQuantiles
from ...solver.budget import Budget, OutOfTime

if TYPE_CHECKING:
    from ...model.instance import Instance
    from ...solver.forecast.forecast import Calibration, Forecasts
    from ...solver.forecast.history import History

#: Wall seconds of one forecast; with fewer samples if it does not last.
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
