"""What reservations keep from a job, reckoned literally: one after another, instant by instant."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
from slotwise.solver.availability.demand import Demand
from slotwise.solver.availability.profile import Profile
from slotwise.solver.availability.resources import SLOTS
from slotwise.solver.availability.usage import FOREVER
from slotwise.solver.placement.earliest import Start, earliest_start
from slotwise.solver.placement.holding import ReservationRows, free_over_run
from slotwise.solver.scheduler.cycle_reservations import (
    JobReservation,
    reserve_future_allocation,
    takes_only_slots,
)


class LiteralGuard:
    """Stands in for the product's: keeps nothing but the reservations."""

    def __init__(self, base: Profile, reservations: Iterable[JobReservation], now: int) -> None:
        self.plain, self.now, self.held = base, now, list(reservations)
        self.firm = base

    @property
    def limit_dependent(self) -> list[JobReservation]:
        """Reservations of which limits or other resources decide what they hold."""
        return [
            reservation
            for reservation in self.held
            if reservation.start is not None
            and reservation.demand is not None
            and not takes_only_slots(reservation.demand, reservation.start)
        ]

    def add_reservation(self, reservation: JobReservation) -> None:
        self.held.append(reservation)

    def add_planned(self, demand: Demand, start: Start) -> None:
        """Its place is in `plain`."""

    def earliest(
        self, demand: Demand, *, since: int, until: int, hint: int | None = None
    ) -> Start | None:
        profile = self._seen(since, until)
        return earliest_start(profile, demand, finishes_only=True, not_before=since)

    def profile_for(self, demand: Demand, *, since: int, before: int = FOREVER) -> Profile:
        return self._seen(since, FOREVER + 1)

    def _seen(self, since: int, until: int) -> Profile:
        """What is left where each takes what it needs of what those before it leave."""
        kept, unreserved = self.plain.copy(), self.plain.copy()
        for reservation in self.held:
            end = FOREVER if reservation.estimate is None else reservation.estimate
            if not since < end < until:
                continue
            if reservation.start is None or reservation.demand is None:
                spans = [(self.now, end)]
            else:
                times = sorted({self.now, *self.plain.changes(), end})
                spans = [pair for pair in itertools.pairwise(times) if pair[1] <= end]
            parts = [self._part(reservation, begin, kept, unreserved) for begin, _ in spans]
            for profile, which in ((kept, 0), (unreserved, 1)):
                rows = ReservationRows(profile.table)
                for (begin, finish), part in zip(spans, parts, strict=True):
                    rows.add(
                        part.alternative, part.slots, part.memory, begin, finish, limits_only=True
                    )
                    slots = part.slots if which or part.protected is None else part.protected
                    rows.add_slots(slots, begin, finish)
                rows.subtract_from(profile)
        return kept

    def _part(
        self, reservation: JobReservation, time: int, kept: Profile, unreserved: Profile
    ) -> JobReservation:
        if reservation.start is None or reservation.demand is None:
            return reservation
        left = free_over_run(self.plain, reservation.demand, reservation.start)
        empty = JobReservation(
            reservation.state,
            reservation.method,
            reservation.start.time,
            demand=reservation.demand,
            start=reservation.start,
            includes_memory=reservation.includes_memory,
        )
        spare = np.maximum(left - np.floor(kept.free(SLOTS, time)), 0.0)
        return reserve_future_allocation(empty, kept, time, unreserved=unreserved, spare=spare)
