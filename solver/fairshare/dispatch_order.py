"""The order in which a cycle considers pending jobs: one interface for every policy.

Queue priority, first come first served, fairshare of a queue, of a cross-queue set (ordered or
not) and of host partitions, hierarchical or flat, ``bsub -G``, and slot pools all stand behind
:func:`order_policy`, which reads from the instance which of them are at work. The loop asks for a
job, tries it, and says what came of it::

    order = order_policy(instance)                    # running jobs are counted already
    order.begin(now, pending)                         # once a cycle; pending in any order
    while (offer := order.next()) is not None:
        allocation = None if offer.withheld else try_to_place(offer)
        if allocation is not None:
            order.started(offer.job, allocation, now)
        else:
            order.skipped(offer.job)                  # perhaps after order.reserved(…)

* :meth:`DispatchOrder.next` gives the same offer until it is answered by ``started`` or
  ``skipped``. Priorities are those at ``now``; every ``started`` and ``reserved`` moves the
  account's priority before the next offer (FSH-06).
* A job may come up several times in a cycle: once for each host partition in which its user has a
  share (``offer.hosts`` are that partition's), then once at queue level, on hosts of no partition
  (FSH-08). A job that has started does not come up again.
* Every pending job comes up at least once. One that may not start now (the pool is used up, the
  user has no share) comes last, with the reason in ``offer.withheld``; it may be planned for.
* ``offer.max_slots`` bounds what a job of a slot pool may take of ``-n min,max``.
* A running job that may grow stands among the pending ones with the slots it still wants; where it
  gets some, ``resized`` and then ``skipped`` answer its offer.

Between cycles: ``ended``, ``resized``, ``suspended``, ``resumed``, ``reserved``; ``submitted`` and
``withdrawn`` of jobs told. ``started`` is right for backfill too. Event times never go back.

Initial use of accounts and pools from an instance (FSH-02, FSH-03, QBF-07). A statement covers
finished and running jobs until its stamp; so the use of the instance's running jobs until then is
part of it and is not counted again. After that it decays, and the running jobs add to it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import filterfalse
from typing import Any

from ...model.cluster import NamedHosts
from ...model.instance import Instance, ShareUsage
from ...model.job import Job
from ...model.shares import Groups, partition_hosts, pools, queue_host_names, queue_sets, share_tree
from ..availability.demand import parts_of
from ..resolve import Resolver
from .absolute_order import AbsoluteTraversal, absolute_orders
from .accounts import Account, Factors, ShareTree, load_adjustment
from .association_use import JobPriorities, billing_weights
from .ledger import Ledger
from .stages import (
    LeftOverStage,
    Offer,
    PlainStage,
    PoolStage,
    PoolUse,
    Stage,
    StagePlan,
    account_path,
    host_slots,
    stage_plan,
    surplus,
)
from .waiting_jobs import (
    UNKNOWN,
    JobKind,
    QueueTraversal,
    Rank,
    SkipFilter,
    Traversal,
    TreeTraversal,
    WaitingJobs,
)


def held_memory(instance: Instance) -> dict[str, float]:
    """Return the MB that each running job reserves at the instance's now, by job id."""
    resolver = Resolver.of(instance, reserving=False)
    index = instance.cluster.host_index()
    found: dict[str, float] = {}
    for running in instance.running:
        allocation = {index[name]: slots for name, slots in running.allocation.items()}
        elapsed = instance.now - running.start
        found[running.job.id] = sum(
            part.reservation.at(elapsed) * float(part.times.sum())
            for use, slots in resolver.running_uses(running, allocation)
            for part in parts_of(resolver.table, use, slots)
            if not part.pool and resolver.table.host_resources[part.index].name == "mem"
        )
    return found


def outside(instance: Instance, partitions: Mapping[str, frozenset[str]]) -> frozenset[str] | None:
    """Return the hosts in no partition; None, for all, if there are no partitions."""
    if not partitions:
        return None
    inside = frozenset().union(*partitions.values())
    return frozenset(host.name for host in instance.cluster.hosts) - inside


def share_trees(instance: Instance) -> dict[str, ShareTree]:
    """Return the share tree of every policy: of queue sets by master queue, of partitions by
    name.
    """
    groups = Groups(instance.groups)
    adjustment = load_adjustment(instance.params.fairshare_adjustment)
    hosts = instance.cluster.hosts
    slots = sum(host.slots for host in hosts)
    slot_memory = sum(host.amounts.get("mem", 0.0) for host in hosts) / slots if slots else 0.0
    trees = {}
    for policy in queue_sets(instance):
        node = share_tree(policy.master, policy.shares, groups)
        factors = Factors.of(instance.params, instance.queue(policy.master))
        trees[policy.master] = ShareTree(node, factors, adjustment, slot_memory)
    for partition in instance.partitions:
        node = share_tree(partition.name, partition.user_shares, groups)
        factors = Factors.of(instance.params)
        trees[partition.name] = ShareTree(node, factors, adjustment, slot_memory)
    return trees


def stamps(instance: Instance) -> list[int]:
    """Return the times for which usage is stated, rising (seconds)."""
    shares = {usage.stamp for usage in instance.share_usage}
    return sorted(shares | {usage.stamp for usage in instance.pool_usage})


def state(
    trees: Mapping[str, ShareTree],
    ledger: Ledger,
    pools: Mapping[str, PoolUse],
    instance: Instance,
    stamp: int,
) -> None:
    """Set accounts and pools to the statements for `stamp`.

    Their meters must have reached that time: jobs started later are not charged yet.
    """
    for name, tree in trees.items():
        usages = [item for item in instance.share_usage if item.policy == name]
        now = [item for item in usages if item.stamp == stamp]
        if now:
            stated = {_account(tree, item) for item in usages}
            _settle(tree, {_account(tree, item): item for item in now}, stated, stamp)
            for item in now:
                if item.committed_run_time is not None:
                    ledger.commit(_account(tree, item), item.committed_run_time, stamp)
    for usage in instance.pool_usage:
        if usage.stamp == stamp:
            for use in pools.values():
                if usage.queue in use.accumulated:
                    use.set_accumulated(usage.queue, usage.slot_seconds, stamp)


def _account(tree: ShareTree, usage: ShareUsage) -> Account:
    return tree.account(tuple(usage.account.split("/")))


def _settle(
    tree: ShareTree, usages: dict[Account, ShareUsage], stated: Iterable[Account], now: int
) -> None:
    """Set each account to its stated usage; a group without a statement is the sum of its
    accounts.
    """
    moved: dict[Account, tuple[float, float]] = {}
    for account in reversed(list(tree.root.walk())):
        if account in usages:
            moved[account] = _missing(tree, account, usages[account], now)
        elif account in stated:
            continue  # A statement for another time includes the accounts below it.
        else:
            below = [moved[child] for child in account.children.values() if child in moved]
            if not below:
                continue
            moved[account] = (sum(cpu for cpu, _ in below), sum(history for _, history in below))
        cpu, history = moved[account]
        tree.correct(account, now, cpu, history)


def _missing(tree: ShareTree, account: Account, usage: ShareUsage, now: int) -> tuple[float, float]:
    """Return the CPU time and historical run time that running jobs leave unexplained; may be
    negative.
    """
    counted = tree.usage(account, now)
    history = usage.historical_run_time if tree.factors.hist_run_time else 0.0
    return usage.cpu_time - counted.cpu_time, history - counted.historical_run_time


#: Arrival number of jobs that come after all others.
_LAST = 1 << 60


def order_policy(
    instance: Instance,
    *,
    state: Mapping[str, Any] | None = None,
) -> DispatchOrder:
    """Return the dispatch order that the instance's queues, partitions and pools define.

    state: from :meth:`DispatchOrder.to_state`, to continue from a checkpoint; the running jobs of
    the instance are then those of that time. Raises InputError if the adjustment plug-in is not
    installed or cannot be loaded.
    """
    order = DispatchOrder(instance)
    if state is not None:
        order.load_state(state, {running.job.id: running.job for running in instance.running})
        return order
    counts = instance.params.fairshare_adjustment or billing_weights(instance)
    _begin(order, instance, held_memory(instance) if counts else {})
    return order


@dataclass(slots=True)
class OrderRules:
    """Configuration that determines the order."""

    #: Priority of each queue.
    priority: dict[str, int]
    #: QJOB_LIMIT of each queue in slots, None if not set.
    limit: dict[str, int | None]
    #: Stages of a cycle.
    plan: Sequence[StagePlan]
    #: Hosts of each host partition.
    partitions: dict[str, frozenset[str]]
    #: Names of the hosts of each queue, as in HOSTS.
    queue_hosts: dict[str, tuple[str, ...]]
    #: Look-up of the hosts that these names denote.
    known: NamedHosts
    #: Hosts outside all partitions, None if there are no partitions.
    free_hosts: frozenset[str] | None
    #: Name of the share tree of each queue under fairshare.
    policy_of: dict[str, str]

    @classmethod
    def of(cls, instance: Instance) -> OrderRules:
        """Read off an instance."""
        known = NamedHosts(instance.cluster)
        partitions = {
            partition.name: frozenset(partition_hosts(known, partition))
            for partition in instance.partitions
        }
        return cls(
            priority={queue.name: queue.priority for queue in instance.queues},
            limit={queue.name: queue.queue_slots for queue in instance.queues},
            plan=stage_plan(instance),
            partitions=partitions,
            queue_hosts={queue.name: queue_host_names(queue) for queue in instance.queues},
            known=known,
            free_hosts=outside(instance, partitions),
            policy_of={name: item.master for item in queue_sets(instance) for name in item.queues},
        )


@dataclass(slots=True)
class CycleOffers:
    """The offers of the current cycle."""

    #: Pending jobs, and running jobs with growth requests.
    waiting: WaitingJobs
    #: Ids of running jobs with growth requests.
    growing: set[str] = field(default_factory=set)
    #: Ranks that were offered, with the number of stages made by then (stages_made).
    offered: dict[Rank, int] = field(default_factory=dict)
    #: Number of stages made in the cycle.
    stages_made: int = 0
    #: Accounts under which each job was offered, by policy.
    under: dict[str, dict[str, Account]] = field(default_factory=dict)
    #: Slots that the pending jobs of each queue of a slot pool request.
    pending_slots: dict[str, int] = field(default_factory=dict)
    #: Stages to come, each with its hosts.
    script: Iterator[tuple[Stage, frozenset[str] | None]] = iter(())
    #: Current stage.
    stage: Stage | None = None
    #: Hosts of the current stage, None for all.
    mask: frozenset[str] | None = None
    #: Jobs that no stage offers.
    ineligible: Iterator[Offer] = iter(())
    #: Offer without an answer yet.
    last: Offer | None = None


class DispatchOrder:
    """See the module's description for the use; :func:`order_policy` makes one."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.trees = share_trees(instance)
        #: APS groups by their parent queues.
        self.absolute = {
            order.group.parent: order for order in absolute_orders(instance, self.trees)
        }
        self._rules = OrderRules.of(instance)
        decay = Factors.of(instance.params).decay
        capacity = host_slots(instance)
        self.pools = {
            pool.name: PoolUse(pool, capacity, decay, surplus(instance, pool))
            for pool in pools(instance)
        }
        self._pool_of = {queue: use for use in self.pools.values() for queue in use.pool.queues}
        hosts = {host: name for name, members in self.partitions.items() for host in members}
        self.ledger = Ledger(instance, self.trees, self._rules.policy_of, hosts)
        self.now = instance.now
        self._preempted: set[str] = set()
        self.priorities = JobPriorities(instance)
        self.queued = WaitingJobs(self._rules.priority, self.priorities)
        self._more: set[str] = set()
        self._turns = CycleOffers(self.queued)

    @property
    def partitions(self) -> dict[str, frozenset[str]]:
        """Return the hosts of each host partition."""
        return self._rules.partitions

    def begin(self, now: int, pending: Sequence[Job]) -> None:
        """Start a cycle at `now` (seconds) with these jobs only."""
        self.priorities.advance(now)
        waiting = WaitingJobs(self._rules.priority, self.priorities)
        waiting.grow(now)
        for arrival, job in enumerate(pending):
            waiting.enter(job, arrival)
        self._begin(now, waiting, pending)

    def begin_cycle(
        self, now: int, more: Sequence[Job] = (), slots: Mapping[str, int] | None = None
    ) -> None:
        """Start a cycle with the jobs given by :meth:`submitted`; more: jobs of this cycle only."""
        for job in self._more:
            self.queued.leave(job)
        self._more = {item.id for item in more}
        self.queued.settle()
        self.priorities.advance(now)
        self.queued.grow(now)
        for arrival, item in enumerate(more):
            self.queued.enter(item, _LAST + arrival)
        self._begin(now, self.queued, more, slots)

    def _begin(
        self,
        now: int,
        waiting: WaitingJobs,
        jobs: Sequence[Job],
        slots: Mapping[str, int] | None = None,
    ) -> None:
        """Start a cycle; jobs: running jobs with growth requests."""
        self.now = now
        waiting.settle()
        self._turns = CycleOffers(
            waiting,
            growing={job.id for job in jobs if job.id in self.ledger.entries},
            pending_slots={queue: waiting.slots[queue] for queue in self._pool_of},
        )
        if slots is not None:
            for use in self.pools.values():
                use.set_capacity(slots)
        self._turns.script = self._stages()
        self._turns.ineligible = self._held_back()

    def submitted(self, job: Job, number: int, arrival: int, kind: JobKind = UNKNOWN) -> None:
        """Add a pending job, until it starts or is withdrawn.

        arrival: grows from job to job; equal jobs are ordered by it.
        """
        self._more.discard(job.id)
        self.queued.leave(job.id)
        self.queued.enter(job, arrival, kind)

    def withdrawn(self, job: Job) -> None:
        """Remove a job that is no longer pending, or not at its previous position."""
        self.queued.leave(job.id)

    def next(self) -> Offer | None:
        """Return the job to examine next, None after all jobs have been examined."""
        turns = self._turns
        while turns.last is None:
            if turns.stage is None:
                found = next(turns.script, None)
                if found is None:
                    turns.last = next(turns.ineligible, None)
                    break
                turns.stage, turns.mask = found
            first = turns.stage.first()
            if first is None:
                turns.stage = None
            elif first[0] not in turns.waiting.gone:
                turns.last = self._offer(turns.stage, *first)
            else:
                turns.stage.answered(first[0])
        return turns.last

    def next_except(self, unstartable: SkipFilter) -> Offer | None:
        """Return the next job after those that are infeasible, which are skipped."""
        if not self._turns.waiting.any_but(unstartable):
            return None
        while (offer := self.next()) is not None and unstartable.must_skip(offer.job):
            self.skipped(offer.job)
        return offer

    def skipped(self, job: Job) -> None:
        """Skip the current job for the rest of this stage."""
        self._answered(job)

    def started(
        self, job: Job, allocation: Mapping[str, int], now: int, memory: float = 0.0
    ) -> None:
        """Record that a job starts on `allocation` (slots by host), at its dispatch attempt or
        otherwise.

        memory: MB that it uses, for the adjustment plug-in.
        """
        before = self.ledger.charged(job.id)
        self.ledger.started(job, allocation, now, self._turns.under.get(job.id, {}), memory)
        if self.priorities.use is not None:
            self.priorities.use.started(job, allocation, now, memory)
        self._pool_change(job.queue, allocation, now)
        self._answered(job)
        self.queued.leave(job.id)
        self._turns.waiting.leave(job.id)
        self._weigh(job.id, before)

    def reserved(self, job: Job, slots: Mapping[str, int], now: int) -> None:
        """Set the slots that a pending job reserves (by host); {} releases them (FSH-04)."""
        before = self.ledger.charged(job.id)
        under = {tree.name: account for tree, account in before} | self._turns.under.get(job.id, {})
        self.ledger.reserved(job, slots, now, under)
        self._weigh(job.id, before)

    def ended(self, job: str, now: int, cpu_time: float | None = None) -> None:
        """Record the end of a running job; cpu_time: total CPU seconds, None for the estimate."""
        entry = self.ledger.entries[job]
        before = self.ledger.charged(job)
        if job in self._preempted:
            self._preempted.remove(job)
        else:
            self._pool_change(entry.job.queue, entry.allocation, now, -1)
        self.ledger.ended(job, now, cpu_time)
        if self.priorities.use is not None:
            self.priorities.use.finished(job, now)
        self._weigh(job, before)

    def resized(self, job: str, allocation: Mapping[str, int], now: int) -> None:
        """Set the allocation of a running job (FSH-15)."""
        entry = self.ledger.entries[job]
        self._pool_change(entry.job.queue, entry.allocation, now, -1)
        self.ledger.resized(job, allocation, now)
        if self.priorities.use is not None:
            self.priorities.use.resized(entry.job, allocation, now, entry.memory)
        self._pool_change(entry.job.queue, allocation, now)
        self._weigh(job)

    def suspended(self, job: str, now: int, *, preempted: bool = False) -> None:
        """Record that a running job is suspended: its slots count in the formula, its times stop.

        preempted: whether its slots are released, also in a slot pool on its hosts.
        """
        self.ledger.suspended(job, now)
        if preempted and job not in self._preempted:
            entry = self.ledger.entries[job]
            self._pool_change(entry.job.queue, entry.allocation, now, -1)
            self._preempted.add(job)

    def resumed(self, job: str, now: int) -> None:
        """Record that a suspended job resumes."""
        self.ledger.resumed(job, now)
        if job in self._preempted:
            entry = self.ledger.entries[job]
            self._pool_change(entry.job.queue, entry.allocation, now)
            self._preempted.remove(job)

    def to_state(self) -> dict[str, Any]:
        """Return the state on which later cycles depend, as plain data (between cycles)."""
        return {
            "policies": {name: tree.to_state() for name, tree in self.trees.items()},
            "pools": {name: use.to_state() for name, use in self.pools.items()},
            "ledger": self.ledger.to_state(),
            "preempted": sorted(self._preempted),
            **({"associations": use.to_state()} if (use := self.priorities.use) else {}),
        }

    def load_state(self, state: Mapping[str, Any], jobs: Mapping[str, Job]) -> None:
        """Restore the result of :meth:`to_state`; jobs: the running jobs by id."""
        for name, accounts in state["policies"].items():
            self.trees[name].load_state(accounts)
        for name, use in state["pools"].items():
            self.pools[name].load_state(use)
        self.ledger.load_state(state["ledger"], jobs)
        self._preempted = set(state["preempted"])
        if self.priorities.use is not None and "associations" in state:
            self.priorities.use.load_state(state["associations"])

    def _stages(self) -> Iterator[tuple[Stage, frozenset[str] | None]]:
        """Yield the stages of this cycle, each created when the previous one is finished."""
        for name, hosts in self.partitions.items():
            rules = self._rules
            queues = [q for q, names in rules.queue_hosts.items() if rules.known.meet(names, hosts)]
            yield self._tree_stage(name, queues), hosts
        if self._rules.free_hosts is not None and not self._rules.free_hosts:
            return
        orders = {name: use.order(self.now, self._wanted(use)) for name, use in self.pools.items()}
        for plan in self._rules.plan:
            if not plan.pool:
                yield self._plain_stage(plan), self._rules.free_hosts
                continue
            order = orders[plan.pool]
            yield self._pool_stage(plan.queues[0], order), self._rules.free_hosts
            if plan.last:
                for stage in self._left_over(self.pools[plan.pool], order):
                    yield stage, self._rules.free_hosts

    def _plain_stage(self, plan: StagePlan) -> PlainStage:
        if plan.absolute:
            waiting, order = self._turns.waiting, self.absolute[plan.absolute]
            ranks = waiting.of_queues(plan.queues)
            return PlainStage(AbsoluteTraversal(order, ranks, waiting.jobs, self.now), order.tree)
        if plan.policy:
            return self._tree_stage(plan.policy, plan.queues)
        return PlainStage(QueueTraversal(self._turns.waiting.of_queues(plan.queues)))

    def _tree_stage(self, policy: str, queues: Sequence[str]) -> PlainStage:
        tree = self.trees[policy]
        return PlainStage(
            self._tree_walk(tree, queues, self._turns.waiting.gone.__contains__), tree
        )

    def _tree_walk(
        self, tree: ShareTree, queues: Sequence[str], gone: Callable[[Rank], bool]
    ) -> TreeTraversal:
        jobs = self._turns.waiting.jobs

        def accounts_of(rank: Rank) -> tuple[Account, ...]:
            job = jobs[rank]
            if job.id not in self._turns.growing:
                return tree.accounts(job.user, job.group)
            # A growth request has one account: the one to which the running job is charged.
            charged = [at for policy, at in self.ledger.charged(job.id) if policy is tree]
            return tuple(charged[:1]) or tree.accounts(job.user, job.group)[:1]

        lines = self._turns.waiting.lines(tree.name, queues, accounts_of)
        return TreeTraversal(tree, lines, gone, self.now)

    def _gone_or_offered(self) -> Callable[[Rank], bool]:
        """Return a predicate: a rank's job has started, or was offered by an earlier stage."""
        turns = self._turns
        turns.stages_made += 1
        made, offered, gone = turns.stages_made, turns.offered, turns.waiting.gone
        return lambda rank: rank in gone or offered.get(rank, made) < made

    def _pool_stage(self, queue: str, order: Sequence[str], *, entitled: bool = True) -> PoolStage:
        use = self._pool_of[queue]
        limit = use.entitled(order, self._wanted(use))[queue] if entitled else None
        tree = self.trees.get(self._rules.policy_of.get(queue, ""))
        jobs = self._turns.waiting.jobs
        walk: Traversal
        if use.free <= 0 or (limit is not None and limit <= use.in_use[queue]):
            walk = QueueTraversal(())
        elif tree:
            walk = self._tree_walk(tree, (queue,), self._gone_or_offered())
        else:
            ranks = self._turns.waiting.of_queues((queue,))
            walk = QueueTraversal(filterfalse(self._gone_or_offered(), ranks))
        return PoolStage(walk, jobs, use, queue, limit, tree)

    def _left_over(self, use: PoolUse, order: Sequence[str]) -> Iterator[Stage]:
        """Yield stages for pool slots that entitled queues could not use (QBF-08)."""
        if use.pool.use_priority:
            yield self._by_priority(use)
            return
        served = True
        while served:
            served = False
            for queue in order:
                stage = self._pool_stage(queue, order)
                yield stage
                served = served or stage.served > 0
        # The limit is soft: jobs larger than their queue's part take slots that no other job can
        # use.
        stages = {queue: self._pool_stage(queue, order, entitled=False) for queue in order}
        yield LeftOverStage(stages, use)

    def _by_priority(self, use: PoolUse) -> PoolStage:
        """Return the stage of USE_PRIORITY_IN_POOL: the rest goes by job priority, for all
        queues.
        """
        jobs = self._turns.waiting.jobs
        ranks = filterfalse(self._gone_or_offered(), self._turns.waiting.of_queues(use.pool.queues))
        ordered = sorted(ranks, key=lambda rank: (rank[1], jobs[rank].submit, rank))
        return PoolStage(QueueTraversal(ordered), jobs, use, use.pool.queues[0], None)

    def _wanted(self, use: PoolUse) -> dict[str, float]:
        """Return the slots that jobs of each queue could still take, within QJOB_LIMIT (QBF-08)."""
        wanted: dict[str, float] = {}
        for queue in use.pool.queues:
            limit = self._rules.limit[queue]
            room = None if limit is None else max(0, limit - use.in_use[queue])
            slots = self._turns.pending_slots[queue]
            wanted[queue] = slots if room is None else min(slots, room)
        return wanted

    def _offer(self, stage: Stage, rank: Rank, most: int | None) -> Offer:
        job = self._turns.waiting.jobs[rank]
        self._turns.offered.setdefault(rank, self._turns.stages_made)
        account = stage.walk.account()
        absolute = stage.walk.value() if isinstance(stage.walk, AbsoluteTraversal) else None
        if stage.tree is None or account is None:
            return Offer(job, rank, self._turns.mask, max_slots=most, absolute=absolute)
        self._turns.under.setdefault(job.id, {})[stage.tree.name] = account
        return Offer(
            job,
            rank,
            self._turns.mask,
            stage.tree.name,
            account_path(stage.tree, account),
            stage.tree.priority(account, self.now),
            most,
            contests=stage.walk.contests(),
            absolute=absolute,
        )

    def _answered(self, job: Job) -> None:
        if self._turns.last is not None and self._turns.last.job.id == job.id:
            if self._turns.stage is not None:
                self._turns.stage.answered(self._turns.last.rank)
            self._turns.last = None
        if job.queue in self._turns.pending_slots and self._turns.waiting.rank(job.id) is not None:
            self._turns.pending_slots[job.queue] -= job.most_slots

    def _held_back(self) -> Iterator[Offer]:
        """Yield jobs that no stage offered, in dispatch order, with the reason."""
        for rank in self._turns.waiting.everyone():
            if rank not in self._turns.offered:
                job = self._turns.waiting.jobs[rank]
                yield Offer(job, rank, self._rules.free_hosts, ineligibility=self._reason(job))

    def infeasibility(self, job: Job) -> str:
        """Return why queue-level order never offers a job of this user, "" if it may."""
        policy = self._rules.policy_of.get(job.queue)
        if policy and not self.trees[policy].accounts(job.user, job.group):
            return f"{_who(job)} has no share in queue {policy}"
        return ""

    def _reason(self, job: Job) -> str:
        use = self._pool_of.get(job.queue)
        if refused := self.infeasibility(job):
            return refused
        if use is not None:
            free = f"{use.free} more {'is' if use.free == 1 else 'are'} available to it"
            return (
                f"queue {job.queue} uses {use.in_use[job.queue]} of the {use.total} slots of slot "
                f"pool {use.pool.name}; {free}"
            )
        return f"{_who(job)} has no share in a host partition that queue {job.queue} can use"

    def _pool_change(
        self, queue: str, allocation: Mapping[str, int], now: int, sign: int = 1
    ) -> None:
        for use in self.pools.values():
            use.change(queue, {host: sign * slots for host, slots in allocation.items()}, now)

    def _weigh(self, job: str, before: Iterable[tuple[ShareTree, Account]] = ()) -> None:
        """Update the walk after the use of the accounts that count a job has changed."""
        if self._turns.stage is None:
            return
        for tree, account in (*before, *self.ledger.charged(job)):
            self._turns.stage.weigh(tree, account)


def _who(job: Job) -> str:
    return f"group {job.group}" if job.group else f"user {job.user}"


def _begin(order: DispatchOrder, instance: Instance, memory: Mapping[str, float]) -> None:
    """Charge running jobs and stated past use, in order of time."""
    waiting = deque(sorted(instance.running, key=lambda item: item.start))
    for stamp in (*stamps(instance), math.inf):
        while waiting and waiting[0].start <= stamp:
            running = waiting.popleft()
            held = memory.get(running.job.id, 0.0)
            order.started(running.job, running.allocation, running.start, held)
        if stamp < math.inf:
            state(order.trees, order.ledger, order.pools, instance, int(stamp))
    # Statements for now are applied after all starts, because meters never go back in time.
    for running in instance.running:
        if running.job.cpu_time is not None and not stamps(instance):
            order.ledger.cpu_stated(running.job.id, running.job.cpu_time, instance.now)
        if running.suspended:
            order.suspended(running.job.id, instance.now)
