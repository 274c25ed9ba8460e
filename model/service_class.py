"""Service classes and guaranteed resource pools: lsb.serviceclasses, lsb.resources (GUA-01).

A service class is a container of jobs. A pool guarantees amounts of its resources to classes: these
stay free for their jobs. It does not change the order of the jobs. Decisions where IBM's pages are
silent are in docs/dev/semantics.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from .facts import HOST, USER, Fact

#: The only goal that is supported.
GUARANTEE = "GUARANTEE"
#: Known goals; those of time are not supported.
GOALS = (GUARANTEE, "DEADLINE", "VELOCITY", "THROUGHPUT")
#: The kind of names whose keyword decides what they are.
EACH_KEYWORD = "each keyword"
#: Keywords of ACCESS_CONTROL, and the kind of their names, "" if nothing defines these. A listing
#: of service classes may come without one of application profiles.
ACCESS = {
    "QUEUES": "queue",
    "USERS": USER,
    "FAIRSHARE_GROUPS": USER,
    "APPS": "application profile",
    "PROJECTS": "",
    "LIC_PROJECTS": "",
}
#: Keyword for every queue, host or user.
ALL = "all"


@dataclass(frozen=True, slots=True)
class ServiceClass:
    """One service class (lsb.serviceclasses)."""

    #: Name of the class.
    name: Annotated[str, Fact("new_name", aka=("NAME",))]
    #: Goals; those of time (DEADLINE, VELOCITY, THROUGHPUT) are not supported.
    goals: Annotated[tuple[str, ...], Fact("goals", "GOALS")] = (GUARANTEE,)
    #: Names by keyword of ACCESS_CONTROL; a job has to meet every keyword that is present.
    access: Annotated[
        Mapping[str, tuple[str, ...]],
        Fact("access", "ACCESS_CONTROL", refers=(EACH_KEYWORD, ALL)),
    ] = field(default_factory=dict)
    #: Whether jobs without -sla that meet ACCESS_CONTROL are attached, to the first class of that
    #: kind.
    auto_attach: Annotated[bool, Fact("flag", "AUTO_ATTACH")] = False
    #: Description for people.
    description: Annotated[str, Fact("text", "DESCRIPTION")] = ""

    @property
    def guarantees(self) -> bool:
        """Return whether the class has the supported goal."""
        return GUARANTEE in self.goals


@dataclass(frozen=True, slots=True)
class GuaranteedAmount:
    """An amount of a pool, absolute or as a percentage of the pool."""

    #: Number of guaranteed units, or a percentage of the pool.
    amount: float
    #: Whether it is a percentage.
    percent: bool = False

    def of(self, total: float) -> float:
        """Return the absolute amount; a percentage is rounded down to whole units."""
        return float(int(total * self.amount / 100 + 1e-9)) if self.percent else self.amount


@dataclass(frozen=True, slots=True)
class Guarantee:
    """The amount that a pool guarantees to one service class."""

    #: Name of the service class.
    service_class: str
    #: The guaranteed amount.
    share: GuaranteedAmount


@dataclass(frozen=True, slots=True)
class LoanPolicy:
    """Rules for jobs that use guaranteed resources of other classes (LOAN_POLICIES)."""

    #: Queues whose jobs may use them; ("all",): every queue.
    queues: tuple[str, ...]
    #: Queues with ``!``: no other keyword of the policy applies to their jobs.
    exempt: tuple[str, ...] = ()
    #: Maximum run time in seconds of the jobs, None if not limited.
    duration: int | None = None
    #: Whether they may not while a class with unused guarantees has pending jobs.
    close_on_demand: bool = False
    #: Amount of each unused guarantee that is never used.
    retain: GuaranteedAmount | None = None
    #: Amount of the pool that has to stay idle.
    idle_buffer: GuaranteedAmount | None = None

    def takes(self, queue: str) -> bool:
        """Return whether the policy applies to jobs of a queue."""
        return ALL in self.queues or queue in self.queues or queue in self.exempt


@dataclass(frozen=True, slots=True)
class GuaranteedPool:
    """One GuaranteedResourcePool section (lsb.resources)."""

    #: Name of the pool.
    name: Annotated[str, Fact("new_name", aka=("NAME",))]
    #: Type: ``slots``, ``hosts``, ``package[slots=1:mem=1000]`` or ``resource[lic]``.
    type: Annotated[str, Fact("pool_type", "TYPE")] = "slots"
    #: Amounts guaranteed to service classes.
    distribution: Annotated[
        tuple[Guarantee, ...],
        Fact("distribution", "DISTRIBUTION", refers=("service class",)),
    ] = ()
    #: Hosts of the pool by name, ``~name`` for exceptions; empty: all.
    hosts: Annotated[tuple[str, ...], Fact("words", "HOSTS", refers=(HOST, ALL))] = ()
    #: Selection that restricts the hosts.
    res_select: Annotated[str, Fact("requirement", "RES_SELECT")] = ""
    #: Rules for use by other jobs, None if no other job may use them.
    loans: Annotated[LoanPolicy | None, Fact("loans", "LOAN_POLICIES", refers=("queue", ALL))] = (
        None
    )
    #: Maximum number of slots that jobs of its classes may use on one host of a pool of slots.
    slots_per_host: Annotated[int | None, Fact("count", "SLOTS_PER_HOST")] = None
    #: Description for people.
    description: Annotated[str, Fact("text", "DESCRIPTION")] = ""

    @property
    def kind(self) -> str:
        """Return ``slots``, ``hosts``, ``package`` or ``resource``."""
        return self.type.partition("[")[0]

    @property
    def arguments(self) -> Mapping[str, str]:
        """Return the amounts of a package by name; the name of a resource under ``name``."""
        inner = self.type.partition("[")[2].removesuffix("]")
        if self.kind == "resource":
            return {"name": inner}
        return dict(part.split("=", 1) for part in inner.split(":") if part)

    @property
    def has_hosts(self) -> bool:
        """Return whether its amounts belong to hosts; each host is in one such pool."""
        return self.kind != "resource"
