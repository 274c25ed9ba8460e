"""Single values as LSF's commands print them.

Every function raises ValueError with a sentence that says what would be right.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

_MONTHS = {
    name: number
    for number, name in enumerate(
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
        start=1,
    )
}
_DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
_STAMP = re.compile(
    r"(?:(mon|tue|wed|thu|fri|sat|sun)[a-z]*\s+)?"
    r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\s+(\d{1,2})\s+"
    r"(\d{1,2}):(\d\d)(?::(\d\d))?(?:\s+(\d{4}))?(?:\s+([LEX]))?",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"(\d{1,7}):(\d\d)(?::(\d\d))?")
_SECONDS = re.compile(r"(\d{1,12}(?:\.\d+)?)\s*(?:second\(s\)|seconds?|s)?")
_SIZE = re.compile(
    r"(\d{1,15}(?:\.\d+)?)(?:\s*_?\s*([KMGTPE])?(?:i?b|bytes|bits)?)?", re.IGNORECASE
)
_POWERS = {"K": -1, "M": 0, "G": 1, "T": 2, "P": 3, "E": 4}
#: No count, load or time that LSF prints is larger.
MOST = 1e15
#: What a year-less stamp of the past may lie ahead of the reference (clocks differ).
_SLACK = timedelta(days=1)


def blank(text: str) -> bool:
    """Whether a value says nothing."""
    return text.strip() in ("", "-", "N/A", "none", "NONE")


def whole(text: str) -> int | None:
    """``4``, or None for ``-``."""
    if blank(text):
        return None
    word = text.strip()
    if not re.fullmatch(r"\d{1,12}", word):
        raise ValueError(f"{word!r} is no whole number")
    return int(word)


def number(text: str) -> float | None:
    """``1.5``, ``91%`` or None for ``-``; a ``*`` marks what is beyond its threshold."""
    if blank(text):
        return None
    word = text.strip().strip("*").removesuffix("%")
    if not re.fullmatch(r"[+-]?\d{1,15}(\.\d*)?(e[+-]?\d{1,3})?", word, re.IGNORECASE):
        raise ValueError(f"{text.strip()!r} is no number")
    found = float(word)
    if abs(found) > MOST:
        raise ValueError(f"{text.strip()!r} is out of range")
    return found


def seconds(text: str) -> float | None:
    """Seconds of ``57208 second(s)``, ``00:10:00`` (h:mm:ss) or a number; None for nothing."""
    if blank(text):
        return None
    word = text.strip().split("/")[0]  # 10.0/hostA: normalised to a host
    if found := _CLOCK.fullmatch(word):
        return int(found[1]) * 3600 + int(found[2]) * 60 + int(found[3] or 0)
    if found := _SECONDS.fullmatch(word):
        return float(found[1])
    raise ValueError(f"{text.strip()!r} is no time: 120 second(s) or h:mm:ss")


def limit(text: str) -> int | None:
    """Seconds of a run limit: minutes as ``1440.0``, or ``00:10:00``; None for none."""
    if blank(text):
        return None
    word = re.sub(r"\s*(min(utes?)?|of\s.*)\s*$", "", text.strip().split("/")[0])
    word = re.sub(r"\s*min\b.*$", "", word)
    if _CLOCK.fullmatch(word):
        found = seconds(word)
        return None if found is None else int(found)
    minutes = number(word)
    return None if minutes is None or minutes < 0 else round(minutes * 60)


def size(text: str, unit: float = 1.0) -> float | None:
    """MB of ``5.2 Gbytes``, ``911M``, ``178_g`` or of a number of `unit` MB; None for nothing."""
    if blank(text):
        return None
    found = _SIZE.fullmatch(text.strip().strip("*"))
    if found is None:
        raise ValueError(f"{text.strip()!r} is no size such as 911M or 5.2 Gbytes")
    if found[2] is None:
        return float(found[1]) * unit
    return float(found[1]) * 1024.0 ** _POWERS[found[2].upper()]


def load(text: str) -> float | None:
    """A load index: plain, in percent (0.91 for ``91%``), or with a unit (MB); None for ``-``."""
    if re.search(r"\d\s*_?\s*[KMGTPE]\*?$", text.strip(), re.IGNORECASE):
        return size(text)
    found = number(text)
    return found / 100 if found is not None and text.strip().rstrip("*").endswith("%") else found


def allocation(text: str) -> dict[str, int]:
    """Host to slots of ``h1:h1:h2``, ``2*h1:h2`` or the same parted by blanks."""
    hosts: dict[str, int] = {}
    for word in re.split(r"[\s:]+", text.strip()):
        if not word or word == "-":
            continue
        count, star, name = word.partition("*")
        if not star:
            count, name = "1", word
        if not re.fullmatch(r"[1-9]\d{0,8}", count) or not name:
            raise ValueError(f"{word!r} is no host: hostA or 4*hostA")
        hosts[name] = hosts.get(name, 0) + int(count)
    return hosts


@dataclass(frozen=True, slots=True)
class PrintedTimes:
    """Turns printed times into seconds since 1970.

    reference: about when they were printed; the year of a time without one is taken from it.
    """

    reference: datetime

    @property
    def zone(self) -> tzinfo:
        """The zone in which times were printed."""
        return self.reference.tzinfo or UTC

    def past(self, text: str) -> int | None:
        """A time that lies behind (submission, start); None for nothing."""
        return self._read(text, future=False)

    def coming(self, text: str) -> int | None:
        """A time that may lie ahead (expected finish, estimated start); None for nothing."""
        return self._read(text, future=True)

    def _read(self, text: str, *, future: bool) -> int | None:
        word = text.strip().rstrip(";")
        if blank(word) or word.lower().startswith("not "):
            return None
        if re.fullmatch(r"\d{9,11}", word):
            return int(word)
        found = _STAMP.fullmatch(word)
        if found is None:
            raise ValueError(f"{word!r} is no time such as Apr 12 18:10:00 2026")
        day, month = found[1], _MONTHS[found[2].lower()]
        rest = [int(part or 0) for part in found.group(3, 4, 5, 6)]
        if found[7]:
            years = [int(found[7])]
        else:
            here = self.reference.year
            years = [here - 1, here, here + 1] if day is None else list(range(here - 7, here + 2))
        moments = [moment for year in years if (moment := self._moment(year, month, *rest))]
        if not future and not found[7]:
            moments = [m for m in moments if m <= self.reference + _SLACK] or moments
        if day is not None and not found[7]:
            index = _DAYS.index(day.lower())
            moments = [moment for moment in moments if moment.weekday() == index] or moments
        if not moments:
            raise ValueError(f"{word!r} is a time that does not exist")
        return int(min(moments, key=lambda m: abs(m - self.reference)).timestamp())

    def _moment(
        self, year: int, month: int, day: int, hour: int, minute: int, second: int
    ) -> datetime | None:
        try:
            return datetime(year, month, day, hour, minute, second, tzinfo=self.zone)
        except ValueError:
            return None
