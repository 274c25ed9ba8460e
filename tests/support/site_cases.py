"""Random small sites in which what sites of today schedule by meets, and every place of every job.

Advance reservations, cores, job groups, guaranteed pools, absolute priority and fairshare, with job
arrays, GPUs and conditions. All times are whole minutes. What a job asks for stands beside it as
plain data; nothing of the solver is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import product
from random import Random
from typing import Any

from slotwise.model.absolute_priority import AbsolutePriority, StatedPriority
from slotwise.model.cluster import Cluster, Gpus, Host
from slotwise.model.configuration import Params, Queue
from slotwise.model.instance import AdvanceReservation, Instance
from slotwise.model.job import Job, JobGroup, RunningJob
from slotwise.model.service_class import Guarantee, GuaranteedAmount, GuaranteedPool, ServiceClass

MINUTE = 60
#: No job of a case starts later (minutes): all windows are over, all jobs have had their time.
LAST = 30
#: Slots on each host, in the order of the hosts.
Place = tuple[int, ...]
#: A job, its start in minutes, its place.
Placed = tuple[str, int, Place]
#: Features of which a case has some.
KINDS = ("reservation", "cores", "groups", "guarantee", "aps", "fairshare", "array", "gpus", "-w")
#: Whether jobs can name the reservation in which they run (-U).
BY_NAME = "reservation" in {field.name for field in fields(Job)}


@dataclass(frozen=True)
class Asked:
    """What one job takes beside its slots, and what it waits for."""

    minutes: int
    gpus: int = 0
    #: For each slot.
    cores: int = 0
    #: Its service class, "" for none.
    owner: str = ""
    #: The reservation in which it runs, "" for none.
    reservation: str = ""
    #: The job that has to be done before.
    after: str = ""


@dataclass(frozen=True)
class SiteCase:
    """An instance, and what its jobs ask for by their ids."""

    instance: Instance
    asked: Mapping[str, Asked]
    kinds: frozenset[str]


class _Draw:
    """A case in the making."""

    def __init__(self, seed: int) -> None:
        self.random = random = Random(f"site {seed}")
        self.kinds = frozenset(random.sample(KINDS, random.choice([2, 3, 3, 4, 5])))
        self.asked: dict[str, Asked] = {}
        self.hosts = tuple(self._host(n) for n in range(random.randint(1, 2)))
        self.booked = tuple(self._booked()) if "reservation" in self.kinds else ()
        self.classes = ("gold", "iron")[: random.randint(1, 2)]

    def _host(self, number: int) -> Host:
        draw = self.random
        more: dict[str, Any] = {}
        if "gpus" in self.kinds:
            more["gpus"] = Gpus(draw.randint(1, 2))
        if "cores" in self.kinds:
            more["cores"] = draw.randint(2, 5)
        return Host(f"h{number}", draw.randint(1, 4), **more)

    def _booked(self) -> Iterator[AdvanceReservation]:
        draw = self.random
        for number in range(draw.randint(1, 2)):
            start, length = draw.choice([0, 0, 1, 2, 4]), draw.randint(1, 5)
            part = 2 if number else 1
            slots = {
                h.name: draw.randint(1, h.slots // part) for h in self.hosts if h.slots >= part
            }
            chosen = {name: count for name, count in slots.items() if draw.random() < 0.8}
            # The second begins when the first is over.
            start += 6 * number
            more: dict[str, Any] = {"users": ("ann", "bob")} if BY_NAME else {}
            if chosen:
                times = start * MINUTE, (start + length) * MINUTE
                yield AdvanceReservation(f"ar#{number}", *times, chosen, **more)

    def job(self, name: str, before: Sequence[str]) -> Job:
        """A job of some size, with some of the features of the case."""
        draw, kinds = self.random, self.kinds
        host = draw.choice(self.hosts)
        gpus = draw.randint(0, host.gpus.count) if host.gpus and draw.random() < 0.6 else 0
        cores = draw.choice([0, 1, 1, 2]) if "cores" in kinds else 0
        most = host.slots if gpus else sum(each.slots for each in self.hosts)
        if cores:
            most = min(most, max(1, (host.cores or 0) // cores))
        owner = draw.choice([*self.classes, ""]) if "guarantee" in kinds else ""
        named = [item.name for item in self.booked] if BY_NAME else []
        inside = draw.choice(named) if named and draw.random() < 0.4 else ""
        after = draw.choice(before) if "-w" in kinds and before and draw.random() < 0.5 else ""
        self.asked[name] = Asked(draw.randint(1, 4), gpus, cores, owner, inside, after)
        return self.built(name, draw.randint(1, min(most, 4)))

    def built(self, name: str, slots: int, **more: Any) -> Job:
        """The job of the name, as it is asked for."""
        draw, asks = self.random, self.asked[name]
        texts = []
        if asks.gpus:
            more["gpu"] = f"num={asks.gpus}:j_exclusive=yes"
            texts.append("span[hosts=1]")
        if asks.cores:
            texts.append(f"affinity[core({asks.cores})]")
        if asks.reservation:
            more["reservation"] = asks.reservation
        if "groups" in self.kinds:
            more["job_group"] = draw.choice(["/a", "/a/b", "/a/c", ""])
        if "aps" in self.kinds:
            more["priority"] = draw.choice([0, 5, 10])
            more["aps"] = draw.choice([None, None, None, StatedPriority("admin", 4.0), SYSTEM])
        return Job(
            name,
            slots,
            user=draw.choice(["ann", "bob"]),
            queue=draw.choice("qr"),
            run_limit=asks.minutes * MINUTE,
            res_req=(" ".join(texts),) if texts else (),
            dependency=f"done({asks.after})" if asks.after else "",
            service_class=asks.owner,
            **more,
        )

    def pending(self, before: Sequence[str]) -> list[Job]:
        """Four jobs; in some cases some of them are elements of an array."""
        draw = self.random
        names = [str(10 + n) for n in range(4)]
        count = draw.choice([2, 3]) if "array" in self.kinds else 0
        known, found = list(before), []
        if count:
            first = self.job("5[1]", [])
            limit = draw.choice([1, 1, 2])
            for n in range(1, count + 1):
                self.asked[f"5[{n}]"] = self.asked["5[1]"]
                values = {field.name: getattr(first, field.name) for field in fields(Job)}
                found.append(Job(**{**values, "id": f"5[{n}]", "array_limit": limit}))
            known += [job.id for job in found]
        for name in names[count:]:
            found.append(self.job(name, known))
            known.append(name)
        return found

    def running(self) -> list[RunningJob]:
        """Perhaps one job that runs, outside of reservations."""
        draw, host = self.random, self.hosts[-1]
        if draw.random() < 0.5:
            return []
        owner = draw.choice([*self.classes, ""]) if "guarantee" in self.kinds else ""
        self.asked["90"] = Asked(draw.randint(1, 4), owner=owner)
        slots = draw.randint(1, host.slots)
        return [RunningJob(self.built("90", slots), 0, {host.name: slots})]

    def queues(self) -> tuple[Queue, ...]:
        """q and r, with the orders of the case."""
        draw = self.random
        one, other = draw.choice([(2, 1), (1, 2), (1, 1)])
        shares = (("ann", draw.randint(1, 3)), ("bob", 1)) if "fairshare" in self.kinds else None
        if "aps" not in self.kinds:
            return tuple(Queue(n, p, user_shares=shares) for n, p in (("q", one), ("r", other)))
        weights = ["[JPRIORITY, 1] [PROC, -3]", "[QPRIORITY, 4] [JPRIORITY, 1]", "[PROC, 2]"]
        weights += ["[FS, 20] [JPRIORITY, 1]"] if shares else []
        formula = AbsolutePriority.parse(f"WEIGHT[{draw.choice(weights)}]")
        group = ("r",) if draw.random() < 0.7 else ()
        parent = Queue("q", one, user_shares=shares, aps_priority=formula, queue_group=group)
        return parent, Queue("r", other, user_shares=None if group else shares)

    def guaranteed(self) -> dict[str, Any]:
        """Service classes and a pool of slots of some hosts."""
        draw = self.random
        if "guarantee" not in self.kinds:
            return {}
        hosts = draw.choice([(), (self.hosts[0].name,)])
        shares = tuple(
            Guarantee(name, GuaranteedAmount(float(draw.randint(1, 2)))) for name in self.classes
        )
        pool = GuaranteedPool("pool", distribution=shares, hosts=hosts)
        classes = tuple(ServiceClass(name) for name in self.classes)
        return {"service_classes": classes, "guaranteed_pools": (pool,)}


SYSTEM = StatedPriority("system", 3.0)


def case(seed: int) -> SiteCase:
    """One or two hosts, four pending jobs in two queues, perhaps one that runs."""
    draw = _Draw(seed)
    running = draw.running()
    pending = draw.pending([item.job.id for item in running])
    groups = ()
    if "groups" in draw.kinds:
        groups = (JobGroup("/a", draw.random.choice([1, 2])), JobGroup("/a/b", 1))
    instance = Instance(
        Cluster(draw.hosts),
        draw.queues(),
        tuple(running),
        tuple(pending),
        job_groups=groups,
        advance_reservations=draw.booked,
        params=Params(mbd_sleep_time=MINUTE, max_user_priority=20),
        **draw.guaranteed(),
    )
    return SiteCase(instance, draw.asked, draw.kinds)


class Everything:
    """All places of the jobs of a case, and whether some of them can be held together."""

    def __init__(self, given: SiteCase) -> None:
        self.given = given
        self.instance = given.instance
        self.hosts = self.instance.cluster.hosts
        self.jobs = {job.id: job for job in self.instance.pending}
        self.jobs |= {item.job.id: item.job for item in self.instance.running}
        self.places = {job.id: list(self._places(job)) for job in self.instance.pending}
        self.base: list[Placed] = [
            (item.job.id, 0, tuple(item.allocation.get(host.name, 0) for host in self.hosts))
            for item in self.instance.running
        ]
        self.limits = {group.name: group.limit for group in self.instance.job_groups}
        self.booked = {item.name: item for item in self.instance.advance_reservations}

    def _places(self, job: Job) -> Iterator[Place]:
        asks = self.given.asked[job.id]
        for place in product(*(range(host.slots + 1) for host in self.hosts)):
            used = [host for host, n in zip(self.hosts, place, strict=True) if n]
            able = all(host.gpus is not None and host.gpus.count >= asks.gpus for host in used)
            if sum(place) == job.slots and (not asks.gpus or (len(used) == 1 and able)):
                yield place

    def end(self, job: str, start: int) -> int:
        """The minute at which it has ended: by its limit, or with its reservation."""
        asks = self.given.asked[job]
        end = start + asks.minutes
        inside = self.booked.get(asks.reservation)
        return end if inside is None else min(end, inside.end // MINUTE)

    def fits(self, placed: Sequence[Placed]) -> bool:
        """Whether there is enough of everything in each minute."""
        everyone = [*self.base, *placed]
        for minute in range(max(self.end(name, start) for name, start, _ in everyone)):
            at = [item for item in everyone if item[1] <= minute < self.end(item[0], item[1])]
            if not (self._hosts_suffice(at, minute) and self._groups_suffice(at)):
                return False
            if any(start == minute for _, start, _ in placed) and not self._owners_keep(at, minute):
                return False
        return True

    def _hosts_suffice(self, at: Sequence[Placed], minute: int) -> bool:
        asked = self.given.asked
        booked = [b for b in self.booked.values() if b.start <= minute * MINUTE < b.end]
        for index, host in enumerate(self.hosts):
            there = [(name, place[index]) for name, _, place in at if place[index]]
            outside = [(name, n) for name, n in there if not asked[name].reservation]
            kept = sum(item.slots.get(host.name, 0) for item in booked)
            new = any(name != "90" for name, _ in outside)
            if sum(n for _, n in there) > host.slots:
                return False
            if new and sum(n for _, n in outside) + kept > host.slots:
                return False
            for item in booked:
                own = sum(n for name, n in there if asked[name].reservation == item.name)
                if own > item.slots.get(host.name, 0):
                    return False
            if sum(asked[name].gpus for name, _ in there) > (host.gpus.count if host.gpus else 0):
                return False
            cores = sum(n * asked[name].cores for name, n in there)
            if host.cores is not None and cores > host.cores:
                return False
        return True

    def _groups_suffice(self, at: Sequence[Placed]) -> bool:
        jobs = [self.jobs[name] for name, _, _ in at]
        for group, most in self.limits.items():
            inside = [job for job in jobs if f"{job.job_group}/".startswith(f"{group}/")]
            if most is not None and len(inside) > most:
                return False
        elements = [job for job in jobs if "[" in job.id]
        most = elements[0].array_limit if elements else None
        return most is None or len(elements) <= most

    @cached_property
    def pool(self) -> tuple[list[int], dict[str, int], int]:
        """Hosts of the pool by their place, what is guaranteed to each class, and its slots."""
        (pool,) = self.instance.guaranteed_pools
        away = {name for b in self.booked.values() if b.start <= 0 < b.end for name in b.slots}
        hosts = [
            index
            for index, host in enumerate(self.hosts)
            if (not pool.hosts or host.name in pool.hosts) and host.name not in away
        ]
        kept = {item.service_class: int(item.share.amount) for item in pool.distribution}
        return hosts, kept, sum(self.hosts[index].slots for index in hosts)

    def _owners_keep(self, at: Sequence[Placed], minute: int) -> bool:
        """Whether who starts leaves the owners theirs, or is an owner within his own."""
        if not self.instance.guaranteed_pools:
            return True
        hosts, kept, total = self.pool
        use = dict.fromkeys(kept, 0)
        others, starting = 0, set[str]()
        for name, start, place in at:
            slots, owner = sum(place[index] for index in hosts), self.given.asked[name].owner
            if owner in use:
                use[owner] += slots
            else:
                others += slots
            if slots and start == minute and name != "90":
                starting.add(owner)
        beyond = [owner for owner in starting if owner not in kept or use[owner] > kept[owner]]
        owed = sum(max(use[name], kept[name]) for name in kept)
        return not beyond or owed + others <= max(total, sum(kept.values()))

    def admits(self, job: str, start: int, starts: Mapping[str, int]) -> bool:
        """Whether its condition holds at a start, and its reservation is on."""
        asks = self.given.asked[job]
        inside = self.booked.get(asks.reservation)
        if inside is not None and not inside.start <= start * MINUTE < inside.end:
            return False
        if not asks.after:
            return True
        known = {**starts, **{name: 0 for name, _, _ in self.base}}
        return asks.after not in known or start >= self.end(asks.after, known[asks.after])

    def together(self, starts: Mapping[str, int]) -> bool:
        """Whether jobs with these starts have places."""
        if not all(self.admits(job, start, starts) for job, start in starts.items()):
            return False
        names = sorted(starts, key=starts.__getitem__)

        def place(number: int, placed: list[Placed]) -> bool:
            if number == len(names):
                return True
            job = names[number]
            ways = ([*placed, (job, starts[job], where)] for where in self.places[job])
            return any(self.fits(way) and place(number + 1, way) for way in ways)

        return place(0, [])

    def lexicographic(self, order: Sequence[str]) -> dict[str, int | None]:
        """The earliest start (seconds) of each job beside those before it, None for none."""
        starts: dict[str, int] = {}
        found: dict[str, int | None] = {}
        for name in order:
            found[name] = None
            after = self.given.asked[name].after
            if after in found and found[after] is None:
                continue
            for time in range(LAST):
                if self.together({**starts, name: time}):
                    starts[name], found[name] = time, time * MINUTE
                    break
        return found
