"""Effect of SchedulerParameters and of the version of Slurm on its backfill."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...model.configuration import Params
from ...model.slurm_version import ENDS_ROUNDED_UP, VersionNumber, version_number

#: Minutes that backfill looks ahead, seconds of its steps, jobs and tasks that it plans in a cycle.
WINDOW, RESOLUTION, MAX_JOBS, MAX_TASKS = 1440, 60, 500, 20
#: The largest values that Slurm accepts: minutes, seconds, jobs.
MAX_WINDOW, MAX_RESOLUTION, MAX_TEST = 30 * 1440, 3600, 1_000_000
#: Parameters of backfill that this plan does not take into account; bf_continue, bf_max_time,
#: bf_max_job_start and bf_node_space_size have no influence on a whole cycle.
NOT_MODELLED = (
    "bf_busy_nodes",
    "bf_job_part_count_reserve",
    "bf_max_job_assoc",
    "bf_max_job_part",
    "bf_max_job_user_part",
    "bf_min_age_reserve",
    "bf_min_prio_reserve",
    "assoc_limit_stop",
    "pack_serial_at_end",
    "time_min_as_soft_limit",
)


@dataclass(frozen=True, slots=True)
class BackfillSettings:
    """The settings of one cycle; times in seconds."""

    #: bf_window in seconds.
    window: int = WINDOW * 60
    #: bf_resolution in seconds.
    resolution: int = RESOLUTION
    #: Seconds by which the window of ends grows, 0: it doubles (bf_window_linear).
    linear: int = 0
    #: Maximum number of jobs examined (bf_max_job_test).
    max_jobs: int = MAX_JOBS
    max_tasks: int = MAX_TASKS
    #: Jobs of one user, 0 for any number.
    max_user_jobs: int = 0
    #: Licences are planned (bf_licenses).
    licences: bool = False
    #: A job reserves nodes in one partition only (bf_one_resv_per_job).
    one_reservation: bool = False
    #: Exclusive running jobs are in the map (bf_running_job_reserve).
    running_in_map: bool = False
    #: Version of Slurm.
    version: VersionNumber = (22, 5, 0)
    #: Parameters that are set and not taken into account.
    omitted: tuple[str, ...] = ()

    @classmethod
    def of(cls, params: Params) -> BackfillSettings:
        """Return the settings of an instance."""
        given = _words(params.scheduler_parameters)
        licences = "bf_licenses" in given
        omitted = [f"{name} (SchedulerParameters)" for name in NOT_MODELLED if name in given]
        if topology := _words(params.select_parameters).get("topologyplugin"):
            omitted.append(f"choice of nodes by TopologyPlugin={topology}")
        return cls(
            _number(given, "bf_window", WINDOW, MAX_WINDOW) * 60,
            _number(given, "bf_resolution", RESOLUTION, MAX_RESOLUTION),
            _number(given, "bf_window_linear", 0),
            _number(given, "bf_max_job_test", MAX_JOBS, MAX_TEST),
            _number(given, "bf_max_job_array_resv", MAX_TASKS),
            _number(given, "bf_max_job_user", 0),
            licences,
            "bf_one_resv_per_job" in given,
            licences or "bf_running_job_reserve" in given,
            version_number(params.scheduler_version),
            tuple(omitted),
        )

    def floor(self, time: int) -> int:
        """Return an instant (seconds since 1970) rounded down to the resolution."""
        return time // self.resolution * self.resolution

    def end_of(self, time: int) -> int:
        """Return the end of a plan in the map, rounded to the resolution."""
        if self.version in ENDS_ROUNDED_UP:
            return -(-time // self.resolution) * self.resolution
        return self.floor(time)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the instants of a plan in the map, at least one step of the resolution apart."""
        begin = self.floor(start)
        return begin, max(self.end_of(end), begin + self.resolution)


def _words(text: str) -> dict[str, str]:
    parts = (part.strip().partition("=") for part in text.split(",") if part.strip())
    return {name.strip().lower(): value.strip() for name, _, value in parts}


def _number(given: dict[str, str], name: str, default: int, maximum: int = 0) -> int:
    """Return the number of a parameter by its first digits, as Slurm reads it.

    maximum: a number above it, or 0, is the default; 0 allows any number.
    """
    found = re.match(r"\d{1,9}", given.get(name, ""))
    number = default if found is None else int(found[0])
    return number if not maximum or 1 <= number <= maximum else default
