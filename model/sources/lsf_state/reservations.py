"""Advance reservations as ``brsvs`` prints them (-w, -l), converted for an instance (ARV-01).

A table tells id, type, users, slots by host and times; only -l tells what is open and closed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from ...formats.names import Domains
from ...instance import AdvanceReservation, Instance
from ...job import Job
from ...windows import parse_windows
from . import values
from .limits import SeenUse
from .reading import Reading, Touched
from .values import Remarks, Text

_COUNT = re.compile(r"(?:\d+|-)/\d+|\d+")
_HOST = re.compile(r"(?P<host>[^\s:]+):(?P<used>\d+|-)/(?P<slots>\d+)")
#: Month, day, hour and minute, with the year before if it is printed.
_ONCE = re.compile(r"(?:(\d{4})/)?(\d{1,2})/(\d{1,2})/(\d{1,2})/(\d{1,2})")
_EACH = r"(?:\d:)?\d{1,2}:\d{1,2}"
_AGAIN = re.compile(rf"(?P<window>{_EACH}-{_EACH})\s*\*")
_TYPE = re.compile(r"^\s*Reservation Type:\s*(\w+)", re.M)
#: A line of brsvs -l below the table.
_LABEL = re.compile(r"\s*[A-Z][A-Za-z ]*:(?!\S)")
#: RSVID of the table without -w has no more characters.
MAX_SHOWN = 11


@dataclass(slots=True)
class SeenReservation:
    """One that was printed."""

    #: Id of the reservation.
    name: str
    #: "user", "group" or "sys".
    kind: str = "user"
    #: Users and groups that may use the reservation.
    users: tuple[str, ...] = ()
    #: Reserved slots by host name.
    slots: dict[str, int] = field(default_factory=dict)
    #: Slots in use by host name.
    used: dict[str, int] = field(default_factory=dict)
    #: Times of the reservation, as printed.
    window: str = ""
    #: Whether jobs continue after the reservation ends, None if unknown.
    open: bool | None = None
    #: Line of the listing at which the reservation begins.
    line: int = 0


def read_brsvs(text: Text, reading: Reading) -> Iterator[SeenReservation | SeenUse]:
    """Yield the reservations of brsvs with what their jobs use."""
    found: list[SeenReservation] = []
    listed = False
    for number, line in enumerate(text.content.splitlines(), start=1):
        words = line.split()
        if words[:1] == ["RSVID"]:
            listed = True
        elif found and (found_type := _TYPE.match(line)):
            found[-1].open = found_type[1].upper() == "OPEN"
            listed = False
        elif _LABEL.match(line):
            continue
        elif listed and words and not line[0].isspace():
            found.append(_first_line(words, number))
        elif listed and found and words:
            _add_hosts(found[-1], words)
    for item in found:
        reading.at(f"advance reservation {item.name}", item.line, Touched())
        named = all(map(values.is_name, (item.name, *item.users)))
        if not (item.slots and item.window and named):
            reading.unknown("is not a line RSVID TYPE USER NCPUS RSV_HOSTS TIME_WINDOW")
            continue
        yield item
        for host, used in item.used.items():
            yield SeenUse("brsvs", "reservation", item.name, "slots", used, host)


def _first_line(words: Sequence[str], number: int) -> SeenReservation:
    item = SeenReservation(words[0], words[1] if len(words) > 1 else "", line=number)
    rest = list(words[2:])
    names: list[str] = []
    while rest and not _COUNT.fullmatch(rest[0]):
        names += rest.pop(0).replace(",", " ").split()
    item.users = () if item.kind.startswith("sys") else tuple(names)
    _add_hosts(item, rest[1:])
    return item


def _add_hosts(item: SeenReservation, words: Sequence[str]) -> None:
    """Add hosts with their slots, and the active period, which follows the first of them."""
    times: list[str] = []
    for word in words:
        if host := _HOST.fullmatch(word):
            item.slots[host["host"]] = int(host["slots"])
            if host["used"] != "-":
                item.used[host["host"]] = int(host["used"])
        else:
            times.append(word)
    if times and not item.window:
        item.window = " ".join(times)


def with_reservations(
    instance: Instance, seen: Sequence[SeenReservation], notes: Remarks
) -> Instance:
    """Return the instance with these reservations, and with the jobs in them.

    A job of an unknown reservation has none, with an omission.
    """
    domains = Domains(host.name for host in instance.cluster.hosts)
    built = (_built(instance, item, domains, notes) for item in seen)
    known = {item.name: item for item in built if item is not None}
    if not known:
        return instance
    running = tuple(replace(run, job=_in_one(run.job, known)) for run in instance.running)
    pending = tuple(_in_one(job, known) for job in instance.pending)
    for job, seen_job in zip(instance.pending, pending, strict=True):
        if job.reservation and not seen_job.reservation:
            text = f"advance reservation {job.reservation} is not listed"
            notes.touch(text, [job.id], where="brsvs")
    for item in seen:
        ids = [job.id for job in pending if job.reservation == item.name]
        if item.open is None and ids:
            text = (
                "only brsvs -l shows whether its jobs continue after it: a closed "
                "reservation is assumed"
            )
            notes.touch(f"advance reservation {item.name}: {text}", ids, where="brsvs")
    return replace(
        instance,
        advance_reservations=tuple(known.values()),
        running=running,
        pending=pending,
    )


def _in_one(job: Job, known: Mapping[str, AdvanceReservation]) -> Job:
    """Return the job in its reservation, whose name brsvs may truncate."""
    name = job.reservation
    if not name or name in known:
        return job
    if name[:MAX_SHOWN] in known and len(name) > MAX_SHOWN:
        return replace(job, reservation=name[:MAX_SHOWN])
    return replace(job, reservation="")


def _built(
    instance: Instance, item: SeenReservation, domains: Domains, notes: Remarks
) -> AdvanceReservation | None:
    """Return a reservation on the hosts of the cluster, None if it has no such hosts or no
    times.
    """
    where = f"advance reservation {item.name}"
    hosts = {host.name: host for host in instance.cluster.hosts}
    slots: dict[str, int] = {}
    for name, count in item.slots.items():
        host = hosts.get(domains.known(name))
        if host is not None:
            slots[host.name] = min(count, host.slots)
    if gone := [name for name in item.slots if domains.known(name) not in hosts]:
        notes.append(f"{where}: {', '.join(gone)} is not a host: omitted")
    start, end, windows = 0, 0, ""
    try:
        if again := _AGAIN.fullmatch(item.window):
            windows = _recurring(again["window"])
        else:
            start, end = _once(instance, item.window)
    except ValueError as error:
        notes.touch(f"{where}: {error}", where="brsvs", hosts=slots)
        return None
    if not slots:
        return None
    return AdvanceReservation(item.name, start, end, slots, item.users, bool(item.open), windows)


def _recurring(text: str) -> str:
    """Return windows such as ``3:0:0-3:3:0`` in the configured form, with two digits for
    minutes.
    """
    edges = []
    for edge in text.split("-"):
        *day, hour, minute = edge.split(":")
        edges.append(":".join((*day, hour, minute.zfill(2))))
    window = "-".join(edges)
    parse_windows(window)
    return window


def _once(instance: Instance, text: str) -> tuple[int, int]:
    """Return the seconds of ``11/12/6/0-11/12/8/0``, in a year in which it is not past."""
    edges = [_ONCE.fullmatch(edge.strip()) for edge in text.split("-")]
    if instance.origin is None or len(edges) != 2 or edges[0] is None or edges[1] is None:
        raise ValueError(f"must be a period such as 11/12/6/0-11/12/8/0, not {text!r}")
    origin = datetime.fromisoformat(instance.origin)
    now = origin + timedelta(seconds=instance.now)
    starts, ends = (_instants(edge, now) for edge in (edges[0], edges[1]))
    end = min((instant for instant in ends if instant > now), default=max(ends, default=now))
    start = max((instant for instant in starts if instant < end), default=end)
    if not start < end:
        raise ValueError(f"must be a period that ends after it begins, not {text!r}")
    seconds = [int((instant - origin).total_seconds()) for instant in (start, end)]
    return seconds[0], seconds[1]


def _instants(edge: re.Match[str], now: datetime) -> list[datetime]:
    """Return the instants that a printed time may denote, one per year."""
    year, *rest = edge.groups()
    found = []
    for each in [now.year - 1, now.year, now.year + 1] if year is None else [int(year)]:
        with suppress(ValueError):  # 29 February
            month, day, hour, minute = map(int, rest)
            found.append(datetime(each, month, day, hour, minute, tzinfo=now.tzinfo))
    return found
