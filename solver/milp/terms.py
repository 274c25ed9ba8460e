"""The terms of compound requirements placed together by integer programs."""

from __future__ import annotations

from collections.abc import Sequence

from ..availability.demand import Availability, Demand
from ..optimal.completion import SECONDS, TermsTogether
from ..placement.earliest import Start
from .model import PlacementModel


class TermsByProgram(TermsTogether):
    """A term placer that shares no model with that of the CP-SAT methods."""

    def jointly(
        self, availability: Availability, starts: Sequence[tuple[Demand, int]]
    ) -> tuple[str, dict[str, Start]]:
        """Jobs at fixed starts beside what is available: FEASIBLE and the starts, or why not."""
        model = PlacementModel(availability, [(demand, [time]) for demand, time in starts])
        outcome, placed = model.solve(self.budget, seconds=SECONDS)
        return ("FEASIBLE", placed) if placed else (outcome.status, {})
