"""The order of pending jobs by absolute priority (APS-01).

The jobs of an APS group stand in one order when a walk through them begins: first those with a
system priority, the highest first, then by the value of the group's formula; equal ones by their
submission. The values are those at the begin of the walk: nothing that starts in it moves another
job. Dynamic priorities (FS) are those of the parent's FAIRSHARE.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from ...model.configuration import Queue
from ...model.errors import InputError
from ...model.instance import Instance
from ...model.job import Job
from ...model.resreq.syntax import Simple
from ...model.shares import ApsGroup, aps_groups
from ..availability.resources import Per
from ..resolve import Resolver, requirement_parts
from .accounts import Account, ShareTree, significant
from .waiting_jobs import QueueTraversal, Rank, queue_key


@dataclass(frozen=True, slots=True)
class AbsoluteValue:
    """The absolute priority of one job at one time."""

    #: Value of the formula, with the administrator's part; it decides if there is no system
    #: priority.
    value: float
    #: System priority, which ranks above all values; None if there is none.
    system: float | None = None
    #: Amount that each metric adds, before factors are limited; the administrator's part is ADMIN.
    terms: Mapping[str, float] | None = None
    #: Sort key, highest first.
    key: tuple[bool, float] = (True, 0.0)

    def __str__(self) -> str:
        """Return text such as ``109.00``, or ``(10)`` for a system priority, as bjobs -aps
        prints it.
        """
        return f"{self.value:.2f}" if self.system is None else f"({self.system:g})"

    @property
    def sum(self) -> str:
        """Return the value and its parts: ``350.00 (JPRIORITY 50, QPRIORITY 300)``."""
        if self.system is not None or not self.terms:
            return str(self)
        return f"{self} ({', '.join(f'{name} {part:g}' for name, part in self.terms.items())})"


class AbsoluteOrder:
    """One APS group at work; tree: of the parent's FAIRSHARE, None without one."""

    def __init__(self, instance: Instance, group: ApsGroup, tree: ShareTree | None) -> None:
        self.group = group
        self.tree = tree
        self._instance = instance
        self._queues: Mapping[str, Queue] = {queue.name: queue for queue in instance.queues}
        self._fixed: dict[str, tuple[Job, dict[str, float]]] = {}
        #: Values that do not change with time.
        self._settled: dict[str, tuple[Job, AbsoluteValue]] = {}
        grows = instance.params.grows_priorities and "JPRIORITY" in group.formula.metrics
        #: Dynamic priorities by user and group, cached for one ordering.
        self._priorities: dict[tuple[str, str], float] = {}
        self._moves = grows or self.moves_always
        self._longest_delay = max(group.formula.delays.values(), default=0)

    @property
    def moves_always(self) -> bool:
        """Return whether values change every second, because dynamic priorities count."""
        return self.tree is not None and "FS" in self.group.formula.metrics

    def account(self, job: Job, now: float) -> Account | None:
        """Return the share account that counts for a job: that with the highest priority."""
        found = () if self.tree is None else self.tree.accounts(job.user, job.group)
        if self.tree is None or len(found) < 2:
            return found[0] if found else None
        tree = self.tree
        return min(found, key=lambda account: tree.key(account, now))

    def _value(self, job: Job, now: int) -> AbsoluteValue:
        """Return the value of a job; cached if it no longer changes with time."""
        known = self._settled.get(job.id)
        if known is not None and known[0] is job:
            return known[1]
        found = self._computed(job, now)
        if not self._moves and now - job.submit >= self._longest_delay:
            self._settled[job.id] = job, found
        return found

    def _computed(self, job: Job, now: int) -> AbsoluteValue:
        formula = self.group.formula
        metrics = self._metrics(job, now)
        stated = job.aps
        admin = stated.value if stated is not None and stated.kind == "admin" else 0.0
        pended = max(0, now - job.submit)
        terms = formula.terms(metrics, pended) | ({"ADMIN": admin} if admin else {})
        system = stated.value if stated is not None and stated.kind == "system" else None
        value = formula.value(metrics, pended, admin)
        key = (True, -significant(value)) if system is None else (False, -system)
        return AbsoluteValue(value, system, terms, key)

    def _metrics(self, job: Job, now: int) -> dict[str, float]:
        """Return the values of a job that the formula weighs, by name."""
        known = self._fixed.get(job.id)
        if known is None or known[0] is not job:
            known = self._fixed[job.id] = job, self._fixed_metrics(job)
        found = dict(known[1])
        if "JPRIORITY" in self.group.formula.weights:
            found["JPRIORITY"] = self._instance.params.priority_at(job, now)
        if self.moves_always and self.tree is not None:
            whose = job.user, job.group
            if whose not in self._priorities:
                account = self.account(job, now)
                priority = 0.0 if account is None else self.tree.priority(account, now)
                self._priorities[whose] = priority
            found["FS"] = self._priorities[whose]
        return found

    def ordered(
        self, ranks: Iterable[Rank], jobs: Mapping[Rank, Job], now: int
    ) -> dict[Rank, AbsoluteValue]:
        """Return the ranks in dispatch order with their values, without jobs that have no share.

        Equal values are ordered by submission, then by the number in the job id and the arrival.
        """
        self._priorities.clear()
        values = {
            rank: self._value(jobs[rank], now)
            for rank in ranks
            if self.tree is None or self.account(jobs[rank], now) is not None
        }
        self._priorities.clear()
        places = sorted(values, key=lambda r: (*values[r].key, jobs[r].submit, r[4:]))
        return {rank: values[rank] for rank in places}

    def standings(self, jobs: Iterable[Job], now: int) -> list[tuple[Job, AbsoluteValue]]:
        """Return the jobs of the group in dispatch order with their values."""
        ranks = {(*queue_key(job, 0), at): job for at, job in enumerate(jobs)}
        return [(ranks[rank], value) for rank, value in self.ordered(ranks, ranks, now).items()]

    def next_change(self, jobs: Iterable[Job], now: int) -> float:
        """Return when a value of one of these jobs next changes in one step: the end of a
        GRACE_PERIOD.
        """
        if not self.group.formula.delays:
            return math.inf
        ends = (end for job in jobs for end in self.group.formula.delay_ends(job.submit))
        return min((end for end in ends if end > now), default=math.inf)

    def _fixed_metrics(self, job: Job) -> dict[str, float]:
        """Return the metrics of a job that do not change with time."""
        instance = self._instance
        makes: dict[str, Callable[[], float]] = {
            "PROC": lambda: job.most_slots,
            "MEM": lambda: self._reserved(job, "mem"),
            "SWAP": lambda: self._reserved(job, "swp"),
            "QPRIORITY": lambda: self._queues[job.queue].priority,
            "APP": lambda: self._application_priority(job),
            "USER": lambda: _priority_of(job.user, ((u.name, u.priority) for u in instance.users)),
            "UG": lambda: _priority_of(job.group, ((g.name, g.priority) for g in instance.groups)),
        }
        return {name: makes[name]() for name in self.group.formula.metrics if name in makes}

    def _application_priority(self, job: Job) -> float:
        profile = self._instance.application(job.application) if job.application else None
        return 0.0 if profile is None else profile.priority

    @cached_property
    def _resolver(self) -> Resolver:
        return Resolver.of(self._instance, reserving=False)

    def _reserved(self, job: Job, resource: str) -> float:
        """Return the MB of a resource that a job requests in total, by its first alternative.

        An amount per host counts for the minimum number of hosts.
        """
        resolver = self._resolver
        try:
            requirement = resolver.requirement(job)
        except InputError:
            return 0.0
        whole = isinstance(requirement, Simple)
        total = 0.0
        for simple, slots in requirement_parts(job, requirement):
            count = job.most_slots if whole else slots
            for item in simple.rusage.reservations() if simple.rusage else ():
                if item.resource == resource:
                    per = resolver.table.counted_per(item)
                    times = {Per.SLOT: count, Per.HOST: fewest_hosts(simple, count)}
                    total += item.initial * times.get(per, 1)
        return total


def fewest_hosts(simple: Simple, slots: int) -> int:
    """Return the minimum number of hosts for these slots by span[ptile=n]."""
    tile = None if simple.span is None else simple.span.ptile
    return -(-slots // tile) if tile else 1


def _priority_of(name: str, known: Iterable[tuple[str, int]]) -> float:
    return next((float(priority) for other, priority in known if other == name), 0.0)


def absolute_orders(
    instance: Instance, trees: Mapping[str, ShareTree]
) -> tuple[AbsoluteOrder, ...]:
    """Return the orders of the APS groups of an instance; trees: share trees by policy name."""
    return tuple(
        AbsoluteOrder(instance, group, trees.get(group.parent)) for group in aps_groups(instance)
    )


class AbsoluteTraversal(QueueTraversal):
    """The jobs of an APS group, in their order at the time when the walk begins."""

    def __init__(
        self, order: AbsoluteOrder, ranks: Iterable[Rank], jobs: Mapping[Rank, Job], now: int
    ) -> None:
        self._values = order.ordered(ranks, jobs, now)
        super().__init__(self._values)
        self._order, self._jobs, self._now = order, jobs, now

    def account(self) -> Account | None:
        """Return the share account to which the first job would be charged."""
        rank = self.first()
        return None if rank is None else self._order.account(self._jobs[rank], self._now)

    def value(self) -> AbsoluteValue | None:
        """Return the value of the first job."""
        rank = self.first()
        return None if rank is None else self._values[rank]
