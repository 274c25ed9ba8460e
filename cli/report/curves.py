"""Curves of a simulation: slots in use, jobs that wait, shares of users and groups over time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...solver.fairshare.series import SharePoint
from ...solver.loop.records import JobRecord
from .loads import thinned

#: Points of one curve.
MOST_POINTS = 600
#: Share accounts that are drawn: those with the most slots over time.
MOST_ACCOUNTS = 12


@dataclass(frozen=True, slots=True)
class UseOverTime:
    """From each time (seconds) until the next: slots in use, jobs that wait, slots they ask for."""

    times: tuple[int, ...] = ()
    slots: tuple[float, ...] = ()
    waiting: tuple[float, ...] = ()
    asked: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class AccountCurve:
    """A share account over time; times in seconds, shares as parts of one."""

    policy: str
    account: str
    target: float
    times: tuple[int, ...]
    shares: tuple[float, ...]
    priorities: tuple[float, ...]


def use_over_time(records: Iterable[JobRecord]) -> UseOverTime:
    """The use of the cluster, by starts, ends and submissions."""
    changes: dict[int, list[int]] = {}

    def add(time: int, column: int, amount: int) -> None:
        changes.setdefault(time, [0, 0, 0])[column] += amount

    for record in records:
        for since, until, where in record.held:
            add(since, 0, sum(where.values()))
            if until is not None:
                add(until, 0, -sum(where.values()))
        if record.status != "future" and (record.start is None or record.submit < record.start):
            add(record.submit, 1, 1)
            add(record.submit, 2, record.slots)
            if record.start is not None:
                add(record.start, 1, -1)
                add(record.start, 2, -record.slots)
    if not changes:
        return UseOverTime()
    times = np.array(sorted(changes), dtype=np.int64)
    levels = np.cumsum([changes[int(time)] for time in times], axis=0).astype(float)
    times, levels = thinned(times, levels, MOST_POINTS)
    columns = [tuple(np.round(levels[:, column], 2).tolist()) for column in range(3)]
    return UseOverTime(tuple(times.tolist()), *columns)


def account_curves(points: Sequence[SharePoint]) -> list[AccountCurve]:
    """The accounts with most slots, each with its share, target and priority in every cycle."""
    by_account: dict[tuple[str, str], list[SharePoint]] = {}
    for point in points:
        by_account.setdefault((point.policy, point.account), []).append(point)
    largest = sorted(
        by_account, key=lambda key: (-sum(point.slots for point in by_account[key]), key)
    )
    return [_curve(by_account[key]) for key in sorted(largest[:MOST_ACCOUNTS])]


def _curve(points: Sequence[SharePoint]) -> AccountCurve:
    step = -(-len(points) // MOST_POINTS)
    kept = [*points[::step]]
    if kept[-1] is not points[-1]:
        kept.append(points[-1])
    return AccountCurve(
        kept[0].policy,
        kept[0].account,
        round(kept[0].target, 6),
        tuple(point.time for point in kept),
        tuple(round(point.share, 6) for point in kept),
        tuple(round(point.priority, 6) for point in kept),
    )


def plain(record: JobRecord, origin: str | None) -> dict[str, Any]:
    """A job of a simulation as a row of the report's table."""
    wanted = ("job", "user", "queue", "slots", "submit", "start", "end", "wait", "status")
    found = record.to_dict(origin)
    return {name: found[name] for name in (*wanted, "backfilled", "reason")}
