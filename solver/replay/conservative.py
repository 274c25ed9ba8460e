"""Conservative backfilling: every job has a reservation, which never moves later."""

from __future__ import annotations

from typing import Any

from .engine import Engine
from .processor_profile import ProcessorProfile


class Conservative(Engine):
    """A reservation at arrival; at each end, reservations move earlier in order of arrival.

    A reservation is the earliest start that disturbs no other reservation. It never moves later
    (Mu'alem and Feitelson 2001, with compression).
    """

    plans_ahead = True

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.profile = ProcessorProfile([self.now], [self.procs])
        self.waiting: list[int] = []  # reserved or just begun, in order of arrival
        self.arrived: list[int] = []  # not yet reserved
        self.compress_due = False
        # Whether a pass could still move something: a freed tail or a moved job leaves room.
        self.loose = False

    def hold(self, job: int, end: int) -> None:
        if end > self.now:
            self.profile.take(self.now, end, self.size[job])

    def submitted(self, job: int, now: int) -> None:
        self.arrived.append(job)

    def ended(self, job: int, now: int) -> None:
        planned_end = self.start[job] + self.request[job]
        if planned_end > now:
            self.profile.take(now, planned_end, -self.size[job])
            self.loose = True
        self.compress_due = True

    def schedule(self, now: int) -> None:
        profile = self.profile
        profile.forget_before(now)
        # Both can be due only once a time stamp: those who have a reservation come first.
        if self.compress_due and self.loose:
            self.compress(now)
        self.compress_due = False
        for job in self.arrived:
            start = profile.earliest(self.size[job], self.request[job], now)
            profile.take(start, start + self.request[job], self.size[job])
            self.begin(job, start)
            if start > now:
                self.waiting.append(job)
        self.arrived.clear()

    def compress(self, now: int) -> None:
        """One pass over the waiting jobs in order of arrival, each to its earliest start."""
        profile, start = self.profile, self.start
        self.loose = False
        self.waiting = [job for job in self.waiting if start[job] > now]
        for job in self.waiting:
            size, request, reserved = self.size[job], self.request[job], start[job]
            earlier = profile.earlier(size, request, now, reserved)
            if earlier < reserved:
                profile.take(reserved, reserved + request, -size)
                profile.take(earlier, earlier + request, size)
                self.begin(job, earlier)
                self.loose = True

    def policy_state(self) -> dict[str, Any]:
        return {
            "times": self.profile.times,
            "free": self.profile.free,
            "waiting": self.waiting,
            "loose": self.loose,
            "arrived": self.arrived,
            "compress_due": self.compress_due,
        }

    def restore_policy(self, state: dict[str, Any]) -> None:
        self.profile = ProcessorProfile(list(state["times"]), list(state["free"]))
        self.waiting = list(state["waiting"])
        self.loose = state["loose"]
        self.arrived = list(state["arrived"])
        self.compress_due = state["compress_due"]
