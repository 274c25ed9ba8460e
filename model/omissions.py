"""What an answer does not take into account: one record for readers, methods and results.

A reader that passes something over, a job with an option that nothing obeys, a rule that a method
leaves out: each is an :class:`Omission`. Nothing that one touches is called proved.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

#: Jobs that a sentence names.
SHOWN = 3
#: What becomes of a job in the scope of something that is not considered: it may start at another
#: time or place; besides it may end later than by its run limit; it may only end sooner, or what is
#: not considered is of jobs to come: no earliest start by run limits is wrong for that.
Change: TypeAlias = Literal["starts", "later ends", "sooner ends"]
#: The fields by which an omission says which jobs it is of.
SCOPE = ("queues", "applications", "users", "hosts", "resources")
#: Among the resources of a scope: what a job names that asks for GPUs in any way.
GPUS = "gpu"
#: And one whose tasks are counted out by host: span[ptile=…].
PTILE = "ptile"


@dataclass(frozen=True, slots=True)
class Omission:
    """Something that is not considered."""

    #: In words.
    what: str
    #: The file, with its line, or the command that it is of; "" for a rule.
    where: str = ""
    #: How often it was met.
    count: int = 1
    #: Ids of the pending jobs whose starts it may change; None: of any; (): of none, it is only
    #: worth knowing.
    jobs: tuple[str, ...] | None = None
    #: What becomes of a job by it, where that is known.
    effect: str = ""
    #: Whose jobs it is of: a job is where each of these that is not empty has something of it. Its
    #: queue, its application profile.
    queues: tuple[str, ...] = ()
    applications: tuple[str, ...] = ()
    #: Its user, or a group of users.
    users: tuple[str, ...] = ()
    #: Hosts, host groups or compute units, one of whose hosts it may use.
    hosts: tuple[str, ...] = ()
    #: Resources that its requirement names, or a threshold that it is under.
    resources: tuple[str, ...] = ()
    #: What becomes of these jobs.
    changes: Change = "starts"

    @property
    def name(self) -> str:
        """What is not considered, and where it was met."""
        return f"{self.where}: {self.what}" if self.where else self.what

    def touches(self, job: str) -> bool:
        """Whether it may change the start of a job."""
        return self.jobs is None or job in self.jobs

    @property
    def narrowed(self) -> bool:
        """Whether it is of the jobs of some queues, users … alone."""
        return any(getattr(self, name) for name in SCOPE)

    def text(self) -> str:
        """One sentence, without a full stop."""
        return self.name + self._of_jobs()

    def _of_jobs(self) -> str:
        if self.effect:
            return f" ({self.effect})"
        if not self.jobs:
            return f" ({self.count} times)" if self.count > 1 else ""
        more = len(self.jobs) - SHOWN
        shown = ", ".join(self.jobs[:SHOWN]) + (f" and {more} more" if more > 0 else "")
        return f" (touches {shown})"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        jobs = None if self.jobs is None else list(self.jobs)
        record = {"what": self.what, "where": self.where, "count": self.count, "jobs": jobs}
        effect = {"effect": self.effect} if self.effect else {}
        scope = {name: list(names) for name in SCOPE if (names := getattr(self, name))}
        changes = {} if self.changes == "starts" else {"changes": self.changes}
        return record | effect | scope | changes


def sentences(omissions: Iterable[Omission], *, of_one: bool = False) -> tuple[str, ...]:
    """``not considered: …`` for each that touches a start, ``ignored: …`` for the others.

    of_one: all are of one job that the reader asks about, which is not named.
    """
    return tuple(
        f"{'ignored' if item.jobs == () else 'not considered'}: "
        + (replace(item, jobs=None, count=1) if of_one else item).text()
        for item in omissions
    )
