"""What is wrong with the records of a log, the first in full."""

from __future__ import annotations

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
        if self.count <= limits().errors:
            self.problems.append(problem)

    def report(self) -> list[Problem]:
        """The first problems, and how many records were bad in all."""
        more = self.count - len(self.problems)
        if not more:
            return self.problems
        source = self.problems[-1].source
        counted = Problem(f"and {more} more bad records ({self.count} in all)", source)
        return [*self.problems, counted]
