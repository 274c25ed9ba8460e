"""The stages of one cycle: which queues are served together, in which order (FSH-12, QBF-05).

A stage hands out the jobs of some queues until none is left that it may hand out. Queues of higher
priority come first. Among equal priorities the order of configuration counts: a fairshare queue is
a stage of its own, all first-come-first-served queues are one stage in the place of the first of
them. A cross-queue set is one stage; with DISPATCH_ORDER=QUEUE it is one for each priority. A queue
of a slot pool is a stage of its own: how much it may take is the pool's business (``pools.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...model.fairshare import QueueSet, pools, queue_sets
from ...model.instance import Instance
from ...model.job import Job
from .accounts import Account, ShareTree
from .slot_pools import PoolUse
from .traversal import Contest, Traversal
from .waiting_jobs import Rank


@dataclass(frozen=True, slots=True)
class StagePlan:
    """One place in the order of queues. policy: of user fairshare, "" for first come, first served.

    pool: the slot pool of the one queue served here, "" for none. last: no other of it follows.
    """

    queues: tuple[str, ...]
    policy: str = ""
    pool: str = ""
    last: bool = False


def stage_plan(instance: Instance) -> tuple[StagePlan, ...]:
    """The stages of a cycle at queue level, in order."""
    set_of = {name: policy for policy in queue_sets(instance) for name in policy.queues}
    pool_of = {name: pool for pool in pools(instance) for name in pool.queues}
    plan: list[StagePlan] = []
    placed: set[str] = set()
    for queue in sorted(instance.queues, key=lambda queue: -queue.priority):
        if queue.name in placed:
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
            together = tuple(n for n in equals if n not in set_of and n not in pool_of)
        plan.append(StagePlan(together, name))
        placed.update(together)
    return tuple(plan)


def _set_stage(policy: QueueSet, equals: Sequence[str]) -> tuple[str, ...]:
    """Queues of a set that are served together: all, or those of one priority."""
    if not policy.ordered:
        return policy.queues
    return tuple(name for name in policy.queues if name in equals)


@dataclass(frozen=True, slots=True)
class Offer:
    """A job whose turn it is.

    rank: its position in the queue order of the cycle. hosts: the only ones it may start on now,
    None for all its own. max_slots: the most slots it may take (a pool's limit), None for no bound.
    withheld: why it may not start in this cycle at all, "" if it may; a plan for later is allowed.
    policy, account, priority: of the fairshare that chose it, "" and None where none did.
    contests: the comparisons that led to the account, from the top of the share tree down.
    """

    job: Job
    rank: Rank
    hosts: frozenset[str] | None = None
    policy: str = ""
    account: str = ""
    priority: float | None = None
    max_slots: int | None = None
    withheld: str = ""
    contests: tuple[Contest, ...] = ()

    @property
    def why(self) -> str:
        """Why it is this job's turn, or why it has none: a clause for people."""
        if self.withheld:
            return self.withheld
        if self.priority is None:
            reason = f"first in order of queue {self.job.queue}"
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
        """The next job of the walk."""
        rank = self.walk.first()
        return None if rank is None else (rank, None)

    def answered(self, rank: Rank) -> None:
        """Take the job away."""
        self.walk.done(rank)

    def weigh(self, tree: ShareTree, account: Account) -> None:
        """What an account of `tree` has in use has changed."""
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
        """The next job that fits."""
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
    """What entitled queues left of a pool: job by job to the queue that has least of its share.

    stages: one a queue, in the order in which the queues were entitled, which also breaks ties.
    """

    def __init__(self, stages: Mapping[str, PoolStage], use: PoolUse) -> None:
        self._stages = stages
        self._use = use
        self._at = next(iter(stages.values()))

    @property
    def walk(self) -> Traversal:
        """The walk of the queue whose turn it is."""
        return self._at.walk

    @property
    def tree(self) -> ShareTree | None:
        """The accounts of that queue."""
        return self._at.tree

    def first(self) -> tuple[Rank, int | None] | None:
        """The next job that fits what is free."""
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
        """What an account of `tree` has in use has changed."""
        for stage in self._stages.values():
            stage.weigh(tree, account)


Stage = PlainStage | LeftOverStage


def account_path(tree: ShareTree, account: Account) -> str:
    """``queue/group/user``."""
    return "/".join((tree.name, *account.path))
