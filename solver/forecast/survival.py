"""Numbers with weights, of which some are only known to be larger than what was seen.

A job that still runs is such a number: its run time is more than what it has run. Its weight is
given to the larger numbers, in proportion to theirs (redistribution to the right, Efron 1967),
which is the estimator of Kaplan and Meier (1958). To leave it out would make jobs too short.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .draws import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Weighed:
    """Numbers in order and their weights, of shape (n,)."""

    numbers: Floats
    weights: Floats

    @classmethod
    def of(cls, numbers: Floats) -> Weighed:
        """Each number counts 1."""
        return cls(np.sort(numbers), np.ones(len(numbers)))

    def __len__(self) -> int:
        return len(self.numbers)

    def at(self, chances: Floats) -> Floats:
        """The smallest number such that it and those before it weigh more than each chance."""
        sums = np.cumsum(self.weights)
        places = np.searchsorted(sums, chances * sums[-1], side="right")
        found: Floats = self.numbers[np.minimum(places, len(self) - 1)]
        return found

    def beyond(self, least: float) -> Weighed:
        """Only the numbers of at least so much."""
        first = int(np.searchsorted(self.numbers, least))
        return Weighed(self.numbers[first:], self.weights[first:])

    def weighing(self, total: float) -> Weighed:
        """The same with another sum of weights."""
        if not len(self):
            return self
        return Weighed(self.numbers, self.weights * (total / np.cumsum(self.weights)[-1]))

    def times(self, factor: float) -> Weighed:
        """All numbers multiplied by a positive factor."""
        return Weighed(self.numbers * factor, self.weights)

    def at_most(self, most: float) -> Weighed:
        """Larger numbers made as small as that."""
        return Weighed(np.minimum(self.numbers, most), self.weights)

    def beside(self, other: Weighed) -> Weighed:
        """These numbers and others."""
        numbers = np.concatenate((self.numbers, other.numbers))
        order = np.argsort(numbers, kind="stable")
        return Weighed(numbers[order], np.concatenate((self.weights, other.weights))[order])

    def with_survivors(self, seen: Floats, otherwise: Weighed) -> Weighed:
        """These and, each counting 1, numbers that are only known to be larger than what was seen.

        seen: in ascending order. otherwise: where they lie if none of these is as large; if none of
        those is either, they are left out.
        """
        survives = np.repeat([False, True], [len(self), len(seen)])
        numbers = np.concatenate((self.numbers, seen))
        order = np.lexsort((~survives, numbers))
        numbers, survives = numbers[order], survives[order]
        weights = np.concatenate((self.weights, np.ones(len(seen))))[order]
        left = np.cumsum(weights[::-1])[::-1]
        # What a survivor weighs goes to all behind it, survivors too, which give it on in turn.
        gain = np.ones(len(weights))
        gain[1:] = np.where(survives[:-1], left[:-1] / left[1:], 1.0)
        weights = weights * np.cumprod(gain)
        ended = np.flatnonzero(~survives)
        last = int(ended.max(initial=-1)) + 1
        found = Weighed(numbers[ended], weights[ended])
        # The last have none behind: each keeps what the first of them has.
        for place in range(last, len(numbers)):
            larger = otherwise.beyond(numbers[place])
            if len(larger):
                found = found.beside(larger.weighing(float(weights[last])))
        return found
