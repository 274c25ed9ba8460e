"""How late jobs may start while a plan is put together that may cost no more than so much.

Jobs that have no start yet count with the earliest that they could have. So a plan that cannot come
to the total any more is given up at the first job that starts too late, not at the last.
"""

from __future__ import annotations

from collections.abc import Mapping

from .costs import Costs


class Allowance:
    """What is left of a total. least: no job starts before (seconds); most: the total, in units."""

    def __init__(self, costs: Costs, least: Mapping[str, int], most: int) -> None:
        self._costs = costs
        self._least = least
        self._most = most
        self._left = most - costs.total(least)

    def latest(self, job: str) -> int | None:
        """The latest start of a job (seconds) with which the total still holds; None: any."""
        cost = self._costs.jobs[job]
        if self._costs.largest:
            return cost.latest(self._most)
        return cost.latest(cost.at(self._least[job]) + self._left)

    def spend(self, job: str, start: int) -> None:
        """A job starts at `start` (seconds)."""
        cost = self._costs.jobs[job]
        self._left -= cost.at(start) - cost.at(self._least[job])
