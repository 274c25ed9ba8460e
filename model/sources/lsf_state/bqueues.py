"""Queues as ``bqueues -json``, ``bqueues -l`` (``-r``) and plain ``bqueues`` print them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...absolute_priority import AbsolutePriority
from ...cluster import BUILTIN_INDICES, HOST_STATUSES
from ...gpu_request import GPU_NAMES, PHYSICAL
from . import values
from .absolute import printed_formula
from .printed_facts import columns, fact_of
from .reading import Cells, Reading, Touched, json_records
from .values import (
    Remarks,
    Text,
    check_kind,
    is_name,
    lacks,
    limit_row,
    load_rows,
    may_be_cut,
    pick,
    table_row,
)

_SIZES = ("mem", "swp", "tmp")
#: States of a host that its load has closed, and indices of which little is much load.
_BUSY, _DECREASING = frozenset({"closed_busy", "busy"}), frozenset({"it", *_SIZES})
#: Jobs that hold slots of a host, and the rows of bhosts -l with amounts.
_STARTED = ("running jobs", "jobs that LSF suspended", "jobs that users suspended")
_ROWS = ("Total", "Reserved")
#: First line of a host in bhosts -l, with its name.
_HOST = re.compile(r"HOST\s+(\S+)\s*$")


@dataclass(slots=True)
class SeenHost:
    """One host."""

    #: Name of the host.
    name: str
    #: Status as bhosts prints it.
    status: str = "ok"
    #: CPU factor, None if not printed.
    cpu_factor: float | None = None
    #: Maximum number of slots of one user (JL/U), None without a maximum.
    user_slots: int | None = None
    #: Maximum number of slots (MAX), None if not set.
    slots: int | None = None
    #: Slots in use by running and suspended jobs, and slots reserved for pending ones; None if not
    #: printed.
    used: int | None = None
    #: Number of slots reserved for pending jobs, None if not printed.
    reserved_slots: int | None = None
    #: Dispatch windows as printed, "" if none.
    windows: str = ""
    #: Number of GPUs, None if not printed.
    gpus: int | None = None
    #: Number of GPUs in use.
    gpus_used: int | None = None
    #: Load as scheduling counts it, and the part reserved by jobs; mem, swp, tmp in MB.
    total: dict[str, float] = field(default_factory=dict)
    #: Part of the load reserved by jobs, by index; mem, swp and tmp in MB.
    reserved: dict[str, float] = field(default_factory=dict)
    #: Loads at which no job starts here (loadSched).
    sched: dict[str, float] = field(default_factory=dict)
    #: Loads at which running jobs are suspended (loadStop).
    stop: dict[str, float] = field(default_factory=dict)
    #: Whether its name fills the column of a table, and may go on.
    cut: bool = False
    #: Names of the cells that could not be read.
    unknown: tuple[str, ...] = ()

    @property
    def is_full(self) -> bool:
        """Return whether all its slots are in use or reserved, by its known numbers."""
        if not self.slots or self.used is None:
            return False
        return self.used + (self.reserved_slots or 0) >= self.slots

    @property
    def is_busy(self) -> bool:
        """Return whether a load has closed the host that was not printed as beyond its
        threshold.
        """
        return self.status.lower() in _BUSY and not any(
            (self.total[name] < bound) if name in _DECREASING else (self.total[name] > bound)
            for name, bound in self.sched.items()
            if name in self.total
        )


def read_bhosts(text: Text, notes: Remarks | None = None) -> list[SeenHost]:
    """All hosts of a text; InputError with everything for which it is refused.

    notes: gets what could not be read.
    """
    check_kind(text, "bhosts")
    reading = Reading(text, notes)
    hosts = list(_hosts_of_json(text, reading) if text.is_json else _hosts_of_text(text, reading))
    twice = ": bhosts cuts names short: give bhosts -w or bhosts -l"
    cut = {host.name: twice for host in hosts if host.cut}
    reading.once("host", [(host.name, None) for host in hosts], cut)
    return hosts


def _hosts_of_json(text: Text, reading: Reading) -> Iterator[SeenHost]:
    for number, record in json_records(text, reading):
        reading.at(f"RECORDS[{number - 1}]")
        name = pick(record, *columns("name", "host"))
        if not is_name(name):
            reading.lost(f"has no HOST_NAME: {name!r}" if name else "has no HOST_NAME")
            continue
        reading.at(f"host {name}", None, Touched(hosts=(name,)))
        if wrong := lacks(record, "STATUS", "MAX"):
            reading.wrong(wrong)
            return
        yield _host(name, record, reading)


def _host(name: str, record: Mapping[str, str], reading: Reading) -> SeenHost:
    cells = Cells(record, reading, "host")
    counted = [cells.value(f"slots of {of}", values.whole) for of in _STARTED]
    host = SeenHost(
        name,
        status=cells.value("state", _host_status) or "ok",
        cpu_factor=cells.value("CPU factor", values.number),
        user_slots=cells.value("slots of one user", values.whole),
        slots=cells.value("slots", values.whole),
        used=None if None in counted else sum(number or 0 for number in counted),
        reserved_slots=cells.value("slots reserved", values.whole),
        windows=cells.value("dispatch window", values.windows) or "",
        gpus=cells.value("GPUs", values.whole),
        gpus_used=cells.value("GPUs in use", values.whole),
    )
    for index, free, held in zip(_SIZES, *map(columns_of_sizes, ("free", "reserve")), strict=True):
        names = free, held
        amounts = [reading.value(n, pick(record, n), values.size, (index,)) for n in names]
        if amounts[0] is not None and held not in reading.names:
            host.total[index] = amounts[0]
            host.reserved[index] = amounts[1] or 0.0
    host.unknown = reading.names
    return host


def columns_of_sizes(which: str) -> tuple[str, ...]:
    """The columns of what is free of memory, swap and tmp, or of what jobs reserve of them."""
    verb = "that are free" if which == "free" else "that jobs reserve"
    return tuple(n for n in columns(f"memory, swap, tmp {verb}", "host") if n not in _ROWS)


def _host_status(text: str) -> str:
    if text not in HOST_STATUSES and not text.lower().startswith("closed") and text != "":
        raise ValueError(f"must be a status of a host such as ok or closed_Full, not {text!r}")
    return text


def _hosts_of_text(text: Text, reading: Reading) -> Iterator[SeenHost]:
    lines = text.content.splitlines()
    begun = [(n, match[1]) for n, line in enumerate(lines) if (match := _HOST.match(line))]
    if not begun:
        yield from _hosts_of_table(lines, reading)
        return
    ends = [*(start for start, _ in begun[1:]), len(lines)]
    for (start, name), end in zip(begun, ends, strict=True):
        reading.at(f"host {name}", start + 1, Touched(hosts=(name,)))
        if not is_name(name):
            reading.lost(f"{name!r} is no name of a host")
            continue
        yield _host_block(name, lines[start + 1 : end], start + 2, reading)


def _hosts_of_table(lines: list[str], reading: Reading) -> Iterator[SeenHost]:
    """Plain bhosts: a line a host."""
    names: list[str] = []
    header = ""
    for number, line in enumerate(lines, start=1):
        words = line.split()
        if words[:2] == ["HOST_NAME", "STATUS"]:
            names, header = words, line
            if wrong := lacks(dict.fromkeys(names, ""), "MAX"):
                reading.at("", number)
                reading.wrong(wrong)
                return
        elif words and names:
            reading.at(f"host {words[0]}", number, Touched(hosts=(words[0],)))
            row = table_row(names, words)
            if words[0].startswith("*"):
                reading.wrong("its name is cut short: give the output of bhosts -w or bhosts -l")
                continue
            if not is_name(words[0]):
                reading.lost(f"{words[0]!r} is no name of a host")
                continue
            host = _host(words[0], _known(row, names, words, reading), reading)
            host.cut = may_be_cut(host.name, header, "STATUS")
            yield host


def _known(
    row: dict[str, str] | None, names: Sequence[str], words: Sequence[str], reading: Reading
) -> dict[str, str]:
    """A row, {} where it lacks columns: then nobody knows which cell is of which column."""
    if row is None:
        reading.unknown(f"has {len(words)} of {len(names)} columns", name="MAX")
    return row or {}


def _host_block(name: str, lines: list[str], first: int, reading: Reading) -> SeenHost:
    """Return the host of one block of bhosts -l; first: number of the first of the lines."""
    names: list[str] = []
    host = SeenHost(name)
    for number, line in enumerate(lines, start=first):
        words = line.split()
        if words[:1] == ["STATUS"]:
            names = words
        elif names and words:
            reading.line = number
            host = _host(name, _known(table_row(names, words), names, words, reading), reading)
            break
    else:
        reading.unknown("has no line with STATUS and MAX", name="MAX")
    rows = {
        "Total": host.total,
        "Reserved": host.reserved,
        "loadSched": host.sched,
        "loadStop": host.stop,
    }
    found_rows = list(load_rows(lines))
    all_of = {label: found for _, label, found in found_rows}
    other = {"Total": all_of.get("Reserved", {}), "Reserved": all_of.get("Total", {})}
    for place, label, found in found_rows:
        reading.line = first + place
        for index, word in found.items():
            if index in BUILTIN_INDICES:
                amount = reading.value(f"{label} {index}", word, values.load, (index,))
            else:
                amount = _own(word)
                beside = _own(other.get(label, {}).get(index, "-"))
                if amount is None and beside is not None and not values.blank(word):
                    reading.unknown(f"{label} {index}: {word!r} is no number", (index,))
            if amount is not None:
                rows[label][index] = amount
    for index in [index for index in host.total if f"Reserved {index}" in reading.names]:
        del host.total[index]  # free amounts are useless without the reserved amounts
    host.unknown = reading.names
    _count_gpus(host)
    return host


def _count_gpus(host: SeenHost) -> None:
    """Its GPUs from the rows Total and Reserved, in which they then are no longer.

    Total is what is left of ngpus_physical, as of mem; ngpus is all that there are.
    """
    reserved = host.reserved.get(PHYSICAL)
    left = host.total.get(PHYSICAL)
    both = None if left is None else left + (reserved or 0.0)
    count = host.total.get("ngpus", both)
    host.gpus = None if count is None else round(count)
    host.gpus_used = None if reserved is None else round(reserved)
    for row in (host.total, host.reserved, host.sched, host.stop):
        for name in GPU_NAMES & row.keys():
            del row[name]


def _own(word: str) -> float | None:
    """A resource of the site: a number, or None for a text."""
    try:
        return values.load(word)
    except ValueError:
        return None


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
    """All partitions of a text; notes get what could not be read."""
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
            found[-1].shares = reading.value("USER_SHARES", match[1], printed_shares) or ()
        elif found and re.match(r"\s*SHARE_INFO_FOR:", line):
            found[-1].accounts += share_table(lines, number, reading, Touched())
    reading.done()
    return found


def share_table(
    lines: Sequence[str], start: int, reading: Reading, touched: Touched
) -> Iterator[PrintedAccount]:
    """The accounts under the SHARE_INFO_FOR in line `start` (from 1).

    touched: the jobs whose order they decide.
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


_SHARE = re.compile(r"\[\s*([^\[\],\s]+)\s*,\s*(\d{1,9})\s*\]")


def printed_shares(text: str) -> tuple[tuple[str, int], ...]:
    """``[user1, 100] [default, 1]``; ValueError where there is anything else."""
    pairs = _SHARE.findall(text)
    if rest := _SHARE.sub("", text).strip():
        raise ValueError(f"{rest!r} is no share such as [user1, 100]")
    return tuple((name, int(number)) for name, number in pairs)


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
    policies: frozenset[str] = frozenset()
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
    #: Whether the queues of the fairshare are served by priority.
    by_queue: bool = False
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
    #: Whether the long form (-l) was printed.
    long: bool = False
    #: Slots of its jobs by NJOBS, PEND, RUN, SUSP, RSV.
    counts: dict[str, int] = field(default_factory=dict)
    #: Whether its name fills the column of a table, and may go on.
    cut: bool = False

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
    """All queues of a text; InputError with everything for which it is refused.

    notes: gets what could not be read.
    """
    check_kind(text, "bqueues")
    reading = Reading(text, notes)
    queues = list(_of_json(text, reading) if text.is_json else _of_text(text, reading))
    twice = ": bqueues cuts names short: give bqueues -w or bqueues -l"
    cut = {queue.name: twice for queue in queues if queue.cut}
    reading.once("queue", [(queue.name, None) for queue in queues], cut)
    return queues


def _of_json(text: Text, reading: Reading) -> Iterator[SeenQueue]:
    for number, record in json_records(text, reading):
        reading.at(f"RECORDS[{number - 1}]")
        name = pick(record, *columns("name", "queue"))
        if not is_name(name):
            reading.lost(f"has no QUEUE_NAME: {name!r}" if name else "has no QUEUE_NAME")
            continue
        reading.at(f"queue {name}", None, Touched(queues=(name,)))
        if wrong := lacks(record, "STATUS"):
            reading.wrong(wrong)
            return
        queue = SeenQueue(name, description=pick(record, *columns("description", "queue")))
        _counts(queue, record, reading)
        yield queue


def _counts(queue: SeenQueue, row: Mapping[str, str], reading: Reading) -> None:
    """Priority, status and slot limits; the columns of plain bqueues."""
    cells = Cells(row, reading, "queue")
    queue.priority = cells.value("priority", values.whole)
    queue.status = cells.value("state: open, active", _queue_status) or "Open:Active"
    queue.queue_slots = cells.value("slots", values.whole)
    queue.user_slots = cells.value("slots of a user", values.whole)
    queue.processor_slots = cells.value("slots of a processor", values.number)
    queue.host_slots = cells.value("slots of a host", values.whole)
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


_QUEUE_STATUS = re.compile(r"(open|closed)(_\w+)?:(active|inact)(_\w+)?", re.IGNORECASE)


def _queue_status(text: str) -> str:
    if text and not _QUEUE_STATUS.fullmatch(text):
        raise ValueError(f"must be a status of a queue such as Open:Active, not {text!r}")
    return text


def _of_text(text: Text, reading: Reading) -> Iterator[SeenQueue]:
    lines = text.content.splitlines()
    begun = [(n, match[1]) for n, line in enumerate(lines) if (match := _QUEUE.match(line))]
    if not begun:
        yield from _of_table(lines, reading)
        return
    ends = [*(start for start, _ in begun[1:]), len(lines)]
    for (start, name), end in zip(begun, ends, strict=True):
        queue = SeenQueue(name, long=True)
        reading.at(f"queue {queue.name}", start + 1, Touched(queues=(name,)))
        if not is_name(name):
            reading.lost(f"{name!r} is no name of a queue")
            continue
        _block(queue, lines, start + 1, end, reading)
        yield queue


def _of_table(lines: list[str], reading: Reading) -> Iterator[SeenQueue]:
    names: list[str] = []
    header = ""
    for number, line in enumerate(lines, start=1):
        words = line.split()
        if words[:2] == ["QUEUE_NAME", "PRIO"]:
            names, header = words, line
            if wrong := lacks(dict.fromkeys(names, ""), "STATUS"):
                reading.at("", number)
                reading.wrong(wrong)
                return
        elif words and names:
            reading.at(f"queue {words[0]}", number, Touched(queues=(words[0],)))
            if not is_name(words[0]):
                reading.lost(f"{words[0]!r} is no name of a queue")
                continue
            row = _known(table_row(names, words), names, words, reading)
            queue = SeenQueue(words[0], cut=may_be_cut(words[0], header, "PRIO"))
            _counts(queue, row, reading)
            yield queue


def _block(queue: SeenQueue, lines: list[str], start: int, end: int, reading: Reading) -> None:
    """Read one block of bqueues -l, lines `start` to `end` (from 0), into `queue`."""
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
            row = _known(table_row(words, after.split()), words, after.split(), reading)
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


#: Parameters whose names go on in the next lines where there are many.
_LISTS = frozenset(
    {"USERS", "HOSTS", "USER_SHARES", "FAIRSHARE_QUEUES", "QUEUE_GROUP", "SCHEDULING POLICIES"}
)
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
    what = fact_of(key, "queue")
    match what:
        case "policies":
            queue.policies = frozenset(rest.split())
        case "shares":
            queue.shares = reading.value(key, rest, printed_shares) or ()
        case "queues of its set":
            queue.fairshare_queues = tuple(rest.split())
        case "absolute priority":
            queue.absolute = reading.value(key, rest, AbsolutePriority.parse)
        case "queues of its APS group":
            queue.queue_group = tuple(rest.split())
        case "order of dispatch":
            queue.by_queue = rest.upper() == "QUEUE"
        case "users":
            queue.users = "" if _EVERYBODY.fullmatch(rest) else rest
        case "hosts":
            listed = "" if _EVERYBODY.fullmatch(rest) else rest
            queue.hosts = reading.value(key, listed, values.hosts) or ""
        case "requirement":
            queue.res_req = rest
        case "time of a reservation":
            found = reading.value(key, rest.split(" ")[0], values.whole)
            queue.reservation, queue.resource_reserve = found, "resource" in key
        case "share of slots":
            queue.slot_share = reading.value(key, rest, values.number)
        case "pool of slots":
            queue.slot_pool = rest
        case "dispatch window":
            queue.dispatch_window = reading.value(key, rest, values.windows) or ""
        case "run window":
            queue.run_window = reading.value(key, rest, values.windows) or ""


def _limits(queue: SeenQueue, line: str, after: str, section: str, reading: Reading) -> None:
    """RUNLIMIT and its kin, which stand in lines of their own, or in one with their value.

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


def _three(text: str) -> tuple[int, ...]:
    """Numbers of tasks: a maximum, or a minimum, a default and a maximum."""
    found = [values.whole(word) for word in text.split()]
    return tuple(number for number in found[:3] if number is not None)
