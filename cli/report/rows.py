"""The rows of a Gantt chart: hosts under their compute units, folded where there are many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ...model.cluster import Cluster, ComputeUnit, Host

#: Hosts that need no groups where the cluster has no compute units.
FEW_HOSTS = 40
#: Groups that hosts without compute units are cut into, at most.
MOST_BLOCKS = 100
SMALLEST_BLOCK = 16


@dataclass(slots=True)
class RowGroup:
    """A row that folds. type: of the compute unit, "hosts" for a run of hosts without one.

    parent: index of the group around it, None for none. hosts: index of each host somewhere in it.
    own: of those that lie in no group inside it, which are its rows beside the groups.
    """

    name: str
    type: str
    parent: int | None
    hosts: tuple[int, ...]
    own: tuple[int, ...] = ()
    groups: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ChartRow:
    """One line of the chart: a host (index) or a folded or open group (index); depth from 0."""

    kind: str
    index: int
    depth: int


def host_groups(cluster: Cluster) -> tuple[RowGroup, ...]:
    """Compute units as a tree, each group before those inside it; runs of hosts where none are.

    Hosts that are in no unit come last, in a group of their own. No groups for few hosts.
    """
    if cluster.units:
        return _units(cluster)
    count = len(cluster.hosts)
    if count <= FEW_HOSTS:
        return ()
    size = max(SMALLEST_BLOCK, -(-count // MOST_BLOCKS))
    return tuple(
        _run(cluster.hosts, range(first, min(first + size, count)))
        for first in range(0, count, size)
    )


def _run(hosts: Sequence[Host], members: Sequence[int]) -> RowGroup:
    name = hosts[members[0]].name
    if len(members) > 1:
        name = f"{name} – {hosts[members[-1]].name}"
    return RowGroup(name, "hosts", None, tuple(members), tuple(members))


def _units(cluster: Cluster) -> tuple[RowGroup, ...]:
    index = cluster.host_index()
    level = {name: depth for depth, name in enumerate(reversed(cluster.unit_types))}
    inside: dict[str | None, list[ComputeUnit]] = {}
    names = {unit.name for unit in cluster.units}
    for unit in sorted(cluster.units, key=lambda unit: level.get(unit.type, 0)):
        inside.setdefault(unit.parent if unit.parent in names else None, []).append(unit)
    found: list[RowGroup] = []
    seen: set[int] = set()

    def add(unit: ComputeUnit, parent: int | None) -> None:
        hosts = tuple(index[name] for name in unit.hosts)
        place = len(found)
        found.append(RowGroup(unit.name, unit.type, parent, hosts))
        if parent is not None:
            found[parent].groups.append(place)
        for child in inside.get(unit.name, ()):
            add(child, place)
        found[place].own = tuple(host for host in hosts if host not in seen)
        seen.update(hosts)

    for unit in inside.get(None, ()):
        add(unit, None)
    rest = tuple(host for host in range(len(cluster.hosts)) if host not in seen)
    if rest:
        found.append(RowGroup("other hosts", "hosts", None, rest, rest))
    return tuple(found)


def visible_rows(groups: Sequence[RowGroup], hosts: int, opened: frozenset[int]) -> list[ChartRow]:
    """The rows from top to bottom; all hosts (their number) where there are no groups."""
    if not groups:
        return [ChartRow("host", index, 0) for index in range(hosts)]
    return [
        row
        for place, group in enumerate(groups)
        if group.parent is None
        for row in _rows(groups, place, 0, opened)
    ]


def _rows(
    groups: Sequence[RowGroup], place: int, depth: int, opened: frozenset[int]
) -> Iterator[ChartRow]:
    yield ChartRow("group", place, depth)
    if place in opened:
        for child in groups[place].groups:
            yield from _rows(groups, child, depth + 1, opened)
        for host in groups[place].own:
            yield ChartRow("host", host, depth + 1)


def opened_within(groups: Sequence[RowGroup], hosts: int, most: int) -> frozenset[int]:
    """The groups to open, level by level, as long as no more than `most` rows come of it."""
    opened: frozenset[int] = frozenset()
    level = [place for place, group in enumerate(groups) if group.parent is None]
    while level:
        wider = opened | frozenset(level)
        if len(visible_rows(groups, hosts, wider)) > most:
            break
        opened = wider
        level = [child for place in level for child in groups[place].groups]
    return opened
