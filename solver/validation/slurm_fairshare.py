"""Fairshare of Slurm over a simulated schedule, computed period by period from its records.

It shares no code with the scheduler, nor with the import: every period is gone through by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...model.instance import Instance
from ...model.job import Job
from .schedule import HeldStretch

#: Periods times stretches that are gone through; beyond, only jobs of one association are compared.
_MOST = 3_000_000


@dataclass(frozen=True, slots=True)
class _Rule:
    weight: int
    decay: float
    period: int
    damping: int
    flags: frozenset[str]
    ends_count: bool

    @classmethod
    def of(cls, instance: Instance) -> _Rule | None:
        """Read off the words of an instance, None if fairshare does not count."""
        pairs = (word.split("=", 1) for word in instance.params.select_parameters.split(","))
        words = {pair[0]: pair[1] for pair in pairs if len(pair) == 2}
        weight = int(words.get("PriorityWeightFairshare", "0"))
        if not weight or not instance.associations or instance.params.family != "Slurm":
            return None
        half_life = int(words.get("PriorityDecayHalfLife", "604800"))
        return cls(
            weight,
            1 - 0.693 / half_life if half_life else 1.0,
            int(words.get("PriorityCalcPeriod", "300")),
            int(words.get("FairShareDampeningFactor", "1")),
            frozenset(words.get("PriorityFlags", "").split("+")),
            words.get("AccountingStorageEnforce", "limits") == "limits",
        )


class FairshareOverTime:
    """Fairshare parts of priorities at any time of a schedule."""

    def __init__(self, instance: Instance, stretches: Sequence[HeldStretch]) -> None:
        self._rule = _Rule.of(instance)
        self._items = instance.associations
        self._runs = stretches
        self._begin = instance.now
        self._usage = [[item.usage for item in self._items]]
        #: Effective usage of accounts by the computation before (classic formula).
        self._late: list[dict[int, float]] = [{}]
        self._parts: dict[int, list[float]] = {}
        self._below: dict[int, tuple[int, ...]] = {}
        self._number = {
            (item.account, item.user, item.partition): n for n, item in enumerate(self._items)
        }

    @classmethod
    def across_users(
        cls, instance: Instance, stretches: Sequence[HeldStretch], until: int
    ) -> FairshareOverTime | None:
        """Return the parts by which jobs of several users are compared, None if they are not.

        Other rules by user or account, billing by other than CPUs, or a very long schedule: None.
        """
        rule = _Rule.of(instance)
        others = instance.limits or instance.users or instance.groups or instance.job_groups
        if rule is None or others or "TRESBillingWeights" in instance.params.select_parameters:
            return None
        periods = max(0, until - instance.now) // rule.period + 1
        return cls(instance, stretches) if periods * len(stretches) <= _MOST else None

    def moved(self, job: Job, time: int) -> float:
        """Return by how much the priority of a job has moved since the instance's now."""
        number = self._of(job)
        if self._rule is None or number is None or job.has_fixed_priority:
            return 0.0
        place = time // self._rule.period - self._begin // self._rule.period
        return self._at(max(0, place))[number] - self._at(0)[number]

    def _of(self, job: Job) -> int | None:
        account = job.project.split("/")[0]
        own = self._number.get((account, job.user, job.queue))
        return self._number.get((account, job.user, "")) if own is None else own

    def _above(self, number: int) -> int | None:
        item = self._items[number]
        if item.account == "root" and not item.user:
            return None
        return self._number.get((item.account if item.user else item.parent, "", ""), self._root)

    @property
    def _root(self) -> int:
        return self._number[("root", "", "")]

    def _at(self, place: int) -> list[float]:
        """Return the part of each association after this many periods."""
        while len(self._usage) <= place:
            self._next()
        if place not in self._parts:
            factors = self._factors(self._usage[place], self._late[place])
            if not place:  # present priorities contain the factors that Slurm printed
                stated = (item.factor for item in self._items)
                factors = [
                    own if given is None else given
                    for own, given in zip(factors, stated, strict=True)
                ]
            assert self._rule is not None, "it counts"
            self._parts[place] = [float(int(self._rule.weight * value)) for value in factors]
        return self._parts[place]

    def _next(self) -> None:
        """Add the usage of one period more."""
        rule = self._rule
        assert rule is not None, "it counts"
        first = (self._begin // rule.period + len(self._usage) - 1) * rule.period
        last = first + rule.period
        before, ends = self._usage[-1], [0.0] * len(self._items)
        after = [used * rule.decay**rule.period for used in before]
        for run in self._runs:
            number = self._of(run.job)
            finished = run.end is not None and run.end < last
            if number is None or run.start >= last or (finished and not rule.ends_count):
                continue
            until = last if run.end is None else min(last, run.end)
            seconds = max(0, until - max(first, run.start))
            amount = seconds * rule.decay**seconds * sum(run.allocation.values())
            at: int | None = number
            while at is not None:
                after[at] += amount * (rule.decay**rule.period if finished else 1.0)
                ends[at] += amount if finished else 0.0
                at = self._above(at)
        self._usage.append(after)
        known = [one + other for one, other in zip(before, ends, strict=True)]
        classic = "NO_FAIR_TREE" in rule.flags
        self._late.append(self._effective(known, {}) if classic else {})

    def _level(self, number: int) -> tuple[int, ...]:
        """Return the associations below an account; those of a child without shares are its own."""
        if number in self._below:
            return self._below[number]
        found: list[int] = []
        for other in range(len(self._items)):
            above = self._above(other)
            while above is not None and self._items[above].shares is None and above != self._root:
                above = self._above(above)
            if above == number:
                found.append(other)
        self._below[number] = tuple(found)
        return self._below[number]

    def _factors(self, usage: Sequence[float], late: Mapping[int, float]) -> list[float]:
        rule = self._rule
        assert rule is not None, "it counts"
        if "NO_FAIR_TREE" in rule.flags:
            return self._by_formula(usage, late, rule.damping)
        found = [0.0] * len(self._items)
        users = sum(bool(item.user) for item in self._items)
        rank = users
        for place, (number, tied) in enumerate(self._walk(self._root, usage, tied=False)):
            rank = rank if tied else users - place
            found[number] = rank / users
        return found

    def _walk(
        self, account: int, usage: Sequence[float], *, tied: bool
    ) -> Iterator[tuple[int, bool]]:
        """Yield the users below an account by LevelFS, and whether each equals the one before."""
        below = self._level(account)
        total = sum(self._items[number].shares or 0 for number in below)
        levels: dict[int, float] = {}
        for number in below:
            item = self._items[number]
            part = usage[number] / usage[account] if usage[account] else 0.0
            if item.shares is None:
                levels[number] = math.inf if item.user else 2.0**32 - 2
            elif not item.shares or not total:
                levels[number] = 0.0
            else:
                levels[number] = item.shares / total / part if part else math.inf
        last: float | None = None
        for place, number in enumerate(
            sorted(below, key=lambda n: (-levels[n], not self._items[n].user))
        ):
            equal = tied if tied and not place else last == levels[number]
            if self._items[number].user:
                yield number, equal
            else:
                yield from self._walk(number, usage, tied=equal)
            last = levels[number]

    def _effective(self, usage: Sequence[float], late: Mapping[int, float]) -> dict[int, float]:
        """Return the effective usage of each association, of the classic formula."""
        whole = usage[self._root]
        found = {self._root: 1.0}
        for account, below, total in self._downwards():
            for number in below:
                item = self._items[number]
                own = min(1.0, usage[number] / whole) if whole else 0.0
                if account == self._root:
                    value = own
                elif item.shares is None or not total:
                    value = found[account]
                else:
                    value = own + (found[account] - own) * item.shares / total
                found[number] = value if item.user else late.get(number, value)
        return found

    def _downwards(self) -> Iterator[tuple[int, Sequence[int], int]]:
        """Yield each account before those below it, with these and the sum of their shares."""
        todo = [self._root]
        while todo:
            account = todo.pop()
            below = self._level(account)
            yield account, below, sum(self._items[number].shares or 0 for number in below)
            todo += [number for number in below if not self._items[number].user]

    def _by_formula(
        self, usage: Sequence[float], late: Mapping[int, float], damping: int
    ) -> list[float]:
        effective = self._effective(usage, late)
        found = [0.0] * len(self._items)
        norm = {self._root: 1.0}
        for account, below, total in self._downwards():
            for number in below:
                shares = self._items[number].shares
                own = account if shares is None else number
                norm[number] = norm[account]
                if shares is not None:
                    norm[number] *= shares / total if total else 0.0
                if norm[own] > 0:
                    found[number] = 2 ** -(effective[own] / norm[own] / damping)
        return found
