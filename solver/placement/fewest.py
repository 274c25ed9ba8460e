"""No job in more compute units than it needs (PLC-07, PLC-09), however its place was found.

A model that places many jobs at once, or a search that takes some out again, may leave a job in
more units than it needs beside the others, or in later ones of the configuration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..availability.demand import Demand
from ..availability.profile import Profile
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
    profile = base.copy()
    movable = []
    for demand in demands:
        if demand.job.id in found:
            if _bound_to_fewest(demand) and _units(demand, found) not in ((), (0,)):
                movable.append(demand)
            else:
                hold_start(profile, demand, found[demand.job.id])
    while movable and _moved(profile, movable, found):
        pass
    return found


def _moved(profile: Profile, demands: Sequence[Demand], found: dict[str, Start]) -> bool:
    """Whether any of the jobs could be moved, one after the other; `found` has their new places.

    profile: with all jobs but these. Each job is tried beside all others: half of them are held
    while the other half is tried, and so on with each half.
    """
    if len(demands) == 1:
        return _moves(profile, demands[0], found)
    half = len(demands) // 2
    moved = False
    for tried, held in ((demands[:half], demands[half:]), (demands[half:], demands[:half])):
        beside = profile.copy()
        for demand in held:
            hold_start(beside, demand, found[demand.job.id])
        moved = _moved(beside, tried, found) or moved
    return moved


def _moves(beside: Profile, demand: Demand, found: dict[str, Start]) -> bool:
    """Whether one job has a better place beside the others, which it then takes."""
    job, used = demand.job.id, _units(demand, found)
    again = place_again(beside, demand, found[job])
    if again is None:
        return False
    units = units_of(demand.terms[0], again.allocation)
    if (len(units), units) >= (len(used), used):
        return False
    found[job] = again
    return True


def _units(demand: Demand, starts: Mapping[str, Start]) -> tuple[int, ...]:
    return units_of(demand.terms[0], starts[demand.job.id].allocation)


def _bound_to_fewest(demand: Demand) -> bool:
    return len(demand.terms) == 1 and Rules.of(demand.terms[0].unit).fewest
