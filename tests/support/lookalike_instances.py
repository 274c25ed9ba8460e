"""Look-alikes: jobs of one to three shapes, half of them elements of arrays and half plain jobs.

What tells an element from a plain job that asks for the same is its array alone, so that whoever
mixes them up breaks ``%N`` or proves what is false.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from enumerated_instances import instance, newer_instance
from enumerated_plans import Table
from slotwise import Instance, Job, RunningJob

MINUTE = 60
#: Combinations of places beyond which an instance is drawn anew.
MOST = 2_000


@dataclass
class _Names:
    """Ids of elements of two arrays, and of plain jobs that look like them."""

    random: Random
    limits: dict[str, int | None]
    used: dict[str, int] = field(default_factory=dict)

    def named(self, shape: Job, number: int) -> Job:
        """A job of a shape; `number`: which of the shapes that is, whose array has that id."""
        if self.random.random() < 0.5:
            array = str(100 + number)
            index = self.used[array] = self.used.get(array, 0) + 1
            limit = self.limits[array]
            return replace(shape, id=f"{array}[{index}]", array_limit=limit, name="a")
        self.used[""] = self.used.get("", 0) + 1
        return replace(shape, id=f"{900 + self.used['']}")


def lookalikes(random: Random) -> Instance:
    """A tiny instance: 2 to 4 pending jobs, and up to three that run, all of few shapes.

    Of every two one in which the limit of an array binds.
    """
    wanted = random.random() < 0.5
    while True:
        found = _drawn(random)
        if Table(found).size() <= MOST and (not wanted or binds(found)):
            return found


def binds(instance: Instance) -> bool:
    """Whether without the limits of arrays some job would start otherwise."""
    jobs = [*instance.pending, *(run.job for run in instance.running)]
    limited = Counter(job.id.split("[")[0] for job in jobs if job.array_limit == 1)
    if max(limited.values(), default=0) < 2:
        return False
    pending = tuple(replace(job, array_limit=None) for job in instance.pending)
    running = tuple(
        replace(run, job=replace(run.job, array_limit=None)) for run in instance.running
    )
    without = replace(instance, pending=pending, running=running)
    return Table(instance).lexicographic() != Table(without).lexicographic()


def _drawn(random: Random) -> Instance:
    plain = random.choice([instance, instance, newer_instance])(random)
    while all(shape.slots > 2 for shape in plain.pending):
        plain = instance(random)
    user = {"user": "ann"} if random.random() < 0.8 else {}
    small = [shape for shape in plain.pending if shape.slots <= 2]
    shapes = [
        replace(shape, weight=1.0, run_limit=shape.run_limit or 5 * MINUTE, **user)
        for shape in small[: random.choice([1, 1, 2, 3])]
    ]
    limits = {str(100 + at): random.choice([None, 1, 1, 1, 2]) for at in range(len(shapes))}
    names = _Names(random, limits)
    numbers = [random.randrange(len(shapes)) for _ in range(random.choice([2, 3, 4, 4]))]
    pending = [names.named(shapes[at], at) for at in numbers]
    queues = tuple(replace(queue, backfill=random.random() < 0.5) for queue in plain.queues)
    bare = replace(plain, queues=queues, running=(), pending=tuple(pending))
    bare = replace(bare, params=replace(bare.params, mbd_sleep_time=MINUTE))
    running = tuple(_running(random, bare, shapes, names))
    submitted = tuple(replace(job, submit=-20 + at) for at, job in enumerate(bare.pending))
    return replace(bare, pending=submitted, running=running)


def _running(
    random: Random, bare: Instance, shapes: Sequence[Job], names: _Names
) -> Iterator[RunningJob]:
    """Jobs of the same shapes where they have room; of an array no more than its limit."""
    runs: list[RunningJob] = []
    for _ in range(random.choice([0, 1, 2, 3, 3])):
        at = random.randrange(len(shapes))
        limit = MINUTE * random.randint(1, 8)
        job = replace(names.named(shapes[at], at), begin=None, run_limit=limit, submit=-1000)
        start = -random.randrange(limit)
        table = Table(replace(bare, running=tuple(runs), pending=(*bare.pending, job)))
        room = [
            form
            for form in table.forms[job.id]
            if len(form.terms) == 1 and table.fits([], (form, bare.now))
        ]
        if room and job.max_slots is None:
            form = random.choice(room)
            (term,) = form.terms
            runs.append(RunningJob(job, start, dict(term), alternative=form.alternative))
            yield runs[-1]
