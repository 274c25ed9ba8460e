"""``slotwise whatif``: variants of a cluster side by side."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from .atomic import check_apart, check_output, whole_file
from .exits import Exit
from .job_records import check_path, write_records
from .options import DefaultLimitOption, Example, FormatOption, KeepGoing, tell
from .paths import file_argument, file_option
from .simulate import Changes, CycleLength, Events, Until
from .stdin_file import from_stdin

if TYPE_CHECKING:
    from ..solver.studies.run import Run, RunOutcome
    from ..solver.studies.variants import Variant
    from ..solver.studies.whatif import WhatIf

Site = Annotated[
    Path | None,
    file_argument(
        help="Instance file: the cluster as it is today, with its jobs unless --log has them; - "
        "for standard input.",
        callback=from_stdin,
        show_default=False,
    ),
]
Log = Annotated[
    Path | None,
    file_option(
        help="Jobs: lsb.acct or an SWF log, plain or gzipped.",
        callback=from_stdin,
        show_default=False,
    ),
]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A variant (several settings: 'A=1; B=2'): queues.parallel.BACKFILL=N, "
        "LSB_TIME_RESERVE_NUMJOBS=4, reservation=optimal (docs/whatif.md). Of several also all "
        "together.",
        show_default=False,
    ),
]
Vary = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=A,B,C",
        help="A variant for each value, over every --set; several make a grid.",
        show_default=False,
    ),
]
Block = Annotated[
    str, typer.Option(help="Stretches of the log that are resampled as one.", metavar="TIME")
]
Calibrate = Annotated[
    bool, typer.Option("--calibrate", help="First the log's recorded waits beside today's.")
]
Seed = Annotated[int, typer.Option(min=0, help="Of the resampling.")]
Who = Annotated[int, typer.Option(min=0, help="Groups listed that wait longer, and less.")]
Workers = Annotated[
    int | None, typer.Option(min=1, help="Processes. Default: one a processor.", show_default=False)
]
Page = Annotated[
    Path | None,
    file_option("-o", "--output", help="Also write a page, one HTML file.", show_default=False),
]
Table = Annotated[
    Path | None,
    file_option(
        help="Also write the tidy table: .csv, .json (both also .gz) or .parquet.",
        show_default=False,
    ),
]


def whatif(
    site: Site = None,
    example: Example = None,
    log: Log = None,
    set: Sets = None,
    vary: Vary = None,
    calibrate: Calibrate = False,
    events: Events = None,
    changes: Changes = None,
    cycle: CycleLength = None,
    until: Until = None,
    block: Block = "7d",
    seed: Seed = 0,
    who: Who = 3,
    workers: Workers = None,
    output: Page = None,
    table: Table = None,
    format: FormatOption = "text",
    keep_going: KeepGoing = False,
    default_limit: DefaultLimitOption = None,
) -> None:
    """What would change if: variants of a cluster beside today's configuration, run by the loop.

    A change is marked where resampled weeks show that it is more than noise.

    Exit codes: 0 done, 2 bad input, 3 stopped early (what was finished is shown).
    """
    from ..solver.studies.whatif import compare_outcomes
    from .stopping import cancel_on_signal
    from .whatif_input import Question, files, prepared
    from .whatif_output import notes, render

    question = Question(
        site=site,
        example=example,
        log=log,
        sets=set or (),
        vary=vary or (),
        events=events,
        changes=changes,
        keep_going=keep_going,
        default_limit=default_limit,
        cycle=cycle,
        until=until,
        block=block,
        calibrate=calibrate,
    )
    _check_outputs(output, table, files(question))
    with cancel_on_signal() as cancel:
        runs = prepared(question)
        outcomes, unfinished = _run(runs, workers or processors(), cancel)
    found = compare_outcomes(
        outcomes, block=runs[0][1].block, seed=seed, unfinished=unfinished, calibrate=calibrate
    )
    for note in notes(found):
        tell(note)
    _write(found, output, table, example or str(site))
    typer.echo(render(found, format, who), nl=False)
    if not found.complete:
        _stop(len(found), len(runs))


def _stop(finished: int, asked: int) -> NoReturn:
    tell(f"stopped with {finished} of {asked} variants finished")
    raise typer.Exit(Exit.STOPPED)


def _check_outputs(output: Path | None, table: Path | None, inputs: Iterable[Path]) -> None:
    """InputError where one of them could not be written, before any work is done."""
    if output is not None:
        check_output(output)
    if table is not None:
        check_path(table)
    check_apart({"--output": output, "--table": table}, inputs)


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _run(
    runs: list[tuple[Variant, Run]], count: int, cancel: threading.Event
) -> tuple[list[tuple[str, tuple[tuple[str, str], ...], RunOutcome]], list[str]]:
    """Outcomes in the order of the variants, and the names of those that were stopped.

    Raises KeyboardInterrupt where it was stopped before there was any.
    """
    from ..model.errors import SlotwiseError
    from ..solver.studies.run import perform
    from ..solver.studies.workers import Lost, in_turn, on_processes
    from .study_progress import study_bar

    tasks = [run for _, run in runs]
    found: dict[int, RunOutcome] = {}
    if min(count, len(tasks)) == 1:
        coming = in_turn(perform, tasks, cancel)
    else:
        coming = on_processes(perform, tasks, count, cancel)
    with study_bar("variants", len(runs)) as step:
        for number, result in coming:
            if isinstance(result, Lost):
                raise SlotwiseError(f"{runs[number][0].name}: {result.reason}")
            found[number] = result
            step()
    if not found:
        raise KeyboardInterrupt
    outcomes = [(runs[n][0].name, runs[n][0].plain_settings, found[n]) for n in sorted(found)]
    return outcomes, [variant.name for n, (variant, _) in enumerate(runs) if n not in found]


def _write(found: WhatIf, output: Path | None, table: Path | None, name: str) -> None:
    if table is not None:
        write_records(found.to_records(), table)
    if output is not None:
        from .report.whatif_page import whatif_page

        with whole_file(output) as file:
            file.write(whatif_page(found, name).encode())
