"""The order of fairshare read literally: every priority worked out anew, from each job's history.

Nothing is kept between two looks at an account, and the numbers have sixty digits, so what is equal
here is equal; it shares nothing with ``slotwise.solver`` and is as slow as it is plain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, getcontext

getcontext().prec = 60
HOUR = Decimal(3600)
#: Two priorities closer than this, of their size, count as the same (docs/fairshare.md): what is
#: left of a second after a day of decay is below it.
SAME = Decimal(10) ** -13


@dataclass
class History:
    """A job that has started: when, when it ended, its slots, and its committed seconds."""

    user: str
    start: int
    slots: int
    committed: int | None = None
    end: int | None = None


@dataclass(frozen=True)
class Weights:
    """The factors of the formula, as text or whole numbers, and its switches."""

    cpu: str = "0.7"
    run: str = "0.7"
    committed: str = "0"
    slot: str = "3"
    hist_hours: int = 5
    history: bool = False
    decay: bool = False
    in_slots: bool = False


def kept(seconds: int, weights: Weights) -> Decimal:
    """What is left of one after some seconds: a tenth after HIST_HOURS."""
    if not weights.hist_hours:
        return Decimal(1)
    return Decimal(10) ** (-Decimal(seconds) / (weights.hist_hours * HOUR))


def grown(seconds: int, weights: Weights, decays: bool) -> Decimal:
    """What one a second has come to after some seconds, while it decays or does not."""
    if not decays or not weights.hist_hours:
        return Decimal(seconds)
    return (1 - kept(seconds, weights)) * weights.hist_hours * HOUR / Decimal(10).ln()


def denominator(jobs: Sequence[History], weights: Weights, now: int) -> Decimal:
    """Of an account with these jobs, at least 0.01."""
    cpu = run = past = missing = Decimal(0)
    slots = 0
    for job in jobs:
        end = now if job.end is None else job.end
        cpu += job.slots * grown(end - job.start, weights, True) * kept(now - end, weights)
        ran = grown(end - job.start, weights, weights.decay)
        ran *= job.slots if weights.in_slots else 1
        if job.end is None:
            run += ran
            slots += job.slots
            if job.committed is not None:
                rest = job.committed - (end - job.start)
                missing += rest * (job.slots if weights.in_slots else 1)
        elif weights.history:
            past += ran * kept(now - end, weights)
    total = (
        cpu / HOUR * Decimal(weights.cpu)
        + (past + run) / HOUR * Decimal(weights.run)
        + missing / HOUR * Decimal(weights.committed)
        + (1 + slots) * Decimal(weights.slot)
    )
    return max(total, Decimal("0.01"))


def first_user(
    tree: Mapping[str, tuple[int, Mapping[str, int]]],
    waiting: Mapping[str, int],
    jobs: Sequence[History],
    weights: Weights,
    now: int,
) -> str:
    """Whose job is next: the highest priority, of equal ones the one whose next job comes first.

    tree: of each account at the top its shares and the shares of its users (none where it is a user
    itself). waiting: of each user with a job left the place of his first one in the queue.
    """
    top: list[tuple[int, list[History], str]] = []
    for name, (shares, users) in tree.items():
        below = [(n, [job for job in jobs if job.user == user], user)
                 for user, n in (users or {name: 1}).items()]  # fmt: skip
        open_ = [entry for entry in below if entry[2] in waiting]
        if open_:
            user = _first(open_, waiting, weights, now)
            top.append((shares, [job for _, own, _ in below for job in own], user))
    return _first(top, waiting, weights, now)


def _first(
    accounts: Sequence[tuple[int, Sequence[History], str]],
    waiting: Mapping[str, int],
    weights: Weights,
    now: int,
) -> str:
    """Of accounts (shares, jobs, user it would offer a job of) the user of the first one."""
    ranked = [
        (shares / denominator(jobs, weights, now), -waiting[user], user)
        for shares, jobs, user in accounts
    ]
    highest = max(priority for priority, _, _ in ranked)
    level = [entry for entry in ranked if highest - entry[0] <= highest * SAME]
    return max(level, key=lambda entry: entry[1])[2]
