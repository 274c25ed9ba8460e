"""One job on its way through a simulation, and what can happen to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from ...model.job import Job
from ..availability.arrays import Allocation
from ..availability.free_now import HeldPart
from ..pending_reasons import BEGIN_TIME
from .requests import Shape


class Event(IntEnum):
    """Kinds of events; at one time stamp the lower comes first."""

    END = 0
    CHANGE = 1
    SUBMIT = 2
    OVERDUE = 3
    COMMAND = 4


#: Where a job stands.
FUTURE, PENDING, RUNNING, SUSPENDED, PREEMPTED, DONE, KILLED = (
    "future",
    "pending",
    "running",
    "suspended",
    "preempted",
    "done",
    "killed",
)


@dataclass(slots=True, eq=False)
class JobState:
    """A job; times in seconds, None for "not yet" or "unknown".

    number: its place in the input, which also breaks ties. shape: None until it is submitted.
    end: when it really ended. terms: one allocation a term of its requirement. parts: what it
    holds.
    borrowed: slots by host that are held for others, where it backfilled.
    placed: since when it holds its slots where it holds them now; stretches: before that, from when
    to when it held which.
    work: seconds it really has to run, None for ever. ran: seconds it ran before `since`, the start
    of its present stretch of running. limit: seconds after which it is killed.
    duration: seconds it is expected to run.
    estimate, estimated_at, estimate_by: the first estimate of its start, when and by what method.
    expected: the last estimate.
    reason: why it did not start when it was first looked at. held_since, rest_until: of
    MAX_RESERVE_TIME. held: hosts it held last, in order. arrival: how many began to wait before it.
    """

    job: Job
    number: int
    status: str = FUTURE
    shape: Shape | None = None
    duration: int | None = None
    work: int | None = None
    limit: int | None = None
    start: int | None = None
    end: int | None = None
    since: int = 0
    ran: int = 0
    placed: int = 0
    stretches: list[tuple[int, int, Allocation]] = field(default_factory=list)
    terms: tuple[Allocation, ...] = ()
    alternative: int = 0
    parts: list[HeldPart] = field(default_factory=list)
    backfilled: bool = False
    borrowed: Allocation = field(default_factory=dict)
    estimate: int | None = None
    estimated_at: int | None = None
    estimate_by: str = ""
    expected: int | None = None
    reason: str = ""
    now_waits_for: str = ""
    held_since: int | None = None
    rest_until: int | None = None
    held: tuple[int, ...] = ()
    suspended_by: str = ""
    suspensions: int = 0
    requeues: int = 0
    arrival: int = 0

    @property
    def allocation(self) -> Allocation:
        """Slots by host index, the terms put together."""
        if len(self.terms) == 1:
            return self.terms[0]
        total: Allocation = {}
        for term in self.terms:
            for host, slots in term.items():
                total[host] = total.get(host, 0) + slots
        return total

    @property
    def slots(self) -> int:
        """Slots it holds."""
        return sum(sum(term.values()) for term in self.terms)

    def why_not_at_once(self, now: int) -> str:
        """What kept it from starting at first; before any cycle saw it, its begin time.

        now: the instance's.
        """
        job = self.job
        held_back = job.begin is not None and job.begin > max(job.submit, now)
        return self.reason or (BEGIN_TIME if held_back else "")

    def moves(self, now: int) -> None:
        """Its slots are no longer, or not all, what they were until now."""
        self.stretches.append((self.placed, now, self.allocation))
        self.placed = now

    def begins_anew(self) -> None:
        """It has lost its host and waits again, from its beginning."""
        self.requeues += 1
        self.start, self.ran, self.terms, self.borrowed = None, 0, (), {}
        self.status = PENDING

    def real_end(self) -> int | None:
        """When it will end if nothing else happens; None for never."""
        ends = [span for span in (self.work, self.limit) if span is not None]
        return self.since + min(ends) - self.ran if ends else None

    def expected_end(self, now: int) -> int | None:
        """When it is expected to end; one that is overdue, in the next second."""
        if self.duration is None:
            return None
        return max(self.since + self.duration - self.ran, now + 1)

    @property
    def killed_by_limit(self) -> bool:
        """Whether the run limit ends it before its work is done."""
        return self.limit is not None and (self.work is None or self.work > self.limit)
