"""Requirement strings of an instance: they can be read, name what exists, and would be accepted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, TypeAlias

from ..configuration import Queue
from ..errors import InputError, Problem
from ..gpu_request import gpu_options
from ..input_limits import counting
from ..instance import Instance
from ..job import Job
from ..progress import Poll, never, polled
from ..resreq import (
    Compound,
    Options,
    Requirement,
    RequirementMerging,
    Vocabulary,
    parse_with_notes,
    requirement_options,
)
from ..resreq.syntax import Cu, every, simples
from .document import Finding, Location
from .names import unknown_unit_type


def of_jobs(
    section: str,
    jobs: Sequence[Job],
    kind: Callable[[Job], Any],
    look: Callable[[Location, Job], Iterable[Finding]],
    poll: Poll = never,
) -> list[Finding]:
    """Return the findings about every job, located at the job.

    kind: key of everything that the checks depend on. One job of each kind is checked first; if its
    section is valid, the others need no check.
    """
    with counting():  # suggestions count only if findings are reported
        kinds = dict(zip(map(kind, jobs), jobs, strict=True))
        alike = polled(kinds.values(), poll)
        sound = not any(any(True for _ in look((), job)) for job in alike)
    if sound:
        return []
    numbered = enumerate(polled(jobs, poll))
    return [found for index, job in numbered for found in look((section, index), job)]


#: All fields of a job that affect the check of its requirement.
_ASKED = attrgetter(
    *(
        "res_req",
        "gpu",
        "extsched",
        "slots",
        "max_slots",
        "resizable",
        "queue",
        "application",
        "requeued",
    )
)
#: Findings of jobs with equal requirements in one queue.
_Known: TypeAlias = dict[tuple[object, ...], list[Finding]]
_Look: TypeAlias = Callable[[Job, Queue], Iterator[Finding]]


def check_requirements(instance: Instance, poll: Poll = never) -> list[Finding]:
    """Return findings about RES_REQ and -R; equal strings are parsed only one time."""
    reader = _RequirementReader(instance)
    found: list[Finding] = []
    for index, queue in enumerate(instance.queues):
        found += reader.read(("queues", index, "RES_REQ"), queue.res_req)
    for index, profile in enumerate(instance.applications):
        found += reader.read(("applications", index, "RES_REQ"), profile.res_req)
    found += _gpu_levels(instance)
    running = [item.job for item in instance.running]
    found += of_jobs("running", running, _ASKED, reader.read_job, poll)
    broken = any(not item.warning for item in found)
    reader.noted = "; ".join(item.message for item in found if item.warning)
    if not broken:
        found += of_jobs("running", running, _ASKED, reader.runs, poll)
    look = reader.read_job if broken else reader.waits
    found += of_jobs("pending", instance.pending, _ASKED, look, poll)
    found += of_jobs("future", instance.future, _ASKED, look, poll)
    return found


def _gpu_levels(instance: Instance) -> Iterator[Finding]:
    """Yield errors in GPU_REQ of queues and applications, and in LSB_GPU_REQ."""
    queues = ((("queues", n, "GPU_REQ"), q.gpu_req) for n, q in enumerate(instance.queues))
    profiles = (
        (("applications", n, "GPU_REQ"), item.gpu_req)
        for n, item in enumerate(instance.applications)
    )
    for place, text in (
        *queues,
        *profiles,
        (("params", "LSB_GPU_REQ"), instance.params.gpu_req),
    ):
        try:
            gpu_options(text, "extend")
        except InputError as error:
            for problem in error.problems:
                yield Finding(place, problem.message.replace("-gpu", "GPU_REQ", 1))


class _RequirementReader:
    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._merging = RequirementMerging.of(instance)
        self._queues = {queue.name: queue for queue in instance.queues}
        self._profiles = {profile.name for profile in instance.applications}
        known = Vocabulary.of_cluster(instance.cluster)
        self._options = requirement_options(instance.params, known)
        self._read: dict[tuple[str, bool], Finding | None] = {}
        self._accepted: _Known = {}
        self._clashes: _Known = {}
        #: Notes about queues and applications, which are not repeated for their jobs.
        self.noted = ""

    def read(self, place: Location, text: str, *, alone: bool = True) -> list[Finding]:
        """Return the errors of one string; parts that LSF ignores are warnings.

        alone: False for one of several -R options, where another may have the part that it needs.
        """
        key = (text, alone)
        if key not in self._read:
            self._read[key] = self._judge(text, replace(self._options, together=alone))
        found = self._read[key]
        return [] if found is None else [replace(found, place=place)]

    def _judge(self, text: str, options: Options) -> Finding | None:
        try:
            read = parse_with_notes(text, options)
        except InputError as error:
            return _refusal(error.problems[0])
        types = self._instance.cluster.unit_types
        found = (cu.type for one in every(read.requirement) for cu in _units(one))
        for name in found:
            if name and types and name not in types:
                return Finding((), unknown_unit_type(name, types), undefined=True)
        return Finding((), "; ".join(read.notes), warning=True) if read.notes else None

    def read_job(self, place: Location, job: Job) -> list[Finding]:
        """Return the errors of the requirement strings of a job."""
        if not job.res_req:
            return []
        alone = len(job.res_req) == 1
        where = (*place, "res_req")
        return [found for text in job.res_req for found in self.read(where, text, alone=alone)]

    def waits(self, place: Location, job: Job) -> list[Finding]:
        """Return the errors of a pending job's strings, else the reason why bsub would refuse it.

        A requeued job is checked as running jobs are.
        """
        look = self.runs if job.requeued else self.submitted
        found = self.read_job(place, job)
        if any(not item.warning for item in found):
            return found
        noted = "; ".join((self.noted, *(item.message for item in found)))
        return found + [item for item in look(place, job) if item.message not in noted]

    def runs(self, place: Location, job: Job) -> list[Finding]:
        """Return why the resources of a running job are unknown: its -R contradicts RES_REQ."""
        return self._once(self._clashes, self._unmergeable, place, job)

    def submitted(self, place: Location, job: Job) -> list[Finding]:
        """Return why bsub would reject the job, considering its queue and application."""
        return self._once(self._accepted, self._refusals, place, job)

    def _once(self, known: _Known, look: _Look, place: Location, job: Job) -> list[Finding]:
        """Return the findings about a job and its queue, cached for equal jobs."""
        queue = self._queues.get(job.queue)
        if queue is None or (job.application and job.application not in self._profiles):
            return []
        key = _ASKED(job)
        if key not in known:
            known[key] = list(look(job, queue))
        return [replace(f, place=(*place, *f.place)) for f in known[key]]

    def _unmergeable(self, job: Job, _queue: Queue) -> Iterator[Finding]:
        try:
            merged = self._merging.requirement(job)
        except InputError as error:
            wrong = [*map(_refusal, error.problems)]
        else:
            wrong = [f for one in every(merged.requirement) for f in _disagreement(one, job)]
        for found in wrong:
            message = f"{found.message}, so the resources of the job are unknown"
            yield replace(found, message=message, place=found.place or ("res_req",))

    def _refusals(self, job: Job, queue: Queue) -> Iterator[Finding]:
        """Yield findings that are placed at a field of the job."""
        for found in self._merged(job, queue):
            yield found if found.place else replace(found, place=("res_req",))

    def _merged(self, job: Job, queue: Queue) -> Iterator[Finding]:
        """Yield errors of the merged requirement, not yet located."""
        try:
            merged = self._merging.requirement(job)
        except InputError as error:
            yield from map(_refusal, error.problems)
            return
        for warning in merged.warnings:
            yield Finding((), warning, warning=True)
        for requirement in every(merged.requirement):
            yield from _disagreement(requirement, job)
            yield from dict.fromkeys(self._units(requirement, job, queue))

    def _units(self, requirement: Requirement, job: Job, queue: Queue) -> Iterator[Finding]:
        """Yield violations of rules of cu[] and resizable jobs that need cluster and queue."""
        compound = isinstance(requirement, Compound)
        if job.resizable and (compound or self._merging.asks_for_units(job)):
            asked = "compound requirement" if compound else "cu[]"
            yield Finding((), f"a resizable job (-ar) cannot have {asked}")
        for cu in _units(requirement):
            yield from self._unit_type(cu, queue)

    def _unit_type(self, cu: Cu, queue: Queue) -> Iterator[Finding]:
        types = self._instance.cluster.unit_types
        wanted = cu.type or self._instance.cluster.default_unit_type
        if wanted is None or wanted not in types:  # there are none
            message = "cu[] needs compute units: COMPUTE_UNIT_TYPES is not set"
            yield Finding((), message, undefined=True)
        else:
            yield from (Finding((), text) for text in self._exclusive(cu, wanted, types, queue))

    def _exclusive(
        self, cu: Cu, wanted: str, types: tuple[str, ...], queue: Queue
    ) -> Iterator[str]:
        if not cu.excl:
            return
        allowed = queue.exclusive.removeprefix("CU[").removesuffix("]")
        if not queue.exclusive.startswith("CU["):
            yield f"cu[excl] needs EXCLUSIVE: CU[{wanted}] in queue {queue.name}"
        elif allowed in types and types.index(wanted) > types.index(allowed):
            yield (
                f"cu[excl] of type {wanted} is coarser than queue {queue.name} allows: "
                f"EXCLUSIVE is CU[{allowed}]"
            )


def _units(requirement: Requirement) -> Iterator[Cu]:
    """Yield the cu[] of each term."""
    return filter(None, (simple.cu for simple in simples(requirement)))


def _disagreement(requirement: Requirement, job: Job) -> Iterator[Finding]:
    """Yield an error if the counts of a compound requirement differ from the slots of the job."""
    if isinstance(requirement, Compound):
        total = sum(term.count or 0 for term in requirement.terms)
        if total != job.most_slots:
            wrong = f"the terms request {total} slots, but -n is {job.most_slots}: give -n {total}"
            yield Finding((), wrong)


def _refusal(problem: Problem) -> Finding:
    place = (problem.path,) if problem.path else ()
    return Finding(place, problem.message, undefined=problem.undefined)
