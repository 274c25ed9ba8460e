"""What one cycle did, written down for whoever looks on."""

from __future__ import annotations

from dataclasses import dataclass, field

from .held import Held


@dataclass(slots=True)
class CycleRecord:
    """What one cycle did; times in seconds, hosts by name.

    started: job ids. reservations: of the jobs that hold slots or have an estimate, in order.
    why: where fairshare or slot pools are at work, why it was the turn of each job that started.
    booked: whether what pending jobs hold, and count for their accounts with, became another.
    """

    time: int
    started: list[str] = field(default_factory=list)
    backfilled: list[str] = field(default_factory=list)
    preempted: list[str] = field(default_factory=list)
    resumed: list[str] = field(default_factory=list)
    resized: list[str] = field(default_factory=list)
    reservations: list[Held] = field(default_factory=list)
    why: dict[str, str] = field(default_factory=dict)
    pending: int = 0
    booked: bool = False
