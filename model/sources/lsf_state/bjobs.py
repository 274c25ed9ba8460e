"""Jobs as ``bjobs -json``, ``bjobs -l`` and ``bjobs -UF`` print them.

The parts of the two sentences in which ``bjobs -l`` says what a job is and what it asks for. ``Job
<1>, User <u>, …`` and ``Submitted from host <h>, CWD <…>, 4 Task(s), …``. What is in neither list
below is told: it may have a say in the job's start.

The lines of ``bjobs -l`` as they were before they were wrapped. bjobs breaks its lines at a fixed
column, in the middle of a word where it falls there, and begins the next one below the text behind
the time stamp: 21 blanks, or 26 where LSB_BJOBS_DISPLAY_YEAR=Y prints the year. Both are taken from
the file. ``-UF`` does not wrap.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from ...errors import InputError, Problem
from . import values
from .bhosts import GPU_PARTS, of_block, sections
from .bqueues import stated
from .printed_facts import LONG, columns, is_told, needed, read_parts
from .reading import Cells, Reading, Touched, json_records
from .values import PrintedTimes, Remarks, Text, check_kind, limit_row, pick

#: A value ends where a comma, a semicolon or another value follows.
_END = re.compile(r">(?=\s*(?:[,;<]|$))")
_NAME = re.compile(r"[^<,;]*")
#: Parts of the listing that the reader uses.
READ = read_parts()
#: Parts that do not affect when or where a job starts.
SILENT = frozenset(
    {"command", "mail", "share group charged", "job description", "cwd"}
    | {"output file", "error file", "input file", "copy files", "re-runnable", "login shell"}
    | {"output file (overwrite)", "error file (overwrite)", "checkpoint directory", "esub"}
    | {"pre-execute command", "post-execute command", "pre-exec", "post-exec", "execution home"}
    | {"notify when job begins", "notify when job ends", "notify when job begins/ends"}
    | {"interactive mode", "interactive pseudo-terminal mode", "interactive pseudo-terminal shell"}
    | {"interactive pseudo-terminal shell mode", "ssh", "x11 forwarding", "job messages"}
    | {"interactive", "interactive shell mode", "user-defined signal", "warning action"}
    | {"checkpoint period", "migration threshold", "umask", "shared memory"}
    | {"allocation flags", "core isolation", "resizable", "resize notification command"}
)
#: Titled parts without a say.
SILENT_PARTS = frozenset(
    {"SCHEDULING PARAMETERS", "SUSPENDING REASONS", "MEMORY USAGE", "RESOURCE USAGE"}
    | {"RESOURCE USAGE COLLECTED", "PENDING TIME DETAILS", "CPU USAGE", "GPU USAGE"}
)
_SLOTS = re.compile(r"\d+(?:\s*[,-]\s*\d+)? (?:processors? requested|task\(s\))")


def clauses(sentence: str) -> Iterator[tuple[str, str]]:
    """Name and values (with their brackets) of each part; no name where only a value is listed."""
    at = 0
    while at < len(sentence):
        name = _NAME.match(sentence, at)
        assert name is not None
        begin = at = name.end()
        while at < len(sentence) and sentence[at] == "<":
            end = _END.search(sentence, at)
            at = len(sentence) if end is None else end.end()
            while at < len(sentence) and sentence[at].isspace():
                at += 1
        yield " ".join(name[0].split()), sentence[begin:at].strip()
        at += 1


def unread(sentence: str) -> list[str]:
    """Return names of parts that no reader uses and that may affect a start."""
    found = []
    for name, _ in clauses(sentence.partition(", Command <")[0]):
        word = name.lower()
        if word.isdigit():
            continue  # the first number of ``2, 4 Task(s)``
        if word and word not in READ and word not in SILENT and not _SLOTS.fullmatch(word):
            found.append(name)
    return found


#: A line that begins with a time, up to the text behind it.
TIMED = re.compile(
    r"^((?:[A-Z][a-z]{2} )?[A-Z][a-z]{2} +\d{1,2} +\d{1,2}:\d\d(?::\d\d)?(?: \d{4})?): ?"
)
#: Separator between two jobs.
_RULER = re.compile(r"\s*-{20,}\s*")
#: Blanks of the rest of a wrapped line: no other line begins with as many, but for the second and
#: further GPUs of a host (GPU_ALLOCATION), which begin with the numbers of a task and of a GPU.
_DEEP = re.compile(r" {15,}(?=\S)(?!\d+ +\d+ )")
#: Columns of text, where no line that was broken is longer.
_USUAL_WIDTH = 79
#: Blanks at the end of a line that mail programs and editors cut off; more is another layout.
_MAX_CUT = 3


@dataclass(frozen=True, slots=True)
class Wrapping:
    """Layout by which `bjobs -l` has wrapped its lines."""

    #: Blanks before the rest of a wrapped line.
    indent: int
    #: Columns at which lines break.
    width: int

    @classmethod
    def of(cls, lines: Sequence[str]) -> Wrapping:
        """Return the layout of a file."""
        blanks = Counter(found.end() for line in lines if (found := _DEEP.match(line)))
        stamps = Counter(len(found[0]) for line in lines if (found := TIMED.match(line)))
        # A rest that begins with a blank stands one column further in.
        indent = min(blanks, default=_USUAL_WIDTH)
        if stamps:
            behind = stamps.most_common(1)[0][0]
            if behind in blanks or behind + 1 in blanks:
                indent = behind
        rests = [line.startswith(" " * indent) for line in lines]
        widths = Counter(
            len(line) for line, wrapped in zip(lines, rests[1:], strict=False) if wrapped
        )
        if max(widths, default=0) <= _USUAL_WIDTH:
            return cls(indent, _USUAL_WIDTH)
        return cls(indent, max(widths, key=lambda width: (widths[width], width)))

    def is_rest(self, line: str) -> bool:
        """Return whether a line continues the one before it."""
        return line.startswith(" " * self.indent)

    def whole(self, line: str) -> str:
        """Return a wrapped line as a whole, with the blanks that were cut off at its end."""
        cut = self.width - len(line)
        return line + " " * cut if 0 < cut <= _MAX_CUT else line


class NumberedLine(str):
    """A line and its number (from 1), that of the first where it was wrapped."""

    number: int

    @classmethod
    def of(cls, text: str, number: int) -> NumberedLine:
        """Return the numbered line of a text line."""
        line = cls(text)
        line.number = number
        return line


def blocks(content: str) -> Iterator[list[NumberedLine]]:
    """Yield the unwrapped lines of each job."""
    lines = [line.rstrip("\r") for line in content.splitlines()]
    wrapping = Wrapping.of(lines)
    block = list[NumberedLine]()
    for number, (line, after) in enumerate(zip(lines, [*lines, ""][1:], strict=True), start=1):
        text = wrapping.whole(line) if wrapping.is_rest(after) else line
        if wrapping.is_rest(line) and block:
            block[-1] = NumberedLine.of(block[-1] + text[wrapping.indent :], block[-1].number)
        elif line.lstrip().startswith("Job <"):
            if block:
                yield block
            block = [NumberedLine.of(text.lstrip(), number)]
        elif block and not _RULER.fullmatch(line):
            block.append(NumberedLine.of(text, number))
    if block:
        yield block


#: First line of a job in bjobs -l and -UF, and of all other forms.
_LONG = re.compile(r"^\s*Job <", re.MULTILINE)
_TABLE = re.compile(r"^\s*JOBID\b", re.MULTILINE)
#: States in which a job waits for its start.
WAITING = frozenset({"PEND", "WAIT"})
STATES = frozenset(
    [
        "PEND",
        "PSUSP",
        "RUN",
        "SSUSP",
        "USUSP",
        "DONE",
        "EXIT",
        "UNKWN",
        "WAIT",
        "ZOMBI",
        "PROV",
        "FWD_PEND",
    ]
)


@dataclass(slots=True)
class SeenJob:
    """One job; times in seconds since 1970, durations in seconds."""

    #: Job id, ``number[index]`` for an array element.
    id: str
    #: Job state, such as PEND or RUN.
    status: str = "PEND"
    #: Name of the user.
    user: str = "user"
    #: Name of the queue, "" if not printed.
    queue: str = ""
    #: Project (-P).
    project: str = "default"
    #: User group (-G), "" if none.
    group: str = ""
    #: Licence project (-Lp), "" if none.
    license_project: str = ""
    #: Whether the listing has licence projects.
    shows_license_project: bool = True
    #: Application profile (-app), "" if none.
    application: str = ""
    #: Name of the submission host, "" if not printed.
    from_host: str = ""
    #: User-assigned priority (-sp), 0 if none.
    priority: int = 0
    #: Minimum number of requested slots, None if not printed.
    slots: int | None = None
    #: Maximum number of requested slots, None if not printed.
    max_slots: int | None = None
    #: Resource requirement (-R).
    res_req: str = ""
    #: Hosts of -m, as typed.
    hosts: str = ""
    #: Whether the job runs alone on its hosts (-x).
    exclusive: bool = False
    #: Whether it resizes itself (-ar).
    resizable: bool = False
    #: -U, the advance reservation in which it runs.
    reservation: str = ""
    #: Job group (-g), "" if none.
    job_group: str = ""
    #: -sla, or the class that has attached it.
    service_class: str = ""
    #: Slots that the scheduler reserves for it while it waits.
    reserved: int = 0
    #: Submission in seconds since 1970.
    submit: int | None = None
    #: Begin time (-b) in seconds since 1970.
    begin: int | None = None
    #: Termination deadline (-t) in seconds since 1970.
    deadline: int | None = None
    #: Start in seconds since 1970, None if pending.
    start: int | None = None
    #: Expected end, in seconds since 1970.
    finish: int | None = None
    #: Seconds until the expected end, None if not printed.
    left: float | None = None
    #: Whether these follow from the run limit (not from LSF's estimate).
    from_limit: bool = False
    #: Seconds that it has run so far.
    run_time: float | None = None
    #: Seconds for which it was suspended before it ran again.
    idle: int = 0
    #: Since when it is suspended, in seconds since 1970; None if it is not.
    stopped: int | None = None
    #: Seconds that it ran in all, if a log gives them.
    real_run_time: int | None = None
    #: Run limit in seconds.
    run_limit: int | None = None
    #: CPU limit in seconds.
    cpu_limit: int | None = None
    #: Estimated run time (-We) in seconds.
    estimated_run_time: int | None = None
    #: CPU time used so far in seconds.
    cpu_time: float | None = None
    #: Slots in use by host name.
    allocation: dict[str, int] = field(default_factory=dict)
    #: Job name (-J).
    name: str = ""
    #: Dependency condition (-w).
    dependency: str = ""
    #: Whether the condition is not satisfied yet.
    dependent: bool = False
    #: Time and place in the queue after btop or bbot, (second, place).
    queued_as: tuple[int, int] | None = None
    #: Absolute priority set by an administrator, such as ``system=10``.
    aps: str = ""
    #: Further parts of the listing that may affect its start.
    unheeded: tuple[str, ...] = ()
    #: GPU request in the form of -gpu.
    gpu: str = ""
    #: GPUs in use, by host.
    gpus_held: dict[str, int] = field(default_factory=dict)
    #: LSF's pending reason.
    reason: str = ""
    #: Start estimated by LSF, in seconds since 1970.
    estimate: int | None = None
    #: Line number in the text, or None.
    line: int | None = None
    #: Names of the cells that could not be read.
    unknown: tuple[str, ...] = ()


def is_of_arrays(text: Text) -> bool:
    """Whether a text is ``bjobs -A``, which has the limits of arrays that ``bjobs -l`` lacks."""
    return not text.is_json and _ARRAYS.search(text.content) is not None


def with_array_limits(jobs: Iterable[SeenJob], texts: Iterable[Text]) -> list[SeenJob]:
    """Return the jobs, elements of arrays named by the specifications in ``bjobs -A``."""
    specs = {id: spec for text in texts for id, spec in _LIMITED_ARRAY.findall(text.content)}
    found = []
    for job in jobs:
        spec = specs.get(job.id.partition("[")[0])
        named = spec is not None and "[" in job.id and "%" not in job.name
        found.append(replace(job, name=_name(job.name, f"[{spec[1:]}")) if spec and named else job)
    return found


def read_bjobs(text: Text, calendar: PrintedTimes, notes: Remarks | None = None) -> list[SeenJob]:
    """Return all jobs of a text; raises InputError with every error that makes it unusable.

    notes: collects unreadable values, and messages of the command about jobs that it could not
    show.
    """
    check_kind(text, "bjobs")
    if is_of_arrays(text):
        message = (
            "is output of bjobs -A, which only counts the elements of arrays: give bjobs -u all "
            "-l, -UF or "
            "-json -o '… jobindex …'"
        )
        raise InputError([Problem(message, text.source)])
    if not text.is_json and not _LONG.search(text.content) and _TABLE.search(text.content):
        message = (
            "is a table of bjobs without the requested slots, requirements and limits of jobs: "
            "give bjobs -u all -l, -UF or -json -o '…'"
        )
        raise InputError([Problem(message, text.source)])
    notes = Remarks() if notes is None else notes
    reading = Reading(text, notes, calendar)
    jobs = list(
        _of_json(text, reading, notes) if text.is_json else _of_text(text, reading, calendar)
    )
    if jobs and not any(job.status for job in jobs):
        reading.at(f"job {jobs[0].id}", jobs[0].line)
        reading.wrong("has no known status, and no other job has one")
    reading.once("job", [(job.id, job.line) for job in jobs])
    for job in jobs:
        if job.unknown and job.status not in WAITING:
            _tell_dependents(job, jobs, notes)
    return jobs


#: States of a job that is gone.
ENDED = frozenset({"DONE", "EXIT"})


def _is_id(text: str) -> bool:
    """Return whether a text can be a job id: a name, with an index if it is an element."""
    return values.is_name(re.sub(r"\[\d{1,10}\]$", "", text))


def _unnamed(number: int) -> str:
    """Return a substitute for an unreadable id; number: of its record or line."""
    return f"unnamed-{number}"


def _read_as_far(job: SeenJob, reading: Reading) -> None:
    """Add the unreadable values of a job, with the jobs that they may affect."""
    job.unknown = reading.names
    if job.status in WAITING or job.status in ENDED:
        reading.touched = Touched(jobs=(job.id,))
    elif job.allocation:  # a running job with unknown hosts may affect every job
        reading.touched = Touched(hosts=tuple(job.allocation))


def _tell_dependents(job: SeenJob, jobs: Sequence[SeenJob], notes: Remarks) -> None:
    """Note the jobs that depend on a job with unknown values."""
    names = [re.escape(name) for name in (job.id.partition("[")[0], job.name) if name]
    named = re.compile(rf"(?<!\w)(?:{'|'.join(names)})(?!\w)")
    if waiting := [item.id for item in jobs if named.search(item.dependency)]:
        unknown = ", ".join(job.unknown)
        notes.touch(
            f"job {job.id}, on which other jobs depend: its {unknown} is not known", waiting
        )


def _of_json(text: Text, reading: Reading, notes: Remarks) -> Iterator[SeenJob]:
    records = list(json_records(text, reading))
    others = any("ERROR" not in record or "STAT" in record for _, record in records)
    for what in ("id", "state"):
        if others and not any(pick(record, *columns(what)) for _, record in records):
            name = columns(what)[0]
            reading.at("RECORDS")
            reading.wrong(f"have no {name}: give -o a list of fields with {name.lower()}")
            return
    wanted, waiting = dict(needed()), 0
    lacking = dict(wanted)
    for number, record in records:
        reading.at(f"RECORDS[{number - 1}]")
        if "ERROR" in record and "STAT" not in record:
            if not others:
                reading.wrong(f"contains no job: {record['ERROR']}")
            notes.append(f"{text.source}: bjobs reports for one job only: {record['ERROR']}")
            continue
        id = _id(pick(record, *columns("id")), pick(record, *columns("index in its array")))
        bad, id = (id, "") if not _is_id(id) else ("", id)
        reading.at(f"job {id or _unnamed(number)}", None, Touched())
        if not id:
            id = _unnamed(number)
            reading.unknown(f"JOBID {bad!r} is not a job id", name="JOBID")
        for column, names in wanted.items():
            if any(name in record for name in names):
                lacking.pop(column, None)
        waiting += pick(record, "STAT") in WAITING
        yield _job_of_json(id, record, reading)
    if waiting and lacking:
        notes.touch(
            f"has no column {', '.join(lacking)}: these requests of {waiting} pending "
            f"job{'s' * (waiting > 1)} are unknown (give the fields to bjobs -o)",
            where=text.source,
            count=waiting,
        )


class _Cells(Cells):
    """The facts of one job."""

    def __init__(self, record: Mapping[str, str], reading: Reading) -> None:
        super().__init__(record, reading, "job")
        self._given = record

    def said(self, what: str) -> bool:
        """Return whether the job has a value for it."""
        return self.text(what).strip().lower() not in values.NO

    def unread(self) -> tuple[str, ...]:
        """Return columns with a value that no reader uses."""
        named = (name for name in self._given if is_told(name))
        return tuple(n for n in named if pick(self._given, n).strip().lower() not in values.NO)


def _state(text: str, otherwise: str, reading: Reading) -> str:
    """Return the state of a job, "" for an unknown one."""
    if text in STATES:
        return text
    reading.unknown(f"STAT {text!r} is not a job state: {otherwise}", name="STAT")
    return ""


def _gpus(cells: _Cells, hosts: int) -> str:
    """Return the columns of GPUs in the form of -gpu; "" if they are empty.

    hosts: hosts of the job, over which its GPUs are counted together.
    """
    said = {
        name: cells.text(what)
        for name, what in (("num", "requested GPUs"), ("mode", "GPU mode"))
        if cells.said(what)
    }
    if cells.said("exclusive GPUs"):
        alone = cells.text("exclusive GPUs")
        said["j_exclusive"] = "yes" if alone in ("Y", "y") else alone
    if hosts > 1 and said.get("num", "").isdigit():
        said["num"] = f"{-(-int(said['num']) // hosts)}/host"
    return ":".join(f"{name}={text}" for name, text in said.items()) if "num" in said else ""


def _name(name: str, spec: str) -> str:
    """Return the name of a job with the elements of its array, which may have a column of their
    own.

    The index in the name of an element repeats its id.
    """
    return f"{name.partition('[')[0]}[{spec.rpartition('[')[2]}" if "[" in spec else name


def _id(number: str, index: str) -> str:
    """Return an id such as ``101[3]``; LSF's programs give one number, with the index in its
    upper 32 bits.
    """
    plain = number.strip()
    if plain.isascii() and plain.isdigit() and 2**32 <= int(plain) < 2**63:
        high, low = divmod(int(plain), 2**32)
        return f"{low}[{high}]"
    return f"{plain}[{index}]" if plain and "[" not in plain and index not in ("", "0") else plain


def _job_of_json(id: str, record: dict[str, str], reading: Reading) -> SeenJob:
    cells = _Cells(record, reading)
    text = cells.text
    status = _state(text("state"), "give -o stat", reading)
    facts = cells.facts()
    if (facts.get("max_slots") or 0) <= (facts.get("slots") or math.inf):
        facts.pop("max_slots", None)
    facts["name"] = _name(facts.get("name", ""), text("elements of its array"))
    state = INELIGIBLE if pick(record, "PENDSTATE") == "IPEND" else ""
    job = SeenJob(
        id,
        status,
        **facts,
        shows_license_project=any(name in record for name in columns("licence project (-Lp)")),
        aps=str(stated(text("absolute priority set for it (bmod -aps)")) or ""),
        from_limit=(text("expected end") or text("time left")).rstrip().endswith("L"),
        dependent=_DEPENDENCY.match(text("why it waits")) is not None,
        unheeded=cells.unread(),
        reason=" ".join(filter(None, (text("why it waits"), state))),
    )
    job.gpu = _gpus(cells, max(1, len(job.allocation)))
    _check_slots(job, record, reading)
    _read_as_far(job, reading)
    return job


def _check_slots(job: SeenJob, record: dict[str, str], reading: Reading) -> None:
    counted = reading.value("NALLOC_SLOT", pick(record, "NALLOC_SLOT"), values.whole)
    held = sum(job.allocation.values())
    if counted is not None and job.allocation and counted != held and "ALLOC_SLOT" in record:
        reading.unknown(
            f"NALLOC_SLOT is {counted} and ALLOC_SLOT names {held} slots: the number of its slots",
            name="NALLOC_SLOT",
        )


_TASKS = re.compile(
    r"(?<![\w.])(\d{1,9})(?:\s*[,-]\s*(\d{1,9}))? (?:Processors? Requested|Task\(s\)(?! on))"
)
_SOME_TASKS = re.compile(r"[^,;]* (?:Processors? Requested|Task\(s\)(?! on))")
_HOSTS = r"((?:<[^<>]+>[,\s]*)+)"
_ALLOCATED = re.compile(rf"Allocated (?:\S+ )?Slots?(?:\(s\))? on Hosts?(?:\(s\))? {_HOSTS}")
_STARTED = re.compile(
    r"(?i:started|dispatched)(?: \S+ Tasks?(?:\(s\))?)? (?:on|to)"
    rf"(?: <?\d+>?)?(?: Hosts?(?:\(s\)|/Processors)?)? {_HOSTS}"
)
#: The head of ``bjobs -A``, and a row of an array with a limit.
_ARRAYS = re.compile(r"^\s*JOBID\s+ARRAY_SPEC\s+OWNER\b", re.MULTILINE)
_LIMITED_ARRAY = re.compile(r"^\s*(\d{1,18})\s+[^\[\n]*(\[[^\]\s]+\]%\d{1,9})\s", re.MULTILINE)
#: Reason of a job that LSF does not count as eligible.
INELIGIBLE = "ineligible (PENDSTATE IPEND)"
#: State of a job that is not eligible because of another job (bsub -w).
_DEPENDENCY = re.compile(r"\s*(?:Job )?dependency condition\b", re.IGNORECASE)
#: Text after the time at which the scheduler expects to start a job.
_ESTIMATE = re.compile(r"(?i)\bestimated\b.*\bstart\b|\bwill (?:be )?start(?:ed)?\b")
#: A line of which the time in front cannot be read.
_UNTIMED = re.compile(
    r"^(\S.{2,39}?)[:\s] *(?=Submitted from host|(?i:started|dispatched)\b.* (?:on|to) "
    r"|Allocated \S+ Slot|Reserved <|Job will start|Will be started|Estimated Job Start)"
)
_SET_ASIDE = re.compile(r"Reserved <(\d{1,9})> job slots?\b")
#: An estimate on one line with another time, as some programs print.
_LATER_STAMP = re.compile(rf";\s*{TIMED.pattern[1:]}(?=.*{_ESTIMATE.pattern[4:]})", re.IGNORECASE)
#: A job that waits in another cluster.
_FORWARDED = re.compile(r"(?i)\bforward(?:ed)?\b.*\bcluster\b")
_CPU = re.compile(r"The CPU time used is (\S{1,20}) seconds")


def _of_text(text: Text, reading: Reading, calendar: PrintedTimes) -> Iterator[SeenJob]:
    for block in blocks(text.content):
        line = block[0].number
        reading.at("", line)
        job = _job_of_text(block, reading, calendar)
        job.line = line
        _read_as_far(job, reading)
        yield job


def _job_of_text(block: list[NumberedLine], reading: Reading, calendar: PrintedTimes) -> SeenJob:
    head = block[0].partition(", Command <")[0]
    fields = _fields(head)
    id = fields.get("Job", "")
    job = SeenJob(id if _is_id(id) else _unnamed(reading.line or 0))
    reading.at(f"job {job.id}", reading.line, Touched())
    if job.id != id:
        reading.unknown(f"Job {id!r} is not a job id", name="Job")
    job.status = _state(fields.get("Status", ""), "left out", reading)
    for kind, name in (("system", "System Absolute Priority"), ("admin", "Admin factor value")):
        if number := reading.value(name, fields.get(name, ""), values.number):
            job.aps = f"{kind}={number:g}"
    job.unheeded = tuple(unread(block[0]))
    _asked(job, head, reading)
    asked, job.gpus_held = of_block(block)
    parts = list(sections(block))
    job.reason = _reasons(parts)
    job.unheeded = (*job.unheeded, *_unknown_parts(parts))
    plain = [line for title, lines in parts if title not in GPU_PARTS for line in lines]
    for number, line in enumerate(plain):
        reading.line = getattr(line, "number", reading.line)
        if timed := TIMED.match(line.lstrip()) or _UNTIMED.match(line.lstrip()):
            _event(job, timed[1], line.lstrip()[timed.end() :], reading, calendar)
            continue
        limits = limit_row(line, plain[number + 1] if number + 1 < len(plain) else "")
        if limits and not re.search(r"\d", line):
            reading.line = getattr(plain[number + 1], "number", reading.line)
        if limits:
            _take(job, limits, reading)
        job.dependent |= _DEPENDENCY.match(line) is not None
        if not job.res_req and (combined := re.match(r"\s*Combined\s*:\s*(.*)", line)):
            # Continuation lines have a deeper indentation than new parts.
            more = takewhile(lambda text: text.startswith(" " * 8), plain[number + 1 :])
            job.res_req = values.requirement(
                "".join([combined[1], *(text.strip() for text in more)])
            )
    job.gpu = asked or job.gpu
    return job


def _event(job: SeenJob, stamp: str, text: str, reading: Reading, calendar: PrintedTimes) -> None:
    """Read one line that begins with a time."""
    if re.match(r"Submitted\b", text):
        job.submit = reading.value("submission", stamp, calendar.past)
        _submitted(job, text, reading)
    elif _FORWARDED.search(text) and job.status in WAITING:
        job.unheeded = (*job.unheeded, "forwarded to cluster")
    elif found := _ALLOCATED.search(text) or _STARTED.search(text):
        job.start = reading.value("start", stamp, calendar.past)
        hosts = " ".join(re.findall(r"<([^<>]+)>", found[1]))
        job.allocation = reading.value("hosts", hosts, values.allocation) or {}
        job.idle, job.stopped = 0, None
    elif found := _SET_ASIDE.match(text):
        job.reserved = int(found[1])
        if later := _LATER_STAMP.search(text):
            job.estimate = reading.value("estimated start", later[1], calendar.coming)
    elif job.start is not None and re.match(r"Suspend", text):
        job.stopped = reading.value("suspension", stamp, calendar.past)
    elif job.stopped is not None and re.match(r"Running|Resum", text):
        again = reading.value("resumption", stamp, calendar.past)
        job.idle += max(0, (again or job.stopped) - job.stopped)
        job.stopped = None
    elif _ESTIMATE.search(text):
        job.estimate = reading.value("estimated start", stamp, calendar.coming)
    if used := _CPU.search(text):
        job.cpu_time = reading.value("CPU time", used[1], values.seconds)


def _reasons(parts: Sequence[tuple[str, list[str]]]) -> str:
    """Return why a job waits: the lines under the title, up to one without text or with limits."""
    lines = next((lines for title, lines in parts if title == "PENDING REASONS"), [])
    own = takewhile(lambda line: line.strip() and not limit_row(line, ""), lines)
    return " ".join(line.strip() for line in own if not TIMED.match(line.lstrip()))


def _unknown_parts(parts: Sequence[tuple[str, list[str]]]) -> Iterator[str]:
    """Note titles of parts whose effect is unknown."""
    for title, lines in parts:
        known = title.lower() in READ or title in SILENT_PARTS
        if title and not known and any(map(str.strip, lines)):
            yield title


def _submitted(job: SeenJob, text: str, reading: Reading) -> None:
    if job.slots is None and not _TASKS.search(text):
        job.slots = 1  # LSF says nothing of the one slot of most jobs
        if words := _SOME_TASKS.search(text):
            job.slots = None
            reading.unknown(f"{words[0].strip()!r} is not a number of slots", name="slots")
    _asked(job, text, reading)
    job.unheeded = tuple(dict.fromkeys((*job.unheeded, *unread(text))))


def _fields(sentence: str) -> dict[str, str]:
    """Return the first value of each part by name; a list of values is separated by blanks."""
    fields: dict[str, str] = {}
    last = ""
    for name, value in clauses(sentence):
        plain = value.removeprefix("<").removesuffix(">")
        if name:
            fields.setdefault(name, plain)
        elif last:
            fields[last] += f" {plain}"
        last = name or last
    return fields


def _take(job: SeenJob, fields: Mapping[str, str], reading: Reading) -> None:
    for name, value in Cells(fields, reading, "job").facts(LONG).items():
        if name != "priority" or not job.priority:  # Job Priority has grown from that of the user
            setattr(job, name, value)


def _asked(job: SeenJob, text: str, reading: Reading) -> None:
    """Read what a job asks for in one of its two sentences."""
    fields = _fields(text)
    _take(job, fields, reading)
    if found := _TASKS.search(text):
        job.slots = int(found[1])
        job.max_slots = int(found[2]) if found[2] else None
    flags = {name.lower() for name in fields}
    job.exclusive |= "exclusive execution" in flags
    job.resizable |= not flags.isdisjoint(("autoresizable", "auto-resizable"))
    if found := re.search(r"Requested GPU\s*(?:<(.*?)>)?(?=,|;|$)", text):
        job.gpu = found[1] or "num=1"
