"""Round times for an axis: whole minutes, hours or days, by the clock where there is one."""

from __future__ import annotations

from datetime import datetime, timedelta

from ...model.instance import Instance
from ...model.time_text import duration_text

#: Seconds between ticks, as people count time; beyond them whole days.
_STEPS = (1, 5, 15, 60, 300, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400)


def ticks(instance: Instance, begin: int, end: int, most: int) -> list[tuple[int, str]]:
    """Times (seconds from the origin) in [begin, end] and their labels, `most` or one more.

    Without an origin they count from now, else they are round by the clock; now is called so.
    """
    span = max(1, end - begin)
    days = -(-span // (86400 * most)) * 86400
    step = next((size for size in _STEPS if span <= most * size), days)
    if instance.origin is None:
        first = instance.now - (instance.now - begin) // step * step
        times = range(first, end + 1, step)
        return [(t, "now" if t == instance.now else duration_text(t - instance.now)) for t in times]
    zero = datetime.fromisoformat(instance.origin)
    past_midnight = round((zero - zero.replace(hour=0, minute=0, second=0)).total_seconds())
    first = -(-(begin + past_midnight) // step) * step - past_midnight
    form = "%m-%d" if step >= 86400 else "%m-%d %H:%M" if step >= 60 else "%H:%M:%S"
    return [
        (time, (zero + timedelta(seconds=time)).strftime(form))
        for time in range(first, end + 1, step)
    ]
