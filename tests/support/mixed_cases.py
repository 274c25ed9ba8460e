"""Random instances in which GPUs, job arrays and dependency conditions meet, and every plan tried.

A job is placed host by host here: GPUs belong to a host, so that starts alone do not decide. Jobs
with GPUs ask for one host; the others take any slots. Conditions are tuples, written down as text.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from slotwise import Cluster, Gpus, Host, Instance, Job, RunningJob

#: (word, ids) of which all have to hold.
Condition = tuple[tuple[str, str], ...]
#: Slots on each host, in the order of the hosts.
Place = tuple[int, ...]


@dataclass(frozen=True)
class MixedCase:
    """An instance; by job the GPUs that it takes on its host, and what it waits for."""

    instance: Instance
    gpus: Mapping[str, int]
    waits: Mapping[str, Condition]


def case(seed: int, *, jobs: int = 4) -> MixedCase:
    """An array with a limit, a job or two beside it, perhaps one that runs."""
    draw = random.Random(f"mixed {seed}")
    hosts = tuple(
        Host(f"h{n}", draw.randint(1, 3), gpus=Gpus(draw.randint(1, 2)))
        for n in range(draw.randint(1, 2))
    )
    gpus: dict[str, int] = {}
    running: list[RunningJob] = []
    if draw.random() < 0.5:
        gpus["90"] = draw.choice((0, 1))
        job = _job("90", 1, draw.randint(1, 4), gpus["90"])
        running.append(RunningJob(job, 0, {hosts[-1].name: 1}))
    names = [f"5[{index}]" for index in range(1, draw.randint(2, jobs))]
    names += [str(10 + n) for n in range(jobs - len(names))]
    element = (*_asked(draw, hosts), draw.randint(1, 3))
    limit = draw.choice((None, 1, 1, 2))
    behind = [*(item.job.id for item in running), *draw.sample(names, len(names))]
    pending, waits = [], {}
    for name in names:
        slots, gpus[name], length = element
        if "[" not in name:
            slots, gpus[name] = _asked(draw, hosts)
            length = draw.randint(1, 4)
        earlier = behind[: behind.index(name)]
        if earlier and draw.random() < 0.6:
            words = ("done", "ended", "started")
            chosen = draw.sample(earlier, min(len(earlier), draw.choice((1, 1, 2))))
            waits[name] = tuple((draw.choice(words), other) for other in chosen)
        condition = " && ".join(f"{word}({other})" for word, other in waits.get(name, ()))
        more = {"array_limit": limit} if "[" in name else {}
        pending.append(_job(name, slots, length, gpus[name], dependency=condition, **more))
    instance = Instance(Cluster(hosts), running=tuple(running), pending=tuple(pending))
    return MixedCase(instance, gpus, waits)


def _asked(draw: random.Random, hosts: Sequence[Host]) -> tuple[int, int]:
    """Slots, and GPUs on one host that has so many of both; 0 for slots of any hosts."""
    host = draw.choice(hosts)
    if host.gpus is None or draw.random() < 0.4:
        return draw.randint(1, sum(host.slots for host in hosts)), 0
    return draw.randint(1, host.slots), draw.randint(1, host.gpus.count)


def _job(name: str, slots: int, length: int, gpus: int, **more: object) -> Job:
    if gpus:
        more |= {"gpu": f"num={gpus}:j_exclusive=yes", "res_req": ("span[hosts=1]",)}
    return Job(name, slots, run_limit=length, **more)  # type: ignore[arg-type]


class Everything:
    """All places of the jobs of a case, and whether some of them can be held together."""

    def __init__(self, given: MixedCase) -> None:
        self.given = given
        self.hosts = given.instance.cluster.hosts
        self.jobs = {job.id: job for job in given.instance.pending}
        self.jobs |= {item.job.id: item.job for item in given.instance.running}
        self.places = {job.id: list(self._places(job)) for job in given.instance.pending}
        self.base = [
            (item.job.id, 0, tuple(item.allocation.get(host.name, 0) for host in self.hosts))
            for item in given.instance.running
        ]

    def _places(self, job: Job) -> Iterator[Place]:
        own = self.given.gpus[job.id]
        for place in product(*(range(host.slots + 1) for host in self.hosts)):
            used = [host for host, n in zip(self.hosts, place, strict=True) if n]
            able = all(host.gpus is not None and host.gpus.count >= own for host in used)
            if sum(place) == job.slots and (not own or (len(used) == 1 and able)):
                yield place

    def end(self, job: str, start: int) -> int:
        """The second at which it has ended."""
        return start + (self.jobs[job].run_limit or 0)

    def fits(self, placed: Sequence[tuple[str, int, Place]]) -> bool:
        """Whether slots, GPUs and the limit of the array are enough at every start."""
        everyone = [*self.base, *placed]
        for second in {start for _, start, _ in everyone}:
            at = [item for item in everyone if item[1] <= second < self.end(item[0], item[1])]
            for index, host in enumerate(self.hosts):
                there = [(job, place[index]) for job, _, place in at if place[index]]
                cards = sum(self.given.gpus[job] for job, _ in there)
                if sum(n for _, n in there) > host.slots:
                    return False
                if cards > (host.gpus.count if host.gpus else 0):
                    return False
            elements = [self.jobs[job] for job, _, _ in at if "[" in job]
            most = elements[0].array_limit if elements else None
            if most is not None and len(elements) > most:
                return False
        return True

    def waits(self, job: str, start: int, starts: Mapping[str, int]) -> bool:
        """Whether the condition of a job does not hold at its start."""
        known = {**starts, **{item[0]: 0 for item in self.base}}
        for word, other in self.given.waits.get(job, ()):
            if other in known:
                begin = known[other]
                if start < (begin if word == "started" else self.end(other, begin)):
                    return True
        return False

    def together(self, starts: Mapping[str, int]) -> bool:
        """Whether jobs with these starts have places."""
        if any(self.waits(job, start, starts) for job, start in starts.items()):
            return False
        names = sorted(starts, key=starts.__getitem__)

        def place(number: int, placed: list[tuple[str, int, Place]]) -> bool:
            if number == len(names):
                return True
            job = names[number]
            ways = ([*placed, (job, starts[job], where)] for where in self.places[job])
            return any(self.fits(way) and place(number + 1, way) for way in ways)

        return place(0, [])

    def lexicographic(self, order: Sequence[str], last: int = 60) -> list[int]:
        """The earliest start of each job beside those before it in the order."""
        starts: dict[str, int] = {}
        for name in order:
            tried = ({**starts, name: time} for time in range(last))
            starts = next(found for found in tried if self.together(found))
        return list(starts.values())

    def least_total(self, last: int) -> int | None:
        """The least sum of starts of a plan that ends its starts by `last`."""
        names = list(self.places)
        best: list[int] = []

        def place(number: int, starts: dict[str, int]) -> None:
            total = sum(starts.values())
            if best and total >= best[-1]:
                return
            if number == len(names):
                best.append(total)
                return
            for time in range(last + 1):
                found = {**starts, names[number]: time}
                if self.together(found):
                    place(number + 1, found)

        place(0, {})
        return best[-1] if best else None
