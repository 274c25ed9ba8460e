"""The records of lsb.acct as jobs, each made when it is asked for, and their recorded starts."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ..errors import InputError
from ..gpu_request import GPUS_NAMED
from ..instance import Instance
from ..job import Job
from ..name_places import NamePlaces
from ..on_demand import OnDemand
from ..resreq import Vocabulary, heeded_part, readable, requirement_options
from ..resreq.hostless import hostless
from .finished_jobs import FinishedJob


class Requirements:
    """What of the requirements in a log can be asked of a cluster's hosts.

    cluster: None where the log alone says what hosts there are: then that part is kept which
    hosts without resources can meet (`hostless`).
    """

    def __init__(self, cluster: Instance | None) -> None:
        self._options = (
            None
            if cluster is None
            else requirement_options(cluster.params, Vocabulary.of_cluster(cluster.cluster))
        )
        #: Where no host has GPUs nobody described them: what jobs ask of them goes.
        self._bare = cluster is not None and not any(
            host.gpu_count for host in cluster.cluster.hosts
        )
        self._known: dict[tuple[str, int], tuple[str | None, tuple[str, ...]]] = {}

    @property
    def hostless(self) -> bool:
        """Whether nothing is known of hosts but their slots."""
        return self._options is None

    def of(self, text: str, slots: int) -> tuple[str | None, tuple[str, ...]]:
        """What is kept of the requirement of a job, and the parts that go, by name.

        slots: of the job. None: nothing of it can be read, so nobody knows what the job asks for.
        """
        if not text:
            return "", ()
        key = text, slots if self.hostless else 0
        if key not in self._known:
            self._known[key] = self._read(*key)
        return self._known[key]

    def _read(self, text: str, slots: int) -> tuple[str | None, tuple[str, ...]]:
        if self._options is None:
            kept, gone = hostless(text, slots)
            return kept, tuple(
                "unreadable requirement" if name == "unreadable" else f"{name}[]" for name in gone
            )
        sound, bare = readable(self._options), self._bare

        def keep(part: str) -> bool:
            return sound(part) and not (bare and GPUS_NAMED.search(part))

        if keep(text):
            return text, ()
        try:
            part = heeded_part(text, self._options, keep)
        except InputError:
            return None, ()
        return part, (f"part of the requirement {text}",)


class AcctJobs(OnDemand[Job]):
    """The records that started, in order of submission; zero: second 0, the first submission.

    Records whose requirement cannot be read are not among them (`unreadable`, by the text, how
    many). Without a cluster application profiles are left out.
    """

    __slots__ = ("_kept", "_records", "_requirements", "unreadable", "zero")

    def __init__(
        self, records: Sequence[FinishedJob], kept: Sequence[int], requirements: Requirements
    ) -> None:
        self._records = records
        self._kept = kept
        self._requirements = requirements
        self.unreadable: Counter[str] = Counter()
        self.zero = records[kept[0]].submit if len(kept) else 0

    @classmethod
    def of(cls, records: Sequence[FinishedJob], *, cluster: Instance | None) -> AcctJobs:
        """Of all records those of jobs that ever started, for the hosts of a cluster."""
        places, submits = array("q"), array("q")
        requirements = Requirements(cluster)
        unreadable: Counter[str] = Counter()
        for place, job in enumerate(records):
            if not (job.start and job.hosts):
                continue
            if requirements.of(job.res_req, sum(job.hosts.values()))[0] is None:
                unreadable[job.res_req] += 1
                continue
            places.append(place)
            submits.append(job.submit)
        order = np.argsort(np.array(submits, dtype=np.int64), kind="stable")
        kept = array("q", np.array(places, dtype=np.int64)[order].tobytes())
        found = cls(records, kept, requirements)
        found.unreadable = unreadable
        return found

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
            res_req=(text,) if (text := self._asks(job)[0]) else (),
            run_limit=job.run_limit,
            run_time=job.end - job.start,
            cpu_time=job.cpu_time,
            submit=job.submit - self.zero,
            begin=job.begin - self.zero if job.begin else None,
            application="" if self._requirements.hostless else job.application,
        )

    def passed_over(self) -> Iterator[tuple[str, ...]]:
        """For each job the parts of its requirement that are left out."""
        return (self._asks(job)[1] for job in self.records())

    def recorded_starts(self) -> Mapping[str, int]:
        """When the jobs really started, in seconds from second 0, by id."""
        return _Starts(self)

    def start_of(self, place: int) -> tuple[str, int]:
        """Id of a job, and when it really started."""
        job = self._records[self._kept[place]]
        return job.id, job.start - self.zero

    def _asks(self, job: FinishedJob) -> tuple[str | None, tuple[str, ...]]:
        return self._requirements.of(job.res_req, sum(job.hosts.values()))


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
