"""Times and durations as people read them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .instance import Instance


def duration_text(seconds: int) -> str:
    """``2d 3h``, ``1h 05m``, ``12m 30s``, ``0s``: the two largest units that are not zero."""
    if seconds < 0:
        return "-" + duration_text(-seconds)
    days, rest = divmod(seconds, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, rest = divmod(rest, 60)
    parts = [(days, "d"), (hours, "h"), (minutes, "m"), (rest, "s")]
    first = next((index for index, (count, _) in enumerate(parts) if count), len(parts) - 1)
    shown = [f"{count}{unit}" for count, unit in parts[first : first + 2] if count]
    return " ".join(shown) or "0s"


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


def clock_text(instance: Instance, time: int | None) -> str:
    """A time as ``now``, ``+3h`` or, where the instance has an origin, its wall-clock time."""
    if time is None:
        return "unknown"
    if time == instance.now:
        return "now"
    moment = None if instance.origin is None else wall_clock(instance.origin, time)
    if moment is None:
        return "+" + duration_text(time - instance.now)
    return moment.strftime("%Y-%m-%d %H:%M:%S")


def short_clock_text(instance: Instance, time: int) -> str:
    """As :func:`clock_text`, for narrow columns: ``3h`` from now, or ``01-06 03:39``."""
    moment = None if instance.origin is None else wall_clock(instance.origin, time)
    if time == instance.now or moment is None:
        return clock_text(instance, time).removeprefix("+")
    return moment.strftime("%m-%d %H:%M")
