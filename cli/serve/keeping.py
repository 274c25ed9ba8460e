"""What the service keeps in its store, and reads from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ...model.display import duration_text, iso_time
from ...model.duration import two_cycles
from ..options import print_note
from .access import Viewer
from .board import KnownStart
from .polls import PolledState, PredictedStarts
from .score import score_of
from .store import STARTS, Store

if TYPE_CHECKING:
    from ...solver.accuracy.score import ScoreBy
    from ...solver.forecast.forecast import Calibration, Forecasts
    from .polls import Polled

#: Estimates of one job in an answer, the last ones.
MAX_ESTIMATES = 200
#: Kept starts in answers, by their names in the store and in answers.
_STARTS = {name: name for name in STARTS} | {"early": "one_in_ten_by", "late": "nine_in_ten_by"}


class StoreKeeper:
    """Keeps estimates in a store, and answers with what is in it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        #: Whether the last state was not kept.
        self.is_failing = False

    def keep(
        self,
        polled: Polled,
        found: Iterable[PredictedStarts],
        forecasts: Forecasts | None,
        causes: Mapping[str, str],
    ) -> None:
        """Keep the estimates of one state; raise StoreError if the store fails."""
        self.is_failing = True
        before = self._store.last_poll
        state = PolledState.of(polled.instance, found, forecasts, causes)
        self._store.record(state)
        self.is_failing = False
        if before is not None and state.at < before:
            by = duration_text(before - state.at)
            print_note(f"this state is {by} earlier than the last one: one of the clocks is wrong")

    def calibration(self) -> Calibration:
        """Return the factors of the bounds by the forecasts whose starts are known."""
        return self._store.calibration()

    def history(self, job: str, viewer: Viewer, polled: Polled | None) -> list[dict[str, Any]]:
        """Return how the estimates of a job moved, the last ones first.

        Of several jobs with this id that of the last submission counts.
        """
        kept = self._store.history(job)
        if not kept or polled is None:
            return []
        last, origin = kept[-1], polled.instance.origin
        own = [item for item in last.estimates if viewer.sees(item.user)]
        reported = None
        rows = []
        for item in own[-MAX_ESTIMATES:]:
            times = {"at": item.at, "started": last.started}
            times |= {name: item.starts.get(key) for key, name in _STARTS.items()}
            row: dict[str, Any] = {}
            for name, time in times.items():
                row[name] = None if time is None else time - polled.zero
                if origin is not None:
                    row[f"{name}_time"] = iso_time(origin, row[name])
            start = KnownStart(item.at, item.starts["as_configured"])
            moved = 0 if reported is None else reported.move_to(start, two_cycles(polled.instance))
            row["change"] = None
            if moved:
                kind = "later" if moved > 0 else "earlier"
                row["change"] = {"kind": kind, "by": abs(moved), "because": item.because}
            if moved or reported is None or None in (reported.start, start.start):
                reported = start
            rows.append(row)
        return rows[::-1]

    def accuracy(self, by: ScoreBy) -> dict[str, Any]:
        """Return how right the estimates of jobs were that have started since; see `score`."""
        found = score_of(self._store, by)
        return {**found.to_dict(), "compared": found.compared_records()}

    def close(self) -> None:
        """Close the store."""
        self._store.close()
