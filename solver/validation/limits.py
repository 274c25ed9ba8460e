"""Limits of hosts, queues, users and lsb.resources, in the future too (TBR-10)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...model.job import Job
from ...model.limits import Limit, Scope
from .capacity import blame
from .columns import NEVER, IntArray
from .facts import SLACK, Facts, Holding
from .usage import of_shared_on, on_host
from .violation import Violation, shown


@dataclass(frozen=True, slots=True)
class Rule:
    """At most `most` of `what` for the jobs that the rule covers.

    what: ``slots``, ``jobs`` or a resource. users, queues, projects: None for all. hosts: None for
    all; each_host: the amount holds for every one of them alone. per_processor: `most` is times the
    processors of the host, rounded up. array: the id of the array whose elements alone count.
    """

    name: str
    most: float
    what: str = "slots"
    users: frozenset[str] | None = None
    queues: frozenset[str] | None = None
    projects: frozenset[str] | None = None
    hosts: frozenset[str] | None = None
    each_host: bool = False
    per_processor: bool = False
    array: str | None = None

    def covers(self, job: Job) -> bool:
        """Whether the job counts."""
        return (
            (self.users is None or job.user in self.users)
            and (self.queues is None or job.queue in self.queues)
            and (self.projects is None or job.project in self.projects)
            and (self.array is None or _array_of(job) == self.array)
        )

    def on(self, host: str) -> bool:
        """Whether the host counts."""
        return self.hosts is None or host in self.hosts


class Covered:
    """The jobs that a rule covers, from when to when they run as columns."""

    def __init__(self, facts: Facts, rule: Rule) -> None:
        self.rule = rule
        kinds = [jobs for jobs in facts.alike().values() if rule.covers(jobs[0].job)]
        if rule.array is not None:
            kinds = [[item for item in facts.holdings() if rule.covers(item.job)]]
        self._jobs = [item for jobs in kinds for item in jobs]
        count = len(self._jobs)
        self._starts = np.fromiter((item.start for item in self._jobs), np.int64, count)
        ends = (NEVER if item.finish is None else item.finish for item in self._jobs)
        self._finishes = np.fromiter(ends, np.int64, count)
        #: What each counts for, where that is the same as long as it runs.
        self._counts: IntArray | None = None

    def used(self, facts: Facts, time: int) -> float:
        """What those that run at `time` count for the rule together, over all hosts."""
        active = (self._starts <= time) & (time < self._finishes)
        if self.rule.what not in ("slots", "jobs"):
            jobs = (self._jobs[at] for at in np.flatnonzero(active))
            return sum(_over_hosts(facts, self.rule, item, time) for item in jobs)
        if self._counts is None:
            counts = (int(_over_hosts(facts, self.rule, item, time)) for item in self._jobs)
            self._counts = np.fromiter(counts, np.int64, len(self._jobs))
        return int(self._counts[active].sum())


def limits(facts: Facts) -> Iterator[Violation]:
    """Every limit that covers a planned job holds at the instant at which it starts."""
    covered: dict[Rule, Covered] = {}
    for time, jobs in facts.starts().items():
        facts.poll()
        rules: dict[Rule, list[Holding]] = {}
        for job in jobs:
            for rule in rules_of(facts, job.job):
                if job.active(time) and any(rule.on(host) for host in job.allocation):
                    rules.setdefault(rule, []).append(job)
        for rule, blamed in rules.items():
            if rule not in covered:
                covered[rule] = Covered(facts, rule)
            yield from _broken(facts, covered[rule], blamed, time)


def _broken(
    facts: Facts, covered: Covered, blamed: list[Holding], time: int
) -> Iterator[Violation]:
    rule = covered.rule
    if not rule.each_host:
        guilty = [job for job in blamed if _over_hosts(facts, rule, job, time) > 0]
        used = covered.used(facts, time) if guilty else 0.0
        if used > rule.most + SLACK:
            text = f"{shown(used)} {rule.what} at {time} s, {rule.name} allows {shown(rule.most)}"
            yield blame("limit", guilty, text, "", time)
        return
    for host in dict.fromkeys(host for job in blamed for host in job.allocation if rule.on(host)):
        most = most_on(facts, rule, host)
        guilty = [job for job in blamed if _on_one_host(facts, rule, job, host, time) > 0]
        there = (item for item in facts.by_host[host] if rule.covers(item.job))
        used = sum(
            _on_one_host(facts, rule, item, host, time) for item in there if item.active(time)
        )
        if guilty and used > most + SLACK:
            text = f"{shown(used)} {rule.what} on host {host} at {time} s"
            yield blame("limit", guilty, f"{text}, {rule.name} allows {shown(most)}", host, time)


def most_on(facts: Facts, rule: Rule, host: str) -> float:
    """What a rule that holds for each host allows on this one."""
    if rule.per_processor:
        return math.ceil(rule.most * facts.hosts[host].processors - SLACK)
    return rule.most


def _over_hosts(facts: Facts, rule: Rule, holding: Holding, time: int) -> float:
    """What a job counts for a rule over all its hosts."""
    if rule.hosts is None and rule.what == "slots":
        return holding.slots
    inside = [host for host in holding.allocation if rule.on(host)]
    if rule.what == "slots":
        return sum(holding.allocation[host] for host in inside)
    if rule.what == "jobs":
        return 1 if inside else 0
    if facts.hosts_have(rule.what):
        return sum(on_host(facts, holding, rule.what, host, time) for host in inside)
    return of_shared_on(facts, holding, rule.what, time, rule.on)


def _on_one_host(facts: Facts, rule: Rule, holding: Holding, host: str, time: int) -> float:
    """What a job counts for a rule on one host."""
    if host not in holding.allocation:
        return 0
    if rule.what == "slots":
        return holding.allocation[host]
    if rule.what == "jobs":
        return 1
    if facts.hosts_have(rule.what):
        return on_host(facts, holding, rule.what, host, time)
    return of_shared_on(facts, holding, rule.what, time, lambda name: name == host)


# --- which rules cover a job --------------------------------------------------------------------


def rules_of(facts: Facts, job: Job) -> Iterator[Rule]:
    """All rules that cover the job."""
    yield from _host_rules(facts, job)
    yield from _queue_rules(facts, job)
    yield from _user_rules(facts, job)
    yield from _array_rules(facts, job)
    for limit in facts.instance.limits:
        yield from _section_rules(facts, limit, job)


def _host_rules(facts: Facts, job: Job) -> Iterator[Rule]:
    """JL/U of lsb.hosts."""
    user = frozenset({job.user})
    for most, hosts in facts.own_limits().items():
        name = f"JL/U for user {job.user}"
        yield Rule(name, most, users=user, hosts=hosts, each_host=True)


def _queue_rules(facts: Facts, job: Job) -> Iterator[Rule]:
    """QJOB_LIMIT, UJOB_LIMIT, HJOB_LIMIT and PJOB_LIMIT of lsb.queues."""
    queue, own = facts.queues[job.queue], frozenset({job.queue})
    where = f"of queue {queue.name}"
    if queue.queue_slots is not None:
        yield Rule(f"QJOB_LIMIT {where}", queue.queue_slots, queues=own)
    if queue.user_slots is not None:
        name = f"UJOB_LIMIT {where} for user {job.user}"
        yield Rule(name, queue.user_slots, users=frozenset({job.user}), queues=own)
    if queue.host_slots is not None:
        yield Rule(f"HJOB_LIMIT {where}", queue.host_slots, queues=own, each_host=True)
    if queue.processor_slots is not None:
        name = f"PJOB_LIMIT {where}"
        most = queue.processor_slots
        yield Rule(name, most, queues=own, each_host=True, per_processor=True)


def _user_rules(facts: Facts, job: Job) -> Iterator[Rule]:
    """MAX_JOBS and JL/P of lsb.users.

    A group counts together, ``group@`` each member alone, ``default`` each user not listed.
    """
    listed = {user.name for user in facts.instance.users}
    for user in facts.instance.users:
        name = user.name.removesuffix("@")
        each = user.name.endswith("@") or name == "default"
        unlisted = name == "default" and job.user not in listed
        if not unlisted and job.user not in facts.members(name):
            continue
        who = frozenset({job.user}) if each else facts.members(name)
        label = job.user if each else name
        if user.max_slots is not None:
            yield Rule(f"MAX_JOBS of {label}", user.max_slots, users=who)
        if user.processor_slots is not None:
            most = user.processor_slots
            yield Rule(f"JL/P of {label}", most, users=who, each_host=True, per_processor=True)


def _array_of(job: Job) -> str | None:
    """The id before the index of an element, ``101`` of ``101[3]``."""
    return job.id[: job.id.index("[")] if job.id.endswith("]") and "[" in job.id else None


def _array_rules(facts: Facts, job: Job) -> Iterator[Rule]:
    """No more elements of an array run at once than ``%4`` of bsub -J says (ARR-01)."""
    array = _array_of(job)
    if array is not None and (most := facts.array_limits().get(array)) is not None:
        yield Rule(f"the running element limit of array {array}", most, "jobs", array=array)


def _section_rules(facts: Facts, limit: Limit, job: Job) -> Iterator[Rule]:
    """The rows of one Limit section that cover the job."""
    users = _scope(facts, limit.users, job.user, "user")
    queues = _scope(facts, limit.queues, job.queue, "queue")
    projects = _scope(facts, limit.projects, job.project, "project")
    row = Rule(f"limit {limit.name}", 0, users=users, queues=queues, projects=projects)
    if not row.covers(job):
        return
    scope = limit.hosts
    hosts = None
    if scope is not None:
        hosts = facts.expand(scope.names) - facts.expand(scope.excluded)
    each = scope is not None and scope.each
    name = row.name + _whose(limit, job)
    for what, most in limit.amounts.items():
        yield Rule(name, most, what, users, queues, projects, hosts, each)
    if limit.slots_per_processor is not None and each:
        most = limit.slots_per_processor
        yield Rule(name, most, "slots", users, queues, projects, hosts, each, per_processor=True)


def _whose(limit: Limit, job: Job) -> str:
    scopes = ((limit.users, job.user), (limit.queues, job.queue), (limit.projects, job.project))
    own = [value for scope, value in scopes if scope is not None and scope.each]
    return f" for {' '.join(own)}" if own else ""


def _scope(facts: Facts, scope: Scope | None, value: str, attribute: str) -> frozenset[str] | None:
    """Names that share one amount with `value`: itself alone under PER_*, empty if not covered."""
    if scope is None:
        return None
    named = frozenset[str]()
    for name in scope.names:
        named |= facts.everyone(attribute) if name == "all" else facts.members(name)
    for name in scope.excluded:
        named -= facts.members(name)
    if not scope.each:
        return named
    return frozenset({value}) & named
