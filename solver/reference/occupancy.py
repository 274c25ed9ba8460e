"""Resources in use over time, and those that are free: loops over jobs, hosts and instants."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Literal, NamedTuple

from ...model.configuration import Scope
from ...model.duration import expected_duration, expected_finish
from ...model.instance import Instance
from ...model.job import Job
from ...model.windows import without_windows
from .placement import Slots, Wanted, allocations, asked_by

#: Whether a job runs, or is pending and has reserved slots, or these may be backfilled.
Kind = Literal["runs", "reserved", "backfilled"]
#: End of a job whose end is unknown.
FOREVER = 1 << 40


class Countable(NamedTuple):
    """A countable resource: of a host, of all hosts, or of a limit."""

    resource: str
    host: str = ""
    limit: str = ""
    #: Queue or user, or user and queue, for which the limit counts.
    member: str = ""
    other: str = ""


@dataclass(frozen=True)
class Occupant:
    """A job on its hosts over [start, end)."""

    job: Job
    slots: Slots
    start: int
    end: int
    kind: Kind = "runs"


class Occupancy:
    """An instance with the jobs that run and those that have been placed so far."""

    def __init__(self, instance: Instance, started: Mapping[str, Slots]) -> None:
        """started: pending jobs that start now, with their slots."""
        self.instance, self.now = instance, instance.now
        self.hosts = {host.name: host for host in instance.cluster.hosts}
        self.shared = {item.name for item in instance.cluster.shared}
        #: Capacity of each resource; of a limit as soon as a job counts for it.
        self.full = {Countable(item.name): item.amount for item in instance.cluster.shared}
        for name, host in self.hosts.items():
            amounts = {"slots": host.slots, **host.amounts}
            self.full |= {Countable(resource, name): n for resource, n in amounts.items()}
        self.asked: dict[str, Wanted] = {}
        self.uses: list[Occupant] = []
        # LSF's estimates ignore windows.
        unlimited = without_windows(instance)
        for run in instance.running:
            end = expected_finish(unlimited, run)
            end = FOREVER if end is None else end
            self.uses.append(Occupant(run.job, run.allocation, min(run.start, self.now), end))
        for job in instance.pending:
            if job.id in started:
                self.uses.append(
                    Occupant(job, started[job.id], self.now, self.end_of(job, self.now))
                )

    def end_of(self, job: Job, start: int) -> int:
        """Return when a job ends that starts then."""
        duration = expected_duration(self.instance, job)
        return FOREVER if duration is None else start + duration

    def order(self, started: Collection[str] = ()) -> list[Job]:
        """Return the other pending jobs by priority of queue and job, and submission."""

        def key(job: Job) -> tuple[int, ...]:
            return -self.instance.queue(job.queue).priority, -job.priority, *job.queue_position

        return sorted((job for job in self.instance.pending if job.id not in started), key=key)

    def asks(self, job: Job) -> Wanted:
        """Return what a job asks of hosts."""
        if job.id not in self.asked:
            self.asked[job.id] = asked_by(self.instance, job)
        return self.asked[job.id]

    def takes(self, job: Job, slots: Slots, *, waits: bool = False) -> dict[Countable, float]:
        """Return the use of each resource by a job; a pending job uses slots only."""
        asked, queue, found = self.asks(job), self.instance.queue(job.queue), Counter[Countable]()

        def add(amount: float, row: Countable, full: float | None = None) -> None:
            found[row] += amount  # type: ignore[assignment]
            self.full.setdefault(row, inf if full is None else full)

        own = {host for host in slots if job.exclusive}
        if asked.cu is not None and asked.cu.excl:
            own |= {h for unit in asked.units for h in unit.hosts if {*unit.hosts} & {*slots}}
        for host in own if not waits else ():
            add(self.hosts[host].slots - slots.get(host, 0), Countable("slots", host))
        user = next((user.max_slots for user in self.instance.users if user.name == job.user), None)
        for host, count in slots.items():
            add(count, Countable("slots", host))
            add(count, Countable("slots", host, "HJOB_LIMIT", job.queue), queue.host_slots)
            add(count, Countable("slots", host, "JL/U", job.user), self.hosts[host].user_slots)
            add(count, Countable("slots", "", "QJOB_LIMIT", job.queue), queue.queue_slots)
            add(count, Countable("slots", "", "UJOB_LIMIT", job.queue, job.user), queue.user_slots)
            add(count, Countable("slots", "", "MAX_JOBS", job.user), user)
            for name in asked.amounts.keys() - self.shared:
                add(asked.amounts[name], Countable(name, host))
        for name in asked.amounts.keys() & self.shared:
            add(asked.amounts[name], Countable(name))
        for limit in self.instance.limits:
            scopes = ((limit.users, job.user), (limit.queues, job.queue))
            if slots and all(covers(scope, name) for scope, name in scopes):
                who = [name if scope is not None and scope.each else "" for scope, name in scopes]
                for each, count in ("slots", sum(slots.values())), ("jobs", 1):
                    add(count, Countable(each, "", limit.name, *who), limit.amounts.get(each))
        return {row: n for row, n in found.items() if row.resource == "slots" or not waits}

    def left(self, row: Countable, start: int, end: int) -> float:
        """Return the amount of a resource that is free throughout [start, end).

        Reserved slots are not free for a start now, even if the reservation ends before `end`.
        """

        def taken(time: int) -> float:
            return sum(
                self.takes(use.job, use.slots, waits=use.kind != "runs").get(row, 0.0)
                for use in self.uses
                if use.start <= time < use.end or (use.kind == "reserved" and start == self.now)
                if not (use.kind == "backfilled" and row.host)
            )

        starts = [use.start for use in self.uses if start < use.start < end]
        return self.full[row] - max(taken(time) for time in (start, *starts))

    def fits(self, job: Job, slots: Slots, start: int, end: int, *, waits: bool = False) -> bool:
        """Return whether a job with these slots fits over [start, end)."""
        taken = self.takes(job, slots, waits=waits)
        return all(n <= self.left(row, start, end) + 1e-6 for row, n in taken.items())

    def free(self, job: Job, start: int, end: int, *, waits: bool = False) -> dict[str, int]:
        """Return the slots that a job could have on each of its hosts alone over [start, end)."""

        def most(host: str) -> int:
            rows = [row for row in self.takes(job, {host: 1}, waits=waits) if row.host]
            left = {row: self.left(row, start, end) + 1e-6 for row in rows}

            def is_too_many(count: int) -> bool:
                taken = self.takes(job, {host: count}, waits=waits)
                return any(taken[row] > left[row] for row in rows)

            return bisect_left(range(1, self.hosts[host].slots + 1), True, key=is_too_many)

        return {host: most(host) for host in self.asks(job).hosts}

    def place(self, job: Job, start: int, end: int) -> Slots | None:
        """Return the first feasible allocation of a job over [start, end), None if there is none.

        A job that starts now takes as many slots of its range as there are, a later one the fewest.
        """
        asked, free = self.asks(job), self.free(job, start, end)
        counts = list(range(job.slots, job.most_slots + 1))
        if start > self.now or (asked.cu is not None and asked.cu.balance):
            return self._first_of(job, counts, free, start, end)
        if asked.cu is not None and asked.cu.maxcus:
            base = self._first_of(job, counts, free, start, end)
            units = [unit.hosts for unit in asked.units if {*unit.hosts} & {*(base or ())}]
            free = {host: n * any(host in unit for unit in units) for host, n in free.items()}
        whole = [count for count in counts if asked.tile and count % asked.tile == 0]
        tried = (*counts[-1:], *reversed(whole), *reversed(counts))
        return self._first_of(job, tried, free, start, end)

    def _first_of(
        self, job: Job, counts: Iterable[int], free: Slots, start: int, end: int
    ) -> Slots | None:
        """Return the first feasible allocation of one of these numbers of slots."""
        idle = {name: host.slots for name, host in self.hosts.items()}
        for use in self.uses:
            if use.kind == "runs" and use.start <= self.now:
                idle = {name: n - use.slots.get(name, 0) for name, n in idle.items()}
        vacant = idle if start == self.now else dict.fromkeys(idle, 0)  # TBR-13
        for count in counts:
            for slots in allocations(self.asks(job), free, count, vacant):
                if slots and self.fits(job, slots, start, end):
                    return slots
        return None


def covers(scope: Scope | None, name: str) -> bool:
    """Return whether a limit with this scope counts a user or a queue of that name."""
    return scope is None or (
        name not in scope.excluded and (name in scope.names or "all" in scope.names)
    )
