"""Hosts in the output of ``bhosts -json``, ``bhosts -l`` and ``bhosts``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ...cluster import BUILTIN_INDICES, HOST_STATUSES
from ...gpu_request import GPU_NAMES, PHYSICAL
from . import values
from .printed_facts import columns
from .reading import Cells, Reading, Touched, known_row, named_blocks, named_records
from .values import (
    Remarks,
    Text,
    check_kind,
    is_name,
    lacks,
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
    twice = ": bhosts cuts names short: give bhosts -w or bhosts -l"
    truncated = {host.name: twice for host in hosts if host.truncated}
    reading.once("host", [(host.name, None) for host in hosts], truncated)
    return hosts


def _of_json(text: Text, reading: Reading) -> Iterator[SeenHost]:
    for name, record in named_records(text, reading, "host"):
        if wrong := lacks(record, "STATUS", "MAX"):
            reading.wrong(wrong)
            return
        yield _host(name, record, reading)


def _host(name: str, record: Mapping[str, str], reading: Reading) -> SeenHost:
    cells = Cells(record, reading, "host")
    counted = [cells.value(f"slots of {of}", values.whole) for of in _STARTED]
    host = SeenHost(
        name,
        status=cells.value("state", _status) or "ok",
        cpu_factor=cells.value("CPU factor", values.number),
        user_slots=cells.value("slots of one user", values.whole),
        slots=cells.value("slots", values.whole),
        used=None if None in counted else sum(number or 0 for number in counted),
        reserved_slots=cells.value("slots reserved", values.whole),
        windows=cells.value("dispatch window", values.windows) or "",
        gpus=cells.value("GPUs", values.whole),
        gpus_used=cells.value("GPUs in use", values.whole),
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


def _status(text: str) -> str:
    if text not in HOST_STATUSES and not text.lower().startswith("closed") and text != "":
        raise ValueError(f"must be a status of a host such as ok or closed_Full, not {text!r}")
    return text


def _of_text(text: Text, reading: Reading) -> Iterator[SeenHost]:
    lines = text.content.splitlines()
    blocks = list(named_blocks(lines, _HOST))
    if not blocks:
        yield from _of_table(lines, reading)
    for name, start, end in blocks:
        reading.at(f"host {name}", start + 1, Touched(hosts=(name,)))
        if not is_name(name):
            reading.lost(f"{name!r} is no name of a host")
            continue
        yield _block(name, lines[start + 1 : end], start + 2, reading)


def _of_table(lines: list[str], reading: Reading) -> Iterator[SeenHost]:
    """Read bhosts without options: one line for each host."""
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
                reading.wrong("its name is truncated: give the output of bhosts -w or bhosts -l")
                continue
            if not is_name(words[0]):
                reading.lost(f"{words[0]!r} is no name of a host")
                continue
            host = _host(words[0], known_row(row, names, words, reading), reading)
            host.truncated = may_be_cut(host.name, header, "STATUS")
            yield host


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
                    reading.unknown(f"{label} {index}: {word!r} is no number", (index,))
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
