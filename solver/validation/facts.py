"""The plan and its instance as plain look-ups: who holds what, where, from when to when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ...model.cluster import Host
from ...model.collection import no_collection
from ...model.duration import expected_duration, expected_finish
from ...model.errors import SlotwiseError
from ...model.instance import Instance
from ...model.job import Job, RunningJob
from ...model.plan import Plan, PlannedJob
from ...model.queue import Queue
from ...model.reservation import Reservation
from ...model.resreq import effective_requirement
from ...model.resreq.syntax import Compound, Requirement, Simple
from .columns import SlotColumns, UnitsOfType
from .select import Names

#: Running jobs from one look at the clock to the next.
_POLLED = 256
#: Amounts are compared with this slack (they are exact to 1e-6).
SLACK = 1e-6


@dataclass(frozen=True, slots=True)
class TermShare:
    """The share of a job that one term of its requirement places; a simple requirement has one."""

    allocation: Mapping[str, int]
    requirement: Simple
    reservations: tuple[Reservation, ...] = ()


@dataclass(frozen=True, slots=True)
class Holding:
    """A job that runs or is planned, holding its allocation over [start, finish), None: for ever.

    Of a planned job the margin of its plan is added to the finish: so long nobody may come.
    requirement: None where it is refused or no split over its terms exists; `fault` says why.
    """

    job: Job
    start: int
    finish: int | None
    allocation: Mapping[str, int]
    planned: bool
    requirement: Requirement | None = None
    parts: tuple[TermShare, ...] = ()
    fault: str = ""

    @property
    def slots(self) -> int:
        """Slots held over all hosts."""
        return sum(self.allocation.values())

    def active(self, time: int) -> bool:
        """Whether the job holds its allocation at `time`."""
        return self.start <= time and (self.finish is None or time < self.finish)

    def overlaps(self, other: Holding) -> bool:
        """Whether both hold something at some instant."""
        first, last = max(self.start, other.start), min(_end(self), _end(other))
        return first < last


def _end(holding: Holding) -> float:
    return float("inf") if holding.finish is None else holding.finish


#: Splits an allocation over the terms of a compound requirement; see :mod:`.split`.
Splitter = Callable[["Facts", Job, Mapping[str, int], Compound], tuple[TermShare, ...] | None]


class Unfinished(Exception):
    """The judge was told to stop before all checks were through."""


@dataclass(slots=True)
class Facts:
    """Everything the checks look up; built once for a plan.

    stop: whether the judge has to give up, asked by :meth:`poll`.
    same_needs: resources in which hosts must agree, by what same[] names (filled by `shape`).
    """

    instance: Instance
    plan: Plan
    as_lsf: bool
    hosts: dict[str, Host]
    queues: dict[str, Queue]
    pending: dict[str, Job]
    names: Names
    stop: Callable[[], bool] = lambda: False
    planned: list[Holding] = field(default_factory=list)
    running: list[Holding] = field(default_factory=list)
    by_host: dict[str, list[Holding]] = field(default_factory=dict)
    same_needs: dict[tuple[str, ...], int] = field(default_factory=dict)
    _expanded: dict[tuple[str, ...], frozenset[str]] = field(default_factory=dict)
    _members: dict[str, frozenset[str]] = field(default_factory=dict)
    _everyone: dict[str, frozenset[str]] = field(default_factory=dict)
    _alike: dict[tuple[str, str, str], list[Holding]] = field(default_factory=dict)
    _reserved: dict[tuple[int, int], tuple[Reservation, ...]] = field(default_factory=dict)
    _requirements: dict[tuple[object, ...], Requirement | str] = field(default_factory=dict)
    _known: dict[tuple[object, ...], tuple[Simple, tuple[Reservation, ...]]] = field(
        default_factory=dict
    )
    _units: dict[str, UnitsOfType] = field(default_factory=dict)
    _columns: list[SlotColumns] = field(default_factory=list)
    _own_slots: dict[int, frozenset[str]] | None = None
    _reserving: dict[str, list[Holding]] | None = None
    _array_limits: dict[str, int] | None = None

    @classmethod
    def of(
        cls,
        instance: Instance,
        plan: Plan,
        *,
        as_lsf: bool,
        split: Splitter,
        stop: Callable[[], bool] = lambda: False,
    ) -> Facts:
        """Look-ups of one plan; entries that name no pending job or host are left to `book`.

        Raises Unfinished once `stop` says yes, as all look-ups over jobs do.
        """
        facts = cls(
            instance,
            plan,
            as_lsf,
            {host.name: host for host in instance.cluster.hosts},
            {queue.name: queue for queue in instance.queues},
            {job.id: job for job in instance.pending},
            Names.of(instance.cluster),
            stop,
        )
        with no_collection():
            facts._take_in(split)
        facts.by_host = _by_host(facts.holdings())
        return facts

    def _take_in(self, split: Splitter) -> None:
        """What holds something: running jobs, and the plan's entries."""
        for number, running in enumerate(self.instance.running):
            if number % _POLLED == 0:
                self.poll()
            self.running.append(self._of_running(running, split))
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
            self.planned.append(self._resolved(holding, entry.alternative, split, entry.terms))

    def _of_running(self, running: RunningJob, split: Splitter) -> Holding:
        """What a running job holds; equal requests of one term are looked up once."""
        job, allocation = running.job, running.allocation
        finish = expected_finish(self.instance, running)
        key = (_asked(job), running.alternative)
        known = self._known.get(key)
        if known is not None:
            found, held = known
            parts = (TermShare(allocation, found, held),)
            return Holding(job, running.start, finish, allocation, False, found, parts)
        bare = Holding(job, running.start, finish, allocation, planned=False)
        holding = self._resolved(bare, running.alternative, split)
        if isinstance(holding.requirement, Simple) and not holding.fault:
            self._known[key] = holding.requirement, holding.parts[0].reservations
        return holding

    def poll(self) -> None:
        """Raise Unfinished where the judge has to give up."""
        if self.stop():
            raise Unfinished

    def with_allocation(self, job: str, allocation: Mapping[str, int]) -> Facts:
        """The same plan with one job of a simple requirement on other hosts."""
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
        by_host = _by_host([*self.running, *planned])
        return replace(
            self, planned=planned, by_host=by_host, _alike={}, _columns=[], _reserving=None
        )

    def _resolved(
        self,
        holding: Holding,
        alternative: int,
        split: Splitter,
        recorded: tuple[Mapping[str, int], ...] = (),
    ) -> Holding:
        job, allocation = holding.job, holding.allocation
        found = self.requirement(job)
        bare = (TermShare(allocation, Simple()),)
        if isinstance(found, str):
            return replace(holding, parts=bare, fault=f"its requirement is refused: {found}")
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
        """What a requirement of this plan reserves; equal requests share one."""
        key = (id(simple), alternative)
        if key not in self._reserved:
            bare = with_reservations(TermShare({}, simple), alternative)
            self._reserved[key] = bare.reservations
        return self._reserved[key]

    def requirement(self, job: Job) -> Requirement | str:
        """The merged requirement of a job, or why it is refused; equal requests share one."""
        key = _asked(job)
        if key not in self._requirements:
            try:
                self._requirements[key] = effective_requirement(self.instance, job).requirement
            except SlotwiseError as error:
                self._requirements[key] = str(error)
        return self._requirements[key]

    def finish_of(self, job: Job, start: int) -> int | None:
        """When a job that starts then is expected to end (TBR-03), None for never."""
        duration = expected_duration(self.instance, job)
        return None if duration is None else start + duration

    def entries(self) -> Iterator[tuple[PlannedJob, Job]]:
        """Planned jobs of the plan that really are pending."""
        for entry in self.plan.reservations:
            self.poll()
            if entry.job in self.pending:
                yield entry, self.pending[entry.job]

    def holdings(self) -> Iterator[Holding]:
        """Running jobs, then planned ones."""
        yield from self.running
        yield from self.planned

    def starts(self) -> dict[int, list[Holding]]:
        """Planned jobs by the instant at which they start, in order of time."""
        found: dict[int, list[Holding]] = {}
        self.poll()
        for holding in sorted(self.planned, key=lambda item: item.start):
            found.setdefault(holding.start, []).append(holding)
        return found

    def expand(self, names: Iterable[str]) -> frozenset[str]:
        """Hosts that host, group and unit names stand for; unknown names stand for none."""
        key = tuple(names)
        if key not in self._expanded:
            expand = self.instance.cluster.expand
            self._expanded[key] = frozenset(host for name in key for host in expand(name) or ())
        return self._expanded[key]

    def everyone(self, attribute: str) -> frozenset[str]:
        """The users, queues or projects of all jobs that run or are planned."""
        if attribute not in self._everyone:
            found = frozenset(getattr(holding.job, attribute) for holding in self.holdings())
            self._everyone[attribute] = found
        return self._everyone[attribute]

    def alike(self) -> dict[tuple[str, str, str], list[Holding]]:
        """All jobs by user, queue and project: limits cover all of a kind or none."""
        if not self._alike:
            for holding in self.holdings():
                job = holding.job
                self._alike.setdefault((job.user, job.queue, job.project), []).append(holding)
        return self._alike

    def array_limits(self) -> dict[str, int]:
        """How many elements of an array may run at once: the least that one of them says."""
        if self._array_limits is None:
            found: dict[str, int] = {}
            jobs = [*self.instance.pending, *(run.job for run in self.instance.running)]
            for job in jobs:
                if job.array_limit is not None and "[" in job.id:
                    array = job.id[: job.id.index("[")]
                    found[array] = min(job.array_limit, found.get(array, job.array_limit))
            self._array_limits = found
        return self._array_limits

    def reserving(self, resource: str) -> list[Holding]:
        """All jobs whose requirement reserves the resource."""
        if self._reserving is None:
            self._reserving = {}
            for holding in self.holdings():
                named = {item.resource for part in holding.parts for item in part.reservations}
                for name in named:
                    self._reserving.setdefault(name, []).append(holding)
        return self._reserving.get(resource, [])

    def units(self, type_: str) -> UnitsOfType:
        """The compute units of a type."""
        if type_ not in self._units:
            cluster = self.instance.cluster
            self._units[type_] = UnitsOfType.of(cluster.units, type_, self.hosts)
        return self._units[type_]

    def columns(self) -> SlotColumns:
        """The slots that all jobs hold, as columns."""
        if not self._columns:
            held = ((h.job.id, h.start, h.finish, h.allocation) for h in self.holdings())
            self._columns.append(SlotColumns(self.hosts, held))
        return self._columns[0]

    def own_limits(self) -> dict[int, frozenset[str]]:
        """The hosts by the slots that each user may have of them (JL/U), where that is set."""
        if self._own_slots is None:
            found: dict[int, set[str]] = {}
            for host in self.hosts.values():
                if host.user_slots is not None:
                    found.setdefault(host.user_slots, set()).add(host.name)
            self._own_slots = {most: frozenset(hosts) for most, hosts in found.items()}
        return self._own_slots

    def hosts_have(self, resource: str) -> bool:
        """Whether the resource is host-based: some host carries an amount of it."""
        return any(resource in host.amounts for host in self.hosts.values())

    def members(self, name: str) -> frozenset[str]:
        """The user of that name, or all users of the group of that name, subgroups included."""
        if name not in self._members:
            groups = {group.name: group for group in self.instance.groups}
            found, waiting = {name}, [name]
            while waiting:
                group = groups.get(waiting.pop())
                new = set(group.members) - found if group else set()
                found |= new
                waiting += new
            self._members[name] = frozenset(found)
        return self._members[name]


def _asked(job: Job) -> tuple[object, ...]:
    """All that the merged requirement of a job depends on."""
    return (
        job.res_req,
        job.gpu,
        job.queue,
        job.application,
        job.slots,
        job.max_slots,
        job.resizable,
        job.extsched,
    )


def _by_host(holdings: Iterable[Holding]) -> dict[str, list[Holding]]:
    found: dict[str, list[Holding]] = {}
    for holding in holdings:
        for host in holding.allocation:
            found.setdefault(host, []).append(holding)
    return found


def _as_recorded(
    job: Job,
    allocation: Mapping[str, int],
    compound: Compound,
    recorded: tuple[Mapping[str, int], ...],
) -> tuple[tuple[TermShare, ...] | None, str]:
    """The shares of the terms as the plan has them, or None and what is wrong with them."""
    asked = counts_of(job, compound)
    held = tuple(sum(part.values()) for part in recorded)
    if held != asked:
        have, want = (" and ".join(map(str, counts)) for counts in (held, asked))
        return None, f"the terms that the plan records hold {have} slots, they ask for {want}"
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
    """The part with what its rusage section reserves in that alternative (RSV-07)."""
    rusage = part.requirement.rusage
    held = rusage.reservations(alternative) if rusage else ()
    return TermShare(part.allocation, part.requirement, held)


def counts_of(job: Job, compound: Compound) -> tuple[int, ...]:
    """Slots of each term; a last count that was left out is the rest of -n, at least 0."""
    given = sum(term.count or 0 for term in compound.terms)
    return tuple(
        max(0, job.slots - given) if term.count is None else term.count for term in compound.terms
    )
