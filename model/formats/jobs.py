"""The jobs of a document: running, pending and future ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any

from ..errors import InputError
from ..instance import Instance
from ..job import Application, Job, RunningJob
from ..params import Params
from ..queue import Queue
from ..resreq import slots_without_n
from . import document as d
from .columns import INSTANTS, EntryColumns
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

    def waiting(self, section: str, given: Sequence[d.JobEntry] | EntryColumns) -> tuple[Job, ...]:
        """Pending or future jobs."""
        return tuple(self._jobs(self._columns(section, given)))

    def running(self, given: Sequence[d.RunningEntry] | EntryColumns) -> tuple[RunningJob, ...]:
        """Running jobs; one that does not say how many slots it asked for asked for what it has."""
        columns = self._columns("running", given)
        allocations = columns.column("allocation")
        used = [sum(allocation.values()) for allocation in allocations]
        beside = (columns.column(f.name, f.default) for f in fields(RunningJob)[3:])
        jobs = self._jobs(columns, used)
        return tuple(map(RunningJob, jobs, columns.column("start"), allocations, *beside))

    def counted(self, instance: Instance) -> Instance:
        """The instance in which waiting jobs without -n have the slots of their terms (REQ-14)."""
        by_level = {q.name for q in instance.queues if "{" in q.res_req}
        profiles = {p.name for p in instance.applications if "{" in p.res_req}

        def slots_of(job: Job) -> Job:
            if job.id not in self._without_n:
                return job
            compound = any("{" in text for text in job.res_req)
            if not (compound or job.queue in by_level or job.application in profiles):
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

    def _columns(self, section: str, given: Sequence[d.JobEntry] | EntryColumns) -> EntryColumns:
        if isinstance(given, EntryColumns):
            return given
        rows = [self._given((section, index), entry) for index, entry in enumerate(given)]
        return EntryColumns.of_rows(rows)

    def _given(self, place: Location, entry: d.JobEntry) -> dict[str, Any]:
        """The values that an entry gives, those of its bsub line among them."""
        row = {name: getattr(entry, name) for name in entry.model_fields_set - {"bsub"}}
        submitted = self._submitted(place, entry) if entry.bsub is not None else {}
        for key in INSTANTS:
            if row.get(key) is not None:
                row[key] = self._instant(place, key, row[key])
        if "slots" in submitted:
            submitted["slots"] = submitted["slots"], submitted.pop("max_slots")
        return row | submitted

    def _jobs(self, columns: EntryColumns, used: Sequence[int] | None = None) -> Iterator[Job]:
        """The jobs; used: slots that those without -n hold."""
        ids = columns.column("id")
        queues = [name or self._params.default_queue for name in columns.column("queue")]
        profiles = columns.column("application", "")
        asked = [slots or (None, None) for slots in columns.column("slots")]
        counts = [least for least, _ in asked]
        for index, count in enumerate(counts):
            if count is None:
                self._without_n.add(ids[index])
                counts[index] = (used[index] if used else 0) or default_slots(
                    self._queues.get(queues[index]), self._applications.get(profiles[index])
                )
        own: dict[str, Sequence[Any]] = {
            "id": ids,
            "slots": counts,
            "max_slots": [most for _, most in asked],
            "queue": queues,
            "application": profiles,
            "priority": columns.column("priority", self._params.default_priority),
        }
        rest = (f for f in fields(Job) if f.name not in own)
        own |= {field.name: columns.column(field.name, field.default) for field in rest}
        return map(Job, *(own[field.name] for field in fields(Job)))

    def _submitted(self, place: Location, entry: d.JobEntry) -> dict[str, Any]:
        """The fields of the bsub line; a field may not be given twice."""
        from .bsub import read_bsub

        here = (*place, "bsub")
        found, problems = read_bsub(entry.bsub or "", self._clock)
        self._findings += [Finding(here, problem.message) for problem in problems]
        for name in sorted(entry.model_fields_set & set(found)):
            self._findings.append(
                Finding((*place, name), f"{name} stands in the bsub line already")
            )
        return found


def default_slots(queue: Queue | None, application: Application | None) -> int:
    """Slots of a job without -n: the default of PROCLIMIT, the application's before the queue's."""
    limit = (application and application.slots) or (queue and queue.slots)
    return 1 if not limit else limit[1] or limit[0]
