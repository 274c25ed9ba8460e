"""The records of lsb.acct as jobs, each made when it is asked for, and their recorded starts."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ..job import Job
from ..name_places import NamePlaces
from ..on_demand import OnDemand
from ..resreq.hostless import hostless
from .finished_jobs import FinishedJob


class AcctJobs(OnDemand[Job]):
    """The records that started, in order of submission; zero: second 0, the first submission.

    Of requirements that part is kept which hosts without resources can meet, where the log alone
    says what hosts there are (`hostless`); application profiles are then left out.
    """

    __slots__ = ("_hostless", "_kept", "_parts", "_records", "zero")

    def __init__(self, records: Sequence[FinishedJob], kept: Sequence[int], hostless: bool) -> None:
        self._records = records
        self._kept = kept
        self._hostless = hostless
        self._parts: dict[tuple[str, int], tuple[tuple[str, ...], tuple[str, ...]]] = {}
        self.zero = records[kept[0]].submit if len(kept) else 0

    @classmethod
    def of(cls, records: Sequence[FinishedJob], *, hostless: bool) -> AcctJobs:
        """Of all records those of jobs that ever started."""
        places, submits = array("q"), array("q")
        for place, job in enumerate(records):
            if job.start and job.hosts:
                places.append(place)
                submits.append(job.submit)
        order = np.argsort(np.array(submits, dtype=np.int64), kind="stable")
        return cls(records, array("q", np.array(places, dtype=np.int64)[order].tobytes()), hostless)

    def __len__(self) -> int:
        return len(self._kept)

    def records(self) -> Iterator[FinishedJob]:
        """The records of the jobs."""
        return (self._records[place] for place in self._kept)

    def item(self, place: int) -> Job:
        """The job of one record."""
        job = self._records[self._kept[place]]
        return Job(
            id=job.id,
            slots=max(1, sum(job.hosts.values())),
            user=job.user,
            queue=job.queue,
            project=job.project,
            res_req=self._asks(job)[0],
            run_limit=job.run_limit,
            run_time=job.end - job.start,
            cpu_time=job.cpu_time,
            submit=job.submit - self.zero,
            begin=job.begin - self.zero if job.begin else None,
            application="" if self._hostless else job.application,
        )

    def passed_over(self) -> Iterator[tuple[str, ...]]:
        """For each job the sections of its requirement that are left out."""
        return (self._asks(job)[1] for job in self.records())

    def recorded_starts(self) -> Mapping[str, int]:
        """When the jobs really started, in seconds from second 0, by id."""
        return _Starts(self)

    def start_of(self, place: int) -> tuple[str, int]:
        """Id of a job, and when it really started."""
        job = self._records[self._kept[place]]
        return job.id, job.start - self.zero

    def _asks(self, job: FinishedJob) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What of the requirement is kept, and the sections that go."""
        if not job.res_req:
            return (), ()
        if not self._hostless:
            return (job.res_req,), ()
        key = job.res_req, sum(job.hosts.values())
        if key not in self._parts:
            text, gone = hostless(*key)
            names = tuple("unreadable requirement" if n == "unreadable" else f"{n}[]" for n in gone)
            self._parts[key] = ((text,) if text else (), names)
        return self._parts[key]


class _Starts(Mapping[str, int]):
    """Recorded starts by job id."""

    def __init__(self, jobs: AcctJobs) -> None:
        self._jobs = jobs
        self._places = NamePlaces(self, self._name_at)

    def _name_at(self, place: int) -> str:
        return self._jobs.start_of(place)[0]

    def __getitem__(self, job: str) -> int:
        place = self._places.first(job)
        if place is None:
            raise KeyError(job)
        return self._jobs.start_of(place)[1]

    def __iter__(self) -> Iterator[str]:
        return map(self._name_at, range(len(self._jobs)))

    def __len__(self) -> int:
        return len(self._jobs)
