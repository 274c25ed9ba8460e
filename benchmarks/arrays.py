"""How long an array of 10,000 elements on 1,000 hosts takes to plan, in CPU seconds.

Hosts of 16 slots, four in five of them with a running job; elements of 4 slots and an hour. Each
case is planned in a process of its own: `python benchmarks/arrays.py`.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time

from slotwise.model.cluster import Cluster, Host
from slotwise.model.instance import Instance
from slotwise.model.job import ArraySpec, Job, RunningJob, elements
from slotwise.solver.planning import plan

MINUTE = 60


def site(hosts: int, size: int, limit: int | None, seed: int = 1) -> Instance:
    """A cluster that is mostly busy, and one array that waits."""
    draw = random.Random(seed)
    names = [f"h{number + 1:04d}" for number in range(hosts)]
    running = tuple(
        RunningJob(
            Job(f"r{number}", slots, run_limit=draw.randint(20, 600) * MINUTE),
            start=0,
            allocation={name: slots},
        )
        for number, name in enumerate(names)
        if draw.random() < 0.8
        for slots in [draw.choice((8, 16))]
    )
    job = Job("101", 4, run_limit=60 * MINUTE, res_req=("rusage[mem=4000]",), name="a")
    cluster = Cluster(tuple(Host(name, 16, amounts={"mem": 64000.0}) for name in names))
    spec = ArraySpec((range(1, size + 1),), limit)
    return Instance(cluster, running=running, pending=elements(job, spec))


def measure(method: str, hosts: int, size: int, limit: int | None) -> str:
    """One case: CPU seconds, elements with a start and elements proved."""
    instance = site(hosts, size, limit)
    begun = time.process_time()
    found = plan(instance, method, time_limit=600)  # type: ignore[arg-type]
    spent = time.process_time() - begun
    proved = sum(item.proved for item in found)
    placed = sum(item.start is not None for item in found)
    return f"{method:<12} {limit or '-':>5} {spent:8.1f} {placed:9,} {proved:9,}"


def main() -> None:
    """Print the table, or with --case one line of it."""
    read = argparse.ArgumentParser(description=__doc__)
    read.add_argument("--hosts", type=int, default=1000)
    read.add_argument("--size", type=int, default=10_000)
    read.add_argument("--case", nargs=2)
    given = read.parse_args()
    if given.case:
        limit = int(given.case[1])
        print(measure(given.case[0], given.hosts, given.size, limit or None))
        return
    print(f"{'method':<12} {'%N':>5} {'CPU s':>8} {'placed':>9} {'proved':>9}")
    for method in ("time-based", "optimal"):
        for limit in (0, 500):
            size = ["--hosts", str(given.hosts), "--size", str(given.size)]
            case = [sys.executable, __file__, *size, "--case", method, str(limit)]
            print(subprocess.run(case, check=True, text=True, capture_output=True).stdout, end="")


if __name__ == "__main__":
    main()
