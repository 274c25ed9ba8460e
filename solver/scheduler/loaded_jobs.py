"""The running jobs that a planner keeps loaded from one plan to the next, and updates one by one.

Most of a plan's time goes into entering what runs. Here it is done once: a plan takes copies of
the columns, and a job that starts or ends changes its own rows alone. Kept are the jobs that
:class:`.RunningJobLoader` takes; the others (amounts that change over time, several terms,
whole units, suspended jobs) are entered anew for every plan, as from nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...model.instance import Instance
from ...model.job import RunningJob
from ..availability.running_profile import RunningProfile
from ..fairshare.priority_order import FirstCome
from ..problem import Running, RunningJobLoader
from .job_state import (
    RUNNING,
    JobState,
    JobStates,
    RunningStates,
    ShapeTable,
)
from .world import World, ends_of_running


class LoadedRunningJobs:
    """The running jobs of an instance, by index, and their resources.

    instance: as estimates see it, with all hosts up.
    """

    def __init__(self, instance: Instance, *, margin: int = 0) -> None:
        self.requests = ShapeTable(instance, margin=margin)
        self.profile = RunningProfile(self.requests.resolver.table, instance.now)
        #: Indices of all running jobs.
        self.states: list[JobState] = []
        #: Numbers of the jobs that stay loaded from plan to plan.
        self.plain: set[int] = set()
        self.started(instance, instance.running)

    def started(self, instance: Instance, more: Iterable[RunningJob]) -> None:
        """Add running jobs; they are the last jobs of the instance."""
        self.requests.resolver.instance = instance
        # A cluster state without running jobs, used to compute expected durations.
        world = World(instance, self.requests, FirstCome(instance), 0, JobStates(()))
        jobs = list(more)
        first = len(self.states)
        for running in jobs:
            state = JobState(running.job, len(self.states))
            self.states.append(state)
            world.begun(state, running)
        ends, expected = ends_of_running(self.requests, jobs, world.now)
        # The expected end of a job without a run limit is recomputed as time passes.
        steady = [not item.suspended and item.job.run_time is None for item in jobs]
        plain = RunningJobLoader(self.requests.resolver).enter(
            Running(
                jobs,
                np.arange(first, len(self.states)),
                expected,
                (ends > world.now) & np.array(steady, dtype=bool),
            ),
            self.profile,
            other=lambda _: None,
        )
        for number in plain.tolist():
            self.states[number].status = RUNNING
            self.plain.add(number)

    def ended(self, number: int) -> None:
        """Remove a job; the last job of the instance takes its number."""
        if number in self.plain:
            self.profile.ended(number)
            self.plain.discard(number)
        last = self.states.pop()
        if last.number == number:
            return
        if last.number in self.plain:
            self.plain.discard(last.number)
            self.plain.add(number)
            self.profile.renumber(last.number, number)
        last.number = number
        self.states[number] = last

    def _has_passed_its_estimate(self, state: JobState, now: int) -> bool:
        """Whether a job is expected to run to its limit now, but was not when it was loaded."""
        span, start = state.duration, state.start
        return (
            span is not None and span != state.limit and start is not None and start + span <= now
        )

    def _give_up_passed(self, now: int) -> None:
        """Stop keeping the jobs whose expected ends have changed."""
        for number in [n for n in self.plain if self._has_passed_its_estimate(self.states[n], now)]:
            self.profile.ended(number)
            self.plain.discard(number)

    def enter(self, world: World) -> None:
        """Enter all running jobs into a cluster state, one by one only if they are not kept."""
        self._give_up_passed(world.now)
        world.running_profile = self.profile.twin(world.now)
        running = world.instance.running
        world.running = RunningStates(range(len(running)), world.states.activate)
        world.states.entered(self.plain, lambda state: self.states[state.number])
        for number in sorted({*range(len(running))} - self.plain):
            world.add_running(world.states.activate(number), running[number])
        for number in sorted(n for n in self.plain if self.states[n].job.resizable):
            world.subsets.growing[number] = world.states.activate(number)
        world.changed = True
