"""Price systems tabulated by instant, for searches that look them up millions of times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .duals import Duals
from .problem import Group, Ints, PoolProblem, SmallInts
from .relax import cost

FORBIDDEN = 1 << 50
TAIL = 400


@dataclass(frozen=True)
class InstantGrid:
    """The instants that tables distinguish, and where to find a second 0..H in them.

    ``instants`` (M,) ascending from 0; ``before``, ``after`` (H+1,): the last instant up to a
    second and the first from it on; ``exact`` (H+1,): the instant that is that second, M if there
    is none. Seconds after H are looked up as H.
    """

    instants: Ints
    before: SmallInts
    after: SmallInts
    exact: SmallInts

    @classmethod
    def of(cls, domains: list[Ints], end: int) -> InstantGrid:
        """All starts of the domains, and a few instants from the last one to ``end`` or later."""
        starts = np.unique(np.concatenate(domains))
        last = int(starts[-1])
        tail = np.linspace(last + 1, max(end, last + 2), TAIL).astype(np.int64)
        instants = np.unique(np.concatenate((np.zeros(1, np.int64), starts, tail)))
        seconds = np.arange(int(instants[-1]) + 1)
        before = np.searchsorted(instants, seconds, side="right") - 1
        after = np.searchsorted(instants, seconds)
        exact = np.where(before == after, before, len(instants))
        columns = (before, after, exact)
        return cls(instants, *(column.astype(np.int32) for column in columns))

    def clip(self, seconds: Ints | SmallInts) -> Ints | SmallInts:
        """Seconds that can be looked up."""
        return np.minimum(seconds, len(self.before) - 1)


@dataclass(frozen=True)
class PriceTable:
    """A price system, valid for all states with no more jobs left than its market's crowd has.

    All in the prices' ``scale``. ``buy`` (G, M+1): own cost and window of a job of the group that
    starts at an instant, ``FORBIDDEN`` where no good plan has it; ``rest`` (G, M+1): the least of
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
        buy = np.full((len(groups), len(instants) + 1), FORBIDDEN, dtype=np.int64)
        for row, group, starts in zip(buy, groups, domains, strict=True):
            if group.size in market.sizes:
                window = prices.window(group.size, group.duration, starts)
                row[calendar.exact[starts]] = prices.scale * cost(group, starts) + window
        rest = np.minimum.accumulate(buy[:, ::-1], axis=1)[:, ::-1]
        stock = np.zeros((len(rooms), len(instants)), dtype=np.int64)
        ever = max(int(market.grid[-1]), int(instants[-1]))
        for weighing, paid in prices.by_weighing(np.append(instants, ever)):
            worth = np.diff(market.filled(weighing, rooms), prepend=0)
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
        cls, prices: Duals, tariff: PriceTable, calendar: InstantGrid, problem: PoolProblem
    ) -> PaidAhead:
        """For the prices of a tariff whose crowd is everybody in the problem."""
        instants = calendar.instants
        paid = np.stack([prices.upto(row, instants) for row in range(len(prices.market.sizes))])
        begin = problem.times[np.argmax(problem.free >= rooms_of(problem)[:, np.newaxis], axis=1)]
        when = np.maximum.outer(calendar.before[calendar.clip(begin)], np.arange(len(instants)))
        ahead = np.take_along_axis(tariff.stock, when, axis=1).sum(axis=0)
        sizes = np.repeat([g.size for g in problem.groups], [g.count for g in problem.groups])
        return cls(ahead, paid, np.searchsorted(prices.market.sizes, sizes))

    def free(self, ends: SmallInts, time: Ints, calendar: InstantGrid) -> Ints:
        """(n,) the most that is to be paid for what is free from ``time`` (n,) on, jobs running
        until ``ends`` (n, N)."""
        clipped = calendar.clip(time)
        worth: Ints = self.ahead[calendar.before[clipped]]
        now = calendar.after[clipped]
        until = calendar.before[calendar.clip(ends)]
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
