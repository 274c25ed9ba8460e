"""Better bounds for problems too large to search: halve the starts of one job, price both halves.

A job that is large and long weighs little in the linear relaxation as long as it may be spread over
all its starts. With its starts halved, prices tell in each half what the others lose.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np

from .incumbent import Incumbent
from .pricing import Fineness, best_of, functions_in_use, refine
from .problem import Ints, PoolProblem
from .relax import PoolBound

FINENESS = Fineness(buckets=50, rounds=3, gain=1e-3)
NEARLY = 0.1


def split(incumbent: Incumbent, domains: list[Ints], bound: PoolBound) -> Iterator[None]:
    """Raise the incumbent's bound, best bound first, until proved or no job can be split."""
    problem = incumbent.problem
    known = functions_in_use(bound)
    number = 0
    queue: list[tuple[int, int, list[Ints], PoolBound]] = [(bound.value, number, domains, bound)]
    while queue:
        least, _, domains, bound = heapq.heappop(queue)
        incumbent.raise_bound(least)
        halves = _halves(problem, domains, bound, incumbent.value)
        if incumbent.proved or not halves:
            return
        for half in halves:
            found = yield from best_of(
                refine(problem, half, incumbent.value, FINENESS, busy=incumbent.last, known=known)
            )
            if found is None:
                return
            kept = _affordable(found, incumbent.value)
            if found.value < incumbent.value and min(map(len, kept)) > 0:
                number += 1
                heapq.heappush(queue, (max(least, found.value), number, kept, found))
    incumbent.raise_bound(incumbent.value)


def _affordable(bound: PoolBound, value: int) -> list[Ints]:
    """The starts that a plan better than ``value`` may use."""
    spare = (value - 1) * bound.prices.scale - bound.floor
    return [s[excess <= spare] for s, excess in zip(bound.starts, bound.excess, strict=True)]


def _halves(
    problem: PoolProblem, domains: list[Ints], bound: PoolBound, value: int
) -> list[list[Ints]]:
    """Two lists of domains, between them all plans; none if no job's cheapest starts differ.

    Halved is the single job with the largest product of area and distance between its nearly
    cheapest starts.
    """
    spare = (value - 1) * bound.prices.scale - bound.floor
    best, chosen, middle = 0, -1, 0
    for index, (group, starts, excess) in enumerate(
        zip(problem.groups, bound.starts, bound.excess, strict=True)
    ):
        near = starts[excess <= NEARLY * max(0, spare)]
        score = group.size * group.duration * int(near[-1] - near[0])
        if group.count == 1 and score > best:
            best, chosen, middle = score, index, int(near[0] + near[-1]) // 2
    if chosen < 0:
        return []
    starts = domains[chosen]
    cut = int(np.searchsorted(starts, middle, side="right"))
    parts = [part for part in (starts[:cut], starts[cut:]) if len(part)]
    return [[*domains[:chosen], part, *domains[chosen + 1 :]] for part in parts]
