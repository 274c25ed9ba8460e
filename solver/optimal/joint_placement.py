"""Placing several jobs at once with their starts fixed: pure Booleans and counts, no time variable.

With every start fixed, the question whether all jobs can be placed beside each other and beside
what runs is one CP-SAT model without intervals (`shared capacity at checkpoints`,
:mod:`.shared_capacity`).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from ortools.sat.python import cp_model

from ..availability.demand import Availability, Demand, TermDemand
from ..availability.resources import SLOTS
from ..budget import Budget
from ..placement.earliest import Start
from .accepting import keep_apart
from .cpsat import run
from .shape import TermShape
from .shared_capacity import PlacedChoice, SharedCapacity


class JointPlacement:
    """The model for one set of jobs with fixed starts."""

    def __init__(
        self,
        base: Availability,
        starts: Sequence[tuple[Demand, int]],
        *,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """check: called for each job; what it raises ends the building."""
        self.base = base
        self.starts = list(starts)
        self.model = cp_model.CpModel()
        self.choices: list[list[PlacedChoice]] = []
        self.hopeless = False
        for demand, time in self.starts:
            check()
            self.choices.append(self._add_job(demand, time))
        if not self.hopeless:
            SharedCapacity(self.model, base, self._every_choice()).add(self._points())
            keep_apart(self.model, self._every_choice(), self._every_choice())

    def beside(self, demand: Demand, time: int) -> JointPlacement:
        """The same model with one more job; this one stays as it is."""
        twin = copy.copy(self)
        twin.model = self.model.clone()
        twin.starts, twin.choices = list(self.starts), list(self.choices)
        twin.add(demand, time)
        return twin

    def add(self, demand: Demand, time: int) -> None:
        """Add one more job, with the rows that it takes part in."""
        self.starts.append((demand, time))
        added = self._add_job(demand, time)
        self.choices.append(added)
        if not self.hopeless:
            points = [point for point in self._points() if any(c.runs_at(point) for c in added)]
            SharedCapacity(self.model, self.base, self._every_choice(), set(added)).add(points)
            keep_apart(self.model, self._every_choice(), added)

    @property
    def size(self) -> int:
        """Variables of the model."""
        return len(self.model.proto.variables)

    def _every_choice(self) -> list[PlacedChoice]:
        return [choice for choices in self.choices for choice in choices]

    def _points(self) -> list[int]:
        """Instants at which something starts, so that less may be free than just before."""
        return sorted({*(time for _, time in self.starts), *self.base.later_starts})

    def solve(
        self,
        budget: Budget,
        *,
        seconds: float,
        effort: float,
        hint: Mapping[str, Start] | None = None,
    ) -> tuple[str, dict[str, Start]]:
        """Status (FEASIBLE, INFEASIBLE or UNKNOWN) and, when feasible, a start for every job."""
        if self.hopeless:
            return "INFEASIBLE", {}
        self._hint(hint or {})
        status, solver = run(self.model, budget, seconds=seconds, effort=effort, feasibility=True)
        if status not in ("OPTIMAL", "FEASIBLE"):
            return status, {}
        found: dict[str, Start] = {}
        for choices in self.choices:
            choice = next(item for item in choices if solver.boolean_value(item.chosen))
            terms = tuple(shape.allocation(solver) for shape in choice.terms)
            found[choice.demand.job.id] = Start(choice.time, terms, choice.number)
        return "FEASIBLE", found

    # --- one job ------------------------------------------------------------------------------

    def _add_job(self, demand: Demand, time: int) -> list[PlacedChoice]:
        numbers = [
            number
            for number in range(len(demand.terms[0].alternatives) if demand.terms else 0)
            if all(
                number < len(term.alternatives) and not term.alternatives[number].missing
                for term in demand.terms
            )
        ]
        choices = []
        for number in numbers:
            chosen = self.model.new_bool_var(f"{demand.job.id}#{number}")
            terms = [self._add_term(demand, term, time, number, chosen) for term in demand.terms]
            choices.append(PlacedChoice(demand, time, number, chosen, terms))
            if demand.exclusive and len(terms) > 1:
                self._share_hosts(terms)
        if not choices:
            self.hopeless = True
        else:
            self.model.add_exactly_one([choice.chosen for choice in choices])
        return choices

    def _share_hosts(self, terms: list[TermShape]) -> None:
        """The terms of an exclusive job share the slots of its hosts."""
        for host, capacity in enumerate(self.base.table.host_resources[SLOTS].capacity):
            parts = [shape.slots[host] for shape in terms if host in shape.used]
            if len(parts) > 1:
                self.model.add(sum(parts) <= int(capacity))

    def _add_term(
        self, demand: Demand, term: TermDemand, time: int, number: int, chosen: cp_model.IntVar
    ) -> TermShape:
        room = self.base.room(demand, term, term.alternatives[number], time)
        candidates = term.candidates[room.caps[term.candidates] > 0].tolist()
        if room.idle is not None and term.unit is not None:
            busy = {int(unit) for unit in np.unique(term.unit.unit_of[~room.idle])}
            candidates = [h for h in candidates if int(term.unit.unit_of[h]) not in busy]
        return TermShape.build(self.model, term, room.caps, candidates, chosen, room.first)

    # --- hint ---------------------------------------------------------------------------------

    def _hint(self, known: Mapping[str, Start]) -> None:
        for choices in self.choices:
            for choice in choices:
                start = known.get(choice.demand.job.id)
                if start is None:
                    continue
                for shape, allocation in zip(choice.terms, start.terms, strict=True):
                    for host, used in shape.used.items():
                        self.model.add_hint(used, host in allocation)
