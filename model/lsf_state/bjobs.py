"""Jobs as ``bjobs -json``, ``bjobs -l`` and ``bjobs -UF`` print them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from ..errors import InputError, Problem
from . import values
from .gpus import GPU_PARTS, allocated, of_block, sections
from .values import PrintedTimes, Reading, Remarks, Text, check_kind, json_records, limit_row
from .values import field as pick

# --------------------------------------------------------------------------------------------------
# The parts of the two sentences in which ``bjobs -l`` says what a job is and what it asks
# for
#
# ``Job <1>, User <u>, …`` and ``Submitted from host <h>, CWD <…>, 4 Task(s), …``. What is in
# neither list below is told: it may have a say in the job's start.

#: A value ends where a comma, a semicolon or another value follows.
_END = re.compile(r">(?=\s*(?:[,;<]|$))")
_NAME = re.compile(r"[^<,;]*")
#: What the reader takes from them.
READ = frozenset(
    {"job", "user", "project", "user group", "application", "status", "queue", "job priority"}
    | {"submitted from host", "requested resources", "specified hosts", "exclusive execution"}
    | {"specified start time", "specified termination time", "requested gpu"}
    | {"dependency condition", "job name", "reservation", "job group"}
)
#: What has no say in when a job starts, or where.
SILENT = frozenset(
    {"command", "mail", "share group charged", "job description", "cwd"}
    | {"output file", "error file", "input file", "copy files", "re-runnable", "login shell"}
    | {"output file (overwrite)", "error file (overwrite)", "checkpoint directory", "esub"}
    | {"pre-execute command", "post-execute command", "pre-exec", "post-exec", "execution home"}
    | {"notify when job begins", "notify when job ends", "notify when job begins/ends"}
    | {"interactive mode", "interactive pseudo-terminal mode", "interactive pseudo-terminal shell"}
    | {"interactive pseudo-terminal shell mode", "ssh", "x11 forwarding", "job messages"}
    | {"interactive", "interactive shell mode", "user-defined signal", "warning action"}
    | {"checkpoint period", "migration threshold", "host file", "umask", "shared memory"}
)
#: The titled parts of which the reader takes something, and those without a say.
READ_PARTS = frozenset(
    {"PENDING REASONS", "RESOURCE REQUIREMENT DETAILS", "ESTIMATION", "EXTERNAL MESSAGES"}
    | {*GPU_PARTS}
)
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
    """Names of the parts that nobody reads and that may have a say in a start."""
    found = []
    for name, _ in clauses(sentence.partition(", Command <")[0]):
        word = name.lower()
        if word and word not in READ and word not in SILENT and not _SLOTS.fullmatch(word):
            found.append(name)
    return found


# --- The lines of ``bjobs -l`` as they were before they were wrapped ------------------------------
#
# bjobs breaks its lines at a fixed column, in the middle of a word where it falls there, and
# begins the next one below the text behind the time stamp: 21 blanks, or 26 where
# LSB_BJOBS_DISPLAY_YEAR=Y prints the year. Both are taken from the file. ``-UF`` does not wrap.

#: A line that begins with a time, up to the text behind it.
TIMED = re.compile(
    r"^((?:[A-Z][a-z]{2} )?[A-Z][a-z]{2} +\d{1,2} +\d{1,2}:\d\d(?::\d\d)?(?: \d{4})?): ?"
)
#: What stands between two jobs.
_RULER = re.compile(r"\s*-{20,}\s*")
#: No other line begins with as many blanks.
_LEAST_INDENT = 15
#: Columns of text, where no line that was broken is longer.
_USUAL_WIDTH = 79
#: Blanks at the end of a line that mail programs and editors cut off; more is another layout.
_MOST_CUT = 3


@dataclass(frozen=True, slots=True)
class Wrapping:
    """How `bjobs -l` has broken its lines."""

    #: Blanks before the rest of a wrapped line.
    indent: int
    #: Columns at which lines break.
    width: int

    @classmethod
    def of(cls, lines: Sequence[str]) -> Wrapping:
        """The layout of a file."""
        blanks = Counter(
            lead
            for line in lines
            if line.strip() and (lead := len(line) - len(line.lstrip(" "))) >= _LEAST_INDENT
        )
        stamps = Counter(len(found[0]) for line in lines if (found := TIMED.match(line)))
        # A rest that begins with a blank stands one column further in.
        indent = min(blanks, default=_LEAST_INDENT)
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
        """Whether a line goes on with the one before it."""
        return line.startswith(" " * self.indent)

    def whole(self, line: str) -> str:
        """A line that was broken, with the blanks that were cut off its end."""
        cut = self.width - len(line)
        return line + " " * cut if 0 < cut <= _MOST_CUT else line


def blocks(content: str) -> Iterator[tuple[int, list[str]]]:
    """Line number (from 1) and unwrapped lines of each job."""
    lines = [line.rstrip("\r") for line in content.splitlines()]
    wrapping = Wrapping.of(lines)
    start, block = 0, list[str]()
    for number, (line, after) in enumerate(zip(lines, [*lines, ""][1:], strict=True), start=1):
        text = wrapping.whole(line) if wrapping.is_rest(after) else line
        if wrapping.is_rest(line) and block:
            block[-1] += text[wrapping.indent :]
        elif line.lstrip().startswith("Job <"):
            if block:
                yield start, block
            start, block = number, [text.lstrip()]
        elif block and not _RULER.fullmatch(line):
            block.append(text)
    if block:
        yield start, block


# --- bjobs ----------------------------------------------------------------------------------------

#: What bjobs -l and -UF begin a job with; the first line of all other forms.
_LONG = re.compile(r"^\s*Job <", re.MULTILINE)
_TABLE = re.compile(r"^\s*JOBID\b", re.MULTILINE)
#: Columns of -o, each by its names, without which an answer may be another one.
COLUMNS = (
    ("queue",),
    ("user",),
    ("nreq_slot", "min_req_proc", "slots"),
    ("combined_resreq", "effective_resreq", "res_req"),
    ("runtimelimit",),
    ("submit_time",),
    ("job_priority",),
    ("specified_start_time",),
    ("ask_hosts", "asked_hosts"),
    ("dependency",),
)
#: Columns that nobody reads and that have a say where they say something.
_UNREAD = (
    *("NETWORK_REQ", "SERVICE_CLASS", "SLA"),
    *("LICENSE_PROJECT", "DATA_REQUIREMENT"),
)
#: What a column of such a kind says of a job that has none of it.
_NO = frozenset({"", "0", "n", "no", "-"})
#: What LSF itself adds to a job that asks for nothing. ``type==any`` is no such thing: without it
#: the job would stay on hosts of the type of its submission host.
_DEFAULTS = re.compile(
    r"select\[\s*\(?\s*type\s*==\s*local\s*\)?\s*\]|order\[\s*r15s\s*:\s*pg\s*\]"
)
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


#: Columns of the start that LSF's own estimator simulates (LSB_ENABLE_ESTIMATION).
_SIMULATED_BY_LSF = ("ESTIMATED_SIM_START_TIME", "ESSTART_TIME")


@dataclass(slots=True)
class SeenJob:
    """One job; times in seconds since 1970, durations in seconds."""

    id: str
    status: str = "PEND"
    user: str = "user"
    queue: str = ""
    project: str = "default"
    group: str = ""
    application: str = ""
    #: Where it was submitted, "" where that is not said.
    from_host: str = ""
    priority: int = 0
    slots: int | None = None
    max_slots: int | None = None
    res_req: str = ""
    #: Of -m, as typed.
    hosts: str = ""
    exclusive: bool = False
    #: -U, the advance reservation in which it runs.
    reservation: str = ""
    #: -g.
    job_group: str = ""
    #: Slots that the scheduler reserves for it while it waits.
    reserved: int = 0
    submit: int | None = None
    begin: int | None = None
    deadline: int | None = None
    start: int | None = None
    #: When it is expected to end.
    finish: int | None = None
    #: As its run limit says (not as LSF estimates).
    from_limit: bool = False
    #: How long it has run so far.
    run_time: float | None = None
    #: How long it ran in all, where a log knows.
    real_run_time: int | None = None
    run_limit: int | None = None
    cpu_limit: int | None = None
    estimated_run_time: int | None = None
    cpu_time: float | None = None
    allocation: dict[str, int] = field(default_factory=dict)
    #: -J.
    name: str = ""
    #: -w.
    dependency: str = ""
    #: That condition is not satisfied.
    dependent: bool = False
    #: (second, place) in the queue after btop or bbot.
    queued_as: tuple[int, int] | None = None
    #: What else was said of it that may have a say in its start.
    unread: tuple[str, ...] = ()
    #: What it asks of GPUs, as -gpu has it.
    gpu: str = ""
    #: GPUs that it has, by host.
    gpus_held: dict[str, int] = field(default_factory=dict)
    #: Why it waits, in LSF's words.
    reason: str = ""
    #: When LSF expects it to start.
    estimate: int | None = None
    #: In the text, or None.
    line: int | None = None

    @property
    def unheeded(self) -> tuple[str, ...]:
        """What was said of it that nobody obeys, in the words of bsub where it has some."""
        asked = ("-U", self.reservation), ("-g", self.job_group)
        options = (f"{option} {text.strip()}" for option, text in asked if not values.blank(text))
        return (*self.unread, *options)


def read_bjobs(text: Text, calendar: PrintedTimes, notes: Remarks | None = None) -> list[SeenJob]:
    """All jobs of a text; InputError with everything that is wrong with it.

    notes: gets what the command itself has said of jobs that it could not show.
    """
    check_kind(text, "bjobs")
    if not text.is_json and _ARRAYS.search(text.content):
        message = (
            "is bjobs -A, which only counts the elements of arrays: give bjobs -u all -l, -UF or "
            "-json -o '… jobindex …'"
        )
        raise InputError([Problem(message, text.source)])
    if not text.is_json and not _LONG.search(text.content) and _TABLE.search(text.content):
        raise InputError(
            [
                Problem(
                    "is a table of bjobs, which does not say how many slots a job asks for, nor "
                    "its requirements and limits: give bjobs -u all -l, -UF or -json -o '…'",
                    text.source,
                )
            ]
        )
    reading = Reading(text)
    notes = Remarks() if notes is None else notes
    jobs = list(
        _of_json(text, reading, calendar, notes)
        if text.is_json
        else _of_text(text, reading, calendar)
    )
    reading.once("job", ((job.id, job.line) for job in jobs))
    return jobs


def requirement(text: str) -> str:
    """A combined requirement without what LSF adds of its own accord."""
    return " ".join(_DEFAULTS.sub(" ", text).split())


# --- JSON -----------------------------------------------------------------------------------------


def _of_json(
    text: Text, reading: Reading, calendar: PrintedTimes, notes: Remarks
) -> Iterator[SeenJob]:
    records = list(json_records(text))
    others = any("ERROR" not in record or "STAT" in record for _, record in records)
    lacking, waiting = set(COLUMNS), 0
    for number, record in records:
        reading.at(f"RECORDS[{number - 1}]")
        if "ERROR" in record and "STAT" not in record:
            if not others:
                reading.wrong(f"holds no job: {record['ERROR']}")
            notes.append(f"{text.source}: bjobs says of one job only: {record['ERROR']}")
            continue
        id = _id(pick(record, "JOBID"), pick(record, "JOBINDEX", "ARRAY_INDEX"))
        if not id:
            reading.wrong("has no JOBID: give -o a list of fields with jobid in it")
            continue
        reading.at(f"job {id}")
        lacking -= {names for names in COLUMNS if any(name.upper() in record for name in names)}
        waiting += pick(record, "STAT") in WAITING
        yield _job_of_json(id, record, reading, calendar)
    if waiting and lacking:
        columns = ", ".join(names[0] for names in COLUMNS if names in lacking)
        notes.touch(
            f"has no column {columns}: it is not known what {waiting} waiting "
            f"job{'s ask' if waiting > 1 else ' asks'} for by that (give them to bjobs -o)",
            where=text.source,
            count=waiting,
        )


def _gpus(record: dict[str, str], hosts: int) -> str:
    """What the columns of GPUs say, in the words of -gpu; "" where they say nothing.

    hosts: that it runs on, over which its GPUs are counted together.
    """
    said = {
        name: text
        for name, columns in (
            ("num", ("GPU_NUM", "NGPUS")),
            ("mode", ("GPU_MODE",)),
            ("j_exclusive", ("J_EXCLUSIVE",)),
        )
        if (text := pick(record, *columns)) not in ("", "0", "N", "no", "-")
    }
    said |= {"j_exclusive": "yes"} if said.get("j_exclusive", "") in ("Y", "y") else {}
    if hosts > 1 and said.get("num", "").isdigit():
        said["num"] = f"{-(-int(said['num']) // hosts)}/host"
    return ":".join(f"{name}={text}" for name, text in said.items()) if "num" in said else ""


def _name(name: str, spec: str) -> str:
    """The name of a job with the elements of its array, which a column of their own may list.

    The index in the name of an element says no more than its id.
    """
    return f"{name.partition('[')[0]}[{spec.rpartition('[')[2]}" if "[" in spec else name


def _id(number: str, index: str) -> str:
    """``101[3]``; LSF's programs give one number, the index in its upper 32 bits."""
    plain = number.strip()
    if plain.isascii() and plain.isdigit() and 2**32 <= int(plain) < 2**63:
        high, low = divmod(int(plain), 2**32)
        return f"{low}[{high}]"
    return f"{plain}[{index}]" if plain and "[" not in plain and index not in ("", "0") else plain


def _job_of_json(
    id: str, record: dict[str, str], reading: Reading, calendar: PrintedTimes
) -> SeenJob:
    value = reading.value
    status = pick(record, "STAT") or "?"
    if status not in STATES:
        reading.wrong(f"STAT {status!r} is no state of a job: give -o stat")
    least = value("MIN_REQ_PROC", pick(record, "MIN_REQ_PROC", "NREQ_SLOT", "SLOTS"), values.whole)
    most = value("MAX_REQ_PROC", pick(record, "MAX_REQ_PROC"), values.whole)
    job = SeenJob(
        id=id,
        status=status,
        user=pick(record, "USER") or "user",
        queue=pick(record, "QUEUE"),
        project=pick(record, "PROJ_NAME", "PROJECT") or "default",
        group=pick(record, "USER_GROUP"),
        application=pick(record, "APPLICATION", "APP"),
        from_host=pick(record, "FROM_HOST"),
        priority=value("JOB_PRIORITY", pick(record, "JOB_PRIORITY"), values.whole) or 0,
        slots=least,
        max_slots=most if most and least and most > least else None,
        res_req=requirement(pick(record, "COMBINED_RESREQ", "EFFECTIVE_RESREQ", "RES_REQ")),
        hosts=pick(record, "ASK_HOSTS", "ASKED_HOSTS"),
        submit=value("SUBMIT_TIME", pick(record, "SUBMIT_TIME"), calendar.past),
        begin=value("SPECIFIED_START_TIME", pick(record, "SPECIFIED_START_TIME"), calendar.coming),
        deadline=value(
            "SPECIFIED_TERMINATE_TIME", pick(record, "SPECIFIED_TERMINATE_TIME"), calendar.coming
        ),
        start=value("START_TIME", pick(record, "START_TIME"), calendar.past),
        finish=value("FINISH_TIME", pick(record, "FINISH_TIME"), calendar.coming),
        from_limit=pick(record, "FINISH_TIME").rstrip().endswith("L"),
        run_time=value("RUN_TIME", pick(record, "RUN_TIME"), values.seconds),
        run_limit=value("RUNTIMELIMIT", pick(record, "RUNTIMELIMIT"), values.limit),
        cpu_time=value("CPU_USED", pick(record, "CPU_USED"), values.seconds),
        allocation=value("ALLOC_SLOT", pick(record, "ALLOC_SLOT", "EXEC_HOST"), values.allocation)
        or {},
        name=_name(pick(record, "JOB_NAME"), pick(record, "JARRAY_SPEC", "ARRAY_SPEC")),
        dependency=pick(record, "DEPENDENCY"),
        dependent=_DEPENDENCY.match(pick(record, "PEND_REASON")) is not None,
        exclusive=pick(record, "EXCLUSIVE").strip().lower() not in _NO,
        reservation=pick(record, "RSVID", "RESERVATION"),
        job_group=pick(record, "JOB_GROUP"),
        estimated_run_time=value(
            "ESTIMATED_RUN_TIME",
            pick(record, "ESTIMATED_RUN_TIME", "ESTIMATED_RUNTIME"),
            values.limit,
        ),
        unread=tuple(name for name in _UNREAD if pick(record, name).strip().lower() not in _NO),
        gpus_held=allocated(pick(record, "GPU_ALLOC")),
        reason=pick(record, "PEND_REASON"),
        estimate=value(
            "ESTIMATED_START_TIME",
            pick(record, "ESTIMATED_START_TIME", "ESTART_TIME", *_SIMULATED_BY_LSF),
            calendar.coming,
        ),
    )
    job.gpu = _gpus(record, max(1, len(job.allocation)))
    _check_slots(job, record, reading)
    return job


def _check_slots(job: SeenJob, record: dict[str, str], reading: Reading) -> None:
    counted = reading.value("NALLOC_SLOT", pick(record, "NALLOC_SLOT"), values.whole)
    held = sum(job.allocation.values())
    if counted is not None and job.allocation and counted != held and "ALLOC_SLOT" in record:
        reading.wrong(f"NALLOC_SLOT says {counted} slots, ALLOC_SLOT names {held}")


# --- text -----------------------------------------------------------------------------------------

_TASKS = re.compile(
    r"(?<![\w.])(\d{1,9})(?:\s*[,-]\s*(\d{1,9}))? (?:Processors? Requested|Task\(s\)(?! on))"
)
_HOSTS = r"((?:<[^<>]+>[,\s]*)+)"
_ALLOCATED = re.compile(rf"Allocated (?:<?\d+>? )?Slots?(?:\(s\))? on Hosts?(?:\(s\))? {_HOSTS}")
_STARTED = re.compile(
    r"(?i:started|dispatched)(?: <?\d+>? Tasks?(?:\(s\))?)? (?:on|to)"
    rf"(?: <?\d+>?)?(?: Hosts?(?:\(s\)|/Processors)?)? {_HOSTS}"
)
#: The head of ``bjobs -A``.
_ARRAYS = re.compile(r"^\s*JOBID\s+ARRAY_SPEC\s+OWNER\b", re.MULTILINE)
#: Why a job is not examined: another one has not come as far as it waits for (bsub -w).
_DEPENDENCY = re.compile(r"\s*(?:Job )?dependency condition\b", re.IGNORECASE)
_ASKED_TIMES = {"Specified Start Time": "begin", "Specified Termination Time": "deadline"}
#: What is said behind the time at which the scheduler expects to start a job.
_ESTIMATE = re.compile(r"(?i)\bestimated\b.*\bstart\b|\bwill (?:be )?start(?:ed)?\b")
_SET_ASIDE = re.compile(r"Reserved <(\d{1,9})> job slots?\b")
#: An estimate in the same line, as some programs join them.
_LATER_STAMP = re.compile(rf";\s*{TIMED.pattern[1:]}(?=.*{_ESTIMATE.pattern[4:]})", re.IGNORECASE)
_CPU = re.compile(r"The CPU time used is ([\d.]{1,20}) seconds")


def _of_text(text: Text, reading: Reading, calendar: PrintedTimes) -> Iterator[SeenJob]:
    for line, block in blocks(text.content):
        reading.at("", line)
        job = _job_of_text(block, reading, calendar)
        if job is not None:
            job.line = line
            yield job


def _job_of_text(block: list[str], reading: Reading, calendar: PrintedTimes) -> SeenJob | None:
    fields: dict[str, str] = {}
    for name, value in clauses(block[0]):
        fields.setdefault(name, value.removeprefix("<").removesuffix(">"))
    job = SeenJob(id=fields.get("Job", ""), status=fields.get("Status", "?"))
    reading.at(f"job {job.id}", reading.line)
    if job.status not in STATES:
        reading.wrong(f"has no Status, or one that is none: {job.status!r}")
        return None
    job.user = fields.get("User", "user")
    job.queue = fields.get("Queue", "")
    job.project = fields.get("Project", "default")
    job.group = fields.get("User Group", "")
    job.application = fields.get("Application", "")
    job.priority = reading.value("Job Priority", fields.get("Job Priority", ""), values.whole) or 0
    job.unread = tuple(unread(block[0]))
    job.gpu = fields.get("Requested GPU", "")
    job.name = fields.get("Job Name", "")
    job.reservation = fields.get("Reservation", "")
    job.job_group = fields.get("Job Group", "")
    asked, job.gpus_held = of_block(block)
    parts = list(sections(block))
    job.reason = _reasons(parts)
    job.unread = (*job.unread, *_unknown_parts(parts))
    plain = [line for title, lines in parts if title not in GPU_PARTS for line in lines]
    for number, line in enumerate(plain):
        if timed := TIMED.match(line.lstrip()):
            _event(job, timed[1], line.lstrip()[timed.end() :], reading, calendar)
            continue
        limits = limit_row(line, plain[number + 1] if number + 1 < len(plain) else "")
        if "RUNLIMIT" in limits:
            job.run_limit = reading.value("RUNLIMIT", limits["RUNLIMIT"], values.limit)
        if "CPULIMIT" in limits:
            job.cpu_limit = reading.value("CPULIMIT", limits["CPULIMIT"], values.limit)
        if "ESTIMATED_RUNTIME" in limits:
            text = limits["ESTIMATED_RUNTIME"]
            job.estimated_run_time = reading.value("ESTIMATED_RUNTIME", text, values.limit)
        job.dependent |= _DEPENDENCY.match(line) is not None
        if not job.res_req and (combined := re.match(r"\s*Combined\s*:\s*(.*)", line)):
            # Its own lines go on further in than others begin.
            more = takewhile(lambda text: text.startswith(" " * 8), plain[number + 1 :])
            job.res_req = requirement("".join([combined[1], *(text.strip() for text in more)]))
    job.gpu = asked or job.gpu
    return job


def _event(job: SeenJob, stamp: str, text: str, reading: Reading, calendar: PrintedTimes) -> None:
    """One line with a time in front."""
    if re.match(r"Submitted\b", text):
        job.submit = reading.value("submission", stamp, calendar.past)
        _submitted(job, text, reading, calendar)
    elif found := _ALLOCATED.search(text) or _STARTED.search(text):
        job.start = reading.value("start", stamp, calendar.past)
        hosts = " ".join(re.findall(r"<([^<>]+)>", found[1]))
        job.allocation = reading.value("hosts", hosts, values.allocation) or {}
    elif found := _SET_ASIDE.match(text):
        job.reserved = int(found[1])
        if later := _LATER_STAMP.search(text):
            job.estimate = reading.value("estimated start", later[1], calendar.coming)
    elif _ESTIMATE.search(text):
        job.estimate = reading.value("estimated start", stamp, calendar.coming)
    if used := _CPU.search(text):
        job.cpu_time = reading.value("CPU time", used[1], values.seconds)


def _reasons(parts: Sequence[tuple[str, list[str]]]) -> str:
    """Why a job waits: the lines under the title, up to a line without text or one with limits."""
    lines = next((lines for title, lines in parts if title == "PENDING REASONS"), [])
    own = takewhile(lambda line: line.strip() and not limit_row(line, ""), lines)
    return " ".join(line.strip() for line in own if not TIMED.match(line.lstrip()))


def _unknown_parts(parts: Sequence[tuple[str, list[str]]]) -> Iterator[str]:
    """Titles of the parts of which nobody knows whether they have a say."""
    for title, lines in parts:
        if title and title not in READ_PARTS | SILENT_PARTS and any(map(str.strip, lines)):
            yield title


def _submitted(job: SeenJob, text: str, reading: Reading, calendar: PrintedTimes) -> None:
    if found := re.match(r"Submitted from host <([^<>]*)>", text):
        job.from_host = found[1]
    for name, key in _ASKED_TIMES.items():
        if found := re.search(rf"(?<=, ){name} <([^<>]*)>", text):
            setattr(job, key, reading.value(name, found[1], calendar.coming))
    found = _TASKS.search(text)
    job.slots = int(found[1]) if found else 1  # LSF says nothing of the one slot of most jobs
    job.max_slots = int(found[2]) if found and found[2] else None
    if found := re.search(r"Requested Resources <(.*?)>(?=,|;|$)", text):
        job.res_req = requirement(found[1])
    if found := re.search(rf"Specified Hosts {_HOSTS}", text):
        job.hosts = " ".join(re.findall(r"<([^<>]+)>", found[1]))
    job.exclusive = "exclusive execution" in text.lower()
    if found := re.search(r"Requested GPU\s*(?:<(.*?)>)?(?=,|;|$)", text):
        job.gpu = found[1] or "num=1"
    if found := re.search(r"Dependency Condition <(.*?)>(?=,|;|$)", text):
        job.dependency = found[1]
    job.unread = tuple(dict.fromkeys((*job.unread, *unread(text))))
