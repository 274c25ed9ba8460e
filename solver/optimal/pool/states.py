"""States of the layered search side by side, and which of them others make superfluous."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from .problem import Ints, SmallInts

WINDOW = 120
PAIRS = 20_000_000
PIECE = 400_000
PROBES = 17
PROBE_ORDER = (8, 4, 12, 2, 14, 6, 10, 0, 16, 1, 15, 3, 13, 5, 11, 7, 9)


@dataclass(frozen=True)
class States:
    """n states with equally many jobs started.

    ``code`` (n,): which jobs are started; ``time``, ``value`` (n,): last start, cost of the started
    jobs; ``left`` (n, G): jobs of each group to start; ``ends`` (n, N): ends of the started jobs by
    group, 0 for others; ``ready`` (n, K): for each number of processors that jobs can occupy, the
    earliest second, not before the last start, from which on that many are free; ``first`` (n, G):
    earliest starts of a group's next job; ``bounds`` (n, T): lower bounds of all plans that begin
    like this, one by each price table, in its scale; ``floor`` (n,): the best known.
    """

    code: Ints
    time: Ints
    value: Ints
    left: Ints
    ends: SmallInts
    ready: SmallInts
    first: SmallInts
    bounds: Ints
    floor: Ints

    def __len__(self) -> int:
        return len(self.code)

    @property
    def bytes_each(self) -> float:
        """What a state takes in memory."""
        return float(sum(getattr(self, field.name).nbytes for field in fields(self)) / len(self))

    def take(self, rows: Ints) -> Self:
        """The states of these rows."""
        columns = (getattr(self, field.name) for field in fields(self))
        return type(self)(*(np.take(column, rows, axis=0) for column in columns))

    def part(self, begin: int, length: int) -> Self:
        """Some successive states."""
        columns = (getattr(self, field.name) for field in fields(self))
        return type(self)(*(column[begin : begin + length] for column in columns))

    @classmethod
    def joined(cls, parts: list[States]) -> States:
        """All states of the parts."""
        names = [field.name for field in fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def undominated(
    states: States, rows: Ints, bounds: Ints, weights: Ints
) -> Generator[None, None, Ints]:
    """The rows, less those that another with the same jobs started makes superfluous.

    A makes B superfluous if A, delayed by the seconds that A's ``ready`` is behind B's, is still
    not worse: value(A) + delay * weights left <= value(B). For what B can do from here on, A can do
    with that delay, and a job's cost grows by at most its weight a second. Each row is compared
    with up to ``WINDOW`` others of lower ``bounds`` (n,); ``weights`` (G,) of a job by group.
    """
    rows = rows[np.lexsort((bounds[rows], states.code[rows]))]
    code, value = states.code[rows], states.value[rows]
    weight = states.left[rows] @ weights
    place = np.arange(len(rows))
    place -= np.maximum.accumulate(np.where(np.diff(code, prepend=-1) != 0, place, 0))
    # Most pairs fail at one of a few widely spread columns of ``ready``.
    spread = np.linspace(0, states.ready.shape[1] - 1, PROBES).astype(int)
    columns = [states.ready[rows, column].astype(np.int64) for column in spread[list(PROBE_ORDER)]]
    kept = np.ones(len(rows), dtype=bool)
    alive = np.arange(len(rows))
    pairs = paused = 0
    for back in range(1, WINDOW):
        alive = alive[kept[alive] & (place[alive] >= back)]
        pairs += len(alive)
        if not len(alive) or pairs > PAIRS:
            break
        mine = alive[value[alive] >= value[alive - back]]
        spare = value[mine] - value[mine - back]
        for column in columns:
            possible = (column[mine - back] - column[mine]) * weight[mine] <= spare
            mine, spare = mine[possible], spare[possible]
        ahead, behind = (np.take(states.ready, rows[r], axis=0) for r in (mine, mine - back))
        delay = (behind - ahead).max(axis=1, initial=0)
        kept[mine[delay * weight[mine] <= spare]] = False
        if pairs - paused > PIECE:
            paused = pairs
            yield
    return rows[kept]
