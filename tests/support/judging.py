"""Small instances and plans for the judge's tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from slotwise import Cluster, ComputeUnit, Host, Instance, Job, Plan, PlannedJob, RunningJob
from slotwise.model.duration import expected_duration
from slotwise.solver.validate import validate

#: Where a job is: start and slots by host.
Place = tuple[int, Mapping[str, int]]


def host(name: str, slots: int = 4, **more: Any) -> Host:
    return Host(name, slots, **more)


def job(name: str = "j", slots: int = 1, *res_req: str, **more: Any) -> Job:
    """A job of 100 seconds."""
    return Job(name, slots, res_req=res_req, **{"run_limit": 100, **more})


def running(name: str, allocation: Mapping[str, int], *res_req: str, **more: Any) -> RunningJob:
    """A job that runs since second 0, for 100 seconds unless `run_limit` says otherwise."""
    slots = sum(allocation.values())
    return RunningJob(job(name, slots, *res_req, **more), 0, allocation)


def problem(*jobs: Job, hosts: tuple[Host, ...] = (), **more: Any) -> Instance:
    """An instance on hosts A, B, C of four slots each, unless told otherwise."""
    hosts = hosts or tuple(host(name) for name in "ABC")
    return Instance(more.pop("cluster", Cluster(hosts)), pending=jobs, **more)


def racks(**sizes: int) -> Cluster:
    """One rack a keyword, of that many hosts with four slots: r1=2 is hosts r1a and r1b."""
    names = {rack: [f"{rack}{'abcdefgh'[i]}" for i in range(n)] for rack, n in sizes.items()}
    return Cluster(
        tuple(host(name) for hosts in names.values() for name in hosts),
        unit_types=("rack",),
        default_unit_type="rack",
        units=tuple(ComputeUnit(rack, "rack", tuple(hosts)) for rack, hosts in names.items()),
    )


def entry(instance: Instance, name: str, place: Place, **more: Any) -> PlannedJob:
    """A planned job that ends when its expected duration is over."""
    start, allocation = place
    pending = next((item for item in instance.pending if item.id == name), None)
    duration = None if pending is None else expected_duration(instance, pending)
    finish = None if duration is None else start + duration
    return PlannedJob(name, start, finish, allocation, **more)


def plan(instance: Instance, places: Mapping[str, Place | PlannedJob], **more: Any) -> Plan:
    """A heuristic plan of these jobs."""
    entries = tuple(
        place if isinstance(place, PlannedJob) else entry(instance, name, place)
        for name, place in places.items()
    )
    bare = Plan("test", "lexicographic", "heuristic", instance.now, entries)
    return replace(bare, **more)


def faults(
    instance: Instance,
    places: Mapping[str, Place | PlannedJob],
    *,
    as_lsf: bool = False,
    **more: Any,
) -> list[str]:
    """What the judge says of the plan, as text."""
    return [
        str(fault) for fault in validate(instance, plan(instance, places, **more), as_lsf=as_lsf)
    ]


@dataclass(frozen=True)
class Case:
    """One rule: an instance, a plan that keeps it, one that breaks it, and what is said then."""

    name: str
    instance: Instance
    good: Mapping[str, Place | PlannedJob]
    bad: Mapping[str, Place | PlannedJob]
    said: tuple[str, ...]

    def outcome(self) -> tuple[list[str], list[str]]:
        """What the judge says of the good plan and of the bad one."""
        return faults(self.instance, self.good), faults(self.instance, self.bad)
