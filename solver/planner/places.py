"""Plans that stay near the last one: the same hosts at the same starts, and starts that were told.

Everything here is a shift of places in a plan that is there, looked at by :mod:`solver.certify`
before anybody sees it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..availability.demand import Demand
from ..availability.profile import Profile
from ..placement.earliest import Start, earliest_start, hold_start, start_at, still_free
from ..placement.holding import Hold


@dataclass(frozen=True, slots=True)
class Standby:
    """A pending job with its place in a plan.

    movable: whether others of its hosts would do too. promise: enters what it keeps from others
    until it starts. lent: whether it may use what others keep, if it is gone by their starts.
    """

    job: str
    demand: Demand
    start: Start
    movable: bool = True
    promise: Hold | None = None
    lent: bool = True


def near_to(
    base: Profile, placed: Sequence[Standby], last: Mapping[str, Start]
) -> dict[str, Start]:
    """The places of a plan with as many of the last ones as can be kept; no start changes.

    base: what runs. placed: in the order of planning, which goes first where two would keep the
    same place. Jobs that differ are lifted out, each goes back to its last place where that is
    free; the others, and jobs that have no last place to keep, go where they were or anywhere at
    the same start. If then one has no place at its start, the last of those that would go back
    stays where the plan has it, and the rest is tried again.
    """
    found = {item.job: item.start for item in placed}
    wishes = [item for item in placed if _would_keep(item, last.get(item.job))]
    loose = [item for item in placed if item.job not in last and _may_go_elsewhere(item)]
    lifted = {item.job for item in (*wishes, *loose)}
    for item in placed:
        if item.job not in lifted:
            hold_start(base, item.demand, item.start)
    while wishes:
        moved = _settled(base, wishes, loose, last, placed)
        if moved is not None:
            return found | moved
        given_up = wishes.pop()
        hold_start(base, given_up.demand, given_up.start)
    return found


def _may_go_elsewhere(item: Standby) -> bool:
    """Whether other hosts would do; whole units and even ones depend on what else is free."""
    terms = item.demand.terms
    return item.movable and len(terms) == 1 and terms[0].unit is None


def _would_keep(item: Standby, before: Start | None) -> bool:
    if before is None or not _may_go_elsewhere(item):
        return False
    own = item.start
    return (
        before.time == own.time
        and before.alternative == own.alternative
        and before.allocation != own.allocation
        and sum(before.allocation.values()) == sum(own.allocation.values())
        and len(before.terms) == 1
    )


def _settled(
    base: Profile,
    wishes: Sequence[Standby],
    loose: Sequence[Standby],
    last: Mapping[str, Start],
    placed: Sequence[Standby],
) -> dict[str, Start] | None:
    """Places of the jobs lifted: the last one, else the own, else any; None if one has none."""
    profile = base.copy()
    found: dict[str, Start] = {}
    for item in wishes:
        if _is_free(profile, item, last[item.job], placed):
            found[item.job] = last[item.job]
            hold_start(profile, item.demand, last[item.job])
    for item in placed:
        if item.job in found or not any(item is other for other in (*wishes, *loose)):
            continue
        start: Start | None = item.start
        if not _is_free(profile, item, item.start, placed):
            start = start_at(profile, item.demand, item.start.time)
            if start is None or start.alternative != item.start.alternative:
                return None
            if not _is_free(profile, item, start, placed):
                return None
        assert start is not None
        found[item.job] = start
        hold_start(profile, item.demand, start)
    return found


def _is_free(profile: Profile, item: Standby, start: Start, placed: Sequence[Standby]) -> bool:
    """Whether a place is free, for a job to which nothing is lent beside all that is kept too."""
    if item.lent:
        return still_free(profile, item.demand, start)
    beside = profile.copy()
    for other in placed:
        if other.promise is not None and other.job != item.job:
            other.promise(beside)
    return still_free(beside, item.demand, start)


def keeping_told(
    base: Profile, demands: Sequence[Demand], told: Mapping[str, Start]
) -> dict[str, Start]:
    """Starts of all jobs, those that were told one before all others.

    Each of them holds the place that it was told, where that is free beside what runs; else it
    starts at the same time elsewhere, else as early as it can after that. Then every job in its
    turn comes forward as far as these places let it, and jobs that nobody was told of go where they
    fit. demands: in the order of planning.
    """
    by_job = {demand.job.id: demand for demand in demands}
    pins: dict[str, Start] = {}
    profile = base.copy()
    later: list[tuple[Demand, int]] = []
    known = [(by_job[job], start) for job, start in told.items() if job in by_job]
    # Of one second those come last that no JOB_ACCEPT_INTERVAL keeps off a host.
    known.sort(key=lambda item: (item[1].time, not item[0].interval))
    for demand, start in known:
        pin = _as_told(profile, demand, start)
        if pin is None:
            later.append((demand, start.time))
            continue
        pins[demand.job.id] = pin
        hold_start(profile, demand, pin)
    for demand, time in later:
        found = earliest_start(profile, demand, finishes_only=True, not_before=time)
        if found is not None:
            pins[demand.job.id] = found
            hold_start(profile, demand, found)
    return _forward(base, demands, pins)


def _as_told(profile: Profile, demand: Demand, start: Start) -> Start | None:
    time = max(start.time, demand.earliest)
    if still_free(profile, demand, replace(start, time=time)):
        return replace(start, time=time)
    return start_at(profile, demand, time)


def _forward(
    base: Profile, demands: Sequence[Demand], pins: Mapping[str, Start]
) -> dict[str, Start]:
    """Each job in its turn at the earliest instant that the places of the others leave."""
    starts = dict(pins)
    by_job = {demand.job.id: demand for demand in demands}
    for demand in demands:
        profile = base.copy()
        for job, start in starts.items():
            if job != demand.job.id:
                hold_start(profile, by_job[job], start)
        found = earliest_start(profile, demand, finishes_only=True)
        own = starts.get(demand.job.id)
        if found is not None and (own is None or found.time < own.time):
            starts[demand.job.id] = found
    return starts
