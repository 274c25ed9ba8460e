"""What a plan may minimise: one class an objective, one registry, known to every part.

An objective says what a start costs a job, as data (:class:`Cost`): the searches, the pool of
processors, the CP-SAT model and the integer program all read that and nothing else, so that an
objective added here works in each of them. The judge (:mod:`slotwise.solver.validation.claims`)
has a formula of its own for each and refuses a plan whose objective it does not know.
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

#: Names as users write them.
ObjectiveName: TypeAlias = Literal[
    "lexicographic", "weighted", "total-start", "makespan", "slowdown", "tardiness"
]
#: How the costs of the jobs make one number.
Combination: TypeAlias = Literal["sum", "mean", "largest"]

#: Run times below this count as this in the bounded slowdown (seconds).
SLOWDOWN_THRESHOLD = 10
#: A weight is read as a fraction with a denominator up to this where that is the same number.
PLAIN = 10**6


@dataclass(frozen=True, slots=True)
class Cost:
    """What a start costs one job: base + weight * max(0, start - due); weight is 0 or more.

    start, due: seconds from the instance's origin. A later start never costs less.
    """

    weight: Fraction
    due: int
    base: Fraction = Fraction(0)

    def at(self, start: int) -> Fraction:
        """The cost of a start."""
        return self.base + self.weight * max(0, start - self.due)


class Objective(ABC):
    """One thing to minimise. A later start never makes it smaller."""

    name: ClassVar[ObjectiveName]
    meaning: ClassVar[str]
    #: How the jobs' costs make the value.
    combination: ClassVar[Combination] = "sum"
    #: -t is a due date, which jobs may miss.
    due_dates: ClassVar[bool] = False
    #: Jobs are not traded against each other: the start of every job is minimised in dispatch
    #: order, by methods of its own.
    in_order: ClassVar[bool] = False

    @abstractmethod
    def cost(self, job: Job, duration: int | None, now: int) -> Cost:
        """What the job's starts cost; duration: seconds until its end, None where unknown.

        Raises InputError for a job that the objective cannot weigh.
        """

    def value(self, costs: Collection[Fraction]) -> Fraction:
        """The objective of a plan from the costs of its jobs; 0 without jobs."""
        if not costs:
            return Fraction(0)
        if self.combination == "largest":
            return max(costs)
        total = sum(costs, Fraction(0))
        return total / len(costs) if self.combination == "mean" else total


class TotalStart(Objective):
    """All jobs alike."""

    name = "total-start"
    meaning = "sum of the seconds from now to each start"

    def cost(self, job: Job, duration: int | None, now: int) -> Cost:
        return Cost(Fraction(1), now)


class Lexicographic(Objective):
    """The default; its value is the total start."""

    name = "lexicographic"
    meaning = "every start in turn, in dispatch order"
    in_order = True

    def cost(self, job: Job, duration: int | None, now: int) -> Cost:
        return Cost(Fraction(1), now)


class Weighted(Objective):
    """Jobs by their weights."""

    name = "weighted"
    meaning = "sum of weight times the seconds from now to the start"

    def cost(self, job: Job, duration: int | None, now: int) -> Cost:
        return Cost(weight_of(job), now)


class Makespan(Objective):
    """A job without a known end counts by its start."""

    name = "makespan"
    meaning = "seconds from now to the last end"
    combination = "largest"

    def cost(self, job: Job, duration: int | None, now: int) -> Cost:
        return Cost(Fraction(1), now, base=Fraction(duration or 0))


class Slowdown(Objective):
    """(wait + run) / run, never below one, run times below 10 s counting as 10 s."""

    name = "slowdown"
    meaning = "mean bounded slowdown"
    combination = "mean"

    def cost(self, job: Job, duration: int | None, now: int) -> Cost:
        ran = max(duration or 0, SLOWDOWN_THRESHOLD)
        return Cost(Fraction(1, ran), job.submit + ran - (duration or 0), base=Fraction(1))


class Tardiness(Objective):
    """Jobs without a deadline cost nothing."""

    name = "tardiness"
    due_dates = True
    meaning = "sum of weight times the seconds that an end lies after its deadline"

    def cost(self, job: Job, duration: int | None, now: int) -> Cost:
        if job.deadline is None:
            return Cost(Fraction(0), now)
        return Cost(weight_of(job), job.deadline - (duration or 0))


_REGISTRY: dict[str, Objective] = {}


def register(objective: Objective) -> None:
    """Make an objective known everywhere.

    Raises ValueError for a name that is taken and a combination that nothing knows.
    """
    if objective.combination not in get_args(Combination):
        text = f"objective {objective.name!r} combines costs by {objective.combination!r}"
        raise ValueError(f"{text}: use one of {', '.join(get_args(Combination))}")
    if objective.name in _REGISTRY:
        raise ValueError(f"objective {objective.name!r} is registered twice")
    _REGISTRY[objective.name] = objective


def forget(name: str) -> None:
    """Take an objective out again. Raises KeyError for an unknown one."""
    del _REGISTRY[name]


def objectives() -> Mapping[str, Objective]:
    """All objectives by name, the default first."""
    return dict(_REGISTRY)


def takes_due_dates(objective: str, method: str) -> bool:
    """Whether a plan of this objective and method takes -t for a due date, which jobs may miss."""
    aim = _REGISTRY.get(objective)
    return aim is not None and aim.due_dates and method in ("optimal", "milp")


def objective_named(name: str) -> Objective:
    """The objective of that name. Raises UnknownNameError for an unknown one."""
    if name not in tuple(_REGISTRY):  # whatever it is: a list has no hash
        raise UnknownNameError.among("objective", name, _REGISTRY)
    return _REGISTRY[name]


def weight_of(job: Job) -> Fraction:
    """The job's weight without loss: as the short fraction it was meant as, else as written.

    0.3333333333333333 is a third, 40632408.41 is 4063240841/100. Raises InputError for a weight
    that is negative or no number.
    """
    if not 0 <= job.weight < math.inf:
        raise InputError(f"job {job.id}: weight {job.weight} is not a number of 0 or more")
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
