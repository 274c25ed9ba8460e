"""Every amount that a host or the cluster can run out of: slots, memory, licences, limits.

A limit that counts on each host (JL/U, HJOB_LIMIT, a PER_HOST section) becomes a host resource, one
that counts over many hosts (QJOB_LIMIT, a floating licence) a pool. A job then *uses* them, so that
availability, placement and reservation treat all of them alike (TBR-10, LOP-03, RSV-08, RSV-10).

Use of host resources and pools by a job, and the multiplicity of each use. Everything of which a
host or the cluster can run short is one of two things, so that slots, memory, licences and slot
limits are treated alike: * a **host resource**: a capacity per host (slots, mem, a limit PER_HOST,
JL/U, …); * a **pool**: one capacity shared by a set of hosts (a floating licence, a queue's
QJOB_LIMIT, …).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from ...model.cluster import BUILTIN_AMOUNTS, BUILTIN_INDICES, distinct, units_of_hosts
from ...model.configuration import CONSUMERS, OF_JOBS, Limit, Queue, Scope, User
from ...model.gpu_request import GPU_NAMES, PHYSICAL
from ...model.instance import Instance
from ...model.job import Job, job_groups_of, running_limits
from ...model.pending import Pending
from ...model.reservation import Phase, Reservation
from ...model.resreq.syntax import Simple, Span
from ...model.shares import Groups, entries_of
from .guarantees import (
    GuaranteedUse,
    GuaranteeRow,
    GuaranteeRows,
    packages_taken,
    slots_by_host,
)

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

#: Slots by host index, in allocation order.
Allocation = dict[int, int]


def combined(terms: Sequence[Allocation]) -> Allocation:
    """Return the slots by host index of all terms of a job; not to be changed."""
    if len(terms) == 1:
        return terms[0]
    total: Allocation = {}
    for term in terms:
        for host, slots in term.items():
            total[host] = total.get(host, 0) + slots
    return total


class Per(Enum):
    """Multiplicity of a use (RSV-08)."""

    SLOT = "slot"
    HOST = "host"
    JOB = "job"
    WHOLE = "whole"  # The whole capacity of each host (-x, PLC-13).


@dataclass(frozen=True, slots=True)
class Use:
    """A use of one host resource or pool, by index into the profile's lists."""

    #: Index of the host resource or pool.
    index: int
    #: Multiplicity of the amount.
    per: Per
    #: Amounts over the life of the job, counted once per `per`.
    reservation: Reservation
    #: Whether it counts once for each job (on each host, in a pool) even if several terms have the
    #: use: a limit on jobs, or a host that an exclusive job has whole.
    once: bool = False
    #: Whether it is a count of a limit or guarantee: a job keeps its reservation while it is full.
    is_limit: bool = False


@dataclass(frozen=True, slots=True)
class Alternative:
    """One rusage alternative: its uses of host resources and of pools (RSV-07)."""

    #: Uses of host resources.
    host_uses: tuple[Use, ...]
    #: Uses of pools.
    pool_uses: tuple[Use, ...] = ()
    #: Why it can never be granted ("no host has licX"), "" if it can.
    missing: str = ""
    #: Hosts that have all its resources, the only ones that may take it, [H]; None for all.
    hosts: BoolArray | None = None


#: Index of the job slots in every table.
SLOTS = 0
#: Processor units of hosts, which jobs with affinity[] take in addition to slots, in words.
UNIT_NAMES = {"core": "cores", "thread": "threads", "socket": "sockets", "numa": "NUMA nodes"}
#: Name of the slots outside all advance reservations, which jobs without -U take too (ARV-01).
UNRESERVED = "slots outside advance reservations"
#: Start of the name of the slots of one advance reservation.
RESERVED = "advance reservation "


@dataclass(frozen=True, slots=True)
class HostResource:
    """A capacity on each host, [H]; infinite if it does not restrict. `reason` names it."""

    #: Name of the resource.
    name: str
    #: Amount by host.
    capacity: FloatArray
    #: Pending reason if the resource does not suffice.
    reason: str
    #: LSF's pending reason for a job that lacks the resource.
    short: Pending
    #: Name in LSF's reason.
    subject: str = ""
    #: Whether every host has the resource.
    is_everywhere: bool = False


@dataclass(frozen=True, slots=True)
class LoanLimit:
    """Part of a guaranteed pool that LOAN_POLICIES protects against loans (GUA-01)."""

    #: Capacity of the counts of owners.
    limit: float
    #: Amount kept of the unused guarantee of each class (RETAIN).
    retained: float
    #: Amount kept of the pool (IDLE_BUFFER).
    idle: float
    #: Guarantees of classes without a count, and RETAIN of these.
    uncounted: float = 0.0
    #: Amount kept of these guarantees (RETAIN).
    kept: float = 0.0


@dataclass(frozen=True, slots=True)
class Pool:
    """One capacity shared by the hosts of `mask` [H]."""

    #: Name of the pool.
    name: str
    #: Amount that the hosts share.
    capacity: float
    #: Whether each host belongs to the pool.
    mask: BoolArray
    #: Text for pending reasons.
    reason: str
    #: LSF's reason for a job that lacks it.
    short: Pending
    #: Name in LSF's reason.
    subject: str = ""
    #: Counts of owners, by index, each with its capacity less the guarantee. Availability above it
    #: is unused guarantee, and the sum of these is always available here (GUA-01).
    unused: tuple[tuple[int, float], ...] = ()
    #: Limit of loans: the parts of the unused guarantees in these counts that are kept.
    loans: LoanLimit | None = None

    @property
    def is_fixed(self) -> bool:
        """Return whether its availability follows from its own use alone."""
        return not self.unused and self.loans is None

    def left(self, free: float, free_of: Callable[[int], float]) -> float:
        """Return the available part of a limit for loans."""
        if self.is_fixed:
            return free
        unused = [max(0.0, free_of(index) - beyond) for index, beyond in self.unused]
        if self.loans is None:
            return max(free, sum(unused))
        used = sum(self.loans.limit - free_of(index) for index, _ in self.unused)
        kept = sum(min(self.loans.retained, amount) for amount in unused) + self.loans.kept
        no_loan = sum(unused) + self.loans.uncounted  # A start with this much free is no loan.
        return free - used - min(no_loan, max(kept, self.loans.idle))


@dataclass(frozen=True, slots=True)
class LimitRow:
    """One counter of a Limit section: `index` of a host resource (on_hosts), else of a pool."""

    #: The Limit section.
    limit: Limit
    #: Name of the limited resource.
    resource: str
    index: int
    #: Whether the limit applies to each host.
    on_hosts: bool
    #: What it counts alone, by field of :class:`.Limit`; not what it counts all together.
    whose: Mapping[str, str]


#: Units of an amount in LSF 10.1, mem=50/task.
_PER = {"host": Per.HOST, "task": Per.SLOT, "job": Per.JOB}


def flat(resource: str, amount: float) -> Reservation:
    """Return the use of `amount` for the whole run time of a job."""
    return Reservation(resource, (Phase(amount),))


@dataclass(slots=True)
class Amounts:
    """Amounts that are in use or held, by index: of host resources, [H] each, and of pools."""

    #: Amount on each host, by index of the host resource.
    hosts: dict[int, FloatArray] = field(default_factory=dict)
    #: Amount by index of the pool.
    pools: dict[int, float] = field(default_factory=dict)

    def add_hosts(self, index: int, amounts: Mapping[int, float], size: int) -> None:
        """Hold amounts of a host resource, by host; size: number of hosts."""
        if not amounts:
            return
        if index not in self.hosts:
            self.hosts[index] = np.zeros(size)
        hosts = np.fromiter(amounts, np.int64, len(amounts))
        self.hosts[index][hosts] += np.fromiter(amounts.values(), float, len(amounts))

    def add_pool(self, index: int, amount: float) -> None:
        """Reserve `amount` of a pool."""
        self.pools[index] = self.pools.get(index, 0.0) + amount


@dataclass(slots=True)
class ResourceTable:
    """The host resources and pools of one instance; limits join as jobs that they cover turn up.

    `host_resources[SLOTS]` are the job slots.
    """

    #: Instance whose resources the table contains.
    instance: Instance
    #: Resources that each host has for itself.
    host_resources: list[HostResource] = field(default_factory=list)
    #: Resources that several hosts share.
    pools: list[Pool] = field(default_factory=list)
    #: Counters of Limit sections, added when first needed.
    limit_rows: list[LimitRow] = field(default_factory=list)
    _host_index: dict[str, int] = field(default_factory=dict)
    _pool_index: dict[str, list[int]] = field(default_factory=dict)
    _methods: dict[str, Per] = field(default_factory=dict)
    _own_limits: dict[tuple[str, str], list[tuple[int, bool]]] = field(default_factory=dict)
    _arrays: dict[str, int] = field(default_factory=dict)
    _groups: Groups = field(init=False)
    _processors: FloatArray = field(default_factory=lambda: np.zeros(0))
    _user_slots: FloatArray | None = None
    #: Whether plans may use loans: only if every pending job may have one.
    settled: bool = False
    #: Limits of guaranteed pools, None if there are none.
    guarantees: GuaranteeRows | None = None
    #: Whether some limit distinguishes users, and whether one distinguishes projects.
    #: Fields of jobs by which limits tell jobs apart.
    _distinguished: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        hosts = self.instance.cluster.hosts
        self._groups = Groups(self.instance.groups)
        self._processors = np.array([*map(self.instance.params.processors_of, hosts)], dtype=float)
        if any(host.user_slots is not None for host in hosts):
            limits = [np.inf if host.user_slots is None else host.user_slots for host in hosts]
            self._user_slots = np.array(limits, dtype=float)
        if self.instance.guaranteed_pools:
            self.guarantees = GuaranteeRows(self.instance, settled=self.settled)
        distinguished = {
            item.of_job
            for item in OF_JOBS
            if any(item.scope(limit) is not None for limit in self.instance.limits)
        }
        if (
            self.instance.users
            or self._user_slots is not None
            or any(queue.user_slots is not None for queue in self.instance.queues)
            or any(item.users for item in self.instance.advance_reservations)
        ):
            distinguished.add("user")
        self._distinguished = tuple(sorted(distinguished))
        running = [item.job for item in self.instance.running]
        self._arrays.update(running_limits((*self.instance.pending, *running)))
        elements = [job for job in running if job.id.endswith("]")]
        if any(job.array_limit is None and job.array_id is not None for job in elements):
            # The limit of an array may come from elements that are still to be submitted.
            for array, most in running_limits(self.instance.future).items():
                self._arrays.setdefault(array, most)
        slots = np.array([host.slots for host in hosts], dtype=float)
        self._add_host("slots", slots, "free slots", Pending.HOST_FULL)
        named = {name for amounts in distinct(host.amounts for host in hosts) for name in amounts}
        for name in sorted(named - GPU_NAMES, key=_builtin_first):
            capacity = np.array([host.amounts.get(name, -1.0) for host in hosts], dtype=float)
            self._add_host(name, capacity, f"{name} available", Pending.RUSAGE, name)
        if named & GPU_NAMES:
            self._add_gpus()
        self._add_units()
        if any(item.users for item in self.instance.advance_reservations):
            reason = "advance reservation of slots"
            self._add_host(UNRESERVED, slots, reason, Pending.RESERVED)
        for shared in self.instance.cluster.shared:
            mask = self._mask(shared.hosts)
            reason = f"{shared.name} available"
            index = self._add_pool(
                shared.name, shared.amount, mask, reason, Pending.RUSAGE, shared.name
            )
            self._pool_index.setdefault(shared.name, []).append(index)
        methods = {"PER_JOB": Per.JOB, "PER_HOST": Per.HOST, "PER_SLOT": Per.SLOT}
        for usage in self.instance.reservation_usage:
            self._methods[usage.resource] = methods[usage.method]

    def _add_gpus(self) -> None:
        """Add the GPUs of hosts as one resource, under all the names by which jobs request them."""
        counts = [host.gpu_count for host in self.instance.cluster.hosts]
        if any(count is not None for count in counts):
            capacity = np.array([-1.0 if count is None else count for count in counts])
            index = self._add_host(PHYSICAL, capacity, "free GPUs", Pending.RUSAGE, PHYSICAL)
            self._host_index.update(dict.fromkeys(GPU_NAMES, index))

    def _add_units(self) -> None:
        """Add the processor units of hosts with known numbers, which affinity[] takes (AFF-01)."""
        for kind, words in UNIT_NAMES.items():
            counts = units_of_hosts(self.instance.cluster.hosts, kind)
            if any(count is not None for count in counts):
                capacity = np.array([np.inf if count is None else float(count) for count in counts])
                name = f"affinity {words}"
                self._add_host(name, capacity, f"free {words}", Pending.RUSAGE, "affinity")

    @property
    def hosts(self) -> int:
        """Return the number of hosts."""
        return len(self.instance.cluster.hosts)

    @property
    def unreserved(self) -> int:
        """Return the index of the slots that reservations take: all, or those for jobs without -U.

        The latter exist if jobs may be in reservations.
        """
        return self._host_index.get(UNRESERVED, SLOTS)

    @property
    def slot_indices(self) -> tuple[int, ...]:
        """Return the host resources that are slots of hosts; an exclusive job takes them whole."""
        return (SLOTS,) if self.unreserved == SLOTS else (SLOTS, self.unreserved)

    def is_slots(self, index: int) -> bool:
        """Return whether a host resource is slots: all slots or those of a reservation."""
        return index in self.slot_indices or self.host_resources[index].name.startswith(RESERVED)

    def slots_taken(self, job: Job) -> tuple[int, ...]:
        """Return the host resources that count the slots a job takes."""
        reserved = self._reserved_slots(job)
        return self.slot_indices if reserved is None else (SLOTS, reserved)

    def _reserved_slots(self, job: Job) -> int | None:
        """Return the slots of the advance reservation in which a job runs, None if it runs in
        none.
        """
        item = self.instance.advance_reservation(job.reservation) if job.reservation else None
        if item is None or self.unreserved == SLOTS:
            return None
        name = RESERVED + item.name
        if name not in self._host_index:
            hosts = self.instance.cluster.hosts
            slots = np.array([item.slots.get(host.name, 0) for host in hosts], dtype=float)
            self._add_host(name, slots, name, Pending.FEW_SLOTS)
        return self._host_index[name]

    def host_index(self, name: str) -> int:
        """Return the index of a host resource; raises KeyError for one that no host has."""
        return self._host_index[name]

    def reported_used(self) -> dict[int, FloatArray]:
        """Return the use of mem, swp and tmp before any job by the hosts' reports, [H] by index
        (RSV-01).

        The reported amount is available to jobs; the rest of the configured amount is used until
        the next report.
        """
        found: dict[int, FloatArray] = {}
        hosts = self.instance.cluster.hosts
        for name in BUILTIN_AMOUNTS:
            if name in self._host_index and any(name in host.load for host in hosts):
                index = self._host_index[name]
                capacity = self.host_resources[index].capacity
                said = np.array([host.load.get(name, np.inf) for host in hosts])
                found[index] = np.maximum(capacity - said, 0.0)
        return found

    def alternative(
        self,
        job: Job,
        queue: Queue,
        reservations: Iterable[Reservation],
        *,
        exclusive: bool = False,
        first: bool = True,
        simple: Simple | None = None,
    ) -> Alternative:
        """Return all uses of `job` when it has `reservations` in addition to its slots.

        first: for the first term of a requirement; a limit on jobs over the whole cluster counts
        the job once, not once for each term. simple: the term, whose affinity[] gives the units of
        each slot.
        """
        whole = Per.WHOLE if exclusive else Per.SLOT
        one_each = flat("slots", 1.0)
        host_uses = [Use(SLOTS, whole, one_each, once=exclusive)]
        reserved = self._reserved_slots(job)
        if reserved is not None:
            host_uses.append(Use(reserved, Per.SLOT, one_each))
        elif self.unreserved != SLOTS:
            host_uses.append(Use(self.unreserved, whole, one_each, once=exclusive))
        pool_uses: list[Use] = []
        missing = ""
        held: dict[str, tuple[Reservation, Per]] = {}
        asked = [item for item in reservations if item.initial > 0]
        for given in asked:
            method = self.counted_per(given)
            item = self._without_duration(given)
            held[item.resource] = (item, method)
            if item.resource in self._host_index:
                host_uses.append(Use(self._host_index[item.resource], method, item))
            elif item.resource in self._pool_index:
                pool_uses += [Use(i, method, item) for i in self._pool_index[item.resource]]
            elif item.resource not in BUILTIN_INDICES or item.resource in BUILTIN_AMOUNTS:
                what = "GPUs" if item.resource in GPU_NAMES else item.resource
                missing = missing or f"no host has {what}"
        kind, units = ("", 0) if simple is None else simple.units_of_a_slot
        name = f"affinity {UNIT_NAMES[kind]}" if units else ""
        if name in self._host_index:
            host_uses.append(Use(self._host_index[name], Per.SLOT, flat(name, float(units))))
        limit_hosts, limit_pools = self._limit_uses(job, queue, held, first)
        if first and (array := self.limited_array(job)) is not None:
            limit_pools.append(Use(self._array_pool(array, job), Per.JOB, flat("jobs", 1.0)))
        if first and job.job_group:
            one = flat("jobs", 1.0)
            limit_pools += [Use(index, Per.JOB, one) for index in self._group_pools(job.job_group)]
        if self.guarantees is not None:
            span = None if simple is None else simple.span
            limit_pools += self._guarantee_uses(job, span, held)
            limit_hosts += self._guarantee_slots_per_host(job)
        return Alternative(
            (*host_uses, *(replace(use, is_limit=True) for use in limit_hosts)),
            (*pool_uses, *(replace(use, is_limit=True) for use in limit_pools)),
            missing,
            self._access(asked),
        )

    def counted_per(self, reservation: Reservation) -> Per:
        """Return the multiplicity of a reserved amount: its own, else that of its resource."""
        if reservation.per:
            return _PER[reservation.per]
        return self.method(reservation.resource)

    def method(self, resource: str) -> Per:
        """Return the multiplicity of a rusage amount without a unit of its own (RSV-08)."""
        if resource in self._methods:
            return self._methods[resource]
        if self.instance.params.reserve_per_slot:
            return Per.SLOT
        return Per.JOB if resource in self._pool_index else Per.HOST

    def _access(self, reservations: Iterable[Reservation]) -> BoolArray | None:
        """Return the hosts that have every resource of `reservations`, [H] (defined and
        reachable); None if all have.
        """
        mask: BoolArray | None = None
        for item in reservations:
            if item.resource in self._host_index:
                resource = self.host_resources[self._host_index[item.resource]]
                if resource.is_everywhere:
                    continue
                there = resource.capacity >= 0
            elif item.resource in self._pool_index:
                indices = self._pool_index[item.resource]
                there = np.logical_or.reduce([self.pools[index].mask for index in indices])
            else:
                continue
            mask = there if mask is None else mask & there
        return None if mask is None or mask.all() else mask

    def _without_duration(self, item: Reservation) -> Reservation:
        """Remove duration and decay of static shared resources, which have none (RSV-10)."""
        static = item.resource not in self._host_index and any(
            shared.name == item.resource and shared.static
            for shared in self.instance.cluster.shared
        )
        return flat(item.resource, item.initial) if static else item

    def limited_array(self, job: Job) -> str | None:
        """Return the array of which the job is an element if it has a limit on running ones,
        else None.
        """
        if job.array_limit is None and not self._arrays:
            return None
        array = job.array_id
        return array if job.array_limit is not None or array in self._arrays else None

    def learns_limit(self, job: Job, among: Iterable[Job]) -> bool:
        """Set the limit on running elements of a job's array; return False if it is too late.

        It is too late if another limit is set, or if elements run that are not counted. among:
        running jobs.
        """
        array, most = job.array_id, job.array_limit
        if array is None or most is None or self._arrays.get(array) == most:
            return True
        if array in self._arrays or any(other.array_id == array for other in among):
            return False
        self._arrays[array] = most
        return True

    def whose(self, job: Job) -> tuple[Hashable, ...]:
        """Return the identity of a job for limits: user, queue, projects and application if limits
        distinguish them, array, service class, loans.
        """
        return (
            *(getattr(job, name) for name in self._distinguished),
            self.limited_array(job) or "",
            *(() if self.guarantees is None else self.guarantees.whose(job)),
        )

    def _array_pool(self, array: str, job: Job) -> int:
        """Return the pool of the running elements of an array with a limit:

        ``%4`` of bsub -J (ARR-01).
        """
        most = self._arrays.get(array, job.array_limit or 0)
        reason = f"running elements of array {array} (at most {most} at once)"
        return self._pool_of_all(f"array {array}", most, reason, Pending.ARRAY_ELEMENTS)

    def _group_pools(self, name: str) -> Iterator[int]:
        """Yield the pools of a job group and its ancestors that have a limit (GRP-01)."""
        limits = {group.name: group.limit for group in self.instance.job_groups}
        for group in job_groups_of(name):
            if (most := limits.get(group)) is None:
                continue
            reason = f"running jobs of job group {group} (at most {most} at once)"
            yield self._pool_of_all(f"job group {group}", most, reason, Pending.JOB_GROUP)

    def _guarantee_slots_per_host(self, job: Job) -> Iterator[Use]:
        """Yield SLOTS_PER_HOST of pools with a guarantee for the class of a job (GUA-01)."""
        assert self.guarantees is not None
        own = self.guarantees.members.of(job)
        for item in self.guarantees.pools:
            number = item.pool.slots_per_host
            if number is None or own not in item.guaranteed:
                continue
            name = f"SLOTS_PER_HOST of guaranteed pool {item.pool.name}"
            index = self._host_index.get(name)
            if index is None:
                capacity = np.where(item.mask, float(number), np.inf)
                index = self._add_host(name, capacity, name, Pending.GUARANTEE, item.pool.name)
            yield Use(index, Per.SLOT, flat("slots", 1.0))

    def _guarantee_uses(
        self, job: Job, span: Span | None, held: Mapping[str, tuple[Reservation, Per]]
    ) -> Iterator[Use]:
        """Yield the uses of a job in guaranteed pools and in the limits that follow (GUA-01)."""
        assert self.guarantees is not None
        for row in self.guarantees.rows(job):
            kind, name = row.pool.pool.kind, row.pool.pool.arguments.get("name", "")
            if kind == "resource" and name not in held:
                continue
            index = self._guarantee_pool(row)
            if kind == "resource":
                item, per = held[name]
                yield Use(index, per, item)
            elif kind == "hosts":
                yield Use(index, Per.HOST, flat("hosts", 1.0), once=True)
            elif kind == "package":
                found = packages_taken(row.pool.pool, slots_by_host(job, span), *_memory(held))
                for per, amount in ((Per.HOST, found.by_host), (Per.SLOT, found.by_slot)):
                    if amount:
                        yield Use(index, per, flat("packages", float(amount)))
            else:
                yield Use(index, Per.SLOT, flat("slots", 1.0))

    def pool_use(self, number: int, free_of: Callable[[int], float]) -> GuaranteedUse:
        """Return the use of a guaranteed pool. free_of: availability of the capacity of a pool."""
        assert self.guarantees is not None
        pool = self.guarantees.pools[number]
        used: dict[str, float] = {}
        for name in pool.guaranteed:
            first, *_ = self.guarantees.of_class(number, name) or (None,)
            if first is not None and not first.kept_for and first.key in self._pool_index:
                used[name] = first.capacity - free_of(self._pool_index[first.key][0])
        limit = next(iter(self.guarantees.of_class(number, "")), None)
        others = 0.0
        if limit is not None and limit.key in self._pool_index:
            others = limit.capacity - free_of(self._pool_index[limit.key][0])
        return GuaranteedUse(pool, used, others)

    def guarantee_limits(self, number: int) -> Iterator[int]:
        """Yield the indices of the pools that keep a part of a guaranteed pool free."""
        assert self.guarantees is not None
        name = self.guarantees.pools[number].pool.name
        for index, pool in enumerate(self.pools):
            if pool.short is Pending.GUARANTEE and pool.subject == name:
                yield index

    def _guarantee_pool(self, row: GuaranteeRow) -> int:
        """Return the index of the pool of a row."""
        if row.key not in self._pool_index:
            unused = tuple((self._guarantee_pool(count), beyond) for count, beyond in row.unused)
            name = row.pool.pool.name
            reason = f"guaranteed pool {name} (reserved for {', '.join(row.kept_for)})"
            self.pools.append(
                Pool(
                    row.key,
                    row.capacity,
                    row.pool.mask,
                    reason,
                    Pending.GUARANTEE,
                    name,
                    unused,
                    _loan_limit(row) if row.of_loans else None,
                )
            )
            self._pool_index[row.key] = [len(self.pools) - 1]
        return self._pool_index[row.key][0]

    def _limit_uses(
        self,
        job: Job,
        queue: Queue,
        held: Mapping[str, tuple[Reservation, Per]],
        first: bool,
    ) -> tuple[list[Use], list[Use]]:
        hosts: list[Use] = []
        pools: list[Use] = []
        one = flat("slots", 1.0)
        for use, on_hosts in self._queue_and_user_limits(job, queue):
            (hosts if on_hosts else pools).append(Use(use, Per.SLOT, one))
        for limit in self.instance.limits:
            key = self._limit_key(limit, job)
            if key is None:
                continue
            each = limit.hosts is not None and limit.hosts.each
            for resource, amount in self._limit_amounts(limit):
                item, per = held.get(resource, (one, Per.SLOT))
                if resource == "jobs":
                    if not first and limit.hosts is None:
                        continue
                    per = Per.HOST if each else Per.JOB
                elif resource != "slots" and resource not in held:
                    continue
                elif amount < 0 and resource not in ("slots", *self._host_index):
                    continue  # A percentage of an amount that no host has.
                elif each and per is Per.JOB and resource in self._pool_index:
                    per = Per.HOST  # A shared resource is in use on every host of the job.
                index = self._limit_index(limit, resource, amount, key, job)
                (hosts if each else pools).append(Use(index, per, item, once=resource == "jobs"))
        return hosts, pools

    def _limit_amounts(self, limit: Limit) -> list[tuple[str, float]]:
        amounts = list(limit.amounts.items())
        each = limit.hosts is not None and limit.hosts.each
        # LSF ignores SLOTS_PER_PROCESSOR without PER_HOST.
        if limit.slots_per_processor is not None and each:
            amounts.append(("slots", -limit.slots_per_processor))
        return [*amounts, *((name, -percent) for name, percent in limit.percentages.items())]

    def _limit_index(self, limit: Limit, resource: str, amount: float, key: str, job: Job) -> int:
        """Index of the host resource or pool of one row of a Limit section."""
        name = f"limit {limit.name}:{resource}:{amount}:{key}"
        if name in self._host_index:
            return self._host_index[name]
        if name in self._pool_index:
            return self._pool_index[name][0]
        label = f"limit {limit.name} ({resource}{' of ' + key if key else ''})"
        mask = self._scope_hosts(limit.hosts)
        short = _short_of(limit, resource)
        each = limit.hosts is not None and limit.hosts.each
        if each:
            values = np.full(len(mask), amount)
            if amount < 0:
                values = self._of_hosts(resource, -amount)
            capacity = np.where(mask, values, np.inf)
            index = self._add_host(name, capacity, label, short, resource)
        else:
            index = self._add_pool(name, amount, mask, label, short, resource)
            self._pool_index[name] = [index]
        whose = {
            item.field: getattr(job, item.of_job)
            for item in OF_JOBS
            if (scope := item.scope(limit)) is not None and scope.each
        }
        self.limit_rows.append(LimitRow(limit, resource, index, each, whose))
        return index

    def _of_hosts(self, resource: str, amount: float) -> FloatArray:
        """Return a limit of hosts by processors, or as a percentage of a resource, [H]."""
        if resource == "slots":
            return np.ceil(amount * self._processors - 1e-9)
        capacity = self.host_resources[self._host_index[resource]].capacity
        # 10 % of 249 MB is rounded up to 25 MB (10.1).
        return np.where(capacity < 0, np.inf, np.floor(capacity * amount / 100 + 0.5))

    def _queue_and_user_limits(self, job: Job, queue: Queue) -> list[tuple[int, bool]]:
        """Return the slot limits of the queue, of hosts and of users: index, and amount per host
        (TBR-10).
        """
        key = (queue.name, job.user)
        if key not in self._own_limits:
            self._own_limits[key] = self._find_own_limits(job, queue)
        return self._own_limits[key]

    def _find_own_limits(self, job: Job, queue: Queue) -> list[tuple[int, bool]]:
        processors = self._processors
        found: list[tuple[int, bool]] = []

        def on_hosts(name: str, values: FloatArray, reason: str, short: Pending) -> None:
            index = self._host_index.get(name)
            if index is None:
                index = self._add_host(name, values, reason, short)
            found.append((index, True))

        def over_all(name: str, amount: int, reason: str, short: Pending) -> None:
            found.append((self._pool_of_all(name, amount, reason, short), False))

        name, user = queue.name, job.user
        if self._user_slots is not None:
            reason = f"JL/U slots of user {user}"
            on_hosts(f"JL/U {user}", self._user_slots, reason, Pending.HOST_PER_USER)
        if queue.host_slots is not None:
            values = np.full(len(processors), float(queue.host_slots))
            reason = f"HJOB_LIMIT of queue {name}"
            on_hosts(f"HJOB_LIMIT {name}", values, reason, Pending.QUEUE_PER_HOST)
        if queue.processor_slots is not None:
            values = np.ceil(queue.processor_slots * processors - 1e-9)
            reason = f"PJOB_LIMIT of queue {name}"
            on_hosts(f"PJOB_LIMIT {name}", values, reason, Pending.QUEUE_PER_CPU)
        if queue.queue_slots is not None:
            reason = f"QJOB_LIMIT of {name}"
            over_all(f"QJOB_LIMIT {name}", queue.queue_slots, reason, Pending.QUEUE_SLOTS)
        if queue.user_slots is not None:
            key, reason = f"UJOB_LIMIT {name} {user}", f"UJOB_LIMIT of {name} for user {user}"
            over_all(key, queue.user_slots, reason, Pending.QUEUE_USER_SLOTS)
        for entry, key, of_group in self._entries_of(user):
            if entry.max_slots is not None:
                short = Pending.GROUP_SLOTS if of_group else Pending.USER_SLOTS
                over_all(f"MAX_JOBS {key}", entry.max_slots, f"MAX_JOBS of {key}", short)
            if entry.processor_slots is not None:
                values = np.ceil(entry.processor_slots * processors - 1e-9)
                short = Pending.GROUP_PER_CPU if of_group else Pending.USER_PER_CPU
                on_hosts(f"JL/P {key}", values, f"JL/P of {key}", short)
        return found

    def _entries_of(self, user: str) -> Iterator[tuple[User, str, bool]]:
        """Yield the entries of lsb.users that apply to a user: owner of the limit, and whether
        a group.
        """
        for entry, alone in entries_of(self.instance.users, user, self._groups):
            own = entry.name == user or not alone
            yield entry, entry.name if own else f"{entry.name} {user}", not alone

    def _limit_key(self, limit: Limit, job: Job) -> str | None:
        """Return the row of a Limit section that counts `job`:

        None if none, "" if all jobs share one.
        """
        parts: list[str] = []
        for item in OF_JOBS:
            if (scope := item.scope(limit)) is None:
                continue
            value = getattr(job, item.of_job)
            if not self._covers(scope, value):
                return None
            if scope.each:
                parts.append(value)
        return "/".join(parts)

    def _covers(self, scope: Scope, value: str) -> bool:
        # No limit by profiles applies to a job without an application profile.
        if not value or (scope.excluded and self._groups.admits(scope.excluded, value)):
            return False
        return bool(scope.names) and self._groups.admits(scope.names, value)

    def _scope_hosts(self, scope: Scope | None) -> BoolArray:
        if scope is None:
            return self._mask(None)
        cluster = self.instance.cluster
        named = {host for name in scope.names for host in cluster.expand(name) or ()}
        named -= {host for name in scope.excluded for host in cluster.expand(name) or ()}
        return self._mask(frozenset(named))

    def _mask(self, names: frozenset[str] | None) -> BoolArray:
        hosts = self.instance.cluster.hosts
        return np.array([names is None or host.name in names for host in hosts], dtype=bool)

    def _add_host(
        self, name: str, capacity: FloatArray, reason: str, short: Pending, subject: str = ""
    ) -> int:
        self._host_index[name] = len(self.host_resources)
        everywhere = bool((capacity >= 0).all())
        self.host_resources.append(HostResource(name, capacity, reason, short, subject, everywhere))
        return self._host_index[name]

    def _pool_of_all(self, name: str, capacity: float, reason: str, short: Pending) -> int:
        """Return the index of a pool of all hosts, which joins the table when first needed."""
        if name not in self._pool_index:
            pool = self._add_pool(name, capacity, self._mask(None), reason, short)
            self._pool_index[name] = [pool]
        return self._pool_index[name][0]

    def _add_pool(
        self,
        name: str,
        capacity: float,
        mask: BoolArray,
        reason: str,
        short: Pending,
        subject: str = "",
    ) -> int:
        self.pools.append(Pool(name, capacity, mask, reason, short, subject))
        return len(self.pools) - 1


def _memory(held: Mapping[str, tuple[Reservation, Per]]) -> tuple[float, float]:
    """Return the memory that a job reserves on each of its hosts, and for each of its slots."""
    if "mem" not in held:
        return 0.0, 0.0
    item, per = held["mem"]
    return (0.0, item.initial) if per is Per.SLOT else (item.initial, 0.0)


def _loan_limit(row: GuaranteeRow) -> LoanLimit:
    counted = set(row.kept_for)
    rest = [amount for name, amount in row.pool.guaranteed.items() if name not in counted]
    kept = sum(min(row.retained, amount) for amount in rest)
    return LoanLimit(row.pool.countable, row.retained, row.idle, sum(rest), kept)


def _short_of(limit: Limit, resource: str) -> Pending:
    """Return the pending reason of a Limit section, by its first consumer."""
    consumers = (*OF_JOBS, *(item for item in CONSUMERS if not item.of_job))
    first = next((item.reason for item in consumers if item.scope(limit)), "CLUSTER")
    return Pending[f"{'JOBS' if resource == 'jobs' else 'LIMIT'}_{first}"]


def _builtin_first(name: str) -> tuple[int, str]:
    builtin = BUILTIN_AMOUNTS.index(name) if name in BUILTIN_AMOUNTS else math.inf
    return (int(builtin) if builtin != math.inf else len(BUILTIN_AMOUNTS), name)
