"""``slotwise solve``: one plan by one method."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..model.errors import InputError
from ..model.plan import Method
from .declare import command, option, taking, values_of
from .forecast import LikelyOptions
from .options import FORMAT, GANTT, Format, Search, progress
from .output import check_apart, check_path, write_file
from .process import Exit, cancel_on_signal, give, left_of
from .selection import PlanSelection, Selection
from .source import Source
from .tables import terminal_width

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..model.plan import Plan, PlannedJob
    from ..solver.outlook.outlook import Outlook
    from ..solver.scheduler.continuation import ConfiguredRun

#: Running and pending jobs up to which `solve` simulates the scheduler unasked.
MAX_SIMULATED = 20_000
#: Meaning of --time-limit for a comparison.
OF_OPTIMAL = (
    "Wall-clock seconds of the whole command. Default: 30 for an optimal plan without --effort, "
    "otherwise no limit."
)


@dataclass(frozen=True, slots=True)
class PlanOptions(Search):
    """Options for making a plan; fields of ``solver.planning.plan``."""

    method: Method = option("optimal", "How to plan.")
    jobs: int | None = option(
        None,
        "Number of jobs that get a time-based reservation (LSB_TIME_RESERVE_NUMJOBS).",
        "--reservations",
        min=0,
    )
    first: int | None = option(
        None, "Plan only the first N jobs of the order, as if no other job were pending.", min=1
    )
    whole_nodes: bool = option(
        False, "As Slurm plans: a job that starts later has its hosts to itself."
    )


ORDER = "method objective time_limit effort workers jobs first as_lsf margin whole_nodes"


@command
def solve(
    source: Source,
    how: Annotated[PlanOptions, taking(ORDER)],
    selection: PlanSelection,
    configured: bool | None = option(
        None,
        "Also show the start as configured, by simulation. Default: up to "
        f"{MAX_SIMULATED:,} running and pending jobs.",
    ),
    format: Format = FORMAT,
    gantt: bool = GANTT,
    lsf_plan: Path | None = option(None, "Also write the plan as lsb.allocation.plan.json."),
    strict: bool = option(False, "Exit with code 1 if a job has no start."),
) -> None:
    """Plan every pending job: when and where it starts, and what it waits for.

    Exit codes: 0 done, 1 infeasible under --strict, 2 bad input, 3 stopped early (best plan found),
    4 the plan failed validation (a defect of slotwise).
    """
    from ..solver.planning import plan

    _check_format(gantt, format)
    if lsf_plan is not None:
        check_path(lsf_plan, suffixes=())
        check_apart({"--lsf-plan": lsf_plan}, [] if source.file is None else [source.file])
    instance = source.read(how.time_limit)
    selection.check(instance)
    with cancel_on_signal() as cancel, progress() as report:
        run = _as_configured(instance, configured, how.time_limit, cancel)
        options = values_of(how) | {"time_limit": left_of(how.time_limit)}
        found = plan(instance, **options, cancel=cancel, on_progress=report)
    _write_lsf_plan(lsf_plan, instance, found)
    typer.echo(_told(instance, run, found, format, selection, how.time_limit), nl=False)
    if gantt:
        print_gantt(instance, found)
    if found.refused:
        raise typer.Exit(Exit.REFUSED)
    if cancel.is_set() or found.cut:
        raise typer.Exit(Exit.STOPPED)
    if strict and found.unplaced:
        raise typer.Exit(Exit.FAILED)


def _is_small(instance: Instance) -> bool:
    return len(instance.running) + len(instance.pending) <= MAX_SIMULATED


def _as_configured(
    instance: Instance, wanted: bool | None, time_limit: float | None, cancel: threading.Event
) -> ConfiguredRun | None:
    """Return the run of the simulated scheduler in a share of the time, None if unwanted."""
    if not (_is_small(instance) if wanted is None else wanted):
        return None
    from ..solver.budget import Budget
    from ..solver.outlook.outlook import CONFIGURED_SHARE, configured_within

    return configured_within(instance, Budget(left_of(time_limit), cancel=cancel), CONFIGURED_SHARE)


def _outlook(instance: Instance, run: ConfiguredRun | None, found: Plan) -> Outlook | None:
    """Return the predicted starts; possible starts are those of a plan in priority order."""
    if run is None:
        return None
    from ..model.objective import objective_named
    from ..solver.outlook.outlook import outlook_of

    whole = found.method == "optimal" and not found.behind
    in_order = objective_named(found.objective).in_order
    return outlook_of(instance, run, found if whole and in_order else None)


def _told(
    instance: Instance,
    run: ConfiguredRun | None,
    found: Plan,
    format: str,
    selection: Selection,
    time_limit: float | None,
) -> str:
    """Return the plan as text, with the run as configured if there is one."""
    from ..solver.outlook.outlook import without_idle_needs
    from .render import plan_output

    if run is None:
        from ..solver.budget import Budget
        from ..solver.outlook.outlook import plan_states

        states = plan_states(instance, found, Budget(left_of(time_limit)))
        return plan_output(instance, found, format, selection, states=states)
    found = without_idle_needs(found, run)
    return plan_output(instance, found, format, selection, _outlook(instance, run, found))


def _check_format(gantt: bool, format: str) -> None:
    """Raise InputError for --gantt with a format that programs read."""
    if gantt and format != "text":
        raise InputError(f"--gantt cannot be combined with --format {format}: use --format text")


def print_gantt(instance: Instance, planned: Iterable[PlannedJob]) -> None:
    """Print the chart on standard output, up to as wide as the listings above it."""
    from .report.bars import WIDEST, gantt_text

    text = gantt_text(instance, planned, min(terminal_width(), WIDEST))
    none = "no job has a planned start: there is nothing to draw\n"
    typer.echo(f"\n{text or none}", nl=False)


def _write_lsf_plan(path: Path | None, instance: Instance, found: Plan) -> None:
    if path is None:
        return
    from .views.lsf_json import allocation_plan

    write_file(path, allocation_plan(instance, found))


@command
def compare(
    source: Source,
    search: Annotated[Search, taking(time_limit=OF_OPTIMAL)],
    likely: Annotated[LikelyOptions, taking("history samples seed calibration")],
    selection: Selection,
    methods: str | None = option(
        None,
        "Compare the starts by these reservation methods: greedy, time-based, optimal; without a "
        "list all three. Default for a file without a scheduler's settings: greedy,optimal.",
        metavar="LIST",
    ),
    all_methods: bool = option(False, "", "--methods-now", hidden=True),
    configured: bool = option(
        False, "Compare the starts as configured with the earliest ones in priority order."
    ),
    format: Format = FORMAT,
    gantt: bool = GANTT,
) -> None:
    """Compare greedy and optimal plans, or the configured and possible starts of a cluster.

    GETS and AS CONFIGURED are starts that the simulated scheduler reaches. START and COULD START
    are the earliest starts in priority order, by constraint programming (CP-SAT). With --history,
    LIKELY is the median of the forecast start.
    Exit codes: 0 done, 2 bad input, 3 stopped early with the best plans found, 4 a plan failed
    validation (a defect of slotwise: please report it).
    """
    from ..solver.advice.comparison import compare as compare_methods
    from .render import comparison_output

    _check_format(gantt, format)
    compared = _compared(methods, everything=all_methods, configured=configured)
    settings = likely.settings(None if likely.history is None else search.workers)
    instance = source.read(search.time_limit)
    selection.check(instance)
    past = likely.past(instance)
    with cancel_on_signal() as cancel, progress() as report:
        options = values_of(search) | {"time_limit": left_of(search.time_limit)}
        found = compare_methods(
            instance,
            methods=compared,
            cancel=cancel,
            on_progress=report,
            history=past,
            drawing=settings,
            **options,
        )
    give(comparison_output(instance, found, format, selection), found.remarks)
    if gantt:
        print_gantt(instance, found.optimal)
    if found.refused:
        raise typer.Exit(Exit.REFUSED)
    if cancel.is_set() or found.cut:
        raise typer.Exit(Exit.STOPPED)


def _compared(
    methods: str | None, *, everything: bool, configured: bool
) -> bool | list[str] | None:
    """Return the methods to compare as the comparison takes them."""
    if configured and (everything or methods is not None):
        raise InputError("--configured and --methods select different tables: give one of them")
    if methods is not None:
        return [name.strip() for name in methods.split(",")]
    return False if configured else everything or None
