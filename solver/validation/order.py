"""Rules for the order in which jobs are tried: queues, priorities, APS (APS-01).

If the order depends on shares, only jobs that are equal for all shares are compared.

Fairshare of Slurm over a simulated schedule, computed period by period from its records.

It shares no code with the scheduler, nor with the import: every period is gone through by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from operator import attrgetter
from typing import Any

from ...model.absolute_priority import AbsolutePriority
from ...model.configuration import Queue
from ...model.instance import Instance
from ...model.job import Job
from ...model.resreq.syntax import Compound, Simple
from .facts import Facts, Violation, counts_of, method
from .schedule import HeldStretch, Record, Schedule, facts_of, stretches

#: Periods times stretches that are gone through; beyond, only jobs of one association are compared.
_MOST = 3_000_000


@dataclass(frozen=True, slots=True)
class _Rule:
    weight: int
    decay: float
    period: int
    damping: int
    flags: frozenset[str]
    ends_count: bool

    @classmethod
    def of(cls, instance: Instance) -> _Rule | None:
        """Read off the words of an instance, None if fairshare does not count."""
        pairs = (word.split("=", 1) for word in instance.params.select_parameters.split(","))
        words = {pair[0]: pair[1] for pair in pairs if len(pair) == 2}
        weight = int(words.get("PriorityWeightFairshare", "0"))
        if not weight or not instance.associations or instance.params.family != "Slurm":
            return None
        half_life = int(words.get("PriorityDecayHalfLife", "604800"))
        return cls(
            weight,
            1 - 0.693 / half_life if half_life else 1.0,
            int(words.get("PriorityCalcPeriod", "300")),
            int(words.get("FairShareDampeningFactor", "1")),
            frozenset(words.get("PriorityFlags", "").split("+")),
            words.get("AccountingStorageEnforce", "limits") == "limits",
        )


class FairshareOverTime:
    """Fairshare parts of priorities at any time of a schedule."""

    def __init__(self, instance: Instance, stretches: Sequence[HeldStretch]) -> None:
        self._rule = _Rule.of(instance)
        self._items = instance.associations
        self._runs = stretches
        self._begin = instance.now
        self._usage = [[item.usage for item in self._items]]
        #: Effective usage of accounts by the computation before (classic formula).
        self._late: list[dict[int, float]] = [{}]
        self._parts: dict[int, list[float]] = {}
        self._below: dict[int, tuple[int, ...]] = {}
        self._number = {
            (item.account, item.user, item.partition): n for n, item in enumerate(self._items)
        }

    @classmethod
    def across_users(
        cls, instance: Instance, stretches: Sequence[HeldStretch], until: int
    ) -> FairshareOverTime | None:
        """Return the parts by which jobs of several users are compared, None if they are not.

        Other rules by user or account, billing by other than CPUs, or a very long schedule: None.
        """
        rule = _Rule.of(instance)
        others = instance.limits or instance.users or instance.groups or instance.job_groups
        if rule is None or others or "TRESBillingWeights" in instance.params.select_parameters:
            return None
        periods = max(0, until - instance.now) // rule.period + 1
        return cls(instance, stretches) if periods * len(stretches) <= _MOST else None

    def moved(self, job: Job, time: int) -> float:
        """Return by how much the priority of a job has moved since the instance's now."""
        number = self._of(job)
        if self._rule is None or number is None or job.has_fixed_priority:
            return 0.0
        place = time // self._rule.period - self._begin // self._rule.period
        return self._at(max(0, place))[number] - self._at(0)[number]

    def _of(self, job: Job) -> int | None:
        account = job.project.split("/")[0]
        own = self._number.get((account, job.user, job.queue))
        return self._number.get((account, job.user, "")) if own is None else own

    def _above(self, number: int) -> int | None:
        item = self._items[number]
        if item.account == "root" and not item.user:
            return None
        return self._number.get((item.account if item.user else item.parent, "", ""), self._root)

    @property
    def _root(self) -> int:
        return self._number[("root", "", "")]

    def _at(self, place: int) -> list[float]:
        """Return the part of each association after this many periods."""
        while len(self._usage) <= place:
            self._next()
        if place not in self._parts:
            factors = self._factors(self._usage[place], self._late[place])
            if not place:  # present priorities contain the factors that Slurm printed
                stated = (item.factor for item in self._items)
                factors = [
                    own if given is None else given
                    for own, given in zip(factors, stated, strict=True)
                ]
            assert self._rule is not None, "it counts"
            self._parts[place] = [float(int(self._rule.weight * value)) for value in factors]
        return self._parts[place]

    def _next(self) -> None:
        """Add the usage of one period more."""
        rule = self._rule
        assert rule is not None, "it counts"
        first = (self._begin // rule.period + len(self._usage) - 1) * rule.period
        last = first + rule.period
        before, ends = self._usage[-1], [0.0] * len(self._items)
        after = [used * rule.decay**rule.period for used in before]
        for run in self._runs:
            number = self._of(run.job)
            finished = run.end is not None and run.end < last
            if number is None or run.start >= last or (finished and not rule.ends_count):
                continue
            until = last if run.end is None else min(last, run.end)
            seconds = max(0, until - max(first, run.start))
            amount = seconds * rule.decay**seconds * sum(run.allocation.values())
            at: int | None = number
            while at is not None:
                after[at] += amount * (rule.decay**rule.period if finished else 1.0)
                ends[at] += amount if finished else 0.0
                at = self._above(at)
        self._usage.append(after)
        known = [one + other for one, other in zip(before, ends, strict=True)]
        classic = "NO_FAIR_TREE" in rule.flags
        self._late.append(self._effective(known, {}) if classic else {})

    def _level(self, number: int) -> tuple[int, ...]:
        """Return the associations below an account; those of a child without shares are its own."""
        if number in self._below:
            return self._below[number]
        found: list[int] = []
        for other in range(len(self._items)):
            above = self._above(other)
            while above is not None and self._items[above].shares is None and above != self._root:
                above = self._above(above)
            if above == number:
                found.append(other)
        self._below[number] = tuple(found)
        return self._below[number]

    def _factors(self, usage: Sequence[float], late: Mapping[int, float]) -> list[float]:
        rule = self._rule
        assert rule is not None, "it counts"
        if "NO_FAIR_TREE" in rule.flags:
            return self._by_formula(usage, late, rule.damping)
        found = [0.0] * len(self._items)
        users = sum(bool(item.user) for item in self._items)
        rank = users
        for place, (number, tied) in enumerate(self._walk(self._root, usage, tied=False)):
            rank = rank if tied else users - place
            found[number] = rank / users
        return found

    def _walk(
        self, account: int, usage: Sequence[float], *, tied: bool
    ) -> Iterator[tuple[int, bool]]:
        """Yield the users below an account by LevelFS, and whether each equals the one before."""
        below = self._level(account)
        total = sum(self._items[number].shares or 0 for number in below)
        levels: dict[int, float] = {}
        for number in below:
            item = self._items[number]
            part = usage[number] / usage[account] if usage[account] else 0.0
            if item.shares is None:
                levels[number] = math.inf if item.user else 2.0**32 - 2
            elif not item.shares or not total:
                levels[number] = 0.0
            else:
                levels[number] = item.shares / total / part if part else math.inf
        last: float | None = None
        for place, number in enumerate(
            sorted(below, key=lambda n: (-levels[n], not self._items[n].user))
        ):
            equal = tied if tied and not place else last == levels[number]
            if self._items[number].user:
                yield number, equal
            else:
                yield from self._walk(number, usage, tied=equal)
            last = levels[number]

    def _effective(self, usage: Sequence[float], late: Mapping[int, float]) -> dict[int, float]:
        """Return the effective usage of each association, of the classic formula."""
        whole = usage[self._root]
        found = {self._root: 1.0}
        for account, below, total in self._downwards():
            for number in below:
                item = self._items[number]
                own = min(1.0, usage[number] / whole) if whole else 0.0
                if account == self._root:
                    value = own
                elif item.shares is None or not total:
                    value = found[account]
                else:
                    value = own + (found[account] - own) * item.shares / total
                found[number] = value if item.user else late.get(number, value)
        return found

    def _downwards(self) -> Iterator[tuple[int, Sequence[int], int]]:
        """Yield each account before those below it, with these and the sum of their shares."""
        todo = [self._root]
        while todo:
            account = todo.pop()
            below = self._level(account)
            yield account, below, sum(self._items[number].shares or 0 for number in below)
            todo += [number for number in below if not self._items[number].user]

    def _by_formula(
        self, usage: Sequence[float], late: Mapping[int, float], damping: int
    ) -> list[float]:
        effective = self._effective(usage, late)
        found = [0.0] * len(self._items)
        norm = {self._root: 1.0}
        for account, below, total in self._downwards():
            for number in below:
                shares = self._items[number].shares
                own = account if shares is None else number
                norm[number] = norm[account]
                if shares is not None:
                    norm[number] *= shares / total if total else 0.0
                if norm[own] > 0:
                    found[number] = 2 ** -(effective[own] / norm[own] / damping)
        return found


#: Sort key of a job, comparable within one class.
Place = tuple[Any, ...]
#: Parts of each factor.
_WITHIN = {"RSRC": ("PROC", "MEM", "SWAP"), "WORK": ("JPRIORITY", "QPRIORITY", "APP", "USER", "UG")}
_LARGEST = 1e6
#: Difference of two priorities whose fairshare parts are truncated.
_ROUNDED = 2
#: Tolerance for equal values.
_LEVEL = 1e-9


@dataclass(frozen=True, slots=True)
class Standing:
    """Position of a job among those of its class."""

    #: Class of the job; only jobs of one class can be compared.
    group: tuple[object, ...]
    #: Sort key within the class.
    place: Place


class Standings:
    """Positions of the jobs of an instance at one time."""

    def __init__(self, facts: Facts, shares: FairshareOverTime | None = None) -> None:
        self._facts = facts
        #: Fairshare of Slurm by which jobs of several users are compared.
        self._shares = shares
        self._instance = facts.instance
        self._shared = bool(self._instance.partitions) or any(
            queue.user_shares or queue.slot_pool for queue in facts.queues.values()
        )
        self._parents = _parents(self._instance)

    def of(self, job: Job, now: int) -> Standing | None:
        """Return the position of a job at `now`; None if it cannot be determined."""
        own = grown(self._instance, job, now)
        parent = self._parents.get(job.queue)
        if parent is None or parent.aps_priority is None:
            moved = 0.0 if self._shares is None else self._shares.moved(job, now)
            place = (-self._facts.queues[job.queue].priority, -own - moved, job.queue_position)
            return Standing(("queue", *(_seen_by_shares(job) if self._shared else ())), place)
        formula = parent.aps_priority
        by_shares = bool(parent.user_shares) and "FS" in formula.weights
        if by_shares and "FS" in formula.delays:
            return None
        group = ("absolute", parent.name, *(_seen_by_shares(job) if by_shares else ()))
        if job.aps is not None and job.aps.kind == "system":
            return Standing(group, (0, -job.aps.value, job.submit))
        worth = round(self._value(formula, job, now, own) / _LEVEL) * _LEVEL
        return Standing(group, (1, -worth, job.submit))

    def is_near(self, one: Standing, other: Standing) -> bool:
        """Return whether only a rounded part of fairshare keeps two jobs of one queue apart."""
        known = self._shares is not None and one.place[0] == other.place[0]
        return known and 0 < abs(one.place[1] - other.place[1]) <= _ROUNDED

    def _value(self, formula: AbsolutePriority, job: Job, now: int, own: int) -> float:
        """Return the sum of APS_PRIORITY without FS, which is equal for all compared jobs."""
        pended = max(0, now - job.submit)
        weights, limits = formula.weights, formula.limits

        def counts(name: str) -> bool:
            return pended >= formula.delays.get(name, 0)

        def within(value: float, name: str) -> float:
            bound = abs(limits[name]) if name in limits else float("inf")
            return min(bound, max(-bound, value))

        total = 0.0
        for factor, parts in _WITHIN.items():
            if not counts(factor):
                continue
            inside = sum(
                within(weights[part] * self._metric(part, job, own), part)
                for part in parts
                if part in weights and counts(part)
            )
            total += within(weights.get(factor, 1.0) * inside, factor)
        if job.aps is not None and job.aps.kind == "admin":
            total += job.aps.value
        return min(total, _LARGEST)

    def _metric(self, name: str, job: Job, own: int) -> float:
        instance = self._instance
        match name:
            case "PROC":
                return job.slots if job.max_slots is None else job.max_slots
            case "MEM" | "SWAP":
                return self._asked(job, "mem" if name == "MEM" else "swp")
            case "JPRIORITY":
                return own
            case "QPRIORITY":
                return self._facts.queues[job.queue].priority
            case "APP":
                return sum(p.priority for p in instance.applications if p.name == job.application)
            case "USER":
                return sum(user.priority for user in instance.users if user.name == job.user)
            case _:
                return sum(group.priority for group in instance.groups if group.name == job.group)

    def _asked(self, job: Job, resource: str) -> float:
        """Return the requested MB in total, by the first alternative; a host amount on the
        fewest hosts.
        """
        asked = self._facts.requirement(job)
        if isinstance(asked, str):
            return 0.0
        parts: list[tuple[Simple, int]] = []
        if isinstance(asked, Compound):
            parts += zip(
                (term.requirement for term in asked.terms), counts_of(job, asked), strict=True
            )
        else:
            parts.append((asked, job.slots if job.max_slots is None else job.max_slots))
        total = 0.0
        for part, slots in parts:
            tile = part.span.ptile if part.span is not None else None
            for item in part.rusage.reservations() if part.rusage and slots else ():
                if item.resource != resource:
                    continue
                times = {"PER_SLOT": slots, "PER_JOB": 1}
                hosts = -(-slots // tile) if tile else 1
                total += item.initial * times.get(method(self._facts, item, "PER_HOST"), hosts)
        return total


def grown(instance: Instance, job: Job, now: int) -> int:
    """The job priority at `now`, by JOB_PRIORITY_OVER_TIME, or by age as Slurm has it."""
    if instance.params.family == "Slurm":
        return job.priority + (0 if job.has_fixed_priority else _aged(instance, job, now))
    growth, most = instance.params.job_priority_over_time, instance.params.max_user_priority
    if growth is None or most == 0 or now <= job.submit:
        return job.priority
    by, seconds = growth[0], 60 * growth[1]
    if instance.params.family == "LSF":
        return job.priority + by * int((now - job.submit) / seconds)
    return job.priority + int(by * (now - job.submit) / seconds)


def _aged(instance: Instance, job: Job, now: int) -> int:
    """The age part of a priority at the last computation, less that of second 0."""
    pairs = (
        word.split("=") for word in instance.params.select_parameters.split(",") if "=" in word
    )
    words = {pair[0]: pair[1] for pair in pairs}
    weight = int(words.get("PriorityWeightAge", "0"))
    longest = Fraction(words.get("PriorityMaxAge", "604800"))
    every = int(words.get("PriorityCalcPeriod", "300"))
    first = max(job.submit, job.begin or job.submit)
    if "ACCRUE_ALWAYS" in words.get("PriorityFlags", ""):
        first = job.submit
    parts = []
    for time in (now - now % every, 0):
        share = max(Fraction(0), min(Fraction(1), (time - first) / longest))
        parts.append(int(weight * share))
    return parts[0] - parts[1]


def _parents(instance: Instance) -> dict[str, Queue]:
    """Return for each queue the queue whose formula orders its jobs."""
    absolute = [queue for queue in instance.queues if queue.aps_priority is not None]
    found: dict[str, Queue] = {}
    for queue in absolute:
        for name in queue.queue_group:
            found[name] = queue
    for queue in absolute:
        found.setdefault(queue.name, queue)
    return found


def _seen_by_shares(job: Job) -> tuple[object, ...]:
    return job.queue, job.user, job.group, job.project, job.slots, job.res_req, job.hosts


def ahead(facts: Facts, behind: list[str]) -> Iterator[Violation]:
    """Yield jobs omitted as last in the order that come before another job; `behind`: their ids."""
    standings = Standings(facts)
    now = facts.instance.now
    last: dict[tuple[object, ...], tuple[Place, str]] = {}
    waiting = set(behind)
    for name, job in facts.pending.items():
        if name not in waiting and (at := standings.of(job, now)) is not None:
            last[at.group] = max(last.get(at.group, (at.place, name)), (at.place, name))
    for name in behind:
        at = standings.of(facts.pending[name], now)
        later = None if at is None else last.get(at.group)
        if at is not None and later is not None and at.place < later[0]:
            text = f"job {name}: it is omitted as behind the others, and comes before {later[1]}"
            yield Violation("entry", text, name)


#: Fields in which jobs may differ and still be compared; -b is checked apart.
_OWN = frozenset(
    {"id", "submit", "begin", "priority", "queued_as", "aps", "weight", "name", "orphan_term"}
    | {"run_time", "cpu_time"}
)
_ASKED = attrgetter(*(field.name for field in fields(Job) if field.name not in _OWN))
#: Fields of a request without the association, if the shares of all are known.
_ASKED_BY_ANY = attrgetter(
    *(field.name for field in fields(Job) if field.name not in _OWN | {"user", "project"})
)


def out_of_order(instance: Instance, schedule: Schedule) -> Iterator[Violation]:
    """Yield waiting jobs behind which a job with an equal request starts.

    Checked if positions change with time or follow absolute priority. A job that had reserved slots
    before its start keeps them, and starts before those that have overtaken it.
    """
    growing = (
        instance.params.job_priority_over_time is not None
        or "PriorityWeightAge=" in instance.params.select_parameters
        or "PriorityWeightFairshare=" in instance.params.select_parameters
    )
    if not growing and not any(queue.aps_priority for queue in instance.queues):
        return
    jobs = {job.id: job for job in (*instance.pending, *instance.future)}
    shares = FairshareOverTime.across_users(instance, stretches(instance, schedule), schedule.time)
    asked = _ASKED if shares is None else _ASKED_BY_ANY
    alike: dict[tuple[object, ...], list[Record]] = {}
    for record in schedule.jobs:
        job = jobs.get(record.job)
        if job is not None and not job.dependency and job.array_limit is None:
            alike.setdefault((asked(job),), []).append(record)
    if schedule.settings.reservation != "none" and not schedule.log:
        return
    held: dict[str, list[int]] = {}
    for entry in schedule.log:
        for item in entry["reservations"]:
            held.setdefault(item["job"], []).append(entry["time"])
    standings = Standings(facts_of(instance, (), ()), shares)
    for records in alike.values():
        if len(records) > 1:
            free = [it for it in records if it.start is not None and not held.get(it.job)]
            yield from _overtaken(standings, jobs, free, records)


def _overtaken(
    standings: Standings, jobs: dict[str, Job], started: list[Record], records: list[Record]
) -> Iterator[Violation]:
    for record in started:
        time = record.start
        assert time is not None
        own = standings.of(jobs[record.job], time)
        for other in records:
            job = jobs[other.job]
            waits = other.start is None or other.start > time
            if not waits or max(job.submit, job.begin or 0) >= time:
                continue
            at = standings.of(job, time)
            if own is None or at is None or at.group != own.group:
                continue
            if at.place < own.place and not standings.is_near(own, at):
                text = f"job {record.job}: it starts at {time} s before job {job.id}, which asks "
                text += "for the same and comes before it then"
                yield Violation("order", text, record.job, time=time)
                break
