"""Pending jobs and polls for tests of the store."""

from __future__ import annotations

from slotwise.cli.serve.polls import JobEstimate, PolledState

NOON = 1_790_000_000


def job(name: str = "1", submit: int = NOON - 600, **starts: int) -> JobEstimate:
    return JobEstimate(name, submit, "ann", "night", 4, **starts)


def poll(at: int, *pending: JobEstimate, running: dict | None = None) -> PolledState:
    return PolledState(NOON + at, True, pending, running or {})
