"""Options and steps that several commands share."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import typer

from ..model.confined import also_in, check_inside, is_inside
from ..model.display import DAY
from ..model.errors import InputError, Problem, SlotwiseError, report
from ..model.escaping import printable
from ..model.objective import ObjectiveName
from ..model.plan import MAX_MARGIN
from .declare import option

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

    from ..model.formats.file_format import DefaultLimit
    from ..model.instance import Instance


def example_names(incomplete: str) -> list[str]:
    """Return the shipped examples whose names begin with the typed letters."""
    from ..instances import examples

    return [name for name in examples() if name.startswith(incomplete)]


def pending_jobs(context: typer.Context, incomplete: str) -> list[str]:
    """Return the pending jobs with this beginning, of the instance named earlier in the line."""
    instance = _instance(context.params)
    jobs = () if instance is None else instance.pending
    return [job.id for job in jobs if job.id.startswith(incomplete)]


def _instance(given: dict[str, Any]) -> Instance | None:
    from ..model.formats import load

    for source in _sources(given):
        with suppress(SlotwiseError, OSError):
            return load(source)
    return None


def _sources(given: dict[str, Any]) -> Iterator[Path]:
    from ..instances import example

    if given.get("example"):
        with suppress(SlotwiseError):
            yield example(given["example"])
    for name in ("file", "instance_file"):
        if given.get(name) and str(given[name]) != "-":
            yield Path(given[name])


Format = Literal["text", "json", "csv"]


@dataclass(frozen=True, slots=True)
class Search:
    """Options of the search for an optimal plan; fields of ``solver.planning.plan``."""

    objective: ObjectiveName = option(
        "lexicographic", "Objective of the optimal plan (docs/how-it-works.md)."
    )
    time_limit: float | None = option(
        None,
        "Wall-clock seconds of the whole command; of an exact plan 30 without it and --effort.",
        min=0.0,
    )
    effort: float | None = option(
        None, "Deterministic effort instead: the same plan on any machine.", min=0.0
    )
    workers: int | None = option(
        None, "Number of threads or processes. Default: chosen by the command.", min=1
    )
    as_lsf: bool = option(
        False,
        "Estimate as LSF does: ignore windows and advance reservations; only BACKFILL queues "
        "may use reserved slots.",
    )
    margin: int = option(
        0,
        "Seconds to keep free after the planned end of every pending job.",
        min=0,
        max=MAX_MARGIN,
    )


#: Meaning of --time-limit for a command that makes several plans.
OF_EACH_PLAN = (
    "Wall-clock seconds of the whole command; of each exact plan 10 without it and --effort."
)
#: Options shared by several commands.
FORMAT_HELP = "Format on standard output."
FORMAT = option("text", FORMAT_HELP)
GANTT = option(False, "Also draw the plan: a line for each host, a letter for each job (text).")
RUSAGE_HELP = (
    "What rusage[mem] counts for: each host, as in LSF, or each slot, as in OpenLava and "
    "early volclava. Default: as RESOURCE_RESERVE_PER_SLOT or the scheduler's name implies."
)
JOBS_FILE_HELP = "Write one record for each job: .csv or .json (optionally .gz), or .parquet."
JOBS_FILE = option(None, JOBS_FILE_HELP)
Rusage = Literal["host", "slot"]


@dataclass(frozen=True, slots=True)
class LogReading:
    """Options for reading the records of a log; fields of ``ReadOptions``."""

    keep_going: bool = option(False, "Report malformed records and read the rest.")
    default_limit: str | None = option(
        None,
        "Requested time of jobs without one in an SWF log: 12h, or 2x (twice the run time).",
        metavar="TIME|Nx",
    )

    @property
    def limit(self) -> DefaultLimit | None:
        """Return the value of --default-limit.

        Raises InputError unless it is a time or a multiple.
        """
        from ..model.formats.file_format import DefaultLimit

        return None if self.default_limit is None else DefaultLimit.parse(self.default_limit)


#: The most samples of a forecast.
MAX_SAMPLES = 100_000
#: Jobs of an instance that the garbage collector need not traverse again.
MANY_JOBS = 10_000


#: List that receives notes instead of stderr.
_NOTES: ContextVar[list[str] | None] = ContextVar("notes", default=None)


@contextmanager
def collected_notes(notes: list[str]) -> Iterator[None]:
    """Append the notes of the block to a list, and do not print them."""
    token = _NOTES.set(notes)
    try:
        yield
    finally:
        _NOTES.reset(token)


def print_note(*texts: str) -> None:
    """Print lines on stderr."""
    notes = _NOTES.get()
    for text in texts:
        if notes is not None:
            notes.append(text)
        else:
            typer.echo(f"slotwise: {printable(text)}", err=True)


def read_source(source: Path) -> Instance:
    """Return the instance of a file, or of standard input for "-"; warnings go to stderr.

    Raises InputError with everything that is wrong with it.
    """
    instance, warnings = read_with_warnings(source)
    for line in report(warnings):
        typer.echo(f"slotwise: warning: {printable(line)}", err=True)
    return instance


#: The message for a folder in place of an instance file.
WANTED_OF_FOLDER = (
    "give an instance file; `slotwise import lsf` makes one of LSF's configuration, `slotwise "
    "snapshot --from` of listings"
)


def read_with_warnings(source: Path) -> tuple[Instance, Sequence[Problem]]:
    """Return the result of :func:`read_source`, with the warnings as data."""
    from ..model.compact import freeze_objects, no_collection
    from ..model.formats import load_with_warnings, loads_with_warnings
    from ..model.formats.file_format import ReadOptions
    from ..model.formats.reading import standard_input
    from ..model.sources.registry import whole_by_itself

    if is_inside(source) and os.path.isdir(source):  # False for a name that is too long
        raise InputError([Problem(f"is a directory: {WANTED_OF_FOLDER}", str(source))])
    with no_collection():
        if str(source) == "-":
            found = loads_with_warnings(standard_input(), "<stdin>")
        elif other := whole_by_itself(source):
            contents = other.read(source, ReadOptions())
            remarks = tuple(Problem(text, str(source)) for text in contents.remarks)
            found = contents.instance, remarks
        else:
            found = load_with_warnings(source)
        if len(found[0].running) + len(found[0].pending) >= MANY_JOBS:
            freeze_objects()
    return found


@contextmanager
def progress() -> Iterator[Callable[[Any], None] | None]:
    """Yield a status line on stderr for a search, None if stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status("solving") as status:
        yield lambda report: status.update(Text(printable(str(report))))


class StandardInput(type(Path())):  # type: ignore[misc]
    """A temporary file with all of standard input, or of a pipe, by whose name messages call it."""

    shown = "<stdin>"

    def __str__(self) -> str:
        return self.shown

    def __fspath__(self) -> str:
        return os.fspath(Path(*self.parts))


def from_stdin(context: typer.Context, value: Any) -> Any:
    """Return the given path or paths, ``-`` as :class:`StandardInput` until the command ends.

    Pipes and devices become the same, such as ``/dev/stdin`` or a shell's ``<(zcat log)``.
    Raises InputError if standard input is asked for twice, cannot be read or has too many bytes.
    """
    from ..model.formats.reading import begins_as_log, is_stream, spool

    if isinstance(value, list | tuple):
        if sum(str(path) == "-" for path in value) > 1:
            raise InputError(
                "- is given twice: standard input can be read only once; give a file instead"
            )
        return [from_stdin(context, path) for path in value]
    if value is None or (str(value) != "-" and not is_stream(value)):
        return value
    if str(value) != "-":
        check_inside(value)
    folder = context.with_resource(tempfile.TemporaryDirectory(prefix="slotwise-"))
    context.with_resource(also_in(Path(folder)))
    file = StandardInput(Path(folder) / "stdin")
    if str(value) != "-":
        file.shown = str(value)
    spool(value, Path(folder) / "stdin", file.shown, begins_as_log)
    return file


@contextmanager
def progress_bar(
    title: str, total: int, state: Callable[[], tuple[int, int]]
) -> Iterator[Callable[[], None]]:
    """Yield a function that shows a simulation's progress if stderr is a terminal.

    total: jobs in all. state: jobs so far and the simulated second.
    """
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.progress import TextColumn

    rate = "{task.fields[rate]:,.0f} jobs/s  simulated {task.fields[days]:.1f} days"
    already, begun = state()
    with _bar(TextColumn(rate)) as bar:
        task = bar.add_task(title, total=total, completed=already, rate=0.0, days=0.0)

        def show() -> None:
            elapsed = bar.tasks[task].elapsed or 1e-9
            done, now = state()
            rate, days = (done - already) / elapsed, (now - begun) / DAY
            bar.update(task, completed=done, rate=rate, days=days)

        yield show


@contextmanager
def study_bar(title: str, total: int, already: int = 0) -> Iterator[Callable[[], None]]:
    """Yield a function to call after each run; it prints nothing if stderr is not a terminal.

    already: runs that were done before.
    """
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.progress import TextColumn, TimeElapsedColumn, TimeRemainingColumn

    with _bar(TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn()) as bar:
        task = bar.add_task(title, total=total, completed=already)
        yield lambda: bar.advance(task)


def _bar(*columns: ProgressColumn) -> Progress:
    """Return a progress bar on stderr that vanishes at its end, with columns behind it."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    first = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*first, *columns, console=Console(stderr=True), transient=True)


def seconds_of(text: str, option: str) -> int:
    """Return the seconds of a duration option. Raises InputError for no duration, and for 0."""
    from ..model.formats.units import parse_duration

    try:
        seconds = int(parse_duration(text))
    except ValueError as error:
        raise InputError([Problem(str(error), option)]) from error
    if seconds < 1:
        raise InputError([Problem(f"must be a positive time, not {text!r}", option)])
    return seconds


def interval_of(text: str, option: str) -> float:
    """Return the seconds of an interval option. Raises InputError for no duration."""
    from ..model.formats.units import parse_interval

    try:
        return parse_interval(text)
    except ValueError as error:
        raise InputError(f"{option}: {error}") from None


#: The first bytes of an SQLite file.
SQLITE_HEAD: Final = b"SQLite format 3\0"


def has_sqlite_head(path: Path) -> bool:
    """Return whether a regular file begins as an SQLite file does; it may not exist."""
    from ..model.formats.reading import beginning

    try:
        return is_inside(path) and path.is_file() and beginning(path, 16) == SQLITE_HEAD
    except OSError:
        return False
