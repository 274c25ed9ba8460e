"""Random instances with dependency conditions (bsub -w), and the optimum by trying every start.

All jobs may use any slots of any hosts. A plan of such jobs has places on hosts if the slots of all
jobs together are enough at every second, so starts alone decide. Conditions are made as trees of
tuples and written down as text: nothing here reads that text.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slotwise import Cluster, Host, Instance, Job, RunningJob

#: ("done" | "started" | …, ids) · ("and" | "or", parts) · ("num…", ids of an array, k)
Tree = tuple[Any, ...]
Starts = Mapping[str, int]


@dataclass(frozen=True)
class PrecedenceCase:
    """An instance and, by job, what it waits for. lag: think times."""

    instance: Instance
    trees: Mapping[str, Tree]


def case(seed: int, *, jobs: int = 4, logic: bool = True, lags: bool = True) -> PrecedenceCase:
    """Up to two running and so many pending jobs; logic: with || and counts too."""
    draw = random.Random(seed)
    hosts = tuple(Host(f"h{n}", draw.randint(1, 3)) for n in range(draw.randint(1, 2)))
    total = sum(host.slots for host in hosts)
    running: list[RunningJob] = []
    for number in range(draw.randint(0, min(2, len(hosts)))):
        job = Job(str(90 + number), 1, run_limit=draw.randint(1, 5), name=draw.choice("xy"))
        running.append(RunningJob(job, 0, {hosts[number].name: 1}))
    array = [f"5[{index}]" for index in range(1, draw.randint(2, 3))] if draw.random() < 0.4 else []
    names = [*array, *(str(10 + n) for n in range(jobs - len(array)))]
    lengths = {name: draw.randint(1, 4) for name in names}
    pending: list[Job] = []
    trees: dict[str, Tree] = {}
    behind = list(names)
    draw.shuffle(behind)  # a job waits for those before it in this order: no circles
    for name in names:
        earlier = [*behind[: behind.index(name)], *(item.job.id for item in running)]
        dependency = ""
        if earlier and name not in array and draw.random() < 0.8:
            trees[name] = _tree(draw, earlier, array, logic, 2)
            dependency = written(trees[name])
        think = draw.choice((0, 0, 0, 1, 2)) if dependency and lags else 0
        pending.append(
            Job(
                name,
                draw.randint(1, total),
                run_limit=lengths[name],
                dependency=dependency,
                think_time=think,
                weight=float(draw.randint(1, 3)),
                priority=draw.randint(1, 3),
                name="a" if name in array else f"j{name}",
            )
        )
    return PrecedenceCase(
        Instance(Cluster(hosts), running=tuple(running), pending=tuple(pending)), trees
    )


def _tree(
    draw: random.Random, earlier: Sequence[str], array: Sequence[str], logic: bool, deep: int
) -> Tree:
    kind = draw.random()
    if deep and kind < 0.45:
        parts = tuple(_tree(draw, earlier, array, logic, deep - 1) for _ in range(2))
        return ("or" if logic and draw.random() < 0.5 else "and", parts)
    if array and logic and kind < 0.6 and all(name in earlier for name in array):
        return (draw.choice(("numdone", "numended")), tuple(array), draw.randint(1, len(array)))
    word = draw.choice(("done", "done", "ended", "started", "post_done"))
    return (word, (draw.choice(earlier),))


def written(tree: Tree) -> str:
    """The condition as bsub has it."""
    match tree:
        case ("and", (left, right)):
            return (
                f"({written(left)}) && {written(right)}"
                if right[0] != "or"
                else f"({written(left)}) && ({written(right)})"
            )
        case ("or", parts):
            return " || ".join(written(part) for part in parts)
        case (word, names, count):
            return f"{word}({names[0].partition('[')[0]}, >= {count})"
        case (word, (name,)):
            return (
                f"{word}({name})"
                if "[" in name or word != "done"
                else f"done(j{name})"
                if int(name) < 90
                else name
            )
    raise AssertionError(tree)


def holds(tree: Tree, time: int, starts: Starts, ends: Starts) -> bool:
    """Whether a condition holds at a second, all jobs having succeeded."""
    match tree:
        case ("and", parts):
            return all(holds(part, time, starts, ends) for part in parts)
        case ("or", parts):
            return any(holds(part, time, starts, ends) for part in parts)
        case (_, names, count):
            return sum(ends.get(name, 1 << 30) <= time for name in names) >= count
        case ("started", names):
            return all(starts.get(name, 1 << 30) <= time for name in names)
        case (_, names):
            return all(ends.get(name, 1 << 30) <= time for name in names)
    raise AssertionError(tree)


@dataclass
class Slots:
    """Slots in use at each second, and who starts and ends when."""

    total: int
    used: list[int]
    starts: dict[str, int]
    ends: dict[str, int]

    @classmethod
    def of(cls, given: PrecedenceCase, seconds: int) -> Slots:
        """What runs."""
        instance = given.instance
        found = cls(sum(host.slots for host in instance.cluster.hosts), [0] * seconds, {}, {})
        for item in instance.running:
            found.put(item.job, 0)
        return found

    def capacity(self, job: Job, start: int) -> bool:
        """Whether a job fits in then."""
        seconds = self.used[start : start + (job.run_limit or 0)]
        return all(used + job.slots <= self.total for used in seconds)

    def put(self, job: Job, start: int, sign: int = 1) -> None:
        """Enter a job, or take it out again."""
        end = start + (job.run_limit or 0)
        for second in range(start, end):
            self.used[second] += sign * job.slots
        if sign > 0:
            self.starts[job.id], self.ends[job.id] = start, end
        else:
            del self.starts[job.id], self.ends[job.id]

    def lets(self, given: PrecedenceCase, job: Job, start: int) -> bool:
        """Whether the condition of a job holds so long before its start."""
        tree = given.trees.get(job.id)
        return tree is None or holds(tree, start - job.think_time, self.starts, self.ends)


def lexicographic(given: PrecedenceCase, order: Sequence[str]) -> list[int]:
    """Each job at its first second beside those before it in the order."""
    jobs = {job.id: job for job in given.instance.pending}
    slots = Slots.of(given, 200)
    for name in order:
        job = jobs[name]
        start = next(t for t in range(150) if slots.capacity(job, t) and slots.lets(given, job, t))
        slots.put(job, start)
    return [slots.starts[name] for name in order]


def plans(given: PrecedenceCase, last: int) -> Iterator[dict[str, int]]:
    """Every plan whose starts are no later than `last`."""
    instance = given.instance
    slots = Slots.of(given, last + 8)

    def place(left: Sequence[Job]) -> Iterator[dict[str, int]]:
        if not left:
            jobs = instance.pending
            if all(slots.lets(given, job, slots.starts[job.id]) for job in jobs):
                yield {job.id: slots.starts[job.id] for job in jobs}
            return
        job, *rest = left
        for start in range(last + 1):
            if slots.capacity(job, start):
                slots.put(job, start)
                yield from place(rest)
                slots.put(job, start, -1)

    yield from place(instance.pending)
