"""The outlook of pending jobs: what every command, page and library call says of their starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from ...model.display import with_stamps
from ...model.errors import UnknownNameError
from ...model.omissions import Omission
from ...model.plan import Plan, PlannedJob

#: What is known of the start of a job as the cluster is configured:
#: it starts at a known time; it starts once something happens that nobody can date (`condition`
#: says what); nothing says when what it waits for ends; it fits nowhere on this cluster
#: (`condition` says why, and what would fit); a limit came before it was examined.
State: TypeAlias = Literal["starts", "starts if", "unknown end", "impossible", "not examined"]


#: The times of an outlook.
TIMES = ("as_configured", "as_configured_end", "estimate", "possible", "bound")


@dataclass(frozen=True, slots=True)
class JobOutlook:
    """What is known of the start of one pending job; times in seconds from the origin."""

    job: str
    slots: int
    state: State
    #: The start that the simulated scheduler reaches as the cluster is configured; None where the
    #: state is another than "starts".
    as_configured: int | None
    #: When it then ends at its limit; None where nothing says so.
    as_configured_end: int | None = None
    #: Host to slots as configured, in allocation order.
    as_configured_on: Mapping[str, int] = field(default_factory=dict)
    #: What LSF would print now: greedy's "no sooner than", or the time-based estimate; None: none.
    estimate: int | None = None
    #: Which of the two it is, "greedy" or "time-based" (a cycle gives only the first
    #: LSB_TIME_RESERVE_NUMJOBS jobs a future allocation, the others are reserved for greedily);
    #: "": none.
    estimate_by: str = ""
    #: The earliest start in priority order, by the optimal method; None: it has none, or it was
    #: not examined.
    possible: int | None = None
    #: Host to slots of the possible start, in allocation order.
    possible_on: Mapping[str, int] = field(default_factory=dict)
    #: No start before this is possible in priority order; None: no bound is known.
    bound: int | None = None
    #: The possible start is proved the earliest.
    proved: bool = False
    #: Jobs that must start where they are planned for the proof to hold.
    proved_if: tuple[str, ...] = ()
    #: What the possible start waits for, a sentence.
    waits_for: str = ""
    #: Why the simulated scheduler does not start it when it first looks at it, and which jobs end
    #: as it does, a sentence.
    held_back: str = ""
    #: What must happen before it starts, or why it cannot start here and what would fit; "" where
    #: it starts.
    condition: str = ""
    #: What nothing here considers and touches this job: none of its starts can be relied on.
    cautions: tuple[Omission, ...] = ()
    #: What the plan of the possible start leaves out besides, though the simulated scheduler does
    #: not: the possible start is not proved by it.
    possible_cautions: tuple[Omission, ...] = ()

    @property
    def sooner_by(self) -> int | None:
        """Seconds from the start as configured to the possible one; negative where that is later.

        None where one of them is not known.
        """
        if self.as_configured is None or self.possible is None:
            return None
        return self.as_configured - self.possible

    def to_dict(self, origin: str | None = None) -> dict[str, Any]:
        """Plain data, times in seconds from the origin; ISO stamps beside them where it has one."""
        record: dict[str, Any] = {
            "job": self.job,
            "slots": self.slots,
            "state": self.state,
            "as_configured": self.as_configured,
            "as_configured_end": self.as_configured_end,
            "as_configured_on": dict(self.as_configured_on),
            "estimate": self.estimate,
            "estimate_by": self.estimate_by,
            "possible": self.possible,
            "possible_on": dict(self.possible_on),
            "sooner_by": self.sooner_by,
            "bound": self.bound,
            "proved": self.proved,
            "proved_if": list(self.proved_if),
            "waits_for": self.waits_for,
            "held_back": self.held_back,
            "condition": self.condition,
            "cautions": [item.to_dict() for item in self.cautions],
            "possible_cautions": [item.to_dict() for item in self.possible_cautions],
        }
        return with_stamps(record, origin, TIMES)


@dataclass(frozen=True, slots=True)
class Outlook:
    """The outlook of the pending jobs of an instance, in priority order."""

    jobs: tuple[JobOutlook, ...]
    #: Seconds from the origin, and the ISO date of second 0 (None: it has none).
    now: int
    origin: str | None
    #: The reservation method in force: "greedy" or "time-based".
    method: str
    #: The plan by the optimal method, of which the possible starts are; None: none was made.
    plan: Plan | None
    #: Start and place of each job that starts as configured, by id.
    configured: Mapping[str, PlannedJob] = field(default_factory=dict)
    #: A limit or Ctrl-C came before every job was examined.
    cut: bool = False

    def __iter__(self) -> Iterator[JobOutlook]:
        return iter(self.jobs)

    def __len__(self) -> int:
        """How many jobs it has."""
        return len(self.jobs)

    def __getitem__(self, job: str) -> JobOutlook:
        """The outlook of a job; UnknownNameError (a KeyError) where there is none."""
        found = self.get(job)
        if found is None:
            raise UnknownNameError.among("job", job, [item.job for item in self.jobs])
        return found

    def get(self, job: str) -> JobOutlook | None:
        """The outlook of a job, or None."""
        return next((item for item in self.jobs if item.job == job), None)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON."""
        return {
            "now": self.now,
            "origin": self.origin,
            "method": self.method,
            "jobs": [item.to_dict(self.origin) for item in self.jobs],
            **({"cut": True} if self.cut else {}),
        }

    def cautions(self) -> Mapping[str, tuple[Omission, Sequence[str]]]:
        """What is not considered, by its name, with the jobs that it touches, in order."""
        found: dict[str, tuple[Omission, list[str]]] = {}
        for item in self.jobs:
            for caution in (*item.cautions, *item.possible_cautions):
                found.setdefault(caution.name, (caution, []))[1].append(item.job)
        return found

    def unheeded(self) -> tuple[Omission, ...]:
        """What nothing here considers of its jobs, of each name one, in their order."""
        return tuple({c.name: c for item in self.jobs for c in item.cautions}.values())
