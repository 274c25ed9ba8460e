"""``slotwise whatif``: variants of a cluster side by side."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..model.errors import InputError, Problem
from .declare import argument, command, option, taking
from .options import (
    FORMAT_HELP,
    Format,
    collected_notes,
    from_stdin,
    print_note,
    seconds_of,
    study_bar,
)
from .output import check_apart, check_output, check_path, write_file, write_records
from .process import Exit, cancel_on_signal
from .simulate import LoopOptions, Simulated, changes_of, cycle_of, workload
from .source import Source

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..solver.studies.run import Run
    from ..solver.studies.whatif import Variant


#: The key of params that says how long a cycle is.
CYCLE_KEY = "MBD_SLEEP_TIME"


@dataclass(frozen=True, slots=True)
class Question:
    """Options that describe the question."""

    log: Path | None = option(
        None, "Jobs: lsb.acct or an SWF log, plain or gzipped.", callback=from_stdin
    )
    sets: tuple[str, ...] = option(
        (),
        "A variant (several settings: 'A=1; B=2'): queues.parallel.BACKFILL=N, "
        "LSB_TIME_RESERVE_NUMJOBS=4, reservation=optimal (docs/whatif.md). Several are also "
        "combined.",
        "--set",
        metavar="KEY=VALUE",
    )
    vary: tuple[str, ...] = option(
        (),
        "A variant for each value, with every --set; several options form a grid.",
        metavar="KEY=A,B,C",
    )
    calibrate: bool = option(
        False, "First compare the recorded waits of the log with the simulated ones."
    )
    block: str = option("7d", "Length of the blocks of the log for resampling.", metavar="TIME")
    #: The cluster as it is today.
    source: Source = Source()
    loop: LoopOptions = LoopOptions()


def prepared(question: Question) -> tuple[list[Variant], list[Run]]:
    """Return every variant and their runs, today's first; remarks go to stderr.

    Raises InputError with everything that is wrong, before anything is run.
    """
    from ..solver.scheduler.simulation import horizon
    from ..solver.studies.run import Run, RunOptions
    from ..solver.studies.whatif import combinations, read_wishes, variants

    _check(question)
    sets, grid, wrong = read_wishes(question.sets, question.vary)
    site = question.source.read()
    found = variants(site, combinations(sets, grid), RunOptions(cycle=question.loop.cycle), wrong)
    today = _workload(question, site, quiet=False)
    if question.calibrate and not today.recorded:
        raise InputError(f"--calibrate: {question.log} has no recorded starts: give another log")
    until = horizon(today.instance, question.loop.until)
    options = RunOptions(cycle=question.loop.cycle, until=until)
    if (fit := cycle_of(today, question.loop)) is not None:
        options = replace(options, cycle=fit.cycle)
    block = seconds_of(question.block, "--block")
    runs: list[Run] = []
    for variant in found:
        given = _of_variant(question, variant) if variant.settings else today
        own = variant.options
        says_cycle = any(s.key.rpartition(".")[2] in ("cycle", CYCLE_KEY) for s in variant.settings)
        how = replace(own, cycle=own.cycle if says_cycle else options.cycle, until=options.until)
        runs.append(Run(given.instance, how, given.changes, block, given.recorded))
    return found, runs


def _check(question: Question) -> None:
    """Raise InputError for options that contradict each other."""
    from ..model.formats.reading import check_readable
    from ..model.sources.registry import format_of

    wrong = []
    if question.log is not None:
        check_readable(question.log)
    if question.log is not None and "cluster" not in format_of(question.log).takes:
        kind = format_of(question.log).kind
        wrong.append(Problem(f"{question.log} must be lsb.acct or SWF, not {kind}", "--log"))
    if question.calibrate and question.log is None:
        wrong.append(Problem("needs --log, a log with recorded starts", "--calibrate"))
    if question.loop.events is not None and question.log is None:
        wrong.append(Problem("needs --log, lsb.acct of the same cluster", "--events"))
    if not question.sets and not question.vary and not question.calibrate:
        wrong.append(Problem("no change is given: give --set KEY=VALUE or --vary KEY=A,B"))
    try:
        seconds_of(question.block, "--block")
    except InputError as error:
        wrong += error.problems
    if wrong:
        raise InputError(wrong)


def _workload(question: Question, site: Instance, *, quiet: bool = True) -> Simulated:
    """Return the jobs on a site: the jobs of the log, or without a log the site's own."""
    if question.log is not None:
        with collected_notes([]) if quiet else nullcontext():
            return workload(question.log, question.loop, site=site)
    return Simulated(site, changes_of(question.loop, site))


def _of_variant(question: Question, variant: Variant) -> Simulated:
    """Return the jobs on a variant's cluster; notes on today's jobs are not repeated."""

    try:
        return _workload(question, variant.instance)
    except InputError as error:
        raise InputError(
            Problem(str(problem), f"with {variant.name}") for problem in error.problems
        ) from error


def files(question: Question) -> Iterable[Path]:
    """Return the input files, which no output may overwrite."""
    loop = question.loop
    given = (question.source.file, question.log, loop.events, loop.changes)
    return (path for path in given if path is not None)


#: The argument FILE of a whatif study.
SITE = argument(
    None,
    "Instance file of the current cluster, with its jobs unless --log has them; - for standard "
    "input.",
    callback=from_stdin,
    show_default=False,
)
WORKERS_HELP = "Number of processes. Default: one per processor."


@dataclass(frozen=True, slots=True)
class StudyOutput:
    """Targets of the result of a study."""

    output: Path | None = option(None, "Also write a page, one HTML file.", "-o", "--output")
    table: Path | None = option(
        None, "Also write the tidy table: .csv or .json (optionally .gz), or .parquet."
    )
    format: Format = option("text", FORMAT_HELP)

    def check(self, inputs: Iterable[Path]) -> None:
        """Raise InputError before any work if a file cannot be written."""
        check_output(self.output)
        check_path(self.table)
        check_apart({"--output": self.output, "--table": self.table}, inputs)


@command
def whatif(
    source: Annotated[Source, taking(file=SITE)],
    question: Question,
    loop: Annotated[LoopOptions, taking("events changes cycle until keep_going default_limit")],
    *,
    seed: int = option(0, "Random seed of the resampling.", min=0),
    workers: int | None = option(None, WORKERS_HELP, min=1),
    pages: StudyOutput,
) -> None:
    """Compare variants of a cluster with today's configuration.

    A change is marked if resampled weeks show that it is more than noise.

    Exit codes: 0 done, 2 bad input, 3 stopped early (finished variants are shown).
    """
    from ..solver.studies.whatif import compared_runs, without_effect
    from .study_output import notes, render_whatif

    question = replace(question, source=source, loop=loop)
    pages.check(files(question))
    with cancel_on_signal() as cancel:
        with cancel.reading():
            variants, runs = prepared(question)
        reasons = without_effect(variants, runs)
        said = [f"{name}: {reason}" for name, reason in reasons.items()]
        print_note(*said)
        options: dict[str, Any] = {"seed": seed, "calibrate": question.calibrate}
        with study_bar("variants", len(runs)) as step:
            count = workers or processors()
            found = compared_runs(variants, runs, reasons, count, cancel, step=step, **options)
        if found is None:
            cancel.leave()
    for note in notes(found):
        if note not in said:
            print_note(note)
    write_records(found.to_records(), pages.table)
    if pages.output is not None:
        from .report.study_pages import whatif_page

        write_file(pages.output, whatif_page(found, source.name))
    typer.echo(render_whatif(found, pages.format, runs[0].instance), nl=False)
    if not found.complete:
        print_note(f"stopped with {len(found)} of {len(runs)} variants finished")
        raise typer.Exit(Exit.STOPPED)


def processors() -> int:
    """Return the number of processors that this process can use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
