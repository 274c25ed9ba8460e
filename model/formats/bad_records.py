"""What is wrong with the records of a log, the first in full."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import Problem
from ..input_limits import limits


class BadRecords:
    """What is wrong with a log: the first records in full, the others counted.

    repaired: how many records were a little wrong and have been put right.
    """

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.count = 0
        self.repaired = 0

    def add(self, problem: Problem) -> None:
        """One more."""
        self.count += 1
        if self.count <= limits().errors + 1:
            self.problems.append(problem)

    def merge(self, first: Sequence[Problem], count: int) -> None:
        """`count` more, of which `first` are the first in the file."""
        self.count += count
        both = sorted((*self.problems, *first), key=lambda problem: problem.line or 0)
        self.problems = both[: limits().errors + 1]

    def report(self) -> list[Problem]:
        """The first problems, and how many records were bad in all."""
        if self.count <= limits().errors + 1:
            return self.problems
        first = self.problems[: limits().errors]
        more = f"and {self.count - len(first):,} more bad records ({self.count:,} in all)"
        return [*first, Problem(more, first[-1].source)]
