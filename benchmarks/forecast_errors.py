"""Where the error of LIKELY comes from: each model of a forecast replaced by the truth in turn.

    python benchmarks/forecast_errors.py LOG.swf [--jobs 300]
                                         [--samples 40] [--seed 0]

The log is replayed as one pool under EASY, as `slotwise backtest` does, and the same jobs are
asked about. One line a set of models: the mean absolute error of P50 in seconds, and that over the
error of the plan by limits.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from slotwise.cli.backtest_input import past_of_pool
from slotwise.model.workload import Workload
from slotwise.solver.forecast.arrivals import ComingJobs, PastBlocks
from slotwise.solver.forecast.backtest import sampled_rows
from slotwise.solver.forecast.draws import keys_of
from slotwise.solver.forecast.forecast import look_ahead, starts_at_limits

#: Who has the true run time, and whether the true arrivals come.
MODELS = {
    "as forecast": ("nobody", False),
    "true run times of running jobs": ("running", False),
    "true run times of waiting jobs": ("waiting", False),
    "true run times of both": ("both", False),
    "true arrivals": ("nobody", True),
    "true run times of running jobs and arrivals": ("running", True),
    "true run times of waiting jobs and arrivals": ("waiting", True),
}


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log", type=Path)
    parser.add_argument("--jobs", type=int, default=300)
    parser.add_argument("--samples", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    past, *_ = past_of_pool(options.log, "easy", None, False, lambda: False)
    errors: dict[str, list[float]] = {name: [] for name in MODELS}
    by_limits = []
    rows_of = {int(key): row for row, key in enumerate(keys_of(map(str, past.log.job.tolist())))}
    for row in sampled_rows(past, options.jobs, options.seed).tolist():
        world = past.world(row)
        known, true_start = world.now - 1, int(past.start[row])
        planned = starts_at_limits(world)
        until = world.now + look_ahead(planned, world.now)
        drawn = past.ratios.draw(world.jobs, known, options.samples, options.seed)
        drawn_later = PastBlocks(past.past).after(world.now, known, world.jobs, drawn, options.seed)
        truth = np.array([past.log.run_time[rows_of[int(key)]] for key in world.jobs.key])
        runs = world.jobs.elapsed >= 0
        coming = _true_arrivals(past.log, row, until)
        who = {"nobody": runs & ~runs, "running": runs, "waiting": ~runs, "both": runs | ~runs}
        for name, (whose, true_arrivals) in MODELS.items():
            run_times = np.where(who[whose][:, None], truth[:, None], drawn)
            later: Callable[[int, int], ComingJobs] = (
                (lambda _sample, _until, jobs=coming: jobs) if true_arrivals else drawn_later
            )
            starts = [
                world.starts(run_times[:, sample], later(sample, until))[0]
                for sample in range(options.samples)
            ]
            likely = np.quantile(starts, 0.5, method="inverted_cdf")
            errors[name].append(abs(float(likely) - true_start))
        by_limits.append(abs(float(planned[0]) - true_start))
    print(f"by limits: mean absolute error {np.mean(by_limits):.0f} s\n")
    print("| models | error of P50 s | of by limits |")
    print("|---|---:|---:|")
    for name, found in errors.items():
        print(f"| {name} | {np.mean(found):.0f} | {np.mean(found) / np.mean(by_limits):.3f} |")


def _true_arrivals(log: Workload, row: int, until: int) -> ComingJobs:
    """The jobs that were submitted after one, up to an instant."""
    end = int(np.searchsorted(log.submit, until, side="right"))
    rows = slice(row + 1, end)
    return ComingJobs(
        log.submit[rows],
        log.run_time[rows],
        log.req_time[rows],
        log.procs[rows],
        np.arange(row + 1, end),
    )


if __name__ == "__main__":
    main()
