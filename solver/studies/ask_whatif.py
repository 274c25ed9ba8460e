"""What-if as a call: variants of an instance side by side."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ...model.errors import InputError, Problem, SlotwiseError
from ...model.formats.file_format import Contents, ReadOptions
from ...model.formats.registry import format_of
from ...model.formats.units import parse_duration
from ...model.instance import Instance
from ..loop.simulation import horizon
from .arguments import require_arguments
from .run import Run, RunOptions, perform
from .variants import combinations, read_wishes, variants
from .whatif import WhatIf, compare_outcomes
from .workers import Lost, in_turn, on_processes


def whatif(
    instance: Instance,
    sets: Sequence[str] = (),
    *,
    vary: Sequence[str] = (),
    log: str | Path | None = None,
    until: int | str | None = None,
    cycle: int | None = None,
    block: str = "7d",
    seed: int = 0,
    calibrate: bool = False,
    workers: int = 1,
    cancel: threading.Event | None = None,
) -> WhatIf:
    """Variants of an instance beside what it is today, each run by the scheduler loop.

    sets: a variant each, ``queues.parallel.BACKFILL=N`` or several settings joined by ``;``; of two
    and more also all together. vary: ``KEY=A,B``, a variant for each value; several are a grid.
    log: lsb.acct or an SWF log, whose jobs take the place of the instance's own. until, cycle: as
    for simulate. block: the stretches that are resampled as one; seed: of the resampling.
    calibrate: keep the log's recorded waits beside today's. workers: processes; with more than one
    a program needs the guard that multiprocessing asks for. cancel: set it to stop; what is
    finished is returned, not `complete`.
    Raises InputError with everything that is wrong with the arguments or settings, and where
    nothing was finished SlotwiseError.
    """
    numbers = {"seed": (seed, 0), "workers": (workers, 1)}
    numbers |= {} if cycle is None else {"cycle": (cycle, 0)}
    paths = {} if log is None else {"log": log}
    require_arguments(texts={"sets": sets, "vary": vary}, paths=paths, numbers=numbers)
    if calibrate and log is None:
        raise InputError([Problem("needs log: one whose starts were recorded", "calibrate")])
    found_sets, grid, wrong = read_wishes(sets, vary)
    found = variants(instance, combinations(found_sets, grid), RunOptions(cycle=cycle), wrong)
    length = _block(block)
    runs = []
    for variant in found:
        given = _jobs(variant.instance, log)
        options = replace(variant.options, until=horizon(given.instance, until))
        runs.append(Run(given.instance, options, (), length, given.recorded))
    stop = cancel or threading.Event()
    coming = (
        in_turn(perform, runs, stop) if workers == 1 else on_processes(perform, runs, workers, stop)
    )
    done = {}
    for number, result in coming:
        if isinstance(result, Lost):
            raise SlotwiseError(f"{found[number].name}: {result.reason}")
        done[number] = result
    if not done:
        raise SlotwiseError("stopped before there was an answer")
    return compare_outcomes(
        [(found[n].name, found[n].plain_settings, done[n]) for n in sorted(done)],
        block=length,
        seed=seed,
        unfinished=[variant.name for n, variant in enumerate(found) if n not in done],
        calibrate=calibrate,
    )


def _jobs(site: Instance, log: str | Path | None) -> Contents:
    if log is None:
        return Contents(site)
    path = Path(log)
    return format_of(path).read(path, ReadOptions(cluster=site))


def _block(text: str) -> int:
    try:
        seconds = int(parse_duration(text))
    except ValueError as error:
        raise InputError(f"block: {error}") from error
    if seconds < 1:
        raise InputError(f"block: must be a positive time, not {text!r}")
    return seconds
