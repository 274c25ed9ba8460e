"""Random instances of arrays, dependency conditions and GPUs, and their optimum by every start.

Each rule is a row that can run out, second by second: slots and GPUs of a room, elements of an
array. A room is a host; where no job has GPUs, all slots are one room, for starts alone decide.
Conditions are made as trees of tuples and written down as text: nothing here reads that text.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from slotwise import Cluster, Gpus, Host, Instance, Job, RunningJob

#: ("done" | "started" | …, ids) · ("and" | "or", parts) · ("num…", ids of an array, k)
Tree = tuple[Any, ...]
Starts = Mapping[str, int]
#: Slots in each room.
Place = tuple[int, ...]
UNKNOWN = 1 << 30


@dataclass(frozen=True)
class StartCase:
    """An instance; by job what it waits for, and the GPUs that it takes on its host."""

    instance: Instance
    trees: Mapping[str, Tree] = field(default_factory=dict)
    gpus: Mapping[str, int] = field(default_factory=dict)


def arrays(seed: int, *, jobs: int = 5) -> StartCase:
    """One or two arrays, some of whose elements may run already, and single jobs beside them."""
    draw = random.Random(seed)
    hosts = _hosts(draw)
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
            place = draw.randint(first, len(pending))
            slots = draw.randint(1, total)
            pending.insert(place, Job(f"{10 + array}", slots, run_limit=draw.randint(1, 4)))
    return StartCase(
        Instance(Cluster(hosts), running=tuple(running), pending=tuple(pending[:jobs]))
    )


def conditions(seed: int, *, jobs: int = 3) -> StartCase:
    """Up to two running and so many pending jobs, most of which wait for others (bsub -w)."""
    draw = random.Random(seed)
    hosts = _hosts(draw)
    total = sum(host.slots for host in hosts)
    running: list[RunningJob] = []
    for number in range(draw.randint(0, min(2, len(hosts)))):
        job = Job(str(90 + number), 1, run_limit=draw.randint(1, 5), name=draw.choice("xy"))
        running.append(RunningJob(job, 0, {hosts[number].name: 1}))
    array = [f"5[{index}]" for index in range(1, draw.randint(2, 3))] if draw.random() < 0.4 else []
    names = [*array, *(str(10 + n) for n in range(jobs - len(array)))]
    lengths = {name: draw.randint(1, 4) for name in names}
    behind = draw.sample(names, len(names))  # each waits for those before it: no circles
    pending, trees = [], {}
    for name in names:
        earlier = [*behind[: behind.index(name)], *(item.job.id for item in running)]
        if earlier and name not in array and draw.random() < 0.8:
            trees[name] = _tree(draw, earlier, array, 2)
        pending.append(
            Job(
                name,
                draw.randint(1, total),
                run_limit=lengths[name],
                dependency=written(trees.get(name)),
                think_time=draw.choice((0, 0, 0, 1, 2)) if name in trees else 0,
                weight=float(draw.randint(1, 3)),
                priority=draw.randint(1, 3),
                name=_name(name),
            )
        )
    return StartCase(
        Instance(Cluster(hosts), running=tuple(running), pending=tuple(pending)), trees
    )


def with_gpus(seed: int, *, jobs: int = 4) -> StartCase:
    """An array with a limit and a job or two, perhaps one that runs; most wait for others."""
    draw = random.Random(f"mixed {seed}")
    hosts = _hosts(draw, gpus=True)
    gpus: dict[str, int] = {}
    running: list[RunningJob] = []
    if draw.random() < 0.5:
        gpus["90"] = draw.choice((0, 1))
        job = _gpu_job("90", 1, draw.randint(1, 4), gpus["90"])
        running.append(RunningJob(job, 0, {hosts[-1].name: 1}))
    names = [f"5[{index}]" for index in range(1, draw.randint(2, jobs))]
    names += [str(10 + n) for n in range(jobs - len(names))]
    element = (*_asked(draw, hosts), draw.randint(1, 3))
    limit = draw.choice((None, 1, 1, 2))
    behind = [*(item.job.id for item in running), *draw.sample(names, len(names))]
    pending, trees = [], {}
    for name in names:
        slots, gpus[name], length = element
        if "[" not in name:
            slots, gpus[name] = _asked(draw, hosts)
            length = draw.randint(1, 4)
        earlier = behind[: behind.index(name)]
        if earlier and draw.random() < 0.6:
            chosen = draw.sample(earlier, min(len(earlier), draw.choice((1, 1, 2))))
            parts = [(draw.choice(("done", "ended", "started")), (other,)) for other in chosen]
            trees[name] = parts[0] if len(parts) == 1 else ("and", tuple(parts))
        more = {"array_limit": limit} if "[" in name else {}
        text = written(trees.get(name))
        pending.append(_gpu_job(name, slots, length, gpus[name], dependency=text, **more))
    instance = Instance(Cluster(hosts), running=tuple(running), pending=tuple(pending))
    return StartCase(instance, trees, gpus)


def _hosts(draw: random.Random, *, gpus: bool = False) -> tuple[Host, ...]:
    return tuple(
        Host(f"h{n}", draw.randint(1, 3), gpus=Gpus(draw.randint(1, 2)) if gpus else None)
        for n in range(draw.randint(1, 2))
    )


def _asked(draw: random.Random, hosts: Sequence[Host]) -> tuple[int, int]:
    """Slots, and GPUs on one host that has so many of both; 0 for slots of any hosts."""
    host = draw.choice(hosts)
    if host.gpus is None or draw.random() < 0.4:
        return draw.randint(1, sum(host.slots for host in hosts)), 0
    return draw.randint(1, host.slots), draw.randint(1, host.gpus.count)


def _gpu_job(name: str, slots: int, length: int, gpus: int, **more: Any) -> Job:
    if gpus:
        more |= {"gpu": f"num={gpus}:j_exclusive=yes", "res_req": ("span[hosts=1]",)}
    return Job(name, slots, run_limit=length, name=_name(name), **more)


def _name(job: str) -> str:
    return "a" if "[" in job else f"j{job}"


def _tree(draw: random.Random, earlier: Sequence[str], array: Sequence[str], deep: int) -> Tree:
    kind = draw.random()
    if deep and kind < 0.45:
        parts = tuple(_tree(draw, earlier, array, deep - 1) for _ in range(2))
        return ("or" if draw.random() < 0.5 else "and", parts)
    if array and kind < 0.6 and all(name in earlier for name in array):
        return (draw.choice(("numdone", "numended")), tuple(array), draw.randint(1, len(array)))
    word = draw.choice(("done", "done", "ended", "started", "post_done"))
    return (word, (draw.choice(earlier),))


def written(tree: Tree | None) -> str:
    """The condition as bsub has it."""
    match tree:
        case None:
            return ""
        case ("and", (left, right)):
            last = f"({written(right)})" if right[0] == "or" else written(right)
            return f"({written(left)}) && {last}"
        case ("or", parts):
            return " || ".join(written(part) for part in parts)
        case (word, names, count):
            return f"{word}({names[0].partition('[')[0]}, >= {count})"
        case ("done", (name,)) if "[" not in name:
            return f"done(j{name})" if int(name) < 90 else name
        case (word, (name,)):
            return f"{word}({name})"
    raise AssertionError(tree)


def holds(tree: Tree, time: int, starts: Starts, ends: Starts) -> bool:
    """Whether a condition holds at a second, all jobs having succeeded."""
    match tree:
        case ("and", parts):
            return all(holds(part, time, starts, ends) for part in parts)
        case ("or", parts):
            return any(holds(part, time, starts, ends) for part in parts)
        case (_, names, count):
            return sum(ends.get(name, UNKNOWN) <= time for name in names) >= count
        case ("started", names):
            return all(starts.get(name, UNKNOWN) <= time for name in names)
        case (_, names):
            return all(ends.get(name, UNKNOWN) <= time for name in names)
    raise AssertionError(tree)


class EveryStart:
    """All places of the jobs of a case at every second."""

    def __init__(self, given: StartCase) -> None:
        self.given = given
        hosts = given.instance.cluster.hosts
        rooms = [(host.slots, host.gpus.count if host.gpus else 0) for host in hosts]
        self.rooms = rooms if given.gpus else [(sum(slots for slots, _ in rooms), 0)]
        self.jobs = {job.id: job for job in given.instance.pending}
        self.full: dict[tuple[str, Any], int] = {}
        for number, (slots, gpus) in enumerate(self.rooms):
            self.full |= {("slots", number): slots, ("gpus", number): gpus}
        for job in given.instance.pending:
            if "[" in job.id and job.array_limit is not None:
                self.full["array", job.id.partition("[")[0]] = job.array_limit
        self.used: Counter[tuple[tuple[str, Any], int]] = Counter()
        self.starts: dict[str, int] = {}
        self.ends: dict[str, int] = {}
        for item in given.instance.running:
            slots = tuple(item.allocation.get(host.name, 0) for host in hosts)
            self.put(item.job, 0, slots if given.gpus else (sum(slots),))

    def places(self, job: Job) -> Iterator[Place]:
        """The slots of a job over the rooms; with GPUs in one of them."""
        for place in product(*(range(slots + 1) for slots, _ in self.rooms)):
            alone = sum(map(bool, place)) == 1 or not self.given.gpus.get(job.id)
            if sum(place) == job.slots and alone:
                yield place

    def rows(self, job: Job, place: Place) -> Iterator[tuple[tuple[str, Any], int]]:
        """What a job takes while it runs."""
        for room, slots in enumerate(place):
            if slots:
                yield ("slots", room), slots
                yield ("gpus", room), self.given.gpus.get(job.id, 0)
        if "[" in job.id:
            yield ("array", job.id.partition("[")[0]), 1

    def fits(self, job: Job, start: int, place: Place) -> bool:
        """Whether there is room at every second of a job."""
        return all(
            self.used[row, second] + amount <= self.full.get(row, UNKNOWN)
            for row, amount in self.rows(job, place)
            for second in range(start, start + (job.run_limit or 0))
        )

    def put(self, job: Job, start: int, place: Place, sign: int = 1) -> None:
        """Enter a job, or take it out again."""
        end = start + (job.run_limit or 0)
        for row, amount in self.rows(job, place):
            for second in range(start, end):
                self.used[row, second] += sign * amount
        if sign > 0:
            self.starts[job.id], self.ends[job.id] = start, end
        else:
            del self.starts[job.id], self.ends[job.id]

    def lets(self, job: Job, start: int) -> bool:
        """Whether the condition of a job holds, those it waits for having their starts."""
        tree = self.given.trees.get(job.id)
        return tree is None or holds(tree, start - job.think_time, self.starts, self.ends)

    def _together(self, starts: Starts) -> bool:
        """Whether jobs with these starts, each behind those it waits for, have places."""
        if not starts:
            return True
        (name, start), *rest = starts.items()
        job, found = self.jobs[name], False
        if not self.lets(job, start):
            return False
        for place in self.places(job):
            if not found and self.fits(job, start, place):
                self.put(job, start, place)
                found = self._together(dict(rest))
                self.put(job, start, place, -1)
        return found

    def lexicographic(self, order: Sequence[str]) -> list[int]:
        """The earliest start of each job beside those before it in the order."""
        starts: dict[str, int] = {}
        for name in order:
            tried = ({**starts, name: time} for time in range(150))
            starts = next(found for found in tried if self._together(found))
        return list(starts.values())

    def least(
        self, order: Sequence[str], cost: Callable[[Mapping[str, int]], float], last: int
    ) -> float | None:
        """The least cost of a plan whose starts are no later than last; it grows with each job."""
        best: list[float] = []

        def place(left: Sequence[str]) -> None:
            own = {name: self.starts[name] for name in self.jobs if name in self.starts}
            if own and best and cost(own) >= best[-1]:
                return
            if not left:
                best.append(cost(own))
                return
            job = self.jobs[left[0]]
            for start, where in product(range(last + 1), list(self.places(job))):
                if self.lets(job, start) and self.fits(job, start, where):
                    self.put(job, start, where)
                    place(left[1:])
                    self.put(job, start, where, -1)

        place(order)
        return best[-1] if best else None
