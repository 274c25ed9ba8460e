"""What the scheduler says of its pending jobs, against what was read and the next cycle here.

A statement that nothing explains is an omission of the job, whose starts are not proved.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TypeAlias

from ...model.cluster import Host
from ...model.configuration import Queue
from ...model.errors import InputError
from ...model.instance import Instance, SaidByLsf
from ...model.job import Job
from ...model.omissions import Omission
from ...model.pending import LOAD_WORDS, Pending
from ...model.plan import Method
from ...model.reserved_periods import reserved_periods, with_periods
from ...model.sources.lsf_state.bjobs import INELIGIBLE
from ...model.sources.slurm.reasons import TRIED, WAITING, ReadOfSlurm, reason_words
from ...model.sources.slurm.seen import SlurmState
from ..availability.demand import TermDemand, Windows
from ..availability.profile import SLACK
from ..availability.resources import HostResource, Per, Pool, Use
from ..budget import Budget
from ..precedence import Precedence, earliest
from ..problem import profile_of_running
from ..resolve import Resolver
from ..rules.omitted import Scopes
from ..scheduler.continuation import started_now
from ..scheduler.next_cycle import plan_next_cycle
from ..scheduler.why_pending import PARALLEL
from ..slurm.backfill import NEAR, plan_as_slurm

P = Pending
#: What explains a reason, in words, and whether it was read.
_Row: TypeAlias = "tuple[str, _Holds]"
#: Whether what was read explains the reason of a job of a queue.
_Holds: TypeAlias = "Callable[[ReadOfLsf, Job, Queue], bool]"


def _any_host(holds: Callable[[Host], object]) -> _Holds:
    return lambda it, job, queue: any(holds(host) for host in it.instance.cluster.hosts)


def _has_state(*words: str) -> _Holds:
    return _any_host(lambda host: host.status.lower().startswith(words))


def _asks(it: ReadOfLsf, job: Job, queue: Queue) -> bool:
    """Whether a job has a resource requirement, of its own or of its application profile."""
    profile = it.instance.application(job.application)
    types = {host.type for host in it.instance.cluster.hosts}
    return bool(job.res_req or job.gpu or (profile and profile.res_req) or len(types) > 1)


def _open_to_some(it: ReadOfLsf, job: Job, queue: Queue) -> bool:
    return bool(queue.hosts or queue.excluded_hosts)


def _is_closed(it: ReadOfLsf, job: Job, queue: Queue) -> bool:
    windows = (queue.dispatch_window, queue.run_window)
    return any(map(it.is_closed, windows)) or not queue.active


def _awaits(it: ReadOfLsf, job: Job, queue: Queue) -> bool:
    """Whether a job has a dependency condition that does not hold yet."""
    if job.id not in it.precedence.releases:
        return False
    held = earliest(it.precedence.releases[job.id].event, lambda after: None)
    return held is None or held > it.now


def _has_closed_window(it: ReadOfLsf, job: Job, queue: Queue) -> bool:
    return any(it.is_closed(host.windows) for host in it.instance.cluster.hosts)


def _is_reserved(it: ReadOfLsf, job: Job, queue: Queue) -> bool:
    reserved = with_periods(it.instance).advance_reservations
    return any(item.end > it.now for item in reserved)


def _is_too_early(it: ReadOfLsf, job: Job, queue: Queue) -> bool:
    periods = reserved_periods(it.instance, job.reservation)
    return periods is not None and not periods.is_active(it.now)


def _has_threshold(it: ReadOfLsf, job: Job, queue: Queue) -> bool:
    hosts = it.instance.cluster.hosts
    own = any(host.thresholds.sched or "busy" in host.status.lower() for host in hosts)
    return own or bool(queue.thresholds.sched)


def _exclusive_runs(it: ReadOfLsf, job: Job, queue: Queue) -> bool:
    alone = any(run.job.exclusive for run in it.instance.running)
    return alone or _has_state("closed_excl")(it, job, queue)


_SHAPE: _Row = ("a span or a number of slots above 1", lambda it, job, queue: (
    bool(job.slots > 1 or _asks(it, job, queue))
))  # fmt: skip
_UNITS: _Row = ("compute units", lambda it, job, queue: bool(it.instance.cluster.units))
_PARTITIONS: _Row = ("a host partition", lambda it, job, queue: bool(it.instance.partitions))
_QUEUE_RES_REQ: _Row = ("RES_REQ of its queue", lambda it, job, queue: bool(queue.res_req))
_DEPENDENCY: _Row = ("a condition that it waits for", _awaits)

#: Reasons that are no limit; those in neither table hold without anything to read.
_EXPLAINED_BY: dict[Pending, _Row] = {
    P.START_TIME: ("its begin time (-b)", lambda it, job, queue: (job.begin or 0) > it.now),
    P.DEPENDENCY: _DEPENDENCY,
    P.DEPENDENCY_NEVER: _DEPENDENCY,
    P.QUEUE_INACTIVE: ("that its queue is inactive", lambda it, job, queue: not queue.active),
    P.QUEUE_WINDOW: ("a closed window of its queue", _is_closed),
    P.QUEUE_WINDOW_CLOSES: ("a run window", lambda it, job, queue: bool(queue.run_window)),
    P.QUEUE_PROCLIMIT: ("PROCLIMIT of its queue", lambda it, job, queue: queue.slots is not None),
    P.NO_SHARE: ("shares of its queue", lambda it, job, queue: queue.user_shares is not None),
    P.RESERVATION_INACTIVE: ("that its reservation is not active", _is_too_early),
    P.REQUIREMENT: ("a resource requirement of it", _asks),
    P.NOT_ALONE: ("that it is exclusive (-x)", lambda it, job, queue: job.exclusive),
    P.PARTITION_PRIORITY: _PARTITIONS,
    P.PARTITION: _PARTITIONS,
    P.FIRST_HOST: ("its first host (-m)", lambda it, job, queue: any(h.first for h in job.hosts)),
    P.CLOSED: ("a closed host", _has_state("closed")),
    P.LOCKED: ("a locked host", _has_state("lock", "closed_lock")),
    P.HOST_WINDOW: ("a closed window of a host", _has_closed_window),
    P.NOT_OF_QUEUE: ("the hosts of its queue", _open_to_some),
    P.NOT_ASKED_FOR: ("hosts that it requests (-m)", lambda it, job, queue: bool(job.hosts)),
    P.JUST_ACCEPTED: (
        "JOB_ACCEPT_INTERVAL",
        lambda it, job, queue: it.instance.accept_interval(queue) > 0,
    ),
    P.NO_LOAD: ("a host without load information", _has_state("unavail", "unreach", "unlicensed")),
    P.UNREACHABLE: ("a host out of reach", _has_state("unavail", "unreach")),
    P.QUEUE_REQUIREMENT: _QUEUE_RES_REQ,
    P.QUEUE_SPAN: _QUEUE_RES_REQ,
    P.SPAN: _SHAPE,
    P.EXCLUSIVE: ("an exclusive job that runs", _exclusive_runs),
    P.RESERVED: ("an advance reservation", _is_reserved),
    P.NO_UNIT: _UNITS,
    P.UNIT_EXCLUSIVE: _UNITS,
    P.UNIT_OCCUPIED: _UNITS,
    P.UNIT_USABLE: _UNITS,
    P.UNITS_MAXCUS: _UNITS,
    P.UNITS_BALANCE: _UNITS,
    P.LOAD: ("a load threshold", _has_threshold),
}
#: Limits, reservations and amounts: the resource table has what explains them. With each, the
#: fields in which the jobs agree that one holds back; id: it holds back the job alone.
_IN_TABLE: dict[Pending, tuple[str, ...]] = {
    P.ARRAY_ELEMENTS: ("array_id",),
    P.JOB_GROUP: ("job_group",),
    P.RUSAGE: ("id",),
    P.QUEUE_USER_SLOTS: ("queue", "user"),
    **dict.fromkeys((P.GUARANTEE, P.LIMIT_CLUSTER, P.LIMIT_HOST, P.JOBS_CLUSTER, P.JOBS_HOST), ()),
    **dict.fromkeys((P.QUEUE_SLOTS, P.QUEUE_PER_CPU, P.QUEUE_PER_HOST), ("queue",)),
    **dict.fromkeys((P.LIMIT_QUEUE, P.JOBS_QUEUE), ("queue",)),
    **dict.fromkeys((P.USER_SLOTS, P.GROUP_SLOTS, P.LIMIT_USER, P.JOBS_USER), ("user",)),
    **dict.fromkeys((P.USER_PER_CPU, P.GROUP_PER_CPU, P.HOST_PER_USER), ("user",)),
    **dict.fromkeys((P.LIMIT_PROJECT, P.JOBS_PROJECT), ("project",)),
    **dict.fromkeys((P.LIMIT_APP, P.JOBS_APP), ("application",)),
    **dict.fromkeys((P.LIMIT_LICENSE_PROJECT, P.JOBS_LICENSE_PROJECT), ("license_project",)),
}
#: Reasons for which a job is not eligible (PENDSTATE).
_INELIGIBLE = (
    *(P.START_TIME, P.DEPENDENCY, P.QUEUE_INACTIVE, P.QUEUE_WINDOW, P.RESERVATION_INACTIVE),
    *(P.ARRAY_ELEMENTS, P.JOB_GROUP),
)
_OF_LIMIT = {P.QUEUE_RUSAGE: P.RUSAGE, **{other: kind for kind, other in PARALLEL.items()}}


class ReadOfLsf:
    """What was read of an LSF cluster, asked for what explains the reasons of its jobs."""

    def __init__(self, instance: Instance) -> None:
        self.instance: Instance = instance
        self.now: int = instance.now
        self._resolver = Resolver.of(instance, reserving=False)
        self._running = profile_of_running(self._resolver)
        self._reported = self._resolver.table.reported_used()
        #: Amounts that pending jobs may reserve, by name.
        self._reserved = defaultdict[str, float](float)
        for job in instance.pending:
            if instance.queue(job.queue).reserve_cycles is not None:
                for item, amount, _ in self._taken(job):
                    self._reserved[item.name] += amount

    @cached_property
    def precedence(self) -> Precedence:
        """Return what the pending jobs wait for."""
        return Precedence.of(self.instance)

    def is_closed(self, windows: str) -> bool:
        """Return whether windows are closed now."""
        return not Windows(windows, self.instance.origin).is_open(self.now)

    def lacks(self, job: Job, reason: str) -> tuple[str, Pending | None]:
        """Return in words that what explains a reason of a job was not read, with that reason if
        it is known; "" if all was.
        """
        queue = self.instance.queue(job.queue)
        if INELIGIBLE in reason and all(self.lacks(job, it.words)[0] for it in _INELIGIBLE):
            return "no input explains it", None
        for kind, resource in _kinds_in(reason):
            if kind is None:
                return "no input explains it", None
            if kind in _EXPLAINED_BY:
                what, holds = _EXPLAINED_BY[kind]
                if not holds(self, job, queue):
                    return f"no input gives {what}", kind
            elif (kind := _OF_LIMIT.get(kind, kind)) in _IN_TABLE:
                if kind is P.QUEUE_SLOTS and queue.slot_pool:
                    continue
                own = queue.reserve_cycles is not None
                left = [
                    free - amount * (not own) - self._reserved[item.name]
                    for item, amount, free in self._taken(job)
                    if _family(item.short) == _family(kind)
                    and resource in ("", item.subject, item.subject.removesuffix("s"))
                ]
                what = f"an amount of {resource}" if resource else "that limit"
                if not left:
                    return f"no input gives {what}", kind
                if min(left) >= 0:
                    return f"{what} as it was read leaves enough for it", kind
        return "", None

    def held_alike(self, job: Job, kind: Pending) -> Iterator[str]:
        """Yield the pending jobs that a limit which was not read holds back as it does a job."""
        shared = _IN_TABLE.get(kind, ("id",))
        for other in self.instance.pending:
            if all(getattr(other, name) == getattr(job, name) for name in shared):
                yield other.id

    def _taken(self, job: Job) -> Iterator[tuple[HostResource | Pool, float, float]]:
        """Yield what a job takes an amount of, with the amount and what running jobs leave of it:
        on the host with the least.
        """
        table, now = self._resolver.table, self.now
        try:
            terms = self._resolver.demand(job).terms
        except InputError:
            terms = ()
        for term in terms:
            for use in (use for item in term.alternatives for use in item.host_uses):
                free = self._running.free(use.index, now) - self._reported.get(use.index, 0.0)
                least = float(free[term.candidates].min(initial=math.inf))
                yield table.host_resources[use.index], _amount(use, term), least
            for use in (use for item in term.alternatives for use in item.pool_uses):
                left = self._running.free_in_pool(use.index, now)
                yield table.pools[use.index], _amount(use, term), left


def _amount(use: Use, term: TermDemand) -> float:
    return use.reservation.initial * (term.slots if use.per is Per.SLOT else 1) - SLACK


def _family(kind: Pending) -> str:
    """Return what reasons share of which LSF prints one, if a limit has several consumers."""
    first = kind.name.partition("_")[0]
    return first if first in ("LIMIT", "JOBS") else kind.name


def _kinds_in(text: str) -> Iterator[tuple[Pending | None, str]]:
    """Yield the reasons in a text of bjobs, each with the resource that it names; None: unknown."""
    for part in re.split(r"[;\n]", text):
        words = _normalised(part)
        for pattern, kind in _patterns():
            if found := pattern.match(words):
                yield kind, (*found.groups(), "")[0]
                break
        else:
            if words and not words.endswith("summary:"):
                yield None, ""


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], Pending], ...]:
    """Return the patterns of LSF's texts, longer ones first."""
    texts = [(kind.words, kind) for kind in Pending]
    texts += [(words, Pending.LOAD) for words in LOAD_WORDS.values()]
    texts += [("Job has a specified start time", Pending.START_TIME)]
    texts += [(INELIGIBLE, Pending.POSTPONED)]
    texts += [("External load index ({}) is beyond threshold", Pending.LOAD)]
    texts.sort(key=lambda item: -len(item[0]))
    return tuple(
        (re.compile(re.escape(_normalised(words)).replace(r"\{\}", "([^)]*)")), kind)
        for words, kind in texts
    )


def _normalised(text: str) -> str:
    """Return a text in the form in which the versions of LSF agree."""
    return " ".join(text.lower().replace("'s", "").split()).removeprefix("the ")


#: LSF's reason for a job of which nothing is known yet.
_ELIGIBLE = re.compile(r"\s*(new job is waiting for scheduling\b.*)?", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Statement:
    """What the scheduler says of one pending job."""

    #: Id of the pending job.
    job: str
    #: Reason as printed, "" if none.
    reason: str
    #: Start as printed (seconds from the origin), None if none.
    start: int | None
    #: What would explain the reason and was not read, in words; "" if nothing is missing.
    lacking: str
    #: Whether a job may have this reason until a cycle starts it.
    eligible: bool
    #: Pending jobs that the reason holds back too.
    alike: tuple[str, ...] = ()


def of_lsf(instance: Instance, said: Iterable[SaidByLsf]) -> list[Statement]:
    """Return what LSF says of the pending jobs of an instance."""
    listed = {item.job: item for item in said if item.reason or item.start is not None}
    jobs = [job for job in instance.pending if job.id in listed]
    if not jobs:
        return []
    read, found = ReadOfLsf(instance), []
    for job in jobs:
        item = listed[job.id]
        lacking, kind = read.lacks(job, item.reason)
        found.append(
            Statement(
                job.id,
                " ".join(item.reason.split()).strip("; ")[:100],
                item.start,
                lacking,
                bool(_ELIGIBLE.fullmatch(item.reason)),
                () if kind is None else tuple(read.held_alike(job, kind)),
            )
        )
    return found


def said_by_slurm(instance: Instance, seen: SlurmState, now: int) -> list[Statement]:
    """Return what Slurm says of the pending jobs of an instance; now: seconds since 1970."""
    records = {job.full_id: job for job in seen.jobs}
    read = ReadOfSlurm(seen, now)
    starts = {item.job: item.start for item in instance.lsf_says}
    members: dict[str, list[str]] = {}
    for job in instance.pending:
        name = job.id if job.id in records or job.array_id is None else job.array_id
        members.setdefault(name, []).append(job.id)
    found = []
    for name, ids in members.items():
        record = records[name]
        words, lacking = reason_words(record), read.lacks(record)
        reason = (record.reason_text or record.reason) if any(words) else ""
        alike = read.held_alike(record) if lacking else ()
        shared = tuple(id for other in alike for id in members.get(other.full_id, ()))
        for id in ids:
            start = starts.get(id)
            tried = start is None and not TRIED.isdisjoint(words)
            eligible = WAITING.issuperset(words) and not tried
            found.append(Statement(id, reason, start, lacking, eligible, shared))
    return found


def unexplained(
    instance: Instance, statements: Iterable[Statement], where: str = ""
) -> Iterator[Omission]:
    """Yield an omission for each statement that nothing which was read explains, or that the next
    cycle contradicts.
    """
    known = {item.job: item for item in statements}
    if not known:
        return
    begun = started_now(replace(instance, omissions=()), Budget()) & known.keys()
    scheduler, later = instance.params.scheduler, _planned_earlier(instance, known, begun)
    texts: dict[str, dict[str, None]] = {}
    for job, item in known.items():
        contradicted = job in begun and not item.eligible
        if not (item.lacking or contradicted or job in later):
            continue
        says = f"says: {item.reason}" if item.reason else "estimates a later start"
        if item.reason and item.eligible and job in later:
            says += ", with a later start"
        starts = "here the next cycle starts it" if job in begun else ""
        text = "; ".join(filter(None, (f"{scheduler.name} {says}", item.lacking, starts)))
        texts.setdefault(text, {}).update(dict.fromkeys((job, *item.alike)))
    for text, jobs in texts.items():
        yield Omission(text, where=where, count=len(jobs), jobs=tuple(jobs))


def _planned_earlier(
    instance: Instance, known: dict[str, Statement], begun: frozenset[str]
) -> set[str]:
    """Return the jobs that the scheduler's own plan, made again, starts earlier than printed.

    Greedy reservation has an estimate for some jobs alone: the others count by time-based one.
    begun: jobs that start now. Another job is passed over if an input that was not read may change
    its start, which explains the difference and has taken the proof.
    """
    starts = {job: item.start - NEAR for job, item in known.items() if item.start is not None}
    if all(start <= instance.now for start in starts.values()):
        return set()
    bare, budget = replace(instance, omissions=()), Budget()
    plans = [plan_as_slurm(bare, budget)] if instance.params.scheduler.plans_nodes else []
    methods: tuple[Method, ...] = () if plans else ("time-based", "greedy")
    for method in methods[: 1 if instance.params.time_reserve_numjobs else 2]:
        with suppress(InputError):  # chunk jobs have no future allocation
            plans.append(plan_next_cycle(bare, method, budget=budget))
    found = {
        item.job: item.estimate if item.start is None else item.start
        for plan in plans
        for item in plan.reservations
        if item.start is not None or item.estimate is not None
    }
    later = {job for job, at in starts.items() if (own := found.get(job)) is not None and own < at}
    if rest := [job for job in instance.pending if job.id in later - begun]:
        scopes = Scopes(instance, Resolver.of(instance))
        for item in instance.omissions:
            moved = scopes.moved(item, rest)
            later -= {job.id for job in rest} if moved is None else set(moved)
    return later
