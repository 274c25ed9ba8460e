"""``slotwise score --snapshot``: the estimates of one snapshot against what happened."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..model.display import WrittenTimes, duration_text
from .accuracy import accuracy_text
from .forecast import LikelyOptions
from .options import Format, print_note, read_source
from .process import Cancel, cancel_on_signal, left_of
from .selection import PlanSelection, Shown
from .tables import Column, ListingRow, State, csv_text, paragraph

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..solver.advice.verification import Verification, VerifiedJob

#: Titles of the estimates in the table.
_TITLES = {
    "printed": "PRINTED",
    "estimate": "ESTIMATE",
    "as_configured": "AS CONFIGURED",
    "likely": "LIKELY",
    "possible": "POSSIBLE",
}


def verified(
    file: Path,
    log: Path,
    *,
    possible: bool,
    keep_going: bool,
    time_limit: float | None,
    likely: LikelyOptions,
    selection: PlanSelection,
    format: Format,
) -> tuple[str, bool]:
    """Return the output of the comparison, and whether it stopped early.

    Each pending job's estimates are compared with its start in the log. The snapshot is then
    simulated with the run times and submissions of the log, which divides each difference into its
    reasons.
    """
    from ..model.errors import report
    from ..solver.forecast.logged_runs import logged_runs

    instance = read_source(file)
    selection.check(instance)
    with cancel_on_signal() as cancel:
        with cancel.reading():
            followed = logged_runs(log, keep_going=keep_going)
            forecasting = likely.settings(), likely.past(instance)
        for line in report(followed.problems):
            print_note(f"warning: {line}")
        found = _verified(instance, followed, log, (possible, time_limit), forecasting, cancel)
    for remark in found.remarks:
        print_note(remark)
    return verify_output(instance, found, selection, format), found.is_partial


def _verified(
    instance: Instance,
    followed: Any,
    log: Path,
    how: tuple[bool, float | None],
    forecasting: tuple[Any, Any],
    cancel: Cancel,
) -> Verification:
    """Return the comparison with all estimates that were requested."""
    from ..solver.advice.likely import Forecaster
    from ..solver.advice.verification import verify as verify_jobs
    from ..solver.budget import Budget
    from ..solver.outlook.outlook import outlook, outlook_of, with_slurm_estimates
    from ..solver.scheduler.continuation import run_as_configured

    (settings, past), (possible, time_limit) = forecasting, how
    limit = left_of(time_limit)
    budget = Budget(limit, cancel=cancel)
    if possible:
        answers = outlook(instance, time_limit=limit, estimates=True, cancel=cancel)
    else:
        configured = run_as_configured(instance, budget=budget)
        configured = with_slurm_estimates(instance, configured, budget)
        answers = outlook_of(instance, configured, None, budget)
    forecaster = Forecaster.of(instance, past, settings, None, cancel)
    medians = {} if forecaster is None else forecaster.all(budget.time_share(0.5))
    return verify_jobs(
        instance,
        followed,
        answers,
        likely={job: item.likely for job, item in medians.items()},
        source=str(log),
        budget=budget,
    )


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
            return json.dumps({**found.to_dict(), "jobs": chosen}, indent=2) + "\n"
        flat = [{name: x for name, x in job.items() if name != "causes"} for job in chosen]
        return csv_text(list(flat[0]), flat) if flat else ""
    if not found.jobs:
        return "nothing was pending\n"
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
