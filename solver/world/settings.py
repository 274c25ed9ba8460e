"""How a simulation is run: which reservations, for how many jobs, how often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...model.errors import InputError
from ...model.instance import Instance

Reservation = Literal["configured", "none", "greedy", "time-based", "optimal"]
RESERVATIONS = ("configured", "none", "greedy", "time-based", "optimal")
#: Jobs that get a future allocation where neither the instance nor the caller says how many.
TOP = 4
#: Deterministic solver units that the optimal method may spend in a cycle.
EFFORT = 2.0


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of one simulation.

    reservation: "none", "greedy", "time-based" or "optimal". top: jobs of highest priority that get
    a future allocation (TBR-01). cycle: seconds between two cycles; 0 for a cycle at every event.
    every_queue: every queue reserves, without a limit of time, because none of the instance says
    that it does. effort: solver units a cycle for "optimal". skip_idle: leave out cycles that
    cannot change anything.
    """

    reservation: str
    top: int
    cycle: int
    every_queue: bool = False
    effort: float = EFFORT
    skip_idle: bool = True

    @classmethod
    def of(
        cls,
        instance: Instance,
        *,
        reservation: str = "configured",
        top: int | None = None,
        cycle: int | None = None,
        effort: float = EFFORT,
        skip_idle: bool = True,
    ) -> Settings:
        """Settings for an instance.

        "configured" is what the instance asks for: time-based where LSB_TIME_RESERVE_NUMJOBS is
        set, else greedy, in the queues with SLOT_RESERVE or RESOURCE_RESERVE. A method that is
        named holds for those queues too, or for all where the instance has none of them.
        Raises InputError for an unknown method and for chunk jobs with future allocations (TBR-15).
        """
        if reservation not in RESERVATIONS:
            known = ", ".join(RESERVATIONS)
            raise InputError(f"unknown reservation {reservation!r}: use one of {known}")
        numjobs = instance.params.time_reserve_numjobs
        reserves = any(queue.reserve_cycles is not None for queue in instance.queues)
        named = reservation not in ("configured", "none")
        if reservation == "configured":
            reservation = "time-based" if numjobs else "greedy"
        if reservation in ("time-based", "optimal"):
            for queue in instance.queues:
                if queue.chunk_job_size is not None and queue.chunk_job_size > 1:
                    raise InputError(
                        f"queue {queue.name} has CHUNK_JOB_SIZE: {reservation} reservation does "
                        "not work with job chunking; take it out or reserve greedily"
                    )
        if top is None:
            top = numjobs or TOP
        if top < 1:
            raise InputError(f"top must be a positive number of jobs, not {top}")
        if cycle is None:
            cycle = instance.params.mbd_sleep_time
        if cycle < 0:
            raise InputError(f"a cycle takes a positive number of seconds, not {cycle}")
        return cls(reservation, top, cycle, named and not reserves, effort, skip_idle)
