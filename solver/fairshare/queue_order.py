"""The order of jobs by their queues alone, and whether anything else decides (FSH-16).

Filter for jobs that cannot start, by their kind and limit. A second pass through the pending jobs
of a cycle knows for most of them that a dispatch attempt would fail; with thousands of jobs, this
has to cost less than a call for each job.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from ...model.instance import Instance
from ...model.job import Job
from ..availability.resources import BoolArray, IntArray


def queue_key(job: Job, priority: int, job_priority: int | None = None) -> tuple[int, ...]:
    """Return the sort key of a job: queue priority, job priority (-sp), submission, then id
    (FSH-16).

    btop and bbot move a job before or after other jobs of its queue and priority. Numeric ids are
    compared as numbers, elements of an array by index. Other names keep the order of the input,
    which is the order of submission.

    job_priority: grown priority of the job (JOB_PRIORITY_OVER_TIME), None if it is constant.
    """
    name = job.array_id or job.id
    number = int(name) if name.isascii() and name.isdigit() else 0
    index = (job.array_index or 0) if number else 0
    own = job.priority if job_priority is None else job_priority
    return (-priority, -own, *job.queue_position, number, index)


def has_slot_pools(instance: Instance) -> bool:
    """Return whether some queue shares its hosts by a slot pool."""
    return any(queue.slot_pool for queue in instance.queues)


def has_policy(instance: Instance) -> bool:
    """Return whether shares, partitions, slot pools, APS or growing priorities affect the order.

    That is shares, partitions, slot pools or absolute priorities.
    """
    decided = has_slot_pools(instance) or any(
        queue.user_shares or queue.aps_priority is not None for queue in instance.queues
    )
    return decided or bool(instance.partitions) or instance.params.grows_priorities


#: Limit of a job that never uses reserved slots.
UNLIMITED = 1 << 60


class JobKind(NamedTuple):
    """Which jobs are alike in what they ask for."""

    #: Equal for jobs with equal requests on equal hosts.
    number: int
    #: Seconds after which the job releases reserved slots of other jobs, UNLIMITED if it may use
    #: none.
    limit: int


#: Kind of a job that is not in the filter.
UNKNOWN = JobKind(0, UNLIMITED)


class SkipFilter(Protocol):
    """Test for jobs whose dispatch attempt would be infeasible."""

    def must_skip(self, job: Job) -> bool:
        """Return whether a dispatch attempt of the job must fail."""

    def skip_mask(self, numbers: IntArray, limits: IntArray) -> BoolArray:
        """Return for many jobs, by their kinds, whether a dispatch attempt must fail."""
