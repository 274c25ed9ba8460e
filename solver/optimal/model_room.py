"""How large a joint placement model may be: what time and memory are left for."""

from __future__ import annotations

from dataclasses import dataclass

from ..budget import Budget

#: Bytes that a pair of job and host costs, model, presolve and search together (measured: 2 to 5
#: thousand).
BYTES = 8000
#: Share of the time left that building a model and reading it into the solver may take.
SHARE = 0.4
#: Pairs that are built and read in a second; the first guess, and what counts under an effort.
PAIRS_A_SECOND = 15_000
#: The guess counts as much as so many seconds of measurement.
TRUST = 1.0


@dataclass(slots=True)
class ModelRoom:
    """The limit on the (job, host) pairs of a model; it learns from what models took to build.

    seconds, pairs: of the models built so far.
    """

    budget: Budget
    seconds: float = 0.0
    pairs: int = 0

    def took(self, pairs: int, seconds: float) -> None:
        """Note a model that was built."""
        self.pairs += pairs
        self.seconds += seconds

    def most_pairs(self) -> float:
        """How many pairs one more model may have."""
        by_memory = self.budget.memory_left() * (1 << 20) / BYTES
        return min(by_memory, SHARE * self._seconds_left() * self._rate())

    def _seconds_left(self) -> float:
        """Under an effort its units, each about a second: the clock decides nothing then."""
        budget = self.budget
        return max(0.0, budget.left() if budget.effort is None else budget.effort_left())

    def _rate(self) -> float:
        if self.budget.effort is not None:
            return PAIRS_A_SECOND
        return (self.pairs + TRUST * PAIRS_A_SECOND) / (self.seconds + TRUST)
