"""How many starts the lexicographic optimum proves: generated clusters with compute units.

    python benchmarks/lexicographic.py [--hosts 200] [--pending 20] [--instances 20]
                                       [--seconds 30 | --effort 30]

One line an instance: jobs proved, seconds, and the sum of starts beside the time-based plan's.
"""

from __future__ import annotations

import argparse
import time

from slotwise.model.generate import generate
from slotwise.solver.planning import plan


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--running", type=int, default=None, help="default: 5 a host")
    parser.add_argument("--pending", type=int, default=20)
    parser.add_argument("--instances", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--load", type=float, default=0.97)
    parser.add_argument("--effort", type=float, help="deterministic limit instead of --seconds")
    options = parser.parse_args()
    running = options.running if options.running is not None else 5 * options.hosts
    print("| seed | jobs | proved | seconds | first plan s | time-based | optimal | bound |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    whole = 0
    for seed in range(options.instances):
        instance = generate(
            hosts=options.hosts,
            running=running,
            pending=options.pending,
            load=options.load,
            seed=seed,
        )
        begun = time.perf_counter()
        timed = plan(instance, "time-based")
        first = time.perf_counter() - begun
        begun = time.perf_counter()
        seconds = options.seconds if options.effort is None else None
        found = plan(instance, "optimal", time_limit=seconds, effort=options.effort)
        seconds = time.perf_counter() - begun
        placed = [item for item in found.reservations if item.start is not None]
        proved = sum(item.proved for item in placed)
        whole += proved == len(placed)
        bounds = sum(item.bound or 0 for item in placed)
        print(
            f"| {seed} | {len(placed)} | {proved} | {seconds:.1f} | {first:.2f} | "
            f"{timed.value:.0f} | {found.value:.0f} | {bounds} |",
            flush=True,
        )
    print(f"\nall starts proved on {whole} of {options.instances} instances")


if __name__ == "__main__":
    main()
