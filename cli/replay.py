"""``slotwise replay``: a recorded workload on one pool of processors, under one policy."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from .declare import argument, command, option, values_of
from .options import (
    FORMAT,
    JOBS_FILE,
    Format,
    LogReading,
    from_stdin,
    print_note,
    progress_bar,
)
from .output import Checkpoints, Resuming, check_apart, check_path, write_records
from .process import Exit
from .tables import csv_rows, plain_metric

if TYPE_CHECKING:
    from ..model.workload import Workload
    from ..solver.forecast.logs import RecordedLog
    from ..solver.replay import Checkpoint, Metrics, Replay, ReplayResult

ScheduleAfter = Literal["event", "timestamp"]


#: Names of the policies in help texts. Names of installed packages are valid as well.
POLICIES = "fcfs, easy, easy-sjbf, conservative, replan, saf, wfp3, f1 (docs/replay.md)"


def known_policy(policy: str | None) -> str | None:
    """Return the name of a policy. Raises InputError if no policy has it."""
    from ..solver.replay import engine_of

    if policy is not None:
        engine_of(policy)
    return policy


def policies(incomplete: str) -> list[str]:
    """Complete the name of a policy in the shell."""
    from ..solver.replay import policy_names

    return [name for name in policy_names() if name.startswith(incomplete)]


def policy_option(default: str | None, help: str) -> Any:
    """Return the declaration of --policy."""
    return option(default, help, metavar="NAME", callback=known_policy, autocompletion=policies)


@dataclass(frozen=True, slots=True)
class PoolOptions:
    """Options of a pool's policy; fields of ``solver.replay.Replay``."""

    policy: str | None = policy_option(None, f"Scheduling policy: {POLICIES}. Default: easy.")
    procs: int | None = option(None, "Processors. Default: the log's MaxProcs.", min=1)
    schedule_after: ScheduleAfter | None = option(
        None, "Schedule after each event or once a time stamp. Default: by policy."
    )


@command
def replay(
    log: Path = argument(
        ...,
        "SWF log, plain or gzipped; - for standard input.",
        callback=from_stdin,
        show_default=False,
    ),
    *,
    pool: PoolOptions,
    jobs: Path | None = JOBS_FILE,
    format: Format = FORMAT,
    reading: LogReading,
    resuming: Resuming,
) -> None:
    """Replay an SWF log on one pool of processors under a policy; print the metrics.

    For hosts, queues and the scheduler loop see `slotwise simulate`.

    Exit codes: 0 done, 2 bad input, 3 stopped early (go on with --resume).
    """
    from ..model.formats.sealed import taking_over
    from ..solver.replay import Replay, measure
    from .process import cancel_on_signal

    if jobs is not None:
        check_path(jobs)
    checkpoints, resume = resuming.checkpoints(), resuming.resume
    check_apart({"--jobs": jobs, "--checkpoint": resuming.checkpoint}, [log])
    only_swf(log, "replay")
    with cancel_on_signal() as cancel:
        with cancel.reading():
            workload = read_log(log, reading).workload
            if resume is None:
                policy = pool.policy or "easy"
                session = Replay(workload, policy, pool.procs, pool.schedule_after)
            else:
                saved = _load(resume, **values_of(pool))
                session = Replay.resume(workload, saved, str(resume))
            tell_left_out(session.workload)
        guard = taking_over(str(resume)) if resume else nullcontext()
        with guard, _progress(session) as show:
            while not cancel.is_set() and session.advance():
                checkpoints.when_due(lambda: session.checkpoint().to_json())
                show()
        result = session.result()
        if not result.complete:
            _stop(session, checkpoints)
        metrics = measure(result)
        if jobs is not None:
            write_records(_records(result), jobs)
    typer.echo(_render(result, metrics, format))


def only_swf(log: Path, command: str) -> None:
    """Raise InputError for a file of another format, with the command that takes it."""
    from ..model.errors import InputError, Problem
    from ..model.formats.reading import check_readable
    from ..model.sources.registry import format_of

    check_readable(log)
    found = format_of(log)
    if found.name != "swf":
        wrong = f"is {found.kind}; {command} takes an SWF log: see `slotwise simulate {log}`"
        raise InputError([Problem(wrong, str(log))])


def read_log(log: Path, reading: LogReading) -> RecordedLog:
    """Return the log; its warnings go to stderr."""
    from ..solver.forecast import logs

    found = logs.read_log(log, keep_going=reading.keep_going, default_limit=reading.limit)
    for remark in found.remarks:
        print_note(remark)
    return found


def tell_left_out(workload: Workload) -> None:
    """Print the omitted and repaired jobs; raise InputError if no job is left."""
    from ..model.sources.trace import nothing_to_replay

    if not len(workload) and workload.left_out:
        raise nothing_to_replay(workload)
    for note, count in workload.notes.items():
        print_note(f"{count} × {note}")
    for reason, count in workload.left_out.items():
        print_note(f"left out {count} job{'s' if count > 1 else ''}: {reason}")


def _load(path: Path, **options: Any) -> Checkpoint:
    """Return the checkpoint; raise InputError if an option contradicts it."""
    from ..model.errors import InputError, Problem
    from ..model.formats.sealed import read_checkpoint
    from ..solver.replay import Checkpoint

    saved = Checkpoint.from_json(read_checkpoint(path), str(path))
    problems = [
        Problem(
            f"made with --{name.replace('_', '-')} {getattr(saved, name)}, not {value}", str(path)
        )
        for name, value in options.items()
        if value is not None and value != getattr(saved, name)
    ]
    if problems:
        raise InputError(problems)
    return saved


def _stop(session: Replay, checkpoints: Checkpoints) -> None:
    """Leave the state where it was asked for, and with exit code 3."""
    done = f"stopped at {session.now} s with {session.finished} of {len(session.workload)} jobs"
    if checkpoints.path is None:
        print_note(f"{done} ended; nothing was written (no --checkpoint)")
    else:
        checkpoints.write(session.checkpoint().to_json())
        print_note(f"{done} ended; go on with --resume {checkpoints.path}")
    raise typer.Exit(Exit.STOPPED)


def _progress(session: Replay) -> AbstractContextManager[Callable[[], None]]:
    total = len(session.workload)
    return progress_bar(session.policy, total, lambda: (session.finished, session.now))


def _records(result: ReplayResult) -> list[dict[str, Any]]:
    """Return one record per job in the order of the log."""
    columns = {name: column.tolist() for name, column in result.columns().items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _render(result: ReplayResult, metrics: Metrics, format: Format) -> str:
    record: dict[str, Any] = {
        "log": result.workload.source,
        "policy": result.policy,
        "schedule_after": result.schedule_after,
        **metrics.to_dict(),
    }
    if format == "json":
        return json.dumps(record | {"left_out": dict(result.workload.left_out)}, indent=2)
    if format == "csv":
        return csv_rows(list(record), [list(record.values())]).rstrip("\n")
    width = max(map(len, record))
    return "\n".join(f"{name:<{width}}  {plain_metric(name, record[name])}" for name in record)
