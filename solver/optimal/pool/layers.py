"""Plans built job by job in order of start, layer by layer, all states of a layer side by side.

A state is a set of started jobs, with what they leave. Where capacity never falls, nothing more is
needed to go on than ``ready``: for each number of processors, the earliest second, not before the
last start, from which on that many are free. A job of size p starts at S = ready[p] (or when it is
released, if that is later) and leaves

    ready'[u] = max(S, min(ready[u + p], max(ready[u], S + duration))).

Every plan that cannot be shifted left is built in this way, its jobs in order of their starts.
Two arguments thin a layer out:

* prices (tariff.py) give a lower bound of all plans a state can lead to: those not below the best
  plan go;
* of two states with the same jobs started, A makes B superfluous if A, delayed by the seconds that
  A's ``ready`` is behind B's, is still not worse: value(A) + delay * weights left <= value(B). For
  what B can do from here on, A can do with that delay, and a job's cost grows by at most its weight
  a second.

If a layer still has too many states, those of the highest bounds are left out and their least
bound is all that is proved in the end: a beam search that knows how good it is.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from .problem import Ints, PoolProblem, SmallInts
from .tariff import Tariff

CHUNK = 2048
WINDOW = 600
PAIRS = 20_000_000
PIECE = 400_000
PROBES = 6
SURPLUS = 2
MEMORY = 1.2e8


@dataclass(frozen=True)
class States:
    """n states of one layer. ``code`` (n,): which jobs are started; ``time``, ``value``, ``bound``
    (n,): last start, cost of the started jobs, lower bound in the tariff's scale; ``left`` (n, G)
    jobs of each group to start; ``ends`` (n, N) ends of the started jobs by group, 0 for others;
    ``ready`` (n, K) as above, by room; ``first`` (n, G) earliest starts of the next of a group."""

    code: Ints
    time: Ints
    value: Ints
    bound: Ints
    left: Ints
    ends: SmallInts
    ready: SmallInts
    first: SmallInts

    def __len__(self) -> int:
        return len(self.code)

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


class LayeredSearch:
    """The layers of one problem under one tariff. ``best`` is the value to beat, ``found`` (N,) the
    starts of a plan that did."""

    def __init__(self, problem: PoolProblem, tariff: Tariff, best: int) -> None:
        self.problem = problem
        self.tariff = tariff
        self.best = best
        self.found: Ints | None = None
        self._limit = 0
        groups = problem.groups
        self._durations = np.array([g.duration for g in groups])
        self._weights = np.array([g.weight for g in groups])
        self._due = np.array([g.due for g in groups])
        self._earliest = np.array([g.earliest for g in groups], dtype=np.int32)
        self._counts = np.array([g.count for g in groups])
        self._slots = np.cumsum(self._counts) - self._counts
        self._radix = np.concatenate(([1], np.cumprod(self._counts + 1)[:-1]))
        self.rooms = _rooms(problem)
        sizes = np.array([g.size for g in groups])
        self._column = np.searchsorted(self.rooms, sizes)
        self._shift = [np.searchsorted(self.rooms, self.rooms + size) for size in sizes.tolist()]
        rows = np.searchsorted(np.unique(problem.sizes), sizes)
        self._row_of_slot = np.repeat(rows, self._counts)

    @staticmethod
    def suits(problem: PoolProblem) -> bool:
        """Is the problem of the kind and size that can be searched in this way?"""
        sets = sum(float(np.log2(g.count + 1)) for g in problem.groups)
        return bool(np.all(np.diff(problem.free) >= 0)) and sets < 62

    @property
    def widest(self) -> int:
        """The most states of a layer that memory should hold."""
        root = self._root()
        return int(MEMORY / sum(getattr(root, field.name).nbytes for field in fields(root)))

    def run(self, width: int) -> Generator[None, None, int]:
        """Search with at most ``width`` states a layer; what is proved: no plan is below the
        result, or below ``best``."""
        scale = self.tariff.scale
        self._limit = (self.best - 1) * scale
        states = self._root()
        for _ in range(len(self.problem)):
            parts: list[States] = []
            for begin in range(0, len(states), CHUNK):
                parts.append(self._grown(states.part(begin, CHUNK)))
                if sum(map(len, parts)) > 2 * SURPLUS * width:
                    many = States.joined(parts)
                    parts = [many.take(self._narrowed(many.bound, SURPLUS * width))]
                yield
            states = States.joined(parts)
            rows = self._narrowed(states.bound, SURPLUS * width)
            rows = yield from self._undominated(states, rows)
            self._limit = min(self._limit, (self.best - 1) * scale)
            states = states.take(rows[self._narrowed(states.bound[rows], width)])
            if not len(states):
                break
        proved = self._limit // scale + 1
        if len(states):
            proved = min(proved, self._finish(states))
        return proved

    def _narrowed(self, bounds: Ints, width: int) -> Ints:
        """The rows of the least bounds, at most ``width``; the limit falls to what is lost."""
        if len(bounds) > width:
            self._limit = min(self._limit, int(np.partition(bounds, width)[width]) - 1)
        return np.flatnonzero(bounds <= self._limit)

    def _root(self) -> States:
        problem, count = self.problem, len(self._counts)
        step = np.argmax(problem.free >= self.rooms[:, np.newaxis], axis=1)
        nothing = np.zeros(1, dtype=np.int64)
        start = States(
            code=nothing,
            time=nothing,
            value=nothing,
            bound=nothing,
            left=self._counts[np.newaxis].astype(np.int16),
            ends=np.zeros((1, len(problem)), dtype=np.int32),
            ready=problem.times[step].astype(np.int32)[np.newaxis],
            first=np.zeros((1, count), dtype=np.int32),
        )
        return self._priced(start, self._open(start.ends, start.time))

    def _finish(self, states: States) -> int:
        """Take the best of complete plans; its value."""
        row = int(np.argmin(states.value))
        value = int(states.value[row])
        if value < self.best:
            starts = np.zeros(len(self.problem), dtype=np.int64)
            members = np.concatenate([g.members for g in self.problem.groups])
            starts[members] = states.ends[row] - np.repeat(self._durations, self._counts)
            self.best, self.found = value, starts
        return value

    # --- bounds ----------------------------------------------------------------------------------

    def _clip(self, instants: Ints | SmallInts) -> Ints:
        return np.minimum(instants, self.tariff.last)

    def _open(self, ends: SmallInts, time: Ints) -> Ints:
        """(n,) what running jobs still pay from ``time`` on, less the worth of supply from then."""
        now = self._clip(time)
        total = -self.tariff.ahead[now]
        for slot, row in enumerate(self._row_of_slot.tolist()):
            running = np.flatnonzero(ends[:, slot] > time)
            if len(running):
                paid = self.tariff.paid[row]
                end = self._clip(ends[running, slot])
                total[running] += paid[end] - paid[now[running]]
        return total

    def _cheapest(self, left: Ints, first: SmallInts) -> Ints:
        """(n,) the least that the jobs left can pay, each not before its group's ``first``."""
        total = np.zeros(len(left), dtype=np.int64)
        for group, rest in enumerate(self.tariff.rest):
            total += left[:, group] * rest[self._clip(first[:, group])]
        return total

    def _priced(self, states: States, running: Ints) -> States:
        """Fill in ``first`` and ``bound``."""
        first = np.maximum(states.ready[:, self._column], self._earliest)
        cheapest = self._cheapest(states.left, first)
        bound = states.value * self.tariff.scale + running + cheapest
        return States(
            states.code,
            states.time,
            states.value,
            bound,
            states.left,
            states.ends,
            states.ready,
            first,
        )

    # --- successors ------------------------------------------------------------------------------

    def _grown(self, states: States) -> States:
        """Every way to start one more job, as far as bounds stay within the limit."""
        limit = self._limit
        tariff = self.tariff
        parent, group = np.nonzero(states.left > 0)
        start = states.first[parent, group].astype(np.int64)
        when = self._clip(start)
        extra = tariff.buy[group, when] - tariff.rest[group, when]
        kept = states.bound[parent] + extra <= limit
        parent, group, start, extra = parent[kept], group[kept], start[kept], extra[kept]
        # What children of one parent with the same start have in common is reckoned once.
        _, pick, which = np.unique((parent << 32) | start, return_index=True, return_inverse=True)
        common, begin = parent[pick], start[pick]
        running = self._open(states.ends[common], begin)
        first = np.maximum(states.first[common], begin[:, np.newaxis].astype(np.int32))
        base = states.value[common] * tariff.scale + running
        base += self._cheapest(states.left[common], first)
        kept = base[which] + extra <= limit
        parent, group, start = parent[kept], group[kept], start[kept]
        children = self._started(states, parent, group, start)
        row = self._row_of_slot[self._slots[group]]
        now, end = self._clip(start), self._clip(start + self._durations[group])
        own = tariff.paid[row, end] - tariff.paid[row, now]
        children = self._priced(children, running[which[kept]] + own)
        return children.take(np.flatnonzero(children.bound <= limit))

    def _started(self, states: States, parent: Ints, group: Ints, start: Ints) -> States:
        """The states after one job of a group has been started (bounds are left open)."""
        every = np.arange(len(parent))
        end = start + self._durations[group]
        left = states.left[parent]
        ends = states.ends[parent]
        ends[every, self._slots[group] + self._counts[group] - left[every, group]] = end
        left[every, group] -= 1
        late = np.maximum(0, start - self._due[group])
        return States(
            code=states.code[parent] + self._radix[group],
            time=start,
            value=states.value[parent] + self._weights[group] * late,
            bound=start,
            left=left,
            ends=ends,
            ready=self._ready(states.ready, parent, group, start, end),
            first=states.first[parent],
        )

    def _ready(
        self, ready: SmallInts, parent: Ints, group: Ints, start: Ints, end: Ints
    ) -> SmallInts:
        """``ready`` of children: the parent's, shifted by the job's size till its end."""
        found = np.empty((len(parent), ready.shape[1]), dtype=np.int32)
        begin = start.astype(np.int32)[:, np.newaxis]
        until = end.astype(np.int32)[:, np.newaxis]
        for which, shift in enumerate(self._shift):
            rows = np.flatnonzero(group == which)
            if len(rows):
                before = ready[parent[rows]]
                within = shift < len(self.rooms)
                after = np.maximum(before, until[rows])
                taken = np.take(before, shift[within], axis=1)
                after[:, within] = np.minimum(after[:, within], taken)
                found[rows] = np.maximum(after, begin[rows])
        return found

    # --- dominance -------------------------------------------------------------------------------

    def _undominated(self, states: States, rows: Ints) -> Generator[None, None, Ints]:
        """The rows, less those that another with the same jobs makes superfluous. Each is compared
        with those of somewhat lower bounds."""
        rows = rows[np.lexsort((states.bound[rows], states.code[rows]))]
        code, value = states.code[rows], states.value[rows]
        weight = states.left[rows] @ self._weights
        place = np.arange(len(rows))
        place -= np.maximum.accumulate(np.where(np.diff(code, prepend=-1) != 0, place, 0))
        probes = np.linspace(0, len(self.rooms) - 1, PROBES).astype(int)
        columns = states.ready[:, probes][rows].T.astype(np.int64)
        kept = np.ones(len(rows), dtype=bool)
        alive = np.arange(len(rows))
        pairs = paused = 0
        for back in range(1, WINDOW):
            alive = alive[kept[alive] & (place[alive] >= back)]
            pairs += len(alive)
            if not len(alive) or pairs > PAIRS:
                break
            spare = value[alive] - value[alive - back]
            possible = spare >= 0
            for column in columns:
                possible &= (column[alive - back] - column[alive]) * weight[alive] <= spare
            mine, spare = alive[possible], spare[possible]
            ahead, behind = (np.take(states.ready, rows[r], axis=0) for r in (mine, mine - back))
            delay = (behind - ahead).max(axis=1, initial=0)
            kept[mine[delay * weight[mine] <= spare]] = False
            if pairs - paused > PIECE:
                paused = pairs
                yield
        return rows[kept]


def _rooms(problem: PoolProblem) -> Ints:
    """The numbers of processors that a set of jobs can occupy, ascending."""
    most = int(min(problem.free[-1], problem.sizes.sum()))
    reached = np.zeros(most + 1, dtype=bool)
    reached[0] = True
    for size in problem.sizes.tolist():
        reached[size:] |= reached[: most + 1 - size].copy()
    return np.flatnonzero(reached)[1:]
