"""Greedy against time-based against optimal reservation on the same trace of multi-node jobs.

    python benchmarks/reservation_methods.py [--jobs 120] [--seeds 10] [--write]

A tenth of the jobs are big: blocks of whole or half hosts over many hosts (span[ptile]). Every job
may backfill. --write puts the tables into docs/reservation-methods.md.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from slotwise.model.cluster import Cluster, Host
from slotwise.model.configuration import Params, Queue
from slotwise.model.instance import Instance
from slotwise.model.job import Job
from slotwise.solver.scheduler.metrics import LoopMetrics, measure
from slotwise.solver.scheduler.simulation import simulate

HOSTS, SLOTS = 16, 8
#: Name of a row, reservation, jobs with a future allocation.
METHODS = (
    ("none", "none", None),
    ("greedy", "greedy", None),
    ("time-based, first 4", "time-based", 4),
    ("time-based, all", "time-based", 100_000),
    ("optimal, first 4", "optimal", 4),
)
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


def row(name: str, method: str, results: list[LoopMetrics], seconds: float) -> str:
    """One line of the table: means over the seeds."""

    def mean(values: list[float | None]) -> str:
        known = [value for value in values if value is not None]
        return f"{np.mean(known):,.0f}" if known else "-"

    def share(values: list[float]) -> str:
        return f"{100 * np.mean(values):.0f} %" if values else "-"

    first = [m.predictions[method] for m in results if method in m.predictions]
    told = [
        m.predictions_at_submission[method]
        for m in results
        if method in m.predictions_at_submission
    ]
    cells = [
        name,
        mean([float(p.jobs) for p in told]),
        mean([p.mean_absolute_error for p in told]),
        mean([float(p.jobs) for p in first]),
        mean([p.mean_absolute_error for p in first]),
        share([p.exact for p in first]),
        share([p.early for p in first]),
        mean([m.big_mean_wait for m in results]),
        mean([m.big_max_wait for m in results]),
        mean([m.mean_wait for m in results]),
        f"{100 * np.mean([m.utilisation for m in results]):.1f} %",
        f"{100 * np.mean([m.idle_while_waiting for m in results]):.1f} %",
        f"{seconds:.0f}",
    ]
    return "| " + " | ".join(cells) + " |"


HEADER = (
    "| reservation | told at submission | error then (s) | told at all | error of the first "
    "estimate (s) | exact | too early | mean wait of big jobs (s) | longest | mean wait of all (s) "
    "| utilisation | idle while jobs wait | run (s) |"
)


def table(jobs: int, seeds: int, overestimate: float) -> list[str]:
    """The table for one way of stating run limits."""
    lines = [HEADER, "|---|" + "---:|" * 12]
    for name, method, top in METHODS:
        begun = time.process_time()
        results = []
        for seed in range(seeds):
            problem = trace(jobs, seed, overestimate=overestimate)
            results.append(measure(simulate(problem, reservation=method, top=top)))
        lines.append(row(name, method, results, time.process_time() - begun))
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=120)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    tables = {
        "Exact run limits": table(asked.jobs, asked.seeds, 1.0),
        "Run limits at twice the run time on average": table(asked.jobs, asked.seeds, 2.0),
    }
    if asked.write:
        page = TARGET.read_text(encoding="utf-8")
        for heading, rows in tables.items():
            page = with_table(page, heading, rows)
        TARGET.write_text(page, encoding="utf-8")


def with_table(page: str, heading: str, rows: list[str]) -> str:
    """The page with another table under one heading; its prose is written by hand."""
    before, title, rest = page.partition(f"## {heading}\n\n")
    _, blank, after = rest.partition("\n\n")
    return before + title + "\n".join(rows) + blank + after


if __name__ == "__main__":
    main()
