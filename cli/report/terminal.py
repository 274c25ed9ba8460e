"""The Gantt chart in a terminal: a line for each host or group, a letter for each job."""

from __future__ import annotations

import itertools
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...model.duration import expected_finish
from ...model.escaping import printable
from ...model.instance import Instance
from ...model.plan import PlannedJob
from ...solver.pending_reasons import counted
from .bars import (
    ChartRow,
    RowGroup,
    Stretch,
    host_groups,
    loads,
    opened_within,
    ticks,
    visible_rows,
)

#: Maximum number of lines of a chart, if folding suffices.
MAX_ROWS = 32
SHADES = "·▁▂▃▄▅▆▇█"
RUNNING, FREE = "░", "·"
LETTERS = string.ascii_uppercase + string.ascii_lowercase
#: Planned jobs beyond the letters.
OTHER = "*"
#: Columns of names at the left, at most.
WIDEST_NAME = 18
#: Columns of a chart, at most: bars say no more in wider ones.
WIDEST = 100


def print_gantt(instance: Instance, planned: Iterable[PlannedJob]) -> None:
    """Print the chart on standard output, up to as wide as the listings above it."""
    import typer

    from ..tables import terminal_width

    drawn = gantt_text(instance, planned, min(terminal_width(), WIDEST))
    typer.echo(
        f"\n{drawn}" if drawn else "\nno job has a planned start: there is nothing to draw\n",
        nl=False,
    )


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
    stretches = [_running(instance, number) for number in range(len(instance.running))]
    new = [
        Stretch(item.job, "planned", item.start, item.finish, item.allocation)
        for item in items
        if item.start is not None
    ]
    groups = host_groups(instance.cluster)
    index = instance.cluster.host_index()
    used = {index[name] for stretch in new for name in stretch.allocation}
    rows, left_out = _rows(groups, len(index), used)
    names = [_label(instance, groups, row) for row in rows]
    left = max(map(len, names))
    columns = max(20, width - left - 3)
    edges = [instance.now + (last - instance.now) * n // columns for n in range(columns + 1)]
    numbers = {stretch.job: number for number, stretch in enumerate(new)}
    drawn = list(_cells(instance, groups, rows, [*stretches, *new], edges, numbers))
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


def _rows(groups: Sequence[RowGroup], count: int, used: set[int]) -> tuple[list[ChartRow], int]:
    """Return the rows to show, and the number of omitted rows."""
    rows = visible_rows(groups, count, opened_within(groups, count, MAX_ROWS))
    if len(rows) <= MAX_ROWS:
        return rows, 0
    kept = [
        row
        for row in rows
        if not used.isdisjoint(groups[row.index].hosts if row.kind == "group" else [row.index])
    ][:MAX_ROWS]
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


def _running(instance: Instance, number: int) -> Stretch:
    run = instance.running[number]
    return Stretch(run.job.id, "running", run.start, expected_finish(instance, run), run.allocation)


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
