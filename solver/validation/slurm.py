"""Checks of a plan of method "slurm": Slurm's rules for a cycle and its fairshare, written
independently.

The plan is an estimate: it ignores deadlines, and licences and limits of later instants, and it
rounds the times of its map. Each of its jobs fits given the running jobs, and those that start
later have their nodes to themselves.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise

from ...model.instance import AdvanceReservation, Instance
from ...model.job import Job
from ...model.plan import Plan, PlannedJob, Unplaced
from ...model.slurm_version import GPUS_COUNT_OVER_NODES, PARTS_OF_TASKS, version_number
from .facts import Violation
from .schedule import HeldStretch

#: Function that checks rules of capacity and hosts for a plan of a few jobs.
Judged = Callable[[Plan], Iterator[Violation]]


def slurm_faults(
    instance: Instance, plan: Plan, judged: Judged, over_limit: Callable[[Plan], bool]
) -> Iterator[Violation]:
    """Yield everything in the plan that a cycle of Slurm's backfill cannot have returned.

    over_limit: whether a plan of a few jobs exceeds a limit; a job that would do so if it started
    now reserves no node.
    """
    started = [item for item in plan.reservations if item.start == plan.now]
    later = [item for item in plan.reservations if item.start is not None and item not in started]
    yield from judged(_alone(instance, plan, started))
    for item in later:
        yield from judged(_alone(instance, plan, [*started, item]))
    for item in plan.reservations:
        if item.start is not None and item.start < plan.now:
            yield Violation("start", f"job {item.job}: it starts before now", item.job)
        if item.proved or item.bound is not None or item.proved_if:
            yield Violation("bound", f"job {item.job}: an estimate proves nothing", item.job)
    yield from _in_partitions(instance, plan)
    holding = [
        item
        for item in later
        if not over_limit(_alone(instance, plan, [*started, replace(item, start=plan.now)]))
    ]
    yield from _shared_nodes(instance, plan, holding)
    yield from _in_reservations(instance, plan)


def as_in_a_cycle(instance: Instance, few: Plan) -> Instance:
    """The instance as a cycle reads it for a plan of a few jobs: without the nodes of queues such
    as ``a/b``, which are checked apart, without reservations that it does not see, and without
    whole tasks if the version of Slurm does not keep them whole, and without the GPUs of a job
    that the version counts over several nodes.
    """
    own = {job.id: job.reservation for job in instance.pending}
    last = max(few.reservations, key=lambda item: item.start or 0, default=None)
    if last is not None:
        windows = instance.advance_reservations
        seen = [w for w in windows if w.name == own[last.job] or _is_seen(w, last, few.now)]
        instance = replace(instance, advance_reservations=tuple(seen))
    version = version_number(instance.params.scheduler_version)
    if version in PARTS_OF_TASKS:
        jobs = tuple(replace(job, res_req=_in_parts(job.res_req)) for job in instance.pending)
        instance = replace(instance, pending=jobs)
    if version in GPUS_COUNT_OVER_NODES:
        jobs = tuple(
            replace(job, gpu=re.sub(r"num=\d+/job", "num=1/host", job.gpu))
            for job in instance.pending
        )
        instance = replace(instance, pending=jobs)
    queues = {queue.name: queue for queue in instance.queues}
    for name, queue in list(queues.items()):
        if parts := _parts(instance, name):
            queues[name] = replace(queue, hosts=(), res_req=queues[parts[0]].res_req)
    return replace(instance, queues=tuple(queues.values()))


def _is_seen(window: AdvanceReservation, item: PlannedJob, now: int) -> bool:
    """Whether a cycle that examines a job at any instant from now on sees a reservation: it begins
    before the job would end if it started now. A later one is not seen at the first instants, at
    which a cycle may find any start.
    """
    length = float("inf") if item.finish is None else item.finish - (item.start or 0)
    return window.start < now + length


def _in_parts(requirements: tuple[str, ...]) -> tuple[str, ...]:
    """The requirement strings without span[block=n]; a job with memory for each CPU keeps it."""
    return tuple(
        text if "/task" in text else re.sub(r"\s*span\[block=\d+\]", "", text)
        for text in requirements
    )


def _parts(instance: Instance, name: str) -> list[str]:
    """The partitions of which a queue ``a/b`` takes any, [] for a queue that is one itself."""
    known = [queue.name for queue in instance.queues]
    parts = name.split("/")
    is_several = instance.params.family == "Slurm" and len(parts) > 1
    return parts if is_several and all(part in known for part in parts) else []


def _in_partitions(instance: Instance, plan: Plan) -> Iterator[Violation]:
    """A job in several partitions has nodes of one of them."""
    every = {host.name for host in instance.cluster.hosts}
    listed = {queue.name: {host.name for host in queue.hosts} for queue in instance.queues}
    queue_of = {job.id: job.queue for job in instance.pending}
    for item in plan.reservations:
        parts = _parts(instance, queue_of[item.job])
        used = set(item.allocation)
        if parts and not any(used <= (listed[part] or every) for part in parts):
            text = f"job {item.job}: its nodes are of none of {', '.join(parts)} alone"
            yield Violation("candidate", text, item.job)


def _alone(instance: Instance, plan: Plan, items: list[PlannedJob]) -> Plan:
    """Return the plan of these jobs alone; the others have no start."""
    names = {item.job for item in items}
    others = [job.id for job in instance.pending if job.id not in names]
    return replace(
        plan,
        reservations=tuple(items),
        unplaced=tuple(Unplaced(name, "not examined") for name in others),
        value=None,
        behind=0,
    )


def _in_reservations(instance: Instance, plan: Plan) -> Iterator[Violation]:
    """Yield jobs outside the time of their reservation, and other jobs on its nodes."""
    own = {job.id: job.reservation for job in instance.pending}
    for item in plan.reservations:
        if item.start is None:
            continue
        end = float("inf") if item.finish is None else item.finish
        inside = [w for w in instance.advance_reservations if w.name == own[item.job]]
        if inside and not any(
            w.start <= item.start and end <= w.end and item.allocation.keys() <= w.slots.keys()
            for w in inside
        ):
            text = f"job {item.job}: it is not inside its reservation {own[item.job]}"
            yield Violation("reservation", text, item.job, "", item.start)
        for window in instance.advance_reservations:
            nodes = item.allocation.keys() & window.slots.keys()
            if not _is_seen(window, item, plan.now):
                continue
            if window not in inside and nodes and item.start < window.end and end > window.start:
                text = f"job {item.job}: its nodes are those of reservation {window.name}"
                yield Violation("reservation", text, item.job, min(nodes), item.start)


def _shared_nodes(instance: Instance, plan: Plan, later: list[PlannedJob]) -> Iterator[Violation]:
    """Yield pairs of future jobs with a common node at the same time, by the map's rounding."""
    text = instance.params.scheduler_parameters
    found = re.search(r"(?:^|,)\s*bf_resolution=(\d+)", text)
    step = int(found[1]) if found and 1 <= int(found[1]) <= 3600 else 60
    window = re.search(r"(?:^|,)\s*bf_window=(\d+)", text)
    last = plan.now + 60 * (int(window[1]) if window and 1 <= int(window[1]) <= 43200 else 1440)
    zero = 0
    if instance.origin is not None:
        zero = int(datetime.fromisoformat(instance.origin).timestamp())
    spans: list[tuple[float, float, PlannedJob]] = []
    for item in later:
        assert item.start is not None
        end = float("inf") if item.finish is None else (zero + item.finish) // step * step
        if item.start <= last:
            spans.append(((zero + item.start) // step * step, end, item))
    by_node: dict[str, list[tuple[float, float, PlannedJob]]] = {}
    for begin, end, item in spans:
        for node in item.allocation:
            by_node.setdefault(node, []).append((begin, end, item))
    for node, held in by_node.items():
        held.sort(key=lambda span: span[:2])
        for (_, end, one), (begin, _, other) in pairwise(held):
            if begin < end:
                text = f"job {other.job}: node {node} is planned for job {one.job} then"
                yield Violation("slots", text, other.job, node, other.start)


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
