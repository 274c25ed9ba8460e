"""Groups, units, shared resources and partitions in memory, held to the rules of files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ..cluster import Cluster, Host, HostGroup
from ..instance import Instance
from ..polling import Poll, never, polled
from . import document as d
from .finding import Finding
from .hosts import HostBuilder
from .places import attribute_place


def read_machines(instance: Instance, poll: Poll = never) -> tuple[Instance, list[Finding]]:
    """The instance with the machines as the reader of files leaves them, and what it would say.

    The machines are given to that reader once more; hosts of groups and units in memory are hosts
    themselves, which it must leave as they are. poll: called now and then.
    """
    cluster = instance.cluster
    names = {host.name for host in cluster.hosts}
    nodes = any(host.node_of for host in cluster.hosts)
    plain = not (nodes or cluster.groups or cluster.units or cluster.shared or instance.partitions)
    if plain and len(names) == len(cluster.hosts):
        return instance, []
    findings: list[Finding] = []
    builder = HostBuilder(_document(cluster, poll), findings)
    built = builder.cluster()
    partitions = tuple(
        replace(item, hosts=builder.members(("host_partitions", number, "HOSTS"), item.hosts))
        for number, item in enumerate(instance.partitions)
    )
    found = [attribute_place(finding, instance) for finding in findings]
    if not findings:
        found += _without_group(cluster)
        groups = {group.name: group for group in built.groups}
        read_groups = [groups[group.name] for group in cluster.groups]
        found += _unlike(("cluster", "groups"), "members", cluster.groups, read_groups)
        found += _unlike(("cluster", "units"), "hosts", cluster.units, built.units)
        found += _unlike(("cluster", "shared"), "hosts", cluster.shared, built.shared)
        found += _unlike(("partitions",), "hosts", instance.partitions, partitions)
    parts: dict[str, Any] = {"groups": built.groups, "units": built.units, "shared": built.shared}
    read = replace(instance, cluster=replace(cluster, **parts), partitions=partitions)
    return read, found


def _without_group(cluster: Cluster) -> Iterator[Finding]:
    """Machines that no group stands for, as one does in files."""
    known = {group.name for group in cluster.groups}
    machines = machine_nodes(cluster.hosts)
    for index, host in enumerate(cluster.hosts):
        if host.node_of and host.node_of not in known and machines[host.node_of][0] == host.name:
            message = f"the machine {host.node_of} needs a group of its nodes (sw.instance adds it)"
            yield Finding(("cluster", "hosts", index, "node_of"), message, undefined=True)


def machine_nodes(hosts: Iterable[Host]) -> dict[str, list[str]]:
    """Machines of several nodes, and the hosts that are their nodes, in order."""
    found: dict[str, list[str]] = {}
    for host in hosts:
        if host.node_of:
            found.setdefault(host.node_of, []).append(host.name)
    return found


def with_machine_groups(cluster: Cluster) -> Cluster:
    """The cluster in which every machine of nodes is a group too, as files give it.

    One that is broken stays as it is.
    """
    whole = isinstance(cluster.hosts, tuple) and isinstance(cluster.groups, tuple)
    hosts = whole and all(
        isinstance(host, Host) and isinstance(host.node_of, str) and isinstance(host.name, str)
        for host in cluster.hosts
    )
    if not hosts or not all(isinstance(group, HostGroup) for group in cluster.groups):
        return cluster
    taken = {host.name for host in cluster.hosts}
    known = {group.name for group in cluster.groups}
    added = tuple(
        HostGroup(name, tuple(nodes))
        for name, nodes in machine_nodes(cluster.hosts).items()
        if name not in known and name not in taken
    )
    return replace(cluster, groups=(*cluster.groups, *added)) if added else cluster


def _unlike(
    section: tuple[str, ...], key: str, given: Sequence[object], found: Sequence[object]
) -> Iterator[Finding]:
    """Objects whose hosts the reader has understood in another way."""
    for number, (item, other) in enumerate(zip(given, found, strict=True)):
        listed, read = getattr(item, key), getattr(other, key)
        if listed is not None and (set(listed) != set(read) or len(listed) != len(read)):
            message = "must name hosts, each once, and in a unit those of the units within it"
            yield Finding((*section, number, key), message)


def _document(cluster: Cluster, poll: Poll) -> d.Document:
    """The machines as a document has them; nothing of it has to be read."""
    inner: dict[str, list[str]] = {}
    for unit in cluster.units:
        if unit.parent is not None:
            inner.setdefault(unit.parent, []).append(unit.name)
    units = [
        d.UnitEntry.model_construct(
            name=unit.name, type=unit.type, members=tuple(inner.get(unit.name, unit.hosts))
        )
        for unit in cluster.units
    ]
    machines = machine_nodes(cluster.hosts)
    template = d.HostEntry.model_construct(name=("",), slots=0)
    types = (cluster.unit_types, cluster.default_unit_type)
    return d.Document.model_construct(
        format=d.FORMAT,
        hosts=[
            template.model_copy(
                update={"name": (host.name,), "slots": host.slots, "node_of": host.node_of}
            )
            for host in polled(cluster.hosts, poll)
        ],
        host_groups={
            group.name: group.members
            for group in cluster.groups
            if group.name not in machines or set(group.members) != set(machines[group.name])
        },
        compute_units=units,
        shared_resources=[
            d.SharedEntry.model_construct(
                name=item.name,
                amount=float(item.amount),
                hosts=None if item.hosts is None else tuple(sorted(item.hosts)),
                static=item.static,
            )
            for item in cluster.shared
        ],
        params=d.ParamsEntry.model_construct(compute_unit_types=types),
    )
