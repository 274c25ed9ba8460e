"""What the exact methods may minimise besides the lexicographic order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..availability.demand import Demand

#: Run times below this count as this in the bounded slowdown (seconds).
SLOWDOWN_THRESHOLD = 10


@dataclass(frozen=True, slots=True)
class Objective:
    """A regular objective: it never falls when a start moves later.

    name: "weighted" (sum of weight times seconds from now to the start), "total-start" (the same
    with weights 1), "makespan" (seconds from now to the last end), "slowdown" (mean bounded
    slowdown), "tardiness" (weighted seconds of ends after deadlines).
    """

    name: str
    now: int

    def value(self, demands: Mapping[str, Demand], starts: Mapping[str, int]) -> float:
        """The objective of a plan, in its own unit; jobs without a start do not count."""
        if not starts:
            return 0.0
        if self.name == "makespan":
            return float(max(self.end(demands[job], start) for job, start in starts.items()))
        total = sum(self.cost(demands[job], start) for job, start in starts.items())
        return total / len(starts) if self.name == "slowdown" else total

    def end(self, demand: Demand, start: int) -> int:
        """Seconds from now to the end; a job without a known end counts by its start."""
        return start + (demand.duration or 0) - self.now

    def cost(self, demand: Demand, start: int) -> float:
        """One job's part of a sum objective."""
        weight = demand.job.weight
        if self.name == "weighted":
            return weight * (start - self.now)
        if self.name == "total-start":
            return float(start - self.now)
        if self.name == "slowdown":
            ran = max(demand.duration or 0, SLOWDOWN_THRESHOLD)
            return max(1.0, (start - demand.job.submit + (demand.duration or 0)) / ran)
        if demand.job.deadline is None:
            return 0.0
        return weight * max(0, start + (demand.duration or 0) - demand.job.deadline)
