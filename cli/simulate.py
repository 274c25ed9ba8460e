"""``slotwise simulate``: the scheduler loop over hosts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from ..model.errors import InputError, Problem, report
from ..model.slurm_words import title_text
from .declare import argument, command, option, taking, values_of
from .options import (
    FORMAT_HELP,
    JOBS_FILE_HELP,
    Format,
    LogReading,
    from_stdin,
    print_note,
    progress_bar,
    read_source,
)
from .output import (
    Checkpoints,
    Resuming,
    check_apart,
    check_output,
    check_path,
    whole_file,
    write_records,
)
from .process import cancel_on_signal
from .source import LIVE_ALONE, Source
from .tables import (
    Column,
    ListingRow,
    csv_rows,
    listing_text,
    plain_metric,
    terminal_width,
    text_table,
)

if TYPE_CHECKING:
    from ..model.changes import Change
    from ..model.instance import Instance
    from ..solver.fairshare.reports import ShareSeries
    from ..solver.scheduler.metrics import CycleFit, WaitComparison
    from ..solver.scheduler.records import Simulation
    from ..solver.scheduler.simulation import Session


#: Said where there is nothing to simulate, or more than one.
WANTED = (
    "give a log, an instance file or --example NAME (`slotwise examples` lists them), or --cluster "
    "for the cluster of this machine"
)


@dataclass(frozen=True, slots=True)
class WorkloadOptions(LogReading):
    """Inputs that are read in addition to an instance or a log."""

    cluster: Path | None = option(
        None,
        "Instance whose hosts and queues run a log. Without a name, instead of FILE: the "
        "cluster of this machine, from its scheduler's commands.",
        metavar="[FILE]",
    )
    hosts: int | None = option(None, "Spread the processors of an SWF log over N hosts.", min=1)
    events: Path | None = option(
        None,
        "lsb.events of the same cluster: when hosts joined, closed and opened.",
        callback=from_stdin,
    )
    changes: Path | None = option(
        None,
        "Changes over time: hosts, loads, sizes, new jobs, bkill and others (docs/changes.md).",
    )


@dataclass(frozen=True, slots=True)
class Simulated:
    """A simulation and its input."""

    instance: Instance
    changes: tuple[Change, ...] = ()
    #: Real starts of a log's jobs by id.
    recorded: Mapping[str, int] = field(default_factory=dict)
    #: Whether these show how often the scheduler ran.
    of_lsf: bool = False


def workload(file: Path, options: WorkloadOptions, *, site: Instance | None = None) -> Simulated:
    """Return the whole input; remarks go to stderr.

    site: the cluster of a log as an instance in memory, instead of the option's file. Raises
    InputError for bad files, and for an option that does not apply to the kind of file.
    """
    from ..model.formats.file_format import ReadOptions
    from ..model.formats.reading import check_readable
    from ..model.sources.registry import format_of

    check_readable(file)
    found = format_of(file)
    asked = values_of(options, "hosts", "cluster", "keep_going", "default_limit")
    asked["cluster"] = asked["cluster"] or site
    if idle := [name for name, value in asked.items() if value and name not in found.takes]:
        raise _idle(idle, f"{found.kind}, which {file} is")
    cluster = site if options.cluster is None else read_source(options.cluster)
    contents = found.read(
        file, ReadOptions(options.hosts, cluster, options.keep_going, options.limit)
    )
    if options.events is not None and not contents.of_lsf:
        raise _idle(["events"], f"{found.kind}, which {file} is")
    print_note(*contents.remarks)
    instance = contents.instance
    lives: Iterable[Change] = ()
    if options.events is not None:
        lives = _lives(options.events, instance, keep_going=options.keep_going)
    changes = (*lives, *changes_of(options, instance))
    return Simulated(instance, changes, contents.recorded, contents.of_lsf)


def changes_of(options: WorkloadOptions, instance: Instance) -> tuple[Change, ...]:
    """Return the changes of the file of changes, () without one."""
    from ..model.formats.changes import load_changes

    return () if options.changes is None else tuple(load_changes(options.changes, instance))


def _idle(names: list[str], kind: str) -> InputError:

    said = ", ".join(f"--{name.replace('_', '-')}" for name in names)
    return InputError(f"{said}: does not apply to {kind}")


def _lives(path: Path, instance: Instance, *, keep_going: bool) -> Iterable[Change]:
    """Yield the changes of hosts that lsb.events records: added, closed and opened."""
    from ..model.sources.log_lines import BadRecords, refused_records
    from ..model.sources.lsf_state.event_log import host_lives
    from ..model.sources.lsf_state.log_records import read_events

    bad = BadRecords()
    lives = host_lives(read_events(path, bad, {}))
    problems: list[Problem] = bad.report()
    if bad.count and not keep_going:
        raise refused_records(problems)
    print_note(*(f"warning: {line}" for line in (*report(problems), *bad.told_cells())))
    assert instance.origin is not None  # a log that takes --events has one
    zero = int(datetime.fromisoformat(instance.origin).timestamp())
    names = [host.name for host in instance.cluster.hosts]
    found = lives.changes(names, zero)
    unnamed = sum(name not in lives.first for name in names)
    passing = len(set(lives.passing) & set(names))
    print_note(
        f"{path}: {passing} of {len(names)} hosts fail and return, and {len(lives.controls)} "
        f"times one was closed or opened; {unnamed} hosts are not in it"
    )
    return found


#: Columns of the table of waits: title and field, recorded and simulated side by side.
WAITS = (
    ("JOBS", "jobs"),
    ("REC_MEAN", "recorded_mean_wait"),
    ("SIM_MEAN", "simulated_mean_wait"),
    ("REC_MEDIAN", "recorded_median_wait"),
    ("SIM_MEDIAN", "simulated_median_wait"),
    ("REC_P95", "recorded_p95_wait"),
    ("SIM_P95", "simulated_p95_wait"),
    ("ABS_ERROR", "mean_absolute_error"),
    ("ERR_P5", "p5_error"),
    ("ERR_P25", "p25_error"),
    ("ERR_P50", "median_error"),
    ("ERR_P75", "p75_error"),
    ("ERR_P95", "p95_error"),
    ("CLOSE", "close"),
)


def render(
    name: str,
    result: Simulation,
    waits: Sequence[WaitComparison],
    fit: CycleFit | None,
    format: str,
) -> str:
    """Return the output of a run; waits: of a log, against recorded ones; fit: of its cycle."""
    from ..solver.scheduler.methods import METHODS
    from ..solver.scheduler.metrics import measure

    settings = result.settings
    metrics = {
        "reservation": settings.reservation,
        **({"top": settings.top} if METHODS[settings.reservation].looks_ahead else {}),
        "cycle": settings.cycle,
        "now": result.instance.now,
        "origin": result.instance.origin,
        **measure(result).to_dict(),
    }
    if format == "json":
        record: dict[str, Any] = {"input": name, "complete": result.complete, **metrics}
        record["notes"] = list(result.notes)
        record["omissions"] = [item.to_dict() for item in result.omissions]
        if fit is not None:
            record["cycle_fit"] = fit.to_dict()
        if waits:
            record["recorded"] = [item.to_dict() for item in waits]
        return json.dumps(record, indent=2)
    flat = {"input": name, **_flat(metrics)}
    if format == "csv":
        flat |= _wait_cells(waits)
        return csv_rows(list(flat), [list(flat.values())]).rstrip("\n")
    width = max(map(len, flat))
    lines = [f"{name:<{width}}  {plain_metric(name, value)}" for name, value in flat.items()]
    if waits:
        lines += ["", wait_table(waits, result.instance).rstrip("\n")]
    return "\n".join(lines)


def wait_table(waits: Iterable[WaitComparison], instance: Instance) -> str:
    """Return recorded and simulated waits in seconds, a line or a card for each queue."""
    rows = []
    for item in waits:
        plain = item.to_dict()
        cells = [_seconds(plain[field]) for _, field in WAITS]
        rows.append([item.queue or "all", *cells])
    titles = [title_text(instance, "QUEUE"), *(title for title, _ in WAITS)]
    table = text_table(titles, rows, "<" + ">" * len(WAITS))
    if len(table.partition("\n")[0]) <= terminal_width():
        return table
    columns = [Column(title, label=title.lower().replace("_", " ")) for title in titles]
    return listing_text(columns, [ListingRow(tuple(cell or "-" for cell in row)) for row in rows])


def fit_text(fit: CycleFit) -> str:
    """Return the chosen interval, and how much better it is than the others."""
    if not fit.close[fit.cycle]:
        return (
            f"no cycle length fits the log: none of {fit.jobs} jobs starts within 5 s of the "
            f"recorded start; {fit.cycle} s are assumed; --cycle sets another"
        )
    tried = ", ".join(f"{length} s: {close}" for length, close in fit.close.items())
    return (
        f"cycles every {fit.cycle} s fit the log best: {fit.close[fit.cycle]} of {fit.jobs} "
        f"jobs start within 5 s of the recorded start ({tried}); --cycle sets another"
    )


def _seconds(value: float | None) -> str | None:
    return f"{value:.1f}" if isinstance(value, float) else None if value is None else str(value)


def _wait_cells(waits: Iterable[WaitComparison]) -> dict[str, Any]:
    """Return all numbers in one row; those of a queue have its name in front."""
    cells: dict[str, Any] = {}
    for item in waits:
        front = f"{item.queue}:" if item.queue else "log_"
        cells |= {front + key: value for key, value in item.to_dict().items() if key != "queue"}
    return cells


def _flat(metrics: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in metrics.items():
        if name.startswith("predictions"):
            when = name.removeprefix("predictions")
            for method, numbers in value.items():
                flat |= {f"{method}{when}_{key}": number for key, number in numbers.items()}
        else:
            flat[name] = value
    return flat


@dataclass(frozen=True, slots=True)
class LoopOptions(WorkloadOptions, Resuming):
    """Options of the simulated scheduler."""

    reservation: str | None = option(
        None,
        "How pending jobs reserve: a method of docs/reservation-methods.md. "
        "Default: as configured.",
        metavar="METHOD",
    )
    top: int | None = option(
        None,
        "Number of jobs that get a future allocation. Default: LSB_TIME_RESERVE_NUMJOBS, else 4.",
        "--reservations",
        min=1,
    )
    cycle: int | None = option(
        None,
        "Seconds between cycles; 0: one at every event. Default: MBD_SLEEP_TIME; for lsb.acct, "
        "the value that fits its starts best.",
        min=0,
    )
    until: str | None = option(
        None, "Stop at this second, or after a time (7d, 12h).", metavar="TIME"
    )
    time_limit: float | None = option(
        None, "Stop early after this many seconds, as Ctrl-C does.", min=0.0
    )
    jobs: Path | None = option(None, JOBS_FILE_HELP)
    cycle_log: Path | None = option(None, "Write every cycle, one JSON object per line.")
    shares: Path | None = option(
        None, "Write priorities and shares over time, in the formats of --jobs."
    )
    format: Format = option("text", FORMAT_HELP)

    @property
    def outputs(self) -> dict[str, Path | None]:
        """Return the files to write, by their options."""
        return {
            "--jobs": self.jobs,
            "--cycle-log": self.cycle_log,
            "--shares": self.shares,
            "--checkpoint": self.checkpoint,
        }


def run_loop(source: Source, options: LoopOptions) -> None:
    """Run the simulation and write the requested outputs.

    Raises InputError for input or options that make no sense.
    """
    from ..model.formats.sealed import taking_over
    from ..model.omissions import sentences
    from ..solver.budget import Budget
    from ..solver.scheduler.checkpoints import save
    from ..solver.scheduler.metrics import compare_waits

    limit = Budget(options.time_limit)
    check_path(options.jobs)
    check_output(options.cycle_log)
    checkpoints = options.checkpoints()
    series = _series(options)
    inputs = (source.file, options.cluster, options.events, options.changes)
    check_apart(options.outputs, [path for path in inputs if path is not None])
    with cancel_on_signal(at_once=checkpoints.path is None) as cancel:
        with cancel.reading():
            given = workload_of(source, options)
            fit = cycle_of(given, options)
            session = new_session(given, options, fit)
            if series is not None:
                _only_with_policies(given.instance)
                session.recorder = lambda record, world: series.record(world.order, record.time)
        try:
            guard = taking_over(str(options.resume)) if options.resume else nullcontext()
            with guard, _progress(session) as show:
                while not (cancel.is_set() or limit.stopped()) and session.advance():
                    checkpoints.when_due(lambda: save(session))
                    show()
            result = session.result()
        except (KeyboardInterrupt, SystemExit):  # in the middle of a cycle
            _stop(session, checkpoints)
        if not result.complete:
            _stop(session, checkpoints)
    print_note(*(*result.notes, *sentences(result.omissions)))
    write_records(_records(result, given.recorded), options.jobs)
    if options.cycle_log is not None:
        with whole_file(options.cycle_log) as file:
            for entry in result.log:
                file.write(json.dumps(entry).encode() + b"\n")
    if series is not None:
        write_records(series.records(), options.shares)
    waits = compare_waits(result.jobs, given.recorded) if given.recorded else ()
    typer.echo(render(source.name, result, waits, fit, options.format))


def workload_of(source: Source, options: LoopOptions) -> Simulated:
    """Return the workload of a file, an example, this cluster or a folder of its listings."""
    path = None if source.is_live else source.path(WANTED)
    if path is not None and not source.is_printed:
        return workload(path, options)
    of_logs = values_of(options, "hosts", "cluster", "keep_going", "default_limit", "events")
    if idle := [name for name, value in of_logs.items() if value]:
        raise _idle(idle, f"{path or 'the cluster of this machine'}, which is not a log")
    instance = source.read_now()
    return Simulated(instance, changes_of(options, instance))


def cycle_of(given: Simulated, options: LoopOptions) -> CycleFit | None:
    """Return the cycle length of a log if no option gives it, and print it."""
    from ..solver.scheduler.metrics import fit_cycle

    if not given.of_lsf or options.cycle is not None or options.resume is not None:
        return None
    fit = fit_cycle(given.instance, given.recorded, given.changes)
    if fit is not None:
        print_note(fit_text(fit))
    return fit


def _records(result: Simulation, recorded: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    """Yield one record per job; those of a log include the recorded times."""
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
    """Return the collector for --shares; raise InputError if its file cannot be written."""
    from ..solver.fairshare.reports import ShareSeries

    if options.shares is None:
        return None
    check_path(options.shares)
    if options.resume is not None:
        raise InputError(
            "--shares cannot be combined with --resume: the first part would be missing"
        )
    return ShareSeries()


def _only_with_policies(instance: Instance) -> None:
    from ..solver.fairshare.waiting_jobs import has_policy

    if not has_policy(instance):
        raise InputError(
            "--shares needs fairshare, host partitions or slot pools: the instance has none"
        )


def new_session(given: Simulated, options: LoopOptions, fit: CycleFit | None = None) -> Session:
    """Return a simulation, started or resumed from its checkpoint."""
    from ..model.formats.sealed import read_checkpoint
    from ..solver.scheduler.checkpoints import load
    from ..solver.scheduler.methods import METHODS, settings_for
    from ..solver.scheduler.simulation import Session, horizon

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
    if options.top is not None and not METHODS[settings.reservation].looks_ahead:
        ahead = " or ".join(name for name, method in METHODS.items() if method.looks_ahead)
        wrong = f"does not apply to {settings.reservation} reservation: give --reservation {ahead}"
        raise InputError([Problem(wrong, "--reservations")])
    session = Session(
        instance,
        settings,
        changes=given.changes,
        until=horizon(instance, options.until),
        keep_log=options.cycle_log is not None,
    )
    session.begin()
    return session


def _no_contradiction(session: Session, options: LoopOptions) -> None:
    """Raise InputError for an option that contradicts the checkpoint."""
    from ..solver.scheduler.simulation import horizon

    settings = session.settings
    asked = options.reservation if options.reservation != "configured" else None
    pairs = {
        "reservation": (asked, settings.reservation),
        "reservations": (options.top, settings.top),
        "cycle": (options.cycle, settings.cycle),
        "until": (horizon(session.source, options.until), session.until),
    }
    wrong = [
        f"has {'no ' if had is None else ''}--{name}{'' if had is None else f' {had}'}, "
        f"not {wanted}"
        for name, (wanted, had) in pairs.items()
        if wanted is not None and wanted != had
    ]
    if options.cycle_log is not None and not session.keep_log:
        wrong.append("made without --cycle-log: the earlier cycles would be missing")
    if wrong:
        raise InputError(Problem(text, str(options.resume)) for text in wrong)


def _stop(session: Session, checkpoints: Checkpoints) -> NoReturn:
    """Leave the state where it was asked for, and with exit code 3."""
    from ..solver.scheduler.checkpoints import save

    done = f"stopped at {session.world.now} s with {session.progress.started} jobs started"
    checkpoints.leave(done, lambda: save(session))


def _progress(session: Session) -> AbstractContextManager[Callable[[], None]]:
    title = session.settings.reservation
    total = len(session.world.states) - len(session.instance.running)
    return progress_bar(title, total, lambda: (session.progress.started, session.world.now))


#: Kinds of input that can be simulated.
INPUT = argument(
    None,
    "Instance file (YAML, JSON), lsb.acct, or an SWF log with --hosts or --cluster; "
    "logs plain or gzipped; - for standard input.",
    callback=from_stdin,
    show_default=False,
)
ORDER = (
    "reservation top cycle until time_limit cluster hosts events changes jobs cycle_log shares "
    "format keep_going default_limit checkpoint checkpoint_every resume"
)


@command
def simulate(
    source: Annotated[Source, taking(file=INPUT, live=LIVE_ALONE)],
    options: Annotated[LoopOptions, taking(ORDER)],
) -> None:
    """Run a cluster cycle by cycle as an LSF-style scheduler would; print the metrics.

    To replay an SWF log on one pool of processors, see `slotwise replay`.

    Exit codes: 0 done, 2 bad input, 3 stopped early (continue with --resume).
    """

    run_loop(source, options)
