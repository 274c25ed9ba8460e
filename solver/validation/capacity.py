"""Checks of capacity: hosts and shared resources suffice at every instant (RSV, PLC-11, TBR-19).

A job never uses more later than at its start, so only the instants are examined at which planned
jobs start or an advance reservation takes its slots. Conflicts among running jobs are not the
plan's fault: only a planned job is ever blamed. But a host on which running jobs use more slots
than it has is reported, because no plan can be checked on it.

Checks of GPUs, from the texts of -gpu and GPU_REQ: number and kind. A GPU of a job is counted as
its own, even if jobs might share one: the check is then never too strict, but a start may be later
than necessary (GPU-03).
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from ...model.cluster import Host
from ...model.configuration import Limit, Queue, Scope
from ...model.job import Job
from . import reservations
from .facts import (
    GPUS,
    OPEN_END,
    SLACK,
    Facts,
    Holding,
    IntArray,
    Violation,
    amount_of,
    holdings_by_host,
    of_shared,
    of_shared_on,
    on_host,
    shown,
)
from .shape import blocked_hosts


def running(facts: Facts) -> Iterator[Violation]:
    """Yield hosts on which running jobs, without suspended ones, have more slots than the host."""
    active = (item.allocation.items() for item in facts.instance.running if not item.suspended)
    held: defaultdict[str, int] = defaultdict(int)
    for name, count in chain.from_iterable(active):
        held[name] += count
    for host in facts.instance.cluster.hosts:
        if held[host.name] > host.slots:
            text = f"{host.name} has {host.slots} slots, its running jobs use {held[host.name]}"
            yield Violation("running", text, host=host.name, time=facts.instance.now)


def slots(facts: Facts) -> Iterator[Violation]:
    """Yield instants at which planned jobs exceed the slots of a host that are not reserved in
    advance.
    """
    for time, jobs in instants(facts).items():
        facts.poll()
        for host, blamed in holdings_by_host(jobs).items():
            active = [item for item in facts.holdings_on(host) if item.active(time)]
            yield from _overfull(facts, host, time, active, blamed)
            yield from _beyond_reservations(facts, host, time, active, blamed)


def suspensions(facts: Facts) -> Iterator[Violation]:
    """Yield suspended jobs that no queue (PREEMPTION) and no advance reservation may suspend."""
    holding = (*facts.running, *facts.planned)
    running = {item.job.id: facts.queues[item.job.queue] for item in holding}
    for name, time in facts.plan.suspended.items():
        other = running.get(name)
        periods = (item for item in facts.instance.advance_reservations if item.suspends)
        if any(item.start <= time < item.end for item in periods):
            continue
        if other is None or not any(_may_suspend(own, other) for own in facts.queues.values()):
            text = f"job {name}: it is suspended at {time} s, and no queue may preempt it"
            yield Violation("suspended", text, name, "", time)


def _may_suspend(own: Queue, other: Queue) -> bool:
    named = {*(own.preemptive or ())} & {other.name, "*"}
    named |= {*(other.preemptable or ())} & {own.name, "*"}
    return bool(named) and own.priority > other.priority and not other.backfill


def _overfull(
    facts: Facts, host: str, time: int, active: list[Holding], blamed: list[Holding]
) -> Iterator[Violation]:
    """Yield violations of the slots of a host at an instant, also by jobs in no reservation."""
    have = facts.hosts[host].slots
    every = facts.instance.advance_reservations
    outside = active
    if every:
        outside = [item for item in active if not reservations.windows_of(facts, item.job)]
    guilty = [item for item in blamed if item in outside]
    used = sum(item.allocation[host] for item in outside)
    reserved = reservations.set_aside(facts, host, time) if every else 0
    if guilty and used + reserved > have:
        less = f", {reserved} of them reserved in advance" if reserved else ""
        text = f"{used} slots in use on host {host} at {time} s, but it has {have}{less}"
        yield blame("slots", guilty, text, host, time)
    used = sum(item.allocation[host] for item in active)
    if len(outside) < len(active) and used > have:
        text = f"{used} slots in use on host {host} at {time} s, but it has {have}"
        yield blame("slots", blamed, text, host, time)


def _beyond_reservations(
    facts: Facts, host: str, time: int, active: list[Holding], blamed: list[Holding]
) -> Iterator[Violation]:
    """Yield reservations whose jobs have more slots of a host than the reservation."""
    for name in {item.job.reservation for item in blamed} - {""}:
        own = [item for item in active if item.job.reservation == name]
        windows = reservations.windows_of(facts, own[0].job) if own else []
        used = sum(item.allocation[host] for item in own)
        most = max((window.slots.get(host, 0) for window in windows), default=used)
        if used > most:
            guilty = [item for item in blamed if item.job.reservation == name]
            text = f"{used} slots in use on host {host} at {time} s"
            text = f"{text}, advance reservation {name} has {most} there"
            yield blame("slots", guilty, text, host, time)


def amounts(facts: Facts) -> Iterator[Violation]:
    """Yield shortages of mem, swp, tmp and user-defined amounts of a host, phase by phase
    (RSV-01).
    """
    for time, jobs in facts.starts().items():
        facts.poll()
        for host, blamed in holdings_by_host([job for job in jobs if job.active(time)]).items():
            active = [item for item in facts.holdings_on(host) if item.keeps(time)]
            for resource in _reserved_names(blamed):
                have = amount_of(facts.hosts[host], resource)
                if have is None or not any(
                    on_host(facts, job, resource, host, time) > 0 for job in blamed
                ):
                    continue
                used = sum(on_host(facts, item, resource, host, time) for item in active)
                if used > have + SLACK:
                    text = f"{shown(used)} {resource} in use on host {host} at {time} s"
                    yield blame(resource, blamed, f"{text}, but it has {shown(have)}", host, time)


def shared(facts: Facts) -> Iterator[Violation]:
    """Yield shortages at a location of a shared resource (RSV-10)."""
    for time, jobs in facts.starts().items():
        facts.poll()
        blamed = [job for job in jobs if job.active(time)]
        for resource in _reserved_names(blamed):
            active: list[Holding] | None = None
            for location in facts.instance.cluster.shared:
                if location.name != resource or facts.hosts_have(resource):
                    continue
                guilty = [job for job in blamed if of_shared(facts, job, location, time) > 0]
                if active is None:
                    active = [item for item in facts.reserving(resource) if item.keeps(time)]
                used = sum(of_shared(facts, item, location, time) for item in active)
                if guilty and used > location.amount + SLACK:
                    text = f"{shown(used)} {resource} in use at {time} s"
                    text = f"{text}, there are {shown(location.amount)}"
                    yield blame(resource, guilty, text, "", time)


def alone(facts: Facts) -> Iterator[Violation]:
    """Yield jobs on hosts of -x jobs, or on units of cu[excl] jobs (PLC-11, PLC-13)."""
    for owner in facts.holdings():
        facts.poll()
        blocked, rule = blocked_hosts(facts, owner)
        met: set[int] = set()
        for host in sorted(blocked):
            # A running job meets no other fault than a planned one.
            there = facts.holdings_on(host) if owner.planned else facts.by_host.get(host, ())
            for other in there:
                if other is owner or id(other) in met or not owner.overlaps(other):
                    continue
                if owner.planned or other.planned:
                    met.add(id(other))
                    time = max(owner.start, other.start)
                    text = f"{rule} of job {owner.job.id} allows no other job on host {host}"
                    text = f"{text} at {time} s, job {other.job.id} is there"
                    guilty = owner if owner.planned else other
                    yield Violation("alone", text, guilty.job.id, host, time)
            yield from _reserved_from(facts, owner, host, rule)


def _reserved_from(facts: Facts, owner: Holding, host: str, rule: str) -> Iterator[Violation]:
    """Yield an exclusive job on a host that an advance reservation uses at the same time."""
    if not (owner.planned and facts.instance.advance_reservations):
        return
    if reservations.windows_of(facts, owner.job):
        return
    for window in reservations.minded(facts):
        ends = owner.finish is None or window.start < owner.finish
        if window.slots.get(host) and ends and owner.start < window.end:
            time = max(owner.start, window.start)
            text = f"{rule} of job {owner.job.id} allows no other job on host {host}"
            text = f"{text} at {time} s, advance reservation {window.name} is there"
            yield Violation("alone", text, owner.job.id, host, time)


def instants(facts: Facts) -> dict[int, list[Holding]]:
    """Return instants at which slots are checked, with the planned jobs to report."""
    found = {
        time: [job for job in jobs if job.active(time)] for time, jobs in facts.starts().items()
    }
    every = facts.instance.advance_reservations
    for window in reservations.minded(facts) if every else ():
        if window.start > facts.instance.now:
            here = [
                job
                for job in facts.planned
                if job.active(window.start) and job.start != window.start
            ]
            known = found.setdefault(window.start, [])
            known += [job for job in here if window.slots.keys() & job.allocation.keys()]
    return dict(sorted(found.items()))


def blame(check: str, jobs: list[Holding], text: str, host: str, time: int) -> Violation:
    """Return a violation of all planned jobs that overlap; `job` names the last of them."""
    names = ", ".join(job.job.id for job in jobs)
    word = "job" if len(jobs) == 1 else "jobs"
    return Violation(check, f"{word} {names}: {text}", jobs[-1].job.id, host, time)


def _reserved_names(jobs: list[Holding]) -> list[str]:
    """Return the resources that the jobs reserve, in their order, without repeats."""
    names = [item.resource for job in jobs for part in job.parts for item in part.reservations]
    return list(dict.fromkeys(names))


_MB = {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1024**2, "P": 1024**3, "E": 1024**4}


def kinds(facts: Facts) -> Iterator[Violation]:
    """Yield hosts whose GPUs lack the requested model, maker or memory."""
    for holding in facts.planned:
        asked = _options(facts, holding.job)
        for host in holding.allocation if asked is not None else ():
            for fault in _faults(facts, facts.hosts[host], asked or {}):
                text = f"job {holding.job.id}: host {host} {fault}"
                yield Violation("gpu", text, holding.job.id, host, holding.start)


def enough(facts: Facts) -> Iterator[Violation]:
    """Yield starts at which more GPUs of a host are in use than it has."""
    if not any(_options(facts, holding.job) is not None for holding in facts.planned):
        return
    for time, starting in facts.starts().items():
        facts.poll()
        for host in dict.fromkeys(name for job in starting for name in job.allocation):
            blamed = [job for job in starting if _taken(facts, job, host) > 0]
            active = [item for item in facts.holdings_on(host) if item.keeps(time)]
            used = sum(_taken(facts, item, host) for item in active)
            have = amount_of(facts.hosts[host], GPUS[0]) or 0
            if blamed and used > have:
                names = ", ".join(job.job.id for job in blamed)
                text = f"job {names}: {shown(used)} GPUs in use on host {host} at {time} s"
                text = f"{text}, but it has {shown(have)}"
                yield Violation("gpu", text, blamed[-1].job.id, host, time)


#: Processor units of affinity[], each with the field of a host that counts them.
UNITS = {
    **{"core": "cores", "thread": "threads", "cpu": "threads", "socket": "sockets"},
    **{"numa": "numa_nodes", "mcm": "numa_nodes"},
}


def processor_units(facts: Facts) -> Iterator[Violation]:
    """Yield starts at which slots with affinity[core(n)] and similar lack their n units
    (AFF-01).
    """
    kinds = dict.fromkeys(UNITS.values())
    every = facts.hosts.values()
    counted = [k for k in kinds if any(getattr(host, k) is not None for host in every)]
    for time, starting in facts.starts().items() if counted else ():
        facts.poll()
        for host in dict.fromkeys(name for job in starting for name in job.allocation):
            for kind in counted:
                have = getattr(facts.hosts[host], kind)
                blamed = [job for job in starting if _units_taken(job, host, kind)]
                if have is None or not blamed:
                    continue
                there = [item for item in facts.holdings_on(host) if item.active(time)]
                used = sum(_units_taken(item, host, kind) for item in there)
                if used > have:
                    names = ", ".join(job.job.id for job in blamed)
                    words = kind.replace("_", " ")
                    text = f"job {names}: {used} {words} in use on host {host} at {time} s"
                    text = f"{text}, but it has {have}"
                    yield Violation("affinity", text, blamed[-1].job.id, host, time)


def _units_taken(holding: Holding, host: str, unit: str) -> int:
    """Return the minimum units of a host that the affinity sections of a job take, term by term."""
    taken = 0
    for part in holding.parts:
        kind, _, rest = part.requirement.affinity.replace(" ", "").partition("(")
        if UNITS.get(kind.partition("*")[0].partition(":")[0]) != unit:
            continue
        number, _, behind = rest.partition(")") if rest else ("1", "", kind)
        plain = number.isdigit() and ":" not in behind.replace(":distribute=any", "")
        times = re.search(r"\*(\d+)", behind) if plain else None
        count = int(number.partition(",")[0]) * (int(times[1]) if times else 1)
        taken += count * part.allocation.get(host, 0)
    return taken


def _options(facts: Facts, job: Job) -> dict[str, str] | None:
    """Return the GPU options that apply to a job, None if neither it nor its queue requests
    GPUs.
    """
    instance = facts.instance
    application = instance.application(job.application) if job.application else None
    texts = [facts.queues[job.queue].gpu_req, application.gpu_req if application else "", job.gpu]
    if not any(texts):
        return None
    texts = [text for text in (instance.params.gpu_req, *texts) if text and text != "-"]
    if not instance.params.gpu_req_merge:
        texts = texts[-1:]
    found: dict[str, str] = {}
    for text in texts:
        for item in text.split(":"):
            key, sign, value = item.partition("=")
            if sign:
                found[key.strip()] = value.strip(" '\"")
    return found


def _taken(facts: Facts, holding: Holding, host: str) -> float:
    """Return the GPUs of a host that -gpu or GPU_REQ gives a job; 0 if its rusage counts them."""
    options = _options(facts, holding.job) if host in holding.allocation else None
    if options is None or _counted_by_rusage(facts, holding.job):
        return 0.0
    number, _, per = options.get("num", "1").partition("/")
    usage = [u.method for u in facts.instance.reservation_usage if u.resource == GPUS[0]]
    usual = "PER_SLOT" if facts.instance.params.reserve_per_slot else "PER_HOST"
    method = {"task": "PER_SLOT", "host": "PER_HOST"}.get(per, (*usage, usual)[0])
    if method == "PER_SLOT":
        return float(int(number) * holding.allocation[host])
    if method == "PER_JOB":
        return float(int(number) * (next(iter(holding.allocation)) == host))
    return float(number)


def _counted_by_rusage(facts: Facts, job: Job) -> bool:
    application = facts.instance.application(job.application) if job.application else None
    texts = (*job.res_req, facts.queues[job.queue].res_req, application and application.res_req)
    return any(re.search(r"rusage\[[^\]]*\bngpus", text or "") for text in texts)


def _faults(facts: Facts, host: Host, asked: dict[str, str]) -> Iterator[str]:
    """Yield the faults of the GPUs of a host; properties that the host does not give pass."""
    if amount_of(host, GPUS[0]) is None:
        yield "has no GPUs"
    if host.gpus is None:
        return
    model, mem = host.gpus.model.lower(), host.gpus.mem
    name, _, card = asked.get("gmodel", "").replace("#", "-").lower().partition("-")
    if name and model and not _named(name, model):
        yield f"has GPUs {host.gpus.model}, not {name}"
    if card and mem is not None and not 0.9 <= mem / _megabytes(card, "M") <= 1.1:
        yield f"has GPUs of {shown(mem)} MB, not {card}"
    unit = facts.instance.params.unit_for_limits[0]
    if "gmem" in asked and mem is not None and mem < _megabytes(asked["gmem"], unit):
        yield f"has GPUs of {shown(mem)} MB, too few for gmem={asked['gmem']}"
    vendor = asked.get("gvendor", "").lower()
    if vendor and model:
        maker = (
            "amd" if any(w in model for w in ("radeon", "vega", "instinct", "amd")) else "nvidia"
        )
        if vendor != maker:
            yield f"has GPUs of {maker}, not of {vendor}"


def _named(name: str, model: str) -> bool:
    """Return whether a model has this name or a part of it, with numbers matched in full."""
    at = model.find(name)
    while at >= 0:
        rest = model[at + len(name) :]
        digits = re.match(r"\d*", rest)
        following = digits[0] if digits else ""
        memory = rest[len(following) :].startswith("gb") and not following.startswith("0")
        if not (name[-1].isdigit() and following) or memory:
            return True
        at = model.find(name, at + 1)
    return False


def _megabytes(text: str, unit: str) -> float:
    plain = text.strip().upper().removesuffix("B")
    letter = plain[-1] if plain[-1] in _MB else unit
    return float(plain.rstrip("KMGTPE")) * _MB[letter]


def accept_interval(facts: Facts) -> Iterator[Violation]:
    """Yield starts on a host less than the interval of the job's queue after another start.

    Of jobs that are planned for the same second, one may be accepted after the other only if the
    queue of the second has no interval; any order is allowed.
    """
    if not any(_interval(facts, name) for name in facts.queues):
        return
    for host, there in facts.by_host.items():
        facts.poll()
        for late in there:
            interval = _interval(facts, late.job.queue)
            if not late.planned or not interval:
                continue
            for early in there:
                if early is not late and _keeps_off(facts, early, late, interval):
                    text = (
                        f"job {late.job.id}: it starts on host {host} at {late.start} s, job "
                        f"{early.job.id} did at {early.start} s, less than {interval} s before "
                        "(JOB_ACCEPT_INTERVAL)"
                    )
                    yield Violation("accept-interval", text, late.job.id, host, late.start)


def _keeps_off(facts: Facts, early: Holding, late: Holding, interval: int) -> bool:
    if early.start == late.start and early.planned:
        both = bool(_interval(facts, early.job.queue))
        # Each conflict is reported for one of the two jobs.
        return both and early.job.id < late.job.id
    return early.start <= late.start < early.start + interval


def _interval(facts: Facts, queue: str) -> int:
    """Return the accept interval of a queue in seconds."""
    params = facts.instance.params
    own = facts.queues[queue].job_accept_interval
    cycles = params.job_accept_interval if own is None else own
    return cycles * params.mbd_sleep_time


@dataclass(frozen=True, slots=True)
class Rule:
    """At most `most` of `what` for the jobs that the rule covers."""

    #: Name of the rule for messages.
    name: str
    most: float
    #: Amount that it limits: ``slots``, ``jobs`` or a resource.
    what: str = "slots"
    #: Users whose jobs count; None in this and the next five fields: all.
    users: frozenset[str] | None = None
    #: Queues whose jobs count.
    queues: frozenset[str] | None = None
    #: Projects whose jobs count.
    projects: frozenset[str] | None = None
    #: Application profiles whose jobs count.
    apps: frozenset[str] | None = None
    #: Licence projects whose jobs count.
    lic_projects: frozenset[str] | None = None
    #: Names of the hosts that count.
    hosts: frozenset[str] | None = None
    #: Whether the amount applies to each host alone.
    each_host: bool = False
    #: Whether `most` is multiplied by the processors of the host and rounded up.
    per_processor: bool = False
    #: Whether `most` is a percentage of the host's amount, rounded to whole MB.
    percent: bool = False
    #: Id of the array if only its elements count.
    array: str | None = None
    #: Job group if only its jobs and those of groups below it count.
    job_group: str = ""

    def covers(self, job: Job) -> bool:
        """Return whether the job counts."""
        return (
            (self.users is None or job.user in self.users)
            and (self.queues is None or job.queue in self.queues)
            and (self.projects is None or job.project in self.projects)
            and (self.apps is None or job.application in self.apps)
            and (self.lic_projects is None or job.license_project in self.lic_projects)
            and (self.array is None or _array_of(job) == self.array)
            and f"{job.job_group}/".startswith(f"{self.job_group}/" if self.job_group else "")
        )

    def on(self, host: str) -> bool:
        """Return whether the host counts."""
        return self.hosts is None or host in self.hosts


class Covered:
    """The jobs that a rule covers, from when to when they run as columns."""

    def __init__(self, facts: Facts, rule: Rule) -> None:
        self.rule = rule
        kinds = [jobs for jobs in facts.alike().values() if rule.covers(jobs[0].job)]
        if rule.array is not None or rule.job_group:
            kinds = [[item for item in facts.holdings() if rule.covers(item.job)]]
        self._jobs = [item for jobs in kinds for item in jobs]
        self._starts = np.array([item.start for item in self._jobs], dtype=np.int64)
        ends = [OPEN_END if item.finish is None else item.finish for item in self._jobs]
        self._finishes = np.array(ends, dtype=np.int64)
        #: Count of each job, if it is constant while the job runs.
        self._counts: IntArray | None = None

    def used(self, facts: Facts, time: int) -> float:
        """Return the total over all hosts that jobs running at `time` count for the rule."""
        active = (self._starts <= time) & (time < self._finishes)
        if self.rule.what not in ("slots", "jobs"):
            jobs = (self._jobs[at] for at in np.flatnonzero(active))
            return sum(_over_hosts(facts, self.rule, item, time) for item in jobs)
        if self._counts is None:
            counts = [int(_over_hosts(facts, self.rule, item, time)) for item in self._jobs]
            self._counts = np.array(counts, dtype=np.int64)
        return int(self._counts[active].sum())


def limits(facts: Facts) -> Iterator[Violation]:
    """Yield limits that a planned job exceeds at its start."""
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
        there = (item for item in facts.holdings_on(host) if rule.covers(item.job))
        used = sum(
            _on_one_host(facts, rule, item, host, time) for item in there if item.active(time)
        )
        if guilty and used > most + SLACK:
            text = f"{shown(used)} {rule.what} on host {host} at {time} s"
            yield blame("limit", guilty, f"{text}, {rule.name} allows {shown(most)}", host, time)


def most_on(facts: Facts, rule: Rule, host: str) -> float:
    """Return the maximum on this host by a rule that applies to each host."""
    if rule.percent:
        have = amount_of(facts.hosts[host], rule.what)
        return math.inf if have is None else math.floor(have * rule.most / 100 + 0.5)
    if rule.per_processor:
        it = facts.hosts[host]
        # LSF's open family counts MXJ as processors.
        lava = facts.instance.params.family in ("OpenLava", "volclava")
        count = it.slots if lava else it.processors
        return math.ceil(rule.most * count - SLACK)
    return rule.most


def _over_hosts(facts: Facts, rule: Rule, holding: Holding, time: int) -> float:
    """Return the count of a job for a rule over all its hosts."""
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
    """Return the count of a job for a rule on one host."""
    if host not in holding.allocation:
        return 0
    if rule.what == "slots":
        return holding.allocation[host]
    if rule.what == "jobs":
        return 1
    if facts.hosts_have(rule.what):
        return on_host(facts, holding, rule.what, host, time)
    return of_shared_on(facts, holding, rule.what, time, lambda name: name == host)


def rules_of(facts: Facts, job: Job) -> Iterator[Rule]:
    """Yield all limits that cover the job."""
    yield from _host_rules(facts, job)
    yield from _queue_rules(facts, job)
    yield from _user_rules(facts, job)
    yield from _array_rules(facts, job)
    for group in facts.instance.job_groups:
        name = f"the limit of job group {group.name}"
        if group.limit is not None and f"{job.job_group}/".startswith(f"{group.name}/"):
            yield Rule(name, group.limit, "jobs", job_group=group.name)
    for limit in facts.instance.limits:
        yield from _section_rules(facts, limit, job)


def _host_rules(facts: Facts, job: Job) -> Iterator[Rule]:
    """Yield the limits JL/U of lsb.hosts."""
    user = frozenset({job.user})
    for most, hosts in facts.own_limits().items():
        name = f"JL/U for user {job.user}"
        yield Rule(name, most, users=user, hosts=hosts, each_host=True)


def _queue_rules(facts: Facts, job: Job) -> Iterator[Rule]:
    """Yield QJOB_LIMIT, UJOB_LIMIT, HJOB_LIMIT and PJOB_LIMIT of lsb.queues."""
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
    """Yield MAX_JOBS and JL/P of lsb.users.

    A group counts together, ``group@`` each member alone, ``default`` each user not listed.
    """
    listed = {user.name for user in facts.instance.users}
    for user in facts.instance.users:
        name = user.name.removesuffix("@")
        each = user.name.endswith("@") or name == "default"
        unlisted = name == "default" and job.user not in listed
        if not unlisted and job.user not in facts.members(name):
            continue
        users = frozenset({job.user}) if each else facts.members(name)
        label = job.user if each else name
        if user.max_slots is not None:
            yield Rule(f"MAX_JOBS of {label}", user.max_slots, users=users)
        if user.processor_slots is not None:
            most = user.processor_slots
            yield Rule(f"JL/P of {label}", most, users=users, each_host=True, per_processor=True)


def _array_of(job: Job) -> str | None:
    """Return the id before the index of an element: ``101`` of ``101[3]``."""
    return job.id[: job.id.index("[")] if job.id.endswith("]") and "[" in job.id else None


def _array_rules(facts: Facts, job: Job) -> Iterator[Rule]:
    """Yield the rule that at most ``%4`` (bsub -J) elements of an array run together (ARR-01)."""
    array = _array_of(job)
    if array is not None and (most := facts.array_limits().get(array)) is not None:
        yield Rule(f"the running element limit of array {array}", most, "jobs", array=array)


def _section_rules(facts: Facts, limit: Limit, job: Job) -> Iterator[Rule]:
    """Yield the rows of one Limit section that cover the job."""
    users = _scope(facts, limit.users, job.user, "user")
    queues = _scope(facts, limit.queues, job.queue, "queue")
    projects = _scope(facts, limit.projects, job.project, "project")
    apps = _scope(facts, limit.apps, job.application, "application")
    licenses = _scope(facts, limit.lic_projects, job.license_project, "license_project")
    whose = users, queues, projects, apps, licenses
    row = Rule(f"limit {limit.name}", 0, "", *whose)
    if not row.covers(job):
        return
    scope = limit.hosts
    hosts = None
    if scope is not None:
        hosts = facts.expand(scope.names) - facts.expand(scope.excluded)
    each = scope is not None and scope.each
    name = row.name + _owners(limit, job)
    for what, most in limit.amounts.items():
        yield Rule(name, most, what, *whose, hosts, each)
    for what, most in limit.percentages.items() if each else ():
        row = Rule(name, most, what, *whose, hosts, each)
        yield replace(row, percent=True)
    if limit.slots_per_processor is not None and each:
        most = limit.slots_per_processor
        row = Rule(name, most, "slots", *whose, hosts, each)
        yield replace(row, per_processor=True)


def _owners(limit: Limit, job: Job) -> str:
    scopes = (
        *((limit.users, job.user), (limit.queues, job.queue), (limit.projects, job.project)),
        (limit.apps, job.application),
        (limit.lic_projects, job.license_project),
    )
    own = [value for scope, value in scopes if scope is not None and scope.each]
    return f" for {' '.join(own)}" if own else ""


def _scope(facts: Facts, scope: Scope | None, value: str, attribute: str) -> frozenset[str] | None:
    """Return the names that share one amount with `value`: itself alone under PER_*, () if not
    covered.
    """
    if scope is None:
        return None
    named = facts.named(scope, attribute)
    if not scope.each:
        return named
    return frozenset({value}) & named
