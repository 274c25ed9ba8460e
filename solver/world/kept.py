"""Running jobs that stay entered from one plan to the next, and are changed one by one.

Most of a plan's time goes into entering what runs. Here it is done once: a plan takes copies of the
columns, and a job that starts or ends changes its own rows alone. Kept are the jobs that
:class:`..entering.Entering` takes; the others (amounts that change over time, several terms, whole
units, suspended jobs) are entered anew for every plan, as from nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...model.instance import Instance
from ...model.job import RunningJob
from ..availability.free_now import FreeNow
from ..availability.running_profile import RunningProfile
from ..entering import Entering, Running
from ..fairshare.dispatch_policy import FirstCome
from .ends_of_running import ends_of_running
from .job_state import RUNNING, JobState
from .job_states import JobStates
from .requests import Requests
from .running_states import RunningStates
from .world import World


class KeptRunning:
    """The running jobs of an instance, by their place in it, and what they hold.

    instance: as estimates see it, hosts up. states: of all running jobs. plain: numbers of those
    that are kept; growing: of those of them that are resizable.
    """

    def __init__(self, instance: Instance, *, margin: int = 0) -> None:
        self.requests = Requests(instance, margin=margin)
        table = self.requests.resolver.table
        self.free_now = FreeNow(table)
        self.profile = RunningProfile(table, instance.now)
        for index, away in self.free_now.away.items():
            self.profile.hold_reported(index, away)
        self.states: list[JobState] = []
        self.plain: set[int] = set()
        self.growing: set[int] = set()
        self.started(instance, instance.running)

    def started(self, instance: Instance, more: Iterable[RunningJob]) -> None:
        """These jobs run too: they are the last of the instance."""
        self.requests.instance = self.requests.resolver.instance = instance
        # A world of nothing that runs, which knows what a job is expected to do.
        world = World(instance, self.requests, FirstCome(instance), 0, JobStates(()))
        jobs = list(more)
        first = len(self.states)
        for running in jobs:
            state = JobState(running.job, len(self.states))
            self.states.append(state)
            world.begun(state, running)
        ends, expected = ends_of_running(self.requests, jobs, world.now)
        # One that ends when its limit does not say so is expected anew as time goes by.
        steady = [not item.suspended and item.job.run_time is None for item in jobs]
        plain = Entering(self.requests.resolver, world.index).enter(
            Running(
                jobs,
                np.arange(first, len(self.states)),
                expected,
                (ends > world.now) & np.array(steady, dtype=bool),
            ),
            self.free_now,
            self.profile,
            np.zeros(len(instance.cluster.hosts), dtype=np.int64),
            other=lambda _: None,
        )
        for number in plain.tolist():
            self.states[number].status = RUNNING
            self.plain.add(number)
            if self.states[number].job.resizable:
                self.growing.add(number)

    def ended(self, number: int) -> None:
        """A job is gone; the last one of the instance takes its place."""
        if number in self.plain:
            self.profile.give_back(number, self.free_now)
            self.plain.discard(number)
            self.growing.discard(number)
        last = self.states.pop()
        if last.number == number:
            return
        if last.number in self.plain:
            self.plain.discard(last.number)
            self.plain.add(number)
            self.profile.renumber(last.number, number)
        if last.number in self.growing:
            self.growing.discard(last.number)
            self.growing.add(number)
        last.number = number
        self.states[number] = last

    # --- a plan ---------------------------------------------------------------------------------

    def enter(self, world: World) -> None:
        """All running jobs, for a world that only looks at those kept."""
        world.free_now = self.free_now.copy()
        world.running_profile = self.profile.twin(world.now)
        self.profile.last_begins(world.last_accepted)
        running = world.instance.running
        world.running = RunningStates(range(len(running)), world.states.keep)
        world.states.entered(self.plain, lambda state: self.states[state.number])
        for number in sorted({*range(len(running))} - self.plain):
            world.add_running(world.states.keep(number), running[number])
        for number in sorted(self.growing):
            world.growing[number] = world.states.keep(number)
        world.changed = True
