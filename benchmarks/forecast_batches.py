"""How alike the run times of jobs are that were submitted about together.

    python benchmarks/forecast_batches.py LOG.swf

Of each two jobs of one user, limit and size that follow each other: the rank correlation of their
ratios (run time / limit), by the time between their submissions.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np
from slotwise.model.sources.swf import read_swf

#: Seconds between two submissions: bounds of the classes.
BOUNDS = (0, 60, 600, 3_600, 4 * 3_600, 86_400, 7 * 86_400, 10**9)
SHOWN = ("1 min", "10 min", "1 h", "4 h", "1 day", "7 days", "any time")


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log", type=Path)
    log = read_swf(parser.parse_args().log, keep_going=True).workload
    ranks = np.argsort(np.argsort(log.run_time / log.req_time, kind="stable")) / len(log)
    kinds: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    columns = (log.user, log.req_time, log.procs)
    for row, kind in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        kinds[kind].append(row)
    rows = [np.array(found) for found in kinds.values()]
    first = np.concatenate([found[:-1] for found in rows])
    second = np.concatenate([found[1:] for found in rows])
    apart = log.submit[second] - log.submit[first]
    print("| within | pairs | rank correlation |")
    print("|---|---:|---:|")
    for shown, least, most in zip(SHOWN, BOUNDS[:-1], BOUNDS[1:], strict=True):
        here = (apart >= least) & (apart < most)
        if here.sum() > 2:
            found = np.corrcoef(ranks[first[here]], ranks[second[here]])[0, 1]
            print(f"| {shown} | {here.sum()} | {found:.2f} |")


if __name__ == "__main__":
    main()
