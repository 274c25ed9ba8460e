"""``slotwise score``: how right the estimates of a store, or of one snapshot, were."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from ..model.display import WrittenTimes, duration_text
from ..model.errors import InputError, Problem
from .declare import argument, command, option, spelled, taking
from .forecast import LikelyOptions, opened_store
from .options import FORMAT, Format, print_note, read_source
from .process import cancel_on_signal, give, left_of
from .selection import PlanSelection, Shown
from .tables import Column, ListingRow, State, csv_text, json_text, listing_text, paragraph

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..solver.accuracy.measures import Accuracy, GroupAccuracy
    from ..solver.advice.verification import Verification, VerifiedJob
    from .serve.score import Score
    from .serve.store import StoreSummary

#: Titles of the estimates in the table.
_ESTIMATES = ("printed", "estimate", "as_configured", "likely", "possible")
_TITLES = {name: name.replace("_", " ").upper() for name in _ESTIMATES}


def verified(
    file: Path,
    log: Path,
    compared: SnapshotOptions,
    likely: LikelyOptions,
    selection: PlanSelection,
    format: Format,
) -> None:
    """Print the comparison of a snapshot with a log.

    Each pending job's estimates are compared with its start in the log. The snapshot is then
    simulated with the run times and submissions of the log, which divides each difference into its
    reasons.
    """
    from ..model.errors import report
    from ..solver.advice.likely import Forecaster
    from ..solver.advice.verification import verify as verify_jobs
    from ..solver.budget import Budget
    from ..solver.forecast.history import logged_runs
    from ..solver.outlook.outlook import outlook, outlook_of, with_slurm_estimates
    from ..solver.scheduler.continuation import run_as_configured

    instance = read_source(file)
    selection.check(instance)
    with cancel_on_signal() as cancel:
        with cancel.reading():
            followed = logged_runs(log, keep_going=compared.keep_going)
            settings, past = likely.settings(), likely.past(instance)
        print_note(*(f"warning: {line}" for line in report(followed.problems)))
        limit = left_of(compared.time_limit)
        budget = Budget(limit, cancel=cancel)
        if compared.possible:
            answers = outlook(instance, time_limit=limit, estimates=True, cancel=cancel)
        else:
            configured = run_as_configured(instance, budget=budget)
            configured = with_slurm_estimates(instance, configured, budget)
            answers = outlook_of(instance, configured, None, budget)
        forecaster = Forecaster.of(instance, past, settings, None, cancel)
        medians = {} if forecaster is None else forecaster.all(budget.time_share(0.5))
        starts = {job: item.likely for job, item in medians.items()}
        found = verify_jobs(
            instance, followed, answers, likely=starts, source=str(log), budget=budget
        )
    text = verify_output(instance, found, selection, format)
    give(text, found.remarks, is_partial=found.is_partial)


def verify_output(
    instance: Instance, found: Verification, selection: PlanSelection, format: str
) -> str:
    """Return a comparison in one of the output formats, with a final newline."""
    times = (time for item in found.jobs for time in (*item.estimates.values(), item.started))
    clock = WrittenTimes.of(instance, times)
    names = [name for name in _TITLES if any(item.estimates[name] for item in found.jobs)]
    rows = [_row(item, names, clock) for item in found.jobs]
    if format != "text":
        jobs = {item.job: item.to_dict(found.origin) for item in found.jobs}
        chosen = [jobs[row.job] for row in selection.choose(rows)]
        if format == "json":
            return json_text({**found.to_dict(), "jobs": chosen})
        flat = [{name: x for name, x in job.items() if name != "causes"} for job in chosen]
        return csv_text(list(flat[0]), flat) if flat else ""
    if not found.jobs:
        return "no job was pending\n"
    titles = [Column(_TITLES[name]) for name in names]
    columns = (
        *(Column("JOB"), Column("SLOTS"), *titles, Column("STARTED", marked=True)),
        *(Column("LATE BY"), Column("WHY", line=1, label="")),
    )
    text = selection.text(instance, columns, rows, clock)
    text += paragraph(f"{_missing(found)} {clock.note}".strip())
    measured = [(_TITLES[name].lower(), item) for name, item in found.accuracies().items()]
    accuracies = [("all jobs", replace(item, estimator=name)) for name, item in measured]
    return f"{text}\n{accuracy_text(accuracies)}" if accuracies else text


def _row(item: VerifiedJob, names: list[str], clock: WrittenTimes) -> Shown:
    starts = [item.estimates[name] for name in names]
    texts = ["" if time is None else clock.text(time) for time in (*starts, item.started)]
    state: State = "later" if item.why == "as estimated" else "unproved"
    if item.started is None:
        state = "unplaced"
    late = "" if item.error is None else _signed(item.error)
    cells = (item.job, str(item.slots), *texts, late, item.sentence)
    return Shown(item.job, ListingRow(cells, state), item.slots, item.started)


def _signed(seconds: int) -> str:
    return f"{'+' if seconds > 0 else ''}{duration_text(seconds)}"


def _missing(found: Verification) -> str:
    missing = sum(item.started is None for item in found.jobs)
    return f"{missing} of {len(found.jobs)} jobs have no start in the log." if missing else ""


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
    lines = ["stated  real   (| ideal)\n"]
    for level, share, calibrated in rows:
        bar = ["█" if place < round(share * _WIDTH) else " " for place in range(_WIDTH)]
        bar[round(level * _WIDTH) - 1] = "|"
        after = "" if calibrated is None else f"  calibrated {calibrated:.3f}"
        lines.append(
            f"  {level:.1f}  {share:.3f}  {''.join(bar).rstrip():<{_WIDTH}}{after}".rstrip()
        )
        lines.append("\n")
    return "".join(lines)


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
        "Log of the later events: lsb.events, lsb.acct or sacct -P; with --snapshot also SWF. "
        "Its starts are added to a store. Repeatable.",
    )


@dataclass(frozen=True, slots=True)
class ScoreOptions:
    """Options of the table over a store."""

    by: By = option("method", "Also show one group of rows for each queue, size or horizon.")
    since: str | None = option(
        None,
        "Only estimates of this period before the last poll (30d), or since a time stamp.",
        metavar="TIME",
    )
    output: Path | None = option(
        None, "Also write the table: .csv or .json (optionally .gz), or .parquet.", "-o", "--output"
    )


@dataclass(frozen=True, slots=True)
class SnapshotOptions:
    """Options of the comparison of one snapshot."""

    possible: bool = option(False, "With --snapshot: also the possible starts, by an optimal plan.")
    time_limit: float | None = option(
        None, "With --snapshot: wall-clock seconds of the whole command.", min=0.0
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
    """Compare the estimates stored by a service, or those of one snapshot, with the real starts.

    For a store, every changed estimate is compared with the start that followed. A job counts
    once in each row, with its first estimate in that row. With --snapshot, each pending job has a
    row with its estimates, its start in the log, and the reasons for the difference.

    Exit codes: 0 done, 2 bad input, 3 stopped early, 130 interrupted.
    """
    snapshot, log = scored.snapshot, scored.log
    _check_together(store, scored, (compared, likely, selection) if snapshot is None else (how,))
    if snapshot is not None:
        verified(snapshot, log[0], compared, likely, selection, format)
        return
    assert store is not None
    from .output import check_apart, check_path, write_records

    check_path(how.output)
    check_apart({"--output": how.output}, [Path(store), *log])
    with opened_store(store) as opened:
        from .serve.score import (
            score_of,  # needs sqlalchemy, as the store does
            starts_of_log,
        )

        for path in log:
            known = opened.add_outcomes(starts_of_log(path, dated=opened.summary().dated))
            print_note(f"{path}: has {known} job{'s' * (known != 1)} of the store")
        begin = None if how.since is None else _begin(how.since, opened.summary())
        found = score_of(opened, how.by, begin)
    write_records(found.records(), how.output)
    give(score_output(found, store, format))


def _check_together(store: str | None, scored: Scored, others: tuple[Any, ...]) -> None:
    """Raise InputError unless there is a store, or a snapshot with one log.

    others: the options that only the other of the two has, at their defaults.
    """
    if (store is None) == (scored.snapshot is None):
        raise InputError("give either the store of a service, or --snapshot FILE with --log FILE")
    if scored.snapshot is not None and len(scored.log) != 1:
        wrong = f"needs one --log with later events, not {len(scored.log)}"
        raise InputError([Problem(wrong, "--snapshot")])
    other, where = ("the store", "a store") if scored.snapshot else ("--snapshot", "--snapshot")
    for record in others:
        default = spelled(type(record)())
        for name, value in spelled(record).items():
            if value != default[name]:
                raise InputError([Problem(f"applies only to {where}: give {other}", name)])


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
        return json_text(found.to_dict())
    if format == "csv":
        return csv_text(list(records[0]), records) if records else ""
    head = paragraph(_contents(found.summary, store))
    if not records:
        return head + "no job with a stored estimate has started yet\n"
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
        said += f", {unknown} left the cluster without a start in any poll (--log lsb.acct adds it)"
    return f"{said}; {summary.estimates} stored estimates from {summary.polls} polls."


def _meaning(found: Score) -> str:
    from ..solver.forecast.forecast import MIN_FORECASTS

    known = found.calibration.forecasts
    enough = f"forecasts with this store are calibrated by {known} of its own forecasts"
    if known < MIN_FORECASTS:
        enough = f"{known} forecasts have a known start; {MIN_FORECASTS} are needed for calibration"
    return (
        "MEAN ERROR, MEDIAN and 9 IN 10 are of the difference between estimate and start; BIAS is "
        "early if estimates are before starts; BY P90: share that had started by 9 IN 10 BY; "
        f"{enough}."
    )
