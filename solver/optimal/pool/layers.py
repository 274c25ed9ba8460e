"""Plans built job by job in order of start, layer by layer, all states of a layer side by side.

A state is a set of started jobs with what they leave. Where capacity never falls, nothing more is
needed to go on than ``ready`` (states.py): a job of size p starts at S = ready[p], or when it is
released if that is later, and leaves

    ready'[u] = max(S, min(ready[u + p], max(ready[u], S + duration))).

Every plan that cannot be shifted left is built in this way, its jobs in order of their starts. Two
arguments thin a layer out: prices give a lower bound of all plans a state can lead to, and those
not below the best plan go; and of states with the same jobs started some make others superfluous.
Duals made for the whole problem get worse from layer to layer, so large layers have some made for
one of their own states, which then do for many.

If a layer still has too many states, those of the highest bounds are left out and their least bound
is all that is proved in the end: a beam search that knows how good it is.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

import numpy as np

from .duals import Duals
from .price_table import InstantGrid, PaidAhead, PriceTable, rooms_of
from .pricing import Fineness, best_of, refine
from .problem import Ints, PoolProblem, SmallInts
from .states import States, undominated

CHUNK_BYTES = 1e7
SURPLUS = 2
MEMORY = 1.2e8
MOST_ENTRIES = 8_000_000
#: Seconds are kept in 32 bits.
LONGEST = 500_000_000
#: The cost of all jobs together is kept in 64.
MOST_IN_ALL = 1 << 62
CROWDED = 4000
PRICE_TABLES = 3
USEFUL = 0.9
SHARES = (0.3,)
FINENESS = Fineness(buckets=50, rounds=6, gain=1e-3)


class LayeredSearch:
    """The layers of one problem.

    ``domains``: the starts of each group that a plan better than ``best`` may use; ``prices`` to
    begin with, in the relaxation's scale. ``best`` is the value to beat (it may be lowered from
    outside), ``found`` (N,) the starts of a plan that did.
    """

    def __init__(self, problem: PoolProblem, domains: list[Ints], prices: Duals, best: int) -> None:
        self.problem = problem
        self.best = best
        self.found: Ints | None = None
        self._domains = domains
        groups = problem.groups
        self._durations = np.array([g.duration for g in groups])
        self._weights = np.array([g.weight for g in groups])
        self._due = np.array([g.due for g in groups])
        self._earliest = np.array([g.earliest for g in groups], dtype=np.int32)
        self._counts = np.array([g.count for g in groups])
        self._slots = np.cumsum(self._counts) - self._counts
        self._radix = np.concatenate(([1], np.cumprod(self._counts + 1)[:-1]))
        self._rooms = rooms_of(problem)
        sizes = np.array([g.size for g in groups])
        self._column = np.searchsorted(self._rooms, sizes)
        self._shift = [np.searchsorted(self._rooms, self._rooms + size) for size in sizes.tolist()]
        ends = [int(starts[-1]) + g.duration for starts, g in zip(domains, groups, strict=True)]
        self._calendar = InstantGrid.of(domains, max(ends))
        self._scale = prices.scale
        self._limit = self._least_lost = 0
        self._hopeful = False
        self._tables: list[PriceTable] = []
        self._add(prices)
        self._ledger = PaidAhead.of(prices, self._tables[0], self._calendar, problem)

    @staticmethod
    def suits(problem: PoolProblem, domains: list[Ints]) -> bool:
        """Is the problem of the kind, and are its tables of a size, to be searched in this way?"""
        if np.any(np.diff(problem.free) < 0):
            return False
        sets = sum(float(np.log2(g.count + 1)) for g in problem.groups)
        instants = len(np.unique(np.concatenate(domains)))
        last = max(int(starts[-1]) for starts in domains) + int(problem.durations.max())
        entries = len(rooms_of(problem)) * instants
        dearest = last * sum(problem.weights.tolist())
        small = entries <= MOST_ENTRIES and last <= LONGEST and dearest <= MOST_IN_ALL
        return sets < 62 and small

    @property
    def widest(self) -> int:
        """The most states of a layer that memory should hold."""
        return int(MEMORY / self._root().bytes_each)

    def run(self, width: int, *, hopeful: bool = False) -> Generator[None, None, int]:
        """Search with at most ``width`` states a layer; what is proved: no plan is below the
        result, or below ``best``. Once states have been left out, more is not proved by others of
        higher bounds: they are followed only by the ``hopeful``, who are after better plans."""
        del self._tables[1:]
        self._limit = (self.best - 1) * self._scale
        self._least_lost = self._limit + 1
        self._hopeful = hopeful
        states = self._root()
        for _ in range(len(self.problem)):
            states = yield from self._next_layer(states, width)
            states = yield from self._repriced(states)
            if not len(states):
                break
        proved = -(-self._least_lost // self._scale)
        if len(states):
            proved = min(proved, self._finish(states))
        return proved

    def _next_layer(self, states: States, width: int) -> Generator[None, None, States]:
        parts: list[States] = []
        chunk = max(1, int(CHUNK_BYTES / (states.bytes_each * len(self._counts))))
        for begin in range(0, len(states), chunk):
            parts.append(self._grown(states.part(begin, chunk)))
            if sum(map(len, parts)) > 2 * SURPLUS * width:
                many = States.joined(parts)
                parts = [many.take(self._narrowed(many.floor, SURPLUS * width))]
            yield
        states = States.joined(parts)
        bounds = states.floor
        rows = self._narrowed(bounds, SURPLUS * width)
        rows = yield from undominated(states, rows, bounds, self._weights)
        self._limit = min(self._limit, (self.best - 1) * self._scale)
        self._least_lost = min(self._least_lost, (self.best - 1) * self._scale + 1)
        return states.take(rows[self._narrowed(bounds[rows], width)])

    def _narrowed(self, bounds: Ints, width: int) -> Ints:
        """The rows of the least bounds, at most ``width``."""
        limit = self._limit
        if len(bounds) > width:
            lost = int(np.partition(bounds, width)[width])
            self._least_lost = min(self._least_lost, lost)
            limit = min(limit, lost - 1)
            if not self._hopeful:
                self._limit = limit
        return np.flatnonzero(bounds <= limit)

    def _root(self) -> States:
        problem, groups = self.problem, len(self._counts)
        step = np.argmax(problem.free >= self._rooms[:, np.newaxis], axis=1)
        nothing = np.zeros(1, dtype=np.int64)
        return self._priced(
            States(
                code=nothing,
                time=nothing,
                value=nothing,
                left=self._counts[np.newaxis].astype(np.int16),
                ends=np.zeros((1, len(problem)), dtype=np.int32),
                ready=problem.times[step].astype(np.int32)[np.newaxis],
                first=np.zeros((1, groups), dtype=np.int32),
                bounds=np.zeros((1, len(self._tables)), dtype=np.int64),
                floor=nothing,
            )
        )

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

    # --- prices ----------------------------------------------------------------------------------

    def _add(self, prices: Duals) -> None:
        groups, calendar = self.problem.groups, self._calendar
        self._tables.append(PriceTable.of(prices, calendar, groups, self._domains, self._rooms))

    def _priced(self, states: States) -> States:
        """Fill in ``first`` and ``bounds``; ``floor`` only rises."""
        first = np.maximum(states.ready[:, self._column], self._earliest)
        bounds = self._bounds(
            states.value, states.left, states.ready, first, states.ends, states.time
        )
        floor = np.maximum(states.floor, bounds.max(axis=1))
        return replace(states, first=first, bounds=bounds, floor=floor)

    def _bounds(
        self,
        value: Ints,
        left: Ints,
        ready: SmallInts,
        first: SmallInts,
        ends: SmallInts,
        time: Ints,
    ) -> Ints:
        """(n, T) lower bounds by each price table."""
        calendar = self._calendar
        when, start = calendar.before(ready), calendar.after(first)
        bounds = np.empty((len(value), len(self._tables)), dtype=np.int64)
        for which, table in enumerate(self._tables):
            free = table.free(when)
            if which == 0:
                free = np.minimum(free, self._ledger.free(ends, time, calendar))
            bounds[:, which] = value * self._scale + table.least(left, start) - free
        return bounds

    def _repriced(self, states: States) -> Generator[None, None, States]:
        """While a layer is large: prices made for one of its states, if they thin it out."""
        for share in SHARES:
            if len(states) <= CROWDED:
                break
            crowd = self._crowd(states)
            row = int(np.argsort(states.floor, kind="stable")[int(share * len(states))])
            problem, domains = self._residual(states, row)
            if min(map(len, domains)) == 0:
                continue
            ceiling = self.best - int(states.value[row])
            bounds = refine(problem, domains, ceiling, FINENESS, crowd=crowd, scale=self._scale)
            found = yield from best_of(bounds)
            if found is None:
                continue
            self._add(found.prices)
            priced = self._priced(states)
            rows = np.flatnonzero(priced.floor <= self._limit)
            if len(rows) > USEFUL * len(states):
                self._tables.pop()
                continue
            states = priced.take(rows)
            if len(self._tables) > PRICE_TABLES:
                del self._tables[1]
                states = self._priced(states)
            yield
        return states

    def _crowd(self, states: States) -> PoolProblem:
        """The jobs that any of the states may still start."""
        most = states.left.max(axis=0).tolist()
        groups = zip(self.problem.groups, most, strict=True)
        jobs = [job for group, number in groups for job in group.members[:number]]
        return self.problem.select(np.array(jobs, dtype=np.int64))

    def _residual(self, states: States, row: int) -> tuple[PoolProblem, list[Ints]]:
        """What one state leaves to plan, and the starts of each of its groups."""
        ready, left = states.ready[row], states.left[row].tolist()
        times = np.unique(ready)
        free = self._rooms[np.searchsorted(ready, times, side="right") - 1]
        if times[0] > 0:
            times, free = np.append(0, times), np.append(0, free)
        pairs = list(zip(self.problem.groups, left, strict=True))
        jobs = [job for group, number in pairs for job in group.members[:number]]
        rest = self.problem.select(np.array(jobs, dtype=np.int64))
        problem = PoolProblem.build(
            times,
            free,
            rest.sizes,
            rest.durations,
            earliest=rest.earliest,
            weights=rest.weights,
            due=rest.due,
        )
        domains = []
        kinds = [kind for kind, number in enumerate(left) if number]
        for kind, group in zip(kinds, problem.groups, strict=True):
            starts = self._domains[kind]
            domains.append(starts[starts >= problem.alone[group.members[0]]])
        return problem, domains

    # --- successors ------------------------------------------------------------------------------

    def _grown(self, states: States) -> States:
        """Every way to start one more job, as far as bounds stay within the limit."""
        calendar = self._calendar
        parent, group = np.nonzero(states.left > 0)
        start: SmallInts = states.first[parent, group]
        exact, after = calendar.exact(start), calendar.after(start)
        for which, table in enumerate(self._tables):
            extra = table.buy[group, exact] - table.rest[group, after]
            kept = np.flatnonzero(states.bounds[parent, which] + extra <= self._limit)
            parent, group, start = parent[kept], group[kept], start[kept]
            exact, after = exact[kept], after[kept]
        # What children of one parent with the same start have in common is reckoned once.
        _, pick, which = np.unique((parent << 32) | start, return_index=True, return_inverse=True)
        common, begin = parent[pick], start[pick]
        base = self._bounds(
            states.value[common],
            states.left[common],
            np.maximum(states.ready[common], begin[:, np.newaxis]),
            np.maximum(states.first[common], begin[:, np.newaxis]),
            states.ends[common],
            begin.astype(np.int64),
        )
        floor = states.floor[parent]
        for column, table in zip(base.T, self._tables, strict=True):
            extra = table.buy[group, exact] - table.rest[group, after]
            floor = np.maximum(floor, column[which] + extra)
        kept = np.flatnonzero(floor <= self._limit)
        children = self._started(states, parent[kept], group[kept], start[kept], floor[kept])
        children = self._priced(children)
        return children.take(np.flatnonzero(children.floor <= self._limit))

    def _started(
        self, states: States, parent: Ints, group: Ints, start: SmallInts, floor: Ints
    ) -> States:
        """The states after one job of a group has been started (not yet priced)."""
        every = np.arange(len(parent))
        end = start + self._durations[group]
        left = states.left[parent]
        ends = states.ends[parent]
        ends[every, self._slots[group] + self._counts[group] - left[every, group]] = end
        left[every, group] -= 1
        late = np.maximum(0, start - self._due[group])
        return States(
            code=states.code[parent] + self._radix[group],
            time=start.astype(np.int64),
            value=states.value[parent] + self._weights[group] * late,
            left=left,
            ends=ends,
            ready=self._ready(states.ready, parent, group, start, end),
            first=states.first[parent],
            bounds=states.bounds[parent],
            floor=floor,
        )

    def _ready(
        self, ready: SmallInts, parent: Ints, group: Ints, start: SmallInts, end: Ints
    ) -> SmallInts:
        """``ready`` of children: the parent's, shifted by the job's size till its end."""
        found = np.empty((len(parent), ready.shape[1]), dtype=np.int32)
        begin, until = start[:, np.newaxis], end.astype(np.int32)[:, np.newaxis]
        for which, shift in enumerate(self._shift):
            rows = np.flatnonzero(group == which)
            if len(rows):
                before = ready[parent[rows]]
                within = shift < len(self._rooms)
                after = np.maximum(before, until[rows])
                taken = np.take(before, shift[within], axis=1)
                after[:, within] = np.minimum(after[:, within], taken)
                found[rows] = np.maximum(after, begin[rows])
        return found
