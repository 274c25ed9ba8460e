"""GPUs that jobs share: plans count whole GPUs, so that sharing jobs may start sooner (GPU-03)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from ...model.errors import InputError
from ...model.gpu_request import GpuRequest
from ...model.job import Job
from ..availability.demand import Demand
from ..placement.supply import suits
from ..resolve import Resolver

SHARED_GPUS = "that jobs without j_exclusive=yes may share GPUs"


@dataclass(slots=True)
class GpuSharing:
    """The jobs that sharing of GPUs may move, as one job after the other is seen.

    asked: the jobs seen that need GPUs, in their order. sharing: those that may share theirs, and
    others beside them. fitting: whether some host has such GPUs, and as many.
    """

    resolver: Resolver
    asked: dict[str, None] = field(default_factory=dict)
    sharing: set[str] = field(default_factory=set)
    fitting: dict[tuple[GpuRequest, int], bool] = field(default_factory=dict)

    def see(self, jobs: Iterable[Job]) -> GpuSharing:
        """More jobs that are asked about."""
        for job in jobs:
            if (found := self._needed(job)) is not None:
                self.asked[job.id] = None
                if found.shares:
                    self.sharing.add(job.id)
        return self

    def moved(self, *beside: Iterable[Job]) -> tuple[str, ...]:
        """The jobs seen that need GPUs, where some jobs could share theirs; () where none can.

        A job shares with another one, so that it takes two: of those seen and those `beside` them.
        """
        if not self.asked:
            return ()
        for job in chain(*beside):
            if (found := self._needed(job)) is not None and found.shares:
                self.sharing.add(job.id)
        return tuple(self.asked) if len(self.sharing) > 1 else ()

    def _needed(self, job: Job) -> GpuRequest | None:
        """The GPUs of a job; None too where no host has such, or nobody can read what it asks."""
        try:
            request = self.resolver.gpus(job)
        except InputError:
            return None
        if request is None:
            return None
        least = 1 if any("ngpus" in text for text in job.res_req) else request.num
        if (request, least) not in self.fitting:
            self.fitting[request, least] = any(
                (host.gpu_count or 0) >= least and suits(request, host) is not False
                for host in self.resolver.instance.cluster.hosts
            )
        return request if self.fitting[request, least] else None


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
