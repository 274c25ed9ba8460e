"""``slotwise simulate``: replay a log under one policy, or run the scheduler loop over hosts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from .cells import csv_cell, printable
from .checkpointing import CheckpointEvery, Checkpoints
from .exits import Exit
from .job_records import check_path, write_records
from .options import Example, Format, FormatOption
from .replay_progress import progress_bar
from .simulate_loop import LoopOptions, run_loop, wants_loop

if TYPE_CHECKING:
    from ..solver.replay import Checkpoint, Metrics, Replay, ReplayResult

Policy = Literal["fcfs", "easy", "easy-sjbf", "conservative", "replan"]
ScheduleAfter = Literal["event", "timestamp"]
ReservationMethod = Literal["configured", "none", "greedy", "time-based", "optimal"]


def simulate(
    log: Annotated[
        Path | None,
        typer.Argument(
            help="SWF log, instance file (YAML, JSON) or lsb.acct; logs plain or gzipped.",
            show_default=False,
        ),
    ] = None,
    example: Example = None,
    policy: Annotated[
        Policy | None, typer.Option(help="Scheduling policy (docs/replay.md). Default: easy.")
    ] = None,
    procs: Annotated[
        int | None, typer.Option(min=1, help="Processors. Default: the log's MaxProcs.")
    ] = None,
    jobs: Annotated[
        Path | None,
        typer.Option(
            help="Write one record a job: .csv, .json (both also .gz) or .parquet.",
            show_default=False,
        ),
    ] = None,
    format: FormatOption = "text",
    schedule_after: Annotated[
        ScheduleAfter | None,
        typer.Option(help="Schedule after each event or once a time stamp. Default: by policy."),
    ] = None,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Report malformed records and replay the rest.")
    ] = False,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Where Ctrl-C or SIGTERM leaves the state.", show_default=False),
    ] = None,
    checkpoint_every: CheckpointEvery = None,
    resume: Annotated[
        Path | None, typer.Option(help="Go on from a checkpoint.", show_default=False)
    ] = None,
    reservation: Annotated[
        ReservationMethod | None,
        typer.Option(help="Loop: how pending jobs reserve. Default: as configured."),
    ] = None,
    top: Annotated[
        int | None, typer.Option(min=1, help="Loop: jobs that get a future allocation.")
    ] = None,
    cycle: Annotated[
        int | None,
        typer.Option(min=0, help="Loop: seconds between cycles, 0 for one at every event."),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(help="Loop: stop at this second, or after a time (7d, 12h).", metavar="TIME"),
    ] = None,
    cluster: Annotated[
        Path | None,
        typer.Option(help="Loop: instance whose hosts and queues run the log.", show_default=False),
    ] = None,
    hosts: Annotated[
        int | None, typer.Option(min=1, help="Loop: spread the log's processors over N hosts.")
    ] = None,
    cycle_log: Annotated[
        Path | None,
        typer.Option(help="Loop: write every cycle, one JSON object a line.", show_default=False),
    ] = None,
    shares: Annotated[
        Path | None,
        typer.Option(
            help="Loop: write priorities and shares over time, in the same formats.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Replay an SWF log on one pool of processors, or run the loop over hosts; print the metrics.

    An instance file, lsb.acct, or any option of the loop means the loop (docs/loop.md), else the
    pool (docs/replay.md).

    Exit codes: 0 done, 2 bad input, 3 stopped early (go on with --resume).
    """
    from ..solver.replay import Replay, measure
    from .stopping import stop_on_signal

    log = _input(log, example)
    options = LoopOptions(
        reservation=reservation,
        top=top,
        cycle=cycle,
        until=until,
        cluster=cluster,
        hosts=hosts,
        log=cycle_log,
        shares=shares,
        jobs=jobs,
        format=format,
        keep_going=keep_going,
        checkpoint=checkpoint,
        checkpoint_every=checkpoint_every,
        resume=resume,
    )
    if wants_loop(log, options):
        _only_for_pool(policy=policy, procs=procs, schedule_after=schedule_after)
        run_loop(log, options, example)
        return
    if jobs is not None:
        check_path(jobs)
    checkpoints = Checkpoints.of(checkpoint, checkpoint_every)
    with stop_on_signal() as stopped:
        workload = _read(log, keep_going)
        if resume is None:
            session = Replay(workload, policy or "easy", procs, schedule_after)
        else:
            saved = _load(resume, policy=policy, procs=procs, schedule_after=schedule_after)
            session = Replay.resume(workload, saved, str(resume))
        _tell_left_out(session.workload.left_out)
        with _progress(session) as show:
            while not stopped() and session.advance():
                checkpoints.when_due(lambda: session.checkpoint().to_json())
                show()
        result = session.result()
        if not result.complete:
            _stop(session, checkpoints)
        metrics = measure(result)
        if jobs is not None:
            write_records(_records(result), jobs)
    typer.echo(_render(result, metrics, format))


def _input(log: Path | None, example: str | None) -> Path:
    """The one file that is meant."""
    from ..instances import example as example_path
    from ..model.errors import InputError

    if (log is None) == (example is None):
        raise InputError(
            "give a log, an instance file or --example NAME (`slotwise examples` lists them)"
        )
    if example is not None:
        return example_path(example)
    assert log is not None
    return log


def _only_for_pool(**options: Any) -> None:
    from ..model.errors import InputError

    given = [f"--{name.replace('_', '-')}" for name, value in options.items() if value is not None]
    if given:
        raise InputError(
            f"{', '.join(given)}: only for the replay of an SWF log on a pool of processors, "
            "without options of the loop"
        )


def _read(log: Path, keep_going: bool) -> Any:
    from ..model.errors import first_lines
    from ..model.formats.swf import read_swf

    found = read_swf(log, keep_going=keep_going)
    for line in first_lines(found.problems):
        _tell(f"warning: {line}")
    return found.workload


def _tell_left_out(left_out: Any) -> None:
    """Nothing is dropped silently."""
    for reason, count in left_out.items():
        _tell(f"left out {count} job{'s' if count > 1 else ''}: {reason}")


def _tell(text: str) -> None:
    typer.echo(f"slotwise: {printable(text)}", err=True)


def _load(path: Path, **options: Any) -> Checkpoint:
    """The checkpoint, which no option given beside it may contradict."""
    from ..model.errors import InputError, Problem
    from ..model.formats.checkpoint import read_checkpoint
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
        _tell(f"{done} ended; nothing was written (no --checkpoint)")
    else:
        checkpoints.write(session.checkpoint().to_json())
        _tell(f"{done} ended; go on with --resume {checkpoints.path}")
    raise typer.Exit(Exit.STOPPED)


def _progress(session: Replay) -> AbstractContextManager[Callable[[], None]]:
    total = len(session.workload)
    return progress_bar(session.policy, total, lambda: (session.finished, session.now))


def _records(result: ReplayResult) -> list[dict[str, Any]]:
    """One record a job in the order of the log."""
    columns = {name: column.tolist() for name, column in result.columns().items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _render(result: ReplayResult, metrics: Metrics, format: Format) -> str:
    import json

    record: dict[str, Any] = {
        "log": result.workload.source,
        "policy": result.policy,
        "schedule_after": result.schedule_after,
        **metrics.to_dict(),
    }
    if format == "json":
        return json.dumps(record | {"left_out": dict(result.workload.left_out)}, indent=2)
    if format == "csv":
        return ",".join(record) + "\n" + ",".join(_quoted(value) for value in record.values())
    width = max(map(len, record))
    return "\n".join(f"{name:<{width}}  {_plain(name, record[name])}" for name in record)


def _quoted(value: object) -> str:
    text = str(csv_cell(value))
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\r\n') else text


def _plain(name: str, value: object) -> str:
    """Waits with 3 decimals, ratios with 4."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.3f} s" if name.endswith("wait") else f"{value:.4f}"
