"""What no method and no loop obeys: options of jobs, and what the instance itself leaves out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice

from ...model.bsub_options import UNHEEDED, WITHOUT_DATE
from ...model.errors import InputError
from ...model.instance import Instance
from ...model.job import Job
from ...model.omissions import Omission
from ...model.resreq.extsched import topology
from ...model.resreq.syntax import simples
from ...model.share_rules import UNKNOWN_MEMBERS, shares_of_nobody
from ..precedence import COUNT, EXIT, NOT, Precedence
from ..resolve import Resolver
from .shared_gpus import SHARED_GPUS, GpuSharing

#: Jobs of a run that are looked at.
MOST_JOBS = 100_000
#: Of start conditions what only a plan leaves out.
KNOWN_IN_A_RUN = (COUNT, EXIT, NOT)


def heeded_nowhere(
    instance: Instance, resolver: Resolver, jobs: Iterable[Job] | None = None
) -> tuple[Omission, ...]:
    """What touches pending jobs and is not obeyed anywhere, each with the jobs that it touches.

    jobs: those that are asked about; the pending ones where None.
    """
    named = {name for item in instance.omissions for name in item.jobs or ()}
    touched: dict[str, list[str]] = {}
    inactive = {queue.name for queue in instance.queues if not queue.active}
    strangers = shares_of_nobody(instance)
    here: set[str] = set()
    asked: set[str] = set()
    sharing = GpuSharing(resolver)
    for job in instance.pending if jobs is None else jobs:
        sharing.see((job,))
        if job.id in named:
            here.add(job.id)
        if job.queue in inactive:
            what = f"that queue {job.queue}, which is inactive, may be activated"
            touched.setdefault(what, []).append(job.id)
        asked.add(job.id)
        for what in _of(job, resolver):
            touched.setdefault(what, []).append(job.id)
        for group, queues in strangers.items():
            if queues is None or job.queue in queues:
                touched.setdefault(UNKNOWN_MEMBERS.format(group), []).append(job.id)
    for what, names in Precedence.of(instance).left_out().items():
        if ids := [name for name in names if name in asked]:
            touched.setdefault(what, []).extend(ids)
    if moved := sharing.moved((run.job for run in instance.running), instance.pending):
        touched[SHARED_GPUS] = list(moved)
    of_jobs = (Omission(what, jobs=tuple(ids), count=len(ids)) for what, ids in touched.items())
    of_instance = (
        item for item in instance.omissions if item.jobs is None or here.intersection(item.jobs)
    )
    return (*of_jobs, *of_instance)


def heeded_nowhere_in_a_run(instance: Instance, resolver: Resolver) -> tuple[Omission, ...]:
    """The same of all jobs that a run begins with or meets: any start may be touched.

    Of a long log the first MOST_JOBS jobs are looked at.
    """
    jobs = (*(run.job for run in instance.running), *instance.pending)
    met = islice(chain(jobs, instance.future), MOST_JOBS)
    found = heeded_nowhere(instance, resolver, met)
    # In a run jobs do fail, and conditions are looked at as they stand.
    return tuple(replace(item, jobs=None) for item in found if item.what not in KNOWN_IN_A_RUN)


def _of(job: Job, resolver: Resolver) -> Iterator[str]:
    """What of one job nobody obeys; nothing of one whose requirement cannot be read."""
    for text in job.unheeded:
        option = text.partition(" ")[0]
        yield UNHEEDED.get(option) or WITHOUT_DATE.get(option, text)
    with suppress(InputError):
        if resolver.binds_cores(job):
            yield "affinity[]"
        gpus = resolver.gpus(job)
        for option in () if gpus is None else gpus.unheeded:
            yield f"{option} of GPUs (-gpu)"
        if gpus is not None and len(simples(resolver.requirement(job))) > 1 and job.gpu:
            yield "-gpu beside a compound requirement"
        if resolver.unsure_of_gpus(job):
            yield "model and memory of GPUs where hosts do not tell them"
        if resolver.spreads_tasks(job):
            yield "stripe and gtile of span[]"
        if job.extsched and topology(job.extsched).unheeded:
            yield "options of external schedulers (-ext)"
