"""What keeps a job from starting before its planned start, true over whole stretches of time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

from ..availability.calendar import WEEK
from ..availability.demand import Demand
from ..availability.profile import FOREVER, Profile
from ..budget import OutOfTime
from ..pending_reasons import held_back_by
from ..placement.earliest import can_start
from ..shortage import Reason, amounts_short, find_shortage, over
from .suggestions import job_text
from .what_if import PlanView

#: A job may fit where a running one gives memory back; time-based reservation does not look there.
BETWEEN_ENDS = Reason(
    "it fits, but time-based reservation starts jobs only now and when other jobs end"
)
#: Of a job that never starts, a week after the last change.
EVERY_WEEK = "the same again every week, as its windows open and close"
CLOSED = Reason("a dispatch or run window is closed or closes too soon")
#: Jobs that are named in one reason.
MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What keeps the job from starting from `first` to before `until`, at every instant of it.

    until: None where it never ends. instants: how many instants were looked at; nothing that counts
    changes between them.
    """

    first: int
    until: int | None
    reason: str
    instants: int


@dataclass(frozen=True, slots=True)
class Hindrance:
    """The reason at one instant; planned: only planned jobs are in the way then."""

    time: int
    planned: bool
    reason: Reason


def find_obstacles(
    view: PlanView,
    demand: Demand,
    start: int | None,
    method: str,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[Obstacle]:
    """The time before the start, put together where the reason is the same.

    Raises OutOfTime once `stop` says yes.
    """
    now = view.problem.instance.now
    if demand.earliest > now:
        until = demand.earliest if start is None else min(demand.earliest, start)
        yield Obstacle(now, until, held_back_by(demand), 1)
    candidates = view.profile.candidate_times(demand.earliest, finishes_only=method == "time-based")
    looked_at = set(candidates)
    times = [time for time in _instants(view, demand) if start is None or time < start]
    last = start
    if start is None and demand.calendar is not None:
        last = max(demand.earliest, *view.profile.changes(), *view.problem.base.changes()) + WEEK
        times = [time for time in times if time < last]
    findings = []
    for time in times:
        if stop():
            raise OutOfTime
        findings.append(_finding(view, demand, time, time in looked_at))
    who = Reservations(view, demand)
    rows = [
        (part, names)
        for _, alike in groupby(findings, key=lambda item: (item.planned, item.reason.kind))
        for part, names in who.parts(list(alike))
    ]
    ends = [*(part[0].time for part, _ in rows[1:]), last]
    for (part, names), end in zip(rows, ends, strict=False):
        reason = over([item.reason for item in part])
        yield Obstacle(part[0].time, end, f"{reason}{names}", len(part))
    if last is not None and start is None:
        yield Obstacle(last, None, EVERY_WEEK, 1)


def _instants(view: PlanView, demand: Demand) -> list[int]:
    """Every instant at which what the job finds over its window may change.

    That is where something starts or ends, and where the window, or a phase of what the job asks
    for, begins to reach over a later start.
    """
    profile, base = view.profile, view.problem.base
    lengths = {
        drop
        for term in demand.terms
        for alternative in term.alternatives
        for use in (*alternative.host_uses, *alternative.pool_uses)
        for drop in use.reservation.drops()
    }
    if demand.duration is not None:
        lengths.add(demand.duration)
    edges = {start - length + 1 for start in profile.later_starts for length in lengths}
    changes = {demand.earliest, *profile.changes(), *base.changes(), *edges}
    times = sorted(time for time in changes if demand.earliest <= time < FOREVER)
    if profile.accepted is not None and profile.minds_intervals(demand):
        closings = profile.accepted.closings()
        times = sorted({*times, *(time for time in closings if demand.earliest <= time)})
    return sorted({*profile.with_openings(demand, times), *_closings(demand, times)})


def _closings(demand: Demand, times: list[int]) -> Iterator[int]:
    """From when on a window of the job is closed, or too short for it."""
    if demand.calendar is not None:
        for time in times:
            yield from demand.calendar.closings(time, demand.duration)


def _finding(view: PlanView, demand: Demand, time: int, looked_at: bool) -> Hindrance:
    base = view.problem.base
    if not base.open_for(demand, time):
        return Hindrance(time, False, CLOSED)
    planned = can_start(base, demand, time)
    if planned and not looked_at and can_start(view.profile, demand, time):
        return Hindrance(time, False, BETWEEN_ENDS)
    profile = view.profile if planned else base
    found = [find_shortage(view.problem, demand, profile, time)]
    amounts = amounts_short(view.problem, demand, profile, time)
    joined = Reason.joined(found if amounts is None else [*found, amounts])
    return Hindrance(time, planned, joined)


@dataclass(slots=True)
class Reservations:
    """Whose reservations are in the way."""

    view: PlanView
    demand: Demand
    _without: dict[str, Profile] = field(default_factory=dict)

    def parts(self, alike: list[Hindrance]) -> Iterator[tuple[list[Hindrance], str]]:
        """Findings of one kind in stretches in which the same jobs are in the way, as words."""
        if not alike[0].planned:
            yield alike, ""
            return
        at = 0
        while at < len(alike):
            end, names = self._stretch(alike, at)
            yield alike[at:end], names
            at = end

    def _stretch(self, alike: list[Hindrance], at: int) -> tuple[int, str]:
        """Where the stretch from `at` ends, and the jobs that are in the way all along."""
        overlapping = self._overlapping(alike[at].time)
        alone = [job for job in overlapping if self._frees(job, alike[at].time)][:MOST_NAMED]
        named, more, end = alone or overlapping, False, at + 1
        while end < len(alike):
            time = alike[end].time
            here = self._overlapping(time)
            kept = [job for job in named if job in here and (not alone or self._frees(job, time))]
            if not kept or (not alone and any(self._frees(job, time) for job in here)):
                break
            more = more or kept != named or len(here) > len(kept)
            named, end = kept, end + 1
        if alone:
            return end, f" (reserved for {' or '.join(map(job_text, named))})"
        if not named:
            return end, " (reserved for jobs before it)"
        shown = ", ".join(map(job_text, named[:MOST_NAMED]))
        if more or len(named) > MOST_NAMED:
            return end, f" (reserved for {shown} and others together)"
        return end, f" (reserved for {shown}{' together' if len(named) > 1 else ''})"

    def _overlapping(self, time: int) -> list[str]:
        """Planned jobs that hold something within the window from `time`."""
        length = self.demand.duration
        end = FOREVER if length is None else time + length
        return [
            other.demand.job.id
            for other in self.view.planned
            if other.start.time < end and time < (other.start.finish(other.demand) or FOREVER)
        ]

    def _frees(self, job: str, time: int) -> bool:
        """Whether the job would fit at `time` without one of the reservations."""
        if job not in self._without:
            self._without[job] = self.view.without(job)
        return can_start(self._without[job], self.demand, time)
