"""The requirement by which a job of an instance is scheduled."""

from __future__ import annotations

from functools import lru_cache

from ..instance import Instance
from ..job import Job
from .combine import Merged, combine
from .levels import merge_levels, resolve_counts
from .options import Options
from .syntax import Compound, Requirement
from .vocabulary import Vocabulary


def effective_requirement(instance: Instance, job: Job) -> Merged:
    """Job, application and queue level merged, counts of a compound requirement resolved.

    Equal strings under equal parameters are merged once. Raises InputError (ResreqError for a
    string that cannot be read) when the job must be refused. KeyError if the queue is unknown.
    """
    queue = instance.queue(job.queue)
    application = instance.application(job.application) if job.application else None
    params = instance.params
    options = Options(
        strict=params.strict_resreq,
        unit=params.unit_for_limits,
        vocabulary=Vocabulary.of_definitions(instance.cluster.resources),
    )
    job_based = frozenset(
        usage.resource for usage in instance.reservation_usage if usage.method == "PER_JOB"
    )
    profile = application.slots if application is not None else None
    limits = profile or queue.slots
    return _effective(
        job.res_req,
        application.res_req if application is not None else "",
        queue.res_req,
        tuple(sorted(queue.resrsv_limit.items())),
        job_based,
        options,
        (job.slots, job.most_slots),
        limits[1] if limits is not None else None,
    )


@lru_cache(maxsize=16384)
def _effective(
    job: tuple[str, ...],
    application: str,
    queue: str,
    resrsv_limit: tuple[tuple[str, tuple[float, float]], ...],
    job_based: frozenset[str],
    options: Options,
    slots: tuple[int, int],
    proclimit_default: int | None,
) -> Merged:
    levels = [combine(job, options), combine((application,), options), combine((queue,), options)]
    merged = merge_levels(
        levels[0].requirement,
        levels[1].requirement,
        levels[2].requirement,
        resrsv_limit=dict(resrsv_limit),
        job_based=job_based,
    )
    warnings = [warning for level in levels for warning in level.warnings]
    requirement = _counted(merged.requirement, slots, proclimit_default)
    return Merged(requirement, tuple(dict.fromkeys([*warnings, *merged.warnings])))


def _counted(
    requirement: Requirement, slots: tuple[int, int], proclimit_default: int | None
) -> Requirement:
    """Counts of a compound requirement; one slot without a range is a job that gave no -n."""
    if not isinstance(requirement, Compound):
        return requirement
    least, most = slots
    asked = None if least == most == 1 else most
    return resolve_counts(requirement, asked, proclimit_default)
