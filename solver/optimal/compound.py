"""The terms of a compound requirement placed together, where one after another they do not fit.

LSF places term by term and does not go back (REQ-14); the exact methods look at every placement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ...model.plan import Plan
from ..availability.arrays import Allocation
from ..availability.demand import Availability, Demand
from ..availability.resources import SLOTS
from ..budget import Budget
from ..placement.earliest import Start
from .completion import LIMIT

#: Limits of one question: wall seconds and deterministic units.
SECONDS = 5.0
EFFORT = 4.0


@dataclass(slots=True)
class TermsTogether:
    """A term placer for one search. undecided: jobs that a limit kept from an answer."""

    budget: Budget
    undecided: set[str] = field(default_factory=set)

    def __call__(
        self, availability: Availability, demand: Demand, time: int
    ) -> tuple[Allocation, ...] | None:
        """One allocation a term for a start at `time` (seconds), or None."""
        if availability.free(SLOTS, time).clip(0).sum() < demand.slots:
            return None
        status, placed = self.jointly(availability, [(demand, time)])
        if status not in ("FEASIBLE", "INFEASIBLE"):
            self.undecided.add(demand.job.id)
        return placed[demand.job.id].terms if status == "FEASIBLE" else None

    def jointly(
        self, availability: Availability, starts: Sequence[tuple[Demand, int]]
    ) -> tuple[str, dict[str, Start]]:
        """Jobs at fixed starts beside what is available: FEASIBLE and the starts, or why not."""
        from .joint_placement import JointPlacement

        model = JointPlacement(availability, starts)
        return model.solve(self.budget, seconds=SECONDS, effort=EFFORT)

    def without_claims(self, plan: Plan) -> Plan:
        """The plan with nothing proved that rests on a question left undecided."""
        if not self.undecided:
            return plan
        names = ", ".join(sorted(self.undecided))
        return replace(
            plan,
            status="feasible",
            bound=None,
            reservations=tuple(replace(item, bound=None, proved=False) for item in plan),
            unplaced=tuple(
                replace(item, reason=f"its terms: {LIMIT}") if item.job in self.undecided else item
                for item in plan.unplaced
            ),
            notes=(*plan.notes, f"not proved: {LIMIT} before the terms of {names} were placed"),
        )
