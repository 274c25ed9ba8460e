"""``slotwise verify``: the estimates of one snapshot against what happened."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..model.display import WrittenTimes, duration_text
from .declare import argument, command, option, taking
from .forecast import LikelyOptions
from .options import FORMAT, Format, print_note, read_source
from .process import Cancel, Exit, cancel_on_signal, left_of
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


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """Options of the comparison."""

    possible: bool = option(False, "Also the possible starts, by an optimal plan.")
    time_limit: float | None = option(
        None, "Wall seconds of the whole command; of the optimal plan 30 without it.", min=0.0
    )
    keep_going: bool = option(False, "Report malformed records and read the rest.")


@command
def verify(
    file: Path = argument(
        ...,
        "Instance of the time before: YAML or JSON, as `snapshot` writes it.",
        show_default=False,
    ),
    log: Path = argument(
        ..., "What followed: lsb.events, lsb.acct, sacct -P or SWF.", show_default=False
    ),
    *,
    how: VerifyOptions,
    likely: LikelyOptions,
    selection: Annotated[PlanSelection, taking("names top sort")],
    format: Format = FORMAT,
) -> None:
    """Were the estimates of one snapshot right, and if not, why?

    Each pending job's estimates are compared with its start in the log. The snapshot is then
    simulated with the run times and submissions of the log, which divides each difference into its
    reasons. Exit codes: 0 done, 2 bad input, 3 stopped early, 130 before there was an answer.
    """
    from ..model.errors import report
    from ..solver.forecast.logged_runs import logged_runs

    instance = read_source(file)
    selection.check(instance)
    with cancel_on_signal() as cancel:
        with cancel.reading():
            followed = logged_runs(log, keep_going=how.keep_going)
            settings, past = likely.settings(), likely.past(instance)
        for line in report(followed.problems):
            print_note(f"warning: {line}")
        found = _verified(instance, followed, log, how, (settings, past), cancel)
    for remark in found.remarks:
        print_note(remark)
    typer.echo(verify_output(instance, found, selection, format), nl=False)
    if found.is_partial:
        raise typer.Exit(Exit.STOPPED)


def _verified(
    instance: Instance,
    followed: Any,
    log: Path,
    how: VerifyOptions,
    forecasting: tuple[Any, Any],
    cancel: Cancel,
) -> Verification:
    """Return the comparison with all estimates that were requested."""
    from ..solver.advice.likely import Forecaster
    from ..solver.advice.verification import verify as verify_jobs
    from ..solver.budget import Budget
    from ..solver.outlook.outlook import outlook, outlook_of, with_slurm_estimates
    from ..solver.scheduler.continuation import run_as_configured

    settings, past = forecasting
    limit = left_of(how.time_limit)
    budget = Budget(limit, cancel=cancel)
    if how.possible:
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
    return text + paragraph(f"{_summary(found)} {clock.note}".strip())


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


def _summary(found: Verification) -> str:
    """Return the accuracy of each estimate, and the number of jobs without a start."""

    lines = []
    for name, measured in found.accuracies().items():
        if measured.mean_error is None or measured.median_error is None:
            continue
        mean, median = round(measured.mean_error), round(measured.median_error)
        jobs = f"{measured.jobs} job{'s' * (measured.jobs != 1)}"
        lines.append(
            f"{_TITLES[name]} is wrong by {duration_text(mean)} on average and "
            f"{duration_text(median)} in the median ({jobs})"
        )
    missing = sum(item.started is None for item in found.jobs)
    if missing:
        lines.append(f"{missing} of {len(found.jobs)} jobs have no start in the log")
    return "; ".join(lines) + "." if lines else ""
