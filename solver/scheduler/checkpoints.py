"""Checkpoints of a simulation: plain data from which the simulation continues as if it had never
stopped.

Jobs and cluster come from the instance again, which must be the same; a checkpoint has only what
has happened to them.

A session entered once and copied as often as wanted, so that each copy can go its own way. To enter
thousands of running jobs takes many times as long as to copy what came of it. What never changes,
and what equal jobs have in common, is shared by all copies; they have to be used one after another,
since the requests of a cycle are among it.
"""

from __future__ import annotations

import dataclasses
import io
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

from ...model.changes import Change
from ...model.compact import no_collection
from ...model.errors import InputError, Problem
from ...model.formats.sealed import (
    digest,
    examine,
    seal_checkpoint,
    taking_over,
    unseal_checkpoint,
)
from ...model.instance import Instance
from ...model.job import HostRequest, Job, RunningJob
from ..availability.demand import HeldPart
from ..availability.resources import ResourceTable
from ..budget import Budget
from ..fairshare.priority_order import FirstCome, dispatch_policy
from .events import Settings
from .job_state import JobState, ReservationTimer, Shape, ShapeTable
from .simulation import Recorder, Session
from .world import World


@dataclass
class _Plain:
    """The fields of a job's state that a checkpoint stores unchanged."""

    status: str
    duration: int | None
    work: int | None
    limit: int | None
    start: int | None
    end: int | None
    released: int | None
    since: int
    ran: int
    placed: int
    alternative: int
    backfilled: bool
    estimate: int | None
    estimated_at: int | None
    estimate_by: str
    reason: str
    now_waits_for: str
    suspended_by: str
    suspensions: int
    requeues: int


_PLAIN = tuple(field.name for field in dataclasses.fields(_Plain))
#: Attributes of a job's state that have another key in a checkpoint, by key.
_ATTRIBUTES = {
    "work": "real_run_time",
    "ran": "elapsed",
    "placed": "allocated_at",
    "now_waits_for": "current_reason",
}
#: A number of slots by host, or an amount by resource or host, as pairs.
_Counts = list[tuple[int, int]]


@dataclass
class _JobRecord(_Plain):
    """The state of a job in a checkpoint."""

    number: int
    terms: list[_Counts]
    stretches: list[tuple[int, int, _Counts]]
    amounts: list[float]
    held: list[int]
    held_since: int | None
    rest_until: int | None
    shaped: bool
    borrowed: _Counts


@dataclass
class _Ended:
    """The finished jobs in columns."""

    columns: list[tuple[str, str]]
    kinds: list[tuple[str, int, bool, str]]
    reasons: list[str]
    odd: list[tuple[int, list[Any]]]


@dataclass
class _Free:
    """Free resources of hosts and pools at the time of the checkpoint."""

    hosts: list[list[float]]
    pools: list[float]
    away: list[tuple[int, list[float]]]


@dataclass
class _Eligibility:
    status: list[str]
    load: dict[str, list[float]]


@dataclass
class _CycleRecord:
    """Facts about the last dispatch cycle that the next cycle needs."""

    slots_held: dict[str, dict[str, int]]
    timed: list[int]
    started: list[str]
    last: list[Any]
    booked: bool
    too_late: list[int]


@dataclass
class _Dependents:
    waiting: list[int]
    ready: list[int]
    orphans: list[tuple[int, int]]


@dataclass
class _LoopContent:
    """Content of a checkpoint; a changed job is stored as the changed fields of the job."""

    instance: str
    settings: Settings
    until: int | None
    now: int
    cycles: int
    started: int
    last_progress: int
    events: tuple[list[tuple[int, int, int, int]], int, int]
    shapes: list[tuple[int, dict[str, Any] | None]]
    modified: list[tuple[int, dict[str, Any] | None]]
    states: list[_JobRecord]
    ended: _Ended
    pending: list[int]
    running: list[int]
    finish: list[tuple[int, int | None]]
    fresh: list[int]
    changed: bool
    present: _Free
    accepted: list[int]
    eligibility: _Eligibility
    order: dict[str, Any]
    cycle: _CycleRecord
    dependents: _Dependents | None
    log: list[dict[str, Any]]
    keep_log: bool
    notes: list[str]


def save(session: Session) -> str:
    """Return the checkpoint of a session between two cycles, as text."""
    world, cycle = session.world, session.cycle
    record = {
        "instance": digest(session.source, session.changes),
        "settings": dataclasses.asdict(session.settings),
        "until": session.until,
        "now": world.now,
        "cycles": session.progress.cycles,
        "started": session.progress.started,
        "last_progress": session.progress.last_progress,
        "events": world.events.state(),
        "shapes": [_described(shape.job, session) for shape in session.requests.shapes()],
        "modified": [_described(job, session) for job in world.states.modified.values()],
        "states": [_state(state, world) for _, state in sorted(world.states.here.items())],
        "ended": world.states.to_state(),
        "pending": list(world.pending),
        "running": list(world.running),
        "finish": [*world.running_profile.finish.items()],
        "fresh": [state.number for state in world.arrivals.new],
        "changed": world.changed,
        "present": world.free_now.state(),
        "accepted": world.last_accepted.tolist(),
        "eligibility": session.eligibility.to_state(),
        "order": world.order.to_state(),
        "cycle": cycle.to_state(),
        "dependents": None if world.dependents is None else world.dependents.to_state(),
        "log": session.progress.log,
        "keep_log": session.keep_log,
        "notes": session.progress.notes,
    }
    return seal_checkpoint("loop", record)


def _described(job: Job, session: Session) -> list[Any]:
    """Return a job by its number, and in full if bmod or another command changed it."""
    number = session.world.states.get(job.id).number
    return [number, None if job == session.given[number] else dataclasses.asdict(job)]


def _job(described: Sequence[Any], session: Session) -> Job:
    number: int = described[0]
    plain: dict[str, Any] | None = described[1]
    if plain is None:
        return session.given[number]
    hosts = tuple(HostRequest(**host) for host in plain["hosts"])
    queue_position = plain["queued_as"]
    texts = tuple(plain["res_req"])
    queue_position = None if queue_position is None else tuple(queue_position)
    return Job(**{**plain, "res_req": texts, "hosts": hosts, "queued_as": queue_position})


def _state(state: JobState, world: World) -> dict[str, Any]:
    plain = {name: getattr(state, _ATTRIBUTES.get(name, name)) for name in _PLAIN}
    holding = state.holding
    return {
        "number": state.number,
        **plain,
        "terms": [list(term.items()) for term in state.terms],
        "stretches": [[begin, end, list(w.items())] for begin, end, w in state.past_allocations],
        "amounts": [part.amount for part in world.running_profile.parts.get(state.number, ())],
        "held": list(holding.hosts),
        "held_since": holding.since,
        "rest_until": holding.blocked_until,
        "shaped": state.shape is not None,
        "borrowed": list(state.backfilled_slots.items()),
    }


def load(
    text: str,
    instance: Instance,
    *,
    changes: Sequence[Change] = (),
    recorder: Recorder | None = None,
    source: str = "",
) -> Session:
    """Return the session that :func:`save` saved, ready to advance.

    Raises InputError for a text that is no such checkpoint, or one of another instance.
    """
    saved = unseal_checkpoint(text, "loop", source)
    examine(saved, _LoopContent, source)
    with taking_over(source):
        return _session(saved, instance, changes, recorder, source)


def _session(
    saved: Mapping[str, Any],
    instance: Instance,
    changes: Sequence[Change],
    recorder: Recorder | None,
    source: str,
) -> Session:
    if saved["instance"] != digest(instance, sorted(changes, key=lambda change: change.time)):
        wrong = "belongs to another instance or other changes: give the original ones"
        raise InputError([Problem(wrong, source)])
    settings = Settings(**saved["settings"])
    if min(settings.top, settings.cycle, settings.margin, settings.effort) < 0:
        raise ValueError(f"top, cycle, margin and effort must be 0 or more in {saved['settings']}")
    session = Session(
        instance,
        settings,
        changes=changes,
        until=saved["until"],
        keep_log=saved["keep_log"],
        recorder=recorder,
    )
    world = session.world
    world.states.load_state(saved["ended"])
    world.advance_clock(saved["now"])
    session.progress.cycles, session.progress.started = saved["cycles"], saved["started"]
    session.progress.last_progress = saved["last_progress"]
    session.progress.log, session.progress.notes = saved["log"], saved["notes"]
    # Limits join the table in the order in which jobs need them: the initially running jobs first,
    # then the shapes.
    world.enter_limits_of_running()
    for described in saved["shapes"]:
        session.requests.shape(_job(described, session))
    for described in saved["modified"]:
        world.states.modified[described[0]] = _job(described, session)
    _restore_jobs(world, saved)
    world.free_now.load(saved["present"])
    world.running_profile.enter_reported()
    world.running_profile.last_accepted = np.array(saved["accepted"], dtype=np.int64)
    if world.dependents is not None:
        world.dependents.load_state(saved["dependents"])
    session.eligibility.load_state(saved["eligibility"])
    session.cycle.load_state(saved["cycle"])
    events, sequence, gone = saved["events"]
    world.events.restore((tuple(event) for event in events), sequence, gone)
    world.changed = saved["changed"]
    return session


def _restore_jobs(world: World, saved: Mapping[str, Any]) -> None:
    amounts: dict[int, list[float]] = {}
    for plain in saved["states"]:
        state = world.states.activate(plain["number"])
        for name in _PLAIN:
            setattr(state, _ATTRIBUTES.get(name, name), plain[name])
        state.reserved = world.requests.reserved(state.job)
        state.terms = tuple({int(h): int(n) for h, n in term} for term in plain["terms"])
        held = tuple(plain["held"])
        state.holding = ReservationTimer(held, plain["held_since"], plain["rest_until"])
        state.backfilled_slots = dict(plain["borrowed"])
        state.past_allocations = [
            (begin, end, {int(h): int(n) for h, n in where})
            for begin, end, where in plain["stretches"]
        ]
        amounts[state.number] = plain["amounts"]
        if plain["shaped"]:
            state.shape = world.requests.shape(state.job)
    running = [world.states.activate(number) for number in saved["running"]]
    world.order = _order(world, saved, running)
    finish = dict(saved["finish"])
    for state in running:
        world.restore(state, finish.get(state.number), amounts[state.number])
    for number in saved["pending"]:
        world.wait_again(world.states.activate(number))
    world.arrivals.new = [world.states.activate(number) for number in saved["fresh"]]


def _order(world: World, saved: Mapping[str, Any], running: Sequence[JobState]) -> Any:
    jobs = tuple(
        RunningJob(state.job, state.start or 0, world.named(state.allocation)) for state in running
    )
    instance = dataclasses.replace(world.instance, running=jobs)
    if isinstance(world.order, FirstCome):
        return dispatch_policy(instance)
    return dispatch_policy(instance, saved["order"])


#: Mutable objects that all copies share: tables that only grow and whose entries never change.
_SHARED = (ShapeTable, ResourceTable, Shape, Budget, FunctionType)


class Entered:
    """A session that has begun and run no cycle yet, as a source of independent copies."""

    def __init__(self, session: Session) -> None:
        """Store a copy of `session`; later changes of `session` do not affect it."""
        text = io.BytesIO()
        writer = _Writer(text)
        with no_collection():
            writer.dump(session)
        self._text, self._shared = text.getvalue(), writer.shared

    def copy(self) -> Session:
        """Return an independent copy of the session."""
        with no_collection():
            session = _Reader(io.BytesIO(self._text), self._shared).load()
        assert isinstance(session, Session)
        return session


def _shared(place: int) -> Any:
    """Return the text that replaces a shared object in the pickle; the reader looks the
    object up.
    """
    raise LookupError(place)


class _Writer(pickle.Pickler):
    """Pickler that replaces each shared object by its index in a list."""

    def __init__(self, text: io.BytesIO) -> None:
        super().__init__(text, pickle.HIGHEST_PROTOCOL)
        self.shared: list[Any] = []
        self._place: dict[int, int] = {}
        self._whole_kinds: dict[type, bool] = {}

    def reducer_override(self, item: Any) -> Any:
        """Return the reference to a shared object; other objects are pickled as usual."""
        kind = type(item)
        share = self._whole_kinds.get(kind)
        if share is None:
            share = self._whole_kinds[kind] = _is_frozen(kind) or issubclass(kind, _SHARED)
        if share and item is not _shared:
            return _shared, (self._share(item),)
        if kind is HeldPart:  # Uses of one kind share the host and count: only the amount changes.
            for column in (item.hosts, item.times):
                self._share(column)
        place = self._place.get(id(item))
        return NotImplemented if place is None else (_shared, (place,))

    def _share(self, item: object) -> int:
        place = self._place.setdefault(id(item), len(self.shared))
        if place == len(self.shared):
            self.shared.append(item)
        return place


class _Reader(pickle.Unpickler):
    """Unpickler for the data of :class:`_Writer`."""

    def __init__(self, text: io.BytesIO, shared: list[Any]) -> None:
        super().__init__(text)
        self._shared = shared

    def find_class(self, module: str, name: str) -> Any:
        """Return the class or function for a name, or the look-up function for :func:`_shared`."""
        found = super().find_class(module, name)
        return self._shared.__getitem__ if found is _shared else found


def _is_frozen(kind: type) -> bool:
    params = getattr(kind, "__dataclass_params__", None)
    return params is not None and bool(params.frozen)
