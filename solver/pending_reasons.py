"""What a planned job waits for, in a sentence: the constraint that binds just before its start."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..model.plan import PlannedJob
from ..model.windows import open_periods
from .availability.arrays import BoolArray
from .availability.calendar import WEEK
from .availability.demand import Availability, Demand
from .availability.profile import Profile
from .availability.uses import Alternative, Use
from .placement.earliest import Start, earliest_start
from .precedence import NOT_YET
from .problem import PlanningProblem
from .rules.rule_book import NOT_IN_A_PARTITION
from .shortage import Moment, find_shortage

#: Of a job that may not start before its -b.
BEGIN_TIME = "its begin time (-b)"
#: Of a job that would fit if hosts reported what they are configured with.
BEYOND_REPORTED = "does not fit beside what hosts report to be in use, which no job accounts for"


@dataclass(slots=True)
class JobByJob:
    """What the jobs of a plan wait for, asked one after the other in the order of planning.

    The jobs planned so far are found by when they end, and equal jobs that start together share
    what is missing until then: an array of thousands of elements asks once.
    """

    problem: PlanningProblem
    finishes_only: bool = False
    _ending: dict[tuple[int, str], dict[str, PlannedJob]] = field(default_factory=dict)
    _falling: dict[str, PlannedJob] = field(default_factory=dict)
    _order: dict[str, int] = field(default_factory=dict)
    _short: dict[tuple[Hashable, int], str] = field(default_factory=dict)

    def planned(self, item: PlannedJob, demand: Demand) -> None:
        """Note a job that has its place now."""
        self._order[item.job] = len(self._order)
        for host in item.allocation if item.finish is not None else ():
            self._ending.setdefault((item.finish or 0, host), {})[item.job] = item
        terms = demand.terms
        if any(
            use.reservation.drops()
            for term in terms
            for use in _uses(term.alternatives[item.alternative])
        ):
            self._falling[item.job] = item

    def waits_for(self, demand: Demand, start: Start, profile: Profile) -> str:
        """As :func:`what_it_waits_for`, beside the jobs planned so far."""
        time, concerned = start.time - self.problem.margin, dict(self._falling)
        hosts = dict.fromkeys(hosts_concerned(demand, start), 1)
        for host in self.problem.named(hosts):
            concerned |= self._ending.get((time, host), {})
        before = sorted(concerned.values(), key=lambda item: self._order[item.job])
        key = (demand.kind, start.time)
        reason, self._short[key] = reason_and_shortage(
            *(self.problem, demand, start, profile, before),
            finishes_only=self.finishes_only,
            short=self._short.get(key),
        )
        return reason


def what_it_waits_for(
    problem: PlanningProblem,
    demand: Demand,
    start: Start,
    profile: Profile,
    planned: Sequence[PlannedJob] = (),
    *,
    finishes_only: bool = False,
) -> str:
    """Why the job cannot start at the instant before `start`, "" if it starts at once.

    planned: the jobs planned before it, so that the ones it waits for can be named.
    finishes_only: the start was looked for at finish times only (TBR-02).
    """
    reason, _ = reason_and_shortage(
        problem, demand, start, profile, planned, finishes_only=finishes_only
    )
    return reason


def reason_and_shortage(
    problem: PlanningProblem,
    demand: Demand,
    start: Start,
    profile: Profile,
    planned: Sequence[PlannedJob],
    *,
    finishes_only: bool,
    short: str | None = None,
) -> tuple[str, str]:
    """As :func:`what_it_waits_for`, and apart what is missing until then.

    short: the latter where it is known of an equal job that starts at the same time.
    """
    if start.time <= demand.earliest:
        held_back = demand.earliest > problem.instance.now
        return (held_back_by(demand) if held_back and start.time == demand.earliest else ""), ""
    times = profile.candidate_times(demand.earliest, finishes_only=finishes_only)
    instant = next(time for time in reversed(times) if time < start.time)
    if not profile.open_for(demand, instant):
        return "a dispatch or run window", ""
    ends = _opening_hosts(problem, demand, start, profile, instant) or _enders(
        problem, demand, start, planned
    )
    short = short or _shortage_until(problem, demand, profile, instant)
    return short + ends, short


def held_back_by(demand: Demand) -> str:
    """What a job waits for that could start but for the time: its -b, or other jobs (-w)."""
    job = demand.job
    if job.dependency and demand.earliest != job.begin:
        return f"{NOT_YET}: {job.dependency}"
    return BEGIN_TIME


def _shortage_until(
    problem: PlanningProblem, demand: Demand, profile: Profile, instant: int
) -> str:
    """What is missing up to `instant`: in the numbers of now where now the same is missing."""
    last = find_shortage(problem, demand, profile, instant)
    first = (
        last
        if instant == demand.earliest
        else find_shortage(problem, demand, profile, demand.earliest)
    )
    if first.kind == last.kind:
        return first.at("now") if demand.earliest == problem.instance.now else str(first)
    return last.at("just before") if last.counts else f"{last} just before"


def _opening_hosts(
    problem: PlanningProblem, demand: Demand, start: Start, profile: Profile, instant: int
) -> str:
    """Which of the hosts it takes, closed at `instant`, a window or an interval opens by its start.

    "" where none opens just then: it is something else that the job waits for.
    """
    windows = () if demand.calendar is None else demand.calendar.hosts
    by_window = [mask for mask, opening in windows if not opening.is_open(instant)]
    late = [mask for mask, opening in windows if not opening.is_open(start.time - 1)]
    after_a_job = [
        closed for closed in [profile.just_accepted(demand, start.time - 1)] if closed is not None
    ]
    for what, opens, masks, last in (
        ("the dispatch window of", "opens", by_window, late),
        ("JOB_ACCEPT_INTERVAL of", "is over", after_a_job, after_a_job),
    ):
        if any(mask[host] for host in start.allocation for mask in last):
            closed = {host: 1 for host in start.allocation if any(mask[host] for mask in masks)}
            return f"; free when {what} {_some(list(problem.named(closed)))} {opens}"
    return ""


def hosts_concerned(demand: Demand, start: Start) -> set[int]:
    """The hosts that it takes, under cu[excl] all hosts of its units."""
    hosts = set(start.allocation)
    for term, allocation in zip(demand.terms, start.terms, strict=False):
        if term.unit is not None and term.unit.excl:
            inside = np.isin(term.unit.unit_of, term.unit.unit_of[list(allocation)])
            hosts |= set(np.flatnonzero(inside).tolist())
    return hosts


def _enders(
    problem: PlanningProblem, demand: Demand, start: Start, planned: Sequence[PlannedJob]
) -> str:
    """Which jobs and advance reservations end at the start on the hosts that concern it."""
    names = set(problem.named(dict.fromkeys(hosts_concerned(demand, start), 1)))
    enders = [
        running.job.id
        for running in problem.running_until(start.time)
        if names & set(running.allocation)
    ]
    enders += [
        item.job
        for item in planned
        if item.finish == start.time - problem.margin and names & set(item.allocation)
    ]
    if problem.honours_windows:
        enders += [
            f"advance reservation {item.name}"
            for item in problem.instance.advance_reservations
            if item.end == start.time and names & set(item.slots)
        ]
    if enders:
        return f"; free when {_some(enders)} {'ends' if len(enders) == 1 else 'end'}"
    givers = _givers(problem, start, names, planned)
    if not givers:
        return ""
    return f"; free when {_some(givers)} {'holds' if len(givers) == 1 else 'hold'} less"


def _givers(
    problem: PlanningProblem, start: Start, names: set[str], planned: Sequence[PlannedJob]
) -> list[str]:
    """Jobs on these hosts one of whose reservations falls at the start: a phase or a decay."""
    demands = {demand.job.id: demand for demand in problem.demands}
    falling = [
        running.job.id
        for running in problem.holding_less_from(start.time)
        if names & set(running.allocation)
    ]
    falling += [
        item.job
        for item in planned
        if item.start is not None and names & set(item.allocation)
        for term in demands[item.job].terms
        for use in _uses(term.alternatives[item.alternative])
        if start.time - item.start in use.reservation.drops()
    ]
    return list(dict.fromkeys(falling))


def _uses(alternative: Alternative) -> tuple[Use, ...]:
    return (*alternative.host_uses, *alternative.pool_uses)


def _some(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``, ``a, b, c and 2 more``."""
    if len(names) == 1:
        return names[0]
    shown = names[:-1] if len(names) <= 3 else names[:3]
    last = names[-1] if len(names) <= 3 else f"{len(names) - 3} more"
    return f"{', '.join(shown)} and {last}"


def shortage(
    problem: PlanningProblem,
    demand: Demand,
    availability: Availability,
    instant: int,
    moment: Moment = "has",
) -> str:
    """The first constraint that fails at `instant`, as numbers (LOP-01), which is called so."""
    return find_shortage(problem, demand, availability, instant).at(moment)


def reason_unplaced(problem: PlanningProblem, demand: Demand) -> str:
    """Why a job has no start in any plan."""
    if demand.impossible:
        return demand.impossible
    if earliest_start(problem.empty, demand) is None:
        if problem.instance.partitions and _fits_without_partitions(problem, demand):
            return NOT_IN_A_PARTITION
        if earliest_start(problem.empty, replace(demand, calendar=None)) is not None:
            return _no_window(demand)
        return "does not fit on this cluster even when nothing runs: " + shortage(
            problem, demand, problem.empty, demand.earliest
        )
    if beyond_reported(problem, demand):
        reported = _as_reported(problem)
        return f"{BEYOND_REPORTED}: {shortage(problem, demand, reported, demand.earliest)}"
    endless = problem.endless()
    if endless:
        shown = ", ".join(run.job.id for run in endless[:3]) + (" and more" * (len(endless) > 3))
        why = "suspended, or no run limit" if any(r.suspended for r in endless) else "no run limit"
        return f"waits for jobs whose end is unknown ({why}): {shown}"
    return "the jobs before it hold its places for ever (they have no run limit, or no start)"


def beyond_reported(problem: PlanningProblem, demand: Demand) -> bool:
    """Whether a job that fits on the cluster does not beside what its hosts report (RSV-01)."""
    if not problem.resolver.table.reported_away() or demand.impossible:
        return False
    fits = earliest_start(problem.empty, demand) is not None
    return fits and earliest_start(_as_reported(problem), demand) is None


def _as_reported(problem: PlanningProblem) -> Profile:
    """The cluster with nothing running, and what hosts report to be in use."""
    profile = problem.empty
    for index, away in problem.resolver.table.reported_away().items():
        profile.hold_reported(index, away)
    return profile


def _fits_without_partitions(problem: PlanningProblem, demand: Demand) -> bool:
    plain = problem.resolver.demand(demand.job)
    return not plain.impossible and earliest_start(problem.empty, plain) is not None


def closed_now(
    problem: PlanningProblem, demand: Demand, rest: Demand, closed: BoolArray | None
) -> str:
    """Why a job has no place in this cycle, where closed hosts alone are the reason, else "".

    closed: hosts that load closes to it now, [H], or None. rest: the job on the others.
    """
    if closed is None or earliest_start(problem.base, demand) is None:
        return ""
    if earliest_start(problem.base, rest) is not None:
        return ""
    names = list(problem.named(dict.fromkeys(np.flatnonzero(closed).tolist(), 1)))
    return f"load closes {_some(names)} in this cycle, the rest is too little"


def _no_window(demand: Demand) -> str:
    """Why a job that has room has no start inside the windows."""
    text = demand.queue.run_window
    if text and demand.duration is None:
        return f"has no known end, so that it fits into no run window ({text}) of its queue"
    if text and demand.duration is not None:
        periods = open_periods(text, None, 0, 2 * WEEK)
        if demand.duration > max(last - first for first, last in periods):
            return f"is longer than every run window ({text}) of its queue"
    return "the dispatch and run windows of its queue and hosts leave it no start"
