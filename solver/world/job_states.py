"""The jobs of a simulation: those to come as the input has them, those here, and those gone.

Only a job that waits or runs is an object. One to come is made when its time comes, or somebody
asks for it, and one that has ended is a row of columns.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...model.errors import InputError
from ...model.job import Job
from ...model.name_places import NamePlaces
from ...model.on_demand import OnDemand
from ..availability.arrays import IntArray
from .ended_jobs import EndedJobs
from .job_state import JobState

#: In place of a row: the job has not ended.
_NO_ROW = -1


class JobStates(OnDemand[JobState]):
    """States by number. given: the jobs in the order of the input.

    here: states that are kept, by number: of jobs that wait or run, and of those to come that
    somebody has asked for by number or id and may have changed. modified: jobs that are no longer
    as they were given, by number.
    """

    def __init__(self, given: Sequence[Job]) -> None:
        self.given = given
        self.here: dict[int, JobState] = {}
        self.modified: dict[int, Job] = {}
        self.ended = EndedJobs()
        self._row = array("i", [_NO_ROW]) * len(given)
        self._by_id: dict[str, JobState] = {}
        self._entered: Container[int] = ()
        self._bring_up: Callable[[JobState], JobState] | None = None
        self._places: NamePlaces | None = None

    def __len__(self) -> int:
        return len(self._row)

    def add(self, job: Job) -> JobState:
        """A job that was not given, the last one from now on."""
        number = len(self)
        self._row.append(_NO_ROW)
        self.modified[number] = job
        return self.keep(number)

    def job(self, number: int) -> Job:
        """A job as it is now."""
        found = self.modified.get(number)
        return self.given[number] if found is None else found

    def item(self, place: int) -> JobState:
        """A state to look at: changes of a job that is not here are lost."""
        found = self.here.get(place)
        if found is not None:
            return found
        row = self._row[place]
        job = self.job(place)
        if row != _NO_ROW:
            return self.ended.state(row, job)
        found = JobState(job, place)
        if self._bring_up is not None and place in self._entered:
            return self._bring_up(found)
        return found

    def entered(self, numbers: Container[int], bring_up: Callable[[JobState], JobState]) -> None:
        """Jobs that are no objects here yet but run; bring_up: their states as they are now."""
        self._entered, self._bring_up = numbers, bring_up

    def keep(self, number: int) -> JobState:
        """The state of a job; if it has not ended, the one that counts from now on."""
        found = self.here.get(number)
        if found is None:
            found = self.item(number)
            if self._row[number] == _NO_ROW:
                self.here[number] = self._by_id[found.job.id] = found
        return found

    def modify(self, state: JobState, job: Job) -> None:
        """A job is no longer as it was given."""
        if job is not state.job:
            state.job = self.modified[state.number] = job

    def close(self, state: JobState) -> None:
        """A job has ended and will not change any more."""
        self._row[state.number] = self.ended.add(state)
        del self.here[state.number]
        del self._by_id[state.job.id]

    # --- by id ----------------------------------------------------------------------------------

    def find(self, name: str) -> JobState | None:
        """The state of a job by its id, kept as by :meth:`keep`; None if there is none."""
        found = self._by_id.get(name)
        if found is None:
            if self._places is None:
                names = (job.id for job in self.given)
                self._places = NamePlaces(names, lambda number: self.given[number].id)
            number = self._places.first(name)
            found = None if number is None else self.keep(number)
        return found

    def of(self, name: str) -> JobState:
        """The same of a job that there is; KeyError if there is none."""
        found = self._by_id.get(name) or self.find(name)
        if found is None:
            raise KeyError(name)
        return found

    def survey(self, look: Callable[[Job], int]) -> IntArray:
        """What `look` says of each job given, [n]; raises InputError where two have one id."""
        found = array("q")

        def names() -> Iterator[str]:
            for job in self.given:
                found.append(look(job))
                yield job.id

        self._places = NamePlaces(names(), lambda number: self.given[number].id)
        if (name := self._places.twice()) is not None:
            raise InputError(f"job {name} is there twice")
        return np.frombuffer(found, dtype=np.int64) if found else np.zeros(0, dtype=np.int64)

    # --- copies ---------------------------------------------------------------------------------

    def ended_so_far(self) -> JobStates:
        """What is known now of the jobs that are not here; what comes later changes nothing."""
        twin = JobStates(self.given)
        twin.modified, twin.ended, twin._row = dict(self.modified), self.ended, self._row[:]
        return twin

    def to_state(self) -> dict[str, Any]:
        """What has ended, as plain data."""
        return self.ended.to_state()

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Take over what :meth:`to_state` gave, before any job is kept."""
        self.ended.load_state(saved)
        for row, number in enumerate(self.ended.numbers()):
            self._row[number] = row
