"""Starts that a reservation method really gives, from a simulation continued without new jobs.

All jobs run to their limits. An estimate is the prediction of one cycle; the continuation gives the
start that follows from it. The result equals ``simulate --reservation METHOD --cycle 0`` on an
instance whose jobs run to their limits.

Which of the rules that a plan leaves out change a start: the loop is run on, with and without. A
plan by greedy or time-based reservation is what the next cycle says; the cycles after it heed every
rule. Where the loop starts all jobs as planned, the rules that were left out change nothing, and
none is named. Else each is taken away in turn: what then starts otherwise is its doing.

The scheduler run on from now as the cluster is configured: what becomes of each pending job. It
reserves in the queues that have SLOT_RESERVE or RESOURCE_RESERVE, by the method in force, for as
long as MAX_RESERVE_TIME lets it; windows, limits, shares, loads and preemption are obeyed. No job
is submitted later and each runs to its limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from ...model.compact import no_collection
from ...model.display import WrittenTimes
from ...model.duration import expected_finish
from ...model.instance import Instance
from ...model.job import Job
from ...model.omissions import Omission
from ...model.plan import Plan, PlannedJob
from ..budget import Budget, OutOfTime
from ..pending_reasons import ON_A_LOAN, beyond_reported, free_when
from ..precedence import LEFT_OPEN, NOT_YET
from ..problem import PlanningProblem
from ..resolve import Resolver
from ..rules.eligibility import Eligibility, InitialSituation
from ..rules.omitted import (
    FEW_LOOK_AHEAD,
    LOADS,
    OF_THE_INSTANCE,
    RESERVED_LOADS,
    RUN_OUT,
    SUSPENDED,
    WITHOUT,
    note_of,
    setting_of,
)
from ..rules.rule_book import StartedNow
from .events import EFFORT, GREEDY, TIME_BASED
from .job_state import JobState, ShapeTable
from .methods import looking_ahead, settings_for
from .simulation import Session
from .world import World


def simulated_placements(
    instance: Instance,
    method: str,
    *,
    jobs: int | None = None,
    budget: Budget | None = None,
) -> tuple[PlannedJob, ...]:
    """Return the start and allocation of each pending job in the loop; a job that never starts is
    absent.

    method: a reservation method, or "configured". jobs: how many get a future allocation where the
    method gives them; None: all. budget: when it is over, the starts so far are returned.
    """
    session = loop_session(instance, method, jobs, EFFORT, budget or Budget())
    _run_to_starts(session)
    return tuple(placed(session.world, state, method) for state in _started(session))


def simulated_starts_within(
    instance: Instance,
    method: str,
    *,
    jobs: int | None,
    budget: Budget,
    attempts: int,
    known: ShapeTable | None = None,
) -> dict[str, int] | None:
    """Return the starts of :func:`simulated_placements` by job, or None if its cycles exceed the
    dispatch attempts or the budget.

    known: table of a plan, used if its instance is equal.
    """
    session = loop_session(instance, method, jobs, EFFORT, budget.with_grace(), known)
    return starts_in(session, attempts)


def starts_in(session: Session, attempts: float = math.inf) -> dict[str, int] | None:
    """Return the starts of the pending jobs in a session, by job, or None if its cycles exceed the
    dispatch attempts or its budget.
    """
    if not _run_to_starts(session, attempts):
        return None
    return {state.job.id: state.start for state in _started(session) if state.start is not None}


def _run_to_starts(session: Session, attempts: float = math.inf) -> bool:
    """Run the loop until every pending job has started or no event is left; return whether the
    budget and this number of dispatch attempts suffice.
    """
    waiting = {job.id for job in session.instance.pending}
    with suppress(OutOfTime):
        session.begin(pending_only=True)
        while waiting and attempts >= 0 and not session.budget.stopped() and session.advance():
            attempts -= len(session.world.pending) + 1
            waiting.difference_update(session.cycle.record.started)
        return attempts >= 0 and not session.budget.stopped()
    return False


def _started(session: Session) -> Iterator[JobState]:
    states = (session.world.states.get(job.id) for job in session.instance.pending)
    return (state for state in states if state.start is not None)


def started_now(instance: Instance, budget: Budget) -> StartedNow:
    """Return the pending jobs that the next cycle starts, with all rules and greedy reservation.

    None of them where the budget does not last for it.
    """
    if budget.late():
        return StartedNow()
    session = loop_session(instance, GREEDY, None, EFFORT, budget.with_grace())
    try:
        session.begin(pending_only=True)
        advanced = session.advance()
    except OutOfTime:
        return StartedNow()
    if not advanced or session.world.now > instance.now or session.budget.stopped():
        return StartedNow()
    found = StartedNow(session.cycle.record.started)
    found.suspends = bool(session.cycle.record.preempted)
    return found


def loop_session(
    instance: Instance,
    method: str,
    jobs: int | None,
    effort: float,
    budget: Budget,
    known: ShapeTable | None = None,
) -> Session:
    """Return a session in which no job arrives and all jobs run to their limits."""
    at_limits = replace(
        instance,
        running=tuple(
            run if run.job.run_time is None else replace(run, job=_at_its_limit(run.job))
            for run in instance.running
        ),
        pending=tuple(_at_its_limit(job) for job in instance.pending),
        future=(),
    )
    top = max(1, len(instance.pending)) if jobs is None else jobs
    settings = settings_for(at_limits, reservation=method, top=top, cycle=0, effort=effort)
    return Session(at_limits, settings, budget=budget, known=known)


def placed(world: World, state: JobState, method: str) -> PlannedJob:
    """Return the planned job for a job that the simulated scheduler has started."""
    start = state.start
    duration = None if start is None else state.duration_from(start)
    finish = None if start is None or duration is None else start + duration
    # It ends later after suspensions; earlier by a reservation, which is not known afterwards.
    if state.end is not None and (finish is None or state.suspensions or state.end < finish):
        finish = state.end
    # A job that may grow had fewer slots at its start than it has now.
    first = (where for begin, _, where in state.past_allocations if begin == start)
    return PlannedJob(
        job=state.job.id,
        start=start,
        finish=finish,
        allocation=world.named(next(first, state.allocation)),
        method=method,
        alternative=state.alternative,
        requirement_alternative=state.job.requirement_alternative or 0,
        terms=tuple(map(world.named, state.terms)) if len(state.terms) > 1 else (),
    )


def _at_its_limit(job: Job) -> Job:
    return job if job.run_time is None else replace(job, run_time=None)


#: Note on a plan whose budget was spent while the loop tested the effect of omitted rules.
NOT_TRIED = "the limit was reached before the effect of the named rules on starts was examined"
#: Maximum number of dispatch attempts in a simulation that tests a rule.
MAX_ATTEMPTS = 600
_Starts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class MovedStart:
    """A job that the loop starts at another second than planned, and the rules that may be the
    reason.
    """

    rules: tuple[str, ...]
    job: str
    #: Simulated start with the rules (seconds), None if the job never starts.
    start: int | None
    #: Planned start without the rules (seconds), None if the job never starts.
    planned: int | None
    #: Ids of this job and of other jobs that the rules move.
    jobs: tuple[str, ...]

    def text(self, instance: Instance) -> str:
        """Return the rules with the effect on the job and the settings behind it in brackets."""
        return f"{'; '.join(self.rules)} ({self._effect(instance, self.rules)})"

    def omissions(self, instance: Instance) -> tuple[Omission, ...]:
        """Return the effects of the rules as omission records."""
        return tuple(
            Omission(rule, jobs=self.jobs, effect=self._effect(instance, (rule,)))
            for rule in self.rules
        )

    def _effect(self, instance: Instance, rules: Sequence[str]) -> str:
        """Return the changed start of the job in words, and the settings of the rules that change
        it.
        """
        clock = WrittenTimes.of(instance, (self.start, self.planned))
        if self.start is None:
            what = f"job {self.job} does not start"
        else:
            what = f"job {self.job} starts {clock.text(self.start)}"
        planned = "without a start" if self.planned is None else clock.text(self.planned)
        settings = [setting_of(rule, instance, (self.job,)) for rule in rules]
        because = ", ".join(filter(None, settings))
        return f"{what}, not {planned}" + (f": {because}" if because else "")


def with_relevant_omissions(
    instance: Instance,
    found: Plan,
    *,
    jobs: int | None,
    budget: Budget,
    known: ShapeTable | None = None,
) -> Plan:
    """Return the plan of a cycle with only those omissions that change a start.

    jobs: those of the plan. known: the table of its cycle. The plan is returned unchanged if the
    simulation takes too long for the budget.
    """
    names, nowhere = _split_omissions(instance, found.omissions)
    if not names or found.cut or budget.late():
        return found
    loops = _Loops.of(instance, found.method, jobs, names, budget, known)
    moved = _moving(dict(_planned(found)), names, loops)
    if moved is None:
        late = budget.with_grace().stopped()
        return replace(found, notes=(*found.notes, NOT_TRIED)) if late else found
    unseen = _unseen(instance, found, names)
    effects = [_with_its_jobs(o, nowhere) for item in moved for o in item.omissions(instance)]
    shown = {item.name for item in effects}
    nowhere = tuple(item for item in nowhere if item.name not in shown)
    told = [*(item.text(instance) for item in moved), *unseen, *(item.name for item in nowhere)]
    old = note_of([item.name for item in found.omissions])
    notes = [note for note in found.notes if note not in old]
    omissions = [*effects, *map(Omission, unseen)]
    return replace(found, notes=(*note_of(told), *notes), omissions=(*omissions, *nowhere))


def omissions_of_job(
    instance: Instance,
    job: str,
    start: int | None,
    found: Sequence[Omission],
    *,
    method: str,
    budget: Budget,
) -> tuple[Omission, ...]:
    """Return the omissions of a cycle that change the start of one of its pending jobs.

    start: planned by the cycle, in seconds; None if the job has no start. If the budget ends before
    the simulation does, all omissions are returned.
    """
    names, nowhere = _split_omissions(instance, found)
    touching = tuple(item for item in nowhere if item.touches(job))
    every = (*(Omission(name) for name in names if name not in LEFT_OPEN), *touching)
    if not names or budget.stopped():
        return every
    moved = _moving({job: start}, names, _Loops.of(instance, method, None, names, budget))
    if moved is None:
        return every
    effects = [o for item in moved for o in item.omissions(instance)]
    shown = {item.name for item in effects}
    return (*effects, *(item for item in touching if item.name not in shown))


def rules_that_move(
    instance: Instance, planned: Mapping[str, int | None], budget: Budget
) -> tuple[Omission, ...]:
    """Return the rules without which the loop by the optimal method starts jobs as planned, or
    nearer to the plan.

    planned: the start of each pending job, None if never. () if the loop takes long.
    """
    names = [rule.name for rule in OF_THE_INSTANCE if rule.name in WITHOUT and rule.holds(instance)]
    if instance.reserve_cycles is not None:
        names.append(RUN_OUT)
    if not names or budget.stopped():
        return ()
    moved = _moving(planned, names, _Loops(instance, "optimal", None, None, budget), blame=False)
    return tuple(o for item in moved or () for o in item.omissions(instance))


def _split_omissions(
    instance: Instance, found: Sequence[Omission]
) -> tuple[tuple[str, ...], tuple[Omission, ...]]:
    """Return the names of rules that the simulation obeys, and the omissions that it does not obey.

    The simulation knows failed jobs and their effect on start conditions; no plan does.
    """
    nowhere = tuple(item for item in found if item.jobs is not None or item in instance.omissions)
    names = (item.name for item in found if item not in nowhere or item.name in LEFT_OPEN)
    return tuple(names), nowhere


def _with_its_jobs(effect: Omission, others: Sequence[Omission]) -> Omission:
    """Return the effect with the jobs of all omissions of its name."""
    jobs = [
        job for item in (effect, *others) if item.name == effect.name for job in item.jobs or ()
    ]
    return replace(effect, jobs=tuple(dict.fromkeys(jobs)))


def _unseen(instance: Instance, found: Plan, names: Sequence[str]) -> list[str]:
    """Return the omissions whose effect no comparison of starts can show.

    Load rules, if a job waits for a reported load: no simulation changes a load. Suspension for an
    advance reservation, if one of its jobs cannot be placed otherwise.
    """
    reserved = {job.id for job in instance.pending if job.reservation}
    if SUSPENDED in names and any(item.start is None and item.job in reserved for item in found):
        return [SUSPENDED]
    closing = [name for name in (LOADS, RESERVED_LOADS) if name in names]
    if closing and _load_closes(instance, found):
        return closing
    return [LOADS] if LOADS in names and _beyond_reported(instance, found) else []


def _beyond_reported(instance: Instance, found: Plan) -> bool:
    """Return whether a job has no start because of loads that hosts report."""
    without = {item.job for item in found.unplaced}
    problem = PlanningProblem.of(instance) if without else None
    return problem is not None and any(
        beyond_reported(problem, demand) for demand in problem.demands if demand.job.id in without
    )


def needing_backfill(instance: Instance, found: Plan, budget: Budget) -> Plan:
    """Return the plan with BACKFILL marked as needed only if the loop does not start the job
    without it.

    The loop may find other slots than the planned ones. As it is where the loop would take long.
    """
    if not any(item.needs_backfill for item in found) or budget.late():
        return found
    starts = simulated_starts_within(
        instance, TIME_BASED, jobs=None, budget=budget, attempts=MAX_ATTEMPTS
    )
    if starts is None:
        return found
    return replace(found, reservations=tuple(_needing(item, starts) for item in found))


def _needing(item: PlannedJob, starts: _Starts) -> PlannedJob:
    start = starts.get(item.job)
    as_soon = start is not None and item.start is not None and start <= item.start
    return replace(item, needs_backfill="") if item.needs_backfill and as_soon else item


@dataclass(frozen=True, slots=True)
class _Loops:
    """Simulations that show the effect of each rule."""

    instance: Instance
    method: str
    #: The jobs with a future allocation in the plan.
    planned_top: int | None
    #: Ids of the jobs in the simulation.
    top: int | None
    budget: Budget
    #: Table of the plan's cycle, used by simulations of an equal instance.
    known: ShapeTable | None = None

    @classmethod
    def of(
        cls,
        instance: Instance,
        method: str,
        jobs: int | None,
        names: Sequence[str],
        budget: Budget,
        known: ShapeTable | None = None,
    ) -> _Loops:
        """Return the simulations for the jobs of a plan. names: the rules that the plan omits."""
        method, top = (method, jobs) if jobs != 0 else (GREEDY, None)
        few = looking_ahead(instance) if FEW_LOOK_AHEAD in names else top
        return cls(instance, method, top, few, budget, known)

    def starts(self, instance: Instance, top: int | None) -> _Starts | None:
        """Return the starts of the pending jobs in the loop, or None if the simulation takes too
        long.

        top: how many of them get a future allocation, all where None.
        """
        return simulated_starts_within(
            instance,
            self.method,
            jobs=top,
            budget=self.budget,
            attempts=MAX_ATTEMPTS,
            known=self.known,
        )

    def without(self, name: str) -> _Starts | None:
        """Return the starts with every rule but one, for each rule that can be disabled."""
        if name == FEW_LOOK_AHEAD:
            return self.starts(self.instance, self.planned_top)
        return self.starts(WITHOUT[name](self.instance), self.top)


def _moving(
    planned: Mapping[str, int | None], names: Sequence[str], loops: _Loops, *, blame: bool = True
) -> list[MovedStart] | None:
    """Return the rules, each with the first job that it moves, or None if the test took too long.

    planned: start of each job. blame: if no single rule explains a change, every rule that may be
    its cause is named.
    """
    starts = loops.starts(loops.instance, loops.top)
    if starts is None:
        return None
    others = [job for job, start in planned.items() if starts.get(job) != start]
    moved: list[MovedStart] = []
    explained: set[str] = set()
    for name in names if others else ():
        if name not in WITHOUT and name != FEW_LOOK_AHEAD:
            continue
        without = loops.without(name)
        if without is None:
            return None
        own = [job for job in others if without.get(job) != starts.get(job)]
        explained.update(own)
        if own:
            moved.append(_start_moved((name,), own, starts, planned))
    rest = [job for job in others if job not in explained]
    heeded = tuple(name for name in names if name != LOADS)
    rules = tuple(n for n in heeded if n not in WITHOUT and n != FEW_LOOK_AHEAD) or heeded
    if blame and rest and rules:
        moved.append(_start_moved(rules, rest, starts, planned))
    return moved


def _start_moved(
    rules: tuple[str, ...], jobs: Sequence[str], starts: _Starts, planned: Mapping[str, int | None]
) -> MovedStart:
    first = jobs[0]
    return MovedStart(rules, first, starts.get(first), planned[first], tuple(jobs))


def _load_closes(instance: Instance, found: Plan) -> bool:
    """Whether a job without a start is excluded by host load, which does not change in a
    simulation.
    """
    jobs = {job.id: job for job in instance.pending}
    waiting = [jobs[item.job].queue for item in found if item.start is None]
    waiting += [jobs[item.job].queue for item in found.unplaced]
    situation = InitialSituation(instance, Resolver.of(instance))
    eligibility = Eligibility(situation, [host.status for host in instance.cluster.hosts])
    return any(eligibility.why_load(queue) for queue in dict.fromkeys(waiting))


def _planned(found: Plan) -> Iterator[tuple[str, int | None]]:
    """Yield the planned start of each job in seconds, None if it never starts; jobs may be
    missing.
    """
    for item in found:
        if item.start is not None or item.fallback == ON_A_LOAN:
            yield item.job, item.start
    yield from ((item.job, None) for item in found.unplaced)


#: Name of the configured reservation method, as `settings_for` accepts it.
CONFIGURED = "configured"


@dataclass(frozen=True, slots=True)
class ConfiguredRun:
    """The starts of pending jobs in the simulated scheduler as configured, in seconds from the
    origin.
    """

    #: Start and allocation of each job that starts, by id.
    starts: Mapping[str, PlannedJob]
    #: Estimate of the first cycle for each job, by id, as bjobs -l would print it; the current time
    #: if the job starts immediately. A job without an estimate is absent. Empty for Slurm:
    #: its estimates are those of method slurm.
    estimates: Mapping[str, int]
    #: Method of each estimate, by job id: a "greedy" estimate is a lower bound.
    estimate_by: Mapping[str, str]
    #: The reservation method in force: "greedy" or "time-based".
    method: str
    #: Why each job that does not start immediately waited at its first dispatch attempt, as a
    #: sentence.
    waiting: Mapping[str, str]
    #: Whether the run stopped before every job that can start had started.
    cut: bool = False
    #: When jobs were first preempted, in seconds.
    suspended: Mapping[str, int] = field(default_factory=dict)

    def start(self, job: str) -> int | None:
        """Return the start of a job, or None if the job does not start."""
        found = self.starts.get(job)
        return None if found is None else found.start


def run_as_configured(
    instance: Instance,
    *,
    budget: Budget | None = None,
    until: str = "",
    unless_later: tuple[str, int] | None = None,
    first_part: tuple[float, Callable[[ConfiguredRun], None]] | None = None,
    attempts: float = math.inf,
) -> ConfiguredRun:
    """Run the scheduler until every pending job has started or no event is left.

    until: a job whose start is all that is asked for, "" for every job; the cycle that starts it
    ends there. unless_later: a job and a second: where it has not started by then the run is given
    up. budget: once it is over, the run is `cut`. first_part: wall seconds after which a run that
    still continues gives its starts so far, as an incomplete run, and the function that takes them;
    it gives more after twice the time each. attempts: dispatch attempts after which the run is
    given up. Raises InputError where the configuration does not allow its method (TBR-15).
    """
    budget = budget or Budget()
    session = loop_session(instance, CONFIGURED, looking_ahead(instance), EFFORT, budget)
    waiting = {job.id for job in instance.pending}
    estimates: dict[str, tuple[int, str]] = {}
    watched, latest = unless_later or ("", 0)
    given_up = False
    if until and not session.cycle.preempts:  # A job that has just started may be preempted.
        session.cycle.wanted = until
    with suppress(OutOfTime):
        with no_collection():
            session.begin(pending_only=True)
            session.run_until_stable()
        estimates = _expected(session)
        waiting = {job for job in waiting if session.world.states.get(job).start is None}
        while waiting and not (until and until not in waiting):
            attempts -= len(session.world.pending) + 1
            given_up = attempts < 0 or (watched in waiting and session.world.now > latest)
            if given_up or budget.stopped() or not session.advance():
                break
            waiting.difference_update(session.cycle.record.started)
            if first_part is not None and waiting and budget.elapsed() >= first_part[0]:
                first_part[1](_found(session, estimates, instance, cut=True))
                first_part = 2 * first_part[0], first_part[1]
    cut = bool(waiting) and (budget.stopped() or given_up) and not (until and until not in waiting)
    return _found(session, estimates, instance, cut=cut)


def _expected(session: Session) -> dict[str, tuple[int, str]]:
    """Return the first estimate of each job with a reservation, and its reservation method."""
    found = {}
    for reservation in session.cycle.reservations:
        expected = reservation.estimate if reservation.start is None else reservation.start.time
        if expected is not None:
            found[reservation.state.job.id] = (expected, reservation.method)
    return found


def _ends(
    instance: Instance, begun: Sequence[PlannedJob]
) -> dict[int, list[tuple[str, Collection[str]]]]:
    """Return the jobs that end on the hosts of later starts, each with its hosts, by the second of
    their end.
    """
    found: dict[int, list[tuple[str, Collection[str]]]] = {}
    later = {host for item in begun if item.start != instance.now for host in item.allocation}
    for run in instance.running:
        hosts = run.allocation.keys()
        if later.isdisjoint(hosts):
            continue
        if (end := expected_finish(instance, run)) is not None:
            found.setdefault(end, []).append((run.job.id, hosts))
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
    """Return why a job waits and which jobs end on its hosts as it starts, or "" if it starts
    now.
    """
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
    if instance.params.scheduler.plans_nodes:  # its estimate is that of a cycle of its backfill
        told = {}
    assert method in (GREEDY, TIME_BASED)
    return ConfiguredRun(
        starts,
        {job: time for job, (time, _) in told.items()},
        {job: by for job, (_, by) in told.items()},
        method,
        waiting,
        cut,
        dict(session.world.subsets.preempted),
    )
