"""Guaranteed resource pools as pools of the resource table (GUA-01).

A job may take the free part of a pool less the unmet guarantees of all classes but its own. With u
the use of a class, g its guarantee and T the size of the pool, a start is allowed if the sum of
max(g, u) over the classes and of the use by all others is at most T. A maximum is at most a number
if both sides are, so that the rule is one limit for each subset of the classes: these and all jobs
without a guarantee use at most T less the guarantees of the classes outside the subset. A class may
always use its own guarantee, also while others use more than their part (loans): such a limit never
leaves less than the unused guarantees of its classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, combinations
from math import ceil, inf

import numpy as np
from numpy.typing import NDArray

from ...model.duration import expected_duration, granted_run_limit
from ...model.guarantees import ServiceClasses
from ...model.instance import Instance
from ...model.job import OTHERS, Job, classes
from ...model.resreq.pool_hosts import named_hosts
from ...model.resreq.syntax import Span
from ...model.service_class import GuaranteedPool

#: Host statuses, in lower case, in which a host counts for its pool.
MEMBERS = frozenset({"ok", "closed_busy", "closed_excl", "closed_cu_excl", "closed_full"})
#: Number of classes up to which each subset has a limit, with or without jobs.
FEW = 3
#: Number of packages above any use by jobs of a class, each rounded up.
MANY = 1e6
#: Number of classes with jobs up to which each subset has a limit.
MOST = 6


@dataclass(frozen=True, slots=True)
class MeasuredPool:
    """A guaranteed pool at an instance's now."""

    #: Guaranteed pool of the instance.
    pool: GuaranteedPool
    #: Hosts of the pool, [H]; for a shared resource all.
    mask: NDArray[np.bool_]
    #: Total slots, hosts, packages or units of the resource.
    total: float
    #: Guaranteed amount by class, in the order of DISTRIBUTION.
    guaranteed: Mapping[str, float]

    @property
    def limit(self) -> float:
        """Return the maximum for all jobs together; a pool may guarantee more than it has."""
        return max(self.total, sum(self.guaranteed.values()))

    @property
    def countable(self) -> float:
        """Return the capacity of a row that only counts the use of a class."""
        return self.limit + (MANY if self.pool.kind == "package" else 0.0)


def measured(instance: Instance) -> tuple[MeasuredPool, ...]:
    """Return the guaranteed pools; a host is in the first pool that takes it."""
    found: list[MeasuredPool] = []
    taken = np.zeros(len(instance.cluster.hosts), dtype=bool)
    for pool in instance.guaranteed_pools:
        mask = np.ones(len(taken), dtype=bool)
        if pool.has_hosts:
            mask = _members(instance, pool) & ~taken
            taken |= mask
        total = _total(instance, pool, mask)
        amounts = {item.service_class: item.share.of(total) for item in pool.distribution}
        found.append(MeasuredPool(pool, mask, total, amounts))
    return tuple(found)


def _members(instance: Instance, pool: GuaranteedPool) -> NDArray[np.bool_]:
    """Return the hosts of a pool in countable states and outside active advance reservations."""
    reserved = {
        host
        for item in instance.advance_reservations
        if item.start <= instance.now < item.end
        for host in item.slots
    }
    there = [
        host.status.lower() in MEMBERS and host.name not in reserved
        for host in instance.cluster.hosts
    ]
    mask = named_hosts(instance, pool)
    mask &= np.array(there, dtype=bool)
    return mask


def _total(instance: Instance, pool: GuaranteedPool, mask: NDArray[np.bool_]) -> float:
    hosts = [host for host, inside in zip(instance.cluster.hosts, mask, strict=True) if inside]
    match pool.kind:
        case "slots":
            return float(sum(host.slots for host in hosts))
        case "hosts":
            return float(len(hosts))
        case "package":
            return float(sum(packages_of(pool, host.slots, host.amounts) for host in hosts))
    name = pool.arguments["name"]
    return float(sum(item.amount for item in instance.cluster.shared if item.name == name))


def packages_of(pool: GuaranteedPool, slots: float, amounts: Mapping[str, float]) -> int:
    """Return the number of packages in these slots and this memory."""
    have = {"slots": float(slots), "mem": amounts.get("mem", 0.0)}
    counts = (have[name] / float(each) + 1e-9 for name, each in pool.arguments.items())
    return max(0, int(min(counts)))


@dataclass(frozen=True, slots=True)
class Packages:
    """Packages that a job takes on each of its hosts and with each of its slots, at most."""

    #: Packages on each host.
    by_host: int
    #: Packages for each slot.
    by_slot: int
    #: Whether it takes exactly these packages, with all their resources.
    exact: bool


def slots_by_host(job: Job, span: Span | None) -> int | None:
    """Return the slots of a job on each host, None if they differ or are unknown."""
    if job.most_slots == 1 or (span is not None and span.hosts == 1 and job.max_slots is None):
        return job.slots
    if span is None or span.ptile is None or span.ptile_by or span.ptile_max:
        return None
    return span.ptile if job.max_slots is None and job.slots % span.ptile == 0 else None


def packages_taken(
    pool: GuaranteedPool, tile: int | None, mem_host: float, mem_slot: float
) -> Packages:
    """Return the whole packages, of slots and memory, that a job takes.

    tile: its slots on each host, if known. mem_host, mem_slot: MB by host and by slot.
    """
    each = {name: float(amount) for name, amount in pool.arguments.items()}
    slots, mem = each.get("slots", inf), each.get("mem", inf)
    if tile is not None:
        used = {"slots": float(tile), "mem": mem_host + mem_slot * tile}
        count = ceil(max(tile / slots, used["mem"] / mem) - 1e-9)
        exact = all(abs(used[name] - count * amount) < 1e-6 for name, amount in each.items())
        return Packages(count, 0, exact)
    by_slot = ceil(max(1 / slots, mem_slot / mem) - 1e-9)
    by_host = ceil(mem_host / mem - 1e-9)
    exact = not by_host and slots in (1, inf) and ("mem" not in each or mem_slot == by_slot * mem)
    return Packages(by_host, by_slot, exact and (slots == inf or by_slot == 1))


@dataclass(frozen=True, slots=True)
class GuaranteeRow:
    """One limit that follows from a pool's guarantees, or the count of what a class uses."""

    #: Key that identifies the row.
    key: str
    #: Pool with its measured amounts.
    pool: MeasuredPool
    #: Capacity of the row.
    capacity: float
    #: Counts of classes, each with its capacity less the guarantee. Availability of the count above
    #: that is unused guarantee, and the sum of these is always available here.
    unused: tuple[tuple[GuaranteeRow, float], ...] = ()
    #: Classes for which it keeps resources free; () for a count, which never restricts.
    kept_for: tuple[str, ...] = ()
    #: Whether it restricts loans only: capacity less the use of classes, less RETAIN of what each
    #: has unused (`unused`), or IDLE_BUFFER if that is more.
    of_loans: bool = False
    #: Amount kept for owners (RETAIN).
    retained: float = 0.0
    #: Amount that must stay idle (IDLE_BUFFER).
    idle: float = 0.0


class GuaranteeRows:
    """The limits of an instance's guaranteed pools, by job.

    settled: pools where every pending job may have a loan have no limits but those of their loans.
    """

    def __init__(self, instance: Instance, *, settled: bool = False) -> None:
        self.instance = instance
        self.pools = measured(instance)
        self.members = ServiceClasses(instance)
        #: Omitted rules of each pool, by number, once computed.
        self.omitted: dict[int, tuple[str, ...]] = {}
        self._relevant = [_relevant(pool, instance, self.members) for pool in self.pools]
        every = range(len(self.pools)) if settled else ()
        #: Numbers of the pools that restrict nothing except by their loan policy.
        self.settled = frozenset(number for number in every if self._is_settled(number))
        self._rows: dict[tuple[int, str], tuple[GuaranteeRow, ...]] = {}

    def rows(self, job: Job) -> Iterator[GuaranteeRow]:
        """Yield the rows in which a job counts, pool by pool; counts before limits."""
        own = self.members.of(job) if self.pools else ""
        for number in range(len(self.pools)):
            yield from self.of_class(number, own)

    def of_class(self, number: int, own: str) -> tuple[GuaranteeRow, ...]:
        """Return the rows of one pool for jobs of a class, or for jobs without a class ("")."""
        pool = self.pools[number]
        own = own if own in pool.guaranteed else ""
        if (number, own) not in self._rows:
            rows = _loan_rows if number in self.settled else _rows
            self._rows[number, own] = tuple(rows(pool, own, self._relevant[number]))
        return self._rows[number, own]

    def _is_settled(self, number: int) -> bool:
        """Return whether every pending job that may use a pool may have a loan, and no owner
        waits.
        """
        policy = self.pools[number].pool.loans
        if policy is None or (policy.exempt and (policy.retain or policy.idle_buffer)):
            return False
        queues = {queue.name: queue for queue in self.instance.queues}
        return not any(
            self.members.of(first) in self.pools[number].guaranteed
            or queues[first.queue].ignores_guarantees
            or not self.loan_of(number, first)
            for job, first in classes(self.instance.pending)
            if job is first and self.may_reach(number, first)
        )

    def may_reach(self, number: int, job: Job) -> bool:
        """Return whether HOSTS of its queue and -m leave a job some host of a pool."""
        pool, cluster = self.pools[number], self.instance.cluster
        if not pool.pool.has_hosts:
            return True
        hosts = {h.name for h, inside in zip(cluster.hosts, pool.mask, strict=True) if inside}
        for asked in (self.instance.queue(job.queue).hosts, job.hosts):
            if asked and all(request.name != OTHERS for request in asked):
                hosts &= {host for request in asked for host in cluster.expand(request.name) or ()}
        return bool(hosts)

    def whose(self, job: Job) -> tuple[str, tuple[bool, ...]]:
        """Return the service class of a job, and the pools with loans for it."""
        loans = tuple(self.loan_of(number, job) for number in range(len(self.pools)))
        return self.members.of(job), loans

    def loan_of(self, number: int, job: Job) -> bool:
        """Return whether the loan policy of a pool admits a job."""
        return takes(self.instance, self.pools[number].pool, job)

    def has_too_many(self, number: int) -> bool:
        """Return whether some subset of the classes with jobs has no limit."""
        return len(self._relevant[number]) > MOST


def _relevant(pool: MeasuredPool, instance: Instance, members: ServiceClasses) -> tuple[str, ...]:
    """Return the classes with a guarantee; if there are many, those that have jobs."""
    named = tuple(name for name, amount in pool.guaranteed.items() if amount > 0)
    if len(named) <= FEW:
        return named
    running = (item.job for item in instance.running)
    jobs = chain(running, instance.pending, instance.future)
    having = {members.of(first) for job, first in classes(jobs) if job is first}
    return tuple(name for name in named if name in having)


def _rows(pool: MeasuredPool, own: str, relevant: tuple[str, ...]) -> Iterator[GuaranteeRow]:
    name, amounts = pool.pool.name, pool.guaranteed
    count = {
        item: GuaranteeRow(f"guaranteed pool {name}: use of {item}", pool, pool.countable)
        for item in relevant
    }
    if own in count:
        yield count[own]
    every = range(len(relevant) + 1)
    sizes = every if len(relevant) <= MOST else (0, 1, len(relevant) - 1, len(relevant))
    for size in sizes:
        for subset in combinations(relevant, size):
            others = [item for item in amounts if item not in subset and amounts[item] > 0]
            if not others or (own in count and own not in subset):
                continue
            kept = sum(amounts[item] for item in others)
            unused = tuple((count[item], pool.countable - amounts[item]) for item in subset)
            key = f"guaranteed pool {name} without {' '.join(others)}"
            yield GuaranteeRow(key, pool, pool.limit - kept, unused, tuple(others))


def _loan_rows(pool: MeasuredPool, own: str, relevant: tuple[str, ...]) -> Iterator[GuaranteeRow]:
    """Yield the limit of loans; none without RETAIN and IDLE_BUFFER."""
    policy, name = pool.pool.loans, pool.pool.name
    if policy is None or (policy.retain is None and policy.idle_buffer is None):
        return
    count = {
        item: GuaranteeRow(f"guaranteed pool {name}: use of {item}", pool, pool.countable)
        for item in relevant
    }
    if own in count:
        yield count[own]
        return
    # A class with a guarantee of 0 has no count: it uses the pool as jobs without a class do.
    unused = tuple((count[item], pool.countable - pool.guaranteed[item]) for item in relevant)
    yield GuaranteeRow(
        *(f"loans of guaranteed pool {name}", pool, pool.total, unused, tuple(relevant)),
        of_loans=True,
        retained=0.0 if policy.retain is None else policy.retain.of(pool.total),
        idle=0.0 if policy.idle_buffer is None else policy.idle_buffer.of(pool.total),
    )


def takes(instance: Instance, pool: GuaranteedPool, job: Job) -> bool:
    """Return whether a job may have a loan: by its queue, and by its run time (DURATION)."""
    policy = pool.loans
    if policy is None or not policy.takes(job.queue):
        return False
    if policy.duration is None or job.queue in policy.exempt:
        return True
    spans = expected_duration(instance, job), granted_run_limit(instance, job)
    return min((span for span in spans if span is not None), default=inf) <= policy.duration


@dataclass(frozen=True, slots=True)
class GuaranteedUse:
    """Use of a pool at an instant, and the unused guarantees of its classes."""

    pool: MeasuredPool
    #: Used amount by class.
    used: Mapping[str, float]
    #: Amount used by jobs without a guarantee.
    others: float

    @property
    def free(self) -> float:
        """Return the amount that no job uses."""
        return self.pool.total - self.others - sum(self.used.values())

    @property
    def unused(self) -> dict[str, float]:
        """Return the unused guarantee of each class."""
        pairs = self.pool.guaranteed.items()
        return {name: max(0.0, amount - self.used.get(name, 0.0)) for name, amount in pairs}

    def loan(self, queue: str, *, demanded: bool) -> float:
        """Return the amount available as loans; demanded: owners with unused guarantees wait."""
        policy = self.pool.pool.loans
        if policy is None or (demanded and policy.close_on_demand and queue not in policy.exempt):
            return 0.0
        if queue in policy.exempt:
            return max(0.0, self.free)
        retained, total = 0.0, self.pool.total
        if policy.retain is not None:
            most = policy.retain.of(total)
            retained = sum(min(most, amount) for amount in self.unused.values())
        idle = 0.0 if policy.idle_buffer is None else policy.idle_buffer.of(total)
        return max(0.0, self.free - max(retained, idle))
