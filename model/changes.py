"""External changes of a cluster and its jobs during a simulation (LOP-07).

Times are seconds from the instance's second 0. Files of changes: :mod:`slotwise.model.formats`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from .facts import Fact
from .job import Job

OK, CLOSED, DOWN, OPEN, UP = STATUSES = "ok", "closed", "down", "open", "up"
#: Status of a host that is down and that will be closed when it is up again.
DOWN_AND_CLOSED = "down, closed"


@dataclass(frozen=True, slots=True)
class HostStatus:
    """A new host status.

    "down": the jobs of the host are requeued; "up"; "closed": its jobs run, it takes no new ones;
    "open"; "ok": up and open.
    """

    #: Seconds from the origin.
    time: Annotated[int, Fact("whole")]
    #: Name of the host.
    host: Annotated[str, Fact("name")]
    #: One of STATUSES.
    status: Annotated[str, Fact("host_change")]


@dataclass(frozen=True, slots=True)
class LoadReport:
    """A new report of load indices, or of mem, swp and tmp (MB) without the jobs' use."""

    #: Seconds from the origin.
    time: Annotated[int, Fact("whole")]
    #: Name of the host that reports.
    host: Annotated[str, Fact("name")]
    #: Value by load index; MB for mem, swp and tmp.
    values: Annotated[Mapping[str, float], Fact("load")]


@dataclass(frozen=True, slots=True)
class Resize:
    """A new allocation of a running job: `allocation` is slots by host name."""

    #: Seconds from the origin.
    time: Annotated[int, Fact("whole")]
    #: Id of the running job.
    job: Annotated[str, Fact("job_id")]
    #: Slots after the change, by host name.
    allocation: Annotated[Mapping[str, int], Fact("allocation")]


@dataclass(frozen=True, slots=True)
class Release:
    """A release of some slots of a running job: `slots` is the number released, by host name."""

    #: Seconds from the origin.
    time: Annotated[int, Fact("whole")]
    #: Id of the running job.
    job: Annotated[str, Fact("job_id")]
    #: Number of slots that the job releases, by host name.
    slots: Annotated[Mapping[str, int], Fact("allocation")]


@dataclass(frozen=True, slots=True)
class EarlyEnd:
    """The end of a running job, regardless of its run time."""

    #: Seconds from the origin at which the job ends.
    time: Annotated[int, Fact("whole")]
    #: Id of the running job.
    job: Annotated[str, Fact("job_id")]


@dataclass(frozen=True, slots=True)
class NewJob:
    """The submission of a job, at its `submit` time."""

    #: The submitted job; its `submit` is the time of the change.
    job: Job

    @property
    def time(self) -> int:
        """Return the submission time (seconds from the origin)."""
        return self.job.submit


@dataclass(frozen=True, slots=True)
class Moved:
    """A new position (btop, bbot) of a pending job within its queue and priority."""

    #: Seconds from the origin.
    time: Annotated[int, Fact("whole")]
    #: Id of the pending job.
    job: Annotated[str, Fact("job_id")]
    #: Whether the job becomes the first or the last of them.
    to: Annotated[Literal["top", "bottom"], Fact("direction")]


@dataclass(frozen=True, slots=True)
class QueueSwitch:
    """A new queue (bswitch) of a pending job."""

    #: Seconds from the origin.
    time: Annotated[int, Fact("whole")]
    #: Id of the pending job.
    job: Annotated[str, Fact("job_id")]
    #: Name of the new queue.
    queue: Annotated[str, Fact("name")]


@dataclass(frozen=True, slots=True)
class Modification:
    """New values for fields of a :class:`.Job` (bmod); for a running job only of its run limit."""

    #: Seconds from the origin.
    time: Annotated[int, Fact("whole")]
    #: Id of the modified job.
    job: Annotated[str, Fact("job_id")]
    #: New value by the name of a field of :class:`.Job`.
    fields: Annotated[Mapping[str, Any], Fact("job_fields")]


@dataclass(frozen=True, slots=True)
class Kill:
    """The end of a job by bkill; a pending job never starts."""

    #: Seconds from the origin.
    time: Annotated[int, Fact("whole")]
    #: Id of the killed job.
    job: Annotated[str, Fact("job_id")]


HostChange = HostStatus | LoadReport
SizeChange = Resize | Release
JobCommand = EarlyEnd | Moved | QueueSwitch | Modification | Kill
Change = HostChange | SizeChange | JobCommand | NewJob


def status_after(before: str, news: str) -> str:
    """Return the status of a host after a change to one of STATUSES.

    A host can be both closed and down. before: a result of this function, or one of LSF's words
    (closed_Adm, unavail).
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
