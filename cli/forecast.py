"""``slotwise forecast``: when pending jobs will really start, with a stated chance."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..model.display import WrittenTimes, clock_text, duration_text, with_stamps
from ..model.errors import InputError, Problem, missing_package
from .declare import command, option, taking, values_of
from .options import (
    FORMAT,
    MAX_SAMPLES,
    Format,
    from_stdin,
    has_sqlite_head,
    print_note,
    seconds_of,
    study_bar,
)
from .outlook_text import NOTHING, Stated
from .process import Cancel, cancel_on_signal, give
from .replay import POLICIES, policy_option
from .selection import PlanSelection, Selection, Shown
from .source import Source
from .tables import Column, ListingRow, State, csv_text, json_text, paragraph, strip_text

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..solver.advice.likely import Drawing, StartQuantiles
    from ..solver.forecast.forecast import Calibration, Forecasts
    from ..solver.forecast.history import History
    from .serve.store import Store

#: Text for a time by which the job has not started in this share of samples.
NO_START = "no start"
#: Characters of the strip.
STRIP = 24
_COLUMNS = (
    *(Column("JOB"), Column("SLOTS"), Column("BY LIMITS"), Column("LIKELY", marked=True)),
    *(Column("9 IN 10 BY", marked=True), Column("1 IN 10 BY")),
)


@dataclass(frozen=True, slots=True)
class LikelyOptions:
    """Options for likely starts; without a history, the other options have no meaning."""

    history: Path | None = option(
        None,
        "Log of finished jobs (SWF, lsb.acct, lsb.events): also forecast the starts.",
        callback=from_stdin,
    )
    samples: int | None = option(None, "Number of samples; default 200.", min=1, max=MAX_SAMPLES)
    seed: int | None = option(
        None, "The same seed gives the same answer on any machine; default 0."
    )
    workers: int | None = option(
        None, "Number of processes; the answer does not depend on it.", min=1
    )
    calibration: Path | None = option(
        None, "Result of `slotwise backtest --format json`: its factors calibrate the bounds."
    )

    def settings(self, workers: int | None = None) -> Drawing:
        """Return the settings for the solver; workers: of a command with its own option for them.

        Raises InputError for options without a history, and for an invalid file of factors.
        """
        from ..solver.advice.likely import Drawing

        given = values_of(self, "samples", "seed", "workers", "calibration")
        said: dict[str, Any] = {name: i for name, i in given.items() if i is not None}
        if said and self.history is None:
            wrong = "needs --history, a log of finished jobs"
            raise InputError([Problem(f"--{name} {wrong}") for name in said])
        if "calibration" in said:
            said["calibration"] = calibration_of_file(self.calibration)
        if workers is not None:
            said["workers"] = workers
        return Drawing(**said)

    def past(self, instance: Instance) -> History | None:
        """Return the history for the instance, None if no history is named.

        Read before the work begins, so that a signal meanwhile ends the command.
        """
        from ..solver.forecast.of_instance import past_of

        return None if self.history is None else past_of(self.history, instance)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastOptions:
    """Options for the samples of a forecast and for the output."""

    history: Path = option(
        ...,
        "Log of finished jobs: SWF, lsb.acct or lsb.events, plain or gzipped.",
        callback=from_stdin,
    )
    samples: int = option(200, "Number of samples.", min=1, max=MAX_SAMPLES)
    precision: str | None = option(
        None,
        "Stop sampling when LIKELY and both bounds of each job are known to this precision "
        "(30m) with 95 % confidence.",
        metavar="DURATION",
    )
    seed: int = option(0, "The same seed gives the same answer on any machine.")
    by: str | None = option(
        None,
        "Also show the probability of a start by then: a time from now (2h, 90m) or a date.",
        metavar="TIME",
    )
    policy: str = policy_option("easy", f"Policy of a pool: {POLICIES}.")
    calibration: Path | None = option(
        None, "Result of `slotwise backtest --format json`: its factors calibrate the bounds."
    )
    calibrate: int | None = option(
        None, "First forecast this many past jobs of the log, to calibrate the bounds.", min=1
    )
    keep_going: bool = option(False, "Report malformed records and read the rest.")
    workers: int = option(1, "Number of processes; the answer does not depend on it.", min=1)

    def settings(self) -> dict[str, Any]:
        """Return the settings for ``solver.forecast.forecast``. Raises InputError for invalid
        values.
        """
        given = values_of(self, "samples", "seed", "policy", "calibrate", "workers")
        precision = self.precision
        given["precision"] = None if precision is None else seconds_of(precision, "--precision")
        return given | {"calibration": calibration_of_file(self.calibration)}


@command
def forecast(
    source: Source,
    how: ForecastOptions,
    selection: Annotated[PlanSelection, taking("names top sort")],
    format: Format = FORMAT,
) -> None:
    """Forecast when each pending job will really start: the median, and P10 and P90.

    Plans assume that jobs run to their limits. A forecast samples run times and new submissions
    from a log; `slotwise backtest LOG` measures its accuracy. Exit codes: 0 done, 2 bad input,
    3 stopped early, 130 interrupted before any answer.
    """
    from ..model.omissions import sentences
    from ..solver.forecast.history import read_history
    from .outlook_text import NO_START as IN_WORDS

    instance = source.read()
    selection.check(instance)
    moment = None if how.by is None else _moment(how.by, instance)
    with cancel_on_signal() as cancel:
        with cancel.reading():
            past = read_history(how.history, instance, keep_going=how.keep_going)
        jobs = selection.names or None
        found = _drawn(instance, past, **how.settings(), jobs=jobs, cancel=cancel)
    states = _states(instance, found)
    said = (*found.remarks, *sentences(found.omissions))
    chosen = [item.job for item in selection.choose(_shown(instance, found, _by_job(found)))]
    told = [(job, *states[job]) for job in chosen if job in states]
    remarks = (*said, *[f"job {job} {IN_WORDS[state]}: {why}" for job, state, why in told])
    text = forecast_output(instance, found, selection, moment, format, states)
    give(text, remarks, is_partial=found.cut)


def _drawn(
    instance: Instance, history: History, *, calibrate: int | None, cancel: Cancel, **options: Any
) -> Forecasts:
    """Return the forecasts; a progress bar shows the backtest that precedes them."""
    from ..solver.budget import OutOfTime
    from ..solver.forecast.of_instance import forecast as forecast_jobs

    with study_bar("calibrating", calibrate or 0) as step:
        try:
            return forecast_jobs(
                instance,
                history,
                calibrate=calibrate,
                tell=lambda _: step(),
                should_stop=cancel.is_set,
                **options,
            )
        except OutOfTime:
            cancel.leave()  # there is no limit: it was a signal


def _states(instance: Instance, found: Forecasts) -> Stated:
    """Return the states of the jobs that start neither in the plan nor in any sample."""
    from ..solver.forecast.jobs import NO_START as NONE
    from ..solver.outlook.outlook import outlook_of
    from ..solver.scheduler.continuation import run_as_configured

    starts = zip(found.names, found.by_limits, found.samples, strict=True)
    jobs = {name for name, limits, drawn in starts if limits == NONE and (drawn == NONE).all()}
    if not jobs:
        return NOTHING
    outlook = outlook_of(instance, run_as_configured(instance), None)
    return {
        item.job: (item.state, item.condition)
        for item in outlook
        if item.job in jobs and item.state != "starts"
    }


def _by_job(found: Forecasts, by: int | None = None) -> dict[str, dict[str, Any]]:
    return {record["job"]: record for record in found.records(by)}


def likely_columns() -> tuple[Column, ...]:
    """Return the columns that a forecast adds to the table of a plan."""
    from ..solver.advice.likely import TIMES

    return tuple(Column(title) for title in TIMES.values())


def likely_cells(
    clock: WrittenTimes, likely: StartQuantiles | None, *, short: bool = False
) -> tuple[str, str, str]:
    """Return LIKELY, 9 IN 10 BY and 1 IN 10 BY of a job, or that there was no time for them."""
    from ..solver.advice.likely import UNKNOWN

    item = likely or UNKNOWN
    missing = "not examined" if item == UNKNOWN else NO_START
    times = (item.likely, item.nine_in_ten_by, item.one_in_ten_by)
    written = clock.short if short else clock.text
    one, two, three = (missing if time is None else written(time) for time in times)
    return one, two, three


def _moment(by: str, instance: Instance) -> int:
    """Return the time of --by in seconds of the instance's clock."""
    from datetime import datetime

    from ..model.formats.units import LONGEST, Clock, parse_instant

    try:
        if by.isascii() and by.isdigit() and float(by) > LONGEST:
            raise ValueError(f"must be at most {LONGEST} seconds, not {by}")
        instant = parse_instant(by)
        zero = None if instance.origin is None else datetime.fromisoformat(instance.origin)
        moment = Clock(zero).seconds(instant) + (instance.now if isinstance(instant, int) else 0)
        if moment < instance.now:
            raise ValueError(f"must be now or later, not {by!r}")
        return moment
    except ValueError as error:
        raise InputError(f"--by: {error}") from None


def calibration_of_file(path: Path | None) -> Calibration:
    """Return the calibration of a saved backtest or a store; without a file the one of no data.

    Raises InputError for a file that holds none, or is damaged.
    """
    from ..model.formats.reading import file_bytes
    from ..model.formats.sealed import BACKTEST, unsealed
    from ..solver.forecast.forecast import UNCALIBRATED, calibration_of_record

    if path is None:
        return UNCALIBRATED
    if has_sqlite_head(path):
        return calibration_of_store(path)
    try:
        record = json.loads(file_bytes(path))
    except (ValueError, RecursionError):
        wrong = "is not a JSON document: give the JSON that slotwise backtest printed"
        raise InputError([Problem(wrong, str(path))]) from None
    whole = isinstance(record, dict) and "checksum" in record
    if whole:
        record = unsealed(BACKTEST, record, str(path))
    found = calibration_of_record(record, str(path))
    if not whole:
        print_note(f"{path}: has no checksum: it was changed, or written by another program")
    return found


def opened_store(target: str | Path) -> Store:
    """Return an existing store; raise InputError as :meth:`Store.open` does, or without sqlalchemy.

    target: a file or the URL of a database.
    """
    try:
        from .serve.store import Store
    except ModuleNotFoundError as error:
        if error.name != "sqlalchemy":
            raise
        raise InputError(missing_package("sqlalchemy", "a store", "serve")) from None
    return Store.open(target, create=False)


def calibration_of_store(path: Path) -> Calibration:
    """Return the calibration by the forecasts of a store; a note gives their number."""
    from ..solver.forecast.forecast import MIN_FORECASTS

    with opened_store(path) as store:
        found = store.calibration()
    said = f"calibrated by {found.forecasts} forecasts of it"
    if found.forecasts < MIN_FORECASTS:
        said = f"not calibrated: {found.forecasts} of its forecasts have a known start, "
        said += f"{MIN_FORECASTS} are needed"
    print_note(f"{path}: {said}")
    return found


def forecast_output(
    instance: Instance,
    found: Forecasts,
    selection: Selection,
    by: int | None,
    format: str,
    states: Stated = NOTHING,
) -> str:
    """Return forecasts in one of the output formats, with a final newline.

    states: of jobs that start neither by limits nor in any future.
    """

    records = _by_job(found, by)
    if format == "text":
        return _text(instance, found, records, selection, by, states)
    for job, record in records.items():
        usual = "no start" if record["by_limits"] is None else "starts"
        record["state"] = states[job][0] if job in states else usual
    chosen = [records[item.job] for item in selection.choose(_shown(instance, found, records))]
    if format == "csv":
        if by is not None:  # JSON has it once, next to the jobs.
            chosen = [with_stamps({**row, "by": by}, found.origin, ("by",)) for row in chosen]
        columns = list(chosen[0]) if chosen else ["job"]
        return csv_text(columns, chosen)
    return json_text({**found.to_dict(by), "jobs": chosen})


def _shown(
    instance: Instance,
    found: Forecasts,
    records: dict[str, dict[str, Any]],
    states: Stated = NOTHING,
) -> list[Shown]:
    """Return a row for each forecast, in the dispatch order of the jobs."""

    slots = {job.id: job.slots for job in instance.pending}
    rows = []
    for name, strip in zip(found.names, _strips(found), strict=True):
        record = records[name]
        times = [record[key] for key in ("by_limits", "likely", "nine_in_ten_by", "one_in_ten_by")]
        word = states.get(name, (NO_START, ""))[0]
        texts = [word if time is None else clock_text(instance, time) for time in times]
        chance = [f"{record['chance']:.0%}"] if "chance" in record else []
        cells = (name, str(slots[name]), *texts, *chance, strip)
        likely = record["likely"]
        state: State = (
            "unplaced" if likely is None else "now" if likely == instance.now else "later"
        )
        rows.append(Shown(name, ListingRow(cells, state), slots[name], likely))
    return rows


def _by_array(rows: Sequence[Shown], selection: Selection) -> list[Shown]:
    """Return the rows with one row for each array; its times are those of first and last element.

    The strip is that of the last element.
    """
    from ..model.plan import array_name

    groups: dict[str, list[Shown]] = {}
    for item in rows:
        groups.setdefault(selection.folded(item.job) or item.job, []).append(item)
    shown = []
    for job, items in groups.items():
        if items[0].job == job:
            shown += items
            continue
        first, last = items[0].row.cells, items[-1].row.cells
        spans = [
            one if one == other else f"{one} to {other}"
            for one, other in zip(first[1:-1], last[1:-1], strict=True)
        ]
        name = array_name(job, [item.job for item in items])
        row = ListingRow((name, *spans, last[-1]), items[0].row.state)
        shown.append(replace(items[0], job=job, row=row))
    return shown


def _text(
    instance: Instance,
    found: Forecasts,
    records: dict[str, dict[str, Any]],
    selection: Selection,
    by: int | None,
    states: Stated,
) -> str:

    if not found.names:
        return "no job is pending\n"
    chance = () if by is None else (Column(f"BY {clock_text(instance, by)}"),)
    begin, end = "WHEN now", f"+{duration_text(_span(found))}"
    axis = begin + end.rjust(STRIP - len(begin), "─")
    columns = (*_COLUMNS, *chance, Column(axis, line=1, label=f"now to {end}"))
    rows = _by_array(_shown(instance, found, records, states), selection)
    text = selection.text(instance, columns, rows)
    samples = found.samples.shape[1]
    hold = "1 IN 10 BY and 9 IN 10 BY are unreliable (too few finished jobs or samples)"
    if not found.doubtful:
        hold = (
            f"about 1 job in 10 starts by 1 IN 10 BY, 9 in 10 by 9 IN 10 BY, {_calibrated(found)}"
        )
    agreed = "; if the three times are equal, all samples agree" if _agreed(found) else ""
    return text + paragraph(
        f"{samples} sample{'s' * (samples != 1)}, simulated by {found.run_by}; BY LIMITS is "
        f"{_by_limits(instance, found)}; {hold}{agreed}.",
        instance=instance,
    )


def _by_limits(instance: Instance, found: Forecasts) -> str:
    """Return a note on the starts by limits, because the cycles have times of their own."""
    if found.policy is not None:
        return "its plan"
    return f"the start as configured, of a cycle every {instance.params.mbd_sleep_time} s"


def _calibrated(found: Forecasts) -> str:
    """Return a note on the origin of the bounds."""
    from ..solver.forecast.forecast import MIN_FORECASTS

    factors = found.calibration
    if factors.forecasts >= MIN_FORECASTS:
        return f"calibrated by {factors.forecasts} past forecasts"
    known = ""
    if factors.forecasts:
        known = f" ({factors.forecasts} past forecasts known, {MIN_FORECASTS} are needed)"
    return (
        f"not calibrated{known}: 9 IN 10 BY is the 90th percentile of the samples times "
        f"{factors.late:g}, "
        "which was enough on most logs (--calibrate 100 finds the factor of this one)"
    )


def _agreed(found: Forecasts) -> bool:
    """Return whether any job starts at the same time, later than now, in all futures."""
    first, last = found.samples.min(axis=1), found.samples.max(axis=1)
    return bool(((first == last) & (first > found.now)).any())


def _span(found: Forecasts) -> int:
    """Return the seconds that the strips span: to the latest bound of a listed forecast."""
    import numpy as np

    late = found.bounds[1]
    finite = late[np.isfinite(late)]
    return max(1, int(finite.max(initial=found.now + 1)) - found.now)


def _strips(found: Forecasts) -> list[str]:
    """Return, for each job, how many samples start in each bin from now on, scaled to the highest
    bin.
    """
    import numpy as np

    edges = np.linspace(0, _span(found), STRIP + 1)
    strips = []
    for waits in found.waits:
        counts = np.histogram(waits[np.isfinite(waits)], edges)[0]
        strips.append(strip_text((counts / max(1, counts.max())).tolist()))
    return strips
