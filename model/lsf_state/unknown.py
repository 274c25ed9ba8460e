"""What no listing says of the hosts is unknown, not zero: what jobs ask of it is left out.

Plain bhosts prints neither memory nor load. A job that asks for some would fit nowhere, while the
cluster has it; so the job counts without that part of its requirement, and nothing about it is
proved.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from ..cluster import BUILTIN_INDICES
from ..errors import InputError
from ..instance import Instance
from ..job import Job
from ..resreq import Options, heeded_part
from .values import Remarks

#: Which listing prints an amount or a load index.
_GIVE = "give bhosts -l, or a site"


def without_unknown(instance: Instance, notes: Remarks) -> Instance:
    """The jobs without what they ask of amounts and load that no input gives for any host."""
    hosts = instance.cluster.hosts
    known = {name for host in hosts for name in (*host.amounts, *host.load)}
    names = [name for name in BUILTIN_INDICES if name not in known]
    shared = {item.name for item in instance.cluster.shared}
    for name in names:
        if name not in shared:
            instance = _without(instance, name, notes)
    return instance


def _without(instance: Instance, name: str, notes: Remarks) -> Instance:
    plain = _remover(name)
    touched: list[str] = []

    def bare(job: Job) -> Job:
        parts = tuple(filter(None, map(plain, job.res_req)))
        if parts == job.res_req:
            return job
        touched.append(job.id)
        return replace(job, res_req=parts)

    running = tuple(replace(run, job=bare(run.job)) for run in instance.running)
    touched.clear()
    pending, future = tuple(map(bare, instance.pending)), tuple(map(bare, instance.future))
    queues = tuple(replace(queue, res_req=plain(queue.res_req)) for queue in instance.queues)
    changed = {
        queue.name for queue, before in zip(queues, instance.queues, strict=True) if queue != before
    }
    touched += [job.id for job in (*pending, *future) if job.queue in changed]
    if touched:
        jobs = tuple(dict.fromkeys(touched))
        notes.touch(
            f"no input says how much {name} hosts have: what jobs ask of it is not considered "
            f"({_GIVE})",
            jobs,
            count=len(jobs),
        )
    return replace(instance, running=running, pending=pending, future=future, queues=queues)


def _remover(name: str) -> Callable[[str], str]:
    """Takes the parts of a requirement away that name an amount or a load index.

    Of order[] and same[] nothing goes: they say where a job goes, and not whether.
    """
    named = re.compile(rf"(?<![\w.]){re.escape(name)}(?![\w.])")
    ordered = re.compile(r"\s*(?:order|same)\[")

    def plain(text: str) -> str:
        if not named.search(text):
            return text
        try:
            return heeded_part(
                text, Options(), lambda part: not named.search(part) or bool(ordered.match(part))
            )
        except InputError:
            return text  # what is wrong with it is said where it is read

    return plain
