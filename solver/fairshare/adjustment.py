"""Fairshare adjustments: plug-ins that add a term to the denominator of the priority (FSH-05).

A plug-in is a callable under the entry-point group ``slotwise.fairshare_adjustment``; an instance
chooses one by name (``fairshare_adjustment`` of its params) and gives it weight with
FAIRSHARE_ADJUSTMENT_FACTOR. In a package of your own::

    [project.entry-points."slotwise.fairshare_adjustment"]
    licences = "my_package.fairshare:licence_adjustment"
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Protocol

from ...model.errors import InputError
from ...model.share_rules import ADJUSTMENTS, unknown_adjustment
from .priority import Consumption


class FairshareAdjustment(Protocol):
    """What a plug-in is: what an account has used in, the adjustment out (any finite number)."""

    def __call__(self, usage: Consumption, /) -> float: ...


@dataclass(frozen=True, slots=True)
class MemoryAdjustment:
    """The documents' example: jobs that take more memory than their slots stand for weigh more.

    ``(1 + slots) * ((memory / slots) / (slot_memory * threshold))`` over the started jobs of the
    account; 0 where none runs or the cluster's memory is unknown.
    """

    threshold: float = 1.0

    def __call__(self, usage: Consumption, /) -> float:
        """The adjustment of one account."""
        if not usage.slots or not usage.slot_memory:
            return 0.0
        memory_of_slot = usage.memory / usage.slots
        return (1 + usage.slots) * (memory_of_slot / (usage.slot_memory * self.threshold))


memory_adjustment = MemoryAdjustment()


@dataclass(frozen=True, slots=True)
class InstalledAdjustment:
    """A plug-in by name: what it gets wrong is told as an InputError, not as a traceback."""

    name: str
    plugin: FairshareAdjustment

    def __call__(self, usage: Consumption, /) -> float:
        """The adjustment of one account; InputError where the plug-in fails."""
        try:
            value = float(self.plugin(usage))
        except Exception as error:
            raise InputError(
                f"fairshare adjustment '{self.name}' failed: {type(error).__name__}: {error}"
            ) from error
        if not math.isfinite(value):
            raise InputError(
                f"fairshare adjustment '{self.name}' gave {value}: it must give a finite number"
            )
        return value


def load_adjustment(name: str) -> FairshareAdjustment | None:
    """The plug-in of that name, None for "".

    Raises InputError where none, or more than one, is registered so, or it cannot be loaded.
    """
    if not name:
        return None
    points = {point.value: point for point in entry_points(group=ADJUSTMENTS, name=name)}
    if not points:
        raise InputError(unknown_adjustment(name))
    if len(points) > 1:
        raise InputError(
            f"fairshare adjustment '{name}' is installed more than once "
            f"({', '.join(sorted(points))}): remove all but one"
        )
    (point,) = points.values()
    try:
        plugin = point.load()
    except Exception as error:
        raise InputError(
            f"fairshare adjustment '{name}' cannot be loaded from {point.value}: "
            f"{type(error).__name__}: {error}"
        ) from error
    if not callable(plugin):
        raise InputError(
            f"fairshare adjustment '{name}' is not a function: {point.value} is {plugin!r}"
        )
    return InstalledAdjustment(name, plugin)
