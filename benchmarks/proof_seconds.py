"""How far the bound of a pool gets in so many seconds of the processor, from one and the same plan.

    python benchmarks/proof_seconds.py FOLDER [--seconds 8] [--only NAME ...]

FOLDER holds snapshots as `slotwise import pool` reads them. The plan is made by a few rounds of the
search, the same on every machine; then only the bound is worked on, by one process, and seconds are
of the processor: a busy machine makes no difference. Total start.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from slotwise.model.formats.pool import load_pool
from slotwise.solver.optimal.pool import optimise
from slotwise.solver.optimal.pool.incumbent import Incumbent
from slotwise.solver.optimal.pool.prover import prove
from slotwise.solver.problem import PlanningProblem
from snapshots import _pool

#: Rounds of the search that makes the plan.
EFFORT = 40


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--only", nargs="*", default=[])
    options = parser.parse_args()
    print("| snapshot | jobs | plan | bound | gap % |\n|---|---:|---:|---:|---:|")
    gaps = []
    for file in sorted(options.folder.glob("*.json")):
        if options.only and file.stem not in options.only:
            continue
        pool = _pool(PlanningProblem.of(load_pool(file)))
        starts = optimise(pool, effort=EFFORT).starts
        incumbent = Incumbent(pool, starts, pool.value(pool.alone))
        begun = time.process_time()
        for _ in prove(incumbent):
            if incumbent.proved or time.process_time() - begun > options.seconds:
                break
        value, bound = incumbent.value, incumbent.bound
        gaps.append(100 * (value - bound) / max(1, value))
        print(f"| {file.stem} | {len(pool)} | {value} | {bound} | {gaps[-1]:.2f} |", flush=True)
    if gaps:
        print(f"\nMean gap {sum(gaps) / len(gaps):.2f} %, worst {max(gaps):.2f} %.")


if __name__ == "__main__":
    main()
