"""GPUs of a moment: how many hosts have, which jobs hold them, and what nobody said of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from ..cluster import Gpus, Host
from ..errors import InputError
from ..gpu_request import GPUS_NAMED
from ..instance import Instance
from ..job import Job, RunningJob
from ..resreq import Options, RequirementMerging, heeded_part
from .bhosts import SeenHost
from .bjobs import SeenJob
from .gpus import SeenGpus
from .remarks import Remarks


def with_gpus(host: Host, item: SeenHost | None, listed: SeenGpus | None, notes: Remarks) -> Host:
    """A host with the GPUs that bhosts counts and that a list of GPUs describes."""
    count = item.gpus if item is not None else None
    if listed is not None:
        count = listed.count
        models = sorted(set(listed.models.values()))
        if len(models) > 1:
            kinds = ", ".join(models)
            notes.touch(f"host {host.name} has GPUs of several models ({kinds}): any of them suit")
    if count is None:
        return host
    if host.gpu_count not in (None, count):
        notes.append(f"host {host.name}: {count} GPUs are listed, the site has {host.gpu_count:g}")
    known = host.gpus or Gpus(count)
    model = listed.model if listed is not None else known.model
    mem = listed.mem if listed is not None and listed.mem is not None else known.mem
    return replace(host, gpus=Gpus(count, model, mem) if count else None)


def holding(job: Job, seen: SeenJob, notes: Remarks) -> Job:
    """A running job with the GPUs that it is seen to hold, in the words of -gpu."""
    held = seen.gpus_held
    if not held or any(map(GPUS_NAMED.search, job.res_req)):
        return job
    number = max(held.values())
    if len({*held.values()}) > 1 or len(held) != len(seen.allocation):
        notes.touch(f"job {job.id} holds GPUs {held}: taken as {number} on each of its hosts")
    rest = [part for part in job.gpu.split(":") if part and not part.strip().startswith("num=")]
    return replace(job, gpu=":".join([f"num={number}/host", *rest]))


def described(
    instance: Instance,
    seen: Iterable[SeenHost],
    listed: Iterable[SeenGpus],
    notes: Remarks,
) -> Instance:
    """The instance with GPUs for the jobs that ask for some, or these jobs without.

    Where nothing describes the GPUs of hosts, they have those that running jobs hold. Where these
    hold none either, what jobs ask of GPUs is left out.
    """
    if all(host.gpu_count is None for host in instance.cluster.hosts):
        instance = _as_held(instance, notes)
    if all(host.gpu_count is None for host in instance.cluster.hosts):
        return _nobody_asks(instance, notes)
    used = {item.name: item.gpus_used for item in seen if item.gpus_used}
    used |= {item.host: len(item.used) for item in listed if item.used}
    return _all_held(instance, used, notes)


def _held(instance: Instance) -> Counter[str]:
    """GPUs that running jobs are known to hold, by host."""
    merging = RequirementMerging.of(instance)
    found: Counter[str] = Counter()
    for run in instance.running:
        with suppress(InputError):
            for host, slots in run.allocation.items():
                found[host] += merging.gpus_held(run.job, slots)
    return found


def _as_held(instance: Instance, notes: Remarks) -> Instance:
    """Hosts with as many GPUs as running jobs hold there."""
    held = _held(instance)
    if not any(held.values()):
        return instance
    notes.touch(
        "nothing says how many GPUs hosts have: taken as those that running jobs hold "
        "(give bhosts -l or bhosts -gpu -l)"
    )
    hosts = tuple(
        replace(host, gpus=Gpus(held[host.name])) if held[host.name] else host
        for host in instance.cluster.hosts
    )
    return replace(instance, cluster=replace(instance.cluster, hosts=hosts))


def _nobody_asks(instance: Instance, notes: Remarks) -> Instance:
    """The jobs without what they ask of GPUs, which nothing describes."""
    touched: list[str] = []

    def plain(job: Job) -> Job:
        bare = replace(job, gpu="", res_req=tuple(filter(None, map(_without_gpus, job.res_req))))
        if bare != job:
            touched.append(job.id)
        return bare

    running = tuple(replace(run, job=plain(run.job)) for run in instance.running)
    touched.clear()
    pending = tuple(map(plain, instance.pending))
    future = tuple(map(plain, instance.future))
    queues = tuple(
        replace(queue, gpu_req="", res_req=_without_gpus(queue.res_req))
        for queue in instance.queues
    )
    of_queues = queues != instance.queues
    if touched or of_queues:
        notes.touch(
            "GPUs that jobs ask for: nothing says which hosts have some (give bhosts -l or "
            "bhosts -gpu -l)",
            None if of_queues else touched,
            count=len(touched),
        )
    return replace(instance, running=running, pending=pending, future=future, queues=queues)


def _without_gpus(text: str) -> str:
    if not GPUS_NAMED.search(text):
        return text
    try:
        return heeded_part(text, Options(), lambda part: not GPUS_NAMED.search(part))
    except InputError:
        return text  # what is wrong with it is said where it is read


def _all_held(instance: Instance, used: dict[str, int], notes: Remarks) -> Instance:
    """The instance with a holder for every GPU that is in use.

    GPUs whose holder nobody knows go to the job of that host that ends last and asks for none, or
    are no longer there.
    """
    held = _held(instance)
    missing = {name: n - held[name] for name, n in used.items() if n > held[name]}
    if not missing:
        return instance
    notes.touch(
        f"GPUs are in use on {_some(missing)}, and no running job says that it has them: "
        "taken as held by the job there that ends last",
        _askers(instance),
    )
    running = list(instance.running)
    hosts = list(instance.cluster.hosts)
    for name, number in missing.items():
        there = [
            (_last(run), at)
            for at, run in enumerate(running)
            if run.allocation.keys() == {name} and not run.job.gpu
        ]
        if there:
            at = max(there)[1]
            job = replace(running[at].job, gpu=f"num={number}/host")
            running[at] = replace(running[at], job=job)
            continue
        at = next((n for n, host in enumerate(hosts) if host.name == name), -1)
        gpus = hosts[at].gpus if at >= 0 else None
        if gpus is not None:
            left = max(gpus.count - number, held[name], 1)
            hosts[at] = replace(hosts[at], gpus=replace(gpus, count=left))
    cluster = replace(instance.cluster, hosts=tuple(hosts))
    return replace(instance, running=tuple(running), cluster=cluster)


def _last(run: RunningJob) -> float:
    if run.finish is not None:
        return run.finish
    return float("inf") if run.job.run_limit is None else run.start + run.job.run_limit


def _askers(instance: Instance) -> list[str]:
    """Pending jobs that need GPUs."""
    merging = RequirementMerging.of(instance)
    found = []
    for job in instance.pending:
        with suppress(InputError):
            if merging.gpus(job) is not None:
                found.append(job.id)
    return found


def _some(names: Sequence[str] | dict[str, int]) -> str:
    known = list(names)
    more = f" and {len(known) - 3} more hosts" if len(known) > 3 else ""
    return f"{', '.join(known[:3])}{more}"
