"""How much of a group of hosts is in use over time: the picture of a folded row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .bars import Kind, Stretch
from .rows import RowGroup

#: Steps of one load; those with more are averaged over equal stretches of time.
MOST_STEPS = 800
KINDS: tuple[Kind, ...] = ("running", "planned", "reserved")


@dataclass(frozen=True, slots=True)
class Load:
    """Slots by kind from each time (seconds) until the next.

    reserved: as far as no job uses what is held.
    """

    times: tuple[int, ...] = ()
    running: tuple[float, ...] = ()
    planned: tuple[float, ...] = ()
    reserved: tuple[float, ...] = ()

    def to_dict(self) -> dict[str, tuple[float, ...]]:
        """Plain data; the same columns, not copies."""
        return {name: getattr(self, name) for name in ("times", *KINDS)}


#: Of every group, and at the end of all hosts: by time, how much more of each kind is in use.
Changes = list[dict[int, list[int]]]


def loads(
    stretches: Iterable[Stretch],
    groups: Sequence[RowGroup],
    hosts: Mapping[str, int],
    slots: Sequence[int],
    before: Changes | None = None,
) -> list[Load]:
    """The load of every group, and at the end that of all hosts.

    before: what else is in use, of :func:`load_changes`.
    """
    changes = load_changes(stretches, groups, hosts, len(slots), before)
    sizes = [sum(slots[host] for host in group.hosts) for group in groups]
    return [_load(at, size) for at, size in zip(changes, [*sizes, sum(slots)], strict=True)]


def load_changes(
    stretches: Iterable[Stretch],
    groups: Sequence[RowGroup],
    hosts: Mapping[str, int],
    count: int,
    before: Changes | None = None,
) -> Changes:
    """Where the load changes by these stretches, of `count` hosts; `before` is added."""
    around = _groups_of(groups, count)
    if before is None:
        before = [{} for _ in range(len(groups) + 1)]
    changes = [{time: list(more) for time, more in at.items()} for at in before]
    for stretch in stretches:
        if stretch.finish is not None and stretch.finish <= stretch.start:
            continue
        kind = KINDS.index(stretch.kind)
        share: dict[int, int] = {}
        for name, slots in stretch.allocation.items():
            for group in around[hosts[name]]:
                share[group] = share.get(group, 0) + slots
        for group, more in share.items():
            at = changes[group]
            at.setdefault(stretch.start, [0, 0, 0])[kind] += more
            if stretch.finish is not None:
                at.setdefault(stretch.finish, [0, 0, 0])[kind] -= more
    return changes


def _groups_of(groups: Sequence[RowGroup], hosts: int) -> list[list[int]]:
    """The groups that each host lies in, and the one of all hosts."""
    found: list[list[int]] = [[] for _ in range(hosts)]
    for place, group in enumerate(groups):
        for host in group.hosts:
            found[host].append(place)
    for around in found:
        around.append(len(groups))
    return found


def _load(changes: Mapping[int, Sequence[int]], size: int) -> Load:
    if not changes:
        return Load()
    times = sorted(changes)
    levels = np.cumsum([changes[time] for time in times], axis=0).astype(float)
    levels[:, 2] = np.minimum(levels[:, 2], np.maximum(size - levels[:, 0] - levels[:, 1], 0.0))
    kept, levels = thinned(np.array(times, dtype=np.int64), levels, MOST_STEPS)
    columns = [tuple(np.round(levels[:, kind], 2).tolist()) for kind in range(len(KINDS))]
    return Load(tuple(kept.tolist()), *columns)


def thinned(times: np.ndarray, levels: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Steps [T] with their levels [T, K]; more than `most` become means over equal stretches."""
    if len(times) <= most:
        return times, levels
    stretches = np.diff(times)
    area = np.vstack(
        [np.zeros(levels.shape[1]), np.cumsum(levels[:-1] * stretches[:, None], axis=0)]
    )
    edges = np.linspace(times[0], times[-1], most).astype(np.int64)
    edges = np.unique(edges)
    at = np.clip(np.searchsorted(times, edges, side="right") - 1, 0, len(times) - 1)
    whole = area[at] + levels[at] * (edges - times[at])[:, None]
    means = np.diff(whole, axis=0) / np.diff(edges)[:, None]
    return edges, np.vstack([means, levels[-1]])
