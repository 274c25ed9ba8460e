"""Check that guaranteed resource pools keep resources for their owners (GUA-01).

A start is allowed if the job's class, including it, has at most its guarantee, or if the rest of
the pool covers all unused guarantees. A job within the loan policy may exceed that, as the last of
its second.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ...model.cluster import Host
from ...model.duration import expected_duration, granted_run_limit
from ...model.job import Job
from ...model.resreq import HostTable, parse_with_notes, requirement_options
from ...model.resreq.syntax import Simple
from ...model.service_class import GuaranteedAmount, GuaranteedPool
from .capacity import blame
from .facts import SLACK, Facts, Holding, Violation, of_shared_on, on_host, shown
from .hosts import view
from .reservations import minded
from .selection import satisfies

#: Status of hosts that count for a pool.
_STATES = ("ok", "closed_busy", "closed_excl", "closed_cu_excl", "closed_full")


@dataclass(frozen=True, slots=True)
class Guaranteed:
    """One pool of the instance."""

    #: Pool of the guarantee.
    pool: GuaranteedPool
    #: Names of its hosts.
    hosts: frozenset[str]
    #: Total amount.
    total: float
    #: Guaranteed amount by service class.
    amounts: dict[str, float]


def kept_for_owners(facts: Facts) -> Iterator[Violation]:
    """Yield planned jobs that take resources kept for other jobs."""
    of_class = {id(item): _class_of(facts, item.job) for item in facts.holdings()}
    for found in _pools(facts):
        for time, starting in facts.starts().items():
            facts.poll()
            yield from _at(facts, found, of_class, starting, time)
            yield from _by_host(facts, found, of_class, starting, time)


def _pools(facts: Facts) -> Iterator[Guaranteed]:
    """Yield the guaranteed pools; a host is in the first pool that takes it."""
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
    if pool.kind == "package":
        return float(sum(_of_host(pool, facts.hosts[name]) for name in hosts))
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
    for item in minded(facts):
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
    """Return the class that a job names, else the first that attaches it."""
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
        "LIC_PROJECTS": job.license_project in names,
    }.get(part, False)


def _use(facts: Facts, found: Guaranteed, item: Holding, time: int) -> float:
    """Return the use of a pool by a job."""
    inside = [host for host in item.allocation if host in found.hosts]
    if found.pool.kind == "slots":
        return sum(item.allocation[host] for host in inside)
    if found.pool.kind == "hosts":
        return len(inside)
    if found.pool.kind == "package":
        return sum(_packages(facts, found.pool, item, host, time) for host in inside)
    name = found.pool.arguments["name"]
    return of_shared_on(facts, item, name, time, lambda host: True)


def _whole(pool: GuaranteedPool, slots: int, mem: float) -> int:
    """Return the number of packages in these slots and this memory of a host."""
    each = pool.arguments
    counts = [slots // int(each["slots"])] if "slots" in each else []
    if "mem" in each:
        counts.append(math.floor(mem / float(each["mem"]) + SLACK))
    return min(counts)


def _of_host(pool: GuaranteedPool, host: Host) -> int:
    return _whole(pool, host.slots, host.amounts.get("mem", 0.0))


def _packages(facts: Facts, pool: GuaranteedPool, item: Holding, host: str, time: int) -> int:
    """Return the whole packages that a job takes on a host."""
    each, count = pool.arguments, 0.0
    if "slots" in each:
        count = item.allocation[host] / float(each["slots"])
    if "mem" in each:
        count = max(count, on_host(facts, item, "mem", host, time) / float(each["mem"]))
    return math.ceil(count - SLACK)


def _at(
    facts: Facts,
    found: Guaranteed,
    of_class: dict[int, str],
    starting: list[Holding],
    time: int,
) -> Iterator[Violation]:
    blamed = [item for item in starting if item.active(time) and _use(facts, found, item, time) > 0]
    blamed = [item for item in blamed if not facts.queues[item.job.queue].ignores_guarantees]
    if not blamed:
        return
    active = [item for item in facts.holdings() if item.active(time)]
    last = {id(item) for item in starting if _comes_last(facts, found, item.job)}
    bound = [i for i in active if i not in starting or not _at_will(facts, found, i)]
    free = _free(facts, found, bound, time)
    own = _used(facts, found, of_class, active, time)
    # Jobs without a loan started before all loans.
    first = [
        item
        for item in active
        if id(item) not in last or (item in blamed and not _loan(facts, found, own, free, item))
    ]
    own, free = _used(facts, found, of_class, first, time), _free(facts, found, first, time)
    guilty = [i for i in blamed if i in first and _beyond(found, own, of_class[id(i)])]
    unmet = sum(max(0.0, found.amounts[name] - own[name]) for name in own)
    if guilty and free + SLACK < unmet:
        text = (
            f"guaranteed pool {found.pool.name} has {shown(found.total)} of {found.pool.type}; at "
            f"{time} s {shown(free)} are left and {shown(unmet)} are owed to its classes"
        )
        yield blame("guarantee", guilty, text, "", time)


def _free(facts: Facts, found: Guaranteed, items: list[Holding], time: int) -> float:
    """Return the rest of a pool that these jobs leave; only whole hosts and packages count."""
    if found.pool.kind in ("slots", "resource"):
        return found.total - sum(_use(facts, found, item, time) for item in items)
    if found.pool.kind == "hosts":
        return float(len(found.hosts - {host for item in items for host in item.allocation}))
    left = 0
    for name in found.hosts:
        host, here = facts.hosts[name], [item for item in items if name in item.allocation]
        slots = host.slots - sum(item.allocation[name] for item in here)
        taken = sum(on_host(facts, item, "mem", name, time) for item in here)
        mem = host.amounts.get("mem", 0.0) - taken
        left += max(0, _whole(found.pool, slots, mem))
    return float(left)


def _by_host(
    facts: Facts,
    found: Guaranteed,
    of_class: dict[int, str],
    starting: list[Holding],
    time: int,
) -> Iterator[Violation]:
    """Yield jobs of classes with a guarantee that use more than SLOTS_PER_HOST of a host."""
    number = found.pool.slots_per_host
    mine = [item for item in starting if of_class[id(item)] in found.amounts]
    hosts = dict.fromkeys(host for item in mine for host in item.allocation if host in found.hosts)
    for host in hosts if number is not None else ():
        there = [item for item in facts.holdings_on(host) if item.active(time)]
        used = sum(item.allocation[host] for item in there if of_class[id(item)] in found.amounts)
        guilty = [item for item in mine if host in item.allocation and item.active(time)]
        if guilty and used > (number or 0):
            text = (
                f"{used} slots in use by classes of guaranteed pool {found.pool.name} on host "
                f"{host} at {time} s, SLOTS_PER_HOST allows {number}"
            )
            yield blame("guarantee", guilty, text, host, time)


def _beyond(found: Guaranteed, own: dict[str, float], name: str) -> bool:
    """Return whether a class has more than its guarantee; jobs without one always have."""
    return name not in own or own[name] > found.amounts[name] + SLACK


def _used(
    facts: Facts, found: Guaranteed, of_class: dict[int, str], items: list[Holding], time: int
) -> dict[str, float]:
    """Return the use of each class; a host shared by several of its jobs counts once."""
    own = dict.fromkeys(found.amounts, 0.0)
    for name in own:
        those = [item for item in items if of_class[id(item)] == name]
        own[name] = sum(_use(facts, found, item, time) for item in those)
        if found.pool.kind == "hosts":
            shared = {host for item in those for host in item.allocation}
            own[name] = float(len(found.hosts & shared))
    return own


def _comes_last(facts: Facts, found: Guaranteed, job: Job) -> bool:
    """Return whether a job may be the last of its second: on a loan, or without guarantees."""
    return facts.queues[job.queue].ignores_guarantees or _may_have_loan(facts, found.pool, job)


def _at_will(facts: Facts, found: Guaranteed, item: Holding) -> bool:
    """Return whether no rule of the pool applies to a job, so that it may be the very last."""
    queue, policy = item.job.queue, found.pool.loans
    return facts.queues[queue].ignores_guarantees or (policy is not None and queue in policy.exempt)


def _may_have_loan(facts: Facts, pool: GuaranteedPool, job: Job) -> bool:
    policy = pool.loans
    if policy is None or not {"all", job.queue} & {*policy.queues, *policy.exempt}:
        return False
    if policy.duration is None or job.queue in policy.exempt:
        return True
    spans = (expected_duration(facts.instance, job), granted_run_limit(facts.instance, job))
    return any(span is not None and span <= policy.duration for span in spans)


def _loan(
    facts: Facts,
    found: Guaranteed,
    own: dict[str, float],
    free: float,
    item: Holding,
) -> bool:
    """Return whether the loan policy allows a start; free: rest of the pool after it."""
    policy = found.pool.loans
    if policy is None or not _may_have_loan(facts, found.pool, item.job):
        return False
    if item.job.queue in policy.exempt:
        return True
    unused = {name: max(0.0, found.amounts[name] - own[name]) for name in own}
    kept = 0.0
    if policy.retain is not None:
        kept = sum(min(_amount(policy.retain, found.total), rest) for rest in unused.values())
    if policy.idle_buffer is not None:
        kept = max(kept, _amount(policy.idle_buffer, found.total))
    if free + SLACK < kept:
        return False
    if not policy.close_on_demand:
        return True
    before = dict(own)
    if (name := _class_of(facts, item.job)) in before:
        before[name] -= _use(facts, found, item, item.start)
    unused = {name: max(0.0, found.amounts[name] - before[name]) for name in own}
    begun = {other.job.id for other in facts.planned if other.start <= item.start} - {item.job.id}
    return not any(
        unused.get(_class_of(facts, job), 0.0) > 0 and _waits_already(facts, job, item.start)
        for name, job in facts.pending.items()
        if name not in begun
    )


def _waits_already(facts: Facts, job: Job, time: int) -> bool:
    """Return whether a job certainly waits only for resources at an instant."""
    queue = facts.queues[job.queue]
    deferred = queue.dispatch_window or queue.run_window or job.dependency or job.reservation
    return job.submit <= time and (job.begin or time) <= time and not deferred and queue.active
