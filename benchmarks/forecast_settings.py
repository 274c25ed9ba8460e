"""What other settings of the run times make of a forecast, asked about the same jobs.

    python benchmarks/forecast_settings.py LOG.swf [--procs P] [--jobs 100] [--seeds 3]
                                           [--samples 30] --set of_batch=0 --set "kin=5 others=5"

The log is replayed as one pool under EASY, as `slotwise backtest` does; of each seed so many jobs
are asked about, with the settings as they are (the first line) and with each --set in their place,
by the same random numbers. A line has the mean absolute error of P50 in seconds, by how many % it
is another than that of the first line and the standard error of that (of paired differences), the
mean pinball loss over P10 to P90, that of P90, and which shares had started by P10, P50, P90.
"""

from __future__ import annotations

import argparse
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
from slotwise.cli.backtest import PastOfPool
from slotwise.solver.forecast.arrivals import PastBlocks
from slotwise.solver.forecast.backtest import LEVELS, PastLog, pinball, sampled_rows
from slotwise.solver.forecast.forecast import Drawn, forecast_world
from slotwise.solver.forecast.jobs import Floats
from slotwise.solver.forecast.runtimes import Ratios, RatioSettings


def main() -> None:
    """Measure and print the table."""
    options = _options()
    past, *_ = PastOfPool(options.log, "easy", options.procs, True, None).run(lambda: False)
    samples = [sampled_rows(past, options.jobs, seed) for seed in range(1, options.seeds + 1)]
    rows = np.unique(np.concatenate(samples))
    waits = (past.start - past.log.submit)[rows]
    print(f"{len(rows)} jobs, mean wait {waits.mean():.0f} s, {options.samples} futures\n")
    print("| settings | error of P50 s | % | ± | loss | loss P90 | by P10 | by P50 | by P90 |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    first = None
    for text in ("", *options.set):
        found = _asked(past, rows, _settings(text), options.samples)
        errors = np.abs(found[:, LEVELS.index(0.5)] - waits)
        first = errors if first is None else first
        change = 100 * (errors - first) / first.mean()
        losses = [pinball(waits, found[:, place], level) for place, level in enumerate(LEVELS)]
        shares = [(waits <= found[:, LEVELS.index(level)]).mean() for level in (0.1, 0.5, 0.9)]
        print(
            f"| {text or 'as they are'} | {errors.mean():.0f} | {change.mean():+.1f} "
            f"| {change.std() / len(change) ** 0.5:.1f} | {np.mean(losses):.0f} | {losses[-1]:.0f} "
            f"| {' | '.join(f'{share:.2f}' for share in shares)} |",
            flush=True,
        )


def _asked(past: PastLog, rows: np.ndarray, settings: RatioSettings, samples: int) -> Floats:
    """Waits at LEVELS that are foreseen for these jobs, shape (rows, levels)."""
    model, arrivals = Ratios(past.past, settings), PastBlocks(past.past)
    found = []
    for row in rows.tolist():
        world = past.world(row)
        drawn = forecast_world(world, ("",), model, arrivals, Drawn(samples), known=world.now - 1)
        found.append([float(drawn.quantile(level)[0]) - world.now for level in LEVELS])
    return np.array(found)


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
    parser.add_argument("--samples", type=int, default=30)
    parser.add_argument("--set", action="append", default=[])
    return parser.parse_args()


if __name__ == "__main__":
    main()
