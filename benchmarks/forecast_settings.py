"""What other settings of the run times make of a forecast, asked about the same jobs.

    python benchmarks/forecast_settings.py LOG.swf [--procs P] [--jobs 100] [--seeds 3]
                                           [--first-seed 1] [--samples 30]
                                           --set max_batch=0 --set "kin=5 others=5"

The log is replayed as one pool under EASY, as `slotwise backtest` does; of each seed so many jobs
are asked about, with the settings as they are (the first line) and with each --set in their place,
by the same random numbers. A line has the mean absolute error of P50 in seconds, that over the
error of the last-two rule, by how many % it is another than that of the first line and the standard
error of that, the mean pinball loss over P10 to P90, that of P90, which shares had started by P10,
P50 and P90, and by P10 and P90 as they were calibrated by the starts known then.

The standard error is of paired differences summed up by the day of the question: jobs that are
submitted on one day wait behind the same jobs, and err together.
"""

from __future__ import annotations

import argparse
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
from slotwise.cli.backtest import PastOfPool
from slotwise.cli.options import LogReading
from slotwise.model.display import DAY
from slotwise.model.workload import Ints
from slotwise.solver.accuracy.measures import EARLY, LATE, LEVELS, LIKELY, pinball
from slotwise.solver.forecast.backtest import (
    PastLog,
    Questions,
    answer,
    calibrated,
    sampled_rows,
)
from slotwise.solver.forecast.jobs import Floats
from slotwise.solver.forecast.runtimes import Ratios, RatioSettings

HEAD = (
    "| settings | error of P50 s | of last two | % | ± | loss | loss P90 "
    "| by P10 | by P50 | by P90 | calibrated P10 | P90 |"
)


def main() -> None:
    """Measure and print the table."""
    options = _options()
    past, *_ = PastOfPool(options.log, "easy", options.procs, LogReading(True)).run(lambda: False)
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    rows = np.unique(np.concatenate([sampled_rows(past, options.jobs, seed) for seed in seeds]))
    days = past.log.submit[rows] // DAY
    waits = (past.start - past.log.submit)[rows]
    print(
        f"{len(rows)} jobs of {len(np.unique(days))} days, mean wait {waits.mean():.0f} s, "
        f"{options.samples} futures\n\n{HEAD}\n|---|{'---:|' * (HEAD.count('|') - 2)}"
    )
    first = None
    for text in ("", *options.set):
        object.__setattr__(past, "ratios", Ratios(past.past, _settings(text)))
        found = _asked(past, rows, options.samples)
        errors = np.abs(found.raw(LIKELY) - waits)
        first = errors if first is None else first
        print(_line(text or "as they are", found, errors, first, days), flush=True)


def _asked(past: PastLog, rows: Ints, samples: int) -> Questions:
    """These jobs asked about, with the run times that the log has now."""
    return calibrated(
        past, rows, np.array([answer(past, row, samples, 0) for row in rows.tolist()])
    )


def _line(text: str, found: Questions, errors: Floats, first: Floats, days: Ints) -> str:
    waits = found.wait
    losses = [pinball(waits, found.raw(level), level) for level in LEVELS]
    change, error = changed(errors, first, days)
    of_last_two = errors.sum() / np.abs(found.last_two - waits).sum()
    bounds = [found.raw(level) for level in (EARLY, LIKELY, LATE)]
    shares = [(waits <= bound).mean() for bound in (*bounds, found.early, found.late)]
    return (
        f"| {text} | {errors.mean():.0f} | {of_last_two:.3f} | {change:+.1f} | {error:.1f} "
        f"| {np.mean(losses):.0f} | {losses[-1]:.0f} "
        f"| {' | '.join(f'{share:.2f}' for share in shares)} |"
    )


def changed(errors: Floats, first: Floats, days: Ints) -> tuple[float, float]:
    """By how many % the sum of errors is another than that of the first, and its standard error.

    Of a ratio of sums, whose terms are independent from day to day only.
    """
    ratio = errors.sum() / first.sum()
    by_day = np.bincount(np.unique(days, return_inverse=True)[1], errors - ratio * first)
    spread = np.sqrt((by_day**2).sum() * len(by_day) / max(1, len(by_day) - 1))
    return 100 * (ratio - 1), 100 * spread / first.sum()


def _settings(text: str) -> RatioSettings:
    """Settings from "name=number …"."""
    kinds = {item.name: type(item.default) for item in fields(RatioSettings)}
    given = dict(item.split("=") for item in text.split())
    return replace(RatioSettings(), **{name: kinds[name](of) for name, of in given.items()})


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log", type=Path)
    parser.add_argument("--procs", type=int)
    parser.add_argument("--jobs", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--samples", type=int, default=30)
    parser.add_argument("--set", action="append", default=[])
    return parser.parse_args()


if __name__ == "__main__":
    main()
