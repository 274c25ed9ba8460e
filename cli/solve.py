"""``slotwise solve``: one plan by one method."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..model.plan import Method
from .forecast import (
    CalibrationFile,
    MaybeHistory,
    MaybeSamples,
    MaybeSeed,
    drawing_of,
    past_of,
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
    TimeLimit,
    WholeTimeLimit,
    Workers,
    file_option,
    progress,
    read_instance,
    tell,
)
from .output import check_apart, check_path
from .process import Exit
from .selection import JobNames, OnlyState, PlanSort, Selection, Sort, Top, Wide

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..model.plan import Plan
    from ..solver.advice.compare import Comparison


MostReservations = Annotated[
    int | None,
    typer.Option(
        "--reservations",
        min=0,
        help="Jobs that get a time-based reservation (LSB_TIME_RESERVE_NUMJOBS).",
    ),
]
First = Annotated[
    int | None,
    typer.Option(
        "--first",
        min=1,
        help="Plan only the first N jobs of the order, as if no job waited behind them.",
        show_default=False,
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with 1 if some job cannot be placed.")]
WholeNodes = Annotated[
    bool,
    typer.Option(
        "--whole-nodes", help="As Slurm plans: a job that starts later has its hosts to itself."
    ),
]
LsfPlan = Annotated[
    Path | None,
    file_option(help="Write the plan as lsb.allocation.plan.json too.", show_default=False),
]


def solve(
    file: InstanceFile = None,
    example: Example = None,
    method: Annotated[Method, typer.Option(help="How to plan.")] = "optimal",
    objective: ObjectiveOption = "lexicographic",
    time_limit: TimeLimit = None,
    effort: Effort = None,
    workers: Workers = None,
    jobs: MostReservations = None,
    first: First = None,
    as_lsf: AsLsf = False,
    margin: Margin = 0,
    whole_nodes: WholeNodes = False,
    job: JobNames = None,
    only: OnlyState = None,
    sort: PlanSort = "priority",
    top: Top = None,
    wide: Wide = False,
    format: FormatOption = "text",
    gantt: GanttOption = False,
    lsf_plan: LsfPlan = None,
    strict: Strict = False,
) -> None:
    """Plan every pending job: when and where it starts, and what it waits for.

    Exit codes: 0 done, 1 infeasible under --strict, 2 bad input, 3 stopped early (best so far), by
    Ctrl-C or because the time limit kept jobs from being looked at, 4 the judge objects to the plan
    (a fault of slotwise: please report it).
    """
    from ..solver.planning import plan
    from .process import cancel_on_signal, left_of
    from .render import plan_output
    from .report.terminal import print_gantt

    _check_outputs(gantt, format, lsf_plan, file)
    instance = read_instance(file, example)
    selection = Selection(tuple(job or ()), top, sort, only, wide)
    selection.check(instance)
    with cancel_on_signal() as cancel, progress() as report:
        found = plan(
            instance,
            method,
            objective=objective,
            time_limit=left_of(time_limit),
            effort=effort,
            workers=workers,
            jobs=jobs,
            first=first,
            as_lsf=as_lsf,
            margin=margin,
            whole_nodes=whole_nodes,
            cancel=cancel,
            on_progress=report,
        )
    if lsf_plan is not None:
        _write_lsf_plan(lsf_plan, instance, found)
    typer.echo(plan_output(instance, found, format, selection), nl=False)
    if gantt:
        print_gantt(instance, found)
    _leave(found, strict=strict, stopped=cancel.is_set() or found.cut)


def _check_outputs(gantt: bool, format: str, lsf_plan: Path | None, file: Path | None) -> None:
    from .report.terminal import check_format

    check_format(gantt, format)
    if lsf_plan is not None:
        check_path(lsf_plan, suffixes=())
        check_apart({"--lsf-plan": lsf_plan}, [] if file is None else [file])


def _write_lsf_plan(path: Path, instance: Instance, found: Plan) -> None:
    from .job_views import allocation_plan
    from .output import whole_file

    with whole_file(path) as output:
        output.write(allocation_plan(instance, found).encode())


def _leave(found: Plan, *, strict: bool, stopped: bool) -> None:
    if found.refused:
        raise typer.Exit(Exit.REFUSED)
    if stopped:
        raise typer.Exit(Exit.STOPPED)
    if strict and found.unplaced:
        raise typer.Exit(Exit.FAILED)


# --- ``slotwise compare``: greedy, time-based and optimal starts side by side ---------------------

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
    from .process import cancel_on_signal, left_of
    from .report.terminal import check_format, print_gantt

    check_format(gantt, format)
    drawers = {} if history is None else {"workers": workers}
    drawing = drawing_of(history, samples=samples, seed=seed, calibration=calibration, **drawers)
    instance = read_instance(file, example)
    selection = Selection(tuple(job or ()), top, sort, only, wide)
    selection.check(instance)
    past = past_of(history, instance)
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
            history=past,
            drawing=drawing,
        )
    _report(instance, found, format, selection)
    if gantt:
        print_gantt(instance, found.optimal)
    _leave_comparison(found, stopped=cancel.is_set() or found.cut)


def _leave_comparison(found: Comparison, *, stopped: bool) -> None:
    if found.refused:
        raise typer.Exit(Exit.REFUSED)
    if stopped:
        raise typer.Exit(Exit.STOPPED)


def _report(instance: Instance, found: Comparison, format: str, selection: Selection) -> None:
    """The comparison, and beside it what is odd about its history."""
    from .render import comparison_output

    for remark in found.remarks:
        tell(remark)
    typer.echo(comparison_output(instance, found, format, selection), nl=False)
