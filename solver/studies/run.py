"""One run of a study: a simulation and its measures, as data that processes can exchange."""

from __future__ import annotations

import os
import threading
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import nan
from numbers import Integral
from sys import intern
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from ...model.changes import Change
from ...model.display import WEEK
from ...model.errors import InputError, Problem
from ...model.formats.settings import Setting
from ...model.instance import Instance
from ...model.omissions import sentences
from ..scheduler.events import EFFORT
from ..scheduler.methods import RESERVATIONS, settings_for
from ..scheduler.metrics import (
    LoopMetrics,
    WaitComparison,
    compare_waits,
    measure,
    slot_seconds,
    submitted,
    tolerance_of,
)
from ..scheduler.records import Simulation
from ..scheduler.simulation import simulate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Keys of a variant that are no part of a cluster but say how the loop runs.
RUN_KEYS = ("reservation", "top", "cycle", "effort")


class Stop(Protocol):
    """A stop flag of threads or of processes."""

    def is_set(self) -> bool:
        """Whether the work must stop now."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of the simulated scheduler; see :func:`slotwise.simulate`."""

    #: Reservation method.
    reservation: str = "configured"
    #: Number of jobs with a future allocation; None: the default.
    top: int | None = None
    #: Seconds between cycles; None: the default.
    cycle: int | None = None
    #: Deterministic effort of the optimal method in each cycle.
    effort: float = EFFORT
    #: Last simulated second, None if there is no end.
    until: int | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """A simulation to run."""

    instance: Instance
    options: RunOptions
    changes: Sequence[Change] = ()
    #: Seconds of a block of jobs.
    block: int = WEEK
    #: Recorded starts by job.
    recorded: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JobColumns:
    """The jobs that count, one column per property."""

    user: tuple[str, ...]
    queue: tuple[str, ...]
    slots: Ints
    #: Index of the block of each job's submission, from 0.
    block: Ints
    #: Seconds, NaN for a job that did not start.
    wait: Floats
    backfilled: Floats
    #: Whether each job had an estimate and started.
    queued: Floats
    #: Whether each job started no later than its estimate.
    met: Floats
    pending: Floats


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The result of a run."""

    metrics: LoopMetrics
    jobs: JobColumns
    #: Slot-seconds in use in each block of time.
    used: tuple[float, ...]
    #: Slot-seconds of the cluster in each block.
    there: tuple[float, ...]
    cycle: int
    notes: tuple[str, ...] = ()
    #: Differences from recorded starts, for all jobs and by queue, if any were recorded.
    waits: tuple[WaitComparison, ...] = ()


def perform(run: Run, stop: Stop | None = None) -> RunOutcome | None:
    """Return the result of a run, None if the run was stopped before its end."""
    result = simulation(run, stop)
    return outcome(result, run.block, run.recorded) if result.complete else None


def simulation(run: Run, stop: Stop | None = None) -> Simulation:
    """Return the simulation, which is not complete if it was stopped."""
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
    """Return the measures of a simulation that studies use."""
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
    """Return the columns of the jobs in one pass; their records need not all be in memory."""
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


def options_of(
    settings: Sequence[Setting], instance: Instance, base: RunOptions
) -> tuple[RunOptions, list[Problem]]:
    """Return the options with loop settings among these applied, and all errors."""
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
    """Return the value of a key of the loop; raises ValueError."""
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


def require_arguments(
    *,
    texts: Mapping[str, object] | None = None,
    paths: Mapping[str, object] | None = None,
    numbers: Mapping[str, tuple[object, int]] | None = None,
) -> None:
    """Raise InputError with every invalid argument, by name.

    texts: lists of texts. paths: paths of files. numbers: whole numbers, with the minimum.
    """
    wrong = [
        *_of_texts(texts or {}),
        *(
            Problem(f"must be the path of a file, not {_kind(value)}", name)
            for name, value in (paths or {}).items()
            if not isinstance(value, (str, os.PathLike))
        ),
        *(
            Problem(f"must be a whole number, {least} or more, not {value!r}", name)
            for name, (value, least) in (numbers or {}).items()
            if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < least
        ),
    ]
    if wrong:
        raise InputError(wrong)


def _of_texts(texts: Mapping[str, object]) -> Iterator[Problem]:
    for name, given in texts.items():
        if isinstance(given, str):
            yield Problem(f"must be a list of strings: [{given!r}], not {given!r}", name)
        elif not isinstance(given, Collection) or isinstance(given, (bytes, Mapping)):
            yield Problem(f"must be a list of strings KEY=VALUE, not {_kind(given)}", name)
        else:
            for number, item in enumerate(given):
                if not isinstance(item, str):
                    yield Problem(
                        f"must be a string KEY=VALUE, not {_kind(item)}", f"{name}[{number}]"
                    )


def _kind(value: object) -> str:
    return repr(value) if value is None else f"of type {type(value).__name__}"
