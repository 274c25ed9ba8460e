"""Random small sites with guaranteed pools and loans, and their earliest starts by enumeration.

Nothing of the product is asked but its records. Every way to spread the slots of every job is tried
at every minute. What a pool allows is read as it is written: the jobs that start at an instant are
taken one by one in every order, loans last.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import permutations
from random import Random

from slotwise import Cluster, Host, Instance, Job, Plan, Queue, RunningJob, Simulation
from slotwise.model.job import HostRequest
from slotwise.model.service_class import (
    Guarantee,
    GuaranteedAmount,
    GuaranteedPool,
    LoanPolicy,
    ServiceClass,
)

MINUTE = 60


@dataclass(frozen=True)
class Placed:
    """A job with its slots by host, its start and its end."""

    job: Job
    slots: dict[str, int]
    start: int
    end: int

    def on(self, time: int) -> bool:
        """Whether it runs at an instant."""
        return self.start <= time < self.end


def lending_instance(seed: int) -> Instance:
    """Two or three hosts, one or two pools, jobs of owners and of others."""
    random = Random(seed)
    hosts = tuple(Host(name, random.randint(1, 3)) for name in "ABC"[: random.choice([2, 2, 3])])
    names = [host.name for host in hosts]
    owned = random.random() < 0.6  # With owners that wait, exact plans name loans.
    queues = (
        Queue("own", random.choice([1, 9])),
        Queue("short", random.choice([1, 5]), ignores_guarantees=random.random() < 0.05),
        Queue("long", random.choice([1, 5])),
    )
    pools = [_pool(random, f"p{n}", names) for n in range(random.choice([1, 1, 2]))]
    if random.random() < 0.5:
        pools[0] = _over(pools[0], names)
    running = []
    for host in hosts:
        taken = random.choice([0, 0, 1, host.slots])
        if taken:
            limit = random.randint(1, 4)
            job = _job(random, f"r{host.name}", random.choice(["a", "b", "", ""]), taken, limit)
            running.append(RunningJob(job, 0, {host.name: taken}))
    pending = []
    for number in range(random.choice([2, 3, 3, 4])):
        own = random.choice(["a", "b", ""]) if owned else ""
        slots, limit = random.choice([1, 1, 2, 2, 3]), random.randint(1, 3)
        job = _job(random, f"p{number}", own, slots, limit, names)
        pending.append(job)
    return Instance(
        Cluster(hosts),
        queues=queues,
        running=tuple(running),
        pending=tuple(pending),
        service_classes=(ServiceClass("a"), ServiceClass("b")),
        guaranteed_pools=tuple(pools),
    )


def _over(pool: GuaranteedPool, names: list[str]) -> GuaranteedPool:
    """The pool on all hosts, with loans for every queue: what exact plans prove by loans."""
    loans = pool.loans or LoanPolicy(("all",))
    lent = LoanPolicy(("all",), (), None, loans.close_on_demand, loans.retain, loans.idle_buffer)
    return GuaranteedPool(pool.name, pool.type, pool.distribution, tuple(names), loans=lent)


def _pool(random: Random, name: str, hosts: list[str]) -> GuaranteedPool:
    shares = [
        Guarantee(own, GuaranteedAmount(float(random.randint(0, 3))))
        if random.random() < 0.8
        else Guarantee(own, GuaranteedAmount(50.0, percent=True))
        for own in random.choice(["a", "a", "ab"])
    ]
    some: list[GuaranteedAmount | None] = [
        *(None, None, GuaranteedAmount(1.0), GuaranteedAmount(2.0)),
        GuaranteedAmount(40.0, percent=True),
    ]
    loans = LoanPolicy(
        random.choice([("all",), ("short",), ("short", "long")]),
        random.choice([(), (), (), ("long",)]),
        random.choice([None, None, MINUTE, 2 * MINUTE]),
        random.random() < 0.4,
        random.choice(some),
        random.choice(some),
    )
    return GuaranteedPool(
        name,
        distribution=tuple(shares),
        hosts=tuple(random.sample(hosts, random.randint(1, len(hosts)))),
        loans=loans if random.random() < 0.85 else None,
        slots_per_host=random.choice([None] * 5 + [1]),
    )


def _job(
    random: Random, name: str, own: str, slots: int, minutes: int, names: list[str] | None = None
) -> Job:
    asked = random.sample(names, 1) if names and random.random() < 0.2 else []
    return Job(
        name,
        slots,
        queue="own" if own else random.choice(["short", "long"]),
        run_limit=minutes * MINUTE,
        service_class=own,
        begin=random.choice([None] * 6 + [MINUTE]) if names else None,
        hosts=tuple(HostRequest(name) for name in asked),
    )


@dataclass
class Lending:
    """An instance whose plans are tried one by one."""

    instance: Instance
    #: Amount by pool that each class has guaranteed.
    owed: dict[str, dict[str, float]] = field(init=False)
    #: Hosts of each pool: a host is in the first that takes it.
    inside: dict[str, set[str]] = field(init=False)
    total: dict[str, int] = field(init=False)
    base: list[Placed] = field(init=False)

    def __post_init__(self) -> None:
        self.hosts = {host.name: host.slots for host in self.instance.cluster.hosts}
        self.queues = {queue.name: queue for queue in self.instance.queues}
        self.owed, self.inside, self.total = {}, {}, {}
        taken: set[str] = set()
        for pool in self.instance.guaranteed_pools:
            self.inside[pool.name] = {*pool.hosts} - taken
            taken |= self.inside[pool.name]
            total = sum(self.hosts[name] for name in self.inside[pool.name])
            self.total[pool.name] = total
            self.owed[pool.name] = {
                item.service_class: _amount(item.share, total) for item in pool.distribution
            }
        self.base = [
            Placed(run.job, dict(run.allocation), run.start, run.start + (run.job.run_limit or 0))
            for run in self.instance.running
        ]

    def order(self) -> list[Job]:
        """The jobs by the priority of their queues, then as they came."""
        return sorted(self.instance.pending, key=lambda job: -self.queues[job.queue].priority)

    def lexicographic(self) -> dict[str, int | None]:
        """The lexicographically earliest starts of all plans; None: no start."""
        jobs = self.order()
        found = self._extended(jobs, [[]])
        assert found is not None
        return found

    def _extended(self, jobs: list[Job], ways: list[list[Placed]]) -> dict[str, int | None] | None:
        """The earliest starts of these jobs beside some way in which those before have theirs.

        Whether owners wait depends on all jobs: it is asked of whole plans alone.
        """
        if not jobs:
            return {} if any(self.keeps(way, whole=True) for way in ways) else None
        job, *rest = jobs
        for time in range(job.begin or 0, self._horizon(), MINUTE):
            grown = [
                [*way, new]
                for new in self._entries(job, time)
                for way in ways
                if self.keeps([*way, new], whole=False)
            ]
            later = self._extended(rest, grown) if grown else None
            if later is not None:
                return {job.id: time, **later}
        later = self._extended(rest, ways)
        return None if later is None else {job.id: None, **later}

    def _horizon(self) -> int:
        """By then all that runs and all jobs one after another have ended."""
        ends = [item.end for item in self.base] + [job.begin or 0 for job in self.instance.pending]
        return max([0, *ends]) + sum(job.run_limit or 0 for job in self.instance.pending) + MINUTE

    def _entries(self, job: Job, time: int) -> Iterator[Placed]:
        asked = [request.name for request in job.hosts] or list(self.hosts)

        def spread(slots: int, names: list[str]) -> Iterator[dict[str, int]]:
            if not names:
                if not slots:
                    yield {}
                return
            for taken in range(min(slots, self.hosts[names[0]]) + 1):
                for rest in spread(slots - taken, names[1:]):
                    yield {names[0]: taken, **rest} if taken else rest

        for slots in spread(job.slots, asked):
            yield Placed(job, slots, time, time + (job.run_limit or 0))

    def planned(self, plan: Plan) -> list[Placed]:
        """The starts of a plan."""
        jobs = {job.id: job for job in self.instance.pending}
        return [
            Placed(
                jobs[item.job],
                dict(item.allocation),
                item.start,
                item.start + (jobs[item.job].run_limit or 0),
            )
            for item in plan
            if item.start is not None
        ]

    def happened(self, result: Simulation) -> list[Placed]:
        """The starts of a simulation."""
        return [
            Placed(job, dict(record.hosts), record.start, record.start + (job.run_limit or 0))
            for job in self.instance.pending
            for record in [result[job.id]]
            if record.start is not None
        ]

    def keeps(self, placed: list[Placed], *, whole: bool) -> bool:
        """Whether each start has its slots and is allowed by each pool.

        whole: jobs that are not placed wait for ever; else nobody is known to wait.
        """
        everything = [*self.base, *placed]
        for time in {item.start for item in placed}:
            there = [item for item in everything if item.on(time)]
            for name, slots in self.hosts.items():
                if sum(item.slots.get(name, 0) for item in there) > slots:
                    return False
            starting = [item for item in placed if item.start == time]
            before = [item for item in there if item not in starting]
            waiting = self._waiting(placed, time) if whole else []
            for pool in self.instance.guaranteed_pools:
                if self._too_many_on_a_host(pool, there, starting):
                    return False
                mine = [item for item in starting if self._use(pool, [item])]
                if not any(
                    self._in_turn(pool, before, list(turns), waiting)
                    for turns in permutations(mine)
                ):
                    return False
        return True

    def _waiting(self, placed: list[Placed], time: int) -> list[Job]:
        """The jobs that wait at an instant for resources alone."""
        begun = {item.job.id for item in placed if item.start <= time}
        return [
            job for job in self.instance.pending if job.id not in begun and (job.begin or 0) <= time
        ]

    def _use(self, pool: GuaranteedPool, items: list[Placed]) -> int:
        inside = self.inside[pool.name]
        return sum(n for item in items for host, n in item.slots.items() if host in inside)

    def _in_turn(
        self, pool: GuaranteedPool, before: list[Placed], turns: list[Placed], waiting: list[Job]
    ) -> bool:
        """Whether the jobs may start one by one in this order; after a loan all are loans."""
        running, lending = list(before), False
        for item in turns:
            if self.queues[item.job.queue].ignores_guarantees:
                running.append(item)
                continue
            if not lending and self._allowed(pool, running, item):
                running.append(item)
                continue
            lending = True
            if not self._lent(pool, running, item, waiting):
                return False
            running.append(item)
        return True

    def _used(self, pool: GuaranteedPool, items: list[Placed]) -> dict[str, int]:
        """Use of each class with a guarantee."""
        return {
            own: self._use(pool, [item for item in items if item.job.service_class == own])
            for own in self.owed[pool.name]
        }

    def _allowed(self, pool: GuaranteedPool, running: list[Placed], new: Placed) -> bool:
        """Whether a job is within the guarantee of its class, or leaves those of all."""
        items = [*running, new]
        owed, used = self.owed[pool.name], self._used(pool, items)
        own = new.job.service_class
        if own in owed and used[own] <= owed[own]:
            return True
        others = self._use(pool, items) - sum(used.values())
        return sum(max(owed[own], used[own]) for own in owed) + others <= self.total[pool.name]

    def _lent(
        self, pool: GuaranteedPool, running: list[Placed], new: Placed, waiting: list[Job]
    ) -> bool:
        """Whether the loan policy lets a job start beside what runs."""
        policy, queue = pool.loans, new.job.queue
        if policy is None:
            return False
        if queue in policy.exempt:
            return True
        if "all" not in policy.queues and queue not in policy.queues:
            return False
        if policy.duration is not None and (new.job.run_limit or 0) > policy.duration:
            return False
        total, owed = self.total[pool.name], self.owed[pool.name]
        used = self._used(pool, running)
        unused = {own: max(0.0, owed[own] - used[own]) for own in owed}
        if policy.close_on_demand and any(
            unused.get(job.service_class, 0.0) > 0 for job in waiting if job is not new.job
        ):
            return False
        kept = 0.0
        if policy.retain is not None:
            kept = sum(min(_amount(policy.retain, total), rest) for rest in unused.values())
        if policy.idle_buffer is not None:
            kept = max(kept, _amount(policy.idle_buffer, total))
        return total - self._use(pool, [*running, new]) >= kept

    def _too_many_on_a_host(
        self, pool: GuaranteedPool, there: list[Placed], starting: list[Placed]
    ) -> bool:
        """Whether a class with a guarantee starts beyond SLOTS_PER_HOST."""
        most, owed = pool.slots_per_host, self.owed[pool.name]
        if most is None:
            return False
        classes = [item for item in there if item.job.service_class in owed]
        return any(
            sum(item.slots.get(host, 0) for item in classes) > most
            for new in starting
            if new.job.service_class in owed
            for host in self.inside[pool.name] & new.slots.keys()
        )


def _amount(share: GuaranteedAmount, total: int) -> float:
    """Units of the pool; a percentage is rounded down."""
    return float(int(share.amount * total) // 100) if share.percent else share.amount
