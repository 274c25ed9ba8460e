"""Share accounts: what each has used, and its dynamic priority (FSH-02 … FSH-04, FSH-10, FSH-15).

A :class:`ShareTree` is one policy at work: of a fairshare queue, of a cross-queue set, or of a host
partition. Every change is booked on an account and on all those above it at once, so siblings at
every level can be compared at any time; the meters are brought to the present only when read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...model.shares import Path, ShareLookup, ShareNode
from .adjustment import FairshareAdjustment
from .priority import Consumption, Factors, Meter, dynamic_priority, significant


@dataclass(frozen=True, slots=True)
class Change:
    """What to add to an account and to those above it; times in seconds, memory in MB.

    The ``…_rate`` fields change how much a meter grows a second. jobs: running jobs counted here.
    """

    jobs: int = 0
    slots: int = 0
    reserved: int = 0
    memory: float = 0.0
    cpu: float = 0.0
    cpu_rate: float = 0.0
    run: float = 0.0
    run_rate: float = 0.0
    rest: float = 0.0
    rest_rate: float = 0.0
    history: float = 0.0


class Account:
    """One share account, or the root of a tree.

    default: shares of each user who gets an account below it as he comes, None if nobody does.
    index: place among its siblings. cpu, history: meters that decay; run: of running jobs; rest:
    what is left of their committed run time. jobs: running ones counted here, whether they hold
    slots here now or not. slots, reserved: in use, and held for pending jobs.
    """

    __slots__ = (
        "children",
        "cpu",
        "default",
        "history",
        "index",
        "jobs",
        "memory",
        "name",
        "parent",
        "reserved",
        "rest",
        "run",
        "shares",
        "slots",
    )

    def __init__(
        self, name: str, shares: int, parent: Account | None, default: int | None = None
    ) -> None:
        self.name = name
        self.shares = shares
        self.default = default
        self.parent = parent
        self.index = len(parent.children) if parent else 0
        self.children: dict[str, Account] = {}
        self.cpu = Meter()
        self.run = Meter()
        self.history = Meter()
        self.rest = Meter()
        self.jobs = 0
        self.slots = 0
        self.reserved = 0
        self.memory = 0.0
        if parent:
            parent.children[name] = self

    @property
    def path(self) -> Path:
        """Names from below the root down to the account; () for the root."""
        return (*self.parent.path, self.name) if self.parent else ()

    def chain(self) -> Iterator[Account]:
        """The account and those above it, the root last."""
        at: Account | None = self
        while at is not None:
            yield at
            at = at.parent

    def clear_running(self) -> None:
        """No job runs here any more: what running jobs had on the meters is nothing at all.

        Sums and differences of decimals leave crumbs, which would decide between equals.
        """
        self.run = Meter()
        self.rest = Meter()
        self.cpu.rate = 0.0
        self.memory = 0.0

    def walk(self) -> Iterator[Account]:
        """The account and all below it, each before its children."""
        yield self
        for child in self.children.values():
            yield from child.walk()


class ShareTree:
    """The accounts of one policy and the rules by which they are counted.

    name: of the queue, the master queue or the host partition. decay, run_decay: rates a second, of
    what is past and of the run time of running jobs. slot_memory: average MB for a slot
    of the cluster, for the adjustment plug-in.
    """

    def __init__(
        self,
        node: ShareNode,
        factors: Factors,
        adjustment: FairshareAdjustment | None = None,
        slot_memory: float = 0.0,
    ) -> None:
        self.name = node.name
        self.factors = factors
        self.decay = factors.decay
        self.run_decay = factors.decay if factors.run_time_decay else 0.0
        self.adjustment = adjustment
        self.slot_memory = slot_memory
        self.root = _accounts(node, None)
        self._lookup = ShareLookup(node)
        self._known: dict[tuple[str, str], tuple[Account, ...]] = {}

    def accounts(self, user: str, group: str = "") -> tuple[Account, ...]:
        """Accounts under which jobs of `user`, submitted with ``-G group``, are considered.

        Empty when he has no share. The account that ``default`` gives a user is made here.
        """
        key = (user, group)
        if key not in self._known:
            paths = self._lookup.accounts(user, group)
            self._known[key] = tuple(self.account(path) for path in paths)
        return self._known[key]

    def account(self, path: Path) -> Account:
        """The account at `path`, made by ``default`` where needed; KeyError if there is none."""
        account = self.root
        for name in path:
            if name not in account.children:
                if account.default is None:
                    raise KeyError("/".join((self.name, *path)))
                Account(name, account.default, account)
            account = account.children[name]
        return account

    def book(self, account: Account, now: float, change: Change) -> None:
        """Add `change` to the account and to all above it at time `now`."""
        decay, run_decay = self.decay, self.run_decay
        for at in account.chain():
            at.jobs += change.jobs
            at.slots += change.slots
            at.reserved += change.reserved
            at.memory += change.memory
            if change.cpu or change.cpu_rate:
                at.cpu.change(now, decay, change.cpu, change.cpu_rate)
            if change.run or change.run_rate:
                at.run.change(now, run_decay, change.run, change.run_rate)
            if change.rest or change.rest_rate:
                at.rest.change(now, 0.0, change.rest, change.rest_rate)
            if change.history:
                at.history.change(now, decay, change.history)
            if change.jobs and not at.jobs:
                at.clear_running()

    def correct(self, account: Account, now: float, cpu: float, history: float) -> None:
        """Add to what is past of the account alone, and of none above it, at time `now`."""
        account.cpu.change(now, self.decay, cpu)
        account.history.change(now, self.decay, history)

    def usage(self, account: Account, now: float) -> Consumption:
        """What the account and all below it have used by `now`."""
        decay = self.decay
        # By place, and empty meters unasked: this is asked of every account in every cycle.
        cpu, run, history, rest = account.cpu, account.run, account.history, account.rest
        run_time = run.at(now, self.run_decay) if run.value or run.rate else 0.0
        return Consumption(
            cpu.at(now, decay) if cpu.value or cpu.rate else 0.0,
            run_time,
            history.at(now, decay) if history.value or history.rate else 0.0,
            run_time + rest.at(now) if rest.value or rest.rate else run_time,
            account.slots,
            account.reserved,
            account.memory,
            self.slot_memory,
        )

    def priority(self, account: Account, now: float) -> float:
        """The dynamic priority of an account at `now`."""
        usage = self.usage(account, now)
        adjustment = self.adjustment(usage) if self.adjustment else 0.0
        return dynamic_priority(account.shares, usage, self.factors, adjustment)

    def key(self, account: Account, now: float) -> float:
        """By what the accounts of a level are sorted: the highest priority comes first (FSH-06)."""
        return -significant(self.priority(account, now))

    def to_state(self) -> dict[str, Any]:
        """The counters of every account as plain data, by path."""
        return {
            "/".join(account.path): {
                "cpu": account.cpu.state(),
                "run": account.run.state(),
                "history": account.history.state(),
                "rest": account.rest.state(),
                "jobs": account.jobs,
                "slots": account.slots,
                "reserved": account.reserved,
                "memory": account.memory,
            }
            for account in self.root.walk()
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Take over the counters that :meth:`to_state` gave."""
        for path, counters in state.items():
            account = self.account(tuple(path.split("/")) if path else ())
            account.cpu = Meter.of(counters["cpu"])
            account.run = Meter.of(counters["run"])
            account.history = Meter.of(counters["history"])
            account.rest = Meter.of(counters["rest"])
            account.jobs = counters["jobs"]
            account.slots = counters["slots"]
            account.reserved = counters["reserved"]
            account.memory = counters["memory"]


def _accounts(node: ShareNode, parent: Account | None) -> Account:
    account = Account(node.name, node.shares, parent, node.default)
    for child in node.children:
        _accounts(child, account)
    return account
