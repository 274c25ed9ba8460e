"""One job of a comparison: what each method says of it, and what comes of that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

#: The starts of a compared job: by each method its estimate and the simulated one.
STARTS = (
    "greedy_estimate",
    "greedy_simulated",
    "time_based_estimate",
    "time_based_simulated",
    "optimal_estimate",
    "optimal_simulated",
)
#: What some of them were called before; records have these keys too.
OLD_NAMES = {
    "greedy_start": "greedy_simulated",
    "time_based": "time_based_estimate",
    "time_based_start": "time_based_simulated",
    "optimal": "optimal_estimate",
    "optimal_start": "optimal_simulated",
}
#: The times of a compared job.
TIMES = (*STARTS, "bound")


@dataclass(frozen=True, slots=True)
class ComparedJob:
    """One job under every method; times in seconds from the instance's origin.

    greedy_estimate: "no sooner than" (GRD-04), None where greedy has no estimate.
    time_based_estimate, optimal_estimate: the starts in these plans. greedy_simulated and so on:
    the start that the scheduler loop reaches when it runs on by that method, None for never or for
    a loop that was not run. gain: greedy_simulated - optimal_estimate, None too where the latter
    needs BACKFILL. needs_backfill: the queue without BACKFILL in which the loop would not give it
    the optimal start, "" for none. exact_fit: what the optimal start hangs on to the second, "" for
    nothing.
    """

    job: str
    slots: int
    greedy_estimate: int | None
    greedy_simulated: int | None
    time_based_estimate: int | None
    time_based_simulated: int | None
    optimal_estimate: int | None
    optimal_simulated: int | None
    bound: int | None
    proved: bool
    gain: int | None
    allocation: Mapping[str, int]
    waits_for: str
    fallback: str = ""
    needs_backfill: str = ""
    exact_fit: str = ""

    @property
    def gain_slot_hours(self) -> float | None:
        """The gain times the slots, in slot-hours."""
        return None if self.gain is None else self.gain * self.slots / 3600

    @property
    def greedy_start(self) -> int | None:
        """An older name of `greedy_simulated`."""
        return self.greedy_simulated

    @property
    def time_based(self) -> int | None:
        """An older name of `time_based_estimate`."""
        return self.time_based_estimate

    @property
    def optimal(self) -> int | None:
        """An older name of `optimal_estimate`."""
        return self.optimal_estimate
