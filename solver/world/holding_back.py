"""What reservations keep from other jobs until they start, from instant to instant.

Many jobs ask for it one after another, and a place that is planned anew changes little of it: so
what a reservation holds at an instant is remembered until something it depends on is planned.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..availability.arrays import FloatArray, IntArray
from ..availability.demand import Demand
from ..availability.guarded import Guarded
from ..availability.profile import FOREVER, Profile
from ..availability.resources import SLOTS
from ..availability.rows import RowList
from ..availability.uses import Alternative
from ..placement.earliest import Start
from ..placement.holding import HeldRows, free_over_run, whole_place
from .held import Held, hold_future, takes_only_slots

#: Instants for which it is reckoned what a reservation with limits of its own will hold.
MOST_STEPS = 64


class Reserved(NamedTuple):
    """What of a place is reserved at an instant, by host index: slots, memory, and slots kept."""

    slots: dict[int, int]
    memory: dict[int, float]
    kept: dict[int, int]


@dataclass(slots=True)
class Reckoned:
    """What one reservation holds at the instants asked about so far, and what decides that.

    hosts: where it may hold anything. pools: what limits it. everywhere: uses of host resources of
    which enough must be free on some candidate, whichever. found: for each instant candidates that
    had enough of each. left: slots of each host that are free over the run of the job, its own
    counted in, [H].
    """

    held: Held
    alternative: Alternative
    hosts: frozenset[int]
    pools: frozenset[int]
    everywhere: tuple[tuple[int, IntArray], ...]
    at: dict[int, Reserved] = field(default_factory=dict)
    found: dict[int, frozenset[int]] = field(default_factory=dict)
    left: FloatArray | None = None

    @classmethod
    def of(cls, held: Held, demand: Demand, start: Start, plain: Profile) -> Reckoned:
        ignored = {"slots", "mem"} if held.with_memory else {"slots"}
        every = [(term, other) for term in demand.terms for other in term.alternatives]
        return cls(
            held,
            demand.terms[0].alternatives[start.alternative],
            frozenset(whole_place(demand, start, plain)),
            frozenset(use.index for _, other in every for use in other.pool_uses),
            tuple(
                (use.index, term.candidates)
                for term, other in every
                for use in other.host_uses
                if use.reservation.resource not in ignored
            ),
        )

    def part_at(self, plain: Profile, time: int) -> Reserved:
        """What the reservation would hold of its future allocation if it were made at `time`."""
        part = self.at.get(time)
        if part is None:
            held, demand, start = self.held, self.held.demand, self.held.start
            assert demand is not None
            assert start is not None
            step = hold_future(
                held.state,
                demand,
                start,
                plain,
                time,
                unreserved=plain,
                spare=self._spare_at(plain, time),
                method=held.method,
                memory=held.with_memory,
            )
            kept = step.slots if step.kept is None else step.kept
            part = self.at[time] = Reserved(step.slots, step.memory, kept)
            # Where nothing is held for want of something, still more taken changes nothing.
            self.found[time] = frozenset(
                int(candidates[np.argmax(plain.free(index, time)[candidates])])
                for index, candidates in (self.everywhere if step.alternative else ())
                if candidates.size
            )
        return part

    def _spare_at(self, plain: Profile, time: int) -> FloatArray:
        """Slots of each host that come free from `time` until the start, [H]."""
        demand, start = self.held.demand, self.held.start
        assert demand is not None
        assert start is not None
        if self.left is None:
            self.left = free_over_run(plain, demand, start)
        return np.maximum(self.left - np.floor(plain.free(SLOTS, time)), 0.0)

    def forget(self, begin: int, end: int, hosts: set[int], pools: set[int]) -> None:
        """Something is taken of these over [begin, end)."""
        every = not (self.hosts.isdisjoint(hosts) and self.pools.isdisjoint(pools))
        if every and self._runs_during(begin, end):
            self.left = None
            self.at.clear()
            self.found.clear()
            return
        for time in [time for time in self.at if begin <= time < end]:
            if every or not self.found[time].isdisjoint(hosts):
                del self.at[time]

    def _runs_during(self, begin: int, end: int) -> bool:
        """Whether the job runs at some instant of [begin, end)."""
        if self.held.start is None or self.held.demand is None:
            return False
        finish = self.held.start.finish(self.held.demand)
        return self.held.start.time < end and (finish is None or begin < finish)


class HoldingBack:
    """What reservations hold beside `plain`, what runs and is planned; remembered by job number."""

    def __init__(self) -> None:
        self._reckoned: dict[int, Reckoned] = {}

    def clear(self) -> None:
        """Something else than a planned place has changed."""
        self._reckoned.clear()

    def planned(self, demand: Demand, start: Start) -> None:
        """A place was planned: what depends on it while it lasts has to be reckoned anew."""
        if not self._reckoned:
            return
        finish = start.finish(demand)
        end = FOREVER if finish is None else finish
        hosts, pools = taken(demand, start)
        for known in self._reckoned.values():
            known.forget(start.time, end, hosts, pools)

    def of(self, held: Held, plain: Profile) -> Reckoned:
        """What is known of a reservation that has a place; to be added to."""
        assert held.demand is not None
        assert held.start is not None
        known = self._reckoned.get(held.state.number)
        if known is None or known.held is not held:
            known = Reckoned.of(held, held.demand, held.start, plain)
            self._reckoned[held.state.number] = known
        return known


def hold_back(
    profile: Profile,
    reservations: Iterable[Held],
    plain: Profile,
    now: int,
    *,
    known: HoldingBack,
    since: int | None = None,
    before: int = FOREVER,
) -> None:
    """Take out of a profile what reservations keep from others until their starts.

    plain: what runs and is planned. What is held of a future allocation is reckoned from instant to
    instant. known: what was reckoned for the same `plain`. since, before: nobody will ask about
    other instants, so what is held at those alone is left out.
    """
    since = now if since is None else since
    rows = HeldRows(profile.table)
    for held in reservations:
        until = held.estimate if held.estimate is not None else FOREVER
        if until <= since:
            continue
        if held.start is None or held.demand is None:
            rows.add(held.alternative, held.slots, held.memory, now, until)
        else:
            reckoned = known.of(held, plain)
            for begin, end, part in held_from(reckoned, plain, now, since=since, before=before):
                slots, memory, kept = part
                rows.add(reckoned.alternative, slots, memory, begin, end, limits_only=True)
                rows.keep(kept, begin, end)
    rows.enter(profile)


def guarded(plain: Profile, reservations: Iterable[Held], now: int) -> Guarded:
    """What is left to a job that may use nothing of what these reservations hold.

    plain: what runs and is planned, these reservations' places too.
    """
    limited = [
        held
        for held in reservations
        if held.start is None
        or held.demand is None
        or not takes_only_slots(held.demand, held.start)
    ]
    shown = plain.copy()
    hold_back(shown, limited, plain, now, known=HoldingBack())
    firm = plain.copy() if limited else plain
    for held in limited:
        forget_place(firm, held)
    return Guarded(shown, plain, firm)


def _keeps_slots_alone(held: Held) -> bool:
    """Whether a reservation keeps a place for which nothing but slots counts."""
    if held.start is None or held.demand is None:
        return False
    return takes_only_slots(held.demand, held.start)


def forget_place(profile: Profile, held: Held) -> None:
    """Give back to a profile the slots of a reservation's place."""
    if held.start is None or held.demand is None:
        return
    finish = held.start.finish(held.demand)
    place = whole_place(held.demand, held.start, profile)
    rows, end = RowList(), FOREVER if finish is None else finish
    rows.extend(place, held.start.time, end, [-count for count in place.values()])
    profile.hold_rows(SLOTS, rows, pool=False)


def held_from(
    known: Reckoned, plain: Profile, now: int, *, since: int, before: int
) -> Iterator[tuple[int, int, Reserved]]:
    """Beginnings, ends and amounts of what a reservation holds, over [since, before) at least."""
    until = FOREVER if known.held.estimate is None else known.held.estimate
    edges = edges_of(plain.candidate_times(now), until, since=since, before=before)
    if len(edges) < 2:
        return
    begin, held = edges[0], known.part_at(plain, edges[0])
    for edge in edges[1:-1]:
        part = known.part_at(plain, edge)
        if part != held:
            yield begin, edge, held
            begin, held = edge, part
    yield begin, edges[-1], held


def edges_of(times: list[int], until: int, *, since: int, before: int) -> list[int]:
    """Where it is reckoned anew what a reservation until `until` holds, over [since, before).

    times: the instants at which anything is freed, ascending. Between two edges it holds the same;
    fewer than two where it holds nothing then.
    """
    times = _instants(times, until)
    first = max(0, bisect.bisect_right(times, since) - 1)
    last = bisect.bisect_left(times, before)
    return [*times[first:last], *(times[last : last + 1] or [until])]


def _instants(ends: list[int], until: int) -> list[int]:
    """The instants before `until` for which it is reckoned what a reservation holds."""
    count = bisect.bisect_left(ends, until)
    return ends[: count : count // MOST_STEPS + 1] if count > MOST_STEPS else ends[:count]


def taken(demand: Demand, start: Start) -> tuple[set[int], set[int]]:
    """Hosts and pools of which a planned place takes anything."""
    hosts = set(start.allocation)
    for term, allocation in zip(demand.terms, start.terms, strict=True):
        if term.unit is not None and term.unit.excl:
            units = term.unit.unit_of[list(allocation)]
            hosts.update(np.flatnonzero(np.isin(term.unit.unit_of, units)).tolist())
    uses = [term.alternatives[start.alternative] for term in demand.terms]
    return hosts, {use.index for alternative in uses for use in alternative.pool_uses}
