"""Fairshare adjustments: plug-ins that add a term to the denominator of the priority (FSH-05).

A plug-in is a callable under the entry-point group ``slotwise.fairshare_adjustment``; an instance
chooses one by name (``fairshare_adjustment`` of its params) and gives it weight with
FAIRSHARE_ADJUSTMENT_FACTOR. In a package of your own::

    [project.entry-points."slotwise.fairshare_adjustment"]
    licences = "my_package.fairshare:licence_adjustment"
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Protocol

from ...model.errors import InputError, nearest
from .priority import Usage

GROUP = "slotwise.fairshare_adjustment"


class FairshareAdjustment(Protocol):
    """What a plug-in is: what an account has used in, the adjustment out (any finite number)."""

    def __call__(self, usage: Usage, /) -> float: ...


@dataclass(frozen=True, slots=True)
class MemoryAdjustment:
    """The documents' example: jobs that take more memory than their slots stand for weigh more.

    ``(1 + slots) * ((memory / slots) / (slot_memory * threshold))`` over the started jobs of the
    account; 0 where none runs or the cluster's memory is unknown.
    """

    threshold: float = 1.0

    def __call__(self, usage: Usage, /) -> float:
        """The adjustment of one account."""
        if not usage.slots or not usage.slot_memory:
            return 0.0
        memory_of_slot = usage.memory / usage.slots
        return (1 + usage.slots) * (memory_of_slot / (usage.slot_memory * self.threshold))


memory_adjustment = MemoryAdjustment()


def load_adjustment(name: str) -> FairshareAdjustment | None:
    """The plug-in of that name, None for "". Raises InputError when none is registered so."""
    if not name:
        return None
    for point in entry_points(group=GROUP, name=name):
        plugin: FairshareAdjustment = point.load()
        return plugin
    known = entry_points(group=GROUP).names
    raise InputError(
        f"no fairshare adjustment '{name}' is installed{nearest(name, known)}: "
        f"known are {', '.join(sorted(known)) or 'none'}"
    )
