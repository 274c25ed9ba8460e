"""Growth of the priorities of pending jobs with their age, as Slurm's multifactor priority has it.

The other factors stay as they are: job size, partition, QOS and site do not change while a job is
pending, and fairshare is taken as it is now.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .job import Job

#: PriorityMaxAge and PriorityCalcPeriod if they are not set (seconds).
MAX_AGE, CALC_PERIOD = 7 * 86400, 300
_WORD = re.compile(r"(?:^|,)(Priority(?:WeightAge|MaxAge|CalcPeriod))=(\d{1,10})(?=,|$)")


@dataclass(frozen=True, slots=True)
class AgeFactor:
    """The age part of the priorities of pending jobs."""

    #: PriorityWeightAge: the part of a job that has reached the highest age.
    weight: int
    #: PriorityMaxAge (seconds).
    max_age: int = MAX_AGE
    #: PriorityCalcPeriod: seconds between two computations, counted from second 0.
    period: int = CALC_PERIOD
    #: PriorityFlags=ACCRUE_ALWAYS: the age counts from the submission in any case.
    always: bool = False

    def text(self) -> str:
        """Return the words of ``select_parameters`` that :func:`age_factor` reads."""
        return (
            f"PriorityWeightAge={self.weight},PriorityMaxAge={self.max_age},"
            f"PriorityCalcPeriod={self.period}"
        )

    def growth(self, job: Job, now: int) -> int:
        """Return by how much the priority of a job is higher at `now` (seconds) than at second 0.

        The priority of a job that is submitted later is that at its submission.
        """
        return self.part(job, now // self.period * self.period) - self.part(job, 0)

    def next_growth(self, job: Job, now: int) -> int | None:
        """Return when the priority of a job grows next (seconds), None if it stays."""
        part = self.part(job, now // self.period * self.period)
        if part >= self.weight:
            return None
        reached = self._accrues_from(job) - (-(part + 1) * self.max_age // self.weight)
        return -(-max(reached, now + 1) // self.period) * self.period

    def part(self, job: Job, time: int) -> int:
        """Return the age part of the priority of a job as computed at `time` (seconds)."""
        age = min(max(0, time - self._accrues_from(job)), self.max_age)
        return self.weight * age // self.max_age

    def _accrues_from(self, job: Job) -> int:
        """Return the second from which the age of a job counts: it is eligible."""
        return job.submit if job.begin is None or self.always else max(job.submit, job.begin)


@lru_cache(maxsize=16)
def age_factor(select_parameters: str) -> AgeFactor | None:
    """Return the age part that ``select_parameters`` has, None if age does not count."""
    found = {name: int(number) for name, number in _WORD.findall(select_parameters)}
    if not found.get("PriorityWeightAge"):
        return None
    return AgeFactor(
        found["PriorityWeightAge"],
        max(1, found.get("PriorityMaxAge", MAX_AGE)),
        max(1, found.get("PriorityCalcPeriod", CALC_PERIOD)),
        "ACCRUE_ALWAYS" in select_parameters,
    )


def without_age(select_parameters: str) -> str:
    """Return ``select_parameters`` without the age part."""
    return _WORD.sub("", select_parameters).lstrip(",")
