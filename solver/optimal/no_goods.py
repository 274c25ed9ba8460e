"""What was refuted once refutes more: a job that asks for no less, beside no fewer jobs.

Where a job had no place at an instant beside others at their starts, one whose every placement
holds a placement of the first, over the whole of its window, has none either.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from ..availability.demand import Availability, Demand, TermDemand
from ..availability.profile import FOREVER
from ..availability.room import SLACK
from ..availability.uses import Alternative, Per, Use

#: Starts (seconds) of settled jobs, by job.
Starts: TypeAlias = Collection[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class _NoGood:
    """The job has no place at the instant beside these starts."""

    demand: Demand
    time: int
    beside: frozenset[tuple[str, int]]


@dataclass(slots=True)
class NoGoods:
    """Refuted questions. pending: all jobs that are asked about; pools with room for all of them
    refuse nobody.
    """

    base: Availability
    pending: Sequence[Demand] = ()
    _noted: list[_NoGood] = field(default_factory=list)
    _slack: dict[int, bool] = field(default_factory=dict)

    def note(self, beside: Starts, demand: Demand, time: int) -> None:
        """The job has no place at `time` (seconds) beside these jobs at their starts."""
        if len(demand.terms) == 1 and demand.calendar is None and not demand.floors:
            self._noted.append(_NoGood(demand, time, frozenset(beside)))

    def refute(self, beside: Starts, demand: Demand, time: int) -> bool:
        """Whether something noted says that the job has no place at `time` beside these."""
        if not self._noted or len(demand.terms) != 1:
            return False
        there = frozenset(beside)
        return any(
            item.beside <= there
            and _spans(demand, time, item)
            and self._asks_no_less(demand, item.demand, item.time - time)
            for item in self._noted
        )

    def _asks_no_less(self, more: Demand, less: Demand, shift: int) -> bool:
        """Whether every placement of one job, so many seconds later, holds one of the other."""
        (wide,), (narrow,) = more.terms, less.terms
        return (
            more.exclusive == less.exclusive
            and _holds_shape(wide, narrow)
            and bool(np.isin(wide.candidates, narrow.candidates).all())
            and all(
                any(
                    self._takes_no_less(item, other, wide, less, shift)
                    for other in narrow.alternatives
                    if not other.missing
                )
                for item in wide.alternatives
                if not item.missing
            )
        )

    def _takes_no_less(
        self, more: Alternative, less: Alternative, wide: TermDemand, narrow: Demand, shift: int
    ) -> bool:
        if less.hosts is not None and not less.hosts[wide.candidates].all():
            return False
        last = FOREVER if narrow.duration is None else narrow.duration
        pools = [use for use in less.pool_uses if not self._has_slack(use.index)]
        return all(
            any(_covers(use, other, shift, last) for use in uses)
            for uses, others in ((more.host_uses, less.host_uses), (more.pool_uses, pools))
            for other in others
        )

    def _has_slack(self, pool: int) -> bool:
        """Whether a pool has room for all pending jobs at once."""
        if pool not in self._slack:
            points = (self.base.now, *self.base.later_starts)
            most = sum(_most_in_pool(demand, pool) for demand in self.pending)
            free = self.base.least_free_in_pool(pool, points)
            self._slack[pool] = bool(self.pending) and most + SLACK <= free
        return self._slack[pool]


def _spans(demand: Demand, time: int, item: _NoGood) -> bool:
    """Whether a job from `time` on runs over the whole window that was refuted."""
    if time > item.time:
        return False
    if demand.duration is None:
        return True
    return (
        item.demand.duration is not None
        and time + demand.duration >= item.time + item.demand.duration
    )


def _holds_shape(wide: TermDemand, narrow: TermDemand) -> bool:
    """Whether every placement of one term holds slots that make one of the other."""
    if narrow.slots > wide.slots:
        return False
    if _same_shape(wide, narrow):
        return True
    on_first = any(u.per is Per.JOB for alt in narrow.alternatives for u in alt.host_uses)
    if narrow.unit is not None or narrow.first_hosts is not None or narrow.same or on_first:
        return False
    if narrow.slots == 1:
        return True
    if narrow.block > 1:
        return False
    if narrow.one_host:
        return wide.one_host or (_tile(wide) or 0) >= narrow.slots
    return narrow.ptile is None or (_tile(narrow) is not None and _tile(narrow) == _tile(wide))


def _same_shape(one: TermDemand, other: TermDemand) -> bool:
    """Whether two terms take as many slots in the same way."""
    return (
        one.slots == one.most == other.slots == other.most
        and (one.block, one.one_host) == (other.block, other.one_host)
        and _equal(one.ptile, other.ptile)
        and _equal(one.first_hosts, other.first_hosts)
        and len(one.same) == len(other.same)
        and all(map(_equal, one.same, other.same))
        and _same_units(one, other)
    )


def _same_units(one: TermDemand, other: TermDemand) -> bool:
    a, b = one.unit, other.unit
    if a is None or b is None:
        return a is b
    return np.array_equal(a.unit_of, b.unit_of) and (
        (a.maxcus, a.usablecuslots, a.balance, a.excl)
        == (b.maxcus, b.usablecuslots, b.balance, b.excl)
    )


def _equal(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)


def _tile(term: TermDemand) -> int | None:
    """The slots of a tile where all hosts have the same, None where they do not."""
    if term.ptile is None or term.one_host or not term.candidates.size:
        return None
    tiles = np.unique(term.ptile[term.candidates])
    return int(tiles[0]) if len(tiles) == 1 else None


def _covers(more: Use, less: Use, shift: int, last: float) -> bool:
    """Whether one use, so many seconds after its start, is never below another up to `last`."""
    if (more.index, more.per, more.once) != (less.index, less.per, less.once):
        return False
    steps: Iterable[int] = {
        0,
        *less.reservation.drops(),
        *(drop - shift for drop in more.reservation.drops()),
    }
    return all(
        more.reservation.planned_at(at + shift) >= less.reservation.planned_at(at)
        for at in steps
        if 0 <= at < last
    )


def _most_in_pool(demand: Demand, pool: int) -> float:
    """The most that a job can ever hold of a pool."""
    return sum(
        (1 if use.per is Per.JOB else max(term.slots, term.most)) * use.reservation.initial
        if use.per is not Per.WHOLE
        else np.inf
        for term in demand.terms
        for alternative in term.alternatives
        for use in alternative.pool_uses
        if use.index == pool
    )
