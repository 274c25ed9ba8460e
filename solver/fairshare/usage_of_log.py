"""Past usage of share accounts and slot pools, summed up from a log of finished jobs.

Each job's CPU time was used evenly while it ran and has decayed since; its run time became
historical when it ended (FSH-03). Memory is that of the accounts, whatever the length of the log.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from ...model.formats.finished_jobs import FinishedJob
from ...model.instance import Instance, PoolUsage, ShareUsage
from .accounts import Account, ShareTree
from .dispatch_order import DispatchOrder, order_policy


class PastUsage:
    """Adds up what the jobs of a log have used by the instance's now.

    zero: seconds since 1970 of the instance's second 0. counted: finished jobs that had an account.
    """

    def __init__(self, instance: Instance, zero: int) -> None:
        self.instance = instance
        self.zero = zero
        self.counted = 0
        self.order: DispatchOrder = order_policy(replace(instance, share_usage=(), pool_usage=()))
        self._policy_of = self.order.ledger.tree_of_queue
        self._partition_of = self.order.ledger.tree_of_host
        self._running = {item.job.id for item in instance.running}
        self._cpu: dict[tuple[str, Account], float] = {}
        self._run: dict[tuple[str, Account], float] = {}
        self._slots: dict[str, float] = {}

    def add(self, job: FinishedJob) -> None:
        """One job of the log; it counts if it has ended by now."""
        start, end = job.start - self.zero, job.end - self.zero
        now = self.instance.now
        if not job.start or end > now or job.id in self._running:
            return
        for use in self.order.pools.values():
            if job.queue in use.accumulated:
                slots = sum(job.hosts.values())
                more = slots * _spread(start, end, now, use.decay)
                self._slots[job.queue] = self._slots.get(job.queue, 0.0) + more
        total = sum(job.hosts.values())
        counted = False
        for tree, slots in self._parts(job, total):
            account = _account(tree, job)
            if account is None:
                continue
            counted = True
            key = (tree.name, account)
            length = end - start
            rate = job.cpu_time * slots / total / length if length and total else 0.0
            spread = _spread(start, end, now, tree.decay)
            cpu = rate * spread if length else job.cpu_time * math.exp(-tree.decay * (now - end))
            self._cpu[key] = self._cpu.get(key, 0.0) + cpu
            weight = slots if tree.factors.run_time_in_slots else 1
            run = weight * length * math.exp(-tree.decay * (now - end))
            self._run[key] = self._run.get(key, 0.0) + run
        self.counted += counted

    def _parts(self, job: FinishedJob, total: int) -> Iterable[tuple[ShareTree, int]]:
        """Each policy that counts the job, and the slots that it counts."""
        found: dict[str, int] = {}
        if job.queue in self._policy_of:
            found[self._policy_of[job.queue]] = total
        for host, slots in job.hosts.items():
            if host in self._partition_of:
                name = self._partition_of[host]
                found[name] = found.get(name, 0) + slots
        return [(self.order.trees[name], slots) for name, slots in found.items()]

    def instance_with_usage(self) -> Instance:
        """The instance with what was used: running jobs' own part included, as LSF prints it."""
        now = self.instance.now
        usage = []
        for (name, account), cpu in self._cpu.items():
            tree = self.order.trees[name]
            history = self._run[name, account] if tree.factors.hist_run_time else 0.0
            mine = tree.usage(account, now)
            usage.append(
                ShareUsage(
                    name,
                    "/".join(account.path),
                    cpu_time=round(mine.cpu_time + cpu, 3),
                    historical_run_time=round(history, 3),
                    stamp=now,
                )
            )
        pools = []
        for use in self.order.pools.values():
            for queue in use.pool.queues:
                if queue in self._slots:
                    own = use.accumulated[queue].at(now, use.decay)
                    pools.append(PoolUsage(queue, round(own + self._slots[queue], 3), now))
        usage.sort(key=lambda item: (item.policy, item.account))
        return replace(self.instance, share_usage=tuple(usage), pool_usage=tuple(pools))


def _spread(start: int, end: int, now: int, decay: float) -> float:
    """Seconds from start to end, each as much as it still counts now."""
    if not decay:
        return float(end - start)
    return (math.exp(-decay * (now - end)) - math.exp(-decay * (now - start))) / decay


def _account(tree: ShareTree, job: FinishedJob) -> Account | None:
    """The account a job was charged to: the one that the log names, else its user's first."""
    named = tuple(part for part in job.charged.split("/") if part)
    if named and named[-1] == job.user:
        for first in range(len(named)):
            try:
                return tree.account(named[first:])
            except KeyError:
                continue
    accounts = tree.accounts(job.user)
    return accounts[0] if accounts else None
