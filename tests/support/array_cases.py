"""Random instances with job arrays, and the optimum by trying every start.

All jobs may use any slots of any hosts, so that starts alone decide: a plan has places if at every
second the slots are enough and no array has more elements running than it may.
"""

from __future__ import annotations

import random

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
