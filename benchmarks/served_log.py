"""A month of a log served in fast motion: its score, next to a backtest (docs/dev/forecast.md).

A log is replayed, and a part of it goes into a store poll by poll, with a forecast of each job that
is asked about. Usage: served_log.py [LOG] [--days N] [--questions N] [--samples N]
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

from slotwise.cli.serve.score import score_of
from slotwise.cli.serve.store import Store
from slotwise.model.display import DAY
from slotwise.model.sources.swf import read_swf
from slotwise.solver.forecast.backtest import Replayed, accuracies, backtest
from slotwise.solver.replay import replay

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))
from store_cases import serve

TRACES = Path(__file__).resolve().parent.parent / "tests" / "data" / "traces"
#: Estimators of a backtest, and the methods of a store that are the same.
SAME = {"by limits": "as configured", "forecast": "likely, uncalibrated", "calibrated": "likely"}


def main() -> None:
    """Print both scores, a row for each estimator."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log", nargs="?", type=Path, default=TRACES / "KTH-SP2.swf.gz")
    parser.add_argument("--first", type=int, default=4000, help="job at which the part begins")
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--questions", type=int, default=120)
    parser.add_argument("--samples", type=int, default=20)
    given = parser.parse_args()
    whole = read_swf(given.log).workload
    begin = int(whole.submit[given.first])
    rows = (whole.submit >= begin) & (whole.submit < begin + given.days * DAY)
    part = replace(whole, **{name: column[rows] for name, column in whole.columns().items()})
    replayed = Replayed.of(replay(part, policy="easy"))
    asked = backtest(replayed, jobs=given.questions, samples=given.samples, seed=5)
    expected = {item.estimator: item for item in accuracies(replayed, asked)[0].estimators}
    began = time.process_time()
    with Store.open(":memory:") as store:
        serve(replayed, asked.row.tolist(), store, samples=given.samples, seed=5)
        seconds = time.process_time() - began
        found = {item.estimator: item for item in score_of(store).groups[0].estimators}
        summary = store.summary()
    print(f"{len(part)} jobs, {summary.polls} polls, {summary.estimates} rows, {seconds:.0f} CPU s")
    print("| estimator | path | jobs | mean error | median | by P10 | by P50 | by P90 | loss P90 |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|")
    for theirs, ours in SAME.items():
        for path, item in (("backtest", expected[theirs]), ("store", found[ours])):
            shares = [item.by_early, item.by_likely, item.by_late]
            cells = [f"{item.mean_error:.1f}", f"{item.median_error:.1f}"]
            cells += ["" if share is None else f"{share:.3f}" for share in shares]
            cells.append("" if item.loss_late is None else f"{item.loss_late:.1f}")
            print(f"| {ours} | {path} | {item.jobs} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
