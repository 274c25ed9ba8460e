"""The pure time problem: pending jobs on one pool of processors, its profile, orders and plans."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt


class StepProfile:
    """Free processors over time as two parallel lists; the last value holds without end."""

    __slots__ = ("free", "times")

    def __init__(self, times: list[int], free: list[int]) -> None:
        self.times = times
        self.free = free

    def equals(self, other: StepProfile) -> bool:
        """Whether two profiles have the same free processors at every instant."""
        return self.times == other.times and self.free == other.free

    def copy(self) -> StepProfile:
        return StepProfile(self.times.copy(), self.free.copy())

    def earliest(self, size: int, duration: int, first: int = 0) -> int:
        """Return the earliest start >= first at which ``size`` processors stay free for
        ``duration`` seconds.
        """
        return self._find(size, duration, first)[0]

    def _find(self, size: int, duration: int, first: int) -> tuple[int, int, int]:
        """Return the start, the index of its step, and the index of the first step at or after its
        end.
        """
        times, free = self.times, self.free
        count = len(times)
        begin = bisect_right(times, first) - 1 if first else 0
        while True:
            while free[begin] < size:
                begin += 1
            start = times[begin]
            if start < first:
                start = first
            end = start + duration
            after = begin + 1
            while after < count and times[after] < end:
                if free[after] < size:
                    break
                after += 1
            else:
                return start, begin, after
            begin = after + 1

    def place(self, size: int, duration: int, first: int = 0) -> int:
        """Reserve processors at the earliest possible start and return this start."""
        start, begin, after = self._find(size, duration, first)
        times, free = self.times, self.free
        end = start + duration
        if after == len(times) or times[after] != end:
            times.insert(after, end)
            free.insert(after, free[after - 1])
        if times[begin] != start:
            begin += 1
            after += 1
            times.insert(begin, start)
            free.insert(begin, free[begin - 1])
        for step in range(begin, after):
            free[step] -= size
        return start


Ints: TypeAlias = npt.NDArray[np.int64]
SmallInts: TypeAlias = npt.NDArray[np.int32]
Floats: TypeAlias = npt.NDArray[np.float64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Objective: TypeAlias = Literal["starts", "makespan"]
Status: TypeAlias = Literal["proved", "gap"]

#: No start may cost a job more than this, so that sums of costs and prices stay within 64 bits.
MAX_COST = 1 << 56
#: Number of price units per unit of cost, if that keeps prices within MAX_COST.
SCALE = 1 << 16


def _ints(values: npt.ArrayLike) -> Ints:
    array = np.array(values, dtype=np.int64)
    array.setflags(write=False)
    return array


@dataclass(frozen=True)
class PoolProblem:
    """Jobs 0..N-1 and the capacity that they share; all times are integer seconds after now.

    ``times`` (K,) strictly increasing from 0 and ``free`` (K,) >= 0: ``free[k]`` processors are
    free over [times[k], times[k+1]), the last value without end. ``sizes`` (N,) >= 1,
    ``durations`` (N,) >= 1, ``earliest`` (N,) first allowed starts, ``weights`` (N,) >= 0, ``due``
    (N,) the start after which lateness is counted. The value of a plan is

    * ``starts``:   sum of weight * max(0, start - due); with due 0 the weighted sum of starts, with
      due = deadline - duration the weighted tardiness, with due = bound - waited - duration the
      bounded
      slowdown up to a constant;
    * ``makespan``: the last end (0 without jobs); weights and due play no part.

    Raises ValueError where an array has the wrong form, a job can never run, or the cost of a start
    up to the horizon is far above ``MAX_COST``.

    The problem has no hosts and no placement: a job of size p uses p processors over [s, s+d), and
    the number of free processors is a step function of time. It is exact for clusters that allocate
    single processors, and its optimum (of the *aggregated relaxation*) is a valid bound for every
    cluster on which placement matters.
    """

    times: Ints
    free: Ints
    sizes: Ints
    durations: Ints
    earliest: Ints
    weights: Ints
    due: Ints
    objective: Objective = "starts"

    @classmethod
    def build(
        cls,
        times: npt.ArrayLike,
        free: npt.ArrayLike,
        sizes: npt.ArrayLike,
        durations: npt.ArrayLike,
        *,
        earliest: npt.ArrayLike | None = None,
        weights: npt.ArrayLike | None = None,
        due: npt.ArrayLike | None = None,
        objective: Objective = "starts",
    ) -> PoolProblem:
        """Return the problem with the defaults: earliest start 0, weight 1, due date 0."""
        count = len(np.atleast_1d(np.asarray(sizes)))
        return cls(
            _ints(times),
            _ints(free),
            _ints(sizes),
            _ints(durations),
            _ints(np.zeros(count) if earliest is None else earliest),
            _ints(np.ones(count) if weights is None else weights),
            _ints(np.zeros(count) if due is None else due),
            objective,
        )

    def __post_init__(self) -> None:
        problems = []
        if len(self.times) == 0 or self.times[0] != 0 or np.any(np.diff(self.times) <= 0):
            problems.append("times must increase strictly from 0")
        if len(self.free) != len(self.times) or np.any(self.free < 0):
            problems.append("free must hold one value >= 0 for each of times")
        fields = (self.durations, self.earliest, self.weights, self.due)
        if any(len(array) != len(self.sizes) for array in fields):
            problems.append("sizes, durations, earliest, weights and due must be equally long")
        if np.any(self.sizes < 1) or np.any(self.durations < 1):
            problems.append("sizes and durations must be at least 1")
        if np.any(self.earliest < 0) or np.any(self.weights < 0):
            problems.append("earliest and weights must not be negative")
        if not problems and len(self.sizes) and self.sizes.max() > self.free[-1]:
            late = np.flatnonzero(self.sizes > self.free[-1]).tolist()
            problems.append(f"jobs {late} request more than the {self.free[-1]} finally free")
        # The remaining problem of a partial plan may extend a little beyond the horizon.
        if not problems and self.dearest > 4 * MAX_COST:
            problems.append(f"a start may cost {self.dearest}: use weights of fewer digits")
        if problems:
            raise ValueError("pool problem: " + "; ".join(problems))

    def __len__(self) -> int:
        return len(self.sizes)

    def profile(self) -> StepProfile:
        """Return the profile before any pending job is placed."""
        return StepProfile(self.times.tolist(), self.free.tolist())

    def value(self, starts: npt.ArrayLike) -> int:
        """Return the objective value of a plan, given the start of each job."""
        begin = np.asarray(starts, dtype=np.int64)
        if len(begin) == 0:
            return 0
        if self.objective == "makespan":
            return int((begin + self.durations).max())
        # The sum over all jobs may need more than 64 bits.
        costs: list[int] = (self.weights * np.maximum(0, begin - self.due)).tolist()
        return sum(costs)

    @cached_property
    def horizon(self) -> int:
        """Return the last second at which a left-shifted plan can start a job."""
        if not len(self):
            return int(self.times[-1])
        work = sum(int(duration) for duration in self.durations)
        return max(int(self.times[-1]), int(self.earliest.max())) + work

    @cached_property
    def dearest(self) -> int:
        """Return the largest cost of the start of one job up to the horizon."""
        if self.objective == "makespan":
            return self.horizon
        pairs = zip(self.weights.tolist(), self.due.tolist(), strict=True)
        return max((weight * max(0, self.horizon - due) for weight, due in pairs), default=0)

    @cached_property
    def scale(self) -> int:
        """Return the number of price units per unit of cost."""
        scale = SCALE
        while scale > 1 and scale * self.dearest > MAX_COST:
            scale >>= 1
        return scale

    def select(self, jobs: Ints) -> PoolProblem:
        """Return the problem with only these jobs, in this order."""
        return PoolProblem(
            self.times,
            self.free,
            _ints(self.sizes[jobs]),
            _ints(self.durations[jobs]),
            _ints(self.earliest[jobs]),
            _ints(self.weights[jobs]),
            _ints(self.due[jobs]),
            self.objective,
        )

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Return the groups of identical jobs, in order of the first member of each group."""
        found: dict[tuple[int, int, int, int, int], list[int]] = {}
        rows = np.stack((self.sizes, self.durations, self.earliest, self.weights, self.due), axis=1)
        for job, row in enumerate(rows.tolist()):
            found.setdefault((row[0], row[1], row[2], row[3], row[4]), []).append(job)
        return tuple(Group(*key, tuple(jobs)) for key, jobs in found.items())

    @cached_property
    def large(self) -> list[int]:
        """Return the jobs that need more than half of the processors, the largest first; no two of
        these jobs run side by side.
        """
        large = np.flatnonzero(2 * self.sizes > self.free.max())
        order = np.argsort(-self.sizes[large], kind="stable")
        return [int(job) for job in large[order]]

    @cached_property
    def alone(self) -> Ints:
        """Return the earliest start of each job without other pending jobs, a valid lower bound of
        its start.
        """
        profile = self.profile()
        starts = [
            profile.earliest(size, duration, first)
            for size, duration, first in zip(
                self.sizes.tolist(), self.durations.tolist(), self.earliest.tolist(), strict=True
            )
        ]
        return _ints(starts)


@dataclass(frozen=True, slots=True)
class Group:
    """A group of identical jobs; ``members`` are their indices, ascending."""

    #: Processors of each job.
    size: int
    #: Seconds of each job.
    duration: int
    #: Earliest start in seconds.
    earliest: int
    #: Cost of each second after `due`.
    weight: int
    #: Second from which a start costs more.
    due: int
    members: tuple[int, ...]

    @property
    def count(self) -> int:
        return len(self.members)


@dataclass(frozen=True, slots=True)
class PoolProgress:
    """One entry of the search history: after ``seconds``, the best value and bound."""

    seconds: float
    #: Value of the incumbent.
    value: int
    #: Lower bound on the value.
    bound: int


@dataclass(frozen=True)
class PoolResult:
    """A plan, its objective value and a bound of the optimum.

    ``starts`` (N,) seconds; ``bound`` <= optimum <= ``value``; ``status`` is ``proved`` iff they
    meet. ``earliest`` (N,): no plan at all starts job j before ``earliest[j]``.
    """

    starts: Ints
    value: int
    bound: int
    earliest: Ints
    status: Status
    #: Values and bounds over time.
    history: tuple[PoolProgress, ...] = field(default=())

    @property
    def gap(self) -> float:
        """Return (value - bound) / value, 0 if the plan is proved optimal."""
        return 0.0 if self.value == self.bound else (self.value - self.bound) / max(1, self.value)


class Decoder:
    """The decoder of job orders of one problem into plans.

    The decoder is the serial schedule-generation scheme: jobs are placed one by one, each at its
    earliest start in the capacity that earlier jobs left. For an objective that never improves by a
    later start, some order gives an optimal plan (Kolisch 1996).
    """

    def __init__(self, problem: PoolProblem) -> None:
        self._profile = problem.profile()
        self._jobs: list[tuple[int, int, int]] = list(
            zip(
                problem.sizes.tolist(),
                problem.durations.tolist(),
                problem.earliest.tolist(),
                strict=True,
            )
        )

    def starts(self, order: Iterable[int]) -> list[int]:
        """Return the start of each job in the sequence of the order."""
        place, jobs = self._profile.copy().place, self._jobs
        return [place(*jobs[job]) for job in order]

    def plan(self, order: Sequence[int]) -> Ints:
        """Return the starts (N,) by job index."""
        import numpy as np

        starts = np.zeros(len(order), dtype=np.int64)
        starts[np.asarray(order, dtype=np.int64)] = self.starts(order)
        return starts


Rule = Callable[[PoolProblem], Floats]


def _weights(problem: PoolProblem) -> Floats:
    return np.maximum(problem.weights, 1e-9).astype(float)


RULES: dict[str, Rule] = {
    "first-come": lambda p: np.arange(len(p), dtype=float),
    "shortest": lambda p: p.durations / _weights(p),
    "smallest-area": lambda p: p.durations * p.sizes / _weights(p),
    "narrowest": lambda p: p.sizes / _weights(p),
    "widest": lambda p: -p.sizes.astype(float),
    "longest": lambda p: -p.durations.astype(float),
    "largest-area": lambda p: -(p.durations * p.sizes).astype(float),
    "earliest-due": lambda p: p.due.astype(float),
    "short-then-narrow": lambda p: p.durations * np.sqrt(p.sizes) / _weights(p),
    "narrow-then-short": lambda p: np.sqrt(p.durations) * p.sizes / _weights(p),
}


def rule_order(problem: PoolProblem, rule: str) -> list[int]:
    """Return the jobs ordered by a rule of ``RULES``, ties in order of submission."""
    return [int(job) for job in np.argsort(RULES[rule](problem), kind="stable")]


def best_rule(problem: PoolProblem) -> tuple[int, list[int]]:
    """Return the value and the order of the best rule."""
    decoder = Decoder(problem)
    orders = [rule_order(problem, rule) for rule in RULES]
    values = [problem.value(decoder.plan(order)) for order in orders]
    best = int(np.argmin(values))
    return values[best], orders[best]
