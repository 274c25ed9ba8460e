"""Usage of Slurm's associations as time goes by, and the fairshare parts of priorities.

Slurm computes both every PriorityCalcPeriod, here counted from second 0: first past usage decays,
then every running job adds what it has used since the last computation. A job that ends adds the
rest at its end. The formula of the factors is that of :mod:`...model.slurm_fairshare`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...model.instance import Instance
from ...model.job import Job
from ...model.resreq import RequirementMerging
from ...model.slurm_fairshare import (
    AssociationTree,
    FairshareRule,
    Shares,
    association_of,
    factors_of,
    fairshare_rule,
    shares_of,
)
from ...model.slurm_partitions import SEVERAL
from ...model.slurm_select import amounts_of, words_of


@dataclass(frozen=True, slots=True)
class BilledJob:
    """What a running job adds to its association."""

    #: Number of the association.
    association: int
    #: Billed TRES in a second.
    rate: float
    #: Second from which it counts.
    since: int


class AssociationUse:
    """Usage of all associations at the last computation, and what running jobs add to it."""

    def __init__(self, instance: Instance, rule: FairshareRule) -> None:
        self.rule = rule
        self.tree = AssociationTree.of(instance.associations)
        #: Usage by number of association, at the last computation, with jobs that finished since.
        self.usage = [item.usage for item in instance.associations]
        #: Second of the last computation.
        self.computed_at = instance.now // rule.period * rule.period
        self._charges: dict[str, BilledJob] = {}
        self._own: dict[tuple[str, str, str], int | None] = {}
        #: Usage by which the factors were computed, and the effective usage of accounts before it.
        self._computed, self._accounts = list(self.usage), dict[int, float]()
        #: Factors that the priorities of the instance contain, until the first computation.
        self._stated = [item.factor for item in instance.associations]
        self._parts = self._weighted()
        self._changed: set[int] = set()
        #: Parts that the priorities of the instance contain.
        self._given = self._parts
        self._billing = Billing(instance)

    def association(self, job: Job) -> int | None:
        """Return the number of the association of a job, None if it has none."""
        key = job.project, job.user, job.queue
        if key not in self._own:
            self._own[key] = association_of(self.tree, job)
        return self._own[key]

    def _weighted(self) -> tuple[int, ...]:
        """Return the part of each association by the last computation."""
        factors = factors_of(self.tree, self._computed, self.rule, self._accounts)
        for number, stated in enumerate(self._stated):
            factors[number] = factors[number] if stated is None else stated
        return tuple(int(self.rule.weight * factor) for factor in factors)

    def shares(self) -> list[Shares]:
        """Return the shares of all associations by the last computation."""
        found = shares_of(self.tree, self._computed, self.rule, self._accounts)
        for number, stated in enumerate(self._stated):
            found[number] = (
                found[number] if stated is None else replace(found[number], factor=stated)
            )
        return found

    def moved(self, job: Job) -> int:
        """Return by how much the priority of a job is higher than in the instance."""
        number = None if job.has_fixed_priority else self.association(job)
        return 0 if number is None else self._parts[number] - self._given[number]

    def started(self, job: Job, allocation: Mapping[str, int], now: int, memory: float) -> None:
        """Record that a job starts on these slots with this many MB."""
        self.advance(now)
        number, rate = self.association(job), self._billing.rate(job, allocation, memory)
        if number is not None and rate:
            self._charges[job.id] = BilledJob(number, rate, now)

    def finished(self, job: str, now: int) -> None:
        """Record that a job ends: its use since the last computation counts now."""
        self.advance(now)
        charge = self._charges.pop(job, None)
        if charge is not None and self.rule.counts_ends:
            self._add(charge, charge.rate * self._decayed(charge, now))

    def resized(self, job: Job, allocation: Mapping[str, int], now: int, memory: float) -> None:
        """Set the slots of a running job."""
        self.advance(now)
        charge = self._charges.get(job.id)
        if charge is not None:
            self._add(charge, charge.rate * self._decayed(charge, now))
            rate = self._billing.rate(job, allocation, memory)
            self._charges[job.id] = replace(charge, rate=rate, since=now)

    def _decayed(self, charge: BilledJob, now: int) -> float:
        """Return the seconds since the last computation that count, decayed as a whole."""
        seconds = max(0, now - max(charge.since, self.computed_at))
        return float(seconds * self.rule.decay**seconds)

    def _add(self, charge: BilledJob, amount: float) -> None:
        for number in self.tree.chain(charge.association):
            self.usage[number] += amount

    def advance(self, now: int) -> None:
        """Compute usage and parts up to `now`."""
        last = now // self.rule.period * self.rule.period
        if last <= self.computed_at:
            return
        self.compute(self.computed_at // self.rule.period * self.rule.period + self.rule.period)
        if last > self.computed_at:
            self._repeat((last - self.computed_at) // self.rule.period - 1)
            self.computed_at = last - self.rule.period
            self.compute(last)
        before, self._parts = self._parts, self._weighted()
        pairs = enumerate(zip(before, self._parts, strict=True))
        self._changed.update(number for number, (old, new) in pairs if old != new)

    def changed(self) -> frozenset[int]:
        """Return the associations whose part has changed since the last call."""
        found, self._changed = frozenset(self._changed), set()
        return found

    def compute(self, now: int) -> None:
        """Make one computation at `now`."""
        if not self.rule.is_fair_tree:
            # The classic formula takes the effective usage of accounts from before.
            found = shares_of(self.tree, self.usage, self.rule)
            self._accounts = {n: item.effective_usage for n, item in enumerate(found)}
        kept = self.rule.decay ** (now - self.computed_at)
        self.usage = [amount * kept for amount in self.usage]
        for charge in self._charges.values():
            self._add(charge, charge.rate * self._decayed(charge, now))
        self.computed_at, self._computed, self._stated = now, list(self.usage), []

    def _repeat(self, count: int) -> None:
        """Make this many computations in which every charge counts a whole period."""
        period = self.rule.period
        kept = self.rule.decay**period
        rates = [0.0] * len(self.usage)
        for charge in self._charges.values():
            for number in self.tree.chain(charge.association):
                rates[number] += charge.rate
        total = kept**count if count else 1.0
        sums = count if kept == 1 else (1 - total) / (1 - kept)
        added = period * kept * sums
        self.usage = [
            amount * total + rate * added for amount, rate in zip(self.usage, rates, strict=True)
        ]

    def next_change(self, now: int, jobs: Iterable[Job]) -> int | None:
        """Return when these jobs may change their order, None if one association has all."""
        numbers: set[int | None] = set()
        for job in jobs:
            numbers.add(None if job.has_fixed_priority else self.association(job))
            if len(numbers) > 1:
                return (now // self.rule.period + 1) * self.rule.period
        return None

    def instance_at(self, instance: Instance) -> Instance:
        """Return an instance of this instant, with usage and the priorities of pending jobs.

        instance: with the running and pending jobs of the last computation or later.
        """
        self.advance(instance.now)
        associations = tuple(
            replace(item, usage=amount, factor=found.factor)
            for item, amount, found in zip(
                instance.associations, self.usage, self.shares(), strict=True
            )
        )
        pending, future = (
            tuple(map(self._as_now, jobs)) for jobs in (instance.pending, instance.future)
        )
        return replace(instance, associations=associations, pending=pending, future=future)

    def _as_now(self, job: Job) -> Job:
        moved = self.moved(job)
        return replace(job, priority=max(1, job.priority + moved)) if moved else job

    def to_state(self) -> dict[str, Any]:
        """Return the state on which later computations depend, as JSON data."""
        return {
            "usage": list(self.usage),
            "computed_at": self.computed_at,
            "computed": list(self._computed),
            "accounts": [[number, used] for number, used in self._accounts.items()],
            "stated": list(self._stated),
            "parts": list(self._parts),
            "given": list(self._given),
            "charges": {
                name: [charge.association, charge.rate, charge.since]
                for name, charge in self._charges.items()
            },
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Take over what :meth:`to_state` gave."""
        self.usage = list(state["usage"])
        self.computed_at = state["computed_at"]
        self._computed, self._stated = list(state["computed"]), list(state["stated"])
        self._accounts = dict(state["accounts"])
        self._parts, self._given = tuple(state["parts"]), tuple(state["given"])
        self._charges = {name: BilledJob(*values) for name, values in state["charges"].items()}


def association_use(instance: Instance) -> AssociationUse | None:
    """Return the usage of Slurm's associations, None if fairshare does not move priorities."""
    params = instance.params
    rule = fairshare_rule(params.select_parameters) if params.scheduler.is_multifactor else None
    return AssociationUse(instance, rule) if rule and instance.associations else None


class JobPriorities:
    """Priorities of pending jobs as they grow with their age and move with fairshare."""

    def __init__(self, instance: Instance) -> None:
        self._params = instance.params
        #: Usage of associations, None if fairshare does not move priorities.
        self.use = association_use(instance)
        #: Jobs whose dependency has been satisfied in the simulation, as jobs that begin then.
        self._eligible: dict[str, Job] = {}

    @property
    def moves(self) -> bool:
        """Return whether any priority changes with time."""
        return self._params.grows_priorities

    def advance(self, now: int) -> None:
        """Compute fairshare up to `now`."""
        if self.use is not None:
            self.use.advance(now)

    def at(self, job: Job, now: int) -> int:
        """Return the priority of a job at `now`, by the last computation of fairshare."""
        grown = self._params.priority_at(self._eligible.get(job.id, job), now)
        if self.use is None or job.has_fixed_priority:
            return grown
        return max(1, grown + self.use.moved(job))

    def next_growth(self, job: Job, now: int) -> int | None:
        """Return when the priority of a job grows next with its age, None if it stays."""
        return self._params.next_growth(self._eligible.get(job.id, job), now)

    def released(self, job: Job, time: int) -> None:
        """Record that the dependency of a job is satisfied: the age of a job of Slurm counts from
        then on.
        """
        if self._params.scheduler.is_multifactor and job.dependency:
            begin = time if job.begin is None else max(time, job.begin)
            self._eligible[job.id] = replace(job, begin=begin)


class Billing:
    """TRES that jobs are billed for: CPUs, or the weighted ones of their partition."""

    def __init__(self, instance: Instance) -> None:
        self._weights = billing_weights(instance)
        self._levels = RequirementMerging.of(instance) if self._weights else None
        rule = fairshare_rule(instance.params.select_parameters)
        self._flags = frozenset() if rule is None else rule.flags

    def rate(self, job: Job, allocation: Mapping[str, int], memory: float) -> float:
        """Return the billed TRES of a job in a second."""
        weights = self._weights.get(job.queue.partition(SEVERAL)[0])
        slots = float(sum(allocation.values()))
        if weights is None:
            return slots
        amounts = {"cpu": slots, "node": float(len(allocation)), "mem": memory}
        billed = {name: weights.get(name, 0.0) * amount for name, amount in amounts.items()}
        gpus = weights.get("gres/gpu", 0.0) * (self._gpus(job, allocation) if job.gpu else 0)
        if "MAX_TRES" in self._flags:
            return max(*billed.values(), gpus)
        if "MAX_TRES_GRES" in self._flags:
            return max(billed.values()) + gpus
        return sum(billed.values()) + gpus

    def _gpus(self, job: Job, allocation: Mapping[str, int]) -> int:
        assert self._levels is not None, "there are weights"
        return sum(self._levels.gpus_held(job, slots) for slots in allocation.values())


def billing_weights(instance: Instance) -> dict[str, dict[str, float]]:
    """Return TRESBillingWeights by partition; without an entry, CPUs are billed."""
    return {
        partition: amounts_of(words["TRESBillingWeights"])
        for partition, words in words_of(instance.params.select_parameters).items()
        if "TRESBillingWeights" in words
    }
