"""The terms of a compound requirement placed together, where one after another they do not fit.

LSF places term by term and does not go back (REQ-14); the exact methods look at every placement.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ...model.plan import Plan
from ..availability.arrays import Allocation
from ..availability.demand import Availability, Demand
from ..availability.resources import SLOTS
from .budget import Budget

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
        from .joint_placement import JointPlacement

        if availability.free(SLOTS, time).clip(0).sum() < demand.slots:
            return None
        model = JointPlacement(availability, [(demand, time)])
        status, placed = model.solve(self.budget, seconds=SECONDS, effort=EFFORT)
        if status == "UNKNOWN":
            self.undecided.add(demand.job.id)
        return placed[demand.job.id].terms if status == "FEASIBLE" else None

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
            notes=(*plan.notes, f"not proved: the terms of {names} were too hard to place"),
        )
