"""Pending jobs and polls, in memory for tests of the store and in a store for others."""

from __future__ import annotations

from pathlib import Path

from slotwise.cli.serve.polls import JobEstimate, PolledState
from slotwise.cli.serve.store import Store

NOON = 1_790_000_000


def job(name: str = "1", submit: int = NOON - 600, **estimated: object) -> JobEstimate:
    return JobEstimate(name, submit, "ann", "night", 4, **estimated)  # type: ignore[arg-type]


def poll(at: int, *pending: JobEstimate, running: dict | None = None) -> PolledState:
    return PolledState(NOON + at, True, pending, running or {})


def stored(path: Path, *polls: PolledState) -> Path:
    """Return the path of a store with these polls."""
    with Store.open(path) as store:
        for each in polls:
            store.record(each)
    return path
