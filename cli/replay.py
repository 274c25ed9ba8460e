"""``slotwise replay``: a recorded workload on one pool of processors, under some policies."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer

from ..model.display import DAY, HOUR, MINUTE
from ..model.errors import InputError, Problem
from .declare import argument, command, option, spelled, taking, values_of
from .options import (
    FORMAT,
    JOBS_FILE,
    Format,
    LogReading,
    from_stdin,
    print_note,
    progress_bar,
    seconds_of,
)
from .output import (
    SUFFIXES,
    Checkpoints,
    Resuming,
    check_apart,
    check_path,
    write_file,
    write_records,
    write_text,
)
from .pictures import check_library, drawing, picture
from .process import Cancel, cancel_on_signal
from .tables import csv_rows, dashed, plain_metric, text_table

if TYPE_CHECKING:
    from ..model.workload import Workload
    from ..solver.forecast.logs import RecordedLog
    from ..solver.replay import Checkpoint, Measuring, Replay, ReplayComparison, ReplayResult
    from ..solver.replay.series import Curves


#: Metrics in a table of groups, and their titles.
_OF_GROUPS = {
    "jobs": "JOBS",
    "mean_wait": "MEAN WAIT",
    "p95_wait": "P95 WAIT",
    "mean_bounded_slowdown": "SLOWDOWN",
    "area_weighted_slowdown": "BY AREA",
    "arrival_utilisation": "UTILISATION",
    "delayed_share": "DELAYED",
    "mean_delay": "MEAN DELAY",
}
_LOW, _HIGH = "_low", "_high"


def job_records(compared: ReplayComparison) -> Iterator[dict[str, Any]]:
    """Yield one record per job in the order of the log; of several policies, with their names."""
    for result in compared:
        columns = {name: column.tolist() for name, column in result.columns().items()}
        head = {"policy": result.policy} if len(compared) > 1 else {}
        for row in zip(*columns.values(), strict=True):
            yield head | dict(zip(columns, row, strict=True))


def rendered(compared: ReplayComparison, format: Format) -> str:
    """Return the metrics of one replay as one record, of several as one table."""
    workload = compared.results[0].workload
    records = [{"log": workload.source, **record} for record in compared.to_records()]
    skipped = {"left_out": dict(workload.left_out)}
    if format == "csv":
        rows = [list(record.values()) for record in records]
        return csv_rows(list(records[0]), rows).rstrip("\n")
    if len(compared) > 1:
        if format == "json":
            return json.dumps(skipped | {"rows": records}, indent=2)
        return _comparison(records)
    first, *groups = records
    for name in ("by", "group"):
        first.pop(name, None)
    if format == "json":
        for group in groups:
            del group["log"], group["policy"], group["schedule_after"]
        more = {"groups": groups} if compared.measuring.by else {}
        return json.dumps(first | skipped | more, indent=2)
    names = [name for name in first if _is_row(name)]
    width = max(map(len, names))
    lines = [f"{name:<{width}}  {_line(name, first)}" for name in names]
    return "\n".join(lines) + _groups(groups, ())


def _is_row(name: str) -> bool:
    """Return whether a metric has a line of its own: the limits of an interval have not."""
    return not name.endswith((_LOW, _HIGH))


def _line(name: str, record: Mapping[str, Any]) -> str:
    limits = _interval(name, record)
    return plain_metric(name, record[name]) + (f"  95 % interval {limits}" if limits else "")


def _interval(name: str, record: Mapping[str, Any]) -> str:
    low, high = record.get(name + _LOW), record.get(name + _HIGH)
    return "" if low is None else f"{_number(name, low)} to {_number(name, high)}"


def _number(name: str, value: object) -> str:
    """Return a time in seconds with 1 decimal, a ratio with 4, and anything else as it is."""
    if not isinstance(value, float):
        return dashed(value)
    return f"{value:.1f}" if name.endswith(("wait", "delay")) else f"{value:.4f}"


def _comparison(records: list[dict[str, Any]]) -> str:
    """Return a table with a column for each policy, then a table for each kind of groups."""
    whole = [record for record in records if record.get("by", "all") == "all"]
    rows: list[list[str]] = []
    for name in whole[0]:
        if not _is_row(name) or name in ("log", "policy", "by", "group"):
            continue
        rows.append([name, *(_number(name, record[name]) for record in whole)])
        limits = [_interval(name, record) for record in whole]
        if any(limits):
            rows.append(["  95 % interval", *limits])
    head = ["", *(record["policy"] for record in whole)]
    table = text_table(head, rows, "<" + ">" * len(whole)).rstrip("\n")
    grouped = [record for record in records if record.get("by", "all") != "all"]
    return f"log  {whole[0]['log']}\n{table}" + _groups(grouped, ("policy",))


def _groups(records: Iterable[Mapping[str, Any]], more: tuple[str, ...]) -> str:
    """Return a table for each kind of groups, after an empty line each."""
    found = ""
    kinds: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        kinds.setdefault(record["by"], []).append(record)
    for kind, rows in kinds.items():
        # Policies of one group are next to each other; groups keep their order.
        order = list(dict.fromkeys(row["group"] for row in rows))
        rows.sort(key=lambda row: order.index(row["group"]))
        head = [kind.upper(), *(name.upper() for name in more), *_OF_GROUPS.values()]
        cells = [
            [row["group"], *(row[name] for name in more)]
            + [_number(name, row[name]) for name in _OF_GROUPS]
            for row in rows
        ]
        sides = "<" * (1 + len(more)) + ">" * len(_OF_GROUPS)
        found += "\n\n" + text_table(head, cells, sides).rstrip("\n")
    return found


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
        None, "Schedule after each event, or once per time stamp. Default: by policy."
    )


def known_policies(policies: str | None) -> str | None:
    """Return the names of policies, separated by commas. Raises InputError for an unknown name."""
    from ..solver.replay import engine_of, require_different

    for name in () if policies is None else policies.split(","):
        engine_of(name)
    require_different(() if policies is None else policies.split(","))
    return policies


def listed_policies(incomplete: str) -> list[str]:
    """Complete the last of some policies in the shell."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in policies(last)]


#: Options of a pool whose log is replayed under several policies.
SeveralPolicies = Annotated[
    PoolOptions,
    taking(
        policy=option(
            None,
            f"Scheduling policies, separated by commas: {POLICIES}. Default: easy.",
            metavar="NAME[,NAME…]",
            callback=known_policies,
            autocompletion=listed_policies,
        )
    ),
]


@dataclass(frozen=True, slots=True)
class LogChanges:
    """Options that change the replayed log: jobs by their submission, and requested times."""

    since: str | None = option(
        None,
        "Replay only jobs submitted from then on: seconds of the log, a time from its "
        "beginning (2d), or a date.",
        "--from",
        metavar="TIME",
    )
    until: str | None = option(
        None,
        "Replay only jobs submitted before: as --from.",
        metavar="TIME",
    )

    estimates: str = option(
        "recorded",
        "Requested times: recorded, exact (the run times), or a factor such as x2.",
        metavar="exact|xN",
    )

    def apply(self, log: RecordedLog) -> Workload:
        """Return the changed log. Raises InputError."""
        from ..model.formats.file_format import ChangedEstimates
        from ..model.sources.swf import with_estimates
        from ..solver.forecast.logs import of_period

        estimates = ChangedEstimates.parse(self.estimates)
        found = of_period(log, self.since, self.until, ("--from", "--until"))
        return with_estimates(found.workload, estimates)


@dataclass(frozen=True, slots=True)
class MeasureOptions:
    """Options that select what is measured; fields of ``solver.replay.Measuring``."""

    warm_up: str | None = option(
        None, "Do not measure jobs submitted in this first part of the log: 7d.", metavar="TIME"
    )
    cool_down: str | None = option(
        None, "Do not measure jobs submitted in this last part of the log: 7d.", metavar="TIME"
    )
    slowdown_threshold: str | None = option(
        None,
        "Minimum run time in the bounded slowdown. Default: 10s.",
        metavar="TIME",
    )
    by: str | None = option(
        None, "Also measure groups: user, size, queue, separated by commas.", metavar="KIND[,KIND…]"
    )

    def measuring(self) -> Measuring:
        """Return the choice. Raises InputError."""
        from ..solver.replay import Measuring

        times = {
            name: seconds_of(text, f"--{name.replace('_', '-')}")
            for name in ("warm_up", "cool_down", "slowdown_threshold")
            if (text := getattr(self, name)) is not None
        }
        return Measuring(**times, by=() if self.by is None else tuple(self.by.split(",")))


@dataclass(frozen=True, slots=True)
class ReplayFiles:
    """Files that a replay writes, each whole or not at all."""

    jobs: Path | None = JOBS_FILE
    output: Path | None = option(
        None, "Write the schedule as an SWF log with waits: .swf or .swf.gz.", "-o", "--output"
    )
    evalys: Path | None = option(
        None,
        "Write the job table of evalys and Batsim, with the processors of each job: .csv "
        "(also .gz), .json or .parquet.",
    )

    plot: Path | None = option(
        None,
        "Plot waits, slowdowns, use and queue over time and Gantt charts: .svg, .pdf or .png.",
    )

    def check(self, policies: int) -> None:
        """Raise InputError for a file that cannot be written, or that takes one policy alone."""

        for name, path, suffixes in (
            ("--jobs", self.jobs, SUFFIXES),
            ("--output", self.output, (".swf", ".swf.gz")),
            ("--evalys", self.evalys, SUFFIXES),
        ):
            check_path(path, suffixes)
            if path is not None and policies > 1 and name != "--jobs":
                wrong = f"{name} requires one policy, not {policies}"
                raise InputError([Problem(wrong, str(path))])
        if self.plot is not None:
            check_path(self.plot, PLOTS)
            check_library("--plot")

    def write(self, compared: ReplayComparison) -> None:
        """Write the files. Raises InputError if one cannot be written."""
        schedule = compared.results[0].schedule
        write_records(job_records(compared), self.jobs)
        if self.output is not None:
            write_text(compared.results[0].to_swf(), self.output)
        write_records(schedule.evalys_records(), self.evalys)
        if self.plot is not None:
            content = figure_bytes(compared, self.plot.suffix.removeprefix("."))
            write_file(self.plot, content)


@command
def replay(
    log: Path = argument(
        ...,
        "SWF log, plain or gzipped; - for standard input.",
        callback=from_stdin,
        show_default=False,
    ),
    *,
    pool: SeveralPolicies,
    changes: LogChanges,
    measures: MeasureOptions,
    files: ReplayFiles,
    format: Format = FORMAT,
    reading: LogReading,
    resuming: Resuming,
) -> None:
    """Replay an SWF log on one pool of processors under policies; print the metrics.

    For hosts, queues and the scheduler loop see `slotwise simulate`.

    Exit codes: 0 done, 2 bad input, 3 stopped early (continue with --resume).
    """
    from ..model.formats.reading import check_readable
    from ..model.sources.registry import format_of
    from ..solver.replay import ReplayComparison, strict_fcfs

    measuring = measures.measuring()
    names = (pool.policy or "easy").split(",")
    checkpoints = _checkpoints(resuming, names)
    files.check(len(names))
    check_apart(spelled(files) | {"--checkpoint": resuming.checkpoint}, [log])
    check_readable(log)
    found = format_of(log)
    if found.name != "swf":
        wrong = f"is {found.kind}; replay takes an SWF log: see `slotwise simulate {log}`"
        raise InputError([Problem(wrong, str(log))])
    with cancel_on_signal() as cancel:
        with cancel.reading():
            workload = changes.apply(read_log(log, reading))
            first = _session(workload, names[0], pool, resuming.resume)
            tell_left_out(first.workload)
        results = [_run(first, checkpoints, cancel, resuming.resume)]
        for name in names[1:]:
            session = _session(workload, name, pool, None)
            results.append(_run(session, checkpoints, cancel, None))
        fcfs = strict_fcfs(results[0], cancel.is_set)
        if not fcfs.complete:
            _stop(first, checkpoints)
        compared = ReplayComparison(tuple(results), fcfs, measuring)
        text = rendered(compared, format)
        files.write(compared)
    typer.echo(text)


def _checkpoints(resuming: Resuming, names: Sequence[str]) -> Checkpoints:
    """Return the writer of checkpoints. Raises InputError if several policies have one."""

    for name, path in (("--checkpoint", resuming.checkpoint), ("--resume", resuming.resume)):
        if path is not None and len(names) > 1:
            raise InputError(f"{name} requires one policy, not {len(names)}")
    return resuming.checkpoints()


def _session(workload: Workload, name: str, pool: PoolOptions, resume: Path | None) -> Replay:
    from ..solver.replay import Replay

    if resume is None:
        return Replay(workload, name, pool.procs, pool.schedule_after)
    return Replay.resume(workload, _load(resume, **values_of(pool)), str(resume))


def _run(
    session: Replay, checkpoints: Checkpoints, cancel: Cancel, resume: Path | None
) -> ReplayResult:
    """Return the complete replay, or leave with exit code 3."""
    from ..model.formats.sealed import taking_over

    guard = taking_over(str(resume)) if resume else nullcontext()
    with guard, _progress(session) as show:
        while not cancel.is_set() and session.advance():
            checkpoints.when_due(lambda: session.checkpoint().to_json())
            show()
    result = session.result()
    if not result.complete:
        _stop(session, checkpoints)
    return result


def read_log(log: Path, reading: LogReading) -> RecordedLog:
    """Return the log; its warnings go to stderr."""
    from ..solver.forecast import logs

    found = logs.read_log(log, keep_going=reading.keep_going, default_limit=reading.limit)
    print_note(*found.remarks)
    return found


def tell_left_out(workload: Workload) -> None:
    """Print the omitted and repaired jobs; raise InputError if no job is left."""
    from ..model.sources.trace import nothing_to_replay

    if not len(workload) and workload.left_out:
        raise nothing_to_replay(workload)
    print_note(*(f"{count} × {note}" for note, count in workload.notes.items()))
    for reason, count in workload.left_out.items():
        print_note(f"omitted {count} job{'s' if count > 1 else ''}: {reason}")


def _load(path: Path, **options: Any) -> Checkpoint:
    """Return the checkpoint; raise InputError if an option contradicts it."""
    from ..model.formats.sealed import read_checkpoint
    from ..solver.replay import Checkpoint

    saved = Checkpoint.from_json(read_checkpoint(path), str(path))
    problems = [
        Problem(f"has --{name.replace('_', '-')} {getattr(saved, name)}, not {value}", str(path))
        for name, value in options.items()
        if value is not None and value != getattr(saved, name)
    ]
    if problems:
        raise InputError(problems)
    return saved


def _stop(session: Replay, checkpoints: Checkpoints) -> NoReturn:
    """Leave the state where it was asked for, and with exit code 3."""
    jobs = f"{session.finished} of {len(session.workload)} jobs ended"
    checkpoints.leave(
        f"stopped at {session.now} s with {jobs}", lambda: session.checkpoint().to_json()
    )


def _progress(session: Replay) -> AbstractContextManager[Callable[[], None]]:
    total = len(session.workload)
    return progress_bar(session.policy, total, lambda: (session.finished, session.now))


#: Suffixes of a figure.
PLOTS = (".svg", ".pdf", ".png")
#: Inches: width of a page of two columns, height of the distributions and of every other chart.
_WIDTH, _TALL, _FLAT = 7.0, 2.4, 1.3
#: Colours that differ in print and for people who see few colours (Okabe and Ito).
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#b3a900")
#: Colours of the bars of a Gantt chart.
_BARS = ("#4477aa", "#66ccee", "#228833", "#ccbb44", "#ee6677", "#aa3377", "#bbbbbb")


def figure_bytes(compared: ReplayComparison, form: str) -> bytes:
    """Return the figure of a comparison as a file. form: "svg", "pdf" or "png"."""
    from ..solver.replay.series import curves, gantt, gantt_span

    found = [curves(result, compared.measuring) for result in compared]
    span = gantt_span(compared.results[0])
    charts = [(result.policy, gantt(result.schedule, span)) for result in compared]
    rows = 2 + len(charts)
    unit = _unit(int(found[0].edges[-1] - found[0].edges[0]))
    with drawing(_WIDTH, _TALL + rows * _FLAT) as figure:
        grid = figure.add_gridspec(1 + rows, 2, height_ratios=[_TALL, *[_FLAT] * rows])
        _distributions(figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[0, 1]), found)
        _over_time(figure.add_subplot(grid[1, :]), found, unit, "used")
        _over_time(figure.add_subplot(grid[2, :]), found, unit, "waiting")
        for row, (policy, bars) in enumerate(charts):
            axis = figure.add_subplot(grid[3 + row, :])
            from matplotlib.collections import PolyCollection

            begin, end = span
            shapes, colours = [], []
            for bar in bars:
                left, right = max(bar.start, begin) / unit[0], min(bar.finish, end) / unit[0]
                for low, high in bar.processors:
                    shapes.append([(left, low), (right, low), (right, high + 1), (left, high + 1)])
                    colours.append(_BARS[bar.job % len(_BARS)])
            axis.add_collection(PolyCollection(shapes, facecolors=colours, linewidths=0))
            axis.set(xlim=(begin / unit[0], end / unit[0]), ylim=(0, compared.results[0].procs))
            axis.set_ylabel(f"{policy}\nprocessor")
            if row == len(charts) - 1:
                axis.set_xlabel(f"time ({unit[1]})")
        return picture(figure, form)


def _distributions(waits: Any, slowdowns: Any, found: Sequence[Curves]) -> None:
    """Plot the share of the jobs up to each wait and slowdown."""
    for number, curve in enumerate(found):
        share = [100 * step / (len(curve.waits) - 1) for step in range(len(curve.waits))]
        style: dict[str, Any] = {"color": _COLOURS[number % len(_COLOURS)], "linewidth": 1}
        waits.step(curve.waits, share, where="post", label=curve.policy, **style)
        slowdowns.step(curve.slowdowns, share, where="post", label=curve.policy, **style)
    waits.set_xscale("symlog", linthresh=MINUTE)
    marks = {0: "0", MINUTE: "1 min", HOUR: "1 h", DAY: "1 d", 10 * DAY: "10 d"}
    waits.set_xticks(list(marks), list(marks.values()))
    waits.set_xticks([], minor=True)
    waits.set(xlabel="wait", ylabel="share of jobs (%)", ylim=(0, 100), xlim=(0, None))
    slowdowns.set_xscale("log")
    # The formatter of log scales writes formulas, which the settings switch off.
    slowdowns.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    slowdowns.xaxis.set_minor_formatter(lambda *_: "")
    highest = max(2.0, *(float(curve.slowdowns[-1]) for curve in found))
    slowdowns.set(xlabel="bounded slowdown", ylim=(0, 100), xlim=(1, highest))
    slowdowns.legend(frameon=False, loc="lower right")


def _unit(seconds: int) -> tuple[int, str]:
    """Return the unit of a time axis of this length: its seconds and its name."""
    if seconds >= 3 * DAY:
        return DAY, "days"
    return (HOUR, "hours") if seconds >= 3 * HOUR else (1, "seconds")


def _over_time(axis: Any, found: Sequence[Curves], unit: tuple[int, str], name: str) -> None:
    """Plot one curve per policy over time. name: "used" or "waiting", a field of the curves."""
    factor, label = (100, "processors in use (%)") if name == "used" else (1, "waiting jobs")
    for number, curve in enumerate(found):
        times, values = curve.edges / unit[0], factor * getattr(curve, name)
        colour = _COLOURS[number % len(_COLOURS)]
        axis.stairs(values, times, color=colour, linewidth=0.8, label=curve.policy)
    last = max(int(curve.edges[-1]) for curve in found)
    axis.set(ylabel=label, xlim=(found[0].edges[0] / unit[0], last / unit[0]), ylim=(0, None))
