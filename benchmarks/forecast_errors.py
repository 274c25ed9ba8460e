"""Where the error of LIKELY comes from: each model of a forecast replaced by the truth in turn.

    python benchmarks/forecast_errors.py LOG.swf [--procs P] [--jobs 300] [--samples 40] [--seed 0]
                                         [--cluster FILE]

The log is replayed as one pool under EASY, as `slotwise backtest` does, and the same jobs are
asked about. One line a set of models: the mean absolute error of P50 in seconds, that over the
error of the plan by limits, by how much P50 is too late on average (less than 0: too early), and
which share of the jobs had started by then. With all true it is what the run forward itself errs.

With --cluster the log is run over the hosts of that instance first, and the jobs are drawn from
those that waited there; then the same jobs are asked about over the pool.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from slotwise.cli.backtest import PastOfPool, past_over_hosts
from slotwise.cli.options import LogReading
from slotwise.model.workload import Ints
from slotwise.solver.forecast.arrivals import Coming, FutureArrivals, PastBlocks
from slotwise.solver.forecast.backtest import UNSTARTED, PastLog, sampled_rows
from slotwise.solver.forecast.forecast import look_ahead, starts_at_limits
from slotwise.solver.forecast.jobs import keys_of
from slotwise.solver.forecast.moment import never

#: Who has the true run time, and whether the true arrivals come.
MODELS = {
    "as forecast": ("nobody", False),
    "true run times of running jobs": ("running", False),
    "true run times of waiting jobs": ("waiting", False),
    "true run times of both": ("both", False),
    "true arrivals": ("nobody", True),
    "true run times of running jobs and arrivals": ("running", True),
    "true run times of waiting jobs and arrivals": ("waiting", True),
    "all true": ("both", True),
}


def main() -> None:
    """Measure and print the tables."""
    options = _options()
    pool = partial(PastOfPool(options.log, "easy", options.procs, LogReading()).run, never)
    if options.cluster is None:
        past, _ = pool()
        _table(past, sampled_rows(past, options.jobs, options.seed), options)
        return
    hosts, _ = past_over_hosts(options.log, options.cluster, LogReading(), never)
    rows = sampled_rows(hosts, options.jobs, options.seed)
    print("## over hosts\n")
    _table(hosts, rows, options)
    past, _ = pool()
    row_of = {job: row for row, job in enumerate(_ids(past))}
    ids = _ids(hosts)
    print("\n## the same jobs over a pool\n")
    same = [row_of[ids[row]] for row in rows.tolist()]
    _table(past, np.array(same, dtype=np.int64), options)


def _ids(past: PastLog) -> list[str]:
    """Of each job of the log."""
    return [str(past.names.job(number)) for number in past.log.job.tolist()]


def _table(past: PastLog, rows: Ints, options: argparse.Namespace) -> None:
    """Ask about rows of a log, and print what comes of it."""
    off: dict[str, list[float]] = {name: [] for name in MODELS}
    by_limits = []
    places = Places(past)
    for row in rows.tolist():
        true_start = int(past.start[row])
        planned, found = _asked(past, places, row, options.samples, options.seed)
        by_limits.append(abs(planned - true_start))
        for name, likely in found.items():
            off[name].append(likely - true_start)
    wait = (past.start - past.log.submit)[rows].mean()
    limits = np.mean(by_limits)
    print(
        f"{len(rows)} jobs, mean wait {wait:.0f} s; by limits: mean absolute error {limits:.0f} s"
    )
    print("\n| models | error of P50 s | of by limits | too late s | by P50 |")
    print("|---|---:|---:|---:|---:|")
    for name, numbers in off.items():
        late = np.array(numbers)
        error = np.abs(late).mean()
        print(f"| {name} | {error:.0f} | {error / limits:.3f} | {late.mean():+.0f} "
              f"| {(late >= 0).mean():.2f} |", flush=True)  # fmt: skip


class Places:
    """Rows of jobs by key: of the log, and of its ended jobs."""

    def __init__(self, past: PastLog) -> None:
        self.ended = {int(key): row for row, key in enumerate(past.past.key)}
        self.run_time = dict(zip(map(int, past.past.key), past.past.run_time, strict=True))
        self.keys = keys_of(_ids(past))


def _asked(
    past: PastLog, places: Places, row: int, samples: int, seed: int
) -> tuple[float, dict[str, float]]:
    """Start of a job by limits, and the P50 of each set of models."""
    world = past.world(row)
    known = world.now - 1
    planned = starts_at_limits(world)
    until = world.now + look_ahead(planned, world.now)
    drawn = past.ratios.draw(world.jobs, known, samples, seed)
    drawn_later = PastBlocks(past.past).after(world.now, known, world.jobs, drawn, seed)
    truth = np.array([places.run_time[int(key)] for key in world.jobs.key])
    runs = world.jobs.elapsed >= 0
    coming = arrivals_of(past, places, row, until)
    true_later: Coming = lambda _sample, _until: coming  # noqa: E731
    who = {"nobody": runs & ~runs, "running": runs, "waiting": ~runs, "both": runs | ~runs}
    found = {}
    for name, (whose, true_arrivals) in MODELS.items():
        run_times = np.where(who[whose][:, None], truth[:, None], drawn)
        later: Callable[[int, int], FutureArrivals] = true_later if true_arrivals else drawn_later
        futures = 1 if name == "all true" else samples
        starts = [
            world.starts(run_times[:, sample], later(sample, until))[0] for sample in range(futures)
        ]
        found[name] = float(np.quantile(starts, 0.5, method="inverted_cdf"))
    return float(planned[0]), found


def arrivals_of(past: PastLog, places: Places, row: int, until: int) -> FutureArrivals:
    """The jobs that were submitted after one, up to an instant, and have ended some time."""
    log = past.log
    end = int(np.searchsorted(log.submit, until, side="right"))
    rows = np.arange(row + 1, end)
    rows = rows[past.start[rows] < UNSTARTED]
    ended = [places.ended[int(key)] for key in places.keys[rows]]
    columns = (log.submit[rows], log.run_time[rows], log.req_time[rows], log.procs[rows])
    return FutureArrivals(*columns, np.array(ended, dtype=np.int64))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("log", type=Path)
    parser.add_argument("--cluster", type=Path)
    parser.add_argument("--procs", type=int)
    parser.add_argument("--jobs", type=int, default=300)
    parser.add_argument("--samples", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
