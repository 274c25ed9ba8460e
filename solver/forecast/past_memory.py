"""What the loop remembered at any moment of a log that it has run: hosts held, slots borrowed."""

from __future__ import annotations

from bisect import bisect_left
from typing import TypeVar

from ...model.instance import BorrowedSlots, HeldHosts
from ..loop.memory import borrowed_slots, held_hosts, may_remember
from ..loop.simulation import Session

_Item = TypeVar("_Item", HeldHosts, BorrowedSlots)


class PastMemory:
    """Goes along a simulation, told after each cycle; only what has changed is kept."""

    def __init__(self) -> None:
        self._times: list[int] = []
        self._known: list[tuple[tuple[HeldHosts, ...], tuple[BorrowedSlots, ...]]] = []

    def note(self, session: Session) -> None:
        """What the loop remembers after the cycle that it has just run."""
        world = session.world
        held = held_hosts(may_remember(session.cycle.state), world.names)
        borrowed = borrowed_slots(world)
        if not self._known or (held, borrowed) != self._known[-1]:
            before = self._known[-1] if self._known else ((), ())
            self._times.append(world.now)
            self._known.append((_shared(held, before[0]), _shared(borrowed, before[1])))

    def at(self, now: int) -> tuple[tuple[HeldHosts, ...], tuple[BorrowedSlots, ...]]:
        """After the last cycle before that second."""
        place = bisect_left(self._times, now) - 1
        return self._known[place] if place >= 0 else ((), ())


def _shared(items: tuple[_Item, ...], before: tuple[_Item, ...]) -> tuple[_Item, ...]:
    """The same items, each that was there before as the object that it was."""
    known = {item.job: item for item in before}
    return tuple(known[item.job] if known.get(item.job) == item else item for item in items)
