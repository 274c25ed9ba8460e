"""Objectives of plans: one class for each, and one registry.

An objective gives the cost of each start as data (:class:`Cost`), which the searches, the pool of
processors, the CP-SAT model and the integer program use. So an objective added here works in each
of them. The validator (:mod:`slotwise.solver.validation.claims`) has its own formula for each and
rejects a plan with an unknown objective.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, TypeAlias, get_args

from .errors import InputError, UnknownNameError
from .job import Job

#: Names of objectives for users.
ObjectiveName: TypeAlias = Literal[
    "lexicographic", "weighted", "total-start", "makespan", "slowdown", "tardiness"
]
#: Function that combines the costs of the jobs.
Combination: TypeAlias = Literal["sum", "mean", "largest"]

#: Run time in seconds that replaces shorter ones in the bounded slowdown.
SLOWDOWN_THRESHOLD = 10
#: Largest denominator of a weight that is read as a short fraction.
PLAIN = 10**6


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of the start of one job: base + weight * max(0, start - due), with weight >= 0.

    start, due: seconds from the instance's origin. A later start never costs less.
    """

    #: Cost of each second after `due`.
    weight: Fraction
    #: Instant in seconds from the origin until which the start costs only `base`.
    due: int
    #: Cost of a start at `due` or earlier.
    base: Fraction = Fraction(0)

    def at(self, start: int) -> Fraction:
        """Return the cost of a start."""
        return self.base + self.weight * max(0, start - self.due)


class Objective(ABC):
    """Base class of objectives to minimise. A later start never reduces the value."""

    #: Name in plans and options.
    name: ClassVar[ObjectiveName]
    #: Meaning of the value, for summaries.
    meaning: ClassVar[str]
    #: Function that combines the costs of the jobs.
    combination: ClassVar[Combination] = "sum"
    #: Whether -t is a due date that jobs may miss.
    due_dates: ClassVar[bool] = False
    #: Whether the start of every job is minimised in dispatch order, without trade-offs between
    #: jobs, by separate methods.
    in_order: ClassVar[bool] = False

    @abstractmethod
    def cost(self, job: Job, duration: int | None, now: int) -> Cost:
        """Return the cost of the job's starts; duration: seconds until its end, None if unknown.

        Raises InputError for a job that the objective cannot weigh.
        """

    def value(self, costs: Collection[Fraction]) -> Fraction:
        """Return the value of a plan from the costs of its jobs; 0 without jobs."""
        if not costs:
            return Fraction(0)
        if self.combination == "largest":
            return max(costs)
        total = sum(costs, Fraction(0))
        return total / len(costs) if self.combination == "mean" else total


class TotalStart(Objective):
    """The sum of all starts."""

    name = "total-start"
    meaning = "sum of the seconds from now to each start"

    def cost(self, job: Job, duration: int | None, now: int) -> Cost:
        return Cost(Fraction(1), now)


class Lexicographic(Objective):
    """The default: earliest starts in dispatch order. Its value is the sum of all starts."""

    name = "lexicographic"
    meaning = "every start in turn, in dispatch order"
    in_order = True

    def cost(self, job: Job, duration: int | None, now: int) -> Cost:
        return Cost(Fraction(1), now)


class Weighted(Objective):
    """The sum of all starts, weighted by job."""

    name = "weighted"
    meaning = "sum of weight times the seconds from now to the start"

    def cost(self, job: Job, duration: int | None, now: int) -> Cost:
        return Cost(weight_of(job), now)


class Makespan(Objective):
    """The latest end of a job; a job without a known end counts by its start."""

    name = "makespan"
    meaning = "seconds from now to the last end"
    combination = "largest"

    def cost(self, job: Job, duration: int | None, now: int) -> Cost:
        return Cost(Fraction(1), now, base=Fraction(duration or 0))


class Slowdown(Objective):
    """Bounded slowdown: (wait + run) / run, at least one; run times below 10 s count as 10 s."""

    name = "slowdown"
    meaning = "mean bounded slowdown"
    combination = "mean"

    def cost(self, job: Job, duration: int | None, now: int) -> Cost:
        ran = max(duration or 0, SLOWDOWN_THRESHOLD)
        return Cost(Fraction(1, ran), job.submit + ran - (duration or 0), base=Fraction(1))


class Tardiness(Objective):
    """Time by which jobs end after their deadlines; jobs without a deadline cost nothing."""

    name = "tardiness"
    due_dates = True
    meaning = "sum of weight times the seconds that an end lies after its deadline"

    def cost(self, job: Job, duration: int | None, now: int) -> Cost:
        if job.deadline is None:
            return Cost(Fraction(0), now)
        return Cost(weight_of(job), job.deadline - (duration or 0))


_REGISTRY: dict[str, Objective] = {}


def register(objective: Objective) -> None:
    """Add an objective to the registry.

    Raises ValueError for a name in use and for an unknown combination.
    """
    if objective.combination not in get_args(Combination):
        raise UnknownNameError.among("combination", objective.combination, get_args(Combination))
    if objective.name in _REGISTRY:
        raise ValueError(
            f"objective {objective.name!r} is already registered: choose another name, or "
            f"remove the first one with forget()"
        )
    _REGISTRY[objective.name] = objective


def forget(name: str) -> None:
    """Remove an objective from the registry; raises KeyError for an unknown one."""
    del _REGISTRY[name]


def objectives() -> Mapping[str, Objective]:
    """Return all objectives by name, the default first."""
    return dict(_REGISTRY)


def takes_due_dates(objective: str, method: str) -> bool:
    """Return whether plans of this objective and method take -t as a due date that jobs may
    miss.
    """
    aim = _REGISTRY.get(objective)
    return aim is not None and aim.due_dates and method in ("optimal", "milp")


def objective_named(name: str) -> Objective:
    """Return the objective of that name; raises UnknownNameError."""
    if name not in tuple(_REGISTRY):  # The name may be of any type; a list has no hash.
        raise UnknownNameError.among("objective", name, _REGISTRY)
    return _REGISTRY[name]


def weight_of(job: Job) -> Fraction:
    """Return the exact weight of a job: a short fraction if it equals one, else its decimal digits.

    0.3333333333333333 is a third, 40632408.41 is 4063240841/100. Raises InputError for a weight
    that is negative or no number.
    """
    if not 0 <= job.weight < math.inf:
        raise InputError(f"job {job.id}: weight must be a number of 0 or more, not {job.weight}")
    written = Fraction(repr(float(job.weight)))
    plain = written.limit_denominator(PLAIN)
    return plain if float(plain) == float(job.weight) else written


for _objective in (
    Lexicographic(),
    Weighted(),
    TotalStart(),
    Makespan(),
    Slowdown(),
    Tardiness(),
):
    register(_objective)
