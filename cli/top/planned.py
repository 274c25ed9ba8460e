"""The listing of a state: planned as a whole, or in steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Event
from typing import TYPE_CHECKING

from ...model.display import DAY
from ...solver.advice.slots import free_when, hours
from ..listing import Listing, listing_of

if TYPE_CHECKING:
    from ...model.instance import Instance


def listed(
    instance: Instance,
    warnings: Sequence[str],
    time_limit: float,
    cancel: Event,
    publish: Callable[[Listing], None],
) -> Listing:
    """Return the listing with the slots in use over 24 hours.

    time_limit: wall seconds of the simulation, and of the plan. publish: takes listings of the
    first starts before the others are planned.
    """
    from ...solver.outlook.outlook import Outlook, StepLimits, starts_in_steps

    def made(found: Outlook) -> Listing:
        times = hours(instance.now, DAY)
        usage = free_when(instance, found.configured.values(), times)
        return replace(listing_of(instance, found, warnings), usage=usage)

    def take(found: Outlook) -> None:
        publish(made(found))

    limits = StepLimits(configured=time_limit, plan=time_limit)
    return made(starts_in_steps(instance, take, limits, cancel=cancel, skip_plan=cancel))
