"""What ``slotwise whatif`` runs: a site, the jobs of a log on it, and its variants."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from .options import read_instance, tell
from .simulate_input import Simulated, Sources, read
from .simulate_output import fit_text

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..solver.studies.run import Run, RunOptions
    from ..solver.studies.variants import Variant

#: The key of params that says how long a cycle is.
CYCLE_KEY = "MBD_SLEEP_TIME"


@dataclass(frozen=True, slots=True)
class Question:
    """What the command line asks; see `slotwise whatif --help`."""

    site: Path | None
    example: str | None
    log: Path | None
    sets: Sequence[str]
    vary: Sequence[str]
    events: Path | None = None
    changes: Path | None = None
    keep_going: bool = False
    default_limit: str | None = None
    cycle: int | None = None
    until: str | None = None
    block: str = "7d"
    calibrate: bool = False


def prepared(question: Question) -> list[tuple[Variant, Run]]:
    """Every variant and its run, today's first; remarks go to stderr.

    Raises InputError with everything that is wrong, before anything is run.
    """
    from ..model.errors import InputError
    from ..solver.loop.cycle_fit import fit_cycle
    from ..solver.loop.simulation import horizon
    from ..solver.studies.run import Run, RunOptions
    from ..solver.studies.variants import combinations, read_wishes, variants

    _check(question)
    sets, grid, wrong = read_wishes(question.sets, question.vary)
    site = read_instance(question.site, question.example)
    found = variants(site, combinations(sets, grid), RunOptions(cycle=question.cycle), wrong)
    today = _workload(question, site, quiet=False)
    if question.calibrate and not today.recorded:
        raise InputError(f"--calibrate: {question.log} records no starts")
    options = RunOptions(cycle=question.cycle, until=horizon(today.instance, question.until))
    fit = None
    if today.of_lsf and question.cycle is None:
        fit = fit_cycle(today.instance, today.recorded, today.changes)
    if fit is not None:
        tell(fit_text(fit))
        options = replace(options, cycle=fit.cycle)
    block = _seconds(question.block)
    runs = []
    for variant in found:
        given = _of_variant(question, variant) if variant.settings else today
        how = _options(variant, options)
        runs.append((variant, Run(given.instance, how, given.changes, block, given.recorded)))
    return runs


def _check(question: Question) -> None:
    """InputError for options that mean nothing together."""
    from ..model.errors import InputError, Problem
    from ..model.formats.registry import format_of
    from ..model.formats.source_text import check_readable

    wrong = []
    if question.log is not None:
        check_readable(question.log)
    if question.log is not None and "cluster" not in format_of(question.log).takes:
        kind = format_of(question.log).kind
        wrong.append(Problem(f"{question.log} is {kind}; a log is lsb.acct or SWF", "--log"))
    if question.calibrate and question.log is None:
        wrong.append(Problem("needs --log: a log whose starts were recorded", "--calibrate"))
    if question.events is not None and question.log is None:
        wrong.append(Problem("needs --log: lsb.acct of the same cluster", "--events"))
    if not question.sets and not question.vary and not question.calibrate:
        wrong.append(Problem("say what changes: --set KEY=VALUE or --vary KEY=A,B"))
    try:
        _seconds(question.block)
    except InputError as error:
        wrong += error.problems
    if wrong:
        raise InputError(wrong)


def _seconds(text: str) -> int:
    from ..model.errors import InputError, Problem
    from ..model.formats.units import parse_duration

    try:
        seconds = int(parse_duration(text))
    except ValueError as error:
        raise InputError([Problem(str(error), "--block")]) from error
    if seconds < 1:
        raise InputError([Problem(f"must be a positive time, not {text!r}", "--block")])
    return seconds


def _options(variant: Variant, options: RunOptions) -> RunOptions:
    """Of a variant: what it says itself counts, the rest is as today."""
    own = variant.options
    says_cycle = any(s.key.rpartition(".")[2] in ("cycle", CYCLE_KEY) for s in variant.settings)
    return replace(own, cycle=own.cycle if says_cycle else options.cycle, until=options.until)


def _workload(question: Question, site: Instance, *, quiet: bool = True) -> Simulated:
    """The jobs on a site: those of the log, else its own."""
    from ..model.formats.changes import load_changes

    if question.log is not None:
        sources = Sources(
            question.log,
            keep_going=question.keep_going,
            default_limit=question.default_limit,
            events=question.events,
            changes=question.changes,
            site=site,
            quiet=quiet,
        )
        return read(sources)
    changes = () if question.changes is None else load_changes(question.changes, site)
    return Simulated(site, tuple(changes))


def _of_variant(question: Question, variant: Variant) -> Simulated:
    """The jobs on a variant's cluster; what was said of today's is not said again."""
    from ..model.errors import InputError, Problem

    try:
        return _workload(question, variant.instance)
    except InputError as error:
        raise InputError(
            Problem(str(problem), f"with {variant.name}") for problem in error.problems
        ) from error


def files(question: Question) -> Iterable[Path]:
    """What is read, which no output may overwrite."""
    given = (question.site, question.log, question.events, question.changes)
    return (path for path in given if path is not None)
