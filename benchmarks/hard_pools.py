"""Total start on pools whose starts cannot be listed: a few large short jobs among many long ones.

    python benchmarks/hard_pools.py [--seeds 1 2 3] [--seconds 30] [--processors 338]

Each pool has running jobs that end at many moments, 8 jobs of 70 to 98 % of the processors that
last up to an hour, and 90 of 1 to 40 % that last mostly 18 hours. The bound that the prover comes
to from one plan; seconds are of the processor, the plan's search not counted.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from slotwise.solver.optimal.pool import PoolProblem, optimise
from slotwise.solver.optimal.pool.bounds import Incumbent
from slotwise.solver.optimal.pool.prover import prove

HOUR = 3600
LARGE, SMALL, RUNNING = 8, 90, 60
#: Rounds of the search that makes the plan.
EFFORT = 4


def hard_pool(seed: int, processors: int) -> PoolProblem:
    """One pool of the family, the same for the same arguments."""
    random = np.random.default_rng(seed)
    running: list[tuple[int, int]] = []
    while sum(size for size, _ in running) < 0.97 * processors and len(running) < RUNNING:
        left = processors - sum(size for size, _ in running)
        size = int(min(left, random.integers(1, max(2, processors // 12))))
        running.append((size, int(random.integers(60, 18 * HOUR))))
    free = processors - sum(size for size, _ in running)
    times = [0, *sorted({end for _, end in running})]
    levels = [free + sum(size for size, end in running if end <= time) for time in times]
    large = (processors * random.uniform(0.7, 0.98, LARGE)).astype(int)
    small = np.exp(random.uniform(np.log(0.01), np.log(0.4), SMALL)) * processors
    long = random.random(SMALL) < 0.7
    lengths = np.where(long, 18 * HOUR, random.integers(600, 18 * HOUR, SMALL))
    return PoolProblem.build(
        times,
        levels,
        [*large, *np.maximum(1, small.astype(int))],
        [*random.integers(300, HOUR, LARGE), *lengths],
    )


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2, 3])
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--processors", type=int, default=338)
    options = parser.parse_args()
    print("| seed | value | bound | gap % | CPU s |")
    print("|---:|---:|---:|---:|---:|")
    for seed in options.seeds:
        pool = hard_pool(seed, options.processors)
        incumbent = Incumbent(pool, optimise(pool, effort=EFFORT).starts, pool.value(pool.alone))
        begun = time.process_time()
        for _ in prove(incumbent):
            if time.process_time() - begun > options.seconds:
                break
        took = time.process_time() - begun
        gap = 100 * (incumbent.value - incumbent.bound) / incumbent.value
        print(
            f"| {seed} | {incumbent.value} | {incumbent.bound} | {gap:.2f} | {took:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
