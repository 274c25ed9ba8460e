"""``slotwise ask``: when would this bsub line start, and what would start sooner?"""

from __future__ import annotations

import shlex
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..model.display import WrittenTimes, duration_text, smallest_difference, with_stamps
from ..model.errors import InputError, nearest
from ..model.slurm_words import change_text
from .declare import argument, command, option, taking, values_of
from .explain import EXPLAINED, Explained
from .forecast import LikelyOptions, likely_cells, likely_columns
from .options import FORMAT, OF_EACH_PLAN, Format, Search
from .outlook_text import (
    caution_lines,
    placed_text,
    start_lines,
    start_times,
    submitted_as,
)
from .process import cancel_on_signal, give, left_of
from .selection import Selection
from .source import Source
from .tables import (
    Column,
    ListingRow,
    csv_text,
    hosts_text,
    json_text,
    listing_text,
    page_of,
    paragraph,
    paragraphs,
)

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..solver.advice.ask import Answer, Choice, Choices


USAGE = "give a bsub line: slotwise ask FILE 'bsub -n 8 -W 2:00', or a job script"


#: Bytes of a command that may be a job script.
LONGEST_SCRIPT = 1 << 20


@dataclass(frozen=True, slots=True)
class AskedLine:
    """A bsub line ("" if there is none) and the text of the job script that it reads."""

    line: str
    script: str | None = None
    #: Name of the script, "" if the request is a line.
    name: str = ""


def asked_for(
    words: list[str], context: typer.Context, *, after_file: bool, stdin: bool
) -> AskedLine:
    """Return the request of the command line: a quoted line, a line as its words, or a script.

    context: of the command; a misspelt option is compared with its options. after_file: whether an
    instance file precedes the words. stdin: whether standard input may have a script. Raises
    InputError for a misspelt option of slotwise, for ambiguous words, for an empty request, and for
    an unreadable script.
    """
    from ..model.formats.bsub import script_in_command, script_of
    from ..model.sources.slurm.sbatch import is_sbatch, script_named

    options = [name for known in context.command.params for name in known.opts]
    for word in words:
        if word.startswith("--") and (hint := nearest(word, options)):
            raise InputError(
                f"unknown option '{word}'{hint}; if it belongs to the job, quote the whole line"
            )
    if not words or words in (["bsub"], ["-"]):  # without a command bsub reads the job from there
        return AskedLine(_from_standard_input(stdin), name="standard input")
    line = words[0] if len(words) == 1 else _joined(words, after_file=after_file)
    if len(words) == 1 and not line.startswith("-") and _is_file(line):
        return AskedLine(_script_text(Path(line)), name=line)
    if is_sbatch(line):
        named = script_named(line)
        return AskedLine(line, _script_text(Path(named)) if named else None, named)
    name = script_of(line)
    if name is not None:
        return AskedLine(line, _script_text(Path(name)), name)
    name = script_in_command(line)
    script = None if name is None else _script_there(name)
    return AskedLine(line) if script is None else AskedLine(line, script, name or "")


def _joined(words: list[str], *, after_file: bool) -> str:
    if not (after_file or words[0] in ("bsub", "sbatch") or words[0].startswith("-")):
        raise InputError(f"{words[0]}: give an instance file or --example, not both")
    if " " in words[0]:
        raise InputError(f"give the whole line in quotes, or no quotes around '{words[0]}'")
    return shlex.join(words)


def _is_file(name: str) -> bool:
    try:
        # A pipe too: `ask SITE <(sed s/a/b/ job.lsf)`.
        path = Path(name)
        return "\n" not in name and path.exists() and not path.is_dir()
    except (OSError, ValueError):
        return False


def _script_there(name: str) -> str | None:
    """Return the text of a command that is a job script, None for any other command."""
    from ..model.formats.bsub import has_directives

    path = Path(name)
    if not (_is_file(name) and path.is_file() and path.stat().st_size < LONGEST_SCRIPT):
        return None
    with suppress(InputError):  # a program, or a file without read permission
        text = _script_text(path)
        return text if has_directives(text) else None
    return None


def _script_text(path: Path) -> str:
    from ..model.formats.reading import file_bytes

    return _decoded(file_bytes(path), str(path))


def _from_standard_input(stdin: bool) -> str:
    """Return a job script from standard input; raise InputError if it is empty."""
    from ..model.formats.reading import standard_input

    if not stdin or sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        raise InputError(USAGE)
    try:
        data = standard_input()
    except InputError as error:
        if isinstance(error.__cause__, OSError):  # standard input is closed
            raise InputError(USAGE) from None
        raise
    text = _decoded(data, "standard input")
    if not text.strip():
        raise InputError(USAGE)
    return text


def _decoded(data: bytes, source: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{source}: is not UTF-8 text (byte {error.start}): save the file as UTF-8"
        ) from None


#: Columns of a table: option and title.
COLUMNS = {
    **{"slots": "-n", "ptile": "PTILE", "limit": "-W", "cu": "CU", "queue": "QUEUE"},
    "gpu": "-gpu",
}
_WHEN = (Column("START", marked=True, label=""), Column("WAIT", marked=True), Column("FINISH"))
_WHERE = Column("HOSTS", line=1, label="on")


@dataclass(frozen=True, slots=True)
class Alternatives:
    """Values that are tried in every combination, by the option of bsub."""

    slots: tuple[str, ...] = option((), "Alternatives for -n: 4,8.")
    ptile: tuple[str, ...] = option((), "Alternatives for span[ptile]: 1,2,none.")
    limit: tuple[str, ...] = option((), "Alternatives for -W: 1:00,2:00.")
    cu: tuple[str, ...] = option((), "Alternatives for cu[]: maxcus=1,none.")
    queue: tuple[str, ...] = option((), "Alternatives for -q: short,long.")

    def choices(self) -> Choices | None:
        """Return the options of the listing, None if nothing is listed."""
        from ..solver.advice.ask import Choices

        lists = {name: list(texts) for name, texts in values_of(self).items() if texts}
        return Choices.read(**lists) if lists else None


@dataclass(frozen=True, slots=True)
class SubmitOptions:
    """Submitting user and host; fields of ``solver.advice.ask.ask``."""

    user: str = option("", "User who submits the job; limits and queues depend on it.")
    from_host: str = option("", "Submission host, for type==local.", "--from-host", "--from")


#: Meaning of --top for a table of alternatives.
OF_ALTERNATIVES = "Only the first N; 0 for all. Default: one page."


@command
def ask(
    context: typer.Context,
    instance_file: str | None = argument(
        None, "Instance file; omitted with --example and --cluster.", metavar="FILE"
    ),
    line: list[str] | None = argument(
        None,
        "bsub line, with or without bsub, or sbatch line, in quotes or as its words; or a job "
        "script.",
        metavar="LINE",
    ),
    *,
    source: Annotated[Source, taking("example live timeout")],
    alternatives: Alternatives,
    explore: bool = option(False, "Choose alternatives and show those that start earlier."),
    whose: SubmitOptions,
    method: Explained = EXPLAINED,
    search: Annotated[Search, taking("time_limit effort", time_limit=OF_EACH_PLAN)],
    likely: LikelyOptions,
    selection: Annotated[Selection, taking("top wide", top=OF_ALTERNATIVES)],
    format: Format = FORMAT,
) -> None:
    """When a bsub line, or a job script, would start if it were submitted now.

    The job is added at the end of its queue. All combinations of alternatives are tried.
    Exit codes: 0 done, 2 bad input, 3 stopped early.
    """
    from ..solver.advice.ask import ask as ask_for

    words = [word for word in (instance_file, *(line or ())) if word is not None]
    source, words = source.behind_file(words)
    after_file, stdin = source.file is not None, str(source.file) != "-"
    asked = asked_for(words, context, after_file=after_file, stdin=stdin)
    settings = likely.settings()
    instance = source.read(search.time_limit)
    past = likely.past(instance)
    with cancel_on_signal() as cancel:
        answer = ask_for(
            instance,
            asked.line,
            script=asked.script,
            script_name=asked.name,
            choices=alternatives.choices(),
            explore=explore,
            user=whose.user,
            from_host=whose.from_host,
            method=method,
            time_limit=left_of(search.time_limit),
            effort=search.effort,
            cancel=cancel,
            history=past,
            drawing=settings,
        )
    text = answer_output(instance, answer, format, selection.top, selection.wide)
    give(text, answer.remarks, is_partial=cancel.is_set() or answer.cut)


def answer_output(
    instance: Instance, answer: Answer, format: str, top: int | None = None, wide: bool = False
) -> str:
    """Return an answer in one of the output formats, with a final newline."""
    from ..solver.advice.likely import TIMES

    record = answer.to_dict()
    if format == "json":
        return json_text(record)
    if format == "csv":
        rows = [record["line"], *record["alternatives"]]
        for row, asked in zip(rows, ["yes"] + [""] * len(rows), strict=False):
            row["as_asked"] = asked
        likely = tuple(TIMES) if answer.forecast else ()
        times = ("start", "finish", *likely)
        columns = ("as_asked", *answer.options, *times, "allocation", "waits_for", "exact_fit")
        columns = tuple(with_stamps(dict.fromkeys(columns), answer.origin, times))
        return csv_text(columns, [{name: row.get(name, "") for name in columns} for row in rows])
    return _text(instance, answer, top, wide)


def _text(instance: Instance, answer: Answer, top: int | None, wide: bool) -> str:

    found, clock = answer.line.answer, _clock(instance, answer)
    who = "the job" if answer.elements == 1 else "the first element"
    text = ""
    if answer.elements != 1:
        text = paragraph(_array_text(clock, answer), instance=instance)
    if answer.outlook is not None:
        text += paragraphs(start_lines(clock, who, answer.outlook, wide), instance)
    if answer.outlook is None or answer.method != "configured":
        text += paragraph(placed_text(clock, who, found, answer.method, wide), instance=instance)
    text += paragraph(submitted_as(instance, answer), instance=instance)
    if found.waits_for and found.start is not None:
        text += paragraph(found.waits_for, instance=instance)
    text += paragraphs((f"requirement: {section}" for section in answer.requirement), instance)
    if answer.outlook is not None:
        told = caution_lines(answer.outlook, answer.method, answer.omissions)
        text += paragraphs(told, instance)
    if found.exact_fit:
        text += paragraph(f"the job {found.exact_fit}")
    for item in answer.suggestions:
        text += paragraph(f"{change_text(instance, item.change)}: {clock.text(item.start)}")
    if answer.forecast:
        middle, late, early = likely_cells(clock, answer.line.likely)
        text += paragraph(
            f"likely {middle}; 9 in 10 by {late}; 1 in 10 by {early} (by the history, simulated by "
            f"{answer.run_by})"
        )
    if answer.alternatives:
        text += "\n" + _listing(clock, answer, top, wide)
    elif answer.explored and not answer.refrained:
        text += paragraph(f"no alternative starts earlier ({answer.tried} tried)")
    if answer.explored and answer.alternatives:
        best = answer.alternatives[0].answer.start
        sooner = ""
        if best is not None and found.start is not None:
            sooner = f", the best {duration_text(found.start - best)} earlier"
        at = clock.text(best)
        shown = len(answer.alternatives)
        text += paragraph(f"{answer.tried} alternatives tried, {shown} start earlier: {at}{sooner}")
    if answer.refrained:
        text += paragraph("truncated by the limit: not every alternative was tried")
    if clock.day is not None:
        text += paragraph(clock.note)
    return text.rstrip("\n") + "\n"


def _clock(instance: Instance, answer: Answer) -> WrittenTimes:
    from ..solver.advice.likely import times_of

    choices = (answer.line, *answer.alternatives)
    times = [time for i in choices for time in (i.answer.start, i.answer.finish)]
    times += [item.start for item in answer.suggestions]
    times += [time for i in choices for time in times_of(i.likely).values() if answer.forecast]
    times += [] if answer.array is None else [item.start for item in answer.array.elements]
    times += start_times(answer.outlook)
    return WrittenTimes.of(instance, (*times, answer.line.answer.earliest_known))


def _array_text(clock: WrittenTimes, answer: Answer) -> str:
    """Return text such as ``100 elements: first now, middle +4h, last +9h; 10 every 1h``."""
    from ..model.plan import profile_text, starts_text

    whole = answer.array
    if whole is None:
        return f"{answer.elements} elements, none with a start"
    parts = [starts_text(clock, whole, answer.elements), profile_text(clock, whole)]
    if missing := answer.elements - len(whole.elements):
        parts.append(f"{missing} without a start")
    if whole.last.waits_for and whole.last.start != whole.first.start:
        parts.append(f"the last element waits: {whole.last.waits_for}")
    return f"{answer.elements} elements: {'; '.join(filter(None, parts))}"


def _listing(clock: WrittenTimes, answer: Answer, top: int | None, wide: bool) -> str:
    choices, now = [answer.line, *answer.alternatives], clock.instance.now
    infinite = float("inf")
    choices.sort(key=lambda i: infinite if i.answer.start is None else i.answer.start)
    beside = smallest_difference(item.answer.start for item in choices)

    def row(item: Choice) -> ListingRow:
        found, options = item.answer, [item.shown[name] for name in answer.options]
        likely = likely_cells(clock, item.likely) if answer.forecast else ()
        if found.start is None:
            cells = (found.missing, "", "", *likely, *options, found.waits_for)
            return ListingRow(cells, "unplaced")
        asked = "  (as asked)" if item is answer.line else ""
        times = [clock.text(time, beside) for time in (found.start, found.finish)]
        times.insert(1, duration_text(found.start - now, beside))
        where = hosts_text(found.allocation, wide) + asked
        return ListingRow(
            (*times, *likely, *options, where), "now" if found.start == now else "later"
        )

    listed = [row(item) for item in choices]
    how = (*(Column(COLUMNS[name]) for name in answer.options), _WHERE)
    columns = (*_WHEN, *(likely_columns() if answer.forecast else ()), *how)
    shown = listed[: page_of(columns, listed) if top is None else top or None]
    left = len(listed) - len(shown)
    rest = paragraph(f"{left} more not shown (--top 0 shows all).") if left else ""
    return listing_text(columns, shown, instance=clock.instance) + rest
