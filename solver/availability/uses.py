"""What a job takes of host resources and pools, and how often it counts.

Everything a host or the cluster can run out of is one of two things, so that slots, memory,
licences and slot limits are treated alike:

* a **host resource**: a capacity per host (slots, mem, a limit PER_HOST, JL/U, …);
* a **pool**: one capacity shared by a set of hosts (a floating licence, a queue's QJOB_LIMIT, …).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ...model.reservation import Reservation
from .arrays import BoolArray


class Per(Enum):
    """How often a use counts (RSV-08)."""

    SLOT = "slot"
    HOST = "host"
    JOB = "job"
    WHOLE = "whole"  #: the whole capacity of each host (-x, PLC-13)


@dataclass(frozen=True, slots=True)
class Use:
    """A use of one host resource or pool, by index into the profile's lists.

    reservation: amounts over the life of the job; the amounts are counted once per `per`.
    once: counted once a job (on each host, in a pool) however many of its terms have the use: a
    limit on jobs, or a host that an exclusive job has whole.
    """

    index: int
    per: Per
    reservation: Reservation
    once: bool = False


@dataclass(frozen=True, slots=True)
class Alternative:
    """What one rusage alternative takes (RSV-07): uses of host resources and of pools.

    missing: why it can never be granted ("no host has licX"), "" if it can. hosts: those that have
    or reach all it names, [H], the only ones that may take it; None for all.
    """

    host_uses: tuple[Use, ...]
    pool_uses: tuple[Use, ...] = ()
    missing: str = ""
    hosts: BoolArray | None = None
