"""Share accounts as the tables of ``bhpart``, ``bqueues -l`` and ``bugroup`` (VEW-03 … VEW-05).

Past usage of share accounts and slot pools, from a log of finished jobs. CPU time of a job was used
evenly while it ran and has decayed since; its run time became historical at its end (FSH-03).
Memory depends on the number of accounts, not on the length of the log.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from ...model.configuration import UserGroup
from ...model.escaping import csv_lines
from ...model.instance import Instance, PoolUsage, ShareUsage
from ...model.job import Job
from ...model.shares import partition_hosts, queue_sets
from ...model.sources.finished_jobs import FinishedJob
from ...model.sources.lsf_state.bqueues import PrintedAccount
from .accounts import Account, Consumption, ShareTree, dynamic_priority, significant
from .dispatch_order import DispatchOrder, order_policy
from .priority_order import DispatchPolicy, FirstCome
from .stages import account_path


@dataclass(frozen=True, slots=True)
class ShareRow:
    """One account: cpu_time and run_time in seconds."""

    account: str
    #: Shares of the account.
    shares: int
    #: Dynamic priority.
    priority: float
    #: Slots in use.
    started: int
    #: Slots reserved by pending jobs.
    reserved: int
    cpu_time: float
    #: Run time of running jobs and the rest of the historical one, without committed run time.
    run_time: int
    #: Result of the adjustment plug-in.
    adjust: float


@dataclass(frozen=True, slots=True)
class ShareLevel:
    """Accounts that are compared with each other."""

    #: Path of the level, such as ``Partition1/group2/``.
    path: str
    #: Accounts of the level.
    rows: tuple[ShareRow, ...]


@dataclass(frozen=True, slots=True)
class PartitionView:
    """One host partition."""

    #: Name of the partition.
    name: str
    #: Hosts of the partition.
    hosts: tuple[str, ...]
    #: Levels of its share tree.
    levels: tuple[ShareLevel, ...]


@dataclass(frozen=True, slots=True)
class GroupView:
    """One user group: members as configured (groups end in ``/``), and its share list."""

    #: Name of the group.
    name: str
    #: Users of the group.
    users: tuple[str, ...]
    #: Pairs of a name and its shares.
    shares: tuple[tuple[str, int], ...]


def share_levels(tree: ShareTree, now: int, *, recursive: bool = False) -> tuple[ShareLevel, ...]:
    """Return the accounts of a policy at `now`, level by level, the highest priority first.

    recursive: also the levels below the top, each parent before its children.
    """
    return tuple(_levels(tree, tree.root, now, recursive))


def _levels(tree: ShareTree, account: Account, now: int, recursive: bool) -> Iterator[ShareLevel]:
    def rank(at: Account) -> float:
        return -significant(tree.priority(at, now))

    children = sorted(account.children.values(), key=rank)
    path = "/".join((tree.name, *account.path, ""))
    yield ShareLevel(path, tuple(share_row(tree, child, now) for child in children))
    for child in children if recursive else ():
        if child.children:
            yield from _levels(tree, child, now, recursive)


def share_row(tree: ShareTree, account: Account, now: int) -> ShareRow:
    """Return the row of one account at `now`."""
    usage = tree.usage(account, now)
    return ShareRow(
        account.name,
        account.shares,
        tree.priority(account, now),
        usage.slots,
        usage.reserved,
        usage.cpu_time,
        round(usage.run_time + usage.historical_run_time),
        tree.adjustment(usage) if tree.adjustment else 0.0,
    )


def queue_levels(
    instance: Instance, order: DispatchOrder, queue: str, now: int, *, recursive: bool = False
) -> tuple[ShareLevel, ...]:
    """Return SHARE_INFO_FOR of a queue; all queues of a cross-queue set have equal accounts
    (FSH-09).
    """
    for policy in queue_sets(instance):
        if queue in policy.queues:
            tree = order.trees[policy.master]
            _enter(tree, (job for job in instance.pending if job.queue in policy.queues))
            return tuple(
                ShareLevel(queue + level.path.removeprefix(policy.master), level.rows)
                for level in share_levels(tree, now, recursive=recursive)
            )
    return ()


def partition_views(
    instance: Instance, order: DispatchOrder, now: int, *, recursive: bool = False
) -> tuple[PartitionView, ...]:
    """Return the view of every host partition, in the order of configuration."""
    sharing = {queue for policy in queue_sets(instance) for queue in policy.queues}
    waiting = [job for job in instance.pending if job.queue not in sharing]
    for partition in instance.partitions:
        _enter(order.trees[partition.name], waiting)
    return tuple(
        PartitionView(
            partition.name,
            partition_hosts(instance.cluster, partition),
            share_levels(order.trees[partition.name], now, recursive=recursive),
        )
        for partition in instance.partitions
    )


def _enter(tree: ShareTree, waiting: Iterable[Job]) -> None:
    """Create accounts by ``default`` for users that have waiting jobs only."""
    for job in waiting:
        tree.accounts(job.user, job.group)


def group_views(instance: Instance) -> tuple[GroupView, ...]:
    """Return every user group with the shares that it divides, including groups without a
    policy.
    """
    names = {group.name for group in instance.groups}
    return tuple(_group_view(group, names) for group in instance.groups)


def _group_view(group: UserGroup, names: set[str]) -> GroupView:
    users = tuple(f"{member}/" if member in names else member for member in group.members)
    return GroupView(group.name, users, group.user_shares)


#: Delay in seconds that a printed run time may have, because daemons report at intervals.
LAG = 120


class PrintedShares:
    """Comparison of printed accounts with the share trees of an instance without past usage."""

    def __init__(self, instance: Instance, accounts: Iterable[PrintedAccount]) -> None:
        self.instance = instance
        self.order = order_policy(replace(instance, share_usage=()))
        #: Notes on printed accounts that the instance does not have.
        self.notes: list[str] = []
        masters = {name: item.master for item in queue_sets(instance) for name in item.queues}
        masters |= {partition.name: partition.name for partition in instance.partitions}
        self.found: dict[Account, PrintedAccount] = {}
        for item in accounts:
            policy, *above = item.path.split("/")
            path = (*above, item.account)
            try:
                account = self.order.trees[masters[policy]].account(path)
            except KeyError:
                self.notes.append(f"{_place(item)}: the instance has no such share account")
                continue
            # Every queue of a cross-queue set prints equal accounts.
            self.found.setdefault(account, item)

    def instance_with_usage(self, *, infer: bool = False) -> Instance:
        """Return the instance with the printed usage of its accounts at its now.

        Run time beyond that of the running jobs is historical. infer: if there is some without
        ENABLE_HIST_RUN_TIME, that parameter is set.
        """
        past = {account: self._past(account, item) for account, item in self.found.items()}
        params = self.instance.params
        if infer and not params.enable_hist_run_time and max(past.values(), default=0) > LAG:
            params = replace(params, enable_hist_run_time=True)
            self.notes.append(
                "RUN_TIME exceeds that of the running jobs: ENABLE_HIST_RUN_TIME=Y is assumed"
            )
        usage = tuple(
            ShareUsage(
                self._tree(account).name,
                "/".join(account.path),
                cpu_time=item.cpu_time,
                historical_run_time=past[account] if params.enable_hist_run_time else 0.0,
                stamp=self.instance.now,
            )
            for account, item in self.found.items()
        )
        return replace(self.instance, share_usage=usage, params=params)

    def differences(self) -> Iterator[str]:
        """Yield differences of printed values from the formula or from the running jobs.

        One sentence for each, with the line of the listing.
        """
        for account, item in self.found.items():
            tree = self._tree(account)
            usage = tree.usage(account, self.instance.now)
            if item.shares != account.shares:
                yield f"{_place(item)}: SHARES {item.shares}, configured are {account.shares}"
            if item.started != usage.slots:
                yield f"{_place(item)}: STARTED {item.started}, its jobs use {usage.slots} slots"
            low, high = (_by_formula(tree, usage, item, sign) for sign in (1, -1))
            digits = len(item.priority.partition(".")[2])
            slack = 0.5 * 10.0**-digits + 1e-9
            if not low - slack <= float(item.priority) <= high + slack:
                value = _by_formula(tree, usage, item, 0)
                yield (
                    f"{_place(item)}: PRIORITY {item.priority}, the formula gives "
                    f"{value:.{digits}f} for the numbers in this row"
                )

    def _tree(self, account: Account) -> ShareTree:
        *_, root = account.chain()
        return self.order.trees[root.name]

    def _past(self, account: Account, item: PrintedAccount) -> float:
        usage = self._tree(account).usage(account, self.instance.now)
        return max(0.0, item.run_time - usage.run_time)


def _by_formula(tree: ShareTree, usage: Consumption, item: PrintedAccount, sign: int) -> float:
    """Return the priority of printed numbers at a bound of their rounding; sign: low (1) or high
    (-1).
    """
    run_time = max(0.0, item.run_time + sign)
    printed = Consumption(
        cpu_time=max(0.0, item.cpu_time + 0.05 * sign),
        run_time=run_time,
        # Committed run time is not printed; it is taken from the running jobs.
        committed_run_time=run_time + usage.committed_run_time - usage.run_time,
        slots=item.started,
        reserved=item.reserved,
    )
    adjustment = item.adjust or 0.0
    return dynamic_priority(item.shares, printed, tree.factors, adjustment)


def _place(item: PrintedAccount) -> str:
    line = f"line {item.line}: " if item.line else ""
    return f"{line}{item.path}/{item.account}"


class PastUsage:
    """Adds up what the jobs of a log have used by the instance's now."""

    def __init__(self, instance: Instance, zero: int) -> None:
        self.instance = instance
        #: Unix time of the instance's second 0, in seconds.
        self.zero = zero
        #: Number of finished jobs that had an account.
        self.counted = 0
        self.order: DispatchOrder = order_policy(replace(instance, share_usage=(), pool_usage=()))
        self._running = {item.job.id for item in instance.running}
        self._cpu: dict[tuple[str, Account], float] = {}
        self._run: dict[tuple[str, Account], float] = {}
        self._slots: dict[str, float] = {}

    def add(self, job: FinishedJob) -> None:
        """Add one job of the log; a job counts only if it has finished by now."""
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
        for tree, slots in self.order.ledger.counted(job.queue, job.hosts):
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

    def instance_with_usage(self) -> Instance:
        """Return the instance with past usage, including that of running jobs, as LSF prints it."""
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
    """Return the seconds from start to end, decayed to now."""
    if not decay:
        return float(end - start)
    return (math.exp(-decay * (now - end)) - math.exp(-decay * (now - start))) / decay


def _account(tree: ShareTree, job: FinishedJob) -> Account | None:
    """Return the account to which a job was charged: that in the log, else the user's first."""
    named = tuple(part for part in job.charged.split("/") if part)
    if named and named[-1] == job.user:
        for first in range(len(named)):
            try:
                return tree.account(named[first:])
            except KeyError:
                continue
    accounts = tree.accounts(job.user)
    return accounts[0] if accounts else None


@dataclass(frozen=True, slots=True)
class SharePoint:
    """One account, or one queue of a slot pool, at one time."""

    #: Time in seconds from the origin.
    time: int
    #: Name of the queue, partition or pool.
    policy: str
    #: Path of the account, ``policy/group/user``.
    account: str
    #: Dynamic priority. For a queue of a pool: accumulated slot-seconds for each percent of its
    #: share (the least goes first).
    priority: float
    #: Slots in use.
    slots: int
    #: Part of the policy's slots in use, 0 if none is in use.
    share: float
    #: Part that shares alone would give it among its siblings, times the target of its parent.
    target: float


class ShareSeries:
    """Collects points; give it the order once a cycle."""

    def __init__(self, depth: int | None = None) -> None:
        #: Maximum number of levels of the share trees, None for all.
        self.depth = depth
        self.points: list[SharePoint] = []

    def record(self, order: DispatchPolicy, now: int) -> None:
        """Add the state at `now` (seconds); nothing where first come, first served is all."""
        if isinstance(order, FirstCome):
            return
        self.points.extend(self._accounts(order, now))
        self.points.extend(_pool_points(order, now))

    def _accounts(self, order: DispatchOrder, now: int) -> Iterator[SharePoint]:
        for tree in order.trees.values():
            total = tree.root.slots
            targets = {tree.root: 1.0}
            for account in tree.root.walk():
                siblings = sum(child.shares for child in account.children.values())
                for child in account.children.values():
                    targets[child] = targets[account] * child.shares / siblings
                depth = len(account.path)
                if depth and (self.depth is None or depth <= self.depth):
                    yield SharePoint(
                        now,
                        tree.name,
                        account_path(tree, account),
                        tree.priority(account, now),
                        account.slots,
                        account.slots / total if total else 0.0,
                        targets[account],
                    )

    def records(self) -> list[dict[str, Any]]:
        """Return one record for each point, with numbers of six decimals."""
        return [
            {name: round(v, 6) if isinstance(v, float) else v for name, v in asdict(point).items()}
            for point in self.points
        ]

    def to_csv(self) -> str:
        """Return CSV with a header and one row for each point."""
        columns = [field.name for field in fields(SharePoint)]
        return "".join(csv_lines(columns, (list(row.values()) for row in self.records())))


def _pool_points(order: DispatchOrder, now: int) -> Iterator[SharePoint]:
    for name, use in order.pools.items():
        total = sum(use.in_use.values())
        shares = sum(use.pool.shares)
        for queue, share in zip(use.pool.queues, use.pool.shares, strict=True):
            yield SharePoint(
                now,
                name,
                f"{name}/{queue}",
                use.weight(queue, now),
                use.in_use[queue],
                use.in_use[queue] / total if total else 0.0,
                share / shares,
            )
