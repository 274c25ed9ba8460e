"""What guaranteed resource pools keep for the owners is kept at every start (GUA-01).

A start is allowed where the job's class has, with it, no more than its guarantee; else the larger
of use and guarantee of each class, and what all others use, are no more than the pool has. A job
within the loan policy may go beyond that, as the last of its second.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...model.duration import expected_duration, granted_run_limit
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
    named = {job.reservation for job in facts.instance.pending}
    named |= {item.job.reservation for item in facts.instance.running}
    for item in facts.instance.advance_reservations:
        if facts.as_lsf and item.name not in named:
            continue  # LSF's estimate knows no reservation that none of the jobs is in
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
    blamed = [item for item in blamed if not facts.queues[item.job.queue].ignores_guarantees]
    if not blamed:
        return
    active = [item for item in facts.holdings() if item.active(time)]
    last = {id(item) for item in starting if _comes_last(facts, found, item.job)}
    own, others = _uses(facts, found, of_class, active, time)
    free = found.total - others - sum(own.values())
    free += sum(_use(facts, found, item, time) for item in starting if _at_will(facts, found, item))
    # Who has no loan started before all loans.
    first = [
        item
        for item in active
        if id(item) not in last or (item in blamed and not _loan(facts, found, own, free, item))
    ]
    own, others = _uses(facts, found, of_class, first, time)
    guilty = [i for i in blamed if i in first and _beyond(found, own, of_class[id(i)])]
    kept = sum(max(own[name], found.amounts[name]) for name in own)
    limit = max(found.total, sum(found.amounts.values()))
    if guilty and kept + others > limit + SLACK:
        what = "units" if found.pool.kind == "resource" else found.pool.kind
        text = (
            f"guaranteed pool {found.pool.name} has {shown(found.total)} {what}; at {time} s its "
            f"classes use or are owed {shown(kept)} and others use {shown(others)}"
        )
        yield blame("guarantee", guilty, text, "", time)


def _beyond(found: Guaranteed, own: dict[str, float], name: str) -> bool:
    """Whether a class has more than its guarantee; jobs without one always have."""
    return name not in own or own[name] > found.amounts[name] + SLACK


def _uses(
    facts: Facts, found: Guaranteed, of_class: dict[int, str], items: list[Holding], time: int
) -> tuple[dict[str, float], float]:
    """What the classes use, and what all others do."""
    own, others = dict.fromkeys(found.amounts, 0.0), 0.0
    for item in items:
        amount, name = _use(facts, found, item, time), of_class[id(item)]
        if name in own:
            own[name] += amount
        else:
            others += amount
    return own, others


# Loans: what LOAN_POLICIES lets a job have that owners leave idle.


def _comes_last(facts: Facts, found: Guaranteed, job: Job) -> bool:
    """Whether a job may be behind all others of its second: on a loan, or without guarantees."""
    return facts.queues[job.queue].ignores_guarantees or _may_have_loan(facts, found.pool, job)


def _at_will(facts: Facts, found: Guaranteed, item: Holding) -> bool:
    """Whether no rule of the pool binds a job, so that it may be the very last."""
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
    """Whether a start is a loan that the policy allows; free: what is left of the pool with it."""
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
    """Whether a job surely waits for resources alone at an instant."""
    queue = facts.queues[job.queue]
    windows = queue.dispatch_window or queue.run_window or job.dependency
    return job.submit <= time and (job.begin or time) <= time and not windows and queue.active
