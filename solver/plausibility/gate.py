"""What the scheduler says of its pending jobs, against what was read and the next cycle here.

A statement that nothing explains is an omission of the job, whose starts are not proved.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ...model.instance import Instance, SaidByLsf
from ...model.omissions import Omission
from ...model.sources.slurm.reasons import TRIED, WAITING, ReadOfSlurm, reason_word
from ...model.sources.slurm.seen import SlurmState
from ..budget import Budget
from ..scheduler.continuation import started_now
from ..slurm.backfill import NEAR, plan_as_slurm
from .lsf_reasons import ReadOfLsf

#: LSF's reason for a job of which nothing is known yet.
_ELIGIBLE = re.compile(r"\s*(new job is waiting for scheduling\b.*)?", re.IGNORECASE | re.DOTALL)
#: Seconds by which the scheduler's start may be later than now for a job that starts now.
_SLACK = 60


@dataclass(frozen=True, slots=True)
class Statement:
    """What the scheduler says of one pending job."""

    #: Id of the pending job.
    job: str
    #: Reason as printed, "" if none.
    reason: str
    #: Start as printed (seconds from the origin), None if none.
    start: int | None
    #: What would explain the reason and was not read, in words; "" if nothing is missing.
    lacking: str
    #: Whether a job may have this reason until a cycle starts it.
    eligible: bool
    #: Pending jobs that the reason holds back too.
    alike: tuple[str, ...] = ()


def of_lsf(instance: Instance, said: Iterable[SaidByLsf]) -> list[Statement]:
    """Return what LSF says of the pending jobs of an instance."""
    listed = {item.job: item for item in said if item.reason or item.start is not None}
    jobs = [job for job in instance.pending if job.id in listed]
    if not jobs:
        return []
    read, found = ReadOfLsf(instance), []
    for job in jobs:
        item = listed[job.id]
        lacking, kind = read.lacks(job, item.reason)
        found.append(
            Statement(
                job.id,
                " ".join(item.reason.split()).strip("; ")[:100],
                item.start,
                lacking,
                bool(_ELIGIBLE.fullmatch(item.reason)),
                () if kind is None else tuple(read.held_alike(job, kind)),
            )
        )
    return found


def of_slurm(instance: Instance, seen: SlurmState, now: int) -> list[Statement]:
    """Return what Slurm says of the pending jobs of an instance; now: seconds since 1970."""
    records = {job.full_id: job for job in seen.jobs}
    read = ReadOfSlurm(seen, now)
    starts = {item.job: item.start for item in instance.lsf_says}
    members: dict[str, list[str]] = {}
    for job in instance.pending:
        name = job.id if job.id in records or job.array_id is None else job.array_id
        members.setdefault(name, []).append(job.id)
    found = []
    for name, ids in members.items():
        record = records[name]
        word, lacking = reason_word(record), read.lacks(record)
        reason = (record.reason_text or record.reason) if word else ""
        alike = [id for other in read.held_alike(record) for id in members.get(other.full_id, ())]
        for id in ids:
            start = starts.get(id)
            eligible = word in WAITING and not (word in TRIED and start is None)
            shared = tuple(alike) if lacking else ()
            found.append(Statement(id, reason, start, lacking, eligible, shared))
    return found


def unexplained(
    instance: Instance, statements: Iterable[Statement], where: str = ""
) -> Iterator[Omission]:
    """Yield an omission for each statement that nothing which was read explains, or that the next
    cycle contradicts.
    """
    known = {item.job: item for item in statements}
    if not known:
        return
    begun = started_now(replace(instance, omissions=()), Budget()) & known.keys()
    later = {job for job in begun if (known[job].start or 0) > instance.now + _SLACK}
    if later and instance.params.of_slurm:
        later -= _planned_alike(instance, known, later)
    who = "Slurm" if instance.params.of_slurm else "LSF"
    texts: dict[str, dict[str, None]] = {}
    for job, item in known.items():
        contradicted = job in begun and not item.eligible
        if not (item.lacking or contradicted or job in later):
            continue
        says = f"{who} says: {item.reason}" if item.reason else f"{who} estimates a later start"
        if item.reason and item.eligible and job in later:
            says += ", with a later start"
        starts = "here the next cycle starts it" if job in begun else ""
        text = "; ".join(filter(None, (says, item.lacking, starts)))
        texts.setdefault(text, {}).update(dict.fromkeys((job, *item.alike)))
    for text, jobs in texts.items():
        yield Omission(text, where=where, count=len(jobs), jobs=tuple(jobs))


def _planned_alike(instance: Instance, known: dict[str, Statement], jobs: set[str]) -> set[str]:
    """Return the jobs to which Slurm's own plan, made again, gives their printed start."""
    plan = plan_as_slurm(replace(instance, omissions=()), Budget())
    starts = {item.job: item.start for item in plan.reservations if item.job in jobs}
    return {
        job
        for job, start in starts.items()
        if start is not None and abs(start - (known[job].start or 0)) <= NEAR
    }
