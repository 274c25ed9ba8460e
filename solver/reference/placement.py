"""Allocations of a job, enumerated: its hosts in order, span, same and compute units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations

from ...model.cluster import ComputeUnit, NamedHosts
from ...model.instance import Instance
from ...model.job import HostRequest, Job
from ...model.resreq import (
    HostTable,
    Simple,
    effective_requirement,
    order_hosts,
    same_classes,
    select_mask,
)
from ...model.resreq.syntax import Cu

#: Slots by host, in the order in which they are taken.
Slots = Mapping[str, int]


@dataclass(frozen=True)
class Wanted:
    """What a job asks of hosts."""

    #: Names of the hosts that it may use, best first.
    hosts: tuple[str, ...]
    #: Sets of these hosts of which it may use only one: span[hosts=1], same[].
    groups: tuple[tuple[str, ...], ...]
    #: Slots on each host but the last one (span[ptile]); None: any number.
    tile: int | None
    #: Amount that it reserves on each host, by resource.
    amounts: Mapping[str, float]
    #: Hosts of which it must have one, its first execution host (-m host!); empty: any.
    first: frozenset[str]
    cu: Cu | None
    #: Compute units of the type that cu[] names.
    units: tuple[ComputeUnit, ...]


def asked_by(instance: Instance, job: Job) -> Wanted:
    """Read the requirement and the hosts of a job."""
    simple = effective_requirement(instance, job).requirement
    assert isinstance(simple, Simple)
    cluster, table = instance.cluster, HostTable(instance.cluster)
    order = order_hosts(simple.order, table, select_mask(simple.select, table))
    hosts = [cluster.hosts[at].name for at in order if cluster.hosts[at].takes_jobs]
    for requests in (instance.queue(job.queue).hosts, job.hosts):
        level = preferences(instance, requests)
        if requests:
            hosts = sorted((h for h in hosts if h in level), key=lambda h: -level[h])
    units = cluster.units_of(simple.cu.type) if simple.cu else ()
    if simple.cu:
        hosts = [host for host in hosts if any(host in unit.hosts for unit in units)]
    amounts = {}
    for item in simple.rusage.reservations() if simple.rusage else ():
        amounts[item.resource] = item.initial
    first = frozenset(preferences(instance, [item for item in job.hosts if item.first]))
    groups = [tuple(hosts)]
    if simple.same:
        (label,), index = same_classes(simple.same, table), cluster.host_index()
        numbers = dict.fromkeys(int(label[index[host]]) for host in hosts)
        groups = [tuple(h for h in hosts if label[index[h]] == n) for n in numbers if n >= 0]
    span = simple.span
    if span is not None and span.hosts == 1:
        groups = [(host,) for host in hosts if not first or host in first]
    return Wanted(
        tuple(hosts), tuple(groups), span.ptile if span else None, amounts, first, simple.cu, units
    )


def preferences(instance: Instance, requests: Sequence[HostRequest]) -> dict[str, int]:
    """Return the hosts that -m or HOSTS names, each with its preference."""
    known, found = NamedHosts(instance.cluster), dict[str, int]()
    for request in requests:
        for host in known.expand(request.name) or ():
            found[host] = max(found.get(host, 0), request.preference)
    return found


def allocations(asked: Wanted, free: Slots, wanted: int, vacant: Slots) -> Iterator[Slots]:
    """Yield the allocations of `wanted` slots, the preferred first; vacant: for pref of cu[]."""
    cu, place = asked.cu, {host: number for number, host in enumerate(asked.hosts)}

    def first_free(group: Sequence[str]) -> int:
        return min((place[host] for host in group if free[host]), default=len(place))

    groups = sorted(asked.groups, key=first_free)
    if cu is None:
        for group in groups:
            yield filled(asked, group, free, wanted)
        return
    most = min(cu.maxcus or len(asked.units), len(asked.units))
    if not cu.maxcus and not cu.balance:
        for group in groups:
            yield from over_units(asked, in_order(asked, group, free, vacant), free, wanted)
    if cu.maxcus or cu.balance or cu.usablecuslots:
        for size in range(1, most + 1):
            for group in groups:
                for chosen in combinations(in_order(asked, group, free, vacant), size):
                    yield from over_units(asked, chosen, free, wanted)


def in_order(
    asked: Wanted, group: Sequence[str], free: Slots, vacant: Slots
) -> list[tuple[str, ...]]:
    """Return the hosts of each compute unit, the preferred unit first."""
    units = [tuple(host for host in group if host in unit.hosts) for unit in asked.units]
    units = [unit for unit in units if unit]
    sign = {"maxavail": -1, "minavail": 1}.get(asked.cu.pref if asked.cu else "", 0)
    units.sort(key=lambda unit: sign * sum(vacant[host] for host in unit))
    first = leading(asked, group, free)[:1] if asked.first else []
    units.sort(key=lambda unit: not {*first} <= {*unit})
    return units


def over_units(
    asked: Wanted, units: Sequence[Sequence[str]], free: Slots, wanted: int
) -> Iterator[Slots]:
    """Yield the allocations over these compute units."""
    cu, tile = asked.cu, asked.tile or 1
    assert cu is not None
    if not cu.balance:
        least = cu.usablecuslots or 0
        most = {host: min(count, asked.tile or count) for host, count in free.items()}
        large = [unit for unit in units if sum(most[host] for host in unit) >= least]
        others = [unit for unit in units if unit not in large]
        for order in (large, [*large, *others[:1]]):
            slots = filled(asked, [host for unit in order for host in unit], free, wanted)
            parts = [sum(slots.get(host, 0) for host in unit) for unit in order]
            if all(part >= least for part in [part for part in parts if part][:-1]):
                yield slots
        return
    blocks, rest = -(-wanted // tile), wanted % tile
    equal, more = divmod(blocks, len(units))
    shares = [equal + (number < more) for number in range(len(units))]
    for split in sorted(set(permutations(shares)), reverse=True):
        for last in range(len(units)) if rest else (0,):
            shared: dict[str, int] = {}
            for number, unit in enumerate(units):
                part = split[number] * tile - (tile - rest if rest and number == last else 0)
                here = asked if number == 0 else replace(asked, first=frozenset())
                shared |= filled(here, unit, free, part)
            begins = not asked.first or asked.first & shared.keys()
            if begins and sum(shared.values()) == wanted:
                yield shared


def leading(asked: Wanted, hosts: Sequence[str], free: Slots) -> list[str]:
    """Return the hosts with the first execution host before the others; [] if it has no slot."""
    first = [host for host in hosts if free[host] and host in asked.first][:1]
    if asked.first and not first:
        return []
    return [*first, *(host for host in hosts if host not in first)]


def filled(asked: Wanted, group: Sequence[str], free: Slots, wanted: int) -> dict[str, int]:
    """Return `wanted` of the free slots, host by host; {} if there are too few.

    Under span[ptile] each host gives a whole tile, and one more what is still wanted.
    """
    slots, hosts = dict[str, int](), leading(asked, group, free)
    for host in hosts:
        part = min(free[host], wanted)
        if asked.tile is not None:
            part = asked.tile if part >= asked.tile else 0
        if part:
            slots[host] = part
            wanted -= part
    if wanted and asked.tile is not None:
        led = bool(asked.first) and hosts[:1] != list(slots)[:1]
        used = [unit.hosts for unit in asked.units if any(host in unit.hosts for host in slots)]
        rest = [h for h in (hosts[:1] if led else hosts) if h not in slots and free[h] >= wanted]
        rest.sort(key=lambda host: not any(host in unit for unit in used))
        for host in rest[:1]:
            slots[host] = wanted
            wanted = 0
    begins = not asked.first or any(host in slots for host in hosts[:1])
    return slots if begins and not wanted else {}
