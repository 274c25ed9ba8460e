"""What ``slotwise simulate`` does: the scheduler loop on an instance or on a recorded workload."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from .atomic import check_output, whole_file
from .cells import csv_cell
from .checkpointing import Checkpoints
from .exits import Exit
from .job_records import check_path, write_records
from .options import read_instance, tell
from .replay_progress import progress_bar

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..solver.fairshare.series import ShareSeries
    from ..solver.loop.records import Simulation
    from ..solver.loop.simulation import Session


@dataclass(frozen=True, slots=True)
class LoopOptions:
    """What the command line says about the loop; see `slotwise simulate --help`."""

    reservation: str | None = None
    top: int | None = None
    cycle: int | None = None
    until: str | None = None
    cluster: Path | None = None
    hosts: int | None = None
    log: Path | None = None
    shares: Path | None = None
    jobs: Path | None = None
    format: str = "text"
    keep_going: bool = False
    checkpoint: Path | None = None
    checkpoint_every: str | None = None
    resume: Path | None = None


def run_loop(source: Path, options: LoopOptions, name: str | None = None) -> None:
    """Simulate and write what was asked for; name: of the input in the output, None for its path.

    Raises InputError for input or options that make no sense.
    """
    from ..solver.loop.checkpoints import save
    from ..solver.loop.metrics import measure
    from .stopping import stop_on_signal

    if options.jobs is not None:
        check_path(options.jobs)
    if options.log is not None:
        check_output(options.log)
    checkpoints = Checkpoints.of(options.checkpoint, options.checkpoint_every)
    series = _series(options)
    with stop_on_signal() as stopped:
        instance = workload(source, options)
        session = new_session(instance, options)
        if series is not None:
            _only_with_policies(instance)
            session.recorder = lambda record, world: series.record(world.order, record.time)
        with _progress(session) as show:
            while not stopped() and session.advance():
                checkpoints.when_due(lambda: save(session))
                show()
        result = session.result()
        if not result.complete:
            _stop(session, checkpoints)
    for note in result.notes:
        tell(note)
    if options.jobs is not None:
        origin = result.instance.origin
        write_records([record.to_dict(origin) for record in result.jobs], options.jobs)
    if options.log is not None:
        with whole_file(options.log) as file:
            for entry in result.log:
                file.write(json.dumps(entry).encode() + b"\n")
    if series is not None and options.shares is not None:
        write_records(series.records(), options.shares)
    metrics = {
        "reservation": result.settings.reservation,
        "now": result.instance.now,
        "origin": result.instance.origin,
        **measure(result).to_dict(),
    }
    typer.echo(_render(name or str(source), result, metrics, options.format))


def _series(options: LoopOptions) -> ShareSeries | None:
    """What collects --shares; InputError where it could not be written whole."""
    from ..model.errors import InputError
    from ..solver.fairshare.series import ShareSeries

    if options.shares is None:
        return None
    check_path(options.shares)
    if options.resume is not None:
        raise InputError("--shares does not go with --resume: its beginning would be missing")
    return ShareSeries()


def _only_with_policies(instance: Instance) -> None:
    from ..model.errors import InputError
    from ..solver.fairshare.queue_order import has_policy

    if not has_policy(instance):
        raise InputError("--shares needs fairshare, host partitions or slot pools: there are none")


def workload(path: Path, options: LoopOptions) -> Instance:
    """What a file gives the loop to run; remarks go to stderr."""
    from ..model.errors import InputError
    from ..model.formats.file_format import ReadOptions
    from ..model.formats.registry import format_of

    found = format_of(path)
    asked = {"hosts": options.hosts, "cluster": options.cluster, "keep_going": options.keep_going}
    idle = [name for name, value in asked.items() if value and name not in found.takes]
    if idle:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in idle)
        raise InputError(f"{names}: means nothing for {found.kind}, which {path} is")
    cluster = None if options.cluster is None else read_instance(options.cluster, None)
    reading = found.read(path, ReadOptions(options.hosts, cluster, options.keep_going))
    for remark in reading.remarks:
        tell(remark)
    return reading.instance


def new_session(instance: Instance, options: LoopOptions) -> Session:
    """A simulation that has begun, or goes on from where it was stopped."""
    from ..model.formats.checkpoint import read_checkpoint
    from ..solver.loop.checkpoints import load
    from ..solver.loop.simulation import Session, horizon
    from ..solver.methods.registry import settings_for

    if options.resume is not None:
        session = load(read_checkpoint(options.resume), instance, source=str(options.resume))
        _no_contradiction(session, options)
        return session
    settings = settings_for(
        instance,
        reservation=options.reservation or "configured",
        top=options.top,
        cycle=options.cycle,
    )
    session = Session(
        instance,
        settings,
        until=horizon(instance, options.until),
        keep_log=options.log is not None,
    )
    session.begin()
    return session


def _no_contradiction(session: Session, options: LoopOptions) -> None:
    """InputError where an option says otherwise than the checkpoint, which decides."""
    from ..model.errors import InputError, Problem
    from ..solver.loop.simulation import horizon

    settings = session.settings
    asked = options.reservation if options.reservation != "configured" else None
    pairs = {
        "reservation": (asked, settings.reservation),
        "top": (options.top, settings.top),
        "cycle": (options.cycle, settings.cycle),
        "until": (horizon(session.source, options.until), session.until),
    }
    wrong = [
        f"made with {'no ' if had is None else ''}--{name}{'' if had is None else f' {had}'}, "
        f"not {wanted}"
        for name, (wanted, had) in pairs.items()
        if wanted is not None and wanted != had
    ]
    if options.log is not None and not session.keep_log:
        wrong.append("made without --cycle-log: the cycles before it would be missing")
    if wrong:
        raise InputError(Problem(text, str(options.resume)) for text in wrong)


def _stop(session: Session, checkpoints: Checkpoints) -> None:
    """Leave the state where it was asked for, and with exit code 3."""
    from ..solver.loop.checkpoints import save

    done = f"stopped at {session.world.now} s with {session.started} jobs started"
    if checkpoints.path is None:
        tell(f"{done}; nothing was written (no --checkpoint)")
    else:
        checkpoints.write(save(session))
        tell(f"{done}; go on with --resume {checkpoints.path}")
    raise typer.Exit(Exit.STOPPED)


def _progress(session: Session) -> AbstractContextManager[Callable[[], None]]:
    title = session.settings.reservation
    total = len(session.world.states) - len(session.instance.running)
    return progress_bar(title, total, lambda: (session.started, session.world.now))


def _render(name: str, result: Simulation, metrics: dict[str, Any], format: str) -> str:
    if format == "json":
        return json.dumps({"input": name, "complete": result.complete, **metrics}, indent=2)
    flat = {"input": name, **_flat(metrics)}
    if format == "csv":
        return ",".join(flat) + "\n" + ",".join(_cell(value) for value in flat.values())
    width = max(map(len, flat))
    return "\n".join(f"{name:<{width}}  {_plain(name, value)}" for name, value in flat.items())


def _flat(metrics: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in metrics.items():
        if name.startswith("predictions"):
            when = name.removeprefix("predictions")
            for method, numbers in value.items():
                flat |= {f"{method}{when}_{key}": number for key, number in numbers.items()}
        else:
            flat[name] = value
    return flat


def _cell(value: object) -> str:
    text = "" if value is None else str(csv_cell(value))
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\r\n') else text


def _plain(name: str, value: object) -> str:
    if value is None:
        return "-"
    if not isinstance(value, float):
        return str(value)
    return f"{value:.3f} s" if name.endswith(("wait", "error")) else f"{value:.4f}"
