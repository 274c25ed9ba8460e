"""The figure of ``slotwise replay --plot``: distributions, curves over time and Gantt charts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..model.display import DAY, HOUR, MINUTE
from .pictures import drawing, picture

if TYPE_CHECKING:
    from ..solver.replay import ReplayComparison
    from ..solver.replay.series import Curves

#: Suffixes of a figure.
SUFFIXES = (".svg", ".pdf", ".png")
#: Inches: width of a page of two columns, height of the distributions and of every other chart.
_WIDTH, _HIGH, _LOW = 7.0, 2.4, 1.3
#: Colours that differ in print and for people who see few colours (Okabe and Ito).
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#b3a900")
#: Colours of the bars of a Gantt chart.
_BARS = ("#4477aa", "#66ccee", "#228833", "#ccbb44", "#ee6677", "#aa3377", "#bbbbbb")


def figure_bytes(compared: ReplayComparison, form: str) -> bytes:
    """Return the figure of a comparison as a file. form: "svg", "pdf" or "png"."""
    from ..solver.replay.series import curves, gantt, gantt_span

    found = [curves(result, compared.measuring) for result in compared]
    span = gantt_span(compared.results[0])
    charts = [(result.policy, gantt(result.schedule, span)) for result in compared]
    rows = 2 + len(charts)
    unit = _unit(int(found[0].edges[-1] - found[0].edges[0]))
    with drawing(_WIDTH, _HIGH + rows * _LOW) as figure:
        grid = figure.add_gridspec(1 + rows, 2, height_ratios=[_HIGH, *[_LOW] * rows])
        _distributions(figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[0, 1]), found)
        _over_time(figure.add_subplot(grid[1, :]), found, unit, "used")
        _over_time(figure.add_subplot(grid[2, :]), found, unit, "waiting")
        for row, (policy, bars) in enumerate(charts):
            axis = figure.add_subplot(grid[3 + row, :])
            from matplotlib.collections import PolyCollection

            begin, end = span
            shapes, colours = [], []
            for bar in bars:
                left, right = max(bar.start, begin) / unit[0], min(bar.finish, end) / unit[0]
                for low, high in bar.processors:
                    shapes.append([(left, low), (right, low), (right, high + 1), (left, high + 1)])
                    colours.append(_BARS[bar.job % len(_BARS)])
            axis.add_collection(PolyCollection(shapes, facecolors=colours, linewidths=0))
            axis.set(xlim=(begin / unit[0], end / unit[0]), ylim=(0, compared.results[0].procs))
            axis.set_ylabel(f"{policy}\nprocessor")
            if row == len(charts) - 1:
                axis.set_xlabel(f"time ({unit[1]})")
        return picture(figure, form)


def form_of(path: Path) -> str:
    """Return the form of a figure by the name of its file."""
    return path.suffix.removeprefix(".")


def _distributions(waits: Any, slowdowns: Any, found: Sequence[Curves]) -> None:
    """Plot the share of the jobs up to each wait and slowdown."""
    for number, curve in enumerate(found):
        share = [100 * step / (len(curve.waits) - 1) for step in range(len(curve.waits))]
        style: dict[str, Any] = {"color": _COLOURS[number % len(_COLOURS)], "linewidth": 1}
        waits.step(curve.waits, share, where="post", label=curve.policy, **style)
        slowdowns.step(curve.slowdowns, share, where="post", label=curve.policy, **style)
    waits.set_xscale("symlog", linthresh=MINUTE)
    marks = {0: "0", MINUTE: "1 min", HOUR: "1 h", DAY: "1 d", 10 * DAY: "10 d"}
    waits.set_xticks(list(marks), list(marks.values()))
    waits.set_xticks([], minor=True)
    waits.set(xlabel="wait", ylabel="share of jobs (%)", ylim=(0, 100), xlim=(0, None))
    slowdowns.set_xscale("log")
    # The formatter of log scales writes formulas, which the settings switch off.
    slowdowns.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    slowdowns.xaxis.set_minor_formatter(lambda *_: "")
    highest = max(2.0, *(float(curve.slowdowns[-1]) for curve in found))
    slowdowns.set(xlabel="bounded slowdown", ylim=(0, 100), xlim=(1, highest))
    slowdowns.legend(frameon=False, loc="lower right")


def _unit(seconds: int) -> tuple[int, str]:
    """Return the unit of a time axis of this length: its seconds and its name."""
    if seconds >= 3 * DAY:
        return DAY, "days"
    return (HOUR, "hours") if seconds >= 3 * HOUR else (1, "seconds")


def _over_time(axis: Any, found: Sequence[Curves], unit: tuple[int, str], name: str) -> None:
    """Plot one curve per policy over time. name: "used" or "waiting", a field of the curves."""
    factor, label = (100, "processors in use (%)") if name == "used" else (1, "waiting jobs")
    for number, curve in enumerate(found):
        times, values = curve.edges / unit[0], factor * getattr(curve, name)
        colour = _COLOURS[number % len(_COLOURS)]
        axis.stairs(values, times, color=colour, linewidth=0.8, label=curve.policy)
    last = max(int(curve.edges[-1]) for curve in found)
    axis.set(ylabel=label, xlim=(found[0].edges[0] / unit[0], last / unit[0]), ylim=(0, None))
