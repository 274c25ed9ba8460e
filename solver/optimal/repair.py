"""Room for one more job: those that stand in its way are moved, all others stay where they are.

The job is placed as if nothing were planned, and who is in its way placed anew beside the rest.
Who finds no place then is placed before the others in the next round.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..availability.demand import Demand
from ..availability.profile import Profile
from ..placement.earliest import Start, hold_start, start_at, still_free

#: Rounds. Where one of the first few finds no places, more of them seldom do (measured).
ROUNDS = 8


def make_room(
    base: Profile, settled: Sequence[tuple[Demand, Start]], demand: Demand, time: int
) -> dict[str, Start] | None:
    """Places of all jobs with `demand` at `time` (seconds), the settled ones at their starts.

    None where none were found, which refutes nothing.
    """
    urgent = [(demand, time)]
    largest_first = sorted(settled, key=lambda pair: -pair[0].slots)
    for _ in range(ROUNDS):
        profile, placed = base.copy(), dict[str, Start]()
        failed = _place(profile, urgent, placed)
        if failed is None:
            moved = _keep(profile, largest_first, placed)
            failed = _place(profile, moved, placed)
            if failed is None:
                return placed
        late = failed[0].job.id
        if urgent[0][0].job.id == late:
            return None
        urgent = [failed, *(pair for pair in urgent if pair[0].job.id != late)]
    return None


def _place(
    profile: Profile, asked: Sequence[tuple[Demand, int]], placed: dict[str, Start]
) -> tuple[Demand, int] | None:
    """Place jobs one after another; the first that finds no place, None if all do."""
    for demand, time in asked:
        start = start_at(profile, demand, time)
        if start is None:
            return demand, time
        hold_start(profile, demand, start)
        placed[demand.job.id] = start
    return None


def _keep(
    profile: Profile, settled: Sequence[tuple[Demand, Start]], placed: dict[str, Start]
) -> list[tuple[Demand, int]]:
    """Leave jobs where they are if that is still free; the others, with their starts."""
    moved: list[tuple[Demand, int]] = []
    for demand, start in settled:
        if demand.job.id in placed:
            continue
        if still_free(profile, demand, start):
            hold_start(profile, demand, start)
            placed[demand.job.id] = start
        else:
            moved.append((demand, start.time))
    return moved
