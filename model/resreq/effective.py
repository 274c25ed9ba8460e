"""The requirement by which a job of an instance is scheduled."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from ..gpu_request import (
    GPU_NAMES,
    NOTHING_OF_ITS_OWN,
    OLD_EXCLUSIVE,
    PHYSICAL,
    GpuRequest,
    gpu_options,
    gpu_request,
)
from ..instance import Instance
from ..job import Job
from ..params import Params
from .combine import Merged, combine
from .extsched import laid_out
from .levels import merge_levels, resolve_counts
from .options import Options
from .printer import print_requirement
from .rusage import alternatives, amounts
from .syntax import Amount, Compound, Requirement, Rusage, Simple, UsageString, simples
from .vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class RequirementMerging:
    """What decides in an instance how the requirements of its jobs are merged, put together once.

    job_based: resources that count once a job (RSV-08).
    """

    instance: Instance
    options: Options
    job_based: frozenset[str]

    @classmethod
    def of(cls, instance: Instance) -> RequirementMerging:
        """Of an instance."""
        known = Vocabulary.of_definitions(instance.cluster.resources)
        options = requirement_options(instance.params, known)
        return cls(instance, options, _job_based(instance))

    def requirement(self, job: Job) -> Merged:
        """As :func:`effective_requirement`."""
        return self.merged(job, (job.slots, job.most_slots))

    def merged(self, job: Job, slots: tuple[int, int] | None) -> Merged:
        """The same; slots: -n min and max, None where the job gives no -n."""
        queue = self.instance.queue(job.queue)
        application = self.instance.application(job.application) if job.application else None
        limits = _processor_limit(self.instance, job)
        return _effective(
            job.res_req,
            application.res_req if application is not None else "",
            queue.res_req,
            tuple(sorted(queue.resrsv_limit.items())),
            self.job_based,
            self.options,
            slots,
            limits[1] if limits is not None else None,
            job.extsched,
            self.gpus_asked(job),
        )

    def gpus_asked(self, job: Job) -> GpuRequest | None:
        """What -gpu and GPU_REQ ask for, None where there is neither (GPU-02)."""
        application = self.instance.application(job.application) if job.application else None
        above = (application.gpu_req if application else "", self.instance.queue(job.queue).gpu_req)
        params = self.instance.params
        if job.gpu:
            gpu_options(job.gpu.removeprefix(NOTHING_OF_ITS_OWN), params.gpu_syntax)
        return self._gpus((job.gpu, *above)) if any((job.gpu, *above)) else None

    def gpus(self, job: Job) -> GpuRequest | None:
        """The GPUs that a job needs by -gpu, GPU_REQ or its rusage, None for none (GPU-02).

        Raises as :meth:`requirement` does.
        """
        names = gpus_reserved(self.requirement(job).requirement)
        if not names:
            return None
        found = self.gpus_asked(job) or self._gpus(())
        return replace(found, shares=found.shares and not names & OLD_EXCLUSIVE)

    def gpu_text(self, job: Job) -> str:
        """The GPU requirement of a job as bjobs -l prints it, "" for none.

        Raises as :meth:`requirement` does.
        """
        found = self.gpus(job)
        if found is None:
            return ""
        asked = self.gpus_asked(job)
        number = f"num={found.num}{f'/{found.per}' if found.per else ''}:" if asked else ""
        mode = "exclusive_process" if found.process else "shared"
        own = "no" if found.shares else "yes"
        kind = "".join(f":{text}" for text in found.kind_options())
        return f"{number}mode={mode}:mps={found.mps}:j_exclusive={own}{kind}"

    def gpus_held(self, job: Job, slots: int) -> int:
        """GPUs that a job with so many slots on a host has there.

        Raises as :meth:`requirement` does.
        """
        params, usages = self.instance.params, self.instance.reservation_usage
        stated = {usage.resource: usage.method for usage in usages}
        total = 0.0
        for simple in simples(self.requirement(job).requirement)[:1]:
            for name, (amount, _) in amounts(alternatives(simple.rusage)[0]).items():
                usual = "PER_SLOT" if params.reserve_per_slot else "PER_HOST"
                said = {"task": "PER_SLOT", "host": "PER_HOST", "job": "PER_JOB"}
                method = said.get(amount.per) or stated.get(name, usual)
                if name in GPU_NAMES:
                    times = slots if method == "PER_SLOT" else 1
                    total += max(amount.values, default=0.0) * times
        return round(total)

    def _gpus(self, levels: tuple[str, ...]) -> GpuRequest:
        params = self.instance.params
        return gpu_request(
            levels,
            cluster=params.gpu_req,
            unit=params.unit_for_limits,
            separately=params.gpu_req_merge,
        )


def gpus_reserved(requirement: Requirement) -> frozenset[str]:
    """The names under which a requirement reserves GPUs."""
    return (
        frozenset(
            name
            for simple in simples(requirement)
            for alternative in alternatives(simple.rusage)
            for name in amounts(alternative)
        )
        & GPU_NAMES
    )


def effective_requirement(instance: Instance, job: Job) -> Merged:
    """Job, application and queue level merged, counts of a compound requirement resolved.

    Equal strings under equal parameters are merged once. Raises InputError (ResreqError for a
    string that cannot be read) when the job must be refused. KeyError if the queue is unknown.
    """
    return RequirementMerging.of(instance).requirement(job)


def slots_without_n(instance: Instance, job: Job) -> int:
    """Slots of a job that gives no -n: what the terms of a compound requirement add up to.

    Without one the default of PROCLIMIT, the application's before the queue's, else 1. Raises as
    :func:`effective_requirement` does.
    """
    requirement = RequirementMerging.of(instance).merged(job, None).requirement
    if isinstance(requirement, Compound):
        return sum(term.count or 0 for term in requirement.terms)
    limit = _processor_limit(instance, job)
    return 1 if limit is None else limit[1] or limit[0]


def requirement_options(params: Params, vocabulary: Vocabulary) -> Options:
    """How requirement strings are read under the parameters of a cluster."""
    return Options(
        strict=params.strict_resreq,
        lenient=params.lenient,
        unit=params.unit_for_limits,
        vocabulary=vocabulary,
        dialect=params.dialect,
    )


def requested(instance: Instance, job: Job) -> str:
    """The -R of a job as views show it: one string, several options merged into one (004).

    Raises InputError where they cannot be merged.
    """
    if len(job.res_req) < 2:
        return " ".join(job.res_req)
    options = requirement_options(instance.params, Vocabulary())
    return print_requirement(combine(job.res_req, options).requirement, options.unit)


def _processor_limit(instance: Instance, job: Job) -> tuple[int, int | None, int | None] | None:
    """PROCLIMIT, the application's before the queue's."""
    application = instance.application(job.application) if job.application else None
    return (application and application.slots) or instance.queue(job.queue).slots


def _job_based(instance: Instance) -> frozenset[str]:
    """Resources that count once a job (RSV-08): as ReservationUsage says, else the shared ones."""
    stated = {usage.resource: usage.method for usage in instance.reservation_usage}
    if not instance.params.reserve_per_slot:
        for shared in instance.cluster.shared:
            stated.setdefault(shared.name, "PER_JOB")
    return frozenset(name for name, method in stated.items() if method == "PER_JOB")


@lru_cache(maxsize=16384)
def _effective(
    job: tuple[str, ...],
    application: str,
    queue: str,
    resrsv_limit: tuple[tuple[str, tuple[float, float]], ...],
    job_based: frozenset[str],
    options: Options,
    slots: tuple[int, int] | None,
    proclimit_default: int | None,
    extsched: str,
    gpus: GpuRequest | None,
) -> Merged:
    levels = [combine(job, options), combine((application,), options), combine((queue,), options)]
    merged = merge_levels(
        levels[0].requirement,
        levels[1].requirement,
        levels[2].requirement,
        resrsv_limit=dict(resrsv_limit),
        job_based=job_based,
        unit=options.unit,
    )
    warnings = [warning for level in levels for warning in level.warnings]
    requirement = _counted(merged.requirement, slots, proclimit_default)
    if extsched:
        requirement = laid_out(requirement, levels[0].requirement, extsched, slots)
    if gpus is not None and not gpus_reserved(requirement):
        requirement = _with_gpus(requirement, gpus)
    return Merged(requirement, tuple(dict.fromkeys([*warnings, *merged.warnings])))


def _with_gpus(requirement: Requirement, gpus: GpuRequest) -> Requirement:
    """The requirement with the GPUs of -gpu in its rusage, of a compound one in each term."""
    if isinstance(requirement, Compound):
        terms = (replace(t, requirement=_reserving(t.requirement, gpus)) for t in requirement.terms)
        return Compound(tuple(terms))
    return _reserving(requirement, gpus)


def _reserving(simple: Simple, gpus: GpuRequest) -> Simple:
    usage = UsageString((Amount(PHYSICAL, (float(gpus.num),), per=gpus.per),))
    found = tuple((*alternative, usage) for alternative in alternatives(simple.rusage))
    return replace(simple, rusage=Rusage(found))


def _counted(
    requirement: Requirement, slots: tuple[int, int] | None, proclimit_default: int | None
) -> Requirement:
    """Counts of a compound requirement; None and a single slot are a job that gave no -n."""
    if not isinstance(requirement, Compound):
        return requirement
    asked = None if slots in (None, (1, 1)) else slots
    return resolve_counts(requirement, asked and asked[1], proclimit_default)
