"""Memory, load and GPUs of hosts that no input gives: unknown, not zero.

Plain bhosts prints none. A job that asks for some would fit nowhere, while the cluster has it;
so the job counts without that part of its requirement, and nothing about it is proved. The
instance keeps the sentence among its omissions: a job that is asked about later is taken likewise.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ..cluster import BUILTIN_INDICES
from ..errors import InputError
from ..gpu_request import GPUS_NAMED
from ..instance import Instance
from ..job import Job
from ..resreq import Options, heeded_part
from ..resreq.vocabulary import MAXIMA

#: Omission for GPU requests if no host is known to have GPUs.
NO_GPUS_GIVEN = (
    "GPUs that jobs request: no input gives the GPUs of hosts (give bhosts -l or bhosts -gpu -l)"
)


def sentence(names: tuple[str, ...]) -> str:
    """Return the omission for amounts or load that no input gives."""
    return (
        f"no input gives {', '.join(names)} of hosts: requests for it are not modelled (give "
        f"bhosts -l, or a site)"
    )


def not_given(instance: Instance) -> tuple[str, ...]:
    """Return the amounts, their maxima and the load indices that no host of an instance has."""
    given = {name for host in instance.cluster.hosts for name in (*host.amounts, *host.load)}
    given |= {item.name for item in instance.cluster.shared}
    maxima = (name for name, of in MAXIMA.items() if of not in given)
    return tuple(name for name in (*BUILTIN_INDICES, *maxima) if name not in given)


def without(text: str, name: str, then: str = r"(?![\w.])") -> str:
    """Return a requirement without the parts that name an amount or load index.

    Of order[] and same[] nothing goes: they say where a job goes, and not whether.
    then: pattern of what follows the name in such a part.
    """
    named = re.compile(rf"(?<![\w.]){re.escape(name)}{then}")
    if not named.search(text):
        return text
    kept = re.compile(r"\s*(?:order|same)\[")
    try:
        return heeded_part(
            text, Options(), lambda part: not named.search(part) or bool(kept.match(part))
        )
    except InputError:
        return text  # errors are reported by the reader of requirements


def without_gpus(job: Job) -> Job:
    """Return a job without its request for GPUs."""
    return replace(job, gpu="", res_req=tuple(filter(None, map(without_gpus_named, job.res_req))))


def without_gpus_named(text: str) -> str:
    """Return a requirement without the parts that name GPUs."""
    if not GPUS_NAMED.search(text):
        return text
    try:
        return heeded_part(text, Options(), lambda part: not GPUS_NAMED.search(part))
    except InputError:
        return text  # errors are reported by the reader of requirements


def as_known(instance: Instance, job: Job) -> Job:
    """Return a job without its requests for amounts and GPUs that no input gives.

    They are named in what is not obeyed of it. A load without an amount leaves open what a job
    can reserve.
    """
    marks = {item.mark for item in instance.omissions}
    hosts, shared = instance.cluster.hosts, {item.name for item in instance.cluster.shared}
    loads = {name for host in hosts for name in host.load} - shared - {*BUILTIN_INDICES}
    loads = loads.difference(*(host.amounts for host in hosts))
    unknown = dict.fromkeys(not_given(instance) if "no amounts" in marks else (), r"(?![\w.])")
    unknown |= dict.fromkeys(sorted(loads), r"\s*=(?!=)")
    for name, then in unknown.items():
        parts = tuple(filter(None, (without(text, name, then) for text in job.res_req)))
        if parts != job.res_req:
            what = f"{name}, which no input gives for the hosts"
            job = replace(job, res_req=parts, unheeded=(*job.unheeded, what))
    if "no GPUs" in marks:
        bare = without_gpus(job)
        if bare != job:
            what = "GPUs, which no input gives for the hosts"
            job = replace(bare, unheeded=(*job.unheeded, what))
    return job
