"""How many starts the lexicographic optimum proves: generated clusters with compute units.

    python benchmarks/lexicographic.py [--hosts 200] [--pending 20] [--instances 20]
                                       [--load .97] [--seeds 1 2 6] [--seconds 30 | --effort 30]
                                       [--class c] [--processor]

With --class, the queues are those of benchmarks/hosts.py whose running jobs end at odd seconds. One
line an instance: jobs proved, seconds of the clock and of the processor, and the sum of starts
beside the time-based plan's. On a machine that others use, --effort and the processor's seconds say
more than the clock; with --processor, --seconds are the processor's.
"""

from __future__ import annotations

import argparse
import json
import time

import slotwise as sw
from hosts import CLASSES, host_queue
from slotwise.model.generate import generate
from slotwise.model.objective import Lexicographic
from slotwise.solver.budget import Budget
from slotwise.solver.planning import plan, plan_exact
from slotwise.solver.problem import PlanningProblem


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
    parser.add_argument("--seeds", type=int, nargs="*", help="default: 0 up to --instances")
    parser.add_argument("--class", dest="kind", choices=CLASSES, help="a contested queue")
    parser.add_argument("--processor", action="store_true")
    options = parser.parse_args()
    running = options.running if options.running is not None else 5 * options.hosts
    print(
        "| seed | jobs | proved | seconds | CPU s | first plan s | time-based | optimal | bound |"
    )
    print("|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    whole = 0
    seeds = options.seeds or list(range(options.instances))
    for seed in seeds:
        if options.kind:
            instance = sw.loads(json.dumps(host_queue(options.kind, seed, odd=True)))
        else:
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
        begun, busy = time.perf_counter(), time.process_time()
        seconds = options.seconds if options.effort is None else None
        if options.processor:
            budget = Budget(seconds, clock=time.process_time)
            problem = PlanningProblem.of(instance, as_lsf=False, partly=True)
            found = plan_exact(problem, budget, method="optimal", objective=Lexicographic())
        else:
            found = plan(instance, "optimal", time_limit=seconds, effort=options.effort)
        seconds, busy = time.perf_counter() - begun, time.process_time() - busy
        placed = [item for item in found.reservations if item.start is not None]
        proved = sum(item.proved for item in placed)
        whole += proved == len(placed)
        bounds = sum(item.bound or 0 for item in placed)
        print(
            f"| {seed} | {len(placed)} | {proved} | {seconds:.1f} | {busy:.1f} | {first:.2f} | "
            f"{timed.value:.0f} | {found.value:.0f} | {bounds} |",
            flush=True,
        )
    print(f"\nall starts proved on {whole} of {len(seeds)} instances")


if __name__ == "__main__":
    main()
