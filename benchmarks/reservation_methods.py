"""Greedy against time-based against optimal reservation on the same trace of multi-node jobs.

    python benchmarks/reservation_methods.py [--jobs 240] [--seeds 3] [--write]

A tenth of the jobs are big: blocks of whole or half hosts over many hosts (span[ptile]). Every job
may backfill. --write puts the table into docs/reservation-methods.md.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from slotwise.model.cluster import Cluster, Host
from slotwise.model.instance import Instance
from slotwise.model.job import Job
from slotwise.model.params import Params
from slotwise.model.queue import Queue
from slotwise.solver.loop.metrics import LoopMetrics, measure
from slotwise.solver.loop.simulation import simulate

HOSTS, SLOTS = 16, 8
METHODS = ("none", "greedy", "time-based", "optimal")
TARGET = Path(__file__).parents[1] / "docs" / "reservation-methods.md"


def trace(jobs: int, seed: int, *, load: float = 0.92, overestimate: float = 1.0) -> Instance:
    """Small sequential and one-host jobs, and big ones of 4 to 12 hosts with 4 or 8 slots each.

    overestimate: run limits over real run times; 1 for limits that are exact.
    """
    rng = np.random.default_rng(seed)
    future = []
    work = 0
    for number in range(jobs):
        run = 60 * int(rng.integers(5, 120))
        if number % 10 == 9:
            tile, blocks = int(rng.choice((4, 8))), int(rng.integers(4, 13))
            slots, asks = tile * blocks, (f"span[ptile={tile}]",)
        else:
            slots = int(rng.choice((1, 1, 2, 4, 8)))
            asks = ("span[hosts=1]",) if slots > 1 else ()
        work += slots * run
        limit = 60 * -(-int(run * (1 + (overestimate - 1) * rng.random() * 2)) // 60)
        future.append((slots, asks, run, max(limit, run)))
    span = int(work / (HOSTS * SLOTS * load))
    submits = np.sort(rng.integers(0, span, size=jobs))
    return Instance(
        Cluster(tuple(Host(f"n{number:02d}", SLOTS) for number in range(HOSTS))),
        queues=(Queue("normal", 30, slot_reserve=100_000, backfill=True),),
        future=tuple(
            Job(
                f"j{number}",
                slots,
                queue="normal",
                res_req=asks,
                run_limit=limit,
                run_time=run,
                submit=int(submits[number]),
            )
            for number, (slots, asks, run, limit) in enumerate(future)
        ),
        params=Params(default_queue="normal"),
        name=f"multi-node-{seed}",
    )


def row(name: str, results: list[LoopMetrics], seconds: float) -> str:
    """One line of the table: means over the seeds."""

    def mean(values: list[float | None]) -> str:
        known = [value for value in values if value is not None]
        return f"{np.mean(known):,.0f}" if known else "-"

    predictions = [m.predictions[name] for m in results if name in m.predictions]
    exact = f"{100 * np.mean([p.exact for p in predictions]):.0f} %" if predictions else "-"
    early = f"{100 * np.mean([p.early for p in predictions]):.0f} %" if predictions else "-"
    cells = [
        name,
        mean([float(p.mean_absolute_error) for p in predictions]),
        exact,
        early,
        mean([m.big_mean_wait for m in results]),
        mean([m.big_max_wait for m in results]),
        mean([m.mean_wait for m in results]),
        f"{100 * np.mean([m.utilisation for m in results]):.1f} %",
        f"{100 * np.mean([m.idle_while_waiting for m in results]):.1f} %",
        f"{seconds:.0f}",
    ]
    return "| " + " | ".join(cells) + " |"


def table(jobs: int, seeds: int, overestimate: float) -> list[str]:
    """The table for one way of stating run limits."""
    lines = [
        "| reservation | mean abs. error of the first estimate (s) | exact | too early | "
        "mean wait of big jobs (s) | longest | mean wait of all (s) | utilisation | "
        "idle while jobs wait | run (s) |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for method in METHODS:
        begun = time.perf_counter()
        results = [
            measure(simulate(trace(jobs, seed, overestimate=overestimate), reservation=method))
            for seed in range(seeds)
        ]
        lines.append(row(method, results, time.perf_counter() - begun))
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=240)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    text = [
        "# Greedy, time-based and optimal reservation on one trace",
        "",
        f"Made by `python benchmarks/reservation_methods.py --jobs {asked.jobs} "
        f"--seeds {asked.seeds} --write` on a shared, loaded machine with two processors: the run "
        "times say little, everything else is the same on any machine.",
        "",
        f"{HOSTS} hosts of {SLOTS} slots; {asked.jobs} jobs a trace, one in ten over 4 to 12 hosts "
        "with 4 or 8 slots on each (`span[ptile]`); every job may backfill; cycles of 60 s; the "
        f"first four jobs get a future allocation; means over {asked.seeds} traces. An estimate is "
        "exact when the job starts within a cycle of the first estimate it was given.",
        "",
        "## Run limits that are exact",
        "",
        *table(asked.jobs, asked.seeds, 1.0),
        "",
        "## Run limits at twice the run time on average",
        "",
        *table(asked.jobs, asked.seeds, 2.0),
        "",
    ]
    if asked.write:
        TARGET.write_text("\n".join([*text, *_reading()]))


def _reading() -> list[str]:
    return [
        "## What the columns say",
        "",
        "- *none* holds nothing: whatever fits starts, and big jobs wait for the day on which "
        "enough hosts happen to be free.",
        "- *greedy* estimates ignore the blocks of `span[ptile]`: they are too early for jobs "
        "whose slots are free before their hosts are.",
        "- *time-based* and *optimal* estimates hold as long as run limits do; with limits that "
        "are too long jobs start before their estimate, never after it for this reason alone.",
        "- *optimal* plans the first four jobs together within a deterministic effort a cycle.",
        "",
    ]


if __name__ == "__main__":
    main()
