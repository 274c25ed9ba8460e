"""Reservations of Slurm as advance reservations, and the jobs that run inside them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from ...instance import AdvanceReservation
from ..lsf_state.values import Remarks
from .seen import SlurmJob, SlurmReservation, SlurmState
from .site import licence_name

#: Omission named for a job that has no time limit and runs inside a reservation.
UNLIMITED = "without a time limit: taken to end with its reservation"
#: Flags of reservations that repeat or move.
_MOVING = ("DAILY", "HOURLY", "WEEKLY", "WEEKDAY", "WEEKEND", "TIME_FLOAT", "FLEX")


class SlurmReservations:
    """Current and future reservations that have nodes, and rules for the jobs inside them."""

    def __init__(self, seen: SlurmState, zero: int, notes: Remarks) -> None:
        self.zero = zero
        self.seen: Mapping[str, SlurmReservation] = {item.name: item for item in seen.reservations}
        self.made = {item.name: item for item in _made(seen, zero, notes)}

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
            return f"they run inside reservation {name}, which is over"
        if name not in self.made:
            return f"they run inside reservation {name}, which has no nodes"
        if "FLEX" in item.flags:
            return f"they run inside reservation {name} with FLEX, before and after it too"
        if "MAINT" in item.flags and item.start <= self.zero:
            return f"they run inside reservation {name}, whose nodes are in maintenance"
        return ""

    def can_start_elsewhere(self, name: str) -> bool:
        """Whether a job that is omitted for its reservation can still start."""
        item = self.seen.get(name)
        never = item is not None and (item.end <= self.zero or name not in self.made)
        return bool(self.why_left(name)) and not never

    def notes_on(self, job: SlurmJob) -> Iterator[str]:
        """Yield the rules that are not modelled for a job planned inside its reservation."""
        own = self.made.get(job.places.reservation)
        if own is None:
            return
        if job.limit is None or math.isinf(job.limit):
            yield UNLIMITED
        for other in self.made.values():
            shared = own.slots.keys() & other.slots.keys()
            if other is not own and shared and other.start < own.end and own.start < other.end:
                yield f"reservation {other.name}, which has nodes of {own.name} at the same time"

    def of_running(self, job: SlurmJob, allocation: Mapping[str, int]) -> str:
        """Return the name of the reservation around a running job, "" if it has none here."""
        name = job.places.reservation
        own = self.made.get(name)
        if own is None or self.why_left(name) or not allocation.keys() <= own.slots.keys():
            return ""
        return name

    def deadline(self, job: SlurmJob) -> int | None:
        """Return when a job must end (seconds): its deadline or the end of its reservation."""
        own = self.made.get(job.places.reservation)
        ends = [] if own is None else [own.end]
        if job.deadline is not None:
            ends.append(job.deadline - self.zero)
        return min(ends, default=None)


def _made(seen: SlurmState, zero: int, notes: Remarks) -> Iterator[AdvanceReservation]:
    nodes = {node.name: node for node in seen.nodes}
    for item in seen.reservations:
        for flag in _MOVING:
            if flag in item.flags:
                notes.touch(f"reservation {item.name} has {flag}: taken as it is now",
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
                f"reservation {item.name} has {item.cores} of {total} cores of its nodes: taken as "
                "all of them", hosts=item.nodes,
            )  # fmt: skip
        inside = [job.user for job in seen.jobs if job.places.reservation == item.name and job.user]
        yield AdvanceReservation(
            item.name,
            max(0, item.start - zero),
            item.end - zero,
            slots,
            tuple(dict.fromkeys((*item.users, *inside))),
            suspends=False,
        )
