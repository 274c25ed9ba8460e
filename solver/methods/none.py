"""No reservation: jobs start in order where they fit, and hold nothing while they wait."""

from __future__ import annotations

from ..availability.arrays import BoolArray
from ..world.cycle_state import CycleState
from ..world.held import Held
from ..world.job_state import JobState


class NoReservation:
    """Nothing is held: large jobs may starve."""

    name = "none"
    summary = "nothing is held for jobs that wait"
    looks_ahead = False

    def before(self, cycle: CycleState) -> None:
        """Nothing is planned ahead."""

    def reserve(self, cycle: CycleState, state: JobState, closed: BoolArray | None) -> Held | None:
        """Nothing."""
        return None
