"""Results of a simulation: one record per job, and the cycles if requested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from ...model.compact import OnDemand
from ...model.display import data_of, with_stamps
from ...model.escaping import html_table
from ...model.instance import Instance
from ...model.job_table import JobTable
from ...model.omissions import Omission
from ...model.plan import allocation_text
from .cycle_state import CycleRecord
from .events import Settings
from .job_state import FUTURE, PENDING, PREEMPTED, JobState
from .world import World


@dataclass(frozen=True, slots=True)
class JobRecord:
    """The record of one job of a simulation; times in seconds from the origin, None for "never"."""

    job: str
    user: str
    queue: str
    #: Requested slots.
    slots: int
    #: Submission in seconds.
    submit: int
    #: First start in seconds, None if never.
    start: int | None
    #: End in seconds, None if unfinished.
    end: int | None
    #: Waiting time in seconds, from the submission or since the dependencies (-w) were satisfied.
    wait: int | None
    #: "done", "killed" (run limit), "running", "suspended", "preempted", "pending" or "future" (not
    #: submitted yet).
    status: str
    #: Slots in use.
    procs: int
    #: Index of the used alternative among the rusage alternatives of the job.
    alternative: int
    #: Slots by host.
    hosts: dict[str, int]
    #: Expected run time in seconds.
    req_time: int | None
    #: Real run time in seconds.
    run_time: int | None
    #: The first estimate of its start, made at `estimated_at` by `estimate_by`.
    estimate: int | None
    #: Instant at which the estimate was made, None without an estimate.
    estimated_at: int | None
    #: Method of the estimate, "" without one.
    estimate_by: str
    #: Whether the job started by backfill.
    backfilled: bool
    #: Number of suspensions.
    suspensions: int
    #: Number of requeues.
    requeues: int
    #: Reason why the job did not start immediately.
    reason: str
    #: Periods (start, end or None, slots by host) in which the job used slots; several if it was
    #: preempted, resized or requeued.
    held: tuple[tuple[int, int | None, dict[str, int]], ...] = ()
    #: When the dependencies of the job were satisfied (seconds), None if its wait counts from its
    #: submission.
    released: int | None = None
    #: Index of the alternative in braces of its requirement.
    requirement_alternative: int = 0

    @property
    def waits_since(self) -> int:
        """Return the instant from which the wait counts (seconds)."""
        return self.submit if self.released is None else self.released

    @property
    def error(self) -> int | None:
        """Return start less first estimate (seconds), positive if the job started later."""
        known = self.estimate is not None and self.start is not None
        return self.start - self.estimate if known else None  # type: ignore[operator]

    def to_dict(self, origin: str | None = None) -> dict[str, Any]:
        """Return plain data, one value per column, without `held`, `released` and
        `requirement_alternative`; with an origin, times have ISO stamps.

        `effective_submit` is the instant from which the wait counts.
        """
        without = ("held", "released", "requirement_alternative")
        names = (item.name for item in fields(self) if item.name not in without)
        plain = {name: getattr(self, name) for name in names}
        times = ("submit", "start", "end", "estimate", "estimated_at", "effective_submit")
        return with_stamps({**plain, "effective_submit": self.waits_since}, origin, times)


def record_of(state: JobState, names: Sequence[str], now: int, time: int) -> JobRecord:
    """Return the record of a job in its present state. names: names of the hosts. now: current time
    of the instance. time: that of the simulation; a job submitted by then is pending, even if
    it waits for its condition or begin time.
    """
    job = state.job
    is_open = state.status == FUTURE and job.submit <= time
    ran = None if state.start is None or state.end is None else state.end - state.start
    return JobRecord(
        job=job.id,
        user=job.user,
        queue=job.queue,
        slots=job.slots,
        submit=job.submit,
        start=state.start,
        end=state.end,
        wait=None if state.start is None else state.start - state.waits_since,
        status=PENDING if is_open else state.status,
        procs=state.slots,
        alternative=state.alternative,
        hosts=_on(state.allocation, names) if state.terms else {},
        req_time=state.duration,
        run_time=ran,
        estimate=state.estimate,
        estimated_at=state.estimated_at,
        estimate_by=state.estimate_by,
        backfilled=state.backfilled,
        suspensions=state.suspensions,
        requeues=state.requeues,
        reason=state.initial_reason(now),
        held=_held(state, names),
        released=state.released,
        requirement_alternative=job.requirement_alternative or 0,
    )


def _held(
    state: JobState, names: Sequence[str]
) -> tuple[tuple[int, int | None, dict[str, int]], ...]:
    past = [(begin, end, _on(where, names)) for begin, end, where in state.past_allocations]
    if state.terms and state.status != PREEMPTED:
        return (*past, (state.allocated_at, state.end, _on(state.allocation, names)))
    return tuple(past)


def _on(allocation: Mapping[int, int], names: Sequence[str]) -> dict[str, int]:
    return {names[host]: slots for host, slots in allocation.items()}


class JobRecords(OnDemand[JobRecord]):
    """The records of all jobs by number, fixed at the creation of this object."""

    __slots__ = ("_here", "_names", "_states", "_times")

    def __init__(self, world: World, now: int) -> None:
        """now: current time of the instance (seconds)."""
        self._names, self._times = world.names, (now, world.now)
        self._states = world.states.ended_so_far()
        self._here = {number: self._of(state) for number, state in world.states.here.items()}

    def __len__(self) -> int:
        return len(self._states)

    def item(self, place: int) -> JobRecord:
        """Return the record of one job."""
        found = self._here.get(place)
        return self._of(self._states.item(place)) if found is None else found

    def _of(self, state: JobState) -> JobRecord:
        return record_of(state, self._names, *self._times)


def log_entry(record: CycleRecord, world: World) -> dict[str, Any]:
    """Return a cycle as plain data (LOP-05)."""
    entry: dict[str, Any] = {"time": record.time, "pending": record.pending}
    for name in ("started", "backfilled", "preempted", "resumed", "resized"):
        if found := getattr(record, name):
            entry[name] = list(found)
    if record.why:
        entry["why"] = dict(record.why)
    entry["reservations"] = [
        {
            "job": reservation.state.job.id,
            "method": reservation.method,
            "estimate": reservation.estimate,
            "reserved": world.named(reservation.slots),
            **({"memory": world.named(reservation.memory)} if reservation.memory else {}),
            **({"allocation": world.named(reservation.allocation)} if reservation.start else {}),
            **({"fallback": reservation.fallback} if reservation.fallback else {}),
        }
        for reservation in record.reservations
    ]
    return entry


@dataclass(frozen=True, slots=True, repr=False)
class Simulation(JobTable[JobRecord]):
    """The result of a simulation."""

    instance: Instance
    settings: Settings
    #: Records in the order of the input: running, pending, future jobs.
    jobs: Sequence[JobRecord]
    #: Time at which the simulation stopped (seconds).
    time: int
    #: Number of cycles that were run.
    cycles: int
    #: Whether no event was left.
    complete: bool
    #: Records of the cycles, if requested.
    log: tuple[dict[str, Any], ...] = ()
    #: Notes on the simulation, one sentence each.
    notes: tuple[str, ...] = ()
    #: Settings of jobs and of the instance that no cycle obeys.
    omissions: tuple[Omission, ...] = ()

    @property
    def origin(self) -> str | None:
        """Return the ISO date of second 0, None if the instance has none."""
        return self.instance.origin

    @property
    def starts(self) -> dict[str, int]:
        """Return the start of every job that started, by id."""
        return {record.job: record.start for record in self.jobs if record.start is not None}

    def columns(self) -> list[str] | None:
        """Return the keys of a record if there is none, else None: those of the records."""
        return None if self.jobs else [item.name for item in fields(JobRecord)]

    def to_dict(self) -> dict[str, Any]:
        """Return the simulation without its log as a JSON object."""
        return {
            "now": self.instance.now,
            "origin": self.origin,
            "reservation": self.settings.reservation,
            **data_of(self, "time cycles complete"),
            "jobs": self.to_records(),
            **data_of(self, "notes omissions"),
        }

    def _done(self) -> str:
        done = "complete" if self.complete else f"stopped at second {self.time}"
        return f"{self.settings.reservation}: {self.cycles} cycles, {done}"

    def _about(self) -> str:
        return f"{self._done()}, {len(self)} jobs"

    def _repr_html_(self) -> str:
        """Return the simulation as HTML for a notebook; times in seconds from the origin."""
        head = ("job", "submit", "start", "end", "status", "hosts", "why not at once")
        rows = (
            (r.job, r.submit, r.start, r.end, r.status, allocation_text(r.hosts), r.reason)
            for r in self.jobs
        )
        return html_table(f"simulation, {self._done()}", head, rows)
