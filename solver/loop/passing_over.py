"""Cycles in which nobody can start: found by one look at what is free."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..availability.free_now import HeldBack, Residual
from ..availability.resources import SLOTS
from ..world.cycle_state import CycleState
from ..world.job_state import JobState


def may_any_start(cycle: CycleState, among: Iterable[JobState]) -> bool:
    """Whether one of some pending jobs fits now beside nothing but what runs."""
    world = cycle.world
    beside = Residual(world.free_now, world.now, HeldBack())
    free = np.maximum(beside.free(SLOTS, world.now), 0)
    most = int(free.sum())
    shapes = {cycle.shape(state).number: cycle.shape(state) for state in among}
    for shape in shapes.values():
        if shape.never:
            continue
        if shape.dynamic or len(shape.demand.terms) > 1:
            return True
        term = shape.demand.terms[0]
        if term.slots > most:
            continue
        there = free[term.candidates]
        if term.ptile is not None:
            there = np.minimum(there, term.ptile[term.candidates])
        if there.sum() >= term.slots and cycle.try_start(shape, beside) is not None:
            return True
    return False
