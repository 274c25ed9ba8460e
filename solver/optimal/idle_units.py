"""Refutation by counts of idle units: more are asked for whole (cu[excl]) than are idle.

A job that takes its compute units whole needs as many as its slots do not fit into fewer of, and no
two such jobs share one. The sets of units are those that are idle for one of the jobs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..availability.arrays import BoolArray, IntArray
from ..availability.demand import Availability, Demand
from ..availability.resources import SLOTS
from ..placement.supply import busy_units


@dataclass(frozen=True, slots=True)
class WholeUnits:
    """`count` units, whole, of a job over [start, end).

    unit_of: the unit of each host, [H]; able: hosts of units that the job may have, [H].
    """

    unit_of: IntArray
    able: BoolArray
    count: int
    start: int
    end: float

    def covers(self, point: int) -> bool:
        """Whether the job runs at an instant."""
        return self.start <= point < self.end


def whole_units_of(base: Availability, demand: Demand, time: int) -> WholeUnits | None:
    """The idle units that a job takes for certain when it starts at `time` (seconds).

    None where it takes none whole, or has a choice. able: hosts of units idle beside the base.
    """
    if len(demand.terms) != 1 or len(demand.terms[0].alternatives) != 1:
        return None
    (term,) = demand.terms
    unit = term.unit
    if unit is None or not unit.excl:
        return None
    room = base.room(demand, term, term.alternatives[0], time)
    assert room.idle is not None
    # A unit is had whole by its hosts with slots: no two jobs share one that has any.
    slots = base.table.host_resources[SLOTS].capacity.clip(0)
    caps = np.where(unit.unit_of >= 0, np.minimum(room.caps, slots), 0)
    in_unit = np.maximum(unit.unit_of, 0)
    largest = np.bincount(in_unit, caps, len(unit.names)) * ~busy_units(unit, room.idle)
    enough = np.cumsum(np.sort(largest)[::-1]) >= term.slots
    if not enough.any():
        return None
    able = (largest > 0)[in_unit] & (unit.unit_of >= 0)
    end = np.inf if demand.duration is None else time + demand.duration
    return WholeUnits(unit.unit_of, able, int(enough.argmax()) + 1, time, end)


def too_few_idle(taken: Sequence[WholeUnits], points: Sequence[int]) -> bool:
    """Whether at one of these instants jobs need more units than are idle for them."""
    for point in points:
        active = [item for item in taken if item.covers(point)]
        for item in active:
            alike = [
                other
                for other in active
                if np.array_equal(other.unit_of, item.unit_of)
                and not (other.able & ~item.able).any()
            ]
            idle = len(np.unique(item.unit_of[item.able]))
            if len(alike) > 1 and sum(other.count for other in alike) > idle:
                return True
    return False
