"""Queues and shares: ``bqueues`` in its forms, ``bhpart -r``, and absolute priorities (APS-01).

Absolute priorities are those of ``bqueues -l`` and ``bjobs -aps``; share accounts look alike in
``bqueues -r`` and ``bhpart -r``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...absolute_priority import AbsolutePriority, StatedPriority
from ...absolute_rules import absolute_problems
from ...formats.text import processor_limit
from ...instance import Instance
from ...job import Job
from ...omissions import Omission
from ...shares import aps_groups
from . import values
from .printed_facts import columns, fact_of
from .reading import Cells, Reading, Touched, known_row, named_blocks, named_records, named_rows
from .values import (
    Remarks,
    Text,
    check_kind,
    limit_row,
    load_rows,
    pick,
    table_row,
)


@dataclass(frozen=True, slots=True)
class PrintedAccount:
    """One line of a table."""

    #: Path of the level, ``Partition1/group2``.
    path: str
    #: Name of the account below the level.
    account: str
    #: Number of shares.
    shares: int
    #: Dynamic priority as printed, with its digits.
    priority: str
    #: Number of slots of started jobs.
    started: int
    #: Number of reserved slots.
    reserved: int
    #: Decayed CPU time in seconds.
    cpu_time: float
    #: Seconds of running jobs and, if it counts, of finished ones.
    run_time: float
    #: Value of the fairshare adjustment, None if not printed.
    adjust: float | None = None
    #: Line number in the text.
    line: int | None = None


@dataclass(slots=True)
class SeenPartition:
    """One host partition."""

    #: Name of the host partition.
    name: str
    #: Names of the hosts as printed.
    hosts: tuple[str, ...] = ()
    #: Pairs of a name and its number of shares.
    shares: tuple[tuple[str, int], ...] = ()
    #: Rows of the share accounts.
    accounts: list[PrintedAccount] = field(default_factory=list)


def read_bhpart(text: Text, notes: Remarks | None = None) -> list[SeenPartition]:
    """Return all partitions of a text; notes collect unreadable values."""
    check_kind(text, "bhpart")
    reading = Reading(text, notes)
    found: list[SeenPartition] = []
    lines = text.content.splitlines()
    for number, line in enumerate(lines, start=1):
        if match := re.match(r"\s*HOST_PARTITION_NAME:\s*(\S+)", line):
            found.append(SeenPartition(match[1]))
        elif found and (match := re.match(r"\s*HOSTS:\s*(.*)", line)):
            found[-1].hosts = tuple(match[1].split())
        elif found and (match := re.match(r"\s*USER_SHARES:\s*(.*)", line)):
            reading.at(f"partition {found[-1].name}", number, Touched())
            found[-1].shares = reading.value("USER_SHARES", match[1], values.shares) or ()
        elif found and re.match(r"\s*SHARE_INFO_FOR:", line):
            found[-1].accounts += share_table(lines, number, reading, Touched())
    reading.done()
    return found


def share_table(
    lines: Sequence[str], start: int, reading: Reading, touched: Omission
) -> Iterator[PrintedAccount]:
    """Yield the accounts under the SHARE_INFO_FOR in line `start` (from 1).

    touched: jobs whose order they affect.
    """
    path = lines[start - 1].partition(":")[2].strip().rstrip("/")
    names: list[str] = []
    for number in range(start + 1, len(lines) + 1):
        words = lines[number - 1].split()
        if words[:2] == ["USER/GROUP", "SHARES"]:
            names = words
            continue
        if not words or not names:
            if names:
                return
            continue
        if words[0].endswith(":"):
            return
        reading.at(f"{path}/{words[0]}", number, touched)
        row = table_row(names, words)
        if row is None or len(words) != len(names):
            reading.unknown(f"has {len(words)} of {len(names)} columns of a share account")
        elif account := _account(path, row, number, reading):
            yield account


def _account(path: str, row: dict[str, str], line: int, reading: Reading) -> PrintedAccount | None:
    value = reading.value
    shares = value("SHARES", row.get("SHARES", ""), values.whole)
    priority = value("PRIORITY", row.get("PRIORITY", ""), values.number)
    numbers = [
        value(name, row.get(name, "0"), values.number) or 0.0
        for name in ("STARTED", "RESERVED", "CPU_TIME", "RUN_TIME")
    ]
    adjust = value("ADJUST", row.get("ADJUST", ""), values.number)
    if shares is None or priority is None:
        return None
    return PrintedAccount(
        path,
        row["USER/GROUP"],
        shares,
        row["PRIORITY"],
        int(numbers[0]),
        int(numbers[1]),
        numbers[2],
        numbers[3],
        adjust,
        line,
    )


#: The head of bjobs -aps.
HEAD = re.compile(r"^\s*JOBID(?:\s+[A-Z_]{2,})*\s+APS\s*$", re.MULTILINE)
#: Names of the factors and their parts in bqueues -l.
_PRINTED = {
    "FAIRSHARE": "FS",
    "RESOURCE": "RSRC",
    "PROCESSORS": "PROC",
    "MEMORY": "MEM",
    "SWAP": "SWAP",
    "WORK": "WORK",
    **dict.fromkeys(("JOB PRIORITY", "JPRIORITY"), "JPRIORITY"),
    **dict.fromkeys(("QUEUE PRIORITY", "QPRIORITY"), "QPRIORITY"),
    **dict.fromkeys(("APPLICATION", "APP", "APPLICATION PRIORITY"), "APP"),
    **dict.fromkeys(("USER GROUP", "UG", "USER GROUP PRIORITY"), "UG"),
    **dict.fromkeys(("USER", "USER PRIORITY"), "USER"),
}
_ROW = re.compile(r"\s*([A-Z][A-Z ]*?)\s{1,}(\S+)\s+(\S+)\s+(\S+)\s*")
_SYSTEM = re.compile(r"\((-?\d{1,12}(?:\.\d{1,9})?)\)")
_VALUE = re.compile(r"-?\d{1,12}(?:\.\d{1,9})?")
#: Formula whose values are all alike, below what is printed: jobs go by their own addends.
_CONSTANT = AbsolutePriority({"QPRIORITY": 1e-9})
#: Maximum error of a printed value, which has two decimals.
ROUNDING = 0.011


def stated(text: str) -> StatedPriority | None:
    """Return a system priority as bjobs prints it, ``(10)``, else None."""
    match = _SYSTEM.fullmatch(text.strip())
    value = float(match[1]) if match else 0.0
    return StatedPriority("system", value) if value else None


def read_aps(text: Text, reading: Reading) -> dict[str, str]:
    """Return the column APS of bjobs -aps by job id; the id of an element has its index."""
    found: dict[str, str] = {}
    head = False
    for number, line in enumerate(text.content.splitlines(), start=1):
        words = line.split()
        if HEAD.match(line):
            head = True
            continue
        if not head or len(words) < 3:
            continue
        id, printed = words[0], words[-1]
        reading.at(f"job {id}", number)
        if not values.is_name(id):
            reading.lost(f"{id!r} is not a job id")
        elif printed == "-" or _VALUE.fullmatch(printed) or stated(printed):
            index = re.search(r"\[(\d{1,10})\](?=\s)", line)
            found[f"{id}[{index[1]}]" if index and "[" not in id else id] = printed
        else:
            reading.unknown(f"APS {printed!r} is not an absolute priority", name="APS")
    return found


def printed_formula(lines: Sequence[str]) -> AbsolutePriority | None:
    """Return the formula below ``APS_PRIORITY:`` of bqueues -l, if there is one."""
    weights: dict[str, float] = {}
    limits: dict[str, float] = {}
    delays: list[str] = []
    for line in lines:
        match = _ROW.fullmatch(line)
        name = _PRINTED.get(" ".join(match[1].split())) if match else None
        if match is None or name is None:
            if weights or not line.strip().startswith("WEIGHT"):
                break
            continue
        for cell, into in ((match[2], weights), (match[3], limits)):
            if _VALUE.fullmatch(cell) and float(cell):
                into[name] = float(cell)
        if re.fullmatch(r"\d{1,9}[smh]?", match[4]):
            delays.append(f"[{name}, {match[4]}]")
    if not weights:
        return None
    text = f"{AbsolutePriority(weights, limits)} GRACE_PERIOD[{' '.join(delays)}]"
    return AbsolutePriority.parse(text) if delays else AbsolutePriority(weights, limits)


def with_absolute(instance: Instance, printed: Mapping[str, str], notes: Remarks) -> Instance:
    """Return the instance with the system priorities of bjobs -aps; missing facts become notes."""
    ordered = {name for group in aps_groups(instance) for name in group.queues}
    unknown: dict[str, None] = {}
    values_of: dict[str, str] = {}

    def settled(jobs: Iterable[Job]) -> tuple[Job, ...]:
        found = []
        for job in jobs:
            text = printed.get(job.id, "-")
            if text != "-" and job.queue not in ordered:
                unknown[job.queue] = None
                values_of[job.id] = text
            elif job.aps is None and (aps := stated(text)) is not None:
                job = replace(job, aps=aps)
            found.append(job)
        return tuple(found)

    instance = replace(instance, pending=settled(instance.pending))
    if unknown:
        kept = _in_printed_order(instance, unknown, values_of)
        order = "first come, first served" if kept is None else "in the printed order"
        instance = kept or instance
        notes.touch(
            f"bjobs -aps shows absolute priorities in {', '.join(unknown)}, but no input gives "
            f"the formula: these jobs are ordered {order} (lsb.queues contains it)"
        )
    return instance


def _in_printed_order(
    instance: Instance, queues: Collection[str], values_of: Mapping[str, str]
) -> Instance | None:
    """Return the instance with the values of bjobs -aps as constants, in a formula that adds
    nothing visible; None if its queues may not have absolute priority.

    values_of: printed values by job id.
    """

    def with_value(job: Job) -> Job:
        text = values_of.get(job.id)
        if text is None or (job.aps is not None and job.aps.kind == "system"):
            return job
        value = 0.0 if stated(text) else float(text)
        return replace(job, aps=StatedPriority("admin", value) if value else stated(text))

    kept = replace(
        instance,
        pending=tuple(map(with_value, instance.pending)),
        queues=tuple(
            replace(queue, aps_priority=_CONSTANT) if queue.name in queues else queue
            for queue in instance.queues
        ),
    )
    return None if any(absolute_problems(kept)) else kept


#: The first line of what bqueues -l says of a queue, with its name.
_QUEUE = re.compile(r"\s*QUEUE:\s*(\S+)")


@dataclass(slots=True)
class SeenQueue:
    """One queue; limits in slots, times in seconds."""

    #: Name of the queue.
    name: str
    #: Description for people.
    description: str = ""
    #: Queue priority, None if not printed.
    priority: int | None = None
    #: Status such as Open:Active.
    status: str = "Open:Active"
    #: Maximum number of slots of the queue, None without a maximum.
    queue_slots: int | None = None
    #: Maximum number of slots of one user, None without a maximum.
    user_slots: int | None = None
    #: Maximum number of slots for each processor, None without a maximum.
    processor_slots: float | None = None
    #: Maximum number of slots on one host, None without a maximum.
    host_slots: int | None = None
    #: Default run limit in seconds, None if not set.
    run_limit: int | None = None
    #: Maximum run limit in seconds, None if not set.
    run_limit_max: int | None = None
    #: CPU limit in seconds, None if not set.
    cpu_limit: int | None = None
    #: TASKLIMIT or PROCLIMIT as printed.
    tasks: tuple[int, ...] = ()
    #: Load thresholds beyond which no job starts, by index (loadSched).
    sched: dict[str, float] = field(default_factory=dict)
    #: Load thresholds beyond which jobs are suspended, by index (loadStop).
    stop: dict[str, float] = field(default_factory=dict)
    #: Words of SCHEDULING POLICIES.
    policies: tuple[str, ...] = ()
    #: Pairs of a name and its number of shares.
    shares: tuple[tuple[str, int], ...] = ()
    #: Rows of the share accounts.
    accounts: list[PrintedAccount] = field(default_factory=list)
    #: Queues of the cross-queue fairshare.
    fairshare_queues: tuple[str, ...] = ()
    #: Its formula of absolute priority, None if none is printed.
    absolute: AbsolutePriority | None = None
    #: Queues ordered together by absolute priority.
    queue_group: tuple[str, ...] = ()
    #: QUEUE if the queues of the fairshare are served by priority.
    dispatch_order: str = ""
    #: Users and groups as printed.
    users: str = ""
    #: Hosts as printed.
    hosts: str = ""
    #: Resource requirement of the queue.
    res_req: str = ""
    #: Longest time slots (or, with resource_reserve, resources) are held.
    reservation: int | None = None
    #: Whether memory is reserved too (RESOURCE_RESERVE).
    resource_reserve: bool = False
    #: Cycles for which a host takes no second job, None if not set.
    accept_interval: int | None = None
    #: Percentage of the slot pool, None if not set.
    slot_share: float | None = None
    #: Name of the slot pool, "" if none.
    slot_pool: str = ""
    #: Dispatch windows as printed.
    dispatch_window: str = ""
    #: Run windows as printed.
    run_window: str = ""
    #: Further parameters as printed, by LSF's name.
    others: dict[str, str] = field(default_factory=dict)
    #: Whether the long form (-l) was printed.
    long: bool = False
    #: Slots of its jobs by NJOBS, PEND, RUN, SUSP, RSV.
    counts: dict[str, int] = field(default_factory=dict)
    #: Whether the name fills the column of a table and may be truncated.
    truncated: bool = False

    @property
    def inactive(self) -> bool:
        """Return whether an administrator keeps its jobs from starting; windows do not count."""
        return "inact" in self.status.lower() and not self.outside_window

    @property
    def outside_window(self) -> bool:
        """Return whether a window of its own keeps its jobs from starting now."""
        return "_win" in self.status.lower()

    @property
    def closed(self) -> bool:
        """Return whether it accepts no jobs; its pending jobs still start."""
        return self.status.lower().startswith("closed")


def read_bqueues(text: Text, notes: Remarks | None = None) -> list[SeenQueue]:
    """Return all queues of a text; raises InputError with every error that makes it unusable.

    notes: collects unreadable values.
    """
    check_kind(text, "bqueues")
    reading = Reading(text, notes)
    queues = list(_of_json(text, reading) if text.is_json else _of_text(text, reading))
    twice = ": bqueues truncates names: give bqueues -w or bqueues -l"
    cut = {queue.name: twice for queue in queues if queue.truncated}
    reading.once("queue", [(queue.name, None) for queue in queues], cut)
    return queues


def _of_json(text: Text, reading: Reading) -> Iterator[SeenQueue]:
    for name, record in named_records(text, reading, "queue", "STATUS"):
        queue = SeenQueue(name)
        _counts(queue, record, reading)
        yield queue


def _take(queue: SeenQueue, row: Mapping[str, str], reading: Reading) -> None:
    for name, value in Cells(row, reading, "queue").facts().items():
        setattr(queue, name, value)


def _counts(queue: SeenQueue, row: Mapping[str, str], reading: Reading) -> None:
    """Read priority, status and slot limits: the columns of plain bqueues."""
    _take(queue, row, reading)
    counted = {
        key: reading.value(key, pick(row, key), values.whole, None)
        for key in columns("slots of its jobs", "queue")
    }
    queue.counts = {key: number for key, number in counted.items() if number is not None}
    if "SSUSP" in queue.counts and "USUSP" in queue.counts:  # the long form
        queue.counts["SUSP"] = queue.counts["SSUSP"] + queue.counts["USUSP"]
    parts = [queue.counts.get(key) for key in ("NJOBS", "PEND", "RUN", "SUSP")]
    if "RSV" not in queue.counts and None not in parts:  # NJOBS is the sum of all four
        jobs, *others = (number or 0 for number in parts)
        queue.counts["RSV"] = max(0, jobs - sum(others))


def _of_text(text: Text, reading: Reading) -> Iterator[SeenQueue]:
    lines = text.content.splitlines()
    if not any(map(_QUEUE.match, lines)):
        for name, row, may_be_truncated in named_rows(lines, reading, "queue", "PRIO", "STATUS"):
            queue = SeenQueue(name, truncated=may_be_truncated)
            _counts(queue, row, reading)
            yield queue
    for name, start, end in named_blocks(lines, _QUEUE, reading, "queue"):
        queue = SeenQueue(name, long=True)
        _block(queue, lines, start, end, reading)
        yield queue


def _block(queue: SeenQueue, lines: list[str], start: int, end: int, reading: Reading) -> None:
    """Fill in a queue from its block of bqueues -l, lines `start` to `end` (from 0)."""
    own = lines[start:end]
    section = ""
    for place, line in enumerate(own):
        words = line.split()
        after = own[place + 1] if place + 1 < len(own) else ""
        reading.line = start + place + 1
        if words[:1] == ["--"]:
            queue.description = line.partition("--")[2].strip()
        elif words[:1] == ["PRIO"]:
            reading.line = start + place + 2
            row = known_row(table_row(words, after.split()), words, after.split(), reading)
            _counts(queue, row, reading)
        elif words[:1] == ["SHARE_INFO_FOR:"]:
            own_jobs = Touched(queues=(queue.name,))
            queue.accounts += share_table(lines, start + place + 1, reading, own_jobs)
            reading.at(f"queue {queue.name}", start + place + 1, own_jobs)
        elif words == ["APS_PRIORITY:"]:
            queue.absolute = printed_formula(own[place + 1 :])
        elif ":" in line:
            key, _, rest = line.strip().partition(":")
            whole = " ".join([rest.strip(), *_continued(key.strip(), own[place + 1 :])])
            _parameter(queue, key.strip(), whole.strip(), reading)
        if line.strip().endswith("LIMITS:"):
            section = line.split()[0]
        _limits(queue, line, after, section, reading)
    for place, label, row in load_rows(own):
        reading.line = start + place + 1
        target = {"loadSched": queue.sched, "loadStop": queue.stop}.get(label, {})
        for index, word in row.items():
            amount = reading.value(f"{label} {index}", word, values.load)
            if amount is not None:
                target[index] = amount


#: Parameters whose lists of names may continue on the next lines.
_LISTS = frozenset(
    {"USERS", "HOSTS", "USER_SHARES", "FAIRSHARE_QUEUES", "QUEUE_GROUP", "SCHEDULING POLICIES"}
)
#: The name of a parameter, with blanks in place of underscores in some versions.
_PARAMETER = re.compile(r"[A-Z][A-Z0-9]*(?:[_ ][A-Z0-9]+)*")
#: The sentences for all users and all hosts, each family in its own words.
_EVERYBODY = re.compile(r"all(?: (?:users|hosts)\b.*)?", re.IGNORECASE)


def _continued(key: str, lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines that continue a list."""
    for line in lines if key in _LISTS else ():
        if not line.strip() or re.match(r"\s*[A-Za-z][\w /-]*:|\s*-{3,}|\s*\S+\s+for a host", line):
            return
        yield line.strip()


def _parameter(queue: SeenQueue, key: str, rest: str, reading: Reading) -> None:
    """Read one line ``KEY: values``."""
    match fact_of(key, "queue"):
        case "absolute priority":
            queue.absolute = reading.value(key, rest, AbsolutePriority.parse)
        case "time of a reservation":
            found = reading.value(key, rest.split(" ")[0], values.whole)
            queue.reservation, queue.resource_reserve = found, "resource" in key
        case "" if rest and queue.counts and _PARAMETER.fullmatch(key):
            queue.others[key.replace(" ", "_")] = rest
        case "users" | "hosts" if _EVERYBODY.fullmatch(rest):
            pass
        case _:
            _take(queue, {key: rest}, reading)


def _limits(queue: SeenQueue, line: str, after: str, section: str, reading: Reading) -> None:
    """Read RUNLIMIT and similar limits, on separate lines or on one line with their value.

    section: DEFAULT under ``DEFAULT LIMITS:``.
    """
    if found := re.match(r"\s*RUNLIMIT:\s*(\S+) min \((default|maximum)\)", line):
        seconds = reading.value("RUNLIMIT", found[1], values.limit)
        setattr(queue, "run_limit" if found[2] == "default" else "run_limit_max", seconds)
    limits = limit_row(line, after)
    if limits and not re.search(r"\d", line):
        reading.line = (reading.line or 0) + 1  # values follow on the next line
    if found := re.match(r"\s*(PROCLIMIT|TASKLIMIT)\s*(?::\s*(.*)|([\d\s]*))$", line):
        limits["TASKLIMIT"] = (found[2] or found[3] or "").strip() or after
    if tasks := limits.get("TASKLIMIT", limits.get("PROCLIMIT")):
        queue.tasks = reading.value("TASKLIMIT", tasks, _three) or ()
    if found := re.search(r"Interval for a host to accept two jobs is (\S+) seconds", line):
        name = "Interval for a host to accept two jobs"
        queue.accept_interval = reading.value(name, found[1], values.whole)
    if "RUNLIMIT" in limits:
        name = "run_limit" if section == "DEFAULT" else "run_limit_max"
        setattr(queue, name, reading.value("RUNLIMIT", limits["RUNLIMIT"], values.limit))
    if "CPULIMIT" in limits:
        queue.cpu_limit = reading.value("CPULIMIT", limits["CPULIMIT"], values.limit)
    queue.others |= {name: text for name, text in limits.items() if not fact_of(name, "queue")}


def _three(text: str) -> tuple[int, ...]:
    """Return numbers of tasks: a maximum, or a minimum, a default and a maximum."""
    found = [values.whole(word) for word in text.split()]
    numbers = tuple(number for number in found[:3] if number is not None)
    if numbers:
        processor_limit(" ".join(map(str, numbers)))
    return numbers
