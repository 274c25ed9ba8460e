"""Costs of starts in integer units, and the latest starts within a total cost.

An objective in whole units: what starts cost as integers, so that no digit is lost. Weights are
fractions; their least common denominator makes them whole. The searches compare plans in these
units with Python's integers, which have no limit. The models compute in 64 bits: where the units
are too fine for that, :func:`coarser` drops trailing bits, which gives a lower bound, and says
whether all weights keep nine digits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from ...model.objective import Cost, Objective
from ...model.plan import Plan
from ..availability.demand import Demand

#: Maximum bits of a common denominator; beyond that, units are a power of two such that the
#: smallest weight still has KEPT bits, far more than a printed value can show.
FINEST = 256
KEPT = 128
#: Negative binary exponent of a relative loss that keeps the first nine digits of a weight.
DIGITS = 31


@dataclass(frozen=True, slots=True)
class UnitCost:
    """The cost of the start of one job, in units: base + weight * max(0, start - due)."""

    #: Cost of each second after `due`, in units.
    weight: int
    #: Second from which a start costs more.
    due: int
    #: Cost of a start at or before `due`, in units.
    base: int

    def at(self, start: int) -> int:
        """Return the cost of a start (seconds)."""
        return self.base + self.weight * max(0, start - self.due)

    def latest(self, most: int) -> int | None:
        """Return the latest start that costs at most `most`, which must not be below the base.

        None: any.
        """
        return self.due + (most - self.base) // self.weight if self.weight else None


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of the starts of some jobs under one objective."""

    objective: Objective
    #: Number of units in one unit of the objective.
    unit: Fraction
    jobs: Mapping[str, UnitCost]

    @classmethod
    def of(cls, objective: Objective, demands: Iterable[Demand], now: int) -> Costs:
        """Return the costs of these jobs. Raises InputError for a job that the objective cannot
        weigh.
        """
        costs = {d.job.id: objective.cost(d.job, d.runs, now) for d in demands}
        unit = _common_unit(costs.values())
        jobs = {
            job: UnitCost(math.floor(cost.weight * unit), cost.due, math.floor(cost.base * unit))
            for job, cost in costs.items()
        }
        return cls(objective, unit, jobs)

    @property
    def largest(self) -> bool:
        """Whether the largest cost counts, not the sum of all costs."""
        return self.objective.combination == "largest"

    def total(self, starts: Mapping[str, int]) -> int:
        """Return the sum, or the largest, of the costs of these starts, in units; 0 without any."""
        costs = (self.jobs[job].at(start) for job, start in starts.items())
        return max(costs, default=0) if self.largest else sum(costs)

    def value(self, total: int, count: int) -> float:
        """Return a total of `count` jobs in the objective's own unit."""
        mean = self.objective.combination == "mean"
        return float(total / self.unit / (max(1, count) if mean else 1))

    def within(self, least: Mapping[str, int], total: int) -> Costs:
        """Return equivalent costs for all plans no worse than `total`; no job starts before
        `least`.

        No weight exceeds the maximum loss by more than 1: one second too late is then as bad as one
        second more. Every other plan costs no more than before.
        """
        cheapest = {job: self.jobs[job].at(start) for job, start in least.items()}
        together = sum(cheapest.values())
        jobs = {}
        for job, own in cheapest.items():
            cost = self.jobs[job]
            spare = max(0, total - (own if self.largest else together))
            weight = min(cost.weight, spare + 1)
            jobs[job] = UnitCost(weight, cost.due, own - weight * max(0, least[job] - cost.due))
        return replace(self, jobs=jobs)

    def beyond(self, least: Mapping[str, int]) -> Costs:
        """Return equivalent costs for jobs that cannot start before `least`; the bases include that
        delay.
        """
        jobs = {
            job: UnitCost(cost.weight, max(cost.due, least[job]), cost.at(least[job]))
            for job, cost in self.jobs.items()
        }
        return replace(self, jobs=jobs)

    def latest(self, total: int) -> dict[str, int | None]:
        """Return, for each job, its latest start in a plan with at most this total, or None if any
        start is possible.

        No job costs less than its base (:meth:`beyond`).
        """
        together = sum(cost.base for cost in self.jobs.values())
        found: dict[str, int | None] = {}
        for job, cost in self.jobs.items():
            spare = max(0, total - (cost.base if self.largest else together))
            found[job] = cost.latest(cost.base + spare)
        return found


@dataclass(frozen=True, slots=True)
class Coarser:
    """Numbers truncated by `bits`: `numbers` times two to the `bits` never exceed the original
    numbers.
    """

    numbers: tuple[int, ...]
    bits: int
    #: Whether every number keeps nine digits.
    faithful: bool


def coarser(numbers: Sequence[int], largest: int, most: int) -> Coarser:
    """Return the numbers with as many trailing bits removed as `largest` needs to be below `most`.

    Where any are, no more are kept than make nine digits of the least number.
    """
    bits = max(0, largest.bit_length() - most.bit_length() + 1)
    if bits:
        least = min(number for number in numbers if number)
        bits = max(bits, least.bit_length() - DIGITS - 2)
    cut = tuple(number >> bits for number in numbers)
    lost = (number - (short << bits) for number, short in zip(numbers, cut, strict=True))
    kept = all(loss << DIGITS <= number for loss, number in zip(lost, numbers, strict=True))
    return Coarser(cut, bits, kept)


def in_terms_of(objective: Objective, found: Plan, demands: Iterable[Demand]) -> Plan:
    """Return a plan of a method without an objective, with its value in the objective.

    None if some job has only an estimate. Raises InputError for a job that the objective cannot
    weigh.
    """
    if objective.name == found.objective:
        return found
    placed = {item.job: item.start for item in found.reservations}
    costs = Costs.of(objective, (d for d in demands if d.job.id in placed), found.now)
    starts = {job: start for job, start in placed.items() if start is not None}
    complete = len(starts) == len(placed)
    value = costs.value(costs.total(starts), len(starts)) if complete else None
    return replace(found, objective=objective.name, value=value, bound=None)


def _common_unit(costs: Iterable[Cost]) -> Fraction:
    """Return the coarsest unit in which all weights and bases are integers, unless that unit is too
    fine.
    """
    parts = [part for cost in costs for part in (cost.weight, cost.base) if part]
    if not parts:
        return Fraction(1)
    fine = math.lcm(*(part.denominator for part in parts))
    if fine.bit_length() > FINEST:
        return Fraction(1 << max(0, KEPT + math.ceil(1 / min(parts)).bit_length()))
    return Fraction(fine, math.gcd(*(int(part * fine) for part in parts)))


class Allowance:
    """The remaining part of a total cost. least: no job starts earlier (seconds); most: the total,
    in units.

    Jobs that have no start yet count with the earliest that they could have. So a plan that cannot
    come to the total any more is given up at the first job that starts too late, not at the last.
    """

    def __init__(self, costs: Costs, least: Mapping[str, int], most: int) -> None:
        self._costs = costs
        self._least = least
        self._most = most
        self._left = most - costs.total(least)

    def latest(self, job: str) -> int | None:
        """Return the latest start of a job (seconds) that keeps the total within its limit, or None
        if any start does.
        """
        cost = self._costs.jobs[job]
        if self._costs.largest:
            return cost.latest(self._most)
        return cost.latest(cost.at(self._least[job]) + self._left)

    def spend(self, job: str, start: int) -> None:
        """Charge a start at `start` (seconds) to the total."""
        cost = self._costs.jobs[job]
        self._left -= cost.at(start) - cost.at(self._least[job])
