"""What every method returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from .objective import ObjectiveName

#: Ways of planning, as users write them.
Method: TypeAlias = Literal["greedy", "time-based", "optimal", "milp"]
#: What a plan claims of itself; see :class:`Plan`.
Status: TypeAlias = Literal["optimal", "feasible", "heuristic", "infeasible"]


@dataclass(frozen=True, slots=True)
class PlannedJob:
    """The reservation of one pending job; times in seconds from the instance's origin.

    start: None where only an estimate exists (greedy reserves no future place).
    estimate: greedy's "no sooner than" time. allocation: host to slots in allocation order.
    reserved: slots held now for the job (greedy). bound: no start before this is possible given the
    starts of the jobs before it. proved: start equals the bound. waits_for: the binding constraint,
    a sentence. fallback: why a lesser method answered, "" if none. alternative: rusage
    alternative used.
    """

    job: str
    start: int | None
    finish: int | None = None
    allocation: Mapping[str, int] = field(default_factory=dict)
    method: str = ""
    bound: int | None = None
    proved: bool = False
    waits_for: str = ""
    fallback: str = ""
    estimate: int | None = None
    reserved: Mapping[str, int] = field(default_factory=dict)
    alternative: int = 0

    def to_dict(self, now: int) -> dict[str, Any]:
        """Plain data, times in seconds from `now`."""

        def since(time: int | None) -> int | None:
            return None if time is None else time - now

        record: dict[str, Any] = {
            "job": self.job,
            "start": since(self.start),
            "finish": since(self.finish),
            "allocation": dict(self.allocation),
            "method": self.method,
            "bound": since(self.bound),
            "proved": self.proved,
            "waits_for": self.waits_for,
        }
        if self.start is None:
            record["estimate"] = since(self.estimate)
            record["reserved"] = dict(self.reserved)
        if self.fallback:
            record["fallback"] = self.fallback
        if self.alternative:
            record["alternative"] = self.alternative
        return record


@dataclass(frozen=True, slots=True)
class Unplaced:
    """A job that no plan can start, and why."""

    job: str
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan of any method.

    status: "optimal", "feasible" (a time limit or Ctrl-C ended the search), "heuristic"
    (greedy, time-based: no claim), "infeasible" (some job cannot be placed at all).
    value, bound: of the objective, in its own unit. rounded: the plan could not be proved because
    the weights have more digits than the models hold; a longer limit does not help.
    """

    method: Method
    objective: ObjectiveName
    status: Status
    now: int
    reservations: tuple[PlannedJob, ...]
    unplaced: tuple[Unplaced, ...] = ()
    value: float | None = None
    bound: float | None = None
    notes: tuple[str, ...] = ()
    rounded: bool = False

    def __getitem__(self, job: str) -> PlannedJob:
        for reservation in self.reservations:
            if reservation.job == job:
                return reservation
        raise KeyError(job)

    def get(self, job: str) -> PlannedJob | None:
        """The reservation of a job, or None."""
        return next((item for item in self.reservations if item.job == job), None)

    def __contains__(self, job: object) -> bool:
        return any(reservation.job == job for reservation in self.reservations)

    def __iter__(self) -> Iterator[PlannedJob]:
        return iter(self.reservations)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON: times in seconds from the instance's now, None for none."""
        record: dict[str, Any] = {
            "method": self.method,
            "objective": self.objective,
            "status": self.status,
            "value": self.value,
            "bound": self.bound,
            "reservations": [item.to_dict(self.now) for item in self.reservations],
            "unplaced": [{"job": item.job, "reason": item.reason} for item in self.unplaced],
        }
        if self.rounded:
            record["rounded"] = True
        if self.notes:
            record["notes"] = list(self.notes)
        return record
