"""What reservations keep from a job, reckoned literally: one after another, instant by instant."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
from slotwise.solver.availability.demand import Demand
from slotwise.solver.availability.profile import FOREVER, Profile
from slotwise.solver.availability.resources import SLOTS
from slotwise.solver.placement.earliest import Start, earliest_start
from slotwise.solver.placement.holding import HeldRows, free_over_run
from slotwise.solver.scheduler.held import Held, hold_future, takes_only_slots


class LiteralGuard:
    """Stands in for the product's: keeps nothing but the reservations."""

    def __init__(self, plain: Profile, reservations: Iterable[Held], now: int) -> None:
        self.plain, self.now, self.held = plain, now, list(reservations)
        self.firm = plain

    @property
    def limited(self) -> list[Held]:
        """Reservations of which limits or other resources decide what they hold."""
        return [
            held
            for held in self.held
            if held.start is not None
            and held.demand is not None
            and not takes_only_slots(held.demand, held.start)
        ]

    def keep(self, held: Held) -> None:
        self.held.append(held)

    def planned(self, demand: Demand, start: Start) -> None:
        """Its place is in `plain`."""

    def earliest(
        self, demand: Demand, *, since: int, until: int, hint: int | None = None
    ) -> Start | None:
        profile = self._seen(since, until)
        return earliest_start(profile, demand, finishes_only=True, not_before=since)

    def beside(self, demand: Demand, *, since: int, before: int = FOREVER) -> Profile:
        return self._seen(since, FOREVER + 1)

    def _seen(self, since: int, until: int) -> Profile:
        """What is left where each takes what it needs of what those before it leave."""
        kept, unreserved = self.plain.copy(), self.plain.copy()
        for held in self.held:
            end = FOREVER if held.estimate is None else held.estimate
            if not since < end < until:
                continue
            if held.start is None or held.demand is None:
                spans = [(self.now, end)]
            else:
                times = sorted({self.now, *self.plain.changes(), end})
                spans = [pair for pair in itertools.pairwise(times) if pair[1] <= end]
            parts = [self._part(held, begin, kept, unreserved) for begin, _ in spans]
            for profile, which in ((kept, 0), (unreserved, 1)):
                rows = HeldRows(profile.table)
                for (begin, finish), part in zip(spans, parts, strict=True):
                    rows.add(
                        part.alternative, part.slots, part.memory, begin, finish, limits_only=True
                    )
                    slots = part.slots if which or part.kept is None else part.kept
                    rows.keep(slots, begin, finish)
                rows.enter(profile)
        return kept

    def _part(self, held: Held, time: int, kept: Profile, unreserved: Profile) -> Held:
        if held.start is None or held.demand is None:
            return held
        left = free_over_run(self.plain, held.demand, held.start)
        empty = Held(
            held.state,
            held.method,
            held.start.time,
            demand=held.demand,
            start=held.start,
            with_memory=held.with_memory,
        )
        spare = np.maximum(left - np.floor(kept.free(SLOTS, time)), 0.0)
        return hold_future(empty, kept, time, unreserved=unreserved, spare=spare)
