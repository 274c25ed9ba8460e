"""The Gantt chart of the report as a picture for papers: PNG or SVG, by matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...model.escaping import printable
from ..pictures import drawing, picture
from .bars import Bar, ChartRow, Load, ticks, visible_rows
from .data import Chart, Report, View, chart

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Inches; a row is as high as its slots need, within bounds.
WIDTH = 9.0
LOWEST_ROW, HIGHEST_ROW = 0.16, 0.5
TALLEST = 9.0
RUNNING = ("#aab6c5", "#97a5b7", "#bcc6d2")
PLANNED = "#4f7fe0"
RESERVED = "#c98a12"
JOBS = (
    *("#3b76e1", "#e0742c", "#1f9d7a", "#b0479b", "#c9a227"),
    *("#5a55c9", "#d1495b", "#2a9db0", "#7a9e3b", "#9a6b4f"),
)
#: Names in the picture are drawn where a bar is at least this wide (share of the axis) and high.
NAME_WIDTH = 0.05
MAX_TICKS = 8
#: A pool of processors is one row; it may be as high as this (inches).
ONE_ROW = 3.5


def figure_bytes(report: Report, form: str) -> bytes:
    """Return a figure with the chart of every view; equal reports give equal bytes.

    form: "png" or "svg".
    """
    charts = [(view, chart(report, view)) for view in report.views]
    rows = visible_rows(
        charts[0][1].groups, len(report.instance.cluster.hosts), charts[0][1].opened
    )
    each = _height(report, rows)
    with drawing(WIDTH, len(charts) * (each + 0.75) + 0.3) as figure:
        axes = figure.subplots(len(charts), 1, squeeze=False, sharex=True)[:, 0]
        for axis, (view, found) in zip(axes, charts, strict=True):
            _draw(axis, report, view, found, rows)
        _time_axis(axes[-1], report, charts[0][1])
        from matplotlib.patches import Patch

        reserved = any(
            stretch.kind == "reserved" for view in report.views for stretch in view.stretches
        )
        entries = [
            Patch(facecolor=RUNNING[0], label="running"),
            Patch(facecolor=PLANNED, label="planned"),
        ]
        if reserved:
            entries.append(
                Patch(facecolor="none", edgecolor=RESERVED, hatch="//////", label="reserved")
            )
        axes[0].legend(
            handles=entries,
            loc="lower right",
            bbox_to_anchor=(1, 1),
            ncols=3,
            frameon=False,
            fontsize=7,
            borderaxespad=0.2,
        )
        return picture(figure, form)


def _height(report: Report, rows: list[ChartRow]) -> float:
    """Return the height of one chart in inches."""
    if len(rows) == 1:
        return ONE_ROW
    most = max(
        report.instance.cluster.hosts[row.index].slots if row.kind == "host" else 4 for row in rows
    )
    each = min(HIGHEST_ROW, max(LOWEST_ROW, 0.08 * most))
    return min(TALLEST, max(each * len(rows), 0.9))


def _draw(axis: Axes, report: Report, view: View, found: Chart, rows: list[ChartRow]) -> None:
    span = max(60, found.end - found.begin)
    left, right = found.begin - 0.06 * span, found.end + 0.04 * span
    at_host = {row.index: place for place, row in enumerate(rows) if row.kind == "host"}
    pending = [*report.instance.pending, *report.instance.future]
    colours = {job.id: JOBS[n % len(JOBS)] for n, job in enumerate(pending)}
    lanes = _lanes(report, found)
    for bar in found.bars:
        if bar.host in at_host and bar.start < right and (bar.finish is None or bar.finish > left):
            _bar(axis, bar, at_host[bar.host], lanes[bar.host], colours, (left, right))
    for place, row in enumerate(rows):
        if row.kind == "group":
            hosts = found.groups[row.index].hosts
            size = sum(report.instance.cluster.hosts[host].slots for host in hosts)
            _load(axis, found.loads[row.index], place, max(1, size), right)
    axis.axvline(report.instance.now, color="#b5451b", linewidth=1)
    axis.set_xlim(left, right)
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.set_yticks(range(len(rows)), [_label(report, found, row) for row in rows])
    axis.tick_params(axis="y", length=0, labelsize=7 if len(rows) <= 30 else 5)
    axis.set_title(view.name, loc="left", fontsize=9, fontweight="bold")
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    axis.grid(axis="x", color="#dde3ea", linewidth=0.6)
    axis.set_axisbelow(True)


def _lanes(report: Report, found: Chart) -> dict[int, int]:
    """Return the number of lanes of each host: its slots, or more if more are in use."""
    most = {n: max(1, host.slots) for n, host in enumerate(report.instance.cluster.hosts)}
    for bar in found.bars:
        most[bar.host] = max(most[bar.host], bar.first + bar.count)
    return most


def _bar(
    axis: Axes,
    bar: Bar,
    place: int,
    lanes: int,
    colours: dict[str, str],
    visible: tuple[float, float],
) -> None:
    left, right = visible
    begin, end = max(bar.start, left), min(right if bar.finish is None else bar.finish, right)
    lane = 0.88 / lanes
    top = place - 0.44 + bar.first * lane
    colour = colours.get(bar.job, RUNNING[sum(bar.job.encode()) % len(RUNNING)])
    style: dict[str, Any] = {"facecolor": colour, "edgecolor": "white", "linewidth": 0.3}
    if bar.kind == "reserved":
        style = {"facecolor": "none", "edgecolor": RESERVED, "hatch": "//////", "linewidth": 0.6}
    axis.broken_barh([(begin, end - begin)], (top, bar.count * lane), **style)
    if end - begin > NAME_WIDTH * (right - left) and bar.count * lane > 0.3:
        axis.text(
            (begin + end) / 2,
            top + bar.count * lane / 2,
            printable(bar.job),
            ha="center",
            va="center",
            fontsize=6,
            color="white" if bar.job in colours and bar.kind != "reserved" else "#17202c",
            clip_on=True,
        )


def _load(axis: Axes, load: Load, place: int, size: int, right: float) -> None:
    """Draw the stacked steps of a folded group within its row."""
    axis.axhspan(place - 0.44, place + 0.44, color="#eef1f5", zorder=0)
    if not load.times:
        return
    times = [*load.times, max(right, load.times[-1])]
    below = [place + 0.44] * len(times)
    kinds = ((load.running, RUNNING[0]), (load.planned, PLANNED), (load.reserved, RESERVED))
    for levels, colour in kinds:
        stacked = [*levels, levels[-1]]
        above = [low - 0.88 * level / size for low, level in zip(below, stacked, strict=True)]
        axis.fill_between(times, below, above, step="post", color=colour, linewidth=0)
        below = above


def _label(report: Report, found: Chart, row: ChartRow) -> str:
    if row.kind == "host":
        return printable(report.instance.cluster.hosts[row.index].name)
    return printable(found.groups[row.index].name)


def _time_axis(axis: Axes, report: Report, found: Chart) -> None:
    marks = ticks(report.instance, found.begin, found.end, MAX_TICKS)
    axis.set_xticks([time for time, _ in marks], [label for _, label in marks])
