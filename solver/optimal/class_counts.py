"""Placement by counts: how many blocks of each job go to each class of hosts, not to which host.

Hosts of the same compute units make a class: with racks of identical hosts one variable for job and
rack takes the place of one for job and host. What the counts refute no placement has; what they
leave open is tried out in the order of the starts, on as many hosts of each class as they say. For
jobs that take their hosts whole that always succeeds: what is free when one starts stays so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from ortools.sat.python import cp_model

from ..availability.arrays import IntArray
from ..availability.demand import Demand
from ..availability.profile import Profile
from ..availability.resources import SLOTS
from ..budget import Budget
from ..placement.earliest import Start, hold_start, start_at
from .counting import Asked, Blocks
from .cpsat import run


@dataclass(frozen=True, slots=True)
class _Part:
    """Blocks of a job and how many of them go to each class."""

    job: int
    blocks: Blocks
    counts: Mapping[int, cp_model.IntVar]


class ClassCounts:
    """The counts of some jobs at fixed starts."""

    def __init__(self, base: Profile, asked: Sequence[Asked]) -> None:
        self.base = base
        self.asked = list(asked)
        self._members = classes_of(base.hosts, [job for job, _, _ in asked])
        self.model = cp_model.CpModel()
        self.hopeless = False
        self._parts = [
            self._add_part(number, blocks)
            for number, (_, _, several) in enumerate(self.asked)
            for blocks in several
        ]
        for number, (demand, _, _) in enumerate(self.asked):
            self._limit_units(number, demand)
        for point in sorted({time for _, time, _ in self.asked} | set(base.later_starts)):
            self._add_capacities(point)

    @staticmethod
    def size(hosts: int, asked: Sequence[Asked]) -> int:
        """How many counts there would be."""
        members = classes_of(hosts, [job for job, _, _ in asked])
        return len(members) * sum(len(several) for _, _, several in asked)

    def solve(self, budget: Budget, *, seconds: float, effort: float) -> tuple[str, list[IntArray]]:
        """Status, and the blocks of each job in each class, [classes]."""
        if self.hopeless:
            return "INFEASIBLE", []
        status, solver = run(self.model, budget, seconds=seconds, effort=effort, feasibility=True)
        if status not in ("OPTIMAL", "FEASIBLE"):
            return status, []
        found = [np.zeros(len(self._members), dtype=np.int64) for _ in self.asked]
        for part in self._parts:
            for number, count in part.counts.items():
                found[part.job][number] += solver.value(count)
        return "FEASIBLE", found

    def _add_part(self, number: int, blocks: Blocks) -> _Part:
        counts = {}
        for at, hosts in enumerate(self._members):
            most = self._pieces(hosts[blocks.hosts[hosts]], blocks.start, blocks.size)
            if most > 0:
                counts[at] = self.model.new_int_var(0, min(most, blocks.count), "")
        self.hopeless |= not counts
        self.model.add(sum(counts.values()) == blocks.count)
        return _Part(number, blocks, counts)

    def _pieces(self, hosts: IntArray, point: int, size: int) -> int:
        """How many pieces of so many slots are free on some hosts."""
        return int((self.base.free(SLOTS, point)[hosts].clip(0) // size).sum())

    def _limit_units(self, number: int, demand: Demand) -> None:
        """cu[maxcus]."""
        unit = demand.terms[0].unit
        if unit is None or unit.maxcus is None:
            return
        used: dict[int, cp_model.IntVar] = {}
        for part in self._parts:
            if part.job != number:
                continue
            for at, count in part.counts.items():
                which = int(unit.unit_of[self._members[at][0]])
                if which not in used:
                    used[which] = self.model.new_bool_var("")
                self.model.add(count == 0).only_enforce_if(~used[which])
                self.model.add(count <= part.blocks.count * used[which])
        self.model.add(sum(used.values()) <= unit.maxcus)

    def _add_capacities(self, point: int) -> None:
        active = [part for part in self._parts if part.blocks.covers(point)]
        for piece in {1, *(part.blocks.size for part in active)}:
            for at, hosts in enumerate(self._members):
                terms = [
                    (part.blocks.size // piece) * part.counts[at]
                    for part in active
                    if part.blocks.size >= piece and at in part.counts
                ]
                if terms:
                    self.model.add(sum(terms) <= self._pieces(hosts, point, piece))

    # --- from counts to places ----------------------------------------------------------------

    def placed(self, counts: Sequence[IntArray]) -> dict[str, Start] | None:
        """Places with so many blocks of each job in each class; None if they are not found."""
        profile = self.base.copy()
        found: dict[str, Start] = {}
        order = sorted(range(len(self.asked)), key=lambda number: self.asked[number][1])
        for number in order:
            demand, time, several = self.asked[number]
            narrowed = self._narrowed(profile, demand, time, several, counts[number])
            start = start_at(profile, narrowed, time)
            if start is None:
                return None
            hold_start(profile, demand, start)
            found[demand.job.id] = start
        return found

    def _narrowed(
        self,
        profile: Profile,
        demand: Demand,
        time: int,
        several: Sequence[Blocks],
        counts: IntArray,
    ) -> Demand:
        """The job on as many hosts of each class as its blocks need, the fullest first."""
        (term,) = demand.terms
        caps = profile.room(demand, term, term.alternatives[0], time).caps
        size = max((blocks.size for blocks in several), default=1)
        allowed = np.zeros(profile.hosts, dtype=bool)
        for at in np.flatnonzero(counts).tolist():
            hosts = self._members[at]
            room = caps[hosts] // size if size == 1 else np.minimum(1, caps[hosts] // size)
            order = np.argsort(np.where(room > 0, caps[hosts], np.iinfo(np.int64).max))
            needed = np.searchsorted(np.cumsum(room[order]), counts[at]) + 1
            allowed[hosts[order[:needed]]] = True
        kept = term.candidates[allowed[term.candidates]]
        return replace(demand, terms=(replace(term, candidates=kept),))


def classes_of(hosts: int, demands: Sequence[Demand]) -> list[IntArray]:
    """The hosts of each class: those that are in the same units to all jobs."""
    keys = {id(unit.unit_of): unit.unit_of for d in demands if (unit := d.terms[0].unit)}
    if not keys:
        return [np.arange(hosts)]
    _, number = np.unique(np.array(list(keys.values())), axis=1, return_inverse=True)
    number = number.reshape(-1)
    return [np.flatnonzero(number == at) for at in range(int(number.max()) + 1)]
