"""The starts that the loop reaches."""

from __future__ import annotations

from slotwise.model.instance import Instance
from slotwise.solver.scheduler.continuation import simulated_placements


def simulated_starts(instance: Instance, method: str, jobs: int | None = None) -> dict[str, int]:
    """Return the start (seconds) of each pending job in the loop; a job that never starts is
    absent.

    jobs: how many get a future allocation; None: all.
    """
    placed = simulated_placements(instance, method, jobs=jobs)
    return {item.job: item.start for item in placed if item.start is not None}
