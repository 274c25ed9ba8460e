"""What happens to a cluster and its jobs from outside while a simulation runs (LOP-07).

Times are seconds from the instance's second 0. Files of changes: :mod:`slotwise.model.formats`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .job import Job

OK, CLOSED, DOWN, OPEN, UP = STATUSES = "ok", "closed", "down", "open", "up"
#: A host that is down and, once it is back, still closed.
DOWN_AND_CLOSED = "down, closed"


@dataclass(frozen=True, slots=True)
class HostStatus:
    """A host goes "down" (its jobs wait again) or comes "up", is "closed" (runs on, takes no job)
    or "open" again; "ok": up and open.
    """

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


@dataclass(frozen=True, slots=True)
class Release:
    """A running job gives back `slots` (by host) and runs on with the rest."""

    time: int
    job: str
    slots: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EarlyEnd:
    """A running job is done, whatever its run time said."""

    time: int
    job: str


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job is submitted at its `submit`."""

    job: Job

    @property
    def time(self) -> int:
        """When it is submitted."""
        return self.job.submit


@dataclass(frozen=True, slots=True)
class Moved:
    """btop, bbot: a pending job goes before or behind those of its queue and priority."""

    time: int
    job: str
    to: Literal["top", "bottom"]


@dataclass(frozen=True, slots=True)
class QueueSwitch:
    """bswitch: a pending job is in another queue from then on."""

    time: int
    job: str
    queue: str


@dataclass(frozen=True, slots=True)
class Modification:
    """bmod: fields of a :class:`.Job` and their new values; of a running job its run limit only."""

    time: int
    job: str
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Kill:
    """bkill: a job ends, or never starts."""

    time: int
    job: str


HostChange = HostStatus | LoadReport
SizeChange = Resize | Release
JobCommand = EarlyEnd | Moved | QueueSwitch | Modification | Kill
Change = HostChange | SizeChange | JobCommand | NewJob


def status_after(before: str, news: str) -> str:
    """The state of a host after one of STATUSES: closing and being down are separate things.

    before: as this function gives it, or one of LSF's words (closed_Adm, unavail).
    """
    if news == OK:
        return OK
    down = before in (DOWN, DOWN_AND_CLOSED, "unavail", "unreach")
    closed = before == DOWN_AND_CLOSED or before.startswith(CLOSED)
    down = news == DOWN or (down and news != UP)
    closed = news == CLOSED or (closed and news != OPEN)
    if down:
        return DOWN_AND_CLOSED if closed else DOWN
    return CLOSED if closed else OK
