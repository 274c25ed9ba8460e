"""Which instants a search for a start may leave out, since hosts are known to be too crowded."""

from __future__ import annotations

import numpy as np

from ..availability.demand import Demand
from ..availability.profile import Profile
from ..availability.resources import SLOTS
from ..availability.room import SLACK, held_for_life
from ..availability.uses import Alternative, Per


def not_crowded(profile: Profile, demand: Demand, times: list[int]) -> list[int]:
    """The instants, ascending, without those whose windows are known to be too crowded."""
    if profile.crowded is None or not _by_slots(demand):
        return times
    at = np.array(times, dtype=np.int64)
    slots = max(term.slots for term in demand.terms)
    refused = profile.crowded.refuses(at, demand.duration, slots)
    return at[~refused].tolist() if refused.any() else times


def note_crowded(profile: Profile, demand: Demand, time: int) -> None:
    """A job does not fit: if slots alone are short, remember it."""
    if profile.crowded is None or not _by_slots(demand):
        return
    points = profile.checkpoints(time, demand.duration)
    free = np.floor(profile.least_free(SLOTS, points) + SLACK)
    slots = int(np.maximum(free, 0.0).sum())
    if slots < max(term.slots for term in demand.terms):
        profile.crowded.note(time, points[-1], slots)


def least_slots(demand: Demand) -> int:
    """Slots of hosts that have to be free wherever the job starts; 0 where none need be."""
    return max(term.slots for term in demand.terms) if _by_slots(demand) else 0


def _by_slots(demand: Demand) -> bool:
    """Whether the job takes a slot of a host for each of its own, as long as it runs."""
    return all(_takes_slots(other) for term in demand.terms for other in term.alternatives)


def _takes_slots(alternative: Alternative) -> bool:
    for use in alternative.host_uses:
        if use.index == SLOTS and use.per in (Per.SLOT, Per.WHOLE):
            held = held_for_life(use)
            return held is not None and held >= 1
    return False
