"""Tiny random instances with GPUs, and the enumeration of plans in which jobs share them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
from enumerated_instances import instance, newer_instance
from enumerated_plans import Placed, Table
from enumerator import length
from slotwise import Cluster, Gpus, Host, Instance, Job, Params, RunningJob

MINUTE = 60
KINDS = [Gpus(1, "TeslaK80", 11264.0), Gpus(2, "TeslaK80", 11264.0), Gpus(2, "A100", 40960.0)]
KINDS += [Gpus(3, "A100", 40960.0), Gpus(4, "A100", 81920.0)]
NUMBERS = ["num=1", "num=1", "num=2", "num=1/task", "num=1/task", "num=2/host", "num=2/task", ""]
CHOICES = [
    "",
    "",
    "",
    "",
    "",
    "",
    "gmodel=A100",
    "gmodel=K80",
    "gmem=20000",
    "gmodel=A100:gmem=60000",
]
EXCLUSIVE = ["j_exclusive=yes", "mode=exclusive_process", "mode=shared:j_exclusive=yes"]
SHARED = ["", "mode=shared", "j_exclusive=no"]


def exclusive_gpus(random: Random) -> Instance:
    """Every job that needs GPUs has them for itself."""
    return with_gpus(random, EXCLUSIVE)


def shared_gpus(random: Random) -> Instance:
    """About half of the jobs may share."""
    return with_gpus(random, [*EXCLUSIVE, *SHARED])


def with_gpus(random: Random, modes: Sequence[str]) -> Instance:
    """Every third an instance of the enumerator with GPUs, the others with little beside them."""
    if random.random() < 0.35:
        plain = random.choice([instance, newer_instance])(random)
        hosts = tuple(
            replace(host, gpus=random.choice(KINDS)) if random.random() < 0.75 else host
            for host in plain.cluster.hosts
        )
        plain = replace(plain, cluster=replace(plain.cluster, hosts=hosts))
    else:
        plain = _short_of_gpus(random)
    found = replace(plain, pending=tuple(_asking(random, job, modes) for job in plain.pending))
    if not found.running and random.random() < 0.3:
        queue = replace(found.queues[0], gpu_req=random.choice(["num=1:j_exclusive=yes", "num=2"]))
        found = replace(found, queues=(queue,))
    if random.random() < 0.1:
        found = replace(found, params=replace(found.params, gpu_req="num=2:j_exclusive=yes"))
    by_name = {host.name: host for host in found.cluster.hosts}
    return replace(found, running=tuple(_holding(random, run, by_name) for run in found.running))


def _short_of_gpus(random: Random) -> Instance:
    """1 to 3 hosts with more slots than GPUs, 0 to 3 running and 2 or 3 pending jobs."""
    hosts = tuple(
        Host(
            f"h{number}",
            random.randint(3, 5),
            amounts={"mem": random.choice([100.0, 200.0])},
            gpus=random.choice([*KINDS, *KINDS, None]),
        )
        for number in range(random.choice([1, 1, 2, 2, 3]))
    )
    running = tuple(
        RunningJob(Job(f"r{n}", 1, run_limit=random.randint(1, 6) * MINUTE), 0, {host.name: 1})
        for n, host in enumerate(hosts)
        if random.random() < 0.7
    )
    pending = tuple(
        Job(
            f"p{number}",
            random.choice([1, 1, 2, 3]),
            res_req=random.choice([(), (), (), ("span[hosts=1]",), ("rusage[mem=60]",)]),
            run_limit=random.randint(1, 5) * MINUTE,
            submit=number - 10,
        )
        for number in range(random.choice([2, 3, 3]))
    )
    params = Params(reserve_per_slot=random.random() < 0.15)
    return Instance(Cluster(hosts), running=running, pending=pending, params=params)


def _asking(random: Random, job: Job, modes: Sequence[str]) -> Job:
    chance = random.random()
    if chance < 0.2:
        return job
    if chance < 0.3 and not job.res_req:
        return replace(job, res_req=(f"rusage[ngpus_physical={random.choice([1, 2])}]",))
    parts = (random.choice(NUMBERS), random.choice(CHOICES), random.choice(modes))
    return replace(job, gpu=":".join(filter(None, parts)) or "-")


def _holding(random: Random, run: RunningJob, hosts: dict[str, Host]) -> RunningJob:
    """A running job with some of the GPUs of its host."""
    (name,) = run.allocation
    gpus = hosts[name].gpus
    if gpus is None or random.random() < 0.4:
        return run
    number = random.randint(1, gpus.count)
    mode = random.choice(["j_exclusive=yes", "j_exclusive=yes", "mode=shared"])
    return replace(run, job=replace(run.job, gpu=f"num={number}/host:{mode}"))


class SharingTable(Table):
    """Plans where the jobs that may share the GPUs of a host take no more than the largest of them.

    No cluster is more generous, so that no start there is earlier than the best one here.
    """

    def used(self, placed: Sequence[Placed], time: int) -> Any:
        """GPUs of sharing jobs once, everything else as it adds up."""
        total = super().used(placed, time)
        active = [
            self.them.held(form, time - start)
            for form, start in placed
            if start <= time < start + length(form.job) and self.them.sharing(form.job)
        ]
        for at, key in enumerate(self.them.capacity):
            if key[0] == "ngpus_physical" and active:
                own = [vector[at] for vector in active]
                total[at] += max(own) - sum(own)
        return np.asarray(total)
