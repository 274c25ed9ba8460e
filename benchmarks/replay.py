"""Jobs per second of every replay policy, beside other simulators.

    python benchmarks/replay.py [LOG.swf.gz ...] [--jobs 100000] [--nodes 1000] [--seed 0]

Prints a Markdown table: the best of `--repeat` runs in processor time, without reading the log;
and the largest memory of the whole run.
"""

from __future__ import annotations

import argparse
import platform
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from slotwise.model.sources.swf import read_swf
from slotwise.model.workload import Workload
from slotwise.solver.replay import POLICIES, measure, replay

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))
from synthetic_log import synthetic

TRACES = Path(__file__).parent.parent / "tests" / "data" / "traces"
OTHERS = """
Others on KTH-SP2 (one loaded 2-core machine, within a factor of 2): pyss EASY 10,500 and
conservative 5,300 jobs/s under PyPy; CQSim 434; AccaSim 254; OAR's kamelot with re-planning 10.
"""


def logs(options: argparse.Namespace) -> Iterator[tuple[str, Workload]]:
    for path in options.logs:
        yield path.name.split(".")[0], read_swf(path, keep_going=True).workload
    for jobs in (options.jobs // 4, options.jobs):
        name = f"synthetic, {options.nodes:,} nodes, {jobs:,} jobs"
        yield name, synthetic(jobs, options.nodes, load=options.load, seed=options.seed)


def best_seconds(log: Workload, policy: str, repeat: int) -> tuple[float, float]:
    """(processor seconds, mean wait)."""
    times = []
    for _ in range(repeat):
        begun = time.process_time()
        result = replay(log, policy=policy)
        times.append(time.process_time() - begun)
    return min(times), measure(result).mean_wait


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    known = [TRACES / "KTH-SP2.swf.gz", TRACES / "theta_2022.swf.gz"]
    parser.add_argument("logs", nargs="*", type=Path, default=known)
    parser.add_argument("--jobs", type=int, default=100_000, help="length of the synthetic trace")
    parser.add_argument("--nodes", type=int, default=1000, help="size of its machine")
    parser.add_argument("--load", type=float, default=0.8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--repeat", type=int, default=2)
    options = parser.parse_args()
    print("| trace | policy | jobs/s | mean wait s |\n|---|---|---:|---:|")
    for name, log in logs(options):
        for policy in POLICIES:
            seconds, wait = best_seconds(log, policy, options.repeat)
            rate = f"{len(log) / seconds:,.0f}"
            print(f"| {name} | {policy} | {rate} | {wait:,.1f} |", flush=True)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\nPython {platform.python_version()}, at most {memory:,.0f} MB.\n{OTHERS}")


if __name__ == "__main__":
    main()
