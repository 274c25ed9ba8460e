"""What happens to a cluster from outside while jobs run (LOP-07); times in seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

OK, CLOSED, DOWN = STATUSES = "ok", "closed", "down"


@dataclass(frozen=True, slots=True)
class HostStatus:
    """A host is "ok", "closed" (runs on, takes no job) or "down" (its jobs wait again)."""

    time: int
    host: str
    status: str


@dataclass(frozen=True, slots=True)
class LoadReport:
    """A host reports load indices, or mem, swp and tmp (MB) as they would be without jobs."""

    time: int
    host: str
    values: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Resize:
    """A running job holds `allocation` (host to slots) from then on (TBR-14)."""

    time: int
    job: str
    allocation: Mapping[str, int] = field(default_factory=dict)


Change = HostStatus | LoadReport | Resize
