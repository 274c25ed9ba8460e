"""Host partitions as ``bhpart -r`` prints them, and share accounts as it and ``bqueues -r`` do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from . import values
from .reading import Reading, Touched
from .values import Remarks, Text, check_kind, table_row


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
            found[-1].shares = reading.value("USER_SHARES", match[1], printed_shares) or ()
        elif found and re.match(r"\s*SHARE_INFO_FOR:", line):
            found[-1].accounts += share_table(lines, number, reading, Touched())
    reading.done()
    return found


def share_table(
    lines: Sequence[str], start: int, reading: Reading, touched: Touched
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


_SHARE = re.compile(r"\[\s*([^\[\],\s]+)\s*,\s*(\d{1,9})\s*\]")


def printed_shares(text: str) -> tuple[tuple[str, int], ...]:
    """Parse ``[user1, 100] [default, 1]``; raises ValueError for any other text."""
    pairs = _SHARE.findall(text)
    if rest := _SHARE.sub("", text).strip():
        raise ValueError(f"{rest!r} is no share such as [user1, 100]")
    return tuple((name, int(number)) for name, number in pairs)
