"""Jobs of the past as they would be submitted to an instance of today."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...model.instance import Instance
from ...model.job import Job
from ...model.workload import Ints
from ..world.requests import Requests
from .arrivals import ComingJobs
from .history import History
from .jobs import NO_LIMIT, ints
from .runtimes import ENDLESS


@dataclass(frozen=True, slots=True, eq=False)
class Newcomers:
    """What coming jobs ask for besides slots and time.

    kinds: different jobs of the history, of_row: which of them each of its rows is. here: those
    that run or wait now, in the order of the rows of the moment. prefix: of the names of coming
    jobs, with which no other name begins.
    """

    kinds: tuple[Job, ...]
    of_row: Ints
    here: tuple[Job, ...]
    prefix: str

    @classmethod
    def of(cls, instance: Instance, history: History, here: tuple[Job, ...]) -> Newcomers:
        """Jobs of the history in queues, projects and applications that the instance has."""
        queues = {queue.name for queue in instance.queues}
        usual = _usual_queue(instance, here)
        applications = {profile.name for profile in instance.applications}
        places: dict[tuple[object, ...], int] = {}
        kinds: list[Job] = []
        of_row: list[int] = []
        for row in range(len(history.jobs)):
            job = history.like(row)
            key = (job.user, job.queue, job.res_req, job.project, job.application)
            if key not in places:
                places[key] = len(kinds)
                kinds.append(
                    Job(
                        "",
                        user=job.user,
                        queue=job.queue if job.queue in queues else usual,
                        res_req=job.res_req,
                        project=job.project,
                        application=job.application if job.application in applications else "",
                        priority=instance.params.default_priority,
                    )
                )
            of_row.append(places[key])
        prefix = "+"
        while any(job.id.startswith(prefix) for job in here):
            prefix += "+"
        return cls(tuple(kinds), ints(of_row), here, prefix)

    def jobs(self, coming: ComingJobs, requests: Requests) -> Iterator[Job]:
        """The coming jobs, by submission, without those that fit on no hosts of the cluster.

        One whose requirement this cluster cannot meet asks for its slots alone.
        """
        columns = (coming.submit, coming.run_time, coming.limit, coming.slots, coming.row)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for number, (submit, run_time, limit, slots, row) in enumerate(rows):
            times = {
                "id": f"{self.prefix}{number}",
                "submit": submit,
                "run_time": None if run_time >= ENDLESS else run_time,
            }
            if row < 0:  # as it stands here, where it was accepted
                yield replace(self.here[-1 - row], **times, begin=None, queued_as=None)
                continue
            kind = self.kinds[self.of_row[row]]
            span = None if limit == NO_LIMIT else limit
            job = replace(kind, **times, slots=slots, run_limit=span)
            if requests.shape(job).never and job.res_req:
                job = replace(job, res_req=())
            if not requests.shape(job).never:
                yield job


def _usual_queue(instance: Instance, here: tuple[Job, ...]) -> str:
    """The default queue, else the one that most jobs are in, else the first."""
    names = [queue.name for queue in instance.queues]
    if instance.params.default_queue in names:
        return instance.params.default_queue
    used = [job.queue for job in here]
    return max(names, key=used.count)
