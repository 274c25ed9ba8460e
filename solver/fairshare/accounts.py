"""Share accounts: what each has used, and its dynamic priority (FSH-02 … FSH-04, FSH-10, FSH-15).

A :class:`ShareTree` is one policy at work: of a fairshare queue, of a cross-queue set, or of a host
partition. Every change is booked on an account and on all those above it at once, so siblings at
every level can be compared at any time; the meters are brought to the present only when read.

Dynamic priority of a share account, and the meters of its inputs (FSH-02, FSH-03). Amounts are kept
in seconds; the formula uses hours. Decay is continuous: an amount of one hour counts 0.1 hours
after HIST_HOURS, that is, a factor of ``10 ** (-t / HIST_HOURS)``; HIST_HOURS of 0 means no decay.

Fairshare adjustments: plug-ins that add a term to the denominator of the priority (FSH-05). A
plug-in is a callable under the entry-point group ``slotwise.fairshare_adjustment``; an instance
chooses one by name (``fairshare_adjustment`` of its params) and gives it weight with
FAIRSHARE_ADJUSTMENT_FACTOR. In a package of your own::

    [project.entry-points."slotwise.fairshare_adjustment"]
    licences = "my_package.fairshare:licence_adjustment"
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, NamedTuple, Protocol

from ...model.configuration import Params, Queue
from ...model.display import HOUR
from ...model.errors import InputError
from ...model.share_rules import ADJUSTMENTS, unknown_adjustment
from ...model.shares import Path, ShareLookup, ShareNode

#: Minimum of the denominator: the priority is at most 100 times the shares.
MIN_DENOMINATOR = 0.01
#: Number of binary digits of a priority that count (13 decimal digits), to exclude rounding noise.
SIGNIFICANT_BITS = 44


@dataclass(frozen=True, slots=True)
class Factors:
    """Weights and switches of the formula, of one policy."""

    #: Weight of CPU time.
    cpu_time: float = 0.7
    #: Weight of run time.
    run_time: float = 0.7
    #: Weight of committed run time.
    committed_run_time: float = 0.0
    #: Weight of slots in use.
    run_job: float = 3.0
    #: Weight of the adjustment.
    adjustment: float = 0.0
    #: Hours in which a decaying value falls to a tenth.
    hist_hours: float = 5.0
    #: Whether run time of finished jobs counts (ENABLE_HIST_RUN_TIME).
    hist_run_time: bool = False
    #: Whether run time of running jobs decays (RUN_TIME_DECAY).
    run_time_decay: bool = False
    #: Whether run time counts slot-seconds instead of seconds of a job.
    run_time_in_slots: bool = False

    @classmethod
    def of(cls, params: Params, queue: Queue | None = None) -> Factors:
        """Return the factors of the cluster with the overrides of the policy's (master) queue."""
        own = {name.upper(): value for name, value in (queue.factors if queue else {}).items()}
        return cls(
            cpu_time=own.get("CPU_TIME_FACTOR", params.cpu_time_factor),
            run_time=own.get("RUN_TIME_FACTOR", params.run_time_factor),
            committed_run_time=own.get(
                "COMMITTED_RUN_TIME_FACTOR", params.committed_run_time_factor
            ),
            run_job=own.get("RUN_JOB_FACTOR", params.run_job_factor),
            adjustment=own.get("FAIRSHARE_ADJUSTMENT_FACTOR", params.fairshare_adjustment_factor),
            hist_hours=own.get("HIST_HOURS", params.hist_hours),
            hist_run_time=params.enable_hist_run_time,
            run_time_decay=params.run_time_decay,
            run_time_in_slots=params.run_time_in_slots,
        )

    @property
    def decay(self) -> float:
        """Return the decay rate per second: a value falls by ``exp(-decay * t)``."""
        return math.log(10) / (self.hist_hours * HOUR) if self.hist_hours > 0 else 0.0


class Consumption(NamedTuple):
    """Use of an account, as inputs of the formula and of adjustment plug-ins.

    Times in seconds: cpu_time decayed; run_time of running jobs; historical_run_time decayed, of
    finished jobs; committed_run_time of running jobs (without -W and RUNLIMIT equal to the run
    time).
    """

    cpu_time: float = 0.0
    run_time: float = 0.0
    historical_run_time: float = 0.0
    committed_run_time: float = 0.0
    #: Slots in use.
    slots: int = 0
    #: Slots reserved by pending jobs.
    reserved: int = 0
    #: MB in use by running jobs.
    memory: float = 0.0
    #: Average MB for each slot of the cluster.
    slot_memory: float = 0.0


def dynamic_priority(
    shares: int, usage: Consumption, factors: Factors, adjustment: float = 0.0
) -> float:
    """Return the dynamic priority of an account with `shares` (FSH-02).

    adjustment: result of the plug-in, weighted by FAIRSHARE_ADJUSTMENT_FACTOR.
    """
    run_time = usage.run_time / HOUR
    denominator = (
        usage.cpu_time / HOUR * factors.cpu_time
        + (usage.historical_run_time / HOUR + run_time) * factors.run_time
        + (usage.committed_run_time / HOUR - run_time) * factors.committed_run_time
        + (1 + usage.slots + usage.reserved) * factors.run_job
        + adjustment * factors.adjustment
    )
    return shares / max(denominator, MIN_DENOMINATOR)


def significant(value: float) -> float:
    """Return a value rounded to its significant digits, so that equal values compare equal
    (FSH-06).

    Rounding is relative, so that shares of a million compare like shares of one.
    """
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(math.ldexp(mantissa, SIGNIFICANT_BITS)), exponent - SIGNIFICANT_BITS)


class Meter:
    """An amount that grows at a constant rate and decays, evaluated on demand.

    Between two changes ``value' = rate - decay * value``; so a change costs O(1) for any interval.
    """

    __slots__ = ("rate", "stamp", "value")

    def __init__(self, value: float = 0.0, rate: float = 0.0, stamp: float = 0.0) -> None:
        self.value = value
        self.rate = rate
        self.stamp = stamp

    def at(self, now: float, decay: float = 0.0) -> float:
        """Return the amount at `now` (seconds), which must not precede the last change."""
        elapsed = now - self.stamp
        if elapsed <= 0 or not (self.value or self.rate):
            return self.value
        if not decay:
            return self.value + self.rate * elapsed
        kept = math.exp(-decay * elapsed)
        return self.value * kept + self.rate * (1 - kept) / decay

    def change(self, now: float, decay: float = 0.0, add: float = 0.0, rate: float = 0.0) -> None:
        """Bring the meter to `now`, then add an amount and change its rate."""
        if self.value or self.rate:
            self.value = self.at(now, decay)
            self.stamp = max(self.stamp, now)
        else:
            self.stamp = now  # An empty meter has no past, so it may be set to an earlier time.
        self.value += add
        self.rate += rate

    def state(self) -> list[float]:
        """Return plain numbers from which :meth:`of` rebuilds the meter."""
        return [self.value, self.rate, self.stamp]

    @classmethod
    def of(cls, state: Sequence[float]) -> Meter:
        """Return the meter that :meth:`state` describes."""
        value, rate, stamp = state
        return cls(value, rate, stamp)


class FairshareAdjustment(Protocol):
    """Signature of a plug-in: the use of an account in, the adjustment out (any finite number)."""

    def __call__(self, usage: Consumption, /) -> float: ...


@dataclass(frozen=True, slots=True)
class MemoryAdjustment:
    """Example of LSF's documentation: jobs with much memory for their slots weigh more.

    ``(1 + slots) * ((memory / slots) / (slot_memory * threshold))`` over the running jobs of the
    account; 0 if there are none or the cluster's memory is unknown.
    """

    #: Factor of the average memory from which memory weighs.
    threshold: float = 1.0

    def __call__(self, usage: Consumption, /) -> float:
        """Return the adjustment of one account."""
        if not usage.slots or not usage.slot_memory:
            return 0.0
        memory_of_slot = usage.memory / usage.slots
        return (1 + usage.slots) * (memory_of_slot / (usage.slot_memory * self.threshold))


memory_adjustment = MemoryAdjustment()


@dataclass(frozen=True, slots=True)
class InstalledAdjustment:
    """A plug-in by name, whose failures are reported as an InputError without traceback."""

    name: str
    #: Plug-in that computes the adjustment.
    plugin: FairshareAdjustment

    def __call__(self, usage: Consumption, /) -> float:
        """Return the adjustment of one account; raises InputError if the plug-in fails."""
        try:
            value = float(self.plugin(usage))
        except Exception as error:
            raise InputError(
                f"fairshare adjustment '{self.name}' failed: {type(error).__name__}: {error}"
            ) from error
        if not math.isfinite(value):
            raise InputError(
                f"fairshare adjustment '{self.name}' returned {value}: it must return a finite "
                f"number"
            )
        return value


def load_adjustment(name: str) -> FairshareAdjustment | None:
    """Return the plug-in of that name, None for "".

    Raises InputError if none, or several, are registered, or it cannot be loaded.
    """
    if not name:
        return None
    points = {point.value: point for point in entry_points(group=ADJUSTMENTS, name=name)}
    if not points:
        raise InputError(unknown_adjustment(name))
    if len(points) > 1:
        raise InputError(
            f"fairshare adjustment '{name}' is installed more than once "
            f"({', '.join(sorted(points))}): remove all but one"
        )
    (point,) = points.values()
    try:
        plugin = point.load()
    except Exception as error:
        raise InputError(
            f"fairshare adjustment '{name}' cannot be loaded from {point.value}: "
            f"{type(error).__name__}: {error}"
        ) from error
    if not callable(plugin):
        raise InputError(
            f"fairshare adjustment '{name}' is not a function: {point.value} is {plugin!r}"
        )
    return InstalledAdjustment(name, plugin)


class Change(NamedTuple):  # Every start and end makes some; a dataclass takes six times as long.
    """Amounts to add to an account and its ancestors; times in seconds, memory in MB.

    The ``…_rate`` fields change the growth of a meter in one second.
    """

    #: Number of running jobs.
    jobs: int = 0
    #: Slots in use.
    slots: int = 0
    #: Slots reserved by pending jobs.
    reserved: int = 0
    #: MB in use.
    memory: float = 0.0
    #: CPU time in seconds.
    cpu: float = 0.0
    #: Rate of CPU time.
    cpu_rate: float = 0.0
    #: Run time of running jobs.
    run: float = 0.0
    #: Rate of run time.
    run_rate: float = 0.0
    #: Rest of the committed run time.
    rest: float = 0.0
    #: Rate of the rest.
    rest_rate: float = 0.0
    #: Run time of finished jobs.
    history: float = 0.0


class Account:
    """One share account, or the root of a tree."""

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
        #: Shares of each user who gets an account on first submission, None without ``default``.
        self.default = default
        self.parent = parent
        #: Index among its siblings.
        self.index = len(parent.children) if parent else 0
        self.children: dict[str, Account] = {}
        #: Decaying CPU time.
        self.cpu = Meter()
        #: Run time of running jobs.
        self.run = Meter()
        #: Decaying run time of finished jobs.
        self.history = Meter()
        #: Rest of the committed run time of running jobs.
        self.rest = Meter()
        #: Number of running jobs of the account, with and without slots.
        self.jobs = 0
        #: Slots in use.
        self.slots = 0
        #: Slots reserved by pending jobs.
        self.reserved = 0
        self.memory = 0.0
        if parent:
            parent.children[name] = self

    @property
    def path(self) -> Path:
        """Return the names from below the root down to the account; () for the root."""
        return (*self.parent.path, self.name) if self.parent else ()

    def chain(self) -> Iterator[Account]:
        """Yield the account and its ancestors, the root last."""
        at: Account | None = self
        while at is not None:
            yield at
            at = at.parent

    def clear_running(self) -> None:
        """Reset the meters of running jobs, since no job runs under the account.

        Sums and differences of decimals leave crumbs, which would decide between equals.
        """
        self.run = Meter()
        self.rest = Meter()
        self.cpu.rate = 0.0
        self.memory = 0.0

    def walk(self) -> Iterator[Account]:
        """Yield the account and its descendants, parents first."""
        yield self
        for child in self.children.values():
            yield from child.walk()


#: Meters and counts of an account, in the order of a checkpoint.
_METERS, _COUNTS = ("cpu", "run", "history", "rest"), ("jobs", "slots", "reserved", "memory")


class ShareTree:
    """The accounts of one policy and the rules by which they are counted."""

    def __init__(
        self,
        node: ShareNode,
        factors: Factors,
        adjustment: FairshareAdjustment | None = None,
        slot_memory: float = 0.0,
    ) -> None:
        #: Name of the queue, the master queue or the host partition.
        self.name = node.name
        self.factors = factors
        #: Rate per second at which past use decays.
        self.decay = factors.decay
        #: Rate per second at which the run time of running jobs decays.
        self.run_decay = factors.decay if factors.run_time_decay else 0.0
        self.adjustment = adjustment
        #: Average MB for each slot of the cluster, an input of the adjustment.
        self.slot_memory = slot_memory
        self.root = _accounts(node, None)
        self._lookup = ShareLookup(node)
        self._known: dict[tuple[str, str], tuple[Account, ...]] = {}

    def accounts(self, user: str, group: str = "") -> tuple[Account, ...]:
        """Return the accounts for jobs of `user` submitted with ``-G group``.

        The result is empty if the user has no share. An account by ``default`` is created at the
        first call.
        """
        key = (user, group)
        if key not in self._known:
            paths = self._lookup.accounts(user, group)
            self._known[key] = tuple(self.account(path) for path in paths)
        return self._known[key]

    def account(self, path: Path) -> Account:
        """Return the account at `path`, created by ``default`` if necessary; KeyError if there
        is none.
        """
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
        """Add to the past use of one account, without its ancestors, at time `now`."""
        account.cpu.change(now, self.decay, cpu)
        account.history.change(now, self.decay, history)

    def usage(self, account: Account, now: float) -> Consumption:
        """Return the use of the account and its descendants until `now`."""
        decay = self.decay
        # Positional and without calls for empty meters, because every cycle evaluates every
        # account.
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
        """Return the dynamic priority of an account at `now`."""
        usage = self.usage(account, now)
        adjustment = self.adjustment(usage) if self.adjustment else 0.0
        return dynamic_priority(account.shares, usage, self.factors, adjustment)

    def key(self, account: Account, now: float) -> float:
        """Return the sort key of an account within its level: highest priority first (FSH-06)."""
        return -significant(self.priority(account, now))

    def to_state(self) -> dict[str, Any]:
        """Return the counters of every account as plain data, by path."""
        return {
            "/".join(account.path): {
                **{name: getattr(account, name).state() for name in _METERS},
                **{name: getattr(account, name) for name in _COUNTS},
            }
            for account in self.root.walk()
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Take over the counters that :meth:`to_state` gave."""
        for path, counters in state.items():
            account = self.account(tuple(path.split("/")) if path else ())
            for name in _METERS:
                setattr(account, name, Meter.of(counters[name]))
            for name in _COUNTS:
                setattr(account, name, counters[name])


def _accounts(node: ShareNode, parent: Account | None) -> Account:
    account = Account(node.name, node.shares, parent, node.default)
    for child in node.children:
        _accounts(child, account)
    return account
