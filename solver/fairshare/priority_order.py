"""The order of the pending jobs, in cycles and in plans of one instant (FSH-06, LOP-04).

:class:`FirstCome` is the fast way for instances without fairshare, partitions and pools: it keeps
its list in order as jobs come and go. Everything else is :mod:`.dispatch_order`'s. Both take the
same calls, see there; only FirstCome has to be told of submissions, and only its order never moves
with time.

Time at which the order of the waiting jobs changes without an event. Dynamic priorities change
every second, but only their order matters: while the accounts of every level of a share tree keep
their order, the walk through the jobs is unchanged. If all jobs wait under one account, they are
first come, first served.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress, pairwise
from typing import Any

import numpy as np

from ...model.compact import no_collection
from ...model.instance import Instance
from ...model.job import Job
from ...model.modules import with_loaded_modules
from ..availability.resources import BoolArray, IntArray
from ..precedence import Precedence
from .absolute_order import AbsoluteOrder
from .accounts import Account, ShareTree
from .dispatch_order import DispatchOrder, order_policy
from .stages import Offer
from .waiting_jobs import UNKNOWN, JobKind, Rank, SkipFilter, has_policy, queue_key

#: Position of a job in the order.
Key = tuple[int, ...]
#: Number of new jobs that are inserted one by one, and of positions of removed jobs that are kept.
FEW = 64
#: Number of pending jobs up to which it costs more to pass over jobs together than it saves.
FEW_PENDING = 256


class FirstCome:
    """Order by queue priority, job priority, submission, id, input position (FSH-16, LOP-04).

    New jobs are inserted together on the next access; a removed job is marked, and its position is
    dropped together with further ones.
    """

    def __init__(self, instance: Instance) -> None:
        self._priority = {queue.name: queue.priority for queue in instance.queues}
        self._keys: list[Key] = []
        self._offers: dict[int, Offer] = {}
        self._key_of: dict[str, Key] = {}
        #: Kind of each job of the list, in order: number and limit; then the number of the job.
        self._kinds: IntArray = np.zeros((3, FEW), dtype=np.int64)
        #: Mask of positions of removed jobs, and their number.
        self._gone: BoolArray = np.zeros(FEW, dtype=bool)
        self._lost = 0
        self._arrivals: list[tuple[Key, JobKind]] = []
        self._at = 0

    def submitted(self, job: Job, number: int, arrival: int, kind: JobKind = UNKNOWN) -> None:
        """Insert a submitted job at its position."""
        key = (*queue_key(job, self._priority[job.queue]), number)
        self._arrivals.append((key, kind))
        self._key_of[job.id] = key
        self._offers[number] = Offer(job, key)

    def begin_cycle(
        self, now: int, more: Sequence[Job] = (), slots: Mapping[str, int] | None = None
    ) -> None:
        """Start a cycle at the head of the list."""
        self._at = 0
        if self._lost > FEW:
            self._close_gaps()
        self._take_in()

    def begin_with_new_arrivals(self, numbers: Collection[int]) -> bool:
        """Start a cycle for newly submitted jobs after all others; return whether all of them are
        last.

        numbers: of the new jobs.
        """
        self.begin_cycle(0)
        keys, gone = self._keys, self._gone
        self._at = len(keys)
        while self._at and (gone[self._at - 1] or keys[self._at - 1][-1] in numbers):
            self._at -= 1
        there = sum(not gone for gone in self._gone[self._at : len(keys)].tolist())
        return there == sum(number in self._offers for number in numbers)

    def next(self) -> Offer | None:
        """Return the current job."""
        self._take_in()
        keys, gone = self._keys, self._gone
        while self._at < len(keys):
            if not gone[self._at]:
                return self._offers[keys[self._at][-1]]
            self._at += 1
        return None

    def next_except(self, unstartable: SkipFilter) -> Offer | None:
        """Return the current job after jobs in `unstartable` are skipped."""
        self._pass_over(lambda kinds: unstartable.skip_mask(kinds[0], kinds[1]))
        return self.next()

    def passes_over(self, mask: Callable[[IntArray, IntArray], BoolArray]) -> bool:
        """Move to the first job that is not in the mask; return whether a job was passed over.

        mask: of many jobs, by the numbers of their shapes and their own.
        """
        self.next()
        first = self._at
        self._pass_over(lambda kinds: mask(kinds[0], kinds[2]))
        return self._at > first

    def _pass_over(self, mask: Callable[[IntArray], BoolArray]) -> None:
        """Move from the current job to the first one that is not in the mask."""
        self._take_in()
        count, size = len(self._keys), FEW
        while self._at < count:
            # Parts of growing size: the cost follows the distance to the next job.
            part = slice(self._at, min(self._at + size, count))
            there = ~self._gone[part]
            there &= ~mask(self._kinds[:, part])
            first = int(there.argmax())
            if there[first]:
                self._at += first
                break
            self._at, size = part.stop, 4 * size

    def passed(self) -> Iterator[Offer]:
        """Yield the pending jobs before the current one."""
        for place in np.flatnonzero(~self._gone[: self._at]).tolist():
            yield self._offers[self._keys[place][-1]]

    def skipped(self, job: Job) -> None:
        """Advance to the next job."""
        self.next()
        self._at += 1

    def started(
        self, job: Job, allocation: Mapping[str, int], now: int, memory: float = 0.0
    ) -> None:
        """Remove a started job from the list."""
        self.withdrawn(job)

    def withdrawn(self, job: Job) -> None:
        """Remove a job that is no longer pending, or not at its previous position."""
        key = self._key_of.pop(job.id, None)
        if key is None:
            return
        self._take_in()
        self._gone[bisect.bisect_left(self._keys, key)] = True
        self._lost += 1
        del self._offers[key[-1]]

    def _take_in(self) -> None:
        """Insert new jobs; the current job is the one at this offset from the head."""
        if not self._arrivals:
            return
        arrivals, self._arrivals = self._arrivals, []
        if self._lost and (self._at or len(arrivals) > FEW):
            self._close_gaps()
        self._widen(len(self._keys) + len(arrivals))
        if len(arrivals) > FEW:
            self._take_in_many(arrivals)
            return
        for key, kind in arrivals:
            place, count = bisect.bisect_left(self._keys, key), len(self._keys)
            for places in (self._kinds, self._gone):
                places[..., place + 1 : count + 1] = places[..., place:count]
            self._kinds[:, place] = (*kind, key[-1])
            self._gone[place] = False
            self._keys.insert(place, key)

    def _take_in_many(self, arrivals: list[tuple[Key, JobKind]]) -> None:
        """Insert many new jobs into a list without removed jobs."""
        count = len(self._keys)
        self._kinds[:, count : count + len(arrivals)] = np.array(
            [(*kind, key[-1]) for key, kind in arrivals]
        ).T
        keys = [*self._keys, *(key for key, _ in arrivals)]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        self._kinds[:, : len(keys)] = self._kinds[:, order]
        self._keys = [keys[place] for place in order]

    def _widen(self, count: int) -> None:
        """Enlarge the arrays to `count` positions."""
        more = max(count, 2 * len(self._gone)) - len(self._gone)
        if count > len(self._gone):
            self._kinds = np.pad(self._kinds, ((0, 0), (0, more)))
            self._gone = np.pad(self._gone, (0, more))

    def _close_gaps(self) -> None:
        """Remove the positions of jobs that have left; the current job stays."""
        count = len(self._keys)
        there = ~self._gone[:count]
        kept = count - self._lost
        self._at -= int(self._gone[: self._at].sum())
        self._kinds[:, :kept] = self._kinds[:, :count][:, there]
        self._keys = list(compress(self._keys, there.tolist()))
        self._gone[:count] = False
        self._lost = 0

    def reserved(self, job: Job, slots: Mapping[str, int], now: int) -> None:
        """Ignore reservations, which do not affect this order."""

    def ended(self, job: str, now: int, cpu_time: float | None = None) -> None:
        """Ignore past use, which does not affect this order."""

    def infeasibility(self, job: Job) -> str:
        """Return "": without fairshare no job is excluded by its share."""
        return ""

    def resized(self, job: str, allocation: Mapping[str, int], now: int) -> None:
        """Ignore the new size, which does not affect this order."""

    def suspended(self, job: str, now: int, *, preempted: bool = False) -> None:
        """Ignore the suspension, which does not affect this order."""

    def resumed(self, job: str, now: int) -> None:
        """Ignore the resumption, which does not affect this order."""

    def to_state(self) -> dict[str, Any]:
        """Return no state: the list follows from the pending jobs."""
        return {}


DispatchPolicy = FirstCome | DispatchOrder


def dispatch_policy(instance: Instance, state: Mapping[str, Any] | None = None) -> DispatchPolicy:
    """Return the dispatch policy of an instance; state: from `to_state`, to continue a
    checkpoint.
    """
    if has_policy(instance):
        return order_policy(instance, state=state)
    return FirstCome(instance)


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
