"""The jobs of a document: running, pending and future ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ..errors import InputError
from ..instance import Instance
from ..job import Application, Job, RunningJob
from ..params import Params
from ..queue import Queue
from ..resreq import slots_without_n
from . import document as d
from .finding import Finding, Location
from .units import Clock


class JobBuilder:
    """Builds jobs; what is wrong goes to `findings` with its place in the document."""

    def __init__(
        self,
        queues: Sequence[Queue],
        applications: Sequence[Application],
        params: Params,
        clock: Clock,
        findings: list[Finding],
    ) -> None:
        self._queues = {queue.name: queue for queue in queues}
        self._applications = {profile.name: profile for profile in applications}
        self._params = params
        self._clock = clock
        self._findings = findings
        self._without_n: set[str] = set()

    def waiting(self, section: str, entries: Iterable[d.JobEntry]) -> tuple[Job, ...]:
        """Pending or future jobs."""
        return tuple(
            self._job((section, index), entry, None) for index, entry in enumerate(entries)
        )

    def running(self, entries: Iterable[d.RunningEntry]) -> tuple[RunningJob, ...]:
        """Running jobs; one that does not say how many slots it asked for asked for what it has."""
        built: list[RunningJob] = []
        for index, entry in enumerate(entries):
            place: Location = ("running", index)
            job = self._job(place, entry, sum(entry.allocation.values()))
            built.append(
                RunningJob(
                    job,
                    self._instant(place, "start", entry.start),
                    entry.allocation,
                    None if entry.finish is None else self._instant(place, "finish", entry.finish),
                    entry.alternative,
                    entry.suspended,
                )
            )
        return tuple(built)

    def counted(self, instance: Instance) -> Instance:
        """The instance in which waiting jobs without -n have the slots of their terms (REQ-14)."""
        by_level = {q.name for q in instance.queues if "{" in q.res_req}
        profiles = {p.name for p in instance.applications if "{" in p.res_req}

        def slots_of(job: Job) -> Job:
            compound = any("{" in text for text in job.res_req)
            if job.id not in self._without_n or not (
                compound or job.queue in by_level or job.application in profiles
            ):
                return job
            with suppress(InputError, KeyError):  # what is wrong is found by the rules
                return replace(job, slots=slots_without_n(instance, job))
            return job

        return replace(
            instance,
            pending=tuple(map(slots_of, instance.pending)),
            future=tuple(map(slots_of, instance.future)),
        )

    def _instant(self, place: Location, key: str, instant: Any) -> int:
        if type(instant) is int:
            return instant
        try:
            return self._clock.seconds(instant)
        except ValueError as error:
            self._findings.append(Finding((*place, key), str(error)))
            return 0

    def _job(self, place: Location, entry: d.JobEntry, used: int | None) -> Job:
        slots, max_slots = entry.slots or (None, None)
        queue = entry.queue or self._params.default_queue
        application = entry.application
        submitted: dict[str, Any] = {}
        if entry.bsub is not None:
            submitted = self._submitted(place, entry)
            queue = submitted.pop("queue", queue)
            application = submitted.pop("application", application)
            slots, max_slots = submitted.pop("slots", slots), submitted.pop("max_slots", max_slots)
        if slots is None:
            self._without_n.add(entry.id)
            slots = used or default_slots(
                self._queues.get(queue), self._applications.get(application)
            )
        job = Job(
            id=entry.id,
            slots=slots,
            max_slots=max_slots,
            user=entry.user,
            queue=queue,
            res_req=entry.res_req,
            run_limit=entry.run_limit,
            cpu_limit=entry.cpu_limit,
            run_time=entry.run_time,
            cpu_time=entry.cpu_time,
            submit=self._instant(place, "submit", entry.submit),
            begin=self._optional(place, "begin", entry.begin),
            deadline=self._optional(place, "deadline", entry.deadline),
            priority=self._priority(entry),
            weight=entry.weight,
            project=entry.project,
            group=entry.group,
            application=application,
            hosts=entry.hosts,
            exclusive=entry.exclusive,
            resizable=entry.resizable,
            from_host=entry.from_host,
            gpu=entry.gpu,
            extsched=entry.extsched,
            queued_as=entry.queued_as,
        )
        return replace(job, **submitted) if submitted else job

    def _priority(self, entry: d.JobEntry) -> int:
        given = "priority" in entry.model_fields_set
        return entry.priority if given else self._params.default_priority

    def _optional(self, place: Location, key: str, instant: Any) -> int | None:
        return None if instant is None else self._instant(place, key, instant)

    def _submitted(self, place: Location, entry: d.JobEntry) -> dict[str, Any]:
        """The fields of the bsub line; a field may not be given twice."""
        from .bsub import read_bsub

        here = (*place, "bsub")
        fields, problems = read_bsub(entry.bsub or "", self._clock)
        self._findings += [Finding(here, problem.message) for problem in problems]
        for name in sorted(entry.model_fields_set & set(fields)):
            self._findings.append(
                Finding((*place, name), f"{name} stands in the bsub line already")
            )
        return fields


def default_slots(queue: Queue | None, application: Application | None) -> int:
    """Slots of a job without -n: the default of PROCLIMIT, the application's before the queue's."""
    limit = (application and application.slots) or (queue and queue.slots)
    return 1 if not limit else limit[1] or limit[0]
