"""Reservations of Slurm as advance reservations, and the jobs that run inside them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import datetime

from ...instance import AdvanceReservation
from ...windows import MINUTES_A_DAY, open_periods
from ..lsf_state.values import Remarks
from .seen import SlurmJob, SlurmReservation, SlurmState
from .site import licence_name

#: Omission named for a job that has no time limit and runs inside a reservation.
UNLIMITED = "without a time limit: assumed to end with its reservation"
#: Flags of reservations that repeat, and the days of the week: Sunday is 0, (): that of the start.
_REPEATED = {"DAILY": range(7), "WEEKDAY": range(1, 6), "WEEKEND": (0, 6), "WEEKLY": ()}
#: Flags of reservations that move, end early or take other nodes, or whose periods are too many.
_MOVING = ("HOURLY", "TIME_FLOAT", "FLEX", "PURGE_COMP", "REPLACE")
#: Omission named for a job inside a reservation that repeats.
OTHER_PERIODS = "the later periods of its reservation, which repeats: planned in the next one"


class SlurmReservations:
    """Current and future reservations that have nodes, and rules for the jobs inside them."""

    def __init__(self, seen: SlurmState, now: datetime, notes: Remarks) -> None:
        self.zero = int(now.timestamp())
        self.seen: Mapping[str, SlurmReservation] = {item.name: item for item in seen.reservations}
        self.made = {item.name: item for item in _made(seen, now, notes)}

    def why_left(self, name: str) -> str:
        """Return why a job inside a reservation is not planned, "" if no reason applies."""
        if not name:
            return ""
        item = self.seen.get(name)
        if "," in name:
            return "they may run inside one of several reservations"
        if item is None:
            return f"they run inside reservation {name}, which no input describes"
        if item.end <= self.zero:
            return f"they run inside reservation {name}, which has expired"
        if name not in self.made:
            return f"they run inside reservation {name}, which has no nodes"
        if "FLEX" in item.flags:
            return f"they run inside reservation {name} with FLEX, also before and after it"
        if "MAINT" in item.flags and item.start <= self.zero:
            return f"they run inside reservation {name}, whose nodes are in maintenance"
        return ""

    def can_start_elsewhere(self, name: str) -> bool:
        """Whether a job that is omitted for its reservation can still start."""
        item = self.seen.get(name)
        never = item is not None and (item.end <= self.zero or name not in self.made)
        return bool(self.why_left(name)) and not never

    def attracting(self, job: SlurmJob) -> list[str]:
        """Return the MAGNETIC reservations that admit a job that names none."""
        return [
            name
            for name in self.made
            if not job.reservation and "MAGNETIC" in self.seen[name].flags
            if all(why.startswith("groups") for why in _refusals(self.seen[name], job))
        ]

    def notes_on(self, job: SlurmJob) -> Iterator[str]:
        """Yield the rules that are not modelled for a job planned inside its reservation."""
        for name in self.attracting(job):
            yield f"reservation {name} with MAGNETIC, which may take it"
        own = self.made.get(job.reservation)
        if own is None:
            return
        if job.limit is None or math.isinf(job.limit):
            yield UNLIMITED
        if own.windows:
            yield OTHER_PERIODS
        seen = self.seen[own.name]
        for why in _refusals(seen, job):
            yield f"reservation {own.name}, which may not admit it ({why})"
        for other in (self.seen[name] for name in self.made):
            shared = not set(seen.nodes).isdisjoint(other.nodes)
            if other is not seen and shared and other.start < seen.end and seen.start < other.end:
                yield f"reservation {other.name}, which holds nodes of {own.name} at the same time"

    def of_running(self, job: SlurmJob, allocation: Mapping[str, int]) -> str:
        """Return the name of the reservation around a running job, "" if it has none here."""
        name = job.reservation
        own = self.made.get(name)
        if own is None or self.why_left(name) or not allocation.keys() <= own.slots.keys():
            return ""
        return name

    def deadline(self, job: SlurmJob) -> int | None:
        """Return when a job must end (seconds): its deadline or the end of its reservation."""
        name = job.reservation
        ends = [self.seen[name].end - self.zero] if name in self.made else []
        if job.deadline is not None:
            ends.append(job.deadline - self.zero)
        return min(ends, default=None)


def _refusals(item: SlurmReservation, job: SlurmJob) -> Iterator[str]:
    """Yield the rules by which a reservation may not admit a job; groups are not known."""
    has = {"users": [job.user], "accounts": [job.account], "qos": [job.qos],
           "partitions": job.partitions}  # fmt: skip
    for kind, names in item.admits.items():
        listed = not {name.removeprefix("-") for name in names}.isdisjoint(has.get(kind, ()))
        if listed == names[0].startswith("-"):
            yield f"{kind} {', '.join(names)}"


def _periods(item: SlurmReservation, now: datetime) -> str:
    """Return the windows of a reservation that repeats from now on, "" of another."""
    days = next((days for flag, days in _REPEATED.items() if flag in item.flags), None)
    if days is None:
        return ""
    at = datetime.fromtimestamp(item.start, now.tzinfo)
    first, length = at.hour * 60 + at.minute, math.ceil((item.end - item.start) / 60)

    def edge(day: int, minute: int) -> str:
        more, rest = divmod(minute, MINUTES_A_DAY)
        return f"{(day + more) % 7}:{rest // 60}:{rest % 60:02}"

    return " ".join(
        f"{edge(day, first)}-{edge(day, first + length)}"
        for day in days or ((at.weekday() + 1) % 7,)
    )


def _made(seen: SlurmState, now: datetime, notes: Remarks) -> Iterator[AdvanceReservation]:
    nodes, zero = {node.name: node for node in seen.nodes}, int(now.timestamp())
    for item in seen.reservations:
        windows = _periods(item, now)
        if windows and open_periods(windows, now.isoformat(), 0, item.start - zero):
            windows = ""  # its first period is not the next one
        flags = (*(() if windows else _REPEATED), *_MOVING)
        for flag in item.flags:
            if flag.partition("=")[0] in flags:
                notes.touch(f"reservation {item.name} has {flag}: treated as it is now",
                            hosts=item.nodes)  # fmt: skip
        known = [nodes[name] for name in item.nodes if name in nodes]
        if item.licences:
            names = [
                licence_name(part.partition(":")[0]) for part in item.licences.split(",") if part
            ]
            notes.touch(f"licences {item.licences} of reservation {item.name}", resources=names)
        if not known or item.end <= zero:
            continue
        slots = {node.name: node.cpus for node in known}
        total = sum(node.cpus // max(1, node.threads) for node in known)
        if item.cores and item.cores < total:
            notes.touch(
                f"reservation {item.name} holds {item.cores} of {total} cores of its nodes: "
                "treated as all of them", hosts=item.nodes,
            )  # fmt: skip
        if "MAGNETIC" in item.flags:  # pending jobs that it admits are named one by one
            text = f"reservation {item.name} with MAGNETIC, which may take new jobs"
            users = () if item.users == ("all",) else item.users
            notes.touch(text, (), users=users, mark="reserved ahead")
        inside = [job.user for job in seen.jobs if job.reservation == item.name and job.user]
        yield AdvanceReservation(
            item.name,
            0 if windows else max(0, item.start - zero),
            0 if windows else item.end - zero,
            slots,
            tuple(dict.fromkeys((*item.users, *inside))),
            windows=windows,
            suspends=False,
        )
