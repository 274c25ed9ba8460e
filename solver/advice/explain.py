"""Why a job does not start earlier, and what would help."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from ...model.errors import InputError, nearest
from ...model.instance import Instance
from ...model.job import Job
from ...model.time_text import with_stamps
from ..availability.demand import Demand
from ..availability.profile import FOREVER, Profile
from ..pending_reasons import BEGIN_TIME
from ..placement.earliest import can_start
from ..shortage import Reason, amounts_short, find_shortage, over
from .suggestions import Suggestion, job_text, suggest
from .what_if import Asker, Method, Outlook, PlanView


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What keeps the job from starting at the candidate instants from `first` to before `until`.

    until: None where it never ends. instants: how many candidate instants were looked at.
    """

    first: int
    until: int | None
    reason: str
    instants: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """One pending job: its start as planned, what stands before it, what would bring it forward.

    tried: how many changes were tried for the suggestions, the best of which come first. now:
    seconds from the origin, the ISO date of second 0 (None: it has none).
    """

    outlook: Outlook
    method: str
    obstacles: tuple[Obstacle, ...]
    suggestions: tuple[Suggestion, ...]
    tried: int

    now: int = 0
    origin: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data, times in seconds from the instance's origin, ISO stamps beside them."""
        found = {
            "now": self.now,
            "origin": self.origin,
            "job": self.outlook.job.id,
            "method": self.method,
            "start": self.outlook.start,
            "finish": self.outlook.finish,
            "allocation": dict(self.outlook.allocation),
            "proved": self.outlook.proved,
            "waits_for": self.outlook.waits_for,
            "obstacles": [
                with_stamps(
                    {"from": o.first, "until": o.until, "reason": o.reason},
                    self.origin,
                    ("from", "until"),
                )
                for o in self.obstacles
            ],
            "suggestions": [
                with_stamps(
                    {
                        "change": s.change,
                        "start": s.start,
                        "gain": s.gain,
                        "allocation": s.allocation,
                    },
                    self.origin,
                    ("start",),
                )
                for s in self.suggestions
            ],
            "tried": self.tried,
        }
        return with_stamps(found, self.origin, ("start", "finish"))


def explain(
    instance: Instance,
    job: str,
    *,
    method: Method = "time-based",
    time_limit: float | None = None,
    effort: float | None = None,
    cancel: threading.Event | None = None,
) -> Explanation:
    """Why a pending job does not start earlier, and what would help (LOP-01).

    method: "time-based" (what LSF would say, quick) or "optimal" (lexicographic, the jobs before it
    placed jointly). time_limit, effort: of each exact plan. cancel: set it to stop trying changes.
    Raises InputError for a job that is not pending.
    """
    asked = _pending(instance, job)
    forecast = Asker(instance, method, time_limit=time_limit, effort=effort, cancel=cancel)
    view = forecast.view(asked)
    demand = forecast.demand(view, asked)
    outlook = forecast.outlook(asked)
    if demand.impossible or outlook.start == instance.now:
        obstacles: tuple[Obstacle, ...] = ()
    else:
        obstacles = tuple(_obstacles(view, demand, outlook.start, method))
    if outlook.start == instance.now:
        return Explanation(
            outlook, method, obstacles, (), 0, now=instance.now, origin=instance.origin
        )
    suggestions, tried = suggest(forecast, view, demand, outlook)
    return Explanation(
        outlook,
        method,
        obstacles,
        suggestions,
        tried,
        now=instance.now,
        origin=instance.origin,
    )


def _pending(instance: Instance, job: str) -> Job:
    found = next((item for item in instance.pending if item.id == job), None)
    if found is not None:
        return found
    if any(item.job.id == job for item in instance.running):
        raise InputError(f"job {job} runs already: only pending jobs wait for a start")
    if any(item.id == job for item in instance.future):
        raise InputError(f"job {job} is not submitted yet: only pending jobs wait for a start")
    hint = nearest(job, [item.id for item in instance.pending])
    raise InputError(f"there is no pending job {job!r}{hint}")


# --- why not earlier ------------------------------------------------------------------------------


def _obstacles(
    view: PlanView, demand: Demand, start: int | None, method: str
) -> Iterator[Obstacle]:
    """The candidate instants before the start, put together where the reason is the same."""
    now = view.problem.instance.now
    profile, base = view.profile, view.problem.base
    times = profile.candidate_times(demand.earliest, finishes_only=method == "time-based")
    times = profile.with_openings(demand, times)
    before = [time for time in times if start is None or time < start]
    if demand.earliest > now:
        yield Obstacle(now, demand.earliest, BEGIN_TIME, 1)
    reasons = [(time, *_reason(view, demand, base, time)) for time in before]
    alike = groupby(reasons, key=lambda item: (item[1], item[2].kind))
    groups = [(planned, list(group)) for (planned, _), group in alike]
    ends = [*(group[0][0] for _, group in groups[1:]), start]
    for (planned, group), until in zip(groups, ends, strict=False):
        reason = over([item for *_, item in group])
        if planned:
            reason = f"{reason} ({_whose(view, demand, group[0][0])})"
        yield Obstacle(group[0][0], until, reason, len(group))


def _reason(view: PlanView, demand: Demand, base: Profile, time: int) -> tuple[bool, Reason]:
    """Whether only planned jobs are in the way, and the reason."""
    if not base.open_for(demand, time):
        return False, Reason("a dispatch or run window is closed or closes too soon")
    planned = can_start(base, demand, time)
    profile = view.profile if planned else base
    found = [find_shortage(view.problem, demand, profile, time)]
    amounts = amounts_short(view.problem, demand, profile, time)
    return planned, Reason.joined(found if amounts is None else [*found, amounts])


def _whose(view: PlanView, demand: Demand, time: int) -> str:
    """The reservation, or the reservations together, without which the job would fit at `time`."""
    end = FOREVER if demand.duration is None else time + demand.duration
    overlapping = [
        other.demand.job.id
        for other in view.planned
        if other.start.time < end and time < (other.item.finish or FOREVER)
    ]
    alone = [job for job in overlapping if can_start(view.without(job), demand, time)]
    if alone:
        return f"reserved for {' or '.join(map(job_text, alone[:3]))}"
    shown = ", ".join(map(job_text, overlapping[:3]))
    more = f" and {len(overlapping) - 3} more" if len(overlapping) > 3 else ""
    return f"reserved for {shown}{more} together"
