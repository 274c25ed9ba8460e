"""What one pending job asks of the cluster, resolved to arrays over the hosts.

Everything a host or the cluster can run out of is one of two things, so that slots, memory,
licences and slot limits are treated alike:

* a **host resource**: a capacity per host (slots, mem, a limit PER_HOST, JL/U, …);
* a **pool**: one capacity shared by a set of hosts (a floating licence, a queue's QJOB_LIMIT, …).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...model.job import Job
from ...model.queue import Queue
from ...model.reservation import Reservation

if TYPE_CHECKING:
    from .calendar import Calendar
    from .profile import Profile

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]


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


@dataclass(frozen=True, slots=True)
class UnitDemand:
    """cu[] resolved: `unit_of[h]` is the unit of host h (-1: none), units in configuration order.

    names: unit names. preference: level of each unit, higher first and before pref: the highest -m
    preference among its hosts; None where all are equal.
    """

    unit_of: IntArray
    names: tuple[str, ...]
    pref: str = "config"
    maxcus: int | None = None
    usablecuslots: int | None = None
    balance: bool = False
    excl: bool = False
    preference: IntArray | None = None


@dataclass(frozen=True, slots=True)
class TermDemand:
    """One term of a requirement (a simple requirement has one).

    slots, most: -n min and max. candidates: host indices in the order they are tried
    (preference of -m, then order[]). ptile: slots per host, [H], or None where span has none.
    one_host: span[hosts=1]. same: label arrays [H], one a way of agreeing; hosts of one placement
    share one label of one of the arrays; empty for no same[] (PLC-04). -1 marks hosts outside.
    first_hosts: hosts that may be first in the allocation, [H], None for any (PLC-12).
    """

    slots: int
    most: int
    candidates: IntArray
    ptile: IntArray | None = None
    one_host: bool = False
    same: tuple[IntArray, ...] = ()
    unit: UnitDemand | None = None
    first_hosts: BoolArray | None = None
    alternatives: tuple[Alternative, ...] = ()

    @property
    def largest(self) -> int:
        """The most slots worth trying where the minimum does not fit.

        More than the minimum unless every placement of more slots holds one of fewer. It does not
        where a certain host must be first and the slots to give up would be its own: the remainder
        of a ptile, or what makes its unit large enough.
        """
        if self.most <= self.slots:
            return self.slots
        tiled = self.ptile is not None and not self.one_host
        bound = tiled or (self.unit is not None and self.unit.usablecuslots)
        even = self.unit is not None and self.unit.balance  # the maximum is disregarded
        first = self.first_hosts is not None or any(
            use.per is Per.JOB for item in self.alternatives for use in item.host_uses
        )
        return self.most if first and bound and not even else self.slots


@dataclass(frozen=True, slots=True)
class Floor:
    """A host takes the job only while `least` [H] of a host resource is free at its start."""

    index: int
    least: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Demand:
    """A pending job, resolved.

    duration: seconds, None when unknown (it then holds its place for ever). earliest: no start
    before this second (-b, now). impossible: why no start can exist at all, "" if one may.
    calendar: windows that bind it, None for none. together: places the terms of a compound
    requirement jointly where they do not fit one after another; None: only in order (REQ-14).
    floors: amounts that must be free on a host before the job starts there (loadSched).
    """

    job: Job
    queue: Queue
    terms: tuple[TermDemand, ...]
    duration: int | None
    earliest: int
    exclusive: bool = False
    impossible: str = ""
    calendar: Calendar | None = None
    notes: tuple[str, ...] = field(default=())
    together: TermPlacer | None = None
    floors: tuple[Floor, ...] = ()

    @property
    def slots(self) -> int:
        """Slots that every start of the job needs at least."""
        return sum(term.slots for term in self.terms)


@dataclass(frozen=True, slots=True)
class GroupCap:
    """At most `slots` slots and `hosts` hosts of one placement inside `mask` [H]; None: no cap."""

    mask: BoolArray
    slots: int | None = None
    hosts: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Room:
    """What there is for one term over one window.

    caps: most slots that the job can hold on each host, [H], 0 outside the candidates.
    groups: caps over sets of hosts. idle: hosts with no other job over the window, [H] (excl).
    free_now: free slots per host as pref=maxavail|minavail counts them, [H]. first: hosts that have
    what the job takes on its first host alone (PER_JOB), [H]; None where it takes nothing so.
    """

    caps: IntArray
    groups: tuple[GroupCap, ...] = ()
    idle: BoolArray | None = None
    free_now: IntArray | None = None
    first: BoolArray | None = None


#: Slots by host index, in allocation order.
Allocation = dict[int, int]
#: One allocation a term of a job that starts at an instant (seconds), or None.
TermPlacer: TypeAlias = "Callable[[Profile, Demand, int], tuple[Allocation, ...] | None]"
