"""SHARE_INFO_FOR tables of ``bqueues -l``, ``bqueues -r`` and ``bhpart -r``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from . import values
from .records import Reading, Text, check_kind
from .tables import table_row


@dataclass(frozen=True, slots=True)
class PrintedAccount:
    """One line of a table. path: of the level, ``Partition1/group2``; account: below it.

    priority: as printed, with its digits. cpu_time, run_time: seconds; run_time of running jobs
    and, where it counts, of finished ones. line: in the text.
    """

    path: str
    account: str
    shares: int
    priority: str
    started: int
    reserved: int
    cpu_time: float
    run_time: float
    adjust: float | None = None
    line: int | None = None


@dataclass(slots=True)
class SeenPartition:
    """One host partition. hosts: as printed."""

    name: str
    hosts: tuple[str, ...] = ()
    shares: tuple[tuple[str, int], ...] = ()
    accounts: list[PrintedAccount] = field(default_factory=list)


def read_bhpart(text: Text) -> list[SeenPartition]:
    """All partitions of a text; InputError with everything that is wrong with it."""
    check_kind(text, "bhpart")
    reading = Reading(text)
    found: list[SeenPartition] = []
    lines = text.content.splitlines()
    for number, line in enumerate(lines, start=1):
        if match := re.match(r"\s*HOST_PARTITION_NAME:\s*(\S+)", line):
            found.append(SeenPartition(match[1]))
        elif found and (match := re.match(r"\s*HOSTS:\s*(.*)", line)):
            found[-1].hosts = tuple(match[1].split())
        elif found and (match := re.match(r"\s*USER_SHARES:\s*(.*)", line)):
            found[-1].shares = printed_shares(match[1])
        elif found and re.match(r"\s*SHARE_INFO_FOR:", line):
            found[-1].accounts += share_table(lines, number, reading)
    reading.done()
    return found


def share_table(lines: Sequence[str], start: int, reading: Reading) -> Iterator[PrintedAccount]:
    """The accounts under the SHARE_INFO_FOR in line `start` (from 1)."""
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
        reading.at(f"{path}/{words[0]}", number)
        row = table_row(names, words)
        if row is None or len(words) != len(names):
            reading.wrong(f"has {len(words)} of {len(names)} columns of a share account")
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


def printed_shares(text: str) -> tuple[tuple[str, int], ...]:
    """``[user1, 100] [default, 1]``."""
    pairs = re.findall(r"\[\s*([^\[\],\s]+)\s*,\s*(\d{1,9})\s*\]", text)
    return tuple((name, int(number)) for name, number in pairs)
