"""Times and durations as people read them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

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


def clock_text(instance: Instance, time: int | None) -> str:
    """A time as ``now``, ``+3h`` or, where the instance has an origin, its wall-clock time."""
    if time is None:
        return "unknown"
    if time == instance.now:
        return "now"
    if instance.origin is None:
        return "+" + duration_text(time - instance.now)
    moment = datetime.fromisoformat(instance.origin) + timedelta(seconds=time)
    return moment.strftime("%Y-%m-%d %H:%M:%S")
