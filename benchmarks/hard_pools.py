"""Total start on pools whose starts cannot be listed: a few large short jobs among many long ones.

    python benchmarks/hard_pools.py [--seeds 1 2 3] [--seconds 15] [--processors 338] [--no-peers]

Each pool has running jobs that end at many moments, 8 jobs of 70 to 98 % of the processors that
last up to an hour, and 90 of 1 to 40 % that last mostly 18 hours. Each method has the same seconds
of the clock and two workers, one after the other. PyJobShop is left out where it is not installed.
"""

from __future__ import annotations

import argparse

import numpy as np
from slotwise.solver.optimal.pool import PoolProblem, optimise
from snapshots import plain_cp_sat, pyjobshop_model

HOUR = 3600
LARGE, SMALL, RUNNING = 8, 90, 60


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
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--processors", type=int, default=338)
    parser.add_argument("--no-peers", action="store_true")
    options = parser.parse_args()
    print("| seed | ours | bound | gap % | plain CP-SAT | its bound | PyJobShop | its bound |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    gaps = []
    for seed in options.seeds:
        pool = hard_pool(seed, options.processors)
        ours = optimise(pool, time_limit=options.seconds, workers=2)
        gaps.append(100 * ours.gap)
        peers = (
            [None, None]
            if options.no_peers
            else [plain_cp_sat(pool, options.seconds), pyjobshop_model(pool, options.seconds)]
        )
        cells = [f"{a[0]} | {a[1]:.0f}" if a is not None else "- | -" for a in peers]
        print(
            f"| {seed} | {ours.value} | {ours.bound} | {gaps[-1]:.2f} | "
            + " | ".join(cells)
            + " |",
            flush=True,
        )
    if gaps:
        print(f"\nMean gap {sum(gaps) / len(gaps):.2f} %, worst {max(gaps):.2f} %.")


if __name__ == "__main__":
    main()
