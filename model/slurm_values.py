"""Single values as Slurm prints them, in JSON of every version and as text.

Every function raises ValueError with a sentence that says what would be right.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, tzinfo
from itertools import product
from typing import Any

#: Texts of a value that says nothing.
_BLANK = frozenset({"", "(null)", "null", "none", "n/a", "*", "no_val", "(none)", "not_set"})
_INFINITE = frozenset({"unlimited", "infinite", "infinity", "inf", "n"})
#: Slurm's own INFINITE and NO_VAL of 16, 32 and 64 bits: they appear as bare numbers in 22.05.
_INFINITE_NUMBERS = frozenset({0xFFFF, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF})
_NO_VAL_NUMBERS = frozenset({0xFFFE, 0xFFFFFFFE, 0xFFFFFFFFFFFFFFFE})
_TIME = re.compile(r"(?:(\d{1,7})-)?(\d{1,7})(?::(\d{1,2}))?(?::(\d{1,2}))?")
_SIZE = re.compile(r"(\d{1,18}(?:\.\d+)?)([KMGTPE]?)[BNC]?", re.IGNORECASE)
#: MB of one of a unit.
_UNITS = {"": 1.0, "K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}
_UNITS["E"] = 1024.0**4
#: Hosts that one expression may stand for.
MAX_HOSTS = 1_000_000


def blank(value: object) -> bool:
    """Whether a value says nothing."""
    return value is None or (isinstance(value, str) and value.strip().lower() in _BLANK)


def number(value: Any) -> float | None:
    """Return a number in any of Slurm's forms; None if none is set, infinity for no limit.

    The forms are bare numbers and null (22.05), ``{"set":…, "infinite":…, "number":…}`` (23.02 and
    later), and texts such as ``"Infinity"`` (+complex) and ``UNLIMITED``.
    """
    if isinstance(value, Mapping):
        if value.get("infinite"):
            return math.inf
        return number(value.get("number")) if value.get("set", "number" in value) else None
    if isinstance(value, bool):
        raise ValueError(f"must be a number such as 4 or UNLIMITED, not {value!r}")
    if isinstance(value, (int, float)):
        if value in _INFINITE_NUMBERS:
            return math.inf
        return None if value in _NO_VAL_NUMBERS or math.isnan(value) else float(value)
    if blank(value):
        return None
    word = str(value).strip()
    if word.lower() in _INFINITE:
        return math.inf
    if re.fullmatch(r"-?\d{1,20}(\.\d{1,9})?", word):
        return number(float(word))
    raise ValueError(f"must be a number such as 4 or UNLIMITED, not {word!r}")


def whole(value: Any) -> int | None:
    """Return a whole number; None if none is set or there is no limit."""
    found = number(value)
    return None if found is None or math.isinf(found) else int(found)


def one_or_more(value: Any) -> int:
    """Return a whole number; 1 if none is set."""
    return whole(value) or 1


def words(value: Any) -> tuple[str, ...]:
    """Return the words, in lower case, of a list or of a text with ``+``, ``,`` or ``|`` between
    them.
    """
    if blank(value):
        return ()
    parts = value if isinstance(value, list) else re.split(r"[+,|\s]+", str(value))
    return tuple(str(part).strip("*~#!%$@^- ").lower() for part in parts if not blank(part))


def text(value: Any) -> str:
    """Return a text; a list is joined by commas; "" if there is no value."""
    if isinstance(value, list):
        return ",".join(map(str, value))
    return "" if blank(value) else str(value).strip()


def listed(value: Any) -> tuple[str, ...]:
    """Return the names of a list, or of a text with commas between them."""
    names = value if isinstance(value, list) else text(value).split(",")
    return tuple(name.strip() for name in map(str, names) if name.strip())


def truth(value: Any) -> bool:
    """Return a truth value in any of Slurm's forms."""
    if isinstance(value, (bool, int)):
        return bool(value)
    return str(value).strip().lower() in ("yes", "true", "1", "y")


def seconds(value: Any) -> float | None:
    """Return the seconds of ``1-02:03:04``, ``02:03`` or ``90`` (minutes); otherwise as
    :func:`number`.

    Numbers of JSON are minutes too.
    """
    if isinstance(value, str) and not blank(value):
        if value.strip().lower() in (*_INFINITE, "partition_limit"):
            return math.inf if value.strip().lower() in _INFINITE else None
        if value.strip().isdigit():
            return int(value) * 60.0
        return float(clock_seconds(value))
    found = number(value)
    return None if found is None else found * 60.0


def finite_seconds(seconds: float | None) -> int | None:
    """Return a duration in whole seconds; None if there is none, or if it is 0 or no limit."""
    return int(seconds) if seconds and math.isfinite(seconds) else None


def switches(value: Any, wait: Any = None) -> tuple[int, float | None]:
    """Leaf switches and the seconds that a job waits for them, of ``1@00:05:00``, or of two
    numbers; 0 for any number, None if the cluster says how long.
    """
    if isinstance(value, str):
        value, _, wait = value.partition("@")
        seconds_given = seconds(wait) if wait.strip() else None
    else:
        seconds_given = number(wait) or None
    return whole(value) or 0, seconds_given


def clock_seconds(text: str) -> int:
    """Return the seconds of Slurm's forms of a time limit.

    The forms are ``minutes``, ``minutes:seconds``, ``hours:minutes:seconds``, ``days-hours``,
    ``days-hours:minutes`` and ``days-hours:minutes:seconds``.
    """
    word = text.strip()
    found = _TIME.fullmatch(word)
    if found is None:
        raise ValueError(f"{word!r} is not a time such as 90, 1:30:00 or 2-12:00:00")
    days, first, second, third = found.groups()
    if days is not None:
        return int(days) * 86400 + int(first) * 3600 + int(second or 0) * 60 + int(third or 0)
    if second is None:
        return int(first) * 60
    if third is None:
        return int(first) * 60 + int(second)
    return int(first) * 3600 + int(second) * 60 + int(third)


def stamp(value: Any, zone: tzinfo | None) -> int | None:
    """Return the seconds since 1970 of an instant; None if there is none.

    The value is a number, or ``2026-11-26T23:53:29`` in the zone of the cluster (None: UTC).
    """
    if isinstance(value, str) and not blank(value) and not value.strip().isdigit():
        word = value.strip()
        if word.lower() in ("unknown", "none", "infinite"):
            return None
        try:
            found = datetime.fromisoformat(word)
        except ValueError:
            raise ValueError(f"{word!r} is not a time such as 2026-11-26T23:53:29") from None
        if found.tzinfo is None:
            found = found.replace(tzinfo=zone or UTC)
        return int(found.timestamp())
    return whole(value) or None


def megabytes(value: Any) -> float | None:
    """Return the MB of ``100M``, ``4G`` or a number of MB; None if none is set, infinity for no
    limit.
    """
    if isinstance(value, str) and not blank(value):
        word = value.strip()
        if word.lower() in _INFINITE:
            return math.inf
        found = _SIZE.fullmatch(word)
        if found is None:
            raise ValueError(f"{word!r} is not a size such as 100M or 4G")
        return float(found[1]) * _UNITS[found[2].upper()]
    return number(value)


def finite_megabytes(value: Any) -> float | None:
    """Return the MB of a size; None if none is set, or if it is 0 or no limit."""
    found = megabytes(value)
    return None if found is None or math.isinf(found) else found or None


def amount_of(value: Any) -> float | None:
    """MB of an amount that there is; None if none is set; ValueError for no limit."""
    found = megabytes(value)
    if found is not None and math.isinf(found):
        raise ValueError(f"must be a limited amount such as 4000M, not {value!r}")
    return found


def amount_or_0(value: Any) -> float:
    """MB of an amount that there is; 0 if none is set."""
    return amount_of(value) or 0.0


#: Licences of a layer without a limit, as Slurm prints them (count: -1 in resources.yaml).
UNLIMITED = 4294967295


def licences(value: Any) -> float:
    """Return a number of licences; 0 if none is set."""
    return UNLIMITED if str(value) == str(UNLIMITED) else amount_or_0(value)


def tres(value: Any) -> dict[str, float]:
    """Return ``cpu=8,mem=100M,node=1,gres/gpu:a100=2`` as amounts, mem in MB.

    JSON lists of ``{"type", "name", "count"}`` and usages ``cpu=N(8)`` are read too; unlimited
    resources are missing from the result.
    """
    found: dict[str, float] = {}
    if isinstance(value, list):
        for item in value:
            if isinstance(item, Mapping) and item.get("type"):
                name = "/".join(filter(None, (str(item["type"]), text(item.get("name")))))
                if (count := number(item.get("count"))) is not None and math.isfinite(count):
                    found[name] = count
        return found
    for part in text(value).split(","):
        name, equals, amount = part.strip().partition("=")
        amount = amount.partition("(")[0].strip()
        if not equals or blank(amount) or amount.lower() in _INFINITE:
            continue
        try:
            sized = megabytes(amount)
        except ValueError:
            wrong = f"{part.strip()!r} is not an amount such as cpu=8, mem=100M or gres/gpu=2"
            raise ValueError(wrong) from None
        if sized is not None and math.isfinite(sized) and sized < 2.0**62:
            found[name.strip()] = sized if name.strip() in ("mem", "vmem") else _count(amount)
    return found


def tres_weights(value: Any) -> dict[str, float]:
    """Return ``CPU=1.0,Mem=0.25G,GRES/gpu=2`` as weights by TRES, in small letters; mem per MB.

    A weight with a unit is that of one unit: 0.25 for each GB.
    """
    found: dict[str, float] = {}
    for part in text(value).split(","):
        name, equals, written = part.strip().rpartition("=")
        if not equals:
            continue
        weight = re.fullmatch(
            r"(\d{1,12}(?:\.\d{0,12})?|\.\d{1,12})([KMGTP]?)", written.strip().upper()
        )
        if weight is None:
            raise ValueError(f"{part.strip()!r} is not a weight such as CPU=1.0 or Mem=0.25G")
        kind = name.strip().lower()
        unit = _UNITS[weight[2] or "M"] if kind in ("mem", "vmem") else 1.0
        found[kind] = float(weight[1]) / unit
    return found


def _count(amount: str) -> float:
    """Return a count; ``2K`` is 2048."""
    found = _SIZE.fullmatch(amount)
    assert found is not None
    factor = _UNITS[found[2].upper()] * (1024.0 if found[2] else 1.0)
    return float(found[1]) * factor


def gres(value: Any) -> dict[str, int]:
    """Return ``gpu:a100:4(S:0-1),gpu:2,license:1`` as counts by ``gpu:a100`` and ``gpu``.

    Requests may also have ``gres/gpu:2``, ``gres:gpu:2`` and ``gpu=2``.
    """
    found: dict[str, int] = {}
    for part in re.split(r",(?![^()]*\))", text(value)):
        word = re.sub(r"\(.*?\)", "", part).strip()
        word = re.sub(r"^gres[/:]", "", word).replace("=", ":")
        if not word:
            continue
        pieces = word.split(":")
        count = 1
        if len(pieces) > 1 and re.fullmatch(r"\d{1,9}[KMG]?", pieces[-1], re.IGNORECASE):
            count = int(_count(pieces.pop()))
        name = ":".join(pieces)
        found[name] = found.get(name, 0) + count
    return found


def host_list(value: Any) -> tuple[str, ...]:
    """Return the names of ``n[1-3,07],login``; leading zeros and several brackets are kept."""
    if isinstance(value, list):
        return tuple(name for part in value for name in host_list(part))
    found: list[str] = []
    for part in _split(text(value)):
        pieces = re.split(r"\[([^\[\]]*)\]", part)
        if len(pieces) == 1:
            if "[" in part or "]" in part:
                raise ValueError(f"{part[:80]!r} is not a list of nodes such as n[1-3,7]")
            names: Iterable[str] = (part,)
        else:
            choices = [
                (piece,) if place % 2 == 0 else tuple(_numbers(piece, part))
                for place, piece in enumerate(pieces)
            ]
            if math.prod(map(len, choices)) > MAX_HOSTS:
                raise ValueError(
                    f"{part[:80]!r} expands to more than {MAX_HOSTS:,} nodes: use fewer"
                )
            names = ("".join(parts) for parts in product(*choices))
        found.extend(names)
    return tuple(found)


def _split(text: str) -> list[str]:
    """Return the parts between commas that are not in brackets."""
    return [part.strip() for part in re.split(r",(?![^\[]*\])", text) if part.strip()]


def _numbers(listed: str, part: str) -> Iterable[str]:
    """Yield the numbers of ``1-3,07`` with their zeros."""
    for piece in listed.split(","):
        found = re.fullmatch(r"\s*(\d{1,12})(?:-(\d{1,12}))?\s*", piece)
        if found is None:
            raise ValueError(f"{part[:80]!r} is not a list of nodes such as n[1-3,7]")
        first, last = found[1], found[2] or found[1]
        if int(last) - int(first) >= MAX_HOSTS:
            raise ValueError(f"{part[:80]!r} expands to more than {MAX_HOSTS:,} nodes: use fewer")
        for index in range(int(first), int(last) + 1):
            yield str(index).zfill(len(first))
