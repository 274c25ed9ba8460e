"""How large a model may be: what time and memory are left for."""

from __future__ import annotations

from dataclasses import dataclass

from ..budget import Budget


@dataclass(frozen=True, slots=True)
class PairWeight:
    """What a pair of job and host costs, as measured.

    memory: bytes, for model, presolve and search together. a_second: pairs that a second is enough
    for; the first guess, and what counts under an effort. share: of the time left, that may go
    into it.
    """

    memory: float
    a_second: float
    share: float


#: Placement at fixed starts: what building a model and reading it into the solver takes.
PLACEMENT = PairWeight(memory=8000, a_second=15_000, share=0.4)
#: The guess counts as much as so many seconds of measurement.
TRUST = 1.0


@dataclass(slots=True)
class ModelRoom:
    """The limit on the (job, host) pairs of a model; it learns from what models took to build.

    seconds, pairs: of the models built so far.
    """

    budget: Budget
    weight: PairWeight = PLACEMENT
    seconds: float = 0.0
    pairs: int = 0

    def took(self, pairs: int, seconds: float) -> None:
        """Note a model that was built."""
        self.pairs += pairs
        self.seconds += seconds

    def most_pairs(self) -> float:
        """How many pairs one more model may have."""
        by_memory = self.budget.memory_left() * (1 << 20) / self.weight.memory
        return min(by_memory, self.weight.share * self._seconds_left() * self._rate())

    def _seconds_left(self) -> float:
        """Under an effort its units, each about a second: the clock decides nothing then."""
        budget = self.budget
        return max(0.0, budget.left() if budget.effort is None else budget.effort_left())

    def _rate(self) -> float:
        if self.budget.effort is not None:
            return self.weight.a_second
        return (self.pairs + TRUST * self.weight.a_second) / (self.seconds + TRUST)
