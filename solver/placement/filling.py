"""A range of slots (-n min,max) in a plan: what starts now takes all that the plan leaves free."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..availability.demand import Demand
from ..availability.profile import Profile
from ..availability.resources import SLOTS
from .earliest import Start
from .ranges import place_most


def may_grow(demand: Demand) -> bool:
    """Whether a job asks for a range of slots, which dispatch fills as far as it can."""
    return len(demand.terms) == 1 and demand.terms[0].most > demand.terms[0].slots


def filled_now(profile: Profile, demand: Demand, start: Start) -> Start:
    """A start now with as many slots of the job's range as there are beside everything else.

    profile: what the job finds, all others in their places. A start in the future keeps the
    minimum, and so does a job without a range.
    """
    if start.time > profile.now or not may_grow(demand):
        return start
    term = demand.terms[0]
    room = profile.room(demand, term, term.alternatives[start.alternative], start.time)
    if term.unit is not None and term.unit.pref != "config":
        free = np.maximum(profile.free(SLOTS, start.time), 0).astype(np.int64)
        room = replace(room, free_now=free)
    allocation = place_most(term, room)
    return start if allocation is None else Start(start.time, (allocation,), start.alternative)
