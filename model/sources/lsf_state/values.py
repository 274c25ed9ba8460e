"""Single values as LSF's commands print them.

Every function raises ValueError with a sentence that says what would be right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

from ...cluster import HOST_STATUSES
from ...display import HOUR, MINUTE
from ...errors import InputError, Problem
from ...formats.names import check_job_group, check_name, host_requests
from ...formats.reading import KINDS, file_bytes, kind_of_text, other_kind
from ...omissions import SCOPE, Omission
from ...windows import parse_windows

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
#: Cell values for jobs without the property of the column.
NO = frozenset({"", "0", "n", "no", "-"})
_QUEUE_STATUS = re.compile(r"(open|closed)(_\w+)?:(active|inact)(_\w+)?", re.IGNORECASE)
_SHARE = re.compile(r"[\[(]\s*([^\[\](),\s]+)\s*,\s*(\d{1,9})\s*[\])]")
_GPUS_OF_HOST = re.compile(r"([A-Za-z][\w.-]*)\s*[:=]\s*(?:gpus=)?\s*(\d+(?:\s*,\s*\d+)*)")
#: What LSF itself adds to a job that asks for nothing. ``type==any`` is no such thing: without it
#: the job would stay on hosts of the type of its submission host.
_ADDED = re.compile(r"select\[\s*\(?\s*type\s*==\s*local\s*\)?\s*\]|order\[\s*r15s\s*:\s*pg\s*\]")
#: Separators between hosts of -m.
_MARKS = re.compile(r"[/,]")
#: No count, load or time that LSF prints is larger.
MOST = 1e15
#: Maximum time by which a past stamp without year may follow the reference (clocks differ).
_SLACK = timedelta(days=1)


def blank(text: str) -> bool:
    """Return whether a value is empty."""
    return text.strip() in ("", "-", "N/A", "none", "NONE")


def job_group(text: str) -> str:
    """Parse a job group:

    ``/a/b`` for ``/a/b/``, "" if none or the root; raises ValueError.
    """
    name = "" if blank(text) else text.strip().rstrip("/")
    return name and check_job_group(name)


def own_name(text: str) -> str:
    """Parse the name of a reservation or class, "" if none; raises ValueError for other texts."""
    return "" if blank(text) else check_name(text.strip())


def text(printed: str) -> str:
    """Return a value that any text may be."""
    return printed


def words(text: str) -> tuple[str, ...]:
    """Return names or words between blanks."""
    return tuple(text.split())


def truth(text: str) -> bool:
    """Return whether a text is ``Y``, ``yes`` or 1; raises ValueError for an unknown text."""
    word = text.strip().lower()
    if word not in NO and word not in ("y", "yes", "1"):
        raise ValueError(f"must be Y or N, not {text!r}")
    return word not in NO


def host_status(text: str) -> str:
    """Return the status of a host; raises ValueError for any other text."""
    if text not in HOST_STATUSES and not text.lower().startswith("closed"):
        raise ValueError(f"must be a host status such as ok or closed_Full, not {text!r}")
    return text


def queue_status(text: str) -> str:
    """Return the status of a queue; raises ValueError for any other text."""
    if not _QUEUE_STATUS.fullmatch(text):
        raise ValueError(f"must be a queue status such as Open:Active, not {text!r}")
    return text


def requirement(text: str) -> str:
    """Return a combined requirement without the parts that LSF adds."""
    return " ".join(_ADDED.sub(" ", text).split())


def shares(text: str) -> tuple[tuple[str, int], ...]:
    """Parse ``[user1, 100] [default, 1]``, ``-`` for none; raises ValueError for other texts."""
    pairs = _SHARE.findall(text)
    rest = _SHARE.sub("", text).strip()
    if rest.strip("-"):
        raise ValueError(f"{rest!r} is not a share such as [user1, 100]")
    return tuple((name, int(number)) for name, number in pairs)


def allocated_gpus(text: str) -> dict[str, int]:
    """Parse GPUs by host such as ``hostA:0,1;hostB:0``; raises ValueError for any other text."""
    found: dict[str, set[str]] = {}
    for host, numbers in _GPUS_OF_HOST.findall(text):
        found.setdefault(host, set()).update(re.findall(r"\d+", numbers))
    if not found and not blank(text):
        raise ValueError(f"{text.strip()!r} is not a list of GPUs such as hostA:0,1")
    return {host: len(gpus) for host, gpus in found.items()}


def whole(text: str) -> int | None:
    """Parse ``4`` to a whole number, ``-`` to None."""
    if blank(text):
        return None
    word = text.strip()
    if not re.fullmatch(r"\d{1,12}", word):
        raise ValueError(f"must be a whole number such as 4, not {word!r}")
    return int(word)


def number(text: str) -> float | None:
    """Parse ``1.5`` or ``91%``, None for ``-``; a ``*`` marks a value beyond its threshold."""
    if blank(text):
        return None
    word = text.strip().strip("*").removesuffix("%")
    if not re.fullmatch(r"[+-]?\d{1,15}(\.\d*)?(e[+-]?\d{1,3})?", word, re.IGNORECASE):
        raise ValueError(f"must be a number such as 1.5, not {text.strip()!r}")
    found = float(word)
    if abs(found) > MOST:
        raise ValueError(f"must be a number of at most {MOST:.0e}, not {text.strip()!r}")
    return found


def seconds(text: str) -> float | None:
    """Parse seconds: ``57208 second(s)``, ``00:10:00`` (h:mm:ss) or a number; None if no value."""
    if blank(text):
        return None
    # 10.0/hostA: normalised to a host; 0:50 L: by the run limit
    word = re.sub(r"\s+[ELX]$", "", text.strip().split("/")[0])
    if found := _CLOCK.fullmatch(word):
        return int(found[1]) * HOUR + int(found[2]) * MINUTE + int(found[3] or 0)
    if found := _SECONDS.fullmatch(word):
        return float(found[1])
    raise ValueError(f"{text.strip()!r} is not a time such as 120 second(s) or 0:02:00")


def limit(text: str) -> int | None:
    """Parse a run limit to seconds: minutes such as ``1440.0``, or ``00:10:00``; None if none."""
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
    """Parse MB: ``5.2 Gbytes``, ``911M``, ``178_g`` or a number of `unit` MB; None if no value."""
    if blank(text):
        return None
    found = _SIZE.fullmatch(text.strip().strip("*"))
    if found is None:
        raise ValueError(f"{text.strip()!r} is not a size such as 911M or 5.2 Gbytes")
    if found[2] is None:
        return float(found[1]) * unit
    return float(found[1]) * 1024.0 ** _POWERS[found[2].upper()]


def load(text: str) -> float | None:
    """Parse a load index, in percent (``91%`` is 0.91) or with a unit (MB); ``-`` is None."""
    if re.search(r"\d\s*_?\s*[KMGTPE]\*?$", text.strip(), re.IGNORECASE):
        return size(text)
    found = number(text)
    return found / 100 if found is not None and text.strip().rstrip("*").endswith("%") else found


def load_or_text(word: str) -> float | None:
    """Return the number of a site's own resource, None if it is a text."""
    try:
        return load(word)
    except ValueError:
        return None


def name(text: str) -> str:
    """Parse a name, "" if there is none."""
    return check_name(text.strip()) if text.strip() not in ("", "-") else ""


def is_name(text: str) -> bool:
    """Return whether a text can be a name."""
    try:
        return bool(name(text)) and text.isprintable()
    except ValueError:
        return False


def hosts(text: str) -> str:
    """Return the hosts of -m and HOSTS as printed: ``hostA hgroup/+2 others``."""
    host_requests(_MARKS.sub(" ", re.sub(r"/(?=[\s+!,]|$)", "", text)))
    return text


def windows(text: str) -> str | None:
    """Parse windows ``5:19:00-1:8:30 20:00-8:30`` as text, None if there are none."""
    if blank(text):
        return None
    parse_windows(text)
    return text


def allocation(text: str) -> dict[str, int]:
    """Parse slots by host: ``h1:h1:h2``, ``2*h1:h2``, or separated by blanks."""
    found: dict[str, int] = {}
    for word in re.split(r"[\s:]+", text.strip()):
        if not word or word == "-":
            continue
        count, star, name = word.partition("*")
        if not star:
            count, name = "1", word
        if not re.fullmatch(r"[1-9]\d{0,8}", count) or not name:
            raise ValueError(f"{word!r} is not a host such as hostA or 4*hostA")
        found[check_name(name)] = found.get(name, 0) + int(count)
    return found


@dataclass(frozen=True, slots=True)
class PrintedTimes:
    """Turns printed times into seconds since 1970."""

    #: About when they were printed; the year of a time without one is taken from it.
    reference: datetime

    @property
    def zone(self) -> tzinfo:
        """Return the time zone of printed times."""
        return self.reference.tzinfo or UTC

    def past(self, text: str) -> int | None:
        """Return a printed time that is in the past (submission, start), None if empty."""
        return self._read(text, future=False)

    def coming(self, text: str) -> int | None:
        """Return a printed time that may be in the future (finish, estimated start),
        None if empty.
        """
        return self._read(text, future=True)

    def _read(self, text: str, *, future: bool) -> int | None:
        word = text.strip().rstrip(";")
        if blank(word) or word.lower().startswith("not "):
            return None
        if re.fullmatch(r"\d{9,11}", word):
            return int(word)
        found = _STAMP.fullmatch(word)
        if found is None:
            raise ValueError(f"{word!r} is not a time such as Apr 12 18:10:00 2026")
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
            raise ValueError(f"{word!r} does not exist: give a time such as Apr 12 18:10:00 2026")
        return int(min(moments, key=lambda m: abs(m - self.reference)).timestamp())

    def _moment(
        self, year: int, month: int, day: int, hour: int, minute: int, second: int
    ) -> datetime | None:
        try:
            return datetime(year, month, day, hour, minute, second, tzinfo=self.zone)
        except ValueError:
            return None


#: Limits that stand side by side, each over its value, and what a value looks like.
_TIME, _COUNTS = re.compile(r"\s*(\S+(?: min(?: of \S+)?)?)"), re.compile(r"\s*(\d+(?: +\d+){0,2})")
_LIMITS = {
    **dict.fromkeys(("CPULIMIT", "RUNLIMIT", "ESTIMATED_RUNTIME"), _TIME),
    **dict.fromkeys(("PROCLIMIT", "TASKLIMIT"), _COUNTS),
}
#: Any other limit, and what its value looks like.
_OTHER_LIMIT, _CELL = (
    re.compile(r"[A-Z_]*(?:LIMIT(?:_PER_JOB)?|RUNTIME)"),
    re.compile(r"\s*(\S+(?: (?:[KMGTP]|min(?: of \S+)?)(?!\S))?)"),
)
#: One of them with its value behind a colon.
_LIMIT_IN_A_LINE = re.compile(
    rf"\s*({'|'.join(_LIMITS)})\s*:\s*(?!{'|'.join(_LIMITS)})(\S+(?: min(?: of \S+)?)?)\s*$"
)


#: Minimum width in characters of a column of names.
NARROWEST = 11


def may_be_truncated(name: str, header: str, next_column: str) -> bool:
    """Return whether a name fills its column, so that it may be truncated."""
    width = header.find(next_column) - len(header[: header.find(header.strip()[:1])]) - 1
    return len(name) >= max(width, NARROWEST)


def table_row(names: Sequence[str], words: Sequence[str]) -> dict[str, str] | None:
    """Return a row by column; the last column may have several words. None if it does not fit."""
    if len(words) < len(names):
        return None
    last = len(names) - 1
    return dict(zip(names, [*words[:last], " ".join(words[last:])], strict=True))


def load_rows(lines: Sequence[str]) -> Iterator[tuple[int, str, dict[str, str]]]:
    """Yield rows Total, Reserved, loadSched and loadStop, each with its line and values by
    index.
    """
    names: list[str] = []
    for place, line in enumerate(lines):
        words = line.split()
        if words and words[0] in ("Total", "Reserved", "loadSched", "loadStop"):
            yield place, words[0], dict(zip(names, words[1:], strict=False))
        elif words:
            names = words


def limit_row(names: str, row: str) -> dict[str, str]:
    """Return limits by name, if one line has ``CPULIMIT RUNLIMIT PROCLIMIT`` and the next the
    values.

    {} for any other line. LSF prints the limits that are set, in this order.
    """
    if one := _LIMIT_IN_A_LINE.match(names):
        return {one[1]: one[2]}
    words = [word.removesuffix(":") for word in names.split()]
    if not words or not all(map(_OTHER_LIMIT.fullmatch, words)):
        return {}
    found: dict[str, str] = {}
    at = 0
    for word in words:
        match = _LIMITS.get(word, _CELL).match(row, at)
        match = match or _CELL.match(row, at)  # of another kind: it takes nothing but itself
        if match is not None:
            found[word], at = match[1], match.end()
    return found


def fit_to_write(omissions: Iterable[Omission]) -> tuple[Omission, ...]:
    """Return omissions that an instance file can hold: control characters are escaped, and a scope
    with a name that no file can hold is dropped, so that the omission touches more jobs.
    """

    def escaped(text: str) -> str:
        return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)

    def fitting(item: Omission) -> Omission:
        changed: dict[str, Any] = {
            name: escaped(getattr(item, name)) for name in ("what", "where", "effect")
        }
        refused = [name for name in SCOPE if not all(map(is_name, getattr(item, name)))]
        changed |= dict.fromkeys(refused, ())
        return replace(item, **changed)

    return tuple(map(fitting, omissions))


class Remarks(list[str]):
    """Notes in the order in which they were found; notes that affect starts are omissions too."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        super().__init__(texts)
        self.omissions: list[Omission] = []
        if isinstance(texts, Remarks):
            self.omissions += texts.omissions

    def touch(self, text: str, jobs: Iterable[str] | None = None, **more: Any) -> None:
        """Record something that may affect starts: of these pending jobs, of any if None.

        more: further fields of the omission. queues, users, hosts, resources: only jobs of these
        queues and users that may use one of these hosts and name one of these resources.
        """
        scope = {name: tuple(value) for name, value in more.items() if name in SCOPE}
        ids = None if jobs is None else tuple(jobs)
        self.add(Omission(**(more | {"what": text, "jobs": ids} | scope)))

    def add(self, item: Omission) -> None:
        """Record an omission."""
        self.append(item.name)
        self.omissions.append(item)

    def unplanned(self, text: str, jobs: Iterable[str], effect: str) -> None:
        """Add a sentence on jobs of the input that are not planned. effect: why, in words."""
        ids = tuple(jobs)
        self.add(Omission(text, count=len(ids), jobs=(), effect=effect, unplanned=ids))


#: The forms of each command that are read.
_FORMS = {
    "bjobs": "bjobs -u all -l, -UF or -json -o '…'",
    "bhosts": "bhosts -l, -w or -json -o '…'",
    "bqueues": "bqueues -l, -r, -w or -json -o '…'",
    "bhpart": "bhpart -r",
}
#: Kinds of text that one option accepts in addition to its own.
_ALSO = {
    "bhosts": ("bhosts -gpu", "lshosts -gpu", "lsload -gpu", "bhosts -s"),
    "blimits": ("configuration",),
}


@dataclass(frozen=True, slots=True)
class Text:
    """Output of a command."""

    content: str
    #: File name or command line, for messages.
    source: str

    @property
    def is_json(self) -> bool:
        """Return whether it is JSON."""
        return self.content.lstrip("\ufeff \t\r\n").startswith("{")


def read_text(path: str | Path, kind: str) -> Text:
    """Return the text of a file; raises InputError if it cannot be read, or is of another kind."""
    text = Text(file_bytes(Path(path)).decode("utf-8", errors="replace"), str(path))
    check_kind(text, kind)
    return text


def check_kind(text: Text, kind: str) -> None:
    """Raise InputError with one line if a text is not of the expected kind."""
    found = kind_of_text(text.content[:65536])
    if wrong := other_kind(found, kind, *_ALSO.get(kind, ())):
        raise InputError([Problem(wrong, text.source)])
    if not found and text.content.strip() and not says_nothing(text.content):
        give = f" in a supported form: give {_FORMS[kind]}" if kind in _FORMS else ""
        raise InputError([Problem(f"is not {KINDS[kind].text}{give}", text.source)])


_NOTHING = re.compile(
    r"(?:.*: )?(?:no|there (?:is|are) no) .*|.* not found\.?|.*\bno\b.* (?:defined|configured).*",
    re.IGNORECASE,
)


def says_nothing(content: str) -> bool:
    """Return whether a text is a message such as ``No unfinished job found``."""
    lines = content.strip().splitlines()
    return not lines or (len(lines) <= 3 and _NOTHING.fullmatch(lines[0][:300]) is not None)


def lacks(record: Mapping[str, str], *names: str) -> str:
    """Return the message for a record without columns that every host or queue has, "" if
    complete.
    """
    missing = [name for name in names if name not in record]
    return f"has no column {', '.join(missing)}: add them to -o" if missing else ""


def pick(record: Mapping[str, str], *names: str) -> str:
    """Return the first of these fields that has a value, "" if none has."""
    return next(
        (record[name] for name in names if record.get(name, "").strip() not in ("", "-")), ""
    )
