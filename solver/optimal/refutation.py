"""Refutations for the lexicographic search that need no model of pairs: counts and no-goods.

Refutation by counts at two instants. Jobs that run at both instants use the same slots of the same
hosts at both. If they use all but a few of the slots that are free at the first instant, blocks
that start in between fit only on hosts where slots were released meanwhile, or where the few spare
slots are. Likewise for slots that a job needs in few compute units. No relaxation of a single
instant yields this, and no linear relaxation of both, because it takes a part of a block from every
host.

No-goods: a refuted job refutes larger ones. If a job was infeasible at an instant given other jobs
at their starts, then a job is infeasible too if each of its allocations contains an allocation of
the first job during the whole window of that job.

Allocation by counts: the number of blocks of each job in each class of hosts. Hosts in the same
compute units form a class; with racks of identical hosts, one variable per job and rack replaces
one per job and host. If the counts are infeasible, every allocation is. Feasible counts are tried
in the order of starts, with as many hosts of each class as counted; for jobs with whole hosts this
always succeeds, because free hosts stay free while a job runs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ..availability.demand import Availability, Demand, TermDemand, UnitDemand
from ..availability.profile import SLACK, Profile
from ..availability.resources import SLOTS, Alternative, BoolArray, FloatArray, IntArray, Per, Use
from ..availability.usage import FOREVER
from ..budget import Budget
from ..placement.earliest import Start, allocate_start, start_at
from .backends import run
from .pool_bounds import tiles_of

if TYPE_CHECKING:
    from ortools.sat.python import cp_model


@dataclass(frozen=True, slots=True)
class Blocks:
    """Blocks of slots on single hosts that a job occupies during [start, end)."""

    #: Slots of one block.
    size: int
    #: Number of equal blocks.
    count: int
    #: Mask of the hosts on which a block fits, [H].
    hosts: BoolArray
    #: First second of the blocks.
    start: int
    #: Second at which the blocks are released; infinite if the duration is unknown.
    end: float

    def covers(self, point: int) -> bool:
        """Return whether the job runs at an instant."""
        return self.start <= point < self.end


#: A job with its start in seconds and the blocks that it certainly occupies.
Asked: TypeAlias = tuple[Demand, int, Sequence[Blocks]]


def blocks_of(base: Availability, demand: Demand, time: int) -> tuple[Blocks, ...]:
    """Return the blocks that a job certainly occupies if it starts at `time`; () if they are not
    unique.

    The mask of hosts is that of the base profile. The blocks of a job with whole hosts are these
    hosts.
    """
    if len(demand.terms) != 1 or len(demand.terms[0].alternatives) != 1:
        return ()
    term = demand.terms[0]
    (alternative,) = term.alternatives
    slots = [use for use in alternative.host_uses if use.index == SLOTS]
    if len(slots) != 1 or slots[0].reservation.drops():
        return ()
    caps = base.capacity(demand, term, alternative, time).caps
    able = term.candidates[caps[term.candidates] > 0]
    end = np.inf if demand.duration is None else time + demand.duration
    if slots[0].per is Per.WHOLE:
        capacity = np.unique(base.table.host_resources[SLOTS].capacity[able])
        if len(capacity) != 1:
            return ()
        whole = int(capacity[0])
        count = sum(number for _, number in tiles_of(term, able, whole))
        return (Blocks(whole, count, caps > 0, time, end),) if count else ()
    if slots[0].per is not Per.SLOT or slots[0].reservation.planned_at(0) != 1.0:
        return ()
    sizes = tiles_of(term, able, term.block)
    return tuple(Blocks(size, count, caps >= size, time, end) for size, count in sizes)


def is_overfull(base: Availability, asked: Sequence[Asked], points: Sequence[int]) -> bool:
    """Return whether the jobs cannot fit at one of `points`, because of jobs that run since before.

    asked: all jobs with their starts. Each of `points` is compared with every earlier start.
    """
    if not points:
        return False
    before = sorted({time for _, time, _ in asked} | set(base.later_starts))
    free = {point: base.free(SLOTS, point).clip(0) for point in {*before, *points}}
    view = _View(base, asked, before, list(points), free, _spare(asked, free, before, points))
    return view.too_few_hosts() or view.too_full_units()


@dataclass(frozen=True, slots=True)
class _View:
    """Free slots and jobs with fixed starts, at pairs of an earlier and a later instant."""

    #: Free resources given running jobs only.
    base: Availability
    #: The jobs with their starts and blocks.
    asked: Sequence[Asked]
    #: First instants of the pairs, in seconds, rising.
    before: list[int]
    #: Second instants of the pairs, in seconds.
    points: list[int]
    #: Slots free in the base profile, by instant, [H].
    free: dict[int, FloatArray]
    #: Slots free at the first instant, minus those of jobs that run at both, [before, points];
    #: infinite if the first instant is not before the second.
    spare: FloatArray

    def too_few_hosts(self) -> bool:
        """Return whether blocks that start between two instants need more hosts than can have
        room for them.
        """
        blocks = [block for _, _, several in self.asked for block in several if block.size > 1]
        for size in sorted({block.size for block in blocks}):
            needed = _pieces_between(blocks, size, self.before, self.points)
            # Enough spare slots for all these blocks: no refutation.
            for i, j in np.argwhere(self.spare < size * needed).tolist():
                first, second = self.before[i], self.points[j]
                between = [
                    block
                    for block in blocks
                    if block.size >= size and first < block.start and block.covers(second)
                ]
                if _too_few(
                    self.free[first], self.free[second], size, between, float(self.spare[i, j])
                ):
                    return True
        return False

    def too_full_units(self) -> bool:
        """Return whether a job limited to few units (cu[maxcus]) cannot find enough slots at its
        start.
        """
        for demand, time, _ in self.asked:
            if time not in self.points or len(demand.terms) != 1:
                continue
            (term,) = demand.terms
            if term.unit is None or term.unit.maxcus is None or len(term.alternatives) != 1:
                continue
            spare = self.spare[:, self.points.index(time)]
            tight = np.flatnonzero(spare < term.slots).tolist()
            if not tight:
                continue
            caps = self.base.capacity(demand, term, term.alternatives[0], time).caps
            for i in tight:
                first, second = self.free[self.before[i]], self.free[time]
                most = most_in_units(term.unit, caps, first, second, float(spare[i]))
                if most < term.slots:
                    return True
        return False


def most_in_units(
    unit: UnitDemand, caps: IntArray, first: FloatArray, second: FloatArray, spare: float
) -> float:
    """Return an upper bound on the slots of a job in the best `maxcus` units at the second instant.

    caps: slots that the job may take on each host, [H]. first, second, spare: as for
    :func:`most_pieces`, except that part of `spare` may be free at the first instant only.
    """
    capacity = np.minimum(caps, second)
    grown = np.minimum(capacity, second - np.minimum(first, second))
    spare -= float((first - np.minimum(first, second)).sum())
    _, number = np.unique(unit.unit_of, return_inverse=True)
    whole, since = (np.bincount(number.reshape(-1), amounts) for amounts in (capacity, grown))
    best = np.sort(np.minimum(whole, since + max(0.0, spare + SLACK)))[::-1][: unit.maxcus]
    few = np.sort(since)[::-1][: unit.maxcus]
    return min(float(best.sum()), float(few.sum()) + max(0.0, spare + SLACK))


def most_pieces(first: FloatArray, second: FloatArray, size: int, spare: float) -> int:
    """Return the maximum number of pieces of `size` slots that are free at the second instant.

    first, second: slots free on each host in the base profile, [H]. spare: slots free at the first
    instant that no job uses at both; all other slots are in use at both.
    """
    stay = np.minimum(first, second)
    grown = second - stay
    without = np.floor(grown / size)
    further = np.floor(second / size) - without
    cost = np.sort((size * (without + 1) - grown)[further > 0])
    enough = int(np.searchsorted(np.cumsum(cost), spare + SLACK, side="right"))
    found = int(without.sum()) + enough
    if enough == len(cost):  # a further piece costs `size`, the maximum
        left = (spare + SLACK - float(cost.sum())) // size
        found += int(min(left, float(further.sum()) - enough))
    return found


def _spare(
    asked: Sequence[Asked],
    free: dict[int, FloatArray],
    before: Sequence[int],
    points: Sequence[int],
) -> FloatArray:
    """Return the slots free at the first instant that jobs running at both leave, [before,
    points].
    """
    slots = np.array([demand.slots for demand, _, _ in asked], dtype=float)
    starts = np.array([time for _, time, _ in asked])[:, np.newaxis]
    ends = np.array(
        [np.inf if demand.duration is None else time + demand.duration for demand, time, _ in asked]
    )[:, np.newaxis]
    first, second = (
        (starts <= np.array(instants)) & (np.array(instants) < ends)
        for instants in (before, points)
    )
    held = (slots[:, np.newaxis] * first).T @ second.astype(float)
    total = np.array([float(free[point].sum()) for point in before])
    earlier = np.array(before)[:, np.newaxis] < np.array(points)
    return np.where(earlier, total[:, np.newaxis] - held, np.inf)


def _pieces_between(
    blocks: Sequence[Blocks], size: int, before: Sequence[int], points: Sequence[int]
) -> FloatArray:
    """Return the pieces of jobs that start between two instants and run at the second, [before,
    points].
    """
    pieces = np.array([block.count * (block.size // size) for block in blocks], dtype=float)
    later = np.array([[block.start > point for point in before] for block in blocks])
    active = np.array([[block.covers(point) for point in points] for block in blocks])
    between: FloatArray = (pieces[:, np.newaxis] * later).T @ active.astype(float)
    return between


def _too_few(
    first: FloatArray, second: FloatArray, size: int, blocks: Sequence[Blocks], spare: float
) -> bool:
    """Return whether blocks that start in between exceed the pieces of a set of hosts.

    The sets are the hosts of each block and the union of all; the blocks of a set fit on no other
    hosts. spare: as for :func:`most_pieces`, including slots that are free at the first instant
    only.
    """
    spare -= float((first - np.minimum(first, second)).sum())
    if spare < -SLACK:
        return True
    for allowed in _sets(blocks):
        inside = [block for block in blocks if not (block.hosts & ~allowed).any()]
        needed = sum(block.count * (block.size // size) for block in inside)
        if needed > most_pieces(first[allowed], second[allowed], size, spare):
            return True
    return False


def _sets(blocks: Sequence[Blocks]) -> list[BoolArray]:
    """Return the distinct sets of hosts on which blocks fit, and their union."""
    together = np.logical_or.reduce([block.hosts for block in blocks])
    different = {block.hosts.tobytes(): block.hosts for block in blocks}
    different.setdefault(together.tobytes(), together)
    return list(different.values())


#: Ids of settled jobs with their starts (seconds).
Starts: TypeAlias = Collection[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class _NoGood:
    """A refuted question: the job is infeasible at the instant given these starts."""

    demand: Demand
    time: int
    beside: frozenset[tuple[str, int]]


@dataclass(slots=True)
class NoGoods:
    """The refuted questions of one search, and the test whether they refute another question."""

    #: Free resources given running jobs only.
    base: Availability
    #: All jobs of the search; a pool that has enough for all of them never makes a job infeasible.
    pending: Sequence[Demand] = ()
    _noted: list[_NoGood] = field(default_factory=list)
    _slack: dict[int, bool] = field(default_factory=dict)

    def note(self, beside: Starts, demand: Demand, time: int) -> None:
        """Record that a job is infeasible at `time` (seconds) given jobs at their starts."""
        if len(demand.terms) == 1 and demand.calendar is None and not demand.floors:
            self._noted.append(_NoGood(demand, time, frozenset(beside)))

    def refute(self, beside: Starts, demand: Demand, time: int) -> bool:
        """Return whether records show that the job cannot start at `time` (seconds).

        The jobs already allocated keep their starts.
        """
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
        """Return whether each allocation of `more`, `shift` seconds later, contains one of
        `less`.
        """
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
        """Return whether a pool has enough for all pending jobs together."""
        if pool not in self._slack:
            points = (self.base.now, *self.base.later_starts)
            most = sum(_most_in_pool(demand, pool) for demand in self.pending)
            free = self.base.min_free_in_pool(pool, points)
            self._slack[pool] = bool(self.pending) and most + SLACK <= free
        return self._slack[pool]


def _spans(demand: Demand, time: int, item: _NoGood) -> bool:
    """Return whether a job that starts at `time` runs during the whole refuted window."""
    if time > item.time:
        return False
    if demand.duration is None:
        return True
    return (
        item.demand.duration is not None
        and time + demand.duration >= item.time + item.demand.duration
    )


def _holds_shape(wide: TermDemand, narrow: TermDemand) -> bool:
    """Return whether each allocation of one term contains an allocation of the other."""
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
    """Return whether two terms request equal slots with equal constraints on hosts."""
    return (
        one.slots == one.max_slots == other.slots == other.max_slots
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
    """Return the slots of a tile if all candidate hosts have the same tile, else None."""
    if term.ptile is None or term.one_host or not term.candidates.size:
        return None
    tiles = np.unique(term.ptile[term.candidates])
    return int(tiles[0]) if len(tiles) == 1 else None


def _covers(more: Use, less: Use, shift: int, last: float) -> bool:
    """Return whether one use, `shift` seconds after its start, is at least another until `last`."""
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
    """Return the maximum amount that a job can reserve in a pool."""
    return sum(
        (1 if use.per is Per.JOB else max(term.slots, term.max_slots)) * use.reservation.initial
        if use.per is not Per.WHOLE
        else np.inf
        for term in demand.terms
        for alternative in term.alternatives
        for use in alternative.pool_uses
        if use.index == pool
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """Blocks of a job with the variable number of blocks in each class."""

    job: int
    blocks: Blocks
    counts: Mapping[int, cp_model.IntVar]


class ClassCounts:
    """CP-SAT model of block counts per host class, for some jobs at fixed starts."""

    def __init__(self, base: Profile, asked: Sequence[Asked]) -> None:
        self.base = base
        self.asked = list(asked)
        self._members = classes_of(base.hosts, [job for job, _, _ in asked])
        from ortools.sat.python import cp_model

        self.model = cp_model.CpModel()
        self.hopeless = False
        self._parts = [
            self._add_part(number, blocks)
            for number, (_, _, several) in enumerate(self.asked)
            for blocks in several
        ]
        for number, (demand, _, _) in enumerate(self.asked):
            self._limit_units(number, demand)
        for point in sorted({time for _, time, _ in self.asked} | set(base.later_starts)):
            self._add_capacities(point)

    @staticmethod
    def size(hosts: int, asked: Sequence[Asked]) -> int:
        """Return the number of integer variables that the model would have."""
        members = classes_of(hosts, [job for job, _, _ in asked])
        return len(members) * sum(len(several) for _, _, several in asked)

    def solve(self, budget: Budget, *, seconds: float, effort: float) -> tuple[str, list[IntArray]]:
        """Solve the model; return the status and the blocks of each job in each class,
        [classes].
        """
        if self.hopeless:
            return "INFEASIBLE", []
        status, solver = run(self.model, budget, seconds=seconds, effort=effort, feasibility=True)
        if status not in ("OPTIMAL", "FEASIBLE"):
            return status, []
        found = [np.zeros(len(self._members), dtype=np.int64) for _ in self.asked]
        for part in self._parts:
            for number, count in part.counts.items():
                found[part.job][number] += solver.value(count)
        return "FEASIBLE", found

    def _add_part(self, number: int, blocks: Blocks) -> _Part:
        counts = {}
        for at, hosts in enumerate(self._members):
            most = self._pieces(hosts[blocks.hosts[hosts]], blocks.start, blocks.size)
            if most > 0:
                counts[at] = self.model.new_int_var(0, min(most, blocks.count), "")
        self.hopeless |= not counts
        self.model.add(sum(counts.values()) == blocks.count)
        return _Part(number, blocks, counts)

    def _pieces(self, hosts: IntArray, point: int, size: int) -> int:
        """Return the number of blocks of `size` slots that are free on some hosts."""
        return int((self.base.free(SLOTS, point)[hosts].clip(0) // size).sum())

    def _limit_units(self, number: int, demand: Demand) -> None:
        """Add the limit on the compute units of a job (cu[maxcus])."""
        unit = demand.terms[0].unit
        if unit is None or unit.maxcus is None:
            return
        used: dict[int, cp_model.IntVar] = {}
        for part in self._parts:
            if part.job != number:
                continue
            for at, count in part.counts.items():
                which = int(unit.unit_of[self._members[at][0]])
                if which not in used:
                    used[which] = self.model.new_bool_var("")
                self.model.add(count == 0).only_enforce_if(~used[which])
                self.model.add(count <= part.blocks.count * used[which])
        self.model.add(sum(used.values()) <= unit.maxcus)

    def _add_capacities(self, point: int) -> None:
        active = [part for part in self._parts if part.blocks.covers(point)]
        for piece in {1, *(part.blocks.size for part in active)}:
            for at, hosts in enumerate(self._members):
                terms = [
                    (part.blocks.size // piece) * part.counts[at]
                    for part in active
                    if part.blocks.size >= piece and at in part.counts
                ]
                if terms:
                    self.model.add(sum(terms) <= self._pieces(hosts, point, piece))

    def placed(self, counts: Sequence[IntArray]) -> dict[str, Start] | None:
        """Return starts with these numbers of blocks in each class, None if none were found."""
        profile = self.base.copy()
        found: dict[str, Start] = {}
        for number in sorted(range(len(self.asked)), key=lambda number: self.asked[number][1]):
            demand, time, several = self.asked[number]
            narrowed = self._narrowed(profile, demand, time, several, counts[number])
            start = start_at(profile, narrowed, time)
            if start is None:
                return None
            allocate_start(profile, demand, start)
            found[demand.job.id] = start
        return found

    def _narrowed(
        self,
        profile: Profile,
        demand: Demand,
        time: int,
        several: Sequence[Blocks],
        counts: IntArray,
    ) -> Demand:
        """Return the job with its candidates limited to the needed hosts of each class, fullest
        first.
        """
        (term,) = demand.terms
        caps = profile.capacity(demand, term, term.alternatives[0], time).caps
        size = max((blocks.size for blocks in several), default=1)
        allowed = np.zeros(profile.hosts, dtype=bool)
        for at in np.flatnonzero(counts).tolist():
            hosts = self._members[at]
            capacity = caps[hosts] // size if size == 1 else np.minimum(1, caps[hosts] // size)
            order = np.argsort(np.where(capacity > 0, caps[hosts], np.iinfo(np.int64).max))
            needed = np.searchsorted(np.cumsum(capacity[order]), counts[at]) + 1
            allowed[hosts[order[:needed]]] = True
        kept = term.candidates[allowed[term.candidates]]
        return replace(demand, terms=(replace(term, candidates=kept),))


def classes_of(hosts: int, demands: Sequence[Demand]) -> list[IntArray]:
    """Return the hosts of each class: hosts that are in the same unit for every job."""
    keys = {id(unit.unit_of): unit.unit_of for d in demands if (unit := d.terms[0].unit)}
    if not keys:
        return [np.arange(hosts)]
    _, number = np.unique(np.array(list(keys.values())), axis=1, return_inverse=True)
    number = number.reshape(-1)
    return [np.flatnonzero(number == at) for at in range(int(number.max()) + 1)]
