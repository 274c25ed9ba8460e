"""Resources of the site that jobs consume, as bhosts -l and bhosts -s print them.

Both print what is free and what jobs reserve of it; what there is when nothing runs is the sum.
bhosts -l prints a shared resource under every host that has it, bhosts -s with its hosts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...cluster import BUILTIN_INDICES, Cluster, Host, SharedResource
from ...formats.sniff import kind_of_text
from ...instance import Instance
from ...job import Job
from . import values
from .bhosts import SeenHost
from .reading import Reading, Touched
from .values import Remarks, Text


@dataclass(frozen=True, slots=True)
class SeenShared:
    """One instance of a shared resource."""

    #: Name of the resource.
    name: str
    #: Total amount: the free and the reserved part.
    amount: float
    #: Names of the hosts that share the resource.
    hosts: tuple[str, ...]
    #: Part of the amount that jobs reserve.
    reserved: float = 0.0


def is_of_shared(text: Text) -> bool:
    """Return whether a text lists shared resources."""
    return not text.is_json and kind_of_text(text.content[:65536]) == "bhosts -s"


def read_shared(text: Text, notes: Remarks | None = None) -> list[SeenShared]:
    """Return the shared resources of ``bhosts -s``; notes collect unreadable values."""
    reading = Reading(text, notes)
    found: list[SeenShared] = []
    begun = False
    for number, line in enumerate(text.content.splitlines(), start=1):
        words = line.split()
        if words[:3] == ["RESOURCE", "TOTAL", "RESERVED"]:
            begun = True
        elif begun and words and line[:1].isspace():
            if found:
                found[-1] = replace(found[-1], hosts=(*found[-1].hosts, *words))
        elif begun and words:
            reading.at(f"resource {words[0]}", number, Touched(resources=(words[0],)))
            row = [*words[1:3], "-", "-"]
            total, held = map(values.load_or_text, row[:2])
            if None in (total, held) and not (total is held or values.blank(row[1])):
                name, word = ("TOTAL", row[0]) if total is None else ("RESERVED", row[1])
                reading.unknown(f"{name}: {word!r} is no number")
            elif total is not None:
                held = held or 0.0
                found.append(SeenShared(words[0], total + held, tuple(words[3:]), held))
    reading.done()
    return found


def with_consumables(
    instance: Instance,
    hosts: Sequence[SeenHost],
    listed: Sequence[SeenShared],
    notes: Remarks,
) -> Instance:
    """Return the instance with shared resources, and with host amounts that jobs consume."""
    cluster = _with_shared(instance.cluster, listed, notes)
    instance = replace(instance, cluster=cluster)
    known = {item.name for item in cluster.shared}
    known |= {name for host in cluster.hosts for name in host.amounts}
    printed: dict[str, dict[str, tuple[float, float]]] = {}
    for item in hosts:
        for name in item.total.keys() & item.reserved.keys():
            if name not in BUILTIN_INDICES and name != "slots" and name not in known:
                printed.setdefault(name, {})[item.name] = item.total[name], item.reserved[name]
    for name, amounts in sorted(printed.items()):
        instance = _consumed(instance, name, amounts, notes)
    return instance


def _with_shared(cluster: Cluster, listed: Sequence[SeenShared], notes: Remarks) -> Cluster:
    configured = {item.name: item for item in cluster.shared}
    everybody = frozenset(host.name for host in cluster.hosts)
    new: list[SharedResource] = []
    for item in listed:
        if item.name in configured:
            amount = configured[item.name].amount
            if amount != item.amount and sum(s.name == item.name for s in cluster.shared) == 1:
                notes.append(
                    f"bhosts -s says that there are {item.amount:g} {item.name}, the site "
                    f"{amount:g}: left as it is"
                )
            continue
        there = everybody & {name.strip("[]") for name in item.hosts}
        new.append(SharedResource(item.name, item.amount, there or None))
    return _without_load(replace(cluster, shared=(*cluster.shared, *new)))


def _without_load(cluster: Cluster) -> Cluster:
    """Return the cluster with shared resources removed from the load of hosts."""
    shared = {item.name for item in cluster.shared}
    return replace(cluster, hosts=tuple(_less(host, shared) for host in cluster.hosts))


def _less(host: Host, names: set[str]) -> Host:
    if not names & host.load.keys():
        return host
    return replace(host, load={n: amount for n, amount in host.load.items() if n not in names})


def _consumed(
    instance: Instance,
    name: str,
    printed: Mapping[str, tuple[float, float]],
    notes: Remarks,
) -> Instance:
    """Add one resource, as consumed if any job reserves it: shared or of each host."""
    waiting = [job.id for job in instance.pending if _reserves(instance, job, name)]
    held = any(reserved for _, reserved in printed.values())
    runs = [run for run in instance.running if _reserves(instance, run.job, name)]
    if not (
        waiting or held or runs or any(_names(queue.res_req, name) for queue in instance.queues)
    ):
        return instance
    cluster = instance.cluster
    if len(printed) > 1 and len(set(printed.values())) == 1:
        free, reserved = next(iter(printed.values()))
        used_hosts = {host for run in runs for host in run.allocation}
        if not (held and used_hosts and printed.keys() - used_hosts):
            notes.touch(
                f"bhosts -l prints the same {name} for {len(printed)} hosts: taken as shared by "
                "them (bhosts -s tells)",
                resources=(name,),
                count=len(waiting) or 1,
            )
        shared = SharedResource(name, free + reserved, frozenset(printed))
        cluster = _without_load(replace(cluster, shared=(*cluster.shared, shared)))
        return replace(instance, cluster=cluster)
    found = tuple(
        replace(_less(host, {name}), amounts={**host.amounts, name: sum(printed[host.name])})
        if host.name in printed
        else host
        for host in cluster.hosts
    )
    return replace(instance, cluster=replace(cluster, hosts=found))


def _reserves(instance: Instance, job: Job, name: str) -> bool:
    asked = [queue.res_req for queue in instance.queues if queue.name == job.queue]
    return any(_names(text, name) for text in (*job.res_req, *asked))


def _names(text: str, name: str) -> bool:
    """Return whether a requirement reserves some of a resource."""
    word = re.compile(rf"(?<![\w.]){re.escape(name)}\s*=")
    return any(word.search(part) for part in re.findall(r"rusage\[([^\]]*)\]", text))
