"""Active periods of advance reservations, and the jobs that may use them (ARV-01).

A recurring reservation is active repeatedly; the scheduler treats it as one reservation for each
period, all of one name, over a number of weeks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from .configuration import UserGroup
from .display import WEEK
from .instance import AdvanceReservation, Instance
from .job import Job
from .shares import Groups
from .windows import open_periods

#: Number of weeks from now for which the periods of a recurring reservation are computed.
KNOWN_WEEKS = 10
#: End (seconds) of the last part of a recurring reservation: behind the known periods its slots
#: are reserved without an end, so that no start there is taken for possible.
ALWAYS = 1 << 60


@dataclass(frozen=True, slots=True)
class ReservedPeriods:
    """Periods of one advance reservation, in which its jobs are eligible; in seconds."""

    #: Id of the reservation.
    name: str
    #: Start and end of each period, [start, end), ascending and disjoint; past periods too, if
    #: known.
    periods: tuple[tuple[int, int], ...]
    #: Whether its jobs continue beyond the period in which they started.
    open: bool = False
    #: Whether there are later periods, which are not known.
    recurs: bool = False

    def is_active(self, time: int) -> bool:
        """Return whether `time` lies inside a period."""
        return any(start <= time < end for start, end in self.periods)

    def ends_run(self, start: int) -> int | None:
        """Return when a job that starts in a period of a closed reservation is killed; None if
        never.
        """
        if self.open:
            return None
        return next((end for begin, end in self.periods if begin <= start < end), None)

    def next_start(self, time: int) -> int | None:
        """Return the first second from `time` on at which a job is eligible, None if never."""
        return next((max(time, start) for start, end in self.periods if end > time), None)

    def starts_after(self, time: int) -> list[int]:
        """Return `time` if a period contains it, and the start of each later period."""
        return [max(time, start) for start, end in self.periods if end > time]

    def ends_after(self, time: int) -> list[int]:
        """Return the end of each period that ends after `time`."""
        return [end for _, end in self.periods if end > time]


def with_periods(instance: Instance) -> Instance:
    """Return the instance with each recurring reservation replaced by one for each period."""
    if not any(item.windows for item in instance.advance_reservations):
        return instance
    items = [one for item in instance.advance_reservations for one in _one_by_one(instance, item)]
    return replace(instance, advance_reservations=tuple(items))


def _one_by_one(instance: Instance, item: AdvanceReservation) -> Iterator[AdvanceReservation]:
    if not item.windows:
        yield item
        return
    since, until = instance.now - WEEK, instance.now + KNOWN_WEEKS * WEEK
    for start, end in open_periods(item.windows, instance.origin, since, until):
        yield replace(item, start=start, end=end, windows="")
        until = max(until, end)
    yield replace(item, start=until, end=ALWAYS, windows="", suspends=False)


def recurring(instance: Instance) -> tuple[AdvanceReservation, ...]:
    """Return the periods of recurring reservations, in an instance that has them one by one."""
    names = {item.name for item in instance.advance_reservations if item.end == ALWAYS}
    return tuple(item for item in instance.advance_reservations if item.name in names)


def reserved_periods(instance: Instance, name: str) -> ReservedPeriods | None:
    """Return the periods of the advance reservation of that name, None if there is none."""
    own = [
        one
        for item in instance.advance_reservations
        if item.name == name
        for one in _one_by_one(instance, item)
    ]
    if not own:
        return None
    periods = tuple(sorted((item.start, item.end) for item in own if item.end < ALWAYS))
    return ReservedPeriods(name, periods, own[0].open, any(item.end == ALWAYS for item in own))


def end_of_reservation(instance: Instance, job: Job, start: int) -> int | None:
    """Return when the end of its closed advance reservation kills a job that starts then, else
    None.
    """
    found = reserved_periods(instance, job.reservation)
    return None if found is None else found.ends_run(start)


def rejection(item: AdvanceReservation, user: str, groups: Iterable[UserGroup]) -> str:
    """Return why bsub -U rejects a user, "" if the reservation is for the user."""
    if may_use(item, user, groups):
        return ""
    whose = f"is for {', '.join(item.users)}" if item.users else "is the system's"
    return f"advance reservation {item.name} {whose}: bsub rejects user {user}"


def may_use(item: AdvanceReservation, user: str, groups: Iterable[UserGroup]) -> bool:
    """Return whether the jobs of a user may run in an advance reservation."""
    return bool(item.users) and Groups(groups).admits(item.users, user)


def of_jobs(instance: Instance) -> tuple[AdvanceReservation, ...]:
    """Return the advance reservations that running or pending jobs use (-U)."""
    named = {item.job.reservation for item in instance.running}
    named |= {job.reservation for job in instance.pending}
    return tuple(item for item in instance.advance_reservations if item.name in named)
