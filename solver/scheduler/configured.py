"""The scheduler run on from now as the cluster is configured: what becomes of each pending job.

It reserves in the queues that have SLOT_RESERVE or RESOURCE_RESERVE, by the method in force, for
as long as MAX_RESERVE_TIME lets it; windows, limits, shares, loads and preemption are obeyed. No
job is submitted later and each runs to its limit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from ...model.duration import expected_finish
from ...model.instance import Instance
from ...model.plan import PlannedJob
from ..budget import Budget, OutOfTime
from ..pending_reasons import free_when
from ..precedence import NOT_YET
from .continuation import loop_session, placed
from .events import EFFORT
from .methods import looking_ahead
from .reserving import Greedy, TimeBased
from .simulation import Session

#: As `settings_for` calls the reservations of the configuration.
CONFIGURED = "configured"


@dataclass(frozen=True, slots=True)
class ConfiguredRun:
    """What the simulated scheduler gives pending jobs; times in seconds from the origin."""

    #: Start and place of the jobs that start, by id.
    starts: Mapping[str, PlannedJob]
    #: What the first cycle expects of each job, by id, as bjobs -l would print it: now where the
    #: job starts at once. A job without an estimate is absent.
    estimates: Mapping[str, int]
    #: By which method each of them is: "greedy" says no sooner than.
    estimate_by: Mapping[str, str]
    #: The reservation method in force: "greedy" or "time-based".
    method: str
    #: Why each job that does not start at once waited when it was first looked at, a sentence.
    waiting: Mapping[str, str]
    #: Whether the run ended before every job that can start had started.
    cut: bool = False

    def start(self, job: str) -> int | None:
        """The start of a job; None where it does not start."""
        found = self.starts.get(job)
        return None if found is None else found.start


def run_as_configured(
    instance: Instance,
    *,
    budget: Budget | None = None,
    until: str = "",
    unless_later: tuple[str, int] | None = None,
) -> ConfiguredRun:
    """Run the scheduler on until every pending job has started, or nothing happens any more.

    until: a job whose start is all that is asked for, "" for every job. unless_later: a job and a
    second: where it has not started by then the run is given up. budget: once it is over, the run
    is `cut`. Raises InputError where the configuration does not allow its method (TBR-15).
    """
    budget = budget or Budget()
    top = looking_ahead(instance)
    session = loop_session(instance, CONFIGURED, top, EFFORT, budget)
    waiting = {job.id for job in instance.pending}
    estimates: dict[str, tuple[int, str]] = {}
    watched, latest = unless_later or ("", 0)
    given_up = False
    with suppress(OutOfTime):
        session.begin(pending_only=True)
        session.run_until_stable()
        estimates = _expected(session)
        waiting = {job for job in waiting if session.world.states.get(job).start is None}
        while waiting and not (until and until not in waiting):
            given_up = watched in waiting and session.world.now > latest
            if given_up or budget.stopped() or not session.advance():
                break
            waiting.difference_update(session.cycle.record.started)
    cut = bool(waiting) and (budget.stopped() or given_up) and not (until and until not in waiting)
    return _found(session, estimates, instance, cut=cut)


def _expected(session: Session) -> dict[str, tuple[int, str]]:
    """What a cycle expects of the jobs that it reserves for, each with its method."""
    found = {}
    for reservation in session.cycle.reservations:
        expected = reservation.estimate if reservation.start is None else reservation.start.time
        if expected is not None:
            found[reservation.state.job.id] = (expected, reservation.method)
    return found


def _ends(
    instance: Instance, begun: Sequence[PlannedJob]
) -> dict[int, list[tuple[str, Collection[str]]]]:
    """The jobs that end, each with its hosts, by the second at which they do."""
    found: dict[int, list[tuple[str, Collection[str]]]] = {}
    for run in instance.running:
        if (end := expected_finish(instance, run)) is not None:
            found.setdefault(end, []).append((run.job.id, run.allocation.keys()))
    for item in begun:
        if item.finish is not None:
            found.setdefault(item.finish, []).append((item.job, item.allocation.keys()))
    return found


def _until_start(
    item: PlannedJob,
    waits_for: str,
    ends: Mapping[int, list[tuple[str, Collection[str]]]],
    now: int,
) -> str:
    """Why a job waits, and which jobs end on its hosts as it starts; "" of one that starts now."""
    assert item.start is not None
    if item.start == now:
        return ""
    hosts = item.allocation.keys()
    enders = [job for job, on in ends.get(item.start, ()) if not hosts.isdisjoint(on)]
    short = waits_for and not waits_for.startswith(NOT_YET)
    return waits_for + free_when(enders) if short and enders else waits_for


def _found(
    session: Session, estimates: Mapping[str, tuple[int, str]], instance: Instance, *, cut: bool
) -> ConfiguredRun:
    states = [session.world.states.get(job.id) for job in instance.pending]
    method = session.settings.reservation
    waiting = {s.job.id: why for s in states if (why := s.current_reason or s.reason)}
    begun = [
        placed(session.world, state, CONFIGURED) for state in states if state.start is not None
    ]
    ends, now = _ends(instance, begun), instance.now
    starts = {
        item.job: replace(item, waits_for=_until_start(item, waiting.get(item.job, ""), ends, now))
        for item in begun
    }
    told = {**estimates, **{job: (now, method) for job, at in starts.items() if at.start == now}}
    assert method in (Greedy.name, TimeBased.name)
    return ConfiguredRun(
        starts,
        {job: time for job, (time, _) in told.items()},
        {job: by for job, (_, by) in told.items()},
        method,
        waiting,
        cut,
    )
