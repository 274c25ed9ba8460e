"""Absolute priority scheduling (APS): the formula of APS_PRIORITY, and who shares one order.

A queue with APS_PRIORITY, and the queues that its QUEUE_GROUP names, are one *APS group*: their
pending jobs stand in one order, by a value that a formula makes of the factors of each job.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

#: The factors of the formula and the values that each is made of. FS is a value by itself.
FACTORS: Mapping[str, tuple[str, ...]] = {
    "FS": (),
    "RSRC": ("PROC", "MEM", "SWAP"),
    "WORK": ("JPRIORITY", "QPRIORITY", "APP", "USER", "UG"),
}
#: The values of a job that the formula weighs.
METRICS = tuple(name for factor, parts in FACTORS.items() for name in parts or (factor,))
NAMES = frozenset((*FACTORS, *METRICS))
#: The largest APS value and limit that is accepted.
LARGEST = 1_000_000.0
#: Keywords of APS_PRIORITY.
SECTIONS = ("WEIGHT", "LIMIT", "GRACE_PERIOD")
_SECTION = re.compile(r"\s*(?P<name>[A-Za-z_]+)\s*\[(?P<list>(?:\s*\[[^\[\]]*\]\s*,?)+)\s*\]\s*")
_PAIR = re.compile(r"\[\s*(?P<name>[^\[\],\s]+)\s*[,\s]\s*(?P<value>[^\[\],]*?)\s*\]")
_UNITS = {"s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True, slots=True)
class AbsolutePriority:
    """APS_PRIORITY of a queue; what each of the names counts for."""

    #: Weight by the name of a factor or value, never 0.
    weights: Mapping[str, float] = field(default_factory=dict)
    #: Largest distance from 0 of a weighted factor or value, by its name.
    limits: Mapping[str, float] = field(default_factory=dict)
    #: Seconds for which a job has to be pending before the factor or value counts, by its name.
    delays: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return the text of APS_PRIORITY in lsb.queues."""
        sections = (
            ("WEIGHT", {name: _short(value) for name, value in self.weights.items()}),
            ("LIMIT", {name: _short(value) for name, value in self.limits.items()}),
            ("GRACE_PERIOD", {name: time_text(value) for name, value in self.delays.items()}),
        )
        return " ".join(
            f"{section}[{' '.join(f'[{name}, {value}]' for name, value in pairs.items())}]"
            for section, pairs in sections
            if pairs
        )

    @classmethod
    def parse(cls, text: str) -> AbsolutePriority:
        """Parse ``WEIGHT[[JPRIORITY, 1] [QPRIORITY, 10]] LIMIT[…] GRACE_PERIOD[…]``, else
        ValueError.
        """
        found: dict[str, dict[str, str]] = {}
        at = 0
        while at < len(text.rstrip()):
            match = _SECTION.match(text, at)
            if match is None:
                raise ValueError(
                    "must be sections such as WEIGHT[[JPRIORITY, 1] [FS, 100]], not "
                    f"{text[at:].strip()!r}"
                )
            section = match["name"].upper()
            if section not in SECTIONS:
                raise ValueError(
                    f"unknown section {match['name']!r}: use one of {', '.join(SECTIONS)}"
                )
            if section in found:
                raise ValueError(f"{section} is given twice: write all its pairs in one list")
            found[section] = dict(_pairs(section, match["list"]))
            at = match.end()
        if not found.get("WEIGHT"):
            raise ValueError("no factor has a weight: write WEIGHT[[JPRIORITY, 1] [FS, 100]]")
        return cls(
            {name: _number("WEIGHT", name, v) for name, v in found["WEIGHT"].items()},
            {name: _number("LIMIT", name, v) for name, v in found.get("LIMIT", {}).items()},
            {name: _seconds(name, v) for name, v in found.get("GRACE_PERIOD", {}).items()},
        )

    def weight(self, name: str) -> float:
        """Return the weight of a factor or value; without its own it is 1 if its values have
        some.
        """
        if name in self.weights:
            return self.weights[name]
        return 1.0 if any(part in self.weights for part in FACTORS.get(name, ())) else 0.0

    @property
    def metrics(self) -> tuple[str, ...]:
        """Return the values of a job that affect its priority."""
        return tuple(
            part
            for factor, parts in FACTORS.items()
            for part in parts or (factor,)
            if self.weight(part) and self.weight(factor)
        )

    @property
    def idle(self) -> tuple[str, ...]:
        """Return factors with a weight but without a weighted value; they have no effect."""
        return tuple(
            factor
            for factor, parts in FACTORS.items()
            if factor in self.weights and parts and not any(part in self.weights for part in parts)
        )

    def terms(self, metrics: Mapping[str, float], pended: int) -> dict[str, float]:
        """Return the amount that each value adds, before its factor is limited.

        metrics: values of the job by name. pended: seconds. A value counts nothing before its
        GRACE_PERIOD is over.
        """
        found: dict[str, float] = {}
        for factor, parts in FACTORS.items():
            if pended < self.delays.get(factor, 0):
                continue
            outer = self.weight(factor) if parts else 1.0
            for part in parts or (factor,):
                if part in self.weights and pended >= self.delays.get(part, 0):
                    inner = self.weights[part] * metrics.get(part, 0.0)
                    limit = self.limits.get(part) if parts else None
                    found[part] = outer * _capped(inner, limit)
        return found

    def value(self, metrics: Mapping[str, float], pended: int, admin: float = 0.0) -> float:
        """Return the APS value of a job; `admin` is the addend of ``bmod -aps "admin=10"``."""
        terms = self.terms(metrics, pended)
        total = admin
        for factor, parts in FACTORS.items():
            inside = sum(terms.get(part, 0.0) for part in parts or (factor,))
            total += _capped(inside, self.limits.get(factor))
        return min(total, LARGEST)

    def delay_ends(self, submit: int) -> Iterator[int]:
        """Yield the instants at which values of a job begin to count (seconds from the origin)."""
        yield from (submit + seconds for seconds in set(self.delays.values()))


def _capped(value: float, limit: float | None) -> float:
    return value if limit is None else max(-abs(limit), min(abs(limit), value))


def _pairs(section: str, text: str) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    rest = _PAIR.sub("", text).replace(",", "").strip()
    if rest:
        raise ValueError(f"{section} must have pairs [factor, value], not {rest!r}")
    for match in _PAIR.finditer(text):
        name = match["name"].upper()
        if name == "ADMIN":
            raise ValueError(f"ADMIN cannot be in {section}: set ADMIN with bmod -aps")
        if name not in NAMES:
            raise ValueError(f"{section}: unknown factor {match['name']!r}: use {_known()}")
        if name in seen:
            raise ValueError(f"{section} has {name} twice: give each factor one value")
        seen.add(name)
        yield name, match["value"]


def _known() -> str:
    return ", ".join(
        f"{factor} ({', '.join(parts)})" if parts else factor for factor, parts in FACTORS.items()
    )


def _number(section: str, name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not abs(value) < float("inf"):
        raise ValueError(f"{section} of {name} must be a number, not {text!r}")
    if not value:
        raise ValueError(f"{section} of {name} must be a number other than 0, not {text!r}")
    return value


def _seconds(name: str, text: str) -> int:
    """Return the seconds of a GRACE_PERIOD; a number without a unit is in hours."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)\s*([smhSMH]?)", text)
    if match is None:
        raise ValueError(
            f"GRACE_PERIOD of {name} must be a time such as 10h, 10m or 10s, not {text!r}"
        )
    seconds = round(float(match[1]) * _UNITS[match[2].lower() or "h"])
    if seconds < 1:
        raise ValueError(f"GRACE_PERIOD of {name} must be 1s or more, not {text!r}")
    return seconds


def _short(value: float) -> str:
    return f"{value:g}" if float(f"{value:g}") == value else repr(value)


def time_text(seconds: int) -> str:
    """Return a GRACE_PERIOD as text, such as ``10h``, ``10m`` or ``10s``."""
    for unit in ("h", "m"):
        if seconds % _UNITS[unit] == 0:
            return f"{seconds // _UNITS[unit]}{unit}"
    return f"{seconds}s"


@dataclass(frozen=True, slots=True)
class StatedPriority:
    """A priority that an administrator set for one job (``bmod -aps``)."""

    #: ``system``: above all calculated values. ``admin``: added to the calculated value of the job.
    kind: str
    #: The priority or the addend, never 0.
    value: float

    def __str__(self) -> str:
        """Return the argument of ``bmod -aps``."""
        return f"{self.kind}={_short(self.value)}"

    @classmethod
    def parse(cls, text: str) -> StatedPriority:
        """Parse ``system=10`` or ``admin=2.5``; raises ValueError."""
        kind, equals, value = text.partition("=")
        kind = kind.strip().lower()
        if not equals or kind not in ("system", "admin"):
            raise ValueError(f"must be system=value or admin=value, not {text!r}")
        return cls(kind, _number("the value", kind, value.strip()))
