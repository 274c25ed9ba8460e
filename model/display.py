"""Text for people: times and durations, visible characters, tables of notebooks."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta
from functools import cache
from inspect import signature
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from .instance import Instance


#: Seconds of each unit.
MINUTE, HOUR, DAY, WEEK = 60, 3_600, 86_400, 604_800
_UNITS = ((DAY, "d"), (HOUR, "h"), (MINUTE, "m"), (1, "s"))


def duration_text(seconds: int, beside: int = 0) -> str:
    """Return a duration as ``2d 3h``, ``1h 5m``, ``12m 30s`` or ``0s``: at most two units.

    beside: a difference in seconds that rounding must not hide; ``1d 16h 15m`` for 15 minutes.
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


def hours_text(seconds: int) -> str:
    """Return a sum of waits as ``24h`` or ``1,204h 5m``; below an hour as a duration."""
    if abs(seconds) < HOUR:
        return duration_text(seconds)
    hours, minutes = divmod(round(abs(seconds) / MINUTE), 60)
    return f"{'-' * (seconds < 0)}{hours:,}h{f' {minutes}m' if minutes else ''}"


def _finest(seconds: int) -> int:
    """Return the position of the smallest unit in the text of a duration."""
    largest = next((at for at, (length, _) in enumerate(_UNITS) if abs(seconds) >= length), 3)
    return min(largest + 1, len(_UNITS) - 1)


def smallest_difference(times: Iterable[int | None]) -> int:
    """Return the smallest non-zero difference between two of these times, 0 if there is none."""
    known = sorted({time for time in times if time is not None})
    return min((later - earlier for earlier, later in pairwise(known)), default=0)


def iso_time(origin: str | None, time: int | None) -> str | None:
    """Return a time in seconds from the origin as ISO 8601; None if either is unknown.

    None also outside the calendar (:func:`wall_clock`).
    """
    if origin is None or time is None:
        return None
    moment = wall_clock(origin, time)
    return None if moment is None else moment.isoformat()


def epoch_of(origin: str | None) -> int | None:
    """Return second 0 in seconds since 1970, None without an origin."""
    return None if origin is None else int(datetime.fromisoformat(origin).timestamp())


def wall_clock(origin: str, time: int) -> datetime | None:
    """Return the date and time of an instant; None outside the years 1 to 9999."""
    try:
        return datetime.fromisoformat(origin) + timedelta(seconds=time)
    except OverflowError:
        return None


def with_stamps(
    record: dict[str, Any], origin: str | None, names: tuple[str, ...]
) -> dict[str, Any]:
    """Return a record with an ISO stamp, `NAME_time`, after each time, if there is an origin.

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


def data_of(item: object, names: str, origin: str | None = None) -> dict[str, Any]:
    """Return attributes of an object as data for JSON, those of objects in it by their `to_dict`.

    names: attributes parted by blanks; ``key=attribute`` if the key has another name, also with
    dots; ``name?`` if an empty value is omitted.
    """
    found: dict[str, Any] = {}
    for word in names.split():
        key, _, attribute = word.removesuffix("?").partition("=")
        value = _as_data(attrgetter(attribute or key)(item), origin)
        if not word.endswith("?") or value:
            found[key] = value
    return found


class AsData:
    """An object whose attributes are its data for JSON."""

    __slots__ = ()
    #: The attributes in the form of :func:`data_of`; "": all fields.
    DATA: ClassVar[str] = ""
    #: Keys of times in seconds from the origin.
    STAMPED: ClassVar[tuple[str, ...]] = ()

    def to_dict(self, origin: str | None = None) -> dict[str, Any]:
        """Return plain data for JSON; with an origin, times have ISO stamps."""
        item: Any = self
        found = data_of(item, self.DATA, origin) if self.DATA else asdict(item)
        return with_stamps(found, origin, self.STAMPED)


def _as_data(value: Any, origin: str | None) -> Any:
    if isinstance(value, Mapping):
        return {key: _as_data(each, origin) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [_as_data(each, origin) for each in value]
    if not hasattr(value, "to_dict"):
        return value
    return value.to_dict(origin) if _is_dated(type(value).to_dict) else value.to_dict()


@cache
def _is_dated(to_dict: Callable[..., Any]) -> bool:
    """Return whether a record has ISO stamps if there is an origin."""
    return "origin" in signature(to_dict).parameters


@dataclass(frozen=True, slots=True)
class WrittenTimes:
    """The format of all times of one answer, so that they are written alike."""

    #: Instance with now and origin of the times.
    instance: Instance
    #: The date of all times but now, if it is one: it is written once (:attr:`note`), and each time
    #: has only hours and minutes. None for several days or relative times.
    day: date | None = None

    @classmethod
    def of(cls, instance: Instance, times: Iterable[int | None]) -> WrittenTimes:
        """Return the format for an answer with these times (seconds from the origin)."""
        if instance.origin is None:
            return cls(instance)
        known = {time for time in times if time is not None and time != instance.now}
        moments = [wall_clock(instance.origin, time) for time in known]
        days = {None if moment is None else moment.date() for moment in moments}
        return cls(instance, days.pop() if len(days) == 1 else None)

    def text(self, time: int | None, beside: int = 0) -> str:
        """Return a time in the form of :func:`clock_text`, to the second."""
        moment = self._moment(time)
        if self.day is None or moment is None:
            return clock_text(self.instance, time, beside)
        return moment.strftime("%H:%M:%S" if moment.second else "%H:%M")

    def short(self, time: int, beside: int = 0) -> str:
        """Return a time for narrow columns, in the form of :func:`short_clock_text`."""
        if self.day is None or self._moment(time) is None:
            return short_clock_text(self.instance, time, beside)
        return self.text(time)

    @property
    def note(self) -> str:
        """Return a sentence about the date of the times, "" if none is needed."""
        if self.day is not None:
            return f"Times are of {self.day.isoformat()}."
        return "Times count from now." if self.instance.origin is None else ""

    def _moment(self, time: int | None) -> datetime | None:
        """Return the date and time of an instant; None for now and outside the calendar."""
        if time is None or time == self.instance.now or self.instance.origin is None:
            return None
        return wall_clock(self.instance.origin, time)


def clock_text(instance: Instance, time: int | None, beside: int = 0) -> str:
    """Return a time as ``now``, ``+3h``, ``-2h`` or, if the instance has an origin, as wall clock.

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


def day_clock_text(instance: Instance, time: int, beside: int = 0) -> str:
    """Return a time as ``now``, ``14:16``, ``Tue 14:16`` or ``01 Jun 14:16``; without dates as
    :func:`clock_text`.
    """
    origin = instance.origin
    moment = None if origin is None else wall_clock(origin, time)
    today = None if origin is None else wall_clock(origin, instance.now)
    if time == instance.now or moment is None or today is None:
        return clock_text(instance, time, beside).removeprefix("+")
    if moment.date() == today.date():
        return f"{moment:%H:%M}"
    return f"{moment:%a %H:%M}" if 0 < time - instance.now < 6 * DAY else f"{moment:%d %b %H:%M}"


def short_clock_text(instance: Instance, time: int, beside: int = 0) -> str:
    """Return a time for narrow columns: ``3h`` from now, or ``01-06 03:39``.

    A wall clock shows seconds unless they are 0.
    """
    moment = None if instance.origin is None else wall_clock(instance.origin, time)
    if time == instance.now or moment is None:
        return clock_text(instance, time, beside).removeprefix("+")
    return moment.strftime("%m-%d %H:%M:%S" if moment.second else "%m-%d %H:%M")


#: Control characters that are allowed in a text of several lines.
LAYOUT = "\n\t"
#: Categories of characters that terminals interpret, hide or cannot write (half a character).
_STRANGE = {"Cc": "control", "Cf": "format", "Cs": "surrogate"}


def strange_character(text: str, allowed: str = LAYOUT) -> str:
    """Return a complaint about the first character of an invalid category, "" if there is none."""
    if text.isprintable():
        return ""
    for sign in text:
        category = unicodedata.category(sign)
        if category in _STRANGE and sign not in allowed:
            kind = _STRANGE[category]
            return f"contains the {kind} character U+{ord(sign):04X}: remove it"
    return ""


def some(names: Iterable[str], most: int = 3, noun: str = "") -> str:
    """Return the first names of a list, and the number of further names."""
    known = list(names)
    more = f" and {len(known) - most} more{noun}" if len(known) > most else ""
    return ", ".join(known[:most]) + more


def visible(text: str) -> str:
    """Return the text with an escape for every character that cannot be printed."""
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(sign: str) -> str:
    return sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii")
