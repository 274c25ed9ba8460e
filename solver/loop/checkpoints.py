"""Checkpoints of a simulation: plain data from which it goes on as if it had never stopped.

Jobs and cluster come from the instance again, which must be the same; a checkpoint has only what
has happened to them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...model.changes import Change
from ...model.errors import InputError, Problem
from ...model.formats.checkpoint import seal, taking_over, unseal
from ...model.formats.sealed import digest
from ...model.instance import Instance
from ...model.job import HostRequest, Job, RunningJob
from ..fairshare.dispatch_policy import FirstCome, dispatch_policy
from ..world.job_state import JobState
from ..world.settings import Settings
from ..world.world import World
from .simulation import Recorder, Session

_PLAIN = (
    "status",
    "duration",
    "work",
    "limit",
    "start",
    "end",
    "since",
    "ran",
    "placed",
    "alternative",
    "backfilled",
    "estimate",
    "estimated_at",
    "estimate_by",
    "reason",
    "now_waits_for",
    "held_since",
    "rest_until",
    "suspended_by",
    "suspensions",
    "requeues",
)


def save(session: Session) -> str:
    """The checkpoint of a session between two cycles, as text."""
    world, cycle = session.world, session.cycle
    record = {
        "instance": digest(session.source, session.changes),
        "settings": dataclasses.asdict(session.settings),
        "until": session.until,
        "now": world.now,
        "cycles": session.cycles,
        "started": session.started,
        "last_progress": session.last_progress,
        "events": [*world.events.state(), world.events.gone],
        "shapes": [_described(shape.job, session) for shape in session.requests.shapes()],
        "modified": [_described(job, session) for job in world.states.modified.values()],
        "states": [_state(state) for _, state in sorted(world.states.here.items())],
        "ended": world.states.to_state(),
        "pending": list(world.pending),
        "running": list(world.running),
        "finish": [[number, finish] for number, finish in world.running_profile.finish.items()],
        "fresh": [state.number for state in world.fresh],
        "changed": world.changed,
        "present": world.free_now.state(),
        "accepted": world.last_accepted.tolist(),
        "eligibility": session.eligibility.to_state(),
        "order": world.order.to_state(),
        "cycle": cycle.to_state(),
        "dependents": None if world.dependents is None else world.dependents.to_state(),
        "log": session.log,
        "keep_log": session.keep_log,
        "notes": session.notes,
    }
    return seal("loop", record)


def _described(job: Job, session: Session) -> list[Any]:
    """A job by its number, and where bmod and the like have changed it, in full."""
    number = session.world.states.of(job.id).number
    return [number, None if job == session.given[number] else dataclasses.asdict(job)]


def _job(described: Sequence[Any], session: Session) -> Job:
    number: int = described[0]
    plain: dict[str, Any] | None = described[1]
    if plain is None:
        return session.given[number]
    hosts = tuple(HostRequest(**host) for host in plain["hosts"])
    standing = plain["queued_as"]
    texts = tuple(plain["res_req"])
    standing = None if standing is None else tuple(standing)
    return Job(**{**plain, "res_req": texts, "hosts": hosts, "queued_as": standing})


def _state(state: JobState) -> dict[str, Any]:
    plain = {name: getattr(state, name) for name in _PLAIN}
    return {
        "number": state.number,
        **plain,
        "terms": [list(term.items()) for term in state.terms],
        "stretches": [[begin, end, list(w.items())] for begin, end, w in state.stretches],
        "amounts": [part.amount for part in state.parts],
        "held": list(state.held),
        "shaped": state.shape is not None,
        "borrowed": list(state.borrowed.items()),
    }


def load(
    text: str,
    instance: Instance,
    *,
    changes: Sequence[Change] = (),
    recorder: Recorder | None = None,
    source: str = "",
) -> Session:
    """The session that :func:`save` saved, ready to advance.

    Raises InputError for a text that is no such checkpoint, or one of another instance.
    """
    saved = unseal(text, "loop", source)
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
        raise InputError([Problem("made from another instance or other changes", source)])
    session = Session(
        instance,
        Settings(**saved["settings"]),
        changes=changes,
        until=saved["until"],
        keep_log=saved["keep_log"],
        recorder=recorder,
    )
    world = session.world
    world.states.load_state(saved["ended"])
    world.advance_clock(saved["now"])
    session.cycles, session.started = saved["cycles"], saved["started"]
    session.last_progress = saved["last_progress"]
    session.log, session.notes = saved["log"], saved["notes"]
    # Limits join the table in the order in which jobs turn up: what ran at first, then the shapes.
    world.enter_limits_of_running()
    for described in saved["shapes"]:
        session.requests.shape(_job(described, session))
    for described in saved["modified"]:
        world.states.modified[described[0]] = _job(described, session)
    _restore_jobs(world, saved)
    _restore_amounts(world, saved)
    if world.dependents is not None:
        world.dependents.load_state(saved["dependents"])
    session.eligibility.load_state(saved["eligibility"])
    session.cycle.load_state(saved["cycle"])
    events, sequence, gone = saved["events"]
    world.events.go_on((tuple(event) for event in events), sequence, gone)
    world.changed = saved["changed"]
    return session


def _restore_jobs(world: World, saved: Mapping[str, Any]) -> None:
    amounts: dict[int, list[float]] = {}
    for plain in saved["states"]:
        state = world.states.keep(plain["number"])
        for name in _PLAIN:
            setattr(state, name, plain[name])
        state.terms = tuple({int(h): int(n) for h, n in term} for term in plain["terms"])
        state.held = tuple(plain["held"])
        state.borrowed = dict(plain["borrowed"])
        state.stretches = [
            (begin, end, {int(h): int(n) for h, n in where})
            for begin, end, where in plain["stretches"]
        ]
        amounts[state.number] = plain["amounts"]
        if plain["shaped"]:
            state.shape = world.requests.shape(state.job)
    running = [world.states.keep(number) for number in saved["running"]]
    world.order = _order(world, saved, running)
    finish = dict(saved["finish"])
    for state in running:
        world.put_back(state, finish.get(state.number), amounts[state.number])
    for number in saved["pending"]:
        world.wait_again(world.states.keep(number))
    world.fresh = [world.states.keep(number) for number in saved["fresh"]]


def _order(world: World, saved: Mapping[str, Any], running: Sequence[JobState]) -> Any:
    jobs = tuple(
        RunningJob(state.job, state.start or 0, world.named(state.allocation)) for state in running
    )
    instance = dataclasses.replace(world.instance, running=jobs)
    if isinstance(world.order, FirstCome):
        return dispatch_policy(instance)
    return dispatch_policy(instance, saved["order"])


def _restore_amounts(world: World, saved: Mapping[str, Any]) -> None:
    world.free_now.load(saved["present"])
    world.enter_reported()
    world.last_accepted = np.array(saved["accepted"], dtype=np.int64)
