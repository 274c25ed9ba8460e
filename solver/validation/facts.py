"""The plan and its instance as plain look-ups: who holds what, where, from when to when."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, repeat
from operator import attrgetter
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ...model.cluster import BUILTIN_AMOUNTS, ComputeUnit, Host, SharedResource
from ...model.compact import no_collection, objects_of
from ...model.configuration import Queue, Scope
from ...model.duration import expected_duration, expected_finish
from ...model.errors import SlotwiseError
from ...model.instance import Instance
from ...model.job import Job, RunningJob
from ...model.objective import takes_due_dates
from ...model.plan import Plan, PlannedJob
from ...model.reservation import Reservation
from ...model.resreq import effective_requirement
from ...model.resreq.syntax import Compound, Requirement, Simple
from .selection import Names


@dataclass(frozen=True, slots=True)
class Violation:
    """One rule that a plan breaks."""

    #: Short name of the rule (``slots``, ``span``, ``run-window``, …).
    check: str
    #: A sentence with job, host, time, amount and limit, if the rule has them.
    message: str
    #: Id of the job at fault, "" if no single job is.
    job: str = ""
    #: Name of the host, "" if no single host is concerned.
    host: str = ""
    #: Instant in seconds from the origin, None if the rule has none.
    time: int | None = None

    def __str__(self) -> str:
        return f"{self.check}: {self.message}"


def shown(amount: float) -> str:
    """Return an amount as text: no trailing zeros, at most six decimals."""
    return f"{amount:.6f}".rstrip("0").rstrip(".")


IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]

#: An instant after the end of every job.
OPEN_END = np.iinfo(np.int64).max

#: Slots in use by a job: its id, start, finish (None: never) and slots by host.
JobSlots: TypeAlias = tuple[str, int, int | None, Mapping[str, int]]


class SlotColumns:
    """Arrays of used slots: job, host position, number of slots, start and finish."""

    def __init__(self, hosts: Mapping[str, Host], held: Iterable[JobSlots]) -> None:
        position = {name: at for at, name in enumerate(hosts)}
        self._slots = np.array([host.slots for host in hosts.values()], dtype=np.int64)
        self._jobs: dict[str, int] = {}
        rows = [
            (
                position[host],
                slots,
                start,
                OPEN_END if finish is None else finish,
                self._jobs.setdefault(job, len(self._jobs)),
            )
            for job, start, finish, allocation in held
            for host, slots in allocation.items()
            if host in position
        ]
        self._rows = np.array(rows, dtype=np.int64).reshape(-1, 5).T

    def free_beside(self, job: str, time: int) -> IntArray:
        """Return the slots of each host that the other jobs leave free at `time`, at least 0."""
        host, slots, start, finish, owner = self._rows
        there = (start <= time) & (time < finish) & (owner != self._jobs.get(job, -1))
        used = np.bincount(host[there], weights=slots[there], minlength=len(self._slots))
        free: IntArray = np.maximum(self._slots - used.astype(np.int64), 0)
        return free


@dataclass(frozen=True, slots=True)
class UnitsOfType:
    """The compute units of one type in configuration order."""

    units: tuple[ComputeUnit, ...]
    #: Numbers of the units of each host.
    of_host: Mapping[str, Sequence[int]]
    #: Pairs of unit number and host position, one for each membership.
    members: tuple[IntArray, IntArray]

    @classmethod
    def of(cls, units: Iterable[ComputeUnit], type_: str, hosts: Iterable[str]) -> UnitsOfType:
        """Return the units of a type. hosts: all hosts of the cluster in their order."""
        chosen = tuple(unit for unit in units if unit.type == type_)
        position = {name: at for at, name in enumerate(hosts)}
        of_host: dict[str, list[int]] = {}
        pairs = []
        for number, unit in enumerate(chosen):
            for host in dict.fromkeys(unit.hosts):
                of_host.setdefault(host, []).append(number)
                pairs.append((number, position[host]))
        numbers, places = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        return cls(chosen, of_host, (numbers, places))

    def sums(self, amounts: IntArray) -> IntArray:
        """Return the sum over the hosts of each unit."""
        numbers, places = self.members
        found = np.bincount(numbers, weights=amounts[places], minlength=len(self.units))
        return found.astype(np.int64)

    def hosts_of(self, wanted: BoolArray, count: int) -> BoolArray:
        """Return which of `count` hosts are in one of the wanted units."""
        numbers, places = self.members
        found = np.zeros(count, dtype=bool)
        found[places[wanted[numbers]]] = True
        return found


#: Number of running jobs between two checks of the clock.
_POLLED = 256
#: Tolerance for amounts, which are exact to 1e-6.
SLACK = 1e-6


@dataclass(frozen=True, slots=True)
class TermShare:
    """The share of a job that one term of its requirement places; a simple requirement has one."""

    allocation: Mapping[str, int]
    requirement: Simple
    reservations: tuple[Reservation, ...] = ()


@dataclass(frozen=True, slots=True)
class Holding:
    """A running or planned job with its allocation over [start, finish); finish None: no end.

    The finish of a planned job includes the margin of its plan.
    """

    job: Job
    #: Start in seconds.
    start: int
    #: Finish in seconds; None: no known end.
    finish: int | None
    #: Slots by host.
    allocation: Mapping[str, int]
    #: Whether the job is planned, not running.
    planned: bool
    #: None if it is refused or its terms cannot be split; `fault` has the reason.
    requirement: Requirement | None = None
    #: The allocation by term.
    parts: tuple[TermShare, ...] = ()
    #: Reason for a missing requirement or split, else "".
    fault: str = ""
    #: Finish of a suspended job, which keeps everything but its slots until then.
    keeps_until: float | None = None

    @property
    def slots(self) -> int:
        """Return the total number of slots on all hosts."""
        return sum(self.allocation.values())

    def active(self, time: int) -> bool:
        """Return whether the job has its allocation at `time`."""
        return self.start <= time and (self.finish is None or time < self.finish)

    def keeps(self, time: int) -> bool:
        """Return whether the job has its amounts at `time`, on its slots or suspended."""
        end = self.keeps_until
        return self.active(time) or (self.start <= time and end is not None and time < end)

    def violation(self, check: str, message: str, host: str = "") -> Violation:
        """Return a violation by this job alone, at its start."""
        return Violation(check, f"job {self.job.id}: {message}", self.job.id, host, self.start)

    def overlaps(self, other: Holding) -> bool:
        """Return whether both jobs have their allocations at some instant."""
        first, last = max(self.start, other.start), min(_end(self), _end(other))
        return first < last


def _end(holding: Holding) -> float:
    return float("inf") if holding.finish is None else holding.finish


#: Function that splits an allocation over the terms of a compound requirement;
#: :func:`.shape.split`.
Splitter = Callable[["Facts", Job, Mapping[str, int], Compound], tuple[TermShare, ...] | None]


class Unfinished(Exception):
    """The validator was stopped before all checks were done."""


@dataclass(slots=True)
class _FactsFound:
    """Caches of look-ups, each by its inputs; None: not yet computed."""

    expanded: dict[tuple[str, ...], frozenset[str]] = field(default_factory=dict)
    members: dict[str, frozenset[str]] = field(default_factory=dict)
    named: dict[tuple[Scope, str], frozenset[str]] = field(default_factory=dict)
    everyone: dict[str, frozenset[str]] = field(default_factory=dict)
    alike: dict[tuple[str, ...], list[Holding]] = field(default_factory=dict)
    reserved: dict[tuple[int, int], tuple[Reservation, ...]] = field(default_factory=dict)
    requirements: dict[tuple[object, ...], Requirement | str] = field(default_factory=dict)
    units: dict[str, UnitsOfType] = field(default_factory=dict)
    columns: list[SlotColumns] = field(default_factory=list)
    own_slots: dict[int, frozenset[str]] | None = None
    running_by_host: dict[str, list[Holding]] | None = None
    reserving: dict[str, list[Holding]] | None = None
    array_limits: dict[str, int] | None = None


@dataclass(slots=True)
class Facts:
    """Everything the checks look up; built once for a plan."""

    instance: Instance
    plan: Plan
    as_lsf: bool
    hosts: dict[str, Host]
    queues: dict[str, Queue]
    pending: dict[str, Job]
    names: Names
    #: Predicate whether the validator must stop, called by :meth:`poll`.
    stop: Callable[[], bool] = lambda: False
    planned: list[Holding] = field(default_factory=list)
    running: list[Holding] = field(default_factory=list)
    #: Running and planned jobs of each host on which a planned job has slots.
    by_host: dict[str, list[Holding]] = field(default_factory=dict)
    #: Sets of resources named by same[], in which hosts must agree (filled by `shape`).
    same_needs: dict[tuple[str, ...], int] = field(default_factory=dict)
    _found: _FactsFound = field(default_factory=_FactsFound)

    @classmethod
    def of(
        cls,
        instance: Instance,
        plan: Plan,
        *,
        as_lsf: bool,
        split: Splitter,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> Facts:
        """Return the look-ups of one plan; entries of unknown jobs or hosts are left to `book`.

        Raises Unfinished when `should_stop` returns True, as all look-ups over jobs do.
        """
        facts = cls(
            instance,
            plan,
            as_lsf,
            {host.name: host for host in instance.cluster.hosts},
            {queue.name: queue for queue in instance.queues},
            {job.id: job for job in instance.pending},
            Names.of(instance.cluster),
            should_stop,
        )
        with no_collection():
            facts._take_in(split)
        facts.by_host = _at_planned_hosts(facts.running, facts.planned)
        return facts

    def _take_in(self, split: Splitter) -> None:
        """Add the allocations of running jobs and of the plan's entries."""
        stops = self.plan.suspended
        self.running = [
            replace(item, finish=stops[item.job.id], keeps_until=_end(item))
            if item.job.id in stops
            else item
            for item in self._of_running(self.instance.running, split)
        ]
        for entry in self.plan.reservations:
            job = self.pending.get(entry.job)
            if job is None or entry.start is None:
                continue
            allocation = {
                host: slots
                for host, slots in entry.allocation.items()
                if host in self.hosts and slots > 0
            }
            finish = self.finish_of(job, entry.start)
            if finish is not None:
                finish += self.plan.margin
            holding = Holding(job, entry.start, finish, allocation, planned=True)
            if job.id in stops:
                ends = replace(holding, finish=entry.finish)
                holding = replace(holding, finish=stops[job.id], keeps_until=_end(ends))
            alternatives = entry.requirement_alternative, entry.alternative
            self.planned.append(self._resolved(holding, alternatives, split, entry.terms))

    def _of_running(self, running: Sequence[RunningJob], split: Splitter) -> list[Holding]:
        """Return the allocations of the running jobs; equal requests of one term are looked up
        once.
        """
        known: dict[tuple[object, ...], tuple[Simple, tuple[Reservation, ...]]] = {}
        taken: list[tuple[Simple, tuple[Reservation, ...]]] = []
        #: Jobs that are not such requests, by position.
        others: dict[int, Holding] = {}
        for at, (item, key) in enumerate(zip(running, map(_TAKEN, running), strict=True)):
            if at % _POLLED == 0:
                self.poll()
            found = known.get(key)
            if found is None:
                holding = self._running_alone(item, split)
                if holding.fault or not isinstance(holding.requirement, Simple):
                    others[at] = holding
                else:
                    known[key] = holding.requirement, holding.parts[0].reservations
            taken.append(known.get(key, _NOTHING))
        made = self._of_one_term(running, taken)
        for at, holding in others.items():
            made[at] = holding
        return made

    def _running_alone(self, running: RunningJob, split: Splitter) -> Holding:
        job, finish = running.job, expected_finish(self.instance, running)
        bare = Holding(job, running.start, finish, running.allocation, planned=False)
        chosen = job.requirement_alternative or 0
        return self._resolved(bare, (chosen, running.alternative), split)

    def _of_one_term(
        self,
        running: Sequence[RunningJob],
        taken: Sequence[tuple[Simple, tuple[Reservation, ...]]],
    ) -> list[Holding]:
        """Return the allocations of running jobs from the requirement and reservations of each."""
        ends: dict[tuple[object, ...], int | None] = {}
        finishes = []
        for item, key in zip(running, map(_ENDING, running), strict=True):
            if key not in ends:
                ends[key] = expected_finish(self.instance, item)
            finishes.append(ends[key])
        allocations = [item.allocation for item in running]
        requirements = [requirement for requirement, _ in taken]
        shares: dict[str, Iterable[object]] = {
            "allocation": allocations,
            "requirement": requirements,
            "reservations": [held for _, held in taken],
        }
        values: dict[str, Iterable[object]] = {
            "job": [item.job for item in running],
            "start": [item.start for item in running],
            "finish": finishes,
            "allocation": allocations,
            "planned": repeat(False),
            "requirement": requirements,
            "parts": zip(objects_of(TermShare, len(taken), shares), strict=True),
            "fault": repeat(""),
            "keeps_until": repeat(None),
        }
        return objects_of(Holding, len(taken), values)

    def poll(self) -> None:
        """Raise Unfinished if the validator must stop."""
        if self.stop():
            raise Unfinished

    def with_allocation(self, job: str, allocation: Mapping[str, int]) -> Facts:
        """Return the plan with one job of a simple requirement on other hosts."""
        planned = [
            replace(
                holding,
                allocation=allocation,
                parts=tuple(replace(part, allocation=allocation) for part in holding.parts),
            )
            if holding.job.id == job
            else holding
            for holding in self.planned
        ]
        by_host = _at_planned_hosts(self.running, planned)
        found = replace(self._found, alike={}, columns=[], reserving=None)
        return replace(self, planned=planned, by_host=by_host, _found=found)

    def _resolved(
        self,
        holding: Holding,
        alternatives: tuple[int, int],
        split: Splitter,
        recorded: tuple[Mapping[str, int], ...] = (),
    ) -> Holding:
        """alternatives: the one in braces, and of its rusage."""
        job, allocation = holding.job, holding.allocation
        found, (chosen, alternative) = self.requirement(job), alternatives
        bare = (TermShare(allocation, Simple()),)
        if isinstance(found, str):
            return replace(holding, parts=bare, fault=f"its requirement is refused: {found}")
        if fault := _not_open(holding, found, chosen):
            return replace(holding, requirement=found, parts=bare, fault=fault)
        if chosen:
            found = found.later[chosen - 1].requirement
        if isinstance(found, Compound):
            if recorded:
                parts, fault = _as_recorded(job, allocation, found, recorded)
            else:
                parts = split(self, job, allocation, found)
                fault = "its allocation cannot be split into the terms of its compound requirement"
            if parts is None:
                return replace(holding, requirement=found, parts=bare, fault=fault)
            fault = f"it uses rusage alternative {alternative}, a compound requirement has none"
            return replace(
                holding, requirement=found, parts=parts, fault=fault if alternative else ""
            )
        if recorded and tuple(recorded) != (allocation,):
            fault = "the terms that the plan records are not its allocation"
            return replace(holding, requirement=found, parts=bare, fault=fault)
        count = len(found.rusage.alternatives) if found.rusage else 1
        if not 0 <= alternative < count:
            fault = f"it uses rusage alternative {alternative}, its requirement has {count}"
            part = TermShare(allocation, found)
            return replace(holding, requirement=found, parts=(part,), fault=fault)
        parts = (TermShare(allocation, found, self._reservations(found, alternative)),)
        start, finish = holding.start, holding.finish
        return Holding(job, start, finish, allocation, holding.planned, found, parts)

    def _reservations(self, simple: Simple, alternative: int) -> tuple[Reservation, ...]:
        """Return the reservations of a requirement; equal requests share one tuple."""
        key = (id(simple), alternative)
        if key not in self._found.reserved:
            bare = with_reservations(TermShare({}, simple), alternative)
            self._found.reserved[key] = bare.reservations
        return self._found.reserved[key]

    def requirement(self, job: Job) -> Requirement | str:
        """Return the merged requirement of a job, or why it is rejected; equal requests share
        one.

        All alternatives in braces are in it, also if one was chosen.
        """
        key, job = _asked(job), replace(job, requirement_alternative=None)
        if key not in self._found.requirements:
            try:
                self._found.requirements[key] = effective_requirement(
                    self.instance, job
                ).requirement
            except SlotwiseError as error:
                self._found.requirements[key] = str(error)
        return self._found.requirements[key]

    def finish_of(self, job: Job, start: int) -> int | None:
        """Return when a job that starts then is expected to end (TBR-03), None if never."""
        finish, plan = self.undisturbed_finish(job, start), self.plan
        last = None if takes_due_dates(plan.objective, plan.method) else job.deadline
        every = self.instance.advance_reservations if job.reservation else ()
        own = (item for item in every if item.name == job.reservation and not item.open)
        closes = [item.end for item in own if item.start <= start < item.end]
        return min((time for time in (finish, last, *closes) if time is not None), default=None)

    def undisturbed_finish(self, job: Job, start: int) -> int | None:
        """Return when a job ends if -t does not end it; None if unknown."""
        duration = expected_duration(self.instance, job)
        return None if duration is None else start + duration

    def entries(self) -> Iterator[tuple[PlannedJob, Job]]:
        """Yield the planned jobs that are pending in the instance."""
        for entry in self.plan.reservations:
            self.poll()
            if entry.job in self.pending:
                yield entry, self.pending[entry.job]

    def holdings(self) -> Iterator[Holding]:
        """Yield the running jobs, then the planned jobs."""
        yield from self.running
        yield from self.planned

    def holdings_on(self, host: str) -> Sequence[Holding]:
        """Return the running and planned jobs with slots on a host."""
        if host in self.by_host:
            return self.by_host[host]
        if self._found.running_by_host is None:
            self._found.running_by_host = holdings_by_host(self.running)
        return self._found.running_by_host.get(host, ())

    def starts(self) -> dict[int, list[Holding]]:
        """Return the planned jobs by start, in order of time."""
        found: dict[int, list[Holding]] = {}
        self.poll()
        for holding in sorted(self.planned, key=lambda item: item.start):
            found.setdefault(holding.start, []).append(holding)
        return found

    def expand(self, names: Iterable[str]) -> frozenset[str]:
        """Return the hosts that host, group and unit names denote; unknown names denote none."""
        key = tuple(names)
        if key not in self._found.expanded:
            expand = self.instance.cluster.expand
            self._found.expanded[key] = frozenset(
                host for name in key for host in expand(name) or ()
            )
        return self._found.expanded[key]

    def everyone(self, attribute: str) -> frozenset[str]:
        """Return the users, queues or projects of all running and planned jobs."""
        if attribute not in self._found.everyone:
            found = frozenset(getattr(holding.job, attribute) for holding in self.holdings())
            self._found.everyone[attribute] = found - {""}
        return self._found.everyone[attribute]

    def alike(self) -> dict[tuple[str, ...], list[Holding]]:
        """Return all jobs by what limits distinguish: user, queue, projects and application."""
        if not self._found.alike:
            found: defaultdict[tuple[str, ...], list[Holding]] = defaultdict(list)
            for holding in self.holdings():
                found[_LIMITED(holding.job)].append(holding)
            self._found.alike = dict(found)
        return self._found.alike

    def array_limits(self) -> dict[str, int]:
        """Return the maximum number of running elements by array, the smallest of its elements."""
        if self._found.array_limits is None:
            found: dict[str, int] = {}
            jobs = [*self.instance.pending, *(run.job for run in self.instance.running)]
            for job in jobs:
                if job.array_limit is not None and "[" in job.id:
                    array = job.id[: job.id.index("[")]
                    found[array] = min(job.array_limit, found.get(array, job.array_limit))
            self._found.array_limits = found
        return self._found.array_limits

    def reserving(self, resource: str) -> list[Holding]:
        """Return all jobs whose requirement reserves the resource."""
        if self._found.reserving is None:
            self._found.reserving = {}
            for holding in self.holdings():
                named = {item.resource for part in holding.parts for item in part.reservations}
                for name in named:
                    self._found.reserving.setdefault(name, []).append(holding)
        return self._found.reserving.get(resource, [])

    def units(self, type_: str) -> UnitsOfType:
        """Return the compute units of a type."""
        if type_ not in self._found.units:
            cluster = self.instance.cluster
            self._found.units[type_] = UnitsOfType.of(cluster.units, type_, self.hosts)
        return self._found.units[type_]

    def columns(self) -> SlotColumns:
        """Return the slots of all jobs as columns."""
        if not self._found.columns:
            held = ((h.job.id, h.start, h.finish, h.allocation) for h in self.holdings())
            self._found.columns.append(SlotColumns(self.hosts, held))
        return self._found.columns[0]

    def own_limits(self) -> dict[int, frozenset[str]]:
        """Return the hosts by the limit of slots of each user (JL/U), if it is set."""
        if self._found.own_slots is None:
            found: dict[int, set[str]] = {}
            for host in self.hosts.values():
                if host.user_slots is not None:
                    found.setdefault(host.user_slots, set()).add(host.name)
            self._found.own_slots = {most: frozenset(hosts) for most, hosts in found.items()}
        return self._found.own_slots

    def hosts_have(self, resource: str) -> bool:
        """Return whether the resource is host-based: some host has an amount of it."""
        return any(resource in host.amounts for host in self.hosts.values())

    def members(self, name: str) -> frozenset[str]:
        """Return the user of that name, or all users of that group, including subgroups."""
        if name not in self._found.members:
            groups = {group.name: group for group in self.instance.groups}
            found, waiting = {name}, [name]
            while waiting:
                group = groups.get(waiting.pop())
                new = set(group.members) - found if group else set()
                found |= new
                waiting += new
            excepted = groups[name].members if name in groups else ()
            self._found.members[name] = frozenset(found)  # for groups that except each other
            for other in [one[1:] for one in excepted if one.startswith("~")]:
                self._found.members[name] -= self.members(other)
        return self._found.members[name]

    def named(self, scope: Scope, attribute: str) -> frozenset[str]:
        """Return all users, queues or projects that a scope covers, ``all`` being those of jobs."""
        if (scope, attribute) not in self._found.named:
            found = [self.members(name) for name in scope.names if name != "all"]
            found += [self.everyone(attribute)] if "all" in scope.names else []
            excluded = map(self.members, scope.excluded)
            self._found.named[scope, attribute] = frozenset().union(*found).difference(*excluded)
        return self._found.named[scope, attribute]


def _not_open(holding: Holding, asked: Requirement, chosen: int) -> str:
    """Return why a job cannot use an alternative in braces then, "" if it can (REQ-21)."""
    if not chosen:
        return ""
    if not 0 < chosen <= len(asked.later):
        return f"it uses alternative {chosen} of -R, but the last one is {len(asked.later)}"
    minutes = max((item.delay or 0 for item in asked.later[:chosen]), default=0)
    opens = holding.job.submit + 60 * minutes
    if holding.planned and holding.start < opens:
        of = f"alternative {chosen + 1} of -R opens at {opens} s"
        return f"it starts at {holding.start} s, {of}, {minutes} min after the submission"
    return ""


#: Fields of a job on which its merged requirement depends.
_ASKED = (
    *("res_req", "gpu", "queue", "application", "slots", "max_slots", "resizable", "extsched"),
)
#: Key of the merged requirement of a job.
_asked: Callable[[Job], tuple[object, ...]] = attrgetter(*_ASKED)
#: Key of the requirement and the reservations of a running job.
_TAKEN: Callable[[RunningJob], tuple[object, ...]] = attrgetter(
    *(f"job.{name}" for name in (*_ASKED, "requirement_alternative")), "alternative"
)
#: Key of the expected end of a running job.
_ENDING: Callable[[RunningJob], tuple[object, ...]] = attrgetter(
    *("start", "finish", "suspended", "job.queue", "job.application", "job.run_limit"),
    *("job.cpu_limit", "job.estimated_run_time", "job.deadline", "job.reservation"),
)
#: Fields of a job that limits distinguish.
_LIMITED: Callable[[Job], tuple[str, ...]] = attrgetter(
    "user", "queue", "project", "application", "license_project"
)
#: Requirement and reservations in place of those that one term does not say.
_NOTHING: tuple[Simple, tuple[Reservation, ...]] = (Simple(), ())


def holdings_by_host(holdings: Iterable[Holding]) -> dict[str, list[Holding]]:
    """Return the holdings of each host."""
    found: defaultdict[str, list[Holding]] = defaultdict(list)
    for holding in holdings:
        for host in holding.allocation:
            found[host].append(holding)
    return dict(found)


def _at_planned_hosts(
    running: Iterable[Holding], planned: Sequence[Holding]
) -> dict[str, list[Holding]]:
    """Return the holdings of each host on which a planned job has slots."""
    hosts = {host for item in planned for host in item.allocation}
    near = (item for item in running if not hosts.isdisjoint(item.allocation))
    found = holdings_by_host(chain(near, planned))
    return {host: there for host, there in found.items() if host in hosts}


def _as_recorded(
    job: Job,
    allocation: Mapping[str, int],
    compound: Compound,
    recorded: tuple[Mapping[str, int], ...],
) -> tuple[tuple[TermShare, ...] | None, str]:
    """Return the shares of the terms as the plan has them, or None and their fault."""
    asked = counts_of(job, compound)
    held = tuple(sum(part.values()) for part in recorded)
    if held != asked:
        have, want = (" and ".join(map(str, counts)) for counts in (held, asked))
        return None, f"the terms that the plan records have {have} slots, they request {want}"
    total: Counter[str] = Counter()
    for part in recorded:
        total.update(part)
    first = next((host for part in recorded for host in part), None)
    if dict(total) != dict(allocation) or any(slots < 1 for p in recorded for slots in p.values()):
        return None, "the terms that the plan records are not its allocation"
    if first != next(iter(allocation), None):
        return None, "the terms that the plan records leave its first host to a later term"
    return tuple(
        with_reservations(TermShare(part, term.requirement))
        for part, term in zip(recorded, compound.terms, strict=True)
    ), ""


def with_reservations(part: TermShare, alternative: int = 0) -> TermShare:
    """Return the part with the reservations of its rusage section in that alternative (RSV-07)."""
    rusage = part.requirement.rusage
    held = rusage.reservations(alternative) if rusage else ()
    return TermShare(part.allocation, part.requirement, held)


def counts_of(job: Job, compound: Compound) -> tuple[int, ...]:
    """Return the slots of each term; a missing last count is the rest of -n, at least 0."""
    given = sum(term.count or 0 for term in compound.terms)
    return tuple(
        max(0, job.slots - given) if term.count is None else term.count for term in compound.terms
    )


#: Units of an amount in rusage (mem=50/task), each with its meaning.
_SAID = {"host": "PER_HOST", "task": "PER_SLOT", "job": "PER_JOB"}

#: Resource names of the GPUs of a host; each counts the same devices.
GPUS = ("ngpus_physical", "ngpus_excl_p", "ngpus_excl_t", "ngpus_shared", "ngpus")


def amount_of(host: Host, resource: str) -> float | None:
    """Return the amount of a host for jobs of a resource, None if it has none.

    For mem, swp and tmp at most what it reports to be available (RSV-01).
    """
    if resource not in GPUS:
        have = host.amounts.get(resource)
        said = host.load.get(resource) if resource in BUILTIN_AMOUNTS else None
        return have if have is None or said is None else min(have, said)
    if host.gpus is not None:
        return float(host.gpus.count)
    found = [host.amounts[name] for name in GPUS if name in host.amounts]
    return found[0] if found else None


def method(facts: Facts, item: Reservation, default: str) -> str:
    """Return PER_JOB, PER_HOST or PER_SLOT, by the amount or the cluster (RSV-08)."""
    if item.per:
        return _SAID[item.per]
    for usage in facts.instance.reservation_usage:
        if usage.resource == item.resource:
            return usage.method
    return "PER_SLOT" if facts.instance.params.reserve_per_slot else default


def on_host(facts: Facts, holding: Holding, resource: str, host: str, time: int) -> float:
    """Return the amount of a host-based resource that a job has on one host.

    Once per host by default, times the slots there with PER_SLOT, on the first host only with
    PER_JOB (RSV-08).
    """
    total = 0.0
    names = GPUS if resource in GPUS else (resource,)
    for part in holding.parts:
        slots = part.allocation.get(host)
        if slots is None:
            continue
        for item in part.reservations:
            if item.resource not in names:
                continue
            counted = method(facts, item, "PER_HOST")
            if counted == "PER_JOB" and next(iter(part.allocation)) != host:
                continue
            times = slots if counted == "PER_SLOT" else 1
            total += times * item.planned_at(time - holding.start)
    return total


def of_shared(facts: Facts, holding: Holding, shared: SharedResource, time: int) -> float:
    """Return the amount of one location of a shared resource that a job has through its hosts
    there.

    Once per job by default. Static resources have no duration and no decay (RSV-10).
    """

    def inside(host: str) -> bool:
        return shared.hosts is None or host in shared.hosts

    return _shared_amount(facts, holding, shared.name, time, inside, static=shared.static)


def of_shared_on(
    facts: Facts, holding: Holding, resource: str, time: int, inside: Callable[[str], bool]
) -> float:
    """Return the count of a limit on a shared resource: the job's use through covered hosts."""
    static = any(item.static for item in facts.instance.cluster.shared if item.name == resource)
    return _shared_amount(facts, holding, resource, time, inside, static=static)


def _shared_amount(
    facts: Facts,
    holding: Holding,
    resource: str,
    time: int,
    inside: Callable[[str], bool],
    *,
    static: bool,
) -> float:
    total = 0.0
    for part in holding.parts:
        there = [slots for host, slots in part.allocation.items() if inside(host)]
        times = {"PER_JOB": bool(there), "PER_HOST": len(there), "PER_SLOT": sum(there)}
        for item in part.reservations:
            if item.resource == resource:
                amount = item.initial if static else item.planned_at(time - holding.start)
                total += times[method(facts, item, "PER_JOB")] * amount
    return total
