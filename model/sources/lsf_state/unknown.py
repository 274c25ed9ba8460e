"""Host properties that no listing gives: requests for them are removed from jobs, and reported."""

from __future__ import annotations

from dataclasses import replace

from ...cluster import BUILTIN_AMOUNTS
from ...display import some
from ...formats.unknown_amounts import not_given, sentence, without
from ...instance import Instance
from ...job import Job
from ...omissions import Omission
from .values import Remarks


def without_unknown(instance: Instance, notes: Remarks) -> Instance:
    """Return the jobs without requests for amounts and load that no input gives for any host."""
    names = not_given(instance)
    for name in names:
        instance = _without(instance, name, notes)
    _tell_thresholds(instance, notes)
    amounts = tuple(name for name in names if name in BUILTIN_AMOUNTS)
    if amounts:  # the `ask` command may examine further jobs
        notes.omissions.append(Omission(sentence(amounts), jobs=(), mark="no amounts"))
    lacking = [host.name for host in instance.cluster.hosts if host.ncpus is None]
    texts = [text for job in instance.pending for text in job.res_req]
    texts += [queue.res_req for queue in instance.queues]
    texts += [application.res_req for application in instance.applications]
    if lacking and any("ncpus" in text for text in texts):
        text = f"no input gives ncpus of {some(lacking)}: their slots are assumed (give lshosts)"
        notes.omissions.append(Omission(text, resources=("ncpus",), mark="fit"))
    return instance


def _tell_thresholds(instance: Instance, notes: Remarks) -> None:
    """Note queues with thresholds for load that no input gives for any host."""
    given = {name for host in instance.cluster.hosts for name in (*host.amounts, *host.load)}
    for queue in instance.queues:
        lacking = sorted({*queue.thresholds.sched, *queue.thresholds.stop} - given)
        if lacking:
            notes.touch(
                f"no input gives {', '.join(lacking)} of hosts: the thresholds (loadSched, "
                f"loadStop) of queue {queue.name} are not applied (give bhosts -l)",
                queues=(queue.name,),
            )


def _without(instance: Instance, name: str, notes: Remarks) -> Instance:
    touched: list[str] = []

    def bare(job: Job) -> Job:
        parts = tuple(filter(None, (without(text, name) for text in job.res_req)))
        if parts == job.res_req:
            return job
        touched.append(job.id)
        return replace(job, res_req=parts)

    running = tuple(replace(run, job=bare(run.job)) for run in instance.running)
    touched.clear()
    pending, future = tuple(map(bare, instance.pending)), tuple(map(bare, instance.future))
    queues = tuple(
        replace(queue, res_req=without(queue.res_req, name)) for queue in instance.queues
    )
    changed = {
        queue.name for queue, before in zip(queues, instance.queues, strict=True) if queue != before
    }
    touched += [job.id for job in (*pending, *future) if job.queue in changed]
    if touched:
        jobs = tuple(dict.fromkeys(touched))
        notes.touch(sentence((name,)), jobs, count=len(jobs))
    return replace(instance, running=running, pending=pending, future=future, queues=queues)
