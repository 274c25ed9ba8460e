"""The layered search of one pool: plans built job by job, with all states of a layer as arrays."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np

from .bounds import Duals, cost
from .pricing import Fineness, Reach, best_of, refine
from .problem import Group, Ints, PoolProblem, SmallInts

WINDOW = 120
PAIRS = 20_000_000
PIECE = 400_000
PROBES = 17
PROBE_ORDER = (8, 4, 12, 2, 14, 6, 10, 0, 16, 1, 15, 3, 13, 5, 11, 7, 9)


@dataclass(frozen=True)
class States:
    """An array of n search states, all with the same number of started jobs.

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
        """Return the memory of one state in bytes."""
        return float(sum(getattr(self, field.name).nbytes for field in fields(self)) / len(self))

    def take(self, rows: Ints) -> Self:
        """Return the states at these rows."""
        columns = (getattr(self, field.name) for field in fields(self))
        return type(self)(*(np.take(column, rows, axis=0) for column in columns))

    def part(self, begin: int, length: int) -> Self:
        """Return a slice of successive states."""
        columns = (getattr(self, field.name) for field in fields(self))
        return type(self)(*(column[begin : begin + length] for column in columns))

    @classmethod
    def joined(cls, parts: list[States]) -> States:
        """Return the states of all parts as one array."""
        names = [field.name for field in fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def undominated(
    states: States, rows: Ints, bounds: Ints, weights: Ints
) -> Generator[None, None, Ints]:
    """Yield the rows that no other state with the same started jobs dominates.

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
    # Most pairs differ at one of a few widely spread columns of ``ready``, so these are compared
    # first.
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


TAIL = 400
#: Up to this number of seconds, a table gives the position of each second in the grid directly.
TABULATED = 1 << 21


@dataclass(frozen=True)
class InstantGrid:
    """The instants that the tables distinguish, with a look-up by second.

    ``instants`` (M,) ascending from 0. Seconds after the last are looked up as the last. Where that
    is late, seconds are searched for among the instants: no table is as long as the horizon then.
    """

    instants: Ints
    _before: SmallInts | None
    _after: SmallInts | None

    @classmethod
    def of(cls, domains: list[Ints], end: int) -> InstantGrid:
        """Return the grid of all starts of the domains and of a few instants from the last start to
        ``end`` or later.
        """
        starts = np.unique(np.concatenate(domains))
        last = int(starts[-1])
        tail = np.linspace(last + 1, max(end, last + 2), TAIL).astype(np.int64)
        instants = np.unique(np.concatenate((np.zeros(1, np.int64), starts, tail)))
        if instants[-1] >= TABULATED:
            return cls(instants, None, None)
        seconds = np.arange(int(instants[-1]) + 1)
        before = np.searchsorted(instants, seconds, side="right") - 1
        after = np.searchsorted(instants, seconds)
        return cls(instants, before.astype(np.int32), after.astype(np.int32))

    def before(self, seconds: Ints | SmallInts) -> SmallInts:
        """Return the last instant of the grid up to each second."""
        clipped = np.minimum(seconds, int(self.instants[-1]))
        if self._before is not None:
            found: SmallInts = self._before[clipped]
            return found
        where = np.searchsorted(self.instants, clipped.astype(np.int64), side="right") - 1
        return where.astype(np.int32)

    def after(self, seconds: Ints | SmallInts) -> SmallInts:
        """Return the first instant of the grid from each second on."""
        clipped = np.minimum(seconds, int(self.instants[-1]))
        if self._after is not None:
            found: SmallInts = self._after[clipped]
            return found
        return np.searchsorted(self.instants, clipped.astype(np.int64)).astype(np.int32)

    def exact(self, seconds: Ints | SmallInts) -> SmallInts:
        """Return the position of each second in the grid, M if the second is not an instant of the
        grid.
        """
        before, after = self.before(seconds), self.after(seconds)
        return np.where(before == after, before, np.int32(len(self.instants)))


@dataclass(frozen=True)
class PriceTable:
    """A price system, valid for all states with no more remaining jobs than the crowd of its
    market.

    All in the prices' ``scale``. ``buy`` (G, M+1): own cost and window of a job of the group that
    starts at an instant, ``forbidden`` where no good plan has it; ``rest`` (G, M+1): the least of
    ``buy`` from that instant on; ``stock`` (K, M): what having the k-th number of processors free,
    and not only the one before it, is worth from that instant on.
    """

    buy: Ints
    rest: Ints
    stock: Ints

    @classmethod
    def of(
        cls,
        prices: Duals,
        calendar: InstantGrid,
        groups: tuple[Group, ...],
        domains: list[Ints],
        rooms: Ints,
    ) -> PriceTable:
        """Return the prices applied to the starts of ``domains``, one domain per group, and to
        ``rooms``.
        """
        market, instants = prices.market, calendar.instants
        # The limit is above the price of any good plan, and the sum over all jobs still fits into
        # 64 bits.
        forbidden = (1 << 61) // (1 + sum(group.count for group in groups))
        buy = np.full((len(groups), len(instants) + 1), forbidden, dtype=np.int64)
        for row, group, starts in zip(buy, groups, domains, strict=True):
            if group.size in market.sizes:
                window = prices.window(group.size, group.duration, starts)
                paid = prices.scale * cost(group, starts) + window
                row[calendar.exact(starts)] = np.minimum(paid, forbidden)
        rest = np.minimum.accumulate(buy[:, ::-1], axis=1)[:, ::-1]
        stock = np.zeros((len(rooms), len(instants)), dtype=np.int64)
        ever = max(int(market.grid[-1]), int(instants[-1]))
        for function, paid in prices.by_function(np.append(instants, ever)):
            worth = np.diff(market.filled(function, rooms), prepend=0)
            stock += worth[:, np.newaxis] * (paid[-1] - paid[:-1])
        return cls(buy, np.ascontiguousarray(rest), stock)

    def least(self, left: Ints, first: SmallInts) -> Ints:
        """Return the minimum price (n,) of the jobs not started: ``left`` (n, G) jobs by group,
        which start at the instants ``first`` (n, G) or later.
        """
        groups = np.arange(len(self.rest))
        least = np.take(self.rest, first + groups * self.rest.shape[1])
        total: Ints = (least * left).sum(axis=1)
        return total

    def free(self, when: SmallInts) -> Ints:
        """Return the maximum price (n,) of the free processors: each number of processors from the
        instants ``when`` (n, K) on.
        """
        rooms = np.arange(len(self.stock))
        worth: Ints = np.take(self.stock, when + rooms * self.stock.shape[1]).sum(axis=1)
        return worth


@dataclass(frozen=True)
class PaidAhead:
    """The worth of the free capacity, computed as the initial worth less the prices that running
    jobs pay. Either this value or ``PriceTable.free`` may be the lower one.

    ``ahead`` (M,): the worth of all that was there at first, from an instant on; ``paid`` (S, M):
    the price of running from 0 to an instant, by distinct size; ``rows`` (N,): the row of each slot
    of ``States.ends`` in it.
    """

    ahead: Ints
    paid: Ints
    rows: Ints

    @classmethod
    def of(
        cls, prices: Duals, table: PriceTable, calendar: InstantGrid, problem: PoolProblem
    ) -> PaidAhead:
        """Return the tables for the prices of a price table whose crowd has all jobs of the
        problem.
        """
        instants = calendar.instants
        paid = np.stack([prices.upto(row, instants) for row in range(len(prices.market.sizes))])
        begin = problem.times[np.argmax(problem.free >= rooms_of(problem)[:, np.newaxis], axis=1)]
        when = np.maximum.outer(calendar.before(begin), np.arange(len(instants)))
        ahead = np.take_along_axis(table.stock, when, axis=1).sum(axis=0)
        sizes = np.repeat([g.size for g in problem.groups], [g.count for g in problem.groups])
        return cls(ahead, paid, np.searchsorted(prices.market.sizes, sizes))

    def free(self, ends: SmallInts, time: Ints, calendar: InstantGrid) -> Ints:
        """Return the maximum price (n,) of the processors free from ``time`` (n,) on, with jobs
        that run until ``ends`` (n, N).
        """
        worth: Ints = self.ahead[calendar.before(time)]
        now = calendar.after(time)
        until = calendar.before(ends)
        for slot, row in enumerate(self.rows.tolist()):
            running = np.flatnonzero(ends[:, slot] > time)
            if len(running):
                paid = self.paid[row]
                worth[running] -= paid[until[running, slot]] - paid[now[running]]
        return worth


def rooms_of(problem: PoolProblem) -> Ints:
    """Return the numbers of processors that a set of jobs can occupy, ascending."""
    most = int(min(problem.free[-1], problem.sizes.sum()))
    reached = np.zeros(most + 1, dtype=bool)
    reached[0] = True
    for size in problem.sizes.tolist():
        reached[size:] |= reached[: most + 1 - size].copy()
    return np.flatnonzero(reached)[1:]


CHUNK_BYTES = 1e7
SURPLUS = 2
MEMORY = 1.2e8
MAX_ENTRIES = 8_000_000
#: The largest instant (seconds), because instants are stored in 32 bits.
LONGEST = 500_000_000
#: The largest total cost of all jobs, because costs are stored in 64 bits.
MAX_IN_ALL = 1 << 62
CROWDED = 4000
PRICE_TABLES = 3
USEFUL = 0.9
SHARES = (0.3,)
FINENESS = Fineness(buckets=50, rounds=6, gain=1e-3)


class LayeredSearch:
    """The search through the layers of one problem.

    ``domains``: the starts of each group that a plan better than ``best`` may use; ``prices`` to
    begin with, in the relaxation's scale. ``best`` is the value to beat (it may be lowered from
    outside), ``found`` (N,) the starts of a plan that did.

    A state is a set of started jobs and the capacity after their starts. If capacity never falls,
    the array ``ready`` of :class:`States` describes this capacity: a job of size p starts at S =
    ready[p], or at its release if that is later, and the new state has ready'[u] = max(S,
    min(ready[u + p], max(ready[u], S + duration))).

    Every left-shifted plan is built in this way, its jobs in order of their starts. Two arguments
    remove states from a layer: prices give a lower bound of all plans that a state can lead to, and
    states whose bound is not below the best plan are removed; a state that another state with the
    same started jobs dominates is removed, too. Duals of the whole problem get worse from layer to
    layer, so a large layer computes prices for one of its own states, which also serve the other
    states.

    If a layer still has too many states, the states with the highest bounds are removed, and the
    least bound of these is all that is proved in the end (a beam search with a known quality).
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
        """Whether a layered search applies to the problem and its tables are small enough."""
        if np.any(np.diff(problem.free) < 0):
            return False
        sets = sum(float(np.log2(g.count + 1)) for g in problem.groups)
        instants = len(np.unique(np.concatenate(domains)))
        last = max(int(starts[-1]) for starts in domains) + int(problem.durations.max())
        entries = len(rooms_of(problem)) * instants
        dearest = last * sum(problem.weights.tolist())
        small = entries <= MAX_ENTRIES and last <= LONGEST and dearest <= MAX_IN_ALL
        return sets < 62 and small

    @property
    def widest(self) -> int:
        """Return the maximum number of states of a layer that fit into memory."""
        return int(MEMORY / self._root().bytes_each)

    def run(self, width: int, *, hopeful: bool = False) -> Generator[None, None, int]:
        """Search with at most ``width`` states per layer; return a value such that no plan is below
        the result or below ``best``. Once states were removed, further states with higher bounds
        prove nothing more: they are searched only if ``hopeful`` is set, to find better plans.
        """
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
        """Return the rows with the lowest bounds, at most ``width`` rows."""
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
        """Offer the best of the complete plans to the incumbent; return its value."""
        row = int(np.argmin(states.value))
        value = int(states.value[row])
        if value < self.best:
            starts = np.zeros(len(self.problem), dtype=np.int64)
            members = np.concatenate([g.members for g in self.problem.groups])
            starts[members] = states.ends[row] - np.repeat(self._durations, self._counts)
            self.best, self.found = value, starts
        return value

    def _add(self, prices: Duals) -> None:
        groups, calendar = self.problem.groups, self._calendar
        self._tables.append(PriceTable.of(prices, calendar, groups, self._domains, self._rooms))

    def _priced(self, states: States) -> States:
        """Compute ``first`` and ``bounds`` of the states; no bound falls below the parent's
        ``floor``.
        """
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
        """Return lower bounds (n, T) of the states by each price table."""
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
        """Compute new prices for one state of a large layer and repeat while they remove enough
        states.
        """
        for share in SHARES:
            if len(states) <= CROWDED:
                break
            crowd = self._crowd(states)
            row = int(np.argsort(states.floor, kind="stable")[int(share * len(states))])
            problem, domains = self._residual(states, row)
            if min(map(len, domains)) == 0:
                continue
            ceiling = self.best - int(states.value[row])
            bounds = refine(
                problem, Reach(domains), ceiling, FINENESS, crowd=crowd, scale=self._scale
            )
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
        """Return the jobs that at least one of the states may still start."""
        most = states.left.max(axis=0).tolist()
        groups = zip(self.problem.groups, most, strict=True)
        jobs = [job for group, number in groups for job in group.members[:number]]
        return self.problem.select(np.array(jobs, dtype=np.int64))

    def _residual(self, states: States, row: int) -> tuple[PoolProblem, list[Ints]]:
        """Return the remaining problem of one state, and the starts of each of its groups."""
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

    def _grown(self, states: States) -> States:
        """Return the states with one more job started, for every choice whose bound stays within
        the limit.
        """
        calendar = self._calendar
        parent, group = np.nonzero(states.left > 0)
        start: SmallInts = states.first[parent, group]
        exact, after = calendar.exact(start), calendar.after(start)
        for which, table in enumerate(self._tables):
            extra = table.buy[group, exact] - table.rest[group, after]
            kept = np.flatnonzero(states.bounds[parent, which] + extra <= self._limit)
            parent, group, start = parent[kept], group[kept], start[kept]
            exact, after = exact[kept], after[kept]
        # Children of one parent with equal starts share some terms, which are computed once.
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
        """Return the states after one job of a group has been started (not yet priced)."""
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
        """Return ``ready`` of the children: the parent's array, shifted by the size of the job
        until the job ends.
        """
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
