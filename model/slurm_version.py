"""Versions of Slurm, and the rules of its scheduler that changed between them."""

from __future__ import annotations

import re
from dataclasses import dataclass

#: Year, month and number: (22, 5, 8) for 22.05.8.
VersionNumber = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class VersionRule:
    """A rule that some versions of Slurm follow: ``version in PARTS_OF_TASKS``."""

    #: First version that follows the rule.
    first: VersionNumber
    #: First later version that does not.
    end: VersionNumber = (100, 0, 0)

    def __contains__(self, version: VersionNumber) -> bool:
        return self.first <= version < self.end


#: A node counts with free CPUs that are no whole task (_can_job_run_on_node of job_test.c).
PARTS_OF_TASKS = VersionRule((22, 5, 7), (23, 2, 5))
#: A node counts with the CPUs of its --ntasks-per-node, not with all free ones (_allocate_sc).
CPUS_OF_TASKS_PER_NODE = VersionRule((23, 2, 5))
#: A cycle plans no more tasks of an array than its ``%N`` lets run (max_run_tasks, backfill.c).
ARRAY_LIMIT_IN_CYCLE = VersionRule((23, 2, 0))
#: The start that is printed for an array is that of its first task, not of the last planned one.
PRINTS_FIRST_TASK = VersionRule((23, 2, 0))
#: Weights of nodes are those of the configuration for each job; before, a node with the GPUs of one
#: job stays before others of its weight for the jobs behind it (_set_sched_weight, job_test.c).
CONFIGURED_WEIGHTS = VersionRule((23, 11, 0))
#: Ends of plans are rounded up in the map, not down (backfill.c).
ENDS_ROUNDED_UP = VersionRule((24, 11, 0))
#: The record after the length of a job is examined too before the job is given up; running jobs
#: that end before an instant are released together, and the search stops at the next instant to
#: try (will_run_data, backfill.c and job_test.c).
BOUNDED_BY_RECORDS = VersionRule((24, 11, 0))
#: The first record with too few licences ends the test of an instant (backfill.c).
FIRST_SHORT_RECORD = VersionRule((25, 5, 0))
#: Among the released jobs, only those on the chosen nodes give the start (CHANGELOG 25.05.1).
BY_CHOSEN_NODES = VersionRule((25, 5, 1))
#: A job on one node takes the first node that fits, not the tightest (_get_one_res, job_test.c).
FIRST_FITTING_NODE = VersionRule((26, 5, 0))
#: GPUs of a job on one node (--gpus) count over the nodes that were examined before it
#: (_get_one_res of job_test.c: gres_sched_init is called once for all nodes).
GPUS_COUNT_OVER_NODES = VersionRule((26, 5, 0))


def version_number(text: str) -> VersionNumber:
    """Return (22, 5, 8) for ``22.05.8``; (22, 5, 0) if the version is unknown."""
    found = re.match(r"(\d{2})\.(\d{2})(?:\.(\d{1,3}))?", text)
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else (22, 5, 0)
