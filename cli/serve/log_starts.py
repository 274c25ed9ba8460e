"""Starts of jobs by a log, on the clock of a store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ...model.errors import InputError, Problem, report
from ...solver.forecast.logged_runs import logged_runs
from ..options import print_note
from .store import LoggedStart


def starts_of_log(path: Path, *, dated: bool) -> Iterator[LoggedStart]:
    """Return the starts and ends of lsb.events, lsb.acct, sacct -P or SWF.

    dated: whether the store's times are seconds since 1970. Raises InputError for a log that cannot
    be read, and if only one of the two has dates.
    """
    found = logged_runs(path)
    for line in report(found.problems):
        print_note(f"warning: {line}")
    if dated != (found.epoch is not None):
        kinds = ("have no date", "are dates")
        wrong = f"its times {kinds[not dated]}, those of the store {kinds[dated]}"
        raise InputError([Problem(f"{wrong}: give a log of the same cluster", str(path))])
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
