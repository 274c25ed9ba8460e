"""The best plan and the best bound so far, shared by those who look for better ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .problem import Ints, PoolProblem
from .relax import PoolBound


class Incumbent:
    """``value`` of ``starts``, the best plan; ``bound`` <= optimum. ``changed`` is called when
    either moves."""

    def __init__(self, problem: PoolProblem, starts: Ints, bound: int) -> None:
        self.problem = problem
        self.starts = starts
        self.value = problem.value(starts)
        self.bound = min(bound, self.value)
        self.changed: Callable[[], None] = lambda: None

    @property
    def proved(self) -> bool:
        return self.bound >= self.value

    @property
    def last(self) -> int:
        """The last start of the best plan."""
        return int(self.starts.max())

    def offer(self, starts: Ints) -> bool:
        """Take a plan if it is better."""
        value = self.problem.value(starts)
        if value >= self.value:
            return False
        self.starts, self.value = starts, value
        self.changed()
        return True

    def raise_bound(self, bound: int) -> None:
        """Take a bound if it is better. Nothing is below the optimum that is above the best
        plan."""
        bound = min(bound, self.value)
        if bound > self.bound:
            self.bound = bound
            self.changed()


def posted(incumbent: Incumbent, bounds: Iterator[PoolBound | None]) -> Iterator[PoolBound | None]:
    """Put bounds on the incumbent as they come."""
    for bound in bounds:
        if bound is not None:
            incumbent.raise_bound(bound.value)
        yield bound
