"""GPUs that jobs share: plans count whole GPUs, so that sharing jobs may start sooner (GPU-03)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...model.errors import InputError
from ...model.gpu_request import GpuRequest
from ...model.instance import Instance
from ...model.job import Job
from ..availability.demand import Demand
from ..placement.gpu_hosts import suits
from ..resolve import Resolver

SHARED_GPUS = "that jobs without j_exclusive=yes may share GPUs"


def moved_by_sharing(
    instance: Instance, resolver: Resolver, jobs: Iterable[Job], beside: Iterable[Job]
) -> tuple[str, ...]:
    """Those of `jobs` that need GPUs, where some jobs could share theirs; () where none can.

    A job shares with another one, so that it takes two, of `jobs`, of those `beside` them and of
    those that run.
    """
    if all(host.gpu_count is None for host in instance.cluster.hosts):
        return ()
    needed = _Needs(resolver)
    asked = {job.id: found for job in jobs if (found := needed.of(job)) is not None}
    if not asked:
        return ()
    others = (*(run.job for run in instance.running), *beside)
    sharing = {job for job, found in asked.items() if found.shares}
    sharing.update(
        job.id for job in others if (found := needed.of(job)) is not None and found.shares
    )
    return tuple(asked) if len(sharing) > 1 else ()


@dataclass(slots=True)
class _Needs:
    """The GPUs that jobs need, of jobs that find such GPUs, and as many, on some host."""

    resolver: Resolver
    found: dict[tuple[GpuRequest, int], bool] = field(default_factory=dict)

    def of(self, job: Job) -> GpuRequest | None:
        """Of one job; None too where its requirement cannot be read."""
        try:
            request = self.resolver.gpus(job)
        except InputError:
            return None
        if request is None:
            return None
        least = 1 if any("ngpus" in text for text in job.res_req) else request.num
        if (request, least) not in self.found:
            self.found[request, least] = any(
                (host.gpu_count or 0) >= least and suits(request, host) is not False
                for host in self.resolver.instance.cluster.hosts
            )
        return request if self.found[request, least] else None


def all_near(demands: Sequence[Demand], moved: frozenset[str]) -> frozenset[str]:
    """The jobs `moved` and those that may meet them, or others that do, on some host or in a pool.

    None of the others has another start if one of these has.
    """
    hosts: set[int] = set()
    pools: set[int] = set()
    found: set[str] = set()
    waiting = {d.job.id: (_hosts(d), _pools(d)) for d in demands if not d.impossible}
    near = [job for job in waiting if job in moved]
    while near:
        for job in near:
            found.add(job)
            own_hosts, own_pools = waiting.pop(job)
            hosts |= own_hosts
            pools |= own_pools
        near = [j for j, (own, rows) in waiting.items() if own & hosts or rows & pools]
    return frozenset(found)


def _hosts(demand: Demand) -> set[int]:
    return set(np.concatenate([term.candidates for term in demand.terms]).tolist())


def _pools(demand: Demand) -> set[int]:
    return {
        use.index
        for term in demand.terms
        for alternative in term.alternatives
        for use in alternative.pool_uses
    }
