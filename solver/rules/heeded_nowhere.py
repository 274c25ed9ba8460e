"""What no method and no loop obeys: options of jobs, and what the instance itself leaves out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from ...model.bsub_options import ARRAY, UNHEEDED
from ...model.errors import InputError
from ...model.instance import Instance
from ...model.job import Job
from ...model.omissions import Omission
from ...model.resreq.extsched import topology
from ..resolve import Resolver


def heeded_nowhere(
    instance: Instance, resolver: Resolver, jobs: Iterable[Job] | None = None
) -> tuple[Omission, ...]:
    """What touches pending jobs and is not obeyed anywhere, each with the jobs that it touches.

    jobs: those that are asked about; the pending ones where None.
    """
    asked = tuple(instance.pending if jobs is None else jobs)
    touched: dict[str, list[str]] = {}
    inactive = {queue.name for queue in instance.queues if not queue.active}
    for job in asked:
        if job.queue in inactive:
            what = f"that queue {job.queue}, which is inactive, may be activated"
            touched.setdefault(what, []).append(job.id)
        for what in _of(job, resolver):
            touched.setdefault(what, []).append(job.id)
    of_jobs = (Omission(what, jobs=tuple(ids), count=len(ids)) for what, ids in touched.items())
    ids = {job.id for job in asked}
    of_instance = (
        item for item in instance.omissions if item.jobs is None or ids.intersection(item.jobs)
    )
    return (*of_jobs, *of_instance)


def _of(job: Job, resolver: Resolver) -> Iterator[str]:
    """What of one job nobody obeys; nothing of one whose requirement cannot be read."""
    if job.gpu:
        yield "GPUs (-gpu)"
    for text in job.unheeded:
        option = text.split()[0]
        yield ARRAY if option == "-J" else UNHEEDED.get(option, text)
    with suppress(InputError):
        if resolver.binds_cores(job):
            yield "affinity[]"
        if job.extsched and topology(job.extsched).unheeded:
            yield "options of external schedulers (-ext)"
