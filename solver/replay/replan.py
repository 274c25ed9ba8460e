"""Conservative backfilling by planning anew: every job has a reservation until the next plan."""

from __future__ import annotations

from typing import Any

from .engine import Engine
from .processor_profile import ProcessorProfile


class Replan(Engine):
    """All reservations are dropped and planned anew, first come first served.

    A job may thus be moved later than it was once promised. Planning anew is skipped where it
    cannot change anything: while no job ends before its planned end, the plan stays what it was
    and arrivals are appended to it.
    """

    default_schedule_after = "timestamp"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.profile = ProcessorProfile([self.now], [self.procs])
        self.waiting: list[int] = []  # in order of arrival
        self.planned: list[int] = []  # planned start of each waiting job, where it has one
        self.running: dict[int, int] = {}  # job to planned end
        self.stale = False

    def hold(self, job: int, end: int) -> None:
        self.running[job] = end
        self.stale = True

    def submitted(self, job: int, now: int) -> None:
        self.waiting.append(job)

    def ended(self, job: int, now: int) -> None:
        if self.running.pop(job) > now:
            self.stale = True

    def schedule(self, now: int) -> None:
        if self.stale:
            self.profile = self.free_beside_running(now)
            self.planned.clear()
            self.stale = False
        else:
            self.profile.forget_before(now)
        self.plan(now)
        if now in self.planned:
            self.start_due(now)

    def free_beside_running(self, now: int) -> ProcessorProfile:
        """What the running jobs leave free from `now` on, by their planned ends."""
        freed: dict[int, int] = {now: 0}
        free = self.procs
        for job, end in self.running.items():
            if end > now:
                free -= self.size[job]
                freed[end] = freed.get(end, 0) + self.size[job]
        times = sorted(freed)
        steps = []
        for time in times:
            free += freed[time]
            steps.append(free)
        return ProcessorProfile(times, steps)

    def plan(self, now: int) -> None:
        """Give every waiting job without a planned start the earliest one, in order of arrival."""
        profile, planned = self.profile, self.planned
        # An equal job planned before bounds the search: the profile only fills up within a plan.
        equal: dict[tuple[int, int], int] = {}
        for job in self.waiting[len(planned) :]:
            size, request = self.size[job], self.request[job]
            start = profile.earliest(size, request, equal.get((size, request), now))
            equal[size, request] = start
            profile.take(start, start + request, size)
            planned.append(start)

    def start_due(self, now: int) -> None:
        """Start the jobs whose planned start is now."""
        later = [place for place, start in enumerate(self.planned) if start > now]
        for job, start in zip(self.waiting, self.planned, strict=True):
            if start == now:
                self.running[job] = now + self.request[job]
                self.begin(job, now)
        self.waiting = [self.waiting[place] for place in later]
        self.planned = [self.planned[place] for place in later]

    def policy_state(self) -> dict[str, Any]:
        return {
            "times": self.profile.times,
            "free": self.profile.free,
            "waiting": self.waiting,
            "planned": self.planned,
            "running": list(self.running.items()),
            "stale": self.stale,
        }

    def restore_policy(self, state: dict[str, Any]) -> None:
        self.profile = ProcessorProfile(list(state["times"]), list(state["free"]))
        self.waiting = list(state["waiting"])
        self.planned = list(state["planned"])
        self.running = dict(state["running"])
        self.stale = state["stale"]
