"""Checks of advance reservations, those that brsvadd makes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..instance import Instance
from ..reserved_periods import ALWAYS, with_periods
from .document import Finding, Location


def reservation_findings(instance: Instance) -> Iterator[Finding]:
    """Yield reservations of no time or host, and of more slots than there are."""
    slots = {host.name: host.slots for host in instance.cluster.hosts}
    for index, item in enumerate(instance.advance_reservations):
        place: Location = ("advance_reservations", index)
        if item.end <= item.start and not item.windows:
            yield Finding((*place, "end"), "must be later than start")
        for host, count in item.slots.items():
            if count > slots.get(host, count):
                message = f"{host} has {slots[host]} slots, not {count}"
                yield Finding((*place, "allocation"), message)
    if instance.params.scheduler.separates_reservations:
        yield from _overlaps(instance, slots)


def _overlaps(instance: Instance, slots: Mapping[str, int]) -> Iterator[Finding]:
    """Check that reservations of one time share no slot of a host, as brsvadd does."""
    changes: dict[str, list[tuple[int, int, str]]] = {}
    for item in with_periods(instance).advance_reservations:
        for host, count in item.slots.items() if instance.now < item.end > item.start else ():
            if host in slots and item.end < ALWAYS:
                there = changes.setdefault(host, [])
                there += [(item.start, count, item.name), (item.end, -count, item.name)]
    places = {item.name: index for index, item in enumerate(instance.advance_reservations)}
    said: set[str] = set()
    for host, there in changes.items():
        held: dict[str, int] = {}
        for _, change, name in sorted(there):
            held[name] = held.get(name, 0) + change
            others = [other for other, count in held.items() if count and other != name]
            most = sum(held.values())
            if most > slots[host] and others and not {*others, name} <= said:
                said.update((*others, name))
                names = f"{', '.join(others)} and {name}"
                message = f"{host} has {slots[host]} slots, {names} reserve {most} together"
                yield Finding(("advance_reservations", places[name], "allocation"), message)
