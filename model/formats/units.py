"""Durations, sizes and stamps as people write them.

Every function raises ValueError with a sentence that says what would be right.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self

from ..display import DAY, HOUR, MINUTE, WEEK

#: Largest time in seconds, over 30,000 years; larger values are typing errors.
LONGEST = 10**12

_SECONDS = {"s": 1, "m": MINUTE, "h": HOUR, "d": DAY, "w": WEEK}
_CLOCK = re.compile(r"([+-]?)(\d{1,9}):([0-5]?\d)")
_PARTS = re.compile(r"([+-]?)((?:\d{1,15}(?:\.\d{1,9})?[smhdw])+)", re.IGNORECASE)
_PART = re.compile(r"([\d.]+)([smhdw])", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?\d{1,15}(\.\d{1,9})?")
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,20})?(?:e[+-]?\d{1,3})?)\s*([KMGTP])B?", re.IGNORECASE)
_STAMP = re.compile(r"\d{4}-?\d\d-?\d\d")
#: Sizes from here on are no plain numbers any more (MB).
_LARGEST = 1e15
_POWERS = {"K": -1, "M": 0, "G": 1, "T": 2, "P": 3}


class LimitOnHost(int):
    """Seconds that count on a host or host model: ``8:00/hostA``."""

    #: Host or host model whose CPU factor applies to the limit.
    host: str

    def __new__(cls, seconds: int, host: str) -> Self:
        limit = super().__new__(cls, seconds)
        limit.host = host
        return limit


def parse_duration(value: object, unit: int = 1) -> int:
    """Return the seconds of ``2h``, ``90m``, ``1d12h``, ``2:00`` (h:mm) or a number of `unit`s."""
    if type(value) is int:
        if -LONGEST <= value * unit <= LONGEST:
            return value * unit
        seconds: float = value * unit
    elif isinstance(value, str):
        seconds = _text_seconds(value.strip(), unit)
    elif isinstance(value, float) and math.isfinite(value):
        seconds = value * unit
    else:
        raise ValueError(_expected_duration(value, unit))
    if abs(seconds) > LONGEST:
        raise ValueError(f"must be at most {LONGEST} seconds, not {value!r}")
    whole = round(seconds)
    if abs(whole - seconds) > 1e-6:
        raise ValueError(f"must be a whole number of seconds, not {value!r}")
    return whole


def parse_interval(text: str) -> float:
    """Return the seconds (above 0) of ``0.2s``, ``60s``, ``5m`` or a number, fractions included."""
    try:
        seconds = _text_seconds(text.strip(), 1)
    except ValueError:
        example = "such as 0.2s, 60s, 5m or a number of seconds"
        raise ValueError(f"must be a duration {example}, not {text!r}") from None
    if not 0 < seconds <= LONGEST:
        raise ValueError(f"must be more than 0 and at most {LONGEST} seconds, not {text!r}")
    return seconds


def _text_seconds(text: str, unit: int) -> float:
    if match := _PARTS.fullmatch(text):
        total = sum(float(n) * _SECONDS[u.lower()] for n, u in _PART.findall(match[2]))
        return -total if match[1] == "-" else total
    if match := _CLOCK.fullmatch(text):
        total = int(match[2]) * HOUR + int(match[3]) * MINUTE
        return -total if match[1] == "-" else total
    if _NUMBER.fullmatch(text):
        return float(text) * unit
    raise ValueError(_expected_duration(text, unit))


def _expected_duration(value: object, unit: int) -> str:
    plain = "minutes" if unit == MINUTE else "seconds"
    examples = f"2h, 90m, 30s, 2:00 (h:mm) or a number of {plain}"
    return f"must be a duration such as {examples}, not {value!r}"


def format_duration(seconds: int) -> str:
    """Return the shortest exact text of a duration: ``2d``, ``3h``, ``90m`` or ``45s``."""
    for letter, size in (("d", DAY), ("h", HOUR), ("m", MINUTE)):
        if seconds and seconds % size == 0:
            return f"{seconds // size}{letter}"
    return f"{seconds}s"


def parse_size(value: object, unit: float = 1.0, base: int = 1024) -> float:
    """Return the MB of ``4G``, ``512M``, ``1.5T`` or a number of `unit` MB; 1 G is `base` M."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        size = float(value) * unit if abs(value) < 1e15 else math.inf
    elif isinstance(value, str) and (match := _SIZE.fullmatch(value.strip())):
        size = float(match[1]) * float(base) ** _POWERS[match[2].upper()]
    elif isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        size = float(value) * unit
    else:
        raise ValueError(f"must be a size such as 4G, 512M or a number of MB, not {value!r}")
    if not math.isfinite(size):
        raise ValueError(f"must be a finite size such as 4G, not {value!r}")
    if size < 0:
        raise ValueError(f"must be 0 or more, not {value!r}")
    return size


def format_size(megabytes: float) -> str | int | float:
    """Return a size such as ``64G`` if that is exact, else its number of MB."""
    if megabytes >= _LARGEST:
        return size_text(megabytes)
    if megabytes and megabytes % 1024 == 0:
        return f"{megabytes / 1024:.0f}G"
    return int(megabytes) if megabytes == int(megabytes) else megabytes


def size_text(megabytes: float) -> str:
    """Return a size as exact text that does not depend on a default unit: ``512M``."""
    if megabytes == int(megabytes) and megabytes < _LARGEST:
        return f"{int(megabytes)}M"
    return f"{megabytes!r}M" if _SIZE.fullmatch(f"{megabytes!r}M") else f"{megabytes:.16e}M"


def parse_stamp(value: object) -> datetime:
    """Return an ISO 8601 time with zone, in whole seconds; a datetime is accepted too."""
    text = value.isoformat() if isinstance(value, datetime) else str(value).strip()
    try:
        stamp = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"{text!r} is not an ISO 8601 time such as 2026-03-01T08:00:00+01:00"
        ) from None
    if stamp.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone: write {text}Z or +01:00")
    if stamp.microsecond:
        raise ValueError(f"must be a whole number of seconds, not {text!r}")
    return stamp


def _is_stamp(text: str) -> bool:
    """Return whether a text begins as a date and is not a duration such as ``12345678s``."""
    forms = (_PARTS, _CLOCK, _NUMBER)
    return _STAMP.match(text) is not None and not any(form.fullmatch(text) for form in forms)


def parse_instant(value: object) -> int | datetime:
    """Return an instant, given as seconds or a duration from the origin or an ISO 8601 stamp."""
    if type(value) is int and -LONGEST <= value <= LONGEST:
        return value
    if isinstance(value, datetime) or (isinstance(value, str) and _is_stamp(value.strip())):
        return parse_stamp(value)
    try:
        return parse_duration(value)
    except ValueError as error:
        message = str(error).replace("must be a duration such as", "must be a time such as")
        raise ValueError(message.replace("seconds,", "seconds, or an ISO 8601 stamp,")) from None


def second_of(value: object, origin: datetime | None, first: int = 0) -> int:
    """Return an instant as seconds from `origin`: a number, a duration or an ISO 8601 date or time.

    A duration counts from second `first`. A stamp without zone is in the zone of the origin.
    Raises ValueError for anything else, and for a stamp if there is no origin.
    """
    text = value.strip() if isinstance(value, str) else value
    if isinstance(text, str) and text.isdecimal() and int(text) <= LONGEST:
        return int(text)
    if isinstance(text, str) and _is_stamp(text):
        with suppress(ValueError):
            text = datetime.fromisoformat(text)
    if isinstance(text, datetime) and text.tzinfo is None and origin is not None:
        text = text.replace(tzinfo=origin.tzinfo)
    if isinstance(text, datetime) and origin is None:
        raise ValueError(
            f"{value} is a date, but the log has no date for its second 0: use seconds"
        )
    found = parse_instant(text)
    if isinstance(found, datetime):
        assert origin is not None
        return int((found - origin).total_seconds())
    return first + found if isinstance(text, str) else found


@dataclass(frozen=True, slots=True)
class Clock:
    """Converter of stamps to seconds from `origin`."""

    #: Calendar time of second 0, None if instants have no calendar time.
    origin: datetime | None = None
    #: Current instant in seconds from the origin.
    now: int = 0

    def seconds(self, instant: int | datetime) -> int:
        """Return the seconds from the origin of a stamp; raises ValueError without an origin."""
        if isinstance(instant, int):
            return instant
        if self.origin is None:
            raise ValueError("a time stamp needs an origin: give 'origin', or a date as 'now'")
        return int((instant - self.origin).total_seconds())

    def next(self, text: str) -> int:
        """Return the next instant (seconds) of ``[[month:]day:]hour:minute`` (bsub -b and -t)."""
        fields = text.split(":")
        if not 2 <= len(fields) <= 4 or not all(f.isascii() and f.isdigit() for f in fields):
            raise ValueError(f"must be [[month:]day:]hour:minute, not {text!r}")
        if self.origin is None:
            raise ValueError(f"{text!r} is a time of day: the instance needs an 'origin'")
        try:
            now = self.origin + timedelta(seconds=self.now)
        except OverflowError:
            raise ValueError(
                f"{text!r} is a time of day, but the year of now is outside the calendar"
            ) from None
        minute, hour, *rest = [int(f) for f in reversed(fields)]
        wanted = dict(zip(("day", "month"), rest, strict=False))
        try:
            moment = now.replace(hour=hour, minute=minute, second=0, **wanted)  # type: ignore[arg-type]
        except ValueError as error:
            raise ValueError(
                f"{text!r} is not a time ({error}): write [[month:]day:]hour:minute"
            ) from None
        try:
            if moment < now.replace(second=0):
                moment = _later(moment, len(rest))
        except OverflowError:
            raise ValueError(
                f"{text!r} does not exist in any coming year: give a valid day of the month, "
                f"such as 2:28:18:00"
            ) from None
        return self.seconds(moment)


def _later(moment: datetime, given: int) -> datetime:
    """Return the time on the next day, month or year that agrees with the `given` fields."""
    if given == 0:
        return moment + timedelta(days=1)
    for step in range(1, 97):
        months = moment.month - 1 + (step if given == 1 else 12 * step)
        try:
            return moment.replace(year=moment.year + months // 12, month=months % 12 + 1)
        except ValueError:
            continue
    raise ValueError(
        f"day {moment.day} of month {moment.month} does not exist in any coming year: give a "
        f"valid day of the month"
    )
