"""Why a job has no start as configured: one word for each kind of reason, and a sentence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...model.duration import place_before_deadline
from ...model.instance import Instance
from ...model.job import Job
from ..availability.demand import Demand
from ..availability.resources import BoolArray
from ..pending_reasons import beyond_reported, reason_unplaced
from ..placement.earliest import earliest_start
from ..problem import PlanningProblem
from ..rules.eligibility import Eligibility, InitialSituation
from .records import State

#: What is said where no input says when something ends.
NO_END = "nothing says when what it waits for ends"


@dataclass(frozen=True)
class Reasons:
    """Tells apart why jobs of one instance have no start."""

    instance: Instance
    #: The instance resolved, with its windows and advance reservations.
    problem: PlanningProblem

    def of(self, job: Job, waits_for: str) -> tuple[State, str]:
        """The state of a job that does not start as configured, and what must happen first.

        waits_for: why the simulated scheduler does not start it, "" where it says nothing.
        """
        queue = self.instance.queue(job.queue)
        if not queue.active:
            return "starts if", f"queue {queue.name} is activated (badmin qact {queue.name})"
        demand = self.problem.demand_of(job)
        why = reason_unplaced(self.problem, demand)
        if demand.impossible or earliest_start(self.problem.empty, demand) is None:
            return self._of_no_place(job, why)
        if demand.latest is not None:
            first = f"{job.dependency} holds and " if job.dependency else ""
            return "starts if", f"{first}{place_before_deadline(self.instance, job)}"
        if self._load_closes(job.queue):
            return "starts if", waits_for or "the load of its hosts falls below their thresholds"
        if job.dependency and waits_for:
            return "starts if", waits_for
        if beyond_reported(self.problem, demand):
            return "starts if", why
        if self._endless:
            return "unknown end", why or NO_END
        return "starts if", waits_for or why

    def _of_no_place(self, job: Job, why: str) -> tuple[State, str]:
        """Of a job that has no place even where nothing runs."""
        if job.dependency:
            bare = replace(job, dependency="")
            plain = self.problem.resolver.demand(bare)
            if not plain.impossible and earliest_start(self.problem.empty, plain) is not None:
                return "starts if", why
        if shut := self._of_shut_hosts(job):
            said = self.problem.demand_of(job).impossible
            return "starts if", f"{shut} ({said})" if said else shut
        return "impossible", why

    def _of_shut_hosts(self, job: Job) -> str:
        """Which hosts, closed or down now, would have to come back; "" where that is not enough."""
        if self._all_open is None:
            return ""
        demand, profile = self._all_open.demand_of(job), self._all_open.empty
        found = None if demand.impossible else earliest_start(profile, demand)
        if found is None:
            return ""
        needed = [int(host) for host in found.allocation if self._is_shut[host]]
        for host in tuple(needed):
            fewer = [other for other in needed if other != host]
            closed = self._is_shut.copy()
            closed[fewer] = False
            if fewer and earliest_start(profile, _without(demand, closed)) is not None:
                needed = fewer
        names = [self.instance.cluster.hosts[host].name for host in needed]
        happens = "is opened or comes back" if len(names) == 1 else "are opened or come back"
        return f"{_some(names)} {happens}"

    @cached_property
    def _is_shut(self) -> BoolArray:
        """Which hosts take no jobs, [H]."""
        return np.array([not host.takes_jobs for host in self.instance.cluster.hosts], dtype=bool)

    @cached_property
    def _all_open(self) -> PlanningProblem | None:
        """The instance with every host open; None where they are."""
        if not self._is_shut.any():
            return None
        cluster = self.instance.cluster
        hosts = tuple(
            host if host.takes_jobs else replace(host, status="ok") for host in cluster.hosts
        )
        world = replace(self.instance, cluster=replace(cluster, hosts=hosts))
        return PlanningProblem.of(world, as_lsf=False)

    @cached_property
    def _endless(self) -> bool:
        """Whether the end of a running or pending job is unknown."""
        pending = any(d.duration is None and d.killed is None for d in self.problem.demands)
        return pending or bool(self.problem.endless())

    def _load_closes(self, queue: str) -> bool:
        """Whether hosts report a load beyond a threshold of the queue or of their own."""
        return bool(self._eligibility.why_load(queue))

    @cached_property
    def _eligibility(self) -> Eligibility:
        situation = InitialSituation(self.instance, self.problem.resolver)
        return Eligibility(situation, [host.status for host in self.instance.cluster.hosts])


def _without(demand: Demand, closed: BoolArray) -> Demand:
    """The job on the hosts that are not closed, [H]."""
    terms = tuple(
        replace(term, candidates=term.candidates[~closed[term.candidates]]) for term in demand.terms
    )
    return replace(demand, terms=terms)


def _some(names: list[str]) -> str:
    """``n1``, ``n1 and n2``, ``3 hosts (n1, n2 …)``."""
    if len(names) <= 2:
        return " and ".join(names)
    return f"{len(names)} hosts ({', '.join(names[:2])} …)"
