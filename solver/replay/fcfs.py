"""First come first served."""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Any

from .engine import Engine


class Fcfs(Engine):
    """Strictly in order of arrival: nobody starts before the head of the queue does."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.waiting: list[int] = []  # in order of arrival
        self.free = self.procs
        self.running: list[tuple[int, int]] = []  # (planned end, job), sorted
        # Waiting jobs before this place were refused and nothing was freed since, so they are
        # refused still: with time, what a job may use only shrinks.
        self.refused = 0

    def hold(self, job: int, end: int) -> None:
        self.free -= self.size[job]
        insort(self.running, (end, job))

    def submitted(self, job: int, now: int) -> None:
        self.waiting.append(job)

    def ended(self, job: int, now: int) -> None:
        planned_end = self.start[job] + self.request[job]
        if planned_end > now:
            del self.running[bisect_left(self.running, (planned_end, job))]
            self.free += self.size[job]
            self.refused = 0

    def schedule(self, now: int) -> None:
        running = self.running
        # A planned end frees by the clock: a submission at that time stamp precedes the end event.
        while running and running[0][0] <= now:
            self.free += self.size[running.pop(0)[1]]
            self.refused = 0
        if self.refused < len(self.waiting):
            if self.refused == 0:
                self.start_heads(now)
            self.backfill(now)
            self.refused = len(self.waiting)

    def start_heads(self, now: int) -> None:
        """Start jobs from the head of the queue while they fit."""
        started = 0
        for job in self.waiting:
            if self.size[job] > self.free:
                break
            self.occupy(job, now)
            started += 1
        del self.waiting[:started]

    def occupy(self, job: int, now: int) -> None:
        """Start `job`, which fits."""
        self.hold(job, now + self.request[job])
        self.begin(job, now)

    def backfill(self, now: int) -> None:
        """Nobody overtakes under FCFS."""

    def policy_state(self) -> dict[str, Any]:
        return {
            "waiting": self.waiting,
            "free": self.free,
            "running": self.running,
            "refused": self.refused,
        }

    def restore_policy(self, state: dict[str, Any]) -> None:
        self.waiting = list(state["waiting"])
        self.free = state["free"]
        self.running = [(end, job) for end, job in state["running"]]
        self.refused = state["refused"]
