"""Which mixtures of job sizes can run at the same time: dual feasible functions tell what cannot.

The numbers of active jobs of each size, averaged over a bucket, are a mixture of *patterns*: sets
of jobs that fit together. If an LP's mixture is not, a function proves it: some a >= 0 with
a·pattern <= b for every pattern but a·mixture > b. Found by a small LP over patterns, themselves
made when needed by a knapsack.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from ..linear_program import new_program, solve
from .problem import Floats, Ints

FINE = 10_000
ROUNDS = 40


class Patterns:
    """The patterns met so far at one level of capacity."""

    def __init__(self, sizes: Ints, counts: Ints, capacity: int) -> None:
        unit = int(np.gcd.reduce(sizes))
        self.sizes = (sizes // unit).tolist()
        self.capacity = min(capacity // unit, int((sizes // unit * counts).sum()))
        self.counts = counts.tolist()
        self._lp: Any = None
        self._columns: list[Any] = []

    def separate(self, mixture: Floats) -> Ints | None:
        """A function that no pattern exceeds as far as the mixture does; None if there is none."""
        program = self._prepare()
        for column, amount in zip(self._columns, mixture.tolist(), strict=True):
            program.Objective().SetCoefficient(column, amount)
        for _ in range(ROUNDS):
            if not solve(program):
                return None
            value = program.Objective().Value()
            if value <= 1.0 + 1e-4:
                return None
            weights = np.array([column.solution_value() for column in self._columns])
            most, pattern = self.heaviest(weights)
            if value > (1.0 + 1e-4) * most and (most <= 1.0 + 1e-7 or value > 1.02 * most):
                return _integral(weights / most)
            if most <= 1.0 + 1e-7:
                return None
            self._forbid(pattern)
        return None

    def heaviest(self, weights: Floats) -> tuple[float, list[int]]:
        """The pattern of the largest total weight."""
        best = np.zeros(self.capacity + 1)
        taken = []
        for size, count, weight in zip(self.sizes, self.counts, weights.tolist(), strict=True):
            grown = best
            choice = np.zeros(self.capacity + 1, dtype=np.int64)
            if weight > 1e-12:
                for number in range(1, min(count, self.capacity // size) + 1):
                    jump = number * size
                    other = best[: self.capacity + 1 - jump] + number * weight
                    better = other > grown[jump:] + 1e-12
                    if not better.any():
                        break
                    grown = grown.copy() if grown is best else grown
                    grown[jump:][better] = other[better]
                    choice[jump:][better] = number
            best = grown
            taken.append(choice)
        left, pattern = self.capacity, []
        for size, choice in zip(reversed(self.sizes), reversed(taken), strict=True):
            pattern.append(int(choice[left]))
            left -= pattern[-1] * size
        return float(best[self.capacity]), pattern[::-1]

    def _prepare(self) -> Any:
        if self._lp is None:
            self._lp = new_program()
            self._lp.Objective().SetMaximization()
            # A size that does not fit at all weighs nothing here: its jobs cannot be active.
            fits = [size <= self.capacity for size in self.sizes]
            self._columns = [self._lp.NumVar(0.0, 1.0 if fit else 0.0, "") for fit in fits]
            for index, size in enumerate(self.sizes):
                most = min(self.counts[index], self.capacity // size)
                self._forbid([most if other == index else 0 for other in range(len(self.sizes))])
        return self._lp

    def _forbid(self, pattern: list[int]) -> None:
        row = self._lp.Constraint(-self._lp.infinity(), 1.0)
        for column, number in zip(self._columns, pattern, strict=True):
            if number:
                row.SetCoefficient(column, float(number))


def _integral(weights: Floats) -> Ints:
    """A multiple of the weights in integers, exact if their common denominator is small."""
    denominator = 1
    for weight in weights.tolist():
        denominator = np.lcm(denominator, Fraction(weight).limit_denominator(60).denominator)
        if denominator > FINE:
            break
    whole = np.rint(weights * denominator)
    if denominator <= FINE and np.allclose(whole, weights * denominator, atol=1e-6):
        return np.asarray(whole, dtype=np.int64)
    return np.asarray(np.rint(weights * FINE), dtype=np.int64)
