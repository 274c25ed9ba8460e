"""Users and user groups (lsb.users)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UserGroup:
    """A user group: members are users or groups; user_shares makes it a share tree (FSH-10)."""

    name: str
    members: tuple[str, ...]
    user_shares: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class User:
    """Limits of one user or group: MAX_JOBS (slots), JL/P (slots per processor)."""

    name: str
    max_slots: int | None = None
    processor_slots: float | None = None


@dataclass(frozen=True, slots=True)
class HostPartition:
    """A host partition with its shares (FSH-08)."""

    name: str
    hosts: tuple[str, ...]
    user_shares: tuple[tuple[str, int], ...]
