"""How the cycles of a simulation are run: which reservations, for how many jobs, how often."""

from __future__ import annotations

from dataclasses import dataclass

#: Jobs that get a future allocation where neither the instance nor the caller says how many.
TOP = 4
#: Deterministic solver units that the optimal method may spend in a cycle.
EFFORT = 2.0


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of one simulation.

    reservation: the name of a method (:mod:`solver.methods`). top: jobs of highest priority that
    get a future allocation (TBR-01). cycle: seconds between two cycles; 0 for a cycle at every
    event. every_queue: every queue reserves, without a limit of time, because none of the instance
    says that it does. effort: solver units a cycle for "optimal". skip_idle: leave out cycles that
    cannot change anything. planning: the one cycle that a plan is read from: jobs are considered
    before their begin time, nothing is preempted or grows, and reasons are given. margin: seconds
    that such a plan keeps free behind the end of every pending job.
    """

    reservation: str
    top: int
    cycle: int
    every_queue: bool = False
    effort: float = EFFORT
    skip_idle: bool = True
    planning: bool = False
    margin: int = 0
