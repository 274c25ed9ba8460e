"""Resource allocation limits and per-resource reservation methods (lsb.resources)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Scope:
    """Members that a limit covers: names, whether each has a limit of its own (PER_*), ``~`` names.

    names ("all",) covers everyone.
    """

    names: tuple[str, ...]
    each: bool = False
    excluded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Limit:
    """One Limit section.

    amounts: resource to amount: ``slots``, ``jobs``, ``mem``, ``swp``, ``tmp`` or another name.
    slots_per_processor: SLOTS_PER_PROCESSOR, times the processors of each host (needs PER_HOST).
    A scope that is None covers all together.
    """

    name: str
    amounts: Mapping[str, float] = field(default_factory=dict)
    slots_per_processor: float | None = None
    users: Scope | None = None
    queues: Scope | None = None
    hosts: Scope | None = None
    projects: Scope | None = None


@dataclass(frozen=True, slots=True)
class ReservationUsage:
    """PER_JOB, PER_HOST or PER_SLOT for a user-defined numeric resource (RSV-08)."""

    resource: str
    method: str
