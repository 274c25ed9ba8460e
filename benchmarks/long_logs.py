"""What a simulation of a long log over hosts takes: peak memory, processor seconds.

    python benchmarks/long_logs.py [--jobs 50000 200000 1000000] [--reservation greedy] [--load 0.8]

Seeded logs over a year or so of a machine of 1,024 processors on 64 hosts, in SWF. Each
run is `slotwise simulate LOG … --jobs FILE` in a process of its own, from reading the log to the
last record.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

HOSTS, SLOTS = 64, 16


def jobs(count: int, seed: int, load: float) -> Iterator[tuple[int, int, int, int, int, int]]:
    """Number, submission, run time, request, processors and user."""
    rng = np.random.default_rng(seed)
    procs = rng.choice((1, 2, 4, 8, 16), size=count, p=(0.4, 0.2, 0.2, 0.1, 0.1))
    request = 60 * rng.integers(5, 240, size=count)
    run = np.maximum(1, (request * rng.beta(2, 2, size=count)).astype(int))
    span = int((procs * run).sum() / (HOSTS * SLOTS * load))
    submit = np.sort(rng.integers(0, span, size=count))
    users = rng.integers(0, 50, size=count)
    columns = (np.arange(1, count + 1), submit, run, request, procs, users)
    return zip(*(column.tolist() for column in columns), strict=True)


def write_swf(path: Path, count: int, load: float, seed: int = 0) -> None:
    """A log in the Standard Workload Format."""
    with path.open("w") as file:
        file.write(f"; MaxProcs: {HOSTS * SLOTS}\n")
        for number, submit, run, request, procs, user in jobs(count, seed, load):
            file.write(
                f"{number} {submit} 0 {run} {procs} -1 -1 {procs} {request} -1 1 {user} "
                "-1 -1 -1 -1 -1 -1\n"
            )


def run(arguments: list[str]) -> tuple[float, float]:
    """Peak MB and processor seconds of one command."""
    child = os.fork()
    if not child:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
        os.execv(sys.executable, [sys.executable, "-m", "slotwise", *arguments])
    _, status, usage = os.wait4(child, 0)
    if status:
        raise SystemExit(f"slotwise {' '.join(arguments)} ended with {status}")
    return usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, nargs="+", default=[50_000, 200_000, 1_000_000])
    parser.add_argument("--reservation", default="greedy")
    parser.add_argument("--load", type=float, default=0.8, help="of all processors over time")
    asked = parser.parse_args()
    print(f"{'jobs':>9} {'MB':>6} {'bytes a job more':>17} {'CPU s':>7} {'jobs/s':>7}")
    before: tuple[int, float] | None = None
    with tempfile.TemporaryDirectory() as folder:
        for count in asked.jobs:
            log = Path(folder, "log.swf")
            write_swf(log, count, asked.load)
            options = ["--hosts", str(HOSTS), "--reservation", asked.reservation]
            peak, seconds = run(["simulate", str(log), *options, "--jobs", f"{folder}/jobs.csv"])
            more = "" if before is None else (peak - before[1]) * 2**20 / (count - before[0])
            cell = f"{more:.0f}" if more != "" else ""
            print(f"{count:>9,} {peak:>6.0f} {cell:>17} {seconds:>7.1f} {count / seconds:>7.0f}")
            before = count, peak


if __name__ == "__main__":
    main()
