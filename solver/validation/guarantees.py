"""What guaranteed resource pools keep for the owners is kept at every start (GUA-01).

A start is allowed where the job's class has, with it, no more than its guarantee; else the larger
of use and guarantee of each class, and what all others use, are no more than the pool has. A job
within the loan policy may go beyond that, as the last of its second.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...model.job import Job
from ...model.resreq import HostTable, parse_with_notes, requirement_options
from ...model.resreq.syntax import Simple
from ...model.service_class import GuaranteedAmount, GuaranteedPool
from .capacity import blame
from .facts import SLACK, Facts, Holding, Violation, of_shared_on, satisfies, shown
from .hosts import view

#: Hosts in these states count.
_STATES = ("ok", "closed_busy", "closed_excl", "closed_cu_excl", "closed_full")


@dataclass(frozen=True, slots=True)
class Guaranteed:
    """One pool of the instance."""

    pool: GuaranteedPool
    hosts: frozenset[str]
    total: float
    amounts: dict[str, float]


def kept_for_owners(facts: Facts) -> Iterator[Violation]:
    """No planned job takes what its pools keep for others."""
    of_class = {id(item): _class_of(facts, item.job) for item in facts.holdings()}
    for found in _pools(facts):
        for time, starting in facts.starts().items():
            facts.poll()
            yield from _at(facts, found, of_class, starting, time)


def _pools(facts: Facts) -> Iterator[Guaranteed]:
    """A host is in the first pool of hosts that takes it."""
    taken: frozenset[str] = frozenset()
    for pool in facts.instance.guaranteed_pools:
        hosts = frozenset(facts.hosts)
        if pool.kind != "resource":
            hosts = _hosts_of(facts, pool) - taken
            taken |= hosts
        total = _total(facts, pool, hosts)
        amounts = {item.service_class: _amount(item.share, total) for item in pool.distribution}
        yield Guaranteed(pool, hosts, total, amounts)


def _amount(share: GuaranteedAmount, total: float) -> float:
    return share.amount * total / 100 // 1 if share.percent else share.amount


def _total(facts: Facts, pool: GuaranteedPool, hosts: frozenset[str]) -> float:
    if pool.kind == "slots":
        return float(sum(facts.hosts[name].slots for name in hosts))
    if pool.kind == "hosts":
        return float(len(hosts))
    shared = facts.instance.cluster.shared
    return float(sum(item.amount for item in shared if pool.type == f"resource[{item.name}]"))


def _hosts_of(facts: Facts, pool: GuaranteedPool) -> frozenset[str]:
    everything = frozenset(facts.hosts)
    found = frozenset[str]()
    for name in [name for name in pool.hosts if name[0] != "~"] or ["all"]:
        found |= everything if name == "all" else facts.expand((name,))
    for name in pool.hosts:
        if name[0] == "~":
            found -= facts.expand((name[1:],))
    now = facts.instance.now
    for item in facts.instance.advance_reservations:
        if item.start <= now < item.end:
            found -= frozenset(item.slots)
    found = frozenset(name for name in found if facts.hosts[name].status.lower() in _STATES)
    if not pool.res_select:
        return found
    vocabulary = HostTable(facts.instance.cluster).vocabulary
    options = requirement_options(facts.instance.params, vocabulary)
    asked = parse_with_notes(pool.res_select, options).requirement
    select = asked.select if isinstance(asked, Simple) else None
    return frozenset(n for n in found if satisfies(select, view(facts, facts.hosts[n])))


def _class_of(facts: Facts, job: Job) -> str:
    """The class that a job names, else the first that attaches it."""
    listed = facts.instance.service_classes
    if job.service_class:
        return job.service_class if any(c.name == job.service_class for c in listed) else ""
    for item in listed:
        if item.auto_attach and all(
            _meets(facts, part, set(names), job) for part, names in item.access.items()
        ):
            return item.name
    return ""


def _meets(facts: Facts, part: str, names: set[str], job: Job) -> bool:
    people = {user for name in names for user in facts.members(name)}
    of_user = job.user in people or "all" in people
    return {
        "QUEUES": job.queue in names or "all" in names,
        "USERS": of_user,
        "FAIRSHARE_GROUPS": job.group in names if job.group else of_user,
        "APPS": job.application in names,
        "PROJECTS": job.project in names,
    }.get(part, False)


def _use(facts: Facts, found: Guaranteed, item: Holding, time: int) -> float:
    """What a job uses of a pool."""
    inside = [host for host in item.allocation if host in found.hosts]
    if found.pool.kind == "slots":
        return sum(item.allocation[host] for host in inside)
    if found.pool.kind == "hosts":
        return len(inside)
    name = found.pool.arguments["name"]
    return of_shared_on(facts, item, name, time, lambda host: True)


def _at(
    facts: Facts,
    found: Guaranteed,
    of_class: dict[int, str],
    starting: list[Holding],
    time: int,
) -> Iterator[Violation]:
    blamed = [item for item in starting if item.active(time) and _use(facts, found, item, time) > 0]
    if not blamed:
        return
    active = [item for item in facts.holdings() if item.active(time)]
    uses = [(of_class[id(item)], item, _use(facts, found, item, time)) for item in active]
    own = dict.fromkeys(found.amounts, 0.0)
    for name, _, amount in uses:
        if name in own:
            own[name] += amount
    guilty = [
        item
        for item in blamed
        if own.get(of_class[id(item)], 1) > found.amounts.get(of_class[id(item)], 0) + SLACK
    ]
    others = sum(amount for name, _, amount in uses if name not in own)
    kept = sum(max(own[name], found.amounts[name]) for name in own)
    most = max(found.total, sum(found.amounts.values()))
    if guilty and kept + others > most + SLACK:
        what = "units" if found.pool.kind == "resource" else found.pool.kind
        text = (
            f"guaranteed pool {found.pool.name} has {shown(found.total)} {what}; at {time} s its "
            f"classes use or are owed {shown(kept)} and others use {shown(others)}"
        )
        yield blame("guarantee", guilty, text, "", time)
