"""What a cluster looks like at the instance's now, before its cycle or after (VEW-01, VEW-02).

After the cycle, jobs that can start have started, and of those that wait it is known what they
have reserved, when they are expected to start, and why they wait.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ...model.cluster import BUILTIN_INDICES, INCREASING_INDICES
from ...model.instance import Instance
from ...model.job import RunningJob
from ...model.pending import PendingReason
from ..availability.arrays import FloatArray
from ..fairshare.dispatch_order import DispatchOrder, order_policy
from ..methods.registry import settings_for
from ..world.held import Held
from ..world.job_state import RUNNING
from .simulation import Session
from .why_pending import PendingReasons


@dataclass(frozen=True, slots=True)
class PendingJob:
    """A pending job: what it holds and may expect; times in seconds, hosts by name.

    slots: reserved since `since`. memory: MB reserved. estimate: expected start; a promise where
    `allocation` says on what, else no more than a lower bound. reason: why it does not start now,
    in a sentence with its numbers; reasons: all of it in LSF's words, with the hosts.
    """

    slots: Mapping[str, int] = field(default_factory=dict)
    memory: Mapping[str, float] = field(default_factory=dict)
    since: int | None = None
    estimate: int | None = None
    allocation: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""
    reasons: tuple[PendingReason, ...] = ()


@dataclass(frozen=True, slots=True)
class HostLoad:
    """Resources of one host, by name.

    total: what scheduling goes by, that is, what is reported less what is reserved (a load: more by
    it); None where nothing is reported. reserved: by running and by pending jobs. slots: reserved
    by pending jobs.
    """

    total: Mapping[str, float | None]
    reserved: Mapping[str, float]
    slots: int = 0


@dataclass(frozen=True, slots=True)
class SharedLoad:
    """A shared resource. total: what is left. reserved: by running jobs. hosts: that have it."""

    name: str
    total: float
    reserved: float
    hosts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """instance: its running and pending jobs are those of the moment. waiting, hosts: by id, name.

    All but instance and order are empty where nobody asked (:func:`snapshot_of`).
    """

    instance: Instance
    order: DispatchOrder
    waiting: Mapping[str, PendingJob] = field(default_factory=dict)
    hosts: Mapping[str, HostLoad] = field(default_factory=dict)
    shared: tuple[SharedLoad, ...] = ()

    def holds(self, job: str) -> Mapping[str, int]:
        """Slots that a pending job has reserved, by host."""
        return self.waiting[job].slots if job in self.waiting else {}


def snapshot_of(instance: Instance, *, after_cycle: bool, hosts: bool = True) -> Snapshot:
    """The moment of an instance.

    after_cycle: after the scheduling cycle at its now. hosts: with what is free and reserved.
    """
    if not (after_cycle or hosts):
        return Snapshot(instance, order_policy(instance))
    session = Session(instance, settings_for(instance))
    session.begin()
    if after_cycle:
        session.settle()
        instance = _after(session, instance)
    order = session.world.order
    reservations = session.cycle.reservations
    why = PendingReasons(session.cycle.state, considered=session.cycles > 0)
    return Snapshot(
        instance,
        order if isinstance(order, DispatchOrder) else order_policy(instance),
        {job.id: _waiting(session, job.id, reservations, why) for job in instance.pending},
        dict(_loads(session, reservations)),
        tuple(_shared(session)),
    )


def _after(session: Session, before: Instance) -> Instance:
    """The instance with the jobs that the cycle has started among the running ones."""
    world = session.world
    given = {item.job.id: item for item in before.running}
    running = []
    for state in world.running.values():
        item = given.get(state.job.id) or RunningJob(
            state.job, state.start or 0, alternative=state.alternative
        )
        allocation = world.named(state.allocation)
        stands_still = state.status != RUNNING
        running.append(replace(item, allocation=allocation, suspended=stands_still))
    waiting = tuple(job for job in before.pending if world.by_id[job.id].start is None)
    return replace(before, running=tuple(running), pending=waiting)


def _waiting(
    session: Session, job: str, reservations: Iterable[Held], why: PendingReasons
) -> PendingJob:
    world = session.world
    state = world.by_id[job]
    reason = state.now_waits_for or world.why_not_at_once(state)
    reasons = why.of(state)
    held = next((item for item in reservations if item.state is state), None)
    if held is None:
        return PendingJob(reason=reason, reasons=reasons)
    return PendingJob(
        world.named(held.slots),
        {world.names[host]: amount for host, amount in held.memory.items()},
        state.held_since,
        held.estimate,
        world.named(held.allocation),
        reason,
        reasons,
    )


def _loads(session: Session, reservations: list[Held]) -> Iterator[tuple[str, HostLoad]]:
    hosts = session.instance.cluster.hosts
    own = sorted({name for host in hosts for name in (*host.amounts, *host.load)})
    columns = {
        name: _column(session, reservations, name)
        for name in dict.fromkeys([*BUILTIN_INDICES, *own])
    }
    for place, host in enumerate(hosts):
        total = {name: float(column[0][place]) for name, column in columns.items()}
        yield (
            host.name,
            HostLoad(
                {name: None if math.isnan(value) else value for name, value in total.items()},
                {name: float(column[1][place]) for name, column in columns.items()},
                sum(held.slots.get(place, 0) for held in reservations),
            ),
        )


def _column(session: Session, reservations: list[Held], name: str) -> tuple[FloatArray, FloatArray]:
    """One resource of every host: what scheduling goes by (NaN: unknown), and what is reserved."""
    world = session.world
    hosts = session.instance.cluster.hosts
    for index, resource in enumerate(world.table.host_resources):
        if resource.name == name and any(name in host.amounts for host in hosts):
            free = world.free_now.host(index).copy()
            for held in reservations if name == "mem" else ():
                for place, amount in held.memory.items():
                    free[place] -= amount
            there = resource.capacity >= 0
            return np.where(there, free, np.nan), np.where(
                there, world.free_now.reported(index) - free, 0.0
            )
    reported = np.array([host.load.get(name, np.nan) for host in hosts])
    reserved = session.world.reserved_load(name)
    return reported + reserved * (1 if name in INCREASING_INDICES else -1), reserved


def _shared(session: Session) -> Iterator[SharedLoad]:
    cluster, world = session.instance.cluster, session.world
    names = [host.name for host in cluster.hosts]
    # The table has the shared resources first among its pools, as configured.
    for index, item in enumerate(cluster.shared):
        left = float(world.free_now.pool(index))
        hosts = tuple(name for name in names if item.hosts is None or name in item.hosts)
        yield SharedLoad(item.name, left, item.amount - left, hosts)
