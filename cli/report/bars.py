"""Bars of a Gantt chart: which slots of a host a job is drawn on, and the chart in a terminal."""

from __future__ import annotations

import bisect
import heapq
import itertools
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

import numpy as np

from ...model.cluster import Cluster, ComputeUnit, Host
from ...model.display import DAY, MINUTE, duration_text
from ...model.duration import expected_finish
from ...model.escaping import printable
from ...model.instance import Instance
from ...model.plan import PlannedJob
from ...solver.pending_reasons import counted

Kind = Literal["running", "planned", "reserved"]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Slots that a job has or that are kept for it; seconds, finish None for "end unknown"."""

    job: str
    #: "running", "planned", or "reserved": held now for a start later on.
    kind: Kind
    start: int
    finish: int | None
    allocation: Mapping[str, int]


def running_stretches(instance: Instance) -> tuple[Stretch, ...]:
    """Return the stretches of the running jobs, up to their expected ends."""
    return tuple(
        Stretch(run.job.id, "running", run.start, expected_finish(instance, run), run.allocation)
        for run in instance.running
    )


def planned_stretches(planned: Iterable[PlannedJob]) -> tuple[Stretch, ...]:
    """Return the intervals of the planned jobs that have a start."""
    return tuple(
        Stretch(item.job, "planned", item.start, item.finish, item.allocation)
        for item in planned
        if item.start is not None
    )


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle: lanes first to first + count of a host (by index), a lane for each slot."""

    job: str
    kind: Kind
    #: Index of the host.
    host: int
    #: First lane of the bar on its host.
    first: int
    #: Number of lanes.
    count: int
    #: Start in seconds.
    start: int
    #: Finish in seconds; None: no known end.
    finish: int | None


@dataclass(slots=True)
class _Lanes:
    """The lanes of one host: free runs [begin, end), and lanes in use by the time of their
    release.
    """

    free: list[tuple[int, int]]
    busy: list[tuple[int, int, int]]
    top: int

    def release(self, now: int) -> None:
        """Release the lanes that are free by `now`."""
        while self.busy and self.busy[0][0] <= now:
            _, first, end = heapq.heappop(self.busy)
            place = bisect.bisect(self.free, (first, end))
            if place < len(self.free) and self.free[place][0] == end:
                end = self.free.pop(place)[1]
            if place and self.free[place - 1][1] == first:
                place -= 1
                first = self.free.pop(place)[0]
            self.free.insert(place, (first, end))

    def take(self, count: int, until: int | None) -> list[tuple[int, int]]:
        """Return (first, count) of the taken runs: one run if possible, else the lowest lanes.

        Where more is in use than the host has, lanes are added on top.
        """
        whole = next((run for run in self.free if run[1] - run[0] >= count), None)
        taken: list[tuple[int, int]] = []
        if whole is not None:
            taken.append((whole[0], count))
        else:
            for first, end in self.free:
                taken.append((first, min(end - first, count)))
                count -= taken[-1][1]
                if not count:
                    break
            if count:
                taken.append((self.top, count))
                self.top += count
        for first, size in taken:
            self._occupy(first, first + size, until)
        return taken

    def _occupy(self, first: int, end: int, until: int | None) -> None:
        place = next((n for n, run in enumerate(self.free) if run[0] == first), None)
        if place is not None:
            rest = (end, self.free[place][1])
            self.free[place : place + 1] = [rest] if rest[0] < rest[1] else []
        if until is not None:
            heapq.heappush(self.busy, (until, first, end))


def bars(stretches: Iterable[Stretch], hosts: Mapping[str, int], slots: Sequence[int]) -> list[Bar]:
    """Return the bars of all stretches by host; jobs share a lane only if lanes run short.

    hosts: index by name. slots: of each host. What is reserved is drawn last, on lanes that are
    free when it begins, and may lie over jobs that borrow it.
    """
    on_host: dict[int, list[tuple[Stretch, int]]] = {}
    for stretch in stretches:
        if stretch.finish is None or stretch.start < stretch.finish:
            for name, count in stretch.allocation.items():
                if count > 0:
                    on_host.setdefault(hosts[name], []).append((stretch, count))
    return [
        bar for host in sorted(on_host) for bar in _bars_of_host(host, slots[host], on_host[host])
    ]


def _bars_of_host(host: int, slots: int, held: list[tuple[Stretch, int]]) -> list[Bar]:
    lanes = _Lanes([(0, slots)] if slots else [], [], slots)
    found: list[Bar] = []
    jobs = [item for item in held if item[0].kind != "reserved"]
    for stretch, count in sorted(jobs, key=lambda item: item[0].start):
        lanes.release(stretch.start)
        found += _drawn(stretch, host, lanes.take(count, stretch.finish))
    kept = [item for item in held if item[0].kind == "reserved"]
    taken: list[tuple[int, int]] = []
    for stretch, count in kept:
        busy = [
            (bar.first, bar.first + bar.count)
            for bar in found
            if bar.kind != "reserved"
            and bar.start <= stretch.start
            and (bar.finish is None or bar.finish > stretch.start)
        ]
        runs = _gaps(sorted([*busy, *taken]), slots, count)
        taken += [(first, first + size) for first, size in runs]
        found += _drawn(stretch, host, runs)
    return found


def _drawn(stretch: Stretch, host: int, runs: Iterable[tuple[int, int]]) -> list[Bar]:
    return [
        Bar(stretch.job, stretch.kind, host, first, count, stretch.start, stretch.finish)
        for first, count in runs
    ]


def _gaps(busy: list[tuple[int, int]], slots: int, count: int) -> list[tuple[int, int]]:
    """Return (first, count) of the lowest free lanes, `count` in all; the rest lies on top."""
    found: list[tuple[int, int]] = []
    place = 0
    for first, end in [*busy, (max(slots, place), slots)]:
        if first > place and count:
            size = min(first - place, count)
            found.append((place, size))
            count -= size
        place = max(place, end)
    if count:
        found.append((place, count))
    return found


#: Hosts that need no groups where the cluster has no compute units.
FEW_HOSTS = 40
#: Groups that hosts without compute units are divided into, at most.
MAX_BLOCKS = 100
SMALLEST_BLOCK = 16


@dataclass(slots=True)
class RowGroup:
    """A row that folds."""

    name: str
    #: Name of the compute unit, "hosts" for a run of hosts without one.
    type: str
    #: Index of the enclosing group, None if there is none.
    parent: int | None
    #: Index of each host somewhere in it.
    hosts: tuple[int, ...]
    #: Numbers of the hosts that lie in no inner group: rows of their own in the group.
    own: tuple[int, ...] = ()
    groups: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ChartRow:
    """One row of the chart: a host (index) or a folded or open group (index); depth from 0."""

    #: Kind of the row: group or host.
    kind: str
    #: Index of the group or host.
    index: int
    #: Depth in the tree of groups.
    depth: int


def host_groups(cluster: Cluster) -> tuple[RowGroup, ...]:
    """Return compute units as a tree, parents first; runs of hosts if no unit exists.

    Hosts that are in no unit come last, in a group of their own. No groups for few hosts.
    """
    if cluster.units:
        return _units(cluster)
    count = len(cluster.hosts)
    if count <= FEW_HOSTS:
        return ()
    size = max(SMALLEST_BLOCK, -(-count // MAX_BLOCKS))
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
    """Return the rows from top to bottom; the numbers of all hosts if there are no groups."""
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
    """Return the groups to open, level by level, while at most `most` rows result."""
    opened: frozenset[int] = frozenset()
    level = [place for place, group in enumerate(groups) if group.parent is None]
    while level:
        wider = opened | frozenset(level)
        if len(visible_rows(groups, hosts, wider)) > most:
            break
        opened = wider
        level = [child for place in level for child in groups[place].groups]
    return opened


#: Seconds between ticks, as people count time; beyond them whole days.
_STEPS = (1, 5, 15, 60, 300, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400)


def step_of_scale(span: float, max_steps: int) -> int:
    """Return the smallest step of a scale (seconds) of which `max_steps` make up the span."""
    days = int(-(-span // (DAY * max_steps))) * DAY
    return next((size for size in _STEPS if span <= max_steps * size), days)


def ticks(instance: Instance, begin: int, end: int, most: int) -> list[tuple[int, str]]:
    """Return times (seconds from the origin) in [begin, end] with labels, about `most`.

    Without an origin they count from now, else they are round by the clock; now is called so.
    """
    step = step_of_scale(max(1, end - begin), most)
    if instance.origin is None:
        first = instance.now - (instance.now - begin) // step * step
        times = range(first, end + 1, step)
        return [(t, "now" if t == instance.now else duration_text(t - instance.now)) for t in times]
    zero = datetime.fromisoformat(instance.origin)
    past_midnight = round((zero - zero.replace(hour=0, minute=0, second=0)).total_seconds())
    first = -(-(begin + past_midnight) // step) * step - past_midnight
    form = "%m-%d" if step >= DAY else "%m-%d %H:%M" if step >= MINUTE else "%H:%M:%S"
    return [
        (time, (zero + timedelta(seconds=time)).strftime(form))
        for time in range(first, end + 1, step)
    ]


#: Steps of one load; those with more are averaged over equal stretches of time.
MAX_STEPS = 800
KINDS: tuple[Kind, ...] = ("running", "planned", "reserved")


@dataclass(frozen=True, slots=True)
class Load:
    """Slots by kind from each time (seconds) until the next."""

    times: tuple[int, ...] = ()
    running: tuple[float, ...] = ()
    planned: tuple[float, ...] = ()
    #: Reserved slots that no job uses.
    reserved: tuple[float, ...] = ()

    def to_dict(self) -> dict[str, tuple[float, ...]]:
        """Return plain data with the columns themselves, not copies."""
        return {name: getattr(self, name) for name in ("times", *KINDS)}


#: Changes of use by kind and time, for every group and at the end for all hosts.
Changes = list[dict[int, list[int]]]


def loads(
    stretches: Iterable[Stretch],
    groups: Sequence[RowGroup],
    hosts: Mapping[str, int],
    slots: Sequence[int],
    before: Changes | None = None,
) -> list[Load]:
    """Return the load of every group, and at the end the load of all hosts.

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
    """Return load changes at the ends of these intervals, of `count` hosts; `before` is added."""
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
    """Return the groups that each host lies in, and the group of all hosts."""
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
    times = np.array(sorted(changes), dtype=np.int64)
    levels = np.cumsum([changes[time] for time in times.tolist()], axis=0).astype(float)
    levels[:, 2] = np.minimum(levels[:, 2], np.maximum(size - levels[:, 0] - levels[:, 1], 0.0))
    return Load(*step_columns(times, levels, MAX_STEPS))


def step_columns(times: np.ndarray, levels: np.ndarray, most: int) -> list[tuple[Any, ...]]:
    """Return the times of at most `most` steps, and their levels, a column each."""
    kept, levels = thinned(times, levels, most)
    return [tuple(column.tolist()) for column in (kept, *np.round(levels, 2).T)]


def thinned(times: np.ndarray, levels: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return steps [T] with levels [T, K]; more than `most` become means over equal spans."""
    if len(times) <= most:
        return times, levels
    area = np.vstack(
        [np.zeros(levels.shape[1]), np.cumsum(levels[:-1] * np.diff(times)[:, None], axis=0)]
    )
    edges = np.linspace(times[0], times[-1], most).astype(np.int64)
    edges = np.unique(edges)
    at = np.clip(np.searchsorted(times, edges, side="right") - 1, 0, len(times) - 1)
    whole = area[at] + levels[at] * (edges - times[at])[:, None]
    means = np.diff(whole, axis=0) / np.diff(edges)[:, None]
    return edges, np.vstack([means, levels[-1]])


#: Maximum number of lines of a chart, if folding suffices.
MAX_LINES = 32
SHADES = "·▁▂▃▄▅▆▇█"
RUNNING, FREE = "░", "·"
LETTERS = string.ascii_uppercase + string.ascii_lowercase
#: Planned jobs beyond the letters.
OTHER = "*"
#: Columns of names at the left, at most.
WIDEST_NAME = 18
#: Columns of a chart, at most: bars say no more in wider ones.
WIDEST = 100


def gantt_text(instance: Instance, planned: Iterable[PlannedJob], width: int) -> str:
    """Return the chart of a plan in `width` columns with a legend; "" if it plans no start.

    A column of a host shows the planned job with most slots there then, else whether something
    runs; the legend counts the jobs that others hide. A folded group shows how full it is. Of very
    many rows those with planned jobs are shown.
    """
    items = [item for item in planned if item.start is not None]
    ends = [item.start if item.finish is None else item.finish for item in items]
    last = max((end for end in ends if end is not None), default=instance.now)
    if last <= instance.now:
        return ""
    new = planned_stretches(items)
    groups = host_groups(instance.cluster)
    index = instance.cluster.host_index()
    used = {index[name] for stretch in new for name in stretch.allocation}
    rows, left_out = _shown_rows(groups, len(index), used)
    names = [_label(instance, groups, row) for row in rows]
    left = max(map(len, names))
    columns = max(20, width - left - 3)
    edges = [instance.now + (last - instance.now) * n // columns for n in range(columns + 1)]
    numbers = {stretch.job: number for number, stretch in enumerate(new)}
    drawn = list(
        _cells(instance, groups, rows, [*running_stretches(instance), *new], edges, numbers)
    )
    seen = sorted({cell for cells in drawn for cell in cells if isinstance(cell, int)})
    letters = dict(zip(seen, LETTERS, strict=False))
    lines = [f"{'':<{left}}  {_axis(instance, edges)}".rstrip()]
    for name, cells in zip(names, drawn, strict=True):
        signs = (letters.get(cell, OTHER) if isinstance(cell, int) else cell for cell in cells)
        lines.append(f"{name:<{left}} ▕{''.join(signs)}▏")
    if left_out:
        lines.append(f"{'':<{left}}  {counted(left_out, 'row')} without planned jobs not shown")
    here = {instance.cluster.hosts[row.index].name for row in rows if row.kind == "host"}
    hidden = sum(
        not here.isdisjoint(item.allocation) for n, item in enumerate(new) if n not in set(seen)
    )
    said = [f"{letter}\xa0{printable(new[number].job)}" for number, letter in letters.items()]
    if others := len(seen) - len(letters):
        said.append(f"{OTHER}\xa0{counted(others, 'other job')}")
    if hidden:
        said.append(f"{counted(hidden, 'job')} hidden by jobs with more slots there")
    return "\n".join([*lines, *_legend(said, bool(groups), width)]) + "\n"


def _shown_rows(
    groups: Sequence[RowGroup], count: int, used: set[int]
) -> tuple[list[ChartRow], int]:
    """Return the rows to show, and the number of omitted rows."""
    rows = visible_rows(groups, count, opened_within(groups, count, MAX_LINES))
    if len(rows) <= MAX_LINES:
        return rows, 0
    kept = [
        row
        for row in rows
        if not used.isdisjoint(groups[row.index].hosts if row.kind == "group" else [row.index])
    ][:MAX_LINES]
    return kept, len(rows) - len(kept)


def _cells(
    instance: Instance,
    groups: Sequence[RowGroup],
    rows: Sequence[ChartRow],
    stretches: Sequence[Stretch],
    edges: Sequence[int],
    numbers: Mapping[str, int],
) -> Iterator[Sequence[str | int]]:
    """Yield the cells of each row: signs of its bars, and planned jobs by their number."""
    index = instance.cluster.host_index()
    slots = [host.slots for host in instance.cluster.hosts]
    levels = loads(stretches, groups, index, slots)
    by_host = _by_host(stretches, index)
    for row in rows:
        if row.kind == "host":
            yield _host_cells(by_host.get(row.index, ()), edges, numbers)
            continue
        load = levels[row.index]
        size = max(1, sum(slots[host] for host in groups[row.index].hosts))
        use = [a + b for a, b in zip(load.running, load.planned, strict=True)]
        cells, place = [], -1
        for begin, end in itertools.pairwise(edges):
            middle = (begin + end) // 2
            while place + 1 < len(load.times) and load.times[place + 1] <= middle:
                place += 1
            share = use[place] / size if place >= 0 else 0.0
            step = min(len(SHADES) - 1, round(share * (len(SHADES) - 1)))
            cells.append(SHADES[max(step, 1) if share > 0 else 0])
        yield "".join(cells)


def _label(instance: Instance, groups: Sequence[RowGroup], row: ChartRow) -> str:
    host = row.kind == "host"
    name = instance.cluster.hosts[row.index].name if host else groups[row.index].name
    text = "  " * row.depth + printable(name)
    return text if len(text) <= WIDEST_NAME else text[: WIDEST_NAME - 1] + "…"


def _by_host(
    stretches: Sequence[Stretch], index: Mapping[str, int]
) -> dict[int, list[tuple[Stretch, int]]]:
    found: dict[int, list[tuple[Stretch, int]]] = {}
    for stretch in stretches:
        for name, slots in stretch.allocation.items():
            found.setdefault(index[name], []).append((stretch, slots))
    return found


def _host_cells(
    held: Sequence[tuple[Stretch, int]], edges: Sequence[int], numbers: Mapping[str, int]
) -> list[str | int]:
    cells: list[str | int] = []
    for begin, end in itertools.pairwise(edges):
        most = 0.0
        cell: str | int = FREE
        for stretch, slots in held:
            upto = end if stretch.finish is None else min(end, stretch.finish)
            area = slots * (upto - max(begin, stretch.start))
            if area > 0 and stretch.kind == "planned" and area > most:
                most, cell = area, numbers[stretch.job]
            elif area > 0 and cell == FREE:
                cell = RUNNING
        cells.append(cell)
    return cells


def _axis(instance: Instance, edges: Sequence[int]) -> str:
    """Return the clock times above the chart, as many as the width allows."""
    columns, begin, end = len(edges) - 1, edges[0], edges[-1]
    line: list[str] = []
    for time, label in ticks(instance, begin, end, max(2, columns // 10)):
        place = (time - begin) * columns // (end - begin)
        if len(line) <= place <= columns - len(label) - 1:
            line += [" "] * (place - len(line)) + [*f"|{label} "]
    return "".join(line)


def _legend(said: Sequence[str], groups: bool, width: int) -> list[str]:
    """Return the legend of signs and letters, wrapped; said: the jobs, one piece each."""
    import textwrap

    signs = f"{RUNNING} running, {FREE} free"
    signs += f", {SHADES[1]} to {SHADES[-1]} how full a folded group is" if groups else ""
    text = f"{signs}; {', '.join(said)}" if said else signs
    lines = textwrap.wrap(text, max(40, width), break_on_hyphens=False, break_long_words=False)
    return [line.replace("\xa0", " ") for line in lines]
