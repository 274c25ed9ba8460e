"""The dynamic priority of a share account, and the meters that feed it (FSH-02, FSH-03).

Everything is kept in seconds; the formula works in hours. Decay is continuous: what counts one
hour now counts 0.1 hours after HIST_HOURS, that is, a factor of ``10 ** (-t / HIST_HOURS)``;
HIST_HOURS of 0 means no decay.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...model.params import Params
from ...model.queue import Queue

HOUR = 3600.0
#: A denominator below this counts as this: the priority is at most 100 times the shares.
LEAST_DENOMINATOR = 0.01
#: Binary digits of a priority that count, 13 decimal ones: behind them there is rounding noise.
SIGNIFICANT_BITS = 44


@dataclass(frozen=True, slots=True)
class Factors:
    """Weights and switches of the formula, of one policy.

    hist_hours: hours in which a decaying value falls to a tenth. hist_run_time: finished run time
    counts (ENABLE_HIST_RUN_TIME). run_time_decay: the run time of running jobs decays too
    (RUN_TIME_DECAY). run_time_in_slots: run time counts slot-seconds, not seconds of a job.
    """

    cpu_time: float = 0.7
    run_time: float = 0.7
    committed_run_time: float = 0.0
    run_job: float = 3.0
    adjustment: float = 0.0
    hist_hours: float = 5.0
    hist_run_time: bool = False
    run_time_decay: bool = False
    run_time_in_slots: bool = False

    @classmethod
    def of(cls, params: Params, queue: Queue | None = None) -> Factors:
        """Factors of the cluster, with what the policy's (master) queue overrides."""
        own = {name.upper(): value for name, value in (queue.factors if queue else {}).items()}
        return cls(
            cpu_time=own.get("CPU_TIME_FACTOR", params.cpu_time_factor),
            run_time=own.get("RUN_TIME_FACTOR", params.run_time_factor),
            committed_run_time=own.get(
                "COMMITTED_RUN_TIME_FACTOR", params.committed_run_time_factor
            ),
            run_job=own.get("RUN_JOB_FACTOR", params.run_job_factor),
            adjustment=own.get("FAIRSHARE_ADJUSTMENT_FACTOR", params.fairshare_adjustment_factor),
            hist_hours=own.get("HIST_HOURS", params.hist_hours),
            hist_run_time=params.enable_hist_run_time,
            run_time_decay=params.run_time_decay,
            run_time_in_slots=params.run_time_in_slots,
        )

    @property
    def decay(self) -> float:
        """Decay rate per second: a value falls by ``exp(-decay * t)``."""
        return math.log(10) / (self.hist_hours * HOUR) if self.hist_hours > 0 else 0.0


class Consumption(NamedTuple):
    """What an account has used, as the formula and the adjustment plug-ins see it.

    Times in seconds: cpu_time decayed; run_time of running jobs; historical_run_time decayed, of
    finished jobs; committed_run_time of running jobs (for one without -W or RUNLIMIT its run time,
    so that the difference is nothing). slots: in use; reserved: held for pending jobs.
    memory: MB held by started jobs; slot_memory: average MB for a slot of the cluster.
    """

    cpu_time: float = 0.0
    run_time: float = 0.0
    historical_run_time: float = 0.0
    committed_run_time: float = 0.0
    slots: int = 0
    reserved: int = 0
    memory: float = 0.0
    slot_memory: float = 0.0


def dynamic_priority(
    shares: int, usage: Consumption, factors: Factors, adjustment: float = 0.0
) -> float:
    """The dynamic priority of an account with `shares` (FSH-02).

    adjustment: what the plug-in says, weighted by FAIRSHARE_ADJUSTMENT_FACTOR.
    """
    run_time = usage.run_time / HOUR
    denominator = (
        usage.cpu_time / HOUR * factors.cpu_time
        + (usage.historical_run_time / HOUR + run_time) * factors.run_time
        + (usage.committed_run_time / HOUR - run_time) * factors.committed_run_time
        + (1 + usage.slots + usage.reserved) * factors.run_job
        + adjustment * factors.adjustment
    )
    return shares / max(denominator, LEAST_DENOMINATOR)


def significant(value: float) -> float:
    """The value to the digits that count: numbers that are equal so are equal (FSH-06).

    Relative to its size, so that shares of a million are compared as those of one are.
    """
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(math.ldexp(mantissa, SIGNIFICANT_BITS)), exponent - SIGNIFICANT_BITS)


class Meter:
    """An amount that grows at a constant rate and decays, evaluated only when asked.

    Between two changes ``value' = rate - decay * value``; so a change costs O(1) whatever the time
    since the last one.
    """

    __slots__ = ("rate", "stamp", "value")

    def __init__(self, value: float = 0.0, rate: float = 0.0, stamp: float = 0.0) -> None:
        self.value = value
        self.rate = rate
        self.stamp = stamp

    def at(self, now: float, decay: float = 0.0) -> float:
        """The amount at `now` (seconds), not before the last change."""
        elapsed = now - self.stamp
        if elapsed <= 0 or not (self.value or self.rate):
            return self.value
        if not decay:
            return self.value + self.rate * elapsed
        kept = math.exp(-decay * elapsed)
        return self.value * kept + self.rate * (1 - kept) / decay

    def change(self, now: float, decay: float = 0.0, add: float = 0.0, rate: float = 0.0) -> None:
        """Bring the meter to `now`, then add an amount and change its rate."""
        if self.value or self.rate:
            self.value = self.at(now, decay)
            self.stamp = max(self.stamp, now)
        else:
            self.stamp = now  # An empty meter has no past, not even one after `now`.
        self.value += add
        self.rate += rate

    def state(self) -> list[float]:
        """Plain numbers that :meth:`of` rebuilds the meter from."""
        return [self.value, self.rate, self.stamp]

    @classmethod
    def of(cls, state: Sequence[float]) -> Meter:
        """The meter that :meth:`state` describes."""
        value, rate, stamp = state
        return cls(value, rate, stamp)
