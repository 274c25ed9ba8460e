"""What the service keeps in its store and reads from it: histories, and the score of estimates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, nan
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

import numpy as np

from ...model.display import data_of, duration_text, iso_time
from ...model.duration import two_cycles
from ...model.errors import InputError, Problem, report, wrong_clock
from ...solver.accuracy.measures import (
    HORIZONS,
    LEVELS,
    Estimates,
    GroupAccuracy,
    ScoreBy,
    accuracy_tables,
    reliability,
)
from ...solver.forecast.forecast import Calibration, Forecasts
from ...solver.forecast.history import logged_runs
from ..options import print_note
from .access import Viewer
from .board import KnownStart
from .polls import Polled, PolledState, PredictedStarts
from .store import STARTS, KeptEstimate, LoggedStart, Store, StoreSummary

#: Jobs that are compared one by one, those that started last.
MAX_COMPARED = 500
#: Starts that are scored, and the names of their methods in tables.
_SCORED = ("printed", "estimate", "as_configured", "likely", "possible")
METHODS: Final[Mapping[str, str]] = {name: name.replace("_", " ") for name in _SCORED}


@dataclass(frozen=True, slots=True)
class Score:
    """Accuracy of the estimates of a store."""

    #: Contents of the store.
    summary: StoreSummary
    #: All jobs first, then the groups.
    groups: tuple[GroupAccuracy, ...]
    #: Level, share that had started by then, and by the calibrated bound; [] without forecasts.
    reliability: list[tuple[float, float, float | None]]
    #: Factors of the bounds by these forecasts.
    calibration: Calibration
    #: First estimate of each job by one method, by the starts of these jobs.
    compared: tuple[KeptEstimate, ...] = ()
    #: All estimates of these jobs in the order of time, by the number of the job.
    kept: Mapping[int, Sequence[KeptEstimate]] = field(default_factory=dict)

    def records(self) -> list[dict[str, Any]]:
        """Return one record per group and method."""
        return [record for group in self.groups for record in group.records()]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as data."""
        names = ("level", "share", "calibrated")
        shares = [dict(zip(names, row, strict=True)) for row in self.reliability]
        return data_of(self, "store=summary calibration groups") | {"reliability": shares}

    def compared_records(self) -> list[dict[str, Any]]:
        """Return the waits that were estimated of each job, and the one that followed; seconds."""
        return [
            {
                "job": item.job,
                "user": item.user,
                "queue": item.queue,
                "estimated": item.starts["as_configured"] - item.at,
                "waited": max(0, item.started - item.at),
                "by_method": {
                    name: start - item.at
                    for key, name in METHODS.items()
                    if (start := item.starts[key]) is not None
                },
                "because": _cause(item, self.kept.get(item.number, ())),
            }
            for item in self.compared
            if item.starts["as_configured"] is not None and item.started is not None
        ]


def _cause(first: KeptEstimate, kept: Sequence[KeptEstimate]) -> str:
    """Return what moved a job most towards its start, "" if nothing is known."""
    before = first.starts["as_configured"] or 0
    late = 1 if (first.started or 0) > before else -1
    best, cause = 0, ""
    for item in kept:
        start = item.starts["as_configured"]
        if item.at > first.at and start is not None:
            if late * (start - before) > best:
                best, cause = late * (start - before), item.because
            before = start
    return cause


def score_of(store: Store, by: ScoreBy = "method", since: int | None = None) -> Score:
    """Return the accuracy of the estimates of a store whose job has started.

    by: what makes the groups. since: only estimates made at this second or later.
    """
    horizons = HORIZONS if by == "horizon" else ()
    first = {name: store.first_estimates(name, since, horizons) for name in METHODS}
    rows = estimates_of(first)
    firsts: dict[int, KeptEstimate] = {}  # by horizons a job has one in each class
    for item in sorted(first["as_configured"], key=attrgetter("at")):
        firsts.setdefault(item.number, item)
    compared = sorted(firsts.values(), key=lambda item: item.started or 0)[-MAX_COMPARED:]
    tables = accuracy_tables(rows, by), reliability(rows)
    latest = tuple({item.job: item for item in compared}.values())
    kept = store.estimates_of([item.number for item in latest])
    return Score(store.summary(), *tables, store.calibration(), latest, kept)


def estimates_of(kept: Mapping[str, Sequence[KeptEstimate]]) -> Estimates:
    """Return kept estimates, by the name of the start, as columns."""
    chosen = [(item, name) for name, items in kept.items() for item in items]
    items = [item for item, _ in chosen]
    levels = _real([_levels(item, name) for item, name in chosen])
    return Estimates(
        job=_whole([item.number for item in items]),
        method=np.array([METHODS[name] for _, name in chosen], dtype=object),
        made_at=_whole([item.at for item in items]),
        start=_real([_start(item.starts[name]) for item, name in chosen]),
        early=_real([_bound(item.starts["early"], name) for item, name in chosen]),
        late=_real([_bound(item.starts["late"], name) for item, name in chosen]),
        quantiles=levels.reshape(len(chosen), len(LEVELS)),
        started=_whole([item.started or 0 for item in items]),
        slots=_whole([item.slots for item in items]),
        queue=np.array([item.queue for item in items], dtype=object),
    )


def _whole(values: Sequence[int]) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array(values, dtype=np.int64)


def _real(values: Sequence[Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array(values, dtype=np.float64)


def _start(time: int | None) -> float:
    return inf if time is None else float(time)


def _bound(time: int | None, name: str) -> float:
    """Return a bound of the forecast; NaN for the other methods, which give none."""
    return _start(time) if name == "likely" else nan


def _levels(item: KeptEstimate, name: str) -> list[float]:
    if name != "likely" or not item.quantiles:
        return [nan] * len(LEVELS)
    return [_start(time) for time in item.quantiles]


def starts_of_log(path: Path, *, dated: bool) -> Iterator[LoggedStart]:
    """Return the starts and ends of lsb.events, lsb.acct, sacct -P or SWF.

    dated: whether the store's times are seconds since 1970. Raises InputError for a log that cannot
    be read, and if only one of the two has dates.
    """
    found = logged_runs(path)
    print_note(*(f"warning: {line}" for line in report(found.problems)))
    if dated != (found.epoch is not None):
        raise InputError([Problem(wrong_clock(dated, "the store"), str(path))])
    zero = found.epoch or 0
    return (
        LoggedStart(
            # A requeued job has one record for each run: 7, 7#2.
            run.job.id.partition("#")[0],
            run.job.submit + zero,
            None if run.start is None else run.start + zero,
            None if run.end is None else run.end + zero,
        )
        for run in found.runs
        if run.start is not None or run.end is not None
    )


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
