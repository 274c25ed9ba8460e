"""How fast is the scheduler loop over hosts? Dispatches a second, by method and size.

    python benchmarks/loop.py [--hosts 1000] [--jobs 20000] [--reservation time-based] [--profile]

A generated trace: hosts of 16 slots, jobs of 1 to 128 slots (a third with span[ptile]), real run
times at about 60 % of their limits, a load that keeps the queue filled.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import resource
import sys
import time

import numpy as np
from slotwise.model.cluster import Cluster, Host
from slotwise.model.configuration import Params, Queue
from slotwise.model.instance import Instance
from slotwise.model.job import Job
from slotwise.solver.scheduler.simulation import simulate

SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
SHARES = (0.35, 0.12, 0.14, 0.14, 0.12, 0.07, 0.04, 0.02)
HOUR = 3600


def trace(hosts: int, jobs: int, *, load: float = 0.95, seed: int = 0) -> Instance:
    """An instance of `jobs` future jobs that ask for the share `load` of the hosts over time."""
    rng = np.random.default_rng(seed)
    sizes = rng.choice(SIZES, size=jobs, p=SHARES)
    limits = 60 * rng.integers(10, 8 * 60, size=jobs)
    run = np.maximum(60, (limits * rng.beta(2, 1.4, size=jobs)).astype(int))
    span = float((sizes * run).sum()) / (16 * hosts * load)
    submit = np.sort(rng.integers(0, max(1, int(span)), size=jobs))
    tiled = rng.random(jobs) < 1 / 3
    users = rng.integers(0, 40, size=jobs)
    future = tuple(
        Job(
            str(number),
            int(sizes[number]),
            user=f"u{users[number]}",
            res_req=("span[ptile=8]",) if tiled[number] and sizes[number] >= 16 else (),
            run_limit=int(limits[number]),
            run_time=int(run[number]),
            submit=int(submit[number]),
            queue="normal",
        )
        for number in range(jobs)
    )
    return Instance(
        Cluster(tuple(Host(f"h{number:04d}", 16) for number in range(hosts))),
        queues=(Queue("normal", 30, slot_reserve=1000, backfill=True),),
        future=future,
        params=Params(mbd_sleep_time=60, default_queue="normal"),
        name=f"loop-{hosts}x{jobs}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=20000)
    parser.add_argument("--load", type=float, default=0.95)
    parser.add_argument("--reservation", action="append")
    parser.add_argument("--profile", action="store_true")
    asked = parser.parse_args()
    instance = trace(asked.hosts, asked.jobs, load=asked.load)
    print(f"{'reservation':<12} {'jobs':>7} {'cycles':>7} {'s':>7} {'jobs/s':>8} {'MB':>6}")
    for method in asked.reservation or ("none", "greedy", "time-based"):
        profiler = cProfile.Profile()
        if asked.profile:
            profiler.enable()
        begun = time.process_time()
        result = simulate(instance, reservation=method)
        seconds = time.process_time() - begun
        profiler.disable()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        count = len(result.starts)
        print(
            f"{method:<12} {count:>7} {result.cycles:>7} {seconds:>7.1f} "
            f"{count / seconds:>8.0f} {peak:>6.0f}"
        )
        if asked.profile:
            pstats.Stats(profiler, stream=sys.stdout).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    main()
