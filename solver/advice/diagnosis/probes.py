"""A change of one thing that may be why a job waits, and the smallest form of it that helps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ....model.instance import Instance

#: Causes, the one that says most first: of remedies that gain as much the first one is the cause.
KINDS = (
    "queue inactive",
    "dispatch window",
    "host window",
    "load threshold",
    "limit",
    "user limit",
    "queue limit",
    "host limit",
    "advance reservation",
    "accept interval",
    "scheduler module",
    "hosts closed",
    "hosts down",
    "run limit unknown",
    "reservation expires",
    "no reservation",
    "memory not reserved",
    "no backfill",
    "too few reservations",
    "greedy estimate",
    "fairshare",
    "slot pool",
    "memory per slot",
    "memory",
    "resource",
    "requirement",
    "running jobs of one user",
    "compute units",
    "queue hosts",
    "queue priority",
)
#: Causes that put others before a job.
ONE_USER = "running jobs of one user"
IN_LINE = frozenset({"fairshare", "slot pool", "queue priority", ONE_USER})
#: Causes that lie in what a job asks for, and the hosts it may have.
OF_THE_JOB = frozenset(
    {"memory per slot", "memory", "resource", "requirement", "compute units", "queue hosts"}
)
RANK = {kind: place for place, kind in enumerate(KINDS)}


@dataclass(frozen=True, slots=True)
class SettingChange:
    """One value of one setting. where: file and section; setting: what to write.

    whatif: the same for ``slotwise whatif --set``. apply: the instance with it.
    """

    where: str
    setting: str
    apply: Callable[[Instance], Instance]
    whatif: str = ""

    @property
    def key(self) -> str:
        """What tells it from other changes."""
        return f"{self.where}: {self.setting}"


def joined(one: SettingChange, other: SettingChange) -> SettingChange:
    """Two changes as one."""
    return SettingChange(
        one.where,
        f"{one.setting}, with {other.where}: {other.setting}",
        lambda instance: other.apply(one.apply(instance)),
        f"{one.whatif}; {other.whatif}" if one.whatif and other.whatif else "",
    )


@dataclass(frozen=True, slots=True)
class Probe:
    """A rule that a job meets, and how it could be otherwise.

    cause: what is configured, in words. steps: values of the setting, from the smallest change to
    the largest, which takes the rule away. parts: of a rule with several members, each alone; the
    steps are then of all of them together.
    """

    kind: str
    cause: str
    steps: tuple[SettingChange, ...]
    parts: tuple[Probe, ...] = ()


def together(kind: str, cause: str, where: str, setting: str, parts: tuple[Probe, ...]) -> Probe:
    """Several probes of one kind as one, with its parts."""
    if len(parts) == 1:
        return parts[0]

    def apply(instance: Instance) -> Instance:
        for part in parts:
            instance = part.steps[-1].apply(instance)
        return instance

    return Probe(kind, cause, (SettingChange(where, setting, apply),), parts)
