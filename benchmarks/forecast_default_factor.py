"""By what P10 and P90 of a forecast are multiplied where nothing else is known of a cluster.

    python benchmarks/forecast_default_factor.py --choose LOG.swf[:PROCS] … --report LOG.swf …
                                                 [--jobs 300] [--seeds 3] [--samples 100]

Each log is replayed as one pool under EASY, as `slotwise backtest` does, and so many jobs of each
seed are asked about. Of each log of --choose a line has which share had started by the P10 and P90
as they are drawn, and the factors by which a tenth and nine tenths would have, as a calibration
scores them. Chosen is what would have been enough on each of them, the least of P10 and the
largest of P90, to the nearest 0.05. Logs of --report have no say: their lines have the shares by
the bounds as they are drawn, with the factors chosen here, and with those of the product.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from slotwise.cli.backtest import PastOfPool
from slotwise.cli.options import LogReading
from slotwise.solver.accuracy.measures import EARLY, LATE, LIKELY
from slotwise.solver.forecast.backtest import Questions, answer, calibrated, sampled_rows
from slotwise.solver.forecast.forecast import (
    UNCALIBRATED,
    Calibration,
    conformal,
    score,
)

HELD = "| log | jobs | by P10 | by P90 |"


def main() -> None:
    """Measure and print both tables."""
    options = _options()
    factors = []
    print(f"{HELD} factor of P10 | of P90 |\n|---|---:|---:|---:|---:|---:|")
    for name, questions in _asked(options.choose, options):
        own = _exact(questions)
        factors.append((own.early, own.late))
        shares = _shares(questions, Calibration())
        print(f"| {name} | {len(questions)} | {shares} | {own.early:.2f} | {own.late:.2f} |")
    least, most = min(early for early, _ in factors), max(late for _, late in factors)
    chosen = Calibration(round(least * 20) / 20, round(most * 20) / 20)
    print(f"\nchosen: {chosen.early:.2f} of P10, {chosen.late:.2f} of P90")
    print(f"of the product: {UNCALIBRATED.early:.2f} of P10, {UNCALIBRATED.late:.2f} of P90\n")
    print(f"{HELD} chosen: by P10 | by P90 | product: by P10 | by P90 |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name, questions in _asked(options.report, options):
        each = (Calibration(), chosen, UNCALIBRATED)
        shares = " | ".join(_shares(questions, one) for one in each)
        print(f"| {name} | {len(questions)} | {shares} |", flush=True)


def _asked(logs: list[str], options: argparse.Namespace) -> Iterable[tuple[str, Questions]]:
    """The name of each log, and its questions of all seeds, none of them twice."""
    for log in logs:
        path, _, procs = log.partition(":")
        size = int(procs) if procs else None
        past, *_ = PastOfPool(Path(path), "easy", size, LogReading(True)).run(bool)
        seeds = range(1, options.seeds + 1)
        rows = np.unique([sampled_rows(past, options.jobs, seed) for seed in seeds])
        answers = [answer(past, row, options.samples, 0) for row in rows.tolist()]
        name = Path(path).name.split(".")[0] + (f" on {procs}" if procs else "")
        yield name, calibrated(past, rows, np.array(answers))


def _exact(questions: Questions) -> Calibration:
    """The factors by which the bounds of these jobs would have held."""
    found = []
    for level in (EARLY, LATE):
        bounds = questions.raw(level).tolist()
        pairs = zip(questions.wait.tolist(), bounds, strict=True)
        found.append(conformal([score(truth, bound) for truth, bound in pairs], level))
    return Calibration(found[0], found[1], len(questions))


def _shares(questions: Questions, factors: Calibration) -> str:
    """Which shares had started by the bounds, as cells."""
    bounds = factors.bounds(*(questions.raw(level) for level in (EARLY, LIKELY, LATE)))
    return " | ".join(f"{(questions.wait <= bound).mean():.3f}" for bound in bounds)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--choose", nargs="+", required=True)
    parser.add_argument("--report", nargs="+", required=True)
    parser.add_argument("--jobs", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--samples", type=int, default=100)
    return parser.parse_args()


if __name__ == "__main__":
    main()
