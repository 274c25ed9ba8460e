"""What a plan leaves free over time: slots and memory of the whole cluster."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from ...model.instance import Instance
from ...model.plan import PlannedJob
from ..availability.resources import SLOTS
from ..placement.earliest import hold_start
from ..problem import PlanningProblem

#: Instants at which the free amounts are looked at, at most; evenly chosen among the changes.
MOST_TIMES = 600


@dataclass(frozen=True, slots=True)
class FreeOverTime:
    """Free slots and memory (MB, None where no host has an amount of it) from each time on.

    times: seconds, the first is the instance's now. Hosts that take no jobs count for nothing.
    """

    times: tuple[int, ...]
    slots: tuple[int, ...]
    memory: tuple[int, ...] | None


def free_over_time(instance: Instance, planned: Iterable[PlannedJob]) -> FreeOverTime:
    """What running jobs, advance reservations and these planned jobs leave free.

    A planned job that can never start holds nothing.
    """
    return free_over_time_of_each(instance, (planned,))[0]


def free_over_time_of_each(
    instance: Instance, plans: Iterable[Iterable[PlannedJob]]
) -> tuple[FreeOverTime, ...]:
    """The same of several plans; what runs is entered once."""
    drawn = [[item for item in plan if item.start is not None] for plan in plans]
    names = {item.job for plan in drawn for item in plan}  # of no others is the demand needed
    pending = tuple(job for job in instance.pending if job.id in names)
    problem = PlanningProblem.of(replace(instance, pending=pending), as_lsf=False)
    return tuple(_free(problem, plan) for plan in drawn)


def _free(problem: PlanningProblem, planned: Iterable[PlannedJob]) -> FreeOverTime:
    demands = {demand.job.id: demand for demand in problem.demands}
    profile = problem.base.copy()
    for item in planned:
        demand = demands.get(item.job)
        if demand is None or demand.impossible:
            continue  # a plan by somebody else; the judge says so
        start = problem.start_of(item)
        if start is not None:
            hold_start(profile, demand, start)
    times = profile.changes()
    step = -(-len(times) // MOST_TIMES)
    times = sorted({*times[::step], times[-1]})
    hosts = problem.instance.cluster.hosts
    up = np.array([host.takes_jobs for host in hosts], dtype=bool)

    def total(index: int) -> tuple[int, ...]:
        return tuple(round(float(np.maximum(profile.free(index, t), 0)[up].sum())) for t in times)

    resources = problem.resolver.table.host_resources
    memory = next((n for n, item in enumerate(resources) if item.name == "mem"), None)
    return FreeOverTime(tuple(times), total(SLOTS), None if memory is None else total(memory))
