"""What a name that nobody knows could have been."""

from __future__ import annotations

from collections.abc import Sequence

from ..cluster import Cluster
from ..errors import nearest


def host_names(cluster: Cluster) -> list[str]:
    """Names that stand for hosts: hosts, host groups, compute units."""
    names = [host.name for host in cluster.hosts]
    names += [group.name for group in cluster.groups]
    return names + [unit.name for unit in cluster.units]


def unknown_host(cluster: Cluster, name: str) -> str:
    """The message for a name that stands for no host."""
    return f"unknown host or host group {name!r}{nearest(name, host_names(cluster))}"


def unknown_unit_type(name: str, types: Sequence[str]) -> str:
    """The message for a compute unit type that COMPUTE_UNIT_TYPES does not have."""
    have = (
        f"COMPUTE_UNIT_TYPES has {', '.join(types)}" if types else "COMPUTE_UNIT_TYPES is not set"
    )
    return f"unknown compute unit type {name!r}: {have}{nearest(name, types)}"
