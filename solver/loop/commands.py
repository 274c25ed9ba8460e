"""What users do to single jobs while a simulation runs: bkill, bmod, bswitch, btop, bbot, bresize.

A command that means nothing at its time (the job has ended, it runs already) is left out with a
note, as LSF's commands refuse it.
"""

from __future__ import annotations

from dataclasses import replace

from ...model.changes import (
    EarlyEnd,
    JobCommand,
    Kill,
    Modification,
    Moved,
    QueueSwitch,
    Release,
    Resize,
)
from ...model.job import Job
from ..world.cycle_state import CycleState
from ..world.job_state import DONE, FUTURE, KILLED, PENDING, PREEMPTED, RUNNING, SUSPENDED, JobState

_HAS_SLOTS = (RUNNING, SUSPENDED, PREEMPTED)
#: What bmod may change of a job that runs.
_OF_RUNNING = frozenset({"run_limit"})


def resize(cycle: CycleState, change: Resize | Release) -> str:
    """Give a running job other slots; the note where that cannot be, "" where it is done."""
    world = cycle.world
    state = world.states.find(change.job)
    if state is None or state.status != RUNNING or len(state.terms) != 1:
        return "it does not run then"
    own = state.allocation
    if isinstance(change, Resize):
        wanted = {world.index[name]: n for name, n in change.allocation.items() if n > 0}
    else:
        given = {world.index[name]: n for name, n in change.slots.items()}
        if any(n > own.get(host, 0) for host, n in given.items()):
            return "it has not so many slots there"
        wanted = {host: n - given.get(host, 0) for host, n in own.items() if n > given.get(host, 0)}
    if not wanted:
        return "it would have no slot left"
    free = world.free_now.host(0)
    if any(n - own.get(host, 0) > free[host] for host, n in wanted.items()):
        return "its hosts have not so many slots free"
    world.resize(state, wanted)
    return ""


def carry_out(cycle: CycleState, command: JobCommand) -> str:
    """Do one command now; the note where it means nothing, "" where it is done."""
    state = cycle.world.states.find(command.job)
    if state is None:
        return "there is no such job"
    if state.status in (DONE, KILLED):
        return "it has ended"
    if state.status == FUTURE and state.job.submit > cycle.world.now:
        return "it is not submitted yet"
    match command:
        case EarlyEnd():
            return _end(cycle, state)
        case Kill():
            return _kill(cycle, state)
        case Moved():
            return _move(cycle, state, command.to)
        case QueueSwitch():
            if state.status in _HAS_SLOTS:
                return "it runs already"
            return _modify(cycle, state, replace(state.job, queue=command.queue))
        case Modification():
            if state.status in _HAS_SLOTS and set(command.fields) - _OF_RUNNING:
                return "it runs: only its run limit can be changed"
            return _modify(cycle, state, replace(state.job, **command.fields))


def _end(cycle: CycleState, state: JobState) -> str:
    if state.status not in _HAS_SLOTS:
        return "it does not run then"
    cycle.world.end(state, cycle.world.now, killed=False)
    return ""


def _kill(cycle: CycleState, state: JobState) -> str:
    world = cycle.world
    if state.status in _HAS_SLOTS:
        world.end(state, world.now, killed=True)
        return ""
    if state.status == PENDING:
        cycle.let_go(state)
    world.cancel(state)
    return ""


def _modify(cycle: CycleState, state: JobState, job: Job) -> str:
    world = cycle.world
    waits = world.dependents is not None and job.dependency != state.job.dependency
    if state.status == PENDING:
        cycle.let_go(state)
        world.withdraw(state)
        world.states.modify(state, job)
        if waits:
            world.leave_queue(state)
        else:
            world.enter(state)
    else:
        world.states.modify(state, job)
        if state.status in _HAS_SLOTS:
            world.new_limits(state)
    if (waits or job.begin is not None) and state.status in (PENDING, FUTURE):
        world.expect(state)
    world.changed = True
    return ""


def _move(cycle: CycleState, state: JobState, to: str) -> str:
    """Before or behind the pending jobs of its queue and priority; the others stay in order."""
    world, job = cycle.world, state.job
    if state.status != PENDING:
        return "it does not wait then"
    others = [
        other.job.standing
        for other in world.pending.values()
        if other is not state and (other.job.queue, other.job.priority) == (job.queue, job.priority)
    ]
    if others:
        time, place = min(others) if to == "top" else max(others)
        standing = (time, place - 1 if to == "top" else place + 1)
        world.withdraw(state)
        world.states.modify(state, replace(job, queued_as=standing))
        world.enter(state)
    world.changed = True
    return ""
