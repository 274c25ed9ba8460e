"""Which pending jobs the omissions of an instance may move: their scopes, resolved in one place.

An omission that changes starts is of the jobs in its scope; what hangs on these is found where a
plan is judged. One by which jobs may end later is of these and of all that may meet such a job on
a host, in a pool or by a dependency condition. One by which they may only end sooner moves none.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

import numpy as np

from ...model.cluster import Thresholds
from ...model.errors import InputError
from ...model.instance import Instance
from ...model.job import Job
from ...model.omissions import GPUS, PTILE, SCOPE, Omission
from ...model.resreq.evaluate import named
from ...model.resreq.syntax import simples
from ...model.shares import Groups
from .. import alike
from ..availability.resources import BoolArray, IntArray
from ..resolve import Resolver


@dataclass
class Scopes:
    """The scopes of the omissions of one instance."""

    instance: Instance
    resolver: Resolver
    _named: dict[Hashable, frozenset[str] | None] = field(default_factory=dict)
    _taken: dict[Hashable, tuple[IntArray, frozenset[int]]] = field(default_factory=dict)

    def moved(self, item: Omission, jobs: Sequence[Job]) -> tuple[str, ...] | None:
        """Those of some pending jobs whose starts an omission may change; None: of all."""
        if item.changes == "sooner ends":
            return ()
        ids = None if item.jobs is None else frozenset(item.jobs)
        if item.changes == "starts":
            if ids is None and not item.narrowed:
                return None
            return tuple(job.id for job in jobs if self._is_of(item, ids, job))
        return self._delayed(item, ids, jobs) if ids is not None or item.narrowed else None

    def _delayed(
        self, item: Omission, ids: frozenset[str] | None, jobs: Sequence[Job]
    ) -> tuple[str, ...]:
        """The jobs in a scope, and those that may wait for the end of one that runs or waits."""
        longer = [run.job for run in self.instance.running if self._is_of(item, None, run.job)]
        longer += [job for job in self.instance.pending if self._is_of(item, ids, job)]
        if not longer:
            return ()
        hosts = np.zeros(len(self.instance.cluster.hosts), dtype=bool)
        pools: set[int] = set()
        for job in longer:
            taken, shared = self._takes(job)
            hosts[taken] = True
            pools |= shared
            hosts[
                [self.resolver.host_index()[name] for name in self._running_on.get(job.id, ())]
            ] = True
        return tuple(
            job.id
            for job in jobs
            if job.dependency or self._is_of(item, ids, job) or self._meets(job, hosts, pools)
        )

    def _meets(self, job: Job, hosts: BoolArray, pools: set[int]) -> bool:
        taken, shared = self._takes(job)
        return bool(hosts[taken].any()) or not pools.isdisjoint(shared)

    def _takes(self, job: Job) -> tuple[IntArray, frozenset[int]]:
        """The hosts and pools, by index, of which a job may take a part."""
        key = self._open.asked(job)
        if key not in self._taken:
            demand = self._open.demand(job)
            hosts = [term.candidates for term in demand.terms]
            pools = frozenset(
                use.index
                for term in demand.terms
                for alternative in term.alternatives
                for use in alternative.pool_uses
            )
            none = np.empty(0, dtype=np.int64)
            self._taken[key] = (np.unique(np.concatenate(hosts)) if hosts else none), pools
        return self._taken[key]

    def _held_by(self, job: Job) -> list[int]:
        """The hosts, by index, on which a job runs."""
        index = self.resolver.host_index()
        return [index[name] for name in self._running_on.get(job.id, ())]

    def _is_of(self, item: Omission, ids: frozenset[str] | None, job: Job) -> bool:
        """Whether a job is in the scope of an omission, as far as can be told."""
        return (
            (ids is None or job.id in ids)
            and (not item.queues or job.queue in item.queues)
            and (not item.applications or job.application in item.applications)
            and (not item.users or self._has_user(item.users, job.user))
            and (not item.resources or self._names_one(item.resources, job))
            and (not item.hosts or self._may_use(item.hosts, job))
        )

    def _has_user(self, names: Iterable[str], user: str) -> bool:
        """A name that nothing describes may be a group that a program of the site fills."""
        for name in names:
            if name in self._groups:
                members = self._groups.by_name[name].members
                if not members or self._groups.contains_user(name, user):
                    return True
            elif name == user or name not in self._users:
                return True
        return False

    def _may_use(self, names: Iterable[str], job: Job) -> bool:
        found = [self.instance.cluster.expand(name) for name in names]
        if None in found:
            return True  # a row for hosts that are not listed, such as "default"
        index = self.resolver.host_index()
        wanted = [index[host] for part in found for host in part or ()]
        own = [*self._takes(job)[0].tolist(), *self._held_by(job)]
        return not set(wanted).isdisjoint(own)

    def _names_one(self, names: Iterable[str], job: Job) -> bool:
        key = alike.merged(job)
        if key not in self._named:
            self._named[key] = self._resources_of(job)
        found = self._named[key]
        return found is None or not found.isdisjoint(names)

    def _resources_of(self, job: Job) -> frozenset[str] | None:
        """The resources that a job names, or is under a threshold of; None: nobody can tell."""
        try:
            parts = simples(self.resolver.requirement(job))
            found = set(self.resolver.reserves(job)) | self.resolver.loads_reserved(job)
            asks_for_gpus = self.resolver.gpus(job) is not None
        except InputError:
            return None
        for simple in parts:
            found.update(named(simple.select, self.resolver.hosts))
            found.update(key.resource for key in simple.order or ())
            found.update(simple.same)
        spans = [simple.span for simple in parts if simple.span is not None]
        if any(span.ptile is not None or span.ptile_max or span.ptile_by for span in spans):
            found.add(PTILE)
        if asks_for_gpus or any("gpu" in name for name in found):
            found.add(GPUS)
        of_queue = _watched(self.instance.queue(job.queue).thresholds)
        return frozenset(found | self._watched | of_queue)

    @cached_property
    def _watched(self) -> set[str]:
        """What some host has a threshold of."""
        return {name for host in self.instance.cluster.hosts for name in _watched(host.thresholds)}

    @cached_property
    def _groups(self) -> Groups:
        return Groups(self.instance.groups)

    @cached_property
    def _users(self) -> frozenset[str]:
        """Users that the instance knows as such."""
        jobs = (*(run.job for run in self.instance.running), *self.instance.pending)
        return frozenset(job.user for job in jobs) | {item.name for item in self.instance.users}

    @cached_property
    def _running_on(self) -> dict[str, Iterable[str]]:
        return {run.job.id: run.allocation for run in self.instance.running}

    @cached_property
    def _open(self) -> Resolver:
        """The instance with every host open: one that is closed now may be opened."""
        cluster = self.instance.cluster
        if all(host.takes_jobs for host in cluster.hosts):
            return self.resolver
        hosts = tuple(
            host if host.takes_jobs else replace(host, status="ok") for host in cluster.hosts
        )
        return Resolver.of(replace(self.instance, cluster=replace(cluster, hosts=hosts)))


def with_jobs_named(instance: Instance, resolver: Resolver, jobs: Sequence[Job]) -> Instance:
    """The instance with these of its pending jobs alone; what it leaves out names those it moves.

    So that the jobs that are gone have their say in that.
    """
    part = replace(instance, pending=tuple(jobs))
    if not instance.omissions:
        return part
    scopes = Scopes(instance, resolver)
    bare = dict.fromkeys(SCOPE, ())
    omissions = []
    for item in instance.omissions:
        ids = scopes.moved(item, jobs)
        if ids is None or item.changes == "sooner ends":
            omissions.append(item)
        elif ids:
            omissions.append(replace(item, jobs=ids, changes="starts", **bare))  # type: ignore[arg-type]
    return replace(part, omissions=tuple(omissions))


def _watched(limits: Thresholds) -> set[str]:
    return {*limits.sched, *limits.stop}


def remarks(instance: Instance) -> tuple[Omission, ...]:
    """What the instance leaves out by which no proof by run limits is wrong, only to be known.

    Of a queue or application without jobs nothing is said.
    """
    queues: set[str] = set()
    applications: set[str] = set()
    running = (run.job for run in instance.running)
    for job in chain(running, instance.pending, instance.future):
        queues.add(job.queue)
        applications.add(job.application)
    return tuple(
        replace(item, jobs=())
        for item in instance.omissions
        if item.changes == "sooner ends"
        and (not item.queues or not queues.isdisjoint(item.queues))
        and (not item.applications or not applications.isdisjoint(item.applications))
    )
