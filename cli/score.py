"""``slotwise score``: how right the estimates of a store, or of one snapshot, were."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..model.errors import InputError, Problem
from .accuracy import accuracy_text, diagram_text, of_groups
from .declare import argument, command, option, spelled, taking, values_of
from .forecast import LikelyOptions
from .options import FORMAT, Format, print_note
from .process import Exit
from .selection import PlanSelection
from .tables import csv_text, paragraph
from .verify import verified

if TYPE_CHECKING:
    from .serve.score import Score
    from .serve.store import StoreSummary

#: What makes the groups of the table.
By = Literal["method", "queue", "size", "horizon"]


@dataclass(frozen=True, slots=True)
class Scored:
    """The estimates of one snapshot instead of a store, and the logs of what followed."""

    snapshot: Path | None = option(
        None, "Instead of a store: an instance of the time before, as `snapshot` writes it."
    )
    log: tuple[Path, ...] = option(
        (),
        "What followed: lsb.events, lsb.acct or sacct -P; with --snapshot also SWF. Its starts "
        "are added to a store. Repeatable.",
    )


@dataclass(frozen=True, slots=True)
class ScoreOptions:
    """Options of the table over a store."""

    by: By = option("method", "Also a group of lines for each queue, size or horizon.")
    since: str | None = option(
        None,
        "Only estimates of this time before the last poll (30d) or since a stamp.",
        metavar="TIME",
    )
    output: Path | None = option(
        None, "Also write the table: .csv, .json (both also .gz) or .parquet.", "-o", "--output"
    )


@dataclass(frozen=True, slots=True)
class SnapshotOptions:
    """Options of the comparison of one snapshot."""

    possible: bool = option(False, "With --snapshot: also the possible starts, by an optimal plan.")
    time_limit: float | None = option(
        None, "With --snapshot: wall seconds of the whole command.", min=0.0
    )
    keep_going: bool = option(
        False, "With --snapshot: report malformed records of the log and read the rest."
    )


@command
def score(
    store: str | None = argument(
        None,
        "Store of `slotwise serve --store`: a file, or the URL of a database.",
        show_default=False,
    ),
    *,
    scored: Scored,
    how: ScoreOptions,
    compared: SnapshotOptions,
    likely: LikelyOptions,
    selection: Annotated[PlanSelection, taking("names top sort")],
    format: Format = FORMAT,
) -> None:
    """How right were the estimates that a service has kept, or those of one snapshot?

    Of a store, every estimate that changed is compared with the start that followed. A job counts
    once in each line, by its first estimate there. With --snapshot each pending job has a row: its
    estimates, its start in the log, and why they differ.

    Exit codes: 0 done, 2 bad input, 3 stopped early, 130 interrupted.
    """
    snapshot, log = scored.snapshot, scored.log
    _check_together(store, scored, (compared, likely, selection) if snapshot is None else (how,))
    if snapshot is not None:
        options = values_of(compared)
        text, is_partial = verified(
            snapshot, log[0], **options, likely=likely, selection=selection, format=format
        )
        typer.echo(text, nl=False)
        if is_partial:
            raise typer.Exit(Exit.STOPPED)
        return
    assert store is not None
    from .output import check_apart, check_path, write_records
    from .serve.opened import opened_store

    if how.output is not None:
        check_path(how.output)
        check_apart({"--output": how.output}, [Path(store), *log])
    with opened_store(store) as opened:
        from .serve.log_starts import starts_of_log
        from .serve.score import score_of  # needs sqlalchemy, as the store does

        for path in log:
            known = opened.add_outcomes(starts_of_log(path, dated=opened.summary().dated))
            print_note(f"{path}: has {known} job{'s' * (known != 1)} of the store")
        begin = None if how.since is None else _begin(how.since, opened.summary())
        found = score_of(opened, how.by, begin)
    if how.output is not None:
        write_records(found.records(), how.output)
    typer.echo(score_output(found, store, format), nl=False)


def _check_together(store: str | None, scored: Scored, others: tuple[Any, ...]) -> None:
    """Raise InputError unless there is a store, or a snapshot with one log.

    others: the options that only the other of the two has, at their defaults.
    """
    if (store is None) == (scored.snapshot is None):
        raise InputError("give the store of a service, or --snapshot FILE with --log FILE")
    if scored.snapshot is not None and len(scored.log) != 1:
        raise InputError([Problem("needs one --log: what happened after it", "--snapshot")])
    other, where = ("the store", "a store") if scored.snapshot else ("--snapshot", "--snapshot")
    for record in others:
        default = spelled(type(record)())
        for name, value in spelled(record).items():
            if value != default[name]:
                raise InputError([Problem(f"is of {where}: leave it out, or give {other}", name)])


def _begin(text: str, summary: StoreSummary) -> int:
    """Return --since in seconds of the store's clock; raise InputError for no time."""
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
    text = head + accuracy_text(of_groups(found.groups)) + paragraph(_meaning(found))
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
