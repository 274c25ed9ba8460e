"""``slotwise compare``: greedy, time-based and optimal starts side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from .exits import Exit
from .forecast import (
    CalibrationFile,
    MaybeHistory,
    MaybeSamples,
    MaybeSeed,
    drawing_of,
)
from .options import (
    AsLsf,
    Effort,
    Example,
    FormatOption,
    GanttOption,
    InstanceFile,
    Margin,
    ObjectiveOption,
    WholeTimeLimit,
    Workers,
    progress,
    read_instance,
    tell,
)
from .selection import JobNames, OnlyState, Selection, Sort, Top, Wide

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..solver.advice.compare import Comparison

SimulatedOption = Annotated[
    bool | None,
    typer.Option(
        "--simulated/--no-simulated",
        help="Simulate time-based and optimal too; as a default where at most 100 jobs wait.",
        show_default=False,
    ),
]
OldSimulated = Annotated[bool, typer.Option("--really", hidden=True)]


def compare(
    file: InstanceFile = None,
    example: Example = None,
    objective: ObjectiveOption = "lexicographic",
    time_limit: WholeTimeLimit = None,
    effort: Effort = None,
    workers: Workers = None,
    as_lsf: AsLsf = False,
    margin: Margin = 0,
    simulated: SimulatedOption = None,
    really: OldSimulated = False,
    history: MaybeHistory = None,
    samples: MaybeSamples = None,
    seed: MaybeSeed = None,
    calibration: CalibrationFile = None,
    job: JobNames = None,
    only: OnlyState = None,
    sort: Sort = "priority",
    top: Top = None,
    wide: Wide = False,
    format: FormatOption = "text",
    gantt: GanttOption = False,
) -> None:
    """Show for every pending job what each method says, the gain, and what the job waits for.

    ESTIMATE is the start that a method says now, SIMULATED the one that the scheduler reaches when
    its cycles run on by it; with --history LIKELY is when a job starts as often before as after.
    Exit codes: 0 done, 2 bad input, 3 stopped early with the best so far, 4 the judge
    objects to a plan (a fault of slotwise, please report it).
    """
    from ..solver.advice.compare import compare as compare_methods
    from .report.terminal import check_format, print_gantt
    from .stopping import cancel_on_signal, left_of

    check_format(gantt, format)
    drawers = {} if history is None else {"workers": workers}
    drawing = drawing_of(history, samples=samples, seed=seed, calibration=calibration, **drawers)
    instance = read_instance(file, example)
    selection = Selection(tuple(job or ()), top, sort, only, wide)
    selection.check(instance)
    with cancel_on_signal() as cancel, progress() as report:
        found = compare_methods(
            instance,
            objective=objective,
            time_limit=left_of(time_limit),
            effort=effort,
            workers=workers,
            as_lsf=as_lsf,
            margin=margin,
            simulated=True if really else simulated,
            cancel=cancel,
            on_progress=report,
            history=history,
            drawing=drawing,
        )
    _tell(instance, found, format, selection)
    if gantt:
        print_gantt(instance, found.optimal)
    _leave(found, stopped=cancel.is_set() or found.cut)


def _leave(found: Comparison, *, stopped: bool) -> None:
    if found.refused:
        raise typer.Exit(Exit.REFUSED)
    if stopped:
        raise typer.Exit(Exit.STOPPED)


def _tell(instance: Instance, found: Comparison, format: str, selection: Selection) -> None:
    """The comparison, and beside it what is odd about its history."""
    from .render import comparison_output

    for remark in found.remarks:
        tell(remark)
    typer.echo(comparison_output(instance, found, format, selection), nl=False)
