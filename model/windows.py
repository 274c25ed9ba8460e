"""Time windows: DISPATCH_WINDOW and RUN_WINDOW (TBR-19)."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime

from .display import DAY, HOUR, MINUTE, WEEK
from .instance import Instance

MINUTES_A_DAY, MINUTES_A_WEEK = DAY // MINUTE, WEEK // MINUTE

_EDGE = r"(?:(?:(\d):)?(\d{1,2}):(\d{2})|(\d{1,2}))"
_WINDOW = re.compile(rf"{_EDGE}\s*-\s*{_EDGE}(?:\s+|$)")
_BRACKETS = re.compile(r"[^()]*(?:\([^()]*\)[^()]*)*")


def parse_windows(text: str) -> tuple[tuple[int, int], ...]:
    """Return open periods of a week in minutes from Sunday 0:00, in order and merged; (): always.

    text: ``(19:00-7:00)``, ``5:19:00-1:8:30``, ``20-8``: one or more of [day:]hour[:minute] with a
    minus between, separated by blanks or in round brackets; day 0 is Sunday, without days it is
    every day. The last period may reach beyond the week (into the next). Raises ValueError with a
    sentence that gives the valid form.
    """
    periods: list[tuple[int, int]] = []
    rest = re.sub(r"[()]", " ", text).strip() if _BRACKETS.fullmatch(text) else text
    while rest:
        match = _WINDOW.match(rest)
        if match is None:
            raise ValueError(
                "must be windows such as (19:00-7:00) or 5:19:00-1:8:30 "
                f"(day:hour:minute, day 0 is Sunday), not {text!r}"
            )
        periods += _periods(match.groups(), text)
        rest = rest[match.end() :]
    return _merged(periods)


def _periods(fields: tuple[str | None, ...], text: str) -> list[tuple[int, int]]:
    first, last = _minutes(fields[:4], text), _minutes(fields[4:], text)
    if (fields[0] is None) != (fields[4] is None):
        raise ValueError(f"{text!r} names a day on one side only: give both days or none")
    if fields[0] is not None:
        return [(first, last if last > first else last + MINUTES_A_WEEK)]
    length = (last - first) % MINUTES_A_DAY or MINUTES_A_DAY
    return [(day * MINUTES_A_DAY + first, day * MINUTES_A_DAY + first + length) for day in range(7)]


def _minutes(fields: tuple[str | None, ...], text: str) -> int:
    day, hour, minute, only_hour = (int(field or 0) for field in fields)
    hour += only_hour
    if day > 6 or hour > 24 or minute > 59 or (hour == 24 and minute):
        raise ValueError(
            f"{text!r} has a time that does not exist: day 0-6, hour 0-24, minute 0-59"
        )
    return day * MINUTES_A_DAY + hour * 60 + minute


def _merged(periods: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(periods):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


def open_periods(
    text: str, origin: str | None, start: int, end: int
) -> tuple[tuple[int, int], ...]:
    """Return the open periods of windows within [start, end), in seconds from the origin.

    origin: the instance's origin (ISO 8601) with its zone. Without one, second 0 is a Sunday at
    0:00. No windows means always open.
    """
    periods = parse_windows(text)
    if not periods or start >= end:
        return ((start, end),) if start < end else ()
    zero = _second_of_week(origin)
    found: list[tuple[int, int]] = []
    for number in range((start + zero) // WEEK - 1, (end + zero) // WEEK + 1):
        shift = number * WEEK - zero
        for opens, closes in periods:
            first, last = max(start, 60 * opens + shift), min(end, 60 * closes + shift)
            if first < last:
                found.append((first, last))
    return _merged(found)


def after_open_seconds(text: str, origin: str | None, start: int, seconds: int) -> int:
    """Return the second at which windows have been open for `seconds` since `start`.

    origin: as in :func:`open_periods`; the windows of a week repeat in the next.
    """
    periods = open_periods(text, origin, start, start + WEEK)
    weeks, rest = divmod(seconds - 1, sum(closes - opens for opens, closes in periods))
    for opens, closes in periods:
        if rest < closes - opens:
            return opens + rest + 1 + weeks * WEEK
        rest -= closes - opens
    raise AssertionError("windows are open for some second of a week")


def has_windows(instance: Instance) -> bool:
    """Return whether any queue or host has windows."""
    queues = any(queue.dispatch_window or queue.run_window for queue in instance.queues)
    return queues or any(host.windows for host in instance.cluster.hosts)


def without_windows(instance: Instance) -> Instance:
    """Return the instance with queues and hosts that are open at all times."""
    if not has_windows(instance):
        return instance
    cluster = instance.cluster
    hosts = tuple(replace(host, windows="") if host.windows else host for host in cluster.hosts)
    queues = (replace(queue, dispatch_window="", run_window="") for queue in instance.queues)
    return replace(instance, cluster=replace(cluster, hosts=hosts), queues=tuple(queues))


def _second_of_week(origin: str | None) -> int:
    if origin is None:
        return 0
    moment = datetime.fromisoformat(origin)
    seconds = moment.hour * HOUR + moment.minute * MINUTE + moment.second
    return moment.isoweekday() % 7 * DAY + seconds
