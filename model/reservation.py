"""Amounts of a resource that a running job reserves: phases and decay (RSV-02, RSV-03, RSV-09)."""

from __future__ import annotations

from dataclasses import dataclass

#: Width in seconds of the steps by which a plan approximates a decaying reservation.
DECAY_STEP = 60


@dataclass(frozen=True, slots=True)
class Phase:
    """`amount` (MB or units) held over [start, end) seconds after the job's start.

    end is None for "until the job ends". A decaying phase falls linearly from `amount` to `floor`,
    the amount of the next phase (0 after the last), so the whole never rises.
    """

    #: Reserved amount at the start of the phase, MB for memory.
    amount: float
    #: Seconds from the start of the job.
    start: int = 0
    #: Seconds from the start of the job, None if the phase lasts until the job ends.
    end: int | None = None
    #: Whether the amount falls linearly to `floor`.
    decay: bool = False
    #: Amount at the end of a decaying phase, in the unit of `amount`.
    floor: float = 0.0

    def at(self, elapsed: float) -> float:
        """Return the exact amount `elapsed` seconds after the start of the job; 0 outside the
        phase.
        """
        if elapsed < self.start or (self.end is not None and elapsed >= self.end):
            return 0.0
        if not self.decay or self.end is None:
            return self.amount
        share = (elapsed - self.start) / (self.end - self.start)
        return self.amount - (self.amount - self.floor) * share

    def planned_at(self, elapsed: int) -> float:
        """Return the amount that a plan counts: a staircase, never below :meth:`at`, equal at
        each step.
        """
        if self.decay:
            elapsed = self.start + (elapsed - self.start) // DECAY_STEP * DECAY_STEP
        return self.at(elapsed)

    def drops(self) -> tuple[int, ...]:
        """Return the instants (seconds after the job's start) at which the planned amount falls."""
        if self.end is None:
            return ()
        if not self.decay:
            return (self.end,)
        return (*range(self.start + DECAY_STEP, self.end, DECAY_STEP), self.end)


@dataclass(frozen=True, slots=True)
class Reservation:
    """One resource of an rusage section over the life of a job: phases in order, never rising."""

    #: Name of the reserved resource.
    resource: str
    #: Amounts over the run time of the job, in order of time.
    phases: tuple[Phase, ...]
    #: Unit of the amount: ``host``, ``task`` or ``job``; "" if the cluster decides (RSV-08).
    per: str = ""

    def at(self, elapsed: float) -> float:
        """Return the exact amount `elapsed` seconds after the start."""
        return sum(phase.at(elapsed) for phase in self.phases)

    def planned_at(self, elapsed: int) -> float:
        """Return the amount a plan counts `elapsed` seconds after the start (a staircase under
        decay).
        """
        return sum(phase.planned_at(elapsed) for phase in self.phases)

    def drops(self) -> tuple[int, ...]:
        """Return the instants after the start at which the planned amount falls before the job
        ends.
        """
        if len(self.phases) == 1:
            return self.phases[0].drops()
        return tuple(sorted({at for phase in self.phases for at in phase.drops()}))

    @property
    def initial(self) -> float:
        """Return the amount at the start, which is the largest."""
        return self.phases[0].amount if self.phases else 0.0


def reservation(
    resource: str,
    amounts: tuple[float, ...],
    durations: tuple[int, ...] = (),
    decays: tuple[float, ...] = (),
    per: str = "",
) -> Reservation:
    """Build a reservation from the lists of a rusage section.

    amounts: v1 … vn; durations: t1 … tm in seconds, m = n or n - 1 (0 or 1 for one amount);
    decays: 0 or 1 for each, missing ones 0, other values 0, extra ones ignored. per: as in
    :class:`Reservation`.
    Raises ValueError when the counts do not fit or an amount rises (RSV-09).
    """
    if len(durations) not in (len(amounts), len(amounts) - 1):
        raise ValueError(
            f"{len(amounts)} phases of {resource} need {len(amounts) - 1} or {len(amounts)} "
            f"durations, not {len(durations)}"
        )
    phases: list[Phase] = []
    start = 0
    for index, amount in enumerate(amounts):
        if index and amount > amounts[index - 1]:
            raise ValueError(
                f"{resource} rises from {amounts[index - 1]:g} to {amount:g}: "
                "a later phase cannot reserve more than an earlier one"
            )
        end = start + durations[index] if index < len(durations) else None
        decay = end is not None and index < len(decays) and decays[index] == 1
        floor = amounts[index + 1] if index + 1 < len(amounts) else 0.0
        phases.append(Phase(amount, start, end, decay, floor))
        if end is not None:
            start = end
    return Reservation(resource, tuple(phases), per)
