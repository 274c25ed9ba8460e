"""Jobs that need no turn: told by their kind and limit that they cannot start.

Whoever walks through the pending jobs for a second time in a cycle knows of most of them that a
turn would be in vain; with thousands of them that has to cost less than a question a job.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from ...model.job import Job
from ..availability.arrays import BoolArray, IntArray

#: The limit of a job that never uses what others hold.
UNLIMITED = 1 << 60


class JobKind(NamedTuple):
    """number: equal for jobs that ask for the same of the same hosts. limit: seconds after which
    the job has given back what it uses of others, UNLIMITED where it may use nothing of theirs.
    """

    number: int
    limit: int


#: The kind of a job that nobody asks about.
UNKNOWN = JobKind(0, UNLIMITED)


class Hopeless(Protocol):
    """Says of which jobs a turn would be in vain."""

    def fails(self, job: Job) -> bool:
        """Whether that is so of one job."""

    def among(self, numbers: IntArray, limits: IntArray) -> BoolArray:
        """The same of many jobs, by their kinds."""
