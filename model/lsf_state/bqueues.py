"""Queues as ``bqueues -json``, ``bqueues -l`` (``-r``) and plain ``bqueues`` print them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from . import values
from .records import Reading, Text, check_kind, json_records, lacks
from .records import field as pick
from .share_tables import PrintedAccount, printed_shares, share_table
from .tables import limit_row, load_rows, table_row

_COUNTS = ("NJOBS", "PEND", "RUN", "SUSP", "SSUSP", "USUSP")


@dataclass(slots=True)
class SeenQueue:
    """One queue; limits in slots, times in seconds.

    policies: words of SCHEDULING POLICIES. reservation: longest time slots (or, with
    resource_reserve, resources) are held. tasks: TASKLIMIT or PROCLIMIT as printed. counts: slots
    of its jobs by NJOBS, PEND, RUN, SUSP.
    """

    name: str
    description: str = ""
    priority: int | None = None
    status: str = "Open:Active"
    queue_slots: int | None = None
    user_slots: int | None = None
    processor_slots: float | None = None
    host_slots: int | None = None
    run_limit: int | None = None
    run_limit_max: int | None = None
    cpu_limit: int | None = None
    tasks: tuple[int, ...] = ()
    sched: dict[str, float] = field(default_factory=dict)
    stop: dict[str, float] = field(default_factory=dict)
    policies: frozenset[str] = frozenset()
    shares: tuple[tuple[str, int], ...] = ()
    accounts: list[PrintedAccount] = field(default_factory=list)
    fairshare_queues: tuple[str, ...] = ()
    by_queue: bool = False
    users: str = ""
    hosts: str = ""
    res_req: str = ""
    reservation: int | None = None
    resource_reserve: bool = False
    accept_interval: int | None = None
    slot_share: float | None = None
    slot_pool: str = ""
    dispatch_window: str = ""
    run_window: str = ""
    long: bool = False
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def inactive(self) -> bool:
        """Whether an administrator keeps its jobs from starting; not its windows."""
        return "Inact" in self.status and "_Win" not in self.status


def read_bqueues(text: Text) -> list[SeenQueue]:
    """All queues of a text; InputError with everything that is wrong with it."""
    check_kind(text, "bqueues")
    reading = Reading(text)
    queues = list(_of_json(text, reading) if text.is_json else _of_text(text, reading))
    reading.once("queue", ((queue.name, None) for queue in queues))
    return queues


def _of_json(text: Text, reading: Reading) -> Iterator[SeenQueue]:
    for number, record in json_records(text):
        reading.at(f"RECORDS[{number - 1}]")
        name = pick(record, "QUEUE_NAME", "QUEUE")
        if not name:
            reading.wrong("has no QUEUE_NAME")
            continue
        reading.at(f"queue {name}")
        if wrong := lacks(record, "STATUS"):
            reading.wrong(wrong)
            return
        queue = SeenQueue(name, description=pick(record, "DESCRIPTION"))
        slashed = {re.sub(r"^JL_([UPH])$", r"JL/\1", key): value for key, value in record.items()}
        _counts(queue, slashed, reading)
        yield queue


def _counts(queue: SeenQueue, row: dict[str, str], reading: Reading) -> None:
    """Priority, status and slot limits; the columns of plain bqueues."""
    value = reading.value
    queue.priority = value("PRIO", pick(row, "PRIO", "PRIORITY"), values.whole)
    queue.status = pick(row, "STATUS") or "Open:Active"
    queue.queue_slots = value("MAX", pick(row, "MAX"), values.whole)
    queue.user_slots = value("JL/U", pick(row, "JL/U"), values.whole)
    queue.processor_slots = value("JL/P", pick(row, "JL/P"), values.number)
    counted = {key: value(key, pick(row, key), values.whole) for key in _COUNTS}
    queue.counts = {key: number for key, number in counted.items() if number is not None}
    if "SSUSP" in queue.counts and "USUSP" in queue.counts:  # the long form
        queue.counts["SUSP"] = queue.counts["SSUSP"] + queue.counts["USUSP"]
    queue.host_slots = value("JL/H", pick(row, "JL/H"), values.whole)


def _of_text(text: Text, reading: Reading) -> Iterator[SeenQueue]:
    lines = text.content.splitlines()
    starts = [n for n, line in enumerate(lines) if re.match(r"\s*QUEUE:\s*\S", line)]
    if not starts:
        yield from _of_table(lines, reading)
        return
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        queue = SeenQueue(lines[start].split()[1], long=True)
        reading.at(f"queue {queue.name}", start + 1)
        _block(queue, lines, start + 1, end, reading)
        yield queue


def _of_table(lines: list[str], reading: Reading) -> Iterator[SeenQueue]:
    names: list[str] = []
    for number, line in enumerate(lines, start=1):
        words = line.split()
        if words[:2] == ["QUEUE_NAME", "PRIO"]:
            names = words
            if wrong := lacks(dict.fromkeys(names, ""), "STATUS"):
                reading.at("", number)
                reading.wrong(wrong)
                return
        elif words and names:
            reading.at(f"queue {words[0]}", number)
            row = table_row(names, words)
            if row is None:
                reading.wrong(f"has {len(words)} of {len(names)} columns")
                continue
            queue = SeenQueue(words[0])
            _counts(queue, row, reading)
            yield queue


def _block(queue: SeenQueue, lines: list[str], start: int, end: int, reading: Reading) -> None:
    """What bqueues -l says of one queue, lines `start` to `end` (from 0)."""
    own = lines[start:end]
    section = ""
    for place, line in enumerate(own):
        words = line.split()
        after = own[place + 1] if place + 1 < len(own) else ""
        if words[:1] == ["--"]:
            queue.description = line.partition("--")[2].strip()
        elif words[:1] == ["PRIO"]:
            row = table_row(words, after.split())
            reading.at(f"queue {queue.name}", start + place + 2)
            if row is None:
                reading.wrong("the line under PRIO has too few columns")
            else:
                _counts(queue, row, reading)
        elif words[:1] == ["SHARE_INFO_FOR:"]:
            queue.accounts += share_table(lines, start + place + 1, reading)
            reading.at(f"queue {queue.name}", start + place + 1)
        elif ":" in line:
            key, _, rest = line.strip().partition(":")
            reading.line = start + place + 1
            _parameter(queue, key.strip(), rest.strip(), reading)
        if line.strip().endswith("LIMITS:"):
            section = line.split()[0]
        _limits(queue, line, after, section, reading)
    for label, row in load_rows(own):
        target = {"loadSched": queue.sched, "loadStop": queue.stop}.get(label, {})
        for index, word in row.items():
            amount = reading.value(index, word, values.load)
            if amount is not None:
                target[index] = amount


_WINDOWS = {"DISPATCH_WINDOW": "dispatch_window", "RUN_WINDOW": "run_window"}


def _parameter(queue: SeenQueue, key: str, rest: str, reading: Reading) -> None:
    """One line ``KEY: values``."""
    match key:
        case "SCHEDULING POLICIES":
            queue.policies = frozenset(rest.split())
        case "USER_SHARES":
            queue.shares = printed_shares(rest)
        case "FAIRSHARE_QUEUES":
            queue.fairshare_queues = tuple(rest.split())
        case "DISPATCH_ORDER":
            queue.by_queue = rest.upper() == "QUEUE"
        case "USERS":
            queue.users = "" if rest in ("all", "all users") else rest
        case "HOSTS":
            queue.hosts = "" if rest in ("all", "all hosts used by the LSF system") else rest
        case "RES_REQ":
            queue.res_req = rest
        case "Maximum slot reservation time" | "Maximum resource reservation time":
            found = reading.value(key, rest.split(" ")[0], values.whole)
            queue.reservation, queue.resource_reserve = found, "resource" in key
        case "SLOT_SHARE":
            queue.slot_share = reading.value(key, rest, values.number)
        case "SLOT_POOL":
            queue.slot_pool = rest
        case "DISPATCH_WINDOW" | "RUN_WINDOW":
            setattr(queue, _WINDOWS[key], "" if values.blank(rest) else rest)


def _limits(queue: SeenQueue, line: str, after: str, section: str, reading: Reading) -> None:
    """RUNLIMIT and its kin, which stand in lines of their own, or in one with their value.

    section: DEFAULT under ``DEFAULT LIMITS:``.
    """
    if found := re.match(r"\s*RUNLIMIT:\s*(\S+) min \((default|maximum)\)", line):
        seconds = reading.value("RUNLIMIT", found[1], values.limit)
        setattr(queue, "run_limit" if found[2] == "default" else "run_limit_max", seconds)
    limits = limit_row(line, after)
    if found := re.match(r"\s*(PROCLIMIT|TASKLIMIT)\s*:?\s*([\d\s]*)$", line):
        limits["TASKLIMIT"] = found[2].strip() or after
    if tasks := limits.get("TASKLIMIT", limits.get("PROCLIMIT")):
        numbers = re.findall(r"\d{1,9}", tasks)
        queue.tasks = tuple(int(number) for number in numbers[:3])
    if found := re.search(r"Interval for a host to accept two jobs is (\d{1,9}) seconds", line):
        queue.accept_interval = int(found[1])
    if "RUNLIMIT" in limits:
        name = "run_limit" if section == "DEFAULT" else "run_limit_max"
        setattr(queue, name, reading.value("RUNLIMIT", limits["RUNLIMIT"], values.limit))
    if "CPULIMIT" in limits:
        queue.cpu_limit = reading.value("CPULIMIT", limits["CPULIMIT"], values.limit)
