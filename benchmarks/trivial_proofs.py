"""Lexicographic proofs that need no model over hosts: one host, plain slots, racks of whole hosts.

    python benchmarks/trivial_proofs.py [--jobs 200] [--rack-jobs 30] [--effort 20] [--over-hosts]

Seconds are of the processor. --over-hosts: the racks once more with the model over hosts instead of
counts by rack.
"""

from __future__ import annotations

import argparse
import random
import time

from slotwise.model.cluster import Cluster, ComputeUnit, Host
from slotwise.model.configuration import Queue
from slotwise.model.instance import Instance
from slotwise.model.job import Job, RunningJob
from slotwise.solver.optimal import lexicographic
from slotwise.solver.planning import plan

SLOTS = 16


def slots_alone(jobs: int, hosts: int, seed: int = 0) -> Instance:
    """400 slots on so many hosts, 90 % taken, and jobs that need nothing but slots."""
    draw = random.Random(seed)
    each = 400 // hosts
    running = []
    for host in range(hosts):
        free = each
        while free > each * 0.1:
            size = min(free, draw.choice((1, 2, 4, 8, 16, 32)))
            free -= size
            elapsed = draw.randint(0, 3000)
            job = Job(f"r{len(running)}", slots=size, run_limit=elapsed + draw.randint(60, 40_000))
            running.append(RunningJob(job, -elapsed, {f"h{host}": size}))
    sizes = (1, 2, 4, 8, 16, 32, 64, 100, 300) if hosts == 1 else (1, 2, 4, 8, 16)
    pending = tuple(
        Job(f"p{n}", slots=draw.choice(sizes), run_limit=draw.randint(60, 40_000))
        for n in range(jobs)
    )
    cluster = Cluster(tuple(Host(f"h{host}", each) for host in range(hosts)))
    return Instance(cluster, queues=(Queue("default"),), running=tuple(running), pending=pending)


def racks_of_hosts(jobs: int, racks: int = 10, each: int = 16, seed: int = 0) -> Instance:
    """Racks of identical hosts that jobs take whole: in one rack, in two, or anywhere."""
    draw = random.Random(seed)
    names = [f"h{number:03d}" for number in range(racks * each)]
    left = draw.sample(names, len(names))
    running = []
    while left:
        taken, left = left[: (count := draw.choice((1, 2, 4, 8, 16)))], left[count:]
        if draw.random() < 0.03:
            continue
        elapsed = draw.randint(0, 30) * 60
        job = Job(
            f"r{len(running)}",
            slots=SLOTS * len(taken),
            run_limit=elapsed + 60 * draw.randint(1, 400),
        )
        running.append(RunningJob(job, -elapsed, dict.fromkeys(taken, SLOTS)))
    places = draw.choices(
        ("cu[type=rack:maxcus=1]", "cu[type=rack:maxcus=2]", ""), (0.4, 0.2, 0.4), k=jobs
    )
    pending = tuple(
        Job(
            f"p{n}",
            slots=SLOTS * draw.choice((1, 2, 4, 8, 12, 16)),
            res_req=(f"span[ptile={SLOTS}] {place}".strip(),),
            run_limit=60 * draw.randint(10, 600),
        )
        for n, place in enumerate(places)
    )
    units = tuple(
        ComputeUnit(f"rack{n}", "rack", tuple(names[n * each : (n + 1) * each]))
        for n in range(racks)
    )
    cluster = Cluster(
        tuple(Host(name, SLOTS) for name in names),
        unit_types=("rack",),
        default_unit_type="rack",
        units=units,
    )
    return Instance(cluster, queues=(Queue("default"),), running=tuple(running), pending=pending)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--rack-jobs", type=int, default=30)
    parser.add_argument("--effort", type=float, default=20)
    parser.add_argument("--over-hosts", action="store_true")
    options = parser.parse_args()
    racks = racks_of_hosts(options.rack_jobs)
    cases = [
        ("one host", slots_alone(options.jobs, 1)),
        ("20 hosts", slots_alone(options.jobs, 20)),
        ("10 racks of 16 hosts, by counts", racks),
    ]
    print("| cluster | jobs | proved | status | CPU s |")
    print("|---|---:|---:|---|---:|")
    for name, instance in cases:
        _measure(name, instance, options.effort)
    if options.over_hosts:
        lexicographic.FEWER = 10**9
        _measure("10 racks of 16 hosts, over hosts", racks, options.effort)


def _measure(name: str, instance: Instance, effort: float) -> None:
    begun = time.process_time()
    found = plan(instance, "optimal", effort=effort)
    took = time.process_time() - begun
    proved = sum(item.proved for item in found)
    print(
        f"| {name} | {len(instance.pending)} | {proved} | {found.status} | {took:.1f} |", flush=True
    )


if __name__ == "__main__":
    main()
