"""Places of the jobs that a time-based plan cannot consider yet: before their begin time, or -w.

LSF looks at such a job from the second on at which it may start, in its own place of the order;
before, it holds nothing. So what starts before that second starts without it, and from then on the
jobs behind it that have not started are given places anew, each behind those before it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from ..fairshare.stages import Offer
from .cycle_reservations import JobReservation
from .cycle_state import CycleState
from .job_state import JobState

#: A job has its turn, for the hosts of an offer.
Attempt = tuple[JobState, Offer]
#: What a job holds that has its turn, None for nothing.
Reserve = Callable[[JobState, Offer], JobReservation | None]
#: Places, over all such seconds, that are entered or looked for anew at most.
MAX_WORK = 8_000


class LaterAttempts:
    """The turns of one cycle of a plan, and those of its jobs that come after now."""

    def __init__(self, cycle: CycleState, reserve: Reserve) -> None:
        self._cycle = cycle
        self._reserve = reserve
        #: In order; where there are host partitions a job has several.
        self._attempts: list[Attempt] = []
        self._rank: dict[int, int] = {}
        #: Those of jobs that cannot be considered now.
        self.waiting: list[Attempt] = []
        #: What jobs hold now, by number: a later place changes nothing of it.
        self._now: dict[int, JobReservation] = {}
        self._work = 0
        #: Jobs, by number, that got no place of their own rank: that would have taken too long.
        self.placed_behind: set[int] = set()

    def note(self, state: JobState, offer: Offer, *, waits: bool) -> None:
        """A job has its turn; waits: it cannot be considered now."""
        self._rank.setdefault(state.number, len(self._attempts))
        self._attempts.append((state, offer))
        if waits:
            self.waiting.append((state, offer))

    def take(self) -> None:
        """Give places to the jobs that wait, as far as their conditions come to hold."""
        cycle = self._cycle
        left = {state.number: state for state, _ in self.waiting}
        self._now = {reservation.state.number: reservation for reservation in cycle.reservations}
        while left and not cycle.budget.late():
            coming = [(when, n) for n, state in left.items() if (when := self._when(state))]
            if not coming:
                break
            time, after_starts = first = min(when for when, _ in coming)
            released = {number for when, number in coming if when == first}
            for number in released:
                del left[number]
            if time > cycle.world.now:  # else it was let go by a start of this cycle: see the next
                self._stage(time, after_starts, released)
        cycle.progress.examined.update(left)
        cycle.planned.since = cycle.world.now

    def _when(self, state: JobState) -> tuple[int, bool] | None:
        """The second at which a job comes, and whether that is behind the starts of this second."""
        cycle, job = self._cycle, state.job
        release, behind = cycle.eligible_from(job), cycle.eligible_from(job, starts_later=1)
        if release is None:
            return None
        time = max(release, job.begin or release, cycle.world.now)
        if state.reserved is not None:
            time = state.reserved.next_start(time) or time
        return time, behind is None or behind > time

    def _stage(self, time: int, after_starts: bool, released: Collection[int]) -> None:
        """The turns of one second: of the jobs that come, and of those behind that still wait."""
        cycle = self._cycle
        cycle.planned.since = time
        cycle.short.clear()
        cycle.progress.examined.update(released)
        again = self._still_waiting(time + after_starts, min(self._rank[n] for n in released))
        if again:
            self._work += len(cycle.reservations) + len(again)
            if self._work > MAX_WORK:
                self.placed_behind.update(released)
                again = set()
        if again:
            cycle.progress.without_future_allocation -= again
            cycle.set_reservations(
                [
                    reservation
                    for reservation in cycle.reservations
                    if reservation.state.number not in again
                ]
            )
        for state, offer in self._attempts:
            if state.number in again or state.number in released:
                self._place(state, offer, time)

    def _still_waiting(self, time: int, rank: int) -> set[int]:
        """Jobs behind a rank that have no place, or one that begins at a second or later."""
        cycle = self._cycle
        placed = {
            reservation.state.number
            for reservation in cycle.reservations
            if reservation.start is not None and reservation.start.time >= time
        }
        return {
            n
            for n in placed | cycle.progress.without_future_allocation
            if self._rank.get(n, -1) > rank
        }

    def _place(self, state: JobState, offer: Offer, time: int) -> None:
        cycle, first = self._cycle, self._now.get(state.number)
        reservation = self._reserve(state, offer)
        if reservation is None and cycle.has_reservation(state):
            return  # on the hosts of another partition
        if reservation is None:
            # Whatever is free then: it starts no sooner than others let it.
            reservation = JobReservation(state, "greedy", time)
        if first is None:
            reservation = replace(reservation, slots={}, memory={}, backfilled={}, alternative=None)
            reservation.protected = None if reservation.protected is None else {}
        else:
            reservation = replace(
                reservation,
                slots=first.slots,
                memory=first.memory,
                backfilled=first.backfilled,
                alternative=first.alternative,
                protected=first.protected,
            )
        cycle.add_reservation(reservation)
