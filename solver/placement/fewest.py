"""No job in more compute units than it needs (PLC-07, PLC-09), however its place was found.

A model that places many jobs at once, or a search that takes some out again, may leave a job in
more units than it needs beside the others, or in later ones of the configuration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..availability.demand import Demand
from ..availability.profile import FOREVER, Profile
from .choose import Rules
from .earliest import Start, hold_start, place_again
from .single import units_of


def with_fewest_units(
    base: Profile, demands: Sequence[Demand], starts: Mapping[str, Start]
) -> dict[str, Start]:
    """The same starts with jobs moved to fewer units, or as many earlier ones, one at a time.

    base: what runs. Ends because each move takes its job to fewer or earlier units and leaves the
    others where they are.
    """
    found = dict(starts)
    movable = [demand for demand in demands if demand.job.id in found and _bound_to_fewest(demand)]
    moved = True
    while moved:
        moved = False
        for demand in movable:
            job, term = demand.job.id, demand.terms[0]
            used = units_of(term, found[job].allocation)
            if used in ((), (0,)):
                continue
            again = place_again(_beside(base, demands, found, demand), demand, found[job])
            if again is None:
                continue
            units = units_of(term, again.allocation)
            if (len(units), units) < (len(used), used):
                found[job], moved = again, True
    return found


def _bound_to_fewest(demand: Demand) -> bool:
    return len(demand.terms) == 1 and Rules.of(demand.terms[0].unit).fewest


def _beside(
    base: Profile, demands: Sequence[Demand], starts: Mapping[str, Start], job: Demand
) -> Profile:
    """What runs and the other jobs that meet this one."""
    profile = base.copy()
    begin, end = _window(job, starts[job.job.id])
    for other in demands:
        if other is job or other.job.id not in starts:
            continue
        start = starts[other.job.id]
        first, last = _window(other, start)
        if first < end and begin < last:
            hold_start(profile, other, start)
    return profile


def _window(demand: Demand, start: Start) -> tuple[int, int]:
    finish = start.finish(demand)
    return start.time, FOREVER if finish is None else finish
