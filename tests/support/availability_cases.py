"""Small tables, uses and readable answers for the tests of the availability slices."""

from __future__ import annotations

from typing import Any

import numpy as np
from slotwise import Cluster, Host, Instance, Job, Queue
from slotwise.model.reservation import reservation
from slotwise.solver.availability.demand import Availability, Calendar, Demand, TermDemand, parts_of
from slotwise.solver.availability.profile import Profile
from slotwise.solver.availability.resources import SLOTS, Alternative, Per, ResourceTable, Use, flat

#: Index of `mem` in the table of hosts that have nothing else.
MEM = 1


def table(*hosts: Host, **more: Any) -> ResourceTable:
    """The table of these hosts, `4 slots` on A and B where none are given."""
    hosts = hosts or (Host("A", 4), Host("B", 4))
    shared = more.pop("shared", ())
    return ResourceTable(Instance(Cluster(hosts, shared=shared), **more))


def slots(per: Per = Per.SLOT) -> Use:
    return Use(SLOTS, per, flat("slots", 1.0))


def amount(*amounts: float, until: tuple[int, ...] = (), decay: bool = False, **more: Any) -> Use:
    """A use of `mem`: amounts one after another, each but the last `until` so many seconds."""
    decays = (1.0,) * len(amounts) if decay else ()
    held = reservation("mem", amounts, until, decays)
    return Use(more.pop("index", MEM), more.pop("per", Per.SLOT), held)


def takes(*uses: Use, pools: tuple[Use, ...] = ()) -> Alternative:
    return Alternative((slots(), *uses), pools)


def demand(
    count: int = 1,
    *,
    duration: int | None = 100,
    alternative: Alternative | None = None,
    hosts: int = 2,
    calendar: Calendar | None = None,
) -> Demand:
    """A job of one term that may run on every host."""
    chosen = alternative or takes()
    term = TermDemand(count, count, np.arange(hosts), alternatives=(chosen,))
    job = Job("j", count)
    return Demand(job, Queue("q"), (term,), duration, 0, calendar=calendar)


def steps(profile: Profile, index: int = SLOTS, until: int = 1000) -> list[tuple[int, list[float]]]:
    """(time, free on each host) at every instant at which something changes."""
    found: list[tuple[int, list[float]]] = []
    for time in profile.changes():
        free = profile.free(index, time).tolist()
        if time < until and (not found or found[-1][1] != free):
            found.append((time, free))
    return found


def caps(where: Availability, job: Demand, start: int = 0) -> list[int]:
    """Slots that the job can have on each host over its window."""
    (term,) = job.terms
    found: list[int] = where.capacity(job, term, term.alternatives[0], start).caps.tolist()
    return found


def holds(profile: Profile, *jobs: tuple[dict[int, int], int, int | None]) -> Profile:
    """The profile with jobs of plain slots: (allocation, start, finish) each."""
    for allocation, start, finish in jobs:
        profile.allocate(parts_of(profile.table, takes(), allocation), start, finish)
    return profile
