"""The reservation methods by name, and the settings of a simulation that follow from one."""

from __future__ import annotations

from typing import Literal, Protocol

from ...model.errors import InputError, UnknownNameError
from ...model.instance import Instance
from ..availability.arrays import BoolArray
from ..world.cycle_state import CycleState
from ..world.held import Held
from ..world.job_state import JobState
from ..world.settings import EFFORT, TOP, Settings
from .greedy import Greedy
from .none import NoReservation
from .optimal import Optimal
from .time_based import TimeBased

Reservation = Literal["configured", "none", "greedy", "time-based", "optimal"]


class ReservationMethod(Protocol):
    """How jobs that do not start hold what they wait for. One object serves all cycles.

    name: as users write it. summary: half a sentence for help texts. looks_ahead: whether it gives
    future allocations, to no more than N jobs and not beside job chunking (TBR-01, TBR-15).
    """

    @property
    def name(self) -> str:
        """As users write it."""

    @property
    def summary(self) -> str:
        """Half a sentence for help texts."""

    @property
    def looks_ahead(self) -> bool:
        """Whether it gives future allocations."""

    def before(self, cycle: CycleState) -> None:
        """Plan, start and reserve before the jobs have their turns."""

    def reserve(self, cycle: CycleState, state: JobState, closed: BoolArray | None) -> Held | None:
        """What a job that does not start in its turn holds; closed: hosts it may not use, [H]."""


METHODS: dict[str, ReservationMethod] = {
    method.name: method for method in (NoReservation(), Greedy(), TimeBased(), Optimal())
}
#: What a simulation may be told; "configured" is what the instance asks for.
RESERVATIONS = ("configured", *METHODS)


def settings_for(
    instance: Instance,
    *,
    reservation: str = "configured",
    top: int | None = None,
    cycle: int | None = None,
    effort: float = EFFORT,
    skip_idle: bool = True,
) -> Settings:
    """Settings for an instance.

    "configured" is time-based where LSB_TIME_RESERVE_NUMJOBS is set, else greedy, in the queues
    with SLOT_RESERVE or RESOURCE_RESERVE. A method that is named holds for those queues too, or for
    all where the instance has none of them.
    Raises InputError for an unknown method and for chunk jobs with future allocations (TBR-15).
    """
    if reservation not in RESERVATIONS:
        raise UnknownNameError.among("reservation", reservation, RESERVATIONS)
    numjobs = instance.params.time_reserve_numjobs
    reserves = any(queue.reserve_cycles is not None for queue in instance.queues)
    named = reservation not in ("configured", "none")
    if reservation == "configured":
        reservation = TimeBased.name if numjobs else Greedy.name
    if METHODS[reservation].looks_ahead:
        _refuse_chunking(instance, reservation)
    if top is None:
        top = looking_ahead(instance)
    if top < 1:
        raise InputError(f"top must be a positive number of jobs, not {top}")
    if cycle is None:
        cycle = instance.params.mbd_sleep_time
    if cycle < 0:
        raise InputError(f"a cycle takes a positive number of seconds, not {cycle}")
    return Settings(reservation, top, cycle, named and not reserves, effort, skip_idle)


def looking_ahead(instance: Instance) -> int:
    """How many jobs get a future allocation in a cycle: LSB_TIME_RESERVE_NUMJOBS, else 4."""
    return instance.params.time_reserve_numjobs or TOP


def _refuse_chunking(instance: Instance, reservation: str) -> None:
    for queue in instance.queues:
        if queue.chunk_job_size is not None and queue.chunk_job_size > 1:
            raise InputError(
                f"queue {queue.name} has CHUNK_JOB_SIZE: {reservation} reservation does not work "
                "with job chunking; take it out or reserve greedily"
            )
