"""Hosts as ``bhosts -json``, ``bhosts -l`` and plain ``bhosts`` print them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..cluster import BUILTIN_INDICES
from ..gpu_request import GPU_NAMES, PHYSICAL
from . import values
from .records import Reading, Text, check_kind, json_records, lacks
from .records import field as pick
from .tables import load_rows, table_row

_SIZES = ("mem", "swp", "tmp")


@dataclass(slots=True)
class SeenHost:
    """One host. total: load as scheduling goes by it, reserved: by jobs; mem, swp, tmp in MB.

    sched, stop: thresholds. used: slots that started jobs hold, reserved_slots: those that are
    reserved for pending ones; None where it is not said. gpus: how many GPUs it has, None likewise.
    gpus_used: those of them that started jobs have.
    """

    name: str
    status: str = "ok"
    cpu_factor: float | None = None
    user_slots: int | None = None
    slots: int | None = None
    used: int | None = None
    reserved_slots: int | None = None
    windows: str = ""
    gpus: int | None = None
    gpus_used: int | None = None
    total: dict[str, float] = field(default_factory=dict)
    reserved: dict[str, float] = field(default_factory=dict)
    sched: dict[str, float] = field(default_factory=dict)
    stop: dict[str, float] = field(default_factory=dict)

    @property
    def is_full(self) -> bool:
        """Whether all its slots are in use or reserved, as far as its numbers say."""
        if not self.slots or self.used is None:
            return False
        return self.used + (self.reserved_slots or 0) >= self.slots


def read_bhosts(text: Text) -> list[SeenHost]:
    """All hosts of a text; InputError with everything that is wrong with it."""
    check_kind(text, "bhosts")
    reading = Reading(text)
    hosts = list(_of_json(text, reading) if text.is_json else _of_text(text, reading))
    reading.once("host", ((host.name, None) for host in hosts))
    return hosts


def _of_json(text: Text, reading: Reading) -> Iterator[SeenHost]:
    for number, record in json_records(text):
        reading.at(f"RECORDS[{number - 1}]")
        name = pick(record, "HOST_NAME", "HOST")
        if not name:
            reading.wrong("has no HOST_NAME")
            continue
        reading.at(f"host {name}")
        if wrong := lacks(record, "STATUS", "MAX"):
            reading.wrong(wrong)
            return
        yield _host(name, record | {"JL/U": pick(record, "JL/U", "JL_U")}, reading)


def _host(name: str, record: dict[str, str], reading: Reading) -> SeenHost:
    value = reading.value
    numbers = {
        key: value(key, pick(record, key), values.whole)
        for key in ("JL/U", "MAX", "RUN", "SSUSP", "USUSP", "RSV", "NGPUS", "NGPUS_ALLOC")
    }
    counted = [numbers[key] for key in ("RUN", "SSUSP", "USUSP")]
    host = SeenHost(
        name,
        status=pick(record, "STATUS") or "ok",
        cpu_factor=value("CPUF", pick(record, "CPUF"), values.number),
        user_slots=numbers["JL/U"],
        slots=numbers["MAX"],
        used=None if None in counted else sum(number or 0 for number in counted),
        reserved_slots=numbers["RSV"],
        windows=pick(record, "DISPATCH_WINDOW"),
        gpus=numbers["NGPUS"],
        gpus_used=numbers["NGPUS_ALLOC"],
    )
    for index in _SIZES:
        free = value(index, pick(record, f"AVAILABLE_{index.upper()}"), values.size)
        held = value(index, pick(record, f"RESERVED_{index.upper()}"), values.size)
        if free is not None:
            host.total[index] = free
            host.reserved[index] = held or 0.0
    return host


def _of_text(text: Text, reading: Reading) -> Iterator[SeenHost]:
    lines = text.content.splitlines()
    starts = [n for n, line in enumerate(lines) if re.match(r"HOST\s+\S+\s*$", line)]
    if not starts:
        yield from _of_table(lines, reading)
        return
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        name = lines[start].split()[1]
        reading.at(f"host {name}", start + 1)
        yield _block(name, lines[start + 1 : end], reading)


def _of_table(lines: list[str], reading: Reading) -> Iterator[SeenHost]:
    """Plain bhosts: a line a host."""
    names: list[str] = []
    for number, line in enumerate(lines, start=1):
        words = line.split()
        if words[:2] == ["HOST_NAME", "STATUS"]:
            names = words
            if wrong := lacks(dict.fromkeys(names, ""), "MAX"):
                reading.at("", number)
                reading.wrong(wrong)
                return
        elif words and names:
            reading.at(f"host {words[0]}", number)
            row = table_row(names, words)
            if words[0].startswith("*"):
                reading.wrong("its name is cut short: give the output of bhosts -w or bhosts -l")
            elif row is None:
                reading.wrong(f"has {len(words)} of {len(names)} columns")
            else:
                yield _host(words[0], row, reading)


def _block(name: str, lines: list[str], reading: Reading) -> SeenHost:
    """What bhosts -l says of one host."""
    names: list[str] = []
    host = SeenHost(name)
    for line in lines:
        words = line.split()
        if words[:1] == ["STATUS"]:
            names = words
        elif names and words:
            row = table_row(names, words)
            if row is None:
                reading.wrong(f"the line under STATUS has {len(words)} of {len(names)} columns")
            else:
                host = _host(name, row, reading)
            break
    else:
        reading.wrong("has no line with STATUS and MAX")
    rows = {
        "Total": host.total,
        "Reserved": host.reserved,
        "loadSched": host.sched,
        "loadStop": host.stop,
    }
    for label, found in load_rows(lines):
        for index, word in found.items():
            if index in BUILTIN_INDICES:
                amount = reading.value(index, word, values.load)
            else:
                amount = _own(word)
            if amount is not None:
                rows[label][index] = amount
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
