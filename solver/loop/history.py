"""What happened to each job of a simulation, and how long it was in which state (bhist)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ...model.instance import Instance
from ...model.job import Job
from ...model.pending import PendingReason
from ..methods.registry import settings_for
from ..world.job_state import DONE, FUTURE, KILLED, PENDING, PREEMPTED, RUNNING, SUSPENDED, JobState
from .simulation import Session
from .snapshot import run_to
from .why_pending import PendingReasons

#: States whose seconds bhist adds up. A simulation has no PSUSP and no UNKWN.
STATES = ("PEND", "PSUSP", "RUN", "USUSP", "SSUSP", "UNKWN")


@dataclass(frozen=True, slots=True)
class JobEvent:
    """Something that happened to a job at `time` (seconds from the origin).

    kind: "submitted", "pending" (its reasons are others now), "reserved" (what it holds is other
    now: `slots` by host and `memory` in MB), "dispatched" and "resized" (on `slots`), "suspended",
    "resumed", "requeued", "done" or "killed".
    """

    time: int
    kind: str
    slots: Mapping[str, int] = field(default_factory=dict)
    memory: Mapping[str, float] = field(default_factory=dict)
    reasons: tuple[PendingReason, ...] = ()


@dataclass(frozen=True, slots=True)
class JobHistory:
    """One job from its submission on. seconds: in each of :data:`STATES`, until it ended or now."""

    job: Job
    status: str
    events: tuple[JobEvent, ...]
    seconds: Mapping[str, int]

    @property
    def total(self) -> int:
        """Seconds in all."""
        return sum(self.seconds.values())

    @property
    def hosts(self) -> frozenset[str]:
        """Hosts on which it has run."""
        ran = (event.slots for event in self.events if event.kind in ("dispatched", "resized"))
        return frozenset(host for slots in ran for host in slots)


class Historian:
    """Watches a simulation; call :meth:`watch` after every cycle, then :meth:`histories`."""

    def __init__(self, session: Session, jobs: Iterable[str] = (), *, reasons: bool = True) -> None:
        """jobs: those to watch, all where none is named. reasons: whether to ask why they wait."""
        self.session = session
        session.cycle.whole_walks = True
        self._ask = reasons
        self._names = frozenset(jobs)
        self._events: dict[int, list[JobEvent]] = {}
        self._states: dict[int, list[tuple[int, str]]] = {}
        self._last: dict[int, tuple[str, int]] = {}
        self._said: dict[int, tuple[PendingReason, ...]] = {}
        self._held: dict[int, tuple[Mapping[str, int], Mapping[str, float]]] = {}
        self._where: dict[int, Mapping[str, int]] = {}
        self._open: set[int] = set()

    def watch(self) -> None:
        """Write down what the cycle that is just over has changed."""
        cycle = self.session.cycle
        why = PendingReasons(cycle.state)
        held = {item.state.number: item for item in cycle.reservations}
        world = self.session.world
        states = world.states
        # Those that were here at the last look may have ended since.
        for state in map(states.item, sorted({*self._open, *states.here})):
            if not self._watched(state):
                continue
            self._follow(state)
            if state.status != PENDING:
                continue
            item = held.get(state.number)
            slots = {} if item is None else world.named(item.slots)
            memory = {} if item is None else {world.names[h]: n for h, n in item.memory.items()}
            if self._held.get(state.number, ({}, {})) != (slots, memory):
                self._held[state.number] = (slots, memory)
                self._add(state, JobEvent(world.now, "reserved", slots, memory))
            reasons = why.of(state) if self._ask else ()
            if self._ask and self._said.get(state.number) != reasons:
                self._said[state.number] = reasons
                self._add(state, JobEvent(world.now, "pending", reasons=reasons))

        self._open = set(states.here)

    def histories(self) -> list[JobHistory]:
        """What has become of the jobs that are submitted by now, in the order of the input."""
        world = self.session.world
        found = []
        for state in world.states:
            if self._watched(state) and (state.status != FUTURE or state.job.submit <= world.now):
                self._follow(state)
                found.append(self._history(state))
        return found

    def _watched(self, state: JobState) -> bool:
        return not self._names or state.job.id in self._names

    def _add(self, state: JobState, event: JobEvent) -> None:
        self._events.setdefault(state.number, []).append(event)

    def _enter(self, state: JobState, time: int, name: str) -> None:
        self._states.setdefault(state.number, []).append((time, name))

    def _follow(self, state: JobState) -> None:
        """Changes of state since the last look: they come at cycles, ends at their own time."""
        number, world = state.number, self.session.world
        if number not in self._last:
            if state.status == FUTURE and state.job.submit > world.now:
                return
            self._add(state, JobEvent(state.job.submit, "submitted"))
            self._enter(state, state.job.submit, "PEND")
            self._last[number] = (PENDING, 0)
        status, requeues = self._last[number]
        if state.requeues > requeues:
            at = state.stretches[-1][1]
            self._add(state, JobEvent(at, "requeued"))
            self._enter(state, at, "PEND")
            status = PENDING
        if status == PENDING and state.start is not None:
            self._where[number] = world.named(state.allocation)
            self._add(state, JobEvent(state.start, "dispatched", self._where[number]))
            self._enter(state, state.start, "RUN")
            self._said.pop(number, None)
            self._held.pop(number, None)
            status = RUNNING
        self._change(state, status)
        open_as = PENDING if state.status == FUTURE else state.status
        self._last[number] = (open_as, state.requeues)

    def _change(self, state: JobState, status: str) -> None:
        number, world = state.number, self.session.world
        halted = (SUSPENDED, PREEMPTED)
        if state.status in halted and status not in halted:
            by_user = state.suspended_by == "before"
            at = max(self.session.instance.now, state.start or 0) if by_user else world.now
            self._add(state, JobEvent(at, "suspended"))
            self._enter(state, at, "USUSP" if by_user else "SSUSP")
        if status in halted and state.status in (RUNNING, DONE, KILLED):
            self._add(state, JobEvent(state.since, "resumed"))
            self._enter(state, state.since, "RUN")
        here = world.named(state.allocation) if state.status == RUNNING else {}
        if here and self._where.get(number) != here:
            self._where[number] = here
            self._add(state, JobEvent(state.placed, "resized", here))
        if state.status in (DONE, KILLED) and status not in (DONE, KILLED):
            assert state.end is not None
            self._add(state, JobEvent(state.end, "done" if state.status == DONE else "killed"))
            self._enter(state, state.end, "")

    def _history(self, state: JobState) -> JobHistory:
        seconds = dict.fromkeys(STATES, 0)
        entered = self._states[state.number]
        ends = [time for time, _ in entered[1:]] + [self.session.world.now]
        for (time, name), end in zip(entered, ends, strict=True):
            if name:
                seconds[name] += max(0, end - time)
        return JobHistory(state.job, state.status, tuple(self._events[state.number]), seconds)


def follow(
    instance: Instance,
    jobs: Iterable[str] = (),
    *,
    time: int | None = None,
    reasons: bool = True,
    reservation: str = "configured",
    top: int | None = None,
    cycle: int | None = None,
) -> tuple[list[JobHistory], int]:
    """Histories of jobs over a simulation, and the second at which it stands then.

    jobs: ids, () for all. time: until when, None for its end. reasons: why they waited, too, which
    takes longer. reservation, top, cycle: as of :func:`.simulate`.
    Raises InputError for bad settings and a time that the simulation has not.
    """
    settings = settings_for(instance, reservation=reservation, top=top, cycle=cycle)
    session = Session(instance, settings, until=time)
    historian = Historian(session, jobs, reasons=reasons)
    if time is not None:
        run_to(session, time, historian.watch)
    else:
        session.begin()
        while session.advance():
            historian.watch()
    return historian.histories(), session.world.now
