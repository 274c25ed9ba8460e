"""What reservations keep from a job, reckoned literally: one after another, instant by instant."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from slotwise import Instance, PlannedJob
from slotwise.solver.availability.demand import Demand
from slotwise.solver.availability.profile import FixedProfiles, Profile
from slotwise.solver.availability.resources import SLOTS
from slotwise.solver.availability.usage import FOREVER
from slotwise.solver.placement.earliest import Start, earliest_start
from slotwise.solver.placement.holding import ReservationRows, free_over_run
from slotwise.solver.scheduler import reservation_sequence, reserved_profile
from slotwise.solver.scheduler.cycle_reservations import (
    JobReservation,
    release_allocation,
    reserve_future_allocation,
)
from slotwise.solver.scheduler.next_cycle import plan_next_cycle
from slotwise.solver.scheduler.reserved_profile import counted_slots, fixed_reservation


class LiteralGuard:
    """Stands in for the product's: keeps nothing but the reservations."""

    def __init__(self, base: Profile, reservations: Iterable[JobReservation], now: int) -> None:
        self.plain, self.now, self.held = base, now, list(reservations)

    @property
    def limit_dependent(self) -> list[JobReservation]:
        """Reservations of which limits or other resources decide what they hold."""
        return [reservation for reservation in self._not_fixed() if reservation.place is not None]

    @property
    def fixed(self) -> FixedProfiles:
        """Without the places of which more than what is free decides what is held of them."""
        found, not_fixed = FixedProfiles(self.plain), self._not_fixed()
        for reservation in self.held:
            if reservation in not_fixed or not reservation.is_partly_protected:
                release_allocation(found, reservation)
        return found

    def _not_fixed(self) -> list[JobReservation]:
        found, before = [], dict[int, float]()
        for reservation in self.held:
            if fixed_reservation(reservation, self.plain, self.now, before=before) is None:
                found.append(reservation)
            for pool, amount in counted_slots(reservation, self.plain.table).items():
                before[pool] = before.get(pool, 0.0) + amount
        return found

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
        """What is left where each takes what it needs of what those before it leave.

        A job that ends by `until` meets the place of a reservation itself, which `plain` has; of
        slots that only the place needs, none are kept from it besides.
        """
        kept, unreserved = self.plain.copy(), self.plain.copy()
        for reservation in self.held:
            end = FOREVER if reservation.estimate is None else reservation.estimate
            if not since < end < until:
                continue
            if reservation.place is None:
                spans = [(self.now, end)]
            else:
                times = sorted({self.now, *self.plain.changes(), end})
                spans = [pair for pair in itertools.pairwise(times) if pair[1] <= end]
            parts = [self._part(reservation, begin, kept, unreserved) for begin, _ in spans]
            for profile in (kept, unreserved):
                rows = ReservationRows(profile.table)
                for (begin, finish), part in zip(spans, parts, strict=True):
                    rows.add(
                        part.alternative, part.slots, part.memory, begin, finish, limits_only=True
                    )
                    if profile is unreserved or part.protected is None:
                        rows.add_slots(part.slots, begin, finish)
                    elif until > FOREVER:
                        rows.add_slots(part.protected, begin, finish)
                rows.subtract_from(profile)
        return kept

    def _part(
        self, reservation: JobReservation, time: int, kept: Profile, unreserved: Profile
    ) -> JobReservation:
        """What it takes at an instant, at which of those behind it only begun ones are there."""
        if reservation.place is None:
            return reservation
        before = FixedProfiles(self.plain)
        for later in self.held[self.held.index(reservation) + 1 :]:
            release_allocation(before, later)
        left = free_over_run(before.at(time), *reservation.place)
        empty = JobReservation(
            reservation.state,
            reservation.method,
            reservation.place[1].time,
            place=reservation.place,
            includes_memory=reservation.includes_memory,
        )
        spare = np.maximum(left - np.floor(kept.free(SLOTS, time)), 0.0)
        return reserve_future_allocation(empty, kept, time, unreserved=unreserved, spare=spare)


def decided_by_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reckon from instant to instant what every reservation holds, at every instant."""
    monkeypatch.setattr(reserved_profile, "fixed_reservation", lambda *_, **__: None)


def reckoned_afresh(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """One for each time that amounts of a sequence of reservations are reckoned, all anew."""
    reckoned: list[None] = []
    sequence = reservation_sequence.ReservationSequence
    part_at = sequence.amounts_at

    def afresh(self: Any, *told: Any) -> object:
        reckoned.append(None)
        return part_at(sequence(self._order), *told)

    monkeypatch.setattr(sequence, "amounts_at", afresh)
    return reckoned


def of_plan(item: PlannedJob) -> PlannedJob:
    """Without the sentence: a limit that decides is not always counted to the last slot."""
    return replace(item, waits_for="")


def guards_of(
    instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[list[PlannedJob]], list[reserved_profile.ReservedProfile]]:
    """The plan beside what is held, by the product and literally, and the product's guards."""
    made: list[reserved_profile.ReservedProfile] = []

    class Seen(reserved_profile.ReservedProfile):
        def __init__(self, *told: Any) -> None:
            super().__init__(*told)
            made.append(self)

    plans = []
    for kind in (Seen, LiteralGuard):
        monkeypatch.setattr(reserved_profile, "ReservedProfile", kind)
        plans.append([of_plan(item) for item in plan_next_cycle(instance, "time-based")])
    return plans, made
