"""One run of a study: a simulation, and what of it studies look at, as data that travels."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import nan
from sys import intern
from typing import Protocol, cast

import numpy as np

from ...model.changes import Change
from ...model.errors import InputError, Problem
from ...model.formats.settings import Setting
from ...model.instance import Instance
from ...model.omissions import sentences
from ..loop.metrics import LoopMetrics, measure, submitted, tolerance_of
from ..loop.recorded import WaitComparison, compare_waits
from ..loop.records import Simulation
from ..loop.simulation import simulate
from ..loop.slot_use import slot_seconds
from ..methods.registry import RESERVATIONS, settings_for
from ..world.settings import EFFORT
from .resample import WEEK, Floats, Ints

#: Keys of a variant that are no part of a cluster but say how the loop runs.
RUN_KEYS = ("reservation", "top", "cycle", "effort")


class Stop(Protocol):
    """What says that a run is to stop: an event of threads or of processes."""

    def is_set(self) -> bool:
        """Whether it is to stop now."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How the loop runs; see :func:`slotwise.simulate`. until: the last second, None for none."""

    reservation: str = "configured"
    top: int | None = None
    cycle: int | None = None
    effort: float = EFFORT
    until: int | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """A simulation to be made. block: seconds of a block of jobs. recorded: real starts by job."""

    instance: Instance
    options: RunOptions
    changes: Sequence[Change] = ()
    block: int = WEEK
    recorded: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JobColumns:
    """The jobs that count, a column each; block: in which they were submitted, from 0.

    wait: seconds, NaN for a job that did not start. told: whether it had an estimate and started.
    met: whether it started no later than that.
    """

    user: tuple[str, ...]
    queue: tuple[str, ...]
    slots: Ints
    block: Ints
    wait: Floats
    backfilled: Floats
    told: Floats
    met: Floats
    pending: Floats


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What came of a run. used, there: slot-seconds in use and in all in each block of time.

    waits: beside what was recorded, for all jobs and by queue, where anything was.
    """

    metrics: LoopMetrics
    jobs: JobColumns
    used: tuple[float, ...]
    there: tuple[float, ...]
    cycle: int
    notes: tuple[str, ...] = ()
    waits: tuple[WaitComparison, ...] = ()


def perform(run: Run, stop: Stop | None = None) -> RunOutcome | None:
    """Make the run; None where it was stopped before its end."""
    result = simulation(run, stop)
    return outcome(result, run.block, run.recorded) if result.complete else None


def simulation(run: Run, stop: Stop | None = None) -> Simulation:
    """The simulation itself, not complete where it was stopped."""
    options = run.options
    return simulate(
        run.instance,
        reservation=options.reservation,  # type: ignore[arg-type]
        top=options.top,
        cycle=options.cycle,
        effort=options.effort,
        until=options.until,
        changes=run.changes,
        cancel=cast("threading.Event | None", stop),
    )


def outcome(
    result: Simulation, block: int, recorded: Mapping[str, int] | None = None
) -> RunOutcome:
    """What studies look at of a simulation."""
    metrics = measure(result)
    used, there = slot_seconds(result, metrics.first_submit, metrics.last_end, block)
    return RunOutcome(
        metrics=metrics,
        jobs=_columns(result, metrics.first_submit, block),
        used=tuple(used),
        there=tuple(there),
        cycle=result.settings.cycle,
        notes=(*result.notes, *sentences(result.omissions)),
        waits=compare_waits(result.jobs, recorded) if recorded else (),
    )


def _columns(result: Simulation, begin: int, block: int) -> JobColumns:
    """One pass over the jobs, whose records need not all be there at once."""
    tolerance = tolerance_of(result)
    users: list[str] = []
    queues: list[str] = []
    rows = array("d")
    for record in submitted(result):
        error = record.error
        users.append(intern(record.user))
        queues.append(intern(record.queue))
        rows.extend(
            (
                record.slots,
                max(0, record.submit - begin) // block,
                nan if record.wait is None else record.wait,
                record.backfilled,
                error is not None,
                error is not None and error <= tolerance,
                record.start is None and record.end is None,
            )
        )
    slots, blocks, *others = np.array(rows, dtype=float).reshape(-1, 7).T
    return JobColumns(
        tuple(users), tuple(queues), slots.astype(np.int64), blocks.astype(np.int64), *others
    )


# --- how the loop runs, from text -----------------------------------------------------------------


def options_of(
    settings: Sequence[Setting], instance: Instance, base: RunOptions
) -> tuple[RunOptions, list[Problem]]:
    """The options with those settings that say how the loop runs, and all that is wrong."""
    given: dict[str, object] = {}
    wrong: list[Problem] = []
    for setting in settings:
        if setting.key not in RUN_KEYS:
            continue
        try:
            given[setting.key] = _read(setting)
        except ValueError as error:
            wrong.append(Problem(str(error), setting.said or str(setting)))
    numbers = {name: getattr(base, name) for name in (*RUN_KEYS, "until")} | given
    options = RunOptions(**numbers)
    if not wrong:
        try:
            settings_for(
                instance,
                reservation=options.reservation,
                top=options.top,
                cycle=options.cycle,
                effort=options.effort,
            )
        except InputError as error:
            said = " ".join(setting.said or str(setting) for setting in settings)
            wrong += [Problem(problem.message, said) for problem in error.problems]
    return options, wrong


def _read(setting: Setting) -> object:
    """The value of a key of the loop. Raises ValueError."""
    value = setting.value
    if setting.key == "reservation":
        if value not in RESERVATIONS:
            raise ValueError(f"must be one of {', '.join(RESERVATIONS)}, not {value!r}")
        return value
    if setting.key == "effort":
        try:
            effort = float(value)
        except ValueError:
            effort = -1.0
        if not 0 <= effort < float("inf"):
            raise ValueError(f"must be a number, 0 or more, not {value!r}")
        return effort
    least = 1 if setting.key == "top" else 0
    if not (value.isascii() and value.isdecimal()) or int(value) < least:
        raise ValueError(f"must be a whole number, {least} or more, not {value!r}")
    return int(value)
