"""Service classes and guaranteed resource pools: lsb.serviceclasses, lsb.resources (GUA-01).

A service class is a container of jobs. A pool guarantees amounts of what it has to classes: these
stay free for their jobs. The order of the jobs is not changed by it. What the pages of IBM say
nothing of is decided in docs/dev/semantics.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from .facts import Fact

#: The only goal that is modelled.
GUARANTEE = "GUARANTEE"
#: Parts of ACCESS_CONTROL.
ACCESS = ("QUEUES", "USERS", "FAIRSHARE_GROUPS", "APPS", "PROJECTS", "LIC_PROJECTS")
#: Every queue, host or user.
ALL = "all"


@dataclass(frozen=True, slots=True)
class ServiceClass:
    """One service class (lsb.serviceclasses)."""

    name: Annotated[str, Fact("new_name", aka=("NAME",))]
    #: Goals of time (DEADLINE, VELOCITY, THROUGHPUT) are not modelled.
    goals: Annotated[tuple[str, ...], Fact("goals", "GOALS")] = (GUARANTEE,)
    #: Part to names; a job has to meet every part that is there.
    access: Annotated[Mapping[str, tuple[str, ...]], Fact("access", "ACCESS_CONTROL")] = field(
        default_factory=dict
    )
    #: Jobs without -sla that meet ACCESS_CONTROL are attached, to the first class that does so.
    auto_attach: Annotated[bool, Fact("flag", "AUTO_ATTACH")] = False
    description: Annotated[str, Fact("text", "DESCRIPTION")] = ""

    @property
    def guarantees(self) -> bool:
        """Whether it has the goal that is modelled."""
        return GUARANTEE in self.goals


@dataclass(frozen=True, slots=True)
class GuaranteedAmount:
    """An amount of a pool: as such, or a percentage of what the pool has."""

    amount: float
    percent: bool = False

    def of(self, total: float) -> float:
        """The amount; of a percentage the whole units in it."""
        return float(int(total * self.amount / 100 + 1e-9)) if self.percent else self.amount


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What a pool guarantees to one service class."""

    service_class: str
    share: GuaranteedAmount


@dataclass(frozen=True, slots=True)
class LoanPolicy:
    """LOAN_POLICIES: who may have guaranteed resources that no owner uses."""

    #: Queues whose jobs may; ("all",) for every queue.
    queues: tuple[str, ...]
    #: Queues with ``!``: no other word of the policy counts for their jobs.
    exempt: tuple[str, ...] = ()
    #: Seconds; jobs that may run longer have no loans.
    duration: int | None = None
    #: No loans while a class with unused guarantees has pending jobs.
    close_on_demand: bool = False
    #: This much of each unused guarantee is no loan.
    retain: GuaranteedAmount | None = None
    #: No loan that leaves less than this of the pool idle.
    idle_buffer: GuaranteedAmount | None = None

    def takes(self, queue: str) -> bool:
        """Whether jobs of a queue may have loans."""
        return ALL in self.queues or queue in self.queues or queue in self.exempt


@dataclass(frozen=True, slots=True)
class GuaranteedPool:
    """One GuaranteedResourcePool section (lsb.resources)."""

    name: Annotated[str, Fact("new_name", aka=("NAME",))]
    #: ``slots``, ``hosts``, ``package[slots=1:mem=1000]`` or ``resource[lic]``.
    type: Annotated[str, Fact("pool_type", "TYPE")] = "slots"
    distribution: Annotated[tuple[Guarantee, ...], Fact("distribution", "DISTRIBUTION")] = ()
    #: Names, ``~name`` for exceptions; empty for all.
    hosts: Annotated[tuple[str, ...], Fact("words", "HOSTS")] = ()
    #: A selection that narrows them.
    res_select: Annotated[str, Fact("requirement", "RES_SELECT")] = ""
    loans: Annotated[LoanPolicy | None, Fact("loans", "LOAN_POLICIES")] = None
    #: Slots that jobs of its classes may use on one host of a pool of slots.
    slots_per_host: Annotated[int | None, Fact("count", "SLOTS_PER_HOST")] = None
    description: Annotated[str, Fact("text", "DESCRIPTION")] = ""

    @property
    def kind(self) -> str:
        """``slots``, ``hosts``, ``package`` or ``resource``."""
        return self.type.partition("[")[0]

    @property
    def arguments(self) -> Mapping[str, str]:
        """The amounts of a package by name; the name of a resource under ``name``."""
        inner = self.type.partition("[")[2].removesuffix("]")
        if self.kind == "resource":
            return {"name": inner}
        return dict(part.split("=", 1) for part in inner.split(":") if part)

    @property
    def has_hosts(self) -> bool:
        """Whether its amounts are those of hosts; each host is in one such pool."""
        return self.kind != "resource"
