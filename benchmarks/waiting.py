"""The time-based cycle with more and more waiting jobs on full hosts, by several seeds.

    python benchmarks/waiting.py [--hosts 500] [--pending 125 250 500 1000] [--seeds 1 2 3]

Four running jobs a host, none of which leaves a slot free, so that nearly every pending job has to
wait. For each seed and number of pending jobs: seconds of the processor, the exponent of the growth
from one number to the next, and how often a job was asked whether it could start at an instant (a
count that no other work on the machine changes).
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence
from unittest import mock

from slotwise.model.generate import generate
from slotwise.solver.placement import earliest
from slotwise.solver.scheduler.next_cycle import plan_next_cycle


def one_cycle(hosts: int, pending: int, seed: int) -> tuple[float, int]:
    """Seconds of the processor of a cycle that plans all pending jobs, and looks at instants."""
    instance = generate(hosts=hosts, running=4 * hosts, pending=pending, load=1.0, seed=seed)
    begun = time.process_time()
    plan_next_cycle(instance, "time-based")
    taken = time.process_time() - begun
    with mock.patch.object(earliest, "can_start", wraps=earliest.can_start) as asked:
        plan_next_cycle(instance, "time-based")
    return taken, asked.call_count


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one line a seed and number of pending jobs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--hosts", type=int, default=500)
    parser.add_argument("--pending", type=int, nargs="+", default=[125, 250, 500, 1000])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    options = parser.parse_args(arguments)
    one_cycle(options.hosts, 20, 0)  # so that the first is not charged for imports
    print("seed  pending  seconds  exponent  looks a job")
    for seed in options.seeds:
        before: tuple[float, int] | None = None
        for pending in options.pending:
            seconds, looks = one_cycle(options.hosts, pending, seed)
            grown = ""
            if before is not None:
                grown = f"{math.log(seconds / before[0]) / math.log(pending / before[1]):.2f}"
            before = seconds, pending
            line = f"{seed:4} {pending:8,} {seconds:8.2f} {grown:>9} {looks / pending:12.1f}"
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
