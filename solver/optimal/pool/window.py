"""Large-neighbourhood search: plan a dozen jobs anew, exactly, with all others where they are."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from random import Random

import numpy as np

from .chronology import Chronology, Guide, plan_of
from .decoder import Decoder
from .domains import achievable_starts
from .pricing import Fineness, best_of, refine
from .problem import Ints, PoolProblem

FINENESS = Fineness(buckets=30, rounds=3, gain=2e-3)
NODES = 4000
FEWEST = 6
MOST = 30
#: Instants at which a job may start; a part that has more is left as it is.
MOST_INSTANTS = 400_000


class WindowSearch:
    """Improves a plan step by step. The number of jobs planned anew follows what could be searched
    to the end of late."""

    def __init__(self, problem: PoolProblem, seed: int) -> None:
        self.problem = problem
        self._random = Random(seed)
        self._decoder = Decoder(problem)
        self._width = 10.0

    def step(self, starts: Ints) -> Generator[None, None, Ints]:
        """The plan, or a better one; pauses on the way."""
        problem = self.problem
        jobs = self._choose(starts)
        part = self._part(starts, jobs)
        old = part.value(starts[jobs])
        new = yield from self._plan(part, old, int(starts[jobs].max()))
        if new is None:
            return starts
        changed = starts.copy()
        changed[jobs] = new
        shifted = self._decoder.plan(by_start(changed))
        return min((changed, shifted), key=problem.value)

    def _choose(self, starts: Ints) -> Ints:
        """Jobs that start, or run, around a random instant."""
        pivot = int(starts[self._random.randrange(len(starts))])
        distance = np.abs(starts - pivot)
        if self._random.random() < 0.5:
            end = starts + self.problem.durations
            distance = np.minimum(distance, np.abs(end - pivot))
        noise = np.array([self._random.random() for _ in starts])
        key = distance * (0.5 + noise)
        return np.sort(np.argsort(key, kind="stable")[: round(self._width)])

    def _part(self, starts: Ints, jobs: Ints) -> PoolProblem:
        """The chosen jobs on what the others leave."""
        problem = self.problem
        profile = problem.profile()
        chosen = np.zeros(len(problem), dtype=bool)
        chosen[jobs] = True
        for job in np.flatnonzero(~chosen).tolist():
            profile.take(int(starts[job]), int(problem.sizes[job]), int(problem.durations[job]))
        times, free = profile.steps()
        return PoolProblem.build(
            times,
            free,
            problem.sizes[jobs],
            problem.durations[jobs],
            earliest=problem.earliest[jobs],
            weights=problem.weights[jobs],
            due=problem.due[jobs],
        )

    def _plan(
        self, part: PoolProblem, value: int, horizon: int
    ) -> Generator[None, None, Ints | None]:
        """A better plan of the part, if one is found."""
        every = achievable_starts(part, horizon, MOST_INSTANTS)
        if every is None:
            self._width = max(FEWEST, self._width - 1)
            return None
        domains = [every[every >= part.alone[group.members[0]]] for group in part.groups]
        bound = yield from best_of(refine(part, domains, value, FINENESS))
        if bound is None or bound.value >= value:
            self._width = min(MOST, self._width + 0.3)
            return None
        tree = Chronology(part, value)
        root = tree.root()
        guide = Guide(bound, root, list(range(len(part.groups))))
        if tree.explore(root, guide, NODES):
            self._width = min(MOST, self._width + 0.2)
        else:
            self._width = max(FEWEST, self._width - 0.3)
        return None if tree.found is None else plan_of(part, tree.found)


def by_start(starts: Sequence[int] | Ints) -> list[int]:
    """Jobs in order of their start, ties by index."""
    return [int(job) for job in np.argsort(np.asarray(starts), kind="stable")]
