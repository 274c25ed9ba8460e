"""Times and durations as people read them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .instance import Instance


_UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


def duration_text(seconds: int, beside: int = 0) -> str:
    """``2d 3h``, ``1h 5m``, ``12m 30s``, ``0s``: the largest unit and the next below it.

    beside: a difference (seconds) that rounding must not hide; ``1d 16h 15m`` beside 15 minutes.
    """
    if seconds < 0:
        return "-" + duration_text(-seconds, beside)
    finest = max(_finest(seconds), _finest(beside)) if beside else _finest(seconds)
    shown = []
    for length, unit in _UNITS[: finest + 1]:
        count, seconds = divmod(seconds, length)
        if count:
            shown.append(f"{count}{unit}")
    return " ".join(shown) or "0s"


def _finest(seconds: int) -> int:
    """The position of the smallest unit that a text of so many seconds has."""
    largest = next((at for at, (length, _) in enumerate(_UNITS) if abs(seconds) >= length), 3)
    return min(largest + 1, len(_UNITS) - 1)


def smallest_difference(times: Iterable[int | None]) -> int:
    """The least difference between two of these times that is not zero, 0 if there is none."""
    known = sorted({time for time in times if time is not None})
    return min((later - earlier for earlier, later in pairwise(known)), default=0)


def iso_time(origin: str | None, time: int | None) -> str | None:
    """A time in seconds from the origin as an ISO 8601 stamp; None where either is unknown.

    None, too, for what no calendar has (:func:`wall_clock`).
    """
    if origin is None or time is None:
        return None
    moment = wall_clock(origin, time)
    return None if moment is None else moment.isoformat()


def wall_clock(origin: str, time: int) -> datetime | None:
    """The moment that lies so many seconds from the origin; None outside the years 1 to 9999."""
    try:
        return datetime.fromisoformat(origin) + timedelta(seconds=time)
    except OverflowError:
        return None


def with_stamps(
    record: dict[str, Any], origin: str | None, names: tuple[str, ...]
) -> dict[str, Any]:
    """A record with an ISO stamp, `NAME_time`, behind each of its times, if there is an origin.

    names: the keys of times in seconds from the origin.
    """
    if origin is None:
        return record
    found: dict[str, Any] = {}
    for key, value in record.items():
        found[key] = value
        if key in names:
            found[f"{key}_time"] = iso_time(origin, value)
    return found


def clock_text(instance: Instance, time: int | None, beside: int = 0) -> str:
    """A time as ``now``, ``+3h``, ``-2h`` or, where the instance has an origin, its wall clock.

    beside: as in :func:`duration_text`.
    """
    if time is None:
        return "unknown"
    if time == instance.now:
        return "now"
    moment = None if instance.origin is None else wall_clock(instance.origin, time)
    if moment is None:
        return "+" * (time > instance.now) + duration_text(time - instance.now, beside)
    return moment.strftime("%Y-%m-%d %H:%M:%S")


def short_clock_text(instance: Instance, time: int, beside: int = 0) -> str:
    """As :func:`clock_text`, for narrow columns: ``3h`` from now, or ``01-06 03:39``."""
    moment = None if instance.origin is None else wall_clock(instance.origin, time)
    if time == instance.now or moment is None:
        return clock_text(instance, time, beside).removeprefix("+")
    seconds = beside and _UNITS[_finest(beside)][1] == "s"
    return moment.strftime("%m-%d %H:%M:%S" if seconds else "%m-%d %H:%M")
