"""The stages of one cycle: which queues are served together, in which order (FSH-12, QBF-05).

A stage hands out the jobs of some queues until none is left that it may hand out. Queues of higher
priority come first. Among equal priorities the order of configuration counts: a fairshare queue is
a stage of its own, all first-come-first-served queues are one stage in the place of the first of
them. A cross-queue set is one stage; with DISPATCH_ORDER=QUEUE it is one for each priority. An APS
group is one stage, in the place of its queue of the highest priority. A queue
of a slot pool is a stage of its own, which takes as much as the pool entitles it to.

Queue-based fairshare: entitlement of each queue of a slot pool (QBF-02 … QBF-08). The queues of a
pool share its slots: those in use by its queues and the free ones, up to the slot limit of each
host. Each cycle orders the queues and entitles them in that order; a queue without a job to run
leaves its part to the next ones. The order is that of priority, which rounding favours: 15 slots at
50, 30 and 20 percent are 8, 5 and 2. Accumulated use of the queues (slots times seconds, decayed
like CPU time by HIST_HOURS) decides if a queue is behind by more than rounding explains, or behind
at all for long (about a quarter of HIST_HOURS, at most an hour of the whole pool's use): then the
queue that has used least of its share goes first, until all that use has decayed.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...model.configuration import OF_JOBS
from ...model.display import HOUR
from ...model.instance import Instance
from ...model.job import Job
from ...model.shares import (
    QueueSet,
    SlotPool,
    aps_groups,
    expand_hosts,
    pools,
    queue_sets,
)
from .absolute_order import AbsoluteValue
from .accounts import Account, Meter, ShareTree, significant
from .waiting_jobs import Contest, Rank, Traversal

#: Seconds of future use by slots in use now that count when accumulated use orders the queues.
OUTLOOK = 600
#: Average slots by which a queue may be behind its share at first. Rounding explains a little over
#: one for a queue that has not run; slots that are empty between an end and the next cycle add to
#: it. After LATER_HOURS no difference is tolerated.
ROUNDING = 1.25
UNEVEN = 1.5
TOLERANCE = 0.1
#: Remembered use, in hours of the whole pool or as a part of the maximum under decay, from which no
#: difference is tolerated.
LATER_HOURS = 1.0
LATER_PART = 0.45
#: Slot-seconds of a whole pool that are treated as no use.
FORGOTTEN = 60


def entitlements(
    total: int,
    shares: Sequence[float],
    wanted: Sequence[float] | None = None,
    *,
    redistribute: bool = True,
) -> list[int]:
    """Return the slots each queue of a pool may use, out of `total`.

    shares: percent, of each queue in order. wanted: maximum slots each can use, 0 for a queue with
    no jobs; None if no bound. In order, each gets its share of the total, rounded up, while slots
    last; the rest is distributed again by this rule until it is used up or no queue wants more.
    """
    most = [math.inf] * len(shares) if wanted is None else list(wanted)
    given = [0] * len(shares)
    left = total
    while left > 0:
        base, before = left, left
        for index, share in enumerate(shares):
            # Rounding first removes binary noise: 21 * 10 / 100 must not become 3 because of
            # 2.0000001.
            portion = math.ceil(round(base * share / 100, 9))
            more = int(min(portion, left, most[index] - given[index]))
            given[index] += max(0, more)
            left -= max(0, more)
        if left == before or not redistribute:
            break
    return given


def host_slots(instance: Instance) -> dict[str, int]:
    """Return the slots of each host: MXJ, or less if a Limit section for that host says so."""
    found = {host.name: host.slots for host in instance.cluster.hosts}
    for names, slots in _slot_limits(instance):
        if len(names) == 1:
            found[names[0]] = min(found[names[0]], slots)
    return found


def surplus(instance: Instance, pool: SlotPool) -> int:
    """Return the slots that Limit sections on several hosts of a pool subtract from their sum."""
    capacity = host_slots(instance)
    return sum(
        max(0, sum(capacity[name] for name in names) - slots)
        for names, slots in _slot_limits(instance)
        if len(names) > 1 and set(names) <= set(pool.hosts)
    )


def _slot_limits(instance: Instance) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield hosts and their common slot limit, for limits by hosts alone (QBF-01)."""
    hosts, params = instance.cluster.hosts, instance.params
    processors = {host.name: params.processors_of(host) for host in hosts}
    for limit in instance.limits:
        if limit.hosts is None or any(item.scope(limit) for item in OF_JOBS):
            continue
        excluded = tuple(f"~{name}" for name in limit.hosts.excluded)
        names = expand_hosts(instance.cluster, (*limit.hosts.names, *excluded))
        slots = limit.amounts.get("slots")
        if limit.slots_per_processor is not None:
            for name in names:
                yield (name,), math.ceil(limit.slots_per_processor * processors[name])
        if slots is not None and limit.hosts.each:
            yield from (((name,), int(slots)) for name in names)
        elif slots is not None and names:
            yield names, int(slots)


class PoolUse:
    """Use of one pool: slots in use and accumulated use of its queues."""

    def __init__(
        self, pool: SlotPool, capacity: Mapping[str, int], decay: float, surplus: int = 0
    ) -> None:
        self.pool = pool
        #: Rate per second at which accumulated use decays.
        self.decay = decay
        #: Number of free slots that a limit forbids.
        self.surplus = surplus
        self._shares = dict(zip(pool.queues, pool.shares, strict=True))
        #: Slots of each host.
        self.capacity: dict[str, int] = {}
        self.set_capacity(capacity)
        self.in_use = dict.fromkeys(pool.queues, 0)
        self.foreign = 0
        self.rebalancing = False
        self.accumulated = {queue: Meter() for queue in pool.queues}

    def set_capacity(self, capacity: Mapping[str, int]) -> None:
        """Set the slots of each host; other hosts have none."""
        self.capacity = {host: capacity.get(host, 0) for host in self.pool.hosts}

    def change(self, queue: str, slots: Mapping[str, int], now: float) -> None:
        """Add slots that a job of `queue` takes on hosts; negative numbers release slots."""
        if queue in self.in_use:
            count = sum(slots.values())
            self.in_use[queue] += count
            self.accumulated[queue].change(now, self.decay, rate=count)
        else:
            self.foreign += sum(count for host, count in slots.items() if host in self.capacity)

    def set_accumulated(self, queue: str, slot_seconds: float, now: float) -> None:
        """Set the accumulated use of a queue at `now` (slot-seconds)."""
        meter = self.accumulated[queue]
        meter.change(now, self.decay, add=slot_seconds - meter.at(now, self.decay))

    @property
    def total(self) -> int:
        """Return the slots that the pool divides: used by its queues, or free (QBF-05)."""
        total = sum(self.capacity.values()) - self.surplus - self.foreign
        most = self.pool.max_slots
        return max(0, total if most is None else min(total, most))

    @property
    def free(self) -> int:
        """Return the slots of the pool that none of its queues uses."""
        return max(0, self.total - sum(self.in_use.values()))

    def part(self, queue: str) -> float:
        """Return the slots in use by a queue for each percent of its share."""
        return self.in_use[queue] / self._shares[queue]

    def weight(self, queue: str, now: float) -> float:
        """Return the accumulated use of a queue for each percent of its share; the minimum goes
        first.

        Slots in use count for OUTLOOK seconds more: of two queues with equal past use, the one with
        fewer slots now is behind.
        """
        used = self.accumulated[queue].at(now, self.decay) + OUTLOOK * self.in_use[queue]
        return used / self._shares[queue]

    def order(self, now: float, pending: Mapping[str, float]) -> list[str]:
        """Return the pool's queues in the order in which they are entitled (QBF-07).

        The order is by priority; if accumulated use decides, the queue that used least of its share
        is first. pending: slots that jobs of each queue could take.
        """
        self.rebalancing = self._must_rebalance(now, pending)
        if not self.rebalancing:
            return list(self.pool.queues)
        return sorted(self.pool.queues, key=lambda queue: significant(self.weight(queue, now)))

    def _must_rebalance(self, now: float, pending: Mapping[str, float]) -> bool:
        used = {queue: meter.at(now, self.decay) for queue, meter in self.accumulated.items()}
        everything = sum(used.values())
        if everything < FORGOTTEN or self.rebalancing:
            return everything >= FORGOTTEN
        active = [queue for queue in used if self.in_use[queue] + pending[queue] > 0]
        shares = sum(self._shares[queue] for queue in active)
        total = sum(used[queue] for queue in active)
        behind = {queue: total * self._shares[queue] / shares - used[queue] for queue in active}
        # Seconds of the whole pool's work that the use amounts to.
        remembered = everything / max(1, self.total)
        later = LATER_HOURS * HOUR
        if self.decay:
            later = min(later, LATER_PART / self.decay)
        if remembered >= later:
            return any(slots > TOLERANCE * remembered for slots in behind.values())
        return any(
            slots > (UNEVEN if used[queue] else ROUNDING) * remembered
            for queue, slots in behind.items()
        )

    def entitled(self, order: Sequence[str], pending: Mapping[str, float]) -> dict[str, int]:
        """Return the slots that each queue may have in use.

        order: the queues in the order of :meth:`order`. pending: slots that jobs of each queue
        could still take. If other queues use more than their entitlement, and too little is free to
        serve every queue, each free slot goes to the queue that has least.
        """
        given = entitlements(
            self.total,
            [self._shares[queue] for queue in order],
            [self.in_use[queue] + pending[queue] for queue in order],
            redistribute=not self.pool.use_priority,
        )
        entitled = dict(zip(order, given, strict=True))
        missing = {queue: entitled[queue] - self.in_use[queue] for queue in order}
        if sum(max(0, slots) for slots in missing.values()) <= self.free:
            return entitled
        return self._by_need(order, entitled)

    def _by_need(self, order: Sequence[str], entitled: Mapping[str, int]) -> dict[str, int]:
        """Hand out the free slots one by one, each to the queue furthest below its share."""
        limits = dict(self.in_use)
        needy = [
            (self.part(queue), place, queue)
            for place, queue in enumerate(order)
            if limits[queue] < entitled[queue]
        ]
        heapq.heapify(needy)
        for _ in range(self.free):
            _, place, queue = heapq.heappop(needy)
            limits[queue] += 1
            if limits[queue] < entitled[queue]:
                heapq.heappush(needy, (limits[queue] / self._shares[queue], place, queue))
        return limits

    def to_state(self) -> dict[str, Any]:
        """Return the state as plain data."""
        return {
            "in_use": dict(self.in_use),
            "foreign": self.foreign,
            "rebalancing": self.rebalancing,
            "accumulated": {queue: meter.state() for queue, meter in self.accumulated.items()},
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Take over what :meth:`to_state` gave."""
        self.in_use = dict(state["in_use"])
        self.foreign = state["foreign"]
        self.rebalancing = state["rebalancing"]
        self.accumulated = {name: Meter.of(meter) for name, meter in state["accumulated"].items()}


@dataclass(frozen=True, slots=True)
class StagePlan:
    """One place in the order of queues."""

    queues: tuple[str, ...]
    #: Name of the user fairshare policy, "" if none.
    policy: str = ""
    #: Slot pool of the one queue served here, "" if none.
    pool: str = ""
    #: Whether it is the last stage of its pool.
    last: bool = False
    #: Parent queue of the APS group served here, "" if none.
    absolute: str = ""


def stage_plan(instance: Instance) -> tuple[StagePlan, ...]:
    """Return the stages of a cycle at queue level, in order."""
    set_of = {name: policy for policy in queue_sets(instance) for name in policy.queues}
    pool_of = {name: pool for pool in pools(instance) for name in pool.queues}
    group_of = {name: group for group in aps_groups(instance) for name in group.queues}
    plan: list[StagePlan] = []
    placed: set[str] = set()
    for queue in sorted(instance.queues, key=lambda queue: -queue.priority):
        if queue.name in placed:
            continue
        if group := group_of.get(queue.name):
            plan.append(StagePlan(group.queues, absolute=group.parent))
            placed.update(group.queues)
            continue
        equals = [other.name for other in instance.queues if other.priority == queue.priority]
        policy = set_of.get(queue.name)
        name = policy.master if policy else ""
        if queue.name in pool_of:
            pool = pool_of[queue.name]
            plan.append(StagePlan((queue.name,), name, pool.name, queue.name == pool.queues[-1]))
            continue
        if policy:
            together = _set_stage(policy, equals)
        else:
            apart = set_of.keys() | pool_of.keys() | group_of.keys()
            together = tuple(name for name in equals if name not in apart)
        plan.append(StagePlan(together, name))
        placed.update(together)
    return tuple(plan)


def _set_stage(policy: QueueSet, equals: Sequence[str]) -> tuple[str, ...]:
    """Return the queues of a set that are served together: all, or those of one priority."""
    if not policy.ordered:
        return policy.queues
    return tuple(name for name in policy.queues if name in equals)


@dataclass(frozen=True, slots=True)
class Offer:
    """A job with its dispatch attempt: hosts, account and limits."""

    job: Job
    #: Position in the queue order of the cycle.
    rank: Rank
    #: Hosts on which it may start now, None for all of its queue.
    hosts: frozenset[str] | None = None
    #: Fairshare policy that chose it, "" if none did.
    policy: str = ""
    #: Account in that policy.
    account: str = ""
    #: Dynamic priority of the account when it was chosen, None if no fairshare chose.
    priority: float | None = None
    #: Maximum number of slots (limit of a pool), None if no bound.
    max_slots: int | None = None
    #: Why it is ineligible in this cycle, "" if it is eligible; a plan for later is allowed.
    ineligibility: str = ""
    #: Comparisons that led to the account, from the top of the share tree down.
    contests: tuple[Contest, ...] = ()
    #: Absolute priority, None if none counts.
    absolute: AbsoluteValue | None = None

    @property
    def why(self) -> str:
        """Return why a job is first in the dispatch order, or why it is not, as a clause."""
        if self.ineligibility:
            return self.ineligibility
        if self.absolute is not None:
            reason = f"first by absolute priority, {self.absolute.sum}"
        elif self.priority is None:
            reason = f"first in the order of queue {self.job.queue}"
        else:
            reason = f"first job of {self.account}, dynamic priority {self.priority:.3f}"
            reason += f" ({', '.join(map(str, self.contests))})" if self.contests else ""
        if self.max_slots is not None:
            reason += f", its queue may take {self.max_slots} more slots of the pool"
        return reason


class PlainStage:
    """Everything that a walk has, without a limit."""

    def __init__(self, walk: Traversal, tree: ShareTree | None = None) -> None:
        self.walk = walk
        self.tree = tree

    def first(self) -> tuple[Rank, int | None] | None:
        """Return the first job of the walk."""
        rank = self.walk.first()
        return None if rank is None else (rank, None)

    def answered(self, rank: Rank) -> None:
        """Take the job away."""
        self.walk.done(rank)

    def weigh(self, tree: ShareTree, account: Account) -> None:
        """Update the order after an account of `tree` has changed its use."""
        if self.tree is tree:
            self.walk.update(account)


class PoolStage(PlainStage):
    """The jobs of a pool's queue that fit what the queue may take; larger ones are set aside.

    limit: slots the queue may have in use; None: as many as the pool has free.
    """

    def __init__(
        self,
        walk: Traversal,
        jobs: Mapping[Rank, Job],
        use: PoolUse,
        queue: str,
        limit: int | None,
        tree: ShareTree | None = None,
    ) -> None:
        super().__init__(walk, tree)
        self.served = 0
        self._jobs = jobs
        self._use = use
        self._queue = queue
        self._limit = limit

    def first(self) -> tuple[Rank, int | None] | None:
        """Return the next job that fits."""
        budget = self._use.free
        if self._limit is not None:
            budget = min(budget, self._limit - self._use.in_use[self._queue])
        if budget <= 0:
            return None
        while (rank := self.walk.first()) is not None:
            if self._jobs[rank].slots <= budget:
                return rank, budget
            self.walk.done(rank)
        return None

    def answered(self, rank: Rank) -> None:
        """Take the job away."""
        self.served += 1
        self.walk.done(rank)


class LeftOverStage:
    """Rest of a pool after the entitled queues: each job from the queue with the least of its
    share.

    stages: one for each queue, in the order of entitlement, which also breaks ties.
    """

    def __init__(self, stages: Mapping[str, PoolStage], use: PoolUse) -> None:
        self._stages = stages
        self._use = use
        self._at = next(iter(stages.values()))

    @property
    def walk(self) -> Traversal:
        """Return the walk of the current queue."""
        return self._at.walk

    @property
    def tree(self) -> ShareTree | None:
        """Return the share accounts of the current queue."""
        return self._at.tree

    def first(self) -> tuple[Rank, int | None] | None:
        """Return the next job that fits the free slots."""
        for queue in sorted(self._stages, key=self._use.part):
            stage = self._stages[queue]
            if (found := stage.first()) is not None:
                self._at = stage
                return found
        return None

    def answered(self, rank: Rank) -> None:
        """Take the job away."""
        self._at.answered(rank)

    def weigh(self, tree: ShareTree, account: Account) -> None:
        """Update the order after an account of `tree` has changed its use."""
        for stage in self._stages.values():
            stage.weigh(tree, account)


Stage = PlainStage | LeftOverStage


def account_path(tree: ShareTree, account: Account) -> str:
    """Return the path of an account: ``queue/group/user``."""
    return "/".join((tree.name, *account.path))
