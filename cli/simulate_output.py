"""How ``slotwise simulate`` prints what came of it: text, JSON and CSV."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .cells import csv_cell
from .plain_metrics import plain_metric
from .plain_tables import plain_table
from .tables import Column, ListingRow, listing_text, terminal_width

if TYPE_CHECKING:
    from ..solver.loop.cycle_fit import CycleFit
    from ..solver.loop.recorded import WaitComparison
    from ..solver.loop.records import Simulation

#: Columns of the table of waits: title and field, recorded and simulated side by side.
WAITS = (
    ("JOBS", "jobs"),
    ("REC_MEAN", "recorded_mean_wait"),
    ("SIM_MEAN", "simulated_mean_wait"),
    ("REC_MEDIAN", "recorded_median_wait"),
    ("SIM_MEDIAN", "simulated_median_wait"),
    ("REC_P95", "recorded_p95_wait"),
    ("SIM_P95", "simulated_p95_wait"),
    ("ABS_ERROR", "mean_absolute_error"),
    ("ERR_P5", "p5_error"),
    ("ERR_P25", "p25_error"),
    ("ERR_P50", "median_error"),
    ("ERR_P75", "p75_error"),
    ("ERR_P95", "p95_error"),
    ("CLOSE", "close"),
)


def render(
    name: str,
    result: Simulation,
    waits: Sequence[WaitComparison],
    fit: CycleFit | None,
    format: str,
) -> str:
    """The output for one run; waits: of a log, against what was recorded; fit: of its cycle."""
    from ..solver.loop.metrics import measure
    from ..solver.methods.registry import METHODS

    settings = result.settings
    metrics = {
        "reservation": settings.reservation,
        **({"top": settings.top} if METHODS[settings.reservation].looks_ahead else {}),
        "cycle": settings.cycle,
        "now": result.instance.now,
        "origin": result.instance.origin,
        **measure(result).to_dict(),
    }
    if format == "json":
        record: dict[str, Any] = {"input": name, "complete": result.complete, **metrics}
        record["notes"] = list(result.notes)
        record["omissions"] = [item.to_dict() for item in result.omissions]
        if fit is not None:
            record["cycle_fit"] = fit.to_dict()
        if waits:
            record["recorded"] = [item.to_dict() for item in waits]
        return json.dumps(record, indent=2)
    flat = {"input": name, **_flat(metrics)}
    if format == "csv":
        flat |= _wait_cells(waits)
        return ",".join(map(_cell, flat)) + "\n" + ",".join(_cell(value) for value in flat.values())
    width = max(map(len, flat))
    lines = [f"{name:<{width}}  {plain_metric(name, value)}" for name, value in flat.items()]
    if waits:
        lines += ["", wait_table(waits).rstrip("\n")]
    return "\n".join(lines)


def wait_table(waits: Iterable[WaitComparison]) -> str:
    """Recorded waits beside simulated ones, a line or a card a queue, in seconds."""
    rows = []
    for item in waits:
        plain = item.to_dict()
        cells = [_seconds(plain[field]) for _, field in WAITS]
        rows.append([item.queue or "all", *cells])
    titles = ["QUEUE", *(title for title, _ in WAITS)]
    table = plain_table(titles, rows, "<" + ">" * len(WAITS))
    if len(table.partition("\n")[0]) <= terminal_width():
        return table
    columns = [Column(title, label=title.lower().replace("_", " ")) for title in titles]
    return listing_text(columns, [ListingRow(tuple(cell or "-" for cell in row)) for row in rows])


def fit_text(fit: CycleFit) -> str:
    """What was chosen, and by how much it is better."""
    if not fit.close[fit.cycle]:
        return (
            f"no cycle length fits the log: none of {fit.jobs} jobs starts within 5 s of the "
            f"recorded start; {fit.cycle} s are taken, --cycle says otherwise"
        )
    tried = ", ".join(f"{length} s: {close}" for length, close in fit.close.items())
    return (
        f"cycles every {fit.cycle} s fit the log best: {fit.close[fit.cycle]} of {fit.jobs} jobs "
        f"start within 5 s of the recorded start ({tried}); --cycle says otherwise"
    )


def _seconds(value: float | None) -> str | None:
    return f"{value:.1f}" if isinstance(value, float) else None if value is None else str(value)


def _wait_cells(waits: Iterable[WaitComparison]) -> dict[str, Any]:
    """All numbers in one row: of all jobs as they are, of a queue with its name in front."""
    cells: dict[str, Any] = {}
    for item in waits:
        front = f"{item.queue}:" if item.queue else "log_"
        cells |= {front + key: value for key, value in item.to_dict().items() if key != "queue"}
    return cells


def _flat(metrics: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in metrics.items():
        if name.startswith("predictions"):
            when = name.removeprefix("predictions")
            for method, numbers in value.items():
                flat |= {f"{method}{when}_{key}": number for key, number in numbers.items()}
        else:
            flat[name] = value
    return flat


def _cell(value: object) -> str:
    text = "" if value is None else str(csv_cell(value))
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\r\n') else text
