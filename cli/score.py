"""``slotwise score``: how right the estimates of a store were."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from .backtest import diagram_text
from .declare import argument, command, option
from .options import FORMAT, Format, print_note
from .tables import Column, ListingRow, csv_text, listing_text, paragraph

if TYPE_CHECKING:
    from ..solver.accuracy.measures import Accuracy
    from .serve.score import Score
    from .serve.store import StoreSummary

#: What makes the groups of the table.
By = Literal["method", "queue", "size", "horizon"]
_COLUMNS = (
    *(Column("OF"), Column("METHOD"), Column("JOBS"), Column("MEAN ERROR"), Column("MEDIAN")),
    *(Column("9 IN 10"), Column("BIAS"), Column("IN 5m"), Column("IN 1h")),
    *(Column("BY P10"), Column("BY P50"), Column("BY P90")),
)


@dataclass(frozen=True, slots=True)
class ScoreOptions:
    """Options of the table."""

    by: By = option("method", "Also a group of lines for each queue, size or horizon.")
    since: str | None = option(
        None,
        "Only estimates of this time before the last poll (30d) or since a stamp.",
        metavar="TIME",
    )
    log: tuple[Path, ...] = option(
        (), "First add the starts of lsb.events, lsb.acct or sacct -P to the store. Repeatable."
    )
    output: Path | None = option(
        None, "Also write the table: .csv, .json (both also .gz) or .parquet.", "-o", "--output"
    )


@command
def score(
    store: str = argument(
        ...,
        "Store of `slotwise serve --store`: a file, or the URL of a database.",
        show_default=False,
    ),
    *,
    how: ScoreOptions,
    format: Format = FORMAT,
) -> None:
    """How right were the estimates that a service has kept?

    Every estimate that changed is compared with the start that followed. A job counts once in each
    line, by its first estimate there. Exit codes: 0 done, 2 bad input, 130 interrupted.
    """
    from .output import check_apart, check_path, write_records
    from .serve.opened import opened_store

    if how.output is not None:
        check_path(how.output)
        check_apart({"--output": how.output}, [Path(store), *how.log])
    with opened_store(store) as opened:
        from .serve.log_starts import starts_of_log
        from .serve.score import score_of  # needs sqlalchemy, as the store does

        for path in how.log:
            known = opened.add_outcomes(starts_of_log(path, dated=opened.summary().dated))
            print_note(f"{path}: has {known} job{'s' * (known != 1)} of the store")
        begin = None if how.since is None else _begin(how.since, opened.summary())
        found = score_of(opened, how.by, begin)
    if how.output is not None:
        write_records(found.records(), how.output)
    typer.echo(score_output(found, store, format), nl=False)


def _begin(text: str, summary: StoreSummary) -> int:
    """Return --since in seconds of the store's clock; raise InputError for no time."""
    from ..model.errors import InputError, Problem
    from ..model.formats.units import parse_instant

    try:
        instant = parse_instant(text)
        if isinstance(instant, int):
            return (summary.last_poll or 0) - instant
        if not summary.dated:
            raise ValueError(f"the times of this store have no date: give a duration, not {text!r}")
        return int(instant.timestamp())
    except ValueError as error:
        raise InputError([Problem(str(error), "--since")]) from None


def score_output(found: Score, store: str, format: str) -> str:
    """Return a score in one of the output formats, with a final newline."""
    records = found.records()
    if format == "json":
        return json.dumps(found.to_dict(), indent=2) + "\n"
    if format == "csv":
        return csv_text(list(records[0]), records) if records else ""
    head = paragraph(_contents(found.summary, store))
    if not records:
        return head + "no job with a kept estimate has started yet\n"
    rows = [
        ListingRow(_cells("all jobs" if group.by == "all" else group.group, item))
        for group in found.groups
        for item in group.estimators
    ]
    text = head + listing_text(_COLUMNS, rows) + paragraph(_meaning(found))
    if not found.reliability:
        return text
    return f"{text}\n{diagram_text(found.reliability)}"


def _contents(summary: StoreSummary, store: str) -> str:
    """Return a sentence on the jobs of a store."""
    from .serve.database import shown_name

    waiting, unknown = summary.jobs.get("pending", 0), summary.jobs.get("gone", 0)
    said = f"{shown_name(store)}: {summary.started} jobs with a known start, {waiting} pending"
    if unknown:
        said += f", {unknown} left the cluster and no poll showed a start (--log lsb.acct adds it)"
    return f"{said}; {summary.estimates} kept estimates of {summary.polls} polls."


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
    from ..model.display import duration_text

    return "" if seconds is None else duration_text(round(seconds))


def _bias(seconds: float | None) -> str:
    """Return a mean error with its side: an estimate before the start is early."""
    if seconds is None:
        return ""
    side = "early" if seconds < 0 else "late"
    return f"{_duration(abs(seconds))} {side}" if round(seconds) else "0s"


def _meaning(found: Score) -> str:
    from ..solver.forecast.forecast import MIN_FORECASTS

    known = found.calibration.forecasts
    enough = f"forecasts with this store are calibrated by {known} of its own"
    if known < MIN_FORECASTS:
        enough = f"{known} forecasts have a known start, {MIN_FORECASTS} calibrate the next ones"
    return (
        "MEAN ERROR, MEDIAN and 9 IN 10 are of the difference between estimate and start; BIAS is "
        "early if estimates are before starts; BY P90: share that had started by 9 IN 10 BY; "
        f"{enough}."
    )
