"""What ``bhosts`` prints: hosts (-json, -l), their GPUs (-gpu) and shared resources (-s).

-l and -s print what is free and what jobs reserve of a resource; what there is when it is empty is
the sum. -l prints a shared resource under every host that has it, -s with its hosts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from ...cluster import BUILTIN_INDICES, MAX_GPUS, Cluster, Host, SharedResource
from ...errors import InputError
from ...formats.reading import kind_of_text
from ...gpu_request import GPU_NAMES, PHYSICAL, plain_model
from ...instance import Instance
from ...job import Job
from ...omissions import GPUS
from . import values
from .printed_facts import columns
from .reading import Cells, Reading, Touched, known_row, named_blocks, named_records, named_rows
from .values import (
    Remarks,
    Text,
    check_kind,
    load_rows,
    pick,
    table_row,
)

#: Kinds of text that list the GPUs of hosts.
GPU_KINDS = ("bhosts -gpu", "lshosts -gpu", "lsload -gpu")
#: Columns by the words that each command has over them.
_COLUMNS = {
    "gpu": ("GPU_ID", "gpu_id", "gpuid"),
    "model": ("MODEL", "gpu_model"),
    "mem": ("MTOTAL", "gpu_mtotal"),
    "run": ("RUN", "RUNJOBIDS"),
    "suspended": ("SUSP", "SUSPJOBIDS"),
}


@dataclass(slots=True)
class SeenGpus:
    """The GPUs of one host by number."""

    #: Name of the host.
    host: str
    #: Model by GPU id.
    models: dict[str, str] = field(default_factory=dict)
    #: Memory (MB) by GPU id.
    sizes: dict[str, float] = field(default_factory=dict)
    #: Ids of GPUs in use by started jobs, None if not printed.
    used: set[str] | None = None

    @property
    def count(self) -> int:
        """Return the number of GPUs."""
        return len(self.models)

    @property
    def model(self) -> str:
        """Return the model of the GPUs, "" if the host has several models."""
        found = set(self.models.values())
        return found.pop() if len(found) == 1 else ""

    @property
    def mem(self) -> float | None:
        """Return the memory (MB) of the smallest GPU."""
        return min(self.sizes.values(), default=None)


def is_of_gpus(text: Text) -> bool:
    """Return whether a text lists the GPUs of hosts."""
    return not text.is_json and kind_of_text(text.content[:65536]) in GPU_KINDS


def read_gpus(text: Text, notes: Remarks | None = None) -> list[SeenGpus]:
    """Return the GPUs of each host; raises InputError if the text lists none.

    notes: collects unreadable values.
    """
    reading = Reading(text, notes)
    hosts: dict[str, SeenGpus] = {}
    names: list[str] = []
    host = ""
    for number, line in enumerate(text.content.splitlines(), start=1):
        words = line.split()
        if words[:1] == ["HOST:"] and len(words) == 2:  # bhosts -gpu -l has a block a host
            host, names = words[1], []
        elif words and (words[0] in ("HOST_NAME", *_COLUMNS["gpu"])):
            names = words
        elif names and words:
            cells = _cells(names, words, line)
            if cells is None and (word := _unreadable_number(names, words, line)):
                named = host if line[:1].isspace() or names[0] != "HOST_NAME" else words[0]
                reading.at(f"host {named}", number, Touched(hosts=(named,), resources=(GPUS,)))
                reading.unknown(f"{word!r} is not a GPU number")
                continue
            if cells is None:
                names = [] if host and names[0] != "HOST_NAME" else names
                continue
            host = cells.get("HOST_NAME", host)
            reading.at(f"host {host}", number, Touched(hosts=(host,), resources=(GPUS,)))
            _take(hosts.setdefault(host, SeenGpus(host)), cells, reading)
    if not hosts:
        raise InputError(f"{text.source}: lists no GPUs of hosts: give the output of bhosts -gpu")
    reading.done()
    return list(hosts.values())


def _cells(names: list[str], words: list[str], line: str) -> dict[str, str] | None:
    """Return a row by column, without its host if that is the previous one; None if no row."""
    columns = names[1:] if names[0] == "HOST_NAME" and line[:1].isspace() else names
    number = next(
        (n for n, name in enumerate(columns) if name in (*_COLUMNS["gpu"], "ngpus")), None
    )
    if number is None or number >= len(words) or not words[number].isdigit():
        return None
    return dict(zip(columns, words, strict=False))


def _unreadable_number(names: list[str], words: list[str], line: str) -> str:
    """Return the cell of a GPU's row that should be a number and is none, else ""."""
    columns = names[1:] if names[0] == "HOST_NAME" and line[:1].isspace() else names
    at = next((n for n, name in enumerate(columns) if name in _COLUMNS["gpu"]), len(words))
    if len(words) != len(columns) or at >= len(words) or words[at] in ("-", *columns):
        return ""
    return words[at] if re.search(r"\d|[^\w-]", words[at]) else ""


def _take(seen: SeenGpus, cells: dict[str, str], reading: Reading) -> None:
    found = {
        key: next((cells[name] for name in names if name in cells), "")
        for key, names in _COLUMNS.items()
    }
    counted = int(cells.get("ngpus", "0"))
    if counted > MAX_GPUS:
        reading.unknown(f"{counted} GPUs exceed the maximum of a host ({MAX_GPUS})")
        return
    for number in range(counted):  # lsload -gpu counts them only
        seen.models.setdefault(str(number), "")
    gpu = found["gpu"]
    if not gpu:
        return
    seen.models[gpu] = plain_model(found["model"]).strip("-") or seen.models.get(gpu, "")
    if size := reading.value("MTOTAL", found["mem"], values.size) if found["mem"] else None:
        seen.sizes[gpu] = size
    if found["run"]:
        seen.used = set() if seen.used is None else seen.used
        if any(found[key] not in ("", "-", "0") for key in ("run", "suspended")):
            seen.used.add(gpu)


#: Parts of bjobs -l that are about GPUs.
GPU_PARTS = ("GPU REQUIREMENT DETAILS", "GPU_ALLOCATION")
#: Titles of the parts of bjobs -l; the name of a limit over its value is none.
_TITLE = re.compile(r"\s*(?!\w*(?:LIMIT|RUNTIME):)([A-Z][A-Z_ /]{4,}[A-Z]):\s*$")


def sections(block: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the titled parts of a job in bjobs -l, each with its lines."""
    title, lines = "", list[str]()
    for line in block:
        if found := _TITLE.match(line):
            yield title, lines
            title, lines = found[1], []
        else:
            lines.append(line)
    yield title, lines


def of_block(block: Iterable[str]) -> tuple[str, dict[str, int]]:
    """Return the GPU request of a job in bjobs -l, in the form of -gpu, and its GPUs by host."""
    asked, held = "", dict[str, int]()
    for title, lines in sections(block):
        if title == "GPU REQUIREMENT DETAILS":
            asked = _combined(lines)
        elif title == "GPU_ALLOCATION":
            held = _of_table_of_gpus(lines) or held
        elif title == "EXTERNAL MESSAGES" and not held:
            with suppress(ValueError):  # any user may have posted it
                held = values.allocated_gpus(" ".join(line for line in lines if "gpus=" in line))
    return asked, held


def _combined(lines: list[str]) -> str:
    """Return the GPU requirement after ``Combined:``, with its lines joined."""
    text = ""
    for line in lines:
        if found := re.match(r"\s*Combined\s*:\s*(.*)", line):
            text = found[1].strip()
        elif text and re.match(r"\s{8,}\S", line):
            text += line.strip()
        elif text:
            break
    return "" if text == "-" else text


def _of_table_of_gpus(lines: list[str]) -> dict[str, int]:
    """Parse GPU_ALLOCATION: one row per GPU under its host, which may be truncated."""
    found: dict[str, int] = {}
    host = ""
    for line in lines:
        words = line.split()
        if not words and found:
            break
        if not words or words[0] == "HOST" or (not words[-1].strip("-") and len(words) == 1):
            continue
        if len(line) - len(line.lstrip()) <= 3:
            host = words[0]
        if host:
            found[host] = found.get(host, 0) + 1
    return found


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
    #: Whether the name fills the column of a table and may be truncated.
    truncated: bool = False
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
    """Return all hosts of a text; raises InputError with every error that makes it unusable.

    notes: collects unreadable values.
    """
    check_kind(text, "bhosts")
    reading = Reading(text, notes)
    hosts = list(_of_json(text, reading) if text.is_json else _of_text(text, reading))
    twice = ": bhosts truncates names: give bhosts -w or bhosts -l"
    truncated = {host.name: twice for host in hosts if host.truncated}
    reading.once("host", [(host.name, None) for host in hosts], truncated)
    return hosts


def _of_json(text: Text, reading: Reading) -> Iterator[SeenHost]:
    for name, record in named_records(text, reading, "host", "STATUS", "MAX"):
        yield _host(name, record, reading)


def _host(name: str, record: Mapping[str, str], reading: Reading) -> SeenHost:
    cells = Cells(record, reading, "host")
    counted = [cells.value(f"slots of {of}", values.whole) for of in _STARTED]
    host = SeenHost(
        name,
        used=None if None in counted else sum(number or 0 for number in counted),
        **cells.facts(),
    )
    for index, free, held in zip(_SIZES, *map(_size_columns, ("free", "reserve")), strict=True):
        amounts = [reading.value(n, pick(record, n), values.size, (index,)) for n in (free, held)]
        if amounts[0] is not None and held not in reading.names:
            host.total[index] = amounts[0]
            host.reserved[index] = amounts[1] or 0.0
    host.unknown = reading.names
    return host


def _size_columns(which: str) -> tuple[str, ...]:
    """Return the columns of free memory, swap and tmp, or of their amounts reserved by jobs."""
    verb = "that are free" if which == "free" else "that jobs reserve"
    return tuple(n for n in columns(f"memory, swap, tmp {verb}", "host") if n not in _ROWS)


def _of_text(text: Text, reading: Reading) -> Iterator[SeenHost]:
    lines = text.content.splitlines()
    if not any(map(_HOST.match, lines)):
        for name, row, may_be_truncated in named_rows(lines, reading, "host", "STATUS", "MAX"):
            host = _host(name, row, reading)
            host.truncated = may_be_truncated
            yield host
    for name, start, end in named_blocks(lines, _HOST, reading, "host"):
        yield _block(name, lines[start:end], start + 1, reading)


def _block(name: str, lines: list[str], first: int, reading: Reading) -> SeenHost:
    """Return the host of one block of bhosts -l; first: number of the first of the lines."""
    names: list[str] = []
    host = SeenHost(name)
    for number, line in enumerate(lines, start=first):
        words = line.split()
        if words[:1] == ["STATUS"]:
            names = words
        elif names and words:
            reading.line = number
            host = _host(name, known_row(table_row(names, words), names, words, reading), reading)
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
                amount = values.load_or_text(word)
                known = values.load_or_text(other.get(label, {}).get(index, "-"))
                if amount is None and known is not None and not values.blank(word):
                    reading.unknown(f"{label} {index}: {word!r} is not a number", (index,))
            if amount is not None:
                rows[label][index] = amount
    for index in [index for index in host.total if f"Reserved {index}" in reading.names]:
        del host.total[index]  # free amounts are useless without the reserved amounts
    host.unknown = reading.names
    _count_gpus(host)
    return host


def _count_gpus(host: SeenHost) -> None:
    """Take the GPUs of the host out of its rows Total and Reserved.

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


@dataclass(frozen=True, slots=True)
class SeenShared:
    """One instance of a shared resource."""

    #: Name of the resource.
    name: str
    #: Total amount: the free and the reserved part.
    amount: float
    #: Names of the hosts that share the resource.
    hosts: tuple[str, ...]
    #: Part of the amount that jobs reserve.
    reserved: float = 0.0


def is_of_shared(text: Text) -> bool:
    """Return whether a text lists shared resources."""
    return not text.is_json and kind_of_text(text.content[:65536]) == "bhosts -s"


def read_shared(text: Text, notes: Remarks | None = None) -> list[SeenShared]:
    """Return the shared resources of ``bhosts -s``; notes collect unreadable values."""
    reading = Reading(text, notes)
    found: list[SeenShared] = []
    begun = False
    for number, line in enumerate(text.content.splitlines(), start=1):
        words = line.split()
        if words[:3] == ["RESOURCE", "TOTAL", "RESERVED"]:
            begun = True
        elif begun and words and line[:1].isspace():
            if found:
                found[-1] = replace(found[-1], hosts=(*found[-1].hosts, *words))
        elif begun and words:
            reading.at(f"resource {words[0]}", number, Touched(resources=(words[0],)))
            row = [*words[1:3], "-", "-"]
            total, held = map(values.load_or_text, row[:2])
            if None in (total, held) and not (total is held or values.blank(row[1])):
                name, word = ("TOTAL", row[0]) if total is None else ("RESERVED", row[1])
                reading.unknown(f"{name}: {word!r} is not a number")
            elif total is not None:
                held = held or 0.0
                found.append(SeenShared(words[0], total + held, tuple(words[3:]), held))
    reading.done()
    return found


def with_consumables(
    instance: Instance,
    hosts: Sequence[SeenHost],
    listed: Sequence[SeenShared],
    notes: Remarks,
) -> Instance:
    """Return the instance with shared resources, and with host amounts that jobs consume."""
    cluster = _with_shared(instance.cluster, listed, notes)
    instance = replace(instance, cluster=cluster)
    known = {item.name for item in cluster.shared}
    known |= {name for host in cluster.hosts for name in host.amounts}
    printed: dict[str, dict[str, tuple[float, float]]] = {}
    for item in hosts:
        for name in item.total.keys() & item.reserved.keys():
            if name not in BUILTIN_INDICES and name != "slots" and name not in known:
                printed.setdefault(name, {})[item.name] = item.total[name], item.reserved[name]
    for name, amounts in sorted(printed.items()):
        instance = _consumed(instance, name, amounts, notes)
    return instance


def _with_shared(cluster: Cluster, listed: Sequence[SeenShared], notes: Remarks) -> Cluster:
    configured = {item.name: item for item in cluster.shared}
    everybody = frozenset(host.name for host in cluster.hosts)
    new: list[SharedResource] = []
    for item in listed:
        if item.name in configured:
            amount = configured[item.name].amount
            if amount != item.amount and sum(s.name == item.name for s in cluster.shared) == 1:
                notes.append(
                    f"bhosts -s reports {item.amount:g} {item.name}, the site "
                    f"{amount:g}: left as it is"
                )
            continue
        there = everybody & {name.strip("[]") for name in item.hosts}
        new.append(SharedResource(item.name, item.amount, there or None))
    return _without_load(replace(cluster, shared=(*cluster.shared, *new)))


def _without_load(cluster: Cluster) -> Cluster:
    """Return the cluster with shared resources removed from the load of hosts."""
    shared = {item.name for item in cluster.shared}
    return replace(cluster, hosts=tuple(_less(host, shared) for host in cluster.hosts))


def _less(host: Host, names: set[str]) -> Host:
    if not names & host.load.keys():
        return host
    return replace(host, load={n: amount for n, amount in host.load.items() if n not in names})


def _consumed(
    instance: Instance,
    name: str,
    printed: Mapping[str, tuple[float, float]],
    notes: Remarks,
) -> Instance:
    """Add one resource, as consumed if any job reserves it: shared or of each host."""
    waiting = [job.id for job in instance.pending if _reserves(instance, job, name)]
    held = any(reserved for _, reserved in printed.values())
    runs = [run for run in instance.running if _reserves(instance, run.job, name)]
    if not (
        waiting or held or runs or any(_names(queue.res_req, name) for queue in instance.queues)
    ):
        return instance
    cluster = instance.cluster
    if len(printed) > 1 and len(set(printed.values())) == 1:
        free, reserved = next(iter(printed.values()))
        used_hosts = {host for run in runs for host in run.allocation}
        if not (held and used_hosts and printed.keys() - used_hosts):
            notes.touch(
                f"bhosts -l prints the same {name} for {len(printed)} hosts: assumed to be "
                f"shared by them (bhosts -s shows it)",
                resources=(name,),
                count=len(waiting) or 1,
            )
        shared = SharedResource(name, free + reserved, frozenset(printed))
        cluster = _without_load(replace(cluster, shared=(*cluster.shared, shared)))
        return replace(instance, cluster=cluster)
    found = tuple(
        replace(_less(host, {name}), amounts={**host.amounts, name: sum(printed[host.name])})
        if host.name in printed
        else host
        for host in cluster.hosts
    )
    return replace(instance, cluster=replace(cluster, hosts=found))


def _reserves(instance: Instance, job: Job, name: str) -> bool:
    asked = [queue.res_req for queue in instance.queues if queue.name == job.queue]
    return any(_names(text, name) for text in (*job.res_req, *asked))


def _names(text: str, name: str) -> bool:
    """Return whether a requirement reserves some of a resource."""
    word = re.compile(rf"(?<![\w.]){re.escape(name)}\s*=")
    return any(word.search(part) for part in re.findall(r"rusage\[([^\]]*)\]", text))
