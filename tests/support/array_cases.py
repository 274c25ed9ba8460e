"""Random instances with job arrays, and the optimum by trying every start.

All jobs may use any slots of any hosts, so that starts alone decide: a plan has places if at every
second the slots are enough and no array has more elements running than it may.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from slotwise import Cluster, Host, Instance, Job, RunningJob


def case(seed: int, *, jobs: int = 5) -> Instance:
    """One or two arrays, some of whose elements may run already, and single jobs beside them."""
    draw = random.Random(seed)
    hosts = tuple(Host(f"h{n}", draw.randint(1, 3)) for n in range(draw.randint(1, 2)))
    total = sum(host.slots for host in hosts)
    pending: list[Job] = []
    running: list[RunningJob] = []
    for array in range(draw.randint(1, 2)):
        most = draw.choice((None, 1, 1, 2))
        length, slots = draw.randint(1, 4), draw.randint(1, total)
        first = len(pending)
        for index in range(1, draw.randint(2, 4)):
            job = Job(f"{array + 1}[{index}]", slots, run_limit=length, array_limit=most, name="a")
            if index == 1 and draw.random() < 0.4 and not running:
                small = Job(job.id, 1, run_limit=draw.randint(1, 5), array_limit=most, name="a")
                running.append(RunningJob(small, 0, {hosts[0].name: 1}))
            else:
                pending.append(job)
        if draw.random() < 0.5 and len(pending) > first:
            name = f"{10 + array}"
            pending.insert(
                draw.randint(first, len(pending)),
                Job(name, draw.randint(1, total), run_limit=draw.randint(1, 4)),
            )
    return Instance(Cluster(hosts), running=tuple(running), pending=tuple(pending[:jobs]))


@dataclass
class Seconds:
    """Slots in use, and elements of each array that run, second by second."""

    total: int
    length: int
    used: list[int] = field(default_factory=list)
    elements: dict[str, list[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, instance: Instance, length: int) -> Seconds:
        """What runs."""
        found = cls(sum(host.slots for host in instance.cluster.hosts), length, [0] * length)
        for item in instance.running:
            found.put(item.job, 0)
        return found

    def fits(self, job: Job, start: int) -> bool:
        """Whether a job may start then."""
        array, own = job.id.partition("[")[0], "[" in job.id
        return all(
            self.used[second] + job.slots <= self.total
            and (
                job.array_limit is None
                or not own
                or self.elements.get(array, [0] * self.length)[second] < job.array_limit
            )
            for second in range(start, start + (job.run_limit or 0))
        )

    def put(self, job: Job, start: int, sign: int = 1) -> None:
        """Enter a job, or take it out again."""
        row = self.elements.setdefault(job.id.partition("[")[0], [0] * self.length)
        for second in range(start, start + (job.run_limit or 0)):
            self.used[second] += sign * job.slots
            row[second] += sign


def lexicographic(instance: Instance, order: Sequence[str]) -> list[int]:
    """Each job at its first second beside those before it in the order."""
    jobs = {job.id: job for job in instance.pending}
    seconds = Seconds.of(instance, 200)
    starts = []
    for name in order:
        starts.append(next(t for t in range(150) if seconds.fits(jobs[name], t)))
        seconds.put(jobs[name], starts[-1])
    return starts


def plans(instance: Instance, last: int) -> Iterator[Mapping[str, int]]:
    """Every plan whose starts are no later than `last`."""
    seconds = Seconds.of(instance, last + 8)
    starts: dict[str, int] = {}

    def place(left: Sequence[Job]) -> Iterator[Mapping[str, int]]:
        if not left:
            yield dict(starts)
            return
        job, *rest = left
        for start in range(last + 1):
            if seconds.fits(job, start):
                seconds.put(job, start)
                starts[job.id] = start
                yield from place(rest)
                seconds.put(job, start, -1)

    yield from place(instance.pending)
