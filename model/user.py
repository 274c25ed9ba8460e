"""Users and user groups (lsb.users)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from .facts import Fact


@dataclass(frozen=True, slots=True)
class UserGroup:
    """A user group: members are users or groups; user_shares makes it a share tree (FSH-10)."""

    name: str
    members: tuple[str, ...]
    user_shares: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class User:
    """Limits of one user or group: MAX_JOBS (slots), JL/P (slots per processor)."""

    name: Annotated[str, Fact("name", aka=("USER_NAME",))]
    max_slots: Annotated[int | None, Fact("count", "MAX_JOBS")] = None
    processor_slots: Annotated[float | None, Fact("amount", "JL/P")] = None


@dataclass(frozen=True, slots=True)
class HostPartition:
    """A host partition with its shares (FSH-08)."""

    name: str
    hosts: tuple[str, ...]
    user_shares: tuple[tuple[str, int], ...]
