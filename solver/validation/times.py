"""When a planned job starts and ends: now, -b, the duration chain, windows (TBR-03, TBR-19)."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.windows import open_periods
from .facts import Facts, Holding
from .violation import Violation

_WEEK = 7 * 86400


def starts(facts: Facts) -> Iterator[Violation]:
    """No job starts before now or before its -b."""
    now = facts.instance.now
    for holding in facts.planned:
        if holding.start < now:
            yield _violation("start", holding, f"it starts at {holding.start} s, now is {now} s")
        begin = holding.job.begin
        if begin is not None and holding.start < begin:
            text = f"it starts at {holding.start} s, -b allows no start before {begin} s"
            yield _violation("start", holding, text)


def finishes(facts: Facts) -> Iterator[Violation]:
    """The finish is the start plus the expected duration, None where nothing tells it (TBR-03)."""
    for entry, job in facts.entries():
        if entry.start is None:
            if entry.finish is not None:
                text = f"job {job.id}: it finishes at {entry.finish} s without a start"
                yield Violation("finish", text, job.id, "", entry.finish)
            continue
        right = facts.finish_of(job, entry.start)
        if entry.finish != right:
            text = f"it finishes at {_at(entry.finish)}, its expected duration gives {_at(right)}"
            yield Violation("finish", f"job {job.id}: {text}", job.id, "", entry.start)


def _at(time: int | None) -> str:
    return "no known time" if time is None else f"{time} s"


def dispatch_windows(facts: Facts) -> Iterator[Violation]:
    """A job starts inside the DISPATCH_WINDOW of its queue and of all its hosts, unless as LSF."""
    if facts.as_lsf:
        return
    for holding in facts.planned:
        window = facts.queues[holding.job.queue].dispatch_window
        if not _open(facts, window, holding.start, holding.start + 1):
            text = f"it starts at {holding.start} s, outside DISPATCH_WINDOW {window} of queue"
            yield _violation("dispatch-window", holding, f"{text} {holding.job.queue}")
        for host in holding.allocation:
            if not takes_starts(facts, host, holding.start):
                window = facts.hosts[host].windows
                text = f"it starts at {holding.start} s, outside DISPATCH_WINDOW {window} of host"
                yield _violation("dispatch-window", holding, f"{text} {host}", host)


def takes_starts(facts: Facts, host: str, time: int) -> bool:
    """Whether the host's DISPATCH_WINDOW lets a job start at that second; always as LSF has it."""
    return facts.as_lsf or _open(facts, facts.hosts[host].windows, time, time + 1)


def run_windows(facts: Facts) -> Iterator[Violation]:
    """A job fits inside one RUN_WINDOW of its queue from start to finish, unless as LSF."""
    if facts.as_lsf:
        return
    for holding in facts.planned:
        window = facts.queues[holding.job.queue].run_window
        # Open through two whole weeks means always open.
        finish = holding.start + 2 * _WEEK if holding.finish is None else holding.finish
        if not _open(facts, window, holding.start, finish):
            text = f"it runs from {holding.start} s to {_at(holding.finish)}"
            text = f"{text}, not within RUN_WINDOW {window} of queue {holding.job.queue}"
            yield _violation("run-window", holding, text)


def _open(facts: Facts, window: str, start: int, finish: int) -> bool:
    if not window or start >= finish:
        return True
    return open_periods(window, facts.instance.origin, start, finish) == ((start, finish),)


def _violation(check: str, holding: Holding, message: str, host: str = "") -> Violation:
    return Violation(check, f"job {holding.job.id}: {message}", holding.job.id, host, holding.start)
