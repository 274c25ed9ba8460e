"""Bounds of total start over hosts: each job alone, all slots as one pool, several pools at once.

    python benchmarks/host_bounds.py [--hosts 200] [--pending 50] [--load .97] [--seeds 0 1]

On generated clusters with compute units and memory; sums of starts in seconds after now, beside the
plan that takes job by job where it first fits. Seconds are of the processor.
"""

from __future__ import annotations

import argparse
import time

from slotwise.model.generate import generate
from slotwise.model.objective import objective_named
from slotwise.solver.budget import Budget
from slotwise.solver.optimal.costs import Costs
from slotwise.solver.optimal.first_fit import plan_first_fit
from slotwise.solver.optimal.pooled import solve_as_pool
from slotwise.solver.optimal.several_pools import bound_of_pools
from slotwise.solver.optimal.weighted import earliest_alone
from slotwise.solver.problem import PlanningProblem


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--pending", type=int, default=50)
    parser.add_argument("--load", type=float, default=0.97)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1])
    options = parser.parse_args()
    print("| seed | first fit | alone | slots | CPU s | several pools | CPU s |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    for seed in options.seeds:
        instance = generate(
            hosts=options.hosts,
            running=5 * options.hosts,
            pending=options.pending,
            load=options.load,
            seed=seed,
        )
        problem = PlanningProblem.of(instance)
        costs = Costs.of(objective_named("total-start"), problem.demands, instance.now)
        alone = earliest_alone(problem)
        first = [item for item in plan_first_fit(problem) if item.start is not None]
        value = sum((item.start or 0) - instance.now for item in first)
        known = [time for item in first for time in (item.start, item.finish) if time is not None]
        begun = time.process_time()
        slots = solve_as_pool(
            problem, problem.demands, costs, alone, Budget(time_limit=30), lambda *_: None
        ).bound
        middle = time.process_time()
        several = bound_of_pools(problem, problem.demands, costs, alone, known)
        end = time.process_time()
        print(
            f"| {seed} | {value} | {costs.total(alone)} | {slots} | {middle - begun:.1f} | "
            f"{several} | {end - middle:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
