"""Omissions of an answer: one record type for readers, methods and results.

A part of the input that a reader ignores, an option that no method obeys and a rule that a method
omits are each an :class:`Omission`. Nothing that an omission touches is called proved.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypeAlias

from .facts import USERS, Fact
from .job import array_of

#: Maximum number of jobs in a sentence.
SHOWN = 3
#: Effect of an omission on the jobs in its scope. "starts": they may start at another time or
#: place. "shares": they may also hold their slots in other parts on the hosts where they start.
#: "amounts": they may also hold other amounts of the resources of the scope than planned, of any if
#: it names none. "later ends": they may also end after their run limit. "sooner ends": they may
#: only end earlier, or the omission concerns future jobs, so no earliest start by run limits
#: becomes wrong.
Change: TypeAlias = Literal["starts", "shares", "amounts", "later ends", "sooner ends"]
#: What an omission is about, for code that has to know it; "": nothing of these. "assumed": a value
#: where none was given, for information. "fit": its jobs may fit where they seem not to. "sharing":
#: of GPUs. "condition" and "alternative": only plans leave them out, no simulation does. The others
#: are questions that further input or a request for one more job may answer.
OmissionMark: TypeAlias = Literal[
    "", "assumed", "fit", "sharing", "condition", "alternative", "no amounts", "no GPUs",
    "memory of hosts", "elims", "unit of rusage", "reserved ahead", "first partition",
]  # fmt: skip
#: Fields of an omission that restrict it to some jobs.
SCOPE = ("queues", "applications", "users", "hosts", "resources")
#: Keyword among the resources of a scope: jobs that request GPUs in any way.
GPUS = "gpu"
#: Keyword among the resources of a scope: jobs whose tasks are distributed by host (span[ptile=…]).
PTILE = "ptile"
#: Keyword among the resources of a scope: jobs with affinity[].
AFFINITY = "affinity"
#: Keywords for jobs that are submitted now: all, those without -I, and those with an option.
SUBMITTED, BATCH = "submitted", "batch"
OPTIONS = frozenset(["-C", "-D", "-F", "-I", "-M", "-S", "-T", "-p", "-v", SUBMITTED, BATCH])


@dataclass(frozen=True, slots=True)
class Omission:
    """A rule or an input that an answer does not take into account."""

    #: Description in words.
    what: Annotated[str, Fact("line")]
    #: File and line, or command, of the input; "" if it is a rule.
    where: Annotated[str, Fact("line")] = ""
    #: Number of occurrences.
    count: Annotated[int, Fact("count_from_1")] = 1
    #: Ids of the pending jobs whose starts it may change. None: any job; (): no job, it is for
    #: information only.
    jobs: Annotated[tuple[str, ...] | None, Fact("job_ids", refers=("job",))] = None
    #: Effect on the jobs in words, "" if unknown.
    effect: Annotated[str, Fact("line")] = ""
    #: The omission concerns jobs that match each of the following scopes that is not empty. Queues
    #: of the jobs.
    queues: Annotated[tuple[str, ...], Fact("listed_names", refers=("queue",))] = ()
    #: Application profiles of the jobs.
    applications: Annotated[tuple[str, ...], Fact("listed_names", refers=("application",))] = ()
    #: Users or user groups of the jobs.
    users: Annotated[tuple[str, ...], Fact("listed_names", refers=USERS)] = ()
    #: Hosts, host groups or compute units; jobs that may use one of their hosts, and all jobs if
    #: one of the names is unknown, such as ``default``.
    hosts: Annotated[tuple[str, ...], Fact("listed_names")] = ()
    #: Resources that the jobs' requirements or load thresholds name.
    resources: Annotated[
        tuple[str, ...], Fact("listed_names", refers=("resource", GPUS, PTILE, AFFINITY, *OPTIONS))
    ] = ()
    #: Effect on these jobs.
    changes: Annotated[Change, Fact("change")] = "starts"
    #: Ids of jobs of the input that are not planned because of it; they are no pending jobs.
    unplanned: Annotated[tuple[str, ...], Fact("job_ids")] = ()
    #: What it is about, for code that has to know it.
    mark: Annotated[OmissionMark, Fact("omission_mark")] = ""

    @property
    def name(self) -> str:
        """Return the description with its source."""
        return f"{self.where}: {self.what}" if self.where else self.what

    def touches(self, job: str) -> bool:
        """Return whether it may change the start of a job."""
        return self.jobs is None or job in self.jobs

    @property
    def lifts(self) -> bool:
        """Return whether its jobs may fit where they seem not to."""
        return self.mark in ("fit", "first partition")

    @property
    def narrowed(self) -> bool:
        """Return whether it is restricted to jobs of some queues, users, hosts and so on."""
        return any(getattr(self, name) for name in SCOPE)

    def text(self) -> str:
        """Return one sentence, without a full stop."""
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
        """Return the omission as JSON-compatible data."""
        jobs = None if self.jobs is None else list(self.jobs)
        record = {"what": self.what, "where": self.where, "count": self.count, "jobs": jobs}
        effect = {"effect": self.effect} if self.effect else {}
        scope = {name: list(names) for name in SCOPE if (names := getattr(self, name))}
        changes = {} if self.changes == "starts" else {"changes": self.changes}
        unplanned = {"unplanned": list(self.unplanned)} if self.unplanned else {}
        mark = {"mark": self.mark} if self.mark else {}
        return record | effect | scope | changes | unplanned | mark


def no_pending_job(omissions: Iterable[Omission], job: str, hint: str = "") -> str:
    """Return the message for a job or job array that is not pending: why, if an omission names it.

    hint: text that follows if no omission does.
    """
    for item in omissions:
        if any(name in (job, array_of(name)) or array_of(job) == name for name in item.unplanned):
            return f"job {job} was read but is not planned: {item.effect or item.what}"
    if found := re.fullmatch(r"(\d+)\+(\d+)", job):  # of Slurm: ids of components are consecutive
        hint = f" (component {found[2]} of {found[1]} has the id {int(found[1]) + int(found[2])})"
    return f"unknown pending job {job!r}{hint}"


def _head(item: Omission) -> str:
    if item.mark == "assumed":
        return "assumed: "
    return "ignored: " if item.jobs == () else "not modelled: "


def sentences(omissions: Iterable[Omission], *, of_one: bool = False) -> tuple[str, ...]:
    """Return ``not modelled: …`` for each omission that touches a start, ``ignored: …``
    or ``assumed: …`` otherwise.

    of_one: all concern one job, which the sentences do not name.
    """
    return tuple(
        _head(item) + (replace(item, jobs=None, count=1) if of_one else item).text()
        for item in omissions
    )
