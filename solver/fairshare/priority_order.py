"""The order of the pending jobs in plans of one instant (FSH-06, LOP-04).

Time at which the order of the waiting jobs changes without an event. Dynamic priorities change
every second, but only their order matters: while the accounts of every level of a share tree keep
their order, the walk through the jobs is unchanged. If all jobs wait under one account, they are
first come, first served.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from ...model.compact import no_collection
from ...model.instance import Instance
from ...model.job import Job
from ...model.modules import with_loaded_modules
from ..precedence import Precedence
from .absolute_order import AbsoluteOrder
from .accounts import Account, ShareTree
from .dispatch_order import DispatchOrder, order_policy
from .queue_order import has_policy, queue_key
from .waiting_jobs import Rank


def priority_order(instance: Instance, precedence: Precedence | None = None) -> tuple[Job, ...]:
    """Return the pending jobs in the order in which a cycle with free slots for all starts them.

    The order is first come, first served, or by the fairshare, partitions and pools of the
    instance; a job with an unsatisfied dependency (-w) comes last. precedence: of these jobs, if it
    is known.
    """
    instance = with_loaded_modules(instance)
    order = _by_priority(instance)
    precedence = Precedence.of(instance) if precedence is None else precedence
    if not precedence:
        return order
    by_id = {job.id: job for job in order}
    return tuple(by_id[name] for name in precedence.ordered(list(by_id)))


def _by_priority(instance: Instance) -> tuple[Job, ...]:
    """Return the pending jobs by priority, including jobs with unsatisfied dependencies."""
    priority = {queue.name: queue.priority for queue in instance.queues}
    if has_policy(instance):
        return _dispatch_sequence(instance)
    with no_collection():
        return tuple(sorted(instance.pending, key=lambda job: queue_key(job, priority[job.queue])))


def first_in_order(instance: Instance, count: int) -> Instance:
    """Return the instance with only the first jobs of :func:`priority_order` pending.

    Within one cycle, later jobs have no effect on them.
    """
    if count >= len(instance.pending):
        return instance
    first = {job.id for job in priority_order(instance)[:count]}
    return replace(instance, pending=tuple(job for job in instance.pending if job.id in first))


def _dispatch_sequence(instance: Instance) -> tuple[Job, ...]:
    """Return the order of a cycle in which every eligible job starts (FSH-06).

    Each job is charged to its account before the next is chosen, so that users alternate. Jobs that
    a pool delays, and jobs without a share, come last.
    """
    order = order_policy(instance)
    anywhere = instance.cluster.hosts[0].name
    found: dict[str, Job] = {}
    order.begin(instance.now, instance.pending)
    while (offer := order.next()) is not None:
        found[offer.job.id] = offer.job
        if offer.ineligibility:
            order.skipped(offer.job)
        else:
            host = min(offer.hosts) if offer.hosts else anywhere
            order.started(offer.job, {host: offer.job.slots}, instance.now)
    return tuple(found.values())


@dataclass(frozen=True, slots=True)
class Admission:
    """Result of the policies for one pending job."""

    #: Sets of host names, of which a start uses one; None for all hosts.
    hosts: tuple[frozenset[str], ...] | None = None
    #: Reason if the job has no share anywhere, "" if it has one.
    refused: str = ""
    #: Whether a slot pool limits the slots of its queue.
    pooled: bool = False


def admissions(instance: Instance) -> dict[str, Admission]:
    """Return the results of the policies by job id; {} if only queues determine the order."""
    if not has_policy(instance) or not instance.pending:
        return {}
    order = order_policy(instance)
    pooled = {queue.name for queue in instance.queues if queue.slot_pool}
    sets: dict[str, list[frozenset[str] | None]] = {}
    withheld: dict[str, str] = {}
    order.begin(instance.now, instance.pending)
    while (offer := order.next()) is not None:
        if offer.ineligibility:
            withheld[offer.job.id] = offer.ineligibility
        else:
            sets.setdefault(offer.job.id, []).append(offer.hosts)
        order.skipped(offer.job)
    found: dict[str, Admission] = {}
    for job in instance.pending:
        pool = job.queue in pooled
        hosts = sets.get(job.id, [])
        refused = "" if hosts or pool else withheld.get(job.id, "")
        anywhere = not hosts or any(item is None for item in hosts)
        named = None if anywhere else tuple(item for item in hosts if item)
        found[job.id] = Admission(named, refused, pool)
    return found


#: Accounts of one level of a share tree with waiting jobs below them.
Level = tuple[ShareTree, tuple[Account, ...]]


def next_reordering(order: DispatchOrder, now: int, step: int, before: int) -> int | None:
    """Return the first of `now` + step, `now` + 2 step, … before `before` with another order.

    It assumes that no event happens. None if the order stays. With pools and partitions the order
    depends on more than priorities: then it may change immediately.
    """
    times = range(now + step, before, step)
    if not times or order.pools or order.partitions:
        return next(iter(times), None)
    grown = _next_move(order, now)
    queue_position = [_standing(tree, level, now) for tree, level in _levels(order)]
    absolute = [found for one in order.absolute.values() if (found := _places(order, one, now))]
    if grown is None and not queue_position and not absolute:
        return None
    return next(
        (
            time
            for time in times
            if (grown is not None and time >= grown)
            or not all(_same_order(*one, time) for one in queue_position)
            or not all(one.stays(time) for one in absolute)
        ),
        None,
    )


def _next_move(order: DispatchOrder, now: int) -> int | None:
    """Return when a job priority next grows, or may move with fairshare; None if all stay."""
    use = order.priorities.use
    moves = None if use is None else use.next_change(now, order.queued.waiting())
    known = [time for time in (order.queued.next_growth, moves) if time is not None]
    return min(known, default=None)


@dataclass(frozen=True, slots=True)
class _AbsolutePlaces:
    """The pending jobs of an APS group in their order at one time."""

    order: AbsoluteOrder
    jobs: Mapping[Rank, Job]
    #: Ranks of the jobs in order.
    places: tuple[Rank, ...]
    #: When a value next changes in a step.
    next_change: float

    def stays(self, time: int) -> bool:
        """Return whether the order is unchanged at a later time, if no job priority grows."""
        if not self.order.moves_always and time < self.next_change:
            return True
        return tuple(self.order.ordered(self.places, self.jobs, time)) == self.places


def _places(order: DispatchOrder, absolute: AbsoluteOrder, now: int) -> _AbsolutePlaces | None:
    """Return the order of an APS group, None if fewer than two of its jobs wait."""
    jobs = order.queued.jobs
    ranks = list(order.queued.of_queues(absolute.group.queues))
    if len(ranks) < 2:
        return None
    places = tuple(absolute.ordered(ranks, jobs, now))
    change = absolute.next_change((jobs[rank] for rank in ranks), now)
    return _AbsolutePlaces(absolute, jobs, places, change)


def _levels(order: DispatchOrder) -> Iterator[Level]:
    """Yield the share-tree levels at which waiting jobs compete, over all queues."""
    owners = order.queued.owners()
    for tree in order.trees.values():
        below: dict[Account, dict[Account, None]] = {}
        for owner in owners:
            for account in tree.accounts(*owner):
                for child, parent in pairwise(account.chain()):
                    below.setdefault(parent, {})[child] = None
        yield from ((tree, tuple(level)) for level in below.values() if len(level) > 1)


#: Accounts of a level in order, each with whether it equals the one before.
AccountRanking = tuple[ShareTree, list[Account], list[bool]]


def _standing(tree: ShareTree, level: tuple[Account, ...], now: int) -> AccountRanking:
    keys = {account: tree.key(account, now) for account in level}
    ranked = sorted(level, key=keys.__getitem__)
    return tree, ranked, [keys[one] == keys[other] for one, other in pairwise(ranked)]


def _same_order(tree: ShareTree, ranked: list[Account], level: list[bool], time: int) -> bool:
    """Return whether the accounts are in that order at a time."""
    keys = [tree.key(account, time) for account in ranked]
    return all(
        one == other if even else one < other
        for (one, other), even in zip(pairwise(keys), level, strict=True)
    )
