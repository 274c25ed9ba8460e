"""How right estimates were, as one table for ``slotwise score`` and ``slotwise backtest``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ..model.display import duration_text
from .tables import Column, ListingRow, listing_text

if TYPE_CHECKING:
    from ..solver.accuracy.measures import Accuracy, GroupAccuracy

_COLUMNS = (
    *(Column("OF"), Column("METHOD"), Column("JOBS"), Column("MEAN ERROR"), Column("MEDIAN")),
    *(Column("9 IN 10"), Column("BIAS"), Column("IN 5m"), Column("IN 1h")),
    *(Column("BY P10"), Column("BY P50"), Column("BY P90")),
)
#: Characters of a full line of the diagram.
_WIDTH = 50


def accuracy_text(rows: Iterable[tuple[str, Accuracy]]) -> str:
    """Return a table with a row for each group and method."""
    return listing_text(_COLUMNS, [ListingRow(_cells(*row)) for row in rows])


def of_groups(groups: Iterable[GroupAccuracy]) -> Iterator[tuple[str, Accuracy]]:
    """Yield the rows of groups, all jobs first."""
    for group in groups:
        name = "all jobs" if group.by == "all" else f"{group.by} {group.group}"
        yield from ((name, item) for item in group.estimators)


def _cells(group: str, item: Accuracy) -> tuple[str, ...]:
    shares = (item.within_5m, item.within_1h, item.by_early, item.by_likely, item.by_late)
    times = (item.mean_error, item.median_error, item.p90_error)
    return (
        group,
        item.estimator,
        str(item.jobs),
        *map(_duration, times),
        _bias(item.bias),
        *("" if share is None else f"{share:.0%}" for share in shares),
    )


def _duration(seconds: float | None) -> str:
    return "" if seconds is None else duration_text(round(seconds))


def _bias(seconds: float | None) -> str:
    """Return a mean error with its side: an estimate before the start is early."""
    if seconds is None:
        return ""
    side = "early" if seconds < 0 else "late"
    return f"{_duration(abs(seconds))} {side}" if round(seconds) else "0s"


def diagram_text(rows: list[tuple[float, float, float | None]]) -> str:
    """Return, for each probability, the share of jobs started by then; a mark shows the target."""
    lines = ["stated  held   (| where it should be)\n"]
    for level, share, calibrated in rows:
        bar = ["█" if place < round(share * _WIDTH) else " " for place in range(_WIDTH)]
        bar[round(level * _WIDTH) - 1] = "|"
        after = "" if calibrated is None else f"  calibrated {calibrated:.3f}"
        lines.append(
            f"  {level:.1f}  {share:.3f}  {''.join(bar).rstrip():<{_WIDTH}}{after}".rstrip()
        )
        lines.append("\n")
    return "".join(lines)
