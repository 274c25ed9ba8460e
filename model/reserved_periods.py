"""When advance reservations are active, and for whom (ARV-01).

A recurring reservation is active again and again; the scheduler takes it for one reservation a
period, all of one name, over a number of weeks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from .configuration import UserGroup
from .display import WEEK
from .instance import AdvanceReservation, Instance
from .job import Job
from .windows import open_periods

#: Weeks from now over which the periods of a recurring reservation are known.
KNOWN_WEEKS = 10


@dataclass(frozen=True, slots=True)
class ReservedPeriods:
    """When jobs of one advance reservation are eligible, and when it kills them; in seconds."""

    name: str
    #: [start, end) of each, ascending and apart; those that are over too, where known.
    periods: tuple[tuple[int, int], ...]
    #: Its jobs continue beyond the period in which they started.
    open: bool = False

    def is_active(self, time: int) -> bool:
        """Whether `time` lies inside a period."""
        return any(start <= time < end for start, end in self.periods)

    def ends_run(self, start: int) -> int | None:
        """When a job that starts in a period of a closed reservation is killed; None if never."""
        if self.open:
            return None
        return next((end for begin, end in self.periods if begin <= start < end), None)

    def next_start(self, time: int) -> int | None:
        """The first second from `time` on at which a job is eligible, None if never."""
        return next((max(time, start) for start, end in self.periods if end > time), None)

    def starts_after(self, time: int) -> list[int]:
        """`time` if it is active then, and the beginning of each later period."""
        return [max(time, start) for start, end in self.periods if end > time]

    def ends_after(self, time: int) -> list[int]:
        """The end of each period that is not over by `time`."""
        return [end for _, end in self.periods if end > time]


def with_periods(instance: Instance) -> Instance:
    """The instance with each recurring reservation as one of its name for each of its periods."""
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


def reserved_periods(instance: Instance, name: str) -> ReservedPeriods | None:
    """When the advance reservation of that name is active, None if there is none."""
    own = [
        one
        for item in instance.advance_reservations
        if item.name == name
        for one in _one_by_one(instance, item)
    ]
    if not own:
        return None
    periods = tuple(sorted((item.start, item.end) for item in own))
    return ReservedPeriods(name, periods, own[0].open)


def end_of_reservation(instance: Instance, job: Job, start: int) -> int | None:
    """When the end of its closed advance reservation kills a job that starts then, else None."""
    found = reserved_periods(instance, job.reservation)
    return None if found is None else found.ends_run(start)


def may_use(item: AdvanceReservation, user: str, groups: Iterable[UserGroup]) -> bool:
    """Whether the jobs of a user may run in an advance reservation."""
    members = {group.name: group.members for group in groups}
    seen: set[str] = set()
    waiting = list(item.users)
    while waiting:
        name = waiting.pop()
        if name in (user, "all"):
            return True
        if name not in seen:
            seen.add(name)
            waiting += members.get(name, ())
    return False


def of_jobs(instance: Instance) -> tuple[AdvanceReservation, ...]:
    """The advance reservations that running or pending jobs belong to (-U)."""
    named = {item.job.reservation for item in instance.running}
    named |= {job.reservation for job in instance.pending}
    return tuple(item for item in instance.advance_reservations if item.name in named)
