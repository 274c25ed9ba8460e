"""Explanations why a job does not start earlier, and changes that would help.

They name the account to which the account of a pending job has lost, and when it will be ahead
(FSH-06, FSH-10). The search is that of the scheduler: down the share tree, siblings with pending
jobs compared at each level. For the time to come it is assumed that what runs now runs on and that
nothing else starts, ends or reserves; then the formula alone decides, at every second.
"""

from __future__ import annotations

import math
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any

from ...model.display import DAY, WEEK, AsData, data_of, duration_text, with_stamps
from ...model.duration import expected_finish
from ...model.errors import InputError, UnknownNameError, nearest
from ...model.escaping import html_table
from ...model.instance import Instance, SaidByLsf
from ...model.job import Job, job_id
from ...model.job_table import OneLine
from ...model.omissions import no_pending_job
from ...model.pending import Pending, Reason, over, sentence
from ...model.plan import PlannedArray
from ...model.progress import OnProgress
from ...model.shares import queue_hosts, queue_sets
from ..availability.demand import Demand, closed_by
from ..availability.profile import Profile
from ..availability.usage import FOREVER
from ..budget import OutOfTime
from ..fairshare.accounts import Account, ShareTree, significant
from ..optimal.alternatives import numbered, opening_reason
from ..outlook.outlook import JobOutlook
from ..pending_reasons import (
    NOTHING_SHORT,
    amounts_short,
    find_shortage,
    held_back_by,
    listed,
    not_active,
    not_yet,
)
from ..placement.earliest import can_start
from ..precedence import After, Event, Known, Precedence, Several
from ..problem import PlanningProblem
from ..scheduler.continuation import CONFIGURED
from ..scheduler.history import snapshot_of
from .diagnosis.diagnose import diagnose
from .diagnosis.probes import OF_THE_JOB
from .diagnosis.records import Diagnosis
from .rank import AbsoluteRank, MultifactorRank, absolute_rank, multifactor_rank
from .suggestions import Suggestion, job_text, suggest
from .what_if import Method, PlanView, StartAnswer, WhatIfPlanner, earliest_demand, stated_by

if TYPE_CHECKING:
    from ..scheduler.history import Snapshot


#: Maximum number of links that are followed.
MAX_LINKS = 1000


@dataclass(frozen=True, slots=True)
class ChainLink(AsData):
    """One job of a critical path; the next job waits for its end, or for its start."""

    job: str
    #: Start in seconds from the origin, None if unknown.
    start: int | None
    #: End in seconds from the origin, None if unknown.
    finish: int | None

    STAMPED = ("start", "finish")


def critical_path(
    instance: Instance, job: Job, times: Mapping[str, tuple[int, int | None]]
) -> tuple[ChainLink, ...]:
    """Return the chain of pending jobs that decides when `job` may start, its first job first.

    times: planned start and end (seconds) of pending jobs. If a condition names several jobs, the
    chain follows the job that satisfies it last. It ends at a job without a condition, and at a job
    that starts later than its condition allows, because that job waits for resources. The result is
    () if `job` has no condition.
    """
    known: dict[str, tuple[int | None, int | None]] = {
        run.job.id: (run.start, expected_finish(instance, run)) for run in instance.running
    }
    known |= times
    releases = Precedence.of(instance).releases
    path: list[ChainLink] = []
    at, at_once = job.id, True
    while at_once and at in releases and len(path) < MAX_LINKS:
        time, at = _binding(releases[at].event, known)
        if not at or at in {link.job for link in path}:
            break
        start, finish = known.get(at, (None, None))
        path.append(ChainLink(at, start, finish))
        own = _binding(releases[at].event, known)[0] if at in releases else -math.inf
        at_once = time < math.inf and start is not None and start <= own
    return tuple(reversed(path))


def _binding(event: Event, known: Mapping[str, tuple[int | None, int | None]]) -> tuple[float, str]:
    """Return when a condition holds, infinite if unknown, and the job that decides, "" if none.

    known: start and end of jobs.
    """
    match event:
        case Known(time, _, job):
            return math.inf if time is None else time, job
        case After(job, is_start, lag):
            at = known.get(job, (None, None))[not is_start]
            return math.inf if at is None else at + lag, job
        case Several(parts, count):
            found = sorted(_binding(part, known) for part in parts)
            return found[count - 1] if 1 <= count <= len(found) else (math.inf, "")


#: How far the formula is followed (seconds), and in which steps: every minute of the first day.
STEPS = ((DAY, 60), (30 * DAY, 600))
#: Assumption behind the times, in a sentence.
ASSUMED = (
    "as long as the running jobs continue and no other job starts; CPU time as given by jobs, "
    "else one second per second and slot"
)


@dataclass(frozen=True, slots=True)
class LostContest(AsData):
    """One level of a share tree at which another account with pending jobs comes first."""

    #: Path of the level, ``normal/`` or ``Partition1/group2/``.
    path: str
    #: Name of the pending job's account.
    account: str
    #: Dynamic priority of the account.
    priority: float
    #: Name of the account that precedes it.
    rival: str
    #: Dynamic priority of that account.
    rival_priority: float
    #: The first second (from the origin) at which the account will have the higher priority, None:
    #: not within 30 days.
    ahead_from: int | None

    DATA = "level=path account priority rival rival_priority ahead_from"
    STAMPED = ("ahead_from",)


def lost_contests(moment: Snapshot, job: Job) -> tuple[LostContest, ...]:
    """Return the accounts that come before those of a pending job, from the top of the tree
    down.
    """
    found: list[LostContest] = []
    for name, tree in moment.order.trees.items():
        if name in moment.order.absolute:  # shares are a part of the value there
            continue
        rivals = [other for other in _contenders(moment, name) if other is not job]
        if len(rivals) < len(_contenders(moment, name)):
            for account in tree.accounts(job.user, job.group):
                found += _lost(tree, account, rivals, moment.instance.now)
    return tuple(dict.fromkeys(found))


def _contenders(moment: Snapshot, policy: str) -> list[Job]:
    """Return the pending jobs that a queue set or a host partition has to order."""
    instance = moment.instance
    for queues in queue_sets(instance):
        if queues.master == policy:
            return [job for job in instance.pending if job.queue in queues.queues]
    hosts = moment.order.partitions[policy]
    usable = {q.name for q in instance.queues if hosts & set(queue_hosts(instance.cluster, q))}
    return [job for job in instance.pending if job.queue in usable]


def _lost(
    tree: ShareTree, account: Account, rivals: Iterable[Job], now: int
) -> Iterator[LostContest]:
    waiting = {
        id(at)
        for job in rivals
        for other in tree.accounts(job.user, job.group)
        for at in other.chain()
    }
    for own in reversed(list(account.chain())[:-1]):
        assert own.parent is not None
        others = [at for at in own.parent.children.values() if at is not own and id(at) in waiting]
        first = max(others, key=lambda at: tree.priority(at, now), default=None)
        if first is None or _ahead(tree, own, first, now) >= 0:
            continue
        yield LostContest(
            "/".join((tree.name, *own.parent.path, "")),
            own.name,
            tree.priority(own, now),
            first.name,
            tree.priority(first, now),
            overtakes(tree, own, first, now),
        )


def _ahead(tree: ShareTree, own: Account, rival: Account, time: int) -> float:
    """Return by how much an account is ahead of another; 0 if only rounding separates them."""
    return significant(tree.priority(own, time)) - significant(tree.priority(rival, time))


def overtakes(tree: ShareTree, own: Account, rival: Account, now: int) -> int | None:
    """Return the first second at which `own`, now behind, has the higher priority; None if not
    found.

    A lead that lasts less than a step of :data:`STEPS` may be missed.
    """
    last = now
    for span, step in STEPS:
        while last < now + span:
            time = last + step
            if _ahead(tree, own, rival, time) > 0:
                between = range(last + 1, time)
                return between.start + bisect_left(
                    between, True, key=lambda at: _ahead(tree, own, rival, at) > 0
                )
            last = time
    return None


#: A job may fit at an instant at which a running job releases memory; time-based reservation does
#: not examine such instants.
BETWEEN_ENDS = Reason.of(
    Pending.POSTPONED,
    "it fits, but time-based reservation starts jobs only now or when another job ends",
)
#: Starts that the scheduler as configured examines.
BETWEEN_CYCLES = Reason.of(Pending.POSTPONED, "it fits, but no dispatch cycle starts it")
#: No amount is short, and still it may not start there: jobs before it have a claim.
KEPT = Reason.of(Pending.POSTPONED, "the free slots are reserved for jobs before it")
#: End of the table for a job that never starts: seconds after the last change.
EVERY_WEEK = "repeated every week, as its windows open and close"
CLOSED = Reason.of(Pending.QUEUE_WINDOW, "a dispatch or run window is closed or closes too soon")
OVER = Reason.of(Pending.POSTPONED, "it would not end before its termination time (-t)")
#: Maximum number of jobs named in one reason.
MAX_NAMED = 3


@dataclass(frozen=True, slots=True)
class Obstacle(AsData):
    """An obstacle that keeps the job from starting at every instant from `first` to before
    `until`.
    """

    first: int
    #: End of the obstacle (seconds), None if it never ends.
    until: int | None
    #: Reason why the job could not start then, in words.
    reason: str
    #: Number of instants examined; free resources do not change between them.
    instants: int

    DATA = "from=first until reason"
    STAMPED = ("from", "until")


@dataclass(frozen=True, slots=True)
class BlockedInstant:
    """The reason at one instant."""

    #: Instant in seconds from the origin.
    time: int
    #: Whether only planned jobs block the start then.
    planned: bool
    reason: Reason


def find_obstacles(
    view: PlanView,
    demand: Demand,
    start: int | None,
    method: str,
    should_stop: Callable[[], bool] = lambda: False,
    otherwise: str = "",
) -> Iterator[Obstacle]:
    """Yield the time before the start, divided by the reason why the job could not start.

    otherwise: why it does not start where nothing is short and no job before it has a claim.
    Raises OutOfTime when `should_stop` returns True.
    """
    now = view.problem.instance.now
    if demand.earliest > now:
        until = demand.earliest if start is None else min(demand.earliest, start)
        yield Obstacle(now, until, sentence(held_back_by(demand)), 1)
    candidates = view.profile.candidate_times(demand.earliest, finishes_only=method == "time-based")
    looked_at = set(candidates)
    times = [time for time in _instants(view, demand) if start is None or time < start]
    last = start
    if start is None and demand.calendar is not None:
        last = max(demand.earliest, *view.profile.changes(), *view.problem.base.changes()) + WEEK
        times = [time for time in times if time < last]
    findings = []
    for time in times:
        if should_stop():
            raise OutOfTime
        findings.append(_finding(view, demand, time, time in looked_at, method))
    who = BlockingReservations(view, demand, should_stop)
    rows = [
        (part, names)
        for _, alike in groupby(findings, key=lambda item: (item.planned, item.reason.alike))
        for part, names in who.parts(list(alike))
    ]
    ends = [*(part[0].time for part, _ in rows[1:]), last]
    for (part, names), end in zip(rows, ends, strict=False):
        reason = over([item.reason for item in part])
        if part[0].reason in (BETWEEN_CYCLES, KEPT) and not names:
            reason = otherwise or over([BETWEEN_CYCLES])
        yield Obstacle(part[0].time, end, f"{reason}{names}", len(part))
    if last is not None and start is None:
        yield Obstacle(last, None, EVERY_WEEK, 1)


def _instants(view: PlanView, demand: Demand) -> list[int]:
    """Return every instant at which the free resources in the job's window may change.

    These are starts and ends of jobs, and instants at which the window, or a phase of the request,
    begins to cover a later start.
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
    if demand.latest is not None:
        changes.add(demand.latest + 1)
    times = sorted(time for time in changes if demand.earliest <= time < FOREVER)
    if profile.accepted is not None and profile.has_accept_interval(demand):
        closings = profile.accepted.closings()
        times = sorted({*times, *(time for time in closings if demand.earliest <= time)})
    found = set(profile.with_openings(demand, times))
    if demand.calendar is not None:  # a window closes, or becomes too short for the job
        found.update(*(demand.calendar.closings(time, demand.duration) for time in times))
    return sorted(found)


def _finding(
    view: PlanView, demand: Demand, time: int, looked_at: bool, method: str
) -> BlockedInstant:
    base = view.problem.base
    if (gate := closed_by(demand, time)) is not None:
        by = {"deadline": OVER, "window": CLOSED, "reservation": not_active(demand.job.reservation)}
        return BlockedInstant(time, False, by[gate])
    planned = can_start(base, demand, time)
    if planned and method != "optimal" and can_start(view.profile, demand, time):
        between_ends = not looked_at and method == "time-based"
        return BlockedInstant(time, False, BETWEEN_ENDS if between_ends else BETWEEN_CYCLES)
    profile = view.profile if planned else base
    found = find_shortage(view.problem, demand, profile, time, view.begins)
    if found == NOTHING_SHORT and method != "optimal":
        found = KEPT
    amounts = amounts_short(view.problem, demand, profile, time, found)
    joined = found if amounts is None else Reason.joined([found, amounts])
    return BlockedInstant(time, planned, joined)


@dataclass(slots=True)
class BlockingReservations:
    """The jobs whose reservations block the start."""

    view: PlanView
    demand: Demand
    should_stop: Callable[[], bool]
    _without: dict[str, Profile] = field(default_factory=dict)

    def parts(self, alike: list[BlockedInstant]) -> Iterator[tuple[list[BlockedInstant], str]]:
        """Yield the reasons of one kind as text, divided by the jobs that block the start."""
        if not alike[0].planned or alike[0].reason.lasts:
            yield alike, ""
            return
        at = 0
        while at < len(alike):
            end, names = self._stretch(alike, at)
            yield alike[at:end], names
            at = end

    def _stretch(self, alike: list[BlockedInstant], at: int) -> tuple[int, str]:
        """Return the end of the interval that begins at `at`, and the jobs that block all of it."""
        overlapping = self._overlapping(alike[at].time)
        frees = (job for job in overlapping if self._frees(job, alike[at].time))
        alone = list(islice(frees, MAX_NAMED))
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
            return end, ""
        shown = ", ".join(map(job_text, named[:MAX_NAMED]))
        if more or len(named) > MAX_NAMED:
            return end, f" (reserved for {shown} and others together)"
        return end, f" (reserved for {shown}{' together' if len(named) > 1 else ''})"

    def _overlapping(self, time: int) -> list[str]:
        """Return planned jobs that use resources within the window from `time`."""
        length = self.demand.duration
        end = FOREVER if length is None else time + length
        return [
            other.demand.job.id
            for other in self.view.planned
            if time < (other.start.finish(other.demand) or FOREVER)
            and (other.start.time < end or self.view.respects_reservations)
        ]

    def _frees(self, job: str, time: int) -> bool:
        """Whether the job would fit at `time` without one of the reservations."""
        if job not in self._without:
            if self.should_stop():
                raise OutOfTime
            self._without[job] = self.view.without(job)
        return can_start(self._without[job], self.demand, time)


@dataclass(frozen=True, slots=True, repr=False)
class Explanation(OneLine):
    """Explanation of one pending job: its planned start, the obstacles before it, and changes that
    help.
    """

    #: Start of the job and its proof.
    answer: StartAnswer
    #: Method of the start.
    method: str
    #: Reasons before the start, in order of time.
    obstacles: tuple[Obstacle, ...]
    #: Changes by which the job would start earlier.
    suggestions: tuple[Suggestion, ...]
    #: How many changes were tried for the suggestions, the best of which come first.
    tried: int

    #: Seconds from the origin, the ISO date of second 0 (None: it has none).
    now: int = 0
    #: ISO date of second 0, None if the instance has none.
    origin: str | None = None
    #: Pending reasons of the job after this cycle, as bjobs prints them.
    reasons: tuple[Reason, ...] = ()
    #: Accounts that come before the job's own by fairshare.
    contests: tuple[LostContest, ...] = ()
    #: Rank by absolute priority, None if none decides.
    absolute: AbsoluteRank | None = None
    #: Rank by Slurm's multifactor priority, None if none decides.
    multifactor: MultifactorRank | None = None
    #: Conditions of the job's requirement that hold on some hosts only.
    requirement: tuple[str, ...] = ()
    #: LSF's own statements on the job, None if the instance has none.
    lsf: SaidByLsf | None = None
    #: Whether a limit or Ctrl-C came before everything was examined.
    cut: bool = False
    #: The jobs that decide when its dependency condition (-w) holds, the first one first.
    chain: tuple[ChainLink, ...] = ()
    #: Planned elements, if a whole array was requested; the job is then the first element that does
    #: not start now.
    array: PlannedArray | None = None
    #: Effects of changes of the configuration, None if not requested.
    diagnosis: Diagnosis | None = None
    #: Starts as configured, by LSF's estimate and possible.
    outlook: JobOutlook | None = None

    def _about(self) -> str:
        return f"of job {self.answer.job.id}, {self.method}: start {self.answer.start}"

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as a JSON object; times in seconds from the origin, also as ISO
        stamps.
        """
        chain = "critical_path=chain" if self.answer.job.dependency else ""
        lsf: dict[str, Any] = {}
        array: dict[str, Any] = {}
        if self.lsf is not None:
            said = data_of(self.lsf, "reason start")
            lsf = {"lsf_says": with_stamps(said, self.origin, ("start",))}
        if (whole := self.array) is not None:
            known = {"array": whole.job, "elements": len(whole.elements)}
            array = {"array": known | whole.starts(self.origin)}
        configuration: dict[str, Any] = {}
        if self.diagnosis is not None:
            remedies = (item for job in self.diagnosis.jobs for item in job.remedies)
            configuration["configuration"] = [item.to_dict(self.origin) for item in remedies]
        found = {
            **data_of(self, "now origin job=answer.job.id method"),
            **data_of(self.answer, "start finish allocation proved waits_for"),
            **data_of(self, "outlook?", self.origin),
            **data_of(self, f"requirement {chain} pending_reasons=reasons contests", self.origin),
            **data_of(self, "absolute? multifactor? obstacles suggestions tried", self.origin),
            **configuration,
            **lsf,
            **self.answer.unknown(),
            **data_of(self, "cut?"),
            **array,
        }
        return with_stamps(found, self.origin, ("start", "finish", "at_the_earliest"))

    def _repr_html_(self) -> str:
        """Return the explanation as an HTML table for notebooks; times from now."""
        start = self.answer.start
        begin = "has no start" if start is None else f"starts in {duration_text(start - self.now)}"
        rows = [
            ("in the way", duration_text(item.first - self.now), item.reason)
            for item in self.obstacles
        ]
        rows += [
            ("would help", duration_text(item.start - self.now), item.change)
            for item in self.suggestions
        ]
        rows += [
            ("would help", duration_text(item.start - self.now), item.key)
            for job in (() if self.diagnosis is None else self.diagnosis.jobs)
            for item in job.remedies
        ]
        caption = f"job {self.answer.job.id} {begin} ({self.method}): {self.answer.waits_for}"
        return html_table(caption, ("", "from", "what"), rows)


def explain(
    instance: Instance,
    job: str | int,
    *,
    method: Method = "configured",
    time_limit: float | None = None,
    effort: float | None = None,
    margin: int = 0,
    configuration: bool = False,
    cancel: threading.Event | None = None,
    on_progress: OnProgress | None = None,
) -> Explanation:
    """Explain why a pending job does not start earlier, and which changes would help.

    job: its id; that of an array stands for the first element that does not start now.

    method: "configured" (the start that the simulated scheduler reaches), "time-based" (the one in
    its next cycle) or "optimal" (lexicographic, the jobs before it placed jointly). time_limit:
    wall seconds of all plans together; effort, margin: of each, as in :func:`slotwise.plan`.
    configuration: whether changes of the configuration are tried too, as :func:`slotwise.diagnose`
    does, which runs the scheduler once for each. cancel: set it to stop trying changes; before
    there is a start, the answer says that the job was not examined. on_progress: called before
    each plan. Raises InputError for a job that is not pending, UnknownNameError for one that is not
    there.
    """
    job = job_id(job)
    whole = _array(instance, job)
    asked = _pending(instance, job if whole is None else whole[0])
    forecast = WhatIfPlanner(
        instance,
        method,
        time_limit=time_limit,
        effort=effort,
        margin=margin,
        cancel=cancel,
        on_progress=on_progress,
    )
    planned = None if whole is None else forecast.elements(job)
    if whole is not None:
        asked = _pending(instance, _waiting(instance, whole, planned))
    answer = forecast.answer_with_omissions(asked)
    outlook = forecast.outlook(asked)
    answer = stated_by(outlook, answer)
    lsf = next((item for item in instance.lsf_says if item.job == job), None)
    found = Explanation(
        *(answer, method, (), (), 0), now=instance.now, origin=instance.origin, lsf=lsf
    )
    found = replace(found, array=planned, outlook=outlook)
    try:
        if answer.start == instance.now:
            return found
        if answer.cut or forecast.stopped():
            return replace(found, cut=True)
        found = _explained(forecast, asked, found)
        return _with_diagnosis(forecast, asked, found) if configuration else found
    except OutOfTime:
        return replace(found, cut=True)


def _explained(forecast: WhatIfPlanner, asked: Job, found: Explanation) -> Explanation:
    """Return the answer with the obstacles before the start and the suggestions."""
    view = forecast.view(asked)
    demands = forecast.demands(view, asked)
    if asked.dependency:
        chain = critical_path(forecast.instance, asked, view.times())
        found = replace(found, chain=chain)
    if len(demands) > 1:
        rows = (row for each in demands for row in _under_one(forecast, view, each, found))
        found = replace(found, obstacles=tuple(rows))
    elif not demands[0].impossible:
        found = replace(found, obstacles=tuple(_obstacles(forecast, view, demands[0], found)))
    found = replace(found, requirement=forecast.fails(found.answer))
    if forecast.stopped():
        return replace(found, cut=True)
    budget = forecast.budget()
    try:
        moment = snapshot_of(forecast.instance, after_cycle=True, budget=budget)
        budget.check_search()
    except OutOfTime:
        return replace(found, cut=True)
    if asked in moment.instance.pending:
        reasons = moment.waiting[asked.id].reasons
        found = replace(found, reasons=reasons, contests=lost_contests(moment, asked))
        found = replace(
            found,
            absolute=absolute_rank(forecast.instance, asked),
            multifactor=multifactor_rank(forecast.instance, asked),
        )
    demand = earliest_demand(view, demands, asked)
    suggestions, tried = suggest(forecast, view, demand, found.answer)
    return replace(found, suggestions=suggestions, tried=tried, cut=forecast.refrained)


def _under_one(
    forecast: WhatIfPlanner, view: PlanView, demand: Demand, found: Explanation
) -> Iterator[Obstacle]:
    """Yield the obstacles under one of several alternatives in braces, which each of them names."""
    chosen, asked = demand.job.requirement_alternative or 0, found.answer.job
    name = numbered(chosen)
    if demand.impossible:
        yield Obstacle(found.now, found.answer.start, f"{name}: {demand.impossible}", 1)
        return
    for row in _obstacles(forecast, view, demand, found):
        reason = opening_reason(row.reason, chosen, row.until, asked.begin)
        yield replace(row, reason=reason if reason != row.reason else f"{name}: {row.reason}")


def _obstacles(
    forecast: WhatIfPlanner, view: PlanView, demand: Demand, found: Explanation
) -> Iterator[Obstacle]:
    """Yield the obstacles before the start; as configured, also the use of slots that were
    free.
    """
    start, stop, asked = found.answer.start, forecast.cancel.is_set, found.answer.job
    row = found.outlook
    said = "" if row is None else row.condition or row.held_back
    if start is None and found.method == CONFIGURED and forecast.awaits(asked):
        yield Obstacle(found.now, None, sentence(not_yet(demand.job)), 1)
        return
    fits = None if found.method != CONFIGURED else forecast.in_turn(demand.job)
    if start is None or fits is None or fits >= start or demand.job.reservation:
        yield from find_obstacles(view, demand, start, found.method, stop, said)
        return
    yield from find_obstacles(view, demand, fits, "time-based", stop, said)
    if forecast.is_passed(asked, start):
        said = not_kept(forecast.instance, demand.job, fits)
    elif ahead := forecast.blocked_by(asked, fits, start):
        said = f"it fits, but the free slots are reserved for {listed(ahead)} before it"
    elif fits > found.now:
        said = ""  # What the scheduler said first is of another time.
    # The next cycle's estimate leaves windows and advance reservations out (TBR-19).
    alone = replace(forecast.instance, pending=(demand.job,))
    problem = PlanningProblem.of(alone, as_lsf=False, budget=forecast.budget())
    real = PlanView(problem, problem.base, ())
    rows = find_obstacles(real, problem.demands[0], start, found.method, stop, said)
    for reason, alike in groupby(rows, key=lambda row: row.reason):
        same = [row for row in alike if row.until is None or row.until > fits]
        if same:
            yield Obstacle(max(fits, same[0].first), same[-1].until, reason, len(same))


def not_kept(instance: Instance, job: Job, fits: int) -> str:
    """Return why the slots of a job are not reserved until all of them are free, at `fits`."""
    queue = instance.queue(job.queue)
    if queue.reserve_cycles is None:
        setting = f"queue {queue.name} has no SLOT_RESERVE"
        return f"{setting}: jobs behind it start on released slots before it has enough"
    seconds = queue.reserve_cycles * instance.params.mbd_sleep_time
    if fits - instance.now > seconds:
        lasts = f"after {duration_text(seconds)}, then jobs behind it start on its slots"
        return f"its reservation ends (MAX_RESERVE_TIME[{queue.reserve_cycles}]) {lasts}"
    return "the scheduler as configured starts other jobs on slots that it needs"


def _with_diagnosis(forecast: WhatIfPlanner, asked: Job, found: Explanation) -> Explanation:
    """Return the explanation with the effects of changes of the configuration."""
    if forecast.stopped():
        return replace(found, cut=True)
    diagnosis = diagnose(forecast.instance, jobs=(asked.id,), cancel=forecast.cancel)
    jobs = []
    for item in diagnosis.jobs:  # other ways of asking are among the suggestions
        kept = tuple(
            remedy for remedy in item.remedies if remedy.kind not in OF_THE_JOB - {"queue hosts"}
        )
        jobs += [replace(item, remedies=kept)] if kept or not item.remedies else []
    diagnosis = replace(diagnosis, jobs=tuple(jobs))
    return replace(found, diagnosis=diagnosis, cut=found.cut or diagnosis.cut)


def _array(instance: Instance, job: str) -> tuple[str, ...] | None:
    """Return the pending elements of an array id, None for any other id."""
    if any(item.id == job for item in instance.pending):
        return None
    return tuple(item.id for item in instance.pending if item.array_id == job) or None


def _waiting(instance: Instance, ids: tuple[str, ...], planned: PlannedArray | None) -> str:
    """Return the first element that does not start now, or the first element if all do."""
    starts = {} if planned is None else {item.job: item.start for item in planned.elements}
    return next((id for id in ids if starts.get(id) != instance.now), ids[0])


def _pending(instance: Instance, job: str) -> Job:
    found = next((item for item in instance.pending if item.id == job), None)
    if found is not None:
        return found
    if any(item.job.id == job for item in instance.running):
        raise InputError(f"job {job} is running: give a pending job")
    if any(item.id == job for item in instance.future):
        raise InputError(f"job {job} is not submitted yet: give a pending job")
    hint = nearest(job, [item.id for item in instance.pending])
    raise UnknownNameError(no_pending_job(instance.omissions, job, hint))
