"""What ``slotwise simulate`` does: the scheduler loop on an instance or on a recorded workload."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from .atomic import check_apart, check_output, whole_file
from .checkpointing import Checkpoints
from .exits import Exit
from .job_records import check_path, write_records
from .options import tell
from .replay_progress import progress_bar
from .simulate_input import Simulated, Sources, read
from .simulate_output import fit_text, render

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..solver.fairshare.series import ShareSeries
    from ..solver.loop.cycle_fit import CycleFit
    from ..solver.loop.records import Simulation
    from ..solver.loop.simulation import Session
    from ..solver.world.settings import Settings


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
    events: Path | None = None
    changes: Path | None = None
    jobs: Path | None = None
    format: str = "text"
    keep_going: bool = False
    default_limit: str | None = None
    checkpoint: Path | None = None
    checkpoint_every: str | None = None
    resume: Path | None = None

    @property
    def outputs(self) -> dict[str, Path | None]:
        """Files to write, by their options."""
        return {
            "--jobs": self.jobs,
            "--cycle-log": self.log,
            "--shares": self.shares,
            "--checkpoint": self.checkpoint,
        }


def run_loop(source: Path, options: LoopOptions, name: str | None = None) -> None:
    """Simulate and write what was asked for; name: of the input in the output, None for its path.

    Raises InputError for input or options that make no sense.
    """
    from ..model.omissions import sentences
    from ..solver.loop.checkpoints import save
    from ..solver.loop.recorded import compare_waits
    from .stopping import stop_on_signal

    if options.jobs is not None:
        check_path(options.jobs)
    if options.log is not None:
        check_output(options.log)
    checkpoints = Checkpoints.of(options.checkpoint, options.checkpoint_every)
    series = _series(options)
    inputs = (source, options.cluster, options.events, options.changes)
    check_apart(options.outputs, [path for path in inputs if path is not None])
    with stop_on_signal(at_once=checkpoints.path is None) as stopped:
        given = workload(source, options)
        fit = cycle_of(given, options)
        session = new_session(given, options, fit)
        if series is not None:
            _only_with_policies(given.instance)
            session.recorder = lambda record, world: series.record(world.order, record.time)
        try:
            with _progress(session) as show:
                while not stopped() and session.advance():
                    checkpoints.when_due(lambda: save(session))
                    show()
            result = session.result()
        except (
            KeyboardInterrupt,
            SystemExit,
        ):  # in the middle of a cycle
            _stop(session, checkpoints)
        if not result.complete:
            _stop(session, checkpoints)
    for note in (*result.notes, *sentences(result.omissions)):
        tell(note)
    if options.jobs is not None:
        write_records(_records(result, given.recorded), options.jobs)
    if options.log is not None:
        with whole_file(options.log) as file:
            for entry in result.log:
                file.write(json.dumps(entry).encode() + b"\n")
    if series is not None and options.shares is not None:
        write_records(series.records(), options.shares)
    waits = compare_waits(result.jobs, given.recorded) if given.recorded else ()
    typer.echo(render(name or str(source), result, waits, fit, options.format))


def workload(source: Path, options: LoopOptions) -> Simulated:
    """What a file gives the loop to run; remarks go to stderr."""
    sources = Sources(
        source,
        cluster=options.cluster,
        hosts=options.hosts,
        keep_going=options.keep_going,
        default_limit=options.default_limit,
        events=options.events,
        changes=options.changes,
    )
    return read(sources)


def cycle_of(given: Simulated, options: LoopOptions) -> CycleFit | None:
    """The cycle length of a log, where nobody says it; it is told."""
    from ..solver.loop.cycle_fit import fit_cycle

    if not given.of_lsf or options.cycle is not None or options.resume is not None:
        return None
    fit = fit_cycle(given.instance, given.recorded, given.changes)
    if fit is not None:
        tell(fit_text(fit))
    return fit


def _records(result: Simulation, recorded: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    """One record a job; of a log with what was recorded."""
    for job in result.jobs:
        record = job.to_dict(result.instance.origin)
        if recorded:
            real = recorded.get(job.job)
            known = real is not None and job.start is not None
            record["recorded_start"] = real
            record["recorded_wait"] = None if real is None else real - job.submit
            record["recorded_error"] = job.start - real if known else None  # type: ignore[operator]
        yield record


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


def new_session(given: Simulated, options: LoopOptions, fit: CycleFit | None = None) -> Session:
    """A simulation that has begun, or goes on from where it was stopped."""
    from ..model.formats.checkpoint import read_checkpoint
    from ..solver.loop.checkpoints import load
    from ..solver.loop.simulation import Session, horizon
    from ..solver.methods.registry import settings_for

    instance = given.instance
    if options.resume is not None:
        saved = read_checkpoint(options.resume)
        session = load(saved, instance, changes=given.changes, source=str(options.resume))
        _no_contradiction(session, options)
        return session
    settings = settings_for(
        instance,
        reservation=options.reservation or "configured",
        top=options.top,
        cycle=options.cycle if fit is None else fit.cycle,
    )
    _only_with_a_future(settings, options)
    session = Session(
        instance,
        settings,
        changes=given.changes,
        until=horizon(instance, options.until),
        keep_log=options.log is not None,
    )
    session.begin()
    return session


def _only_with_a_future(settings: Settings, options: LoopOptions) -> None:
    """InputError for --reservations where no job gets a future allocation."""
    from ..model.errors import InputError
    from ..solver.methods.registry import METHODS

    if options.top is not None and not METHODS[settings.reservation].looks_ahead:
        ahead = " or ".join(name for name, method in METHODS.items() if method.looks_ahead)
        raise InputError(
            f"--reservations: means nothing for {settings.reservation} reservation, which gives no "
            f"future allocation: --reservation {ahead} does"
        )


def _no_contradiction(session: Session, options: LoopOptions) -> None:
    """InputError where an option says otherwise than the checkpoint, which decides."""
    from ..model.errors import InputError, Problem
    from ..solver.loop.simulation import horizon

    settings = session.settings
    asked = options.reservation if options.reservation != "configured" else None
    pairs = {
        "reservation": (asked, settings.reservation),
        "reservations": (options.top, settings.top),
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


def _stop(session: Session, checkpoints: Checkpoints) -> NoReturn:
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
