"""Price systems tabulated by instant, for searches that look them up millions of times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .duals import Duals
from .problem import Group, Ints, PoolProblem, SmallInts
from .relax import cost

TAIL = 400
#: Up to so many seconds, where to find each in the tables is a table itself.
TABULATED = 1 << 21


@dataclass(frozen=True)
class InstantGrid:
    """The instants that tables distinguish, and where to find a second in them.

    ``instants`` (M,) ascending from 0. Seconds after the last are looked up as the last. Where that
    is late, seconds are searched for among the instants: no table is as long as the horizon then.
    """

    instants: Ints
    _before: SmallInts | None
    _after: SmallInts | None

    @classmethod
    def of(cls, domains: list[Ints], end: int) -> InstantGrid:
        """All starts of the domains, and a few instants from the last one to ``end`` or later."""
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
        """The last instant up to each second."""
        clipped = np.minimum(seconds, int(self.instants[-1]))
        if self._before is not None:
            found: SmallInts = self._before[clipped]
            return found
        where = np.searchsorted(self.instants, clipped.astype(np.int64), side="right") - 1
        return where.astype(np.int32)

    def after(self, seconds: Ints | SmallInts) -> SmallInts:
        """The first instant from each second on."""
        clipped = np.minimum(seconds, int(self.instants[-1]))
        if self._after is not None:
            found: SmallInts = self._after[clipped]
            return found
        return np.searchsorted(self.instants, clipped.astype(np.int64)).astype(np.int32)

    def exact(self, seconds: Ints | SmallInts) -> SmallInts:
        """The instant that is each second, M if there is none."""
        before, after = self.before(seconds), self.after(seconds)
        return np.where(before == after, before, np.int32(len(self.instants)))


@dataclass(frozen=True)
class PriceTable:
    """A price system, valid for all states with no more jobs left than its market's crowd has.

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
        """The prices applied to the starts of ``domains``, one for each group, and to ``rooms``."""
        market, instants = prices.market, calendar.instants
        # More than any good plan pays, and the sum over all jobs still fits into 64 bits.
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
        """(n,) the least that jobs not started pay: ``left`` (n, G) by group, which start from the
        instants ``first`` (n, G) on."""
        groups = np.arange(len(self.rest))
        least = np.take(self.rest, first + groups * self.rest.shape[1])
        total: Ints = (least * left).sum(axis=1)
        return total

    def free(self, when: SmallInts) -> Ints:
        """(n,) the most that is to be paid for what is free: each number of processors from the
        instants ``when`` (n, K) on."""
        rooms = np.arange(len(self.stock))
        worth: Ints = np.take(self.stock, when + rooms * self.stock.shape[1]).sum(axis=1)
        return worth


@dataclass(frozen=True)
class PaidAhead:
    """The worth of what is free, reckoned from the other side: what there was at first less what
    running jobs pay. Neither this nor ``PriceTable.free`` is always the lower.

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
        """For the prices of a price table whose crowd is everybody in the problem."""
        instants = calendar.instants
        paid = np.stack([prices.upto(row, instants) for row in range(len(prices.market.sizes))])
        begin = problem.times[np.argmax(problem.free >= rooms_of(problem)[:, np.newaxis], axis=1)]
        when = np.maximum.outer(calendar.before(begin), np.arange(len(instants)))
        ahead = np.take_along_axis(table.stock, when, axis=1).sum(axis=0)
        sizes = np.repeat([g.size for g in problem.groups], [g.count for g in problem.groups])
        return cls(ahead, paid, np.searchsorted(prices.market.sizes, sizes))

    def free(self, ends: SmallInts, time: Ints, calendar: InstantGrid) -> Ints:
        """(n,) the most that is to be paid for what is free from ``time`` (n,) on, jobs running
        until ``ends`` (n, N)."""
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
    """The numbers of processors that a set of jobs can occupy, ascending."""
    most = int(min(problem.free[-1], problem.sizes.sum()))
    reached = np.zeros(most + 1, dtype=bool)
    reached[0] = True
    for size in problem.sizes.tolist():
        reached[size:] |= reached[: most + 1 - size].copy()
    return np.flatnonzero(reached)[1:]
