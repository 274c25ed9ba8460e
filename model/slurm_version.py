"""Versions of Slurm, and what changed between them: of its scheduler and of what it prints."""

from __future__ import annotations

import re
from dataclasses import dataclass

#: Year, month and number: (22, 5, 8) for 22.05.8.
VersionNumber = tuple[int, int, int]
#: The last version whose output was read.
LAST_READ = "26.05"


@dataclass(frozen=True, slots=True)
class VersionRule:
    """A rule that some versions of Slurm follow: ``version in PARTS_OF_TASKS``."""

    #: First version that follows the rule.
    first: VersionNumber
    #: The rule as a sentence, and where it was read.
    what: str
    source: str
    #: First later version that does not follow it.
    end: VersionNumber = (100, 0, 0)

    def __contains__(self, version: VersionNumber) -> bool:
        return self.first <= version < self.end


PARTS_OF_TASKS = VersionRule(
    (22, 5, 7),
    "A node counts with free CPUs that are less than a task, unless memory is requested per CPU",
    "_can_job_run_on_node, job_test.c",
    end=(23, 2, 5),
)
CPUS_OF_TASKS_PER_NODE = VersionRule(
    (23, 2, 5),
    "A node counts with the CPUs for `--ntasks-per-node`, not with all its free CPUs",
    "_allocate_sc, job_test.c",
)
ARRAY_LIMIT_IN_CYCLE = VersionRule(
    (23, 2, 0),
    "A cycle plans at most `%N` tasks of an array",
    "max_run_tasks, backfill.c",
)
PRINTS_FIRST_TASK = VersionRule(
    (23, 2, 0),
    "The printed start of an array is that of its first task, not of the last planned task",
    "backfill.c",
)
CONFIGURED_WEIGHTS = VersionRule(
    (23, 11, 0),
    "Nodes have the configured weights for each job; earlier versions prefer, among nodes of equal "
    "weight, those with the GPUs of a previous job",
    "_set_sched_weight, job_test.c",
)
ENDS_ROUNDED_UP = VersionRule((24, 11, 0), "Planned ends are rounded up, not down", "backfill.c")
BOUNDED_BY_RECORDS = VersionRule(
    (24, 11, 0),
    "One more record after the duration of a job is examined before the job is skipped; running "
    "jobs that end before an instant are released together, and the search stops at the next "
    "candidate instant",
    "will_run_data, backfill.c and job_test.c",
)
FIRST_SHORT_RECORD = VersionRule(
    (25, 5, 0), "A test ends at the first record with too few licences", "backfill.c"
)
BY_CHOSEN_NODES = VersionRule(
    (25, 5, 1),
    "Only the released jobs on the chosen nodes determine the start",
    "CHANGELOG 25.05.1; _get_last_relevant_job, job_test.c",
)
FIRST_FITTING_NODE = VersionRule(
    (26, 5, 0),
    "A single-node job uses the first node that fits, not the best fit",
    "_get_one_res, job_test.c",
)
GPUS_COUNT_OVER_NODES = VersionRule(
    (26, 5, 0),
    "The GPUs of a single-node job (`--gpus`) count over all nodes examined before",
    "gres_sched_init is called once for all nodes: _get_one_res, job_test.c",
)
PRINTS_NO_SHARING = VersionRule(
    (26, 5, 0),
    'JSON has `"shared": []` for every job: node sharing is shown only in the submit line, in the '
    "text output, and with `--json=v0.0.42`",
    "parsers.c of data_parser v0.0.45",
)
#: Version with which each form of JSON (data_parser v0.0.39 and later) came.
_PARSERS = {39: (23, 2), 40: (23, 11), 41: (24, 5), 42: (24, 11), 43: (25, 5), 44: (25, 11)}


def version_number(text: str) -> VersionNumber:
    """Return (22, 5, 8) for ``22.05.8``; (22, 5, 0) if the version is unknown."""
    found = re.match(r"(\d{2})\.(\d{2})(?:\.(\d{1,3}))?", text)
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else (22, 5, 0)


def parser_version(data_parser: str) -> VersionNumber:
    """Return the version with which a form of JSON came: (26, 5, 0) for ``data_parser/v0.0.45``."""
    found = re.search(r"v0\.0\.(\d{1,4})", data_parser)
    number = int(found[1]) if found else 0
    return (*_PARSERS.get(number, (26, 5) if number > max(_PARSERS) else (22, 5)), 0)
