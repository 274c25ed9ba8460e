"""A cycle that is run once more at the same instant, and makes the reservations it made before.

Jobs that start late in a cycle may move what was reserved before them, so a plan runs the cycle
again. Behind the last start the first one knew all that ran: as soon as the second has the same
reservations up to there, each search behind it would find what the first found.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..placement.earliest import Start
from .held import Held
from .job_state import JobState


class Repetition:
    """What the cycle before made at the same instant; `holds` as long as this one makes the same.

    made: its reservations, in order. since: how many of them were made before its last start.
    """

    __slots__ = ("_made", "_since", "holds")

    def __init__(self, made: Sequence[Held] = (), since: int = 0) -> None:
        self._made, self._since = list(made), since
        self.holds = bool(self._made)

    def kept(self, place: int, held: Held) -> None:
        """A reservation is made; place: how many were before it."""
        self.holds = self.holds and place < len(self._made) and _same(self._made[place], held)

    def found_before(self, place: int, state: JobState) -> Start | None:
        """What a search for a job's future place would find, None where it has to be made."""
        if not (self.holds and self._since <= place < len(self._made)):
            return None
        before = self._made[place]
        if before.demand is not None and before.demand.interval is not None:
            return None  # the last start may have closed its hosts for a while
        return before.start if before.state is state else None


def _same(one: Held, other: Held) -> bool:
    return (
        one.state is other.state
        and one.method == other.method
        and one.start == other.start
        and one.estimate == other.estimate
        and one.slots == other.slots
        and one.memory == other.memory
    )
